/* Replacing pages in place: write-protect, copy, move the new pages over the old
 * ones, wake who waited. Protection is a userfaultfd's, whose waiters the kernel
 * puts to sleep, or mprotect's (retry.h).
 *
 * While pages are protected a store to them waits, so the thread that copies
 * must not make one: not to the heap, not to its caller's stack. It is a thread
 * of its own, and between protecting and moving calls nothing that could. Nor
 * does its caller make one meanwhile: for a SIGSEGV there would be no stack. */
#include "ordinary/replace.h"
#include "base/units.h"
#include "base/userfault.h"
#include "ordinary/joiners.h"
#include "ordinary/regions.h"
#include "ordinary/retry.h"
#include "ordinary/standstill.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { STACK = 1 << 20, PIECE = 4 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The caller waits, and does nothing else; the thread is done. Under the lock, as all that follows. */
static _Atomic int waiting, done;
static int caller;

/* ---- userfaultfd */

static int uffd = -2;     /* -2: not asked for yet, -1: not to be had; under the lock */
static bool only_present; /* private pages that are not there cannot be protected */

static int open_uffd(void)
{
    const char *asked = getenv("FAULTLINE_UFFD");
    if (asked && !strcmp(asked, "off")) return -1;
    int fd = userfault_open(USERFAULT_WRITES);
    if (fd >= 0) return fd;
    only_present = true;
    return userfault_open(USERFAULT_WRITES_PRESENT);
}

/* private: those that nobody has touched show the system's page of zeros, if need be. */
static bool begin_uffd(uint64_t va, uint64_t size, bool private)
{
    if (uffd < 0 || userfault_register_writes(uffd, va, size)) return false;
    if (only_present && private) madvise((void *)va, size, MADV_POPULATE_READ); /* where it fails, copying does */
    if (!userfault_protect(uffd, va, size, false)) return true;
    userfault_unregister(uffd, va, size);
    return false;
}

/* Who waits looks again, at the new pages or at the old ones. */
static void end_uffd(uint64_t va, uint64_t size, bool moved)
{
    if (!moved) {
        userfault_protect(uffd, va, size, true);
        userfault_unregister(uffd, va, size);
    }
    userfault_wake(uffd, va, size);
}

/* ---- one piece after the other, so that nobody waits long */

struct job {
    uint64_t va, size;
    char *with;
    int prot, old_prot;
    struct page_file file;
    CUresult result;
};

void pages_copy(char *to, uint64_t from, uint64_t size)
{
#if defined __x86_64__
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#else
    memcpy(to, (const void *)from, size);
#endif
}

static const uint64_t present = 1ull << 63, swapped = 1ull << 62, of_file = 1ull << 61; /* in /proc/self/pagemap */

/* Marks which of the old pages have bytes, in one of the ways of `how`; same: of their own. */
static void mark(uint64_t va, uint64_t size, uint64_t how, bool same, unsigned char *there)
{
    static uint64_t entry[PIECE / PAGE_BYTES];
    size_t bytes = size / PAGE_BYTES * sizeof *entry;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && pread(fd, entry, bytes, (off_t)(va / PAGE_BYTES * sizeof *entry)) == (ssize_t)bytes;
    if (fd >= 0) close(fd);
    for (uint64_t k = 0; k < size / PAGE_BYTES; k++)
        there[k] |= !known || (entry[k] & how && !(same && entry[k] & of_file));
}

static void look(const struct job *j, unsigned char *there)
{
    memset(there, !j->file.thin && !j->file.same, PIECE / PAGE_BYTES);
    if (j->file.thin || j->file.same) mark(j->va, j->size, present | swapped, j->file.same, there);
}

/* Other than zeros; also where that cannot be told. */
static bool has_bytes(uint64_t page)
{
    static char bytes[PAGE_BYTES];
    struct iovec to = { bytes, sizeof bytes }, from = { (void *)page, sizeof bytes };
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof bytes || bytes[0] ||
           memcmp(bytes, bytes + 1, sizeof bytes - 1);
}

/* Some may have been touched until all was protected. What a userfaultfd protects without there being anything looks like
 * something swapped out, or had to be there, without bytes. */
static void look_again(const struct job *j, bool by_uffd, unsigned char *there)
{
    static unsigned char now[PIECE / PAGE_BYTES];
    if (j->file.same) mark(j->va, j->size, by_uffd ? present : present | swapped, true, there);
    if (!j->file.thin || mincore((void *)j->va, j->size, now)) return;
    for (uint64_t k = 0; k < j->size / PAGE_BYTES; k++)
        if (!there[k] && now[k] & 1) there[k] = has_bytes(j->va + k * PAGE_BYTES);
}

/* Calls f for each run of pages that are there. */
static bool for_runs(const struct job *j, uint64_t size, const unsigned char *there,
                     bool (*f)(const struct job *j, uint64_t at, uint64_t size))
{
    bool good = true;
    for (uint64_t at = 0, end; at < size && good; at = end) {
        end = at + PAGE_BYTES;
        if (!there[at / PAGE_BYTES]) continue;
        while (end < size && there[end / PAGE_BYTES]) end += PAGE_BYTES;
        good = f(j, at, end - at);
    }
    return good;
}

static bool populate(const struct job *j, uint64_t at, uint64_t size)
{
    return !madvise(j->with + at, size, MADV_POPULATE_WRITE) || errno == EINVAL;
}

/* By the system, which takes it well if old pages are gone; past the C library's functions, for whose arguments the
 * program's AddressSanitizer has an eye. */
static bool copy(const struct job *j, uint64_t at, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        uint64_t offset = j->file.offset + at + done;
        long n = j->file.new ? syscall(SYS_pwrite64, j->file.fd, j->va + at + done, size - done, offset)
                             : syscall(SYS_pread64, j->file.fd, j->with + at + done, size - done, offset);
        if (n <= 0 && errno != EINTR) return false;
        if (n > 0) done += (uint64_t)n;
    }
    return true;
}

static bool copy_twice(const struct job *j, uint64_t at, uint64_t size)
{
    if (!copy(j, at, size)) return false;
    pages_copy(j->file.was + at, (uint64_t)j->with + at, size);
    return true;
}

static bool put(int fd, const char *bytes, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        long n = syscall(SYS_pwrite64, fd, bytes + done, size - done, offset + done);
        if (n <= 0 && errno != EINTR) return false;
        if (n > 0) done += (size_t)n;
    }
    return true;
}

/* What the old pages have not had before; the other bytes may be newer in the file. */
static bool copy_changed(const struct job *j, uint64_t at, uint64_t size)
{
    static char now[PAGE_BYTES];
    for (uint64_t end = at + size; at < end; at += PAGE_BYTES) {
        const char *was = j->file.was + at;
        struct iovec to = { now, sizeof now }, from = { (void *)(j->va + at), sizeof now };
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof now) return copy(j, at, end - at);
        for (size_t k = 0, run; k < sizeof now; k += run ? run : 1) {
            for (run = 0; k + run < sizeof now && now[k + run] != was[k + run]; run++) {}
            if (run && !put(j->file.fd, now + k, run, j->file.offset + at + k)) return false;
        }
    }
    return true;
}

static _Atomic unsigned turns; /* odd: some are being replaced */

unsigned pages_replaced(void)
{
    unsigned n;
    while ((n = atomic_load(&turns)) & 1) sched_yield();
    return n;
}

/* What is to be replaced; while it is protected, without a userfaultfd nobody may write it. */
static struct region old_pages(const struct job *j, bool by_uffd, ino_t inode)
{
    return (struct region){ .start = j->va,
                            .end = j->va + j->size,
                            .prot = by_uffd ? j->old_prot : j->old_prot & ~PROT_WRITE,
                            .shared = !j->file.new,
                            .inode = inode,
                            .offset = j->file.offset };
}

/* Pages beside those that somebody needs may go at any time, and others come in their place. What has come before all
 * was protected is seen by what is mapped; what comes later is not protected, and protecting it once more fails. */
static CUresult replace(const struct job *j, unsigned char *there, int maps, ino_t inode)
{
    bool by_uffd = begin_uffd(j->va, j->size, j->file.new);
    const struct region old = old_pages(j, by_uffd, inode);
    CUresult r = by_uffd ? CUDA_SUCCESS : retry_begin(j->va, j->size, j->old_prot, caller);
    if (r) return r;
    atomic_fetch_add(&turns, 1);
    r = CUDA_ERROR_OUT_OF_MEMORY;
    look_again(j, by_uffd, there);
    if (!for_runs(j, j->size, there, !j->file.was ? copy : j->file.same ? copy_changed : copy_twice))
        r = errno == EFAULT ? CUDA_ERROR_NOT_READY : CUDA_ERROR_OUT_OF_MEMORY;
    else if (j->prot != (PROT_READ | PROT_WRITE) && mprotect(j->with, j->size, j->prot))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    else if (!regions_are(maps, &old))
        r = CUDA_ERROR_NOT_READY;
    else if (by_uffd && userfault_protect(uffd, j->va, j->size, false))
        r = CUDA_ERROR_NOT_READY;
    else if (mremap(j->with, j->size, j->size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)j->va) != MAP_FAILED)
        r = CUDA_SUCCESS;
    atomic_fetch_add(&turns, 1);
    if (by_uffd)
        end_uffd(j->va, j->size, !r);
    else
        retry_end(j->va, j->size, j->old_prot, !r);
    return r;
}

static void *run(void *arg)
{
    struct job all = *(struct job *)arg; /* may lie in what is replaced */
    static unsigned char there[PIECE / PAGE_BYTES];
    struct stat file;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    all.result = maps < 0 || fstat(all.file.fd, &file) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
    if (all.result) munmap(all.with, all.size);
    while (!atomic_load(&waiting)) sched_yield();
    for (uint64_t at = 0; at < all.size && !all.result; at += PIECE) {
        struct job j = all;
        j.va += at;
        j.with += at;
        j.file.offset += at;
        if (j.file.was) j.file.was += at;
        j.size = all.size - at < PIECE ? all.size - at : PIECE;
        look(&j, there);
        /* memory is found before anybody has to wait for it */
        all.result = CUDA_ERROR_OUT_OF_MEMORY;
        if (for_runs(&j, j.size, there, populate)) all.result = replace(&j, there, maps, file.st_ino);
        if (all.result)
            munmap(j.with, all.size - at);
        else
            joiners_look_again(j.va, j.size);
    }
    if (maps >= 0) close(maps);
    ((struct job *)arg)->result = all.result;
    atomic_store(&done, 1);
    syscall(SYS_futex, &done, FUTEX_WAKE_PRIVATE, 1);
    return NULL;
}

/* The program has unmapped some of what is to be replaced, and what was mapped for it came to lie there. */
static bool lies_in(const struct job *j, const void *p, uint64_t size)
{
    return (uint64_t)p < j->va + j->size && (uint64_t)p + size > j->va;
}

static CUresult start(struct job job)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, old;
    pthread_mutex_lock(&lock);
    if (uffd == -2) uffd = open_uffd();
    /* mapped now: one that the library kept of an earlier thread could lie in what is replaced */
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    CUresult r = stack == MAP_FAILED                                                ? CUDA_ERROR_OUT_OF_MEMORY
                 : lies_in(&job, stack, STACK) || lies_in(&job, job.with, job.size) ? CUDA_ERROR_NOT_READY
                                                                                    : CUDA_SUCCESS;
    if (r) {
        if (stack != MAP_FAILED) munmap(stack, STACK);
        munmap(job.with, job.size);
        pthread_mutex_unlock(&lock);
        return r;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    atomic_store(&waiting, 0);
    atomic_store(&done, 0);
    caller = (int)syscall(SYS_gettid);
    int error = pthread_create(&thread, &attributes, run, &job);
    if (error) {
        munmap(job.with, job.size);
    } else {
        stand_still(&waiting, &done);
        pthread_join(thread, NULL);
    }
    /* the application's handlers would have stored to the stack, too */
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    munmap(stack, STACK);
    pthread_mutex_unlock(&lock);
    return job.result;
}

CUresult pages_replace(uint64_t va, uint64_t size, void *with, int prot, int old_prot, struct page_file file)
{
    return start((struct job){ va, size, with, prot, old_prot, file, CUDA_ERROR_OUT_OF_MEMORY });
}
