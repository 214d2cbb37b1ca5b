/* Where a name is looked for first: FNV-1a. */
#ifndef FL_BASE_HASH_H
#define FL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t name_hash(const char *name, size_t size)
{
    uint32_t h = 2166136261u;
    while (size--) h = (h ^ (unsigned char)*name++) * 16777619u;
    return h;
}

#endif
