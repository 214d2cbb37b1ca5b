/* Device processes do not outlive the program that they were started for: neither where it executes another, nor where it
 * closes what it does not know. */
#include "../child.h"
#include "../victims.h"

#include <sys/eventfd.h>

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry spin(.param .u64 p) { .reg .b64 %a; .reg .b32 %v; .reg .pred %q; ld.param.u64 %a,[p]; L: "
    "ld.volatile.global.u32 %v,[%a]; setp.eq.u32 %q,%v,0; @%q bra L; ret; }\n";

/* A kernel runs that does not end. */
static void start(void)
{
    CUmodule m;
    CUfunction spin;
    CUdeviceptr p;
    victims_mark();
    check_context();
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&spin, m, "spin"));
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuMemsetD32(p, 0, 1));
    CHECK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &p }, NULL));
}

static void await_end(void)
{
    for (int pid; victims_find(&pid, 1);) usleep(1000);
}

static void devices_of_a_program_that_executes_another_end(void)
{
    int pid;
    EXPECT_EQUAL(victims_find(&pid, 1), 1);
    execl("/proc/self/exe", "left", "another program", NULL);
    EXPECT(!"execve");
}

static void replace(int number, const char *what)
{
    char path[64], is[64] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", number);
    if (readlink(path, is, sizeof is - 1) < 0 || strncmp(is, what, strlen(what))) return;
    int silent = eventfd(0, 0);
    EXPECT_EQUAL(dup2(silent, number), number);
    close(silent);
}

static void a_program_that_closes_what_it_does_not_know_loses_its_devices(void)
{
    CUcontext other;
    for (int k = 3; k < 256; k++) {
        replace(k, "socket:");
        replace(k, "anon_inode:[pidfd]");
    }
    CHECK(cuDevicePrimaryCtxRetain(&other, 1)); /* so that whoever waits for something of the first device looks anew */
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        await_end();
        return 0;
    }
    setenv("FAULTLINE_DEVICES", "2", 1);
    setenv("FAULTLINE_LOG", "off", 1);
    const struct CMUnitTest tests[] = {
        ALONE(start, devices_of_a_program_that_executes_another_end),
        ALONE(start, a_program_that_closes_what_it_does_not_know_loses_its_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
