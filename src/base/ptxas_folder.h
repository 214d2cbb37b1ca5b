/* Where our ptxas lies. */
#ifndef FL_BASE_PTXAS_FOLDER_H
#define FL_BASE_PTXAS_FOLDER_H

/* Below the folder of libcuda.so.1; there is no other program in it. NULL: there is none. Static storage. */
const char *ptxas_folder(const char *library_folder);

#endif
