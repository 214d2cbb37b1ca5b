/* A kernel that writes past the end of its buffer: the program hears of it as
 * it would on a GPU, and the user is told what happened. */
#include <cuda.h>
#include <stdio.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry fill(.param .u64 p)\n{\n"
                          "    .reg .b32 %i; .reg .b64 %a, %o;\n"
                          "    ld.param.u64 %a, [p];\n"
                          "    mov.u32 %i, %tid.x;\n"
                          "    mul.wide.u32 %o, %i, 4096;\n"
                          "    add.u64 %a, %a, %o;\n"
                          "    st.global.u32 [%a], %i;\n"
                          "    ret;\n}\n";

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction fill;
    CUdeviceptr p;
    const char *name = "?";
    if (cuInit(0) || cuCtxCreate(&context, NULL, 0, 0) || cuModuleLoadData(&module, ptx) ||
        cuModuleGetFunction(&fill, module, "fill") || cuMemAlloc(&p, 16 * 4096))
        return 1;
    cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, 0, (void *[]){ &p }, NULL);
    CUresult r = cuCtxSynchronize();
    cuGetErrorName(r, &name);
    printf("cuCtxSynchronize: %s\n", name);
    return r == CUDA_ERROR_ILLEGAL_ADDRESS ? 0 : 1;
}
