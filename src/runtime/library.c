/* Libraries: code that is loaded while the program runs. */
#include "runtime/runtime.h"

/* The options have the driver's numbers. */
cudaError_t CUDARTAPI cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jitOptions,
                                          void **jitOptionsValues, unsigned int numJitOptions,
                                          enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                                          unsigned int numLibraryOptions)
{
    cudaError_t r = runtime_init();
    return r ? r
             : runtime_error(cuLibraryLoadData(library, code, (CUjit_option *)jitOptions, jitOptionsValues,
                                               numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues,
                                               numLibraryOptions));
}

cudaError_t CUDARTAPI cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                              enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                              unsigned int numJitOptions, enum cudaLibraryOption *libraryOptions,
                                              void **libraryOptionValues, unsigned int numLibraryOptions)
{
    cudaError_t r = runtime_init();
    return r ? r
             : runtime_error(cuLibraryLoadFromFile(library, fileName, (CUjit_option *)jitOptions, jitOptionsValues,
                                                   numJitOptions, (CUlibraryOption *)libraryOptions,
                                                   libraryOptionValues, numLibraryOptions));
}

cudaError_t CUDARTAPI cudaLibraryUnload(cudaLibrary_t library)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuLibraryUnload(library));
}

cudaError_t CUDARTAPI cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuLibraryGetKernel(pKernel, library, name));
}

cudaError_t CUDARTAPI cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuLibraryGetGlobal((CUdeviceptr *)dptr, bytes, library, name));
}

cudaError_t CUDARTAPI cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuLibraryGetManaged((CUdeviceptr *)dptr, bytes, library, name));
}

cudaError_t CUDARTAPI cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuLibraryGetUnifiedFunction(fptr, library, symbol));
}

cudaError_t CUDARTAPI cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuLibraryGetKernelCount(count, lib));
}

cudaError_t CUDARTAPI cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels, cudaLibrary_t lib)
{
    cudaError_t r = runtime_ready();
    return r ? r : runtime_error(cuLibraryEnumerateKernels(kernels, numKernels, lib));
}
