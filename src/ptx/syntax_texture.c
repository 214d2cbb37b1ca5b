/* Legal forms of reductions in surfaces; see syntax.h. Of textures and of other accesses to surfaces the emitters decide. */
#include "syntax.h"

#define REDUCED(mods, types, version, target) \
    { \
        "sured", mods " 1d|2d|3d trap|clamp|zero", types, ". a", version, target \
    }

static const struct form list[] = {
    REDUCED("b add", "u32|s32|u64", 30, 30),        REDUCED("b min|max", "u32|s32", 30, 30),
    REDUCED("b min|max", "u64|s64", 81, 50),        REDUCED("b and|or", "b32", 30, 30),
    REDUCED("p add|min|max|and|or", "b32", 30, 30), REDUCED("p min|max", "b64", 81, 50),
};
const struct forms forms_texture = { list, sizeof list / sizeof *list };
