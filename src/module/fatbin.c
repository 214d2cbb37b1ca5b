/* Fatbinaries, as nvcc embeds them; see fatbin.h. Memory comes without a size,
 * so everything is read through a descriptor: what is not there is an error,
 * not a crash. */
#include "module/fatbin.h"
#include "module/join.h"
#include "module/twin.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

enum {
    WRAPPER = 0x466243b1,
    OF_PIECES = 2,
    FATBIN = 0xba55ed50u,
    KIND_PTX = 1,
    KIND_CODE = 2,
    LZ4 = 0x2000,
    ZSTD = 0x8000
};
static const size_t MOST = 512ul << 20;

struct wrapper {
    uint32_t magic, version;
    uint64_t data;
    uint64_t pieces; /* version 2, OF_PIECES: the fatbinaries that data was linked from; NULL ends them */
};
struct header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
};
struct entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t size;            /* of the payload, padded */
    uint32_t packed, unknown; /* bytes that are compressed, 0: none */
    uint16_t minor, major;
    uint32_t arch;
    uint64_t unused, flags, zero, unpacked;
};

/* Where data lies and, if it is known, where it ends. */
struct source {
    const char *data;
    size_t size;
};

/* Where process_vm_readv is forbidden, as in some containers, a pipe does. */
static int through_pipe(const char *from, char *to, size_t n)
{
    int ends[2], good = 1;
    if (pipe2(ends, O_CLOEXEC)) return 0;
    while (n && good) {
        size_t part = n < 4096 ? n : 4096;
        good = write(ends[1], from, part) == (ssize_t)part && read(ends[0], to, part) == (ssize_t)part;
        from += part;
        to += part;
        n -= part;
    }
    close(ends[0]);
    close(ends[1]);
    return good;
}

static int fetch(const struct source *s, size_t at, void *out, size_t n)
{
    if (s->size && (at > s->size || n > s->size - at)) return 0;
    struct iovec here = { out, n }, there = { (char *)s->data + at, n };
    ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    return got == (ssize_t)n || (got < 0 && errno != EFAULT && through_pipe(s->data + at, out, n));
}

/* A copy of the text, up to its 0 or the end of what is known to be there. */
static char *fetch_text(const struct source *s)
{
    size_t n = 0, room = 0;
    char *text = NULL;
    for (;;) {
        size_t part = 4096 - (uintptr_t)(s->data + n) % 4096; /* up to the next page, which may not be there */
        if (s->size && part > s->size - n) part = s->size - n;
        if (n + part + 1 > room) {
            char *more = n + part < MOST ? realloc(text, room = 2 * (n + part) + 1) : NULL;
            if (!more) break;
            text = more;
        }
        text[n + part] = 0;
        if (part && !fetch(s, n, text + n, part)) break;
        if (!part || memchr(text + n, 0, part)) return text;
        n += part;
    }
    free(text);
    return NULL;
}

/* An entry's payload, with a 0 behind it, and its size. */
static CUresult unpack(const struct source *s, size_t at, const struct entry *e, char **text, size_t *length)
{
    size_t packed = e->packed ? e->packed : (size_t)e->size, size = e->packed ? (size_t)e->unpacked : packed;
    if (packed > e->size || packed > MOST || size > MOST) return CUDA_ERROR_INVALID_IMAGE;
    char *in = malloc(packed + 1), *out = malloc(size + 1);
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!in || !out) goto done;
    r = CUDA_ERROR_INVALID_IMAGE;
    if (!fetch(s, at, in, packed)) goto done;
    size_t n = size;
    if (e->packed && e->flags & ZSTD)
        n = ZSTD_decompress(out, size, in, packed);
    else if (e->packed && e->flags & LZ4)
        n = (size_t)LZ4_decompress_safe(in, out, (int)packed, (int)size);
    else if (e->packed)
        goto done;
    else
        memcpy(out, in, size);
    if (n != size) goto done;
    out[size] = 0;
    *text = out;
    *length = size;
    out = NULL;
    r = CUDA_SUCCESS;
done:
    free(in);
    free(out);
    return r;
}

/* Runs on a device of compute capability sm. */
static bool is_code_for(const struct entry *e, unsigned sm)
{
    return e->kind == KIND_CODE && e->arch / 10 == sm / 10 && e->arch <= sm;
}

/* A PTX that suits the device better than the best until now: the newest that is not newer, else the oldest. */
static bool is_better(const struct entry *e, const struct entry *best, unsigned sm)
{
    if (e->kind != KIND_PTX) return false;
    if (!best->kind) return true;
    return e->arch <= sm ? best->arch > sm || e->arch >= best->arch : e->arch < best->arch;
}

/* Where an entry is; at 0: there is none. */
struct found {
    struct entry entry;
    size_t at; /* of its payload */
};

/* The best PTX for the device, and machine code for it. */
static CUresult find(const struct source *s, unsigned sm, struct found *ptx, struct found *code)
{
    struct header h;
    struct entry e;
    bool any = false;
    if (!fetch(s, 0, &h, sizeof h) || h.magic != FATBIN || h.header_size < sizeof h || h.size > MOST)
        return CUDA_ERROR_INVALID_IMAGE;
    size_t end = h.header_size + (size_t)h.size;
    for (size_t at = h.header_size; at + sizeof e <= end;) {
        if (!fetch(s, at, &e, sizeof e) || e.header_size < sizeof e || e.header_size > 65536 || e.size > end - at ||
            e.header_size > end - at - e.size)
            return CUDA_ERROR_INVALID_IMAGE;
        any = true;
        struct found here = { e, at + e.header_size };
        if (is_code_for(&e, sm) && (!code->at || e.arch >= code->entry.arch)) *code = here;
        if (is_better(&e, &ptx->entry, sm)) *ptx = here;
        at += e.header_size + e.size;
    }
    if (ptx->at && (ptx->entry.arch <= sm || code->at)) return CUDA_SUCCESS;
    return any ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
}

/* A library's PTX is often for the latest architecture only, and there is machine code for the others. That cannot run
 * here, but where a driver would take it the PTX does. */
static CUresult from_fatbin(const struct source *s, unsigned sm, char **text)
{
    struct found ptx = { 0 }, code = { 0 };
    char *machine = NULL;
    size_t length, size = 0;
    CUresult r = find(s, sm, &ptx, &code);
    if (!r) r = unpack(s, ptx.at, &ptx.entry, text, &length);
    if (r || !code.at) return r;
    if (ptx.entry.arch > sm && unpack(s, code.at, &code.entry, &machine, &size)) size = 0;
    r = twin_mark(text, machine, size);
    free(machine);
    return r;
}

/* What every relocatable program is linked with, and few need. The compiler has its own for those (ptx/provided.h). */
static bool is_device_runtime(const char *text) { return strstr(text, "__cuda_syscall_"); }

/* What nvcc -rdc=true leaves to the driver: linking, for a device that it has not linked for. Pieces without PTX are
 * left out. */
static CUresult from_pieces(const char *list, unsigned sm, char **text)
{
    struct source pieces = { list, 0 }, piece = { 0 };
    CUresult r = CUDA_SUCCESS, left_out = CUDA_ERROR_INVALID_IMAGE;
    char *all = NULL;
    for (size_t k = 0; !r; k++) {
        char *part;
        if (!fetch(&pieces, k * sizeof piece.data, &piece.data, sizeof piece.data)) r = CUDA_ERROR_INVALID_IMAGE;
        if (r || !piece.data) break;
        if ((r = from_fatbin(&piece, sm, &part)) == CUDA_ERROR_NO_BINARY_FOR_GPU) {
            left_out = r;
            r = CUDA_SUCCESS;
        } else if (!r) {
            if (!is_device_runtime(part)) r = ptx_join(&all, part);
            free(part);
        }
    }
    if (!r && !all) r = left_out;
    if (r)
        free(all);
    else
        *text = all;
    return r;
}

static CUresult from_wrapper(const struct source *s, unsigned sm, char **text)
{
    struct wrapper w;
    if (!fetch(s, 0, &w, sizeof w)) return CUDA_ERROR_INVALID_IMAGE;
    struct source data = { (const char *)w.data, 0 };
    CUresult r = from_fatbin(&data, sm, text);
    return r && w.version == OF_PIECES ? from_pieces((const char *)w.pieces, sm, text) : r;
}

/* After comments and white space PTX begins with .version. */
static const char *skip_blank(const char *p)
{
    for (;;) {
        while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') p++;
        if (p[0] == '/' && p[1] == '/') {
            while (*p && *p != '\n') p++;
        } else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            if (!end) return p;
            p = end + 2;
        } else {
            return p;
        }
    }
}

/* A program for the GPU in machine code: an ELF file with a section table. */
static CUresult from_elf(const struct source *s)
{
    unsigned char h[64];
    if (!fetch(s, 0, h, sizeof h)) return CUDA_ERROR_INVALID_IMAGE;
    return h[18] == 190 && (h[40] | h[41] | h[42]) ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_INVALID_IMAGE;
}

CUresult fatbin_ptx(const void *data, size_t size, unsigned sm, char **text)
{
    struct source s = { data, size };
    uint32_t magic;
    if (fetch(&s, 0, &magic, sizeof magic)) {
        if (magic == WRAPPER) return from_wrapper(&s, sm, text);
        if (magic == FATBIN) return from_fatbin(&s, sm, text);
        if (magic == 0x464c457f) return from_elf(&s);
    }
    char *copy = fetch_text(&s);
    if (!copy) return CUDA_ERROR_INVALID_IMAGE;
    if (strncmp(skip_blank(copy), ".version", 8)) {
        free(copy);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *text = copy;
    return CUDA_SUCCESS;
}

CUresult fatbin_wrap(const char *text, void **data, size_t *size)
{
    size_t n = strlen(text) + 1;
    struct {
        struct header h;
        struct entry e;
    } head = {
        { FATBIN, 1, sizeof(struct header), sizeof(struct entry) + n },
        { .kind = KIND_PTX, .version = 1, .header_size = sizeof(struct entry), .size = n },
    };
    char *all = malloc(sizeof head + n);
    if (!all) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(all, &head, sizeof head);
    memcpy(all + sizeof head, text, n);
    *data = all;
    *size = sizeof head + n;
    return CUDA_SUCCESS;
}
