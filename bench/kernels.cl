// The kernels of kernels.cu in OpenCL C, for the comparison with PoCL.
__kernel void vector_add(__global const float *a, __global const float *b, __global float *c, int n)
{
    int i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce(__global const float *in, __global float *out, int n)
{
    __local float part[256];
    int t = get_local_id(0), i = get_global_id(0);
    part[t] = i < n ? in[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = 128; half_size > 0; half_size /= 2) {
        if (t < half_size) part[t] += part[t + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) out[get_group_id(0)] = part[0];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void histogram(__global const float *in, __global int *out, int n)
{
    __local int counts[256];
    int t = get_local_id(0), all = get_global_size(0);
    counts[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += all) atomic_inc(&counts[(int)(in[i] * 256)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_group_id(0) * 256 + t] = counts[t];
}

__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul_naive(__global const float *a, __global const float *b, __global float *c, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void matmul_tiled(__global const float *a, __global const float *b, __global float *c, int n)
{
    __local float ta[16][16], tb[16][16];
    int tx = get_local_id(0), ty = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        ta[ty][tx] = a[y * n + t + tx];
        tb[ty][tx] = b[(t + ty) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++) sum += ta[ty][k] * tb[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}
