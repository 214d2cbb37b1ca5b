/* Textures at levels of detail, with gradients, gathered from and asked about,
 * surfaces byte by byte, and handles of nothing: sampling.cu against a CPU
 * reference. Address modes and filters of a single level: tests/runtime/textures.c. */
#include "program.h"

enum { W = 16, H = 8, LEVELS = 4, N = 64 };
struct point {
    float x, y, z, w;
};

static float texel(int level, int x, int y, int z) { return (float)(level * 1000 + z * 200 + y * 20 + x * x); }

static int within(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static int half(int n, int times) { return n >> times ? n >> times : 1; }

/* At a place, in elements of a level whose edges repeat. All programs ask for places where a corner's share, which a
 * GPU rounds, is exact. */
static double filtered(int level, const int size[3], const double p[3], bool linear)
{
    int low[3];
    double up[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        double at = linear && size[k] > 1 ? p[k] - 0.5 : p[k];
        low[k] = (int)floor(at);
        up[k] = linear && size[k] > 1 ? floor((at - low[k]) * 256 + 0.5) / 256 : 0;
    }
    for (int corner = 0; corner < 8; corner++) {
        double share = 1;
        int i[3];
        for (int k = 0; k < 3; k++) {
            bool next = corner >> k & 1;
            share *= next ? up[k] : 1 - up[k];
            i[k] = within(low[k] + next, size[k]);
        }
        sum += share * texel(level, i[0], i[1], i[2]);
    }
    return sum;
}

/* At coordinates from 0 to 1 and a level of detail. */
static double sampled(const int size[3], const double p[3], double lod, const CUDA_TEXTURE_DESC *d)
{
    lod = fmin(fmax(lod + d->mipmapLevelBias, d->minMipmapLevelClamp), d->maxMipmapLevelClamp);
    lod = fmin(fmax(lod, 0), LEVELS - 1);
    bool between = d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    int first = (int)floor(between ? lod : lod + 0.5);
    double up = between ? floor((lod - first) * 256 + 0.5) / 256 : 0, sum = 0;
    for (int k = 0; k < 2; k++) {
        int level = first + k < LEVELS ? first + k : LEVELS - 1, s[3];
        double at[3];
        for (int n = 0; n < 3; n++) s[n] = half(size[n], level), at[n] = p[n] * s[n];
        sum += (k ? up : 1 - up) * filtered(level, s, at, d->filterMode == CU_TR_FILTER_MODE_LINEAR);
    }
    return sum;
}

/* ---- objects */

static CUarray make_array(unsigned w, unsigned h, unsigned d, CUarray_format format, unsigned channels, unsigned flags)
{
    CUarray a;
    const CUDA_ARRAY3D_DESCRIPTOR desc = {
        .Width = w, .Height = h, .Depth = d, .Format = format, .NumChannels = channels, .Flags = flags
    };
    CHECK(cuArray3DCreate(&a, &desc));
    return a;
}

static void copy(CUarray a, void *host, size_t row, unsigned h, unsigned d, bool back)
{
    CUDA_MEMCPY3D c = { .WidthInBytes = row, .Height = h ? h : 1, .Depth = d ? d : 1 };
    c.srcMemoryType = back ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
    c.dstMemoryType = back ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
    c.srcArray = c.dstArray = a;
    c.srcHost = c.dstHost = host;
    c.srcPitch = c.dstPitch = row;
    c.srcHeight = c.dstHeight = c.Height;
    CHECK(cuMemcpy3D(&c));
}

static CUDA_RESOURCE_DESC of(CUarray a)
{
    return (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = a };
}

/* Two channels, of which the second is the negative of the first; depth is of a volume, or layers. */
static CUDA_RESOURCE_DESC levels(unsigned w, unsigned h, unsigned depth, unsigned flags)
{
    CUmipmappedArray m;
    const CUDA_ARRAY3D_DESCRIPTOR d = {
        .Width = w, .Height = h, .Depth = depth, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 2, .Flags = flags
    };
    CHECK(cuMipmappedArrayCreate(&m, &d, LEVELS));
    for (int l = 0; l < LEVELS; l++) {
        CUarray a;
        int lw = half((int)w, l), lh = h ? half((int)h, l) : 1,
            ld = flags   ? (int)depth
                 : depth ? half((int)depth, l)
                         : 1;
        float *host = malloc(sizeof(float[2]) * (size_t)(lw * lh * ld));
        for (int k = 0; k < lw * lh * ld; k++) {
            host[k * 2] = texel(l, k % lw, k / lw % lh, k / lw / lh);
            host[k * 2 + 1] = -host[k * 2];
        }
        CHECK(cuMipmappedArrayGetLevel(&a, m, (unsigned)l));
        copy(a, host, sizeof(float[2]) * (size_t)lw, (unsigned)lh, (unsigned)ld, false);
        free(host);
    }
    return (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = m };
}

static CUDA_TEXTURE_DESC way(unsigned k)
{
    CUDA_TEXTURE_DESC d = { .filterMode = k & 1 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
                            .mipmapFilterMode = k & 2 ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT,
                            .flags = CU_TRSF_NORMALIZED_COORDINATES,
                            .mipmapLevelBias = k & 4 ? 0.5f : 0,
                            .minMipmapLevelClamp = k & 4 ? 0.75f : 0,
                            .maxMipmapLevelClamp = k & 4 ? 2.25f : 99 };
    for (int n = 0; n < 3; n++) d.addressMode[n] = CU_TR_ADDRESS_MODE_CLAMP;
    return d;
}

static CUtexObject texture(const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *d)
{
    CUtexObject t;
    CHECK(cuTexObjectCreate(&t, r, d, NULL));
    return t;
}

static const struct point *read_at(const char *name, CUtexObject t, const struct point *at, unsigned results)
{
    CUdeviceptr in = give(at, N * sizeof *at), out = give(NULL, N * results * sizeof *at);
    run(name, 1, 1, N, 1, 0, ARGS(&t, &in, &out));
    const struct point *p = take(out, N * results * sizeof *at);
    CHECK(cuMemFree(in));
    CHECK(cuMemFree(out));
    return p;
}

/* The third and fourth channel are not there. */
static void expect_channels(const struct point *p, double wanted)
{
    EXPECT(fabs(p->x - wanted) <= 1e-6 * fabs(wanted) + 1e-4);
    EXPECT(p->y == -p->x && p->z == 0 && p->w == 0);
}

/* ---- programs */

static void levels_of_detail(void)
{
    const CUDA_RESOURCE_DESC r = levels(W, H, 0, 0);
    struct point at[N];
    for (int k = 0; k < N; k++) at[k] = (struct point){ (float)(k % 9) / 8, (float)(k % 5) / 4, (float)k / 8 - 1, 0 };
    for (unsigned how = 0; how < 8; how++) {
        const CUDA_TEXTURE_DESC d = way(how);
        const struct point *p = read_at("level_2d", texture(&r, &d), at, 1);
        for (int k = 0; k < N; k++)
            expect_channels(&p[k], sampled((int[]){ W, H, 1 }, (double[]){ at[k].x, at[k].y, 0 }, at[k].z, &d));
    }
}

static void gradients_choose_levels(void)
{
    const CUDA_RESOURCE_DESC r = levels(W, H, 0, 0);
    struct point at[N];
    for (int k = 0; k < N; k++)
        at[k] =
            (struct point){ (float)(k % 9) / 8, (float)(k % 5) / 4, ldexpf(1, k % 7 - 5), ldexpf(1, k / 7 % 7 - 5) };
    for (unsigned how = 0; how < 8; how++) {
        const CUDA_TEXTURE_DESC d = way(how);
        const struct point *p = read_at("gradient_2d", texture(&r, &d), at, 1);
        for (int k = 0; k < N; k++) {
            double lod = log2(fmax(at[k].z * W, at[k].w * H));
            expect_channels(&p[k], sampled((int[]){ W, H, 1 }, (double[]){ at[k].x, at[k].y, 0 }, lod, &d));
        }
    }
}

static void levels_of_volumes_and_layers(void)
{
    const CUDA_RESOURCE_DESC volume = levels(W, H, 8, 0), layers = levels(W, 0, 3, CUDA_ARRAY3D_LAYERED);
    struct point at[N];
    for (int k = 0; k < N; k++)
        at[k] = (struct point){ (float)(k % 9) / 8, (float)(k % 5) / 4, (float)(k / 3 % 5) / 4, (float)k / 16 };
    for (unsigned how = 0; how < 4; how++) {
        const CUDA_TEXTURE_DESC d = way(how);
        const struct point *p = read_at("level_3d", texture(&volume, &d), at, 1);
        for (int k = 0; k < N; k++)
            expect_channels(&p[k], sampled((int[]){ W, H, 8 }, (double[]){ at[k].x, at[k].y, at[k].z }, at[k].w, &d));
    }
    for (int k = 0; k < N; k++) at[k] = (struct point){ 0.5f / W, (float)(k % 6 - 1), (float)(k % LEVELS), 0 };
    const CUDA_TEXTURE_DESC d = way(0);
    const struct point *p = read_at("level_1d_layered", texture(&layers, &d), at, 1);
    for (int k = 0; k < N; k++) /* before the first: the last (observed on H200) */
        expect_channels(&p[k], texel(k % LEVELS, 0, 0, k % 6 ? within(k % 6 - 1, 3) : 2));
}

static void four_at_once(void)
{
    static uint8_t host[H][W][4];
    struct point at[N];
    for (int k = 0; k < W * H * 4; k++) (&host[0][0][0])[k] = (uint8_t)(k * 7);
    for (int k = 0; k < N; k++) at[k] = (struct point){ .x = (float)(k % 17) + 0.25f, .y = (float)(k % 9) + 0.75f };
    CUarray a = make_array(W, H, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_TEXTURE_GATHER);
    copy(a, host, sizeof host[0], H, 1, false);
    const CUDA_RESOURCE_DESC r = of(a);
    CUDA_TEXTURE_DESC d = way(0);
    d.flags = 0;
    const struct point *p = read_at("gathered", texture(&r, &d), at, 2);
    for (int k = 0; k < N; k++) {
        int i = (int)floorf(at[k].x - 0.5f), j = (int)floorf(at[k].y - 0.5f);
        for (int c = 0; c < 2; c++, p++) {
            const float got[] = { p->x, p->y, p->z, p->w };
            for (int n = 0; n < 4; n++) {
                int x = within(i + (n == 1 || n == 2), W), y = within(j + (n < 2), H);
                EXPECT(got[n] == (float)host[y][x][c ? 3 : 0] / 255);
            }
        }
    }
}

static void integers_with_signs(void)
{
    static int8_t host[H][W][4];
    struct point at[N];
    for (int k = 0; k < W * H * 4; k++) (&host[0][0][0])[k] = (int8_t)(k * 11);
    for (int k = 0; k < N; k++) at[k] = (struct point){ .x = (float)(k % 20) - 1.5f, .y = (float)(k % 7) + 0.5f };
    CUarray a = make_array(W, H, 0, CU_AD_FORMAT_SIGNED_INT8, 4, 0);
    copy(a, host, sizeof host[0], H, 1, false);
    const CUDA_RESOURCE_DESC r = of(a);
    CUDA_TEXTURE_DESC d = way(0);
    d.flags = CU_TRSF_READ_AS_INTEGER;
    d.addressMode[0] = CU_TR_ADDRESS_MODE_BORDER;
    const int32_t(*p)[4] = (const void *)read_at("signed_2d", texture(&r, &d), at, 1);
    for (int k = 0; k < N; k++) {
        int x = (int)floorf(at[k].x), y = (int)floorf(at[k].y);
        for (int c = 0; c < 4; c++) EXPECT_EQUAL(p[k][c], x < 0 || x >= W ? 0 : host[y][x][c]);
    }
}

static void questions(void)
{
    const CUDA_RESOURCE_DESC r = levels(W, H, 5, CUDA_ARRAY3D_LAYERED),
                             s = of(make_array(12, 34, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST));
    const CUDA_TEXTURE_DESC d = way(0);
    CUtexObject t = texture(&r, &d);
    CUsurfObject o;
    CHECK(cuSurfObjectCreate(&o, &s));
    CUdeviceptr out = give(NULL, 7 * 4);
    run("asked", 1, 1, 1, 1, 0, ARGS(&t, &o, &out));
    const int *p = take(out, 7 * 4);
    static const int wanted[] = { W, H, 5, LEVELS, 1, 12, 34 };
    for (int k = 0; k < 7; k++) EXPECT_EQUAL(p[k], wanted[k]);
}

static void surfaces_by_the_byte(void)
{
    static uint8_t host[6][128];
    CUsurfObject s;
    for (int k = 0; k < 128; k++) host[0][k] = (uint8_t)(k * 3 + 1);
    CUarray a = make_array(32, 6, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST);
    copy(a, host, 128, 6, 1, false);
    const CUDA_RESOURCE_DESC r = of(a);
    CHECK(cuSurfObjectCreate(&s, &r));
    run("widths", 1, 1, 32, 1, 0, ARGS(&s));
    copy(a, host, 128, 6, 1, true);
    for (int y = 1; y < 6; y++)
        for (int x = 0; x < 32; x++) EXPECT_EQUAL(host[y][x], x * 3 + 1);
    EXPECT(host[1][32] == 0); /* of 32 threads a byte each */
}

static CUsurfObject layers_of_zeros(CUarray *a)
{
    CUsurfObject s;
    *a = make_array(4, 4, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_LAYERED);
    const CUDA_RESOURCE_DESC r = of(*a);
    CHECK(cuSurfObjectCreate(&s, &r));
    return s;
}

static void nothing_is_written_outside(void)
{
    static const int places[][3] = { { 16, 0, 0 }, { -4, 0, 0 }, { 0, 4, 0 }, { 0, -1, 1 }, { 0, 0, 3 }, { 0, 0, -1 } };
    CUarray a;
    CUsurfObject s = layers_of_zeros(&a);
    uint32_t host[3 * 4 * 4], sum = 0;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        int x = places[k][0], y = places[k][1], layer = places[k][2];
        run("write_layer_or_not", 1, 1, 1, 1, 0, ARGS(&s, &x, &y, &layer));
    }
    copy(a, host, 16, 4, 3, true);
    for (int k = 0; k < 48; k++) sum += host[k];
    EXPECT_EQUAL(sum, 0);
    int x = 12, y = 3, layer = 2;
    run("write_layer", 1, 1, 1, 1, 0, ARGS(&s, &x, &y, &layer));
    copy(a, host, 16, 4, 3, true);
    EXPECT_EQUAL(host[47], 5);
    x = 16;
    struct catch c = catch_begin(2);
    char text[2000];
    CHECK(cuLaunchKernel(kernel("write_layer"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&s, &x, &y, &layer), NULL));
    EXPECT_EQUAL(catch_end(&c, text, sizeof text), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(strstr(text, "an access outside the surface"));
}

/* A kernel reads by this handle: the error, and what is said of it. */
static void expect_fault(const char *name, uint64_t handle, CUresult error, const char *said)
{
    CUdeviceptr in = give(NULL, sizeof(struct point)), out = give(NULL, 2 * sizeof(struct point));
    struct catch c = catch_begin(2);
    char text[2000];
    CHECK(cuLaunchKernel(kernel(name), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&handle, &in, &out), NULL));
    EXPECT_EQUAL(catch_end(&c, text, sizeof text), error);
    EXPECT(strstr(text, said));
}

static void an_object_that_is_gone(void)
{
    const CUDA_RESOURCE_DESC r = levels(W, H, 0, 0);
    const CUDA_TEXTURE_DESC d = way(0);
    CUtexObject t = texture(&r, &d);
    CHECK(cuTexObjectDestroy(t));
    EXPECT(texture(&r, &d) != t);
    expect_fault("level_2d", t, CUDA_ERROR_ILLEGAL_ADDRESS, "no texture object's");
}

static void an_object_that_never_was(void)
{
    expect_fault("level_2d", 1 << 20, CUDA_ERROR_ILLEGAL_ADDRESS, "0x100000");
}

static void a_surface_is_no_texture(void)
{
    CUarray a;
    expect_fault("level_2d", layers_of_zeros(&a), CUDA_ERROR_ILLEGAL_INSTRUCTION, "a surface object where a texture");
}

static void a_volume_is_not_flat(void)
{
    const CUDA_RESOURCE_DESC r = levels(W, H, 8, 0);
    const CUDA_TEXTURE_DESC d = way(0);
    expect_fault("level_2d", texture(&r, &d), CUDA_ERROR_ILLEGAL_INSTRUCTION, "more dimensions");
}

/* What kernels of these coordinates read of an array of W x H x depth elements, the numbers from 0 on. */
static uint32_t read_as(const char *kind, const char *coordinates, unsigned depth, unsigned flags)
{
    uint32_t numbers[2 * H * W];
    char ptx[1024];
    CUmodule m;
    CUfunction f;
    for (uint32_t k = 0; k < 2 * H * W; k++) numbers[k] = k;
    CUarray a = make_array(W, H, depth, CU_AD_FORMAT_UNSIGNED_INT32, 1, flags);
    copy(a, numbers, sizeof *numbers * W, H, depth ? depth : 1, false);
    const CUDA_RESOURCE_DESC r = of(a);
    const CUDA_TEXTURE_DESC d = { .flags = CU_TRSF_READ_AS_INTEGER };
    CUtexObject t = texture(&r, &d);
    CUdeviceptr out = give(NULL, sizeof(uint32_t));
    snprintf(ptx, sizeof ptx,
             ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry read(.param .u64 object, .param .u64 out)\n"
             "{ .reg .b64 t, o; .reg .f32 x, y; .reg .b32 a, b, c, d, layer;\n"
             "ld.param.u64 t, [object]; ld.param.u64 o, [out]; mov.f32 x, 0f3FC00000; mov.f32 y, x; mov.u32 layer, 1;\n"
             "tex.%s.v4.u32.f32 {a, b, c, d}, [t, {%s}]; st.global.u32 [o], a; ret; }\n",
             kind, coordinates);
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "read"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&t, &out), NULL));
    return *(const uint32_t *)take(out, sizeof(uint32_t));
}

static void planes_are_read_by_one_coordinate_and_as_layers(void)
{
    enum { THERE = W + 1 };
    EXPECT_EQUAL(read_as("1d", "x", 0, 0), 1);
    EXPECT_EQUAL(read_as("a2d", "layer, x, y, y", 0, 0), THERE);
    EXPECT_EQUAL(read_as("a2d", "layer, x, y, y", 2, CUDA_ARRAY3D_LAYERED), W * H + THERE);
    EXPECT_EQUAL(read_as("2d", "x, y", 2, CUDA_ARRAY3D_LAYERED), THERE);
    EXPECT_EQUAL(read_as("1d", "x", 2, CUDA_ARRAY3D_LAYERED), 1);
}

static void what_is_refused(void)
{
    const CUDA_RESOURCE_DESC floats = levels(W, H, 0, 0),
                             integers = of(make_array(W, H, 0, CU_AD_FORMAT_SIGNED_INT32, 1, 0)),
                             blocks = of(make_array(W, H, 0, CU_AD_FORMAT_UNSIGNED_INT32, 2, 0));
    const CUDA_RESOURCE_VIEW_DESC no_format = { .width = W, .height = H },
                                  compressed = { .format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1,
                                                 .width = 4 * W,
                                                 .height = 4 * H };
    CUDA_TEXTURE_DESC d = way(1);
    CUtexObject t;
    CUsurfObject s;
    ANSWERS(cuTexObjectCreate(&t, &integers, &d, NULL), CUDA_ERROR_NOT_SUPPORTED);
    ANSWERS(cuTexObjectCreate(&t, &floats, &d, &no_format), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuTexObjectCreate(&t, &blocks, &d, &compressed), CUDA_ERROR_NOT_SUPPORTED);
    ANSWERS(cuSurfObjectCreate(&s, &floats), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuSurfObjectCreate(&s, &integers)); /* made for surfaces or not (observed on H200) */
    CHECK(cuSurfObjectDestroy(s));
    CHECK(cuSurfObjectDestroy(s));
    d.addressMode[1] = CU_TR_ADDRESS_MODE_BORDER + 1;
    ANSWERS(cuTexObjectCreate(&t, &floats, &d, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(int argc, char **argv)
{
    static const struct program programs[] = {
        P(levels_of_detail),
        P(gradients_choose_levels),
        P(levels_of_volumes_and_layers),
        P(four_at_once),
        P(integers_with_signs),
        P(questions),
        P(surfaces_by_the_byte),
        P(nothing_is_written_outside),
        P(an_object_that_is_gone),
        P(an_object_that_never_was),
        P(a_surface_is_no_texture),
        P(a_volume_is_not_flat),
        P(planes_are_read_by_one_coordinate_and_as_layers),
        P(what_is_refused),
        { 0 },
    };
    return run_programs(argc, argv, programs);
}
