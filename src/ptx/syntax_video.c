/* Legal forms of video instructions; see syntax.h. */
#include "syntax.h"

#define SIGN "u32|s32 "
#define THREE SIGN SIGN SIGN
#define COMPARED "eq|ne|lt|le|gt|ge"

/* On its own; put into a part of the third operand; with a second operation on that. */
#define ONE(opcode, how, types) \
    { opcode, how, types, "d s s", 0, 0 }, { opcode, how, types, "S s s a", 0, 0 }, \
    { \
        opcode, how " add|min|max", types, "d s s a", 0, 0 \
    }
#define TWO(opcode) \
    { opcode, "sat?", THREE, "k l l d", 0, 30 }, { opcode, "add", THREE, "k l l d", 0, 30 }
#define FOUR(opcode) \
    { opcode, "sat?", THREE, "K L L d", 0, 30 }, { opcode, "add", THREE, "K L L d", 0, 30 }

static const struct form list[] = {
    ONE("vadd", "sat?", THREE),
    ONE("vsub", "sat?", THREE),
    ONE("vabsdiff", "sat?", THREE),
    ONE("vmin", "sat?", THREE),
    ONE("vmax", "sat?", THREE),
    ONE("vshl", "sat? clamp|wrap", SIGN SIGN "u32"),
    ONE("vshr", "sat? clamp|wrap", SIGN SIGN "u32"),
    ONE("vset", COMPARED, SIGN SIGN),
    { "vmad", "po? sat? shr7|shr15?", THREE, "d s s a", 0, 0 },
    { "vmad", "sat? shr7|shr15?", THREE, "d g g a", 0, 0 },
    { "vmad", "sat? shr7|shr15?", THREE, "d s s G", 0, 0 },
    TWO("vadd2"),
    TWO("vsub2"),
    TWO("vavrg2"),
    TWO("vabsdiff2"),
    TWO("vmin2"),
    TWO("vmax2"),
    { "vset2", COMPARED " add?", SIGN SIGN, "k l l d", 0, 30 },
    FOUR("vadd4"),
    FOUR("vsub4"),
    FOUR("vavrg4"),
    FOUR("vabsdiff4"),
    FOUR("vmin4"),
    FOUR("vmax4"),
    { "vset4", COMPARED " add?", SIGN SIGN, "K L L d", 0, 30 },
};
const struct forms forms_video = { list, sizeof list / sizeof *list };
