/* Multicast objects of three devices: every form of multimem against the CPU,
 * copies and memsets, and what goes wrong. Each test is a process of its own.
 * usage: FAULTLINE_PROFILE=h200-nvswitch FAULTLINE_DEVICES=3 multicast */
#include "common.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEAM = 3, SIZE = 4 * MIB, HALF = SIZE / 2 };

static CUcontext contexts[TEAM];
static CUmemGenericAllocationHandle object, memory[TEAM];
static CUdeviceptr object_at, memory_at[TEAM];
static int failures;

#define ANSWERS(call, wanted) \
    do { \
        CUresult r_ = (call); \
        if (r_ != (wanted)) { \
            const char *n_ = "?"; \
            cuGetErrorName(r_, &n_); \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, n_); \
            failures++; \
        } \
    } while (0)

static CUdeviceptr map(CUmemGenericAllocationHandle h, size_t size)
{
    CUdeviceptr at;
    CHECK(cuMemAddressReserve(&at, size, 0, 0, 0));
    CHECK(cuMemMap(at, size, 0, h, 0));
    return at;
}

static void access_by(CUdeviceptr at, size_t size, int device, CUmemAccess_flags flags)
{
    const CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, device }, flags };
    CHECK(cuMemSetAccess(at, size, &desc, 1));
}

static void on(int device) { CHECK(cuCtxSetCurrent(contexts[device])); }

static void set_up(void)
{
    const CUmulticastObjectProp prop = { .numDevices = TEAM, .size = SIZE };
    CHECK(cuInit(0));
    CHECK(cuMulticastCreate(&object, &prop));
    for (int k = 0; k < TEAM; k++) {
        const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .location = { CU_MEM_LOCATION_TYPE_DEVICE, k } };
        CHECK(cuDevicePrimaryCtxRetain(&contexts[k], k));
        CHECK(cuMulticastAddDevice(object, k));
        CHECK(cuMemCreate(&memory[k], SIZE, &p, 0));
        memory_at[k] = map(memory[k], SIZE);
        access_by(memory_at[k], SIZE, k, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
}

static void bind_all(void)
{
    CHECK(cuMulticastBindMem(object, 0, memory[0], 0, SIZE, 0));
    CHECK(cuMulticastBindAddr(object, 0, memory_at[1], SIZE, 0));
    CHECK(cuMulticastBindMem(object, 0, memory[2], HALF, HALF, 0)); /* its halves change places */
    object_at = map(object, SIZE);
    for (int k = 0; k < TEAM; k++) access_by(object_at, SIZE, k, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMulticastBindMem(object, HALF, memory[2], 0, HALF, 0));
}

/* Where a member keeps what is at offset of the object. */
static CUdeviceptr place(int member, size_t offset)
{
    return memory_at[member] + (member == 2 ? (offset + HALF) % SIZE : offset);
}

static void put(int member, size_t offset, const void *p, size_t size)
{
    on(member);
    CHECK(cuMemcpyHtoD(place(member, offset), p, size));
}

static void get(int member, size_t offset, void *p, size_t size)
{
    on(member);
    CHECK(cuMemcpyDtoH(p, place(member, offset), size));
}

/* ---- the instructions */

/* The type's operations: "+" add, "<" min and max, "&" and, or, xor; loads and reductions apart. */
struct form {
    const char *type, *load, *reduce;
    unsigned bytes;   /* of an element that is operated on */
    unsigned width;   /* of the type */
    unsigned vectors; /* bit n: .vn is a form */
};
static const struct form forms[] = {
    { "u32", "+<", "+<", 4, 4, 2 },
    { "s32", "+<", "+<", 4, 4, 2 },
    { "u64", "+<", "+<", 8, 8, 2 },
    { "s64", "<", "<", 8, 8, 2 },
    { "b32", "&", "&", 4, 4, 2 },
    { "b64", "&", "&", 8, 8, 2 },
    { "f32", "+", "+", 4, 4, 2 | 4 | 16 },
    { "f64", "+", "+", 8, 8, 2 },
    { "f16", "+<", "+", 2, 2, 4 | 16 | 256 },
    { "f16x2", "+<", "+", 2, 4, 2 | 4 | 16 },
    { "bf16", "+<", "+", 2, 2, 4 | 16 | 256 },
    { "bf16x2", "+<", "+", 2, 4, 2 | 4 | 16 },
};

static double decode(const char *type, uint64_t v)
{
    float f;
    double d;
    uint32_t bits = type[0] == 'b' && type[1] == 'f' ? (uint32_t)v << 16 : (uint32_t)v;
    if (!strcmp(type, "f64")) return memcpy(&d, &v, 8), d;
    if (!strncmp(type, "f16", 3))
        return (double)({
            _Float16 h;
            uint16_t b = (uint16_t)v;
            memcpy(&h, &b, 2);
            h;
        });
    memcpy(&f, &bits, 4);
    return (double)f;
}

static uint64_t encode(const char *type, double x)
{
    float f = (float)x;
    uint64_t v = 0;
    if (!strcmp(type, "f64")) return memcpy(&v, &x, 8), v;
    if (!strncmp(type, "f16", 3))
        return ({
            _Float16 h = (_Float16)f;
            uint16_t b;
            memcpy(&b, &h, 2);
            b;
        });
    memcpy(&v, &f, 4);
    if (strncmp(type, "bf16", 4)) return v;
    return (v + 0x7fff + (v >> 16 & 1)) >> 16;
}

static bool is_float(const char *type) { return type[0] == 'f' || !strncmp(type, "bf", 2); }

static uint64_t combine(const char *type, const char *op, uint64_t a, uint64_t b)
{
    if (is_float(type)) {
        double x = decode(type, a), y = decode(type, b);
        return encode(type, !strcmp(op, "add") ? x + y : !strcmp(op, "min") == (x < y) ? x : y);
    }
    bool small = type[0] == 's' ? (type[1] == '3' ? (int32_t)a < (int32_t)b : (int64_t)a < (int64_t)b) : a < b;
    if (!strcmp(op, "add")) return a + b;
    if (!strcmp(op, "min")) return small ? a : b;
    if (!strcmp(op, "max")) return small ? b : a;
    return !strcmp(op, "and") ? a & b : !strcmp(op, "or") ? a | b : a ^ b;
}

static uint64_t element(const void *p, unsigned k, unsigned bytes)
{
    uint64_t v = 0;
    memcpy(&v, (const char *)p + k * bytes, bytes);
    return v;
}

/* Numbers whose sums are exact, but for the one that shows which precision sums have. */
static void make_up(const struct form *f, int member, void *out)
{
    for (unsigned k = 0; k < 16 / f->bytes; k++) {
        double x = (double)(int)random_below(64) - 32;
        if (k == 0 && f->bytes == 2) x = member ? 1 : f->type[0] == 'b' ? 256 : 2048;
        uint64_t v = is_float(f->type) ? encode(f->type, x)
                                       : (uint64_t)random_below(1u << 31) * 0x100000001ull * (1 + random_below(7));
        memcpy((char *)out + k * f->bytes, &v, f->bytes);
    }
}

/* "{ %r0, %r1 }" or "%r0"; declares the registers too. */
static void registers(const struct form *f, unsigned vector, char *declare, char *list)
{
    const char *type = f->width == 2 ? "b16" : f->width == 4 ? "b32" : "b64";
    sprintf(declare, ".reg .%s %%r<%u>;", type, vector);
    char *at = list + sprintf(list, vector > 1 ? "{" : "");
    for (unsigned k = 0; k < vector; k++) at += sprintf(at, "%s%%r%u", k ? "," : "", k);
    if (vector > 1) sprintf(at, "}");
}

/* Runs one instruction at offset of the object: in holds its operand, out takes its result. */
static void run(int device, const struct form *f, const char *instruction, unsigned vector, size_t offset, void *inout)
{
    char ptx[8192], declare[64], list[128], plain[2048], *at = plain;
    CUmodule m;
    CUfunction fn;
    CUdeviceptr buffer, address = object_at + offset;
    bool load = !strncmp(instruction, "ld_reduce", 9);
    const char *word = f->width == 2 ? "b16" : f->width == 4 ? "b32" : "b64";
    registers(f, vector, declare, list);
    for (unsigned k = 0; k < vector; k++)
        at += load ? sprintf(at, "st.global.%s [%%a1+%u], %%r%u;\n", word, k * f->width, k)
                   : sprintf(at, "ld.global.%s %%r%u, [%%a1+%u];\n", word, k, k * f->width);
    snprintf(ptx, sizeof ptx,
             ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry one(.param .u64 p, .param .u64 q)\n{\n"
             ".reg .b64 %%a<2>; %s\nld.param.u64 %%a0, [p]; ld.param.u64 %%a1, [q];\n%smultimem.%s %s%s;\n%sret;\n}\n",
             declare, load ? "" : plain, instruction, load ? list : "[%a0], ", load ? ", [%a0]" : list,
             load ? plain : "");
    on(device);
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&fn, m, "one"));
    CHECK(cuMemAlloc(&buffer, 16));
    CHECK(cuMemcpyHtoD(buffer, inout, 16));
    CHECK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &address, &buffer }, NULL));
    CHECK(cuMemcpyDtoH(inout, buffer, 16));
    CHECK(cuMemFree(buffer));
    CHECK(cuModuleUnload(m));
}

static void differ(const char *instruction, int device, const void *saw, const void *wanted)
{
    const uint32_t *s = saw, *w = wanted;
    fprintf(stderr, "multimem.%s on device %d: saw %08x %08x %08x %08x, wanted %08x %08x %08x %08x\n", instruction,
            device, s[0], s[1], s[2], s[3], w[0], w[1], w[2], w[3]);
    failures++;
}

static void try_load(const struct form *f, const char *op, unsigned vector, const char *precision, int device)
{
    uint64_t in[TEAM][2], out[2] = { 0 }, wanted[2] = { 0 };
    size_t offset = random_below(SIZE / 16) * 16ul;
    char name[96], v[16] = "";
    unsigned bytes = f->width * vector;
    if (vector > 1) sprintf(v, ".v%u", vector);
    sprintf(name, "ld_reduce.relaxed.sys.global.%s%s%s.%s", op, precision, v, f->type);
    for (int k = 0; k < TEAM; k++) make_up(f, k, in[k]), put(k, offset, in[k], 16);
    for (unsigned k = 0; k < bytes / f->bytes; k++) {
        uint64_t sum = element(in[0], k, f->bytes);
        for (int m = 1; m < TEAM; m++) sum = combine(f->type, op, sum, element(in[m], k, f->bytes));
        if (*precision && strstr(precision, "f32"))
            sum = encode(f->type, decode(f->type, element(in[0], k, 2)) + decode(f->type, element(in[1], k, 2)) +
                                      decode(f->type, element(in[2], k, 2)));
        memcpy((char *)wanted + k * f->bytes, &sum, f->bytes);
    }
    run(device, f, name, vector, offset, out);
    if (memcmp(out, wanted, bytes)) differ(name, device, out, wanted);
}

static void try_write(const struct form *f, const char *op, unsigned vector, int device)
{
    uint64_t operand[2], in[TEAM][2], out[2];
    size_t offset = random_below(SIZE / 16) * 16ul;
    char name[96], v[16] = "";
    unsigned bytes = f->width * vector;
    if (vector > 1) sprintf(v, ".v%u", vector);
    sprintf(name, op ? "red.release.gpu.global.%s%s.%s" : "st.weak%s%s.%s", op ? op : "", v, f->type);
    make_up(f, 0, operand);
    for (int k = 0; k < TEAM; k++) make_up(f, 1, in[k]), put(k, offset, in[k], 16);
    memcpy(out, operand, 16);
    run(device, f, name, vector, offset, out);
    for (int m = 0; m < TEAM; m++) {
        for (unsigned k = 0; k < bytes / f->bytes; k++) {
            uint64_t sum = element(operand, k, f->bytes);
            if (op) sum = combine(f->type, op, element(in[m], k, f->bytes), sum);
            memcpy((char *)in[m] + k * f->bytes, &sum, f->bytes);
        }
        get(m, offset, out, 16);
        if (memcmp(out, in[m], 16)) differ(name, m, out, in[m]);
    }
}

static void instructions(void)
{
    static const char *const ops[][3] = { { "add", 0, 0 }, { "min", "max", 0 }, { "and", "or", "xor" } };
    for (size_t n = 0; n < sizeof forms / sizeof *forms; n++) {
        const struct form *f = &forms[n];
        for (unsigned vector = 1; vector <= 8; vector *= 2) {
            if (!(f->vectors >> vector & 1)) continue;
            int device = (int)random_below(TEAM);
            try_write(f, NULL, vector, device);
            for (int group = 0; group < 3; group++)
                for (int k = 0; k < 3 && ops[group][k]; k++) {
                    if (strchr(f->load, "+<&"[group])) try_load(f, ops[group][k], vector, "", device);
                    if (strchr(f->load, "+<&"[group]) && f->bytes == 2 && !group)
                        try_load(f, "add", vector, ".acc::f32", device);
                    if (strchr(f->reduce, "+<&"[group])) try_write(f, ops[group][k], vector, device);
                }
        }
    }
}

static void wrong_forms(void)
{
    static const char *const wrong[] = {
        "red.relaxed.sys.global.add.v2.u32 [%a], {%r, %r}",
        "red.relaxed.sys.global.add.f16 [%a], %h",
        "red.relaxed.sys.global.add.v2.f64 [%a], {%d, %d}",
        "red.relaxed.sys.global.min.f16x2 [%a], %r",
        "red.relaxed.sys.global.add.b32 [%a], %r",
        "red.relaxed.sys.global.add.s64 [%a], %l",
        "red.relaxed.sys.global.xor.u32 [%a], %r",
        "red.relaxed.sys.global.u32 [%a], %r",
        "ld_reduce.relaxed.sys.global.min.f32 %f, [%a]",
        "ld_reduce.relaxed.sys.global.add.acc::f32.f32 %f, [%a]",
        "ld_reduce.relaxed.sys.global.add.v4.f64 {%d, %d, %d, %d}, [%a]",
        "st.relaxed.sys.global.v8.f32 [%a], {%f, %f, %f, %f, %f, %f, %f, %f}",
        "ld_reduce.relaxed.sys.global.add.v2.f32 %f, [%a]",
        "st.relaxed.sys.global.v2.f32 [%a], %f",
    };
    char ptx[1024];
    CUmodule m;
    on(0);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        snprintf(
            ptx, sizeof ptx,
            ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry one(.param .u64 p)\n{\n"
            ".reg .b64 %%a, %%l; .reg .b32 %%r; .reg .b16 %%h; .reg .f32 %%f; .reg .f64 %%d;\nld.param.u64 %%a, [p];\n"
            "multimem.%s;\nret;\n}\n",
            wrong[k]);
        CUresult r = cuModuleLoadData(&m, ptx);
        if (r == CUDA_ERROR_INVALID_PTX) continue;
        fprintf(stderr, "multimem.%s: %d\n", wrong[k], r);
        failures++;
    }
}

/* ---- ordinary stores */

static const char stores_ptx[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n"
    ".visible .entry fill(.param .u64 p, .param .u32 n)\n{\n"
    ".reg .pred %q; .reg .b32 %r<6>; .reg .b64 %a<3>;\n"
    "ld.param.u64 %a0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r4, %r1, %r2, %r3; setp.ge.u32 %q, %r4, %r0; @%q bra END;\n"
    "mul.wide.u32 %a1, %r4, 4; add.u64 %a1, %a0, %a1; mul.lo.u32 %r5, %r4, 2654435761; st.global.u32 [%a1], %r5;\nEND: "
    "ret;\n}\n"
    ".visible .entry sizes(.param .u64 p)\n{\n.reg .b64 %a<2>; .reg .b32 %r<4>; .reg .b16 %h; .reg .f64 %d;\n"
    "ld.param.u64 %a0, [p]; mov.u16 %h, 0x1234; mov.b32 %r0, 0x01020304; mov.b32 %r1, -1; mov.b32 %r2, 0; mov.b32 %r3, "
    "7;\n"
    "st.global.u8 [%a0+1], %r0; st.global.u16 [%a0+2], %h; st.global.v4.u32 [%a0+16], {%r0, %r1, %r2, %r3};\n"
    "mov.b64 %a1, {%r0, %r1}; st.global.u64 [%a0+8], %a1; st.volatile.global.u32 [%a0+4], %r1;\n"
    "mov.f64 %d, 0d3ff8000000000000; st.global.f64 [%a0+32], %d; ret;\n}\n";

static void ordinary_stores(void)
{
    static uint32_t out[50000], wanted[50000];
    CUmodule m;
    CUfunction fill, sizes;
    CUdeviceptr at = object_at + 4096 + 4;
    unsigned n = 50000;
    on(2);
    CHECK(cuModuleLoadData(&m, stores_ptx));
    CHECK(cuModuleGetFunction(&fill, m, "fill"));
    CHECK(cuModuleGetFunction(&sizes, m, "sizes"));
    CHECK(cuLaunchKernel(fill, (n + 127) / 128, 1, 1, 128, 1, 1, 0, 0, (void *[]){ &at, &n }, NULL));
    CHECK(cuCtxSynchronize());
    for (unsigned k = 0; k < n; k++) wanted[k] = k * 2654435761u;
    for (int k = 0; k < TEAM; k++) {
        get(k, 4096 + 4, out, sizeof out);
        NEED(!memcmp(out, wanted, sizeof out));
    }
    static const uint32_t before[10] = { 0xabababab, 0xabababab, 0, 0, 0, 0, 0, 0, 0, 0 };
    static const uint32_t after[10] = { 0x123404ab, 0xffffffff, 0x01020304, 0xffffffff, 0x01020304,
                                        0xffffffff, 0,          7,          0,          0x3ff80000 };
    for (int k = 0; k < TEAM; k++) put(k, HALF + 64, before, sizeof before);
    at = object_at + HALF + 64;
    on(1);
    CHECK(cuModuleLoadData(&m, stores_ptx));
    CHECK(cuModuleGetFunction(&sizes, m, "sizes"));
    CHECK(cuLaunchKernel(sizes, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &at }, NULL));
    CHECK(cuCtxSynchronize());
    for (int k = 0; k < TEAM; k++) {
        get(k, HALF + 64, out, sizeof after);
        if (memcmp(out, after, sizeof after)) differ("st", k, out, after);
    }
}

/* ---- the rest */

static void copies(void)
{
    static unsigned char in[3 * MIB], out[3 * MIB];
    for (size_t k = 0; k < sizeof in; k++) in[k] = (unsigned char)(k * 7 + k / 256);
    on(1);
    CHECK(cuMemcpyHtoD(object_at + MIB / 2, in, sizeof in)); /* across the member whose halves lie apart */
    for (int k = 0; k < TEAM; k++)
        for (size_t o = 0; o < sizeof in; o += MIB / 2) {
            get(k, MIB / 2 + o, out, MIB / 2);
            NEED(!memcmp(out, in + o, MIB / 2));
        }
    CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = in,
                           .srcPitch = 100,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = object_at,
                           .dstPitch = 128,
                           .WidthInBytes = 100,
                           .Height = 50 };
    CHECK(cuMemcpy2D(&rows));
    CHECK(cuMemsetD2D8(object_at + 8192, 256, 0x77, 10, 20));
    for (int k = 0; k < TEAM; k++) {
        get(k, 0, out, 16384);
        for (size_t y = 0; y < 50; y++) NEED(!memcmp(out + y * 128, in + y * 100, 100));
        for (size_t y = 0; y < 20; y++) NEED(out[8192 + y * 256] == 0x77 && out[8192 + y * 256 + 9] == 0x77);
    }
    on(2);
    CHECK(cuMemsetD32(object_at + 64, 0x01020304, 1000));
    for (int k = 0; k < TEAM; k++) {
        get(k, 64, out, 4000);
        for (size_t o = 0; o < 4000; o += 4) NEED(!memcmp(out + o, "\4\3\2\1", 4));
    }
    ANSWERS(cuMemcpyDtoH(out, object_at, 16), CUDA_ERROR_INVALID_VALUE); /* whose bytes should that be? */
}

static void wrong_arguments(void)
{
    const CUmulticastObjectProp good = { .numDevices = TEAM, .size = SIZE };
    CUmulticastObjectProp p;
    CUmemGenericAllocationHandle h;
    size_t g;
    CHECK(cuMulticastGetGranularity(&g, &good, CU_MULTICAST_GRANULARITY_MINIMUM));
    NEED(g && SIZE % g == 0);
#define BAD(change) \
    do { \
        p = good; \
        change; \
        ANSWERS(cuMulticastCreate(&h, &p), CUDA_ERROR_INVALID_VALUE); \
    } while (0)
    BAD(p.numDevices = 0);
    BAD(p.numDevices = TEAM + 1);
    BAD(p.size = 0);
    BAD(p.size = g / 2);
    BAD(p.flags = 1);
    ANSWERS(cuMulticastCreate(NULL, &good), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastAddDevice(object, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastAddDevice(object, TEAM), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(cuMulticastAddDevice(memory[0], 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, 0, memory[0], 0, SIZE, 1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, 0, memory[0], 0, SIZE + g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, g / 2, memory[0], 0, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, SIZE, memory[0], 0, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(object, 0, object, 0, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindMem(memory[0], 0, memory[1], 0, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastBindAddr(object, 0, memory_at[0] + HALF, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastUnbind(object, 0, 0, g), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMulticastBindMem(object, 0, memory[0], 0, g, 0));
    ANSWERS(cuMulticastBindMem(object, 0, memory[0], g, g, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMulticastUnbind(object, 1, 0, g), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMulticastUnbind(object, 0, 0, g));
}

/* Memory lives while it is bound, the object while it is mapped; then all of it is given back. */
static void lifetimes(void)
{
    size_t before = 0;
    for (int round = 0; round < 2; round++) {
        if (round) set_up();
        bind_all();
        for (int k = 0; k < TEAM; k++) {
            CHECK(cuMemUnmap(memory_at[k], SIZE));
            CHECK(cuMemRelease(memory[k]));
        }
        CHECK(cuMemRelease(object));
        on(0);
        uint32_t one = 1;
        CUdeviceptr sum = object_at;
        CHECK(cuMemcpyHtoD(sum, &one, 4));
        CHECK(cuMemUnmap(object_at, SIZE));
        if (!round) before = free_memory();
    }
    NEED(free_memory() == before);
}

static const struct form word = { "u32", "+", "+", 4, 4, 2 };

static void stream_ordered_memory(void)
{
    CUdeviceptr p;
    uint32_t v[4] = { 5 }, seen;
    on(0);
    CHECK(cuMemAllocAsync(&p, SIZE + 2 * MIB, NULL));
    CHECK(cuStreamSynchronize(NULL));
    CUdeviceptr at = (p + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    ANSWERS(cuMulticastBindAddr(object, 0, at, SIZE + 4 * MIB, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMulticastBindAddr(object, 0, at, SIZE, 0));
    for (int k = 1; k < TEAM; k++) CHECK(cuMulticastBindMem(object, 0, memory[k], 0, SIZE, 0));
    object_at = map(object, SIZE);
    access_by(object_at, SIZE, 1, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    run(1, &word, "st.relaxed.sys.global.u32", 1, MIB, v);
    on(0);
    CHECK(cuMemcpyDtoH(&seen, at + MIB, 4));
    NEED(seen == 5);
    CHECK(cuMulticastUnbind(object, 0, 0, SIZE));
    CHECK(cuMemFreeAsync(p, NULL));
    CHECK(cuStreamSynchronize(NULL));
}

static void unbound_faults(void)
{
    uint32_t v[4] = { 0 };
    CUmodule m;
    CUfunction fn;
    CUdeviceptr p = object_at;
    static const char ptx[] =
        ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry one(.param .u64 p)\n{\n.reg .b64 %a; .reg .b32 "
        "%r;\n"
        "ld.param.u64 %a, [p]; mov.u32 %r, 1; multimem.red.relaxed.sys.global.add.u32 [%a], %r;\nret;\n}\n";
    run(0, &word, "ld_reduce.relaxed.sys.global.add.u32", 1, 0, v);
    CHECK(cuMulticastUnbind(object, 1, 0, SIZE));
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&fn, m, "one"));
    CHECK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &p }, NULL));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void ordinary_load_faults(void)
{
    static struct device d;
    device_open(&d, 1);
    const struct tagged t = { object_at, 4, 1 };
    CHECK(cuMemcpyHtoD(d.list, &t, sizeof t));
    CHECK(cuLaunchKernel(d.tags, 1, 1, 1, 1, 1, 1, 0, 0,
                         (void *[]){ &d.list, &(unsigned){ 1 }, &d.wrong, &(unsigned){ 0 } }, NULL));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void read_only_faults(void)
{
    uint32_t v[4] = { 0 };
    CUmodule m;
    CUfunction fn;
    CUdeviceptr p = object_at;
    static const char ptx[] =
        ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry one(.param .u64 p)\n{\n.reg .b64 %a; .reg .b32 "
        "%r;\n"
        "ld.param.u64 %a, [p]; mov.u32 %r, 1; multimem.st.relaxed.sys.global.u32 [%a], %r;\nret;\n}\n";
    access_by(object_at, SIZE, 0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    run(0, &word, "ld_reduce.relaxed.sys.global.add.u32", 1, 0, v);
    ANSWERS(cuMemsetD8(object_at, 0, 16), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuModuleLoadData(&m, ptx));
    CHECK(cuModuleGetFunction(&fn, m, "one"));
    CHECK(cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){ &p }, NULL));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- two processes */

static void hand_over(int socket, int descriptor)
{
    char byte = 0;
    struct iovec part = { &byte, 1 };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } data = { .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) } };
    memcpy(CMSG_DATA(&data.header), &descriptor, sizeof descriptor);
    NEED(sendmsg(
             socket,
             &(struct msghdr){ .msg_iov = &part, .msg_iovlen = 1, .msg_control = &data, .msg_controllen = sizeof data },
             0) == 1);
}

static int take_over(int socket)
{
    char byte;
    int descriptor;
    struct iovec part = { &byte, 1 };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } data;
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &data, .msg_controllen = sizeof data };
    NEED(recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof descriptor);
    return descriptor;
}

/* Both have come here. */
static void meet(int socket)
{
    char byte = 1;
    NEED(write(socket, &byte, 1) == 1 && read(socket, &byte, 1) == 1);
}

/* What each rank of a job does: its device joins, its memory is bound, it adds up what all have. */
static void rank(int me, int socket)
{
    const CUmulticastObjectProp prop = { .numDevices = 2,
                                         .size = SIZE,
                                         .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR };
    const CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = { CU_MEM_LOCATION_TYPE_DEVICE, me } };
    static const struct form word = { "u32", "+", "+", 4, 4, 2 };
    uint32_t v[4];
    int descriptor;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&contexts[me], me));
    on(me);
    if (me == 0) {
        CHECK(cuMulticastCreate(&object, &prop));
        CHECK(cuMemExportToShareableHandle(&descriptor, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        hand_over(socket, descriptor);
    } else {
        descriptor = take_over(socket);
        CHECK(cuMemImportFromShareableHandle(&object, (void *)(long)descriptor,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        usleep(50000); /* the other waits for the team */
    }
    close(descriptor);
    CHECK(cuMulticastAddDevice(object, me));
    CHECK(cuMemCreate(&memory[me], SIZE, &p, 0));
    memory_at[me] = map(memory[me], SIZE);
    access_by(memory_at[me], SIZE, me, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    object_at = map(object, SIZE);
    access_by(object_at, SIZE, me, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMulticastBindMem(object, 0, memory[me], 0, SIZE, 0));
    for (uint32_t round = 0; round < 20; round++) {
        v[0] = 1000 * (uint32_t)me + round;
        put(me, 64, v, 4);
        meet(socket);
        run(me, &word, "ld_reduce.relaxed.sys.global.add.u32", 1, 64, v);
        NEED(v[0] == 1000 + 2 * round);
        v[0] = 7;
        run(me, &word, "red.relaxed.sys.global.add.u32", 1, 128, v);
        meet(socket);
        get(me, 128, v, 4);
        NEED(v[0] == 14 * (round + 1));
        meet(socket);
    }
    CHECK(cuMemsetD32(object_at + 4096u * (unsigned)me + 4096, 0x5a5a0000u + (unsigned)me, 1024));
    meet(socket);
    for (uint32_t other = 0; other < 2; other++) {
        get(me, 4096 * other + 4096 + 400, v, 4);
        NEED(v[0] == 0x5a5a0000u + other);
    }
    meet(socket);
    if (me == 1) kill(getpid(), SIGKILL);
}

static void two_processes(void)
{
    int sockets[2], status;
    NEED(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
    pid_t child = fork();
    if (!child) rank(1, sockets[1]);
    close(sockets[1]);
    rank(0, sockets[0]);
    NEED(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    /* what it had bound is still there; nothing of ours is lost */
    uint32_t v[4] = { 0 };
    CHECK(cuMemsetD32(object_at, 9, 4));
    get(0, 0, v, 4);
    NEED(v[0] == 9);
    CHECK(cuMulticastUnbind(object, 0, 0, SIZE));
    CHECK(cuMemUnmap(object_at, SIZE));
    CHECK(cuMemRelease(object));
}

static const struct {
    const char *name;
    void (*test)(void);
    bool alone; /* makes what it needs itself */
    bool bound;
} tests[] = {
    { "multimem computes what the CPU computes", instructions, false, true },
    { "wrong forms of multimem are refused", wrong_forms, false, false },
    { "ordinary stores reach every member", ordinary_stores, false, true },
    { "copies and memsets reach every member", copies, false, true },
    { "wrong arguments are refused", wrong_arguments, false, false },
    { "memory lives while it is bound", lifetimes, false, false },
    { "memory of a stream's pool can be bound", stream_ordered_memory, false, false },
    { "an address that one member lacks faults", unbound_faults, false, true },
    { "an ordinary load from a multicast address faults", ordinary_load_faults, false, true },
    { "a store where only loads are permitted faults", read_only_faults, false, true },
    { "two processes add up what both have", two_processes, true, false },
};

int main(void)
{
    int bad = 0, status;
    for (size_t k = 0; k < sizeof tests / sizeof *tests; k++) {
        pid_t child = fork();
        if (!child) {
            if (!tests[k].alone) set_up();
            if (tests[k].bound) bind_all();
            tests[k].test();
            exit(failures != 0);
        }
        bool good = waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
        printf("%s: %s\n", good ? "right" : "WRONG", tests[k].name);
        fflush(stdout);
        bad += !good;
    }
    return bad != 0;
}
