/* What observation costs: an event that nobody listens to, one that is
 * recorded, beside the two atomic additions that counting takes; and launches
 * that leave records beside launches that do not. In
 * nanoseconds. */
#include "client.h"
#include "trace/trace.h"

#include <faultline.h>
#include <stdbool.h>

enum { EVENTS = 100000, ROUNDS = 15, LAUNCHES = 400 };

static void event(void)
{
    trace_write(
        (struct trace_record){ .kind = TRACE_CPU_FAULT, .access = TRACE_ACCESS_READ, .address = 4096, .bytes = 4096 });
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

int main(void)
{
    struct faultline_cursor cursor;
    CUmodule m;
    static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty(){ ret; }\n";
    use_device();
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&empty, m, "empty"));
    report("trace.add.ns", each(add));
    report("trace.idle.ns", each(event));
    trace_listen(TRACE_LISTEN_RECORDS, true);
    report("trace.recorded.ns", each(event));
    trace_listen(TRACE_LISTEN_RECORDS, false);
    report("trace.launch.ns", launch());
    EXPECT(!faultline_subscribe(&cursor, 1));
    report("trace.launch.recorded.ns", launch());
    return 0;
}
