/* What a host and its device process share: one memfd, mapped by both.
 *
 * Commands go one way, through a ring. The host fills slot head % RING_SLOTS,
 * then stores head + 1 (release); the device loads head (acquire), acts, then
 * stores tail (release). So whoever sees a head sees the slots below it, and a
 * slot below tail may be filled again. The order in the ring is the order of
 * effect. Sleeping: who wants to sleep raises its counter (sleepers, waiters),
 * looks again, and only then waits for its futex; who has news stores it,
 * bumps the futex word, and wakes only if the counter is not 0. Both sides
 * need the store and the load that follows it in that order: sequentially
 * consistent.
 *
 * A worker that was woken may not be run for long, and counts as a sleeper until
 * then. So the host notes that it has called (called), and calls again only when
 * somebody has come since: who comes, or is about to sleep, takes the note away
 * and then looks. The host bumps the doorbell between note and call: who took the
 * note away before that, and saw nothing yet, does not sleep. */
#ifndef FL_PROCESSOR_RING_H
#define FL_PROCESSOR_RING_H

#include "processor/fault.h"
#include <stdatomic.h>
#include <stdint.h>

enum { RING_SLOTS = 1024, CHANNELS = 65536, MARKS = 4096, PARAM_BYTES = 1 << 20, WORKERS_MOST = 256 };
enum { PRINTF_DEFAULT = 8650752 }; /* bytes; CU_LIMIT_PRINTF_FIFO_SIZE of an H200 */
/* How long an idle worker, and a thread of the host that waits, looks before it sleeps: the host
 * for longer than a worker that slept takes to wake up, or it would have to be woken up as well. */
enum { SPIN_NS = 50000, HOST_SPIN_NS = 200000 };

/* What it does, and which of command's members it uses. Those with seq are in their channel's order. */
enum command_kind {
    COMMAND_MAP,                   /* map: all of it */
    COMMAND_UNMAP, COMMAND_PROTECT, /* map: va, size, prot */
    COMMAND_FORGET,                /* map: backing, which nothing shows any more */
    COMMAND_LAUNCH,                /* launch; seq */
    COMMAND_MARK,                  /* seq: the time at which it is reached */
    COMMAND_STOP,
    COMMAND_WINDOW,                /* map: the window of managed memory is there, without entries */
    COMMAND_ENTRIES,               /* map: va, size, prot, as in struct page_request: managed memory's entries */
    COMMAND_MULTICAST,             /* map: one more member's memory behind multicast addresses */
    COMMAND_MULTICAST_END,         /* map: va, size */
    COMMAND_WAIT,                  /* awaited; seq: what comes behind it waits until another channel has done awaited.seq */
};

struct command {
    enum command_kind kind;
    uint32_t channel;
    uint64_t seq;
    union {
        struct {
            uint64_t va, size, backing, offset;
            uint32_t prot;
        } map;
        struct {
            uint64_t sms[4];
            uint64_t image, symbols, heap, heap_size, gridid, params;          /* params: position in the byte ring */
            uint32_t kernel, grid[3], block[3], dynamic_shared, params_size, cooperative, resident, stack_limit, tells;
            uint32_t cluster[3], explicit_cluster;
        } launch;
        struct {
            uint64_t seq;
            uint32_t channel;
        } awaited;
    };
};

struct channel {
    _Atomic uint64_t done;         /* commands of this channel that are complete */
    _Atomic uint64_t wanted;       /* the first that a host thread, asleep, waits for; 0: none */
    uint64_t time[MARKS];          /* CLOCK_MONOTONIC ns at which mark seq % MARKS was reached */
};

/* On the socket (base/message.h). The device's only message, when it is ready: its userfaultfd comes with it,
 * if there is one. The host's: the descriptor of a backing comes with each. */
struct hello_message { bool userfault; };
struct backing_message { uint64_t id; };

/* A worker's fault in managed memory. The worker fills the box and posts it; the host takes it and
 * answers; the worker sets it to NONE again. asleep is raised before the worker waits for state. */
enum mail { MAIL_NONE, MAIL_FILLING, MAIL_POSTED, MAIL_TAKEN, MAIL_RETRY, MAIL_FATAL };
struct mailbox {
    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint32_t asleep;
    uint64_t address;
    uint32_t access, block;
};
enum { MAIL_WRITE = 1, MAIL_MISSING = 2 /* there is a mapping that has no entry */, MAIL_ATOMIC = 4 }; /* access */

/* What kernels of one thread accessed of managed memory, before it faulted or not: address << NOTE_BITS
 * | enum fl_access, of whose bits one says that nobody waits for it and one that it is atomic. */
enum { NOTES = 1 << 15, NOTE_BEGINS = 0, NOTE_FORGOTTEN = 1, NOTE_ATOMIC = 2, NOTE_BITS = 2 };
struct access_notes {
    _Alignas(64) _Atomic uint64_t told; /* ever; the newest NOTES are there */
    uint64_t note[NOTES];
};

/* What the host wants of managed memory's entries while kernels run: whichever thread of the device first
 * moves taken on to posted does it and then sets done. The host posts the next one after that. */
enum { ENTRIES_ZAP = -1 };         /* prot: the entries go; otherwise what mprotect is given */
struct page_request {
    _Alignas(64) _Atomic uint32_t posted, taken, done;
    _Atomic uint32_t asleep;       /* the host waits for done */
    int32_t prot;
    uint64_t va, size;
};

struct control {
    uint32_t version;
    int32_t host_pid, device_pid;
    uint32_t sm_count;
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint32_t doorbell;     /* futex: bumped with every command */
    _Alignas(64) _Atomic uint64_t tail;
    _Atomic uint64_t params_tail;  /* byte ring: what the device has copied */
    _Atomic uint32_t sleepers;     /* device threads asleep on the doorbell */
    _Atomic uint32_t called;       /* one was woken, and nobody has looked since */
    _Atomic uint32_t running;      /* grids queued or running */
    _Alignas(64) _Atomic uint32_t completion; /* futex: bumped when a channel advances */
    _Atomic uint32_t waiters;      /* host threads asleep on it */
    _Atomic uint32_t faulted;      /* fault is filled; nothing runs any more */
    _Atomic uint32_t gone;         /* the device process ends, as if its host had */
    struct fault fault;
    _Alignas(64) _Atomic uint64_t printed;    /* text: bytes the device appended */
    _Atomic uint64_t shown;        /* bytes the host has taken */
    uint64_t printf_size;
    uint64_t managed_base, managed_end; /* the window of managed memory, 0: none yet */
    _Atomic uint32_t asks;         /* faults outside the window are mail, too */
    _Alignas(64) _Atomic uint32_t mail_count; /* boxes posted and not taken */
    _Atomic uint32_t need_bell;    /* the host's service thread sleeps, or is about to: ring */
    _Atomic uint32_t watchers;     /* host threads that look at the mail before they sleep */
    _Atomic uint32_t server_cpu;   /* where a thread of the host last looked at the mail, plus 1: not worth spinning there */
    _Atomic uint32_t handling;     /* workers that wait for a verdict */
    _Alignas(64) _Atomic uint32_t agent_bell; /* futex of the thread that does requests when no worker can */
    _Atomic uint32_t agent_asleep;
    struct page_request request;
    struct mailbox mail[WORKERS_MOST];
    struct access_notes accesses;
    struct command slots[RING_SLOTS];
    uint8_t params[PARAM_BYTES];
    struct channel channels[CHANNELS];
    char text[];                   /* printf_size bytes; then control_atomics */
};

#define RING_VERSION 15u
#define PRINTF_MOST (256ul << 20)  /* address space set aside for text; touched as needed */
#define MANAGED_MOST (4ull << 40)  /* bytes of managed memory's window */
#define ATOMICS_AT ((sizeof(struct control) + PRINTF_MOST + 7) / 8 * 8)
#define CONTROL_BYTES (ATOMICS_AT + MANAGED_MOST / 4096 / 8)

/* A bit for each page of managed memory's window: its entry permits atomics of system scope. The
 * device looks before each, as its page table cannot tell them from others. Touched as needed. */
static inline _Atomic uint64_t *control_atomics(const struct control *c)
{
    return (_Atomic uint64_t *)((const char *)c + ATOMICS_AT);
}

#endif
