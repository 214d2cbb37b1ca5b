/* Contexts and the calling thread's stack of them; see context.h. Destroying a
 * context does not take it off a stack, and its handle stays known: later uses
 * answer CUDA_ERROR_CONTEXT_IS_DESTROYED (observed on H200). */
#include "context/context.h"
#include "base/log.h"
#include "module/module.h"
#include "space/space.h"
#include "stream/stream.h"
#include "trace/ledger.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { NEAR = 8, DEPTH = 1024, REMEMBERED = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the context table */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;  /* a context's end is complete */
static struct context *live;
static struct context *destroyed[REMEMBERED];
static unsigned destroyed_count;
static _Atomic int sticky;
static _Atomic unsigned long long last_id;

/* The calling thread's stack. Little of it is thread-local: a library that is loaded late finds little room there. */
static _Thread_local struct context *near[NEAR], **far; /* the lowest; those above, once there are any */
static _Thread_local unsigned depth;
static pthread_key_t far_key;
static pthread_once_t far_once = PTHREAD_ONCE_INIT;

CUresult sticky_get(void) { return (CUresult)atomic_load_explicit(&sticky, memory_order_relaxed); }

CUresult sticky_set(CUresult error)
{
    int none = CUDA_SUCCESS;
    return atomic_compare_exchange_strong(&sticky, &none, (int)error) ? error : (CUresult)none;
}

/* ---- the stack */

static struct context **at(unsigned k) { return k < NEAR ? &near[k] : &far[k - NEAR]; }

struct context *context_top_named(void) { return depth ? *at(depth - 1) : NULL; }

struct context *context_top(void)
{
    struct context *c = context_top_named();
    return c && c->real ? c->real : c;
}

/* Other destructors of the thread may still make calls. */
static void thread_ends(void *p)
{
    if (depth > NEAR) depth = NEAR;
    far = NULL;
    free(p);
}

static void make_key(void) { pthread_key_create(&far_key, thread_ends); }

static bool go_far(void)
{
    pthread_once(&far_once, make_key);
    far = calloc(DEPTH - NEAR, sizeof *far);
    return far && !pthread_setspecific(far_key, far);
}

CUresult context_push(struct context *c)
{
    if (depth == DEPTH || (depth == NEAR && !far && !go_far())) return CUDA_ERROR_OUT_OF_MEMORY;
    *at(depth++) = c;
    return CUDA_SUCCESS;
}

CUresult context_pop(struct context **c)
{
    if (!context_top_named()) return CUDA_ERROR_INVALID_CONTEXT;
    *c = *at(--depth);
    return CUDA_SUCCESS;
}

/* None takes the one on top off, and the one below it is current (observed on H200). */
void context_set(struct context *c)
{
    if (!c) {
        if (depth) depth--;
        return;
    }
    if (!depth) depth = 1;
    *at(depth - 1) = c;
}

CUresult context_current_unchecked(struct context **out)
{
    CUresult r = library_ready();
    if (r) return r;
    struct context *c = context_top_named();
    if (!c) return CUDA_ERROR_INVALID_CONTEXT;
    *out = c->real ? c->real : c;
    if (c->real && atomic_load_explicit(&c->destroyed, memory_order_acquire)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    c = *out;
    return atomic_load_explicit(&c->destroyed, memory_order_acquire) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult context_current(struct context **out)
{
    CUresult r = context_current_unchecked(out);
    if (r) return r;
    struct processor *p = (*out)->device->processor;
    if (!(r = sticky_get())) {
        if (stream_in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
        if ((r = processor_status(p))) r = sticky_set(r);
    }
    /* nothing will synchronise any more: what a kernel printed before it failed is to be seen now */
    if (r) processor_flush_printf(p);
    return r;
}

CUresult context_optional(struct context **out)
{
    CUresult r = context_current(out);
    if (r != CUDA_ERROR_INVALID_CONTEXT || stream_in_host_function()) return r;
    *out = NULL;
    return sticky_get();
}

/* ---- the table */

CUresult context_check(CUcontext handle, struct context **out)
{
    CUresult r = context_check_named(handle, out);
    if (r || !(*out)->real) return r;
    *out = (*out)->real;
    return atomic_load(&(*out)->destroyed) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : r;
}

CUresult context_check_named(CUcontext handle, struct context **out)
{
    struct context *c = (struct context *)handle;
    CUresult r = CUDA_ERROR_INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    for (struct context *k = live; k && r; k = k->next)
        if (k == c) r = atomic_load(&c->destroyed) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
    for (unsigned k = 0; k < REMEMBERED && r == CUDA_ERROR_INVALID_CONTEXT && c; k++)
        if (destroyed[k] == c) r = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    pthread_mutex_unlock(&lock);
    if (!r || r == CUDA_ERROR_CONTEXT_IS_DESTROYED) *out = c;
    return r;
}

static void power_off(struct device *d)
{
    space_detach(d);
    processor_stop(d->processor);
}

/* Whether a device process ended that was to live: that was no kernel's fault. */
static bool killed(void)
{
    bool any = false;
    for (int k = 0; k < device_count; k++) any |= devices[k].processor && processor_killed(devices[k].processor);
    return any;
}

/* The device process of d runs and sees what it must. A killed one is replaced
 * once no context of the device is left; what a kernel did wrong stays for the
 * life of the process, as on an H200. Under the table's lock. */
static CUresult power_on(struct device *d)
{
    CUresult past = sticky_get();
    if (past && (past != CUDA_ERROR_LAUNCH_FAILED || !killed())) return past;
    if (d->processor && (!processor_status(d->processor) || d->contexts)) return processor_status(d->processor);
    if (d->processor) power_off(d);
    struct processor *new = NULL;
    CUresult r = processor_start(&new, d->ordinal,
                                 (uint32_t)profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    d->processor = new;
    if (r) return r;
    if ((r = space_attach(d))) {
        power_off(d);
        d->processor = NULL;
        return r;
    }
    bool healthy = true;
    for (int k = 0; k < device_count; k++) healthy &= !devices[k].processor || !processor_status(devices[k].processor);
    if (healthy) atomic_store(&sticky, CUDA_SUCCESS);
    return r;
}

/* Gives c what a living context has. Under the lock. */
static CUresult activate(struct context *c)
{
    CUresult r = power_on(c->device);
    if (r) return r;
    for (int k = 0; k < PROFILE_LIMITS; k++) c->limits[k] = c->device->profile->limit[k];
    c->cache = CU_FUNC_CACHE_PREFER_NONE;
    c->heap_used = c->printf_used = c->released = false;
    if ((r = stream_set_create(c))) return r;
    if (!c->device->contexts) processor_set_printf_size(c->device->processor, c->limits[CU_LIMIT_PRINTF_FIFO_SIZE]);
    c->id = atomic_fetch_add(&last_id, 1) + 1;
    atomic_store(&c->finishing, false);
    c->device->contexts++;
    atomic_store_explicit(&c->destroyed, false, memory_order_release);
    return CUDA_SUCCESS;
}

/* Nobody gets c any more. False: it has ended already, or somebody else is at it. Under the lock. */
static bool end_begin(struct context *c)
{
    if (atomic_exchange(&c->destroyed, true)) return false;
    c->ending = true;
    return true;
}

/* All that was issued is done before a context ends, however long that takes (observed on H200). Threads that issue what
 * conditions of graphs select need the context for it. */
static void finish(struct context *c)
{
    atomic_store(&c->finishing, true);
    context_synchronize(c);
}

CUresult context_enter(struct context *c)
{
    uses_begin(&c->makers);
    return atomic_load(&c->destroyed) ? context_leave(c, CUDA_ERROR_CONTEXT_IS_DESTROYED) : CUDA_SUCCESS;
}

CUresult context_leave(struct context *c, CUresult r)
{
    uses_end(&c->makers);
    return r;
}

/* Everything the context had is gone; the object stays. */
static void end(struct context *c)
{
    uses_wait(&c->makers);
    stream_set_destroy(c);
    module_set_destroy(c);
    space_release_context(c);
    peers_forget(c);
    if (trace_wanted(TRACE_LISTEN_LEDGER)) ledger_end_context(c->id);
    pthread_mutex_lock(&lock);
    c->device->contexts--;
    c->ending = false;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
}

static void construct(void *object)
{
    struct context *c = object;
    pthread_mutex_init(&c->lock, NULL);
    atomic_init(&c->destroyed, true);
}

static struct objects contexts = OBJECTS_INIT(struct context, construct);

static struct context *context_new(struct device *d, unsigned flags)
{
    struct context *c = object_take(&contexts);
    if (!c) return NULL;
    c->device = d;
    c->flags = flags;
    c->id = c->heap = c->heap_size = 0;
    c->attached = 0;
    c->primary = c->ending = false;
    c->streams = NULL;
    c->real = NULL;
    c->green = NULL;
    return c;
}

CUresult context_create(struct device *d, unsigned flags, struct context **out)
{
    struct context *c = context_new(d, flags);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    CUresult r = activate(c);
    if (!r) {
        c->next = live;
        live = c;
        *out = c;
    }
    pthread_mutex_unlock(&lock);
    if (r) object_give(&contexts, c);
    return r;
}

/* The handle is remembered for long, not for ever. */
static void remember(struct context *c)
{
    pthread_mutex_lock(&lock);
    for (struct context **at = &live; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    if (destroyed[destroyed_count % REMEMBERED]) object_give(&contexts, destroyed[destroyed_count % REMEMBERED]);
    destroyed[destroyed_count++ % REMEMBERED] = c;
    pthread_mutex_unlock(&lock);
}

CUresult context_destroy(CUcontext handle)
{
    struct context *c;
    CUresult r = context_check(handle, &c);
    if ((!r || r == CUDA_ERROR_CONTEXT_IS_DESTROYED) && c->primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (r) return r;
    finish(c);
    pthread_mutex_lock(&lock);
    bool mine = end_begin(c);
    pthread_mutex_unlock(&lock);
    if (!mine) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    end(c);
    remember(c);
    /* the caller's stack loses it, once; deeper in it and in other threads' it stays */
    if (context_top_named() == c) depth--;
    return CUDA_SUCCESS;
}

CUresult context_name(struct context *real, struct green *g, struct context **out)
{
    struct context *c = context_new(real->device, real->flags);
    if (!c) return CUDA_ERROR_OUT_OF_MEMORY;
    c->real = real;
    c->green = g;
    c->id = atomic_fetch_add(&last_id, 1) + 1;
    atomic_store(&c->destroyed, false);
    pthread_mutex_lock(&lock);
    c->next = live;
    live = c;
    pthread_mutex_unlock(&lock);
    *out = c;
    return CUDA_SUCCESS;
}

void context_unname(struct context *c)
{
    atomic_store(&c->destroyed, true);
    remember(c);
}

/* ---- primary contexts */

CUresult primary_retain(struct device *d, struct context **out)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!d->primary) {
        struct context *c = context_new(d, 0);
        if (!c)
            r = CUDA_ERROR_OUT_OF_MEMORY;
        else {
            c->primary = true;
            c->next = live;
            live = d->primary = c;
        }
    }
    while (!r && d->primary->ending && !stream_in_host_function()) pthread_cond_wait(&ended, &lock);
    if (!r && d->primary->ending) r = CUDA_ERROR_NOT_PERMITTED; /* the end waits for the host function */
    if (!r && atomic_load(&d->primary->destroyed)) {
        d->primary->flags = d->primary_flags | CU_CTX_MAP_HOST; /* always, and none of one that has ended: observed on H200 */
        r = activate(d->primary);
    }
    if (!r) {
        d->primary_count++;
        *out = d->primary;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult primary_release(struct device *d)
{
    pthread_mutex_lock(&lock);
    /* without the lock: whether it still is the last is looked at again */
    for (bool finished = false; d->primary_count == 1 && primary_active(d) && !finished; finished = true) {
        pthread_mutex_unlock(&lock);
        finish(d->primary);
        pthread_mutex_lock(&lock);
    }
    bool held = d->primary_count, last = d->primary_count == 1;
    if (held) d->primary_count--;
    if (last) d->primary_flags = d->primary->flags = 0;
    bool mine = last && end_begin(d->primary);
    pthread_mutex_unlock(&lock);
    if (mine) end(d->primary);
    return held ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* The count of retains stays (observed on H200); the next one brings the context back. */
void primary_reset(struct device *d)
{
    if (primary_active(d)) finish(d->primary);
    pthread_mutex_lock(&lock);
    d->primary_flags = 0;
    if (d->primary) d->primary->flags = 0;
    bool mine = d->primary && end_begin(d->primary);
    pthread_mutex_unlock(&lock);
    if (mine) end(d->primary);
}

bool primary_active(const struct device *d) { return d->primary && !atomic_load(&d->primary->destroyed); }

bool primary_lives(unsigned long long id)
{
    for (int k = 0; k < device_count; k++)
        if (primary_active(&devices[k]) && atomic_load(&devices[k].primary->id) == id) return true;
    return false;
}
