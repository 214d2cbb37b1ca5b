/* The functions of a program that its symbol table names; strip(1) takes that away. */
#ifndef FL_BASE_SYMBOLS_H
#define FL_BASE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

/* address: as linked, before the program was put somewhere. */
typedef void symbols_visitor(const char *name, uint64_t address, void *data);

/* Calls visit for every function that a 64-bit ELF file defines. false: it cannot be read, or has no symbol table. */
bool symbols_visit(const char *path, symbols_visitor *visit, void *data);

#endif
