/* See traits.h. */
#include "space/traits.h"

#include <string.h>

enum {
    BEGIN = offsetof(struct allocation, device),
    BYTES = offsetof(struct allocation, mapping_base) - BEGIN,
    WORDS = BYTES / 8,
    SLOTS = 2 * TRAITS_MOST
};
_Static_assert(BYTES % 8 == 0, "compared in words");

static struct traits {
    uint64_t words[WORDS];
} all[TRAITS_MOST];
static unsigned last;         /* number that was given */
static uint16_t slots[SLOTS]; /* the numbers, by what they stand for; 0: none */

static unsigned slot_of(const struct traits *t)
{
    uint64_t mixed = 0;
    for (unsigned k = 0; k < WORDS; k++) {
        mixed = (mixed ^ t->words[k]) * 0x9e3779b97f4a7c15;
        mixed ^= mixed >> 32;
    }
    return mixed % SLOTS;
}

unsigned traits_number(const struct allocation *a)
{
    struct traits t;
    memcpy(&t, (const char *)a + BEGIN, BYTES);
    unsigned slot = slot_of(&t);
    for (; slots[slot]; slot = (slot + 1) % SLOTS)
        if (!memcmp(&all[slots[slot]], &t, BYTES)) return slots[slot];
    if (last + 1 == TRAITS_MOST) return 0;
    all[++last] = t;
    slots[slot] = (uint16_t)last;
    return last;
}

void traits_copy(unsigned number, struct allocation *copy) { memcpy((char *)copy + BEGIN, &all[number], BYTES); }
