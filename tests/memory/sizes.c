/* Sizes, offsets and pitches drawn at random, many of which wrap around when they are added or multiplied: a call
 * that succeeds is one whose range fits, and the device is there in the end.
 * usage: sizes [rounds] [seed] */
#include "../check.h"
#include "../draw.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { BYTES = 4 << 20, ELEMENT = 8, WIDTH = 16, HEIGHT = 8, DEPTH = 4 };

typedef unsigned __int128 wide;

static CUdeviceptr device, managed, reserved;
static CUmemGenericAllocationHandle handle;
static CUarray volume;
static CUstream stream;
static const CUmemLocation here = { CU_MEM_LOCATION_TYPE_DEVICE, 0 };

static size_t size(void)
{
    static const size_t sizes[] = { 0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    16,
                                    64,
                                    256,
                                    4096,
                                    65536,
                                    2 << 20,
                                    4 << 20,
                                    0x7fffffff,
                                    0xffffffff,
                                    1ul << 32,
                                    1ul << 40,
                                    1ul << 47,
                                    1ul << 60,
                                    1ul << 62,
                                    1ul << 63,
                                    SIZE_MAX / 3,
                                    SIZE_MAX / 4 + 1,
                                    SIZE_MAX - (2 << 20) + 1,
                                    SIZE_MAX - 4095,
                                    SIZE_MAX - 1,
                                    SIZE_MAX };
    return sizes[draw(3) ? draw(12) : draw(sizeof sizes / sizeof *sizes)];
}

/* What succeeded has to fit. */
static void must_fit(CUresult r, bool fits, const char *call)
{
    if (!r && !fits) check_failed(call, "succeeded, and does not fit", __FILE__, __LINE__);
}
#define FITS(call, fits) \
    do { \
        const CUresult answer = call; \
        must_fit(answer, fits, #call); \
    } while (0)

static bool within(size_t start, size_t length, size_t end) { return (wide)start + length <= end; }

/* Of managed memory, ranges that wrap around are of one page or none, as on an H200 (tests/conformance/more/cases_ranges.c). */
static bool within_managed(size_t start, size_t length)
{
    return within(start, length, BYTES) || (start < BYTES && managed + start + length < managed + start);
}

/* ---- ranges of memory */

static void ranges(void)
{
    size_t at = size(), n = size(), index = 0;
    int value;
    CUdeviceptr start = managed + at;
    CUmemLocation to = here;
    FITS(cuMemAdvise(start, n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, to), within_managed(at, n));
    FITS(cuMemPrefetchAsync(start, n, to, 0, stream), within_managed(at, n));
    FITS(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, start, n), within_managed(at, n));
    FITS(cuMemPrefetchBatchAsync(&start, &n, 1, &to, &index, 1, 0, stream), within_managed(at, n));
    FITS(cuMemDiscardBatchAsync(&start, &n, 1, 0, stream), within_managed(at, n));
    at %= BYTES;
    FITS(cuMemsetD8Async(device + at, 1, n, stream), within(at, n, BYTES));
    FITS(cuMemcpyDtoDAsync(device, managed + at, n, stream), within(at, n, BYTES));
}

/* ---- allocations */

static void allocations(void)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };
    const size_t n = size(), rows = size(), most = 1ul << 44;
    CUmemGenericAllocationHandle h;
    CUdeviceptr p;
    size_t pitch;
    CUresult r = cuMemAlloc(&p, n);
    FITS(r, n && n < most);
    if (!r) CHECK(cuMemFree(p));
    FITS(r = cuMemAllocAsync(&p, n, stream), n < most);
    if (!r) CHECK(cuMemFreeAsync(p, stream));
    FITS(r = cuMemAllocManaged(&p, n, CU_MEM_ATTACH_GLOBAL), n && n < most);
    if (!r) CHECK(cuMemFree(p));
    FITS(r = cuMemAllocPitch(&p, &pitch, n, rows, 4), pitch >= n && (wide)pitch * rows < most);
    if (!r) CHECK(cuMemFree(p));
    FITS(r = cuMemCreate(&h, n, &prop, 0), n && n < most);
    if (!r) CHECK(cuMemRelease(h));
    FITS(r = cuMemAddressReserve(&p, n, 0, 0, 0), n && n <= most);
    if (!r) CHECK(cuMemAddressFree(p, n));
}

static void mappings(void)
{
    const CUmemAccessDesc access = { here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    const size_t at = size(), n = size(), offset = size();
    CUresult r = cuMemMap(reserved + at, n, offset, handle, 0);
    FITS(r, within(at, n, 2 * BYTES) && within(offset, n, BYTES));
    if (r) return;
    CHECK(cuMemSetAccess(reserved + at, n, &access, 1));
    CHECK(cuMemUnmap(reserved + at, n));
}

/* ---- rows and boxes */

static void rows(void)
{
    const size_t pitch = size(), width = size(), height = size();
    const bool none = !width || !height;
    const wide end = none ? 0 : (wide)(pitch ? pitch : width) * (height - 1) + width;
    FITS(cuMemsetD2D8Async(device, pitch, 1, width, height, stream), none || end <= BYTES);
    const CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = managed,
                              .srcPitch = pitch,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstDevice = device,
                              .dstPitch = pitch,
                              .WidthInBytes = width,
                              .Height = height };
    FITS(cuMemcpy2DAsync(&c, stream), none || end <= BYTES);
}

static void boxes(void)
{
    const CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .srcDevice = device,
                              .srcXInBytes = size(),
                              .srcPitch = size(),
                              .srcHeight = size(),
                              .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                              .dstArray = volume,
                              .dstXInBytes = size(),
                              .dstY = size(),
                              .dstZ = size(),
                              .WidthInBytes = size(),
                              .Height = size(),
                              .Depth = size() };
    const bool none = !c.WidthInBytes || !c.Height || !c.Depth;
    const bool inside = within(c.dstXInBytes, c.WidthInBytes, WIDTH * ELEMENT) && within(c.dstY, c.Height, HEIGHT) &&
                        within(c.dstZ, c.Depth, DEPTH);
    const size_t row = c.srcPitch ? c.srcPitch : c.srcXInBytes + c.WidthInBytes;
    FITS(cuMemcpy3DAsync(&c, stream), none || (inside && within(c.srcXInBytes, c.WidthInBytes, row)));
}

static void set_up(void)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };
    const CUDA_ARRAY3D_DESCRIPTOR shape = { WIDTH, HEIGHT, DEPTH, CU_AD_FORMAT_FLOAT, 2, 0 };
    check_context();
    CHECK(cuMemAlloc(&device, BYTES));
    CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemCreate(&handle, BYTES, &prop, 0));
    CHECK(cuMemAddressReserve(&reserved, 2 * BYTES, 0, 0, 0));
    CHECK(cuArray3DCreate(&volume, &shape));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

/* Its page is not the range's alone. */
static void a_range_that_wraps_around_discards_nothing(void)
{
    char *page = (char *)managed;
    CUdeviceptr start = managed + 8;
    size_t n = SIZE_MAX;
    for (int k = 0; k < 4096; k++) page[k] = 7;
    CHECK(cuMemDiscardBatchAsync(&start, &n, 1, 0, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int k = 0; k < 4096; k++) EXPECT(page[k] == 7);
}

int main(int argc, char **argv)
{
    static void (*const deeds[])(void) = { ranges, allocations, mappings, rows, boxes };
    const long rounds = argc > 1 ? atol(argv[1]) : 5000;
    draw_state = argc > 2 ? strtoull(argv[2], NULL, 0) * 77 + 1 : 1;
    set_up();
    a_range_that_wraps_around_discards_nothing();
    for (long k = 0; k < rounds; k++) {
        deeds[draw(sizeof deeds / sizeof *deeds)]();
        if (k % 100 == 0) CHECK(cuStreamSynchronize(stream));
    }
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuCtxSynchronize());
    return 0;
}
