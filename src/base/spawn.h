/* Starting our helper processes from within a user's process without being
 * noticed: no SIGCHLD, nothing for the application's wait() to find, no copy
 * of its address space, none of its descriptors or signal settings. */
#ifndef FL_BASE_SPAWN_H
#define FL_BASE_SPAWN_H

#include <cuda.h>
#include <stddef.h>

/* Runs path with argv; fds[k] becomes descriptor 3 + k. The process is nobody's
 * child here: it is known by what it does with its descriptors.
 * CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_OPERATING_SYSTEM. */
CUresult spawn(const char *path, char *const argv[], const int *fds, int nfds);

/* The path of an executable that belongs to this library: what the environment
 * variable says, else the file beside libcuda.so.1, whether it is there or not. */
CUresult library_sibling(const char *name, const char *environment, char *out, size_t size);

#endif
