/* The runtime's memory chapters where the data counts: copies and fills of all
 * shapes, arrays, what addresses are of. What a GPU answers to questions is
 * recorded elsewhere; this program needs no toolkit. */
#include "runtime_rig.h"

#include <stdlib.h>

enum { BYTES = 4096 };

static unsigned char *pattern(unsigned seed)
{
    static unsigned char bytes[BYTES];
    for (unsigned k = 0; k < BYTES; k++) bytes[k] = (unsigned char)(k * 7 + (k >> 8) + seed);
    return bytes;
}

/* ---- Copies of bytes in a row */

enum { DEVICE, PINNED, MANAGED, ASYNC, PAGEABLE, KINDS };

static void *allocate(int kind)
{
    void *p = NULL;
    switch (kind) {
    case DEVICE: OK(cudaMalloc(&p, BYTES)); break;
    case PINNED: OK(cudaMallocHost(&p, BYTES)); break;
    case MANAGED: OK(cudaMallocManaged(&p, BYTES, cudaMemAttachGlobal)); break;
    case ASYNC: OK(cudaMallocAsync(&p, BYTES, cudaStreamLegacy)); break;
    case PAGEABLE: assert_non_null(p = malloc(BYTES)); break;
    }
    return p;
}

static void release(int kind, void *p)
{
    if (kind == PINNED)
        OK(cudaFreeHost(p));
    else if (kind == PAGEABLE)
        free(p);
    else
        OK(cudaFree(p));
}

static void copies_by_default_go_between_any_two_kinds_of_memory(void **state)
{
    (void)state;
    unsigned char back[BYTES];
    for (int to = 0; to < KINDS; to++)
        for (int from = 0; from < KINDS; from++) {
            void *a = allocate(to), *b = allocate(from);
            OK(cudaMemcpy(b, pattern((unsigned)(to * KINDS + from)), BYTES, cudaMemcpyDefault));
            OK(cudaMemcpy(a, b, BYTES, cudaMemcpyDefault));
            OK(cudaMemcpy(back, a, BYTES, cudaMemcpyDefault));
            assert_memory_equal(back, pattern((unsigned)(to * KINDS + from)), BYTES);
            release(to, a);
            release(from, b);
        }
}

static void kinds_of_copies_are_checked_against_the_addresses(void **state)
{
    (void)state;
    char host[64] = "host", other[64];
    void *device = allocate(DEVICE);
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(other, device, sizeof other, cudaMemcpyDeviceToHost));
    assert_string_equal(other, "host");
    FAILS(cudaMemcpy(host, device, sizeof host, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(device, host, sizeof host, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(device, host, sizeof host, (enum cudaMemcpyKind)5), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpyAsync(device, host, sizeof host, (enum cudaMemcpyKind) - 1, NULL), cudaErrorInvalidMemcpyDirection);
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    OK(cudaFree(device));
}

/* ---- Rows and boxes */

static void copies_of_rows_leave_what_lies_between_them(void **state)
{
    (void)state;
    enum { WIDTH = 33, HEIGHT = 5, PITCH = 50 };
    unsigned char back[PITCH * HEIGHT];
    void *rows;
    size_t pitch;
    OK(cudaMallocPitch(&rows, &pitch, WIDTH, HEIGHT));
    assert_true(pitch >= WIDTH && pitch % 32 == 0);
    OK(cudaMemcpy2D(rows, pitch, pattern(3), PITCH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    memset(back, 0xee, sizeof back);
    OK(cudaMemcpy2DAsync(back, PITCH, rows, pitch, WIDTH, HEIGHT, cudaMemcpyDefault, NULL));
    OK(cudaStreamSynchronize(NULL));
    for (size_t k = 0; k < sizeof back; k++) assert_int_equal(back[k], k % PITCH < WIDTH ? pattern(3)[k] : 0xee);
    FAILS(cudaMemcpy2D(rows, pitch, back, WIDTH - 1, WIDTH, HEIGHT, cudaMemcpyHostToDevice),
          cudaErrorInvalidPitchValue);
    OK(cudaMemcpy2D(rows, 0, back, 0, WIDTH, 0, cudaMemcpyHostToDevice));
    OK(cudaFree(rows));
}

static void a_box_goes_into_a_box(void **state)
{
    (void)state;
    enum { WIDTH = 16, HEIGHT = 8, DEPTH = 4 };
    static unsigned char back[WIDTH * HEIGHT * DEPTH];
    const struct cudaExtent whole = { WIDTH, HEIGHT, DEPTH };
    struct cudaMemcpy3DParms in = { .srcPtr = { pattern(9), WIDTH, WIDTH, HEIGHT },
                                    .extent = whole,
                                    .kind = cudaMemcpyHostToDevice };
    OK(cudaMalloc3D(&in.dstPtr, whole));
    assert_int_equal(in.dstPtr.xsize, WIDTH);
    assert_int_equal(in.dstPtr.ysize, HEIGHT);
    OK(cudaMemcpy3D(&in));
    const struct cudaMemcpy3DParms out = { .srcPtr = in.dstPtr,
                                           .srcPos = { 3, 2, 1 },
                                           .dstPtr = { back, WIDTH, WIDTH, HEIGHT },
                                           .dstPos = { 1, 1, 2 },
                                           .extent = { 7, 5, 2 },
                                           .kind = cudaMemcpyDeviceToHost };
    memset(back, 0xee, sizeof back);
    OK(cudaMemcpy3D(&out));
    for (size_t z = 0; z < DEPTH; z++)
        for (size_t y = 0; y < HEIGHT; y++)
            for (size_t x = 0; x < WIDTH; x++) {
                const bool inside = x >= 1 && x < 8 && y >= 1 && y < 6 && z >= 2;
                const unsigned char *from = pattern(9) + ((z - 1) * HEIGHT + y + 1) * WIDTH + x + 2;
                assert_int_equal(back[(z * HEIGHT + y) * WIDTH + x], inside ? *from : 0xee);
            }
    OK(cudaFree(in.dstPtr.ptr));
}

static void fills_of_boxes_leave_what_lies_between_slices(void **state)
{
    (void)state;
    enum { WIDTH = 20, HEIGHT = 4, DEPTH = 3 };
    static unsigned char back[512 * HEIGHT * DEPTH];
    struct cudaPitchedPtr p;
    OK(cudaMalloc3D(&p, (struct cudaExtent){ WIDTH, HEIGHT, DEPTH }));
    assert_true(p.pitch * HEIGHT * DEPTH <= sizeof back);
    OK(cudaMemset(p.ptr, 1, p.pitch * HEIGHT * DEPTH));
    OK(cudaMemset3D(p, 0x102, (struct cudaExtent){ WIDTH - 1, HEIGHT - 2, DEPTH }));
    OK(cudaMemcpy(back, p.ptr, p.pitch * HEIGHT * DEPTH, cudaMemcpyDeviceToHost));
    for (size_t k = 0; k < p.pitch * HEIGHT * DEPTH; k++)
        assert_int_equal(back[k], k % p.pitch < WIDTH - 1 && k / p.pitch % HEIGHT < HEIGHT - 2 ? 2 : 1);
    OK(cudaMemset3DAsync(p, 3, (struct cudaExtent){ WIDTH, HEIGHT, DEPTH }, NULL));
    OK(cudaMemcpy(back, p.ptr, p.pitch * HEIGHT * DEPTH, cudaMemcpyDeviceToHost));
    for (size_t k = 0; k < p.pitch * HEIGHT * DEPTH; k++)
        assert_true(k % p.pitch >= WIDTH ? back[k] == 1 : back[k] == 3);
    OK(cudaFree(p.ptr));
}

/* ---- Arrays */

static void positions_in_arrays_count_elements(void **state)
{
    (void)state;
    enum { WIDTH = 8, HEIGHT = 6, DEPTH = 3 };
    const struct cudaChannelFormatDesc format = cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindUnsigned);
    static unsigned source[WIDTH * HEIGHT * DEPTH], back[WIDTH * HEIGHT * DEPTH];
    cudaArray_t array;
    OK(cudaMalloc3DArray(&array, &format, (struct cudaExtent){ WIDTH, HEIGHT, DEPTH }, cudaArrayDefault));
    for (unsigned k = 0; k < WIDTH * HEIGHT * DEPTH; k++) source[k] = k * 65537;
    const struct cudaMemcpy3DParms in = { .srcPtr = { source, WIDTH * 4, WIDTH, HEIGHT },
                                          .dstArray = array,
                                          .extent = { WIDTH, HEIGHT, DEPTH },
                                          .kind = cudaMemcpyHostToDevice };
    const struct cudaMemcpy3DParms out = { .srcArray = array,
                                           .srcPos = { 5, 3, 1 },
                                           .dstPtr = { back, 2 * 4, 2, 2 },
                                           .dstPos = { 0, 0, 0 },
                                           .extent = { 2, 2, 2 },
                                           .kind = cudaMemcpyDeviceToHost };
    OK(cudaMemcpy3D(&in));
    OK(cudaMemcpy3D(&out));
    for (unsigned k = 0; k < 8; k++)
        assert_int_equal(back[k], 65537 * (((k / 4 + 1) * HEIGHT + k / 2 % 2 + 3) * WIDTH + k % 2 + 5));
    struct cudaMemcpy3DParms wrong = out;
    wrong.kind = cudaMemcpyHostToDevice;
    FAILS(cudaMemcpy3D(&wrong), cudaErrorInvalidMemcpyDirection);
    wrong = out;
    wrong.dstArray = array;
    FAILS(cudaMemcpy3D(&wrong), cudaErrorInvalidValue);
    OK(cudaFreeArray(array));
}

static void copies_in_a_row_go_on_in_the_next_row_of_an_array(void **state)
{
    (void)state;
    enum { WIDTH = 10, HEIGHT = 7 };
    const struct cudaChannelFormatDesc bytes = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t a, b;
    unsigned char back[WIDTH * HEIGHT];
    OK(cudaMallocArray(&a, &bytes, WIDTH, HEIGHT, cudaArrayDefault));
    OK(cudaMallocArray(&b, &bytes, WIDTH - 3, 2 * HEIGHT, cudaArrayDefault));
    OK(cudaMemcpy2DToArray(a, 0, 0, pattern(1), WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToArray(a, 7, 1, pattern(50), 38, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(back, a, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    for (unsigned k = 0; k < sizeof back; k++)
        assert_int_equal(back[k], k >= 17 && k < 55 ? pattern(50)[k - 17] : pattern(1)[k]);
    OK(cudaMemcpyArrayToArray(b, 2, 1, a, 7, 1, 38, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArrayAsync(back, b, 2, 1, 38, cudaMemcpyDeviceToHost, NULL));
    OK(cudaStreamSynchronize(NULL));
    assert_memory_equal(back, pattern(50), 38);
    FAILS(cudaMemcpyToArray(a, 1, 0, pattern(1), WIDTH * HEIGHT, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
}

static void formats_of_arrays_come_back(void **state)
{
    (void)state;
    static const struct cudaChannelFormatDesc good[] = { { 8, 8, 8, 8, cudaChannelFormatKindUnsigned },
                                                         { 32, 0, 0, 0, cudaChannelFormatKindFloat },
                                                         { 16, 16, 0, 0, cudaChannelFormatKindSigned },
                                                         { 16, 0, 0, 0, cudaChannelFormatKindFloat },
                                                         { 8, 8, 0, 0, cudaChannelFormatKindUnsignedNormalized8X2 } };
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        struct cudaChannelFormatDesc desc;
        struct cudaExtent extent;
        unsigned flags;
        cudaArray_t array;
        OK(cudaMallocArray(&array, &good[k], 24, 10, cudaArraySurfaceLoadStore));
        OK(cudaArrayGetInfo(&desc, &extent, &flags, array));
        assert_memory_equal(&desc, &good[k], sizeof desc);
        assert_true(extent.width == 24 && extent.height == 10 && extent.depth == 0);
        assert_int_equal(flags, cudaArraySurfaceLoadStore);
        OK(cudaFreeArray(array));
    }
}

/* ---- Addresses */

static void addresses_tell_what_they_are_of(void **state)
{
    (void)state;
    static const enum cudaMemoryType types[KINDS] = { cudaMemoryTypeDevice, cudaMemoryTypeHost, cudaMemoryTypeManaged,
                                                      cudaMemoryTypeDevice, cudaMemoryTypeUnregistered };
    for (int k = 0; k < KINDS; k++) {
        struct cudaPointerAttributes a;
        char *p = allocate(k), *inside = p + 100;
        OK(cudaPointerGetAttributes(&a, inside));
        assert_int_equal(a.type, types[k]);
        assert_int_equal(a.device, k == PAGEABLE ? cudaInvalidDeviceId : 0);
        assert_ptr_equal(a.devicePointer, k == PAGEABLE ? NULL : inside);
        assert_ptr_equal(a.hostPointer, k == DEVICE || k == ASYNC ? NULL : inside);
        release(k, p);
    }
}

static void nothing_is_allocated_for_a_size_of_0(void **state)
{
    (void)state;
    size_t pitch = 1;
    void *p = &p;
    OK(cudaMalloc(&p, 0));
    assert_null(p);
    p = &p;
    OK(cudaMallocHost(&p, 0));
    assert_null(p);
    p = &p;
    OK(cudaMallocPitch(&p, &pitch, 10, 0));
    assert_null(p);
    OK(cudaFree(NULL));
    OK(cudaFreeHost(NULL));
    OK(cudaFreeArray(NULL));
    p = &p;
    OK(cudaMallocManaged(&p, 0, cudaMemAttachGlobal));
    assert_null(p);
    p = &p;
    FAILS(cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_by_default_go_between_any_two_kinds_of_memory),
        cmocka_unit_test(kinds_of_copies_are_checked_against_the_addresses),
        cmocka_unit_test(copies_of_rows_leave_what_lies_between_them),
        cmocka_unit_test(a_box_goes_into_a_box),
        cmocka_unit_test(fills_of_boxes_leave_what_lies_between_slices),
        cmocka_unit_test(positions_in_arrays_count_elements),
        cmocka_unit_test(copies_in_a_row_go_on_in_the_next_row_of_an_array),
        cmocka_unit_test(formats_of_arrays_come_back),
        cmocka_unit_test(addresses_tell_what_they_are_of),
        cmocka_unit_test(nothing_is_allocated_for_a_size_of_0),
    };
    return cmocka_run_group_tests_name("the runtime's memory", tests, NULL, NULL);
}
