/* The application's ordinary memory, reachable by kernels without being registered (profiles with pageable memory
 * access): what a kernel touches is adopted, unseen, with what lies around it. */
#ifndef FL_ORDINARY_ADOPTED_H
#define FL_ORDINARY_ADOPTED_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/* Whom memory is told of: who decides which processor has which page of what moves (movable.h). These functions
 * take no lock of src/space. */
struct adopted_client {
    /* Pages of [va, end) can have entries (mmu_ordinary_add) from now on: with the host's they begin. The program has
     * mapped them as part of [mapping, mapping_end). */
    CUresult (*comes)(uint64_t va, uint64_t end, uint64_t mapping, uint64_t mapping_end);
    /* All of it is the host's again, as if no device had ever seen it. CUDA_ERROR_OUT_OF_MEMORY: so is more of what came
     * together with it. */
    CUresult (*leaves)(uint64_t va, uint64_t end);
    /* After something was lost: va moves as before, and no more than [from, to) is left of what it was mapped with. */
    void (*remains)(uint64_t va, uint64_t from, uint64_t to);
    /* The program has given pages back: they have no bytes, and nobody has them. By who serves the host's faults. */
    void (*gone)(uint64_t va, uint64_t end);
    /* The program has unmapped it, whether it moves or not: nothing that was said of it holds. As leaves. */
    CUresult (*lost)(uint64_t va, uint64_t end);
};
/* Before the first of the following. pages_move: they may, where the system can do that. */
void adopted_begin(const struct adopted_client *c, bool pages_move);
/* A kernel touches va: devices see the memory around it from now on, or, if it moves, policy decides. missing: there is
 * a mapping, but it has no such page. moving: it moves. CUDA_ERROR_INVALID_VALUE: it may not,
 * there is none, or it is not the application's own. */
CUresult adopted_add(uint64_t va, bool write, bool missing, bool *moving);
/* The same for all of a range that kernels may read: none of them faults there any more. */
CUresult adopted_cover(uint64_t va, uint64_t size);
/* Before each kernel, by the thread that launches it: what the application has unmapped, moved or protected is forgotten. */
void adopted_review(void);
/* Move calls mremap to move [va, end) elsewhere. Linux would refuse to move what is watched, when it had moved what lies
 * before: so that becomes private memory again first, and nothing is adopted until the call is over. */
void adopted_move(uint64_t va, uint64_t end, void (*move)(void *arg), void *arg);
/* The first part of [va, end) where the program has nothing mapped; false: there is none. */
bool adopted_unmapped(uint64_t va, uint64_t end, uint64_t *from, uint64_t *to);
/* All of [va, va+size) is memory that kernels may read; write: and write. */
bool adopted_touchable(uint64_t va, uint64_t size, bool write);

#endif
