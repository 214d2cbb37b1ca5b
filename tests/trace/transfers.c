/* What CUPTI tells of copies and memsets: a line for each call, between memory of each kind, with what it answered and the
 * records that it left. All lines must be as on an H200 (tests/behaviour/same), where this program was run with NVIDIA's
 * CUPTI. */
#include "records.h"

#include <sys/mman.h>

enum { BYTES = 8 << 20, ROW = 100, ROWS = 5, SLICES = 3 };

static const char *memory_text(unsigned kind)
{
    static const char *const names[] = { "unknown", "pageable", "pinned", "device", "array", "managed" };
    return kind < sizeof names / sizeof *names ? names[kind] : "other";
}

static void tell_where(uint32_t device, uint32_t context, uint32_t stream, unsigned flags, CUpti_ChannelType channel)
{
    printf(", stream %s%s%s", stream_text(stream), flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? ", asynchronous" : "",
           channel == CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY ? ", by an engine" : "");
    if (device || context != context_id) printf(", device %u, another context", device);
}

static void tell_record(const CUpti_Activity *r)
{
    static const char *const kinds[] = { "?", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH" };
    if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy6 *m = (const void *)r;
        printf(" | %s, %lu bytes, %s to %s", m->copyKind < 10 ? kinds[m->copyKind] : "?", (unsigned long)m->bytes,
               memory_text(m->srcKind), memory_text(m->dstKind));
        tell_where(m->deviceId, m->contextId, m->streamId, m->flags, m->channelType);
        if (m->end <= m->start || !m->correlationId || m->copyCount != 1) printf(", and more");
    } else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *m = (const void *)r;
        printf(" | memset to 0x%x, %lu bytes, %s", m->value, (unsigned long)m->bytes, memory_text(m->memoryKind));
        tell_where(m->deviceId, m->contextId, m->streamId, m->flags, m->channelType);
        if (m->end <= m->start || !m->correlationId) printf(", and more");
    } else {
        printf(" | kind %d", r->kind);
    }
}

/* ---- memory */

enum claim { DEVICES, BOTHS, HOSTS }; /* whose a call may say it is */
static struct memory {
    const char *name;
    enum claim claim;
    CUdeviceptr at;
} memory[] = { { "device", DEVICES, 0 },   { "device again", DEVICES, 0 }, { "managed", BOTHS, 0 },
               { "of a pool", DEVICES, 0 }, { "mapped", DEVICES, 0 },       { "variable", DEVICES, 0 },
               { "constant", DEVICES, 0 },  { "pinned", HOSTS, 0 },         { "registered", HOSTS, 0 },
               { "pageable", HOSTS, 0 } };
enum { MEMORIES = sizeof memory / sizeof *memory, DEVICE = 0, AGAIN, MANAGED, PINNED = 7, PAGEABLE = 9 };
static CUarray array, other_array, line;

static CUdeviceptr mapped(void)
{
    const CUmemAllocationProp what = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    const CUmemAccessDesc all = { what.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    REQUIRE(cuMemAddressReserve(&p, BYTES, 0, 0, 0));
    REQUIRE(cuMemCreate(&h, BYTES, &what, 0));
    REQUIRE(cuMemMap(p, BYTES, 0, h, 0));
    REQUIRE(cuMemSetAccess(p, BYTES, &all, 1));
    return p;
}

static void make_memory(void)
{
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .global .align 8 .b8 variable[8192];\n"
                               ".visible .const .align 8 .b8 constant[8192];\n.visible .entry k() { ret; }\n";
    const CUDA_ARRAY3D_DESCRIPTOR square = { 256, 256, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0 };
    const CUDA_ARRAY_DESCRIPTOR row = { 1024, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
    CUmodule m;
    size_t size;
    void *pinned, *pageable = malloc(BYTES);
    void *registered = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pageable, 1, BYTES);
    memset(registered, 1, BYTES);
    REQUIRE(cuMemAlloc(&memory[0].at, BYTES));
    REQUIRE(cuMemAlloc(&memory[1].at, BYTES));
    REQUIRE(cuMemAllocManaged(&memory[2].at, BYTES, CU_MEM_ATTACH_GLOBAL));
    REQUIRE(cuMemAllocAsync(&memory[3].at, BYTES, NULL));
    memory[4].at = mapped();
    REQUIRE(cuModuleLoadData(&m, text));
    REQUIRE(cuModuleGetGlobal(&memory[5].at, &size, m, "variable"));
    REQUIRE(cuModuleGetGlobal(&memory[6].at, &size, m, "constant"));
    REQUIRE(cuMemAllocHost(&pinned, BYTES));
    REQUIRE(cuMemHostRegister(registered, BYTES, 0));
    memory[7].at = (uint64_t)pinned;
    memory[8].at = (uint64_t)registered;
    memory[9].at = (uint64_t)pageable;
    REQUIRE(cuArray3DCreate(&array, &square));
    REQUIRE(cuArray3DCreate(&other_array, &square));
    REQUIRE(cuArrayCreate(&line, &row));
}

/* ---- calls */

static void linear(const struct memory *from, const struct memory *to)
{
    const uint64_t f = from->at, t = to->at;
    tell(cuMemcpy(t, f, 4096), "cuMemcpy, %s to %s", from->name, to->name);
    tell(cuMemcpyAsync(t, f, 4096, blocking), "cuMemcpyAsync, %s to %s", from->name, to->name);
    if (from->claim != DEVICES) {
        tell(cuMemcpyHtoD(t, (void *)f, ROW), "cuMemcpyHtoD, %s to %s", from->name, to->name);
        tell(cuMemcpyHtoDAsync(t, (void *)f, ROW, apart), "cuMemcpyHtoDAsync, %s to %s", from->name, to->name);
    }
    if (to->claim != DEVICES) {
        tell(cuMemcpyDtoH((void *)t, f, ROW), "cuMemcpyDtoH, %s to %s", from->name, to->name);
        tell(cuMemcpyDtoHAsync((void *)t, f, ROW, apart), "cuMemcpyDtoHAsync, %s to %s", from->name, to->name);
    }
    if (from->claim == HOSTS || to->claim == HOSTS) return;
    tell(cuMemcpyDtoD(t, f, ROW), "cuMemcpyDtoD, %s to %s", from->name, to->name);
    tell(cuMemcpyDtoDAsync(t, f, ROW, NULL), "cuMemcpyDtoDAsync, %s to %s", from->name, to->name);
}

static CUmemorytype type_of(const struct memory *m) { return m->claim == HOSTS ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED; }

static void rows(const struct memory *from, const struct memory *to)
{
    const CUDA_MEMCPY2D two = { .srcMemoryType = type_of(from),
                                .srcHost = (void *)from->at,
                                .srcDevice = from->at,
                                .srcPitch = 256,
                                .dstMemoryType = type_of(to),
                                .dstHost = (void *)to->at,
                                .dstDevice = to->at,
                                .dstPitch = 512,
                                .WidthInBytes = ROW,
                                .Height = ROWS };
    const CUDA_MEMCPY3D three = { .srcMemoryType = type_of(from),
                                  .srcHost = (void *)from->at,
                                  .srcDevice = from->at,
                                  .srcPitch = 256,
                                  .srcHeight = 8,
                                  .dstMemoryType = type_of(to),
                                  .dstHost = (void *)to->at,
                                  .dstDevice = to->at,
                                  .dstPitch = 512,
                                  .dstHeight = 8,
                                  .WidthInBytes = ROW,
                                  .Height = ROWS,
                                  .Depth = SLICES };
    tell(cuMemcpy2D(&two), "cuMemcpy2D, %s to %s", from->name, to->name);
    tell(cuMemcpy2DAsync(&two, blocking), "cuMemcpy2DAsync, %s to %s", from->name, to->name);
    tell(cuMemcpy2DUnaligned(&two), "cuMemcpy2DUnaligned, %s to %s", from->name, to->name);
    tell(cuMemcpy3D(&three), "cuMemcpy3D, %s to %s", from->name, to->name);
    tell(cuMemcpy3DAsync(&three, apart), "cuMemcpy3DAsync, %s to %s", from->name, to->name);
}

static void arrays(const struct memory *m)
{
    const CUDA_MEMCPY2D in = { .srcMemoryType = type_of(m),
                               .srcHost = (void *)m->at,
                               .srcDevice = m->at,
                               .srcPitch = 256,
                               .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                               .dstArray = array,
                               .WidthInBytes = ROW,
                               .Height = ROWS };
    const CUDA_MEMCPY2D out = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = array,
                                .dstMemoryType = type_of(m),
                                .dstHost = (void *)m->at,
                                .dstDevice = m->at,
                                .dstPitch = 256,
                                .WidthInBytes = ROW,
                                .Height = ROWS };
    tell(cuMemcpy2D(&in), "cuMemcpy2D, %s to an array", m->name);
    tell(cuMemcpy2DAsync(&out, blocking), "cuMemcpy2DAsync, an array to %s", m->name);
}

static void pieces_of_arrays(void)
{
    const CUDA_MEMCPY2D between = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                    .srcArray = array,
                                    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                    .dstArray = other_array,
                                    .WidthInBytes = ROW,
                                    .Height = ROWS };
    void *pageable = (void *)memory[PAGEABLE].at, *pinned = (void *)memory[PINNED].at;
    tell(cuMemcpy2D(&between), "cuMemcpy2D, an array to an array");
    tell(cuMemcpyHtoA(line, 0, pageable, ROW), "cuMemcpyHtoA");
    tell(cuMemcpyHtoAAsync(line, 0, pinned, ROW, blocking), "cuMemcpyHtoAAsync");
    tell(cuMemcpyAtoH(pageable, line, 0, ROW), "cuMemcpyAtoH");
    tell(cuMemcpyAtoHAsync(pinned, line, 0, ROW, apart), "cuMemcpyAtoHAsync");
    tell(cuMemcpyAtoD(memory[DEVICE].at, line, 0, ROW), "cuMemcpyAtoD");
    tell(cuMemcpyDtoA(line, 0, memory[DEVICE].at, ROW), "cuMemcpyDtoA");
    tell(cuMemcpyAtoA(line, 200, line, 0, ROW), "cuMemcpyAtoA");
}

static void of_size(size_t n)
{
    const CUdeviceptr d = memory[DEVICE].at, m = memory[MANAGED].at;
    void *pageable = (void *)memory[PAGEABLE].at, *pinned = (void *)memory[PINNED].at;
    tell(cuMemcpyHtoD(d, pageable, n), "cuMemcpyHtoD, pageable, %zu bytes", n);
    tell(cuMemcpyHtoDAsync(d, pageable, n, blocking), "cuMemcpyHtoDAsync, pageable, %zu bytes", n);
    tell(cuMemcpyDtoH(pageable, d, n), "cuMemcpyDtoH, pageable, %zu bytes", n);
    tell(cuMemcpyHtoD(d, pinned, n), "cuMemcpyHtoD, pinned, %zu bytes", n);
    tell(cuMemcpyHtoDAsync(d, pinned, n, apart), "cuMemcpyHtoDAsync, pinned, %zu bytes", n);
    tell(cuMemcpyDtoH(pinned, d, n), "cuMemcpyDtoH, pinned, %zu bytes", n);
    tell(cuMemcpyHtoD(m, pinned, n), "cuMemcpyHtoD to managed memory, %zu bytes", n);
    tell(cuMemcpyHtoD(d, (void *)m, n), "cuMemcpyHtoD from managed memory, %zu bytes", n);
    tell(cuMemcpyDtoH((void *)m, d, n), "cuMemcpyDtoH to managed memory, %zu bytes", n);
    tell(cuMemcpyDtoD(d, memory[AGAIN].at, n), "cuMemcpyDtoD, %zu bytes", n);
    tell(cuMemsetD8(d, 7, n), "cuMemsetD8, %zu bytes", n);
    tell(cuMemsetD32Async(d, 0x12345678, n / 4, apart), "cuMemsetD32Async, %zu words", n / 4);
    tell(cuMemsetD16(m, 0xabcd, n / 2), "cuMemsetD16 of managed memory, %zu words", n / 2);
}

static void fills(const struct memory *m)
{
    tell(cuMemsetD8(m->at, 0x81, 1000), "cuMemsetD8, %s", m->name);
    tell(cuMemsetD8Async(m->at, 0x81, 1000, blocking), "cuMemsetD8Async, %s", m->name);
    tell(cuMemsetD2D32(m->at, 512, 0x81, 20, ROWS), "cuMemsetD2D32, %s", m->name);
    tell(cuMemsetD2D8Async(m->at, 512, 0x81, 512, ROWS, apart), "cuMemsetD2D8Async of whole rows, %s", m->name);
}

static void other_calls(void)
{
    const CUdeviceptr d = memory[DEVICE].at, e = memory[AGAIN].at;
    const CUDA_MEMCPY3D_PEER rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                      .srcDevice = e,
                                      .srcContext = context,
                                      .srcPitch = 128,
                                      .srcHeight = 2,
                                      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                      .dstDevice = d,
                                      .dstContext = context,
                                      .dstPitch = 128,
                                      .dstHeight = 2,
                                      .WidthInBytes = ROW,
                                      .Height = 2,
                                      .Depth = 2 };
    tell(cuMemcpyPeer(d, context, e, context, 1000), "cuMemcpyPeer within a device");
    tell(cuMemcpyPeerAsync(d, context, e, context, 1000, blocking), "cuMemcpyPeerAsync within a device");
    tell(cuMemcpy3DPeer(&rows), "cuMemcpy3DPeer within a device");
    tell(cuMemsetD8Async(d, 1, 10, CU_STREAM_LEGACY), "cuMemsetD8Async in the legacy stream");
    tell(cuMemsetD8Async(d, 1, 10, CU_STREAM_PER_THREAD), "cuMemsetD8Async in the thread's stream");
    tell(cuMemcpyDtoH((void *)memory[PAGEABLE].at, 16, 4), "cuMemcpyDtoH of nothing");
    tell(cuStreamWriteValue32(blocking, d, 1, 0), "cuStreamWriteValue32");
    REQUIRE(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMCPY));
    tell(cuMemcpyDtoD(d, e, ROW), "cuMemcpyDtoD, copies disabled");
    REQUIRE(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
    tell(cuMemsetD8(d, 1, ROW), "cuMemsetD8, memsets disabled");
    REQUIRE(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
    tell(cuMemsetD8(d, 1, ROW), "cuMemsetD8, copies enabled again");
    tell(cuMemcpyDtoD(d, e, ROW), "cuMemcpyDtoD, copies enabled again");
}

int main(void)
{
    static const size_t sizes[] = { 0, 1, 64, 1024, 1025, 4096, 24576, 24577, 65535, 65536, 65537, 1 << 20, (2 << 20) + 1, BYTES };
    begin_records(tell_record);
    make_memory();
    REQUIRE(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
    REQUIRE(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
    for (int f = 0; f < MEMORIES; f++)
        for (int t = 0; t < MEMORIES; t++)
            if (f != t) {
                linear(&memory[f], &memory[t]);
                rows(&memory[f], &memory[t]);
            }
    for (int k = 0; k < MEMORIES; k++) arrays(&memory[k]);
    pieces_of_arrays();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) of_size(sizes[k]);
    for (int k = 0; k < MEMORIES; k++) fills(&memory[k]);
    other_calls();
    return 0;
}
