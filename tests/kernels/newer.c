/* The kernels of newer.cu, each against a CPU reference.
 * usage: newer KERNELS.fatbin [NAME]   prints a line per program; exit 1 if one is wrong. */
#include "program.h"

static void phases_of_an_mbarrier(void)
{
    static const uint32_t shapes[][2] = { { 32, 1 }, { 100, 7 }, { 256, 40 } };
    for (size_t s = 0; s < 3; s++) {
        uint32_t n = shapes[s][0], rounds = shapes[s][1], v[256], next[256];
        CUdeviceptr o = give(NULL, n * 12);
        run("phases", 3, 1, n, 1, 0, ARGS(&o, &rounds));
        for (uint32_t t = 0; t < n; t++) v[t] = t;
        for (uint32_t r = 0; r < rounds; r++) {
            for (uint32_t t = 0; t < n; t++) next[t] = v[t] * 3 + v[(t + r + 1) % n];
            memcpy(v, next, sizeof v);
        }
        uint32_t *out = take(o, n * 12);
        for (uint32_t i = 0; i < n * 3; i++) EXPECT(out[i] == v[i % n]);
    }
}

static void threads_drop_out(void)
{
    uint32_t n = 96;
    CUdeviceptr o = give(NULL, (n + 1) * 4);
    run("dropping", 1, 1, n, 1, 0, ARGS(&o));
    uint32_t *out = take(o, (n + 1) * 4);
    for (uint32_t t = 0; t < n; t++) EXPECT(out[t] == 1);
    EXPECT(out[n] == n * (n - 1) / 2);
}

static void one_warp_fetches_for_others(void)
{
    enum { TILES = 9, THREADS = 160 };
    uint32_t in[TILES * 96];
    int tiles = TILES;
    for (uint32_t k = 0; k < TILES * 96; k++) in[k] = k * 2654435761u;
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, THREADS * 4);
    run("pipeline", 1, 1, THREADS, 1, 0, ARGS(&d, &o, &tiles));
    uint32_t *out = take(o, THREADS * 4);
    for (uint32_t t = 32; t < THREADS; t++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < TILES; k++)
            for (uint32_t n = 0; n < 96; n++) sum = sum * 5 + in[k * 96 + (n + t) % 96];
        EXPECT(out[t] == sum);
    }
}

static void bulk_copies(void)
{
    uint32_t in[2048];
    for (uint32_t k = 0; k < 2048; k++) in[k] = k * k;
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, sizeof in);
    run("bulk", 4, 1, 256, 1, 0, ARGS(&d, &o));
    uint32_t *out = take(o, sizeof in);
    for (uint32_t k = 0; k < 2048; k++) EXPECT(out[k] == in[k ^ 511] + (k % 512 < 256 ? 1 : 2));
}

static void copies_with_policies_and_of_less(void)
{
    uint32_t in[128];
    for (uint32_t k = 0; k < 128; k++) in[k] = k + 1;
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, 1536);
    run("hinted_copies", 1, 1, 32, 1, 0, ARGS(&d, &o));
    uint32_t *out = take(o, 1536);
    for (uint32_t k = 0; k < 384; k++) {
        uint32_t thread = k / 12, part = k % 12 / 4, word = in[thread * 4 + k % 4];
        EXPECT(out[k] == (part == 1 && k % 4 > 1 ? 0 : part == 2 && thread & 1 ? 0 : word));
    }
}

static void asynchronous_stores(void)
{
    CUdeviceptr o = give(NULL, 512);
    run("stores", 1, 1, 128, 1, 0, ARGS(&o));
    uint32_t *out = take(o, 512);
    for (uint32_t k = 0; k < 128; k++) EXPECT(out[k] == (k < 64 ? k / 2 * (k & 1 ? 9 : 7) : (k - 32) * 11));
}

static void atomics_of_128_bits(void)
{
    uint64_t n = 8 * 100, start[4] = { 0, 0, 5, ~5ull };
    CUdeviceptr p = give(start, sizeof start), sums = give(NULL, 16);
    run("wide_atomics", 8, 1, 100, 1, 0, ARGS(&p, &sums));
    uint64_t *out = take(p, sizeof start), *sum = take(sums, 16);
    EXPECT(out[0] == n);
    EXPECT(out[1] == n * (n - 1) / 2);
    EXPECT(sum[0] + out[2] == n * (n - 1) / 2 + 5);
    EXPECT(!sum[1]);
    EXPECT(out[3] == ~out[2]);
}

static void memory_from_the_stack(void)
{
    uint32_t n = 256, most = 500, more = 0;
    CUdeviceptr o = give(NULL, n * 4);
    run("from_the_stack", 1, 1, n, 1, 0, ARGS(&o, &most, &more));
    uint32_t *out = take(o, n * 4);
    for (uint32_t t = 0; t < n; t++) {
        uint32_t size = t % most + 1, sum = 0;
        for (uint32_t round = 0; round < 2; round++)
            for (uint32_t k = 0; k < size; k++) sum += ((k * 7 + 3) % size * t + round) ^ k;
        EXPECT(out[t] == sum);
    }
}

static void too_much_from_the_stack(void)
{
    uint32_t most = 3, more = 50 << 20;
    char text[4096];
    CUdeviceptr o = give(NULL, 4096);
    struct catch c = catch_begin(2);
    CHECK(cuLaunchKernel(kernel("from_the_stack"), 1, 1, 1, 64, 1, 1, 0, 0, ARGS(&o, &most, &more), NULL));
    EXPECT(catch_end(&c, text, sizeof text) == CUDA_ERROR_HARDWARE_STACK_ERROR);
    EXPECT(strstr(text, "a stack overflow"));
}

static void differences_of_bytes(void)
{
    uint32_t in[128], out[192];
    for (uint32_t k = 0; k < 128; k++) in[k] = k * 2654435761u ^ k << 20;
    CUdeviceptr d = give(in, sizeof in), o = give(NULL, sizeof out);
    run("differences", 1, 1, 64, 1, 0, ARGS(&d, &o));
    memcpy(out, take(o, sizeof out), sizeof out);
    for (uint32_t t = 0; t < 64; t++) {
        uint32_t want[3] = { 0, 17, 0 };
        for (int k = 0; k < 32; k += 8) {
            int a = (uint8_t)(in[t] >> k), b = (uint8_t)(in[t + 64] >> k), s = abs((int8_t)a - (int8_t)b);
            want[0] |= (uint32_t)abs(a - b) << k;
            want[1] += (uint32_t)abs(a - b);
            want[2] |= (uint32_t)(s > 127 ? 127 : s) << k;
        }
        for (int k = 0; k < 3; k++) EXPECT(out[t * 3 + (uint32_t)k] == want[k]);
    }
}

static void hints_change_nothing(void)
{
    CUdeviceptr p = give(NULL, 256);
    run("hints", 1, 1, 64, 1, 0, ARGS(&p));
    uint32_t *out = take(p, 256);
    for (int k = 0; k < 64; k++) EXPECT(out[k] == 1);
}

int main(int argc, char **argv)
{
    static const struct program programs[] = {
        P(phases_of_an_mbarrier),
        P(threads_drop_out),
        P(one_warp_fetches_for_others),
        P(bulk_copies),
        P(copies_with_policies_and_of_less),
        P(asynchronous_stores),
        P(atomics_of_128_bits),
        P(memory_from_the_stack),
        P(too_much_from_the_stack),
        P(differences_of_bytes),
        P(hints_change_nothing),
        { 0 },
    };
    return run_programs(argc, argv, programs);
}
