/* Host threads and kernels of two devices add to the same words of managed
 * memory, while other threads prefetch and advise it to and fro and system
 * calls write beside them: every addition counts. usage: managed_fight SEED */
#include "../check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WORDS = 64,
    STRIDE = 65536,
    DEVICES = 2,
    ADDERS = 2,
    ADDITIONS = 3000,
    LAUNCHES = 60,
    BLOCKS = 16,
    THREADS = 64
};

/* Thread t of block b adds 1 to word (t + b) % 64. */
static const char ptx[] = ".version 7.5\n.target sm_70\n.address_size 64\n"
                          ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<6>;\n.reg .b32 %r<6>;\n"
                          "ld.param.u64 %rd1,[p];\nmov.u32 %r1,%tid.x;\nmov.u32 %r2,%ctaid.x;\nadd.u32 %r1,%r1,%r2;\n"
                          "and.b32 %r1,%r1,63;\nmul.wide.u32 %rd2,%r1,65536;\nadd.s64 %rd1,%rd1,%rd2;\n"
                          "atom.sys.global.add.u32 %r3,[%rd1],1;\nret;\n}\n";

static CUdeviceptr memory;
static CUcontext context[DEVICES];
static CUfunction function[DEVICES];
static _Atomic bool over;
static unsigned seed;

static CUstream begin(unsigned device)
{
    CUstream stream;
    CHECK(cuCtxSetCurrent(context[device]));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static unsigned next_random(unsigned *state) { return (*state = *state * 1103515245 + 12345) >> 8; }

static void *move_about(void *arg)
{
    unsigned state = seed + (unsigned)(size_t)arg;
    CUstream stream = begin(state % DEVICES);
    while (!over) {
        unsigned first = next_random(&state) % WORDS, n = 1 + next_random(&state) % 16, where = next_random(&state) % 4;
        if (n > WORDS - first) n = WORDS - first;
        CUdeviceptr at = memory + (size_t)first * STRIDE;
        CUmemLocation l = { .type = where < DEVICES ? CU_MEM_LOCATION_TYPE_DEVICE : CU_MEM_LOCATION_TYPE_HOST };
        if (where < DEVICES) l.id = (int)where;
        CHECK(cuMemPrefetchAsync(at, (size_t)n * STRIDE, l, 0, stream));
        if (next_random(&state) % 4 == 0)
            CHECK(cuMemAdvise(at, (size_t)n * STRIDE,
                              next_random(&state) % 2 ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_UNSET_READ_MOSTLY,
                              l));
        CHECK(cuStreamSynchronize(stream));
    }
    return NULL;
}

static void *add(void *arg)
{
    for (size_t k = 0; k < ADDITIONS; k++)
        atomic_fetch_add((_Atomic unsigned *)(memory + (k + (size_t)arg * 7) % WORDS * STRIDE), 1);
    return NULL;
}

static void *launch(void *arg)
{
    size_t device = (size_t)arg;
    CUstream stream = begin((unsigned)device);
    void *arguments[] = { &memory };
    for (int k = 0; k < LAUNCHES; k++) {
        CHECK(cuLaunchKernel(function[device], BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, arguments, NULL));
        if (k % 4 == 3) CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuStreamSynchronize(stream));
    return NULL;
}

/* Where the system lets them, system calls write into pages that are anywhere. */
static void *write_by_system_calls(void *arg)
{
    int ends[2];
    (void)arg;
    if (pipe(ends)) exit(1);
    for (unsigned k = 0; !over; k++) {
        char *at = (char *)memory + (size_t)(k % WORDS) * STRIDE + 64, in = (char)k;
        if (write(ends[1], &in, 1) != 1 || read(ends[0], at, 1) != 1 || *(volatile char *)at != in) {
            fprintf(stderr, "a system call did not write what it should\n");
            exit(1);
        }
        usleep(100);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t workers[ADDERS + DEVICES], others[3];
    unsigned long sum = 0, wanted = ADDERS * ADDITIONS + (unsigned long)DEVICES * LAUNCHES * BLOCKS * THREADS;
    const char *rung = getenv("FAULTLINE_UFFD");
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    setenv("FAULTLINE_DEVICES", "2", 1);
    CHECK(cuInit(0));
    for (int d = 0; d < DEVICES; d++) {
        CUmodule module;
        CHECK(cuDevicePrimaryCtxRetain(&context[d], d));
        CHECK(cuCtxSetCurrent(context[d]));
        CHECK(cuModuleLoadData(&module, ptx));
        CHECK(cuModuleGetFunction(&function[d], module, "k"));
    }
    CHECK(cuMemAllocManaged(&memory, WORDS * STRIDE, CU_MEM_ATTACH_GLOBAL));
    for (size_t k = 0; k < 2; k++) pthread_create(&others[k], NULL, move_about, (void *)k);
    bool calls = rung && !strcmp(rung, "on") && !access("/dev/userfaultfd", R_OK | W_OK);
    if (calls) pthread_create(&others[2], NULL, write_by_system_calls, NULL);
    for (size_t k = 0; k < ADDERS; k++) pthread_create(&workers[k], NULL, add, (void *)k);
    for (size_t k = 0; k < DEVICES; k++) pthread_create(&workers[ADDERS + k], NULL, launch, (void *)k);
    for (int k = 0; k < ADDERS + DEVICES; k++) pthread_join(workers[k], NULL);
    over = true;
    for (int k = 0; k < 2 + calls; k++) pthread_join(others[k], NULL);
    for (size_t k = 0; k < WORDS; k++) sum += *(volatile unsigned *)(memory + k * STRIDE);
    printf("%lu additions, %lu counted\n", wanted, sum);
    return sum != wanted;
}
