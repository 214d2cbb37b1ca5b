/* What nvcc's output registers, as threads of the program load it and use it. usage: test-runtime-registered OBJECT */
#include "../child.h"
#include "runtime/registration.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { PATIENCE_S = 60 };

static const char *object; /* registered_object.c */
static char fatbinary[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry first()\n{\n    ret;\n}\n.visible .entry second()\n{\n    ret;\n}\n";
static char first[1], second[1];
static void **handle;

static void registers(void)
{
    handle = __cudaRegisterFatBinary(fatbinary);
    __cudaRegisterFunction(handle, first, NULL, "first", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, second, NULL, "second", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
}

static void start(void)
{
    registers();
    EXPECT(!cudaFree(NULL));
}

static void *launch(void *kernel)
{
    const dim3 one = { 1, 1, 1 };
    EXPECT(!cudaLaunchKernel(kernel, one, one, NULL, 0, NULL));
    EXPECT(!cudaDeviceSynchronize());
    return NULL;
}

/* The caller has the dynamic linker's lock. */
static void launch_in_another_thread(void *kernel)
{
    pthread_t thread;
    struct timespec end;
    EXPECT(!pthread_create(&thread, NULL, launch, kernel));
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_S;
    EXPECT(!pthread_timedjoin_np(thread, NULL, &end));
}

RUNTIME_EXPORT void while_it_is_opened(void);
void while_it_is_opened(void) { launch_in_another_thread(first); }

RUNTIME_EXPORT void while_it_is_closed(void);
void while_it_is_closed(void) { launch_in_another_thread(second); }

static void a_first_kernel_is_launched_while_another_thread_opens_an_object(void)
{
    void *opened = dlopen(object, RTLD_NOW);
    EXPECT(opened);
    EXPECT(!dlclose(opened));
}

static char folder[] = "/tmp/faultline-test-XXXXXX";

static const char *inside(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(inside(name), "w");
    EXPECT(f && fputs(text, f) >= 0 && !fclose(f));
}

/* The compiler says that it has been called, and begins when it may, or not at all. */
static void hold_compiler(void)
{
    char self[200] = "", script[500];
    EXPECT(mkdtemp(folder));
    EXPECT(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    *strrchr(self, '/') = 0;
    snprintf(script, sizeof script,
             "#!/bin/sh\ncd %s\n: > called\nn=0\n"
             "until [ -e begin ]; do n=$((n + 1)); [ $n -lt %d ] || exit 1; sleep 0.05; done\n"
             "exec %s/../../faultline-ptxc \"$@\"\n",
             folder, PATIENCE_S * 20, self);
    write_file("compiler", script);
    EXPECT(!chmod(inside("compiler"), 0700));
    setenv("FAULTLINE_PTXC_EXE", inside("compiler"), 1);
}

static void kernels_are_registered_while_another_is_compiled(void)
{
    static const char other[1];
    pthread_t thread;
    hold_compiler();
    EXPECT(!pthread_create(&thread, NULL, launch, first));
    while (access(inside("called"), F_OK)) usleep(1000);
    void **binary = __cudaRegisterFatBinary(fatbinary);
    __cudaRegisterFunction(binary, other, NULL, "second", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaUnregisterFatBinary(binary);
    write_file("begin", "");
    EXPECT(!pthread_join(thread, NULL));
    EXPECT(!unlink(inside("called")) && !unlink(inside("begin")) && !unlink(inside("compiler")) && !rmdir(folder));
}

static void *use_all_at_first(void *done)
{
    EXPECT(!cudaSetDevice(0));
    launch(first);
    atomic_store((atomic_bool *)done, true);
    return NULL;
}

/* A child that waits for a lock of a thread that it does not have ends by the alarm. */
static void child_has_no_runtime(void)
{
    int status;
    pid_t child = fork();
    if (!child) {
        CUkernel kernel;
        alarm(PATIENCE_S);
        EXPECT_EQUAL(cudaSetDevice(0), cudaErrorInitializationError);
        EXPECT_EQUAL(__cudaGetKernel((cudaKernel_t *)&kernel, first), cudaErrorInitializationError);
        __cudaUnregisterFatBinary(handle);
        _exit(0);
    }
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    EXPECT_EQUAL(status, 0);
}

static void a_child_that_is_forked_while_a_thread_uses_the_runtime_at_first_does_not_wait(void)
{
    atomic_bool done = false;
    pthread_t thread;
    int count;
    EXPECT(!cudaGetDeviceCount(&count));
    EXPECT(!pthread_create(&thread, NULL, use_all_at_first, &done));
    while (!atomic_load(&done)) child_has_no_runtime();
    EXPECT(!pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
    object = argc == 2 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        ALONE(start, a_first_kernel_is_launched_while_another_thread_opens_an_object),
        ALONE(start, kernels_are_registered_while_another_is_compiled),
        ALONE(registers, a_child_that_is_forked_while_a_thread_uses_the_runtime_at_first_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
