/* A program that only writes a trace, as the library would: for the reports of
 * `faultline run`. usage: program [kill | scribble SEED] */
#include "trace/page_map.h"
#include "trace/region.h"
#include "uvm/uvm.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define KIB 1024ull
#define MIB (1024ull * 1024)

enum { STREAMS = 2500 };

static uint8_t where;

void uvm_residency(uint64_t va, uint64_t pages, uint8_t *out)
{
    (void)va;
    memset(out, where, pages);
    if (where == 2) memset(out, 1, pages / 2);
}

static void move(uint64_t address, uint64_t bytes, unsigned from, unsigned to, enum trace_cause cause)
{
    uint64_t now = trace_now();
    trace_write(&(struct trace_record){ .kind = TRACE_MIGRATION,
                                        .time = now,
                                        .end = now + 1000,
                                        .address = address,
                                        .bytes = bytes,
                                        .source = (uint8_t)from,
                                        .processor = (uint8_t)to,
                                        .cause = (uint8_t)cause });
}

static void gpu_fault(uint64_t address, enum trace_access access)
{
    trace_write(&(struct trace_record){
        .kind = TRACE_GPU_FAULT, .address = address, .processor = 1, .access = (uint8_t)access, .count = 3 });
}

static void cpu_fault(uint64_t address, enum trace_access access)
{
    trace_write(
        &(struct trace_record){ .kind = TRACE_CPU_FAULT, .address = address, .access = (uint8_t)access, .thread = 7 });
}

static uint64_t allocate(uint64_t bytes)
{
    static uint64_t next = 0x7f0000000000;
    uint64_t at = next;
    next += bytes + 2 * MIB;
    trace_write(&(struct trace_record){ .kind = TRACE_ALLOC, .address = at, .bytes = bytes });
    return at;
}

static void kernel(const char *name, uint64_t number, uint64_t stream)
{
    uint64_t ticket;
    struct trace_kernel *k = trace_kernel_begin(&ticket);
    k->name = trace_intern(name);
    k->grid[0] = 4;
    k->stream = stream;
    trace_kernel_publish(k, ticket);
    trace_write(&(struct trace_record){
        .kind = TRACE_KERNEL, .time = 1000, .end = 3500, .address = ticket, .processor = 1, .batch = number });
}

static void transfers(void)
{
    trace_write(&(struct trace_record){ .kind = TRACE_TRANSFER,
                                        .time = 4000,
                                        .end = 9500,
                                        .address = 0x7e0000000000,
                                        .batch = 0x7ffff000,
                                        .bytes = 3 * MIB,
                                        .processor = 1,
                                        .from = TRACE_MEMORY_PAGEABLE,
                                        .to = TRACE_MEMORY_DEVICE,
                                        .asynchronous = 1,
                                        .thread = 1 });
    trace_write(&(struct trace_record){ .kind = TRACE_TRANSFER,
                                        .time = 9500,
                                        .end = 9600,
                                        .address = 0x7e0000000000,
                                        .batch = 0xab,
                                        .bytes = 512,
                                        .processor = 1,
                                        .to = TRACE_MEMORY_DEVICE,
                                        .thread = 1 });
}

/* Writes noise all over its region, but for what makes it be read. */
static void scribble(unsigned seed)
{
    struct trace_region *r = trace_region();
    uint64_t *word = (uint64_t *)r;
    srand(seed);
    for (size_t k = 1; k < sizeof *r / 8; k += 1 + (size_t)rand() % 64)
        word[k] = (uint64_t)rand() << (rand() % 40) ^ (uint64_t)rand();
    if (rand() % 2) atomic_store(&r->head, (uint64_t)rand() << (rand() % 33));
    if (rand() % 2) r->allocation_count = 5 + (uint64_t)rand() % 100;
}

int main(int argc, char **argv)
{
    uint64_t faulted = allocate(40 * MIB);
    for (uint64_t k = 0; k < 640; k++) {
        gpu_fault(faulted + k * 64 * KIB, TRACE_ACCESS_READ);
        move(faulted + k * 64 * KIB, 4 * KIB, 0, 1, TRACE_CAUSE_COHERENCE);
        move(faulted + k * 64 * KIB + 4 * KIB, 60 * KIB, 0, 1, TRACE_CAUSE_PREFETCH);
    }
    uint64_t turns = allocate(4 * MIB);
    for (int k = 0; k < 50; k++) {
        gpu_fault(turns, TRACE_ACCESS_WRITE);
        move(turns, 64 * KIB, 0, 1, TRACE_CAUSE_COHERENCE);
        cpu_fault(turns, TRACE_ACCESS_WRITE);
        move(turns, 64 * KIB, 1, 0, TRACE_CAUSE_COHERENCE);
    }
    uint64_t thrashed = allocate(2 * MIB);
    for (int k = 0; k < 20; k++) gpu_fault(thrashed, TRACE_ACCESS_READ), cpu_fault(thrashed, TRACE_ACCESS_READ);
    trace_write(&(struct trace_record){ .kind = TRACE_THRASHING, .address = thrashed, .bytes = 8 * KIB, .thread = 3 });
    uint64_t large = allocate(8192 * MIB);
    for (int k = 0; k < 100; k++) move(large + (uint64_t)k * 2 * MIB, 2 * MIB, 1, 0, TRACE_CAUSE_EVICTION);
    uint64_t fine = allocate(16 * MIB);
    move(fine, 16 * MIB, 0, 1, TRACE_CAUSE_USER);
    trace_write(&(struct trace_record){ .kind = TRACE_MAP_REMOTE, .address = fine, .bytes = MIB, .processor = 1 });
    trace_write(&(struct trace_record){ .kind = TRACE_FREE, .address = fine });

    uint32_t name = trace_intern("a \"kernel\" \\ with\ttabs \xc3\xa9");
    if (trace_wanted(TRACE_LISTEN_MAP)) {
        page_map_note(MOMENT_BEFORE, name, 0);
        where = 1;
        page_map_note(MOMENT_AFTER, name, 0);
        page_map_note(MOMENT_BEFORE, name, 0);
        where = 2;
        page_map_note(MOMENT_AFTER, name, 0);
    }
    kernel("a \"kernel\" \\ with\ttabs \xc3\xa9", 1, 1);
    for (uint64_t k = 2; k < STREAMS; k++) kernel("in another stream", k, k);
    transfers();
    if (argc > 2 && !strcmp(argv[1], "scribble")) scribble((unsigned)atoi(argv[2]));
    if (argc > 1 && !strcmp(argv[1], "kill")) raise(SIGKILL);
    return 0;
}
