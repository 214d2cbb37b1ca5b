/* IMEX channels of this process: the files of FAULTLINE_IMEX_CHANNELS that it can read. */
#ifndef FL_VMM_IMEX_H
#define FL_VMM_IMEX_H

#include <stdbool.h>
#include <stdint.h>

struct imex_channel { uint64_t device, inode; };

/* A descriptor, open for reading, of the channel with this id; of the first by name if id is NULL. -1: none.
 * The id of what was opened goes to *opened. */
int imex_open(const struct imex_channel *id, struct imex_channel *opened);
/* Whether fd proves that who opened it can read the channel. */
bool imex_proves(int fd, const struct imex_channel *id);

#endif
