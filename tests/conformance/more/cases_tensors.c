/* Tensor maps of random shapes, most of them good or wrong in one or two places, and how wide textures of memory may be. */
#include "say.h"

enum { MOST = 6, MAPS = 4000 };

struct asked {
    int type, interleave, swizzle, promotion, fill;
    cuuint32_t rank, box[MOST], step[MOST];
    cuuint64_t dim[MOST], stride[MOST];
    CUdeviceptr at;
};

static const unsigned bytes_of[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 1, 1, 1, 1, 1 };

static struct asked good(void)
{
    struct asked a = { .type = (int)draw(13), .rank = 1 + draw(5), .at = 0x700000000000ul + 16 * draw(64) };
    unsigned bytes = bytes_of[a.type];
    cuuint64_t pitch;
    a.interleave = draw(4) ? 0 : (int)draw(3);
    a.swizzle = draw(2) ? 0 : (int)draw(4);
    a.promotion = (int)draw(4);
    a.fill = a.type > 5 ? (int)draw(2) : 0;
    if (a.interleave && a.rank < 3) a.rank = 3;
    if (a.interleave == 2) a.swizzle = draw(4) ? 1 : a.swizzle, a.at &= ~31ul;
    a.dim[0] = 1 + draw(500);
    a.box[0] = 16 / bytes * (1 + draw(a.swizzle ? 1u << a.swizzle : 8));
    pitch = (a.dim[0] * bytes + 31) / 32 * 32;
    for (cuuint32_t k = 0; k < MOST; k++) {
        if (k) a.dim[k] = 1 + draw(50), a.box[k] = 1 + draw(k < 2 ? 64 : 4);
        a.step[k] = draw(4) ? 1 : 1 + draw(8);
        a.stride[k] = pitch;
        pitch = (k + 1 < MOST ? pitch * (1 + draw(60)) : pitch) + 32 * draw(3);
    }
    return a;
}

static void spoil(struct asked *a)
{
    unsigned k = draw(a->rank ? a->rank : 1);
    switch (draw(14)) {
    case 0: a->type = (int)draw(18); break;
    case 1: a->rank = draw(7); break;
    case 2: a->at += (CUdeviceptr[]){ 1, 8, 16, 32, 1ul << 57, 1ul << 56 }[draw(6)]; break;
    case 3: a->dim[k] = (cuuint64_t[]){ 0, 1ul << 31, 1ul << 32, (1ul << 32) + 1, ~0ul }[draw(5)]; break;
    case 4:
        a->stride[k] =
            (cuuint64_t[]){ 0, 8, 16, 32, 48, 100, 1ul << 36, (1ul << 40) - 16, 1ul << 40, ~0ul - 15 }[draw(10)];
        break;
    case 5: a->box[k] = (cuuint32_t[]){ 0, 1, 256, 257, 128, 512, 3, ~0u }[draw(8)]; break;
    case 6: a->step[k] = (cuuint32_t[]){ 0, 8, 9, ~0u }[draw(4)]; break;
    case 7: a->interleave = (int)draw(4); break;
    case 8: a->swizzle = (int)draw(8); break;
    case 9: a->promotion = (int)draw(6); break;
    case 10: a->fill = (int)draw(4); break;
    case 11: a->box[0] = 1 + draw(256); break;
    case 12: a->box[1] = 256, a->box[2] = 1 + draw(16); break;
    default: a->dim[0] = 1 + draw(5), a->box[0] = 256; break;
    }
}

static void map_one(void)
{
    static CUtensorMap map;
    struct asked a = good();
    unsigned spoilt = draw(3), null = draw(60);
    for (unsigned k = 0; k < spoilt; k++) spoil(&a);
    add("t%d r%u +%lx i%d s%d l%d f%d", a.type, a.rank, (unsigned long)a.at, a.interleave, a.swizzle, a.promotion,
        a.fill);
    for (cuuint32_t k = 0; k < a.rank && k < MOST; k++)
        add(" %lx/%lx/%x/%x", (unsigned long)a.dim[k], (unsigned long)a.stride[k], a.box[k], a.step[k]);
    CUresult r = cuTensorMapEncodeTiled(
        null == 0 ? NULL : &map, (CUtensorMapDataType)a.type, a.rank, null == 1 ? NULL : (void *)a.at,
        null == 2 ? NULL : a.dim, null == 3 ? NULL : a.stride, null == 4 ? NULL : a.box, null == 5 ? NULL : a.step,
        (CUtensorMapInterleave)a.interleave, (CUtensorMapSwizzle)a.swizzle, (CUtensorMapL2promotion)a.promotion,
        (CUtensorMapFloatOOBfill)a.fill);
    add("%s = %s", null < 6 ? keyf(" null%u", null) : "", rname(r));
    if (!r && draw(10) == 0) {
        static const CUdeviceptr places[] = {
            0, 16, 17, 0x700000000000, 0x700000000008, 1ul << 57, (1ul << 57) - 16, 1ul << 63
        };
        CUdeviceptr p = places[draw(8)];
        add(" replace %lx = %s", (unsigned long)p, rname(cuTensorMapReplaceAddress(&map, (void *)p)));
    }
    say();
}

WALK(tensors, 0, MAPS, setup, map_one)
WALK(tensors, 1, MAPS, setup, map_one)

static void g_widths(void)
{
    static const int formats[] = { 0x01, 0x02, 0x03, 0x08, 0x09, 0x0a, 0x10, 0x20, 0x50,
                                   0x91, 0xb0, 0xc0, 0xc2, 0xc5, 0xcb, 0,    0x04 };
    setup();
    for (int f = 0; f < 17; f++)
        for (unsigned c = 0; c < 6; c++, step++) {
            size_t n = 77;
            CUresult r = cuDeviceGetTexture1DLinearMaxWidth(&n, (CUarray_format)formats[f], c, dev0);
            SAY("%x/%u = %s %zu", formats[f], c, rname(r), n);
        }
    size_t n = 77;
    K("device", cuDeviceGetTexture1DLinearMaxWidth(&n, CU_AD_FORMAT_FLOAT, 1, 99));
    K("device.format", cuDeviceGetTexture1DLinearMaxWidth(&n, (CUarray_format)99, 1, 99));
    K("nowhere", cuDeviceGetTexture1DLinearMaxWidth(NULL, CU_AD_FORMAT_FLOAT, 1, dev0));
    K("nowhere.device", cuDeviceGetTexture1DLinearMaxWidth(NULL, CU_AD_FORMAT_FLOAT, 1, -1));
}

const struct group groups[] = { WALKED(tensors, 0), WALKED(tensors, 1), { "widths", g_widths, 1 }, { 0 } };
