/* Copies of boxes drawn at random: between memory of the host, of the device and
 * arrays, whole or in part, against the same copies by the CPU. */
#include "runtime_rig.h"
#include "../draw.h"

#include <stdlib.h>

enum { ROUNDS = 400, LONGEST = 9, ELEMENT = 4, ROOM = 16 << 10 };

enum place { HOST, DEVICE, ARRAY, PLACES };

/* One side: its real contents and what they should be, as rows of slices without gaps but for the pitch. */
struct side {
    enum place place;
    struct cudaExtent size; /* width in elements */
    size_t pitch;
    cudaArray_t array;
    unsigned char *bytes; /* of the host or the device */
    unsigned char model[ROOM];
};

static void fill_model(struct side *s)
{
    for (size_t k = 0; k < ROOM; k++) s->model[k] = (unsigned char)draw(256);
}

/* The whole side, from the model or to bytes. */
static void whole(struct side *s, unsigned char *other, bool in)
{
    const size_t size = s->pitch * s->size.height * s->size.depth;
    if (s->place != ARRAY) {
        OK(in ? cudaMemcpy(s->bytes, other, size, cudaMemcpyDefault)
              : cudaMemcpy(other, s->bytes, size, cudaMemcpyDefault));
        return;
    }
    const struct cudaPitchedPtr p = { other, s->pitch, s->size.width, s->size.height };
    struct cudaMemcpy3DParms c = { .extent = s->size, .kind = cudaMemcpyDefault };
    if (in) {
        c.srcPtr = p;
        c.dstArray = s->array;
    } else {
        c.srcArray = s->array;
        c.dstPtr = p;
    }
    OK(cudaMemcpy3D(&c));
}

static void make(struct side *s)
{
    const struct cudaChannelFormatDesc format = cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindSigned);
    s->place = (enum place)draw(PLACES);
    s->size = (struct cudaExtent){ 1 + draw(LONGEST), 1 + draw(LONGEST), 1 + draw(LONGEST) };
    s->pitch = s->size.width * ELEMENT + (s->place == ARRAY ? 0 : draw(5));
    fill_model(s);
    s->bytes = NULL;
    if (s->place == ARRAY)
        OK(cudaMalloc3DArray(&s->array, &format, s->size, cudaArrayDefault));
    else if (s->place == DEVICE)
        OK(cudaMalloc((void **)&s->bytes, ROOM));
    else
        assert_non_null(s->bytes = malloc(ROOM));
    whole(s, s->model, true);
}

static void end(struct side *s)
{
    if (s->place == ARRAY)
        OK(cudaFreeArray(s->array));
    else if (s->place == DEVICE)
        OK(cudaFree(s->bytes));
    else
        free(s->bytes);
}

/* By the CPU: x and width in bytes. */
static void copy_model(struct side *to, struct cudaPos at, const struct side *from, struct cudaPos start,
                       struct cudaExtent box)
{
    for (size_t z = 0; z < box.depth; z++)
        for (size_t y = 0; y < box.height; y++)
            memcpy(to->model + ((at.z + z) * to->size.height + at.y + y) * to->pitch + at.x,
                   from->model + ((start.z + z) * from->size.height + start.y + y) * from->pitch + start.x, box.width);
}

static uint32_t smaller(size_t a, size_t b) { return (uint32_t)(a < b ? a : b); }

/* Where a part of a whole begins. */
static size_t gap(size_t whole, size_t part) { return draw((uint32_t)(whole - part + 1)); }

static void check(struct side *s)
{
    static unsigned char saw[ROOM];
    whole(s, saw, false);
    assert_memory_equal(saw, s->model, s->pitch * s->size.height * s->size.depth);
}

static enum cudaMemcpyKind kind_of(const struct side *to, const struct side *from)
{
    if (draw(2)) return cudaMemcpyDefault;
    if (from->place == HOST) return to->place == HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to->place == HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

static void one_round(void)
{
    static struct side to, from;
    make(&to);
    make(&from);
    const struct cudaExtent box = { 1 + draw(smaller(to.size.width, from.size.width)),
                                    1 + draw(smaller(to.size.height, from.size.height)),
                                    1 + draw(smaller(to.size.depth, from.size.depth)) };
    struct cudaPos at = { gap(to.size.width, box.width), gap(to.size.height, box.height),
                          gap(to.size.depth, box.depth) };
    struct cudaPos start = { gap(from.size.width, box.width), gap(from.size.height, box.height),
                             gap(from.size.depth, box.depth) };
    const struct cudaPos at_bytes = { at.x * ELEMENT, at.y, at.z },
                         start_bytes = { start.x * ELEMENT, start.y, start.z };
    const bool elements = to.place == ARRAY || from.place == ARRAY;
    struct cudaMemcpy3DParms c = { .extent = { box.width * (elements ? 1 : ELEMENT), box.height, box.depth },
                                   .dstPos = to.place == ARRAY ? at : at_bytes,
                                   .srcPos = from.place == ARRAY ? start : start_bytes,
                                   .kind = kind_of(&to, &from) };
    if (to.place == ARRAY)
        c.dstArray = to.array;
    else
        c.dstPtr = (struct cudaPitchedPtr){ to.bytes, to.pitch, to.size.width, to.size.height };
    if (from.place == ARRAY)
        c.srcArray = from.array;
    else
        c.srcPtr = (struct cudaPitchedPtr){ from.bytes, from.pitch, from.size.width, from.size.height };
    OK(draw(2) ? cudaMemcpy3D(&c) : cudaMemcpy3DAsync(&c, NULL));
    OK(cudaStreamSynchronize(NULL));
    copy_model(&to, at_bytes, &from, start_bytes, (struct cudaExtent){ box.width * ELEMENT, box.height, box.depth });
    check(&to);
    check(&from);
    end(&to);
    end(&from);
}

static void any_box_goes_into_any_other(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) one_round();
}

/* ---- sizes that wrap around ---- */

static unsigned char byte_at(const char *p)
{
    unsigned char byte;
    OK(cudaMemcpy(&byte, p, 1, cudaMemcpyDeviceToHost));
    return byte;
}

static void a_box_too_large_to_be_counted_is_refused(void **state)
{
    (void)state;
    const size_t vast = 1ul << 62;
    const struct cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    struct cudaMemcpy3DParms c = { .extent = { vast, 1, 1 }, .kind = cudaMemcpyDeviceToDevice };
    char *p;
    OK(cudaMalloc((void **)&p, ROOM));
    OK(cudaMallocArray(&c.dstArray, &format, 16, 16, cudaArrayDefault));
    c.srcPtr.ptr = p;
    FAILS(cudaMemcpy3D(&c), cudaErrorInvalidValue); /* elements */
    c.extent.width = 1;
    c.dstPos.x = vast;
    FAILS(cudaMemcpy3D(&c), cudaErrorInvalidValue);
    OK(cudaFreeArray(c.dstArray));
    c.dstArray = NULL;
    c.dstPtr = (struct cudaPitchedPtr){ p + ROOM / 2, 64, 64, 64 };
    c.srcPtr = (struct cudaPitchedPtr){ p, 64, 64, 64 };
    c.dstPos = (struct cudaPos){ SIZE_MAX, 1, 0 }; /* before the row */
    FAILS(cudaMemcpy3D(&c), cudaErrorInvalidValue);
    c.dstPos = (struct cudaPos){ 0, SIZE_MAX, 0 };
    FAILS(cudaMemcpy3D(&c), cudaErrorInvalidValue);
    OK(cudaFree(p));
}

static void a_fill_too_large_changes_nothing(void **state)
{
    (void)state;
    char *p;
    OK(cudaMalloc((void **)&p, ROOM));
    OK(cudaMemset(p, 1, ROOM));
    struct cudaPitchedPtr whole = { p, 64, 64, 16 };
    FAILS(cudaMemset3D(whole, 2, (struct cudaExtent){ 8, 8, 1ul << 40 }), cudaErrorInvalidValue);
    FAILS(cudaMemset3D(whole, 2, (struct cudaExtent){ 8, 16, SIZE_MAX / 8 }), cudaErrorInvalidValue);
    FAILS(cudaMemset3DAsync(whole, 2, (struct cudaExtent){ 65, 8, 2 }, NULL), cudaErrorInvalidValue);
    whole.ysize = 1ul << 58;
    FAILS(cudaMemset3D(whole, 2, (struct cudaExtent){ 8, 8, 2 }), cudaErrorInvalidValue);
    assert_int_equal(byte_at(p), 1);
    whole.ysize = 16;
    OK(cudaMemset3D(whole, 3, (struct cudaExtent){ 8, 8, 3 }));
    assert_int_equal(byte_at(p), 3);
    assert_int_equal(byte_at(p + 8), 1);
    assert_int_equal(byte_at(p + 64 * 7), 3);
    assert_int_equal(byte_at(p + 64 * 8), 1);
    assert_int_equal(byte_at(p + 64 * (16 * 2 + 7) + 7), 3);
    assert_int_equal(byte_at(p + 64 * 16 * 3), 1);
    OK(cudaFree(p));
}

static void bytes_in_a_row_beyond_an_array_change_nothing(void **state)
{
    (void)state;
    enum { ROW = 16, ROWS = 4 };
    const struct cudaChannelFormatDesc format = cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
    unsigned char bytes[ROW * ROWS + 1], back[ROW * ROWS];
    cudaArray_t array;
    memset(bytes, 1, sizeof bytes);
    OK(cudaMallocArray(&array, &format, ROW, ROWS, cudaArrayDefault));
    OK(cudaMemcpyToArray(array, 0, 0, bytes, ROW * ROWS, cudaMemcpyHostToDevice));
    memset(bytes, 2, sizeof bytes);
    FAILS(cudaMemcpyToArray(array, 0, 0, bytes, ROW * ROWS + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpyToArray(array, 3, 1, bytes, ROW * 3 - 2, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemcpyToArray(array, 0, ROWS, bytes, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaMemcpyFromArray(back, array, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    for (size_t k = 0; k < sizeof back; k++) assert_int_equal(back[k], 1);
    OK(cudaMemcpyToArray(array, 3, 1, bytes, ROW * 3 - 3, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromArray(back, array, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    for (size_t k = 0; k < sizeof back; k++) assert_int_equal(back[k], k < ROW + 3 ? 1 : 2);
    OK(cudaFreeArray(array));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_box_goes_into_any_other),
        cmocka_unit_test(a_box_too_large_to_be_counted_is_refused),
        cmocka_unit_test(a_fill_too_large_changes_nothing),
        cmocka_unit_test(bytes_in_a_row_beyond_an_array_change_nothing),
    };
    return cmocka_run_group_tests_name("boxes of the runtime", tests, NULL, NULL);
}
