/* Multicast objects that several processes hold: what one binds the others have
 * to find. They look at the team's generation before anything that could touch
 * the object, and fetch the memory's descriptors from the process that bound it. */
#include "base/log.h"
#include "vmm/fabric.h"
#include "vmm/multicast_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 512 };

static struct multicast *objects;
static _Atomic unsigned shared_count;
static pthread_mutex_t refreshing = PTHREAD_MUTEX_INITIALIZER; /* outside vmm_lock */

void share_add(struct multicast *o)
{
    if (!team_shared(o->team)) return;
    o->next = objects;
    objects = o;
    shared_count++;
}

void share_remove(struct multicast *o)
{
    for (struct multicast **at = &objects; *at; at = &(*at)->next)
        if (*at == o) {
            *at = o->next;
            shared_count--;
            return;
        }
}

CUresult share_publish(struct multicast *o, struct binding *b)
{
    if (!team_shared(o->team)) return CUDA_SUCCESS;
    struct team_binding t = {
        .offset = b->offset, .size = b->size, .memory_offset = b->memory_offset, .device = b->memory->device->physical
    };
    CUresult r = fabric_invite(b->memory->own, t.socket, t.secret);
    if (r) return r;
    b->place = team_publish(o->team, &t);
    if (b->place < 0 && team_forget(o->team, fabric_answers)) b->place = team_publish(o->team, &t);
    b->id = t.id;
    return b->place < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

void share_retract(struct multicast *o, const struct binding *b)
{
    if (b->id && b->place >= 0) team_retract(o->team, b->place);
}

CUresult share_export(const struct vmm_memory *m, int *fd)
{
    return team_export(((const struct multicast *)m->detail)->team, fd);
}

static struct multicast *known(int fd)
{
    struct multicast *o = objects;
    while (o && !team_is(o->team, fd)) o = o->next;
    if (o) o->base.references++;
    return o;
}

CUresult multicast_import(int fd, CUmemGenericAllocationHandle *out)
{
    struct team *t;
    struct vmm_handle *h;
    CUresult r = CUDA_SUCCESS;
    pthread_rwlock_wrlock(&vmm_lock);
    struct multicast *o = known(fd);
    if (!o && !(r = team_open(fd, &t)) && !(o = multicast_new(t))) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        CUmemAllocationProp prop = o->base.prop;
        prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE; /* what was imported cannot be exported, as other memory */
        if (!(r = handle_new(&o->base, &prop, &h))) *out = handle_name(h);
    }
    pthread_rwlock_unlock(&vmm_lock);
    return r;
}

/* ---- following what others do */

struct list {
    struct team_binding *at;
    size_t count;
};

static void note(void *arg, const struct team_binding *b)
{
    struct list *l = arg;
    if (l->count < MOST) l->at[l->count++] = *b;
}

static bool has(const struct list *l, uint64_t id)
{
    for (size_t k = 0; k < l->count; k++)
        if (l->at[k].id == id) return true;
    return false;
}

/* Takes out what others have unbound; leaves in l what is new. Under vmm_lock. */
static struct binding *compare(struct multicast *o, struct list *l)
{
    struct binding *gone = NULL;
    for (struct binding **at = &o->bindings; *at;) {
        struct binding *b = *at;
        if (b->place >= 0 || has(l, b->id)) {
            for (size_t k = 0; k < l->count; k++)
                if (l->at[k].id == b->id) l->at[k--] = l->at[--l->count];
            at = &b->next;
            continue;
        }
        multicast_hide(o, b);
        *at = b->next;
        b->next = gone;
        gone = b;
    }
    return gone;
}

/* Under vmm_lock. What is no memory for it is passed over. CUDA_ERROR_OUT_OF_MEMORY, or what page tables answer. */
static CUresult enter(struct multicast *o, const struct team_binding *t, int fd)
{
    struct vmm_memory *m;
    int member = team_member(o->team, t->device);
    if (member < 0) return CUDA_SUCCESS;
    CUresult r = own_import(fd, &m);
    if (r) return r == CUDA_ERROR_OUT_OF_MEMORY ? r : CUDA_SUCCESS;
    struct binding *b = malloc(sizeof *b);
    bool good = b && m->device && m->device->physical == t->device && t->memory_offset <= m->size &&
                t->size <= m->size - t->memory_offset;
    r = b ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (good) {
        *b = (struct binding){ (unsigned)member, t->offset, t->size, m, t->memory_offset, t->id, -1, NULL };
        good = !multicast_enter(o, b);
    }
    if (good && !(r = multicast_show(o, b))) return r;
    if (good) multicast_leave(o, b);
    memory_put(m);
    free(b);
    return r;
}

/* A process that is busy, or stopped, may not answer soon; what is done meanwhile would not reach its memory. One that
 * has ended has no socket. */
static CUresult fetch(const struct team_binding *b, int *fd)
{
    CUresult r;
    while ((r = fabric_accept(b->socket, b->secret, fd)) == CUDA_ERROR_NOT_READY)
        fl_log_once(FL_LOG_WARN, "a process that has bound memory to a multicast object does not answer: waiting");
    return r;
}

/* False: not all could be fetched now. */
static bool refresh(struct multicast *o, uint64_t generation)
{
    static struct team_binding places[MOST]; /* under `refreshing` */
    struct list l = { .at = places };
    team_each(o->team, note, &l);
    pthread_rwlock_wrlock(&vmm_lock);
    struct binding *gone = compare(o, &l);
    pthread_rwlock_unlock(&vmm_lock);
    bool all = true;
    for (size_t k = 0; k < l.count; k++) {
        int fd;
        CUresult r = fetch(&l.at[k], &fd);
        if (r == CUDA_ERROR_OPERATING_SYSTEM) all = false;
        if (r) continue;
        pthread_rwlock_wrlock(&vmm_lock);
        if (enter(o, &l.at[k], fd)) all = false;
        pthread_rwlock_unlock(&vmm_lock);
        close(fd);
    }
    /* only now: another thread that is about to use the object waits until all is there */
    pthread_rwlock_wrlock(&vmm_lock);
    if (all) o->seen = generation;
    pthread_rwlock_unlock(&vmm_lock);
    for (struct binding *next; gone; gone = next) {
        next = gone->next;
        multicast_free(gone);
    }
    if (!all)
        fl_log(FL_LOG_ERROR,
               "what is bound to a multicast object cannot be reached: there are no descriptors, or no memory, left");
    return all;
}

/* One that others have changed, with a reference, or NULL. */
static struct multicast *changed_one(uint64_t *generation)
{
    pthread_rwlock_wrlock(&vmm_lock);
    struct multicast *o = objects;
    while (o && (*generation = team_generation(o->team)) == o->seen) o = o->next;
    if (o) o->base.references++;
    pthread_rwlock_unlock(&vmm_lock);
    return o;
}

static bool none_changed(void)
{
    pthread_rwlock_rdlock(&vmm_lock);
    struct multicast *o = objects;
    while (o && team_generation(o->team) == o->seen) o = o->next;
    pthread_rwlock_unlock(&vmm_lock);
    return !o;
}

void multicast_refresh(void)
{
    uint64_t generation;
    struct multicast *o;
    if (!atomic_load_explicit(&shared_count, memory_order_relaxed) || none_changed()) return;
    pthread_mutex_lock(&refreshing);
    bool good = true;
    for (unsigned k = 0; good && k < MOST && (o = changed_one(&generation)); k++) {
        good = refresh(o, generation);
        vmm_memory_put(&o->base);
    }
    pthread_mutex_unlock(&refreshing);
}
