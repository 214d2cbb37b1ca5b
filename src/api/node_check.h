/* Whether an operation would be refused, for a node of a graph: the errors of the
 * call that it stands for, as far as they are known before it is launched. And the
 * operation itself, where a node may do what the call may not. */
#ifndef FL_API_NODE_CHECK_H
#define FL_API_NODE_CHECK_H

#include <cuda.h>

CUresult copy_check(const CUDA_MEMCPY3D *p, CUcontext of);  /* memcpy_box.c: on behalf of that context, if there is one */
CUresult memset_check(const CUDA_MEMSET_NODE_PARAMS_v2 *p); /* memset.c */
CUresult memset_perform(const CUDA_MEMSET_NODE_PARAMS_v2 *p, CUstream stream); /* it was checked */
CUresult operations_check(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p); /* memop.c: but for what is in memory */
struct stream;
CUresult free_perform(CUdeviceptr dptr, struct stream *s); /* mempool.c: whatever is captured meanwhile */
CUresult launch_check(const CUDA_KERNEL_NODE_PARAMS_v3 *p); /* launch_check.c */
/* launch_check.c: of CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
CUresult launch_check_cluster(const CUDA_KERNEL_NODE_PARAMS_v3 *p, const CUlaunchAttributeValue *v);

#endif
