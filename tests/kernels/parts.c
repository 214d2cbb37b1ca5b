/* A module so large that its kernels are compiled one by one, when they are
 * first launched. Which ones were is seen in a cache of the test's own. */
#include "../child.h"

#include <dirent.h>
#include <ftw.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNELS = 8, STEPS = 300, THREADS = 64, ROOM = 1 << 20 };
static char folder[] = "/tmp/faultline-parts-XXXXXX", *ptx;

static uint32_t factor(int kernel, int step) { return (uint32_t)(kernel * 977 + step * 131) * 2654435761u | 1; }

/* What thread t of a kernel computes, half of it before a barrier. */
static uint32_t expected(int kernel, uint32_t t)
{
    for (int s = 0; s < STEPS; s++) t = (t * factor(kernel, s) + 12345u) ^ (t >> 3);
    return t;
}

static void write_steps(FILE *f, int kernel, int from, int to)
{
    for (int s = from; s < to; s++)
        fprintf(f, "shr.u32 %%s, %%t, 3; mad.lo.u32 %%t, %%t, %u, 12345; xor.b32 %%t, %%t, %%s;\n", factor(kernel, s));
}

static void write_ptx(void)
{
    FILE *f = fmemopen(ptx = calloc(1, ROOM), ROOM, "w");
    fprintf(f, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .u32 launches;\n");
    for (int k = 0; k < KERNELS; k++) {
        fprintf(f, ".visible .entry k%d(.param .u64 out)\n{\n.reg .u32 %%t, %%s, %%i; .reg .u64 %%o;\n", k);
        fprintf(f, "ld.param.u64 %%o, [out]; mov.u32 %%i, %%tid.x; mov.u32 %%t, %%i; mad.wide.u32 %%o, %%i, 4, %%o;\n");
        write_steps(f, k, 0, STEPS / 2);
        fprintf(f, "bar.sync 0;\n");
        write_steps(f, k, STEPS / 2, STEPS);
        fprintf(f, "red.global.add.u32 [launches], 1; st.global.u32 [%%o], %%t; ret;\n}\n");
    }
    fclose(f);
}

/* The same kernels, which call functions by their addresses: one that anybody may pass to anybody, through memory. */
static char *with_functions(void)
{
    char *text = calloc(1, ROOM);
    FILE *f = fmemopen(text, ROOM, "w");
    fprintf(f, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 8 .u64 kept[%d];\n",
            KERNELS);
    for (int k = 0; k < KERNELS; k++) {
        fprintf(f, ".visible .func (.param .u32 r) f%d(.param .u32 n)\n{\n.reg .u32 %%t, %%s;\nld.param.u32 %%t, [n];\n", k);
        write_steps(f, k, 0, STEPS);
        fprintf(f, "st.param.u32 [r], %%t; ret;\n}\n");
    }
    fprintf(f, ".visible .global .align 8 .u64 table[%d] = { f0", KERNELS);
    for (int k = 1; k < KERNELS; k++) fprintf(f, ", f%d", k);
    fprintf(f, " };\n");
    for (int k = 0; k < KERNELS; k++) {
        fprintf(f, ".visible .entry k%d(.param .u64 out)\n{\n.reg .u32 %%t, %%s, %%i; .reg .u64 %%o, %%f;\n", k);
        fprintf(f, "ld.param.u64 %%o, [out]; mov.u32 %%i, %%tid.x; mov.u32 %%t, %%i; mad.wide.u32 %%o, %%i, 4, %%o;\n");
        fprintf(f, "ld.global.u64 %%f, [%s+%d];\n{\n.param .u32 a; .param .u32 b;\nst.param.u32 [a], %%t;\n",
                k ? "kept" : "table", k ? 8 * k - 8 : 24);
        fprintf(f, "p: .callprototype (.param .u32 _) _ (.param .u32 _);\ncall (b), %%f, (a), p;\nld.param.u32 %%t, [b];\n}\n");
        fprintf(f, "st.global.u32 [%%o], %%t;\nmov.u64 %%f, f%d; st.global.u64 [kept+%d], %%f;\n", k, 8 * k);
        write_steps(f, k, 0, STEPS);
        fprintf(f, "st.global.u32 [%%o+%d], %%t;\nret;\n}\n", KERNELS * THREADS * 4);
    }
    fclose(f);
    return text;
}

static int drop(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
    (void)s, (void)kind, (void)ftw;
    return remove(path);
}

static int files;
static char newest[256];
static int count(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
    static struct timespec when;
    (void)ftw;
    if (kind != FTW_F) return 0;
    if (!files++ || s->st_mtim.tv_sec > when.tv_sec ||
        (s->st_mtim.tv_sec == when.tv_sec && s->st_mtim.tv_nsec > when.tv_nsec)) {
        when = s->st_mtim;
        snprintf(newest, sizeof newest, "%s", path);
    }
    return 0;
}

static int cached(void)
{
    files = 0;
    nftw(folder, count, 16, FTW_PHYS);
    return files;
}

static CUcontext context;
static CUmodule module;
static CUdeviceptr out;

static void start(void)
{
    nftw(folder, drop, 16, FTW_DEPTH | FTW_PHYS);
    setenv("FAULTLINE_CACHE_DIR", folder, 1);
    unsetenv("FAULTLINE_CACHE");
    context = check_context();
    CHECK(cuMemAlloc(&out, KERNELS * THREADS * 4));
    CHECK(cuModuleLoadData(&module, ptx));
}

static CUresult launch(CUmodule m, int kernel)
{
    char name[8];
    CUfunction f;
    CUdeviceptr at = out + (unsigned)kernel * THREADS * 4;
    snprintf(name, sizeof name, "k%d", kernel);
    CHECK(cuModuleGetFunction(&f, m, name));
    return cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &at }, NULL);
}

static void computes(CUmodule m, int kernel)
{
    uint32_t got[THREADS] = { 0 };
    CUdeviceptr at = out + (unsigned)kernel * THREADS * 4;
    CHECK(cuMemsetD8(at, 0, sizeof got));
    CHECK(launch(m, kernel));
    CHECK(cuMemcpyDtoH(got, at, sizeof got));
    for (uint32_t t = 0; t < THREADS; t++) EXPECT_EQUAL(got[t], expected(kernel, t));
}

static uint32_t launches(CUmodule m)
{
    CUdeviceptr p;
    uint32_t n;
    CHECK(cuModuleGetGlobal(&p, NULL, m, "launches"));
    CHECK(cuMemcpyDtoH(&n, p, sizeof n));
    return n / THREADS;
}

static void a_kernel_is_compiled_when_it_is_first_launched(void)
{
    EXPECT_EQUAL(cached(), 1);
    computes(module, 3);
    EXPECT_EQUAL(cached(), 2);
    computes(module, 3);
    EXPECT_EQUAL(cached(), 2);
    computes(module, 7);
    EXPECT_EQUAL(cached(), 3);
    EXPECT_EQUAL(launches(module), 3); /* they share the module's variables */
}

static void a_second_module_finds_what_was_compiled(void)
{
    CUmodule second;
    computes(module, 1);
    CHECK(cuModuleLoadData(&second, ptx));
    computes(second, 1);
    EXPECT_EQUAL(cached(), 2);
    computes(second, 2);
    CHECK(cuModuleUnload(second));
    computes(module, 1);
    computes(module, 2);
    EXPECT_EQUAL(cached(), 3);
    EXPECT_EQUAL(launches(module), 3);
}

/* A kernel finds the function's address where the kernel before it has left it. */
static void a_function_has_one_address_for_kernels_compiled_apart(void)
{
    CUmodule m;
    char *text = with_functions();
    CHECK(cuMemAlloc(&out, 2 * KERNELS * THREADS * 4));
    CHECK(cuModuleLoadData(&m, text));
    EXPECT_EQUAL(cached(), 2);
    int called = 3;
    for (int k = 0; k < 4; called = k++) {
        uint32_t got[THREADS];
        CHECK(launch(m, k));
        CHECK(cuMemcpyDtoH(got, out + (unsigned)k * sizeof got, sizeof got));
        for (uint32_t t = 0; t < THREADS; t++) EXPECT_EQUAL(got[t], expected(called, t));
        EXPECT_EQUAL(cached(), 3 + k);
    }
    free(text);
}

static void a_large_kernel_that_is_alone_is_compiled_when_it_is_launched(void)
{
    enum { LONG = 2000 };
    CUmodule m;
    CUfunction function;
    char *text = calloc(1, ROOM);
    FILE *f = fmemopen(text, ROOM, "w");
    fprintf(f, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n");
    fprintf(f, ".reg .u32 %%t, %%s; .reg .u64 %%o;\nld.param.u64 %%o, [out]; mov.u32 %%t, 1;\n");
    write_steps(f, 0, 0, LONG);
    fprintf(f, "st.global.u32 [%%o], %%t; ret;\n}\n");
    fclose(f);
    CHECK(cuModuleLoadData(&m, text));
    EXPECT_EQUAL(cached(), 2);
    CHECK(cuModuleGetFunction(&function, m, "k"));
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &out }, NULL));
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(cached(), 3);
    free(text);
}

static void a_large_module_without_kernels_is_loaded(void)
{
    enum { LONG = 2000 };
    CUmodule m;
    char *text = calloc(1, ROOM);
    FILE *f = fmemopen(text, ROOM, "w");
    fprintf(f, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .u32 launches = %d;\n", 5 * THREADS);
    fprintf(f, ".visible .func (.param .u32 r) f(.param .u32 n)\n{\n.reg .u32 %%t, %%s;\nld.param.u32 %%t, [n];\n");
    write_steps(f, 0, 0, LONG);
    fprintf(f, "st.param.u32 [r], %%t; ret;\n}\n");
    fclose(f);
    CHECK(cuModuleLoadData(&m, text));
    EXPECT_EQUAL(launches(m), 5);
    free(text);
}

static void a_library_has_its_kernels_on_each_device(void)
{
    CUlibrary l;
    CUkernel k;
    CUcontext c[2];
    CHECK(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&k, l, "k5"));
    for (int d = 0; d < 2; d++) {
        uint32_t got[THREADS];
        CHECK(cuDevicePrimaryCtxRetain(&c[d], d));
        CHECK(cuCtxSetCurrent(c[d]));
        CHECK(cuMemAlloc(&out, sizeof got));
        CHECK(cuLaunchKernel((CUfunction)k, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &out }, NULL));
        CHECK(cuMemcpyDtoH(got, out, sizeof got));
        for (uint32_t t = 0; t < THREADS; t++) EXPECT_EQUAL(got[t], expected(5, t));
    }
    EXPECT_EQUAL(cached(), 2);
    CHECK(cuLibraryUnload(l));
}

static void without_a_compiler_a_launch_fails_and_may_be_tried_again(void)
{
    setenv("FAULTLINE_PTXC_EXE", "/nonexistent", 1);
    EXPECT_EQUAL(launch(module, 4), CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
    CHECK(cuCtxSynchronize());
    EXPECT_EQUAL(launches(module), 0);
    unsetenv("FAULTLINE_PTXC_EXE");
    computes(module, 4);
    EXPECT_EQUAL(launches(module), 1);
}

/* The module was valid: what goes wrong now is not the program's fault. */
static void where_the_compiler_dies_the_ptx_is_not_to_blame(void)
{
    setenv("FAULTLINE_PTXC_EXE", "/bin/false", 1);
    EXPECT_EQUAL(launch(module, 4), CUDA_ERROR_UNKNOWN);
    unsetenv("FAULTLINE_PTXC_EXE");
    computes(module, 4);
}

static void damaged_code_is_compiled_again(void)
{
    CUmodule second;
    computes(module, 6);
    EXPECT_EQUAL(cached(), 2);
    FILE *f = fopen(newest, "r+");
    EXPECT(f && !fseek(f, 1000, SEEK_SET) && fputs("damage", f) > 0 && !fclose(f));
    CHECK(cuModuleLoadData(&second, ptx));
    computes(second, 6);
    EXPECT_EQUAL(cached(), 2);
}

static void without_a_cache_kernels_run(void)
{
    setenv("FAULTLINE_CACHE", "off", 1);
    computes(module, 0);
    computes(module, 5);
    EXPECT_EQUAL(cached(), 1);
}

static void a_function_can_be_loaded_beforehand(void)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module, "k2"));
    EXPECT_EQUAL(cached(), 1);
    CHECK(cuFuncLoad(f));
    EXPECT_EQUAL(cached(), 2);
    computes(module, 2);
    EXPECT_EQUAL(cached(), 2);
}

static void *launch_all(void *arg)
{
    CHECK(cuCtxSetCurrent(context));
    for (int k = 0; k < KERNELS; k++) CHECK(launch(arg, k));
    return NULL;
}

static void many_threads_may_be_the_first(void)
{
    enum { LAUNCHERS = 4 };
    pthread_t threads[LAUNCHERS];
    for (int k = 0; k < LAUNCHERS; k++) pthread_create(&threads[k], NULL, launch_all, module);
    for (int k = 0; k < LAUNCHERS; k++) pthread_join(threads[k], NULL);
    EXPECT_EQUAL(launches(module), LAUNCHERS * KERNELS);
    for (int k = 0; k < KERNELS; k++) computes(module, k);
    EXPECT_EQUAL(cached(), 1 + KERNELS);
}

/* A compiler that, given a part, waits until so many parts are in work; or says that it has waited in vain. */
static char script[300];
static void compile_together(int parts, int patience)
{
    char self[200] = "";
    snprintf(script, sizeof script, "%s/compiler", folder);
    EXPECT(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    *strrchr(self, '/') = 0;
    FILE *f = fopen(script, "w");
    EXPECT(f);
    fprintf(f,
            "#!/bin/sh\ncase \"$*\" in *--part*)\n: > %s/work.$$\nn=0\n"
            "while [ $(ls %s/work.* | wc -l) -lt %d ]; do n=$((n + 1)); [ $n -lt %d ] || { : > %s/vain; break; }; sleep 0.05; "
            "done;;\nesac\nexec %s/../../faultline-ptxc \"$@\"\n",
            folder, folder, parts, patience, folder, self);
    EXPECT(!fclose(f) && !chmod(script, 0700));
    setenv("FAULTLINE_PTXC_EXE", script, 1);
}

static bool waited_in_vain(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/vain", folder);
    return !access(path, F_OK);
}

static void *launch_one(void *kernel)
{
    CHECK(cuCtxSetCurrent(context));
    CHECK(launch(module, (int)(intptr_t)kernel));
    return NULL;
}

static void several_parts_are_compiled_at_once(void)
{
    pthread_t threads[3];
    compile_together(3, 400);
    for (intptr_t k = 0; k < 3; k++) pthread_create(&threads[k], NULL, launch_one, (void *)k);
    for (int k = 0; k < 3; k++) pthread_join(threads[k], NULL);
    EXPECT(!waited_in_vain());
    EXPECT_EQUAL(launches(module), 3);
}

static void one_part_is_compiled_once(void)
{
    pthread_t threads[2];
    compile_together(2, 20);
    for (int k = 0; k < 2; k++) pthread_create(&threads[k], NULL, launch_one, (void *)5);
    for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
    EXPECT(waited_in_vain());
    EXPECT_EQUAL(launches(module), 2);
}

static _Atomic CUresult launched = CUDA_ERROR_NOT_READY;
static void *launch_found(void *f)
{
    CHECK(cuCtxSetCurrent(context));
    launched = cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &out }, NULL);
    return NULL;
}

static void who_unloads_waits_for_the_compiler(void)
{
    pthread_t thread;
    CUfunction f;
    char path[300];
    uint32_t got[THREADS];
    compile_together(2, 400);
    CHECK(cuModuleGetFunction(&f, module, "k3"));
    EXPECT(!pthread_create(&thread, NULL, launch_found, f));
    while (cached() < 3) usleep(1000); /* the image, the compiler, and that it works */
    usleep(20000);
    snprintf(path, sizeof path, "%s/work.x", folder);
    fclose(fopen(path, "w"));
    CHECK(cuModuleUnload(module));
    pthread_join(thread, NULL);
    CHECK(launched);
    CHECK(cuMemcpyDtoH(got, out, sizeof got));
    for (uint32_t t = 0; t < THREADS; t++) EXPECT_EQUAL(got[t], expected(3, t));
    ANSWERS(cuLaunchKernel(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &out }, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void ask_for_all(void)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    start();
}

static void who_asks_for_it_has_all_compiled_at_once(void)
{
    CUmoduleLoadingMode mode;
    CHECK(cuModuleGetLoadingMode(&mode));
    EXPECT_EQUAL(mode, CU_MODULE_EAGER_LOADING);
    for (int k = 0; k < KERNELS; k++) computes(module, k);
    EXPECT_EQUAL(cached(), 1);
}

static void two_devices(void)
{
    setenv("FAULTLINE_DEVICES", "2", 1);
    start();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, a_kernel_is_compiled_when_it_is_first_launched),
        ALONE(start, a_second_module_finds_what_was_compiled),
        ALONE(start, a_function_has_one_address_for_kernels_compiled_apart),
        ALONE(start, a_large_kernel_that_is_alone_is_compiled_when_it_is_launched),
        ALONE(start, a_large_module_without_kernels_is_loaded),
        ALONE(two_devices, a_library_has_its_kernels_on_each_device),
        ALONE(start, without_a_compiler_a_launch_fails_and_may_be_tried_again),
        ALONE(start, where_the_compiler_dies_the_ptx_is_not_to_blame),
        ALONE(start, damaged_code_is_compiled_again),
        ALONE(start, without_a_cache_kernels_run),
        ALONE(start, a_function_can_be_loaded_beforehand),
        ALONE(start, many_threads_may_be_the_first),
        ALONE(start, several_parts_are_compiled_at_once),
        ALONE(start, one_part_is_compiled_once),
        ALONE(start, who_unloads_waits_for_the_compiler),
        ALONE(ask_for_all, who_asks_for_it_has_all_compiled_at_once),
    };
    if (!mkdtemp(folder)) return 1;
    write_ptx();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, drop, 16, FTW_DEPTH | FTW_PHYS);
    free(ptx);
    return failed;
}
