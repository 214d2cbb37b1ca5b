/* The functions of a program or library that its symbol tables name. */
#ifndef FL_BASE_SYMBOLS_H
#define FL_BASE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum symbols_table {
    SYMBOLS_ALL,      /* strip(1) takes this one away */
    SYMBOLS_EXPORTED, /* the dynamic linker's */
};

/* address: as linked, before the program was put somewhere. */
typedef void symbols_visitor(const char *name, uint64_t address, void *data);

/* Calls visit for every function that a 64-bit ELF file defines. false: it cannot be read, or has no such table. */
bool symbols_visit(const char *path, enum symbols_table table, symbols_visitor *visit, void *data);
/* The name of the function that has this address, as linked. false: the table has none, or the name has no room. */
bool symbols_at(const char *path, enum symbols_table table, uint64_t address, char *name, size_t room);

#endif
