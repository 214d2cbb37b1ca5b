/* References as launches find them: each state that a launch saw has a symbol
 * table of its own, with handles of texture and surface objects. Tables follow
 * each other in pieces of memory; a piece that is full is begun anew when no
 * kernel uses its tables any more. A launch does not wait for that: it may be
 * what others wait for. */
#include "api/reference.h"
#include "api/array.h"
#include "base/objects.h"
#include "module/image.h"
#include "stream/point.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_SIZE = 1 << 20, TABLES_MOST = 512 };

struct made {
    uint64_t handle;
    bool surface;
};

struct piece {
    struct piece *next;
    uint64_t va;
    char *alias;
    uint32_t used;         /* tables */
    uint32_t launching;    /* launches that have found a table here and are not in their stream yet */
    struct marks *points;  /* behind all that uses it, since it is full; NULL: not known */
    struct made *objects;  /* that are in tables */
    uint32_t nobjects, capacity;
};

/* What struct module knows the beginning of. */
struct module_references {
    struct references base;
    struct module *module;
    struct piece *pieces; /* all are full but the first, which is the one in use */
    uint32_t count;
    struct reference *list[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void construct(void *object) { (void)object; }
static struct objects all = OBJECTS_INIT(struct reference, construct);

CUresult reference_lock(void *handle, bool surface, struct reference **out)
{
    struct reference *r = handle;
    pthread_mutex_lock(&lock);
    *out = r;
    if (r && objects_hold(&all, r) && r->alive && r->surface == surface) return CUDA_SUCCESS;
    return reference_unlock(CUDA_ERROR_INVALID_HANDLE);
}

CUresult reference_unlock(CUresult r)
{
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult reference_new(struct reference **out)
{
    struct reference *r = object_take(&all);
    if (!r) return CUDA_ERROR_OUT_OF_MEMORY;
    memset((char *)r + sizeof r->link, 0, sizeof *r - sizeof r->link);
    r->format = CU_AD_FORMAT_FLOAT;
    r->channels = 1;
    for (unsigned k = 0; k < 3; k++) r->texture.addressMode[k] = CU_TR_ADDRESS_MODE_CLAMP;
    r->alive = true;
    *out = r;
    return CUDA_SUCCESS;
}

void reference_free(struct reference *r)
{
    r->alive = false;
    object_give(&all, r);
}

/* ---- a module's */

/* No kernel uses them any more. */
static void forget_tables(struct piece *p)
{
    for (uint32_t k = 0; k < p->nobjects; k++) texture_remove(p->objects[k].handle, p->objects[k].surface);
    if (p->points) points_release(p->points);
    p->points = NULL;
    p->nobjects = p->used = 0;
}

static void release_piece(const struct module_references *s, struct piece *p)
{
    forget_tables(p);
    space_free_code(s->module->context->device, p->va, PIECE_SIZE);
    free(p->objects);
    free(p);
}

static void release(struct references *base)
{
    struct module_references *s = (struct module_references *)base;
    pthread_mutex_lock(&lock);
    for (struct piece *p = s->pieces, *next; p; p = next) {
        next = p->next;
        release_piece(s, p);
    }
    for (uint32_t k = 0; k < s->count; k++) reference_free(s->list[k]);
    free(s);
    pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static CUresult make_all(struct module *m)
{
    const struct fl_image_symbol *y = image_symbols(m->image);
    struct module_references *s = calloc(1, sizeof *s + m->nreferences * sizeof *s->list);
    CUresult r = s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < m->image->nsymbols && !r; k++) {
        if (!fl_symbol_is_reference(y[k].kind) || (r = reference_new(&s->list[s->count]))) continue;
        struct reference *one = s->list[s->count++];
        one->of_module = true;
        one->surface = y[k].kind == FL_SYMBOL_SURFACE;
        one->symbol = k;
    }
    if (r) {
        for (uint32_t k = 0; s && k < s->count; k++) reference_free(s->list[k]);
        free(s);
        return r;
    }
    s->base.release = release;
    s->module = m;
    m->references = &s->base;
    return CUDA_SUCCESS;
}

CUresult reference_of_module(struct module *m, const char *name, bool surface, struct reference **out)
{
    const struct fl_image_symbol *y = image_symbols(m->image);
    CUresult r = CUDA_SUCCESS;
    if (!m->nreferences) return CUDA_ERROR_NOT_FOUND;
    pthread_mutex_lock(&lock);
    if (!m->references) r = make_all(m);
    const struct module_references *s = (const struct module_references *)m->references;
    for (uint32_t k = 0; !r && k < s->count; k++) {
        struct reference *one = s->list[k];
        if (!one->alive || one->surface != surface || strcmp(image_string(m->image, y[one->symbol].name), name))
            continue;
        *out = one;
        return reference_unlock(CUDA_SUCCESS);
    }
    return reference_unlock(r ? r : CUDA_ERROR_NOT_FOUND);
}

/* ---- what a launch finds */

void reference_check(struct reference *r)
{
    struct array *a;
    struct mipmapped *m;
    if (r->kind == REFERENCE_ARRAY && !array_get(r->array, &a)) {
        array_end(a, CUDA_SUCCESS);
    } else if (r->kind == REFERENCE_MIPMAPPED && !mipmap_get(r->mipmapped, &m)) {
        mipmap_end(m, CUDA_SUCCESS);
    } else if (r->kind == REFERENCE_ARRAY || r->kind == REFERENCE_MIPMAPPED) {
        r->kind = REFERENCE_UNSET;
        r->changed = true;
    }
}

static CUDA_RESOURCE_DESC resource_of(const struct reference *r)
{
    CUDA_RESOURCE_DESC d = { .resType = (CUresourcetype)(r->kind - REFERENCE_ARRAY) };
    switch (r->kind) {
    case REFERENCE_ARRAY: d.res.array.hArray = r->array; break;
    case REFERENCE_MIPMAPPED: d.res.mipmap.hMipmappedArray = r->mipmapped; break;
    case REFERENCE_LINEAR:
        d.res.linear.devPtr = r->address;
        d.res.linear.format = r->format;
        d.res.linear.numChannels = (unsigned)r->channels;
        d.res.linear.sizeInBytes = r->bytes;
        break;
    default:
        d.res.pitch2D.devPtr = r->address;
        d.res.pitch2D.format = r->format;
        d.res.pitch2D.numChannels = (unsigned)r->channels;
        d.res.pitch2D.width = r->width;
        d.res.pitch2D.height = r->height;
        d.res.pitch2D.pitchInBytes = r->pitch;
    }
    return d;
}

static CUresult object_of(struct context *c, const struct reference *r, uint64_t *handle)
{
    struct texture x = { .surface = r->surface };
    *handle = TEXTURE_UNSET;
    if (r->kind == REFERENCE_UNSET) return CUDA_SUCCESS;
    const struct texture_object o = { .resource = resource_of(r), .texture = r->texture };
    CUresult e = texture_resource(c, &o.resource, &x);
    if (!e && r->surface) x.layered |= x.cube; /* faces are written as layers */
    if (!e && !r->surface) e = texture_see_as(r->format, (unsigned)r->channels, &x);
    if (!e && !r->surface) e = texture_sampling(&r->texture, &x);
    if (!e && !r->surface) e = texture_of_reference(&o.resource, &x);
    if (e || (e = texture_add(c, &x, &o))) return e;
    *handle = x.self;
    return CUDA_SUCCESS;
}

static uint32_t table_size(const struct module_references *s)
{
    return s->module->image->nsymbols * (uint32_t)sizeof(uint64_t);
}

static uint32_t tables_most(const struct module_references *s)
{
    const uint32_t most = PIECE_SIZE / table_size(s);
    return most < TABLES_MOST ? most : TABLES_MOST;
}

/* Whether a full piece can be begun anew. */
static bool is_over(const struct module_references *s, struct piece *p)
{
    if (p->launching || (!p->points && context_points(s->module->context, &p->points))) return false;
    return points_done(p->points);
}

static CUresult new_piece(const struct module_references *s, struct piece **out)
{
    void *alias;
    struct piece *p = calloc(1, sizeof *p);
    CUresult r = p ? space_alloc_code(s->module->context->device, PIECE_SIZE, &p->va, &alias) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        free(p);
        return r;
    }
    p->alias = alias;
    *out = p;
    return CUDA_SUCCESS;
}

/* One without tables. Objects belong to a piece, so all are made again. */
static CUresult next_piece(struct module_references *s)
{
    CUresult r = CUDA_SUCCESS;
    struct piece **at = &s->pieces;
    if (!tables_most(s)) return CUDA_ERROR_NOT_SUPPORTED;
    while (*at && !is_over(s, *at)) at = &(*at)->next;
    struct piece *p = *at;
    if (p) {
        *at = p->next;
        forget_tables(p);
    } else if ((r = new_piece(s, &p))) {
        return r;
    }
    p->next = s->pieces;
    s->pieces = p;
    for (uint32_t k = 0; k < s->count; k++) s->list[k]->changed = true;
    return CUDA_SUCCESS;
}

static CUresult make_room(struct module_references *s)
{
    CUresult r = !s->pieces || s->pieces->used == tables_most(s) ? next_piece(s) : CUDA_SUCCESS;
    struct piece *p = s->pieces;
    if (r || p->nobjects + s->count <= p->capacity) return r;
    const uint32_t capacity = p->capacity * 2 + s->count;
    struct made *list = realloc(p->objects, capacity * sizeof *list);
    if (!list) return CUDA_ERROR_OUT_OF_MEMORY;
    p->objects = list;
    p->capacity = capacity;
    return CUDA_SUCCESS;
}

static CUresult next_table(struct module_references *s)
{
    CUresult r = make_room(s);
    if (r) return r;
    struct piece *p = s->pieces;
    uint64_t *table = (uint64_t *)(p->alias + p->used * table_size(s));
    memcpy(table, p->used ? (char *)table - table_size(s) : (char *)s->module->addresses, table_size(s));
    for (uint32_t k = 0; k < s->count; k++) {
        const struct reference *one = s->list[k];
        if (!one->changed) continue;
        if ((r = object_of(s->module->context, one, &table[one->symbol]))) return r;
        if (one->kind) p->objects[p->nobjects++] = (struct made){ table[one->symbol], one->surface };
    }
    for (uint32_t k = 0; k < s->count; k++) s->list[k]->changed = false;
    p->used++;
    return CUDA_SUCCESS;
}

CUresult reference_symbols(struct module *m, uint64_t *va)
{
    struct module_references *s = (struct module_references *)m->references;
    bool changed = false;
    CUresult r = CUDA_SUCCESS;
    *va = m->symbols_va;
    if (!s) return CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    for (uint32_t k = 0; k < s->count; k++) {
        reference_check(s->list[k]);
        changed |= s->list[k]->changed;
    }
    if (changed) r = next_table(s);
    if (!r && s->pieces) {
        *va = s->pieces->va + (s->pieces->used - 1ull) * table_size(s);
        s->pieces->launching++;
    }
    return reference_unlock(r);
}

void reference_symbols_end(struct module *m, uint64_t va)
{
    struct module_references *s = (struct module_references *)m->references;
    if (va == m->symbols_va) return;
    pthread_mutex_lock(&lock);
    struct piece *p = s->pieces;
    while (va - p->va >= PIECE_SIZE) p = p->next;
    p->launching--;
    pthread_mutex_unlock(&lock);
}
