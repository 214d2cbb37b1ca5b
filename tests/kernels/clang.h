// What kernels.cu uses of CUDA C++, for clang without a CUDA installation:
//   clang -x cuda --cuda-device-only -nocudainc -nocudalib -S kernels.cu
#ifndef PROGRAMS_CLANG_H
#define PROGRAMS_CLANG_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
#include <__clang_cuda_builtin_vars.h>

typedef unsigned long size_t;
extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ void *malloc(size_t);
extern "C" __device__ void free(void *);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char *, const char *, unsigned, const char *,
                                                                  size_t);
#define assert(c) ((c) ? (void)0 : __assertfail(#c, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))

#define DEVICE static __inline__ __device__ __attribute__((always_inline))
DEVICE float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
DEVICE float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
DEVICE float __fsub_rn(float a, float b) { return __nvvm_add_rn_f(a, -b); }
DEVICE void __threadfence() { __nvvm_membar_gl(); }
DEVICE void __threadfence_system() { __nvvm_membar_sys(); }
DEVICE int __popc(unsigned v) { return __builtin_popcount(v); }
DEVICE int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
DEVICE unsigned atomicAdd(unsigned *p, unsigned v) { return (unsigned)__nvvm_atom_add_gen_i((int *)p, (int)v); }
DEVICE int atomicCAS(int *p, int was, int is) { return __nvvm_atom_cas_gen_i(p, was, is); }
DEVICE unsigned long long atomicCAS(unsigned long long *p, unsigned long long was, unsigned long long is)
{
    return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)p, (long long)was, (long long)is);
}
DEVICE int atomicExch(int *p, int v) { return __nvvm_atom_xchg_gen_i(p, v); }

#define SHUFFLE(name, mode, clamp) \
    DEVICE int name(unsigned mask, int v, int by) \
    { \
        int r; \
        asm volatile("shfl.sync." mode ".b32 %0, %1, %2, " clamp ", %3;" \
                     : "=r"(r) \
                     : "r"(v), "r"(by), "r"(mask) \
                     : "memory"); \
        return r; \
    }
SHUFFLE(__shfl_sync, "idx", "31")
SHUFFLE(__shfl_up_sync, "up", "0")

DEVICE unsigned __ballot_sync(unsigned mask, int p)
{
    unsigned r;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(r)
                 : "r"(p), "r"(mask)
                 : "memory");
    return r;
}
DEVICE unsigned __activemask()
{
    unsigned r;
    asm volatile("activemask.b32 %0;" : "=r"(r) : : "memory");
    return r;
}
DEVICE unsigned __match_any_sync(unsigned mask, unsigned v)
{
    unsigned r;
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(v), "r"(mask) : "memory");
    return r;
}
DEVICE int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }

#endif
