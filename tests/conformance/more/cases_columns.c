/* Tensor maps for columns of pixels (im2col), of random shapes, most of them good or wrong in one or two places.
 * Without corners a driver crashes, so there always are some. */
#include "say.h"

enum { MOST = 6, MAPS = 4000, WIDE_MAPS = 300 };

struct asked {
    int type, interleave, swizzle, promotion, fill, mode;
    cuuint32_t rank, channels, pixels, step[MOST];
    cuuint64_t dim[MOST], stride[MOST];
    int lower[MOST], upper[MOST];
    CUdeviceptr at;
};

static const unsigned bytes_of[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 1, 1, 1, 1, 1 };

static int corner(cuuint32_t rank)
{
    int most = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
    switch (draw(8)) {
    case 0: return most - 1;
    case 1: return -most;
    default: return (int)draw(7) - 3;
    }
}

static struct asked good(void)
{
    struct asked a = { .type = (int)draw(13), .rank = 3 + draw(3), .at = 0x700000000000ul + 16 * draw(64) };
    unsigned bytes = bytes_of[a.type];
    cuuint64_t pitch;
    a.interleave = draw(4) ? 0 : (int)draw(3);
    a.swizzle = draw(2) ? 0 : (int)draw(4);
    a.promotion = (int)draw(4);
    a.fill = a.type > 5 ? (int)draw(2) : 0;
    a.mode = (int)draw(2);
    if (a.interleave == 2) a.swizzle = draw(4) ? 1 : a.swizzle, a.at &= ~31ul;
    a.dim[0] = 1 + draw(500);
    a.channels = 16 / bytes * (1 + draw(a.swizzle ? 1u << a.swizzle : 8));
    a.pixels = 1 + draw(1024);
    pitch = (a.dim[0] * bytes + 31) / 32 * 32;
    for (cuuint32_t k = 0; k < MOST; k++) {
        if (k) a.dim[k] = 1 + draw(50);
        a.step[k] = draw(4) ? 1 : 1 + draw(8);
        a.lower[k] = corner(a.rank);
        a.upper[k] = corner(a.rank);
        a.stride[k] = pitch;
        pitch = (k + 1 < MOST ? pitch * (1 + draw(60)) : pitch) + 32 * draw(3);
    }
    return a;
}

static void spoil(struct asked *a)
{
    static const int corners[] = { 15, 16, -16, -17, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 100, -100 };
    unsigned k = draw(a->rank ? a->rank : 1);
    switch (draw(16)) {
    case 0: a->type = (int)draw(18); break;
    case 1: a->rank = draw(7); break;
    case 2: a->at += (CUdeviceptr[]){ 1, 8, 16, 32, 1ul << 57, 1ul << 56 }[draw(6)]; break;
    case 3: a->dim[k] = (cuuint64_t[]){ 0, 1ul << 31, 1ul << 32, (1ul << 32) + 1, ~0ul }[draw(5)]; break;
    case 4:
        a->stride[k] =
            (cuuint64_t[]){ 0, 8, 16, 32, 48, 100, 1ul << 36, (1ul << 40) - 16, 1ul << 40, ~0ul - 15 }[draw(10)];
        break;
    case 5: a->channels = (cuuint32_t[]){ 0, 1, 256, 257, 128, 512, 3, ~0u }[draw(8)]; break;
    case 6: a->step[k] = (cuuint32_t[]){ 0, 8, 9, ~0u }[draw(4)]; break;
    case 7: a->interleave = (int)draw(4); break;
    case 8: a->swizzle = (int)draw(8); break;
    case 9: a->promotion = (int)draw(6); break;
    case 10: a->fill = (int)draw(4); break;
    case 11: a->channels = 1 + draw(256); break;
    case 12: a->pixels = (cuuint32_t[]){ 0, 1, 256, 257, 1024, 1025, 4096, ~0u }[draw(8)]; break;
    case 13: a->lower[draw(3)] = corners[draw(14)]; break;
    case 14: a->upper[draw(3)] = corners[draw(14)]; break;
    default: a->dim[k] = 1 + draw(3), a->lower[k] = 5, a->upper[k] = -5; break;
    }
}

static void tell(const struct asked *a)
{
    add("t%d r%u +%lx i%d s%d l%d f%d c%u p%u", a->type, a->rank, (unsigned long)a->at, a->interleave, a->swizzle,
        a->promotion, a->fill, a->channels, a->pixels);
    for (cuuint32_t k = 0; k < a->rank && k < MOST; k++)
        add(" %lx/%lx/%x", (unsigned long)a->dim[k], (unsigned long)a->stride[k], a->step[k]);
    for (cuuint32_t k = 0; k + 2 < a->rank && k < MOST; k++) add(" %d:%d", a->lower[k], a->upper[k]);
}

static void map_one(void)
{
    static CUtensorMap map;
    struct asked a = good();
    unsigned spoilt = draw(3), null = draw(70);
    for (unsigned k = 0; k < spoilt; k++) spoil(&a);
    tell(&a);
    CUresult r = cuTensorMapEncodeIm2col(
        null == 0 ? NULL : &map, (CUtensorMapDataType)a.type, a.rank, null == 1 ? NULL : (void *)a.at,
        null == 2 ? NULL : a.dim, null == 3 ? NULL : a.stride, a.lower, a.upper, a.channels, a.pixels,
        null == 4 ? NULL : a.step, (CUtensorMapInterleave)a.interleave, (CUtensorMapSwizzle)a.swizzle,
        (CUtensorMapL2promotion)a.promotion, (CUtensorMapFloatOOBfill)a.fill);
    add("%s = %s", null < 5 ? keyf(" null%u", null) : "", rname(r));
    say();
}

static void map_wide(void)
{
    static CUtensorMap map;
    struct asked a = good();
    unsigned spoilt = draw(3), null = draw(40);
    if (draw(2)) a.interleave = 0, a.swizzle = 3;
    for (unsigned k = 0; k < spoilt; k++) spoil(&a);
    tell(&a);
    CUresult r = cuTensorMapEncodeIm2colWide(
        null == 0 ? NULL : &map, (CUtensorMapDataType)a.type, a.rank, null == 1 ? NULL : (void *)a.at,
        null == 2 ? NULL : a.dim, null == 3 ? NULL : a.stride, a.lower[0], a.upper[0], a.channels, a.pixels,
        null == 4 ? NULL : a.step, (CUtensorMapInterleave)a.interleave, (CUtensorMapIm2ColWideMode)a.mode,
        (CUtensorMapSwizzle)a.swizzle, (CUtensorMapL2promotion)a.promotion, (CUtensorMapFloatOOBfill)a.fill);
    add(" m%d%s = %s", a.mode, null < 5 ? keyf(" null%u", null) : "", rname(r));
    say();
}

WALK(columns, 0, MAPS, setup, map_one)
WALK(columns, 1, MAPS, setup, map_one)
WALK(wide, 0, WIDE_MAPS, setup, map_wide)

static void g_without(void)
{
    CUtensorMap map;
    struct asked a = { .rank = 3, .dim = { 64, 8, 8 }, .stride = { 64, 512 }, .step = { 1, 1, 1 } };
    cuInit(0);
    K("context", cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, (void *)4096, a.dim, a.stride, a.lower,
                                         a.upper, 16, 16, a.step, 0, 0, 0, 0));
    K("anything", cuTensorMapEncodeIm2col(NULL, CU_TENSOR_MAP_DATA_TYPE_UINT8, 0, NULL, NULL, NULL, NULL, NULL, 0, 0,
                                          NULL, 0, 0, 0, 0));
    K("wide", cuTensorMapEncodeIm2colWide(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, (void *)4096, a.dim, a.stride, 0, 0,
                                          64, 64, a.step, 0, 0, 3, 0, 0));
}

const struct group groups[] = {
    WALKED(columns, 0), WALKED(columns, 1), WALKED(wide, 0), { "without", g_without, 1 }, { 0 }
};
