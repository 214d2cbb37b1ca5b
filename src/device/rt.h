/* What compiled kernels call, under the names that rt.c puts into their table
 * (struct fl_rt, src/ptx/abi.h, which says what each does). */
#ifndef FL_DEVICE_RT_H
#define FL_DEVICE_RT_H

#include "ptx/abi.h"
#include "ptx/rt_math.h"

/* math.c */
#define PROTOTYPE(name, sig, ret, params) ret fl_math_##name params;
FL_RT_MATH(PROTOTYPE)
#undef PROTOTYPE

/* fiber.c */
void fiber_suspend(struct fl_block *b, uint32_t t, uint32_t segment);
/* rt.c: an enum fl_mbarrier_op; returns what it was before */
uint64_t device_mbarrier(struct fl_block *b, uint64_t address, uint32_t op, uint32_t count);
uint32_t device_ctarank(struct fl_block *b, uint64_t address);
/* reduce.c */
void device_reduce(struct fl_block *b, uint32_t t, uint32_t line, uint64_t to, uint64_t from, uint32_t bytes,
                   uint32_t what);
/* tensor.c */
void device_multicast(struct fl_block *b, uint32_t t, uint32_t line, uint64_t to, uint64_t from, uint32_t bytes,
                      uint64_t mbarrier, uint32_t mask);
void device_tensor(struct fl_block *b, uint32_t t, uint32_t line, uint64_t map, uint64_t shared,
                   const int32_t *coordinates, uint64_t mbarrier, uint32_t mask, uint32_t what);
void device_tensor_replace(struct fl_block *b, uint32_t t, uint32_t line, uint64_t map, uint32_t field,
                           uint32_t ordinal, uint64_t v);
/* printf.c */
uint32_t device_printf(struct fl_block *b, uint64_t format, uint64_t args);
/* heap.c */
uint64_t device_malloc(struct fl_block *b, uint64_t size);
void device_free(struct fl_block *b, uint64_t address);
/* multimem.c */
void device_multimem_load(struct fl_block *b, uint64_t address, void *out, uint32_t what);
void device_multimem_store(struct fl_block *b, uint64_t address, const void *in, uint32_t what);
void device_multimem_reduce(struct fl_block *b, uint64_t address, const void *in, uint32_t what);
/* texture.c, surface.c, texture_find.c */
void device_texture(struct fl_block *b, uint32_t t, uint32_t line, uint64_t handle, void *words, uint32_t what);
void device_surface(struct fl_block *b, uint32_t t, uint32_t line, uint64_t handle, void *words, uint32_t what);
uint32_t device_texture_query(struct fl_block *b, uint32_t t, uint32_t line, uint64_t handle, uint32_t what);

#endif
