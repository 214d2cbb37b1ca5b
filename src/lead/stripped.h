/* Entry points of NVIDIA's runtime in objects whose symbol table was stripped. */
#ifndef FL_LEAD_STRIPPED_H
#define FL_LEAD_STRIPPED_H

#include "base/symbols.h"

/* Calls visit for every entry point of the runtime that was linked into a 64-bit ELF file. false: none was. */
bool stripped_visit(const char *path, symbols_visitor *visit, void *data);

#endif
