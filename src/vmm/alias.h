/* This process's own view of memory with a file. It stays readable and writable
 * for a while after the memory is gone, because a copy that is still under way
 * may use it: such a program is wrong, but must not crash. Under vmm_lock. */
#ifndef FL_VMM_ALIAS_H
#define FL_VMM_ALIAS_H

#include <stdint.h>

/* NULL: no addresses left. Not in forked children. */
char *alias_map(int fd, uint64_t size);
/* The file's memory is no longer seen there; the addresses stay usable for now. */
void alias_retire(char *alias, uint64_t size);

#endif
