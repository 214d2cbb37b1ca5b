/* Mipmapped arrays: a chain of arrays, each half the size of the one before. */
#include "api/array.h"
#include "context/context.h"
#include "graph/capture.h"
#include "stream/stream.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mipmapped *mipmaps;

static void construct(void *object) { (void)object; }

static struct objects all = OBJECTS_INIT(struct mipmapped, construct);

static size_t halved(size_t v, unsigned times) { return !v ? 0 : v >> times ? v >> times : 1; }

static unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    size_t longest = d->Width > d->Height ? d->Width : d->Height;
    if (!(d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) && d->Depth > longest) longest = d->Depth;
    unsigned n = 1;
    while (longest >>= 1) n++;
    return n > 32 ? 32 : n;
}

/* Flat ones have a limit of their own. */
static bool small_enough(const struct profile *p, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    if (d->Depth) return true;
    if (!d->Height) return d->Width <= (size_t)p->attribute[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH];
    return d->Width <= (size_t)p->attribute[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH] &&
           d->Height <= (size_t)p->attribute[CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT];
}

static CUresult add_level(struct mipmapped *m)
{
    CUDA_ARRAY3D_DESCRIPTOR d = m->desc;
    struct array *a;
    d.Width = halved(d.Width, m->count);
    d.Height = halved(d.Height, m->count);
    if (!(d.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP))) d.Depth = halved(d.Depth, m->count);
    CUresult r = array_create(m->context, &d, m->tiles, &a);
    if (r) return r;
    a->mipmap = m;
    a->level = m->count;
    m->levels[m->count++] = a;
    return CUDA_SUCCESS;
}

/* Nobody finds it any more; known: somebody may have, and have issued something. */
static void unmake(struct mipmapped *m, bool known)
{
    uses_wait(&m->uses);
    for (unsigned k = 0; k < m->count; k++) array_withdraw(m->levels[k]);
    if (known) context_synchronize(m->context);
    while (m->count) array_free(m->levels[--m->count]);
    if (m->tiles) sparse_destroy(m->tiles);
    object_give(&all, m);
}

static CUresult make(struct context *c, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned levels, CUmipmappedArray *out)
{
    struct mipmapped *m = object_take(&all);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    m->tiles = NULL;
    m->count = 0;
    m->desc = *d;
    m->context = c;
    CUresult r = d->Flags & ARRAY_MAPPED ? array_tiles(d, levels, &m->tiles) : CUDA_SUCCESS;
    while (!r && m->count < levels) r = add_level(m);
    if (r) {
        unmake(m, false);
        return r;
    }
    pthread_mutex_lock(&lock);
    m->next = mipmaps;
    mipmaps = m;
    pthread_mutex_unlock(&lock);
    *out = (CUmipmappedArray)m;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                        unsigned int numMipmapLevels)
{
    struct context *c;
    CUresult r = context_current(&c);
    if (r || (r = capture_refuse_unsafe())) return r;
    if (!pHandle || !pMipmappedArrayDesc) return CUDA_ERROR_INVALID_VALUE;
    if ((r = array_check(c, pMipmappedArrayDesc))) return r;
    if (!small_enough(c->device->profile, pMipmappedArrayDesc)) return CUDA_ERROR_INVALID_VALUE;
    const unsigned most = most_levels(pMipmappedArrayDesc), levels = numMipmapLevels ? numMipmapLevels : 1;
    if ((r = context_enter(c))) return r;
    return context_leave(c, make(c, pMipmappedArrayDesc, levels < most ? levels : most, pHandle));
}

/* Where the list has it; the list's end: it has not. Under the lock. */
static struct mipmapped **find(CUmipmappedArray handle)
{
    struct mipmapped **at = &mipmaps;
    while (*at && *at != (struct mipmapped *)handle) at = &(*at)->next;
    return at;
}

CUresult mipmap_get(CUmipmappedArray handle, struct mipmapped **out)
{
    pthread_mutex_lock(&lock);
    struct mipmapped *m = *out = *find(handle);
    if (m) uses_begin(&m->uses);
    pthread_mutex_unlock(&lock);
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult mipmap_end(struct mipmapped *m, CUresult r)
{
    uses_end(&m->uses);
    return r;
}

CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level)
{
    struct context *c;
    struct mipmapped *m;
    CUresult r = context_optional(&c);
    if (r || (r = mipmap_get(hMipmappedArray, &m))) return r;
    if (!pLevelArray || level >= m->count) return mipmap_end(m, CUDA_ERROR_INVALID_VALUE);
    *pLevelArray = (CUarray)m->levels[level];
    return mipmap_end(m, CUDA_SUCCESS);
}

/* Under the lock. */
static struct mipmapped *take_out(struct mipmapped **at)
{
    struct mipmapped *m = *at;
    if (m) *at = m->next;
    return m;
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    struct context *c;
    struct mipmapped *m;
    CUresult r = context_current(&c);
    if (r || (r = mipmap_get(hMipmappedArray, &m))) return r;
    if ((r = capture_refuse_unsafe())) return mipmap_end(m, r);
    if ((r = mipmap_end(m, context_synchronize(c)))) return r;
    pthread_mutex_lock(&lock);
    m = take_out(find(hMipmappedArray));
    pthread_mutex_unlock(&lock);
    if (m) unmake(m, true);
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static struct mipmapped *take_out_any(const struct context *c)
{
    pthread_mutex_lock(&lock);
    struct mipmapped **at = &mipmaps;
    while (*at && (*at)->context != c) at = &(*at)->next;
    struct mipmapped *m = take_out(at);
    pthread_mutex_unlock(&lock);
    return m;
}

void mipmap_release_context(struct context *c)
{
    for (struct mipmapped *m; (m = take_out_any(c));) unmake(m, true);
}
