/* NVIDIA's nvJitLink, which makes machine code: all its entry points but that for its
 * version are led to ours. For LTO IR ours calls theirs. */
#include "nvjitlink/nvidia.h"
#include "nvjitlink/nvjitlink.h"
#include "lead/lead.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* nvJitLinkCreate of __nvJitLinkCreate_13_5. */
static bool plain_name(const char *name, char plain[64])
{
    if (!strncmp(name, "__", 2)) name += 2;
    if (strncmp(name, "nvJitLink", 9) || strlen(name) >= 64) return false;
    strcpy(plain, name);
    char *at = plain + strlen(plain);
    while (at > plain && (isdigit((unsigned char)at[-1]) || at[-1] == '_')) at--;
    *at = 0;
    return true;
}

/* An entry point that is nothing but a jump can be led elsewhere, and what it jumped to is still there. */
static void *behind_jump(uintptr_t at)
{
    const unsigned char *code = (const unsigned char *)at;
    int32_t distance;
    if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4)) code += 4; /* endbr64 */
    if (*code != 0xe9) return NULL;
    memcpy(&distance, code + 1, sizeof distance);
    return (void *)((uintptr_t)code + 5 + (uintptr_t)(intptr_t)distance);
}

struct search {
    const struct object *object;
    struct jumps *jumps;
    struct nvidia nvidia;
};

static void visit(const char *name, uint64_t address, void *data)
{
    struct search *s = data;
    char plain[64];
    if (!plain_name(name, plain)) return;
    jumps_add(s->jumps, s->object, address, link_entry_point(plain));
    void *slot = nvidia_slot(&s->nvidia, name), *function = slot ? behind_jump(s->object->bias + address) : NULL;
    if (slot) memcpy(slot, &function, sizeof function);
}

void lead_nvjitlink(const struct object *o, struct jumps *j)
{
    struct search s = { .object = o, .jumps = j };
    if (!is_nvidias(o, "libnvJitLink", "libnvJitLink.so.13")) return;
    symbols_visit(o->path, SYMBOLS_EXPORTED, visit, &s);
    nvidia_use(&s.nvidia);
}
