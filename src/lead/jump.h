/* A jump in the place of a function's first instructions. */
#ifndef FL_LEAD_JUMP_H
#define FL_LEAD_JUMP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { JUMP_ROOM = 16 }; /* functions are aligned to this: so much is theirs, even if they are shorter */

struct jump {
    unsigned char load[2]; /* mov $target, %rax */
    void *target;
    unsigned char go[2]; /* jmp *%rax */
} __attribute__((packed));

_Static_assert(sizeof(struct jump) <= JUMP_ROOM, "a jump fits where any function begins");

static inline void jump_write(uintptr_t at, void *target)
{
    struct jump jump = { { 0x48, 0xb8 }, target, { 0xff, 0xe0 } };
    memcpy((void *)at, &jump, sizeof jump);
}

/* The pages of all that lies from first to end. */
static inline bool jump_protect(uintptr_t first, uintptr_t end, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = first & ~(page - 1);
    return !mprotect((void *)start, end - start, protection);
}

#endif
