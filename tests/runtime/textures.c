/* Kernels read textures and write surfaces as is computed here: address modes,
 * mixing, formats, layers. The kernels are PTX, loaded while the program runs. */
#include "runtime_rig.h"

#include <math.h>

static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 t, .param .u64 at, .param .u64 out)\n{\n"
    "    .reg .b32 %r<4>;\n    .reg .f32 %f<8>;\n    .reg .b64 %d<6>;\n"
    "    ld.param.u64 %d0, [t];\n    ld.param.u64 %d1, [at];\n    ld.param.u64 %d2, [out];\n"
    "    mov.u32 %r0, %tid.x;\n    mul.wide.u32 %d3, %r0, 8;\n    add.u64 %d1, %d1, %d3;\n"
    "    ld.global.v2.f32 {%f0, %f1}, [%d1];\n"
    "    tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%d0, {%f0, %f1}];\n"
    "    mul.wide.u32 %d3, %r0, 4;\n    add.u64 %d2, %d2, %d3;\n    st.global.f32 [%d2], %f2;\n    ret;\n}\n"
    ".visible .entry integer(.param .u64 t, .param .u64 out)\n{\n"
    "    .reg .b32 %r<8>;\n    .reg .b64 %d<6>;\n"
    "    ld.param.u64 %d0, [t];\n    ld.param.u64 %d2, [out];\n    mov.u32 %r0, %tid.x;\n"
    "    tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [%d0, {%r0}];\n"
    "    mul.wide.u32 %d3, %r0, 16;\n    add.u64 %d2, %d2, %d3;\n"
    "    st.global.v4.u32 [%d2], {%r1, %r2, %r3, %r4};\n    ret;\n}\n"
    ".visible .entry fraction(.param .u64 t, .param .u64 out)\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .f32 %f<4>;\n    .reg .b64 %d<6>;\n"
    "    ld.param.u64 %d0, [t];\n    ld.param.u64 %d2, [out];\n    mov.u32 %r0, %tid.x;\n"
    "    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%d0, {%r0}];\n"
    "    mul.wide.u32 %d3, %r0, 16;\n    add.u64 %d2, %d2, %d3;\n"
    "    st.global.v4.f32 [%d2], {%f0, %f1, %f2, %f3};\n    ret;\n}\n"
    ".visible .entry layer(.param .u64 s, .param .u32 value)\n{\n"
    "    .reg .b32 %r<6>;\n    .reg .b64 %d<2>;\n"
    "    ld.param.u64 %d0, [s];\n    ld.param.u32 %r5, [value];\n    mov.u32 %r0, %tid.x;\n    shl.b32 %r1, %r0, 2;\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, 1;\n"
    "    suld.b.a2d.b32.zero {%r4}, [%d0, {%r2, %r1, %r3, %r3}];\n    add.u32 %r4, %r4, %r5;\n"
    "    sust.b.a2d.b32.clamp [%d0, {%r2, %r1, %r3, %r3}], {%r4};\n    ret;\n}\n";

enum { WIDTH = 13, HEIGHT = 7, POINTS = 64, LAYERS = 3 };

struct rig {
    cudaLibrary_t library;
    cudaKernel_t fetch, integer, fraction, layer;
    float host[HEIGHT][WIDTH];
    float (*at)[2], *out; /* managed */
};

static int set_up(void **state)
{
    static struct rig rig;
    *state = &rig;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) rig.host[y][x] = (float)(y * 100 + x * x);
    return cudaLibraryLoadData(&rig.library, code, NULL, NULL, 0, NULL, NULL, 0) ||
           cudaLibraryGetKernel(&rig.fetch, rig.library, "fetch") ||
           cudaLibraryGetKernel(&rig.integer, rig.library, "integer") ||
           cudaLibraryGetKernel(&rig.fraction, rig.library, "fraction") ||
           cudaLibraryGetKernel(&rig.layer, rig.library, "layer") ||
           cudaMallocManaged((void **)&rig.at, POINTS * sizeof *rig.at, cudaMemAttachGlobal) ||
           cudaMallocManaged((void **)&rig.out, POINTS * 4 * sizeof *rig.out, cudaMemAttachGlobal);
}

static int take_down(void **state)
{
    struct rig *rig = *state;
    return cudaFree(rig->at) || cudaFree(rig->out) || cudaLibraryUnload(rig->library);
}

/* ---- what is expected */

static int wrapped(enum cudaTextureAddressMode mode, int c, int n)
{
    if (mode == cudaAddressModeWrap) return (c % n + n) % n;
    if (mode == cudaAddressModeMirror) {
        int m = (c % (2 * n) + 2 * n) % (2 * n);
        return m < n ? m : 2 * n - 1 - m;
    }
    if (mode == cudaAddressModeClamp) return c < 0 ? 0 : c >= n ? n - 1 : c;
    return c >= 0 && c < n ? c : -1;
}

static float element(const struct rig *rig, const struct cudaTextureDesc *d, int x, int y)
{
    x = wrapped(d->addressMode[0], x, WIDTH);
    y = wrapped(d->addressMode[1], y, HEIGHT);
    return x < 0 || y < 0 ? d->borderColor[0] : rig->host[y][x];
}

static float expected(const struct rig *rig, const struct cudaTextureDesc *d, const float at[2])
{
    float x = d->normalizedCoords ? at[0] * WIDTH : at[0], y = d->normalizedCoords ? at[1] * HEIGHT : at[1];
    if (d->filterMode == cudaFilterModePoint) return element(rig, d, (int)floorf(x), (int)floorf(y));
    int i = (int)floorf(x - 0.5f), j = (int)floorf(y - 0.5f);
    /* parts of 256, whole ones */
    const int a = (int)rintf((x - 0.5f - (float)i) * 256), b = (int)rintf((y - 0.5f - (float)j) * 256);
    const int far = (a * b + 128) >> 8, right = a - far, below = b - far, here = 256 - a - below;
    return ((float)here * element(rig, d, i, j) + (float)right * element(rig, d, i + 1, j) +
            (float)below * element(rig, d, i, j + 1) + (float)far * element(rig, d, i + 1, j + 1)) /
           256;
}

static void compare(struct rig *rig, const struct cudaResourceDesc *r, const struct cudaTextureDesc *d)
{
    cudaTextureObject_t t;
    unsigned seed = 12345;
    OK(cudaCreateTextureObject(&t, r, d, NULL));
    for (int k = 0; k < POINTS; k++)
        for (int c = 0; c < 2; c++) {
            seed = seed * 1664525 + 1013904223;
            float u = (float)(seed >> 8) / (1 << 24) * 3 - 1; /* also beside the texture */
            rig->at[k][c] = d->normalizedCoords ? u : u * (c ? HEIGHT : WIDTH);
        }
    void *args[] = { &t, &rig->at, &rig->out };
    OK(cudaLaunchKernel(rig->fetch, (dim3){ 1, 1, 1 }, (dim3){ POINTS, 1, 1 }, args, 0, NULL));
    OK(cudaDeviceSynchronize());
    for (int k = 0; k < POINTS; k++) {
        float wanted = expected(rig, d, rig->at[k]);
        if (fabsf(rig->out[k] - wanted) > 1e-3f * (1 + fabsf(wanted)))
            fail_msg("modes %d %d filter %d at %g %g: %g, not %g", d->addressMode[0], d->addressMode[1], d->filterMode,
                     rig->at[k][0], rig->at[k][1], rig->out[k], wanted);
    }
    OK(cudaDestroyTextureObject(t));
}

static void all_address_modes_and_filters_of_an_array(void **state)
{
    struct rig *rig = *state;
    const struct cudaChannelFormatDesc format = { 32, 0, 0, 0, cudaChannelFormatKindFloat };
    struct cudaResourceDesc r = { .resType = cudaResourceTypeArray };
    cudaArray_t a;
    OK(cudaMallocArray(&a, &format, WIDTH, HEIGHT, 0));
    OK(cudaMemcpy2DToArray(a, 0, 0, rig->host, WIDTH * 4, WIDTH * 4, HEIGHT, cudaMemcpyHostToDevice));
    r.res.array.array = a;
    for (int mode = 0; mode < 16; mode++)
        for (int filter = 0; filter < 2; filter++) {
            struct cudaTextureDesc d = { .addressMode = { mode & 3, mode >> 2 },
                                         .filterMode = filter,
                                         .borderColor = { -7, 0, 0, 0 },
                                         .normalizedCoords = 1 };
            compare(rig, &r, &d);
        }
    OK(cudaFreeArray(a));
}

static void pitched_memory_is_a_texture_too(void **state)
{
    struct rig *rig = *state;
    struct cudaResourceDesc r = { .resType = cudaResourceTypePitch2D };
    const struct cudaTextureDesc d = { .addressMode = { cudaAddressModeClamp, cudaAddressModeBorder },
                                       .filterMode = cudaFilterModeLinear };
    OK(cudaMallocPitch(&r.res.pitch2D.devPtr, &r.res.pitch2D.pitchInBytes, WIDTH * 4, HEIGHT));
    OK(cudaMemcpy2D(r.res.pitch2D.devPtr, r.res.pitch2D.pitchInBytes, rig->host, WIDTH * 4, WIDTH * 4, HEIGHT,
                    cudaMemcpyHostToDevice));
    r.res.pitch2D.desc = (struct cudaChannelFormatDesc){ 32, 0, 0, 0, cudaChannelFormatKindFloat };
    r.res.pitch2D.width = WIDTH;
    r.res.pitch2D.height = HEIGHT;
    compare(rig, &r, &d);
    OK(cudaFree(r.res.pitch2D.devPtr));
}

static void integers_in_linear_memory_are_read_as_they_are_or_as_fractions(void **state)
{
    struct rig *rig = *state;
    static const int8_t host[8][4] = { { -128, -127, -1, 0 }, { 1, 2, 126, 127 } };
    struct cudaResourceDesc r = { .resType = cudaResourceTypeLinear };
    struct cudaTextureDesc d = { .readMode = cudaReadModeElementType };
    cudaTextureObject_t t;
    OK(cudaMalloc(&r.res.linear.devPtr, sizeof host));
    OK(cudaMemcpy(r.res.linear.devPtr, host, sizeof host, cudaMemcpyHostToDevice));
    r.res.linear.desc = (struct cudaChannelFormatDesc){ 8, 8, 8, 8, cudaChannelFormatKindSigned };
    r.res.linear.sizeInBytes = sizeof host;
    for (int fractions = 0; fractions < 2; fractions++) {
        d.readMode = fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
        OK(cudaCreateTextureObject(&t, &r, &d, NULL));
        void *args[] = { &t, &rig->out };
        OK(cudaLaunchKernel(fractions ? rig->fraction : rig->integer, (dim3){ 1, 1, 1 }, (dim3){ 9, 1, 1 }, args, 0,
                            NULL));
        OK(cudaDeviceSynchronize());
        for (int k = 0; k < 8; k++) { /* the last one is behind the texture */
            int32_t whole;
            memcpy(&whole, &rig->out[k], 4);
            float wanted = fmaxf((float)host[k / 4][k % 4] / 127, -1);
            if (fractions ? fabsf(rig->out[k] - wanted) > 1e-6f : whole != host[k / 4][k % 4])
                fail_msg("channel %d", k);
        }
        assert_true(rig->out[8 * 4] == 0);
        OK(cudaDestroyTextureObject(t));
    }
    OK(cudaFree(r.res.linear.devPtr));
}

static void surfaces_have_layers_and_edges(void **state)
{
    struct rig *rig = *state;
    const struct cudaChannelFormatDesc format = { 32, 0, 0, 0, cudaChannelFormatKindUnsigned };
    struct cudaResourceDesc r = { .resType = cudaResourceTypeArray };
    struct cudaMemcpy3DParms copy = { .kind = cudaMemcpyDefault };
    unsigned host[LAYERS][2][4];
    unsigned value = 5;
    cudaSurfaceObject_t s;
    cudaArray_t a;
    for (unsigned k = 0; k < LAYERS * 8; k++) host[k / 8][k / 4 % 2][k % 4] = k;
    OK(cudaMalloc3DArray(&a, &format, (struct cudaExtent){ 4, 2, LAYERS },
                         cudaArrayLayered | cudaArraySurfaceLoadStore));
    copy.srcPtr = (struct cudaPitchedPtr){ host, 16, 4, 2 };
    copy.dstArray = a;
    copy.extent = (struct cudaExtent){ 4, 2, LAYERS };
    OK(cudaMemcpy3D(&copy));
    r.res.array.array = a;
    OK(cudaCreateSurfaceObject(&s, &r));
    void *args[] = { &s, &value };
    OK(cudaLaunchKernel(rig->layer, (dim3){ LAYERS, 1, 1 }, (dim3){ 4, 1, 1 }, args, 0, NULL));
    memset(&copy, 0, sizeof copy);
    copy.srcArray = a;
    copy.dstPtr = (struct cudaPitchedPtr){ host, 16, 4, 2 };
    copy.extent = (struct cudaExtent){ 4, 2, LAYERS };
    copy.kind = cudaMemcpyDefault;
    OK(cudaMemcpy3D(&copy));
    for (unsigned k = 0; k < LAYERS * 8; k++)
        assert_int_equal(host[k / 8][k / 4 % 2][k % 4], k + (k / 4 % 2 ? value : 0));
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(a));
}

static void what_is_not_there_is_refused(void **state)
{
    (void)state;
    const struct cudaChannelFormatDesc bytes = { 8, 8, 8, 8, cudaChannelFormatKindUnsigned };
    struct cudaResourceDesc r = { .resType = cudaResourceTypeArray };
    struct cudaTextureDesc d = { .sRGB = 1, .readMode = cudaReadModeNormalizedFloat };
    cudaTextureObject_t t;
    cudaArray_t plain, cube;
    OK(cudaMallocArray(&plain, &bytes, 8, 8, 0));
    OK(cudaMalloc3DArray(&cube, &bytes, (struct cudaExtent){ 8, 8, 6 }, cudaArrayCubemap));
    r.res.array.array = plain;
    FAILS(cudaCreateTextureObject(&t, &r, &d, NULL), cudaErrorNotSupported);
    d.sRGB = 0;
    r.res.array.array = cube;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(plain));
    OK(cudaFreeArray(cube));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_address_modes_and_filters_of_an_array),
        cmocka_unit_test(pitched_memory_is_a_texture_too),
        cmocka_unit_test(integers_in_linear_memory_are_read_as_they_are_or_as_fractions),
        cmocka_unit_test(surfaces_have_layers_and_edges),
        cmocka_unit_test(what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, take_down);
}
