/* Reading, writing, sizing and sealing files by descriptor, whatever signals come. */
#ifndef FL_BASE_FILE_H
#define FL_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All size bytes, or false. */
bool file_read(int fd, void *to, size_t size);
bool file_write(int fd, const void *from, size_t size);
/* False: RLIMIT_FSIZE forbids files of this size, and writing one would raise a signal. */
bool file_fits(uint64_t size);
/* ftruncate, but where RLIMIT_FSIZE forbids the size it says so instead of raising a signal: -1, EFBIG. */
int file_resize(int fd, uint64_t size);
/* Nobody can change a memfd's size any more, so that whoever maps it gets no SIGBUS; nor can seals be added. */
bool file_seal(int fd);
bool file_sealed(int fd);

#endif
