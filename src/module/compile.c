/* Runs faultline-ptxc, a process of its own so that LLVM does not live in the
 * application's. */
#include "module/compile.h"
#include "base/log.h"
#include "base/spawn.h"
#include "ptx/abi.h"
#include "ptx/image.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 330000, INPUT = 0, OUTPUT, LOG, STATUS, FDS };
/* the statuses of src/ptx/ptxc.h */
enum { STATUS_INVALID = 10, STATUS_VERSION = 11, STATUS_UNSUPPORTED = 12 };

static bool table(uint64_t at, uint64_t count, uint64_t element, uint64_t size)
{
    return at <= size && count <= (size - at) / element;
}

bool image_check(const void *data, size_t size)
{
    const struct fl_image *h = data;
    if (size < sizeof *h || memcmp(h->magic, FL_IMAGE_MAGIC, 8) || h->abi != FL_ABI_VERSION || h->size != size)
        return false;
    if (!table(h->symbols, h->nsymbols, sizeof(struct fl_image_symbol), size) ||
        !table(h->relocs, h->nrelocs, sizeof(struct fl_image_reloc), size) ||
        !table(h->kernels, h->nkernels, sizeof(struct fl_image_kernel), size) ||
        !table(h->segments, h->nsegments, sizeof(struct fl_image_segment), size) ||
        !table(h->params, h->nparams, sizeof(struct fl_image_param), size) ||
        !table(h->lines, h->nlines, sizeof(struct fl_image_line), size) ||
        !table(h->strings, h->strings_size, 1, size) || !table(h->code, h->code_size, 1, size))
        return false;
    const char *base = data;
    const struct fl_image_symbol *y = (const void *)(base + h->symbols);
    const struct fl_image_kernel *k = (const void *)(base + h->kernels);
    if (!h->strings_size || base[h->strings + h->strings_size - 1]) return false;
    for (uint32_t i = 0; i < h->nsymbols; i++)
        if (y[i].name >= h->strings_size ||
            (y[i].init && !table(y[i].init, y[i].kind == FL_SYMBOL_FUNCTION ? 1 : y[i].size, 1, size)))
            return false;
    for (uint32_t i = 0; i < h->nkernels; i++)
        if (k[i].name >= h->strings_size || !k[i].nsegments ||
            !table(k[i].first_segment, k[i].nsegments, 1, h->nsegments) ||
            !table(k[i].first_param, k[i].nparams, 1, h->nparams))
            return false;
    const struct fl_image_segment *g = (const void *)(base + h->segments);
    const struct fl_image_param *p = (const void *)(base + h->params);
    for (uint32_t i = 0; i < h->nkernels; i++)
        for (uint32_t n = 0; n < k[i].nparams; n++) {
            const struct fl_image_param *x = &p[k[i].first_param + n];
            if (!table(x->offset, x->size, 1, k[i].param_size)) return false;
        }
    for (uint32_t i = 0; i < h->nsegments; i++)
        if (g[i].code >= size || g[i].probe >= size) return false;
    const struct fl_image_line *l = (const void *)(base + h->lines);
    for (uint32_t i = 0; i < h->nlines; i++)
        if (l[i].file >= h->strings_size) return false;
    const struct fl_image_reloc *r = (const void *)(base + h->relocs);
    for (uint32_t i = 0; i < h->nrelocs; i++)
        if (r[i].symbol >= h->nsymbols || r[i].target >= h->nsymbols || !table(r[i].offset, 8, 1, y[r[i].symbol].size))
            return false;
    return true;
}

void image_release(struct image_file *f)
{
    if (f->data) munmap(f->data, f->size);
    f->data = NULL;
}

static bool write_all(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t w = write(fd, text, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return false;
        text += w;
        n -= (size_t)w;
    }
    return true;
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

/* The compiler's exit status, -1 if it died or took too long. */
static int wait_for_status(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    unsigned char status;
    int n;
    while ((n = poll(&p, 1, PATIENCE_MS)) < 0 && errno == EINTR)
        ;
    return n > 0 && read(fd, &status, 1) == 1 ? status : -1;
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
    if (!write_all(fds[INPUT], text, strlen(text)) || lseek(fds[INPUT], 0, SEEK_SET)) goto out;
    if ((r = spawn(path, argv, fds, FDS))) goto out;
    close(ends[1]);
    ends[1] = -1;
    int status = wait_for_status(ends[0]);
    ssize_t n = log_size ? pread(fds[LOG], log, log_size - 1, 0) : 0;
    if (log_size) log[n > 0 ? n : 0] = 0;
    switch (status) {
    case 0: r = take_output(fds[OUTPUT], out); break;
    case STATUS_INVALID: r = CUDA_ERROR_INVALID_PTX; break;
    case STATUS_UNSUPPORTED: r = CUDA_ERROR_NOT_SUPPORTED; break;
    case STATUS_VERSION: r = CUDA_ERROR_UNSUPPORTED_PTX_VERSION; break;
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
