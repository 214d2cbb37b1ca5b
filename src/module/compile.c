/* Runs faultline-ptxc, a process of its own so that LLVM does not live in the
 * application's. */
#include "module/compile.h"
#include "base/file.h"
#include "base/log.h"
#include "base/spawn.h"
#include "module/image.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT, OUTPUT, LOG, STATUS, FDS }; /* the compiler's descriptors, from 3 on */
enum { PATIENCE_MS = 330000 };            /* a little more than it gives itself (src/ptx/main.c) */
enum { SILENCE_MS = 5000 };               /* who waits for longer is told for what */

void image_release(struct image_file *f)
{
    if (f->data) munmap(f->data, f->size);
    f->data = NULL;
}

static CUresult take_output(int fd, struct image_file *out)
{
    struct stat s;
    if (fstat(fd, &s) || s.st_size <= 0) return CUDA_ERROR_UNKNOWN;
    out->size = (size_t)s.st_size;
    out->data = mmap(NULL, out->size, PROT_READ, MAP_SHARED, fd, 0);
    if (out->data == MAP_FAILED) {
        out->data = NULL;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (image_check(out->data, out->size)) return CUDA_SUCCESS;
    image_release(out);
    return CUDA_ERROR_UNKNOWN;
}

static bool comes(int fd, int milliseconds)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int n;
    while ((n = poll(&p, 1, milliseconds)) < 0 && errno == EINTR)
        ;
    return n > 0;
}

/* The compiler's exit status, -1 if it died or took too long. */
static int wait_for_status(int fd, size_t size)
{
    unsigned char status;
    bool there = comes(fd, SILENCE_MS);
    if (!there) {
        fl_log(FL_LOG_WARN, "compiling %zu KiB of PTX takes a while", size >> 10);
        there = comes(fd, PATIENCE_MS - SILENCE_MS);
    }
    return there && read(fd, &status, 1) == 1 ? status : -1;
}

static CUresult run(const char *path, const char *text, struct image_file *out, char *log, size_t log_size)
{
    char *argv[] = { "faultline-ptxc", "--status", "6", "--log", "fd:5", "fd:3", "-o", "fd:4", NULL };
    int fds[FDS] = { -1, -1, -1, -1 }, ends[2] = { -1, -1 };
    CUresult r = CUDA_ERROR_OPERATING_SYSTEM;
    for (int k = 0; k < STATUS; k++)
        if ((fds[k] = memfd_create("faultline-ptx", MFD_CLOEXEC)) < 0) goto out;
    if (pipe2(ends, O_CLOEXEC)) goto out;
    fds[STATUS] = ends[1];
    if (!file_write(fds[INPUT], text, strlen(text)) || lseek(fds[INPUT], 0, SEEK_SET)) goto out;
    if ((r = spawn(path, argv, fds, FDS))) goto out;
    close(ends[1]);
    ends[1] = -1;
    int status = wait_for_status(ends[0], strlen(text));
    ssize_t n = log_size ? pread(fds[LOG], log, log_size - 1, 0) : 0;
    if (log_size) log[n > 0 ? n : 0] = 0;
    switch (status) {
    case 0: r = take_output(fds[OUTPUT], out); break;
    case EXIT_INVALID_PTX: r = CUDA_ERROR_INVALID_PTX; break;
    case EXIT_UNSUPPORTED: r = CUDA_ERROR_NOT_SUPPORTED; break;
    case EXIT_VERSION: r = CUDA_ERROR_UNSUPPORTED_PTX_VERSION; break;
    default:
        fl_log(FL_LOG_ERROR, "faultline-ptxc failed: %s", log_size && *log ? log : "it ended without a word");
        r = CUDA_ERROR_INVALID_PTX;
    }
out:
    for (int k = 0; k < STATUS; k++)
        if (fds[k] >= 0) close(fds[k]);
    for (int k = 0; k < 2; k++)
        if (ends[k] >= 0) close(ends[k]);
    return r;
}

CUresult compile_ptx(const char *text, struct image_file *out, char *log, size_t log_size)
{
    char path[4096];
    if (log_size) *log = 0;
    if (cache_read(text, out)) return CUDA_SUCCESS;
    if (library_sibling("faultline-ptxc", "FAULTLINE_PTXC_EXE", path, sizeof path))
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    CUresult r = run(path, text, out, log, log_size);
    if (!r) cache_write(text, out);
    return r == CUDA_ERROR_FILE_NOT_FOUND ? CUDA_ERROR_JIT_COMPILER_NOT_FOUND : r;
}
