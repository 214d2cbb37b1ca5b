/* What a program can ask Faultline about itself, beyond the CUDA API: counters
 * and events of managed memory, where each page is, and how full devices are.
 * Exported by Faultline's libcuda.so.1; no other driver has these symbols, so a
 * program that is to run elsewhere too looks for them with dlsym, in what
 * dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) gives: RTLD_DEFAULT finds them only
 * in programs linked with -lcuda, not where the CUDA runtime loaded it.
 * examples/events.c shows the use.
 *
 * Functions that return int return 0, or a CUresult. All may be called from any
 * thread, before cuInit too. A forked child begins anew. */
#ifndef FAULTLINE_H
#define FAULTLINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FAULTLINE_API __attribute__((visibility("default")))
#define FAULTLINE_HOST (-1)        /* a processor: the host; 0 and up are devices */

/* ---- events */

enum faultline_kind {
    FAULTLINE_CPU_FAULT = 1, /* the host touched a page that it had no access to */
    FAULTLINE_MIGRATION = 2, /* a run of pages moved, or was copied for a duplicate */
    FAULTLINE_GPU_FAULT = 3, /* a device touched a page that it had no access to */
    FAULTLINE_GPU_FAULT_REPLAY = 4,
    FAULTLINE_FATAL_FAULT = 5, /* an access that ends the kernel, or the host's thread */
    FAULTLINE_READ_DUPLICATE = 6,
    FAULTLINE_READ_DUPLICATE_INVALIDATE = 7,
    FAULTLINE_THRASHING = 8,
    FAULTLINE_THROTTLING_START = 9,
    FAULTLINE_THROTTLING_END = 10,
    FAULTLINE_MAP_REMOTE = 11, /* a processor maps pages that are and stay elsewhere */
    FAULTLINE_ALLOC = 12,      /* managed memory was allocated, or a device came to a mapping that migrates */
    FAULTLINE_FREE = 13,
    FAULTLINE_KERNEL = 14,     /* a kernel has run */
    FAULTLINE_TRANSFER = 15    /* a copy or a memset has been done, of whatever memory */
};
enum { FAULTLINE_KINDS = 16 };

enum faultline_cause {
    FAULTLINE_CAUSE_NONE = 0,
    FAULTLINE_CAUSE_USER = 1,      /* a prefetch or advice */
    FAULTLINE_CAUSE_COHERENCE = 2, /* the page was touched */
    FAULTLINE_CAUSE_PREFETCH = 3,  /* its neighbours were touched */
    FAULTLINE_CAUSE_EVICTION = 4,  /* device memory was needed for something else */
    FAULTLINE_CAUSE_POLICY = 5,    /* of a remote mapping: advice, or a preferred location */
    FAULTLINE_CAUSE_THRASHING = 6
};
enum { FAULTLINE_CAUSES = 8 };

enum faultline_access {
    FAULTLINE_ACCESS_NONE = 0, FAULTLINE_ACCESS_READ = 1, FAULTLINE_ACCESS_WRITE = 2,
    FAULTLINE_ACCESS_ATOMIC = 3, FAULTLINE_ACCESS_PREFETCH = 4
};

enum faultline_reason {
    FAULTLINE_REASON_ADDRESS = 1,    /* there is nothing, or it may not be accessed in this way */
    FAULTLINE_REASON_PERMISSION = 2, /* not now: it is somebody else's (machines where host and kernels take turns) */
    FAULTLINE_REASON_MEMORY = 4      /* no memory for the page to come to */
};

struct faultline_event {
    uint64_t time, end;            /* ns since 1970; end: of a migration, a throttling, a kernel, a transfer */
    uint64_t address, bytes;       /* what is concerned; of a KERNEL: its ticket for faultline_get_kernel, and 0;
                                      of a TRANSFER: its destination (0: an array) */
    uint32_t kind, cause, access;
    int32_t processor;             /* that faulted, maps, or is moved to; TRANSFER: whose the destination is */
    int32_t source;                /* MIGRATION: moved from; TRANSFER: copied from; MAP_REMOTE: who holds the pages;
                                      READ_DUPLICATE: copied from */
    uint32_t thread;               /* CPU_FAULT: the thread's id; THRASHING: bit 0 the host, bit 1 + k device k takes part */
    uint32_t count; /* GPU_FAULT: accesses that this event stands for; FATAL_FAULT: enum faultline_reason */
    uint32_t details; /* TRANSFER: for faultline_get_transfer */
    uint64_t batch;                /* GPU_FAULT, GPU_FAULT_REPLAY: number of the batch; KERNEL: number of the launch;
                                      CPU_FAULT: the program counter, 0 if it is not known */
};

/* The place of one reader in the events of the process. Events that were not read soon
 * enough are lost, oldest first (131,072 are kept); each cursor knows how many. */
struct faultline_cursor { uint64_t next, lost; };

/* Events are recorded while there is at least one subscriber; work: KERNEL events too, whose times are the device's, and
 * TRANSFER events. The cursor's first event is the next one that happens. */
enum faultline_work { FAULTLINE_WORK_KERNELS = 1, FAULTLINE_WORK_TRANSFERS = 2 };
FAULTLINE_API int faultline_subscribe(struct faultline_cursor *cursor, int work);
FAULTLINE_API void faultline_unsubscribe(int work);
/* Up to most events, oldest first. Returns how many; does not wait. */
FAULTLINE_API size_t faultline_read(struct faultline_cursor *cursor, struct faultline_event *out, size_t most);
/* Sleeps until a quarter of the events that are kept are new, or for the given time. */
FAULTLINE_API void faultline_wait(unsigned milliseconds);
/* On return each kernel that had ended has its event, and its faults theirs unless another kernel runs. */
FAULTLINE_API void faultline_flush(void);

struct faultline_kernel {
    const char *name;              /* valid for the life of the process */
    uint32_t grid[3], block[3];
    uint32_t static_shared, dynamic_shared, local, registers;
    uint32_t device;
    uint64_t context, stream;      /* as cuCtxGetId and cuStreamGetId say */
    uint64_t queued;               /* when the launch was called */
};
/* Details of a KERNEL event; CUDA_ERROR_NOT_FOUND once 131,072 later ones have been launched. */
FAULTLINE_API int faultline_get_kernel(const struct faultline_event *event, struct faultline_kernel *out);

enum faultline_memory {
    FAULTLINE_MEMORY_NONE = 0, FAULTLINE_MEMORY_PAGEABLE = 1, FAULTLINE_MEMORY_PINNED = 2, FAULTLINE_MEMORY_DEVICE = 3,
    FAULTLINE_MEMORY_ARRAY = 4, FAULTLINE_MEMORY_MANAGED = 5
};
struct faultline_transfer {
    uint64_t destination, bytes;   /* 0: an array */
    uint64_t source;               /* of a copy; of a memset the value */
    uint32_t to, from;             /* enum faultline_memory; from NONE: a memset */
    uint32_t device, context, stream; /* as cuCtxGetId and cuStreamGetId say */
    int asynchronous;              /* what was called has a name that ends in Async */
    int engine;                    /* a GPU would use a copy engine, and no kernel */
};
/* Details of a TRANSFER event. */
FAULTLINE_API int faultline_get_transfer(const struct faultline_event *event, struct faultline_transfer *out);

/* ---- counters: always kept, and exact; of kernels that still run some faults are yet to come */

struct faultline_counters {
    uint64_t events[FAULTLINE_KINDS];
    uint64_t cpu_faults;
    uint64_t gpu_faults;           /* as events: accesses to one page in one batch are one */
    uint64_t bytes_to_device, bytes_to_host, bytes_between_devices;
    uint64_t bytes_evicted;        /* also in bytes_to_host */
    uint64_t bytes_duplicated, bytes_mapped_remotely;
};
FAULTLINE_API int faultline_get_counters(struct faultline_counters *out);

struct faultline_allocation {
    uint64_t address, bytes;
    uint64_t made, freed;          /* times; freed 0: it is still there */
    uint64_t ordinal;              /* 1: the first managed allocation of this process, 2: the second, ... */
    struct faultline_counters counters; /* from faultline_count_allocations on */
};
/* From now on counters are kept for each allocation, too. */
FAULTLINE_API int faultline_count_allocations(void);
/* The managed allocations of this process, and what else migrates (ordinary memory, by mapping), freed ones too.
 * Writes at most `most` of them; returns how many there are. */
FAULTLINE_API size_t faultline_get_allocations(struct faultline_allocation *out, size_t most);

/* ---- where pages are */

enum {
    FAULTLINE_NOWHERE = 0,         /* never touched, or discarded */
    FAULTLINE_ON_HOST = 1,
    FAULTLINE_ON_DEVICE = 2,       /* + k: on device k */
    FAULTLINE_DUPLICATED = 0x80    /* set beside one of these: further processors have a copy to read */
};
/* One byte for each 4 KiB page from address on, which is rounded down to a page. All must be managed
 * memory, or ordinary memory that kernels reach: CUDA_ERROR_INVALID_VALUE. */
FAULTLINE_API int faultline_residency(const void *address, size_t pages, uint8_t *out);

/* ---- how much memory there is */

/* Bytes of a device, by its number in the machine, and how many of them this process uses. No context is needed,
 * but cuInit: CUDA_ERROR_NOT_INITIALIZED. CUDA_ERROR_INVALID_DEVICE: CUDA does not see it. */
FAULTLINE_API int faultline_device_memory(int device, uint64_t *total, uint64_t *used);

#ifdef __cplusplus
}
#endif
#endif
