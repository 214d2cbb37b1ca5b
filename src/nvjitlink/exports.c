/* The names that libnvJitLink.so.13 exports: those of the manual, and for each minor version
 * of CUDA those that its header calls. They are all the same. */
#include "nvjitlink/nvjitlink.h"

#define EXPORT __attribute__((visibility("default")))
#define VERSIONED(name, minor, parameters, arguments, function) \
    EXPORT nvJitLinkResult __##name##_13_##minor parameters; \
    nvJitLinkResult __##name##_13_##minor parameters { return function arguments; }
#define EXPORTED(name, parameters, arguments, function) \
    EXPORT nvJitLinkResult name parameters { return function arguments; } \
    VERSIONED(name, 0, parameters, arguments, function) \
    VERSIONED(name, 1, parameters, arguments, function) \
    VERSIONED(name, 2, parameters, arguments, function) \
    VERSIONED(name, 3, parameters, arguments, function) \
    VERSIONED(name, 4, parameters, arguments, function) \
    VERSIONED(name, 5, parameters, arguments, function) \
    VERSIONED(name, 6, parameters, arguments, function) \
    VERSIONED(name, 7, parameters, arguments, function) \
    VERSIONED(name, 8, parameters, arguments, function) \
    VERSIONED(name, 9, parameters, arguments, function)

EXPORTED(nvJitLinkCreate, (nvJitLinkHandle * handle, uint32_t n, const char **options), (handle, n, options),
         link_create)
EXPORTED(nvJitLinkDestroy, (nvJitLinkHandle * handle), (handle), link_destroy)
EXPORTED(nvJitLinkAddData,
         (nvJitLinkHandle l, nvJitLinkInputType type, const void *data, size_t size, const char *name),
         (l, type, data, size, name), link_add_data)
EXPORTED(nvJitLinkAddFile, (nvJitLinkHandle l, nvJitLinkInputType type, const char *path), (l, type, path),
         link_add_file)
EXPORTED(nvJitLinkComplete, (nvJitLinkHandle l), (l), link_complete)
EXPORTED(nvJitLinkGetLinkedCubinSize, (nvJitLinkHandle l, size_t *size), (l, size), link_cubin_size)
EXPORTED(nvJitLinkGetLinkedCubin, (nvJitLinkHandle l, void *to), (l, to), link_cubin)
EXPORTED(nvJitLinkGetLinkedPtxSize, (nvJitLinkHandle l, size_t *size), (l, size), link_ptx_size)
EXPORTED(nvJitLinkGetLinkedPtx, (nvJitLinkHandle l, char *to), (l, to), link_ptx)
EXPORTED(nvJitLinkGetLinkedLTOIRSize, (nvJitLinkHandle l, size_t *size), (l, size), link_ltoir_size)
EXPORTED(nvJitLinkGetLinkedLTOIR, (nvJitLinkHandle l, void *to), (l, to), link_get_ltoir)
EXPORTED(nvJitLinkGetErrorLogSize, (nvJitLinkHandle l, size_t *size), (l, size), link_error_log_size)
EXPORTED(nvJitLinkGetErrorLog, (nvJitLinkHandle l, char *to), (l, to), link_error_log)
EXPORTED(nvJitLinkGetInfoLogSize, (nvJitLinkHandle l, size_t *size), (l, size), link_info_log_size)
EXPORTED(nvJitLinkGetInfoLog, (nvJitLinkHandle l, char *to), (l, to), link_info_log)

EXPORT nvJitLinkResult nvJitLinkVersion(unsigned int *major, unsigned int *minor)
{
    if (!major || !minor) return NVJITLINK_ERROR_NULL_INPUT;
    *major = 13;
    *minor = 0;
    return NVJITLINK_SUCCESS;
}
