/* The multimem instructions on a multicast object of three devices: every form
 * of them against the CPU, and forms that do not exist are refused.
 * usage: FAULTLINE_PROFILE=h200-nvswitch FAULTLINE_DEVICES=3 multimem */
#include "multicast_rig.h"

enum number { UNSIGNED, SIGNED, BITS, FLOAT, BFLOAT };
/* Groups of operations; a type has all of a group or none. */
enum { ADD = 1, MIN_MAX = 2, AND_OR_XOR = 4 };

struct form {
    const char *type;
    enum number number;
    unsigned bytes;             /* of one number */
    unsigned width;             /* of the type in bytes: f16x2 is two numbers */
    unsigned loads, reductions; /* the operations that ld_reduce and red have */
    unsigned lengths;           /* of vectors, added up; 1: no vector */
};
static const struct form forms[] = {
    { "u32", UNSIGNED, 4, 4, ADD | MIN_MAX, ADD | MIN_MAX, 1 },
    { "s32", SIGNED, 4, 4, ADD | MIN_MAX, ADD | MIN_MAX, 1 },
    { "u64", UNSIGNED, 8, 8, ADD | MIN_MAX, ADD | MIN_MAX, 1 },
    { "s64", SIGNED, 8, 8, MIN_MAX, MIN_MAX, 1 },
    { "b32", BITS, 4, 4, AND_OR_XOR, AND_OR_XOR, 1 },
    { "b64", BITS, 8, 8, AND_OR_XOR, AND_OR_XOR, 1 },
    { "f32", FLOAT, 4, 4, ADD, ADD, 1 + 2 + 4 },
    { "f64", FLOAT, 8, 8, ADD, ADD, 1 },
    { "f16", FLOAT, 2, 2, ADD | MIN_MAX, ADD, 2 + 4 + 8 },
    { "bf16", BFLOAT, 2, 2, ADD | MIN_MAX, ADD, 2 + 4 + 8 },
    { "f16x2", FLOAT, 2, 4, ADD | MIN_MAX, ADD, 1 + 2 + 4 },
    { "bf16x2", BFLOAT, 2, 4, ADD | MIN_MAX, ADD, 1 + 2 + 4 },
};
static const struct operation {
    const char *name;
    unsigned group;
} operations[] = { { "add", ADD },        { "min", MIN_MAX },   { "max", MIN_MAX },
                   { "and", AND_OR_XOR }, { "or", AND_OR_XOR }, { "xor", AND_OR_XOR } };

/* What an instruction takes or gives: 16 bytes at most. */
struct operand {
    unsigned char byte[16];
};

static int wrong_results;

static void expect_operand(const char *instruction, int device, const struct operand *saw, const struct operand *wanted,
                           unsigned size)
{
    uint32_t s[4], w[4];
    if (!memcmp(saw, wanted, size)) return;
    memcpy(s, saw, 16);
    memcpy(w, wanted, 16);
    printf("multimem.%s, device %d: saw %08x %08x %08x %08x, wanted %08x %08x %08x %08x\n", instruction, device, s[0],
           s[1], s[2], s[3], w[0], w[1], w[2], w[3]);
    wrong_results++;
}

/* ---- numbers */

static bool is_float(const struct form *f) { return f->number == FLOAT || f->number == BFLOAT; }

static double decode(const struct form *f, uint64_t bits)
{
    double d;
    float single;
    _Float16 half;
    if (f->bytes == 8) {
        memcpy(&d, &bits, 8);
        return d;
    }
    if (f->bytes == 2 && f->number == FLOAT) {
        memcpy(&half, &bits, 2);
        return (double)half;
    }
    if (f->number == BFLOAT) bits <<= 16;
    memcpy(&single, &bits, 4);
    return (double)single;
}

static uint64_t encode(const struct form *f, double x)
{
    uint64_t bits = 0;
    float single = (float)x;
    _Float16 half = (_Float16)single;
    if (f->bytes == 8) {
        memcpy(&bits, &x, 8);
        return bits;
    }
    if (f->bytes == 2 && f->number == FLOAT) {
        memcpy(&bits, &half, 2);
        return bits;
    }
    memcpy(&bits, &single, 4);
    /* to the nearest bfloat16, to the even one of two */
    return f->number == BFLOAT ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : bits;
}

static bool less(const struct form *f, uint64_t a, uint64_t b)
{
    if (is_float(f)) return decode(f, a) < decode(f, b);
    if (f->number != SIGNED) return a < b;
    return f->bytes == 4 ? (int32_t)a < (int32_t)b : (int64_t)a < (int64_t)b;
}

static uint64_t combine(const struct form *f, const char *operation, uint64_t a, uint64_t b)
{
    if (!strcmp(operation, "add")) return is_float(f) ? encode(f, decode(f, a) + decode(f, b)) : a + b;
    if (!strcmp(operation, "min")) return less(f, a, b) ? a : b;
    if (!strcmp(operation, "max")) return less(f, a, b) ? b : a;
    if (!strcmp(operation, "and")) return a & b;
    if (!strcmp(operation, "or")) return a | b;
    return a ^ b;
}

static uint64_t get_number(const struct form *f, const struct operand *o, unsigned k)
{
    uint64_t v = 0;
    memcpy(&v, o->byte + k * f->bytes, f->bytes);
    return v;
}

static void set_number(const struct form *f, struct operand *o, unsigned k, uint64_t v)
{
    memcpy(o->byte + k * f->bytes, &v, f->bytes);
}

/* Small numbers, whose sums are exact; but the first of halves shows in which precision sums are made: the
 * members' 2048 + 1 + 1 is 2048 where each sum is rounded. */
static struct operand make_up(const struct form *f, int member)
{
    struct operand o;
    for (unsigned k = 0; k < sizeof o / f->bytes; k++) {
        double x = (double)(int)draw(64) - 32;
        if (k == 0 && f->bytes == 2) x = member ? 1 : f->number == BFLOAT ? 256 : 2048;
        uint64_t any = (uint64_t)draw(1u << 31) * 0x100000001ull * (1 + draw(7));
        set_number(f, &o, k, is_float(f) ? encode(f, x) : any);
    }
    return o;
}

/* ---- kernels of one instruction */

/* "{%r0,%r1}", or "%r0". */
static void list_registers(unsigned length, char *out)
{
    if (length > 1) *out++ = '{';
    for (unsigned k = 0; k < length; k++) out += sprintf(out, "%s%%r%u", k ? "," : "", k);
    if (length > 1) sprintf(out, "}");
}

/* A device executes it once, at offset of the object, with o as its operand, or for its result. */
static void execute(int device, const struct form *f, const char *instruction, unsigned length, size_t offset,
                    struct operand *o)
{
    const char *word = f->width == 2 ? "b16" : f->width == 4 ? "b32" : "b64";
    bool load = !strncmp(instruction, "ld_reduce", 9);
    char list[128], ptx[4096], *at = ptx;
    CUdeviceptr buffer;
    list_registers(length, list);
    at += sprintf(at,
                  MULTIMEM_KERNEL_BEGIN ".reg .b64 %%a<2>; .reg .%s %%r<%u>;\n"
                                        "ld.param.u64 %%a0, [object]; ld.param.u64 %%a1, [other];\n",
                  word, length);
    for (unsigned k = 0; k < length && !load; k++)
        at += sprintf(at, "ld.global.%s %%r%u, [%%a1+%u];\n", word, k, k * f->width);
    at += load ? sprintf(at, "multimem.%s %s, [%%a0];\n", instruction, list)
               : sprintf(at, "multimem.%s [%%a0], %s;\n", instruction, list);
    for (unsigned k = 0; k < length && load; k++)
        at += sprintf(at, "st.global.%s [%%a1+%u], %%r%u;\n", word, k * f->width, k);
    sprintf(at, "ret;\n}\n");

    on(device);
    CHECK(cuMemAlloc(&buffer, sizeof *o));
    CHECK(cuMemcpyHtoD(buffer, o, sizeof *o));
    CHECK(run_one(ptx, object_at + offset, buffer));
    CHECK(cuMemcpyDtoH(o, buffer, sizeof *o));
    CHECK(cuMemFree(buffer));
}

/* ".v2.f32" */
static const char *typed(const struct form *f, unsigned length)
{
    static char out[32];
    if (length > 1)
        snprintf(out, sizeof out, ".v%u.%s", length, f->type);
    else
        snprintf(out, sizeof out, ".%s", f->type);
    return out;
}

static size_t random_offset(void) { return draw(SIZE / sizeof(struct operand)) * sizeof(struct operand); }

static void put_all(const struct form *f, size_t offset, struct operand *members)
{
    for (int k = 0; k < TEAM; k++) {
        members[k] = make_up(f, k);
        put(k, offset, &members[k], sizeof *members);
    }
}

/* wide: sums of halves are made in single precision and rounded at the end. */
static void try_load(const struct form *f, const char *operation, unsigned length, bool wide)
{
    struct operand members[TEAM], saw = { { 0 } }, wanted;
    size_t offset = random_offset();
    int device = (int)draw(TEAM);
    char name[96];
    snprintf(name, sizeof name, "ld_reduce.relaxed.sys.global.%s%s%s", operation, wide ? ".acc::f32" : "",
             typed(f, length));
    put_all(f, offset, members);
    for (unsigned k = 0; k < f->width * length / f->bytes; k++) {
        uint64_t result = get_number(f, &members[0], k);
        double sum = decode(f, result);
        for (int m = 1; m < TEAM; m++) {
            uint64_t next = get_number(f, &members[m], k);
            result = combine(f, operation, result, next);
            sum += decode(f, next);
        }
        set_number(f, &wanted, k, wide ? encode(f, sum) : result);
    }
    execute(device, f, name, length, offset, &saw);
    expect_operand(name, device, &saw, &wanted, f->width * length);
}

/* operation NULL: a store. */
static void try_write(const struct form *f, const char *operation, unsigned length)
{
    struct operand members[TEAM], saw, operand = make_up(f, 0);
    size_t offset = random_offset();
    char name[96];
    if (operation)
        snprintf(name, sizeof name, "red.release.gpu.global.%s%s", operation, typed(f, length));
    else
        snprintf(name, sizeof name, "st.weak%s", typed(f, length));
    put_all(f, offset, members);
    execute((int)draw(TEAM), f, name, length, offset, &operand);
    for (int m = 0; m < TEAM; m++) {
        for (unsigned k = 0; k < f->width * length / f->bytes; k++) {
            uint64_t v = get_number(f, &operand, k);
            if (operation) v = combine(f, operation, get_number(f, &members[m], k), v);
            set_number(f, &members[m], k, v);
        }
        get(m, offset, &saw, sizeof saw);
        expect_operand(name, m, &saw, &members[m], sizeof saw);
    }
}

static void try_form(const struct form *f, unsigned length)
{
    try_write(f, NULL, length);
    for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
        const struct operation *op = &operations[k];
        if (f->loads & op->group) try_load(f, op->name, length, false);
        if (f->loads & op->group & ADD && f->bytes == 2) try_load(f, op->name, length, true);
        if (f->reductions & op->group) try_write(f, op->name, length);
    }
}

static void multimem_computes_what_the_cpu_computes(void)
{
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        for (unsigned length = 1; length <= 8; length *= 2)
            if (forms[k].lengths & length) try_form(&forms[k], length);
    EXPECT_EQUAL(wrong_results, 0);
}

static void wrong_forms_of_multimem_are_refused(void)
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
        snprintf(ptx, sizeof ptx,
                 MULTIMEM_KERNEL_BEGIN
                 ".reg .b64 %%a, %%l; .reg .b32 %%r; .reg .b16 %%h; .reg .f32 %%f; .reg .f64 %%d;\n"
                 "ld.param.u64 %%a, [object];\nmultimem.%s;\nret;\n}\n",
                 wrong[k]);
        if (cuModuleLoadData(&m, ptx) == CUDA_ERROR_INVALID_PTX) continue;
        printf("accepted: multimem.%s\n", wrong[k]);
        wrong_results++;
    }
    EXPECT_EQUAL(wrong_results, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(form_and_bind_team, multimem_computes_what_the_cpu_computes),
        ALONE(form_team, wrong_forms_of_multimem_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
