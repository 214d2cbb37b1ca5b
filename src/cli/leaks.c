/* faultline run --leaks: what memory a program still had when it ended, by the calls that gave it. */
#include "base/symbols.h"
#include "cli/watch.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 40 };

struct group {
    struct ledger_entry like;
    uint64_t bytes;
    size_t count;
};

static int by_origin(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->like.origin != y->like.origin) return x->like.origin < y->like.origin ? -1 : 1;
    if (x->like.kind != y->like.kind) return x->like.kind - y->like.kind;
    if (x->like.memory != y->like.memory) return x->like.memory - y->like.memory;
    return x->like.processor - y->like.processor;
}

static int by_bytes(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return by_origin(a, b);
}

/* What is alike becomes one; returns how many there are. */
static size_t gather(struct group *group, size_t n)
{
    size_t groups = 0;
    qsort(group, n, sizeof *group, by_origin);
    for (size_t k = 0; k < n; k++) {
        if (groups && !by_origin(&group[groups - 1], &group[k])) {
            group[groups - 1].bytes += group[k].bytes;
            group[groups - 1].count++;
        } else {
            group[groups++] = group[k];
        }
    }
    qsort(group, groups, sizeof *group, by_bytes);
    return groups;
}

static const char *piece_text(const struct ledger_entry *e)
{
    static const char *const memories[] = { [LEDGER_OTHER] = "memory",
                                            [LEDGER_DEVICE] = "device memory",
                                            [LEDGER_MANAGED] = "managed memory",
                                            [LEDGER_PINNED] = "pinned host memory",
                                            [LEDGER_REGISTERED] = "registered host memory",
                                            [LEDGER_POOLED] = "memory of a pool",
                                            [LEDGER_IMPORTED] = "another process's memory" };
    switch (e->kind) {
    case LEDGER_ARRAY: return "an array";
    case LEDGER_ADDRESSES: return "reserved addresses";
    case LEDGER_HANDLE: return "a handle of memory (cuMemRelease)";
    case LEDGER_MAPPING: return "a mapping (cuMemUnmap)";
    case LEDGER_POOL: return "a pool";
    default: return e->memory < sizeof memories / sizeof *memories ? memories[e->memory] : "memory";
    }
}

/* What C++ calls it, if its library is here. Free. */
static char *demangled(const char *name)
{
    typedef char *demangle_fn(const char *, char *, size_t *, int *);
    static demangle_fn *demangle;
    static bool looked;
    void *library = looked ? NULL : dlopen("libstdc++.so.6", RTLD_NOW);
    if (library) demangle = (demangle_fn *)dlsym(library, "__cxa_demangle");
    looked = true;
    return demangle && !strncmp(name, "_Z", 2) ? demangle(name, NULL, NULL, NULL) : NULL;
}

static void print_function(FILE *to, const char *name, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *plain = demangled(name);
    fprintf(to, "            %s (%s)\n", plain ? plain : name, slash ? slash + 1 : path);
    free(plain);
}

/* "name (/path)", or "/path+0x123" (trace/origin.c). */
static void print_frame(FILE *to, char *frame)
{
    char name[1024], *path = strstr(frame, " ("), *offset = strrchr(frame, '+');
    if (path) {
        *path = '\0';
        path[strcspn(path + 2, ")") + 2] = '\0';
        print_function(to, frame, path + 2);
        return;
    }
    if (offset) *offset++ = '\0';
    if (offset && symbols_at(frame, SYMBOLS_ALL, strtoull(offset, NULL, 16), name, sizeof name))
        print_function(to, name, frame);
    else
        fprintf(to, "            %s+%s\n", frame, offset ? offset : "?");
}

static void print_origin(FILE *to, const char *text)
{
    char frame[4096];
    while (*text) {
        const size_t n = strcspn(text, "\n");
        snprintf(frame, sizeof frame, "%.*s", (int)n, text);
        print_frame(to, frame);
        text += n + (text[n] == '\n');
    }
}

static void print_group(FILE *to, struct trace_region *r, const struct group *g)
{
    char bytes[16];
    fprintf(to, "  %10s  ", g->bytes ? bytes_text(g->bytes, bytes) : "-");
    if (g->count > 1) fprintf(to, "%zu times ", g->count);
    fprintf(to, "%s", piece_text(&g->like));
    if (g->like.processor) fprintf(to, ", device %u", g->like.processor - 1);
    fputs(", from\n", to);
    print_origin(to, trace_name(r, g->like.origin));
}

size_t leaks_print(FILE *to, struct trace_region *r)
{
    char name[256];
    const uint32_t entries = atomic_load(&r->ledger_entries), lost = atomic_load(&r->ledger_lost);
    size_t n = 0;
    struct group *group = calloc(TRACE_LEDGER, sizeof *group);
    if (!group) return 0;
    for (uint32_t k = 0; k < entries && k < TRACE_LEDGER; k++) {
        const struct ledger_entry e = r->ledger[k];
        if (e.kind && e.kind < LEDGER_KINDS) group[n++] = (struct group){ e, e.bytes, 1 };
    }
    const size_t groups = gather(group, n);
    if (n || lost)
        fprintf(to, "faultline: %s, process %u, did not give back:\n", program_text(r, name, sizeof name), r->pid);
    for (size_t k = 0; k < groups && k < MOST_SHOWN; k++) print_group(to, r, &group[k]);
    if (groups > MOST_SHOWN) fprintf(to, "  and what came from %zu other places\n", groups - MOST_SHOWN);
    if (lost) fprintf(to, "  and %u pieces for which there was no room in the ledger\n", lost);
    free(group);
    return n + lost;
}
