/* What emit_texture.c and emit_surface.c share: the words that the run time takes and gives (abi.h). */
#ifndef FL_PTX_EMIT_TEXTURE_H
#define FL_PTX_EMIT_TEXTURE_H

#include "emit.h"

const char *texture_room(struct emitter *e);
const char *texture_word(struct emitter *e, const char *slot, unsigned n);
/* The shape's bits of what. */
uint32_t texture_shape(const struct instr *i);
const char *texture_handle(struct emitter *e, const struct instr *i, const struct operand *o);
/* Coordinates to words 0 to 2, a layer, which comes first, to word 3. */
void texture_place(struct emitter *e, const struct instr *i, const struct operand *o, uint32_t what, enum ptx_type type,
                   const char *slot);

#endif
