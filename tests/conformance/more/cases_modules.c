/* Modules, libraries, JIT options, linking, entry points by name and version: random steps (walk.h). */
#include "exports.h"
#include "walk.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY ".visible .entry k(.param .u64 a) .maxntid 128,1,1 { ret; }\n"

static const char kernels_text[] =
    HEAD ENTRY ".visible .entry second(.param .u32 a, .param .f64 b) { ret; }\n"
               ".entry third() { ret; }\n"
               ".visible .global .align 4 .u32 variable[5] = {1,2,3,4,5};\n"
               ".visible .const .align 8 .u64 constant = 7;\n"
               ".global .align 4 .u32 hidden = 3;\n"
               ".visible .global .attribute(.managed) .align 8 .u32 shared_by_all[4] = {9,8,7,6};\n"
               ".visible .func (.param .u32 r) helper(.param .u32 x) { .reg .b32 %r1; ld.param.u32 %r1,[x]; "
               "st.param.u32 [r],%r1; ret; }\n";

static const struct image {
    const char *name, *text;
} images[] = {
    { "good", kernels_text },
    { "entry", HEAD ENTRY },
    { "empty", HEAD },
    { "variables", HEAD ".visible .global .align 4 .u32 variable[3];\n" },
    { "newer", ".version 9.0\n.target sm_90\n.address_size 64\n" ENTRY },
    { "toonew", ".version 9.9\n.target sm_90\n.address_size 64\n" ENTRY },
    { "sm90a", ".version 8.0\n.target sm_90a\n.address_size 64\n" ENTRY },
    { "sm100", ".version 8.6\n.target sm_100\n.address_size 64\n" ENTRY },
    { "sm100f", ".version 8.8\n.target sm_100f\n.address_size 64\n" ENTRY },
    { "sm50", ".version 4.0\n.target sm_50\n.address_size 64\n" ENTRY },
    { "sm30", ".version 3.0\n.target sm_30\n.address_size 64\n" ENTRY },
    { "sm20", ".version 3.0\n.target sm_20\n.address_size 64\n" ENTRY },
    { "bits32", ".version 6.0\n.target sm_50\n.address_size 32\n" ENTRY },
    { "nobits", ".version 8.0\n.target sm_80\n.visible .entry k(.param .u32 a) { ret; }\n" },
    { "noversion", ".target sm_80\n.address_size 64\n" ENTRY },
    { "notarget", ".version 8.0\n.address_size 64\n" ENTRY },
    { "debug", ".version 8.0\n.target sm_80, debug\n.address_size 64\n" ENTRY },
    { "texmode", ".version 8.0\n.target sm_80, texmode_independent\n.address_size 64\n" ENTRY },
    { "wrongop", HEAD ".visible .entry k() { frob.u32 %r1; ret; }\n" },
    { "undeclared", HEAD ".visible .entry k() { mov.u32 %r1, 5; ret; }\n" },
    { "extern", HEAD ".extern .func foo;\n.visible .entry k() { call foo; ret; }\n" },
    { "externvar", HEAD ".extern .global .align 4 .u32 elsewhere;\n.visible .entry k() { .reg .b32 %r<2>; "
                        "ld.global.u32 %r1,[elsewhere]; ret; }\n" },
    { "externunused", HEAD ".extern .global .align 4 .u32 elsewhere;\n" ENTRY },
    { "twice", HEAD ENTRY ENTRY },
    { "weak", HEAD ".weak .entry k(.param .u64 a) { ret; }\n" },
    { "comment", "// nothing\n" HEAD ENTRY "// end" },
    { "unclosed", HEAD ".visible .entry k() { ret;\n" },
    { "noret", HEAD ".visible .entry k() { }\n" },
    { "toomanythreads", HEAD ".visible .entry k() .maxntid 2048,1,1 { ret; }\n" },
    { "toomuchshared", HEAD ".visible .entry k() { .shared .align 4 .b8 s[300000]; .reg .b32 %r<2>; mov.u32 %r1,s; "
                            "st.shared.u32 [%r1],%r1; ret; }\n" },
    { "muchshared", HEAD ".visible .entry k() { .shared .align 4 .b8 s[49153]; .reg .b32 %r<2>; mov.u32 %r1,s; "
                         "st.shared.u32 [%r1],%r1; ret; }\n" },
    { "muchconst", HEAD ".visible .const .align 4 .b8 c[65537];\n" ENTRY },
    { "toomanyparams", HEAD ".visible .entry k(.param .align 4 .b8 p[4353]) { ret; }\n" },
    { "redefined", HEAD ".visible .entry k() { .reg .b32 %r1; .reg .b32 %r1; ret; }\n" },
    { "cluster80", HEAD ".visible .entry k() .reqnctapercluster 2,1,1 { ret; }\n" },
    { "newop", HEAD ".visible .entry k() { barrier.cluster.arrive; ret; }\n" },
    { "junk", "this is not PTX" },
    { "nothing", "" },
    { "space", "   \n\t\n" },
    { "elf", "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
             "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" },
    { "archive", "!<arch>\n" },
};
enum { IMAGES = sizeof images / sizeof *images };

static char error_log[4096], info_log[4096];

struct options {
    CUjit_option id[6];
    void *value[6];
    unsigned n;
};

static void options(struct options *o, char *t)
{
    static const int numbers[] = {
        0, 1, 2, 3, 4, 5, 8, 16, 32, 64, 75, 80, 89, 90, 100, 128, 255, 256, 1024, 1025, -1
    };
    memset(o, 0, sizeof *o);
    memset(error_log, 0, sizeof error_log);
    memset(info_log, 0, sizeof info_log);
    if (rnd(3) == 0) return;
    o->n = 1 + rnd(3);
    for (unsigned i = 0; i < o->n; i++) {
        int id = rnd(12) ? (int)rnd(35) : (int)rnd(4) * 20 - 20, v = PICK(numbers);
        if (id >= CU_JIT_GLOBAL_SYMBOL_NAMES && id <= CU_JIT_GLOBAL_SYMBOL_COUNT) id = CU_JIT_MAX_REGISTERS;
        if (id >= CU_JIT_REFERENCED_KERNEL_NAMES && id <= CU_JIT_REFERENCED_VARIABLE_COUNT)
            id = CU_JIT_OPTIMIZATION_LEVEL;
        if (id == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || id == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) id++;
        o->id[i] = (CUjit_option)id;
        o->value[i] = (void *)(intptr_t)v;
        add(t, " [%d: %d]", id, v);
        if (id == 3 || id == 5) {
            o->value[i] = id == 3 ? info_log : error_log;
            if (i + 1 < o->n) {
                o->id[i + 1] = (CUjit_option)(id + 1);
                v = (int[]){ 0, 1, 20, 4096 }[rnd(4)];
                o->value[i + 1] = (void *)(intptr_t)v;
                add(t, " [%d: %d]", id + 1, v);
                i++;
            }
        }
    }
}

/* What was written into them: logs are not asked in words. */
static void answers(const struct options *o, char *t)
{
    for (unsigned i = 0; i < o->n; i++) switch ((int)o->id[i]) {
        case CU_JIT_THREADS_PER_BLOCK: add(t, " threads %d", (int)(intptr_t)o->value[i]); break;
        case CU_JIT_ERROR_LOG_BUFFER: add(t, " log %d", *error_log != 0); break;
        default: break;
        }
}

static const struct image *any_image(void) { return &images[rnd(3) ? rnd(IMAGES) : rnd(5)]; }

static void load_module(void)
{
    const struct image *x = any_image();
    struct options o;
    CUmodule m = NULL;
    CUfunction f = NULL, all[4] = { 0 };
    CUdeviceptr p;
    size_t n = 0, sizes[5] = { 0 };
    unsigned count = 99;
    char *t = text(), *u = text();
    options(&o, t);
    CUresult r = cuModuleLoadDataEx(&m, x->text, o.n, o.id, o.value);
    answers(&o, u);
    if (r) {
        SAY("module %s%s = %s%s", x->name, t, rname(r), u);
        return;
    }
    int threads = -1, version = -1, binary = -1;
    CUresult r1 = cuModuleGetFunctionCount(&count, m), r2 = cuModuleGetFunction(&f, m, "k");
    if (!r2) {
        cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f);
        cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, f);
        cuFuncGetAttribute(&binary, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f);
    }
    add(u, " %s %u %s t%d v%d b%d", rname(r1), count, rname(r2), threads, version, binary);
    static const char *const variables[] = { "variable", "constant", "hidden", "shared_by_all", "k" };
    for (int i = 0; i < 5; i++) {
        CUresult rv = cuModuleGetGlobal(&p, &n, m, variables[i]);
        add(u, rv ? " -" : " %zu", n);
    }
    CUresult r3 = cuModuleEnumerateFunctions(all, rnd(5), m);
    const char *s = NULL;
    add(u, " %s", rname(r3));
    for (int i = 0; i < 4; i++)
        if (all[i] && !cuFuncGetName(&s, all[i])) add(u, " %s", s);
    CUresult r4 = cuModuleUnload(m);
    SAY("module %s%s = %s%s %s", x->name, t, rname(r), u, rname(r4));
}

static void load_library(void)
{
    const struct image *x = any_image();
    struct options o;
    CUlibraryOption ids[3];
    void *values[3] = { 0 };
    CUlibrary l = NULL;
    CUkernel k = NULL, all[4] = { 0 };
    CUmodule m = NULL;
    CUdeviceptr p;
    size_t n = 0;
    unsigned count = 99, options_count = rnd(3) ? 0 : 1 + rnd(2);
    char *t = text(), *u = text();
    options(&o, t);
    for (unsigned i = 0; i < options_count; i++) {
        ids[i] = (CUlibraryOption)(rnd(2) ? 1 : 1 + rnd(3));
        values[i] = (void *)(uintptr_t)rnd(2);
        add(t, " {%d: %d}", (int)ids[i], (int)(intptr_t)values[i]);
    }
    CUresult r = cuLibraryLoadData(&l, x->text, o.id, o.value, o.n, ids, values, options_count);
    if (r) {
        SAY("library %s%s = %s", x->name, t, rname(r));
        return;
    }
    CUresult r1 = cuLibraryGetKernelCount(&count, l), r2 = cuLibraryGetKernel(&k, l, rnd(2) ? "k" : "second"),
             r3 = cuLibraryEnumerateKernels(all, rnd(5), l), r4 = cuLibraryGetModule(&m, l);
    answers(&o, u);
    add(u, " %s %u %s %s %s", rname(r1), count, rname(r2), rname(r3), rname(r4));
    const char *s = NULL;
    for (int i = 0; i < 4; i++)
        if (all[i] && !cuKernelGetName(&s, all[i])) add(u, " %s", s);
    static const char *const variables[] = { "variable", "constant", "hidden", "shared_by_all", "k" };
    for (int i = 0; i < 5; i++) {
        CUresult rv = cuLibraryGetGlobal(&p, &n, l, variables[i]), rm;
        if (rv)
            add(u, " %d", rv);
        else
            add(u, " %zu", n);
        rm = cuLibraryGetManaged(&p, &n, l, variables[i]);
        if (rm)
            add(u, ":%d", rm);
        else
            add(u, ":%zu", n);
    }
    void *function = NULL;
    CUresult r5 = cuLibraryGetUnifiedFunction(&function, l, "helper"), r6 = cuLibraryUnload(l);
    SAY("library %s%s = %s%s %s %s", x->name, t, rname(r), u, rname(r5), rname(r6));
}

static void link_them(void)
{
    struct options o, p;
    CUlinkState s = NULL;
    void *image = NULL;
    size_t size = 0;
    CUmodule m = NULL;
    unsigned pieces = 1 + rnd(3), count = 99;
    char *t = text(), *u = text();
    options(&o, t);
    CUresult r = cuLinkCreate(o.n, o.id, o.value, &s);
    add(t, " = %s", rname(r));
    if (r) {
        SAY("link%s", t);
        return;
    }
    for (unsigned i = 0; i < pieces; i++) {
        const struct image *x = rnd(2) ? &images[rnd(4)] : any_image();
        int type = rnd(4) ? CU_JIT_INPUT_PTX : (int)rnd(9) - 1;
        size_t n = strlen(x->text) + (rnd(4) ? 1 : 0);
        *u = 0;
        memset(&p, 0, sizeof p);
        if (rnd(4) == 0) options(&p, u);
        CUresult ra =
            cuLinkAddData(s, (CUjitInputType)type, (void *)x->text, n, rnd(2) ? "piece" : NULL, p.n, p.id, p.value);
        add(t, ", %s %d%s %s", x->name, type, u, rname(ra));
    }
    CUresult rc = cuLinkComplete(s, &image, &size);
    add(t, ", complete %s %d", rname(rc), size > 0);
    if (!rc) {
        CUresult rl = cuModuleLoadData(&m, image);
        if (!rl) cuModuleGetFunctionCount(&count, m);
        add(t, " load %s %u", rname(rl), count);
        if (!rl) cuModuleUnload(m);
    }
    SAY("link%s, destroy %s", t, rname(cuLinkDestroy(s)));
}

static void one(void)
{
    unsigned w = rnd(5);
    if (w < 2)
        load_module();
    else if (w < 4)
        load_library();
    else
        link_them();
}

static void walk(uint64_t seed, int steps)
{
    setup();
    for (int i = 0; i < steps; i++) {
        walk_to(seed, i);
        one();
    }
}

/* Each image as it is. */
static void g_images(void)
{
    setup();
    for (int i = 0; i < IMAGES; i++) {
        CUmodule m;
        CUlibrary l;
        CUkernel k;
        CUfunction f = NULL;
        unsigned n = 99;
        CUresult r = K(keyf("%s.module", images[i].name), cuModuleLoadData(&m, images[i].text));
        if (!r) {
            K(keyf("%s.function", images[i].name), cuModuleGetFunction(&f, m, "k"));
            if (f)
                K(keyf("%s.launch", images[i].name),
                  cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &(CUdeviceptr){ 0 } }, 0));
            K(keyf("%s.sync", images[i].name), cuCtxSynchronize());
        }
        r = K(keyf("%s.library", images[i].name), cuLibraryLoadData(&l, images[i].text, 0, 0, 0, 0, 0, 0));
        if (r) continue;
        K(keyf("%s.count", images[i].name), cuLibraryGetKernelCount(&n, l));
        rec(keyf("%s.count.v", images[i].name), "%u", n);
        r = K(keyf("%s.kernel", images[i].name), cuLibraryGetKernel(&k, l, "k"));
        if (!r) K(keyf("%s.of", images[i].name), cuKernelGetFunction(&f, k));
    }
}

/* A library's lifetime: what its handles still answer is asked elsewhere, one by one (cases_wild.c). */
static void g_library(void)
{
    CUlibrary l, l2;
    CUkernel k, all[9];
    CUfunction f, f2;
    CUmodule m, m2;
    CUcontext c;
    CUdeviceptr p, q;
    CUlibraryOption ids[2] = { CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE, CU_LIBRARY_BINARY_IS_PRESERVED };
    void *values[2] = { 0 };
    size_t n;
    int v;
    unsigned u;
    K("noinit", cuLibraryLoadData(&l, kernels_text, 0, 0, 0, 0, 0, 0));
    MUST(cuInit(0));
    K("nocontext", cuLibraryLoadData(&l, kernels_text, 0, 0, 0, 0, 0, 0));
    K("nocontext.count", cuLibraryGetKernelCount(&u, l));
    K("nocontext.kernel", cuLibraryGetKernel(&k, l, "k"));
    K("nocontext.name", ({
          const char *s;
          cuKernelGetName(&s, k);
      }));
    K("nocontext.attribute", cuKernelGetAttribute(&v, 0, k, 0));
    rec("nocontext.attribute.v", "%d", v);
    K("nocontext.set", cuKernelSetAttribute(8, 60000, k, 0));
    K("nocontext.cache", cuKernelSetCacheConfig(k, 1, 0));
    K("nocontext.param", cuKernelGetParamInfo(k, 0, &n, &n));
    K("nocontext.function", cuKernelGetFunction(&f, k));
    K("nocontext.module", cuLibraryGetModule(&m, l));
    K("nocontext.global", cuLibraryGetGlobal(&p, &n, l, "variable"));
    K("nocontext.managed", cuLibraryGetManaged(&p, &n, l, "shared_by_all"));
    K("nocontext.unified", cuLibraryGetUnifiedFunction((void **)&p, l, "helper"));
    K("nocontext.enumerate", cuLibraryEnumerateKernels(all, 9, l));
    setup();
    K("attribute", cuKernelGetAttribute(&v, 8, k, 0));
    rec("attribute.v", "%d", v);
    K("function", cuKernelGetFunction(&f, k));
    K("function.attribute", cuFuncGetAttribute(&v, 8, f));
    rec("function.attribute.v", "%d", v);
    K("function.set", cuFuncSetAttribute(f, 8, 70000));
    K("attribute2", cuKernelGetAttribute(&v, 8, k, 0));
    rec("attribute2.v", "%d", v);
    K("kernel.set", cuKernelSetAttribute(8, 80000, k, 0));
    K("function.attribute2", cuFuncGetAttribute(&v, 8, f));
    rec("function.attribute2.v", "%d", v);
    K("module", cuLibraryGetModule(&m, l));
    K("module.function", cuModuleGetFunction(&f2, m, "k"));
    rec("module.function.same", "%d", f == f2);
    K("function.module", cuFuncGetModule(&m2, f));
    rec("function.module.same", "%d", m == m2);
    K("module.unload", cuModuleUnload(m));
    K("module.unload.function", cuFuncGetAttribute(&v, 0, f));
    K("managed", cuLibraryGetManaged(&p, &n, l, "shared_by_all"));
    rec("managed.v", "%u %zu", *(unsigned *)p, n);
    K("managed.global", cuLibraryGetGlobal(&q, &n, l, "shared_by_all"));
    rec("managed.global.same", "%d", p == q);
    K("global", cuLibraryGetGlobal(&p, &n, l, "variable"));
    MUST(cuCtxCreate(&c, 0, 0, 0));
    K("other.global", cuLibraryGetGlobal(&q, &n, l, "variable"));
    rec("other.global.same", "%d", p == q);
    K("other.function", cuKernelGetFunction(&f2, k));
    rec("other.function.same", "%d", f == f2);
    K("other.launch.function", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &p }, 0));
    K("other.launch.kernel", cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &p }, 0));
    cuFuncGetAttribute(&v, 8, f2);
    rec("other.attribute", "%d", v);
    cuFuncGetAttribute(&v, 8, (CUfunction)k);
    rec("other.kernel.attribute", "%d", v);
    K("other.destroy", cuCtxDestroy(c));
    K("unload", cuLibraryUnload(l));
    K("third", cuLibraryLoadData(&l2, kernels_text, 0, 0, 0, ids + 1, values, 1));
    K("enumerate0", cuLibraryEnumerateKernels(all, 0, l2));
    K("enumerate.null", cuLibraryEnumerateKernels(0, 2, l2));
    K("enumerate.null0", cuLibraryEnumerateKernels(0, 0, l2));
    K("count.null", cuLibraryGetKernelCount(0, l2));
    K("global.null", cuLibraryGetGlobal(0, 0, l2, "variable"));
    K("global.nullname", cuLibraryGetGlobal(&p, &n, l2, 0));
    K("managed.null", cuLibraryGetManaged(0, 0, l2, "shared_by_all"));
    K("unified.null", cuLibraryGetUnifiedFunction(0, l2, "helper"));
    K("unified.missing", cuLibraryGetUnifiedFunction((void **)&p, l2, "missing"));
    K("module.null", cuLibraryGetModule(0, l2));
    K("kernel.null", cuLibraryGetKernel(0, l2, "k"));
    K("kernel.nullname", cuLibraryGetKernel(&k, l2, 0));
    K("kernel.emptyname", cuLibraryGetKernel(&k, l2, ""));
    CUmoduleLoadingMode mode;
    K("mode", cuModuleGetLoadingMode(&mode));
    K("texref", cuModuleGetTexRef((CUtexref *)&p, m, "variable"));
    MUST(cuModuleLoadData(&m, kernels_text));
    K("texref2", cuModuleGetTexRef((CUtexref *)&p, m, "variable"));
    K("texref3", cuModuleGetTexRef((CUtexref *)&p, m, "missing"));
    K("surfref", cuModuleGetSurfRef((CUsurfref *)&p, m, "variable"));
    K("count.null", cuModuleGetFunctionCount(0, m));
    K("enumerate.m0", cuModuleEnumerateFunctions(&f, 0, m));
    K("enumerate.mnull", cuModuleEnumerateFunctions(0, 1, m));
    K("enumerate.mnull0", cuModuleEnumerateFunctions(0, 0, m));
    K("fat.ptx", cuModuleLoadFatBinary(&m, kernels_text));
    K("load.null", cuModuleLoad(&m, 0));
    K("load.empty", cuModuleLoad(&m, ""));
    K("load.folder", cuModuleLoad(&m, "/tmp"));
    K("load.devnull", cuModuleLoad(&m, "/dev/null"));
    K("lib.null", cuLibraryLoadFromFile(&l2, 0, 0, 0, 0, 0, 0, 0));
    K("lib.folder", cuLibraryLoadFromFile(&l2, "/tmp", 0, 0, 0, 0, 0, 0));
    K("lib.devnull", cuLibraryLoadFromFile(&l2, "/dev/null", 0, 0, 0, 0, 0, 0));
    K("link.addfile", ({
          CUlinkState s;
          cuLinkCreate(0, 0, 0, &s);
          cuLinkAddFile(s, CU_JIT_INPUT_PTX, "/nonexistent", 0, 0, 0);
      }));
    K("link.nothing", ({
          CUlinkState s;
          cuLinkCreate(0, 0, 0, &s);
          cuLinkComplete(s, (void **)&p, &n);
      }));
    K("link.nullout", ({
          CUlinkState s;
          cuLinkCreate(0, 0, 0, &s);
          cuLinkComplete(s, 0, 0);
      }));
    K("link.nullstate", cuLinkCreate(0, 0, 0, 0));
}

/* ---- entry points */

/* Which symbol of the library an address is, without what variant the name says it is: so variants that are one function
 * are known by the first. */
static const char *symbol_at(void *library, const char *base, void *address)
{
    static const char *const ends[] = { "",         "_v2",   "_v3",      "_v4",      "_v5",      "_ptds",    "_v2_ptds",
                                        "_v3_ptds", "_ptsz", "_v2_ptsz", "_v3_ptsz", "_v4_ptsz", "_v5_ptsz", "_v12" };
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        if (dlsym(library, keyf("%s%s", base, ends[i])) == address) return keyf("%s", *ends[i] ? ends[i] : "base");
    return "other";
}

static void g_exports(void)
{
    static char names[2000][64];
    int n = exported(names, 2000);
    for (int i = 0; i < n; i++) rec(names[i], "exported");
}

/* Every name at versions around each that could matter, and what is found there. */
static void g_versions(void)
{
    static char names[2000][64];
    static const int versions[] = { 1000,  2000,  2010,  2020,  2030,  3000,  3010,  3020,  4000,  4010,  4020,
                                    5000,  5050,  6000,  6050,  7000,  7050,  8000,  9000,  9010,  9020,  10000,
                                    10010, 10020, 11000, 11010, 11020, 11030, 11040, 11050, 11060, 11070, 11080,
                                    12000, 12010, 12020, 12030, 12040, 12050, 12060, 12070, 12080, 12090, 13000 };
    void *h = dlopen("libcuda.so.1", RTLD_NOW);
    int n = exported(names, 2000);
    MUST(cuInit(0));
    for (int i = 0; i < n; i++)
        for (unsigned flags = 0; flags <= 2; flags += 2) {
            char *t = text(), last[64] = "";
            for (unsigned v = 0; v < sizeof versions / sizeof *versions; v++) {
                void *p = NULL;
                CUdriverProcAddressQueryResult status = 7;
                CUresult r = cuGetProcAddress(names[i], &p, versions[v], flags, &status);
                const char *now = keyf("%s%s/%d", p ? symbol_at(h, names[i], p) : "-", r ? rname(r) : "", status);
                if (!strcmp(now, last)) continue;
                snprintf(last, sizeof last, "%s", now);
                add(t, " %d:%s", versions[v], now);
            }
            rec(keyf("%s.f%u", names[i], flags), "%s", t);
        }
}

#define WALKS(i) \
    static void g_load_##i(void) { walk(0x##i, 150); }
#define SEEDS(X) X(01) X(02) X(03) X(1e15) X(1e16) X(1e17)
SEEDS(WALKS)
#define GROUPS(i) { "load_" #i, g_load_##i, 1 },
const struct group groups[] = { SEEDS(GROUPS){ "images", g_images, 1 },
                                { "library", g_library, 1 },
                                { "exports", g_exports, 1 },
                                { "versions", g_versions, 1 },
                                { 0 } };
