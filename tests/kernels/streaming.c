/* Very many threads that store one element each: what goes past the cache is
 * there, whole, whatever its address, and nothing beside it is touched.
 * usage: streaming KERNEL.ptx */
#include "program.h"

enum { THREADS = (8 << 20) + 77, BLOCK = 256, BLOCKS = (THREADS + BLOCK - 1) / BLOCK, BESIDE = 256, GUARD = 0x5a };

static const uint8_t *stored(const char *name, unsigned size, unsigned offset)
{
    size_t bytes = (size_t)BLOCKS * BLOCK * size + 2 * BESIDE;
    CUdeviceptr all = give(NULL, bytes), out = all + BESIDE + offset * size;
    unsigned n = THREADS;
    CHECK(cuMemsetD8(all, GUARD, bytes));
    run(name, BLOCKS, 1, BLOCK, 1, 0, ARGS(&out, &n));
    const uint8_t *h = take(all, bytes);
    for (unsigned k = 0; k < BESIDE + offset * size; k++) EXPECT(h[k] == GUARD);
    CHECK(cuMemFree(all));
    return h + BESIDE + offset * size;
}

static void integers(const char *name, unsigned size)
{
    static const unsigned offsets[] = { 0, 1, 7, 32 };
    for (unsigned k = 0; k < sizeof offsets / sizeof *offsets; k++) {
        const uint8_t *h = stored(name, size, offsets[k]);
        for (uint64_t i = 0; i < THREADS; i++) {
            uint64_t v = i * 0x9e3779b97f4a7c15;
            EXPECT(!memcmp(h + i * size, &v, size));
        }
        EXPECT(h[(size_t)THREADS * size] == GUARD);
    }
}

static void bytes(void) { integers("bytes", 1); }
static void shorts(void) { integers("shorts", 2); }
static void words(void) { integers("words", 4); }
static void longs(void) { integers("longs", 8); }

static void floats(void)
{
    const float *f = (const float *)stored("floats", 4, 0);
    for (unsigned i = 0; i < BLOCKS * BLOCK; i++) EXPECT(f[i] == (float)i);
    EXPECT(((const uint8_t *)(f + BLOCKS * BLOCK))[0] == GUARD);
}

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(bytes), P(shorts), P(words), P(longs), P(floats), { 0 } };
    return run_programs(argc, argv, programs);
}
