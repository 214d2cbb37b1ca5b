/* What allocators of frameworks do with pools, at random: blocks of all sizes live in
 * several streams, go from one to another by events, are freed in either, and their
 * pools are trimmed meanwhile, while work for them waits. No block may hold another's
 * bytes, and in the end nothing is left. */
#include "../draw.h"
#include "../usage.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 6, BLOCKS = 120, POOLS = 3, LOOKS = 4096, STEPS = 3000, MAPPING = 32 << 20, PIECE = 64 };

static CUstream streams[STREAMS];
static uint32_t *gates; /* a stream waits until its word has come to a number */
static uint32_t turns[STREAMS];
static bool held[STREAMS];
static CUmemoryPool pools[POOLS];
static cuuint64_t uncounted[POOLS]; /* bytes that cuMemFree took back: they stay counted as used */
static CUevent event;

static struct {
    CUdeviceptr p;
    size_t size;
    int stream, pool;
    unsigned char value;
} blocks[BLOCKS];

/* What was copied out of blocks, to be looked at when the stream was waited for. */
static unsigned char *seen;
static struct {
    int stream; /* -1: no look */
    unsigned char value;
} looks[LOOKS];
static unsigned next_look;

static void let_go(int s)
{
    __atomic_store_n(&gates[s], turns[s], __ATOMIC_SEQ_CST);
    held[s] = false;
}

static void let_all_go(void)
{
    for (int s = 0; s < STREAMS; s++) let_go(s);
}

static void look_at(int s)
{
    for (int k = 0; k < LOOKS; k++) {
        if (looks[k].stream != s) continue;
        for (int i = 0; i < PIECE; i++) EXPECT_EQUAL(seen[k * PIECE + i], looks[k].value);
        looks[k].stream = -1;
    }
}

/* Streams may wait for each other. */
static void finish(int s)
{
    let_all_go();
    CHECK(cuStreamSynchronize(streams[s]));
    look_at(s);
}

static void finish_all(void)
{
    let_all_go();
    CHECK(cuCtxSynchronize());
    for (int s = 0; s < STREAMS; s++) look_at(s);
}

static void hold(int s)
{
    if (held[s]) return;
    CHECK(cuStreamWaitValue32(streams[s], (CUdeviceptr)&gates[s], ++turns[s], CU_STREAM_WAIT_VALUE_GEQ));
    held[s] = true;
}

/* The block's last bytes, in its stream. */
static void look_into(int b)
{
    const unsigned k = next_look++ % LOOKS;
    if (looks[k].stream >= 0) finish(looks[k].stream);
    looks[k].stream = blocks[b].stream;
    looks[k].value = blocks[b].value;
    const size_t at = draw(2) ? 0 : blocks[b].size - PIECE;
    CHECK(cuMemcpyAsync((CUdeviceptr)(seen + k * PIECE), blocks[b].p + at, PIECE, streams[blocks[b].stream]));
}

static void fill(int b)
{
    blocks[b].value = (unsigned char)(1 + draw(255));
    CHECK(cuMemsetD8Async(blocks[b].p, blocks[b].value, blocks[b].size, streams[blocks[b].stream]));
}

static size_t any_size(void)
{
    static const uint32_t most[] = { 1024, 1024, 65536, 1 << 20, 1 << 20, 8 << 20, 40 << 20 };
    return PIECE + draw(most[draw(7)]);
}

static void allocate(int b)
{
    const int s = (int)draw(STREAMS), pool = (int)draw(POOLS);
    const size_t size = any_size();
    CUresult r = cuMemAllocFromPoolAsync(&blocks[b].p, size, pools[pool], streams[s]);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        finish_all();
        blocks[b].p = 0;
        return;
    }
    CHECK(r);
    blocks[b].size = size;
    blocks[b].stream = s;
    blocks[b].pool = pool;
    fill(b);
}

static void give_back(int b)
{
    look_into(b);
    if (draw(10)) {
        CHECK(cuMemFreeAsync(blocks[b].p, streams[blocks[b].stream]));
    } else {
        finish_all();
        CHECK(cuMemFree(blocks[b].p));
        uncounted[blocks[b].pool] += blocks[b].size;
    }
    blocks[b].p = 0;
}

static void move(int b)
{
    const int to = (int)draw(STREAMS);
    CHECK(cuEventRecord(event, streams[blocks[b].stream]));
    CHECK(cuStreamWaitEvent(streams[to], event, 0));
    blocks[b].stream = to;
}

static void copy(int from, int to)
{
    const size_t size = blocks[from].size < blocks[to].size ? blocks[from].size : blocks[to].size;
    if (from == to || size < blocks[to].size) return;
    CHECK(cuEventRecord(event, streams[blocks[from].stream]));
    CHECK(cuStreamWaitEvent(streams[blocks[to].stream], event, 0));
    CHECK(cuMemcpyAsync(blocks[to].p, blocks[from].p, size, streams[blocks[to].stream]));
    CHECK(cuEventRecord(event, streams[blocks[to].stream])); /* who writes to the source next, or frees it, waits */
    CHECK(cuStreamWaitEvent(streams[blocks[from].stream], event, 0));
    blocks[to].value = blocks[from].value;
}

static void count(int pool)
{
    cuuint64_t used, all = 0, reserved;
    CHECK(cuMemPoolGetAttribute(pools[pool], CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    CHECK(cuMemPoolGetAttribute(pools[pool], CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    for (int b = 0; b < BLOCKS; b++)
        if (blocks[b].p && blocks[b].pool == pool) all += blocks[b].size;
    EXPECT_EQUAL(used, all + uncounted[pool]);
    EXPECT(reserved >= all && reserved % MAPPING == 0);
}

static void change_pool(int pool)
{
    const cuuint64_t threshold = draw(2) ? 0 : (cuuint64_t)draw(200) << 20;
    int on = (int)draw(2);
    static const CUmemPool_attribute policies[] = { CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                                    CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                                    CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES };
    if (draw(2))
        CHECK(cuMemPoolSetAttribute(pools[pool], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (void *)&threshold));
    else
        CHECK(cuMemPoolSetAttribute(pools[pool], policies[draw(3)], &on));
}

static void step(void)
{
    const int b = (int)draw(BLOCKS), other = (int)draw(BLOCKS), s = (int)draw(STREAMS);
    switch (draw(24)) {
    case 0: hold(s); return;
    case 1: let_go(s); return;
    case 2:
        if (!draw(6)) finish(s);
        return;
    case 3: CHECK(cuMemPoolTrimTo(pools[draw(POOLS)], (size_t)draw(4) * MAPPING)); return;
    case 4: change_pool((int)draw(POOLS)); return;
    case 5: count((int)draw(POOLS)); return;
    default: break;
    }
    if (!blocks[b].p) {
        allocate(b);
        return;
    }
    switch (draw(8)) {
    case 0:
    case 1: give_back(b); break;
    case 2: move(b); break;
    case 3: fill(b); break;
    case 4:
        if (blocks[other].p) copy(other, b);
        break;
    default: look_into(b);
    }
}

static void begin(void)
{
    for (int s = 0; s < STREAMS; s++) CHECK(cuStreamCreate(&streams[s], s % 2));
    for (int k = 0; k < POOLS; k++) {
        const CUmemPoolProps props = {
            .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
            .handleTypes = k == 1 ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
            .location = { k == 2 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE, 0 }
        };
        const CUmemAccessDesc all = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
        CHECK(cuMemPoolCreate(&pools[k], &props));
        CHECK(cuMemPoolSetAccess(pools[k], &all, 1));
        uncounted[k] = 0;
    }
    for (int k = 0; k < LOOKS; k++) looks[k].stream = -1;
}

static void end(void)
{
    for (int b = 0; b < BLOCKS; b++)
        if (blocks[b].p) give_back(b);
    finish_all();
    for (int k = 0; k < POOLS; k++) count(k);
    for (int k = 0; k < POOLS; k++) CHECK(cuMemPoolDestroy(pools[k]));
    for (int s = 0; s < STREAMS; s++) CHECK(cuStreamDestroy(streams[s]));
    CHECK(cuCtxSynchronize());
}

static size_t free_bytes(void)
{
    size_t free, total;
    CHECK(cuMemGetInfo(&free, &total));
    return free;
}

int main(int argc, char **argv)
{
    check_context();
    CHECK(cuMemAllocHost((void **)&gates, 4096));
    CHECK(cuMemAllocHost((void **)&seen, LOOKS * PIECE));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    memset(gates, 0, 4096);
    memset(turns, 0, sizeof turns);
    const size_t at_first = free_bytes();
    unsigned open = 0;
    for (uint64_t seed = 1, last = argc > 1 ? strtoull(argv[1], NULL, 0) : 3; seed <= last; seed++) {
        draw_state = seed * 0x9E3779B97F4A7C15ull;
        begin();
        for (int k = 0; k < STEPS; k++) step();
        end();
        EXPECT_EQUAL(free_bytes(), at_first);
        if (seed == 1) open = descriptors();
        EXPECT_EQUAL(descriptors(), open);
    }
    return 0;
}
