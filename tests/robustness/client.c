/* One hostile condition a run; see run. Exit status 0: as it should be. */
#include "../usage.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 p) { .reg .b64 %a; .reg .b32 %v; ld.param.u64 %a,[p]; atom.global.add.u32 "
    "%v,[%a],1; ret; }\n"
    ".visible .entry spin(.param .u64 p) { .reg .b64 %a; .reg .b32 %v; .reg .pred %q; ld.param.u64 %a,[p]; L: "
    "ld.volatile.global.u32 %v,[%a]; setp.eq.u32 %q,%v,0; @%q bra L; ret; }\n"
    ".visible .entry touch(.param .u64 p) { .reg .b64 %a; .reg .b32 %i, %t; ld.param.u64 %a,[p]; mov.u32 %i,%ctaid.x; "
    "mov.u32 %t,%tid.x; mad.lo.u32 %i,%i,32,%t; mad.wide.u32 %a,%i,4096,%a; st.global.u32 [%a],%i; ret; }\n";

static CUcontext context;
static CUmodule module;

static void set_up(void)
{
    char id[32];
    snprintf(id, sizeof id, "%d", (int)getpid());
    setenv("FAULTLINE_TEST", id, 1);
    context = check_context();
    CHECK(cuModuleLoadData(&module, ptx));
}

static CUresult launch(const char *name, CUdeviceptr p)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module, name));
    return cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, 0, (void *[]){ &p }, NULL);
}

/* The device process that this process started: it has inherited a mark in its environment. */
static int device_pid(void)
{
    int found = 0;
    char mark[64];
    snprintf(mark, sizeof mark, "FAULTLINE_TEST=%d", (int)getpid());
    DIR *d = opendir("/proc");
    for (struct dirent *e; (e = readdir(d)) && !found;) {
        char path[300], text[65536];
        int pid = atoi(e->d_name);
        if (!pid || pid == getpid()) continue;
        snprintf(path, sizeof path, "/proc/%d/environ", pid);
        FILE *f = fopen(path, "r");
        size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
        text[n] = 0;
        for (char *p = text; p < text + n; p += strlen(p) + 1)
            if (!strcmp(p, mark)) found = pid;
        if (f) fclose(f);
    }
    closedir(d);
    return found;
}

static void simple(void)
{
    CUdeviceptr p;
    unsigned v;
    set_up();
    CHECK(cuMemAlloc(&p, 4096));
    CHECK(cuMemsetD8(p, 0, 4096));
    CHECK(launch("add", p));
    CHECK(cuMemcpyDtoH(&v, p, 4));
    EXPECT(v == 128);
}

/* As much as a device says it has is there, however little that is, and then no more. */
static void filled(void)
{
    enum { PIECE = 16 << 20 };
    CUdeviceptr p;
    CUresult r;
    size_t pieces = 0, free_bytes, all;
    set_up();
    CHECK(cuMemGetInfo(&free_bytes, &all));
    while (!(r = cuMemAlloc(&p, PIECE))) {
        CHECK(cuMemsetD8(p, 1, PIECE));
        CHECK(cuCtxSynchronize());
        pieces++;
    }
    ANSWERS(r, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT(pieces >= 2 && pieces == free_bytes / PIECE);
    simple();
}

/* A kernel that needs more than there is. */
static void too_much(void)
{
    enum { BLOCKS = 6 << 10 };
    CUdeviceptr p;
    CUfunction f;
    set_up();
    CHECK(cuMemAlloc(&p, BLOCKS * 32 * 4096ul));
    CHECK(cuModuleGetFunction(&f, module, "touch"));
    CHECK(cuLaunchKernel(f, BLOCKS, 1, 1, 32, 1, 1, 0, 0, (void *[]){ &p }, NULL));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

static void killed_device(void)
{
    CUdeviceptr p;
    set_up();
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuMemsetD8(p, 0, 4));
    CHECK(launch("spin", p));
    usleep(50000);
    EXPECT(device_pid() > 0);
    kill(device_pid(), SIGKILL);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    ANSWERS(cuMemAlloc(&p, 4), CUDA_ERROR_LAUNCH_FAILED);
}

static void revived(void)
{
    killed_device();
    CHECK(cuDevicePrimaryCtxReset(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    simple();
}

/* Mappings are no device process's: the next one has them, with what was done about them meanwhile. */
static void mapped_revived(void)
{
    const size_t page = 2ul << 20;
    CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
    CUmemAccessDesc access = { .location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
    CUmemGenericAllocationHandle h[3];
    CUdeviceptr at;
    unsigned v;
    set_up();
    CHECK(cuMemAddressReserve(&at, 3 * page, 0, 0, 0));
    for (int k = 0; k < 3; k++) {
        prop.requestedHandleTypes = k ? CU_MEM_HANDLE_TYPE_NONE : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        CHECK(cuMemCreate(&h[k], page, &prop, 0));
        CHECK(cuMemMap(at + k * page, page, 0, h[k], 0));
    }
    CHECK(cuMemSetAccess(at, 2 * page, &access, 1));
    CHECK(cuMemsetD8(at, 0, 2 * page));
    CHECK(launch("add", at));
    CHECK(launch("spin", at + page));
    usleep(50000);
    kill(device_pid(), SIGKILL);
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    CHECK(cuMemSetAccess(at + 2 * page, page, &access, 1));
    CHECK(cuMemUnmap(at + page, page));
    CHECK(cuDevicePrimaryCtxReset(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(launch("add", at));
    CHECK(cuMemcpyDtoH(&v, at, 4));
    EXPECT(v == 256);
    CHECK(cuMemsetD8(at + 2 * page, 0, page));
    CHECK(launch("add", at + 2 * page));
    CHECK(cuMemcpyDtoH(&v, at + 2 * page, 4));
    EXPECT(v == 128);
    CHECK(launch("add", at + page));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* What a killed device had of managed memory is the host's, whichever of its pages moved meanwhile. */
static void managed_revived(void)
{
    const size_t page = 4096, pages = 600;
    const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    CUdeviceptr p, q;
    set_up();
    for (int round = 0; round < 3; round++) {
        CHECK(cuMemAllocManaged(&p, pages * page, CU_MEM_ATTACH_GLOBAL));
        for (size_t k = 0; k < pages; k++) *(unsigned *)(p + k * page) = k < 599 ? (unsigned)k : 0;
        CHECK(cuMemAdvise(p, pages * page / 3, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
        CHECK(cuMemAdvise(p + 200 * page, 200 * page, CU_MEM_ADVISE_SET_ACCESSED_BY, device));
        CHECK(cuMemPrefetchAsync(p, pages * page, device, 0, NULL));
        for (int k = 0; k < 600; k += 150) CHECK(launch("add", p + (size_t)k * page));
        CHECK(cuCtxSynchronize());
        CHECK(launch("spin", p + 599 * page));
        usleep(50000);
        kill(device_pid(), SIGKILL);
        for (size_t k = 0; k < pages; k++)
            EXPECT(*(volatile unsigned *)(p + k * page) == (k < 599 ? k + (k % 150 ? 0 : 128) : 0));
        ANSWERS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
        ANSWERS(cuMemAllocManaged(&q, page, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_LAUNCH_FAILED);
        for (size_t k = 0; k < pages; k++) *(volatile unsigned *)(p + k * page) = 1;
        CHECK(cuDevicePrimaryCtxReset(0));
        CHECK(cuDevicePrimaryCtxRetain(&context, 0));
        CHECK(cuCtxSetCurrent(context));
        CHECK(cuModuleLoadData(&module, ptx));
    }
    simple();
}

static void forked(void)
{
    simple();
    pid_t child = fork();
    if (!child) {
        CUdeviceptr p;
        _exit(cuMemAlloc(&p, 4) == CUDA_ERROR_NOT_INITIALIZED && cuInit(0) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT(!status);
    EXPECT(waitpid(-1, &status, WNOHANG) < 0); /* no process of the library's is our child */
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, 4096));
    CHECK(cuMemsetD8(p, 0, 4096));
    CHECK(launch("add", p));
    CHECK(cuCtxSynchronize());
}

static void *worker(void *arg)
{
    CUstream s;
    CUevent e;
    CUdeviceptr p;
    CUfunction f;
    unsigned v = 0;
    (void)arg;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleGetFunction(&f, module, "add"));
    for (int k = 0; k < 60; k++) {
        CHECK(cuStreamCreate(&s, k % 2));
        CHECK(cuEventCreate(&e, 0));
        CHECK(cuMemAlloc(&p, 1000 + (size_t)k * 5000));
        CHECK(cuMemsetD8Async(p, 0, 64, s));
        CHECK(cuLaunchKernel(f, 3, 1, 1, 64, 1, 1, 0, s, (void *[]){ &p }, NULL));
        CHECK(cuEventRecord(e, s));
        CHECK(cuEventSynchronize(e));
        CHECK(cuMemcpyDtoHAsync(&v, p, 4, s));
        CHECK(cuStreamSynchronize(s));
        EXPECT(v == 192);
        CHECK(cuEventDestroy(e));
        CHECK(cuStreamDestroy(s));
        CHECK(cuMemFree(p));
    }
    return NULL;
}

static void threads(void)
{
    pthread_t t[8];
    set_up();
    for (int k = 0; k < 8; k++) EXPECT(!pthread_create(&t[k], NULL, worker, NULL));
    for (int k = 0; k < 8; k++) pthread_join(t[k], NULL);
}

static void cycles(void)
{
    long before = 0;
    unsigned fds = 0;
    set_up();
    for (int k = 0; k < 10000; k++) {
        CUstream s;
        CUevent e;
        CUdeviceptr p;
        CHECK(cuStreamCreate(&s, 0));
        CHECK(cuEventCreate(&e, 0));
        CHECK(cuMemAlloc(&p, 3000));
        CHECK(cuEventRecord(e, s));
        CHECK(cuEventDestroy(e));
        CHECK(cuStreamDestroy(s));
        CHECK(cuMemFree(p));
        if (k % 20 == 0) {
            CUcontext c;
            CUmodule m;
            CHECK(cuCtxCreate(&c, NULL, 0, 0));
            CHECK(cuModuleLoadData(&m, ptx));
            CHECK(cuModuleUnload(m));
            CHECK(cuCtxDestroy(c));
        }
        if (k == 5000) {
            before = resident_kib();
            fds = descriptors();
        }
    }
    EXPECT(descriptors() <= fds);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what is freed for a while */
    EXPECT(resident_kib() < before + 2048);
#endif
}

static void printf_and_wait(void)
{
    CUstream s;
    CUdeviceptr p;
    set_up();
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&p, 64));
    CHECK(cuMemsetD8(p, 0, 64));
    CHECK(cuStreamWaitValue32(s, p, 7, CU_STREAM_WAIT_VALUE_EQ));
    ANSWERS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    CHECK(cuStreamWriteValue32(0, p, 7, 0));
    CHECK(cuStreamSynchronize(s));
}

static void spin(void)
{
    CUdeviceptr p;
    set_up();
    CHECK(cuMemAlloc(&p, 4));
    CHECK(cuMemsetD8(p, 0, 4));
    CHECK(launch("spin", p));
    puts("spinning");
    fflush(stdout);
    cuCtxSynchronize();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = { { "simple", simple },
                  { "filled", filled },
                  { "too_much", too_much },
                  { "killed_device", killed_device },
                  { "revived", revived },
                  { "mapped_revived", mapped_revived },
                  { "managed_revived", managed_revived },
                  { "forked", forked },
                  { "threads", threads },
                  { "cycles", cycles },
                  { "printf_and_wait", printf_and_wait },
                  { "spin", spin } };
    alarm(200);
    for (size_t k = 0; k < sizeof tests / sizeof *tests && argc > 1; k++)
        if (!strcmp(argv[1], tests[k].name)) {
            tests[k].run();
            return 0;
        }
    return 2;
}
