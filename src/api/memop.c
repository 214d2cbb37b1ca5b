/* Stream memory operations: waiting for values in memory and writing them. */
#include "api/node_check.h"
#include "graph/capture.h"
#include "stream/operations.h"

enum { MOST_OPERATIONS = 255 };

static bool may_flush(const struct context *c)
{
    return profile_attribute(c->device->profile, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES);
}

CUresult operations_check(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p)
{
    struct context *c;
    if (context_check(p->ctx, &c) || p->flags || p->count > MOST_OPERATIONS || (p->count && !p->paramArray))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; k < p->count && !r; k++) r = stream_check_operation(&p->paramArray[k], may_flush(c));
    return r;
}

static CUresult issue(CUstream handle, const CUstreamBatchMemOpParams *ops, unsigned count)
{
    struct stream *s;
    CUresult r = stream_named(handle, &s);
    if (r) return r;
    if ((!ops && count) || count > MOST_OPERATIONS) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams node = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                               .memOp = { (CUcontext)stream_context(s), count, (CUstreamBatchMemOpParams *)ops, 0 } };
    if (capture_any() && (r = operations_check(&node.memOp))) return r;
    if (capture_node(s, &node, &r) || !count) return r;
    return stream_memory_operations(s, ops, count, may_flush(stream_context(s)));
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    CUstreamBatchMemOpParams op = {
        .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = addr, .value = value, .flags = flags }
    };
    return issue(stream, &op, 1);
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    CUstreamBatchMemOpParams op = {
        .waitValue = { .operation = CU_STREAM_MEM_OP_WAIT_VALUE_64, .address = addr, .value64 = value, .flags = flags }
    };
    return issue(stream, &op, 1);
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    CUstreamBatchMemOpParams op = {
        .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = addr, .value = value, .flags = flags }
    };
    return issue(stream, &op, 1);
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    CUstreamBatchMemOpParams op = { .writeValue = { .operation = CU_STREAM_MEM_OP_WRITE_VALUE_64,
                                                    .address = addr,
                                                    .value64 = value,
                                                    .flags = flags } };
    return issue(stream, &op, 1);
}

CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
                                       unsigned int flags)
{
    return flags ? issue(stream, NULL, 1) : issue(stream, paramArray, count);
}

/* The first ABI version: a driver of CUDA 12 or later has it switched off, as
 * CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1 tells. */
static CUresult switched_off(void)
{
    struct context *c;
    CUresult r = context_current(&c);
    return r ? r : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult CUDAAPI cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    (void)stream, (void)addr, (void)value, (void)flags;
    return switched_off();
}

CUresult CUDAAPI cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    (void)stream, (void)addr, (void)value, (void)flags;
    return switched_off();
}

CUresult CUDAAPI cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    (void)stream, (void)addr, (void)value, (void)flags;
    return switched_off();
}

CUresult CUDAAPI cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    (void)stream, (void)addr, (void)value, (void)flags;
    return switched_off();
}

CUresult CUDAAPI cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
                                    unsigned int flags)
{
    (void)stream, (void)count, (void)paramArray, (void)flags;
    return switched_off();
}
