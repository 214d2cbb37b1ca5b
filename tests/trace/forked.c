/* Children that fork makes while kernels end and are recorded: they end by exit, as a program's own handlers do,
 * whatever other threads were about to do, and have no part of their parent's records. */
#include "../check.h"

#include <cupti.h>
#include <faultline.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 400, PATIENCE_S = 20, TOOK_RECORDS = 9, ANSWERED = 10 };

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry nothing()\n{\nret;\n}\n";

static CUcontext context;
static CUfunction nothing;
static CUstream stream;
static CUevent event;
static CUdeviceptr memory;
static struct faultline_cursor cursor;
static pid_t parent;
static _Atomic bool over;
static _Atomic size_t records;

static void CUPTIAPI request(uint8_t **b, size_t *size, size_t *most)
{
    *size = 8192;
    *b = aligned_alloc(8, *size);
    *most = 0;
}

static void CUPTIAPI complete(CUcontext c, uint32_t s, uint8_t *b, size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;
    (void)c, (void)s, (void)size;
    if (getpid() != parent) _exit(TOOK_RECORDS);
    while (!cuptiActivityGetNextRecord(b, valid, &r)) records++;
    free(b);
}

static void flush_at_exit(void) { cuptiActivityFlushAll(1); }

static void *launch(void *unused)
{
    CHECK(cuCtxSetCurrent(context));
    while (!over) {
        for (int k = 0; k < 20; k++) CHECK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
        CHECK(cuEventRecord(event, stream));
        CHECK(cuStreamSynchronize(stream));
        cuptiActivityFlushAll(0);
    }
    return unused;
}

/* A destructor of the program's lets go what its parent had, and looks at what happened. */
static void let_go(void)
{
    struct faultline_event e;
    struct faultline_counters c;
    faultline_flush();
    if (faultline_read(&cursor, &e, 1)) _exit(TOOK_RECORDS);
    if (!faultline_get_counters(&c) && c.events[FAULTLINE_KERNEL]) _exit(TOOK_RECORDS);
    bool refused = cuEventDestroy(event) && cuStreamSynchronize(stream) && cuStreamDestroy(stream) &&
                   cuMemFree(memory) && cuCtxSynchronize() && cuCtxDestroy(context);
    if (!refused) _exit(ANSWERED);
}

int main(void)
{
    CUmodule m;
    pthread_t thread;
    parent = getpid();
    atexit(flush_at_exit);
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, NULL, 0, 0));
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&nothing, m, "nothing"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuMemAlloc(&memory, 4096));
    EXPECT(!cuptiActivityRegisterCallbacks(request, complete));
    EXPECT(!cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    EXPECT(!cuptiActivityFlushPeriod(1));
    EXPECT(!faultline_subscribe(&cursor, 1));
    EXPECT(!pthread_create(&thread, NULL, launch, NULL));
    for (int k = 0; k < CHILDREN; k++) {
        int status;
        pid_t child = fork();
        if (!child) {
            alarm(PATIENCE_S);
            let_go();
            exit(0);
        }
        EXPECT(waitpid(child, &status, 0) == child);
        if (status) fprintf(stderr, "child %d ended with %#x\n", k, (unsigned)status);
        EXPECT(!status);
    }
    over = true;
    EXPECT(!pthread_join(thread, NULL));
    EXPECT(!cuptiActivityFlushAll(1));
    EXPECT(records > 0);
    return 0;
}
