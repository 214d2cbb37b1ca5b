/* What lies below and beside src/uvm in its unit tests; see uvm_fake.h. */
#include "uvm_fake.h"
#include "context/context.h"
#include "ordinary/adopted.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct device devices[MAX_DEVICES];
int device_count;
uint8_t fake_entries[PROCESSORS][FAKE_PAGES];
struct fake_counts fake_counted;
bool fake_gone[FAKE_PAGES];
const struct mappings_client *fake_mappings;
mmu_service *fake_serve;
void (*fake_meanwhile)(void);
bool fake_ends_often = true;
bool fake_verbose;
uint64_t fake_from, fake_to = UINT64_MAX;
_Atomic uint64_t fake_now = 1;

bool (*fake_refuses)(void);
void *heap_take(size_t size) { return fake_refuses && fake_refuses() ? NULL : calloc(1, size); }
void heap_give(void *p) { free(p); }

uint64_t space_managed_base(void) { return 0x670000000000; }
uint64_t space_managed_end(void) { return space_managed_base() + FAKE_PAGES * PAGE_BYTES; }
void space_add_owner(const struct space_owner *o) { (void)o; }
CUresult space_publish(struct allocation *a)
{
    (void)a;
    return CUDA_SUCCESS;
}
void space_withdraw(struct allocation *a) { (void)a; }
struct allocation *space_withdraw_same(const struct space_owner *o, const struct allocation *copy)
{
    (void)o;
    (void)copy;
    return NULL;
}
struct allocation *space_look(uint64_t address, struct allocation *copy)
{
    (void)address;
    (void)copy;
    return NULL;
}
CUresult backing_create_huge(struct backing *b, const char *n, uint64_t size)
{
    (void)n;
    *b = (struct backing){ .size = size, .id = 1 };
    return CUDA_SUCCESS;
}
void adopted_begin(const struct adopted_client *c, bool pages_move) { (void)c, (void)pages_move; }
CUresult adopted_add(uint64_t va, bool write, bool missing, bool *watched)
{
    (void)va, (void)write, (void)missing, (void)watched;
    return CUDA_ERROR_INVALID_VALUE;
}
void adopted_review(void) {}
CUresult adopted_cover(uint64_t va, uint64_t size) { return va + size ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
bool adopted_touchable(uint64_t va, uint64_t size, bool write) { return va + size == write; }
bool adopted_unmapped(uint64_t va, uint64_t end, uint64_t *from, uint64_t *to)
{
    *from = *to = va + end;
    return false;
}
CUresult mmu_ordinary_touched(uint64_t va, uint64_t size) { return va + size ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN; }
void mmu_ordinary_settle(void) {}
void mmu_look_for_handlers(void) {}
void mmu_permit(void) {}
CUresult mmu_serve_outside(mmu_service *service)
{
    (void)service;
    return CUDA_SUCCESS;
}
CUresult sticky_set(CUresult e)
{
    if (fake_refuses && e != CUDA_ERROR_UNKNOWN) return e;
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

CUresult mmu_init(const struct backing *b, uint64_t base, mmu_service *s)
{
    (void)b;
    (void)base;
    fake_serve = s;
    return CUDA_SUCCESS;
}
CUresult mmu_add(uint64_t va, uint64_t size)
{
    for (int p = 0; p < PROCESSORS; p++) memset(&fake_entries[p][fake_page(va)], 0, size / PAGE_BYTES);
    memset(&fake_gone[fake_page(va)], 0, size / PAGE_BYTES);
    return CUDA_SUCCESS;
}
CUresult mmu_leave(uint64_t va, uint64_t size) { return va + size ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN; }
void mmu_left(uint64_t va, uint64_t size, bool unmapped)
{
    if (!unmapped) return;
    for (int p = 0; p < PROCESSORS; p++) memset(&fake_entries[p][fake_page(va)], 0, size / PAGE_BYTES);
    memset(&fake_gone[fake_page(va)], true, size / PAGE_BYTES);
}
CUresult mappings_lead(const struct mappings_client *c, uint64_t base, uint64_t end)
{
    (void)base, (void)end;
    fake_mappings = c;
    return CUDA_SUCCESS;
}
void mappings_end_in_child(uint64_t va, uint64_t end) { (void)va, (void)end; }
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
void mmu_prefer_node(uint64_t va, uint64_t size, int node) { (void)va, (void)size, (void)node; }
uint64_t mmu_where(const struct mmu_fault *f) { return f->pc; }
void mmu_detach(unsigned p) { (void)p; }
void mmu_discard(uint64_t va, uint64_t size)
{
    (void)va;
    (void)size;
}
CUresult mmu_set(unsigned p, uint64_t va, uint64_t size, enum mmu_access access)
{
    memset(&fake_entries[p][fake_page(va)], access, size / PAGE_BYTES);
    return CUDA_SUCCESS;
}
static struct {
    uint64_t va, size;
} late[PROCESSORS][1 << 12];
static unsigned lates[PROCESSORS];
void mmu_take_late(unsigned p, uint64_t va, uint64_t size)
{
    late[p][lates[p]].va = va;
    late[p][lates[p]++].size = size;
}
void fake_settle(unsigned p)
{
    while (lates[p]) {
        lates[p]--;
        mmu_set(p, late[p][lates[p]].va, late[p][lates[p]].size, MMU_NONE);
    }
}
uint32_t fake_progress;
uint32_t mmu_progress(unsigned p) { return (void)p, fake_ends_often ? ++fake_progress : fake_progress; }

/* Notes wait here as they do in a device's memory. */
static struct mmu_access_note notes[PROCESSORS][1 << 16];
static unsigned noted[PROCESSORS], told[PROCESSORS];
static void note_access(unsigned p, struct mmu_access_note n)
{
    notes[p][noted[p]++ % (1 << 16)] = n;
}
unsigned mmu_next_accesses(unsigned p, struct mmu_access_note *out, unsigned most)
{
    unsigned n = 0;
    while (n < most && told[p] != noted[p]) out[n++] = notes[p][told[p]++ % (1 << 16)];
    return n;
}
void fake_kernel(unsigned p) { note_access(p, (struct mmu_access_note){ .begins = true }); }

_Atomic unsigned trace_listeners = TRACE_LISTEN_RECORDS;
void trace_ask_environment(void) {}
void trace_note_begin(void) {}

void trace_write(const struct trace_record *r)
{
    if (fake_verbose)
        printf("    kind %d cause %d %d<-%d off %#lx bytes %lu\n", r->kind, r->cause, r->processor, r->source,
               (long)(r->address - space_managed_base()), (long)r->bytes);
    if (r->address < fake_from || r->address >= fake_to) return;
    switch (r->kind) {
    case TRACE_CPU_FAULT: fake_counted.cpu_faults++; break;
    case TRACE_GPU_FAULT: fake_counted.gpu_faults++; break;
    case TRACE_MAP_REMOTE: fake_counted.remote++; break;
    case TRACE_MIGRATION:
        if (r->processor == CPU)
            fake_counted.dtoh += r->bytes;
        else if (r->source == CPU)
            fake_counted.htod += r->bytes;
        else
            fake_counted.dtod += r->bytes;
    }
}

uint64_t uvm_now(void) { return fake_now; }
void clock_fault(const struct mmu_fault *f) { (void)f; }
void clock_noted(void) {}
uint64_t clock_as_noted(void) { return 0; }
void clock_resume(uint64_t was) { (void)was; }
void clock_waited(void) {}
void clock_end(void) {}
void uvm_sleep(uint64_t until)
{
    if (fake_now < until) fake_now = until;
    if (!fake_meanwhile) return;
    quiet_unlock(&uvm_lock);
    fake_meanwhile();
    quiet_lock(&uvm_lock);
}

/* The thread that ends pins changes entries, too. */
static uint8_t entry(unsigned p, uint64_t va)
{
    pthread_mutex_lock(&uvm_lock.mutex);
    uint8_t access = fake_entries[p][fake_page(va)];
    pthread_mutex_unlock(&uvm_lock.mutex);
    return access;
}

uint32_t fake_block;
static void touch(unsigned p, uint64_t va, enum mmu_access access)
{
    bool write = access >= MMU_WRITE, atomic = access == MMU_ATOMIC;
    if (p != CPU) note_access(p, (struct mmu_access_note){ .address = va, .write = write, .atomic = atomic, .awaited = !write });
    for (int k = 0; entry(p, va) < access; k++) {
        fake_now += 20000;
        struct mmu_fault f = { .processor = p, .address = va, .write = write, .atomic = atomic, .block = fake_block, .pending = 1 };
        enum mmu_verdict verdict = fake_serve(&f);
        if (verdict == MMU_FATAL && (fake_refuses || fake_gone[fake_page(va)])) return;
        if (k == 64 || verdict != MMU_RETRY) {
            printf("no end of faults at page %lu\n", fake_page(va));
            exit(1);
        }
    }
}

void fake_touch(unsigned p, uint64_t va, bool write) { touch(p, va, write ? MMU_WRITE : MMU_READ); }
void fake_atomic(unsigned p, uint64_t va) { touch(p, va, MMU_ATOMIC); }

void fake_begin(int count, uint64_t capacity) { fake_begin_linked(count, capacity, true, false); }

static void begin(int count, uint64_t capacity, bool devices_linked, bool host_linked, bool concurrent,
                  bool (*runs)(const void *stream))
{
    static struct profile machine;
    machine.attribute[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = concurrent;
    machine.attribute[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132;
    machine.attribute[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048;
    machine.p2p[CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED] = devices_linked;
    machine.p2p[CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED] = devices_linked;
    machine.attribute[CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST] = host_linked;
    device_count = count;
    for (int k = 0; k < count; k++)
        devices[k] = (struct device){ .ordinal = k, .vram.capacity = capacity, .profile = &machine };
    uvm_init(runs);
}

void fake_begin_linked(int count, uint64_t capacity, bool devices_linked, bool host_linked)
{
    begin(count, capacity, devices_linked, host_linked, true, NULL);
}

void fake_begin_turns(int count, uint64_t capacity, bool devices_linked, bool (*runs)(const void *stream))
{
    begin(count, capacity, devices_linked, false, false, runs);
}
