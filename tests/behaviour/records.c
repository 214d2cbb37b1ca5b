/* Random walks as those of behave_fuzz.c, with atomic operations, fills and copies among the steps; told is every record of
 * every counter: its kind (H and D bytes to the device and to the host, c and g faults, t thrashing, n throttling, r
 * remote mappings), where, how many pages or bytes, its flags, and from where to where. In the order of addresses, for that
 * of time is not the same twice. Of how many accesses a device's engine counts as one fault is not told: that varies.
 * usage: records [FIRST LAST STEPS] */
#include "walk.h"
#include <sys/wait.h>

static const char adding[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u32 n, .param .u64 stride) { .reg .pred %p; .reg .b32 %n; .reg .b64 %a, %s;\n"
    "ld.param.u64 %a, [a]; ld.param.u32 %n, [n]; ld.param.u64 %s, [stride];\n"
    "L: setp.eq.u32 %p, %n, 0; @%p bra E; red.global.add.u32 [%a], 1; add.u64 %a, %a, %s; sub.u32 %n, %n, 1; bra L; E: ret; }\n";
static CUfunction add;
static CUdeviceptr room;

static struct { int kind, flags, from, to; uint64_t at, value; } list[4096];
static unsigned count;

static void note(const CUpti_ActivityUnifiedMemoryCounter3 *u)
{
    if (count == 4096) return;
    const int k = u->counterKind;
    list[count].kind = k;
    list[count].at = (u->address - base) / PG;
    /* times, and numbers of threads and accesses, are values of the others */
    list[count].value = k == 1 || k == 2 || k == 7 ? u->value / PG : k == 5 ? u->value : 0;
    list[count].flags = u->flags;
    list[count].from = u->srcId == 0x7fffffff || u->srcId == 0xffffffff ? -1 : (int)u->srcId;
    list[count].to = u->dstId == 0x7fffffff || u->dstId == 0xffffffff ? -1 : (int)u->dstId;
    count++;
}

static int compare(const void *x, const void *y)
{
    const __typeof__(*list) *a = x, *b = y;
    if (a->kind != b->kind) return a->kind - b->kind;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    return a->flags - b->flags;
}

static void tell_records(const char *what)
{
    settle();
    qsort(list, count, sizeof *list, compare);
    printf("%s:", what);
    for (unsigned k = 0; k < count; k++)
        printf(" %c%lu+%lu/%d,%d>%d", "?HDcgtnrd"[list[k].kind], list[k].at, list[k].value, list[k].flags, list[k].from, list[k].to);
    printf("\n");
    fflush(stdout);
    count = 0;
    memset(cnt, 0, sizeof cnt);
}

static void walk(int seed, int steps)
{
    size_t pages;
    CUmodule m;
    CUdeviceptr p = begin_walk(seed, &pages);
    OK(cuModuleLoadData(&m, adding));
    OK(cuModuleGetFunction(&add, m, "add"));
    OK(cuMemAlloc(&room, 2 * MiB));
    settle();
    each_counter = note;
    for (int i = 0; i < steps; i++) {
        uint32_t at = rnd(pages), n = 1 + rnd(rnd(3) ? 24 : 300), stride = 1 + (rnd(3) ? 0 : rnd(20)), o = rnd(100);
        if (at + n * stride > pages) n = (pages - at + stride - 1) / stride;
        size_t len = (size_t)(1 + rnd(pages - at)) * PG, few = (len > 64 * PG ? 64 * PG : len);
        uint64_t step = stride * PG;
        char b[96];
        snprintf(b, sizeof b, "s%d %03d ", seed, i);
        char *t = b + strlen(b);
        if (o < 36) {
            cpu(p + at * PG, n, step, o >= 20);
            sprintf(t, "cpu %s %u+%ux%u", o >= 20 ? "write" : "read", at, n, stride);
        } else if (o < 64) {
            gpu(p + at * PG, n, step, o >= 50);
            sprintf(t, "gpu %s %u+%ux%u", o >= 50 ? "write" : "read", at, n, stride);
        } else if (o < 70) {
            CUdeviceptr from = p + at * PG;
            void *a[] = { &from, &n, &step };
            OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, a, 0));
            sprintf(t, "gpu atomic %u+%ux%u", at, n, stride);
        } else if (o < 74) {
            OK(cuMemsetD8(p + at * PG, 1, few));
            sprintf(t, "fill %u+%zu", at, few / PG);
        } else if (o < 78) {
            OK(cuMemcpyDtoD(room, p + at * PG, few));
            sprintf(t, "copy %u+%zu", at, few / PG);
        } else if (o < 88) {
            int d = rnd(2);
            pf(p + at * PG, len, d ? dev : hst);
            sprintf(t, "prefetch %s %u+%zu", d ? "gpu" : "cpu", at, len / PG);
        } else {
            int a = 1 + rnd(6), d = rnd(2);
            adv(p + at * PG, len, a, d ? dev : hst);
            sprintf(t, "advise %d %s %u+%zu", a, d ? "gpu" : "cpu", at, len / PG);
        }
        tell_records(b);
    }
}

int main(int argc, char **argv)
{
    const int first = argc > 3 ? atoi(argv[1]) : 1, last = argc > 3 ? atoi(argv[2]) : 25, steps = argc > 3 ? atoi(argv[3]) : 60;
    for (int seed = first; seed <= last; seed++) {
        fflush(stdout);
        if (fork()) {
            wait(NULL);
            continue;
        }
        walk(seed, steps);
        exit(0);
    }
    return 0;
}
