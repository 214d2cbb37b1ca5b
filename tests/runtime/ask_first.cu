/* Which call initialises the driver and makes the primary context: each as the first one of a process. */
#include "ask.h"

__global__ void store(int *p, int v) { *p = v; }
__device__ int variable = 5;
__managed__ int managed = 6;

#define FIRST(name, call) \
    { \
        "first_" #name, \
            [] { \
                RAW("call", call); \
                RAW("peek", cudaPeekAtLastError()); \
                state("after"); \
                RAW("last", cudaGetLastError()); \
                int d = -7; \
                RAW("device", cudaGetDevice(&d)); \
                state("then"); \
                RAW("malloc", ({ \
                        void *m_; \
                        cudaMalloc(&m_, 8); \
                    })); \
                state("at last"); \
            }, \
            0 \
    }

static void *p;
static int i0, i1;
static size_t s0, s1;
static unsigned u0;
static char text[64];
static struct cudaDeviceProp properties;
static cudaStream_t stream;
static cudaEvent_t event;
static const char ptx[] = ".version 7.8\n.target sm_52\n.address_size 64\n.visible .entry nothing() { ret; }\n";
static cudaLibrary_t library;
static cudaKernel_t kernel;
static cudaFunction_t function;
static cudaMemPool_t pool;
static cudaMemPoolProps pool_properties;
static cudaGraph_t graph;
static cudaArray_t array;
static struct cudaChannelFormatDesc format = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
static struct cudaFuncAttributes function_attributes;
static struct cudaPointerAttributes pointer_attributes;
static enum cudaStreamCaptureStatus capture_status;
static enum cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeRelaxed;
static cudaUserObject_t object;
static cudaIpcMemHandle_t ipc;
static enum cudaFuncCache cache;
static cudaDriverEntryPointQueryResult entry;

static void release(void *) {}

const struct group groups[] = {
    FIRST(count, cudaGetDeviceCount(&i0)),
    FIRST(get, cudaGetDevice(&i0)),
    FIRST(set, cudaSetDevice(0)),
    FIRST(set_bad, cudaSetDevice(99)),
    FIRST(set_negative, cudaSetDevice(-1)),
    FIRST(driver_version, cudaDriverGetVersion(&i0)),
    FIRST(runtime_version, cudaRuntimeGetVersion(&i0)),
    FIRST(last, cudaGetLastError()),
    FIRST(peek, cudaPeekAtLastError()),
    FIRST(error_name, (cudaGetErrorName(cudaSuccess), cudaSuccess)),
    FIRST(properties, cudaGetDeviceProperties(&properties, 0)),
    FIRST(attribute, cudaDeviceGetAttribute(&i0, cudaDevAttrWarpSize, 0)),
    FIRST(malloc, cudaMalloc(&p, 16)),
    FIRST(malloc_0, cudaMalloc(&p, 0)),
    FIRST(malloc_null, cudaMalloc(NULL, 16)),
    FIRST(malloc_huge, cudaMalloc(&p, 1ul << 50)),
    FIRST(free_null, cudaFree(NULL)),
    FIRST(free_garbage, cudaFree((void *)0x1000)),
    FIRST(free_host_null, cudaFreeHost(NULL)),
    FIRST(malloc_host, cudaMallocHost(&p, 16)),
    FIRST(host_alloc, cudaHostAlloc(&p, 16, 0)),
    FIRST(host_alloc_bad, cudaHostAlloc(&p, 16, 0x100)),
    FIRST(host_register, cudaHostRegister(text, sizeof text, 0)),
    FIRST(host_unregister, cudaHostUnregister(text)),
    FIRST(malloc_managed, cudaMallocManaged(&p, 16)),
    FIRST(malloc_array, cudaMallocArray(&array, &format, 4, 4)),
    FIRST(synchronize, cudaDeviceSynchronize()),
    FIRST(reset, cudaDeviceReset()),
    FIRST(stream_create, cudaStreamCreate(&stream)),
    FIRST(stream_create_bad, cudaStreamCreateWithFlags(&stream, 77)),
    FIRST(stream_query, cudaStreamQuery(0)),
    FIRST(stream_synchronize, cudaStreamSynchronize(0)),
    FIRST(stream_destroy_0, cudaStreamDestroy(0)),
    FIRST(stream_capturing, cudaStreamIsCapturing(0, &capture_status)),
    FIRST(stream_flags, cudaStreamGetFlags(0, &u0)),
    FIRST(event_create, cudaEventCreate(&event)),
    FIRST(event_create_bad, cudaEventCreateWithFlags(&event, 0x100)),
    FIRST(event_query_null, cudaEventQuery(NULL)),
    FIRST(memory_info, cudaMemGetInfo(&s0, &s1)),
    FIRST(memcpy_host, cudaMemcpy(text, text + 32, 16, cudaMemcpyHostToHost)),
    FIRST(memcpy_default, cudaMemcpy(text, text + 32, 16, cudaMemcpyDefault)),
    FIRST(memcpy_0, cudaMemcpy(text, text, 0, cudaMemcpyHostToDevice)),
    FIRST(memcpy_kind, cudaMemcpy(text, text, 1, (enum cudaMemcpyKind)9)),
    FIRST(memset_0, cudaMemset(NULL, 0, 0)),
    FIRST(memset_null, cudaMemset(NULL, 0, 16)),
    FIRST(function_attributes, cudaFuncGetAttributes(&function_attributes, store)),
    FIRST(function_attribute, cudaFuncSetAttribute(store, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024)),
    FIRST(function_cache, cudaFuncSetCacheConfig(store, cudaFuncCachePreferL1)),
    FIRST(launch, (store<<<1, 1>>>(&managed, 1), cudaPeekAtLastError())),
    FIRST(launch_bad, (store<<<0, 1>>>(&managed, 1), cudaPeekAtLastError())),
    FIRST(launch_unknown, cudaLaunchKernel((void *)release, dim3(1), dim3(1), NULL, 0, 0)),
    FIRST(symbol_address, cudaGetSymbolAddress(&p, variable)),
    FIRST(symbol_size, cudaGetSymbolSize(&s0, variable)),
    FIRST(to_symbol, cudaMemcpyToSymbol(variable, &i0, 4)),
    FIRST(managed_read, (i0 = managed, i0 == 6 ? cudaSuccess : cudaErrorUnknown)),
    FIRST(pointer_attributes, cudaPointerGetAttributes(&pointer_attributes, text)),
    FIRST(get_limit, cudaDeviceGetLimit(&s0, cudaLimitStackSize)),
    FIRST(set_limit, cudaDeviceSetLimit(cudaLimitStackSize, 2048)),
    FIRST(set_limit_bad, cudaDeviceSetLimit((enum cudaLimit)77, 2048)),
    FIRST(get_cache, cudaDeviceGetCacheConfig(&cache)),
    FIRST(set_cache, cudaDeviceSetCacheConfig(cudaFuncCachePreferL1)),
    FIRST(set_flags, cudaSetDeviceFlags(cudaDeviceScheduleYield)),
    FIRST(set_flags_bad, cudaSetDeviceFlags(0x7000)),
    FIRST(get_flags, cudaGetDeviceFlags(&u0)),
    FIRST(init_device, cudaInitDevice(0, 0, 0)),
    FIRST(valid_devices, cudaSetValidDevices(&i1, 1)),
    FIRST(choose, cudaChooseDevice(&i0, &properties)),
    FIRST(default_pool, cudaDeviceGetDefaultMemPool(&pool, 0)),
    FIRST(current_pool, cudaDeviceGetMemPool(&pool, 0)),
    FIRST(pool_create_bad, cudaMemPoolCreate(&pool, &pool_properties)),
    FIRST(malloc_async, cudaMallocAsync(&p, 16, 0)),
    FIRST(free_async_null, cudaFreeAsync(NULL, 0)),
    FIRST(graph_create, cudaGraphCreate(&graph, 0)),
    FIRST(graph_attribute, cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &s0)),
    FIRST(can_access, cudaDeviceCanAccessPeer(&i0, 0, 0)),
    FIRST(enable_peer, cudaDeviceEnablePeerAccess(0, 0)),
    FIRST(p2p, cudaDeviceGetP2PAttribute(&i0, cudaDevP2PAttrAccessSupported, 0, 0)),
    FIRST(bus_id, cudaDeviceGetPCIBusId(text, sizeof text, 0)),
    FIRST(by_bus_id, cudaDeviceGetByPCIBusId(&i0, "ffff:00:00.0")),
    FIRST(priority_range, cudaDeviceGetStreamPriorityRange(&i0, &i1)),
    FIRST(profiler_start, cudaProfilerStart()),
    FIRST(profiler_stop, cudaProfilerStop()),
    FIRST(function_by_symbol, cudaGetFuncBySymbol(&function, (void *)store)),
    FIRST(get_kernel, cudaGetKernel(&kernel, (void *)store)),
    FIRST(function_name, ({
              const char *n;
              cudaFuncGetName(&n, (void *)store);
          })),
    FIRST(library, cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0)),
    FIRST(occupancy, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&i0, store, 128, 0)),
    FIRST(entry_point, cudaGetDriverEntryPointByVersion("cuInit", &p, 13000, 0, &entry)),
    FIRST(exchange, cudaThreadExchangeStreamCaptureMode(&capture_mode)),
    FIRST(user_object, cudaUserObjectCreate(&object, text, release, 1, cudaUserObjectNoDestructorSync)),
    FIRST(ipc, cudaIpcGetMemHandle(&ipc, text)),
    FIRST(host_function, cudaLaunchHostFunc(0, release, NULL)),
    FIRST(advise, cudaMemAdvise(text, 4, cudaMemAdviseSetReadMostly, at(cudaMemLocationTypeDevice, 0))),
    FIRST(persisting, cudaCtxResetPersistingL2Cache()),
    FIRST(texture_width, cudaDeviceGetTexture1DLinearMaxWidth(&s0, &format, 0)),
    /* not asked of a device yet */
    FIRST(event_synchronize_null, cudaEventSynchronize(NULL)),
    FIRST(event_destroy_null, cudaEventDestroy(NULL)),
    FIRST(event_elapsed_null, cudaEventElapsedTime(NULL, NULL, NULL)),
    FIRST(event_record_null, cudaEventRecord(NULL, 0)),
    FIRST(event_create_null, cudaEventCreate(NULL)),
    FIRST(stream_create_null, cudaStreamCreate(NULL)),
    FIRST(stream_wait_null, cudaStreamWaitEvent(0, NULL, 0)),
    FIRST(stream_priority, cudaStreamGetPriority(0, &i0)),
    FIRST(stream_device, cudaStreamGetDevice(0, &i0)),
    FIRST(begin_capture, cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal)),
    FIRST(end_capture, cudaStreamEndCapture(0, &graph)),
    FIRST(library_unload_null, cudaLibraryUnload(NULL)),
    FIRST(library_kernel_null, cudaLibraryGetKernel(&kernel, NULL, "a")),
    FIRST(function_attributes_null, cudaFuncGetAttributes(&function_attributes, (void *)NULL)),
    FIRST(function_by_nothing, cudaGetFuncBySymbol(&function, (void *)release)),
    FIRST(parameter, cudaFuncGetParamInfo((void *)store, 0, &s0, &s1)),
    FIRST(occupancy_unknown, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&i0, (void *)release, 128, 0)),
    FIRST(symbol_unknown, cudaGetSymbolAddress(&p, (void *)text)),
    FIRST(pool_destroy_null, cudaMemPoolDestroy(NULL)),
    FIRST(pool_trim_null, cudaMemPoolTrimTo(NULL, 0)),
    FIRST(set_pool_null, cudaDeviceSetMemPool(0, NULL)),
    FIRST(malloc_async_null, cudaMallocAsync((void **)NULL, 16, 0)),
    FIRST(malloc_managed_null, cudaMallocManaged((void **)NULL, 16)),
    FIRST(malloc_managed_0, cudaMallocManaged(&p, 0)),
    FIRST(malloc_managed_flags, cudaMallocManaged(&p, 16, 77)),
    FIRST(malloc_pitch_null, cudaMallocPitch((void **)NULL, &s0, 16, 16)),
    FIRST(malloc_pitch_0, cudaMallocPitch(&p, &s0, 0, 16)),
    FIRST(malloc_array_null, cudaMallocArray(NULL, &format, 4, 4)),
    FIRST(host_alloc_null, cudaHostAlloc((void **)NULL, 16, 0)),
    FIRST(host_alloc_0, cudaHostAlloc(&p, 0, 0)),
    FIRST(host_register_null, cudaHostRegister(NULL, 16, 0)),
    FIRST(host_flags, cudaHostGetFlags(&u0, text)),
    FIRST(host_device_pointer, cudaHostGetDevicePointer(&p, text, 0)),
    FIRST(free_array_null, cudaFreeArray((cudaArray_t)NULL)),
    FIRST(memcpy_async_0, cudaMemcpyAsync(text, text, 0, cudaMemcpyDefault, 0)),
    FIRST(memcpy_2d_0, cudaMemcpy2D(text, 8, text, 8, 0, 4, cudaMemcpyDefault)),
    FIRST(memcpy_peer_0, cudaMemcpyPeer(text, 0, text, 0, 0)),
    FIRST(memset_async_0, cudaMemsetAsync(text, 0, 0, 0)),
    FIRST(memset_2d_0, cudaMemset2D(text, 8, 0, 0, 4)),
    FIRST(prefetch_0, cudaMemPrefetchAsync(text, 0, at(cudaMemLocationTypeDevice, 0), 0, 0)),
    FIRST(range_attribute, cudaMemRangeGetAttribute(&i0, 4, cudaMemRangeAttributeReadMostly, text, 4)),
    FIRST(pointer_null, cudaPointerGetAttributes(NULL, text)),
    FIRST(graph_create_bad, cudaGraphCreate(&graph, 1)),
    FIRST(graph_destroy_null, cudaGraphDestroy(NULL)),
    FIRST(graph_instantiate_null, cudaGraphInstantiate(NULL, NULL, 0)),
    FIRST(graph_launch_null, cudaGraphLaunch(NULL, 0)),
    FIRST(graph_trim, cudaDeviceGraphMemTrim(0)),
    FIRST(user_object_null, cudaUserObjectCreate(NULL, text, release, 1, cudaUserObjectNoDestructorSync)),
    FIRST(host_function_null, cudaLaunchHostFunc(0, NULL, NULL)),
    FIRST(get_limit_null, cudaDeviceGetLimit(NULL, cudaLimitStackSize)),
    FIRST(get_limit_bad, cudaDeviceGetLimit(&s0, (enum cudaLimit)77)),
    FIRST(init_yield, cudaInitDevice(0, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid)),
    FIRST(init_again, (cudaInitDevice(0, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid),
                       cudaInitDevice(0, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid))),
    FIRST(init_back, (cudaInitDevice(0, cudaDeviceScheduleYield, cudaInitDeviceFlagsAreValid),
                      cudaInitDevice(0, 0, cudaInitDeviceFlagsAreValid))),
    FIRST(disable_peer, cudaDeviceDisablePeerAccess(0)),
    FIRST(enable_peer_bad, cudaDeviceEnablePeerAccess(99, 0)),
    FIRST(ipc_null, cudaIpcGetMemHandle(NULL, NULL)),
    LAST_GROUP,
};
