/* NVIDIA's nvJitLink, where it can be called: it alone can read LTO IR. */
#ifndef FL_NVJITLINK_NVIDIA_H
#define FL_NVJITLINK_NVIDIA_H

#include <nvJitLink.h>
#include <stdbool.h>

struct nvidia {
    nvJitLinkResult (*create)(nvJitLinkHandle *, uint32_t, const char **);
    nvJitLinkResult (*destroy)(nvJitLinkHandle *);
    nvJitLinkResult (*add_data)(nvJitLinkHandle, nvJitLinkInputType, const void *, size_t, const char *);
    nvJitLinkResult (*complete)(nvJitLinkHandle);
    nvJitLinkResult (*ptx_size)(nvJitLinkHandle, size_t *);
    nvJitLinkResult (*ptx)(nvJitLinkHandle, char *);
    nvJitLinkResult (*log_size)(nvJitLinkHandle, size_t *);
    nvJitLinkResult (*log)(nvJitLinkHandle, char *);
};

/* Where the function of this name has its place; NULL: it has none. Names are without what stands for the version. */
void *nvidia_slot(struct nvidia *n, const char *name);
/* For who leads NVIDIA's entry points to ours (src/lead), from now on those of all that are loaded, and knows where their
 * code still is: it is this one, unless a function is missing. */
void nvidia_use(const struct nvidia *n);
/* The one that is used; else one that the program could load is looked for, once. false: there is none. */
bool nvidia_get(struct nvidia *n);

#endif
