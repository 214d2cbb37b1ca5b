/* Legal forms of loads, stores and atomic operations; see syntax.h. */
#include "syntax.h"

#define BYTES "b8|u8|s8|b16|u16|s16"
#define WORDS "b32|u32|s32|f32"
#define LONGS "b64|u64|s64|f64"
#define SCOPE "cta|cluster|gpu|sys"
#define GENERIC " global? L2::cache_hint?"
#define SHARED " shared|shared::cta|shared::cluster"
#define CACHED_L1 "L1::evict_last|L1::evict_normal|L1::evict_first|L1::evict_unchanged|L1::no_allocate"
#define FETCHED " L2::64B|L2::128B|L2::256B?"
#define LOADED "ca|cg|cs|lu|cv"
#define STORED "cg|cs|wb|wt"

#define AT_LEAST(least, x) ((x) < (least) ? (least) : (x))
/* Vectors are of 16 bytes at most. */
#define ACCESS(opcode, mods, operands, version, target) \
    { opcode, mods " v2|v4|v8?", BYTES, operands, version, target }, \
        { opcode, mods " v2|v4?", WORDS, operands, version, target }, \
        { opcode, mods " v2?", LONGS, operands, version, target }, \
    { \
        opcode, mods, "b128", operands, AT_LEAST(83, version), AT_LEAST(70, target) \
    }

/* atom and red alike; vectors are of global memory only. */
#define OPERATION(what, types, version, target) \
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" GENERIC " " what, types, "o m a h", version, target }, \
        { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "? " SHARED " " what, types, "o m a", version, target }, \
        { "red", "relaxed|release? " SCOPE "?" GENERIC " " what, types, "m a h", version, target }, \
    { \
        "red", "relaxed|release? " SCOPE "? " SHARED " " what, types, "m a", version, target \
    }
#define VECTORS(what, vectors, types) \
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" GENERIC " " what " " vectors, types, "X m x h", 81, 90 }, \
    { \
        "red", "relaxed|release? " SCOPE "?" GENERIC " " what " " vectors, types, "m x h", 81, 90 \
    }

#define MBARRIER "shared::cluster? mbarrier::complete_tx::bytes"

static const struct form list[] = {
    ACCESS("ld", "weak? " LOADED "|" CACHED_L1 "?" FETCHED GENERIC, "x m h", 0, 0),
    ACCESS("ld", "weak? " LOADED "?" SHARED, "x m", 0, 0),
    ACCESS("ld", "weak? " LOADED "? local|const|param|param::entry|param::func", "x m", 0, 0),
    ACCESS("ld", "volatile global?" FETCHED, "x m", 0, 0),
    ACCESS("ld", "volatile" SHARED, "x m", 0, 0),
    ACCESS("ld", "volatile local", "x m", 91, 0),
    ACCESS("ld", "relaxed|acquire " SCOPE " " CACHED_L1 "?" FETCHED GENERIC, "x m h", 60, 70),
    ACCESS("ld", "relaxed|acquire " SCOPE SHARED, "x m", 60, 70),
    ACCESS("ld", "nc global ca|cg|cs|" CACHED_L1 "?" FETCHED " L2::cache_hint?", "x m h", 0, 32),
    { "ld", "mmio relaxed sys global?", BYTES "|" WORDS "|" LONGS, "x m", 82, 70 },
    ACCESS("ldu", "global?", "x m", 0, 0),

    ACCESS("st", "weak? " STORED "|" CACHED_L1 "?" GENERIC, "m y h", 0, 0),
    ACCESS("st", "weak? " STORED "?" SHARED, "m y", 0, 0),
    ACCESS("st", "weak? " STORED "? local|param|param::func", "m y", 0, 0),
    ACCESS("st", "volatile global?", "m y", 0, 0),
    ACCESS("st", "volatile" SHARED, "m y", 0, 0),
    ACCESS("st", "volatile local", "m y", 91, 0),
    ACCESS("st", "relaxed|release " SCOPE " " CACHED_L1 "?" GENERIC, "m y h", 60, 70),
    ACCESS("st", "relaxed|release " SCOPE SHARED, "m y", 60, 70),
    { "st", "mmio relaxed sys global?", BYTES "|" WORDS "|" LONGS, "m y", 82, 70 },
    { "st.async", "weak? v2|v4? " MBARRIER, WORDS, "m y m", 81, 90 },
    { "st.async", "weak? v2? " MBARRIER, LONGS, "m y m", 81, 90 },

    OPERATION("add", "u32|s32|u64|f32", 0, 0),
    OPERATION("add", "f64", 50, 60),
    OPERATION("add noftz", "f16x2", 62, 60),
    OPERATION("add noftz", "f16", 63, 70),
    OPERATION("add noftz", "bf16|bf16x2", 78, 90),
    OPERATION("inc|dec", "u32", 0, 0),
    OPERATION("min|max", "u32|s32", 0, 0),
    OPERATION("min|max", "u64|s64", 0, 32),
    OPERATION("and|or|xor", "b32", 0, 0),
    OPERATION("and|or|xor", "b64", 0, 32),
    VECTORS("add", "v2|v4", "f32"),
    VECTORS("add|min|max noftz", "v2|v4|v8", "f16|bf16"),
    VECTORS("add|min|max noftz", "v2|v4", "f16x2|bf16x2"),
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" GENERIC " exch", "b32|b64", "o m a h", 0, 0 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" SHARED " exch", "b32|b64", "o m a", 0, 0 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" GENERIC " exch", "b128", "o m a h", 83, 90 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" SHARED " exch", "b128", "o m a", 83, 90 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" GENERIC " cas", "b32|b64", "o m a a h", 0, 0 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" SHARED " cas", "b32|b64", "o m a a", 0, 0 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" GENERIC " cas", "b16", "o m a a h", 63, 70 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" SHARED " cas", "b16", "o m a a", 63, 70 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" GENERIC " cas", "b128", "o m a a h", 83, 90 },
    { "atom", "relaxed|acquire|release|acq_rel? " SCOPE "?" SHARED " cas", "b128", "o m a a", 83, 90 },
    { "red.async", "relaxed cluster " MBARRIER " add", "u32|s32|u64", "m a m", 81, 90 },
    { "red.async", "relaxed cluster " MBARRIER " inc|dec", "u32", "m a m", 81, 90 },
    { "red.async", "relaxed cluster " MBARRIER " min|max", "u32|s32", "m a m", 81, 90 },
    { "red.async", "relaxed cluster " MBARRIER " and|or|xor", "b32", "m a m", 81, 90 },

    { "prefetch", "global|local? L1|L2", "", "m", 0, 0 },
    { "prefetch", "global? L2::evict_last|L2::evict_normal", "", "m", 74, 80 },
    { "prefetch", "param|const? tensormap", "", "m", 80, 90 },
    { "prefetchu", "L1", "", "m", 0, 0 },
    { "applypriority", "global? L2::evict_normal", "", "m i", 74, 80 },
    { "discard", "global? L2", "", "m i", 74, 80 },
    { "createpolicy.fractional", "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged", "b64",
      "d:u64 ?a:f32", 74, 80 },
    { "createpolicy.fractional",
      "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_first|L2::evict_unchanged", "b64",
      "d:u64 ?a:f32", 74, 80 },
    { "createpolicy.range",
      "global? L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
      "L2::evict_first|L2::evict_unchanged?",
      "b64", "d:u64 m a:u32 a:u32", 74, 80 },
    { "createpolicy.cvt", "L2", "b64", "d:u64 a:u64", 74, 80 },

    { "alloca", "", "u32|u64", "d a ?i", 73, 52 },
    { "stacksave", "", "u32|u64", "d", 73, 52 },
    { "stackrestore", "", "u32|u64", "d", 73, 52 },

    { "cvta", "global|shared|shared::cta|shared::cluster|local|const", "u32|u64", "d A", 0, 0 },
    { "cvta.to", "global|shared|shared::cta|shared::cluster|local|const", "u32|u64", "d a", 0, 0 },
    { "cvta", "param", "u32|u64", "d A", 77, 70 },
    { "cvta.to", "param", "u32|u64", "d a", 77, 70 },
    { "cvta", "param::entry", "u32|u64", "d A", 83, 70 },
    { "cvta.to", "param::entry", "u32|u64", "d a", 83, 70 },
    { "isspacep", "global|shared|shared::cta|shared::cluster|local|const", "", "d:pred a:u32", 0, 0 },
    { "isspacep", "global|shared|shared::cta|shared::cluster|local|const", "", "d:pred a:u64", 0, 0 },
    { "isspacep", "param", "", "d:pred a:u32", 77, 70 },
    { "isspacep", "param", "", "d:pred a:u64", 77, 70 },
    { "isspacep", "param::entry", "", "d:pred a:u32", 83, 70 },
    { "isspacep", "param::entry", "", "d:pred a:u64", 83, 70 },
    { "mapa", "shared::cluster?", "u32|u64", "d A a:u32", 78, 90 },
    { "getctarank", "shared::cluster?", "u32|u64", "d:u32 A", 78, 90 },
};
const struct forms forms_memory = { list, sizeof list / sizeof *list };
