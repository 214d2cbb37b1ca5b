/* The words that CUDA puts before declarations, for a compiler that is not
 * CUDA's, and the vector types: one to four numbers of a kind. Part of
 * cuda_runtime_types.h; it needs no other header. */
#ifndef __FAULTLINE_CUDA_RUNTIME_VECTOR_H__
#define __FAULTLINE_CUDA_RUNTIME_VECTOR_H__

/* ---- Words before declarations ---- */

/* Where a function runs or a variable lives: of no meaning to a compiler for the host alone */
#ifndef __host__
#define __host__
#endif
#ifndef __device__
#define __device__
#endif
#ifndef __global__
#define __global__
#endif
#ifndef __shared__
#define __shared__
#endif
#ifndef __constant__
#define __constant__
#endif
#ifndef __managed__
#define __managed__
#endif
#ifndef __grid_constant__
#define __grid_constant__
#endif

/* An alignment in bytes */
#ifdef __GNUC__
#define __align__(n)         __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __no_return__        __attribute__((noreturn))
#undef __forceinline__
#define __forceinline__      __inline__ __attribute__((always_inline))
#endif

#ifdef _WIN32
#define CUDARTAPI       __stdcall
#define CUDARTAPI_CDECL __cdecl
#define CUDART_CB       __stdcall
#else
#define CUDARTAPI       /* how functions of the runtime are called */
#define CUDARTAPI_CDECL
#define CUDART_CB       /* how they call back */
#endif
#define CUDART_DEVICE   __device__

/* ---- Vector Types ---- */
/* Those of two and four numbers are aligned to their size, up to 16 bytes; the number behind a name's 'a' is an
 * alignment, too. */

typedef struct char1 {
    signed char x;
} char1;

typedef struct __align__(2) char2 {
    signed char x, y;
} char2;

typedef struct char3 {
    signed char x, y, z;
} char3;

typedef struct __align__(4) char4 {
    signed char x, y, z, w;
} char4;

typedef struct uchar1 {
    unsigned char x;
} uchar1;

typedef struct __align__(2) uchar2 {
    unsigned char x, y;
} uchar2;

typedef struct uchar3 {
    unsigned char x, y, z;
} uchar3;

typedef struct __align__(4) uchar4 {
    unsigned char x, y, z, w;
} uchar4;

typedef struct short1 {
    short x;
} short1;

typedef struct __align__(4) short2 {
    short x, y;
} short2;

typedef struct short3 {
    short x, y, z;
} short3;

typedef struct __align__(8) short4 {
    short x, y, z, w;
} short4;

typedef struct ushort1 {
    unsigned short x;
} ushort1;

typedef struct __align__(4) ushort2 {
    unsigned short x, y;
} ushort2;

typedef struct ushort3 {
    unsigned short x, y, z;
} ushort3;

typedef struct __align__(8) ushort4 {
    unsigned short x, y, z, w;
} ushort4;

typedef struct int1 {
    int x;
} int1;

typedef struct __align__(8) int2 {
    int x, y;
} int2;

typedef struct int3 {
    int x, y, z;
} int3;

typedef struct __align__(16) int4 {
    int x, y, z, w;
} int4;

typedef struct uint1 {
    unsigned int x;
} uint1;

typedef struct __align__(8) uint2 {
    unsigned int x, y;
} uint2;

typedef struct uint3 {
    unsigned int x, y, z;
} uint3;

typedef struct __align__(16) uint4 {
    unsigned int x, y, z, w;
} uint4;

typedef struct long1 {
    long int x;
} long1;

typedef struct __align__(2 * sizeof(long int)) long2 {
    long int x, y;
} long2;

typedef struct long3 {
    long int x, y, z;
} long3;

typedef struct __align__(16) long4 {
    long int x, y, z, w;
} long4;

typedef struct __align__(16) long4_16a {
    long int x, y, z, w;
} long4_16a;

typedef struct __align__(32) long4_32a {
    long int x, y, z, w;
} long4_32a;

typedef struct ulong1 {
    unsigned long int x;
} ulong1;

typedef struct __align__(2 * sizeof(long int)) ulong2 {
    unsigned long int x, y;
} ulong2;

typedef struct ulong3 {
    unsigned long int x, y, z;
} ulong3;

typedef struct __align__(16) ulong4 {
    unsigned long int x, y, z, w;
} ulong4;

typedef struct __align__(16) ulong4_16a {
    unsigned long int x, y, z, w;
} ulong4_16a;

typedef struct __align__(32) ulong4_32a {
    unsigned long int x, y, z, w;
} ulong4_32a;

typedef struct longlong1 {
    long long int x;
} longlong1;

typedef struct __align__(16) longlong2 {
    long long int x, y;
} longlong2;

typedef struct longlong3 {
    long long int x, y, z;
} longlong3;

typedef struct __align__(16) longlong4 {
    long long int x, y, z, w;
} longlong4;

typedef struct __align__(16) longlong4_16a {
    long long int x, y, z, w;
} longlong4_16a;

typedef struct __align__(32) longlong4_32a {
    long long int x, y, z, w;
} longlong4_32a;

typedef struct ulonglong1 {
    unsigned long long int x;
} ulonglong1;

typedef struct __align__(16) ulonglong2 {
    unsigned long long int x, y;
} ulonglong2;

typedef struct ulonglong3 {
    unsigned long long int x, y, z;
} ulonglong3;

typedef struct __align__(16) ulonglong4 {
    unsigned long long int x, y, z, w;
} ulonglong4;

typedef struct __align__(16) ulonglong4_16a {
    unsigned long long int x, y, z, w;
} ulonglong4_16a;

typedef struct __align__(32) ulonglong4_32a {
    unsigned long long int x, y, z, w;
} ulonglong4_32a;

typedef struct float1 {
    float x;
} float1;

typedef struct __align__(8) float2 {
    float x, y;
} float2;

typedef struct float3 {
    float x, y, z;
} float3;

typedef struct __align__(16) float4 {
    float x, y, z, w;
} float4;

typedef struct double1 {
    double x;
} double1;

typedef struct __align__(16) double2 {
    double x, y;
} double2;

typedef struct double3 {
    double x, y, z;
} double3;

typedef struct __align__(16) double4 {
    double x, y, z, w;
} double4;

typedef struct __align__(16) double4_16a {
    double x, y, z, w;
} double4_16a;

typedef struct __align__(32) double4_32a {
    double x, y, z, w;
} double4_32a;

/* The extent of a grid in blocks or of a block in threads; what a C++ program does not say is 1 */
#ifdef __cplusplus
struct dim3 {
    unsigned int x, y, z;
#if __cplusplus >= 201103L
    constexpr dim3(unsigned int width = 1, unsigned int height = 1, unsigned int depth = 1)
        : x(width), y(height), z(depth) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3(void) const { return uint3{x, y, z}; }
#else
    dim3(unsigned int width = 1, unsigned int height = 1, unsigned int depth = 1) : x(width), y(height), z(depth) {}
    dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    operator uint3(void) const
    {
        uint3 v = {x, y, z};
        return v;
    }
#endif
};
#else
typedef struct dim3 {
    unsigned int x, y, z;
} dim3;
#endif

#endif
