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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT, OUTPUT, LOG, STATUS, FDS }; /* the compiler's descriptors, from 3 on */
enum { PATIENCE_MS = 330000 };            /* a little more than it gives itself (src/ptx/main.c) */
enum { SILENCE_MS = 5000 };               /* who waits for longer is told for what */

static void unmap(struct mapped *m)
{
    if (m->data) munmap(m->data, m->size);
    m->data = NULL;
}

static CUresult take_output(int fd, struct mapped *out)
{
    struct stat s;
    if (fstat(fd, &s) || s.st_size <= 0) return CUDA_ERROR_UNKNOWN;
    out->size = (size_t)s.st_size;
    out->data = mmap(NULL, out->size, PROT_READ, MAP_SHARED, fd, 0);
    if (out->data != MAP_FAILED) return CUDA_SUCCESS;
    out->data = NULL;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static bool comes(int fd, int milliseconds)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int n;
    while ((n = poll(&p, 1, milliseconds)) < 0 && errno == EINTR)
        ;
    return n > 0;
}

/* What is to be compiled. */
struct task {
    const void *input;
    size_t size;
    char *option, *value; /* of the compiler; NULL: none */
    const char *name;     /* for people */
    char *log;
    size_t log_size;
};

/* The compiler's exit status, -1 if it died or took too long. */
static int wait_for_status(int fd, const struct task *t)
{
    unsigned char status;
    bool there = comes(fd, SILENCE_MS);
    if (!there) {
        fl_log(FL_LOG_WARN, "compiling %s (%zu KiB) takes a while", t->name, t->size >> 10);
        there = comes(fd, PATIENCE_MS - SILENCE_MS);
    }
    return there && read(fd, &status, 1) == 1 ? status : -1;
}

static CUresult result_of(int status, const struct task *t)
{
    switch (status) {
    case 0: return CUDA_SUCCESS;
    case EXIT_INVALID_PTX: return CUDA_ERROR_INVALID_PTX;
    case EXIT_UNSUPPORTED: return CUDA_ERROR_NOT_SUPPORTED;
    case EXIT_VERSION: return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    default:
        fl_log(FL_LOG_ERROR, "faultline-ptxc failed: %s", t->log_size && *t->log ? t->log : "it ended without a word");
        return CUDA_ERROR_INVALID_PTX;
    }
}

static CUresult run(const struct task *t, struct mapped *out)
{
    char path[4096];
    char *argv[] = {
        "faultline-ptxc", "--status", "6", "--log", "fd:5", "fd:3", "-o", "fd:4", t->option, t->value, NULL
    };
    int fds[FDS] = { -1, -1, -1, -1 }, ends[2] = { -1, -1 };
    if (library_sibling("faultline-ptxc", "FAULTLINE_PTXC_EXE", path, sizeof path))
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    CUresult r = CUDA_ERROR_OPERATING_SYSTEM;
    for (int k = 0; k < STATUS; k++)
        if ((fds[k] = memfd_create("faultline-ptx", MFD_CLOEXEC)) < 0) goto out;
    if (pipe2(ends, O_CLOEXEC)) goto out;
    fds[STATUS] = ends[1];
    if (file_resize(fds[INPUT], t->size) || !file_write(fds[INPUT], t->input, t->size) ||
        lseek(fds[INPUT], 0, SEEK_SET))
        goto out;
    if ((r = spawn(path, argv, fds, FDS))) goto out;
    close(ends[1]);
    ends[1] = -1;
    int status = wait_for_status(ends[0], t);
    ssize_t n = t->log_size ? pread(fds[LOG], t->log, t->log_size - 1, 0) : 0;
    if (t->log_size) t->log[n > 0 ? n : 0] = 0;
    r = result_of(status, t);
    if (!r) r = take_output(fds[OUTPUT], out);
out:
    for (int k = 0; k < STATUS; k++)
        if (fds[k] >= 0) close(fds[k]);
    for (int k = 0; k < 2; k++)
        if (ends[k] >= 0) close(ends[k]);
    return r == CUDA_ERROR_FILE_NOT_FOUND ? CUDA_ERROR_JIT_COMPILER_NOT_FOUND : r;
}

/* ---- modules */

enum { KIND_LAZY, KIND_EAGER, KIND_PART /* and the part's number */ };

bool modules_are_eager(void)
{
    const char *how = getenv("CUDA_MODULE_LOADING");
    return how && !strcasecmp(how, "EAGER");
}

static CUresult make_parts(struct image_file *f)
{
    uint32_t n = ((const struct fl_image *)f->data)->nparts;
    f->parts = n ? calloc(1, sizeof *f->parts + n * sizeof *f->parts->codes) : NULL;
    if (f->parts) {
        pthread_mutex_init(&f->parts->lock, NULL);
        pthread_cond_init(&f->parts->compiled, NULL);
    }
    return n && !f->parts ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

void image_release(struct image_file *f)
{
    uint32_t n = f->parts ? ((const struct fl_image *)f->data)->nparts : 0;
    for (uint32_t k = 0; k < n; k++) unmap(&f->parts->codes[k].code);
    if (f->data) munmap(f->data, f->size);
    free(f->parts);
    *f = (struct image_file){ 0 };
}

CUresult compile_ptx(const char *text, struct image_file *out, char *log, size_t log_size)
{
    const bool eager = modules_are_eager();
    struct task t = { text, strlen(text), eager ? "--eager" : NULL, NULL, "a module", log, log_size };
    struct cache_key key = cache_key(text, t.size, eager ? KIND_EAGER : KIND_LAZY);
    struct mapped image = { 0 };
    if (log_size) *log = 0;
    CUresult r = CUDA_SUCCESS;
    if (!cache_read(key, &image) || !image_check(image.data, image.size)) {
        unmap(&image);
        if ((r = run(&t, &image))) return r;
        if (image_check(image.data, image.size))
            cache_write(key, &image);
        else
            r = CUDA_ERROR_UNKNOWN;
    }
    *out = (struct image_file){ .data = image.data, .size = image.size };
    if (!r) r = make_parts(out);
    if (r) image_release(out);
    return r;
}

/* ---- parts */

/* For people: of which kernels it is. */
static const char *name_part(const struct fl_image *h, uint32_t part)
{
    const struct fl_image_kernel *k = image_kernels(h);
    while (k->part != part + 1) k++;
    return image_string(h, k->name);
}

/* Under the lock of the parts. */
static struct cache_key name_image(struct image_file *f)
{
    struct cache_key name = { f->parts->name[0], f->parts->name[1] };
    if (name.a || name.b) return name;
    name = cache_key(f->data, f->size, KIND_PART);
    f->parts->name[0] = name.a;
    f->parts->name[1] = name.b;
    return name;
}

static CUresult make_code(const struct image_file *f, struct cache_key name, uint32_t part, struct mapped *code)
{
    char log[1024] = "", number[16];
    struct task t = { f->data, f->size, "--part", number, name_part(f->data, part), log, sizeof log };
    struct cache_key key = cache_key(&name, sizeof name, KIND_PART + part);
    if (cache_read(key, code) && code_check(code->data, code->size, f->data, part)) return CUDA_SUCCESS;
    unmap(code);
    snprintf(number, sizeof number, "%u", part);
    CUresult r = run(&t, code);
    if (r) return r == CUDA_ERROR_INVALID_PTX ? CUDA_ERROR_UNKNOWN : r; /* there is nothing wrong with the PTX */
    if (code_check(code->data, code->size, f->data, part)) {
        cache_write(key, code);
        return CUDA_SUCCESS;
    }
    unmap(code);
    return CUDA_ERROR_UNKNOWN;
}

CUresult compile_part(struct image_file *f, uint32_t part, const struct fl_code **code)
{
    struct image_parts *p = f->parts;
    struct image_code *c = &p->codes[part];
    CUresult r = CUDA_SUCCESS;
    while (c->taken) pthread_cond_wait(&p->compiled, &p->lock);
    if (!c->code.data) {
        struct cache_key name = name_image(f);
        c->taken = true;
        pthread_mutex_unlock(&p->lock);
        r = make_code(f, name, part, &c->code);
        pthread_mutex_lock(&p->lock);
        c->taken = false;
        pthread_cond_broadcast(&p->compiled);
    }
    *code = c->code.data;
    return r;
}
