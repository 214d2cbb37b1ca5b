/* The kernels of matrix.cu, each against a CPU reference. All numbers are so
 * small that every sum is exact: the order in which hardware adds is its own.
 * usage: matrix KERNELS.fatbin [NAME]   prints a line per program; exit 1 if one is wrong. */
#include "program.h"

enum element { F16, BF16, S8, U8, F32, F64, S32 };

static uint16_t half(float v)
{
    _Float16 h = (_Float16)v;
    uint16_t bits;
    memcpy(&bits, &h, 2);
    return bits;
}

static float of_half(uint16_t bits)
{
    _Float16 h;
    memcpy(&h, &bits, 2);
    return (float)h;
}

static size_t size_of(enum element t) { return t == F64 ? 8 : t == F32 || t == S32 ? 4 : t == S8 || t == U8 ? 1 : 2; }

static void set(void *at, enum element t, size_t n, double v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    switch (t) {
    case F16: ((uint16_t *)at)[n] = half(f); break;
    case BF16: ((uint16_t *)at)[n] = (uint16_t)(bits >> 16); break;
    case S8:
    case U8: ((int8_t *)at)[n] = (int8_t)(int)v; break;
    case F32: ((float *)at)[n] = f; break;
    case F64: ((double *)at)[n] = v; break;
    default: ((int *)at)[n] = (int)v;
    }
}

static double get(const void *at, enum element t, size_t n)
{
    switch (t) {
    case F16: return of_half(((const uint16_t *)at)[n]);
    case F32: return ((const float *)at)[n];
    case F64: return ((const double *)at)[n];
    default: return ((const int *)at)[n];
    }
}

static double number(enum element t, uint32_t k)
{
    int v = (int)(k * 2654435761u >> 24) % 16;
    return t == U8 || t == S32 ? v : t == S8 ? v - 8 : (v - 8) * .25;
}

/* rows x columns numbers from seed on; in memory by rows or by columns. */
static CUdeviceptr matrix(double *m, enum element t, uint32_t rows, uint32_t columns, bool by_rows, uint32_t seed)
{
    void *bytes = malloc(rows * columns * size_of(t));
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < columns; j++) {
            m[i * columns + j] = number(t, i * columns + j + seed * 1000);
            set(bytes, t, by_rows ? i * columns + j : j * rows + i, m[i * columns + j]);
        }
    CUdeviceptr d = give(bytes, rows * columns * size_of(t));
    free(bytes);
    return d;
}

static void multiply(const double *a, const double *b, double *c, uint32_t m, uint32_t n, uint32_t k)
{
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t l = 0; l < k; l++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

/* Several products at once: many warps of many blocks. */
static void warps(const char *name, enum element t, int rows)
{
    enum { PRODUCTS = 12 };
    static uint16_t in_a[PRODUCTS * 256], in_b[PRODUCTS * 128];
    static float in_c[PRODUCTS * 128];
    static double a[PRODUCTS][256], b[PRODUCTS][128], c[PRODUCTS][128];
    for (uint32_t p = 0; p < PRODUCTS; p++) {
        for (uint32_t k = 0; k < 256; k++) set(in_a + p * 256, t, k, a[p][k] = number(t, k + p * 777));
        for (uint32_t i = 0; i < 16; i++)
            for (uint32_t j = 0; j < 8; j++)
                set(in_b + p * 128, t, rows ? i * 8 + j : j * 16 + i, b[p][i * 8 + j] = number(t, i * 8 + j + p * 555));
        for (uint32_t k = 0; k < 128; k++) in_c[p * 128 + k] = (float)(c[p][k] = k);
        multiply(a[p], b[p], c[p], 16, 8, 16);
    }
    CUdeviceptr da = give(in_a, sizeof in_a), db = give(in_b, sizeof in_b), dc = give(in_c, sizeof in_c),
                dd = give(NULL, sizeof in_c);
    run(name, PRODUCTS / 4, 1, 128, 1, 0, ARGS(&da, &db, &dc, &dd, &rows));
    float *out = take(dd, sizeof in_c);
    for (uint32_t k = 0; k < PRODUCTS * 128; k++) EXPECT(out[k] == (float)c[k / 128][k % 128]);
}

static void halves_from_shared_memory(void)
{
    warps("mma_f16", F16, 0);
    warps("mma_f16", F16, 1);
}

static void brain_floats(void)
{
    warps("mma_bf16", BF16, 0);
    warps("mma_bf16", BF16, 1);
}

static void results_in_halves(void)
{
    double a[256], b[128], c[128];
    CUdeviceptr da = matrix(a, F16, 16, 16, true, 3), db = matrix(b, F16, 16, 8, false, 4), o = give(NULL, 640);
    run("mma_half", 1, 1, 32, 1, 0, ARGS(&da, &db, &o));
    for (int k = 0; k < 128; k++) c[k] = 1;
    multiply(a, b, c, 16, 8, 16);
    uint16_t *out = take(o, 640);
    for (uint32_t i = 0; i < 16; i++)
        for (uint32_t j = 0; j < 8; j++) {
            uint16_t want = half((float)c[i * 8 + j]);
            EXPECT(out[i * 8 + j] == want);
            EXPECT(out[128 + i / 8 * 64 + j * 8 + i % 8] == want);
            if (i < 8) EXPECT(out[256 + j * 8 + i] == want);
        }
}

static void bytes(void)
{
    double a[512], b[256], c[128];
    CUdeviceptr da = matrix(a, S8, 16, 32, true, 5), db = matrix(b, S8, 32, 8, false, 6), o = give(NULL, 768);
    run("mma_bytes", 1, 1, 32, 1, 0, ARGS(&da, &db, &o));
    for (int k = 0; k < 128; k++) c[k] = 5;
    multiply(a, b, c, 16, 8, 32);
    int *out = take(o, 768);
    for (int k = 0; k < 128; k++) EXPECT(out[k] == (int)c[k]);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) {
            int64_t sum = 2147480000;
            for (int k = 0; k < 16; k++) sum += (int64_t)(uint8_t)(int8_t)a[i * 32 + k] * (int)b[k * 8 + j];
            EXPECT(out[128 + i * 8 + j] == (sum > INT32_MAX ? INT32_MAX : sum));
        }
}

/* Three bits of mantissa, or two: small integers and halves of them. */
static uint8_t quarter(double v, bool e4m3)
{
    uint16_t h = half((float)v);
    if (!e4m3) return (uint8_t)(h >> 8);
    return v == 0 ? 0 : (uint8_t)((h >> 8 & 128) | (((h >> 10 & 31) - 15 + 7) << 3 | (h >> 7 & 7)));
}

static void floats_of_8_bits(void)
{
    double a[512], b[256], c[128];
    uint8_t in_a[512], in_b[256];
    for (uint32_t k = 0; k < 512; k++) in_a[k] = quarter(a[k] = number(F16, k), true);
    for (uint32_t i = 0; i < 32; i++)
        for (uint32_t j = 0; j < 8; j++) in_b[j * 32 + i] = quarter(b[i * 8 + j] = (int)(i * 7 + j * 3) % 5 - 2, false);
    CUdeviceptr da = give(in_a, sizeof in_a), db = give(in_b, sizeof in_b), o = give(NULL, 512);
    run("mma_quarters", 1, 1, 32, 1, 0, ARGS(&da, &db, &o));
    for (int k = 0; k < 128; k++) c[k] = 5;
    multiply(a, b, c, 16, 8, 32);
    float *out = take(o, 512);
    for (int k = 0; k < 128; k++) EXPECT(out[k] == (float)c[k]);
}

static void short_floats_and_doubles(void)
{
    double a[128], b[64], c[128];
    CUdeviceptr da = matrix(a, F32, 16, 8, true, 7), db = matrix(b, F32, 8, 8, false, 8), o = give(NULL, 512);
    run("mma_tf32", 1, 1, 32, 1, 0, ARGS(&da, &db, &o));
    for (int k = 0; k < 128; k++) c[k] = .5;
    multiply(a, b, c, 16, 8, 8);
    float *out = take(o, 512);
    for (int k = 0; k < 128; k++) EXPECT(out[k] == (float)c[k]);
    da = matrix(a, F64, 8, 4, true, 9);
    db = matrix(b, F64, 4, 8, false, 10);
    run("mma_f64", 1, 1, 32, 1, 0, ARGS(&da, &db, &o));
    for (int k = 0; k < 64; k++) c[k] = .25;
    multiply(a, b, c, 8, 8, 4);
    double *wide = take(o, 512);
    for (int k = 0; k < 64; k++) EXPECT(wide[k] == c[k]);
}

static void wmma(const char *name, uint32_t m, uint32_t n, uint32_t k, enum element in, enum element out, bool rows_a,
                 bool rows_b, bool rows_d, int times)
{
    double a[512], b[512], c[256];
    CUdeviceptr da = matrix(a, in, m, k, rows_a, m), db = matrix(b, in, k, n, rows_b, n),
                dc = matrix(c, out, m, n, true, k), dd = give(NULL, m * n * size_of(out));
    run(name, 1, 1, 32, 1, 0, ARGS(&da, &db, &dc, &dd));
    for (uint32_t i = 0; i < m * k; i++) a[i] *= times;
    multiply(a, b, c, m, n, k);
    void *result = take(dd, m * n * size_of(out));
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) {
            double is = get(result, out, rows_d ? i * n + j : j * m + i), want = c[i * n + j] + 1;
            if (is == want) continue;
            printf("%s: %g at %u, %u, not %g\n", name, is, i, j, want);
            exit(1);
        }
}

static void fragments(void)
{
    wmma("wmma_f16", 16, 16, 16, F16, F32, true, false, true, 2);
    wmma("wmma_f16_wide", 8, 32, 16, F16, F32, false, true, false, 2);
    wmma("wmma_f16_tall", 32, 8, 16, F16, F16, true, true, true, 1);
    wmma("wmma_bf16", 16, 16, 16, BF16, F32, true, true, true, 1);
    wmma("wmma_s8", 16, 16, 16, S8, S32, true, false, false, 1);
    wmma("wmma_u8", 32, 8, 16, U8, S32, false, false, true, 1);
    wmma("wmma_tf32", 16, 16, 8, F32, F32, true, false, true, 1);
    wmma("wmma_f64", 8, 8, 4, F64, F64, true, false, true, 1);
}

int main(int argc, char **argv)
{
    static const struct program programs[] = { P(halves_from_shared_memory),
                                               P(brain_floats),
                                               P(results_in_halves),
                                               P(bytes),
                                               P(floats_of_8_bits),
                                               P(short_floats_and_doubles),
                                               P(fragments),
                                               { 0 } };
    return run_programs(argc, argv, programs);
}
