/* What becomes known of an entry point that fails: a line in the log at level
 * info and, under faultline run, a line in the file that it shows at the end. */
#include "api/api.h"
#include "base/because.h"
#include "base/log.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_REPORTED 16 /* after an illegal access every call fails: the first ones tell the story */

/* Whether this process has not reported the same before, and has not reported too much:
 * bindings ask for hundreds of functions of newer drivers, which would hide all else. */
static bool worth_reporting(const char *name, CUresult r)
{
    static struct {
        _Atomic(const char *) name;
        CUresult code;
    } reported[MAX_REPORTED];
    static atomic_int claimed;
    for (int k = 0; k < MAX_REPORTED; k++) {
        const char *known = atomic_load_explicit(&reported[k].name, memory_order_acquire);
        if (known && !strcmp(known, name) && reported[k].code == r) return false;
    }
    if (atomic_load(&claimed) >= MAX_REPORTED) return false;
    int mine = atomic_fetch_add(&claimed, 1);
    if (mine >= MAX_REPORTED) return false;
    reported[mine].code = r;
    atomic_store_explicit(&reported[mine].name, name, memory_order_release);
    return true;
}

/* An answer rather than a failure: who asks this wants to know whether there is a context. */
static bool is_answer(const char *name, CUresult r)
{
    return r == CUDA_ERROR_INVALID_CONTEXT && !strcmp(name, "cuCtxGetDevice");
}

static void report(const char *name, CUresult r, const char *code, const char *text, const char *why)
{
    const char *path = secure_getenv("FAULTLINE_REPORT");
    if (!path || !*path || is_answer(name, r) || !worth_reporting(name, r)) return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return;
    dprintf(fd, "%s: %s (%s)%s%s\n", name, code, text, *why ? ": " : "", why);
    close(fd);
}

CUresult api_failed(const char *name, CUresult r)
{
    const char *code, *text = error_explanation(r), *why = because_take((int)r);
    if (!why) why = "";
    if (r == CUDA_ERROR_NOT_READY || cuGetErrorName(r, &code)) return r;
    fl_log(FL_LOG_INFO, "%s: %s (%s)%s%s", name, code, text, *why ? ": " : "", why);
    report(name, r, code, text, why);
    return r;
}
