/* nvJitLink: links PTX, and gives the PTX where NVIDIA's gives machine code. It needs no driver. In libnvJitLink.so.13,
 * whose entry points exports.c defines, and in libfaultline-lead.so, to which src/lead leads NVIDIA's.
 *
 * A handle belongs to one thread at a time, as NVIDIA's does. Answers, and words in logs that programs may look for, are
 * those of NVIDIA's library. */
#ifndef FL_NVJITLINK_H
#define FL_NVJITLINK_H

#include "module/spare.h"
#include "ptxas/verdict.h"

#include <nvJitLink.h>
#include <stdbool.h>
#include <stdio.h>

struct log {
    FILE *file;                    /* into text */
    char *text;
    size_t size;
};

struct link_options {
    char arch[16];                 /* sm_90; empty: it was not given */
    bool lto, ptx, relocatable, verbose, debug, optimised;
};

/* Kept until the link is complete. */
struct link_input {
    char *name, *data;
    size_t size;
    nvJitLinkInputType type;
};
struct link_inputs {
    struct link_input *all;
    unsigned n;
};

struct nvJitLink {
    struct link_options options;
    char **arguments;              /* the options as they were given */
    uint32_t narguments;
    struct log errors, infos;
    char *text;                    /* of all pieces of PTX so far; NULL: none */
    struct verdict_piece *pieces;
    int npieces;
    struct link_inputs ltoir;      /* LTO IR, and fatbinaries and objects that may have some */
    struct spares spares;          /* of libraries */
    bool completed, linked;        /* linked: with success */
};

/* ---- options.c */

/* NVJITLINK_SUCCESS, or what is wrong, after a message in the handle's log. */
nvJitLinkResult link_options(struct nvJitLink *l, uint32_t n, const char *const *options);

/* ---- input.c: data becomes pieces of PTX, or LTO IR that waits */

nvJitLinkResult link_add(struct nvJitLink *l, nvJitLinkInputType type, const void *data, size_t size, const char *name);
/* Joins a piece to the text; text is changed. Compiles it first if it can stand alone and check is set. */
nvJitLinkResult link_piece(struct nvJitLink *l, char *text, const char *name, bool check);
void link_forget(struct link_inputs *inputs);

/* ---- lto.c */

/* The handle's LTO IR becomes a piece of PTX, as NVIDIA's library makes it. */
nvJitLinkResult link_ltoir(struct nvJitLink *l);

/* ---- link.c: the entry points, by their names without what stands for the version. NULL: there is none. */
void *link_entry_point(const char *name);

/* Each has an exported name, or several, in exports.c. */
nvJitLinkResult link_create(nvJitLinkHandle *handle, uint32_t n, const char **options);
nvJitLinkResult link_destroy(nvJitLinkHandle *handle);
nvJitLinkResult link_add_data(nvJitLinkHandle l, nvJitLinkInputType type, const void *data, size_t size,
                              const char *name);
nvJitLinkResult link_add_file(nvJitLinkHandle l, nvJitLinkInputType type, const char *path);
nvJitLinkResult link_complete(nvJitLinkHandle l);
nvJitLinkResult link_cubin_size(nvJitLinkHandle l, size_t *size);
nvJitLinkResult link_cubin(nvJitLinkHandle l, void *to);
nvJitLinkResult link_ptx_size(nvJitLinkHandle l, size_t *size);
nvJitLinkResult link_ptx(nvJitLinkHandle l, char *to);
nvJitLinkResult link_ltoir_size(nvJitLinkHandle l, size_t *size);
nvJitLinkResult link_get_ltoir(nvJitLinkHandle l, void *to);
nvJitLinkResult link_error_log_size(nvJitLinkHandle l, size_t *size);
nvJitLinkResult link_error_log(nvJitLinkHandle l, char *to);
nvJitLinkResult link_info_log_size(nvJitLinkHandle l, size_t *size);
nvJitLinkResult link_info_log(nvJitLinkHandle l, char *to);

#endif
