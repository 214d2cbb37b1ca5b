/* Peer context memory access: which devices can reach each other, and contexts that may. */
#include "context/context.h"

CUresult CUDAAPI cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    struct device *a, *b;
    CUresult r = library_ready();
    if (r) return r;
    if (!canAccessPeer) return CUDA_ERROR_INVALID_VALUE;
    if ((r = device_get(dev, &a)) || (r = device_get(peerDev, &b))) return r;
    *canAccessPeer = a != b && a->profile->p2p[CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED];
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                         CUdevice dstDevice)
{
    struct device *a, *b;
    CUresult r = library_ready();
    if (r) return r;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if ((r = device_get(srcDevice, &a)) || (r = device_get(dstDevice, &b))) return r;
    if (a == b) return CUDA_ERROR_INVALID_DEVICE;
    if ((int)attrib < 1 || (int)attrib >= PROFILE_P2P) return CUDA_ERROR_INVALID_VALUE;
    *value = a->profile->p2p[attrib];
    return CUDA_SUCCESS;
}

static CUresult peer_arguments(CUcontext peerContext, struct context **mine, struct context **other)
{
    CUresult r = context_current(mine);
    if (r) return r;
    return peerContext ? context_check(peerContext, other) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    struct context *c, *p;
    CUresult r = peer_arguments(peerContext, &c, &p);
    if (r) return r;
    if (Flags) return CUDA_ERROR_INVALID_VALUE;
    return peer_enable(c, p);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peerContext)
{
    struct context *c, *p;
    CUresult r = peer_arguments(peerContext, &c, &p);
    if (r) return r;
    return peer_disable(c, p);
}
