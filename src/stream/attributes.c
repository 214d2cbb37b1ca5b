/* Attributes of streams: kept and told back. Only the priority means anything here. */
#include "stream/internal.h"

int stream_clamp_priority(int priority)
{
    return priority < STREAM_PRIORITY_GREATEST ? STREAM_PRIORITY_GREATEST
           : priority > STREAM_PRIORITY_LEAST  ? STREAM_PRIORITY_LEAST
                                               : priority;
}

struct stream_info stream_describe(struct stream *s)
{
    return (struct stream_info){ atomic_load(&s->id), s->flags, s->priority };
}

CUresult stream_get_attribute(struct stream *s, CUstreamAttrID id, CUstreamAttrValue *value)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&s->lock);
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: value->accessPolicyWindow = s->attributes.window; break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: value->syncPolicy = s->attributes.synchronization; break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: value->priority = s->priority; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: value->memSyncDomainMap = s->attributes.domain_map; break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: value->memSyncDomain = s->attributes.domain; break;
    default: r = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&s->lock);
    return r;
}

bool stream_attribute_valid(const struct device *d, CUstreamAttrID id, const CUstreamAttrValue *value)
{
    const CUaccessPolicyWindow *w = &value->accessPolicyWindow;
    const CUlaunchMemSyncDomainMap *map = &value->memSyncDomainMap;
    int domains;
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        return w->hitRatio >= 0 && w->hitRatio <= 1 && w->missProp != CU_ACCESS_PROPERTY_PERSISTING &&
               w->num_bytes <= (size_t)profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        return value->syncPolicy >= CU_SYNC_POLICY_AUTO && value->syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return true;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        domains = profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);
        return map->default_ < domains && map->remote < domains;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return value->memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT ||
               value->memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    default: return false;
    }
}

CUresult stream_set_attribute(struct stream *s, CUstreamAttrID id, const CUstreamAttrValue *value)
{
    if (!stream_attribute_valid(stream_context(s)->device, id, value)) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&s->lock);
    if (id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
        s->attributes.window = value->accessPolicyWindow;
    else if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        s->attributes.synchronization = value->syncPolicy;
    else if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        s->priority = stream_clamp_priority(value->priority);
    else if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)
        s->attributes.domain_map = value->memSyncDomainMap;
    else
        s->attributes.domain = value->memSyncDomain;
    pthread_mutex_unlock(&s->lock);
    return CUDA_SUCCESS;
}

void stream_copy_attributes(struct stream *to, struct stream *from)
{
    pthread_mutex_lock(&from->lock);
    struct stream_attributes a = from->attributes;
    const int priority = from->priority;
    pthread_mutex_unlock(&from->lock);
    pthread_mutex_lock(&to->lock);
    to->attributes = a;
    to->priority = priority;
    pthread_mutex_unlock(&to->lock);
}
