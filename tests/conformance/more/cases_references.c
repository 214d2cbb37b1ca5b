/* Texture and surface references: what is kept of random calls, what is told of it, and what kernels read and write by
 * them. */
#include "sampling.h"

static const char module_text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .texref t0;\n.visible .global .texref t1;\n.global .texref hidden;\n"
    ".visible .global .surfref s0;\n.visible .global .surfref s1;\n"
    ".visible .global .u32 variable = 7;\n"
    ".visible .entry k(.param .u64 o) {\n"
    ".reg .b64 %d<6>; .reg .b32 %r<12>; .reg .f32 %f<12>;\n"
    "ld.param.u64 %d1,[o]; mov.u32 %r1,%tid.x;\n"
    "tex.1d.v4.u32.s32 {%r4,%r5,%r6,%r7}, [t0, {%r1}];\n"
    "mad.wide.u32 %d1,%r1,16,%d1; st.global.v4.u32 [%d1], {%r4,%r5,%r6,%r7}; ret; }\n"
    ".visible .entry surfaces(.param .u64 o, .param .u32 x, .param .u32 y) {\n"
    ".reg .b64 %d<6>; .reg .b32 %r<12>;\n"
    "ld.param.u64 %d1,[o]; ld.param.u32 %r1,[x]; ld.param.u32 %r2,[y];\n"
    "suld.b.2d.b32.zero {%r4}, [s0, {%r1, %r2}]; st.global.u32 [%d1], %r4;\n"
    "add.u32 %r4, %r4, 1; sust.b.2d.b32.zero [s1, {%r1, %r2}], {%r4}; ret; }\n"
    ".visible .entry asked(.param .u64 o) {\n"
    ".reg .b64 %d<6>; .reg .b32 %r<12>;\n"
    "ld.param.u64 %d1,[o]; txq.width.b32 %r1,[t0]; txq.height.b32 %r2,[t0];\n"
    "suq.width.b32 %r3,[s0]; suq.height.b32 %r4,[s0];\n"
    "st.global.v4.u32 [%d1], {%r1,%r2,%r3,%r4}; ret; }\n"
    ".visible .entry moved(.param .u64 o) {\n"
    ".reg .b64 %d<6>; .reg .b32 %r<12>;\n"
    "ld.param.u64 %d1,[o]; mov.u64 %d2, t0; mov.u32 %r1,%tid.x;\n"
    "tex.1d.v4.u32.s32 {%r4,%r5,%r6,%r7}, [%d2, {%r1}];\n"
    "mad.wide.u32 %d1,%r1,16,%d1; st.global.v4.u32 [%d1], {%r4,%r5,%r6,%r7}; ret; }\n";

enum { ARRAYS = 8, MIPS = 3, MEMORY = 1 << 20 };
static CUarray arrays[ARRAYS];
static CUmipmappedArray mips[MIPS];
static CUdeviceptr memory, out;
static CUmodule module;

static void begin(void)
{
    static const CUDA_ARRAY3D_DESCRIPTOR shapes[ARRAYS] = {
        { 16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0 },          { 16, 8, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, 2 },
        { 16, 8, 4, CU_AD_FORMAT_HALF, 2, 0 },           { 16, 8, 3, CU_AD_FORMAT_UNSIGNED_INT16, 1, 1 },
        { 16, 0, 0, CU_AD_FORMAT_SIGNED_INT32, 1, 2 },   { 8, 8, 6, CU_AD_FORMAT_FLOAT, 4, 4 },
        { 16, 8, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 2 }, { 16, 8, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, 2 }
    };
    static unsigned numbers[MEMORY / 4];
    setup();
    for (int k = 0; k < ARRAYS; k++) MUST(cuArray3DCreate(&arrays[k], &shapes[k]));
    for (int k = 0; k < MIPS; k++) MUST(cuMipmappedArrayCreate(&mips[k], &shapes[k], 2 + (unsigned)k));
    MUST(cuMemAlloc(&memory, MEMORY));
    MUST(cuMemAlloc(&out, 4096));
    for (unsigned k = 0; k < MEMORY / 4; k++) numbers[k] = 1000 + k;
    MUST(cuMemcpyHtoD(memory, numbers, MEMORY));
    for (int k = 6; k < 8; k++) {
        CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                            .srcHost = numbers,
                            .srcPitch = 64,
                            .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                            .dstArray = arrays[k],
                            .WidthInBytes = 64,
                            .Height = 8 };
        MUST(cuMemcpy2D(&c));
    }
    MUST(cuMemsetD32(out, 0xabcdef, 1024));
    MUST(cuModuleLoadData(&module, module_text));
    MUST(cuMemAlloc(&points_at, 4096));
    MUST(cuMemAlloc(&values_at, 4096));
}

/* ---- what is kept */

static int of_array(CUarray a)
{
    for (int k = 0; k < ARRAYS; k++)
        if (a == arrays[k]) return k;
    return a ? 99 : -1;
}

static int of_mips(CUmipmappedArray m)
{
    for (int k = 0; k < MIPS; k++)
        if (m == mips[k]) return k;
    return m ? 99 : -1;
}

static void told(CUtexref t)
{
    CUarray a = NULL;
    CUmipmappedArray m = NULL;
    CUdeviceptr p = 1;
    CUaddress_mode mode[4] = { 77, 77, 77, 77 };
    CUfilter_mode filter = 77, between = 77;
    CUarray_format format = 77;
    int channels = 77, anisotropy = 77;
    float bias = 77, least = 77, most = 77, border[4] = { 77, 77, 77, 77 };
    unsigned flags = 77;
    CUresult r = cuTexRefGetArray(&a, t);
    add(" | a %s %d", rname(r), of_array(a));
    r = cuTexRefGetMipmappedArray(&m, t);
    add(" m %s %d", rname(r), of_mips(m));
    r = cuTexRefGetAddress(&p, t);
    add(" p %s %llx", rname(r), p >= memory && p < memory + MEMORY ? (unsigned long long)(p - memory + 0x100) : p);
    add(" am");
    for (int k = 0; k < 4; k++) {
        r = cuTexRefGetAddressMode(&mode[k], t, k);
        add(" %s %d", rname(r), (int)mode[k]);
    }
    r = cuTexRefGetFilterMode(&filter, t);
    add(" f %s %d", rname(r), (int)filter);
    r = cuTexRefGetFormat(&format, &channels, t);
    add(" fmt %s %x/%d", rname(r), (unsigned)format, channels);
    r = cuTexRefGetMipmapFilterMode(&between, t);
    add(" mf %s %d", rname(r), (int)between);
    r = cuTexRefGetMipmapLevelBias(&bias, t);
    add(" b %s %g", rname(r), bias);
    r = cuTexRefGetMipmapLevelClamp(&least, &most, t);
    add(" c %s %g-%g", rname(r), least, most);
    r = cuTexRefGetMaxAnisotropy(&anisotropy, t);
    add(" an %s %d", rname(r), anisotropy);
    r = cuTexRefGetBorderColor(border, t);
    add(" bc %s %g,%g,%g,%g", rname(r), border[0], border[1], border[2], border[3]);
    r = cuTexRefGetFlags(&flags, t);
    add(" fl %s %x", rname(r), flags);
}

static void set_memory(CUtexref t)
{
    static const size_t offsets[] = { 0, 4, 16, 32, 256, 512, 513, 768, MEMORY - 512, MEMORY - 16 };
    static const size_t sizes[] = { 0, 1, 16, 512, 4096, 4097, MEMORY - 1024, MEMORY, MEMORY + 1, 1ul << 32, ~0ul };
    size_t to = 12345, from = offsets[draw(10)], size = sizes[draw(11)];
    bool null = draw(12) == 0, nowhere = draw(16) == 0, quiet = draw(8) == 0;
    CUdeviceptr p = null ? 0 : nowhere ? 0x123400000000 : memory + from;
    CUresult r = cuTexRefSetAddress(quiet ? NULL : &to, t, p, size);
    add(" address(%s%zx,%zx%s)=%s %zu",
        null      ? "0 "
        : nowhere ? "nowhere "
                  : "",
        from, size, quiet ? ",-" : "", rname(r), to);
}

static void set_plane(CUtexref t)
{
    static const size_t offsets[] = { 0, 4, 16, 32, 256, 512, 513, 768, MEMORY - 512 };
    static const size_t pitches[] = { 64, 32, 16, 512, 100, 0, 1 << 21, 96 };
    CUDA_ARRAY_DESCRIPTOR d = { 1 + draw(20), draw(10),
                                draw(4) ? (CUarray_format)formats[draw(8)] : (CUarray_format)draw(40), 1 + draw(4) };
    if (draw(10) == 0) d.Width = (size_t[]){ 0, 131072, 131073, 1 << 20 }[draw(4)];
    if (draw(20) == 0) d.Height = (size_t[]){ 65000, 65001, 1 << 20, 0 }[draw(4)];
    size_t from = offsets[draw(3) ? 0 : draw(9)], pitch = pitches[draw(8)];
    bool null = draw(20) == 0, none = draw(20) == 0;
    CUresult r = cuTexRefSetAddress2D(t, none ? NULL : &d, null ? 0 : memory + from, pitch);
    add(" plane(%zux%zu %x/%u %s%zx %zu%s)=%s", d.Width, d.Height, d.Format, d.NumChannels, null ? "0 " : "", from,
        pitch, none ? " -" : "", rname(r));
}

static void set(CUtexref t)
{
    static const float floats[] = { 0, 1, -1, 2.5f, 100, -100, 16, 15.9f };
    int k = (int)draw(10), n = (int)draw(6), flags = draw(3) ? 1 : (int)draw(4);
    unsigned u = draw(8);
    float x = floats[draw(8)], y = floats[draw(8)];
    CUresult r;
    switch (draw(14)) {
    case 0:
        r = cuTexRefSetArray(t, k < ARRAYS ? arrays[k] : NULL, (unsigned)flags);
        add(" array(%d,%d)=%s", k < ARRAYS ? k : -1, flags, rname(r));
        break;
    case 1:
        r = cuTexRefSetMipmappedArray(t, k % 4 < MIPS ? mips[k % 4] : NULL, (unsigned)flags);
        add(" mips(%d,%d)=%s", k % 4 < MIPS ? k % 4 : -1, flags, rname(r));
        break;
    case 2: set_memory(t); break;
    case 3: set_plane(t); break;
    case 4:
    case 5: {
        int format = draw(4) ? formats[draw(8)] : formats[draw(FORMATS)];
        if (draw(12) == 0) format = (int)draw(300);
        r = cuTexRefSetFormat(t, (CUarray_format)format, n);
        add(" format(%x,%d)=%s", format, n, rname(r));
        break;
    }
    case 6:
        r = cuTexRefSetAddressMode(t, n - 1, (CUaddress_mode)(u < 6 ? u : 100 * u));
        add(" mode(%d,%u)=%s", n - 1, u < 6 ? u : 100 * u, rname(r));
        break;
    case 7:
        r = cuTexRefSetFilterMode(t, (CUfilter_mode)(u % 4));
        add(" filter(%u)=%s", u % 4, rname(r));
        break;
    case 8:
        r = cuTexRefSetMipmapFilterMode(t, (CUfilter_mode)(u % 4));
        add(" between(%u)=%s", u % 4, rname(r));
        break;
    case 9:
        r = cuTexRefSetMipmapLevelBias(t, x);
        add(" bias(%g)=%s", x, rname(r));
        break;
    case 10:
        r = cuTexRefSetMipmapLevelClamp(t, x, y);
        add(" clamp(%g,%g)=%s", x, y, rname(r));
        break;
    case 11:
        u = draw(4) ? draw(20) : 1u << draw(32);
        r = cuTexRefSetMaxAnisotropy(t, u);
        add(" anisotropy(%u)=%s", u, rname(r));
        break;
    case 12: {
        float colour[] = { x, y, 1, 0.25f };
        r = cuTexRefSetBorderColor(t, n ? colour : NULL);
        add(" border(%g,%g%s)=%s", x, y, n ? "" : ",-", rname(r));
        break;
    }
    default:
        u = draw(2) ? u : 1u << draw(12);
        r = cuTexRefSetFlags(t, u);
        add(" flags(%x)=%s", u, rname(r));
    }
}

static void calls(void)
{
    CUtexref t = NULL, own = NULL;
    CUmodule m = NULL;
    MUST(cuTexRefCreate(&own));
    unsigned n = 1 + draw(6);
    bool modules = draw(3) == 0;
    t = own;
    if (modules) {
        MUST(cuModuleLoadData(&m, module_text));
        MUST(cuModuleGetTexRef(&t, m, "t0"));
    }
    add("%s", modules ? "module's" : "own");
    for (unsigned k = 0; k < n; k++) set(t);
    told(t);
    CUresult r = cuTexRefDestroy(own);
    if (r) add(" destroy %s", rname(r));
    if (m) cuModuleUnload(m);
    say();
}

WALK(calls, 0, 1200, begin, calls)

/* ---- what is read */

static CUresult refer(CUtexref t, const struct source *o)
{
    size_t offset = 1;
    switch (o->desc.resType) {
    case CU_RESOURCE_TYPE_LINEAR: {
        CUresult r = cuTexRefSetFormat(t, (CUarray_format)o->format, (int)o->channels);
        if (r) return r;
        return cuTexRefSetAddress(&offset, t, o->memory, o->desc.res.linear.sizeInBytes);
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
        CUDA_ARRAY_DESCRIPTOR d = { 16, 8, (CUarray_format)o->format, o->channels };
        return cuTexRefSetAddress2D(t, &d, o->memory, o->desc.res.pitch2D.pitchInBytes);
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: return cuTexRefSetMipmappedArray(t, o->mips, CU_TRSA_OVERRIDE_FORMAT);
    default: return cuTexRefSetArray(t, o->array[0], CU_TRSA_OVERRIDE_FORMAT);
    }
}

static void set_all(CUtexref t, const CUDA_TEXTURE_DESC *d)
{
    for (int k = 0; k < 3; k++) MUST(cuTexRefSetAddressMode(t, k, d->addressMode[k]));
    MUST(cuTexRefSetFilterMode(t, d->filterMode));
    MUST(cuTexRefSetMipmapFilterMode(t, d->mipmapFilterMode));
    MUST(cuTexRefSetMipmapLevelBias(t, d->mipmapLevelBias));
    MUST(cuTexRefSetMipmapLevelClamp(t, d->minMipmapLevelClamp, d->maxMipmapLevelClamp));
    MUST(cuTexRefSetBorderColor(t, (float *)d->borderColor));
    MUST(cuTexRefSetFlags(t, d->flags));
}

static void samples(void)
{
    struct source o;
    CUtexref t;
    struct point p[POINTS];
    if (!make_source(&o, draw(4) == 0 ? 8 : 0)) {
        unmake_source(&o);
        return;
    }
    CUDA_TEXTURE_DESC d = any_texture(false);
    if (o.mips || o.shape >= CUBE) d.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (d.maxMipmapLevelClamp < d.minMipmapLevelClamp) d.maxMipmapLevelClamp = d.minMipmapLevelClamp;
    bool linear = o.desc.resType == CU_RESOURCE_TYPE_LINEAR;
    if (result_of(&o, &d) != 'f') d.filterMode = CU_TR_FILTER_MODE_POINT;
    char result = result_of(&o, &d), coordinate = linear || (o.memory && draw(4) == 0) ? 's' : 'f';
    int how = !o.memory && draw(2);
    sample_points(p, &o, coordinate == 's', d.flags & CU_TRSF_NORMALIZED_COORDINATES,
                  d.filterMode == CU_TR_FILTER_MODE_POINT);
    tell_source(&o);
    tell_texture(&d);
    add(" %c%c%d", result, coordinate, how);
    tell_points(p,
                o.shape >= CUBE          ? 3
                : o.shape == ONE_LAYERED ? 1
                : o.shape == TWO_LAYERED ? 2
                                         : o.shape,
                coordinate == 's');
    CUfunction f = sampler(o.shape, result, coordinate, how, &t);
    if (f) {
        set_all(t, &d);
        CUresult r = refer(t, &o);
        add(" = %s", rname(r));
        if (!r) run(f, 0, p, result);
    }
    say();
    unmake_source(&o);
}

WALK(samples, 1, 500, begin, samples)
WALK(samples, 2, 500, begin, samples)

/* ---- one by one */

static void g_names(void)
{
    static const char *const names[] = { "t0", "hidden", "s0", "variable", "k", "missing", "" };
    CUtexref t, again, created[2];
    CUsurfref s, s_again;
    CUarray a;
    CUfunction f;
    CUdeviceptr p;
    size_t size;
    begin();
    for (int k = 0; k < 7; k++) {
        K(keyf("texref.%s", names[k]), cuModuleGetTexRef(&t, module, names[k]));
        K(keyf("surfref.%s", names[k]), cuModuleGetSurfRef(&s, module, names[k]));
        CUresult r = cuModuleGetGlobal(&p, &size, module, names[k]);
        rec(keyf("global.%s", names[k]), "%s %zu", rname(r), r ? 0 : size);
    }
    MUST(cuModuleGetTexRef(&t, module, "t0"));
    MUST(cuModuleGetTexRef(&again, module, "t0"));
    rec("same", "%d", t == again);
    MUST(cuModuleGetSurfRef(&s, module, "s0"));
    MUST(cuModuleGetSurfRef(&s_again, module, "s0"));
    rec("same.surface", "%d", s == s_again);
    K("destroy.null", cuTexRefDestroy(NULL));
    K("create.null", cuTexRefCreate(NULL));
    K("texref.null", cuModuleGetTexRef(NULL, module, "t0"));
    K("texref.noname", cuModuleGetTexRef(&t, module, NULL));
    K("texref.nomodule", cuModuleGetTexRef(&t, NULL, "t0"));
    K("surfref.null", cuModuleGetSurfRef(NULL, module, "s0"));
    K("surfref.noname", cuModuleGetSurfRef(&s, module, NULL));
    K("surfref.nomodule", cuModuleGetSurfRef(&s, NULL, "s0"));
    MUST(cuTexRefCreate(&created[0]));
    MUST(cuTexRefCreate(&created[1]));
    rec("distinct", "%d", created[0] != created[1]);
    K("destroy", cuTexRefDestroy(created[0]));
    MUST(cuModuleGetFunction(&f, module, "k"));
    K("param", cuParamSetTexRef(f, CU_PARAM_TR_DEFAULT, t));
    K("param.unit", cuParamSetTexRef(f, 0, t));
    K("param.other", cuParamSetTexRef(f, 5, t));
    K("param.created", cuParamSetTexRef(f, CU_PARAM_TR_DEFAULT, created[1]));
    K("param.none", cuParamSetTexRef(f, CU_PARAM_TR_DEFAULT, NULL));
    K("param.nofunction", cuParamSetTexRef(NULL, CU_PARAM_TR_DEFAULT, t));
    a = NULL;
    K("surface.none", cuSurfRefGetArray(&a, s));
    for (int k = 0; k < ARRAYS; k++) K(keyf("surface.array%d", k), cuSurfRefSetArray(s, arrays[k], 0));
    for (unsigned k = 1; k < 5; k++) K(keyf("surface.flags%u", k), cuSurfRefSetArray(s, arrays[6], k));
    CUresult r = cuSurfRefGetArray(&a, s);
    rec("surface.get", "%s %d", rname(r), of_array(a));
    K("surface.null", cuSurfRefSetArray(s, NULL, 0));
    r = cuSurfRefGetArray(&a, s);
    rec("surface.get2", "%s %d", rname(r), of_array(a));
    K("surface.noref", cuSurfRefSetArray(NULL, arrays[6], 0));
}

static void g_states(void)
{
    CUtexref t;
    CUaddress_mode mode;
    begin();
    step = 0;
    MUST(cuTexRefCreate(&t));
    add("defaults"), told(t), say(), step++;
    MUST(cuModuleGetTexRef(&t, module, "t1"));
    add("module's defaults"), told(t), say(), step++;
    for (int k = -1; k < 5; k++) K(keyf("mode.%d", k), cuTexRefGetAddressMode(&mode, t, k));
}

static void g_none(void)
{
    begin();
    add("null"), told(NULL), say(), step++;
    for (unsigned k = 0; k < 60; k++, step++) seeded(99, (int)k), set(NULL), say();
}

static void g_destroyed(void)
{
    CUtexref t;
    begin();
    MUST(cuModuleGetTexRef(&t, module, "t1"));
    K("module's", cuTexRefDestroy(t));
    K("module's.again", cuModuleGetTexRef(&t, module, "t1"));
    K("module's.set", cuTexRefSetFlags(t, 1));
}

/* As long as its array: a view of other bytes. */
static void g_formats(void)
{
    static const struct {
        int format, channels;
    } others[] = { { 0x20, 1 }, { 0x03, 1 }, { 0x0a, 1 }, { 0x02, 2 },
                   { 0x01, 4 }, { 0x10, 2 }, { 0x01, 1 }, { 0x20, 2 } };
    struct point p[POINTS];
    CUtexref t;
    CUfunction f;
    begin();
    f = sampler(TWO, 'u', 'f', 0, &t);
    MUST(cuTexRefSetFlags(t, CU_TRSF_READ_AS_INTEGER));
    for (step = 0; step < 32; step++) {
        int k = step % 8, by = step / 8;
        if (k >= 6) continue; /* elements of another size */
        for (int i = 0; i < POINTS; i++)
            p[i] = (struct point){ .c = { { (float)i + 0.5f }, { (float)(i % 4) + 0.5f } } };
        if (by < 2) add("%s", rname(cuTexRefSetArray(t, arrays[6], by % 2 ? 0 : CU_TRSA_OVERRIDE_FORMAT)));
        CUresult r = cuTexRefSetFormat(t, (CUarray_format)others[k].format, others[k].channels);
        add(" %x/%d %s", others[k].format, others[k].channels, rname(r));
        if (by == 2) add(" %s", rname(cuTexRefSetArray(t, arrays[6], 0)));
        if (by == 3) {
            CUDA_ARRAY_DESCRIPTOR d = { 16, 8, CU_AD_FORMAT_UNSIGNED_INT32, 1 };
            add(" %s", rname(cuTexRefSetAddress2D(t, &d, memory, 64)));
            add(" %s", rname(cuTexRefSetFormat(t, (CUarray_format)others[k].format, others[k].channels)));
        }
        told(t);
        run(f, 0, p, 'u');
        say();
    }
}

static unsigned ran(CUfunction f, unsigned threads, void **arguments)
{
    unsigned got[16];
    CUresult r = cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, arguments, NULL);
    add(" launch=%s", rname(r));
    r = cuCtxSynchronize();
    add(" ran=%s", rname(r));
    if (cuMemcpyDtoH(got, out, sizeof got)) return 1;
    for (int k = 0; k < 16; k++) add(" %x", got[k]);
    return 0;
}

static void one_by_one(const char *kernel, void (*prepare)(CUtexref, CUsurfref, CUsurfref))
{
    CUtexref t;
    CUsurfref s0, s1;
    CUfunction f;
    int x = 8, y = 2;
    begin();
    MUST(cuModuleGetFunction(&f, module, kernel));
    MUST(cuModuleGetTexRef(&t, module, "t0"));
    MUST(cuModuleGetSurfRef(&s0, module, "s0"));
    MUST(cuModuleGetSurfRef(&s1, module, "s1"));
    prepare(t, s0, s1);
    ran(f, strcmp(kernel, "surfaces") && strcmp(kernel, "asked") ? 4 : 1, (void *[]){ &out, &x, &y });
    say();
}

static void nothing(CUtexref t, CUsurfref s0, CUsurfref s1) { (void)t, (void)s0, (void)s1; }
static void bound(CUtexref t, CUsurfref s0, CUsurfref s1)
{
    size_t offset;
    MUST(cuTexRefSetFlags(t, CU_TRSF_READ_AS_INTEGER));
    MUST(cuTexRefSetFormat(t, CU_AD_FORMAT_UNSIGNED_INT32, 1));
    add("%s", rname(cuTexRefSetAddress(&offset, t, memory, 4096)));
    add(" %s", rname(cuSurfRefSetArray(s0, arrays[6], 0)));
    add(" %s", rname(cuSurfRefSetArray(s1, arrays[7], 0)));
}
static void unformatted(CUtexref t, CUsurfref s0, CUsurfref s1)
{
    size_t offset;
    (void)s0, (void)s1;
    add("%s", rname(cuTexRefSetAddress(&offset, t, memory, 4096)));
}
static void offset_by(CUtexref t, CUsurfref s0, CUsurfref s1)
{
    size_t offset = 1;
    bound(t, s0, s1);
    add(" %s", rname(cuTexRefSetAddress(&offset, t, memory + 516, 4096)));
    add(" %zu", offset);
}
static void gone(CUtexref t, CUsurfref s0, CUsurfref s1)
{
    bound(t, s0, s1);
    add(" %s", rname(cuTexRefSetArray(t, arrays[4], 1)));
    cuArrayDestroy(arrays[4]);
    told(t);
}
static void unbound(CUtexref t, CUsurfref s0, CUsurfref s1)
{
    size_t offset = 1;
    bound(t, s0, s1);
    add(" %s", rname(cuTexRefSetAddress(&offset, t, 0, 0)));
    told(t);
}
static void g_read(void) { one_by_one("k", bound); }
static void g_unset(void) { one_by_one("k", nothing); }
static void g_unformatted(void) { one_by_one("k", unformatted); }
static void g_offset(void) { one_by_one("k", offset_by); }
static void g_gone(void) { one_by_one("k", gone); }
static void g_unbound(void) { one_by_one("k", unbound); }
static void g_surfaces(void) { one_by_one("surfaces", bound); }
static void g_surfaces_unset(void) { one_by_one("surfaces", nothing); }
static void g_asked(void) { one_by_one("asked", bound); }
static void g_asked_unset(void) { one_by_one("asked", nothing); }
static void g_moved(void) { one_by_one("moved", bound); }

/* What a launch reads is what was set when it was called. */
static void g_later(void)
{
    CUtexref t;
    CUfunction f;
    CUstream stream;
    CUdeviceptr flag;
    size_t offset;
    unsigned got[32];
    begin();
    MUST(cuModuleGetFunction(&f, module, "k"));
    MUST(cuModuleGetTexRef(&t, module, "t0"));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc(&flag, 4));
    MUST(cuMemsetD32(flag, 0, 1));
    bound(t, NULL, NULL);
    used = 0;
    K("held", cuStreamWaitValue32(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    for (int k = 0; k < 2; k++) {
        CUdeviceptr to = out + 64 * (unsigned)k;
        MUST(cuLaunchKernel(f, 1, 1, 1, 4, 1, 1, 0, stream, (void *[]){ &to }, NULL));
        K(keyf("set.%d", k), cuTexRefSetAddress(&offset, t, memory + 4096, 4096));
    }
    MUST(cuMemsetD32Async(flag, 1, 1, CU_STREAM_PER_THREAD));
    K("done", cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH(got, out, sizeof got));
    for (int k = 0; k < 32; k++) add(" %x", got[k]);
    step = 0;
    say();
}

/* Other modules that have them. */
static void g_texts(void)
{
    static const char *const texts[] = {
        ".target sm_70, texmode_independent\n.address_size 64\n.global .texref t0;\n"
        ".global .samplerref s = { filter_mode = nearest };\n.visible .entry k(.param .u64 o) {\n"
        ".reg .f32 %f<9>;\nmov.f32 %f1, 0f00000000;\ntex.2d.v4.f32.f32 {%f5,%f6,%f7,%f8}, [t0, s, {%f1,%f1}];\nret; "
        "}\n",
        ".target sm_70\n.address_size 64\n.extern .global .texref t0;\n.visible .entry k(.param .u64 o) {\n"
        ".reg .f32 %f<9>;\nmov.f32 %f1, 0f00000000;\ntex.2d.v4.f32.f32 {%f5,%f6,%f7,%f8}, [t0, {%f1,%f1}];\nret; }\n",
        ".target sm_70\n.address_size 64\n.global .texref t0[4];\n.visible .entry k(.param .u64 o) { ret; }\n",
        ".target sm_70\n.address_size 64\n.visible .global .texref t0;\n.visible .entry k(.param .u64 o, .param "
        ".texref p) "
        "{\n.reg .f32 %f<9>;\nmov.f32 %f1, 0f00000000;\ntex.2d.v4.f32.f32 {%f5,%f6,%f7,%f8}, [p, {%f1,%f1}];\nret; }\n",
        ".target sm_70\n.address_size 64\n.global .texref t0;\n.visible .entry k(.param .u64 o) { ret; }\n",
        ".target sm_70\n.address_size 64\n.visible .entry k(.param .u64 o) {\n.global .texref t0;\n"
        ".reg .f32 %f<9>;\nmov.f32 %f1, 0f00000000;\ntex.2d.v4.f32.f32 {%f5,%f6,%f7,%f8}, [t0, {%f1,%f1}];\nret; }\n",
    };
    begin();
    for (int k = 0; k < (int)(sizeof texts / sizeof *texts); k++) {
        char text[2000];
        CUmodule m;
        CUtexref t;
        snprintf(text, sizeof text, ".version 7.0\n%s", texts[k]);
        CUresult r = cuModuleLoadData(&m, text);
        recr(keyf("text.%d", k), r);
        if (r) continue;
        recr(keyf("text.%d.t0", k), cuModuleGetTexRef(&t, m, "t0"));
        recr(keyf("text.%d.s", k), cuModuleGetTexRef(&t, m, "s"));
    }
}

const struct group groups[] = { { "names", g_names, 1 },
                                { "states", g_states, 1 },
                                { "none", g_none, 1 },
                                { "destroyed", g_destroyed, 1 },
                                { "formats", g_formats, 1 },
                                { "texts", g_texts, 1 },
                                { "read", g_read, 1 },
                                { "unset", g_unset, 1 },
                                { "unformatted", g_unformatted, 1 },
                                { "offset", g_offset, 1 },
                                { "gone", g_gone, 1 },
                                { "unbound", g_unbound, 1 },
                                { "surfaces", g_surfaces, 1 },
                                { "surfaces_unset", g_surfaces_unset, 1 },
                                { "asked", g_asked, 1 },
                                { "asked_unset", g_asked_unset, 1 },
                                { "moved", g_moved, 1 },
                                { "later", g_later, 1 },
                                WALKED(calls, 0),
                                WALKED(samples, 1),
                                WALKED(samples, 2),
                                { 0 } };
