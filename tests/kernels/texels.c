/* Elements of mipmapped arrays by their numbers, as programs have it that filter by themselves.
 * usage: texels SOME.ptx (which it does not need) */
#include "program.h"

enum { WIDTH = 8, HEIGHT = 4, LEVELS = 3 };

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry texel(.param .u64 out, .param .u64 from, .param .s32 x, .param .s32 y, .param .s32 level)\n{\n"
    ".reg .b64 %rd<3>; .reg .s32 %r<4>; .reg .f32 %f<9>;\n"
    "ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [from];\n"
    "ld.param.s32 %r1, [x]; ld.param.s32 %r2, [y]; ld.param.s32 %r3, [level];\n"
    "tex.level.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd2, {%r1, %r2}], %r3;\n"
    "tex.2d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%rd2, {%r1, %r2}];\n"
    "st.global.v2.f32 [%rd1], {%f1, %f5}; ret;\n}\n";

static float value(int x, int y, int level) { return (float)(1000 * level + 10 * y + x + 1); }

static CUtexObject texture_of(CUmipmappedArray all)
{
    CUtexObject t;
    CUDA_RESOURCE_DESC from = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, .res.mipmap.hMipmappedArray = all };
    CUDA_TEXTURE_DESC how = { .addressMode = { CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_WRAP },
                              .filterMode = CU_TR_FILTER_MODE_LINEAR,
                              .mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR,
                              .maxMipmapLevelClamp = LEVELS - 1,
                              .flags = CU_TRSF_NORMALIZED_COORDINATES };
    CHECK(cuTexObjectCreate(&t, &from, &how, NULL));
    return t;
}

static void fill(CUmipmappedArray all, int level)
{
    float texels[HEIGHT][WIDTH];
    int width = WIDTH >> level, height = HEIGHT >> level;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) texels[y][x] = value(x, y, level);
    CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = texels,
                           .srcPitch = sizeof *texels,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .WidthInBytes = (size_t)width * sizeof(float),
                           .Height = (size_t)height };
    CHECK(cuMipmappedArrayGetLevel(&copy.dstArray, all, (unsigned)level));
    CHECK(cuMemcpy2D(&copy));
}

static int clamped(int v, int extent) { return v < 0 ? 0 : v < extent ? v : extent - 1; }

/* Where a level is told; there are no others. */
static float nearest(int x, int y, int level)
{
    if (level < 0 || level >= LEVELS) return 0;
    return value(clamped(x, WIDTH >> level), clamped(y, HEIGHT >> level), level);
}

/* Filters do not come into it. */
static void numbers_of_elements_and_levels_name_one_element(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = WIDTH, .Height = HEIGHT, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
    };
    CUmipmappedArray all;
    CUmodule m;
    CUfunction f;
    CUdeviceptr out = give(NULL, 8);
    CHECK(cuMipmappedArrayCreate(&all, &shape, LEVELS));
    for (int level = 0; level < LEVELS; level++) fill(all, level);
    CUtexObject t = texture_of(all);
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&f, m, "texel"));
    for (int level = -1; level <= LEVELS; level++)
        for (int y = -1; y <= HEIGHT; y += 1)
            for (int x = -1; x <= WIDTH; x += 3) {
                CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, ARGS(&out, &t, &x, &y, &level), NULL));
                float *r = take(out, 8);
                EXPECT(r[0] == nearest(x, y, level));
                EXPECT(r[1] == (x >= 0 && y >= 0 && x < WIDTH && y < HEIGHT ? value(x, y, 0) : 0));
                free(r);
            }
    CHECK(cuTexObjectDestroy(t));
    CHECK(cuMipmappedArrayDestroy(all));
    CHECK(cuModuleUnload(m));
}

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(numbers_of_elements_and_levels_name_one_element), { 0 } };
    return run_programs(argc, argv, programs);
}
