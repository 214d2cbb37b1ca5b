/* Green contexts; see green.h. */
#include "context/green.h"
#include "stream/stream.h"

static void construct(void *object) { (void)object; }

static struct objects greens = OBJECTS_INIT(struct green, construct);

CUresult sm_all(const struct device *d, struct sm_set *out)
{
    int n = profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    *out = (struct sm_set){ 0 };
    if (n > SM_MOST) return CUDA_ERROR_NOT_SUPPORTED;
    for (int k = 0; k < n; k++) out->word[k / 64] |= 1ull << k % 64;
    return CUDA_SUCCESS;
}

CUresult green_create(struct device *d, const struct sm_set *sms, struct green **out)
{
    struct context *primary;
    CUresult r = primary_retain(d, &primary);
    if (r) return r;
    struct green *g = object_take(&greens);
    if (!g) r = CUDA_ERROR_OUT_OF_MEMORY;
    if (!r) {
        g->primary = primary;
        g->sms = *sms;
        r = context_name(primary, g, &g->named);
    }
    if (!r) {
        atomic_store(&g->id, g->named->id);
        *out = g;
        if (!(r = stream_green_begins(g))) return r;
        atomic_store(&g->id, 0);
        context_unname(g->named);
    }
    if (g) object_give(&greens, g);
    primary_release(d);
    return r;
}

CUresult green_get(CUgreenCtx handle, struct green **out)
{
    struct green *g = (struct green *)handle;
    if (!g) return CUDA_ERROR_INVALID_CONTEXT;
    if (!objects_hold(&greens, g)) return CUDA_ERROR_CONTEXT_IS_DESTROYED; /* as an H200 says of anything */
    *out = g;
    return atomic_load(&g->id) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult green_destroy(struct green *g)
{
    struct device *d = g->primary->device;
    const unsigned long long id = atomic_exchange(&g->id, 0);
    if (!id) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    context_unname(g->named);
    stream_green_ends(g, id);
    object_give(&greens, g);
    return primary_release(d);
}

struct green *green_current(void)
{
    const struct context *c = context_top_named();
    return c && c->real && !atomic_load(&c->destroyed) ? c->green : NULL;
}
