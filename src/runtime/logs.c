/* The driver's messages about errors. */
#include "runtime/runtime.h"

cudaError_t CUDARTAPI cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData,
                                               cudaLogsCallbackHandle *callback_out)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuLogsRegisterCallback((CUlogsCallback)callbackFunc, userData, callback_out));
}

cudaError_t CUDARTAPI cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuLogsUnregisterCallback(callback));
}

cudaError_t CUDARTAPI cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuLogsCurrent(iterator_out, flags));
}

cudaError_t CUDARTAPI cudaLogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile, unsigned int flags)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuLogsDumpToFile(iterator, pathToFile, flags));
}

cudaError_t CUDARTAPI cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    cudaError_t r = runtime_init();
    return r ? r : runtime_error(cuLogsDumpToMemory(iterator, buffer, size, flags));
}
