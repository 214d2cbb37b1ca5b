/* The team's record, in memory or in a sealed file; see team.h. */
#include "vmm/team.h"
#include "base/file.h"
#include "vmm/descriptor.h"
#include "vmm/vmm.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PLACES = 512 };         /* for bindings */
enum { FREE, CLAIMED, READY }; /* what a place is; CLAIMED: somebody writes its binding */
static const char MAGIC[16] = "Faultline team 1";

struct place {
    _Atomic uint32_t state;
    struct team_binding binding;
};
struct record {
    char magic[sizeof MAGIC];
    CUmulticastObjectProp prop;
    _Atomic int32_t members[MAX_DEVICES]; /* device + 1 */
    _Atomic uint64_t generation, last_id;
    struct place places[PLACES];
};
struct team {
    struct record *record;
    CUmulticastObjectProp prop; /* as it was when it was checked */
    int fd;                     /* -1: it is not shared */
};

static CUresult view(struct team *t)
{
    void *at = mmap(NULL, sizeof *t->record, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    madvise(at, sizeof *t->record, MADV_DONTFORK);
    t->record = at;
    return CUDA_SUCCESS;
}

static CUresult make_file(struct team *t)
{
    t->fd = descriptor_memory("faultline-multicast", true);
    if (t->fd < 0 || file_resize(t->fd, sizeof *t->record)) return CUDA_ERROR_OUT_OF_MEMORY;
    if (!file_seal(t->fd)) return CUDA_ERROR_OPERATING_SYSTEM;
    return view(t);
}

CUresult team_create(const CUmulticastObjectProp *prop, struct team **out)
{
    struct team *t = calloc(1, sizeof *t);
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    t->prop = *prop;
    t->fd = -1;
    CUresult r = CUDA_SUCCESS;
    if (prop->handleTypes)
        r = make_file(t);
    else if (!(t->record = calloc(1, sizeof *t->record)))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        team_close(t);
        return r;
    }
    t->record->prop = *prop;
    memcpy(t->record->magic, MAGIC, sizeof MAGIC);
    *out = t;
    return CUDA_SUCCESS;
}

static bool good_file(int fd)
{
    struct stat s;
    return file_sealed(fd) && !fstat(fd, &s) && s.st_size == sizeof(struct record);
}

CUresult team_open(int fd, struct team **out)
{
    if (!good_file(fd)) return CUDA_ERROR_UNKNOWN;
    struct team *t = calloc(1, sizeof *t);
    if (!t) return CUDA_ERROR_OUT_OF_MEMORY;
    t->fd = descriptor_copy(fd);
    CUresult r = t->fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : view(t);
    if (!r) {
        t->prop = t->record->prop;
        if (memcmp(t->record->magic, MAGIC, sizeof MAGIC) || !t->prop.numDevices || t->prop.numDevices > MAX_DEVICES ||
            !t->prop.size || t->prop.size % VMM_GRANULARITY)
            r = CUDA_ERROR_UNKNOWN;
    }
    if (r)
        team_close(t);
    else
        *out = t;
    return r;
}

void team_close(struct team *t)
{
    if (t->fd < 0)
        free(t->record);
    else if (t->record)
        munmap(t->record, sizeof *t->record);
    if (t->fd >= 0) close(t->fd);
    free(t);
}

bool team_is(const struct team *t, int fd)
{
    struct stat a, b;
    return t->fd >= 0 && !fstat(t->fd, &a) && !fstat(fd, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

CUresult team_export(const struct team *t, int *fd)
{
    if (t->fd < 0) return CUDA_ERROR_INVALID_VALUE;
    int copy = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *fd = copy;
    return CUDA_SUCCESS;
}

bool team_shared(const struct team *t) { return t->fd >= 0; }
CUmulticastObjectProp team_prop(const struct team *t) { return t->prop; }

/* ---- members */

CUresult team_add(struct team *t, int device)
{
    for (unsigned k = 0; k < t->prop.numDevices; k++) {
        int32_t seen = 0;
        if (atomic_compare_exchange_strong(&t->record->members[k], &seen, device + 1)) return CUDA_SUCCESS;
        if (seen == device + 1) break;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

bool team_complete(const struct team *t) { return atomic_load(&t->record->members[t->prop.numDevices - 1]) != 0; }

int team_member(const struct team *t, int device)
{
    for (unsigned k = 0; k < t->prop.numDevices; k++)
        if (atomic_load(&t->record->members[k]) == device + 1) return (int)k;
    return -1;
}

/* ---- what is bound */

int team_publish(struct team *t, struct team_binding *b)
{
    for (int k = 0; k < PLACES; k++) {
        struct place *p = &t->record->places[k];
        uint32_t was = FREE;
        if (!atomic_compare_exchange_strong(&p->state, &was, CLAIMED)) continue;
        b->id = atomic_fetch_add(&t->record->last_id, 1) + 1;
        p->binding = *b;
        atomic_store(&p->state, READY);
        atomic_fetch_add(&t->record->generation, 1);
        return k;
    }
    return -1;
}

void team_retract(struct team *t, int place)
{
    atomic_store(&t->record->places[place].state, FREE);
    atomic_fetch_add(&t->record->generation, 1);
}

/* CLAIMED meanwhile, so that nobody takes it for another's. */
static bool forget(struct team *t, int k, uint64_t id)
{
    struct place *p = &t->record->places[k];
    uint32_t was = READY;
    if (!atomic_compare_exchange_strong(&p->state, &was, CLAIMED)) return false;
    const bool same = p->binding.id == id;
    atomic_store(&p->state, same ? FREE : READY);
    atomic_fetch_add(&t->record->generation, 1);
    return same;
}

bool team_forget(struct team *t, bool (*answers)(const unsigned char *socket))
{
    struct team_binding last = { .size = 0 };
    bool any = false, lives = true;
    for (int k = 0; k < PLACES; k++) {
        if (atomic_load(&t->record->places[k].state) != READY) continue;
        struct team_binding b = t->record->places[k].binding;
        if (!last.size || memcmp(b.socket, last.socket, sizeof b.socket)) lives = answers(b.socket);
        last = b;
        if (!lives) any |= forget(t, k, b.id);
    }
    return any;
}

uint64_t team_generation(const struct team *t) { return atomic_load(&t->record->generation); }

/* A place whose binding changes while it is read is left out: the generation has changed then. */
void team_each(const struct team *t, void (*see)(void *arg, const struct team_binding *b), void *arg)
{
    for (int k = 0; k < PLACES; k++) {
        const struct place *p = &t->record->places[k];
        if (atomic_load(&p->state) != READY) continue;
        struct team_binding b = p->binding;
        bool whole = atomic_load(&p->state) == READY && b.id == p->binding.id;
        bool good = b.size && b.offset <= t->prop.size && b.size <= t->prop.size - b.offset && b.device >= 0;
        if (whole && good && !((b.offset | b.size | b.memory_offset) % VMM_GRANULARITY)) see(arg, &b);
    }
}
