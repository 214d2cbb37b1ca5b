// The kernels that bench measures; kernels.cl has the same in OpenCL C.
// Compiled by clang without a CUDA installation, so it declares what it uses.
#define GLOBAL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))
static __inline__ __attribute__((device, always_inline)) unsigned tidx() { return __nvvm_read_ptx_sreg_tid_x(); }
static __inline__ __attribute__((device, always_inline)) unsigned tidy() { return __nvvm_read_ptx_sreg_tid_y(); }
static __inline__ __attribute__((device, always_inline)) unsigned bidx() { return __nvvm_read_ptx_sreg_ctaid_x(); }
static __inline__ __attribute__((device, always_inline)) unsigned bidy() { return __nvvm_read_ptx_sreg_ctaid_y(); }
static __inline__ __attribute__((device, always_inline)) unsigned bdimx() { return __nvvm_read_ptx_sreg_ntid_x(); }

GLOBAL empty() {}

GLOBAL vector_add(const float *a, const float *b, float *c, int n)
{
    int i = bidx() * bdimx() + tidx();
    if (i < n) c[i] = a[i] + b[i];
}

// the same by fewer threads than there are numbers
GLOBAL vector_add_strides(const float *a, const float *b, float *c, int n)
{
    int all = __nvvm_read_ptx_sreg_nctaid_x() * bdimx();
    for (int i = bidx() * bdimx() + tidx(); i < n; i += all) c[i] = a[i] + b[i];
}

GLOBAL reduce(const float *in, float *out, int n)
{
    SHARED static float part[256];
    int t = tidx(), i = bidx() * 256 + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[bidx()] = part[0];
}

// counts in shared memory, of how many numbers each is the 256th part
GLOBAL histogram(const float *in, int *out, int n)
{
    SHARED static int counts[256];
    int t = tidx(), all = __nvvm_read_ptx_sreg_nctaid_x() * 256;
    counts[t] = 0;
    __syncthreads();
    for (int i = bidx() * 256 + t; i < n; i += all) __nvvm_atom_add_gen_i(&counts[(int)(in[i] * 256)], 1);
    __syncthreads();
    out[bidx() * 256 + t] = counts[t];
}

GLOBAL matmul_naive(const float *a, const float *b, float *c, int n)
{
    int x = bidx() * 16 + tidx(), y = bidy() * 16 + tidy();
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

GLOBAL matmul_tiled(const float *a, const float *b, float *c, int n)
{
    SHARED static float ta[16][16], tb[16][16];
    int tx = tidx(), ty = tidy(), x = bidx() * 16 + tx, y = bidy() * 16 + ty;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        ta[ty][tx] = a[y * n + t + tx];
        tb[ty][tx] = b[(t + ty) * n + x];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += ta[ty][k] * tb[k][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
