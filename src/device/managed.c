/* Managed memory in a device process: one window, all of it mapped, with
 * entries that the host makes through the userfaultfd it was sent. A worker
 * that touches a page without one gets SIGBUS, posts the fault in its mailbox
 * and waits for the verdict in the handler. Where there is no userfaultfd the
 * entries are what mprotect says, and the signal is SIGSEGV. */
#include "device/device.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/message.h"
#include "base/units.h"
#include "base/userfault.h"
#include "processor/processor.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SPINS = 2000, SLEEP_NS = 5000000 };

static int userfault = -1;
static bool private_copy; /* this is the forked child that explains a fault */

void managed_open(void)
{
    const char *asked = getenv("FAULTLINE_UFFD");
    if (!asked || strcmp(asked, "off")) userfault = userfault_open(USERFAULT_SIGBUS);
}

bool managed_hello(void)
{
    const struct hello_message hello = { .userfault = userfault >= 0 };
    return message_send(host_socket, &hello, sizeof hello, userfault);
}

void managed_watch(uint64_t va, uint64_t size)
{
    int error = userfault >= 0                          ? userfault_register(userfault, va, size)
                : mprotect((void *)va, size, PROT_NONE) ? errno
                                                        : 0;
    if (error) {
        fl_log(FL_LOG_ERROR, "the device process cannot watch managed memory: %s", strerror(error));
        _exit(1);
    }
}

void managed_map(uint64_t va, uint64_t size, uint64_t backing)
{
    /* what is mapped is mapped for reading and writing: a child that makes it private wants that */
    agent_map(va, size, backing, 0, PROT_DEVICE_READ | PROT_DEVICE_WRITE);
    managed_watch(va, size);
    control->managed_base = va;
    control->managed_end = va + size;
}

void managed_change(uint64_t va, uint64_t size, int prot)
{
    if (prot == ENTRIES_ZAP)
        madvise((void *)va, size, MADV_DONTNEED);
    else
        mprotect((void *)va, size, prot);
}

bool managed_requests(void)
{
    struct page_request *r = &control->request;
    uint32_t taken = atomic_load(&r->taken), posted = atomic_load(&r->posted);
    if (taken == posted || !atomic_compare_exchange_strong(&r->taken, &taken, posted)) return false;
    managed_change(r->va, r->size, r->prot);
    atomic_store(&r->done, posted);
    if (atomic_load(&r->asleep)) futex_wake(&r->done, 1);
    return true;
}

/* ---- what kernels of one thread access */

/* Of several such kernels at a time some notes may be lost. */
static void tell(uint64_t note)
{
    struct access_notes *a = &control->accesses;
    uint64_t k = atomic_load_explicit(&a->told, memory_order_relaxed);
    a->note[k % NOTES] = note;
    atomic_store_explicit(&a->told, k + 1, memory_order_release);
}

void managed_accessed(struct fl_block *b, uint64_t address, uint32_t access)
{
    (void)b;
    if (address < control->managed_base || address >= control->managed_end || private_copy) return;
    tell(address << NOTE_BITS | access);
}

void managed_begins(void) { tell(NOTE_BEGINS); }

/* ---- faults */

static uint32_t block_number(void)
{
    if (!worker.frame) return 0;
    const struct fl_block *b = &worker.frame->b;
    return (b->ctaid[2] * b->nctaid[1] + b->ctaid[1]) * b->nctaid[0] + b->ctaid[0];
}

/* The mail is posted before the host is looked at: it looks at the mail after it has said that it sleeps. */
static void post(struct mailbox *m, uint64_t address, uint32_t access)
{
    uint64_t one = 1;
    m->address = address;
    m->access = access;
    m->block = block_number();
    atomic_store(&m->state, MAIL_POSTED);
    atomic_fetch_add(&control->mail_count, 1);
    if (atomic_load(&control->need_bell) && !atomic_load(&control->watchers) && write(host_bell, &one, sizeof one) < 0)
        return;
}

static uint32_t wait_for_verdict(struct mailbox *m)
{
    atomic_fetch_add(&control->handling, 1);
    uint32_t state;
    for (unsigned rounds = 0; (state = atomic_load(&m->state)) < MAIL_RETRY; rounds++) {
        managed_requests();
        /* on one processor with whom it waits for it would only be in the way */
        if (rounds < SPINS &&
            atomic_load_explicit(&control->server_cpu, memory_order_relaxed) != (uint32_t)sched_getcpu() + 1) {
            cpu_relax();
            continue;
        }
        atomic_store(&m->asleep, 1);
        if ((state = atomic_load(&m->state)) < MAIL_RETRY) futex_wait(&m->state, state, SLEEP_NS);
        atomic_store(&m->asleep, 0);
    }
    atomic_fetch_sub(&control->handling, 1);
    return state;
}

/* Asks the host; true: the access is to be tried again. */
static bool ask(uint64_t address, uint32_t access)
{
    if (!worker.number || private_copy) return false;
    int saved = errno;
    struct mailbox *m = &control->mail[worker.number - 1];
    post(m, address, access);
    bool again = wait_for_verdict(m) == MAIL_RETRY;
    atomic_store(&m->state, MAIL_NONE);
    errno = saved;
    return again;
}

bool managed_fault(const siginfo_t *info, bool write_access)
{
    uint64_t address = (uint64_t)info->si_addr;
    bool missing =
        userfault >= 0 ? info->si_signo == SIGBUS : info->si_signo == SIGSEGV && info->si_code == SEGV_ACCERR;
    if (missing && address >= control->managed_base && address < control->managed_end)
        return ask(address, write_access ? MAIL_WRITE : 0);
    /* ordinary memory of the application's that is watched, or a file that has ended */
    return info->si_signo == SIGBUS && atomic_load(&control->asks) &&
           ask(address, MAIL_MISSING | (write_access ? MAIL_WRITE : 0));
}

bool pageable_fault(const siginfo_t *info, bool write_access)
{
    bool mapping = info->si_signo == SIGSEGV && (info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR);
    return mapping && atomic_load(&control->asks) && ask((uint64_t)info->si_addr, write_access ? MAIL_WRITE : 0);
}

void managed_atomic(struct fl_block *b, uint64_t address)
{
    (void)b;
    uint64_t offset = address - control->managed_base, page = offset / PAGE_BYTES;
    if (offset >= control->managed_end - control->managed_base) return;
    uint64_t permitted = atomic_load_explicit(&control_atomics(control)[page / 64], memory_order_relaxed);
    /* what is refused faults when it is made */
    if (!(permitted >> page % 64 & 1)) ask(address, MAIL_WRITE | MAIL_ATOMIC);
}

void managed_make_private(uint64_t address)
{
    private_copy = true;
    if (address >= control->managed_base && address < control->managed_end)
        mprotect((void *)page_down(address), PAGE_BYTES, PROT_NONE);
}
