// The little of CUDA C that kernels here need, for Debian's clang:
//   clang -x cuda --cuda-device-only -nocudainc -nocudalib -S kernels.cu
#ifndef CUDA_BUILTINS_H
#define CUDA_BUILTINS_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define KERNEL extern "C" __global__ void
#define DEVICE static __inline__ __device__ __attribute__((always_inline))

DEVICE unsigned tid_x() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE unsigned tid_y() { return __nvvm_read_ptx_sreg_tid_y(); }
DEVICE unsigned block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE unsigned block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
DEVICE unsigned size_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
DEVICE unsigned grid_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
DEVICE unsigned atomic_add(unsigned *p, unsigned v)
{
    unsigned old;
    asm volatile("atom.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
    return old;
}
DEVICE unsigned shuffle_down(unsigned v, unsigned by)
{
    unsigned r;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, -1;" : "=r"(r) : "r"(v), "r"(by));
    return r;
}

#endif
