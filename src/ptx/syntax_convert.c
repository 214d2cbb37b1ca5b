/* Legal forms of conversions; see syntax.h. */
#include "syntax.h"

#define ROUNDED "rn|rz|rm|rp"
#define WHOLE "rni|rzi|rmi|rpi"
#define INTEGER "u8|s8|u16|s16|u32|s32|u64|s64"
#define WIDER "u16|s16|u32|s32|u64|s64"

static const struct form list[] = {
    { "cvt", "", INTEGER " " INTEGER, "x Y2", 0, 0 },
    /* what cannot overflow is not saturated */
    { "cvt", "sat", "u8 s8|" WIDER, "x Y2", 0, 0 },
    { "cvt", "sat", "s8 u8|" WIDER, "x Y2", 0, 0 },
    { "cvt", "sat", "u16 s8|s16|u32|s32|u64|s64", "x Y2", 0, 0 },
    { "cvt", "sat", "s16 u16|u32|s32|u64|s64", "x Y2", 0, 0 },
    { "cvt", "sat", "u32 s8|s16|s32|u64|s64", "x Y2", 0, 0 },
    { "cvt", "sat", "s32 u32|u64|s64", "x Y2", 0, 0 },
    { "cvt", "sat", "u64 s8|s16|s32|s64", "x Y2", 0, 0 },
    { "cvt", "sat", "s64 u64", "x Y2", 0, 0 },
    { "cvt", WHOLE " sat?", INTEGER " f16|f64", "x y2", 0, 0 },
    { "cvt", WHOLE " sat? ftz?", INTEGER " f32", "x y2", 0, 0 },
    { "cvt", WHOLE, WIDER " bf16", "d d2", 78, 90 },
    { "cvt", ROUNDED " sat?", "f16|f64 " INTEGER, "x y2", 0, 0 },
    { "cvt", ROUNDED " sat? ftz?", "f32 " INTEGER, "x y2", 0, 0 },
    { "cvt", ROUNDED, "bf16 " WIDER, "d a2", 78, 90 },

    { "cvt", ROUNDED " sat?", "f16 f64", "x y2", 0, 0 },
    { "cvt", ROUNDED " sat? ftz?", "f16 f32", "x y2", 0, 0 },
    { "cvt", "rn|rz relu", "f16 f32", "x y2", 70, 80 },
    { "cvt", "rn|rz satfinite", "f16 f32", "x y2", 81, 70 },
    { "cvt", "rn|rz relu satfinite", "f16 f32", "x y2", 81, 80 },
    { "cvt", ROUNDED " sat? ftz?", "f32 f64", "x y2", 0, 0 },
    { "cvt", "sat? ftz?", "f32 f16", "x y2", 0, 0 },
    { "cvt", "sat? ftz?", "f64 f32", "x y2", 0, 0 },
    { "cvt", "sat?", "f64 f16", "x y2", 0, 0 },
    { "cvt", WHOLE "? sat?", "f16|f64 =", "x y2", 0, 0 },
    { "cvt", WHOLE "? sat? ftz?", "f32 =", "x y2", 0, 0 },
    { "cvt", ROUNDED " ftz?", "bf16 f32", "d a2", 70, 80 },
    { "cvt", "rn|rz relu", "bf16 f32", "d a2", 70, 80 },
    { "cvt", "rn|rz relu? satfinite", "bf16 f32", "d a2", 81, 80 },
    { "cvt", ROUNDED "? ftz?", "f32 bf16", "d d2", 71, 80 },
    { "cvt", ROUNDED "?", "f16|f64 bf16", "d d2", 78, 90 },
    { "cvt", ROUNDED, "bf16 f64", "d a2", 78, 90 },
    { "cvt", ROUNDED "?", "bf16 f16", "d a2", 78, 90 },
    { "cvt", WHOLE "?", "bf16 =", "d d", 78, 90 },

    { "cvt", "rn|rz relu?", "f16x2 f32", "x y2 y2", 70, 80 },
    { "cvt", "rn|rz relu? satfinite", "f16x2 f32", "x y2 y2", 81, 80 },
    { "cvt", "rn|rz relu?", "bf16x2 f32", "d a2 a2", 70, 80 },
    { "cvt", "rn|rz relu? satfinite", "bf16x2 f32", "d a2 a2", 81, 80 },
    { "cvt", "rna", "tf32 f32", "d a2", 70, 80 },
    { "cvt", "rna satfinite", "tf32 f32", "d a2", 81, 80 },
    { "cvt", "rn|rz relu?", "tf32 f32", "d a2", 78, 90 },
    { "cvt", "rn satfinite relu?", "e4m3x2|e5m2x2 f32", "d a2 a2", 81, 89 },
    { "cvt", "rn satfinite relu?", "e4m3x2|e5m2x2 f32", "d a2 a2", 78, 90 },
    { "cvt", "rn satfinite relu?", "e4m3x2|e5m2x2 f16x2", "d a2", 81, 89 },
    { "cvt", "rn satfinite relu?", "e4m3x2|e5m2x2 f16x2", "d a2", 78, 90 },
    { "cvt", "rn relu?", "f16x2 e4m3x2|e5m2x2", "d d2", 81, 89 },
    { "cvt", "rn relu?", "f16x2 e4m3x2|e5m2x2", "d d2", 78, 90 },
    { "cvt.pack", "sat", "u16|s16 s32", "x:u32 y2 y2", 65, 72 },
    { "cvt.pack", "sat", "u8|s8 s32 b32", "x:u32 y2 y2 y3", 65, 72 },
    { "cvt.pack", "sat", "u4|s4|u2|s2 s32 b32", "x:u32 y2 y2 y3", 65, 75 },
};
const struct forms forms_convert = { list, sizeof list / sizeof *list };
