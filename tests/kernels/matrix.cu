// Products of small matrices by warps: mma with ldmatrix, and wmma. matrix.c
// compares with the CPU; matrix.ptx is what nvcc makes of it, for machines without.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#define K extern "C" __global__ void

__device__ static unsigned offset(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// ---- A in rows of 16 elements of 2 bytes, B in columns; each warp one product

#define LDMATRIX_A(a, s) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(offset((s) + (lane % 16) * 16 + lane / 16 * 8)) : "memory")
#define LDMATRIX_B(b, s) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" \
                 : "=r"(b[0]), "=r"(b[1]) : "r"(offset((s) + (lane % 8) * 16 + lane / 8 % 2 * 8)) : "memory")
// B in rows of 8
#define LDMATRIX_B_ROWS(b, s) \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" \
                 : "=r"(b[0]), "=r"(b[1]) : "r"(offset((s) + (lane % 16) * 8)) : "memory")

#define MMA_16(name, types) \
    K name(const unsigned short *in_a, const unsigned short *in_b, const float *in_c, float *out, int rows) \
    { \
        __shared__ alignas(16) unsigned short sa[4][256], sb[4][128]; \
        int lane = threadIdx.x % 32, w = threadIdx.x / 32, p = blockIdx.x * 4 + w, at = lane / 4 * 8 + lane % 4 * 2; \
        unsigned a[4], b[2]; \
        for (int k = lane; k < 256; k += 32) sa[w][k] = in_a[p * 256 + k]; \
        for (int k = lane; k < 128; k += 32) sb[w][k] = in_b[p * 128 + k]; \
        __syncwarp(); \
        LDMATRIX_A(a, sa[w]); \
        if (rows) LDMATRIX_B_ROWS(b, sb[w]); \
        else LDMATRIX_B(b, sb[w]); \
        const float *c = in_c + p * 128 + at; \
        float d[4]; \
        asm volatile("mma.sync.aligned.m16n8k16.row.col." types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};" \
            : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) \
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[64]), "f"(c[65])); \
        out += p * 128 + at; \
        out[0] = d[0]; out[1] = d[1]; out[64] = d[2]; out[65] = d[3]; \
    }
MMA_16(mma_f16, "f32.f16.f16.f32")
MMA_16(mma_bf16, "f32.bf16.bf16.f32")

// the result in halves, and by stmatrix to memory
K mma_half(const unsigned short *in_a, const unsigned short *in_b, unsigned short *out)
{
    __shared__ alignas(16) unsigned short sa[256], sb[128], sd[128], st[128];
    int lane = threadIdx.x;
    unsigned a[4], b[2], d[2];
    for (int k = lane; k < 256; k += 32) sa[k] = in_a[k];
    for (int k = lane; k < 128; k += 32) sb[k] = in_b[k];
    __syncwarp();
    LDMATRIX_A(a, sa);
    LDMATRIX_B(b, sb);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %8};"
        : "=r"(d[0]), "=r"(d[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(0x3c003c00));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
        : : "r"(offset(sd + lane % 16 * 8)), "r"(d[0]), "r"(d[1]) : "memory");
    // transposed: by the instruction and, its first half, between registers
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
        : : "r"(offset(st + lane % 16 * 8)), "r"(d[0]), "r"(d[1]) : "memory");
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(d[0]));
    __syncwarp();
    for (int k = lane; k < 128; k += 32) out[k] = sd[k], out[128 + k] = st[k];
    ((unsigned *)(out + 256))[lane] = d[0];
}

// A: 16 rows of 32 bytes, B: 8 columns of 32 bytes
K mma_bytes(const unsigned *in_a, const unsigned *in_b, int *out)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[4] = { in_a[g * 8 + t], in_a[(g + 8) * 8 + t], in_a[g * 8 + t + 4], in_a[(g + 8) * 8 + t + 4] };
    unsigned b[2] = { in_b[g * 8 + t], in_b[g * 8 + t + 4] };
    int d[4];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(5));
    for (int k = 0; k < 4; k++) out[(g + k / 2 * 8) * 8 + t * 2 + k % 2] = d[k];
    asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %4};"
        : "=r"(d[0]), "=r"(d[1]) : "r"(in_a[g * 8 + t]), "r"(in_b[g * 8 + t]), "r"(2147480000));
    for (int k = 0; k < 2; k++) out[128 + g * 8 + t * 2 + k] = d[k];
}

// the same with floats of 8 bits
K mma_quarters(const unsigned *in_a, const unsigned *in_b, float *out)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned a[4] = { in_a[g * 8 + t], in_a[(g + 8) * 8 + t], in_a[g * 8 + t + 4], in_a[(g + 8) * 8 + t + 4] };
    unsigned b[2] = { in_b[g * 8 + t], in_b[g * 8 + t + 4] };
    float d[4];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(5.f));
    for (int k = 0; k < 4; k++) out[(g + k / 2 * 8) * 8 + t * 2 + k % 2] = d[k];
}

// A: 16 x 8 in rows, B: 8 x 8 in columns
K mma_tf32(const unsigned *in_a, const unsigned *in_b, float *out)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    float d[4];
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(in_a[g * 8 + t]), "r"(in_a[(g + 8) * 8 + t]), "r"(in_a[g * 8 + t + 4]), "r"(in_a[(g + 8) * 8 + t + 4]),
          "r"(in_b[g * 8 + t]), "r"(in_b[g * 8 + t + 4]), "f"(.5f));
    for (int k = 0; k < 4; k++) out[(g + k / 2 * 8) * 8 + t * 2 + k % 2] = d[k];
}

K mma_f64(const double *in_a, const double *in_b, double *out)
{
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    double d[2];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %4};"
        : "=d"(d[0]), "=d"(d[1]) : "d"(in_a[g * 4 + t]), "d"(in_b[g * 4 + t]), "d"(.25));
    for (int k = 0; k < 2; k++) out[g * 8 + t * 2 + k] = d[k];
}

// ---- wmma: A of M x KK, B of KK x N, all of it in shared memory or global

using namespace nvcuda;
#define WMMA(name, M, N, KK, T, ACC, ELEMENT, la, lb, lc, TWICE) \
    K name(const ELEMENT *a, const ELEMENT *b, const ACC *c, ACC *d) \
    { \
        __shared__ alignas(32) ACC s[M * N]; \
        wmma::fragment<wmma::matrix_a, M, N, KK, T, wmma::la> fa; \
        wmma::fragment<wmma::matrix_b, M, N, KK, T, wmma::lb> fb; \
        wmma::fragment<wmma::accumulator, M, N, KK, ACC> fc, fd; \
        bool ra = wmma_rows<wmma::la>(), rb = wmma_rows<wmma::lb>(); \
        wmma::load_matrix_sync(fa, a, ra ? KK : M); \
        wmma::load_matrix_sync(fb, b, rb ? N : KK); \
        wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major); \
        if (TWICE) for (int k = 0; k < fa.num_elements; k++) fa.x[k] = fa.x[k] + fa.x[k]; \
        wmma::mma_sync(fd, fa, fb, fc); \
        for (int k = 0; k < fd.num_elements; k++) fd.x[k] = fd.x[k] + (ACC)1; \
        wmma::store_matrix_sync(s, fd, wmma::lc == wmma::mem_row_major ? N : M, wmma::lc); \
        __syncwarp(); \
        for (int k = threadIdx.x; k < M * N; k += 32) d[k] = s[k]; \
    }
template <class L> __device__ bool wmma_rows();
template <> __device__ bool wmma_rows<wmma::row_major>() { return true; }
template <> __device__ bool wmma_rows<wmma::col_major>() { return false; }
WMMA(wmma_f16, 16, 16, 16, __half, float, __half, row_major, col_major, mem_row_major, true)
WMMA(wmma_f16_wide, 8, 32, 16, __half, float, __half, col_major, row_major, mem_col_major, true)
WMMA(wmma_f16_tall, 32, 8, 16, __half, __half, __half, row_major, row_major, mem_row_major, false)
WMMA(wmma_bf16, 16, 16, 16, __nv_bfloat16, float, __nv_bfloat16, row_major, row_major, mem_row_major, false)
WMMA(wmma_s8, 16, 16, 16, signed char, int, signed char, row_major, col_major, mem_col_major, false)
WMMA(wmma_u8, 32, 8, 16, unsigned char, int, unsigned char, col_major, col_major, mem_row_major, false)
WMMA(wmma_tf32, 16, 16, 8, wmma::precision::tf32, float, float, row_major, col_major, mem_row_major, false)
WMMA(wmma_f64, 8, 8, 4, double, double, double, row_major, col_major, mem_row_major, false)
