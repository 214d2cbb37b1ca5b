/* The driver's functions by their names. */
#include "runtime/runtime.h"

/* cudaEnableDefault is how the program was compiled, which the per-thread forms tell. */
static unsigned long long streams(unsigned long long flags)
{
    if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) return CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return flags ? flags : runtime_per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0;
}

/* Not found is no error: there is no address then. */
static cudaError_t entry_point(const char *symbol, void **funcPtr, int version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *driverStatus)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    void *found = NULL;
    if (!symbol || !funcPtr) return cudaErrorInvalidValue;
    CUresult r = cuGetProcAddress_v2(symbol, &found, version, streams(flags), &status);
    if (r && status == CU_GET_PROC_ADDRESS_SUCCESS) return runtime_error(r);
    *funcPtr = status == CU_GET_PROC_ADDRESS_SUCCESS ? found : NULL;
    if (driverStatus) *driverStatus = (enum cudaDriverEntryPointQueryResult)status;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                                              enum cudaDriverEntryPointQueryResult *driverStatus)
{
    cudaError_t r = runtime_init();
    return r ? r : entry_point(symbol, funcPtr, runtime_version, flags, driverStatus);
}

cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                                       unsigned long long flags,
                                                       enum cudaDriverEntryPointQueryResult *driverStatus)
{
    int newest;
    cudaError_t r = runtime_init();
    if (!r) r = runtime_error(cuDriverGetVersion(&newest));
    if (r) return r;
    if (cudaVersion > (unsigned)newest) return cudaErrorInvalidValue;
    return entry_point(symbol, funcPtr, (int)cudaVersion, flags, driverStatus);
}

cudaError_t CUDARTAPI cudaGetExportTable(const void **ppExportTable, const cudaUUID_t *pExportTableId)
{
    cudaError_t r = runtime_init();
    if (r) return r;
    return cuGetExportTable(ppExportTable, (const CUuuid *)pExportTableId) ? cudaErrorInvalidValue : cudaSuccess;
}
