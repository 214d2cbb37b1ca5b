/* PTX in the place of machine code. */
#ifndef FL_LEAD_STANDIN_H
#define FL_LEAD_STANDIN_H

/* Machine code of a compiler of this major version runs on any driver of it; but the driver refuses PTX of a newer minor
 * version than its own. So that version becomes the newest that the driver takes. text: PTX, changed where it is. */
void standin_for_machine_code(char *text);

#endif
