/* Access of one device to another's memory. */
#include "runtime/runtime.h"

cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuDeviceCanAccessPeer(canAccessPeer, device, peerDevice));
}

cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    CUcontext peer;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_primary(peerDevice, &peer);
    return r ? r : runtime_error(cuCtxEnablePeerAccess(peer, flags));
}

cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peerDevice)
{
    CUcontext peer;
    cudaError_t r = runtime_ready();
    if (!r) r = runtime_primary(peerDevice, &peer);
    return r ? r : runtime_error(cuCtxDisablePeerAccess(peer));
}
