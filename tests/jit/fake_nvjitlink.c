/* Exports what of nvJitLink matters here. As in NVIDIA's library each entry point is a jump to the code, which reads LTO
 * IR: PTX, behind the number that such data begins with. It makes PTX of that, and machine code of nothing.
 * Compiled with -DCODE the entry points are more than jumps. */
#include <nvJitLink.h>
#include <stdlib.h>
#include <string.h>

struct nvJitLink {
    const char *text;
    unsigned ptx, lto, complete;
};

#define INSIDE static __attribute__((noipa, section("inside")))
#define EXPORT __attribute__((visibility("default"), noinline, aligned(16)))
#ifdef CODE
#define FIRST __asm__ volatile("nop")
#else
#define FIRST (void)0
#endif
#define ENTRY_POINT(name, parameters, arguments) \
    EXPORT nvJitLinkResult nvJitLink##name parameters \
    { \
        FIRST; \
        return name arguments; \
    } \
    EXPORT nvJitLinkResult __nvJitLink##name##_13_4 parameters; \
    EXPORT nvJitLinkResult __nvJitLink##name##_13_4 parameters { return name arguments; }

INSIDE nvJitLinkResult Create(nvJitLinkHandle *handle, uint32_t n, const char **options)
{
    nvJitLinkHandle l = *handle = calloc(1, sizeof *l);
    for (uint32_t k = 0; k < n; k++) {
        l->ptx |= !strcmp(options[k], "-ptx");
        l->lto |= !strcmp(options[k], "-lto");
    }
    return l->ptx && l->lto ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS;
}

INSIDE nvJitLinkResult Destroy(nvJitLinkHandle *handle)
{
    free(*handle);
    return NVJITLINK_SUCCESS;
}

INSIDE nvJitLinkResult AddData(nvJitLinkHandle l, nvJitLinkInputType type, const void *data, size_t size,
                               const char *name)
{
    if (type != NVJITLINK_INPUT_LTOIR || !name || !size) return NVJITLINK_ERROR_INVALID_INPUT;
    l->text = (const char *)data + 4;
    return NVJITLINK_SUCCESS;
}

INSIDE nvJitLinkResult Complete(nvJitLinkHandle l)
{
    l->complete = 1;
    return strstr(l->text, "wrong") ? NVJITLINK_ERROR_NVVM_COMPILE : NVJITLINK_SUCCESS;
}

INSIDE nvJitLinkResult GetLinkedPtxSize(nvJitLinkHandle l, size_t *size)
{
    *size = strlen(l->text) + 1;
    return NVJITLINK_SUCCESS;
}

INSIDE nvJitLinkResult GetLinkedPtx(nvJitLinkHandle l, char *to)
{
    strcpy(to, l->text);
    return NVJITLINK_SUCCESS;
}

INSIDE nvJitLinkResult GetErrorLogSize(nvJitLinkHandle l, size_t *size)
{
    *size = strstr(l->text, "wrong") ? sizeof "it is wrong" : 0;
    return NVJITLINK_SUCCESS;
}

INSIDE nvJitLinkResult GetErrorLog(nvJitLinkHandle l, char *to)
{
    strcpy(to, l->complete ? "it is wrong" : "");
    return NVJITLINK_SUCCESS;
}

INSIDE nvJitLinkResult GetLinkedCubinSize(nvJitLinkHandle l, size_t *size)
{
    *size = l->ptx;
    return NVJITLINK_ERROR_INTERNAL;
}

INSIDE nvJitLinkResult GetLinkedCubin(nvJitLinkHandle l, void *to)
{
    return l && to ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_ERROR_NULL_INPUT;
}

ENTRY_POINT(Create, (nvJitLinkHandle * handle, uint32_t n, const char **options), (handle, n, options))
ENTRY_POINT(Destroy, (nvJitLinkHandle * handle), (handle))
ENTRY_POINT(AddData, (nvJitLinkHandle l, nvJitLinkInputType type, const void *data, size_t size, const char *name),
            (l, type, data, size, name))
ENTRY_POINT(Complete, (nvJitLinkHandle l), (l))
ENTRY_POINT(GetLinkedPtxSize, (nvJitLinkHandle l, size_t *size), (l, size))
ENTRY_POINT(GetLinkedPtx, (nvJitLinkHandle l, char *to), (l, to))
ENTRY_POINT(GetErrorLogSize, (nvJitLinkHandle l, size_t *size), (l, size))
ENTRY_POINT(GetErrorLog, (nvJitLinkHandle l, char *to), (l, to))
ENTRY_POINT(GetLinkedCubinSize, (nvJitLinkHandle l, size_t *size), (l, size))
ENTRY_POINT(GetLinkedCubin, (nvJitLinkHandle l, void *to), (l, to))

EXPORT nvJitLinkResult nvJitLinkVersion(unsigned int *major, unsigned int *minor)
{
    *major = 13;
    *minor = 4;
    return NVJITLINK_SUCCESS;
}
