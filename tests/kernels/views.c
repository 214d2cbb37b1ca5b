/* Cubes, views of arrays, and elements of layers by their numbers.
 * usage: views SOME.ptx (which it does not need) */
#include "program.h"

enum { EDGE = 4, FACES = 6, CUBES = 2, LEVELS = 3 };

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry cubes(.param .u64 out, .param .u64 from, .param .u64 direction, .param .u32 which)\n{\n"
    ".reg .b64 %rd<4>; .reg .b32 %r<2>; .reg .f32 %f<12>;\n"
    "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [from]; ld.param.u64 %rd3, [direction]; ld.param.u32 %r1, [which];\n"
    "ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd3+4]; ld.global.f32 %f3, [%rd3+8];\n"
    "tex.acube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd2, {%r1, %f1, %f2, %f3}];\n"
    "st.global.f32 [%rd1], %f4; ret;\n}\n"
    ".visible .entry cube(.param .u64 out, .param .u64 from, .param .u64 direction)\n{\n"
    ".reg .b64 %rd<4>; .reg .f32 %f<12>;\n"
    "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [from]; ld.param.u64 %rd3, [direction];\n"
    "ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd3+4]; ld.global.f32 %f3, [%rd3+8];\n"
    "tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd2, {%f1, %f2, %f3, %f3}];\n"
    "st.global.f32 [%rd1], %f4; ret;\n}\n"
    ".visible .entry layers(.param .u64 out, .param .u64 from, .param .s32 x, .param .s32 y, .param .u32 layer)\n{\n"
    ".reg .b64 %rd<3>; .reg .b32 %r<9>;\n"
    "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [from];\n"
    "ld.param.s32 %r1, [x]; ld.param.s32 %r2, [y]; ld.param.u32 %r3, [layer];\n"
    "tex.a2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd2, {%r3, %r1, %r2, %r2}];\n"
    "st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7}; ret;\n}\n"
    ".visible .entry extents(.param .u64 out, .param .u64 texture, .param .u64 surface)\n{\n"
    ".reg .b64 %rd<4>; .reg .b32 %r<5>;\n"
    "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [texture]; ld.param.u64 %rd3, [surface];\n"
    "txq.height.b32 %r1, [%rd2]; txq.depth.b32 %r2, [%rd2]; suq.height.b32 %r3, [%rd3]; suq.depth.b32 %r4, [%rd3];\n"
    "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; ret;\n}\n"
    ".visible .entry kept(.param .u64 out, .param .u64 surface, .param .s32 layer)\n{\n"
    ".reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
    "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [surface]; ld.param.s32 %r1, [layer];\n"
    "suld.b.a1d.b32.clamp {%r2}, [%rd2, {%r1, 0}]; st.global.u32 [%rd1], %r2; ret;\n}\n";

static CUmodule loaded;

static CUfunction function(const char *name)
{
    CUfunction f;
    if (!loaded) CHECK(cuModuleLoadData(&loaded, ptx));
    CHECK(cuModuleGetFunction(&f, loaded, name));
    return f;
}

static void put(CUarray a, const void *host, size_t row, size_t height, size_t depth)
{
    const CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = host,
                              .srcPitch = row,
                              .srcHeight = height,
                              .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                              .dstArray = a,
                              .WidthInBytes = row,
                              .Height = height,
                              .Depth = depth };
    CHECK(cuMemcpy3D(&c));
}

/* Through the middle of an element of a face, as the programming guide has the faces. */
static void direction(int face, int x, int y, float out[3])
{
    static const int axis[FACES][3] = { { 0, 2, 1 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 0, 2 }, { 2, 0, 1 }, { 2, 0, 1 } };
    static const int sign[FACES][3] = { { 1, -1, -1 }, { -1, 1, -1 }, { 1, 1, 1 },
                                        { -1, 1, -1 }, { 1, 1, -1 },  { -1, -1, -1 } };
    out[axis[face][0]] = (float)sign[face][0];
    out[axis[face][1]] = (float)sign[face][1] * (2 * ((float)x + 0.5f) / EDGE - 1);
    out[axis[face][2]] = (float)sign[face][2] * (2 * ((float)y + 0.5f) / EDGE - 1);
    for (int k = 0; k < 3; k++) out[k] *= 3; /* its length means nothing */
}

static void directions_hit_the_faces_of_cubes(void)
{
    float texels[CUBES * FACES][EDGE][EDGE], *at = texels[0][0];
    for (int k = 0; k < CUBES * FACES * EDGE * EDGE; k++) at[k] = (float)k;
    CUdeviceptr out = give(NULL, 4);
    for (unsigned cubes = 1; cubes <= CUBES; cubes++) {
        CUDA_ARRAY3D_DESCRIPTOR d = { EDGE,
                                      EDGE,
                                      FACES * cubes,
                                      CU_AD_FORMAT_FLOAT,
                                      1,
                                      cubes > 1 ? CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED : CUDA_ARRAY3D_CUBEMAP };
        CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
        CUDA_TEXTURE_DESC how = { .flags = CU_TRSF_NORMALIZED_COORDINATES };
        CUtexObject t;
        CHECK(cuArray3DCreate(&r.res.array.hArray, &d));
        put(r.res.array.hArray, texels, sizeof texels[0][0], EDGE, FACES * cubes);
        CHECK(cuTexObjectCreate(&t, &r, &how, NULL));
        for (int k = 0; k < (int)cubes * FACES * EDGE * EDGE; k++) {
            float v[3];
            direction(k / (EDGE * EDGE) % FACES, k % EDGE, k / EDGE % EDGE, v);
            CUdeviceptr p = give(v, sizeof v);
            unsigned which = (unsigned)k / (FACES * EDGE * EDGE);
            CUfunction f = function(cubes > 1 ? "cubes" : "cube");
            CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out, &t, &p, &which), NULL));
            float *seen = take(out, 4);
            EXPECT(*seen == (float)k);
            free(seen);
            CHECK(cuMemFree(p));
        }
        CHECK(cuTexObjectDestroy(t));
        CHECK(cuArrayDestroy(r.res.array.hArray));
    }
}

static CUtexObject viewed_cubes(unsigned cubes, unsigned last, CUresult expected)
{
    float texels[CUBES * FACES][EDGE][EDGE], *at = texels[0][0];
    const unsigned flags = cubes > 1 ? CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED : CUDA_ARRAY3D_CUBEMAP;
    CUDA_ARRAY3D_DESCRIPTOR d = { EDGE, EDGE, FACES * cubes, CU_AD_FORMAT_FLOAT, 1, flags };
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
    CUDA_TEXTURE_DESC how = { .flags = CU_TRSF_NORMALIZED_COORDINATES };
    CUDA_RESOURCE_VIEW_DESC view = { .format = CU_RES_VIEW_FORMAT_FLOAT_1X32,
                                     .width = EDGE,
                                     .height = EDGE,
                                     .depth = FACES * cubes,
                                     .lastLayer = last };
    CUtexObject t = 0;
    for (int k = 0; k < CUBES * FACES * EDGE * EDGE; k++) at[k] = (float)k;
    CHECK(cuArray3DCreate(&r.res.array.hArray, &d));
    put(r.res.array.hArray, texels, sizeof texels[0][0], EDGE, FACES * cubes);
    EXPECT_EQUAL(cuTexObjectCreate(&t, &r, &how, &view), expected);
    return t;
}

/* One cube is no layers: the first and the last are 0, and all faces are there. */
static void a_view_of_a_cube_has_all_faces(void)
{
    float to_the_last[3];
    direction(FACES - 1, 0, 0, to_the_last);
    CUdeviceptr out = give(NULL, 4), p = give(to_the_last, sizeof to_the_last);
    CUtexObject t = viewed_cubes(1, 0, CUDA_SUCCESS);
    CHECK(cuLaunchKernel(function("cube"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out, &t, &p), NULL));
    float *seen = take(out, 4);
    EXPECT(*seen == (FACES - 1) * EDGE * EDGE);
    free(seen);
    viewed_cubes(1, FACES - 1, CUDA_ERROR_INVALID_VALUE);
}

static void faces_that_a_view_lacks_are_not_sampled(void)
{
    float to_the_last[3];
    char said[2000];
    unsigned which = 0;
    direction(FACES - 1, 0, 0, to_the_last);
    CUdeviceptr out = give(NULL, 4), p = give(to_the_last, sizeof to_the_last);
    CUtexObject t = viewed_cubes(CUBES, 0, CUDA_SUCCESS);
    struct catch c = catch_begin(2);
    CHECK(cuLaunchKernel(function("cubes"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out, &t, &p, &which), NULL));
    EXPECT_EQUAL(catch_end(&c, said, sizeof said), CUDA_ERROR_ILLEGAL_INSTRUCTION);
    EXPECT(strstr(said, "has not all faces"));
}

/* A texture's height and depth, and a surface's, of an array of so many elements. */
static void expect_extents(CUDA_ARRAY3D_DESCRIPTOR d, const unsigned expected[4])
{
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
    CUDA_TEXTURE_DESC how = { .flags = CU_TRSF_NORMALIZED_COORDINATES };
    CUtexObject t;
    CUsurfObject s;
    CUdeviceptr out = give(NULL, 16);
    d.Format = CU_AD_FORMAT_FLOAT;
    d.NumChannels = 1;
    d.Flags |= CUDA_ARRAY3D_SURFACE_LDST;
    CHECK(cuArray3DCreate(&r.res.array.hArray, &d));
    CHECK(cuTexObjectCreate(&t, &r, &how, NULL));
    CHECK(cuSurfObjectCreate(&s, &r));
    CHECK(cuLaunchKernel(function("extents"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out, &t, &s), NULL));
    unsigned *seen = take(out, 16);
    for (int k = 0; k < 4; k++) EXPECT_EQUAL(seen[k], expected[k]);
    free(seen);
}

/* As an H200 tells them. */
static void layers_are_the_extent_behind_the_last(void)
{
    const unsigned cubes = CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED;
    expect_extents((CUDA_ARRAY3D_DESCRIPTOR){ .Width = 16 }, (unsigned[]){ 1, 0, 0, 0 });
    expect_extents((CUDA_ARRAY3D_DESCRIPTOR){ .Width = 16, .Depth = 3, .Flags = CUDA_ARRAY3D_LAYERED },
                   (unsigned[]){ 3, 0, 3, 0 });
    expect_extents((CUDA_ARRAY3D_DESCRIPTOR){ .Width = 16, .Height = 8 }, (unsigned[]){ 8, 0, 8, 0 });
    expect_extents((CUDA_ARRAY3D_DESCRIPTOR){ .Width = 16, .Height = 8, .Depth = 3, .Flags = CUDA_ARRAY3D_LAYERED },
                   (unsigned[]){ 8, 3, 8, 3 });
    expect_extents((CUDA_ARRAY3D_DESCRIPTOR){ .Width = 16, .Height = 8, .Depth = 4 }, (unsigned[]){ 8, 4, 8, 4 });
    expect_extents((CUDA_ARRAY3D_DESCRIPTOR){ .Width = 8, .Height = 8, .Depth = 6, .Flags = CUDA_ARRAY3D_CUBEMAP },
                   (unsigned[]){ 8, 0, 8, 6 });
    expect_extents((CUDA_ARRAY3D_DESCRIPTOR){ .Width = 8, .Height = 8, .Depth = 12, .Flags = cubes },
                   (unsigned[]){ 8, 2, 8, 12 });
}

static void a_surface_is_clamped_to_its_last_layer(void)
{
    enum { LINES = 3 };
    const unsigned flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST;
    CUDA_ARRAY3D_DESCRIPTOR d = { 1, 0, LINES, CU_AD_FORMAT_UNSIGNED_INT32, 1, flags };
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
    const unsigned texels[LINES] = { 10, 11, 12 };
    CUsurfObject s;
    CUdeviceptr out = give(NULL, 4);
    CHECK(cuArray3DCreate(&r.res.array.hArray, &d));
    put(r.res.array.hArray, texels, sizeof texels[0], 1, LINES);
    CHECK(cuSurfObjectCreate(&s, &r));
    for (int layer = -1; layer <= LINES; layer++) {
        CHECK(cuLaunchKernel(function("kept"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out, &s, &layer), NULL));
        unsigned *seen = take(out, 4);
        EXPECT_EQUAL(*seen, texels[layer >= 0 && layer < LINES ? layer : LINES - 1]);
        free(seen);
    }
}

static void read_layers(CUtexObject t, int x, int y, unsigned layer, unsigned out[4])
{
    CUdeviceptr p = give(NULL, 16);
    CHECK(cuLaunchKernel(function("layers"), 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&p, &t, &x, &y, &layer), NULL));
    CHECK(cuMemcpyDtoH(out, p, 16));
    CHECK(cuMemFree(p));
}

enum { WIDTH = 8, HEIGHT = 4, LAYERS = 5 };

/* Elements of 4 bytes in LEVELS levels of LAYERS layers; their numbers count through all of a level. */
static CUmipmappedArray layered(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { WIDTH, HEIGHT, LAYERS, CU_AD_FORMAT_UNSIGNED_INT8, 4, CUDA_ARRAY3D_LAYERED };
    CUmipmappedArray all;
    unsigned texels[WIDTH * HEIGHT * LAYERS];
    CHECK(cuMipmappedArrayCreate(&all, &d, LEVELS));
    for (unsigned l = 0; l < LEVELS; l++) {
        CUarray a;
        for (unsigned k = 0; k < WIDTH * HEIGHT * LAYERS; k++) texels[k] = l << 24 | k << 8 | 0x7f;
        CHECK(cuMipmappedArrayGetLevel(&a, all, l));
        put(a, texels, sizeof *texels * (WIDTH >> l), HEIGHT >> l, LAYERS);
    }
    return all;
}

static void a_view_has_some_levels_and_layers_in_another_format(void)
{
    CUmipmappedArray all = layered();
    CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = all };
    CUDA_TEXTURE_DESC how = { .flags = CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_READ_AS_INTEGER,
                              .maxMipmapLevelClamp = 9 };
    CUDA_RESOURCE_VIEW_DESC v = { .format = CU_RES_VIEW_FORMAT_UINT_1X32,
                                  .width = WIDTH,
                                  .height = HEIGHT,
                                  .depth = LAYERS,
                                  .lastMipmapLevel = LEVELS - 1,
                                  .lastLayer = LAYERS - 1 };
    CUtexObject t;
    unsigned seen[4];
    CHECK(cuTexObjectCreate(&t, &r, &how, NULL));
    read_layers(t, 3, 2, 4, seen);
    EXPECT(seen[0] == 0x7f && seen[1] == (4 * HEIGHT + 2) * WIDTH + 3 && seen[2] == 0);
    CHECK(cuTexObjectDestroy(t));
    CHECK(cuTexObjectCreate(&t, &r, &how, &v));
    read_layers(t, 3, 2, 4, seen);
    EXPECT(seen[0] == (((4 * HEIGHT + 2) * WIDTH + 3) << 8 | 0x7f));
    CHECK(cuTexObjectDestroy(t));
    v.firstLayer = 2;
    v.lastLayer = 3;
    CHECK(cuTexObjectCreate(&t, &r, &how, &v));
    read_layers(t, 3, 2, 1, seen);
    EXPECT(seen[0] == (((3 * HEIGHT + 2) * WIDTH + 3) << 8 | 0x7f));
    CHECK(cuTexObjectDestroy(t));
    CHECK(cuMipmappedArrayDestroy(all));
}

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(directions_hit_the_faces_of_cubes),
                                               P(a_view_of_a_cube_has_all_faces),
                                               P(faces_that_a_view_lacks_are_not_sampled),
                                               P(layers_are_the_extent_behind_the_last),
                                               P(a_surface_is_clamped_to_its_last_layer),
                                               P(a_view_has_some_levels_and_layers_in_another_format),
                                               { 0 } };
    return run_programs(argc, argv, programs);
}
