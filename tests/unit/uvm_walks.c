/* Replays recorded walks of an H200 (tests/behaviour/golden) through the policy
 * alone: page tables that only remember, a clock that only this file moves.
 * Fails if fewer than LEAST steps are equal: the sizes of fault batches are not
 * known exactly (src/uvm/batch.c), and LEAST only grows. Given a walk, shows it.
 * usage: uvm-walks GOLDEN DEVICES LEAST [WALK [EVENTS]] */
#include "context/context.h"
#include "space/adopted.h"
#include "uvm/internal.h"
#include "uvm/uvm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what lies below and beside src/uvm */

struct device devices[MAX_DEVICES];
int device_count;
static uint8_t entries[PROCESSORS][8 << 20]; /* by page from the base of managed memory */
static struct {
    uint64_t htod, dtoh, dtod, cpu_faults, gpu_faults, remote;
} counted;
static mmu_service *serve;
static struct allocation *published;
static int verbose;
static const struct profile machine = { .attribute[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
                                        .p2p = { [CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED] = 1,
                                                 [CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED] = 1 } };
static uint64_t seen; /* bytes: what the recording client looked at */

uint64_t space_managed_base(void) { return 0x670000000000; }
uint64_t space_managed_end(void) { return 0x670800000000; }
void space_add_owner(const struct space_owner *o) { (void)o; }
CUresult space_publish(struct allocation *a)
{
    published = a;
    return CUDA_SUCCESS;
}
void space_withdraw(struct allocation *a) { (void)a; }
CUresult backing_create_huge(struct backing *b, const char *n, uint64_t size)
{
    (void)n;
    *b = (struct backing){ .size = size, .id = 1 };
    return CUDA_SUCCESS;
}
CUresult adopted_add(uint64_t va, bool write)
{
    (void)va, (void)write;
    return CUDA_ERROR_INVALID_VALUE;
}
void adopted_review(void) {}
bool adopted_touchable(uint64_t va, uint64_t size) { return va + size == 0; }
void mmu_serve_outside(mmu_service *service) { (void)service; }
CUresult sticky_set(CUresult e)
{
    fprintf(stderr, "sticky error %d\n", e);
    exit(1);
}
void fl_log(int level, const char *f, ...)
{
    va_list a;
    va_start(a, f);
    vfprintf(stderr, f, a);
    fprintf(stderr, "\n");
    va_end(a);
    (void)level;
}
CUresult vram_charge(struct vram *v, uint64_t size)
{
    if (v->capacity - v->used < size) return CUDA_ERROR_OUT_OF_MEMORY;
    v->used += size;
    return CUDA_SUCCESS;
}
void vram_uncharge(struct vram *v, uint64_t size) { v->used -= size; }

static uint64_t page_index(uint64_t va) { return (va - space_managed_base()) / PAGE_BYTES; }
CUresult mmu_init(const struct backing *b, uint64_t base, mmu_service *s)
{
    (void)b;
    (void)base;
    serve = s;
    return CUDA_SUCCESS;
}
CUresult mmu_add(uint64_t va, uint64_t size)
{
    for (int p = 0; p < PROCESSORS; p++) memset(&entries[p][page_index(va)], 0, size / PAGE_BYTES);
    return CUDA_SUCCESS;
}
void mmu_remove(uint64_t va, uint64_t size)
{
    (void)va;
    (void)size;
}
CUresult mmu_attach(unsigned p)
{
    (void)p;
    return CUDA_SUCCESS;
}
void mmu_detach(unsigned p) { (void)p; }
void mmu_discard(uint64_t va, uint64_t size)
{
    (void)va;
    (void)size;
}
CUresult mmu_set(unsigned p, uint64_t va, uint64_t size, enum mmu_access access)
{
    memset(&entries[p][page_index(va)], access, size / PAGE_BYTES);
    return CUDA_SUCCESS;
}

_Atomic unsigned trace_listeners;
void trace_ask_environment(void) {}
void trace_note_begin(void) {}

void trace_write(struct trace_record r)
{
    if (verbose)
        printf("    kind %d cause %d %d<-%d off %#lx bytes %lu\n", r.kind, r.cause, r.processor, r.source,
               (long)(r.address - space_managed_base()), (long)r.bytes);
    if (published && r.address - published->base >= seen) return;
    switch (r.kind) {
    case TRACE_CPU_FAULT: counted.cpu_faults++; break;
    case TRACE_GPU_FAULT: counted.gpu_faults++; break;
    case TRACE_MAP_REMOTE: counted.remote++; break;
    case TRACE_MIGRATION:
        if (r.processor == CPU)
            counted.dtoh += r.bytes;
        else if (r.source == CPU)
            counted.htod += r.bytes;
        else
            counted.dtod += r.bytes;
    }
}

static uint64_t now = 1;
uint64_t uvm_now(void) { return now; }

/* ---- a walk */

static void touch(unsigned p, uint64_t va, bool write)
{
    for (int k = 0; entries[p][page_index(va)] < (write ? MMU_WRITE : MMU_READ); k++) {
        now += 20000;
        struct mmu_fault f = { .processor = p, .address = va, .write = write, .pending = 1 };
        if (k == 8 || serve(&f) != MMU_RETRY) {
            printf("no end of faults at page %lu\n", page_index(va));
            exit(1);
        }
    }
}

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
        for (unsigned long k = 0; k < n; k++) touch(p, base + (at + k * stride) * PAGE_BYTES, *what == 'w');
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
    device_count = atoi(argv[2]);
    for (int k = 0; k < device_count; k++) devices[k] = (struct device){ .ordinal = k, .vram.capacity = 1ull << 37 };
    for (int k = 0; k < device_count; k++) devices[k].profile = &machine;
    uvm_init();
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
            seen = walk_size(strtoul(s + 1, NULL, 10), device_count == 2);
            uvm_alloc(&context, seen, 1, &a);
            broken = false;
        }
        verbose = argc > 5;
        if (!dtod) {
            memset(&counted, 0, sizeof counted);
            now += 5000000;
            step(text, a->base);
            uvm_settle();
        }
        bool same = dtod ? equal(w[0], counted.dtod)
                         : equal(w[0], counted.htod) && equal(w[1], counted.dtoh) && equal(w[2], counted.cpu_faults) &&
                               equal(w[3], counted.gpu_faults) && equal(w[4], counted.remote);
        total++;
        good += same;
        bytes += dtod ? same : equal(w[0], counted.htod) && equal(w[1], counted.dtoh);
        if (!same && (!broken || argc > 4))
            printf("%.100s\n      here HtoD %lu DtoH %lu cpuPF %lu gpuPF %lu remote %lu dtod %lu\n", strtok(line, "\n"),
                   counted.htod, counted.dtoh, counted.cpu_faults, counted.gpu_faults, counted.remote, counted.dtod);
        else if (argc > 4)
            printf("%.100s\n", strtok(line, "\n"));
        broken |= !same;
        prefix += !broken;
    }
    printf("%u of %u steps equal, bytes of %u; before each walk's first difference %u\n", good, total, bytes, prefix);
    return argc == 4 && good < strtoul(argv[3], NULL, 10);
}
