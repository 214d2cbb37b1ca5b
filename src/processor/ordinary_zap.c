/* The host's entries of ordinary memory that go; see ordinary.c. */
#include "base/tasks.h"
#include "base/userfault.h"
#include "processor/table.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { KEPT_MOST = 32, TRIES = 100 };

/* What the program has put there since is not watched, nor is what it has moved there. */
static bool is_watched(uint64_t va, uint64_t size) { return !userfault_protect(mmu.ordinary_fd, va, size, true); }

/* Where entries go: nobody uses these addresses, which for a moment show pages. Under the lock of the host's table. */
static char *_Atomic scratch;

bool mmu_ordinary_scratch(uint64_t va)
{
    uint64_t begin = (uint64_t)atomic_load(&scratch);
    return va - begin < BLOCK_BYTES;
}

/* Only shared mappings can be mapped anew, to the same pages. */
static bool is_shared(char *p, uint64_t size, uint64_t va)
{
    return !syscall(SYS_remap_file_pages, p, size, 0, va / PAGE_BYTES, MAP_NONBLOCK);
}

/* The entries move away and go there; the mapping stays, and is watched all the time. Since the look the program may
 * have mapped private memory, whose pages come back. */
static bool zap_in_block(uint64_t va, uint64_t size)
{
    char *there = atomic_load(&scratch) + va % BLOCK_BYTES;
    if (!is_watched(va, size)) return false;
    if (mremap((void *)va, size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, there) == MAP_FAILED)
        return false;
    bool done = is_shared(there, size, va);
    if (!done) mremap(there, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)va);
    /* as it was; should there be no memory for that, the next pages take the place of these */
    mmap(there, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return done;
}

static bool zap(uint64_t va, uint64_t size)
{
    bool all = true;
    for (uint64_t at = va, next; at < va + size; at = next) {
        next = piece_end(at, va + size);
        all &= zap_in_block(at, next - at);
    }
    return all;
}

static void zap_all(uint64_t va, uint64_t end)
{
    if (va >= end || zap(va, end - va)) return;
    for (uint64_t at = va; at < end; at += PAGE_BYTES) zap(at, PAGE_BYTES);
}

/* When a thread ends, the system writes to its descriptor and takes no for an answer if the page has no entry; who
 * joins the thread would wait for ever. So these pages keep theirs, wherever a program has its threads' stacks. */
struct kept {
    uint64_t va, end;
    unsigned count;
    uint64_t pages[KEPT_MOST]; /* ascending; each and the next one is kept */
    bool unknown;              /* some thread begins or ends */
};

/* Threads that have no descriptor for long are not the C library's. */
static int strangers[64];
static unsigned stranger;

static bool is_stranger(int thread)
{
    for (unsigned k = 0; k < sizeof strangers / sizeof *strangers; k++)
        if (strangers[k] == thread) return true;
    return false;
}

static void note_descriptor(void *arg, int thread, uint64_t descriptor)
{
    struct kept *k = arg;
    uint64_t page = page_down(descriptor);
    if (!descriptor) k->unknown |= !is_stranger(thread);
    if (page + TASK_DESCRIPTOR <= k->va || page >= k->end) return;
    if (k->count == KEPT_MOST) {
        k->end = k->va; /* so many: nothing goes */
        return;
    }
    unsigned at = k->count++;
    for (; at && k->pages[at - 1] > page; at--) k->pages[at] = k->pages[at - 1];
    k->pages[at] = page;
}

static void note_stranger(void *arg, int thread, uint64_t descriptor)
{
    (void)arg;
    if (!descriptor && !is_stranger(thread)) strangers[stranger++ % (sizeof strangers / sizeof *strangers)] = thread;
}

void ordinary_zap(uint64_t va, uint64_t size)
{
    struct kept k;
    for (unsigned tries = 0;; tries++) {
        k = (struct kept){ .va = va, .end = va + size };
        if (!tasks_each(note_descriptor, &k)) return;
        if (!k.unknown || tries == TRIES) break;
        syscall(SYS_sched_yield);
    }
    if (k.unknown) tasks_each(note_stranger, NULL);
    for (unsigned n = 0; n < k.count; n++) {
        zap_all(va, k.pages[n] < k.end ? k.pages[n] : k.end);
        if (k.pages[n] + TASK_DESCRIPTOR > va) va = k.pages[n] + TASK_DESCRIPTOR;
    }
    zap_all(va, k.end);
}

static bool make_scratch(void)
{
    char *p = mmap(NULL, 2 * BLOCK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    atomic_store(&scratch, p + -(uintptr_t)p % BLOCK_BYTES);
    return true;
}

bool ordinary_can_zap(const struct backing *memory)
{
    /* any place: address and offset differ only here */
    char *p = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
    if (p == MAP_FAILED) return false;
    bool can = make_scratch() && !userfault_register(mmu.ordinary_fd, (uint64_t)p, PAGE_BYTES) &&
               zap((uint64_t)p, PAGE_BYTES);
    munmap(p, PAGE_BYTES);
    return can;
}
