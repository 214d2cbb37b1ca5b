/* Legal forms of moves, comparisons and selections; see syntax.h. */
#include "syntax.h"

#define UNSIGNED "u16|u32|u64"
#define SIGNED "s16|s32|s64"
#define BITS "b16|b32|b64"
#define SCALARS BITS "|" UNSIGNED "|" SIGNED "|f32|f64"
#define EQUAL "eq|ne"
#define ORDER EQUAL "|lt|le|gt|ge"
#define UNSIGNED_ORDER ORDER "|lo|ls|hi|hs"
#define FLOAT_ORDER ORDER "|equ|neu|ltu|leu|gtu|geu|num|nan"
/* Two forms: with a predicate, its result may be combined with another one. */
#define COMPARISON(op, how, types, operands, version, target) \
    { op, how, types, operands, version, target }, { op, how " and|or|xor", types, operands " p", version, target }

static const struct form list[] = {
    { "mov", "", UNSIGNED "|" SIGNED "|f32|f64|pred", "d A", 0, 0 },
    { "mov", "", BITS, "d A", 0, 0 },
    { "mov", "", BITS, "v A", 0, 0 },
    { "mov", "", BITS, "d v", 0, 0 },
    { "mov", "", "b128", "d A", 83, 70 },
    { "mov", "", "b128", "v A", 83, 70 },
    { "mov", "", "b128", "d v", 83, 70 },
    { "mov", "v2|v4", SCALARS, ". .", 0, 0 },
    { "selp", "", SCALARS, "d a a p", 0, 0 },
    { "slct", "", SCALARS " s32", "d a a a2", 0, 0 },
    { "slct", "ftz?", SCALARS " f32", "d a a a2", 0, 0 },

    COMPARISON("setp", EQUAL, BITS, "Q a a", 0, 0),
    COMPARISON("setp", ORDER, SIGNED, "Q a a", 0, 0),
    COMPARISON("setp", UNSIGNED_ORDER, UNSIGNED, "Q a a", 0, 0),
    COMPARISON("setp", FLOAT_ORDER " ftz?", "f32", "Q a a", 0, 0),
    COMPARISON("setp", FLOAT_ORDER, "f64", "Q a a", 0, 0),
    COMPARISON("setp", FLOAT_ORDER " ftz?", "f16", "q a a", 42, 53),
    COMPARISON("setp", FLOAT_ORDER " ftz?", "f16x2", "Q a a", 42, 53),
    COMPARISON("setp", FLOAT_ORDER, "bf16", "q a a", 78, 90),
    COMPARISON("setp", FLOAT_ORDER, "bf16x2", "Q a a", 78, 90),

    COMPARISON("set", EQUAL, "u32|s32|f32 " BITS, "d a2 a2", 0, 0),
    COMPARISON("set", ORDER, "u32|s32|f32 " SIGNED, "d a2 a2", 0, 0),
    COMPARISON("set", UNSIGNED_ORDER, "u32|s32|f32 " UNSIGNED, "d a2 a2", 0, 0),
    COMPARISON("set", FLOAT_ORDER " ftz?", "u32|s32|f32 f32", "d a2 a2", 0, 0),
    COMPARISON("set", FLOAT_ORDER, "u32|s32|f32 f64", "d a2 a2", 0, 0),
    COMPARISON("set", EQUAL, "f16 " BITS, "d a2 a2", 42, 53),
    COMPARISON("set", ORDER, "f16 " SIGNED, "d a2 a2", 42, 53),
    COMPARISON("set", UNSIGNED_ORDER, "f16 " UNSIGNED, "d a2 a2", 42, 53),
    COMPARISON("set", FLOAT_ORDER " ftz?", "f16 f16|f32", "d a2 a2", 42, 53),
    COMPARISON("set", FLOAT_ORDER, "f16 f64", "d a2 a2", 42, 53),
    COMPARISON("set", FLOAT_ORDER " ftz?", "f16x2 f16x2", "d a2 a2", 42, 53),
    COMPARISON("set", FLOAT_ORDER " ftz?", "u16|s16 f16", "d a2 a2", 65, 53),
    COMPARISON("set", FLOAT_ORDER " ftz?", "u32|s32 f16|f16x2", "d a2 a2", 65, 53),
    COMPARISON("set", FLOAT_ORDER, "u16|s16 bf16", "d a2 a2", 78, 90),
    COMPARISON("set", FLOAT_ORDER, "u32|s32 bf16|bf16x2", "d a2 a2", 78, 90),
    COMPARISON("set", EQUAL, "bf16 " BITS, "d:u16 a2 a2", 78, 90),
    COMPARISON("set", ORDER, "bf16 " SIGNED, "d:u16 a2 a2", 78, 90),
    COMPARISON("set", UNSIGNED_ORDER, "bf16 " UNSIGNED, "d:u16 a2 a2", 78, 90),
    COMPARISON("set", FLOAT_ORDER, "bf16 f16|bf16|f32|f64", "d:u16 a2 a2", 78, 90),
    COMPARISON("set", FLOAT_ORDER, "bf16x2 bf16x2", "d:u32 a2 a2", 78, 90),
};
const struct forms forms_move = { list, sizeof list / sizeof *list };
