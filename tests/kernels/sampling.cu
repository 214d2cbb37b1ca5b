// Textures at levels, with gradients, gathered from and asked about; surfaces byte by byte. sampling.c has what is to come out.
// nvcc -arch=compute_75 -ptx sampling.cu -o sampling.ptx
extern "C" __global__ void level_2d(cudaTextureObject_t t, const float4 *at, float4 *out)
{
    const float4 p = at[threadIdx.x];
    out[threadIdx.x] = tex2DLod<float4>(t, p.x, p.y, p.z);
}
extern "C" __global__ void gradient_2d(cudaTextureObject_t t, const float4 *at, float4 *out)
{
    const float4 p = at[threadIdx.x];
    out[threadIdx.x] = tex2DGrad<float4>(t, p.x, p.y, make_float2(p.z, 0), make_float2(0, p.w));
}
extern "C" __global__ void level_1d_layered(cudaTextureObject_t t, const float4 *at, float4 *out)
{
    const float4 p = at[threadIdx.x];
    out[threadIdx.x] = tex1DLayeredLod<float4>(t, p.x, (int)p.y, p.z);
}
extern "C" __global__ void level_3d(cudaTextureObject_t t, const float4 *at, float4 *out)
{
    const float4 p = at[threadIdx.x];
    out[threadIdx.x] = tex3DLod<float4>(t, p.x, p.y, p.z, p.w);
}
extern "C" __global__ void gathered(cudaTextureObject_t t, const float4 *at, float4 *out)
{
    const float4 p = at[threadIdx.x];
    out[threadIdx.x * 2] = tex2Dgather<float4>(t, p.x, p.y, 0);
    out[threadIdx.x * 2 + 1] = tex2Dgather<float4>(t, p.x, p.y, 3);
}
extern "C" __global__ void signed_2d(cudaTextureObject_t t, const float4 *at, int4 *out)
{
    bool there;
    const char4 v = tex2D<char4>(t, at[threadIdx.x].x, at[threadIdx.x].y, &there);
    out[threadIdx.x] = make_int4(v.x, v.y, v.z, there ? v.w : 1000);
}
extern "C" __global__ void asked(cudaTextureObject_t t, cudaSurfaceObject_t s, int *out)
{
    asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
    asm("txq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
    asm("txq.array_size.b32 %0, [%1];" : "=r"(out[2]) : "l"(t));
    asm("txq.num_mipmap_levels.b32 %0, [%1];" : "=r"(out[3]) : "l"(t));
    asm("txq.normalized_coords.b32 %0, [%1];" : "=r"(out[4]) : "l"(t));
    asm("suq.width.b32 %0, [%1];" : "=r"(out[5]) : "l"(s));
    asm("suq.height.b32 %0, [%1];" : "=r"(out[6]) : "l"(s));
}
// Each thread moves 1, 2, 4, 8 and 16 bytes from one row to the next.
extern "C" __global__ void widths(cudaSurfaceObject_t s)
{
    const int k = threadIdx.x;
    surf2Dwrite(surf2Dread<unsigned char>(s, k, 0), s, k, 1);
    __syncthreads();
    surf2Dwrite(surf2Dread<ushort2>(s, k * 4, 1), s, k * 4, 2);
    __syncthreads();
    surf2Dwrite(surf2Dread<unsigned>(s, k * 4, 2, cudaBoundaryModeZero), s, k * 4, 3, cudaBoundaryModeZero);
    __syncthreads();
    if (k < 8) surf2Dwrite(surf2Dread<ulonglong2>(s, k * 16, 3), s, k * 16, 4);
    __syncthreads();
    if (k < 16) surf2Dwrite(surf2Dread<unsigned long long>(s, k * 8, 4), s, k * 8, 5);
}
extern "C" __global__ void write_layer(cudaSurfaceObject_t s, int x, int y, int layer)
{
    surf2DLayeredwrite(5, s, x, y, layer);
}
extern "C" __global__ void write_layer_or_not(cudaSurfaceObject_t s, int x, int y, int layer)
{
    surf2DLayeredwrite(5, s, x, y, layer, cudaBoundaryModeZero);
}
