/* Variables of the environment that programs set for NVIDIA's driver, too. */
#include "../child.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry late(.param .u64 to)\n{\n"
                           "    .reg .b64 %d<4>;\n    .reg .pred %p;\n"
                           "    ld.param.u64 %d0, [to];\n    mov.u64 %d1, %globaltimer;\n"
                           "again:\n    mov.u64 %d2, %globaltimer;\n    sub.u64 %d3, %d2, %d1;\n"
                           "    setp.lt.u64 %p, %d3, 50000000;\n    @%p bra again;\n"
                           "    st.global.u32 [%d0], 1;\n    ret;\n}\n";

static CUfunction late;
static CUstream stream;
static CUdeviceptr word;

static void start(void)
{
    CUmodule m;
    check_context();
    CHECK(cuModuleLoadData(&m, code));
    CHECK(cuModuleGetFunction(&late, m, "late"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&word, 4));
    CHECK(cuMemsetD32(word, 0, 1));
}

static void start_blocking(void)
{
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    start();
}

static void start_not_blocking(void)
{
    setenv("CUDA_LAUNCH_BLOCKING", "0", 1);
    start();
}

static CUresult launch(CUdeviceptr to)
{
    void *params[] = { &to };
    return cuLaunchKernel(late, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static void a_launch_waits_for_its_kernel(void)
{
    CHECK(launch(word));
    CHECK(cuStreamQuery(stream));
    ANSWERS(launch(16), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_launch_of_a_graph_waits_for_it_but_a_captured_one_does_not(void)
{
    CUgraph g;
    CUgraphExec x;
    CUdeviceptr nowhere = 16;
    uint32_t seen;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(launch(word));
    CHECK(cuStreamEndCapture(stream, &g));
    CHECK(cuMemcpyDtoH(&seen, word, 4));
    EXPECT_EQUAL(seen, 0);
    CHECK(cuGraphInstantiate(&x, g, 0));
    CHECK(cuGraphLaunch(x, stream));
    CHECK(cuStreamQuery(stream));
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(launch(nowhere));
    CHECK(cuStreamEndCapture(stream, &g));
    CHECK(cuGraphInstantiate(&x, g, 0));
    ANSWERS(cuGraphLaunch(x, stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_launch_waits_for_nothing(void)
{
    CHECK(launch(word));
    ANSWERS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

/* What the first call of what is not implemented says. */
static void say_something(void)
{
    bool flag;
    size_t size = sizeof flag;
    ANSWERS(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &flag, &size), CUDA_ERROR_NOT_SUPPORTED);
}

static void is_what_was_said(const char *path)
{
    char written[600] = "", kept[600];
    size_t size = sizeof kept;
    FILE *f = fopen(path, "r");
    EXPECT(f);
    EXPECT(fread(written, 1, sizeof written - 1, f) > 0);
    fclose(f);
    CHECK(cuLogsDumpToMemory(NULL, kept, &size, 0));
    EXPECT(strstr(kept, "cuCoredumpGetAttribute"));
    EXPECT(!strcmp(written, kept));
}

static void go_to_a_new_folder(char folder[32])
{
    strcpy(folder, "/tmp/faultline-test-XXXXXX");
    EXPECT(mkdtemp(folder));
    EXPECT(!chdir(folder));
}

static void messages_are_written_to_a_file_wherever_the_program_goes(void)
{
    char folder[32];
    go_to_a_new_folder(folder);
    setenv("CUDA_LOG_FILE", "messages", 1);
    CHECK(cuInit(0));
    EXPECT(!chdir("/"));
    say_something();
    EXPECT(!chdir(folder));
    is_what_was_said("messages");
    EXPECT(!unlink("messages"));
    EXPECT(!rmdir(folder));
}

static void messages_are_written_to_standard_output(void)
{
    char folder[32];
    go_to_a_new_folder(folder);
    EXPECT(freopen("output", "w", stdout));
    setenv("CUDA_LOG_FILE", "stdout", 1);
    CHECK(cuInit(0));
    say_something();
    is_what_was_said("output");
    EXPECT(!unlink("output"));
    EXPECT(!rmdir(folder));
}

static void a_file_that_cannot_be_is_told_of(void)
{
    char kept[600];
    size_t size = sizeof kept;
    setenv("CUDA_LOG_FILE", "/no/such/place", 1);
    CHECK(cuInit(0));
    CHECK(cuLogsDumpToMemory(NULL, kept, &size, 0));
    EXPECT(strstr(kept, "CUDA_LOG_FILE=/no/such/place"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start_blocking, a_launch_waits_for_its_kernel),
        ALONE(start_blocking, a_launch_of_a_graph_waits_for_it_but_a_captured_one_does_not),
        ALONE(start_not_blocking, a_launch_waits_for_nothing),
        ALONE(NULL, messages_are_written_to_a_file_wherever_the_program_goes),
        ALONE(NULL, messages_are_written_to_standard_output),
        ALONE(NULL, a_file_that_cannot_be_is_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
