/* What observation costs: an event that nobody listens to, one that is
 * recorded, beside the two atomic additions that counting takes; launches
 * that leave records beside launches that do not; and the accesses of a kernel
 * of one thread, each of which is told of. In nanoseconds. */
#include "client.h"
#include "trace/trace.h"

#include <faultline.h>
#include <stdbool.h>

enum { EVENTS = 100000, ROUNDS = 15, LAUNCHES = 400, WORDS = 1 << 20, TOUCHES = 5 };

static void event(void)
{
    trace_write(
        &(struct trace_record){ .kind = TRACE_CPU_FAULT, .access = TRACE_ACCESS_READ, .address = 4096, .bytes = 4096 });
}

static void add(void)
{
    static _Atomic uint64_t a, b;
    atomic_fetch_add_explicit(&a, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&b, 1, memory_order_relaxed);
}

static double each(void (*what)(void))
{
    double ns[ROUNDS];
    for (int k = 0; k < ROUNDS; k++) {
        double t = now_us();
        for (int i = 0; i < EVENTS; i++) what();
        ns[k] = (now_us() - t) * 1e3 / EVENTS;
    }
    return median(ns, ROUNDS);
}

static CUfunction empty;

static double launch(void)
{
    double ns[ROUNDS];
    for (int k = 0; k < ROUNDS; k++) {
        double t = now_us();
        for (int i = 0; i < LAUNCHES; i++) CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        CHECK(cuCtxSynchronize());
        ns[k] = (now_us() - t) * 1e3 / LAUNCHES;
    }
    return median(ns, ROUNDS);
}

/* One thread adds 1 to each word of managed memory that the host has: two accesses of a word. */
static double touch(CUfunction count_up)
{
    double ns[TOUCHES];
    unsigned *words, n = WORDS;
    CHECK(cuMemAllocManaged((CUdeviceptr *)&words, sizeof *words * WORDS, CU_MEM_ATTACH_GLOBAL));
    for (unsigned k = 0; k < TOUCHES; k++) {
        for (unsigned i = 0; i < WORDS; i++) ((volatile unsigned *)words)[i] = k;
        double t = now_us();
        CHECK(cuLaunchKernel(count_up, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &words, &n }, NULL));
        CHECK(cuCtxSynchronize());
        ns[k] = (now_us() - t) * 1e3 / (2 * WORDS);
        EXPECT(words[WORDS - 1] == k + 1);
    }
    CHECK(cuMemFree((CUdeviceptr)words));
    return median(ns, TOUCHES);
}

int main(void)
{
    struct faultline_cursor cursor;
    CUmodule m;
    CUfunction count_up;
    static const char ptx[] =
        ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty(){ ret; }\n"
        ".visible .entry count_up(.param .u64 at, .param .u32 n) { .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %a<2>;\n"
        "ld.param.u64 %a1, [at]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0;\n"
        "L: ld.global.u32 %r3, [%a1]; add.u32 %r3, %r3, 1; st.global.u32 [%a1], %r3; add.u64 %a1, %a1, 4;\n"
        "add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra L; ret; }\n";
    use_device();
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&empty, m, "empty"));
    CHECK(cuModuleGetFunction(&count_up, m, "count_up"));
    report("trace.add.ns", each(add));
    report("trace.idle.ns", each(event));
    trace_listen(TRACE_LISTEN_RECORDS, true);
    report("trace.recorded.ns", each(event));
    trace_listen(TRACE_LISTEN_RECORDS, false);
    report("trace.launch.ns", launch());
    EXPECT(!faultline_subscribe(&cursor, 1));
    report("trace.launch.recorded.ns", launch());
    report("trace.access.ns", touch(count_up));
    return 0;
}
