/* Multicast objects; see multicast.h. */
#include "base/log.h"
#include "vmm/multicast_internal.h"
#include "vmm/own.h"

#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t team_lock = PTHREAD_MUTEX_INITIALIZER; /* to wait for a team; outside vmm_lock */
static pthread_cond_t team_grew = PTHREAD_COND_INITIALIZER;

_Atomic unsigned multicast_objects;

static struct multicast *of(const struct vmm_memory *m) { return m->detail; }

/* ---- what a memory of this kind does */

static bool view(const struct vmm_memory *m, const struct device *d, uint64_t at, const struct backing **b,
                 uint64_t *offset, uint64_t *length)
{
    (void)d, (void)b, (void)offset;
    *length = m->size - at;
    return false;
}

/* In the page table of who has the object at va. */
static CUresult show_one(const struct multicast *o, const struct binding *b, struct processor *p, uint64_t va, unsigned access)
{
    return processor_multicast(p, va + b->offset, b->size, b->memory->backing, b->memory->offset + b->memory_offset, access,
                               b->member, o->prop.numDevices);
}

static CUresult show(const struct vmm_memory *m, struct processor *p, uint64_t va, unsigned access)
{
    const struct multicast *o = of(m);
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < o->prop.numDevices && !r; k++) r = processor_multicast_end(p, va, m->size, k);
    for (const struct binding *b = o->bindings; b && access && !r; b = b->next) r = show_one(o, b, p, va, access);
    return r;
}

/* Kernels that use other parts of the object go on meanwhile. */
static CUresult change(const struct multicast *o, const struct binding *b, bool bound)
{
    CUresult r = CUDA_SUCCESS;
    for (const struct vmm_mapping *m = o->base.mappings; m; m = m->next)
        for (int k = 0; k < device_count; k++) {
            struct processor *p = m->access[k] ? access_processor(&devices[k]) : NULL;
            if (p && !bound)
                processor_multicast_end(p, m->a.base + b->offset, b->size, b->member);
            else if (p && !r && (r = show_one(o, b, p, m->a.base, m->access[k])) && processor_status(p))
                r = CUDA_SUCCESS; /* it is gone, and with it its page table */
        }
    mappings_changed();
    return r;
}

CUresult multicast_show(const struct multicast *o, const struct binding *b)
{
    CUresult r = change(o, b, true);
    if (r) change(o, b, false);
    return r;
}

void multicast_hide(const struct multicast *o, const struct binding *b) { change(o, b, false); }

static int member_of(const struct multicast *o, const struct device *d) { return team_member(o->team, d->physical); }

static CUresult may_access(const struct vmm_memory *m, const struct device *d)
{
    return d && member_of(of(m), d) >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static const char *hint(const struct vmm_memory *m, uint64_t at)
{
    unsigned bound = 0;
    for (const struct binding *b = of(m)->bindings; b; b = b->next) bound += at - b->offset < b->size;
    return bound < of(m)->prop.numDevices ? "has a member there with nothing bound"
                                          : "has many values there: only multimem instructions read it or add to it";
}

static void destroy(struct vmm_memory *m)
{
    struct multicast *o = of(m);
    multicast_objects--;
    share_remove(o);
    for (struct binding *b = o->bindings, *next; b; b = next) {
        next = b->next;
        share_retract(o, b);
        memory_put(b->memory);
        free(b);
    }
    team_close(o->team);
}

static const struct vmm_memory_kind kind = {
    .view = view, .show = show, .may_access = may_access, .export = share_export, .hint = hint, .destroy = destroy
};

/* ---- making */

struct multicast *multicast_new(struct team *t)
{
    struct multicast *o = calloc(1, sizeof *o);
    if (!o) {
        team_close(t);
        return NULL;
    }
    o->team = t;
    o->prop = team_prop(t);
    o->base = (struct vmm_memory){ .prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                             .requestedHandleTypes = (CUmemAllocationHandleType)o->prop.handleTypes },
                                   .size = o->prop.size,
                                   .kind = &kind,
                                   .detail = o,
                                   .references = 1 };
    multicast_objects++;
    share_add(o);
    return o;
}

CUresult multicast_create(const CUmulticastObjectProp *prop, CUmemGenericAllocationHandle *out)
{
    struct team *t;
    CUresult r = team_create(prop, &t);
    if (r) return r;
    pthread_rwlock_wrlock(&vmm_lock);
    struct multicast *o = multicast_new(t);
    pthread_rwlock_unlock(&vmm_lock);
    return o ? vmm_handle_new(&o->base, out) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The object that h names, with a reference. */
static CUresult get(CUmemGenericAllocationHandle h, struct multicast **out)
{
    struct vmm_memory *m;
    CUresult r = vmm_memory_get(h, &m);
    if (r) return r;
    if (m->kind != &kind) {
        vmm_memory_put(m);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = of(m);
    return CUDA_SUCCESS;
}

CUresult multicast_add(CUmemGenericAllocationHandle h, struct device *d)
{
    struct multicast *o;
    CUresult r = get(h, &o);
    if (r) return r;
    r = team_add(o->team, d->physical);
    pthread_mutex_lock(&team_lock);
    pthread_cond_broadcast(&team_grew);
    pthread_mutex_unlock(&team_lock);
    vmm_memory_put(&o->base);
    return r;
}

/* Other processes add devices too, and give no sign. */
static void wait_for_team(const struct multicast *o)
{
    if (team_complete(o->team)) return;
    fl_log(FL_LOG_WARN, "waiting until cuMulticastAddDevice has added all %u devices to a multicast object",
           o->prop.numDevices);
    while (team_shared(o->team) && !team_complete(o->team)) usleep(1000);
    pthread_mutex_lock(&team_lock);
    while (!team_complete(o->team)) pthread_cond_wait(&team_grew, &team_lock);
    pthread_mutex_unlock(&team_lock);
}

void multicast_wait(CUmemGenericAllocationHandle h)
{
    struct multicast *o;
    if (!multicast_any() || get(h, &o)) return;
    wait_for_team(o);
    vmm_memory_put(&o->base);
}

/* ---- binding */

CUresult multicast_enter(struct multicast *o, struct binding *b)
{
    struct binding **at = &o->bindings;
    for (struct binding *x = o->bindings; x; x = x->next)
        if (x->member == b->member && x->offset < b->offset + b->size && b->offset < x->offset + x->size)
            return CUDA_ERROR_INVALID_VALUE;
    while (*at && ((*at)->offset < b->offset || ((*at)->offset == b->offset && (*at)->member < b->member)))
        at = &(*at)->next;
    b->next = *at;
    *at = b;
    return CUDA_SUCCESS;
}

void multicast_free(struct binding *b)
{
    vmm_memory_put(b->memory);
    free(b);
}

void multicast_leave(struct multicast *o, struct binding *b)
{
    for (struct binding **at = &o->bindings; *at; at = &(*at)->next)
        if (*at == b) {
            *at = b->next;
            return;
        }
}

/* What other processes are to have needs a file of its own. */
static CUresult prepare(const struct multicast *o, struct vmm_memory *memory)
{
    unsigned asked = 0;
    CUresult r = CUDA_ERROR_NOT_READY;
    while (r == CUDA_ERROR_NOT_READY) {
        pthread_rwlock_wrlock(&vmm_lock);
        r = team_shared(o->team) && !memory->own ? own_move(memory, 1) : CUDA_SUCCESS;
        pthread_rwlock_unlock(&vmm_lock);
        if (r == CUDA_ERROR_NOT_READY && own_is_late(&asked)) r = CUDA_ERROR_OPERATING_SYSTEM;
    }
    return r;
}

/* Others are told last: what they know cannot be taken back unseen. */
static CUresult enter(struct multicast *o, struct binding *b)
{
    CUresult r = multicast_enter(o, b);
    if (r) return r;
    if (!(r = multicast_show(o, b)) && (r = share_publish(o, b))) multicast_hide(o, b);
    if (r) multicast_leave(o, b);
    return r;
}

static CUresult bind(struct multicast *o, uint64_t offset, struct vmm_memory *memory, uint64_t memory_offset,
                     uint64_t size)
{
    int member = memory->device && !memory->kind ? member_of(o, memory->device) : -1;
    bool pool = memory->prop.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL;
    if (member < 0 || pool || offset > o->base.size || size > o->base.size - offset || memory_offset > memory->size ||
        size > memory->size - memory_offset || (o->prop.handleTypes && !memory->prop.requestedHandleTypes))
        return CUDA_ERROR_INVALID_VALUE;
    struct binding *b = malloc(sizeof *b);
    if (!b) return CUDA_ERROR_OUT_OF_MEMORY;
    *b = (struct binding){ .member = (unsigned)member,
                           .offset = offset,
                           .size = size,
                           .memory = memory,
                           .memory_offset = memory_offset,
                           .place = -1 };
    CUresult r = prepare(o, memory);
    pthread_rwlock_wrlock(&vmm_lock);
    if (!r) r = enter(o, b);
    pthread_rwlock_unlock(&vmm_lock);
    if (r) free(b);
    return r;
}

CUresult multicast_bind(CUmemGenericAllocationHandle h, uint64_t offset, struct vmm_memory *memory,
                        uint64_t memory_offset, uint64_t size)
{
    struct multicast *o;
    CUresult r = get(h, &o);
    if (!r) {
        wait_for_team(o);
        multicast_refresh();
        r = bind(o, offset, memory, memory_offset, size);
        vmm_memory_put(&o->base);
    }
    if (r) vmm_memory_put(memory);
    return r;
}

/* Whole bindings of the member in the range, taken out as a list; NULL if one sticks out or there is none. */
static struct binding *take_out(struct multicast *o, unsigned member, uint64_t offset, uint64_t size)
{
    struct binding *out = NULL;
    for (const struct binding *b = o->bindings; b; b = b->next) {
        bool begins = b->offset >= offset && b->offset - offset < size, ends = b->offset + b->size <= offset + size;
        if (b->member == member && b->offset < offset + size && offset < b->offset + b->size && !(begins && ends))
            return NULL;
    }
    for (struct binding **at = &o->bindings; *at;) {
        struct binding *b = *at;
        if (b->member != member || b->offset < offset || b->offset >= offset + size) {
            at = &b->next;
            continue;
        }
        share_retract(o, b);
        multicast_hide(o, b);
        *at = b->next;
        b->next = out;
        out = b;
    }
    return out;
}

CUresult multicast_unbind(CUmemGenericAllocationHandle h, const struct device *d, uint64_t offset, uint64_t size)
{
    struct multicast *o;
    struct binding *gone = NULL;
    CUresult r = get(h, &o);
    if (r) return r;
    pthread_rwlock_wrlock(&vmm_lock);
    int member = member_of(o, d);
    if (member >= 0 && offset <= o->base.size && size <= o->base.size - offset)
        gone = take_out(o, (unsigned)member, offset, size);
    pthread_rwlock_unlock(&vmm_lock);
    r = gone ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (struct binding *next; gone; gone = next) {
        next = gone->next;
        multicast_free(gone);
    }
    vmm_memory_put(&o->base);
    return r;
}

/* ---- copies and memsets */

unsigned multicast_members(uint64_t address)
{
    pthread_rwlock_rdlock(&vmm_lock);
    const struct vmm_mapping *m = mapping_at(address);
    const struct vmm_memory *memory = m ? m->handle->memory : NULL;
    unsigned n = memory && memory->kind == &kind ? of(memory)->prop.numDevices : 0;
    pthread_rwlock_unlock(&vmm_lock);
    return n;
}

size_t multicast_pieces(uint64_t va, uint64_t size, const struct device *d, unsigned member, struct vmm_piece *pieces,
                        size_t room)
{
    size_t count = 0;
    uint64_t at = va;
    pthread_rwlock_rdlock(&vmm_lock);
    const struct vmm_mapping *m = mapping_at(va);
    const struct vmm_memory *memory = m ? m->handle->memory : NULL;
    bool good = memory && memory->kind == &kind && d && size <= mapping_end(m) - va &&
                m->access[d->ordinal] == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    for (const struct binding *b = good ? of(memory)->bindings : NULL; b && at < va + size; b = b->next) {
        uint64_t inside = at - m->a.base - b->offset;
        if (b->member != member || at - m->a.base < b->offset || inside >= b->size) continue;
        uint64_t length = b->size - inside < va + size - at ? b->size - inside : va + size - at;
        char *bytes = b->memory->backing->alias + b->memory->offset + b->memory_offset + inside;
        if (count < room) pieces[count] = (struct vmm_piece){ bytes, length };
        count++;
        at += length;
    }
    pthread_rwlock_unlock(&vmm_lock);
    return at == va + size ? count : 0;
}
