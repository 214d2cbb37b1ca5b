/* More seeds of fuzz.c's random walks; the golden machine's answers are golden/h200-fuzz.txt.xz. */
#include "fuzz.c"
#define SEEDS(X) \
    X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(1a) X(1b) X(1c) X(1d) X(1e) X(1f) \
    X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(2a) X(2b) X(2c) X(2d) X(2e) X(2f) \
    X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(3a) X(3b) X(3c) X(3d) X(3e) X(3f)
SEEDS(F)
#define GROUPS(i) { "fuzz_vmm_" #i, g_fuzz_vmm_##i, 1 }, { "fuzz_um_" #i, g_fuzz_um_##i, 1 },
const struct group groups[] = { SEEDS(GROUPS) { 0 } };
