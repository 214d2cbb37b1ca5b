/* nvJitLink: what it answers is what NVIDIA's answers, but that PTX takes the place of machine code.
 * usage: nvjitlink LIBRARY [led | found]; led: the library is a stand-in for NVIDIA's, and this runs under faultline
 * run; found: the library is ours, and a stand-in is where the program finds libraries. */
#include "twice.h"

#include <dlfcn.h>
#include <nvJitLink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define K ".version 8.0\n" TWICE
#define LTOIR "\xed\x43\x4e\x7f"

static __typeof__(nvJitLinkCreate) *create;
static __typeof__(nvJitLinkDestroy) *destroy;
static __typeof__(nvJitLinkAddData) *add_data;
static __typeof__(nvJitLinkComplete) *complete;
static __typeof__(nvJitLinkGetLinkedCubinSize) *cubin_size;
static __typeof__(nvJitLinkGetLinkedCubin) *cubin;
static __typeof__(nvJitLinkGetLinkedPtxSize) *ptx_size;
static __typeof__(nvJitLinkGetErrorLogSize) *log_size;
static __typeof__(nvJitLinkGetErrorLog) *get_log;
static __typeof__(nvJitLinkVersion) *version;

static void find(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) check_failed(path, dlerror(), __FILE__, __LINE__);
    const struct {
        const char *name;
        void *to;
    } names[] = {
        { "__nvJitLinkCreate_13_4", &create },          { "nvJitLinkDestroy", &destroy },
        { "__nvJitLinkAddData_13_4", &add_data },       { "nvJitLinkComplete", &complete },
        { "nvJitLinkGetLinkedCubinSize", &cubin_size }, { "__nvJitLinkGetLinkedCubin_13_4", &cubin },
        { "nvJitLinkGetLinkedPtxSize", &ptx_size },     { "nvJitLinkGetErrorLogSize", &log_size },
        { "nvJitLinkGetErrorLog", &get_log },           { "nvJitLinkVersion", &version },
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        void *function = dlsym(library, names[k].name);
        if (!function) check_failed(names[k].name, "is missing", __FILE__, __LINE__);
        memcpy(names[k].to, &function, sizeof function);
    }
}

/* The options have spaces between them. */
static nvJitLinkHandle begin(const char *options, nvJitLinkResult wanted)
{
    char *words = strdup(options), *rest = words;
    const char *each[8];
    uint32_t n = 0;
    nvJitLinkHandle l = NULL;
    while (n < 8 && (each[n] = strtok_r(rest, " ", &rest))) n++;
    nvJitLinkResult r = create(&l, n, each);
    if (r != wanted) printf("options %s\n", options);
    EXPECT_EQUAL(r, wanted);
    EXPECT(l);
    free(words);
    return l;
}

static bool log_has(nvJitLinkHandle l, const char *words)
{
    size_t n;
    EXPECT_EQUAL(log_size(l, &n), NVJITLINK_SUCCESS);
    if (!n) return !words;
    char *text = malloc(n);
    EXPECT_EQUAL(get_log(l, text), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(strlen(text) + 1, n);
    bool has = words && strstr(text, words);
    if (!has) printf("the log: %s\n", text);
    free(text);
    return has;
}

static nvJitLinkResult add(nvJitLinkHandle l, nvJitLinkInputType type, const char *text)
{
    return add_data(l, type, text, strlen(text) + 1, "a name");
}

static void end(nvJitLinkHandle l)
{
    EXPECT_EQUAL(destroy(&l), NVJITLINK_SUCCESS);
    EXPECT(!l);
}

/* What is linked runs. */
static void finish(nvJitLinkHandle l)
{
    size_t n;
    EXPECT_EQUAL(cubin_size(l, &n), NVJITLINK_ERROR_INTERNAL);
    nvJitLinkResult r = complete(l);
    EXPECT(log_has(l, NULL));
    EXPECT_EQUAL(r, NVJITLINK_SUCCESS);
    EXPECT_EQUAL(cubin_size(l, &n), NVJITLINK_SUCCESS);
    void *image = malloc(n);
    EXPECT_EQUAL(cubin(l, image), NVJITLINK_SUCCESS);
    run_twice(image);
    free(image);
    EXPECT_EQUAL(ptx_size(l, &n), NVJITLINK_ERROR_INVALID_INPUT);
    EXPECT_EQUAL(complete(l), NVJITLINK_ERROR_INTERNAL);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, K), NVJITLINK_ERROR_INTERNAL);
    end(l);
}

static void ptx_is_linked(void)
{
    nvJitLinkHandle l = begin("-arch=sm_90", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, K), NVJITLINK_SUCCESS);
    finish(l);
    l = begin("-arch=sm_90 -lineinfo -O3", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_ANY, K), NVJITLINK_SUCCESS);
    finish(l);
    /* what stands for machine code is linked as that; of newer compilers, too */
    l = begin("-arch=sm_90", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_CUBIN, ".version 9.2\n" TWICE), NVJITLINK_SUCCESS);
    finish(l);
}

static void pieces_become_one(void)
{
    nvJitLinkHandle l = begin("-arch=sm_90 -maxrregcount=64", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, ".version 7.8\n" CALLS_TWICE), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, ".version 9.2\n" DOUBLED), NVJITLINK_SUCCESS);
    finish(l);
    l = begin("-arch=sm_90", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, ".version 8.0\n" CALLS_TWICE), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(complete(l), NVJITLINK_ERROR_INTERNAL);
    EXPECT(log_has(l, "Undefined reference to 'doubled' in 'a name'"));
    end(l);
    l = begin("-arch=sm_90", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, K), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, K), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(complete(l), NVJITLINK_ERROR_INTERNAL);
    EXPECT(log_has(l, "Multiple definition of 'twice'"));
    end(l);
}

/* What is not understood is named, and is not taken for something that a linker knows. */
static void errors_within_a_piece_are_told(void)
{
    nvJitLinkHandle l = begin("-arch=sm_90", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, ".version 9.0\n" DOUBLED), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX,
                     ".version 9.0\n.target sm_90\n.extern .func (.param .b32 r) doubled(.param .b32 v);\n"
                     ".entry other() { .reg .u32 %r; ld.volatile.const.u32 %r, [0]; ret; }\n"),
                 NVJITLINK_SUCCESS);
    EXPECT_EQUAL(complete(l), NVJITLINK_ERROR_INTERNAL);
    EXPECT(!log_has(l, "Multiple definition"));
    EXPECT(log_has(l, "ld.volatile.const.u32"));
    end(l);
}

static void wrong_inputs_are_told(void)
{
    size_t n = 1;
    nvJitLinkHandle l = begin("-arch=sm_90", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(){ frob; }"),
                 NVJITLINK_ERROR_PTX_COMPILE);
    EXPECT(log_has(l, "ptxas application ptx input, line 4; error   : ") && log_has(l, "JIT the PTX (a name)"));
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, "garbage"), NVJITLINK_ERROR_INCORRECT_INPUT_TYPE);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_CUBIN, "garbage"), NVJITLINK_ERROR_INCORRECT_INPUT_TYPE);
    EXPECT_EQUAL(add(l, 9, "garbage"), NVJITLINK_ERROR_INCORRECT_INPUT_TYPE);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_ANY, "garbage"), NVJITLINK_ERROR_UNRECOGNIZED_INPUT);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_LTOIR, LTOIR "garbage"), NVJITLINK_ERROR_LTO_NOT_ENABLED);
    EXPECT_EQUAL(add_data(l, NVJITLINK_INPUT_PTX, K, 0, NULL), NVJITLINK_ERROR_INVALID_INPUT);
    EXPECT_EQUAL(add_data(l, NVJITLINK_INPUT_PTX, NULL, 1, NULL), NVJITLINK_ERROR_INVALID_INPUT);
    end(l);
    l = begin("-arch=sm_80", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, K), NVJITLINK_ERROR_PTX_COMPILE);
    EXPECT(log_has(l, "SM version specified by .target is higher"));
    end(l);
    EXPECT_EQUAL(create(NULL, 0, NULL), NVJITLINK_ERROR_NULL_INPUT);
    EXPECT_EQUAL(add(NULL, NVJITLINK_INPUT_PTX, K), NVJITLINK_ERROR_NULL_INPUT);
    EXPECT_EQUAL(complete(NULL), NVJITLINK_ERROR_NULL_INPUT);
    EXPECT_EQUAL(cubin_size(NULL, &n), NVJITLINK_ERROR_NULL_INPUT);
    EXPECT_EQUAL(destroy(NULL), NVJITLINK_ERROR_NULL_INPUT);
    l = NULL;
    EXPECT_EQUAL(destroy(&l), NVJITLINK_ERROR_NULL_INPUT);
}

static void options_are_checked(void)
{
    static const struct {
        const char *options;
        nvJitLinkResult answer;
        const char *log;
    } table[] = {
        { "", NVJITLINK_ERROR_MISSING_ARCH, NULL },
        { "-arch=sm_91", NVJITLINK_ERROR_UNRECOGNIZED_ARCH, "(compute_91)" },
        { "-arch=sm_30", NVJITLINK_ERROR_UNSUPPORTED_ARCH, "(compute_30)" },
        { "-arch=foo", NVJITLINK_ERROR_UNRECOGNIZED_OPTION, "missing option value" },
        { "-arch=sm_90 -frob", NVJITLINK_ERROR_UNRECOGNIZED_OPTION, "unrecognized option: -frob" },
        { "-arch sm_90", NVJITLINK_ERROR_UNRECOGNIZED_OPTION, "unrecognized option: -arch" },
        { "-arch=sm_90 -O2", NVJITLINK_ERROR_UNRECOGNIZED_OPTION, "unsupported value of -O: 2" },
        { "-arch=sm_90 -ptx", NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS, "-ptx requires -lto" },
        { "-arch=compute_90", NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS, "virtual arch requires -ptx" },
        { "-arch=sm_90 -g -O3", NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS, "optimized debugging" },
        { "-arch=sm_90a -Xptxas=-v -split-compile=2 -no-cache -kernels-used=k", NVJITLINK_SUCCESS, NULL },
        { "-arch=sm_90 -ftz=1 -prec-div=0 -prec-sqrt=1 -fma=0 -Ofc=max", NVJITLINK_SUCCESS, NULL },
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        nvJitLinkHandle l = begin(table[k].options, table[k].answer);
        EXPECT(log_has(l, table[k].log));
        end(l);
    }
}

static void ltoir_becomes_ptx(void)
{
    nvJitLinkHandle l = begin("-arch=sm_90 -lto", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_LTOIR, LTOIR ".version 9.5\n" CALLS_TWICE), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_PTX, ".version 8.0\n" DOUBLED), NVJITLINK_SUCCESS);
    finish(l);
    l = begin("-arch=sm_90 -lto", 0);
    EXPECT_EQUAL(add(l, NVJITLINK_INPUT_LTOIR, LTOIR "wrong"), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(complete(l), NVJITLINK_ERROR_NVVM_COMPILE);
    EXPECT(log_has(l, "it is wrong"));
    end(l);
    l = begin("-arch=sm_90 -lto", 0);
    EXPECT_EQUAL(complete(l), NVJITLINK_ERROR_NVVM_COMPILE);
    end(l);
}

int main(int argc, char **argv)
{
    unsigned major, minor;
    bool led = argc > 2 && !strcmp(argv[2], "led");
    find(argv[1]);
    use_device();
    EXPECT_EQUAL(version(&major, &minor), NVJITLINK_SUCCESS);
    EXPECT_EQUAL(major, 13);
    EXPECT_EQUAL(minor, led ? 4 : 0);
    ptx_is_linked();
    pieces_become_one();
    errors_within_a_piece_are_told();
    wrong_inputs_are_told();
    options_are_checked();
    if (argc > 2) ltoir_becomes_ptx();
    return 0;
}
