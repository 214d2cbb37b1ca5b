/* The kernels of calls.cu, each against a CPU reference.
 * usage: calls KERNELS.fatbin [NAME]   prints a line per program; exit 1 if one is wrong. */
#include "program.h"

enum { LANES = 32 };

static void virtual_functions(void)
{
    int n = 1024, blocks = 3, *in = malloc((size_t)(n * blocks) * 4);
    for (int i = 0; i < n * blocks; i++) in[i] = i * 7919 % 1000;
    CUdeviceptr d = give(in, (size_t)(n * blocks) * 4), o = give(NULL, (size_t)(n * blocks) * 4);
    for (int which = 0; which < 2; which++) {
        run("virtual_reduction", (unsigned)blocks, 1, (unsigned)n, 1, 0, ARGS(&d, &o, &which));
        int *out = take(o, (size_t)(n * blocks) * 4);
        for (int b = 0; b < blocks; b++) {
            int sum = 0, most = 17;
            for (int i = 0; i < n; i++) {
                int v = in[b * n + i];
                sum += v;
                most = v > most ? v : most;
            }
            for (int i = 0; i < n; i++) EXPECT(out[b * n + i] == (which ? most : sum));
        }
    }
}

/* One step of the lanes of a warp that share a mask. v: the warp's values. */
static uint32_t step_of_lane(int which, const uint32_t *v, int lane, uint32_t mask, uint32_t count)
{
    uint32_t from, match = 0, ballot = 0;
    switch (which) {
    case 0: return v[lane] + (lane < 2 ? v[lane] : v[lane - 2]);
    case 1: from = mask & 1 ? 0 : 1; return v[lane] ^ 3 * v[from];
    case 2:
        for (int l = 0; l < LANES; l++) ballot |= (uint32_t)((mask >> l & 1) && v[l] & 4) << l;
        return v[lane] * 5 + ballot;
    case 3:
        for (int l = 0; l < LANES; l++) match |= (uint32_t)((mask >> l & 1) && !((v[l] ^ v[lane]) & 7)) << l;
        return v[lane] + match;
    case 4: return v[lane] * 3 + (mask >> 9);
    case 5: return v[lane] - v[lane ^ 2];
    default: return v[lane] + count;
    }
}

static void lanes_go_different_ways(void)
{
    enum { THREADS = 256, BLOCKS = 5, ROUNDS = 40, ALL = THREADS * BLOCKS };
    int rounds = ROUNDS;
    uint32_t v[ALL], next[ALL];
    static unsigned char plan[ALL / LANES * ROUNDS * 2];
    for (size_t k = 0; k < sizeof plan; k++) plan[k] = (unsigned char)(k * 2654435761u >> 13);
    CUdeviceptr p = give(plan, sizeof plan), o = give(NULL, sizeof v);
    run("steps_of_lanes", BLOCKS, 1, THREADS, 1, 0, ARGS(&p, &o, &rounds));
    for (int i = 0; i < ALL; i++) v[i] = (uint32_t)i * 7 + 1;
    for (int r = 0; r < ROUNDS; r++) {
        uint32_t count[BLOCKS] = { 0 };
        for (int i = 0; i < ALL; i++) count[i / THREADS] += v[i] & 1;
        for (int i = 0; i < ALL; i++) {
            int odd = i & 1, which = plan[r] % 5 ? plan[(i / 32 * ROUNDS + r) * 2 + odd] % 6 : 6;
            next[i] = step_of_lane(which, v + i / LANES * LANES, i % LANES, odd ? 0xaaaaaaaau : 0x55555555u,
                                   count[i / THREADS]);
        }
        memcpy(v, next, sizeof v);
    }
    uint32_t *out = take(o, sizeof v);
    for (int i = 0; i < ALL; i++) EXPECT(out[i] == v[i]);
}

static void recursion_with_shuffles(void)
{
    int in[512];
    for (int i = 0; i < 512; i++) in[i] = i * i % 91;
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, sizeof in);
    run("recursive_sum", 4, 1, 128, 1, 0, ARGS(&d, &o));
    int *out = take(o, sizeof in);
    for (int i = 0; i < 512; i++) {
        int sum = 0;
        for (int k = 0; k < LANES; k++) sum += in[i / LANES * LANES + k];
        EXPECT(out[i] == sum);
    }
}

/* v: what each thread of the block has at this level; afterwards what the level returns. */
static void level(uint32_t *v, uint32_t n, uint32_t at, bool even)
{
    uint32_t kept[1024], next[1024];
    for (uint32_t t = 0; t < n; t++) kept[t] = even ? v[t] * at : v[t] ^ at;
    for (uint32_t t = 0; t < n; t++) next[t] = v[t] + (even ? v[(t + at) % n] : t % LANES ? v[t - 1] : v[t]);
    memcpy(v, next, (size_t)n * 4);
    if (!at) return;
    level(v, n, at - 1, !even);
    for (uint32_t t = 0; t < n; t++) v[t] += even ? kept[t] : -kept[t];
}

static void two_functions_call_each_other(void)
{
    static const uint32_t shapes[][2] = { { 32, 3 }, { 96, 9 }, { 1024, 12 } };
    for (size_t s = 0; s < 3; s++) {
        uint32_t n = shapes[s][0], levels = shapes[s][1], want[1024];
        CUdeviceptr o = give(NULL, n * 8);
        run("mutual_recursion", 2, 1, n, 1, n * 4, ARGS(&o, &levels));
        for (uint32_t t = 0; t < n; t++) want[t] = t;
        level(want, n, levels, true);
        uint32_t *out = take(o, n * 8);
        for (uint32_t t = 0; t < n * 2; t++) EXPECT(out[t] == want[t % n]);
    }
}

static int depths(int depth, int t, int count)
{
    int below = depth ? depths(depth - 1, t, count) : count;
    return below + depth * (depth & 3) + t;
}

static void threads_meet_at_different_depths(void)
{
    int most = 60, count = 0, n = 512;
    CUdeviceptr o = give(NULL, (size_t)n * 4);
    run("different_depths", 1, 1, (unsigned)n, 1, 0, ARGS(&o, &most));
    for (int t = 0; t < n; t++) count += t % 3 == 0;
    int *out = take(o, (size_t)n * 4);
    for (int t = 0; t < n; t++) EXPECT(out[t] == depths(t * 5 % most, t, count));
}

static void the_stack_limit_makes_room(void)
{
    int depth = 5000, n = 64;
    CUdeviceptr o = give(NULL, (size_t)n * 4);
    CHECK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 500 << 10));
    run("deep", 1, 1, (unsigned)n, 1, 0, ARGS(&o, &depth));
    int *out = take(o, (size_t)n * 4);
    for (int t = 0; t < n; t++) EXPECT(out[t] == depths(depth, t, 22));
}

static void too_deep(void)
{
    int depth = 1000000;
    CUdeviceptr o = give(NULL, 256);
    CHECK(cuLaunchKernel(kernel("deep"), 1, 1, 1, 64, 1, 1, 0, 0, ARGS(&o, &depth), NULL));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_HARDWARE_STACK_ERROR);
}

static void threads_and_blocks_wait_in_functions(void)
{
    for (int which = 0; which < 2; which++)
        for (int s = 0; s < 2; s++) {
            unsigned blocks = s ? 40 : 2, threads = s ? 7 : 64;
            uint32_t want = 0;
            CUdeviceptr turn = give(NULL, 4), sum = give(NULL, 4);
            run("gates", blocks, 1, threads, 1, 0, ARGS(&turn, &sum, &which));
            for (uint32_t k = 0; k < blocks * threads; k++) want = want * 3 + k;
            EXPECT(*(uint32_t *)take(sum, 4) == want);
        }
}

static void locks_taken_by_functions(void)
{
    for (int which = 0; which < 2; which++) {
        CUdeviceptr lock = give(NULL, 4), count = give(NULL, 4);
        run("locks", 6, 1, 96, 1, 0, ARGS(&lock, &count, &which));
        EXPECT(*(int *)take(count, 4) == 576);
    }
}

static void printf_and_malloc(void)
{
    CUdeviceptr o = give(NULL, 4);
    char text[4096];
    struct catch c = catch_begin(1);
    CHECK(cuLaunchKernel(kernel("reports"), 1, 1, 1, 100, 1, 1, 0, 0, ARGS(&o), NULL));
    CHECK(catch_end(&c, text, sizeof text));
    EXPECT(!strcmp(text, "100 of 100 kept\n"));
    EXPECT(*(int *)take(o, 4) == 100);
}

static void threads_end_in_functions(void)
{
    int out[64];
    for (int which = 0; which < 2; which++) {
        CUdeviceptr o = give(NULL, sizeof out);
        run("some_leave", 1, 1, 64, 1, 0, ARGS(&o, &which));
        memcpy(out, take(o, sizeof out), sizeof out);
        for (int t = 0; t < 64; t++) EXPECT(out[t] == (which ? 64 : t & 1 ? 0 : 32));
    }
}

/* Which of them meet is not said; those that do say the same, and each is among its own. */
static void active_masks(void)
{
    for (int which = 0; which < 2; which++) {
        CUdeviceptr o = give(NULL, 256);
        run("who_is_there", 1, 1, 64, 1, 0, ARGS(&o, &which));
        int *out = take(o, 256);
        for (int t = 0; t < 64; t++) {
            uint32_t mask = which && !(t & 1) ? ~(uint32_t)out[t] : (uint32_t)out[t];
            if (t % 3) {
                EXPECT(!mask);
                continue;
            }
            EXPECT(mask >> t % LANES & 1);
            for (int l = 0; l < LANES; l++) EXPECT(!(mask >> l & 1) || (t / LANES * LANES + l) % 3 == 0);
        }
    }
}

static void fails(const char *name, CUresult want, const char *says)
{
    char text[4096];
    CUdeviceptr p = give(NULL, 256);
    struct catch c = catch_begin(2);
    CHECK(cuLaunchKernel(kernel(name), 2, 1, 1, 64, 1, 1, 0, 0, ARGS(&p), NULL));
    CUresult r = catch_end(&c, text, sizeof text);
    if (r == want && strstr(text, says) && strstr(text, "thread (37,0,0)")) return;
    printf("%s: error %d, wanted %d with '%s': %s\n", name, r, want, says, text);
    exit(1);
}

static void bad_address(void) { fails("bad_address", CUDA_ERROR_ILLEGAL_ADDRESS, "illegal write at 0x1230"); }
static void bad_alignment(void) { fails("bad_alignment", CUDA_ERROR_MISALIGNED_ADDRESS, "PTX line"); }
static void bad_trap(void) { fails("bad_trap", CUDA_ERROR_LAUNCH_FAILED, "a trap"); }
static void bad_call(void) { fails("bad_call", CUDA_ERROR_ILLEGAL_INSTRUCTION, "call of address 0x0"); }

static void bad_assertion(void)
{
    char text[4096];
    CUdeviceptr p = give(NULL, 256);
    struct catch c = catch_begin(2);
    CHECK(cuLaunchKernel(kernel("bad_assertion"), 1, 1, 1, 64, 1, 1, 0, 0, ARGS(&p), NULL));
    EXPECT(catch_end(&c, text, sizeof text) == CUDA_ERROR_ASSERT);
    EXPECT(strstr(text, "thread: [37,0,0] Assertion `t != 37` failed."));
}

static void a_grid_waits_for_itself(void)
{
    int blocks = 20, threads = 256, n = blocks * threads;
    CUdeviceptr d = give(NULL, (size_t)n * 4);
    CHECK(cuLaunchCooperativeKernel(kernel("grid_exchange"), (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0, 0,
                                    ARGS(&d, &n)));
    CHECK(cuCtxSynchronize());
    int *out = take(d, (size_t)n * 4);
    for (int i = 0; i < n; i++) EXPECT(out[i] == (i + n / 2) % n + 1);
}

int main(int argc, char **argv)
{
    static const struct program programs[] = {
        P(virtual_functions),
        P(lanes_go_different_ways),
        P(recursion_with_shuffles),
        P(two_functions_call_each_other),
        P(threads_meet_at_different_depths),
        P(the_stack_limit_makes_room),
        P(too_deep),
        P(threads_and_blocks_wait_in_functions),
        P(locks_taken_by_functions),
        P(printf_and_malloc),
        P(threads_end_in_functions),
        P(active_masks),
        P(bad_address),
        P(bad_alignment),
        P(bad_trap),
        P(bad_call),
        P(bad_assertion),
        P(a_grid_waits_for_itself),
        { 0 },
    };
    return run_programs(argc, argv, programs);
}
