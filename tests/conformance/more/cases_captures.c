/* Streams in capture: which calls are permitted meanwhile, by whom and in which mode, and random walks of begins, ends,
 * operations, events between streams and changes of dependencies, with the graphs that come of it. */
#include "graphs.h"
#include <cudaProfiler.h>
#include <pthread.h>

enum { STREAMS = 4, STEPS = 250, GRAPHS = 3 };

static CUdeviceptr scratch;
static CUstream extra;

/* ---- which calls are permitted */

static CUstream cs, os; /* in capture; another */
static CUgraph made;
static CUgraphExec made_exec;
static CUgraphNode made_node;
static CUmodule spare_module;
static CUmemoryPool pool;
static CUdeviceptr freed, pooled;
static void *freed_host;
static CUarray spare_array;
static CUevent spare_event;
static CUstream spare_stream;
static CUgraph spare_graph;
static CUuserObject object;
static size_t size_out, size_out2;
static int int_out, int_out2;
static unsigned unsigned_out;
static void *pointer_out;
static CUdeviceptr dptr_out;
static CUmemGenericAllocationHandle handle, spare_handle;
static CUdeviceptr reserved_range;
static CUcontext context_out;
static CUfunction function_out;
static float float_out;
static CUlibrary library_out;
static CUtexObject texture, spare_texture;
static CUlibrary spare_library;
static void *registered;
static CUDA_ARRAY_DESCRIPTOR shape = { 16, 16, CU_AD_FORMAT_UNSIGNED_INT32, 1 };

#define CALLS(X) \
    X(nothing, CUDA_SUCCESS) \
    X(malloc, cuMemAlloc(&dptr_out, 4096)) \
    X(mallocpitch, cuMemAllocPitch(&dptr_out, &size_out, 100, 10, 4)) \
    X(mallocbig, cuMemAlloc(&dptr_out, 64 * MiB)) \
    X(free, cuMemFree(freed)) \
    X(freenull, cuMemFree(0)) \
    X(freehost, cuMemFreeHost(freed_host)) \
    X(hostalloc, cuMemHostAlloc(&pointer_out, 4096, 0)) \
    X(mallocmanaged, cuMemAllocManaged(&dptr_out, 4096, 1)) \
    X(register, cuMemHostRegister(pageable, 4096, 0)) \
    X(hostflags, cuMemHostGetFlags(&unsigned_out, pinned)) \
    X(hostdptr, cuMemHostGetDevicePointer(&dptr_out, pinned, 0)) \
    X(range, cuMemGetAddressRange(&dptr_out, &size_out, dev)) \
    X(info, cuMemGetInfo(&size_out, &size_out2)) \
    X(htod, cuMemcpyHtoD(dev, pinned, 16)) \
    X(dtoh, cuMemcpyDtoH(pinned, dev, 16)) \
    X(dtod, cuMemcpyDtoD(dev, dev + 64, 16)) \
    X(copy, cuMemcpy(dev, dev + 64, 16)) \
    X(copy0, cuMemcpy(dev, dev + 64, 0)) \
    X(htododd, cuMemcpyHtoD(0x1234, pinned, 16)) \
    X(memset, cuMemsetD8(dev, 1, 16)) \
    X(memset0, cuMemsetD8(dev, 1, 0)) \
    X(memsetbad, cuMemsetD8(0x1234, 1, 16)) \
    X(copy2d, cuMemcpy2D(&(CUDA_MEMCPY2D){ .srcMemoryType = 2, \
                                           .dstMemoryType = 2, \
                                           .srcDevice = dev, \
                                           .dstDevice = dev + 4096, \
                                           .srcPitch = 64, \
                                           .dstPitch = 64, \
                                           .WidthInBytes = 16, \
                                           .Height = 2 })) \
    X(atoh, cuMemcpyAtoH(pinned, flat, 0, 16)) \
    X(htoaasync, cuMemcpyHtoAAsync(flat, 0, pinned, 16, cs)) \
    X(asyncmine, cuMemcpyAsync(dev, dev + 64, 16, cs)) \
    X(asyncother, cuMemcpyAsync(dev, dev + 64, 16, os)) \
    X(asyncpageable, cuMemcpyHtoDAsync(dev, pageable, 16, cs)) \
    X(asyncpageableback, cuMemcpyDtoHAsync(pageable, dev, 16, cs)) \
    X(asyncpageableother, cuMemcpyDtoHAsync(pageable, dev, 16, os)) \
    X(asynchosts, cuMemcpyAsync((CUdeviceptr)pinned, (CUdeviceptr)pinned + 64, 16, cs)) \
    X(asyncnull, cuMemcpyAsync(dev, dev + 64, 16, NULL)) \
    X(asyncthread, cuMemcpyAsync(dev, dev + 64, 16, CU_STREAM_PER_THREAD)) \
    X(memsetnull, cuMemsetD8Async(dev, 1, 16, CU_STREAM_LEGACY)) \
    X(launch, cuLaunchKernel(kernels()->fill, 1, 1, 1, 1, 1, 1, 0, cs, fill_values(dev, 1, 1, 1), NULL)) \
    X(launchother, cuLaunchKernel(kernels()->fill, 1, 1, 1, 1, 1, 1, 0, os, fill_values(dev, 1, 1, 1), NULL)) \
    X(launchnull, cuLaunchKernel(kernels()->fill, 1, 1, 1, 1, 1, 1, 0, NULL, fill_values(dev, 1, 1, 1), NULL)) \
    X(launchbad, cuLaunchKernel(kernels()->fill, 1, 1, 1, 2048, 1, 1, 0, cs, fill_values(dev, 1, 1, 1), NULL)) \
    X(launchnone, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, cs, fill_values(dev, 1, 1, 1), NULL)) \
    X(launchctx1, cuLaunchKernel(fill1, 1, 1, 1, 1, 1, 1, 0, cs, fill_values(dev, 1, 1, 1), NULL)) \
    X(launchcoop, cuLaunchCooperativeKernel(kernels()->fill, 1, 1, 1, 1, 1, 1, 0, cs, fill_values(dev, 1, 1, 1))) \
    X(launchlib, cuLaunchKernel((CUfunction)kernel_fill, 1, 1, 1, 1, 1, 1, 0, cs, fill_values(dev, 1, 1, 1), NULL)) \
    X(hostfn, cuLaunchHostFunc(cs, on_host, &calls)) \
    X(hostfn0, cuLaunchHostFunc(cs, NULL, &calls)) \
    X(callback, cuStreamAddCallback(cs, (CUstreamCallback)on_host, &calls, 0)) \
    X(callbackother, cuStreamAddCallback(os, (CUstreamCallback)abs, &calls, 0)) \
    X(sync, cuStreamSynchronize(cs)) \
    X(syncother, cuStreamSynchronize(os)) \
    X(syncnull, cuStreamSynchronize(NULL)) \
    X(syncthread, cuStreamSynchronize(CU_STREAM_PER_THREAD)) \
    X(syncctx, cuCtxSynchronize()) \
    X(query, cuStreamQuery(cs)) \
    X(queryother, cuStreamQuery(os)) \
    X(querynull, cuStreamQuery(NULL)) \
    X(eventquery, cuEventQuery(events[0])) \
    X(eventsync, cuEventSynchronize(events[0])) \
    X(eventelapsed, cuEventElapsedTime(&float_out, events[1], events[3])) \
    X(eventrecord, cuEventRecord(events[0], cs)) \
    X(eventrecordother, cuEventRecord(events[0], os)) \
    X(eventrecordnull, cuEventRecord(events[0], NULL)) \
    X(eventrecordexternal, cuEventRecordWithFlags(events[0], cs, 1)) \
    X(eventrecordflags, cuEventRecordWithFlags(events[0], cs, 2)) \
    X(eventtimed, cuEventRecord(events[1], cs)) \
    X(recordquery, (cuEventRecord(events[0], cs), cuEventQuery(events[0]))) \
    X(recordsync, (cuEventRecord(events[0], cs), cuEventSynchronize(events[0]))) \
    X(recordelapsed, (cuEventRecord(events[1], cs), cuEventElapsedTime(&float_out, events[1], events[3]))) \
    X(recorddestroy, (cuEventRecord(spare_event, cs), cuEventDestroy(spare_event))) \
    X(recordagain, (cuEventRecord(events[0], cs), cuEventRecord(events[0], os))) \
    X(fork, (cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0))) \
    X(forkjoin, (cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), cuEventRecord(events[2], os), \
                 cuStreamWaitEvent(cs, events[2], 0))) \
    X(forkwork, (cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), cuMemsetD8Async(dev, 1, 16, os))) \
    X(forknull, (cuEventRecord(events[0], cs), cuStreamWaitEvent(NULL, events[0], 0))) \
    X(forkblocking, (cuEventRecord(events[0], cs), cuStreamWaitEvent(s2, events[0], 0))) \
    X(forkend, (cuEventRecord(events[0], cs), cuStreamWaitEvent(os, events[0], 0), cuStreamEndCapture(os, &made))) \
    X(waituncaptured, cuStreamWaitEvent(cs, events[2], 0)) \
    X(waitexternal, cuStreamWaitEvent(cs, events[2], 1)) \
    X(waitflags, cuStreamWaitEvent(cs, events[2], 2)) \
    X(waitnull, cuStreamWaitEvent(cs, NULL, 0)) \
    X(begin, cuStreamBeginCapture(cs, 0)) \
    X(beginother, (cuStreamBeginCapture(os, 2), cuStreamEndCapture(os, &made))) \
    X(beginnull, cuStreamBeginCapture(NULL, 2)) \
    X(begintograph, cuStreamBeginCaptureToGraph(os, made, NULL, NULL, 0, 2)) \
    X(endother, cuStreamEndCapture(os, &made)) \
    X(endnull, cuStreamEndCapture(NULL, &made)) \
    X(streamcreate, cuStreamCreate(&spare_stream, 0)) \
    X(streamcreate1, cuStreamCreate(&spare_stream, 1)) \
    X(streamdestroy, cuStreamDestroy(extra)) \
    X(streamflags, cuStreamGetFlags(cs, &unsigned_out)) \
    X(streamid, cuStreamGetId(cs, (unsigned long long *)&size_out)) \
    X(streamctx, cuStreamGetCtx(cs, &context_out)) \
    X(streamprio, cuStreamGetPriority(cs, &int_out)) \
    X(streamcopyattr, cuStreamCopyAttributes(cs, os)) \
    X(streamgetattr, cuStreamGetAttribute(cs, 3, &(CUstreamAttrValue){ 0 })) \
    X(streamsetattr, cuStreamSetAttribute(cs, 3, &(CUstreamAttrValue){ .syncPolicy = 1 })) \
    X(streamsetprio, cuStreamSetAttribute(cs, 8, &(CUstreamAttrValue){ .priority = -1 })) \
    X(streamattach, cuStreamAttachMemAsync(cs, managed, 0, 1)) \
    X(streamattachsingle, cuStreamAttachMemAsync(cs, managed, 0, 4)) \
    X(eventcreate, cuEventCreate(&spare_event, 2)) \
    X(eventdestroy, cuEventDestroy(spare_event)) \
    X(moduleload, cuModuleLoadData(&spare_module, kernels_ptx)) \
    X(moduleunload, cuModuleUnload(spare_module)) \
    X(moduleglobal, cuModuleGetGlobal(&dptr_out, &size_out, kernels()->mod, "gvar")) \
    X(modulefn, cuModuleGetFunction(&function_out, kernels()->mod, "sum")) \
    X(libraryload, cuLibraryLoadData(&library_out, kernels_ptx, 0, 0, 0, 0, 0, 0)) \
    X(libraryglobal, cuLibraryGetGlobal(&dptr_out, &size_out, library, "gvar")) \
    X(kernelfn, cuKernelGetFunction(&function_out, kernel_fill)) \
    X(kernelattr, cuKernelSetAttribute(8, 1024, kernel_fill, 0)) \
    X(fnattr, cuFuncGetAttribute(&int_out, 0, kernels()->fill)) \
    X(fnsetattr, cuFuncSetAttribute(kernels()->fill, 8, 1024)) \
    X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor(&int_out, kernels()->fill, 64, 0)) \
    X(ctxcreate, (cuCtxCreate(&context_out, 0, 0, 0), cuCtxSetCurrent(ctx0))) \
    X(ctxset, (cuCtxSetCurrent(ctx1), cuCtxSetCurrent(ctx0))) \
    X(ctxlimit, cuCtxGetLimit(&size_out, 0)) \
    X(ctxsetlimit, cuCtxSetLimit(0, 4096)) \
    X(ctxsetfifo, cuCtxSetLimit(1, 2 << 20)) \
    X(ctxcache, cuCtxSetCacheConfig(1)) \
    X(ctxresetl2, cuCtxResetPersistingL2Cache()) \
    X(ctxflags, cuCtxGetFlags(&unsigned_out)) \
    X(primaryretain, cuDevicePrimaryCtxRetain(&context_out, 0)) \
    X(devattr, cuDeviceGetAttribute(&int_out, 1, 0)) \
    X(peer, cuDeviceCanAccessPeer(&int_out, 0, 0)) \
    X(prefetch, cuMemPrefetchAsync(managed, 4096, loc(1, 0), 0, cs)) \
    X(prefetchother, cuMemPrefetchAsync(managed, 4096, loc(1, 0), 0, os)) \
    X(advise, cuMemAdvise(managed, 4096, 1, loc(1, 0))) \
    X(discard, cuMemDiscardBatchAsync(&managed, &(size_t){ SIZE }, 1, 0, cs)) \
    X(ptrattr, cuPointerGetAttribute(&unsigned_out, 2, dev)) \
    X(ptrsetattr, cuPointerSetAttribute(&(int){ 1 }, 6, dev)) \
    X(syncmemops, (cuPointerSetAttribute(&(int){ 1 }, 6, dev), cuMemcpyAsync(dev, dev + 64, 16, cs))) \
    X(rangeattr, cuMemRangeGetAttribute(&int_out, 4, 1, managed, 4096)) \
    X(ipc, cuIpcGetMemHandle(&(CUipcMemHandle){ 0 }, dev)) \
    X(allocasync, cuMemAllocAsync(&dptr_out, 4096, cs)) \
    X(allocasyncother, cuMemAllocAsync(&dptr_out, 4096, os)) \
    X(allocasync0, cuMemAllocAsync(&dptr_out, 0, cs)) \
    X(allocpool, cuMemAllocFromPoolAsync(&dptr_out, 4096, pool, cs)) \
    X(freeasync, (cuMemAllocAsync(&dptr_out, 4096, cs), cuMemFreeAsync(dptr_out, cs))) \
    X(freeasynctwice, \
      (cuMemAllocAsync(&dptr_out, 4096, cs), cuMemFreeAsync(dptr_out, cs), cuMemFreeAsync(dptr_out, cs))) \
    X(freeasyncdev, cuMemFreeAsync(freed, cs)) \
    X(freeasyncpool, cuMemFreeAsync(pooled, cs)) \
    X(freeasyncother, cuMemFreeAsync(pooled, os)) \
    X(freeofcapture, (cuMemAllocAsync(&dptr_out, 4096, cs), cuMemFree(dptr_out))) \
    X(poolcreate, cuMemPoolCreate(&(CUmemoryPool){ 0 }, &(CUmemPoolProps){ .allocType = 1, .location = { 1, 0 } })) \
    X(pooldestroy, cuMemPoolDestroy(pool)) \
    X(pooltrim, cuMemPoolTrimTo(pool, 0)) \
    X(poolattr, cuMemPoolSetAttribute(pool, 4, &(cuuint64_t){ 1 << 20 })) \
    X(poolaccess, cuMemPoolSetAccess(pool, &(CUmemAccessDesc){ { 1, 0 }, 3 }, 1)) \
    X(arraycreate, cuArrayCreate(&spare_array, &shape)) \
    X(arraydestroy, cuArrayDestroy(spare_array)) \
    X(arraydesc, cuArrayGetDescriptor(&(CUDA_ARRAY_DESCRIPTOR){ 0 }, flat)) \
    X(texture, cuTexObjectCreate(&texture, &(CUDA_RESOURCE_DESC){ .resType = 0, .res.array.hArray = flat }, \
                                 &(CUDA_TEXTURE_DESC){ 0 }, NULL)) \
    X(reserve, cuMemAddressReserve(&dptr_out, GRAN, 0, 0, 0)) \
    X(create, cuMemCreate(&spare_handle, GRAN, &(CUmemAllocationProp){ .type = 1, .location = { 1, 0 } }, 0)) \
    X(map, cuMemMap(reserved_range, GRAN, 0, handle, 0)) \
    X(mapaccess, (cuMemMap(reserved_range, GRAN, 0, handle, 0), \
                  cuMemSetAccess(reserved_range, GRAN, &(CUmemAccessDesc){ { 1, 0 }, 3 }, 1))) \
    X(mapunmap, (cuMemMap(reserved_range, GRAN, 0, handle, 0), cuMemUnmap(reserved_range, GRAN))) \
    X(release, cuMemRelease(handle)) \
    X(granularity, \
      cuMemGetAllocationGranularity(&size_out, &(CUmemAllocationProp){ .type = 1, .location = { 1, 0 } }, 0)) \
    X(waitvalue, cuStreamWaitValue32(cs, dev, 0, 0)) \
    X(writevalue, cuStreamWriteValue32(cs, dev, 0, 0)) \
    X(writevalue64, cuStreamWriteValue64(cs, dev, 0, 0)) \
    X(writevalueodd, cuStreamWriteValue32(cs, dev + 2, 0, 0)) \
    X(writevalueother, cuStreamWriteValue32(os, dev, 0, 0)) \
    X(batchop, cuStreamBatchMemOp(cs, 1, operations_node(dev, 1, 1).memOp.paramArray, 0)) \
    X(batchop0, cuStreamBatchMemOp(cs, 0, operations_node(dev, 1, 1).memOp.paramArray, 0)) \
    X(graphcreate, cuGraphCreate(&spare_graph, 0)) \
    X(graphclone, cuGraphClone(&spare_graph, made)) \
    X(graphinst, cuGraphInstantiate(&made_exec, made, 0)) \
    X(graphlaunch, cuGraphLaunch(made_exec, cs)) \
    X(graphlaunchother, cuGraphLaunch(made_exec, os)) \
    X(graphlaunchnull, cuGraphLaunch(made_exec, NULL)) \
    X(graphupload, cuGraphUpload(made_exec, cs)) \
    X(graphuploadother, cuGraphUpload(made_exec, os)) \
    X(graphupdate, cuGraphExecUpdate(made_exec, made, &(CUgraphExecUpdateResultInfo){ 0 })) \
    X(graphexecdestroy, cuGraphExecDestroy(made_exec)) \
    X(graphdestroy, cuGraphDestroy(made)) \
    X(graphtrim, cuDeviceGraphMemTrim(0)) \
    X(graphmem, cuDeviceGetGraphMemAttribute(0, 0, &size_out)) \
    X(graphenable, cuGraphNodeSetEnabled(made_exec, made_node, 0)) \
    X(object, cuUserObjectCreate(&object, &calls, on_host, 1, 1)) \
    X(memcpybatch, cuMemcpyBatchAsync(&(CUdeviceptr){ dev }, &(CUdeviceptr){ dev + 256 }, &(size_t){ 64 }, 1, \
                                      &(CUmemcpyAttributes){ .srcAccessOrder = 1 }, &(size_t){ 0 }, 1, cs)) \
    X(memcpybatchother, cuMemcpyBatchAsync(&(CUdeviceptr){ dev }, &(CUdeviceptr){ dev + 256 }, &(size_t){ 64 }, 1, \
                                           &(CUmemcpyAttributes){ .srcAccessOrder = 1 }, &(size_t){ 0 }, 1, os)) \
    X(exchange, cuThreadExchangeStreamCaptureMode(&(CUstreamCaptureMode){ 1 })) \
    X(exchange3, cuThreadExchangeStreamCaptureMode(&(CUstreamCaptureMode){ 3 })) \
    X(relaxedmalloc, (cuThreadExchangeStreamCaptureMode(&(CUstreamCaptureMode){ 2 }), cuMemAlloc(&dptr_out, 4096))) \
    X(localmalloc, (cuThreadExchangeStreamCaptureMode(&(CUstreamCaptureMode){ 1 }), cuMemAlloc(&dptr_out, 4096))) \
    X(localquery, (cuThreadExchangeStreamCaptureMode(&(CUstreamCaptureMode){ 1 }), cuEventQuery(events[0]))) \
    X(relaxedquery, (cuThreadExchangeStreamCaptureMode(&(CUstreamCaptureMode){ 2 }), cuStreamQuery(cs))) \
    X(profilerstart, cuProfilerStart()) \
    X(destroyself, cuStreamDestroy(cs)) \
    X(array3d, cuArray3DCreate(&spare_array, &(CUDA_ARRAY3D_DESCRIPTOR){ 8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0 })) \
    X(mipmap, cuMipmappedArrayCreate(&(CUmipmappedArray){ 0 }, \
                                     &(CUDA_ARRAY3D_DESCRIPTOR){ 8, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0 }, 2)) \
    X(surface, cuSurfObjectCreate(&texture, &(CUDA_RESOURCE_DESC){ .resType = 0, .res.array.hArray = flat })) \
    X(texdestroy, cuTexObjectDestroy(spare_texture)) \
    X(texdestroy0, cuTexObjectDestroy(0)) \
    X(profilerstop, cuProfilerStop()) \
    X(sharedconfig, cuCtxSetSharedMemConfig(1)) \
    X(fncache, cuFuncSetCacheConfig(kernels()->fill, 1)) \
    X(poolreuse, cuMemPoolGetAttribute(pool, 4, &size_out)) \
    X(pooldevice, cuDeviceSetMemPool(0, pool)) \
    X(poolget, cuDeviceGetMemPool(&(CUmemoryPool){ 0 }, 0)) \
    X(libunload, cuLibraryUnload(spare_library)) \
    X(linkcreate, cuLinkCreate(0, NULL, NULL, &(CUlinkState){ 0 })) \
    X(ctxpush, (cuCtxPushCurrent(ctx1), cuCtxPopCurrent(&context_out))) \
    X(primaryflags, cuDevicePrimaryCtxSetFlags(0, 0)) \
    X(peerenable, cuCtxEnablePeerAccess(ctx1, 0)) \
    X(hostunregister, cuMemHostUnregister(registered)) \
    X(freewild, cuMemFree(0x1234)) \
    X(memset2d, cuMemsetD2D8(dev, 64, 1, 16, 2)) \
    X(memset2dasync, cuMemsetD2D8Async(dev, 64, 1, 16, 2, os)) \
    X(copypeer, cuMemcpyPeer(dev, ctx0, dev + 64, ctx0, 16)) \
    X(copypeerother, cuMemcpyPeerAsync(dev, ctx0, dev + 64, ctx0, 16, os)) \
    X(copyhosts, cuMemcpy((CUdeviceptr)pageable, (CUdeviceptr)pinned, 16)) \
    X(accesspolicy, \
      cuStreamSetAttribute(cs, 1, &(CUstreamAttrValue){ .accessPolicyWindow = { (void *)dev, 1024, 1, 1, 0 } })) \
    X(domain, cuStreamSetAttribute(cs, 10, &(CUstreamAttrValue){ .memSyncDomain = 1 })) \
    X(copyattrback, cuStreamCopyAttributes(os, cs)) \
    X(graphaddnode, cuGraphAddEmptyNode(&made_node, made, NULL, 0)) \
    X(graphgetflags, cuGraphExecGetFlags(made_exec, (cuuint64_t *)&size_out)) \
    X(graphalloc, ({ \
          CUgraphNodeParams q = alloc_node(4096); \
          cuGraphAddNode(&made_node, made, NULL, NULL, 0, &q); \
      })) \
    X(ctxrecord, cuCtxRecordEvent(ctx0, events[0])) \
    X(ctxwait, cuCtxWaitEvent(ctx0, events[0])) \
    X(discardother, cuMemDiscardBatchAsync(&managed, &(size_t){ SIZE }, 1, 0, os)) \
    X(export, cuMemExportToShareableHandle(&int_out, handle, 1, 0)) \
    X(addressfree, cuMemAddressFree(reserved_range, GRAN)) \
    X(coop, cuLaunchCooperativeKernel(kernels()->fill, 1, 1, 1, 1, 1, 1, 0, os, fill_values(dev, 1, 1, 1))) \
    X(hostother, cuLaunchHostFunc(os, on_host, &calls)) \
    X(hostnull, cuLaunchHostFunc(NULL, on_host, &calls)) \
    X(writenull, cuStreamWriteValue32(NULL, dev, 0, 0)) \
    X(allocnull, cuMemAllocAsync(&dptr_out, 4096, NULL)) \
    X(version, cuDriverGetVersion(&int_out))

CALLS(CALL_FUNCTION)
static const struct call all_calls[] = { CALLS(CALL_ENTRY){ 0 } };

static const char *types_of(CUgraph g)
{
    CUgraphNode list[40];
    size_t n = 40;
    char t[160] = "";
    MUST(cuGraphGetNodes(g, list, &n));
    for (size_t i = 0; i < n && i < 40; i++) {
        CUgraphNodeType type;
        MUST(cuGraphNodeGetType(list[i], &type));
        sprintf(t + strlen(t), "%st%d", i ? "," : "", type);
    }
    return text("%zu:%s", n, t);
}

static const struct call *called;
static CUresult answer;

static void *in_thread(void *unused)
{
    cuCtxSetCurrent(ctx0);
    answer = called->make();
    return unused;
}

/* Whatever a call may use up. */
static void take_spares(void)
{
    CUgraphNodeParams p = fill_node(dev, 4, 1);
    MUST(cuStreamCreate(&cs, 1));
    MUST(cuStreamCreate(&os, 1));
    MUST(cuStreamCreate(&extra, 1));
    MUST(cuMemAlloc(&freed, 4096));
    MUST(cuMemAllocHost(&freed_host, 4096));
    MUST(cuEventCreate(&spare_event, 2));
    MUST(cuModuleLoadData(&spare_module, kernels_ptx));
    MUST(cuArrayCreate(&spare_array, &shape));
    MUST(cuGraphCreate(&made, 0));
    MUST(add_typed(&made_node, made, NULL, 0, &p));
    MUST(cuGraphInstantiate(&made_exec, made, 0));
    CUmemPoolProps q = { .allocType = 1, .location = { 1, 0 } };
    MUST(cuMemPoolCreate(&pool, &q));
    MUST(cuMemAllocAsync(&pooled, 4096, os));
    MUST(cuTexObjectCreate(&spare_texture, &(CUDA_RESOURCE_DESC){ .resType = 0, .res.array.hArray = flat },
                           &(CUDA_TEXTURE_DESC){ 0 }, NULL));
    MUST(cuLibraryLoadData(&spare_library, kernels_ptx, 0, 0, 0, 0, 0, 0));
    registered = aligned_alloc(4096, 4096);
    MUST(cuMemHostRegister(registered, 4096, 0));
    CUmemAllocationProp a = prop_dev(0);
    MUST(cuMemCreate(&handle, GRAN, &a, 0));
    MUST(cuMemAddressReserve(&reserved_range, GRAN, 0, 0, 0));
    for (int i = 0; i < 4; i++) {
        MUST(cuEventDestroy(events[i]));
        MUST(cuEventCreate(&events[i], i & 1 ? 0 : 2));
        MUST(cuEventRecord(events[i], os));
    }
    MUST(cuCtxSynchronize());
}

static void ask_call(const struct call *c, int mode, bool thread)
{
    pthread_t t;
    CUgraph g = NULL;
    CUstreamCaptureStatus status = 9, after = 9;
    called = c;
    CUstreamCaptureMode normal = 0;
    cuThreadExchangeStreamCaptureMode(&normal);
    take_spares();
    MUST(cuStreamBeginCapture(cs, mode));
    MUST(cuMemsetD8Async(dev, 1, 4, cs));
    if (thread) {
        pthread_create(&t, NULL, in_thread, NULL);
        pthread_join(t, NULL);
    } else {
        answer = c->make();
    }
    const char *head = text("%s.m%d.%s", c->name, mode, thread ? "thread" : "own");
    if (c->make == c_destroyself) {
        rec(head, "%s", rname(answer));
        _exit(GO_ON);
    }
    CUresult r = cuStreamIsCapturing(cs, &status), r3 = cuStreamIsCapturing(os, &after);
    CUresult r2 = cuStreamEndCapture(cs, &g);
    rec(head, "%s status %s%d end %s %s other %s%d", rname(answer), r ? rname(r) : "", status, rname(r2),
        r2 || !g ? "-" : types_of(g), r3 ? rname(r3) : "", after);
    if (g) cuGraphDestroy(g);
    if (cuCtxSynchronize()) _exit(GO_ON);
}

static void ask_calls(int first, int last)
{
    take_all();
    const int count = sizeof all_calls / sizeof *all_calls - 1;
    for (int i = first; i < last && i < count; i++)
        for (int mode = 0; mode < 3; mode++)
            for (int thread = 0; thread < 2; thread++)
                if (next_question()) ask_call(&all_calls[i], mode, thread);
}

#define PART(n) \
    static void ask_part_##n(void) { ask_calls(n * 40, n * 40 + 40); } \
    static void g_calls_##n(void) { survive(ask_part_##n); }
PART(0)
PART(1)
PART(2)
PART(3) PART(4) PART(5)

    /* ---- walks */

    static CUstream streams[STREAMS]; /* two that do not block, one that does, the legacy one */
static CUgraph graphs[GRAPHS];
static CUdeviceptr allocations[8];
static int into[GRAPHS]; /* the stream that is captured into it, and one; 0: none */
static int step, said;

#define SAY(...) rec(said++ ? keyf("%d.%d", step, said) : keyf("%d", step), __VA_ARGS__)

static int index_of(CUgraph g, CUgraphNode n)
{
    CUgraphNode list[100];
    size_t count = 100;
    if (cuGraphGetNodes(g, list, &count)) return -1;
    for (size_t i = 0; i < count && i < 100; i++)
        if (list[i] == n) return (int)i;
    return -2;
}

/* What each stream's capture depends on. */
static const char *state(void)
{
    char t[300] = "";
    static cuuint64_t ids[STREAMS];
    for (int i = 0; i < STREAMS - 1; i++) {
        CUstreamCaptureStatus status = 9;
        cuuint64_t id = 0;
        CUgraph g = NULL;
        const CUgraphNode *deps = NULL;
        const CUgraphEdgeData *edges = NULL;
        size_t n = 0;
        CUresult r = cuStreamGetCaptureInfo(streams[i], &status, &id, &g, &deps, &edges, &n);
        ids[i] = id;
        int same = i;
        for (int j = 0; j < i; j++)
            if (ids[j] == id) same = j;
        sprintf(t + strlen(t), " %s%d", r ? rname(r) : "", status);
        if (r || status != 1) continue;
        sprintf(t + strlen(t), "(%d", same);
        for (size_t k = 0; k < n && k < 6; k++) sprintf(t + strlen(t), ",%d", index_of(g, deps[k]));
        sprintf(t + strlen(t), "%s)", n && edges ? "e" : "");
    }
    return text("%s", t);
}

static void run_graph(CUgraph g)
{
    CUgraphExec x;
    char t[200] = "";
    cuCtxSynchronize();
    CUgraphNode from[60], to[60];
    CUgraphEdgeData data[60];
    size_t n = 60;
    CUresult r = cuGraphGetEdges(g, from, to, data, &n);
    for (size_t i = 0; !r && i < n && i < 25; i++)
        sprintf(t + strlen(t), " %d>%d%s", index_of(g, from[i]), index_of(g, to[i]), data[i].type ? "p" : "");
    SAY("nodes %s edges %zu%s", types_of(g), n, t);
    r = cuGraphInstantiate(&x, g, 0);
    if (r) {
        SAY("instantiate = %s", rname(r));
        return;
    }
    reset();
    calls = 0;
    r = cuGraphLaunch(x, extra);
    CUresult r2 = cuStreamSynchronize(extra);
    SAY("launch = %s %s calls%d %s", rname(r), rname(r2), calls, contents());
    if (r2) exit(5);
    MUST(cuGraphExecDestroy(x));
}

static bool capturing(void)
{
    for (int i = 0; i < STREAMS - 1; i++) {
        CUstreamCaptureStatus status = 0;
        CUresult r = cuStreamIsCapturing(streams[i], &status);
        if (r || status) return true;
    }
    return false;
}

static CUresult threaded_end_result;
static CUgraph threaded_graph;
static void *end_in_thread(void *s)
{
    cuCtxSetCurrent(ctx0);
    threaded_end_result = cuStreamEndCapture(s, &threaded_graph);
    return NULL;
}

static void end_capture(int i)
{
    CUgraph g = (CUgraph)7;
    CUresult r;
    const bool thread = !rnd(6);
    if (thread) {
        pthread_t t;
        threaded_graph = (CUgraph)7;
        pthread_create(&t, NULL, end_in_thread, streams[i]);
        pthread_join(t, NULL);
        r = threaded_end_result;
        g = threaded_graph;
    } else {
        r = cuStreamEndCapture(streams[i], &g);
    }
    SAY("end%d s%d = %s %s%s", thread, i, rname(r), g == (CUgraph)7 ? "kept" : g ? "graph" : "none", state());
    for (int j = 0; j < GRAPHS; j++) {
        CUstreamCaptureStatus status = 0;
        if (into[j]) cuStreamIsCapturing(streams[into[j] - 1], &status);
        if (!into[j] || status) continue;
        into[j] = 0;
        if (graphs[j] != g) graphs[j] = NULL; /* a capture that fails takes the graph along */
    }
    if (r || !g || g == (CUgraph)7) return;
    if (!capturing()) run_graph(g);
    const int k = rnd(GRAPHS);
    for (int j = 0; j < GRAPHS; j++)
        if (graphs[j] == g) return;
    if (into[k]) return;
    if (graphs[k] && !capturing()) cuGraphDestroy(graphs[k]);
    graphs[k] = g;
}

static CUdeviceptr slot(void) { return dev + 16384 + 256 * (step % 180); }

static const char *operate(int i, CUresult *r)
{
    const CUstream s = streams[i];
    const int k = rnd(4);
    const int q = rnd(40);
    switch (q < 36 ? q % 12 : q < 38 ? 12 : q - 25) {
    case 0:
    case 1:
    case 2:
        *r = cuLaunchKernel(kernels()->fill, 1, 1, 1, 64, 1, 1, 0, s, fill_values(slot(), 60, 1, step), NULL);
        return "kernel";
    case 3: *r = cuMemsetD32Async(slot(), step, 20, s); return "memset";
    case 4: *r = cuMemsetD2D16Async(slot(), 64, step, 20, 3, s); return "memset2d";
    case 5: *r = cuMemcpyAsync(slot(), dev + 64 * k, 128, s); return "copy";
    case 6: *r = cuMemcpyHtoDAsync(slot(), pageable + 64 * k, 128, s); return "htod pageable";
    case 7: *r = cuMemcpyDtoHAsync(pinned + 16384 + 256 * (step % 180), dev + 64 * k, 128, s); return "dtoh";
    case 8: *r = cuMemcpyHtoDAsync(slot(), pinned + 64 * k, 0, s); return "htod 0";
    case 9: *r = cuLaunchHostFunc(s, on_host, &calls); return "host";
    case 10: *r = cuStreamWriteValue32(s, slot(), step, 0); return "write";
    case 11: *r = cuMemsetD8Async(slot(), 0, 0, s); return "memset 0";
    case 12: *r = cuMemcpyHtoAAsync(flat, 256 * (step % 32), pinned, 64, s); return "htoa";
    case 13: *r = cuMemPrefetchAsync(managed, SIZE, loc(1, 0), 0, s); return "prefetch";
    default: *r = cuStreamAttachMemAsync(s, managed, 0, 1); return "attach";
    }
}

static void ask_operation(int i)
{
    CUresult r;
    const char *name = operate(i, &r);
    SAY("%s s%d = %s%s", name, i, rname(r), state());
}

static void ask_event(int i)
{
    const int e = rnd(4);
    const unsigned f = rnd(6) ? 0 : 1;
    CUresult r;
    switch (rnd(9)) {
    case 0:
    case 1:
    case 2:
        r = cuEventRecordWithFlags(events[e], streams[i], f);
        SAY("record e%d s%d f%u = %s%s", e, i, f, rname(r), state());
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        r = cuStreamWaitEvent(streams[i], events[e], f);
        SAY("wait e%d s%d f%u = %s%s", e, i, f, rname(r), state());
        break;
    case 7:
        if (rnd(4)) return;
        r = rnd(2) ? cuEventQuery(events[e]) : cuEventSynchronize(events[e]);
        SAY("query e%d = %s%s", e, rname(r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r), state()); /* whether work has ended is chance */
        break;
    default:
        r = cuEventDestroy(events[e]);
        SAY("destroy e%d = %s%s", e, rname(r), state());
        MUST(cuEventCreate(&events[e], e & 1 ? 0 : 2));
    }
}

static void ask_begin(int i)
{
    const int mode = rnd(12) ? rnd(3) : 3;
    const int k = rnd(GRAPHS);
    CUresult r;
    if (rnd(3) || !graphs[k] || into[k]) {
        r = cuStreamBeginCapture(streams[i], mode);
        SAY("begin s%d m%d = %s%s", i, mode, rname(r), state());
        return;
    }
    CUgraphNode list[40], deps[3];
    size_t n = 40;
    char names[60] = "";
    MUST(cuGraphGetNodes(graphs[k], list, &n));
    int count = n ? rnd(3) : 0;
    for (int j = 0; j < count; j++) {
        int d = rnd((unsigned)n);
        deps[j] = list[d];
        sprintf(names + strlen(names), ",%d", d);
    }
    r = cuStreamBeginCaptureToGraph(streams[i], graphs[k], deps, NULL, count, mode);
    if (!r) into[k] = i + 1;
    SAY("begin s%d to graph %s after %s m%d = %s%s", i, types_of(graphs[k]), names, mode, rname(r), state());
}

static void ask_dependencies(int i)
{
    CUstreamCaptureStatus status;
    CUgraph g = NULL;
    CUgraphNode list[40], deps[4];
    size_t n = 40;
    cuuint64_t id;
    char names[80] = "";
    if (cuStreamGetCaptureInfo(streams[i], &status, &id, &g, NULL, NULL, NULL) || !g) {
        CUresult r = cuStreamUpdateCaptureDependencies(streams[i], NULL, NULL, 0, 0);
        SAY("depend s%d = %s%s", i, rname(r), state());
        return;
    }
    MUST(cuGraphGetNodes(g, list, &n));
    int count = n ? rnd(4) : 0;
    for (int j = 0; j < count; j++) {
        int d = rnd((unsigned)n);
        deps[j] = list[d];
        sprintf(names + strlen(names), ",%d", d);
    }
    if (count && !rnd(12)) deps[0] = NULL, strcat(names, ",null");
    const unsigned f = rnd(8) ? rnd(2) : 2;
    CUresult r = cuStreamUpdateCaptureDependencies(streams[i], deps, NULL, count, f);
    SAY("depend s%d f%u %s = %s%s", i, f, names, rname(r), state());
}

static void ask_graph(int i)
{
    CUstreamCaptureStatus status;
    CUgraph g = NULL;
    CUgraphNode n;
    cuuint64_t id;
    CUresult r;
    if (cuStreamGetCaptureInfo(streams[i], &status, &id, &g, NULL, NULL, NULL) || !g) return;
    switch (rnd(4)) {
    case 0:
        r = cuGraphAddEmptyNode(&n, g, NULL, 0);
        SAY("add to graph of s%d = %s%s", i, rname(r), state());
        break;
    case 1: {
        CUgraphExec x;
        r = cuGraphInstantiate(&x, g, 0);
        SAY("instantiate graph of s%d = %s%s", i, rname(r), state());
        if (!r) cuGraphExecDestroy(x);
        break;
    }
    case 2: {
        CUgraph h;
        r = cuGraphClone(&h, g);
        SAY("clone graph of s%d = %s %s%s", i, rname(r), r ? "" : types_of(h), state());
        if (!r) cuGraphDestroy(h);
        break;
    }
    default: {
        CUgraphNode list[40], two[2];
        size_t count = 40;
        MUST(cuGraphGetNodes(g, list, &count));
        if (count < 2) return;
        int a = rnd((unsigned)count), b = rnd((unsigned)count);
        two[0] = list[a];
        two[1] = list[b];
        r = rnd(2) ? cuGraphAddDependencies(g, &two[0], &two[1], NULL, 1)
                   : cuGraphRemoveDependencies(g, &two[0], &two[1], NULL, 1);
        SAY("edge %d>%d in graph of s%d = %s%s", a, b, i, rname(r), state());
    }
    }
}

static void ask_memory(int i)
{
    const int k = rnd(8);
    CUresult r;
    if (!allocations[k]) {
        r = cuMemAllocAsync(&allocations[k], 4096, streams[i]);
        if (r) allocations[k] = 0;
        SAY("alloc p%d s%d = %s%s", k, i, rname(r), state());
    } else {
        r = cuMemFreeAsync(allocations[k], streams[i]);
        SAY("free p%d s%d = %s%s", k, i, rname(r), state());
        if (!r || !rnd(3)) allocations[k] = 0;
    }
}

static void ask_info(int i)
{
    CUstreamCaptureStatus status = 9, status2 = 9;
    cuuint64_t id = 0, id2 = 0;
    CUgraph g = (CUgraph)7;
    const CUgraphNode *deps = (void *)7;
    size_t n = 99;
    static CUresult (*old)(CUstream, CUstreamCaptureStatus *, cuuint64_t *);
    static CUresult (*second)(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **,
                              size_t *);
    if (!old) old = dlsym(RTLD_DEFAULT, "cuStreamGetCaptureInfo");
    if (!second) second = dlsym(RTLD_DEFAULT, "cuStreamGetCaptureInfo_v2");
    CUresult r = old(streams[i], &status, &id), r2 = second(streams[i], &status2, &id2, &g, &deps, &n);
    SAY("info s%d = %s %d %s, %s %d same%d %s %s %zu", i, rname(r), status, id ? "id" : "-", rname(r2), status2,
        id == id2,
        g == (CUgraph)7 ? "kept"
        : g             ? "g"
                        : "-",
        deps == (void *)7 ? "kept"
        : deps            ? "d"
                          : "-",
        n);
}

static void ask_other(int i)
{
    CUresult r;
    CUstreamCaptureMode mode;
    CUstreamCaptureStatus status = 9;
    switch (rnd(9)) {
    case 0:
        r = cuStreamSynchronize(streams[i]);
        SAY("sync s%d = %s%s", i, rname(r), state());
        break;
    case 1:
        r = cuStreamQuery(streams[i]);
        SAY("query s%d = %s%s", i, rname(r == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : r), state());
        break;
    case 2:
        r = cuCtxSynchronize();
        SAY("sync all = %s%s", rname(r), state());
        break;
    case 3: {
        CUdeviceptr p = 0;
        r = cuMemAlloc(&p, 4096);
        SAY("malloc = %s%s", rname(r), state());
        break;
    }
    case 4:
    case 5:
        mode = rnd(3);
        r = cuThreadExchangeStreamCaptureMode(&mode);
        SAY("exchange = %s %d", rname(r), mode);
        break;
    case 6:
        r = cuStreamIsCapturing(streams[i], &status);
        SAY("capturing s%d = %s %d", i, rname(r), status);
        break;
    case 7:
        r = cuMemcpyHtoD(scratch, pinned, 16);
        SAY("copy at once = %s%s", rname(r), state());
        break;
    default: return;
    }
}

static void walk(int n)
{
    take_all();
    MUST(cuStreamCreate(&extra, 1));
    MUST(cuMemAlloc(&scratch, 4096));
    streams[0] = s0;
    streams[1] = s1;
    streams[2] = s2;
    for (step = 0; step < STEPS; step++) {
        seed(n * 1000 + step);
        said = 0;
        const int i = rnd(12) ? rnd(STREAMS - 1) : STREAMS - 1;
        const unsigned q = rnd(100);
        for (int j = 0; j < STREAMS - 1; j++) {
            CUstreamCaptureStatus status = 0;
            cuStreamIsCapturing(streams[j], &status);
            if (status == 2 && !rnd(3)) end_capture(j);
        }
        if (q < 15)
            ask_begin(i);
        else if (q < 45)
            ask_operation(i);
        else if (q < 70)
            ask_event(i);
        else if (q < 82)
            end_capture(i);
        else if (q < 86)
            ask_dependencies(i);
        else if (q < 89)
            ask_graph(i);
        else if (q < 92)
            ask_info(i);
        else if (q < 95 && n % 2)
            ask_memory(i);
        else if (q < 97 || rnd(3))
            continue;
        else
            ask_other(i);
    }
}

#define SEEDS(X) \
    X(1) \
    X(2) \
    X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) \
        X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30)
#define WALK(i) \
    static void g_walk_##i(void) { walk(i); }
SEEDS(WALK)
#define GROUPS_(i) { "cwalk_" #i, g_walk_##i, 1 },
#define G(n) { "calls_" #n, g_calls_##n, 1 },
const struct group groups[] = { G(0) G(1) G(2) G(3) G(4) G(5) SEEDS(GROUPS_){ 0 } };
