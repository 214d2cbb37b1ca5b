/* Replays recorded walks of an H200 (tests/behaviour/golden) through the policy
 * alone, on the stand-ins of uvm_fake.c.
 * Fails if fewer than LEAST steps are equal: the sizes of fault batches are not
 * known exactly (src/uvm/batch.c), and LEAST only grows. Given a walk, shows it.
 * usage: uvm-walks GOLDEN DEVICES LEAST [WALK [EVENTS]] */
#include "context/context.h"
#include "uvm_fake.h"

#include <stdio.h>
#include <stdlib.h>

static CUmemLocation location(const char *name)
{
    if (!strncmp(name, "gpu", 3)) return (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, name[3] ? atoi(name + 3) : 0 };
    return (CUmemLocation){ CU_MEM_LOCATION_TYPE_HOST, 0 };
}

static void step(const char *text, uint64_t base)
{
    char who[16], what[16];
    unsigned long at, n, stride, advice;
    if (sscanf(text, "prefetch %15s %lu+%lu", who, &at, &n) == 3) {
        uvm_prefetch(base + at * PAGE_BYTES, n * PAGE_BYTES, location(who));
    } else if (sscanf(text, "advise %lu %15s %lu+%lu", &advice, who, &at, &n) == 4) {
        uvm_advise(base + at * PAGE_BYTES, n * PAGE_BYTES, (CUmem_advise)advice, location(who));
    } else if (sscanf(text, "%15s %15s %lu+%lux%lu", who, what, &at, &n, &stride) == 5) {
        CUmemLocation l = location(who);
        unsigned p = l.type == CU_MEM_LOCATION_TYPE_DEVICE ? 1 + (unsigned)l.id : CPU;
        if (p != CPU) {
            uvm_launching((int)p - 1, 1, 1);
            fake_kernel(p);
        }
        for (unsigned long k = 0; k < n; k++) fake_touch(p, base + (at + k * stride) * PAGE_BYTES, *what == 'w');
    } else {
        printf("not understood: %s\n", text);
        exit(1);
    }
}

/* The allocation's size in the walk of a seed, as the recording program draws it. */
static uint64_t walk_size(uint64_t seed, bool two)
{
    static const uint64_t one_device[] = { 512, 1024, 768, 100, 1536, 16 }, two_devices[] = { 512, 1024, 768, 100, 16 };
    uint64_t st = seed * 0x9E3779B97F4A7C15ull + (two ? 77 : 7);
    st ^= st << 13;
    st ^= st >> 7;
    st ^= st << 17;
    uint32_t draw = (uint32_t)(st >> 11);
    return (two ? two_devices[draw % 5] : one_device[draw % 6]) * PAGE_BYTES;
}

/* What a thread does in time is done at each step: the outcome is to be the same each time. */
static void end_pins(void)
{
    quiet_lock(&uvm_lock);
    thrashing_unpin(fake_now);
    quiet_unlock(&uvm_lock);
}

/* In a process of its own, as each walk was recorded, the first allocation begins at a round address, and no device has
 * a table yet. */
static struct allocation *first_allocation(struct context *context, uint64_t size)
{
    static const uint64_t round = 32ul << 20;
    static uint64_t end;
    struct allocation *gap, *a = NULL;
    entries_init();
    if (end % round) uvm_alloc(context, round - end % round, 1, &gap);
    uvm_alloc(context, size, 1, &a);
    end = (a->base + size + WINDOW_BYTES - 1) / WINDOW_BYTES * WINDOW_BYTES;
    return a;
}

static bool equal(const char *want, uint64_t got) { return *want == '*' || strtoul(want, NULL, 10) == got; }

int main(int argc, char **argv)
{
    static struct context context;
    FILE *f = argc > 3 ? fopen(argv[1], "r") : NULL;
    char line[512], seed[16] = "", text[128], w[5][32];
    unsigned total = 0, good = 0, prefix = 0, bytes = 0;
    bool broken = false;
    struct allocation *a = NULL;
    if (!f) return 2;
    fake_begin(atoi(argv[2]), 1ull << 37);
    while (fgets(line, sizeof line, f)) {
        char s[16];
        bool dtod = strstr(line, "[dtod]");
        if (sscanf(line, "%15s %*s %127[^|]| HtoD %31s DtoH %31s cpuPF %31s gpuPF %31s remote %31s", s, text, w[0],
                   w[1], w[2], w[3], w[4]) != 7)
            continue;
        if (argc > 4 && strcmp(argv[4], s)) continue;
        if (strcmp(s, seed)) {
            strcpy(seed, s);
            if (a) uvm_free(a);
            uint64_t size = walk_size(strtoul(s + 1, NULL, 10), device_count == 2);
            a = first_allocation(&context, size);
            fake_from = a->base;
            fake_to = a->base + size; /* the recording program looks at no events that begin elsewhere */
            broken = false;
        }
        fake_verbose = argc > 5;
        if (!dtod) {
            memset(&fake_counted, 0, sizeof fake_counted);
            fake_now += 5000000;
            end_pins();
            step(text, a->base);
            uvm_settle();
        }
        bool same = dtod ? equal(w[0], fake_counted.dtod)
                         : equal(w[0], fake_counted.htod) && equal(w[1], fake_counted.dtoh) &&
                               equal(w[2], fake_counted.cpu_faults) && equal(w[3], fake_counted.gpu_faults) &&
                               equal(w[4], fake_counted.remote);
        total++;
        good += same;
        bytes += dtod ? same : equal(w[0], fake_counted.htod) && equal(w[1], fake_counted.dtoh);
        if (!same && (!broken || argc > 4))
            printf("%.100s\n      here HtoD %lu DtoH %lu cpuPF %lu gpuPF %lu remote %lu dtod %lu\n", strtok(line, "\n"),
                   fake_counted.htod, fake_counted.dtoh, fake_counted.cpu_faults, fake_counted.gpu_faults,
                   fake_counted.remote, fake_counted.dtod);
        else if (argc > 4)
            printf("%.100s\n", strtok(line, "\n"));
        broken |= !same;
        prefix += !broken;
    }
    printf("%u of %u steps equal, bytes of %u; before each walk's first difference %u\n", good, total, bytes, prefix);
    return argc == 4 && good < strtoul(argv[3], NULL, 10);
}
