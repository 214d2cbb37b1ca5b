/* Driver entry point access: from a name and a CUDA version to a function. */
#include "api/api.h"
#include "base/driver_version.h"
#include "base/log.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *key, const void *element)
{
    return strcmp(key, ((const struct entry_point *)element)->name);
}

/* The oldest ABI version of the entry point, or NULL. */
static const struct entry_point *find(const char *name)
{
    const struct entry_point *e = bsearch(name, entry_points, entry_point_count, sizeof *e, by_name);
    while (e && e > entry_points && !strcmp(e[-1].name, name)) e--;
    return e;
}

/* The newest function that version knows, or if wanted its per-thread variant: what has one has nothing older for that
 * (observed on H200). */
static void *select_version(const struct entry_point *first, int version, bool per_thread)
{
    void *plain = NULL, *variant = NULL;
    bool varies = false;
    for (const struct entry_point *e = first; e < entry_points + entry_point_count && !strcmp(e->name, first->name);
         e++) {
        varies = varies || e->per_thread;
        if (e->since > version) continue;
        plain = e->function;
        variant = e->per_thread && e->since_per_thread <= version ? e->per_thread : NULL;
        if (!e->implemented)
            fl_log(FL_LOG_DEBUG, "cuGetProcAddress: %s of CUDA %d is not implemented", e->name, e->since);
    }
    return per_thread && varies ? variant : plain;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *symbolStatus)
{
    const cuuint64_t known = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!symbol || !pfn || cudaVersion > driver_version() || flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    const struct entry_point *e = find(symbol);
    *pfn = e ? select_version(e, cudaVersion, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) : NULL;
    if (symbolStatus)
        *symbolStatus = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS
                        : e  ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                             : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

/* CUDA 11's form has no status to report through. */
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUresult r = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
    return r ? r : *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* NVRTC and nvJitLink ask for this table to keep what they compiled, and do without. */
static bool can_do_without(const CUuuid *id)
{
    static const unsigned char cache[16] = { 0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41,
                                             0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3, 0x28 };
    return !memcmp(id->bytes, cache, sizeof cache);
}

CUresult CUDAAPI cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (!ppExportTable || !pExportTableId) return CUDA_ERROR_INVALID_VALUE;
    *ppExportTable = NULL;
    const char *preloaded = getenv("LD_PRELOAD");
    if (can_do_without(pExportTableId)) return CUDA_ERROR_NOT_FOUND;
    if (preloaded && strstr(preloaded, "libfaultline-lead"))
        fl_log_once(FL_LOG_WARN,
                    "%s uses what only NVIDIA's driver has: libraries such as cuBLAS and cuFFT do, and answer with an "
                    "error here; so does a CUDA runtime of 11 or earlier that was linked in",
                    program_invocation_short_name);
    else
        fl_log_once(FL_LOG_WARN,
                    "%s uses NVIDIA's own CUDA runtime (cudaMalloc, <<<...>>>), which cannot run here. faultline run "
                    "puts another in its place, also in what the program loads and starts, unless that sets LD_PRELOAD "
                    "anew. Where it cannot, compile with nvcc -cudart shared",
                    program_invocation_short_name);
    return CUDA_ERROR_NOT_FOUND;
}
