// Textures and surfaces of a program that nvcc compiled: what kernels read and write through them, against the CPU.
#include "nvcc_check.h"

#include <cmath>
#include <cstring>

enum { WIDTH = 16, HEIGHT = 6, DEPTH = 4, COUNT = 64 };
static float *out; /* managed */

static __global__ void fetch1(cudaTextureObject_t t, float *out)
{
    const int k = threadIdx.x;
    out[k] = tex1Dfetch<float>(t, k - 4);
}
static __global__ void read1(cudaTextureObject_t t, float *out, float from, float step)
{
    out[threadIdx.x] = tex1D<float>(t, from + step * threadIdx.x);
}
static __global__ void read2(cudaTextureObject_t t, float4 *out, float x, float y, float step)
{
    out[threadIdx.x] = tex2D<float4>(t, x + step * threadIdx.x, y);
}
static __global__ void integers(cudaTextureObject_t t, uchar4 *out)
{
    out[threadIdx.x] = tex2D<uchar4>(t, threadIdx.x + 0.5f, 2.5f);
}
static __global__ void read3(cudaTextureObject_t t, float *out, float x, float y, float z)
{
    *out = tex3D<float>(t, x, y, z);
}
static __global__ void layers(cudaTextureObject_t t, float *out, float x, float y)
{
    out[threadIdx.x] = tex2DLayered<float>(t, x, y, (int)threadIdx.x - 1);
}
static __global__ void write2(cudaSurfaceObject_t s)
{
    surf2Dwrite(make_uchar4(threadIdx.x, threadIdx.y, 7, 9), s, threadIdx.x * 4, threadIdx.y);
}
static __global__ void outside(cudaSurfaceObject_t s, uchar4 *out)
{
    out[0] = surf2Dread<uchar4>(s, -4, 1, cudaBoundaryModeZero);
    out[1] = surf2Dread<uchar4>(s, -4, 1, cudaBoundaryModeClamp);
    surf2Dwrite(make_uchar4(1, 1, 1, 1), s, 0, HEIGHT, cudaBoundaryModeZero);
}
static __global__ void write3(cudaSurfaceObject_t s)
{
    surf3Dwrite((float)(threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x), s, threadIdx.x * 4, threadIdx.y, threadIdx.z);
}
static __global__ void trap(cudaSurfaceObject_t s) { surf2Dwrite(make_uchar4(1, 1, 1, 1), s, 0, 1000); }

static cudaTextureObject_t make(const cudaResourceDesc &r, cudaTextureFilterMode filter, cudaTextureReadMode read,
                                bool normalized, cudaTextureAddressMode mode)
{
    cudaTextureDesc d;
    cudaTextureObject_t t = 0;
    memset(&d, 0, sizeof d);
    for (int k = 0; k < 3; k++) d.addressMode[k] = mode;
    d.filterMode = filter;
    d.readMode = read;
    d.normalizedCoords = normalized;
    d.borderColor[0] = 77;
    OK(cudaCreateTextureObject(&t, &r, &d, NULL));
    EXPECT(t);
    return t;
}

static cudaResourceDesc of_array(cudaArray_t a)
{
    cudaResourceDesc r;
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    return r;
}

static void memory_without_rows_is_zero_outside()
{
    float host[COUNT], *device;
    cudaResourceDesc r;
    for (int k = 0; k < COUNT; k++) host[k] = k + 1.0f;
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = device;
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = sizeof host;
    cudaTextureObject_t t = make(r, cudaFilterModePoint, cudaReadModeElementType, false, cudaAddressModeClamp);
    fetch1<<<1, COUNT + 8>>>(t, out);
    OK(cudaDeviceSynchronize());
    for (int k = 0; k < COUNT + 8; k++) EXPECT(out[k] == (k < 4 || k >= COUNT + 4 ? 0.0f : k - 3.0f));
    OK(cudaDestroyTextureObject(t));
    OK(cudaFree(device));
}

/* What lies at a coordinate outside, in elements. */
static int index_of(int i, cudaTextureAddressMode mode)
{
    const int m = ((i % (2 * WIDTH)) + 2 * WIDTH) % (2 * WIDTH);
    switch (mode) {
    case cudaAddressModeWrap: return m % WIDTH;
    case cudaAddressModeMirror: return m < WIDTH ? m : 2 * WIDTH - 1 - m;
    case cudaAddressModeBorder: return i < 0 || i >= WIDTH ? -1 : i;
    default: return i < 0 ? 0 : i >= WIDTH ? WIDTH - 1 : i;
    }
}

static void coordinates_outside_and_between()
{
    float host[WIDTH];
    cudaArray_t a;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    for (int k = 0; k < WIDTH; k++) host[k] = k * k + 3.0f;
    OK(cudaMallocArray(&a, &format, WIDTH, 0));
    OK(cudaMemcpy2DToArray(a, 0, 0, host, sizeof host, sizeof host, 1, cudaMemcpyHostToDevice));
    for (int m = cudaAddressModeWrap; m <= cudaAddressModeBorder; m++)
        for (int filter = 0; filter < 2; filter++) {
            const cudaTextureAddressMode mode = (cudaTextureAddressMode)m;
            cudaTextureObject_t t = make(of_array(a), (cudaTextureFilterMode)filter, cudaReadModeElementType, true, mode);
            read1<<<1, 64>>>(t, out, -1.75f, 1.0f / 16);
            OK(cudaDeviceSynchronize());
            for (int k = 0; k < 64; k++) {
                const float x = (-1.75f + k / 16.0f) * WIDTH - (filter ? 0.5f : 0.0f), low = floorf(x), up = x - low;
                const int i = index_of((int)low, mode), j = index_of((int)low + 1, mode);
                const float first = i < 0 ? 77 : host[i], second = j < 0 ? 77 : host[j];
                /* the row beside the only one is a border, too, and has half of what filters give (observed on H200) */
                const int parts = (int)(up * 256), far = (parts * 128 + 128) >> 8;
                const float half = ((128 - parts + far) * first + (parts - far) * second + 128 * 77) / 256;
                const float whole = m == cudaAddressModeBorder ? half : first * (1 - up) + second * up;
                EXPECT(out[k] == (filter ? whole : first));
            }
            OK(cudaDestroyTextureObject(t));
        }
    OK(cudaFreeArray(a));
}

static void integers_are_fractions_or_themselves()
{
    static uchar4 host[HEIGHT][WIDTH];
    cudaArray_t a;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) host[y][x] = make_uchar4(x * 10, y * 20, 255, x + y);
    OK(cudaMallocArray(&a, &format, WIDTH, HEIGHT));
    OK(cudaMemcpy2DToArray(a, 0, 0, host, sizeof host[0], sizeof host[0], HEIGHT, cudaMemcpyHostToDevice));
    cudaTextureObject_t t = make(of_array(a), cudaFilterModePoint, cudaReadModeElementType, false, cudaAddressModeClamp);
    integers<<<1, WIDTH>>>(t, (uchar4 *)out);
    OK(cudaDeviceSynchronize());
    EXPECT(!memcmp(out, host[2], sizeof host[2]));
    OK(cudaDestroyTextureObject(t));
    t = make(of_array(a), cudaFilterModeLinear, cudaReadModeNormalizedFloat, false, cudaAddressModeClamp);
    read2<<<1, WIDTH - 1>>>(t, (float4 *)out, 1.0f, 3.0f, 1.0f);
    OK(cudaDeviceSynchronize());
    for (int k = 0; k < WIDTH - 1; k++) {
        const float4 v = ((float4 *)out)[k];
        EXPECT(fabsf(v.x - (k * 10 + 5) / 255.0f) < 1e-6f && fabsf(v.y - 50 / 255.0f) < 1e-6f && v.z == 1.0f);
    }
    OK(cudaDestroyTextureObject(t));
    OK(cudaFreeArray(a));
}

static void volumes_and_layers()
{
    static float host[DEPTH][HEIGHT][WIDTH];
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    for (int z = 0; z < DEPTH; z++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) host[z][y][x] = z * 100 + y * 10 + x;
    for (int layered = 0; layered < 2; layered++) {
        cudaArray_t a;
        cudaMemcpy3DParms c = {};
        OK(cudaMalloc3DArray(&a, &format, make_cudaExtent(WIDTH, HEIGHT, DEPTH), layered ? cudaArrayLayered : 0));
        c.srcPtr = make_cudaPitchedPtr(host, sizeof host[0][0], WIDTH, HEIGHT);
        c.dstArray = a;
        c.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
        c.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&c));
        cudaTextureObject_t t = make(of_array(a), cudaFilterModeLinear, cudaReadModeElementType, false, cudaAddressModeClamp);
        if (layered)
            layers<<<1, DEPTH + 2>>>(t, out, 2.5f, 3.0f);
        else
            read3<<<1, 1>>>(t, out, 4.25f, 2.5f, 1.75f);
        OK(cudaDeviceSynchronize());
        if (!layered) EXPECT(out[0] == 125 + 20 + 3.75f);
        for (int k = 0; layered && k < DEPTH + 2; k++)
            EXPECT(out[k] == (k < 1 || k > DEPTH ? DEPTH - 1 : k - 1) * 100 + 25 + 2); /* one before the first is the last */
        OK(cudaDestroyTextureObject(t));
        OK(cudaFreeArray(a));
    }
}

static cudaSurfaceObject_t make_surface(cudaArray_t a)
{
    cudaSurfaceObject_t s = 0;
    cudaResourceDesc r = of_array(a);
    OK(cudaCreateSurfaceObject(&s, &r));
    return s;
}

static void surfaces_are_written_and_read()
{
    static uchar4 back[HEIGHT][WIDTH];
    static float volume[DEPTH][HEIGHT][WIDTH];
    cudaArray_t a, b;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>(), floats = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&a, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    cudaSurfaceObject_t s = make_surface(a);
    write2<<<1, dim3(WIDTH, HEIGHT)>>>(s);
    OK(cudaMemcpy2DFromArray(back, sizeof back[0], a, 0, 0, sizeof back[0], HEIGHT, cudaMemcpyDeviceToHost));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            EXPECT(back[y][x].x == x && back[y][x].y == y && back[y][x].z == 7 && back[y][x].w == 9);
    outside<<<1, 1>>>(s, (uchar4 *)out);
    OK(cudaDeviceSynchronize());
    const uchar4 *seen = (uchar4 *)out;
    EXPECT(seen[0].x == 0 && seen[0].w == 0 && seen[1].x == 0 && seen[1].y == 1 && seen[1].w == 9);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaMalloc3DArray(&b, &floats, make_cudaExtent(WIDTH, HEIGHT, DEPTH), cudaArraySurfaceLoadStore));
    s = make_surface(b);
    write3<<<1, dim3(WIDTH, HEIGHT, DEPTH)>>>(s);
    cudaMemcpy3DParms c = {};
    c.srcArray = b;
    c.dstPtr = make_cudaPitchedPtr(volume, sizeof volume[0][0], WIDTH, HEIGHT);
    c.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    c.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&c));
    EXPECT(volume[3][4][5] == 345 && volume[1][5][15] == 165);
    OK(cudaDestroySurfaceObject(s));
    OK(cudaFreeArray(b));
    s = make_surface(a);
    trap<<<1, 1>>>(s);
    ANSWERS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

int main()
{
    OK(cudaMallocManaged(&out, 4096));
    memory_without_rows_is_zero_outside();
    coordinates_outside_and_between();
    integers_are_fractions_or_themselves();
    volumes_and_layers();
    surfaces_are_written_and_read();
    return 0;
}
