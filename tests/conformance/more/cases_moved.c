/* What copies of tensors move: random maps (tiled, interleaved, for columns of pixels), boxes at random places, loads,
 * stores and reductions. A line has the bytes that a copy counted, and a sum of what it left in shared or global
 * memory; with SHOW, also which words those are. */
#include "say.h"

#ifndef SHOW
#define SHOW 0
#endif
enum { RANK = 5, SHARED = 32 << 10, MEMORY = 1 << 20, BASE = MEMORY / 2, WORDS = SHARED / 2, UNTOUCHED = 0xeeee };
enum operation { LOAD, STORE, ADD, OPERATIONS };

struct copy {
    CUtensorMap map; /* first: it is aligned */
    bool columns;
    int type, interleave, swizzle, fill, operation;
    unsigned rank, channels, pixels, offset;
    cuuint64_t dim[RANK], stride[RANK];
    cuuint32_t box[RANK], step[RANK];
    int lower[RANK], upper[RANK], at[RANK];
    unsigned short shift[RANK];
};

static const unsigned bytes_of[] = { 1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4 };
static bool columns, interleaved, wrong, far;
static CUdeviceptr memory, outside;

/* ---- kernels */

#define TEXT \
    ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 1024 .b8 s[];\n" \
    ".visible .entry k(.param .align 64 .b8 map[128], .param .align 4 .b8 at[20], .param .align 2 .b8 shift[6], " \
    ".param .u64 out)\n{\n" \
    ".reg .b32 %r<32>; .reg .b64 %d<16>; .reg .pred %p<8>; .reg .b16 %h<4>;\n.shared .align 8 .b64 bar;\n" \
    "mov.b64 %d0, map;\ncvta.param.u64 %d1, %d0;\nld.param.u64 %d2, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, s;\n" \
    "mov.u32 %r2, bar;\nld.param.b32 %r10, [at];\nld.param.b32 %r11, [at+4];\nld.param.b32 %r12, [at+8];\n" \
    "ld.param.b32 %r13, [at+12];\nld.param.b32 %r14, [at+16];\nld.param.b16 %h0, [shift];\n" \
    "ld.param.b16 %h1, [shift+2];\nld.param.b16 %h2, [shift+4];\nsetp.eq.u32 %p0, %r0, 0;\n" \
    "mul.lo.u32 %r3, %r0, 8;\n" \
    "IN:\ncvt.u64.u32 %d3, %r3;\nadd.u64 %d3, %d2, %d3;\nadd.u32 %r4, %r1, %r3;\n" \
    "ld.global.b64 %d4, [%d3];\nst.shared.b64 [%r4], %d4;\nadd.u32 %r3, %r3, 1024;\n" \
    "setp.lt.u32 %p1, %r3, 32768;\n@%p1 bra IN;\nfence.proxy.async;\n"

/* What is not known beforehand is counted: how many times 16 bytes are missing of 64 KiB. */
#define LOADS \
    "@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;\nfence.proxy.async;\nbar.sync 0;\n@!%p0 bra DONE;\n" \
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 65536;\n@COPY\nmov.u32 %r5, 0;\n" \
    "mov.u64 %d5, %globaltimer;\nSOON:\nmov.u64 %d6, %globaltimer;\nsub.u64 %d6, %d6, %d5;\n" \
    "setp.lt.u64 %p3, %d6, 30000;\n@%p3 bra SOON;\n" \
    "WAIT:\nmbarrier.test_wait.parity.shared::cta.b64 %p2, [%r2], 0;\n@%p2 bra DONE;\n" \
    "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r2], 16;\nadd.u32 %r5, %r5, 1;\n" \
    "setp.lt.u32 %p3, %r5, 5000;\n@%p3 bra WAIT;\nDONE:\nbar.sync 0;\n@%p0 st.global.b32 [%d2+32768], %r5;\n" \
    "mul.lo.u32 %r3, %r0, 8;\n" \
    "OUT:\ncvt.u64.u32 %d3, %r3;\nadd.u64 %d3, %d2, %d3;\nadd.u32 %r4, %r1, %r3;\n" \
    "ld.shared.b64 %d4, [%r4];\nst.global.b64 [%d3], %d4;\nadd.u32 %r3, %r3, 1024;\n" \
    "setp.lt.u32 %p1, %r3, 32768;\n@%p1 bra OUT;\nret;\n}\n"
#define STORES \
    "bar.sync 0;\n@!%p0 bra DONE;\n@COPY\n" \
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nDONE:\nret;\n}\n"

static CUfunction kernel(const struct copy *c)
{
    static const char *const places[] = { "{%r10}", "{%r10, %r11}", "{%r10, %r11, %r12}", "{%r10, %r11, %r12, %r13}",
                                          "{%r10, %r11, %r12, %r13, %r14}" };
    static const char *const shifts[] = { "", "", "", "{%h0}", "{%h0, %h1}", "{%h0, %h1, %h2}" };
    static CUfunction kept[OPERATIONS][2][RANK + 1];
    CUfunction *f = &kept[c->operation][c->columns][c->rank];
    char text[8192], copy[300];
    CUmodule m;
    if (*f) return *f;
    if (c->operation == LOAD)
        snprintf(copy, sizeof copy,
                 "cp.async.bulk.prefetch.tensor.%ud.L2.global%s [%%d1, %s]%s%s;\n"
                 "cp.async.bulk.tensor.%ud.shared::cluster.global%s.mbarrier::complete_tx::bytes [%%r1], [%%d1, %s], "
                 "[%%r2]%s%s;",
                 c->rank, c->columns ? ".im2col" : ".tile", places[c->rank - 1], c->columns ? ", " : "",
                 c->columns ? shifts[c->rank] : "", c->rank, c->columns ? ".im2col" : ".tile", places[c->rank - 1],
                 c->columns ? ", " : "", c->columns ? shifts[c->rank] : "");
    else
        snprintf(copy, sizeof copy, "cp%s.async.bulk.tensor.%ud.global.shared::cta%s%s.bulk_group [%%d1, %s], [%%r1];",
                 c->operation == ADD ? ".reduce" : "", c->rank, c->operation == ADD ? ".add" : "",
                 c->columns ? ".im2col_no_offs" : ".tile", places[c->rank - 1]);
    const char *rest = c->operation == LOAD ? LOADS : STORES, *at = strstr(rest, "@COPY");
    snprintf(text, sizeof text, "%s%.*s%s%s", TEXT, (int)(at - rest), rest, copy, at + 5);
    CUresult r = cuModuleLoadData(&m, text);
    if (r) {
        add(" module %s", rname(r));
        return NULL;
    }
    MUST(cuModuleGetFunction(f, m, "k"));
    return *f;
}

/* ---- maps */

/* Bytes that lie together: an element, or what is interleaved. */
static unsigned unit(const struct copy *c) { return c->interleave ? 8u << c->interleave : bytes_of[c->type]; }
/* The first dimension of a pixel's place. */
static unsigned first_place(const struct copy *c) { return c->interleave ? 0 : 1; }

static void draw_shape(struct copy *c)
{
    unsigned group = 16 / bytes_of[c->type];
    c->dim[0] = c->interleave ? 1 + draw(12) : draw(4) ? group * (1 + draw(8)) : 1 + draw(8 * group);
    cuuint64_t pitch = (c->dim[0] * unit(c) + 31) / 32 * 32;
    if (c->interleave == 1 && draw(2)) pitch = c->dim[0] * 16;
    for (unsigned k = 1; k < c->rank; k++) {
        c->dim[k] = 1 + draw(k == c->rank - 1 ? 5 : 8);
        pitch += 32 * draw(3) * draw(2);
        c->stride[k] = pitch;
        pitch *= c->dim[k];
    }
    for (unsigned k = 0; k < c->rank; k++) c->step[k] = draw(5) ? 1 : 1 + draw(4);
}

static void draw_tile(struct copy *c)
{
    unsigned each = bytes_of[c->type], group = 16 / each, left = SHARED / 2;
    unsigned widest = c->interleave ? 3 : !c->swizzle ? 8 : 1u << c->swizzle;
    c->box[0] = group * (1 + draw(widest));
    left /= c->interleave ? c->box[0] * unit(c) : c->swizzle ? 128 : (c->box[0] * each + 31) / 32 * 32;
    for (unsigned k = 1; k < c->rank; k++) {
        unsigned n = 1 + draw(9);
        c->box[k] = n < left ? n : left;
        if (!c->interleave || k != c->rank - 2) left /= c->box[k];
    }
    c->at[0] = c->interleave ? (int)draw(14) - 3 : draw(3) ? 0 : (int)(group * draw(8)) - (int)group;
    for (unsigned k = 1; k < c->rank; k++) c->at[k] = draw(2) ? (int)draw((unsigned)c->dim[k]) : (int)draw(14) - 3;
}

static void draw_columns(struct copy *c)
{
    bool loads = c->operation == LOAD;
    unsigned each = bytes_of[c->type], group = 16 / each, first = first_place(c);
    unsigned widest = c->interleave || !c->swizzle ? 8 : 1u << c->swizzle;
    c->channels = group * (1 + draw(widest));
    unsigned row = c->interleave ? unit(c) : c->swizzle ? 128 : c->channels * each;
    c->pixels = 1 + draw(draw(4) ? 40 : SHARED / 2 / row);
    if (c->pixels > SHARED / 2 / row) c->pixels = SHARED / 2 / row;
    if (c->interleave)
        c->at[c->rank - 2] = draw(4) ? (int)draw((unsigned)c->dim[c->rank - 2]) : (int)draw(10) - 1;
    else
        c->at[0] = draw(3) ? 0 : (int)(group * draw(8)) - (int)group;
    for (unsigned k = 0; k + 2 < c->rank; k++) {
        int most = (int)c->dim[k + first] - 1;
        c->lower[k] = draw(3) && loads ? -(int)draw(4) : (int)draw(3);
        c->upper[k] = draw(3) || !loads ? -(int)draw(4) : (int)draw(3);
        if (!loads && c->lower[k] > most) c->lower[k] = most;
        if (most + c->upper[k] < c->lower[k]) c->upper[k] = c->lower[k] - most;
        c->shift[k] = (unsigned short)draw(5);
        c->at[k + first] = c->lower[k] + (int)draw((unsigned)(most + c->upper[k] - c->lower[k]) + 1);
    }
    c->at[c->rank - 1] = draw(5) || !loads ? (int)draw((unsigned)c->dim[c->rank - 1]) : (int)draw(8) - 2;
}

static void spoil_place(struct copy *c)
{
    unsigned k = draw(c->rank);
    switch (draw(7)) {
    case 0: c->at[0] += (int)(1 + draw(16 / bytes_of[c->type] - 1 ? 16 / bytes_of[c->type] - 1 : 1)); break;
    case 1: c->at[k] = (int[]){ 1 << 30, -(1 << 30), 1 << 15, -(1 << 15) }[draw(4)]; break;
    case 2: c->at[k] = -1 - (int)draw(4); break;
    case 3: c->columns = c->rank >= 3 && !c->columns; break;
    case 4: c->lower[draw(3)] = -1 - (int)draw(3); break;
    case 5: c->upper[draw(3)] = 1 + (int)draw(2); break;
    default: c->stride[1] = 16 + 16 * draw(3);
    }
}

/* So far that the tensor is only there if some bits of it do not count. */
static void shift_far(struct copy *c)
{
    const unsigned bits = c->rank == 3 ? 16 : c->rank == 4 ? 8 : 5;
    for (unsigned k = 0; k + 2 < c->rank; k++) switch (draw(5)) {
        case 0: c->shift[k] = (unsigned short)((1u << bits) - draw(5)); break;
        case 1: c->shift[k] = (unsigned short)((1u << bits) + draw(3)); break;
        case 2: c->shift[k] = (unsigned short)((1u << (bits - 1)) - 2 + draw(5)); break;
        case 3: c->shift[k] = (unsigned short)(256 * draw(256) + draw(3)); break;
        default: break;
        }
}

static CUresult encode(struct copy *c, bool for_columns)
{
    void *at = (void *)(memory + BASE + c->offset);
    return for_columns ? cuTensorMapEncodeIm2col(&c->map, (CUtensorMapDataType)c->type, c->rank, at, c->dim,
                                                 c->stride + 1, c->lower, c->upper, c->channels, c->pixels, c->step,
                                                 (CUtensorMapInterleave)c->interleave, (CUtensorMapSwizzle)c->swizzle,
                                                 0, (CUtensorMapFloatOOBfill)c->fill)
                       : cuTensorMapEncodeTiled(&c->map, (CUtensorMapDataType)c->type, c->rank, at, c->dim,
                                                c->stride + 1, c->box, c->step, (CUtensorMapInterleave)c->interleave,
                                                (CUtensorMapSwizzle)c->swizzle, 0, (CUtensorMapFloatOOBfill)c->fill);
}

static void tell(const struct copy *c)
{
    static const char *const operation[] = { "load", "store", "add" };
    add("%s %s t%d r%u i%d s%d f%d +%x", operation[c->operation], c->columns ? "columns" : "tile", c->type, c->rank,
        c->interleave, c->swizzle, c->fill, c->offset);
    if (columns) add(" c%u p%u", c->channels, c->pixels);
    for (unsigned k = 0; k < c->rank; k++) {
        add(" %d/%d/%d", (int)c->dim[k], (int)c->stride[k], (int)c->step[k]);
        if (!columns) add("/%u", c->box[k]);
        if (columns && k && k + 1 < c->rank) add("(%d:%d)", c->lower[k - 1], c->upper[k - 1]);
    }
    add(" @");
    for (unsigned k = 0; k < c->rank; k++) add("%s%d", k ? "," : "", c->at[k]);
    if (columns && c->operation == LOAD)
        for (unsigned k = 0; k + 2 < c->rank; k++) add("%s%d", k ? "," : " ^", c->shift[k]);
}

/* ---- what was moved */

/* A word of the tensors' memory, counted from the place where they begin. */
static unsigned short word(size_t index) { return (unsigned short)(index - BASE / 2); }

static void show(const unsigned short *now, const unsigned short *was, size_t count)
{
    uint64_t sum = 14695981039346656037ull;
    size_t changed = 0;
    for (size_t k = 0; k < count; k++)
        if (now[k] != was[k]) sum = ((sum ^ k) * 1099511628211ull ^ now[k]) * 1099511628211ull, changed++;
    add(" %zu %016llx", changed, (unsigned long long)sum);
    if (SHOW) add(" |");
    for (size_t k = 0, n; SHOW && k < count; k += n) {
        n = 1;
        if (now[k] == was[k]) continue;
        unsigned short step = k + 1 < count && now[k + 1] == now[k] ? 0 : 1;
        while (k + n < count && now[k + n] == (unsigned short)(now[k] + n * step) && now[k + n] != was[k + n]) n++;
        if (used < sizeof line - 100) add(" %zx:%x*%zu%s", k, now[k], n, step ? "" : "=");
    }
}

static void look(const struct copy *c)
{
    static unsigned short now[MEMORY / 2], was[MEMORY / 2];
    unsigned missing;
    if (c->operation == LOAD) {
        memset(was, UNTOUCHED & 255, sizeof was);
        MUST(cuMemcpyDtoH(now, outside, SHARED));
        MUST(cuMemcpyDtoH(&missing, outside + SHARED, 4));
        add(" bytes=%d", 65536 - 16 * (int)missing);
        show(now, was, WORDS);
    } else {
        for (size_t k = 0; k < MEMORY / 2; k++) was[k] = word(k);
        MUST(cuMemcpyDtoH(now, memory, MEMORY));
        show(now, was, MEMORY / 2);
    }
}

static void prepare(const struct copy *c)
{
    static unsigned short host[MEMORY / 2];
    if (c->operation == LOAD) {
        MUST(cuMemsetD8(outside, UNTOUCHED & 255, SHARED));
        return;
    }
    for (size_t k = 0; k < MEMORY / 2; k++) host[k] = word(k);
    MUST(cuMemcpyHtoD(memory, host, MEMORY));
    for (size_t k = 0; k < WORDS; k++) host[k] = (unsigned short)(0x8000 + k);
    MUST(cuMemcpyHtoD(outside, host, SHARED));
}

static void one(int operation)
{
    static const int types[] = { 0, 2, 3, 4, 6, 7, 9, 10 };
    struct copy c __attribute__((aligned(64))) = { .columns = columns, .operation = operation };
    c.type = operation == ADD ? 2 + (int)draw(3) : draw(3) ? 1 : types[draw(8)];
    c.rank = columns || interleaved ? 3 + draw(3) : 1 + draw(5);
    c.interleave = interleaved ? 1 + (int)draw(2) : 0;
    c.swizzle = c.interleave == 2 ? 1 : draw(2) ? 0 : (int)draw(4);
    c.fill = c.type >= 6 && draw(2);
    c.offset = 32 * draw(8);
    draw_shape(&c);
    if (columns)
        draw_columns(&c);
    else
        draw_tile(&c);
    if (operation != LOAD)
        for (unsigned k = 0; k < c.rank; k++)
            if (c.at[k] < 0) c.at[k] = 0;
    if (wrong) spoil_place(&c);
    if (far) shift_far(&c);
    tell(&c);
    CUresult r = encode(&c, columns);
    CUfunction f;
    if (r) add(" = %s", rname(r));
    if (!r && (f = kernel(&c))) {
        prepare(&c);
        void *arguments[] = { &c.map, c.at, c.shift, &outside };
        r = cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, SHARED, NULL, arguments, NULL);
        if (!r) r = cuCtxSynchronize();
        add(" = %s", rname(r));
        if (r) {
            say();
            exit(STICKY);
        }
        look(&c);
    }
    say();
}

static void load_one(void) { one(LOAD); }
static void store_one(void) { one(draw(4) ? STORE : ADD); }

static void begin(void)
{
    static unsigned short host[MEMORY / 2];
    setup();
    for (size_t k = 0; k < MEMORY / 2; k++) host[k] = word(k);
    MUST(cuMemAlloc(&memory, MEMORY));
    MUST(cuMemAlloc(&outside, SHARED + 4096));
    MUST(cuMemcpyHtoD(memory, host, MEMORY));
}
static void begin_columns(void) { columns = true, begin(); }
static void begin_interleaved(void) { interleaved = true, begin(); }
static void begin_both(void) { columns = true, begin_interleaved(); }
static void begin_wrong(void) { wrong = true, begin(); }
static void begin_wrong_columns(void) { wrong = true, begin_columns(); }
static void begin_wrong_interleaved(void) { wrong = true, begin_interleaved(); }
static void begin_wrong_both(void) { wrong = true, begin_both(); }
static void begin_far(void) { far = true, begin_columns(); }

WALK(columns, 0, 1500, begin_columns, load_one)
WALK(interleaved, 1, 1500, begin_interleaved, load_one)
WALK(both, 2, 1500, begin_both, load_one)
WALK(tiles, 3, 800, begin, load_one)
WALK(stored_columns, 4, 500, begin_columns, store_one)
WALK(stored_interleaved, 5, 500, begin_interleaved, store_one)
WALK(stored_both, 6, 500, begin_both, store_one)
WALK(stored, 7, 400, begin, store_one)
WALK(far, 8, 400, begin_far, load_one)
WALK(wrong, 9, 60, begin_wrong, load_one)
WALK(wrong_columns, 10, 60, begin_wrong_columns, load_one)
WALK(wrong_interleaved, 11, 60, begin_wrong_interleaved, load_one)
WALK(wrong_both, 12, 60, begin_wrong_both, load_one)
WALK(wrong_stored_columns, 13, 60, begin_wrong_columns, store_one)
WALK(wrong_stored_interleaved, 14, 60, begin_wrong_interleaved, store_one)

const struct group groups[] = { WALKED(columns, 0),
                                WALKED(interleaved, 1),
                                WALKED(both, 2),
                                WALKED(tiles, 3),
                                WALKED(stored_columns, 4),
                                WALKED(stored_interleaved, 5),
                                WALKED(stored_both, 6),
                                WALKED(stored, 7),
                                WALKED(far, 8),
                                WALKED(wrong, 9),
                                WALKED(wrong_columns, 10),
                                WALKED(wrong_interleaved, 11),
                                WALKED(wrong_both, 12),
                                WALKED(wrong_stored_columns, 13),
                                WALKED(wrong_stored_interleaved, 14),
                                { 0 } };
