/* Many copies in one call. */
#include "runtime/runtime.h"

SAME_LAYOUT(struct cudaMemcpyAttributes, CUmemcpyAttributes);
SAME_LAYOUT(struct cudaMemcpy3DOperand, CUmemcpy3DOperand);
SAME_LAYOUT(struct cudaMemcpy3DBatchOp, CUDA_MEMCPY3D_BATCH_OP);

cudaError_t CUDARTAPI cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
                                           size_t count, struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                           size_t numAttrs, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    if (r) return r;
    return runtime_error(cuMemcpyBatchAsync((CUdeviceptr *)dsts, (CUdeviceptr *)srcs, (size_t *)sizes, count,
                                            (CUmemcpyAttributes *)attrs, attrsIdxs, numAttrs, stream));
}

cudaError_t CUDARTAPI cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                             unsigned long long flags, cudaStream_t stream)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuMemcpy3DBatchAsync(numOps, (CUDA_MEMCPY3D_BATCH_OP *)opList, flags, stream));
}
