/* Legal forms of products of matrices, and of the ways of their fragments to and from memory; see syntax.h. What the order
 * of .row and .col must be, and how many registers a shape has, emit_matrix.c and emit_wgmma.c know. */
#include "syntax.h"

/* ---- mma */

#define SPARSE "sp|sp::ordered_metadata"
#define DENSE(shape, types, sums, version, target) \
    { "mma", "sync aligned row col " shape, types, sums " {:b32 {:b32 " sums, version, target }
#define THIN(shape, types, sums, version, target) \
    { "mma", SPARSE " sync aligned row col " shape, types, sums " {:b32 {:b32 " sums " d:b32 i", version, target }
#define DOUBLES(opcode, shape, version, target) \
    { opcode, "sync aligned row|col row|col rn|rz|rm|rp? " shape, "f64 = = =", "{:f64 {:f64 {:f64 {:f64", version, target }

#define QUADS(d, c, sums, added) \
    { "mma", "sync aligned m8n8k4 row|col row|col", d " f16 = " c, sums " {:b32 {:b32 " added, 64, 70 }

/* ---- wmma */

#define LARGE "m16n16k16|m32n8k16|m8n32k16"
#define SPACES "global|shared|shared::cta?"
#define LOADED(part, shape, layout, types, registers, version, target) \
    { "wmma.load." part, "sync aligned? " layout " " shape " " SPACES, types, registers " m ?a:u32", version, target }
#define FACTORS(shape, types, registers, version, target) \
    LOADED("a", shape, "row|col", types, registers, version, target), \
        LOADED("b", shape, "row|col", types, registers, version, target)
#define TINY_FACTORS(shape, types, version, target) \
    LOADED("a", shape, "row", types, "{:b32", version, target), LOADED("b", shape, "col", types, "{:b32", version, target)
#define SUMS(shape, types, registers, version, target) \
    LOADED("c", shape, "row|col", types, registers, version, target), \
        { "wmma.store.d", "sync aligned? row|col " shape " " SPACES, types, "m " registers " ?a:u32", version, target }
#define FRAGMENTS(mods, types, d, c, version, target) \
    { "wmma.mma", "sync aligned? row|col row|col " mods, types, d " {:b32 {:b32 " c, version, target }

/* ---- wgmma, with A in shared memory and in registers */

#define GROUPS(shape, types, sums, scales, shared, registers, version) \
    { "wgmma.mma_async", "sync aligned? " shape, types, sums " a:u64 a:u64 p " scales shared, version, ONLY_90A }, \
        { "wgmma.mma_async", "sync aligned? " shape, types, sums " {:b32 a:u64 p " scales registers, version, ONLY_90A }
#define THIN_GROUPS(shape, types, sums, scales, shared, registers, version) \
    { "wgmma.mma_async", "sp sync aligned? " shape, types, sums " a:u64 a:u64 d:b32 i p " scales shared, version, ONLY_90A }, \
        { "wgmma.mma_async", "sp sync aligned? " shape, types, sums " {:b32 a:u64 d:b32 i p " scales registers, version, ONLY_90A }

static const struct form list[] = {
    QUADS("f16", "f16", "{:b32", "{:b32"),
    QUADS("f32", "f16", "{:f32", "{:b32"),
    QUADS("f32", "f32", "{:f32", "{:f32"),
    DENSE("m16n8k8", "f16 = = =", "{:b32", 65, 75),
    DENSE("m16n8k8", "f32 f16 = f32", "{:f32", 65, 75),
    DENSE("m16n8k16", "f16 = = =", "{:b32", 70, 80),
    DENSE("m16n8k16", "f32 f16 = f32", "{:f32", 70, 80),
    DENSE("m16n8k8|m16n8k16", "f32 bf16 = f32", "{:f32", 70, 80),
    DENSE("m16n8k4|m16n8k8", "f32 tf32 = f32", "{:f32", 70, 80),
    DENSE("m16n8k32", "f32 e4m3|e5m2 e4m3|e5m2 f32", "{:f32", 84, 89),
    DENSE("m16n8k32", "f16 e4m3|e5m2 e4m3|e5m2 f16", "{:b32", 87, 89),
    DENSE("m16n8k16", "f32 e4m3|e5m2 e4m3|e5m2 f32", "{:f32", 87, 89),
    DENSE("m16n8k16", "f16 e4m3|e5m2 e4m3|e5m2 f16", "{:b32", 87, 89),
    DENSE("m8n8k16 satfinite?", "s32 s8|u8 s8|u8 s32", "{:b32", 65, 75),
    DENSE("m16n8k16|m16n8k32 satfinite?", "s32 s8|u8 s8|u8 s32", "{:b32", 70, 80),
    DENSE("m8n8k32 satfinite?", "s32 s4|u4 s4|u4 s32", "{:b32", 65, 75),
    DENSE("m16n8k32|m16n8k64 satfinite?", "s32 s4|u4 s4|u4 s32", "{:b32", 70, 80),
    DENSE("m8n8k128 xor popc", "s32 b1 = s32", "{:b32", 70, 75),
    DENSE("m16n8k128|m16n8k256 xor popc", "s32 b1 = s32", "{:b32", 70, 80),
    DENSE("m8n8k128|m16n8k128|m16n8k256 and popc", "s32 b1 = s32", "{:b32", 71, 80),
    DOUBLES("mma", "m8n8k4", 70, 80),
    DOUBLES("mma", "m16n8k4|m16n8k8|m16n8k16", 78, 90),

    THIN("m16n8k16|m16n8k32", "f16 = = =", "{:b32", 71, 80),
    THIN("m16n8k16|m16n8k32", "f32 f16 = f32", "{:f32", 71, 80),
    THIN("m16n8k16|m16n8k32", "f32 bf16 = f32", "{:f32", 71, 80),
    THIN("m16n8k8|m16n8k16", "f32 tf32 = f32", "{:f32", 71, 80),
    THIN("m16n8k64", "f32 e4m3|e5m2 e4m3|e5m2 f32", "{:f32", 84, 89),
    THIN("m16n8k32|m16n8k64 satfinite?", "s32 s8|u8 s8|u8 s32", "{:b32", 71, 80),
    THIN("m16n8k64|m16n8k128 satfinite?", "s32 s4|u4 s4|u4 s32", "{:b32", 71, 80),

    FACTORS("m16n16k16", "f16", "{:b32", 60, 70),
    FACTORS("m32n8k16|m8n32k16", "f16", "{:b32", 61, 70),
    FACTORS(LARGE, "s8|u8", "{:b32", 63, 72),
    FACTORS(LARGE, "bf16", "{:b32", 70, 80),
    FACTORS("m16n16k8", "tf32", "{:b32", 70, 80),
    FACTORS("m8n8k4", "f64", "{:f64", 70, 80),
    TINY_FACTORS("m8n8k32", "s4|u4", 63, 75),
    TINY_FACTORS("m8n8k128", "b1", 63, 75),
    SUMS("m16n16k16", "f16", "{:b32", 60, 70),
    SUMS("m16n16k16", "f32", "{:f32", 60, 70),
    SUMS("m32n8k16|m8n32k16", "f16", "{:b32", 61, 70),
    SUMS("m32n8k16|m8n32k16", "f32", "{:f32", 61, 70),
    SUMS(LARGE, "s32", "{:b32", 63, 72),
    SUMS("m16n16k8", "f32", "{:f32", 70, 80),
    SUMS("m8n8k4", "f64", "{:f64", 70, 80),
    SUMS("m8n8k32|m8n8k128", "s32", "{:b32", 63, 75),

    FRAGMENTS("m16n16k16", "f16 f16", "{:b32", "{:b32", 60, 70),
    FRAGMENTS("m16n16k16", "f16 f32", "{:b32", "{:f32", 60, 70),
    FRAGMENTS("m16n16k16", "f32 f16", "{:f32", "{:b32", 60, 70),
    FRAGMENTS("m16n16k16", "f32 f32", "{:f32", "{:f32", 60, 70),
    FRAGMENTS("m32n8k16|m8n32k16", "f16 f16", "{:b32", "{:b32", 61, 70),
    FRAGMENTS("m32n8k16|m8n32k16", "f16 f32", "{:b32", "{:f32", 61, 70),
    FRAGMENTS("m32n8k16|m8n32k16", "f32 f16", "{:f32", "{:b32", 61, 70),
    FRAGMENTS("m32n8k16|m8n32k16", "f32 f32", "{:f32", "{:f32", 61, 70),
    FRAGMENTS(LARGE " satfinite?", "s32 s8|u8 = s32", "{:b32", "{:b32", 63, 72),
    FRAGMENTS(LARGE, "f32 bf16 = f32", "{:f32", "{:f32", 70, 80),
    FRAGMENTS("m16n16k8", "f32 tf32 = f32", "{:f32", "{:f32", 70, 80),
    FRAGMENTS("m8n8k32 satfinite?", "s32 s4|u4 = s32", "{:b32", "{:b32", 63, 75),
    FRAGMENTS("m8n8k128 xor popc", "s32 b1 = s32", "{:b32", "{:b32", 63, 75),
    FRAGMENTS("m8n8k128 and popc", "s32 b1 = s32", "{:b32", "{:b32", 71, 80),
    DOUBLES("wmma.mma", "m8n8k4", 70, 80),

    { "wgmma.fence", "sync aligned?", "", "", 80, ONLY_90A },
    { "wgmma.commit_group", "sync aligned?", "", "", 80, ONLY_90A },
    { "wgmma.wait_group", "sync aligned?", "", "i", 80, ONLY_90A },
    GROUPS("m64n#k16", "f16 = =", "{:b32", "i i", " i i", " i", 80),
    GROUPS("m64n#k16", "f32 f16|bf16 =", "{:f32", "i i", " i i", " i", 80),
    GROUPS("m64n#k8", "f32 tf32 =", "{:f32", "i i", "", "", 80),
    GROUPS("m64n#k32", "f16 e4m3|e5m2 e4m3|e5m2", "{:b32", "i i", "", "", 80),
    GROUPS("m64n#k32", "f32 e4m3|e5m2 e4m3|e5m2", "{:f32", "i i", "", "", 80),
    GROUPS("m64n#k32 satfinite?", "s32 s8|u8 =", "{:b32", "", "", "", 80),
    GROUPS("m64n#k32 satfinite?", "s32 s8|u8 s8|u8", "{:b32", "", "", "", 84),
    GROUPS("m64n#k256 and popc", "s32 b1 =", "{:b32", "", "", "", 80),
    THIN_GROUPS("m64n#k32", "f16 = =", "{:b32", "i i", " i i", " i", 82),
    THIN_GROUPS("m64n#k32", "f32 f16|bf16 =", "{:f32", "i i", " i i", " i", 82),
    THIN_GROUPS("m64n#k16", "f32 tf32 =", "{:f32", "i i", "", "", 82),
    THIN_GROUPS("m64n#k64", "f16 e4m3|e5m2 e4m3|e5m2", "{:b32", "i i", "", "", 82),
    THIN_GROUPS("m64n#k64", "f32 e4m3|e5m2 e4m3|e5m2", "{:f32", "i i", "", "", 82),
    THIN_GROUPS("m64n#k64 satfinite?", "s32 s8|u8 =", "{:b32", "", "", "", 82),
    THIN_GROUPS("m64n#k64 satfinite?", "s32 s8|u8 s8|u8", "{:b32", "", "", "", 84),
};
const struct forms forms_matrix = { list, sizeof list / sizeof *list };
