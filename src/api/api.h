/* What the entry points share: the table of all of them, and what an entry
 * point that does nothing yet answers. How to add one: entrypoints.txt. */
#ifndef FL_API_API_H
#define FL_API_API_H

#include "trace/ledger.h"
#include "trace/trace.h"
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* One ABI version of an entry point. Sorted by name, then by version. */
struct entry_point {
    const char *name;              /* without _v2, _ptsz and so on */
    int since, since_per_thread;   /* CUDA version; since_per_thread 0: has no such variant */
    bool implemented;
    void *function, *per_thread;
};
extern const struct entry_point entry_points[];
extern const size_t entry_point_count;

/* Warns once that name is not implemented. CUDA_ERROR_NOT_INITIALIZED before cuInit, else CUDA_ERROR_NOT_SUPPORTED. */
CUresult api_not_supported(const char *name, _Atomic bool *said);

/* cuLogs*: from now on hears what the library says. At cuInit. */
void logs_init(void);

/* Notes that an entry point failed; called by every export. Returns r. */
CUresult api_failed(const char *name, CUresult r);
/* A call has given the program memory, or what is behind that; bytes: where they do not follow from the name. */
void api_given(enum ledger_kind kind, uint64_t name, uint64_t bytes);
static inline bool api_ledger(void) { return trace_wanted(TRACE_LISTEN_LEDGER); }
/* What a result code means, for people. */
const char *error_explanation(CUresult code);

#endif
