/* Names of functions that an object does not export. */
#ifndef FL_CLI_SYMBOL_H
#define FL_CLI_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function at so many bytes from where the object's first page is mapped. False: its file does not say. */
bool symbol_name(const char *path, uint64_t offset, char *out, size_t size);

#endif
