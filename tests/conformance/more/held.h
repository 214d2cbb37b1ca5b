/* Streams, of which the first can be held up, and memory that their work may touch. */
#ifndef HELD_H
#define HELD_H
#include "gate.h"
#include "say.h"

enum { HELD = 2, STREAMS = 4, SOURCE = 4 << 20 };

static CUstream streams[STREAMS]; /* the first HELD wait for a word from time to time */
static volatile uint32_t *words;
static uint32_t turn[HELD];
static bool held[HELD];
static CUdeviceptr everything;

static void hold(int k)
{
    if (held[k]) return;
    MUST(cuStreamWaitValue32(streams[k], (CUdeviceptr)(words + k), ++turn[k], CU_STREAM_WAIT_VALUE_GEQ));
    held[k] = true;
}

static void let_go(int k)
{
    words[k] = turn[k];
    held[k] = false;
}

static void held_begin(void)
{
    setup();
    for (int k = 0; k < STREAMS; k++) MUST(cuStreamCreate(&streams[k], k < 3));
    MUST(cuMemAllocHost((void **)&words, 4096));
    memset((void *)words, 0, 4096);
    MUST(cuMemAlloc(&everything, SOURCE));
    MUST(cuMemsetD8(everything, 1, SOURCE));
    CUdeviceptr p;
    for (int k = 0; k < STREAMS; k++) {
        MUST(cuMemAllocAsync(&p, 1024, streams[k]));
        MUST(cuMemFreeAsync(p, streams[k]));
        MUST(cuMemsetD8Async(everything, 1, SOURCE, streams[k]));
    }
    MUST(cuCtxSynchronize());
}

#endif
