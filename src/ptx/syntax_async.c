/* Legal forms of asynchronous copies, of what waits for them, and of matrices' registers; see syntax.h. */
#include "syntax.h"

#define HERE "shared|shared::cta?"
#define FETCHED "L2::64B|L2::128B|L2::256B? L2::cache_hint?"
#define TOLD "mbarrier::complete_tx::bytes"

#define ARRIVALS(opcode) \
    { opcode, HERE, "b64", "d m", 70, 80 }, \
        { opcode, HERE, "b64", "_ m", 71, 80 }, \
        { opcode, HERE, "b64", "o m a:u32", 78, 90 }, \
        { opcode, "release cta|cluster " HERE, "b64", "o m", 80, 80 }, \
        { opcode, "release cta|cluster " HERE, "b64", "o m a:u32", 80, 90 }, \
        { opcode, "relaxed cta|cluster " HERE, "b64", "o m ?a:u32", 86, 90 }, \
        { opcode, "shared::cluster", "b64", "_ m ?a:u32", 80, 90 }, \
        { opcode, "release cta|cluster shared::cluster", "b64", "_ m ?a:u32", 80, 90 }, \
        { opcode, "relaxed cta|cluster shared::cluster", "b64", "_ m ?a:u32", 86, 90 }, \
        { opcode, "expect_tx " HERE, "b64", "o m a:u32", 80, 90 }, \
        { opcode, "expect_tx release cta|cluster " HERE, "b64", "o m a:u32", 80, 90 }, \
        { opcode, "expect_tx relaxed cta|cluster " HERE, "b64", "o m a:u32", 86, 90 }, \
        { opcode, "expect_tx shared::cluster", "b64", "_ m a:u32", 80, 90 }, \
        { opcode, "expect_tx release cta|cluster shared::cluster", "b64", "_ m a:u32", 80, 90 }, \
        { opcode, "expect_tx relaxed cta|cluster shared::cluster", "b64", "_ m a:u32", 86, 90 }, \
        { opcode, "noComplete " HERE, "b64", "o m a:u32", 70, 80 }, \
    { opcode, "noComplete release cta " HERE, "b64", "o m a:u32", 80, 80 }

/* time: the operand that says how long; since, parity_since: versions of the oldest forms. */
#define WAITS(opcode, time, since, parity_since, target) \
    { opcode, HERE, "b64", "d:pred m a:u64" time, since, target }, \
        { opcode, "parity " HERE, "b64", "d:pred m a:u32" time, parity_since, target }, \
        { opcode, "acquire cta|cluster " HERE, "b64", "d:pred m a:u64" time, 80, target }, \
        { opcode, "acquire cta|cluster parity " HERE, "b64", "d:pred m a:u32" time, 80, target }, \
        { opcode, "relaxed cta|cluster " HERE, "b64", "d:pred m a:u64" time, 86, 90 }, \
    { opcode, "relaxed cta|cluster parity " HERE, "b64", "d:pred m a:u32" time, 86, 90 }

#define TRANSACTIONS(opcode) \
    { opcode, "shared|shared::cta|shared::cluster?", "b64", "m a:u32", 80, 90 }, \
    { opcode, "relaxed cta|cluster shared|shared::cta|shared::cluster?", "b64", "m a:u32", 80, 90 }

static const struct form list[] = {
    { "cp.async", "ca shared|shared::cta global " FETCHED, "", "m m c ?a:u32 h", 70, 80 },
    { "cp.async", "ca shared|shared::cta global " FETCHED, "", "m m c p h", 75, 80 },
    { "cp.async", "cg shared|shared::cta global " FETCHED, "", "m m C ?a:u32 h", 70, 80 },
    { "cp.async", "cg shared|shared::cta global " FETCHED, "", "m m C p h", 75, 80 },
    { "cp.async.commit_group", "", "", "", 70, 80 },
    { "cp.async.wait_group", "", "", "i", 70, 80 },
    { "cp.async.wait_all", "", "", "", 70, 80 },
    { "cp.async.mbarrier.arrive", "noinc? " HERE, "b64", "m", 70, 80 },
    { "cp.async.bulk.commit_group", "", "", "", 80, 90 },
    { "cp.async.bulk.wait_group", "read?", "", "i", 80, 90 },
    { "cp.async.bulk", "shared::cluster global " TOLD " L2::cache_hint?", "", "m m a:u32 m h", 80, 90 },
    { "cp.async.bulk", "shared::cta global " TOLD " L2::cache_hint?", "", "m m a:u32 m h", 86, 90 },
    { "cp.async.bulk", "shared::cluster global " TOLD " multicast::cluster L2::cache_hint?", "", "m m a:u32 m a:u16 h", 80,
      90 },
    { "cp.async.bulk", "shared::cluster shared::cta " TOLD, "", "m m a:u32 m", 80, 90 },
    { "cp.async.bulk", "global shared::cta bulk_group L2::cache_hint?", "", "m m a:u32 h", 80, 90 },
    { "cp.async.bulk.prefetch", "L2 global L2::cache_hint?", "", "m a:u32 h", 80, 90 },
    { "cp.async.bulk.tensor", "*", "", "", 0, 0 },
    { "cp.async.bulk.prefetch.tensor", "*", "", "", 0, 0 },
    { "cp.reduce.async.bulk", "*", "", "", 0, 0 },

    { "ldmatrix", "sync aligned m8n8 x1|x2|x4 trans? " HERE, "b16", "v m", 65, 75 },
    { "stmatrix", "sync aligned m8n8 x1|x2|x4 trans? " HERE, "b16", "m v", 78, 90 },
    { "movmatrix", "sync aligned m8n8 trans", "b16", "d:b32 a:b32", 78, 75 },

    { "mbarrier.init", HERE, "b64", "m a:u32", 70, 80 },
    { "mbarrier.inval", HERE, "b64", "m", 70, 80 },
    TRANSACTIONS("mbarrier.expect_tx"),
    TRANSACTIONS("mbarrier.complete_tx"),

    ARRIVALS("mbarrier.arrive"),
    ARRIVALS("mbarrier.arrive_drop"),

    WAITS("mbarrier.test_wait", "", 70, 71, 80),
    WAITS("mbarrier.try_wait", " ?a:u32", 78, 78, 90),
    { "mbarrier.pending_count", "", "b64", "d:u32 a:u64", 70, 80 },
};
const struct forms forms_async = { list, sizeof list / sizeof *list };
