/* What the tests of ordinary memory that migrates share: two devices, what they and the host do to memory, and
 * what is seen of it. */
#include "rig.h"

#include <faultline.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>

enum { PAGE = 4096, WINDOW = 2 << 20 };

/* peek copies a word; fill: thread i writes i to word i; spin waits until a word is not 0. */
static const char kernels[] = PTX_HEADER PTX_POKE
    ".visible .entry peek(.param .u64 at, .param .u64 to) { .reg .b32 %r<2>; .reg .b64 %a<3>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u64 %a2, [to]; ld.global.u32 %r1, [%a1]; st.global.u32 [%a2], %r1; ret; }\n"
    ".visible .entry fill(.param .u64 at, .param .u32 n) { .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %a<4>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r1; @%p bra E; mul.wide.u32 %a2, %r5, 4; add.u64 %a1, %a1, "
    "%a2;\n"
    "st.global.u32 [%a1], %r5; E: ret; }\n"
    ".visible .entry spin(.param .u64 at) { .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %a<2>;\n"
    "ld.param.u64 %a1, [at]; L: ld.volatile.global.u32 %r1, [%a1]; setp.eq.u32 %p, %r1, 0; @%p bra L; ret; }\n";

static CUcontext context[2];
static CUfunction poke_kernel[2], peek_kernel[2], fill_kernel[2], spin_kernel[2];
static CUdeviceptr scratch[2];

static inline bool migrates_here(void)
{
    bool can = system_calls_can_wait();
    if (!can) fprintf(stderr, "SKIP: this user has no userfaultfd that serves system calls\n");
    return can;
}

static inline void start(void)
{
    for (int d = 0; d < 2; d++) {
        CUmodule m = start_with(d, kernels);
        CHECK(cuCtxGetCurrent(&context[d]));
        poke_kernel[d] = function_of(m, "poke");
        peek_kernel[d] = function_of(m, "peek");
        fill_kernel[d] = function_of(m, "fill");
        spin_kernel[d] = function_of(m, "spin");
        CHECK(cuMemAlloc(&scratch[d], 4096));
    }
    CHECK(cuCtxSetCurrent(context[0]));
}

/* ---- what devices and the host do */

static inline void on(int device) { CHECK(cuCtxSetCurrent(context[device])); }

static inline int current(void)
{
    CUdevice d;
    CHECK(cuCtxGetDevice(&d));
    return d;
}

static inline CUresult run(CUfunction f, unsigned blocks, unsigned threads, void *first, void *second)
{
    void *parameters[] = { first, second };
    CHECK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, parameters, NULL));
    return cuCtxSynchronize();
}

static inline CUresult write_word(volatile void *at, uint32_t value)
{
    return run(poke_kernel[current()], 1, 1, &at, &value);
}

static inline uint32_t read_word(volatile void *at)
{
    uint32_t word = 0;
    CHECK(run(peek_kernel[current()], 1, 1, &at, &scratch[current()]));
    CHECK(cuMemcpyDtoH(&word, scratch[current()], 4));
    return word;
}

static inline void fill(void *at, size_t bytes)
{
    uint32_t n = (uint32_t)(bytes / 4);
    CHECK(run(fill_kernel[current()], (n + 255) / 256, 256, &at, &n));
}

static inline void check_filled(const uint32_t *at, size_t bytes)
{
    for (uint32_t k = 0; k < bytes / 4; k++)
        if (at[k] != k) EXPECT_EQUAL(at[k], k);
}

static inline uint32_t look(volatile void *at) { return *(volatile uint32_t *)at; }

/* Aligned to a window and alone in it, every page touched by the host if it is to be. */
static inline char *memory(size_t size, bool touched)
{
    size_t room = (size + WINDOW - 1) / WINDOW * WINDOW + 2 * WINDOW;
    char *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(p != MAP_FAILED);
    p = (char *)(((uintptr_t)p + WINDOW) & -(uintptr_t)WINDOW);
    EXPECT_EQUAL(mprotect(p, size, PROT_READ | PROT_WRITE), 0);
    if (touched) memset(p, 1, size);
    return p;
}

static inline void advise(void *p, size_t size, CUmem_advise advice, int device)
{
    CUmemLocation l = { .type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                        .id = device < 0 ? 0 : device };
    CHECK(cuMemAdvise((CUdeviceptr)p, size, advice, l));
}

static inline void prefetch(void *p, size_t size, int device)
{
    CUmemLocation l = { .type = device < 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE,
                        .id = device < 0 ? 0 : device };
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, size, l, 0, NULL));
    CHECK(cuCtxSynchronize());
}

/* ---- what is seen */

enum { NOWHERE = FAULTLINE_NOWHERE, HOST = FAULTLINE_ON_HOST, DEVICE = FAULTLINE_ON_DEVICE };

static inline int place(void *at)
{
    uint8_t where = 99;
    EXPECT_EQUAL(faultline_residency(at, 1, &where), 0);
    return where;
}

static inline size_t pages_at(void *at, size_t size, int where)
{
    static uint8_t of[1 << 16];
    size_t n = 0;
    EXPECT_EQUAL(faultline_residency(at, size / PAGE, of), 0);
    for (size_t k = 0; k < size / PAGE; k++) n += of[k] == where;
    return n;
}

static inline struct faultline_counters counted(void)
{
    struct faultline_counters c;
    EXPECT_EQUAL(faultline_get_counters(&c), 0);
    return c;
}
