/* What becomes known of an entry point that fails: a line in the log at level
 * info and, under faultline run, a line in the file that it shows at the end. */
#include "api/api.h"
#include "base/log.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_REPORTED 16 /* after an illegal access every call fails: the first ones tell the story */

static void report(const char *name, const char *code, const char *text)
{
    static atomic_int lines;
    const char *path = getenv("FAULTLINE_REPORT");
    if (!path || !*path || atomic_load(&lines) >= MAX_REPORTED || atomic_fetch_add(&lines, 1) >= MAX_REPORTED) return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return;
    dprintf(fd, "%s: %s (%s)\n", name, code, text);
    close(fd);
}

CUresult api_failed(const char *name, CUresult r)
{
    const char *code, *text;
    if (r == CUDA_ERROR_NOT_READY || cuGetErrorName(r, &code) || cuGetErrorString(r, &text)) return r;
    fl_log(FL_LOG_INFO, "%s: %s (%s)", name, code, text);
    report(name, code, text);
    return r;
}
