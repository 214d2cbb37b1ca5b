/* LTO IR. Its format is NVIDIA's own; but their nvJitLink, which needs no GPU, makes
 * PTX of it. */
#include "nvjitlink/nvidia.h"
#include "nvjitlink/nvjitlink.h"

#include <stdlib.h>
#include <string.h>

/* What NVIDIA's says goes to the program's log. */
static void copy_log(struct nvJitLink *l, const struct nvidia *n, nvJitLinkHandle handle)
{
    size_t size = 0;
    char *text = !n->log_size(handle, &size) && size ? calloc(1, size + 1) : NULL;
    if (text && !n->log(handle, text)) fputs(text, l->errors.file);
    free(text);
}

static nvJitLinkResult take_ptx(struct nvJitLink *l, const struct nvidia *n, nvJitLinkHandle handle)
{
    size_t size;
    nvJitLinkResult r = n->ptx_size(handle, &size);
    if (r) return r;
    char *text = calloc(1, size + 1);
    if (!text) return NVJITLINK_ERROR_INTERNAL;
    if (!(r = n->ptx(handle, text))) r = link_piece(l, text, "ltoPtx", false);
    free(text);
    return r;
}

/* The program's options, and -ptx. */
static nvJitLinkResult create(struct nvJitLink *l, const struct nvidia *n, nvJitLinkHandle *handle)
{
    const char **options = calloc(l->narguments + 1ul, sizeof *options);
    if (!options) return NVJITLINK_ERROR_INTERNAL;
    uint32_t count = 0;
    for (uint32_t k = 0; k < l->narguments; k++)
        if (strcmp(l->arguments[k], "-ptx") && strcmp(l->arguments[k], "-r")) options[count++] = l->arguments[k];
    options[count++] = "-ptx";
    nvJitLinkResult r = n->create(handle, count, options);
    free(options);
    return r;
}

nvJitLinkResult link_ltoir(struct nvJitLink *l)
{
    struct nvidia n;
    nvJitLinkHandle handle = NULL;
    if (!l->ltoir.n) {
        fputs("ERROR NVVM_ERROR_NO_MODULE_IN_PROGRAM (8) in nvvmCompileProgram callback\n", l->errors.file);
        return NVJITLINK_ERROR_NVVM_COMPILE;
    }
    if (l->options.ptx && l->npieces) {
        fputs("ERROR: -ptx requires that all inputs have LTOIR\n", l->errors.file);
        return NVJITLINK_ERROR_INCORRECT_INPUT_TYPE;
    }
    if (!nvidia_get(&n)) {
        fputs("ERROR: LTO IR can be linked only where NVIDIA's libnvJitLink.so.13 is, too\n", l->errors.file);
        return NVJITLINK_ERROR_NVVM_COMPILE;
    }
    nvJitLinkResult r = create(l, &n, &handle);
    for (unsigned k = 0; k < l->ltoir.n && !r; k++) {
        const struct link_input *in = &l->ltoir.all[k];
        r = n.add_data(handle, in->type, in->data, in->size, in->name);
    }
    if (!r) r = n.complete(handle);
    if (!r) r = take_ptx(l, &n, handle);
    if (handle) {
        copy_log(l, &n, handle);
        n.destroy(&handle);
    }
    return r;
}
