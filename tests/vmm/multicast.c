/* Multicast objects of three devices: what is written to one reaches every
 * member, what is bound stays alive, and what goes wrong. Their instructions are
 * tested in multimem.c, processes that share one in multicast_share.c.
 * usage: FAULTLINE_PROFILE=h200-nvswitch FAULTLINE_DEVICES=3 multicast */
#include "multicast_rig.h"

/* ---- what is written reaches every member */

static const char fill_ptx[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n"
    ".visible .entry fill(.param .u64 p, .param .u32 n)\n{\n"
    ".reg .pred %q; .reg .b32 %r<6>; .reg .b64 %a<3>;\n"
    "ld.param.u64 %a0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r4, %r1, %r2, %r3; setp.ge.u32 %q, %r4, %r0; @%q bra END;\n"
    "mul.wide.u32 %a1, %r4, 4; add.u64 %a1, %a0, %a1; mul.lo.u32 %r5, %r4, 2654435761; st.global.u32 [%a1], %r5;\n"
    "END: ret;\n}\n";

static void ordinary_stores_of_many_threads_reach_every_member(void)
{
    enum { COUNT = 50000, OFFSET = 4096 + 4 };
    static uint32_t saw[COUNT], wanted[COUNT];
    CUmodule m;
    CUfunction fill;
    CUdeviceptr at = object_at + OFFSET;
    unsigned n = COUNT;
    on(2);
    CHECK(cuModuleLoadData(&m, fill_ptx));
    CHECK(cuModuleGetFunction(&fill, m, "fill"));
    CHECK(cuLaunchKernel(fill, (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, (void *[]){ &at, &n }, NULL));
    CHECK(cuCtxSynchronize());
    for (unsigned k = 0; k < COUNT; k++) wanted[k] = k * 2654435761u;
    for (int k = 0; k < TEAM; k++) {
        get(k, OFFSET, saw, sizeof saw);
        EXPECT(!memcmp(saw, wanted, sizeof saw));
    }
}

/* 1, 2, 4, 8 and 16 bytes, a volatile one and a number among them. */
static const char sizes_ptx[] =
    MULTIMEM_KERNEL_BEGIN ".reg .b64 %a<2>; .reg .b32 %r<4>; .reg .b16 %h; .reg .f64 %d;\n"
                          "ld.param.u64 %a0, [object]; mov.u16 %h, 0x1234;\n"
                          "mov.b32 %r0, 0x01020304; mov.b32 %r1, -1; mov.b32 %r2, 0; mov.b32 %r3, 7;\n"
                          "st.global.u8 [%a0+1], %r0; st.global.u16 [%a0+2], %h;\n"
                          "st.volatile.global.u32 [%a0+4], %r1;\n"
                          "mov.b64 %a1, {%r0, %r1}; st.global.u64 [%a0+8], %a1;\n"
                          "st.global.v4.u32 [%a0+16], {%r0, %r1, %r2, %r3};\n"
                          "mov.f64 %d, 0d3ff8000000000000; st.global.f64 [%a0+32], %d; ret;\n}\n";

static void ordinary_stores_of_all_sizes_reach_every_member(void)
{
    enum { OFFSET = HALF + 64 };
    static const uint32_t before[10] = { 0xabababab, 0xabababab };
    static const uint32_t after[10] = { 0x123404ab, 0xffffffff, 0x01020304, 0xffffffff, 0x01020304,
                                        0xffffffff, 0,          7,          0,          0x3ff80000 };
    uint32_t saw[10];
    for (int k = 0; k < TEAM; k++) put(k, OFFSET, before, sizeof before);
    on(1);
    CHECK(run_one(sizes_ptx, object_at + OFFSET, 0));
    for (int k = 0; k < TEAM; k++) {
        get(k, OFFSET, saw, sizeof saw);
        for (int word = 0; word < 10; word++) EXPECT_EQUAL(saw[word], after[word]);
    }
}

static void a_copy_reaches_every_member(void)
{
    static unsigned char in[3 * MIB], out[3 * MIB];
    for (size_t k = 0; k < sizeof in; k++) in[k] = (unsigned char)(k * 7 + k / 256);
    on(1);
    CHECK(cuMemcpyHtoD(object_at + MIB / 2, in, sizeof in)); /* across the member whose halves lie apart */
    for (int k = 0; k < TEAM; k++)
        for (size_t o = 0; o < sizeof in; o += MIB / 2) {
            get(k, MIB / 2 + o, out, MIB / 2);
            EXPECT(!memcmp(out, in + o, MIB / 2));
        }
    /* whose bytes should that be? */
    ANSWERS(cuMemcpyDtoH(out, object_at, 16), CUDA_ERROR_INVALID_VALUE);
}

static void a_copy_of_rows_reaches_every_member(void)
{
    enum { WIDTH = 100, PITCH = 128, ROWS = 50 };
    static unsigned char in[ROWS * WIDTH], out[ROWS * PITCH];
    for (size_t k = 0; k < sizeof in; k++) in[k] = (unsigned char)(k * 11 + 1);
    const CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = in,
                                 .srcPitch = WIDTH,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = object_at,
                                 .dstPitch = PITCH,
                                 .WidthInBytes = WIDTH,
                                 .Height = ROWS };
    on(1);
    CHECK(cuMemcpy2D(&rows));
    for (int k = 0; k < TEAM; k++) {
        get(k, 0, out, sizeof out);
        for (size_t y = 0; y < ROWS; y++) EXPECT(!memcmp(out + y * PITCH, in + y * WIDTH, WIDTH));
    }
}

static void memsets_reach_every_member(void)
{
    unsigned char out[20 * 256];
    on(2);
    CHECK(cuMemsetD2D8(object_at, 256, 0x77, 10, 20));
    for (int k = 0; k < TEAM; k++) {
        get(k, 0, out, sizeof out);
        for (size_t y = 0; y < 20; y++) EXPECT(out[y * 256] == 0x77 && out[y * 256 + 9] == 0x77);
    }
    on(2);
    CHECK(cuMemsetD32(object_at + 64, 0x01020304, 1000));
    for (int k = 0; k < TEAM; k++) {
        get(k, 64, out, 4000);
        for (size_t o = 0; o < 4000; o += 4) EXPECT(!memcmp(out + o, "\4\3\2\1", 4));
    }
}

/* ---- what lives how long */

/* Memory lives while it is bound, the object while it is mapped; then all of it is given back. */
static void memory_lives_while_it_is_bound(void)
{
    size_t first = 0;
    for (int round = 0; round < 2; round++) {
        uint32_t one = 1;
        form_team();
        bind_team();
        for (int k = 0; k < TEAM; k++) {
            CHECK(cuMemUnmap(memory_at[k], SIZE));
            CHECK(cuMemRelease(memory[k]));
        }
        CHECK(cuMemRelease(object));
        on(0);
        CHECK(cuMemcpyHtoD(object_at, &one, sizeof one));
        CHECK(cuMemUnmap(object_at, SIZE));
        if (!round) first = free_memory();
    }
    EXPECT_EQUAL(free_memory(), first);
}

static void memory_of_a_streams_pool_can_be_bound(void)
{
    CUdeviceptr p;
    uint32_t seen;
    on(0);
    CHECK(cuMemAllocAsync(&p, SIZE + 2 * MIB, NULL));
    CHECK(cuStreamSynchronize(NULL));
    CUdeviceptr at = (p + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    ANSWERS(cuMulticastBindAddr(object, 0, at, SIZE + 4 * MIB, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMulticastBindAddr(object, 0, at, SIZE, 0));
    for (int k = 1; k < TEAM; k++) CHECK(cuMulticastBindMem(object, 0, memory[k], 0, SIZE, 0));
    object_at = map(object, SIZE);
    access_by(object_at, SIZE, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    on(1);
    CHECK(run_one(STORE_5, object_at + MIB, 0));
    on(0);
    CHECK(cuMemcpyDtoH(&seen, at + MIB, sizeof seen));
    EXPECT_EQUAL(seen, 5);
    CHECK(cuMulticastUnbind(object, 0, 0, SIZE));
    CHECK(cuMemFreeAsync(p, NULL));
    CHECK(cuStreamSynchronize(NULL));
}

/* ---- what changes while it is used */

/* Adds 1 to each member's first word, and counts that, until it is told to end. */
static const char go_on_ptx[] =
    MULTIMEM_KERNEL_BEGIN ".reg .b64 %a<2>; .reg .b32 %r<4>; .reg .pred %p;\n"
                          "ld.param.u64 %a0, [object]; ld.param.u64 %a1, [other]; mov.u32 %r0, 1; mov.u32 %r1, 0;\n"
                          "L: multimem.red.relaxed.sys.global.add.u32 [%a0], %r0;\n"
                          "add.u32 %r1, %r1, 1; st.volatile.global.u32 [%a1], %r1;\n"
                          "ld.volatile.global.u32 %r2, [%a1+4]; setp.eq.u32 %p, %r2, 0; @%p bra L; ret;\n}\n";

/* It has gone on, or ended. */
static void wait_for_kernel(volatile uint32_t *count)
{
    for (const uint32_t before = *count; *count - before < 2 && cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY;) {}
}

static void a_kernel_goes_on_while_the_other_half_changes(void)
{
    volatile uint32_t *flags;
    CUmodule m;
    CUfunction f;
    CUdeviceptr sums;
    uint32_t w;
    for (int k = 0; k < TEAM; k++) CHECK(cuMulticastBindMem(object, 0, memory[k], 0, HALF, 0));
    object_at = map(object, SIZE);
    for (int k = 0; k < TEAM; k++) access_by(object_at, SIZE, k, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    on(0);
    CHECK(cuMemAllocHost((void **)&flags, 8));
    flags[0] = flags[1] = 0;
    sums = (CUdeviceptr)flags;
    CHECK(cuModuleLoadData(&m, go_on_ptx));
    CHECK(cuModuleGetFunction(&f, m, "one"));
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &object_at, &sums }, NULL));
    wait_for_kernel(flags);
    for (int round = 0; round < 60; round++) {
        CHECK(cuMulticastBindMem(object, HALF, memory[round % TEAM], HALF, HALF, 0));
        wait_for_kernel(flags);
        CHECK(cuMulticastUnbind(object, round % TEAM, HALF, HALF));
        wait_for_kernel(flags);
        ANSWERS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    }
    flags[1] = 1;
    CHECK(cuCtxSynchronize());
    for (int k = 0; k < TEAM; k++) {
        on(k);
        CHECK(cuMemcpyDtoH(&w, memory_at[k], sizeof w));
        EXPECT_EQUAL(w, flags[0]);
    }
}

static void a_fill_that_waits_goes_to_what_is_bound_by_then(void)
{
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
    CUmemGenericAllocationHandle later;
    CUstream s;
    uint32_t *flag, w[3];
    CHECK(cuMemCreate(&later, SIZE, &p, 0));
    CUdeviceptr later_at = map(later, SIZE);
    access_by(later_at, SIZE, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    on(0);
    CHECK(cuMemsetD32(object_at, 1, SIZE / 4));
    CHECK(cuCtxSynchronize());
    CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAllocHost((void **)&flag, 4));
    *flag = 0;
    CHECK(cuStreamWaitValue32(s, (CUdeviceptr)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    CHECK(cuMemsetD32Async(object_at, 7, SIZE / 4, s));
    CHECK(cuMulticastUnbind(object, 1, 0, SIZE));
    CHECK(cuMulticastBindMem(object, 0, later, 0, SIZE, 0));
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    CHECK(cuStreamSynchronize(s));
    get(0, 0, &w[0], 4);
    get(1, 0, &w[1], 4);
    CHECK(cuMemcpyDtoH(&w[2], later_at, 4));
    EXPECT(w[0] == 7 && w[1] == 1 && w[2] == 7);
}

/* ---- what goes wrong */

static void refuse_to_create(CUmulticastObjectProp p)
{
    CUmemGenericAllocationHandle h;
    ANSWERS(cuMulticastCreate(&h, &p), CUDA_ERROR_INVALID_VALUE);
}

static void wrong_properties_are_refused(void)
{
    CUmulticastObjectProp good = { .numDevices = TEAM, .size = SIZE };
    size_t granularity;
    CHECK(cuMulticastGetGranularity(&granularity, &good, CU_MULTICAST_GRANULARITY_MINIMUM));
    EXPECT(granularity && SIZE % granularity == 0);
    refuse_to_create((CUmulticastObjectProp){ .numDevices = 0, .size = SIZE });
    refuse_to_create((CUmulticastObjectProp){ .numDevices = TEAM + 1, .size = SIZE });
    refuse_to_create((CUmulticastObjectProp){ .numDevices = TEAM, .size = 0 });
    refuse_to_create((CUmulticastObjectProp){ .numDevices = TEAM, .size = granularity / 2 });
    refuse_to_create((CUmulticastObjectProp){ .numDevices = TEAM, .size = SIZE, .flags = 1 });
    ANSWERS(cuMulticastCreate(NULL, &good), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastAddDevice(object, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastAddDevice(object, TEAM), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuMulticastAddDevice(memory[0], 0), CUDA_ERROR_INVALID_VALUE);
}

static void wrong_bindings_are_refused(void)
{
    const CUmulticastObjectProp good = { .numDevices = TEAM, .size = SIZE };
    size_t g;
    CHECK(cuMulticastGetGranularity(&g, &good, CU_MULTICAST_GRANULARITY_MINIMUM));
    ANSWERS(cuMulticastBindMem(object, 0, memory[0], 0, SIZE, 1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, 0, memory[0], 0, SIZE + g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, g / 2, memory[0], 0, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, SIZE, memory[0], 0, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, 0, object, 0, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(memory[0], 0, memory[1], 0, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindAddr(object, 0, memory_at[0] + HALF, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastUnbind(object, 0, 0, g), CUDA_ERROR_INVALID_VALUE); /* nothing is bound */
    CHECK(cuMulticastBindMem(object, 0, memory[0], 0, g, 0));
    ANSWERS(cuMulticastBindMem(object, 0, memory[0], g, g, 0), CUDA_ERROR_INVALID_VALUE); /* something is */
    ANSWERS(cuMulticastUnbind(object, 1, 0, g), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMulticastUnbind(object, 0, 0, g));
}

/* The message about what a kernel did wrong says so. */
static void explained(const char *why)
{
    char text[4096];
    size_t size = sizeof text;
    CHECK(cuLogsDumpToMemory(NULL, text, &size, 0));
    if (!strstr(text, why)) printf("\"%s\" does not say \"%s\"\n", text, why);
    EXPECT(strstr(text, why));
}

static void an_address_that_one_member_lacks_faults(void)
{
    on(0);
    add_up(object_at);
    CHECK(cuMulticastUnbind(object, 1, 0, SIZE));
    ANSWERS(run_one(ADD_7, object_at, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    explained("has a member there with nothing bound");
}

static void an_ordinary_load_from_a_multicast_address_faults(void)
{
    static const char load[] = MULTIMEM_KERNEL_BEGIN
        ".reg .b64 %a; .reg .b32 %r;\nld.param.u64 %a, [object]; ld.volatile.global.u32 %r, [%a]; ret;\n}\n";
    on(0);
    ANSWERS(run_one(load, object_at, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    explained("only multimem instructions read it");
}

static void an_ordinary_store_where_one_member_lacks_memory_faults(void)
{
    static const char store[] =
        MULTIMEM_KERNEL_BEGIN ".reg .b64 %a;\nld.param.u64 %a, [object]; st.global.u32 [%a+8], 1; ret;\n}\n";
    on(0);
    CHECK(cuMulticastUnbind(object, 1, 0, SIZE));
    ANSWERS(run_one(store, object_at, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    explained("has a member there with nothing bound");
    explained("an illegal write");
}

static void an_ordinary_atomic_on_a_multicast_address_faults(void)
{
    static const char atomic[] = MULTIMEM_KERNEL_BEGIN
        ".reg .b64 %a; .reg .b32 %r;\nld.param.u64 %a, [object]; atom.global.add.u32 %r, [%a], 1; ret;\n}\n";
    on(0);
    ANSWERS(run_one(atomic, object_at, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    explained("only multimem instructions read it or add to it");
}

static void a_store_where_only_loads_are_permitted_faults(void)
{
    on(0);
    access_by(object_at, SIZE, 0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    add_up(object_at);
    ANSWERS(cuMemsetD8(object_at, 0, 16), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(run_one(STORE_5, object_at, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    explained("which device 0 may only read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(form_and_bind_team, ordinary_stores_of_many_threads_reach_every_member),
        ALONE(form_and_bind_team, ordinary_stores_of_all_sizes_reach_every_member),
        ALONE(form_and_bind_team, a_copy_reaches_every_member),
        ALONE(form_and_bind_team, a_copy_of_rows_reaches_every_member),
        ALONE(form_and_bind_team, memsets_reach_every_member),
        ALONE(NULL, memory_lives_while_it_is_bound),
        ALONE(form_team, memory_of_a_streams_pool_can_be_bound),
        ALONE(form_team, a_kernel_goes_on_while_the_other_half_changes),
        ALONE(form_and_bind_team, a_fill_that_waits_goes_to_what_is_bound_by_then),
        ALONE(form_team, wrong_properties_are_refused),
        ALONE(form_team, wrong_bindings_are_refused),
        ALONE(form_and_bind_team, an_address_that_one_member_lacks_faults),
        ALONE(form_and_bind_team, an_ordinary_load_from_a_multicast_address_faults),
        ALONE(form_and_bind_team, an_ordinary_store_where_one_member_lacks_memory_faults),
        ALONE(form_and_bind_team, an_ordinary_atomic_on_a_multicast_address_faults),
        ALONE(form_and_bind_team, a_store_where_only_loads_are_permitted_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
