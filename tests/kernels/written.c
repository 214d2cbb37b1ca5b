/* Kernels written by hand, against what their PTX says.
 * usage: written KERNEL.ptx */
#include "program.h"

/* What a thread of the kernel writes, by the piece of PTX that it comes from. */
struct written {
    int by, quotient, remainder, branch;    /* shift: its argument, and what divide and brx gave, moved by that */
    int through_pointer, before_it;         /* table[2], and the word below, through an address among initial values */
    int rounded, of_two_dimensions;         /* two_and_a_half, to even; grid[1][1] */
    int two_predicates, rounds, constant;   /* setp with a second predicate and one never set; a loop; an expression */
    int has_address;                        /* of a function */
    float under_a_predicate, in_a_register; /* lerp, called by some threads; with 0, which it returns early for */
    int unused[2];
};

static void handwritten(void)
{
    enum { N = 64 };
    CUdeviceptr out = give(NULL, N * sizeof(struct written));
    run("written", 1, 1, N, 1, 0, ARGS(&out));
    const struct written *w = take(out, N * sizeof *w);
    for (int t = 0; t < N; t++, w++) {
        EXPECT(w->by == t && w->quotient == t / 7 + t && w->remainder == t % 7 + t);
        EXPECT(w->branch == 100 * (t % 4 + 1) + t);
        EXPECT(w->through_pointer == 30 && w->before_it == 20);
        EXPECT(w->rounded == 2 && w->of_two_dimensions == 5);
        EXPECT(w->two_predicates == (t == 5 ? 9 : 7) && w->rounds == 10 && w->constant == (-4 | 1));
        EXPECT(w->has_address == 1);
        EXPECT(w->under_a_predicate == (t > 9 ? -1 : 2 + (t - 2) * .5f) && w->in_a_register == t);
    }
}

/* What kernels flushed and mixed write. */
struct flushed {
    float product, sum, fma, quotient;
    int equal;
    float times_one, larger, twice;
};

static float zeroed(float v) { return fpclassify(v) == FP_SUBNORMAL ? copysignf(0, v) : v; }

static bool same(float a, float b) { return a == b ? signbit(a) == signbit(b) : a != a && b != b; }

static void subnormals_are_zeros_where_it_says_so(void)
{
    static const float values[] = { 0,      -0.f,  1,       -2.5f, 1e-39f, -1e-44f, 1.2e-38f, -1.1754944e-38f,
                                    1e-30f, 3e38f, INFINITY };
    enum { M = sizeof values / sizeof *values, N = M * M };
    float in[N][3];
    for (int k = 0; k < N; k++) in[k][0] = values[k % M], in[k][1] = values[k / M], in[k][2] = values[k * 7 / 3 % M];
    for (int mixed = 0; mixed < 2; mixed++) {
        CUdeviceptr from = give(in, sizeof in), out = give(NULL, N * sizeof(struct flushed));
        run(mixed ? "mixed" : "flushed", 1, 1, N, 1, 0, ARGS(&from, &out));
        const struct flushed *f = take(out, N * sizeof *f);
        for (int k = 0; k < N; k++, f++) {
            float a = zeroed(in[k][0]), b = zeroed(in[k][1]), c = zeroed(in[k][2]);
            EXPECT(same(f->product, zeroed(a * b)) && same(f->sum, zeroed(a + c)));
            EXPECT(same(f->fma, zeroed(fmaf(a, b, c))) && same(f->quotient, zeroed(a / b)));
            EXPECT(f->equal == (a == c) && same(f->times_one, a) && f->larger == fmaxf(a, c));
            EXPECT(same(f->twice, zeroed(a + a)));
        }
    }
}

static void threads_wait_for_time_at_the_same_time(void)
{
    enum { N = 64 };
    uint64_t delay = 200000000, last_begin = 0, first_end = UINT64_MAX;
    CUdeviceptr out = give(NULL, N * 2 * sizeof delay);
    run("delayed", 1, 1, N, 1, 0, ARGS(&out, &delay));
    const uint64_t *times = take(out, N * 2 * sizeof delay);
    for (int k = 0; k < N; k++) {
        if (times[2 * k] > last_begin) last_begin = times[2 * k];
        if (times[2 * k + 1] < first_end) first_end = times[2 * k + 1];
    }
    EXPECT(last_begin < first_end);
}

static void pointers_of_32_bits(void)
{
    enum { N = 64, SQUARES = 140 };
    static const int tens[] = { 30, 40, 50 };
    for (int waits = 0; waits < 2; waits++) {
        CUdeviceptr out = give(NULL, N * 4 * sizeof(int));
        run(waits ? "short_pointers_and_barriers" : "short_pointers", 1, 1, N, 1, 0, ARGS(&out));
        const int *v = take(out, N * 4 * sizeof *v);
        for (int t = 0; t < N; t++, v += 4) {
            EXPECT(v[0] == SQUARES + 8 * t && v[1] == 9 + t);
            EXPECT(v[2] == (waits ? 16 + t : tens[t % 2 + 1]));
            EXPECT(v[3] == (waits ? SQUARES + 8 * (N - 1) : tens[t % 2]));
        }
    }
}

/* The bfloat16 nearest to a half that is at least 1, and the half nearest to a bfloat16 too small for all its bits. */
static void half_formats_convert_to_the_nearest(void)
{
    enum { N = 64 };
    CUdeviceptr out = give(NULL, N * 2 * sizeof(uint16_t));
    run("halves", 1, 1, N, 1, 0, ARGS(&out));
    const uint16_t *v = take(out, N * 2 * sizeof *v);
    for (int t = 0; t < N; t++) {
        EXPECT(v[2 * t] == 0x3f80 + (t + 3 + (t >> 3 & 1)) / 8);
        double small = ldexp(128 + t, 0x66 - 127 - 7), unit = ldexp(1, -24); /* a half's least number */
        EXPECT(v[2 * t + 1] == (uint16_t)nearbyint(small / unit));
    }
}

static void elements_of_arrays(void)
{
    enum { N = 64 };
    static const int table[] = { 10, 20, 30, 40 }, grid[] = { 1, 2, 3, 4, 5, 6 }, pairs[] = { 7, 8, 9, 11 };
    int tens[] = { 100, 110, 120, 130 };
    CUdeviceptr out = give(NULL, N * 8 * sizeof(int));
    run("elements", 1, 1, N, 1, 0, ARGS(&out, tens));
    const int *v = take(out, N * 8 * sizeof *v);
    for (int t = 0; t < N; t++, v += 8) {
        int i = t % 4;
        EXPECT(v[0] == table[i ? i - 1 : 0] && v[1] == grid[5 - i] && v[2] == pairs[i] && v[3] == tens[i]);
        EXPECT(v[4] == 63 - t && v[5] == t && v[6] == 4 * t && v[7] == 21 + t % 2);
    }
}

/* As NVIDIA's ptxas computes them. */
static void constants_are_computed_as_in_c(void)
{
    static const uint64_t computed[] = {
        0,
        1,
        ~5ull,
        (uint64_t)-3,
        7,
        (uint64_t)-4,
        -8ull >> 1,
        ~7ull >> 1,
        1,
        0,
        1,
        0,
        1,
        0,
        1, /* a rest is unsigned */
        2,
        ~0ull,
        ~0ull >> 4,
        0,
        (uint64_t)(-(1ll << 40) / 3),
        3,
        1 | (2 ^ (3 & 1)),
        1,
        4,
        (uint64_t)-3,
        65,
        15,
        5,
        -1ull >> 1,
        ~0ull,
        ~0ull,
        0,
        1,
        0,
    };
    static const double sums[] = { 3.5, -2.5, 3, 1.5 };
    enum {
        INTEGERS = sizeof computed / sizeof *computed,
        REALS = sizeof sums / sizeof *sums,
        N = INTEGERS + REALS + 1
    };
    CUdeviceptr out = give(NULL, N * sizeof(uint64_t));
    run("constants", 1, 1, N, 1, 0, ARGS(&out));
    const uint64_t *v = take(out, N * sizeof *v);
    for (int t = 0; t < INTEGERS; t++) EXPECT(v[t] == computed[t]);
    EXPECT(!memcmp(v + INTEGERS, sums, sizeof sums));
    EXPECT(v[N - 1] == (1 + 32) * 4 + 3 + computed[32]);
}

/* What a thread of the kernel writes. */
struct overlapping {
    float sums[4], before[4];
    uint16_t halves[2];
    uint32_t sum, difference, reserved;
    unsigned char copied[16];
};

/* The sum saturates at 0 only, as on an H200. */
static void results_may_lie_where_values_did(void)
{
    enum { N = 32 };
    static const float sums[] = { 5, 5, 5, 5 }, before[] = { 4, 3, 2, 1 };
    CUdeviceptr out = give(NULL, N * sizeof(struct overlapping));
    run("overlapping", 1, 1, N, 1, 0, ARGS(&out));
    const struct overlapping *w = take(out, N * sizeof *w);
    for (unsigned t = 0; t < N; t++, w++) {
        const unsigned char *from = (const unsigned char *)w->sums;
        EXPECT(!memcmp(w->sums, sums, sizeof sums) && !memcmp(w->before, before, sizeof before));
        EXPECT(w->halves[0] == 0x4000 && w->halves[1] == 0x4200);
        EXPECT(w->sum == t - 7 && w->difference == (t < 5 ? 5 - t : 0) && w->reserved == 1024);
        for (unsigned k = 0; k < 16; k++) EXPECT(w->copied[k] == (k < t % 16 ? from[k] : 0));
    }
}

/* What a thread of the kernel writes. */
struct observed {
    uint32_t difference, greater, shifted, tf32, spaces, given, sum_in_shared, sum_in_global;
};

static void what_an_h200_was_seen_to_do(void)
{
    enum { N = 64 };
    CUdeviceptr out = give(NULL, N * sizeof(struct observed));
    run("observed", 2, 1, N / 2, 1, 0, ARGS(&out));
    const struct observed *w = take(out, N * sizeof *w);
    for (unsigned k = 0; k < N; k++, w++) {
        const unsigned t = k % (N / 2);
        EXPECT(w->difference == UINT32_MAX - 3 && w->greater == 2);
        EXPECT(w->shifted == t && w->tf32 == ((0x7f9ff7e0 + t) & ~0x1fffu));
        EXPECT(w->spaces == (1 | 2 | 8 | 64) && w->given == 1024);
        EXPECT(w->sum_in_shared == 6 && w->sum_in_global == 0);
    }
}

static void parameters_outlive_a_wait(void)
{
    enum { N = 32 };
    CUdeviceptr out = give(NULL, N * 4);
    run("late_parameters", 1, 1, N, 1, 0, ARGS(&out));
    const uint32_t *w = take(out, N * 4);
    for (unsigned t = 0; t < N; t++) EXPECT(w[t] == (t % 2 ? 1 : t));
    out = give(NULL, N * 4);
    run("parameters_by_rounds", 1, 1, N, 1, 0, ARGS(&out));
    w = take(out, N * 4);
    for (unsigned t = 0; t < N; t++) EXPECT(w[t] == 5 * (3 * t + 1));
}

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(handwritten),
                                               P(subnormals_are_zeros_where_it_says_so),
                                               P(threads_wait_for_time_at_the_same_time),
                                               P(pointers_of_32_bits),
                                               P(half_formats_convert_to_the_nearest),
                                               P(elements_of_arrays),
                                               P(constants_are_computed_as_in_c),
                                               P(results_may_lie_where_values_did),
                                               P(what_an_h200_was_seen_to_do),
                                               P(parameters_outlive_a_wait),
                                               { 0 } };
    return run_programs(argc, argv, programs);
}
