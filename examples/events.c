/* What a step of a program did to managed memory, asked while it runs: counters,
 * events and places of pages from faultline.h. The same kernel reads 4 MiB twice,
 * the second time after a prefetch. With another driver there is nothing to ask,
 * and the program only computes. */
#include <cuda.h>
#include <dlfcn.h>
#include <faultline.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 4 << 20, PAGES = BYTES / 4096, MOST = 256 };

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry sum(.param .u64 p, .param .u64 out)\n{\n"
                          "    .reg .b32 %i, %n, %v; .reg .b64 %a, %o, %d; .reg .pred %more;\n"
                          "    ld.param.u64 %a, [p]; ld.param.u64 %o, [out];\n"
                          "    mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %v, %tid.x; mad.lo.u32 %i, %i, %n, %v;\n"
                          "    mul.wide.u32 %d, %i, 4; add.u64 %a, %a, %d;\n"
                          "    ld.global.u32 %v, [%a];\n"
                          "    red.global.add.u32 [%o], %v;\n"
                          "    ret;\n}\n";

/* Of libcuda.so.1, wherever in the program it was loaded; NULL: it is another driver's. */
#define ASK(name) ((__typeof__(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), #name))

static void check(CUresult r, const char *what)
{
    const char *name = "?";
    if (!r) return;
    cuGetErrorName(r, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}

/* The events since the last call. */
static size_t look(struct faultline_cursor *cursor, struct faultline_event *e)
{
    ASK(faultline_flush)();
    return ASK(faultline_read)(cursor, e, MOST);
}

static void show_events(struct faultline_cursor *cursor)
{
    struct faultline_event e[MOST];
    size_t n = look(cursor, e), faults = 0, moves = 0;
    uint64_t by_touch = 0, asked_for = 0;
    for (size_t k = 0; k < n; k++) {
        faults += e[k].kind == FAULTLINE_GPU_FAULT;
        if (e[k].kind != FAULTLINE_MIGRATION) continue;
        moves++;
        *(e[k].cause == FAULTLINE_CAUSE_USER ? &asked_for : &by_touch) += e[k].bytes;
    }
    printf("  %zu GPU faults, %zu migrations: %lu KiB because of them, %lu KiB because of a prefetch\n", faults, moves,
           by_touch >> 10, asked_for >> 10);
}

static void show_places(const void *p)
{
    unsigned char place[PAGES];
    unsigned on_device = 0;
    if (ASK(faultline_residency)(p, PAGES, place)) return;
    for (int k = 0; k < PAGES; k++) on_device += place[k] >= FAULTLINE_ON_DEVICE;
    printf("  %u of %d pages are on the device\n", on_device, PAGES);
}

static unsigned sum(CUfunction f, CUdeviceptr p, CUdeviceptr out)
{
    unsigned result;
    check(cuMemsetD32(out, 0, 1), "cuMemsetD32");
    check(cuLaunchKernel(f, BYTES / 1024, 1, 1, 256, 1, 1, 0, NULL, (void *[]){ &p, &out }, NULL), "cuLaunchKernel");
    check(cuMemcpyDtoH(&result, out, sizeof result), "cuMemcpyDtoH");
    return result;
}

int main(void)
{
    const CUmemLocation gpu = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
    struct faultline_cursor cursor;
    struct faultline_event before[MOST];
    CUcontext context;
    CUmodule module;
    CUfunction f;
    CUdeviceptr p, out;
    check(cuInit(0), "cuInit");
    check(cuCtxCreate(&context, NULL, 0, 0), "cuCtxCreate");
    check(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    check(cuModuleGetFunction(&f, module, "sum"), "cuModuleGetFunction");
    check(cuMemAlloc(&out, sizeof(unsigned)), "cuMemAlloc");
    check(cuMemAllocManaged(&p, BYTES, CU_MEM_ATTACH_GLOBAL), "cuMemAllocManaged");
    unsigned want = 0, *numbers = (unsigned *)p;
    int told = ASK(faultline_subscribe) && !ASK(faultline_subscribe)(&cursor, 0);
    for (int prefetched = 0; prefetched < 2; prefetched++) {
        want = 0;
        for (unsigned k = 0; k < BYTES / sizeof *numbers; k++) want += numbers[k] = k % 7 + (unsigned)prefetched;
        if (told) look(&cursor, before); /* what the host did is not of interest here */
        if (prefetched) check(cuMemPrefetchAsync(p, BYTES, gpu, 0, NULL), "cuMemPrefetchAsync");
        if (sum(f, p, out) != want) return 1;
        printf("%s:\n", prefetched ? "prefetched" : "touched");
        if (!told) continue;
        show_events(&cursor);
        show_places(numbers);
    }
    return 0;
}
