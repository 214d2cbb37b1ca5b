/* Legal forms of what threads do together; see syntax.h. */
#include "syntax.h"

#define SCOPE "cta|cluster|gpu|sys"
#define RESTRICTED "sync_restrict::shared::cluster|sync_restrict::shared::cta"

#define BARRIERS(opcode, aligned, version) \
    { opcode, "sync" aligned, "", "n ?w", version, 0 }, \
        { opcode, "arrive" aligned, "", "n w", version, 0 }, \
        { opcode, "red" aligned " popc", "u32", "d n ?w p", version, 0 }, \
    { opcode, "red" aligned " and|or", "pred", "d n ?w p", version, 0 }

static const struct form list[] = {
    BARRIERS("bar", "", 0),
    BARRIERS("bar.cta", "", 78),
    { "bar.warp", "sync", "", "a:u32", 60, 0 },
    BARRIERS("barrier", " aligned?", 60),
    BARRIERS("barrier.cta", " aligned?", 78),
    { "barrier.cluster", "arrive aligned?", "", "", 78, 90 },
    { "barrier.cluster", "arrive release|relaxed aligned?", "", "", 80, 90 },
    { "barrier.cluster", "wait aligned?", "", "", 78, 90 },
    { "barrier.cluster", "wait acquire aligned?", "", "", 80, 90 },
    { "membar", "cta|gl|sys", "", "", 0, 0 },
    { "fence", "sc|acq_rel? " SCOPE, "", "", 60, 70 },
    { "fence", "acquire|release " SCOPE, "", "", 60, 70 },
    { "fence", "acquire|release cluster " RESTRICTED, "", "", 86, 90 },
    { "membar.proxy", "alias", "", "", 75, 60 },
    { "fence.proxy", "alias", "", "", 75, 70 },
    { "fence.proxy", "async global|shared::cta|shared::cluster?", "", "", 80, 90 },
    { "fence.proxy", "async::generic acquire|release cluster " RESTRICTED, "", "", 86, 90 },
    { "fence.proxy", "tensormap::generic release " SCOPE, "", "", 83, 90 },
    { "fence.proxy", "tensormap::generic acquire " SCOPE, "", "m i", 83, 90 },
    { "fence", "mbarrier_init release cluster", "", "", 80, 90 },

    { "vote", "all|any|uni", "pred", "d p", 0, 0 },
    { "vote", "ballot", "b32", "d p", 0, 0 },
    { "vote", "sync all|any|uni", "pred", "d p a:u32", 60, 0 },
    { "vote", "sync ballot", "b32", "d p a:u32", 60, 0 },
    { "shfl", "up|down|bfly|idx", "b32", "e a a a", 0, 0 },
    { "shfl", "sync up|down|bfly|idx", "b32", "e a a a a:u32", 60, 0 },
    { "match", "any sync", "b32|b64", "d:u32 a a:u32", 60, 70 },
    { "match", "all sync", "b32|b64", "D:u32 a a:u32", 60, 70 },
    { "redux", "sync add|min|max", "u32|s32", "d a a:u32", 70, 80 },
    { "redux", "sync and|or|xor", "b32", "d:u32 a:u32 a:u32", 70, 80 },
    { "activemask", "", "b32", "d", 62, 0 },
    { "elect", "sync", "", "P:u32 a:u32", 80, 90 },
    { "nanosleep", "", "u32", "a:u32", 62, 70 },
    { "griddepcontrol", "wait|launch_dependents", "", "", 78, 90 },
    { "setmaxnreg", "inc|dec sync aligned", "u32", "i", 80, ONLY_90A },
    { "pmevent", "mask?", "", "i", 0, 0 },
    { "brkpt", "", "", "", 0, 0 },
    { "trap", "", "", "", 0, 0 },
    { "exit", "", "", "", 0, 0 },
    { "ret", "uni?", "", "", 0, 0 },
};
const struct forms forms_warp = { list, sizeof list / sizeof *list };
