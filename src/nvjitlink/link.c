/* nvJitLink's entry points, and what they do with a handle. */
#include "module/compile.h"
#include "nvjitlink/nvjitlink.h"

#include <stdlib.h>
#include <string.h>

/* ---- handles */

static void destroy(struct nvJitLink *l)
{
    if (l->errors.file) fclose(l->errors.file);
    if (l->infos.file) fclose(l->infos.file);
    free(l->errors.text);
    free(l->infos.text);
    free(l->text);
    for (int k = 0; k < l->npieces; k++) free((char *)l->pieces[k].name);
    free(l->pieces);
    for (uint32_t k = 0; k < l->narguments; k++) free(l->arguments[k]);
    free(l->arguments);
    link_forget(&l->ltoir);
    spares_forget(&l->spares);
    free(l);
}

static bool keep_arguments(struct nvJitLink *l, uint32_t n, const char **options)
{
    if (!(l->arguments = calloc(n + 1ul, sizeof *l->arguments))) return false;
    for (; l->narguments < n; l->narguments++)
        if (!(l->arguments[l->narguments] = strdup(options[l->narguments]))) return false;
    return true;
}

/* With wrong options there is a handle, too, for what its log says. */
nvJitLinkResult link_create(nvJitLinkHandle *handle, uint32_t n, const char **options)
{
    if (!handle || (n && !options)) return NVJITLINK_ERROR_NULL_INPUT;
    struct nvJitLink *l = calloc(1, sizeof *l);
    if (!l) return NVJITLINK_ERROR_INTERNAL;
    l->errors.file = open_memstream(&l->errors.text, &l->errors.size);
    l->infos.file = open_memstream(&l->infos.text, &l->infos.size);
    if (!l->errors.file || !l->infos.file) {
        destroy(l);
        return NVJITLINK_ERROR_INTERNAL;
    }
    *handle = l;
    nvJitLinkResult r = link_options(l, n, options);
    l->completed = r; /* it is of no other use */
    return !r && !keep_arguments(l, n, options) ? NVJITLINK_ERROR_INTERNAL : r;
}

nvJitLinkResult link_destroy(nvJitLinkHandle *handle)
{
    if (!handle || !*handle) return NVJITLINK_ERROR_NULL_INPUT;
    destroy(*handle);
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

/* ---- inputs */

nvJitLinkResult link_add_data(nvJitLinkHandle l, nvJitLinkInputType type, const void *data, size_t size,
                              const char *name)
{
    if (!l) return NVJITLINK_ERROR_NULL_INPUT;
    if (!data || !size) return NVJITLINK_ERROR_INVALID_INPUT;
    if (l->completed) return NVJITLINK_ERROR_INTERNAL;
    return link_add(l, type, data, size, name ? name : "<unnamed>");
}

nvJitLinkResult link_add_file(nvJitLinkHandle l, nvJitLinkInputType type, const char *path)
{
    if (!l || !path) return NVJITLINK_ERROR_NULL_INPUT;
    size_t size = 0, room = 1 << 16, n;
    FILE *f = fopen(path, "re");
    char *data = f ? malloc(room) : NULL, *more = data;
    nvJitLinkResult r = NVJITLINK_ERROR_INVALID_INPUT;
    if (!f) fprintf(l->errors.file, "no such file: %s\n", path);
    while (more && (n = fread(data + size, 1, room - size, f)) > 0)
        if ((size += n) == room && (more = realloc(data, room *= 2))) data = more;
    if (more && size) r = link_add_data(l, type, data, size, path);
    free(data);
    if (f) fclose(f);
    return r;
}

/* ---- the link */

/* "line 5; error: unresolved extern function 'f'", as a linker says it. */
static bool say_what_a_linker_says(struct nvJitLink *l, const char *log)
{
    char name[512];
    int line = 1, n = 0, twice = 0;
    if (sscanf(log, "line %d; %n", &line, &n) == 1 && n) log += n;
    const char *in = verdict_piece_of(l->pieces, l->npieces, line)->name;
    if (sscanf(log, "error: unresolved extern %*s '%511[^']'", name) == 1)
        fprintf(l->errors.file, "error   : Undefined reference to '%s' in '%s'\n", name, in);
    else if (sscanf(log, "error: %*s '%511[^']' is defined twice%n", name, &twice) == 1 && twice)
        fprintf(l->errors.file, "error   : Multiple definition of '%s' in '%s'\n", name, in);
    else
        return false;
    fputs("ERROR 9: complete\n", l->errors.file);
    return true;
}

static CUresult compile(struct nvJitLink *l, char *log, size_t log_size)
{
    struct image_file image;
    CUresult r = compile_ptx(l->text, &image, log, log_size);
    if (!r) image_release(&image);
    return r;
}

/* What several pieces are together; each by itself has been looked at. */
static nvJitLinkResult check(struct nvJitLink *l)
{
    char log[4096], *spare;
    nvJitLinkResult r = NVJITLINK_SUCCESS;
    if (l->options.relocatable && strstr(l->text, ".extern")) return NVJITLINK_SUCCESS;
    CUresult c = compile(l, log, sizeof log);
    while (c && !r && (spare = spares_take(&l->spares, log))) {
        r = link_piece(l, spare, "a library", false);
        free(spare);
        c = compile(l, log, sizeof log);
    }
    if (!c || r) return r;
    if (!say_what_a_linker_says(l, log)) verdict_errors(l->errors.file, l->text, l->pieces, l->npieces, c, log);
    return NVJITLINK_ERROR_INTERNAL;
}

/* Nothing to link becomes nothing. */
static nvJitLinkResult link_nothing(struct nvJitLink *l)
{
    char *text = NULL;
    int n = asprintf(&text, ".version 9.0\n.target %s\n.address_size 64\n", l->options.arch);
    nvJitLinkResult r = n > 0 ? link_piece(l, text, "nothing", false) : NVJITLINK_ERROR_INTERNAL;
    if (n > 0) free(text);
    return r;
}

nvJitLinkResult link_complete(nvJitLinkHandle l)
{
    nvJitLinkResult r = NVJITLINK_SUCCESS;
    if (!l) return NVJITLINK_ERROR_NULL_INPUT;
    if (l->completed) return NVJITLINK_ERROR_INTERNAL;
    if (l->options.lto) r = link_ltoir(l);
    if (!r && !l->text) r = link_nothing(l);
    if (!r && !l->options.ptx) r = check(l);
    l->completed = true;
    l->linked = !r;
    return r;
}

/* ---- what comes out: the text with the 0 behind it */

static nvJitLinkResult output_size(const struct nvJitLink *l, size_t *size)
{
    if (!l->linked) return NVJITLINK_ERROR_INTERNAL;
    *size = strlen(l->text) + 1;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult output(const struct nvJitLink *l, void *to)
{
    if (!l->linked) return NVJITLINK_ERROR_INTERNAL;
    memcpy(to, l->text, strlen(l->text) + 1);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult link_cubin_size(nvJitLinkHandle l, size_t *size)
{
    if (!l || !size) return NVJITLINK_ERROR_NULL_INPUT;
    return l->options.ptx ? NVJITLINK_ERROR_INVALID_INPUT : output_size(l, size);
}

nvJitLinkResult link_cubin(nvJitLinkHandle l, void *to)
{
    if (!l || !to) return NVJITLINK_ERROR_NULL_INPUT;
    return l->options.ptx ? NVJITLINK_ERROR_INVALID_INPUT : output(l, to);
}

nvJitLinkResult link_ptx_size(nvJitLinkHandle l, size_t *size)
{
    if (!l || !size) return NVJITLINK_ERROR_NULL_INPUT;
    return l->options.ptx ? output_size(l, size) : NVJITLINK_ERROR_INVALID_INPUT;
}

nvJitLinkResult link_ptx(nvJitLinkHandle l, char *to)
{
    if (!l || !to) return NVJITLINK_ERROR_NULL_INPUT;
    return l->options.ptx ? output(l, to) : NVJITLINK_ERROR_INVALID_INPUT;
}

/* Linking to LTO IR is not for us. */
nvJitLinkResult link_ltoir_size(nvJitLinkHandle l, size_t *size)
{
    return l && size ? NVJITLINK_ERROR_INVALID_INPUT : NVJITLINK_ERROR_NULL_INPUT;
}

nvJitLinkResult link_get_ltoir(nvJitLinkHandle l, void *to)
{
    return l && to ? NVJITLINK_ERROR_INVALID_INPUT : NVJITLINK_ERROR_NULL_INPUT;
}

/* ---- logs */

static size_t log_size(struct log *log)
{
    fflush(log->file);
    return log->size ? log->size + 1 : 0;
}

static void give(struct log *log, char *to)
{
    size_t n = log_size(log);
    if (n) memcpy(to, log->text, n);
}

nvJitLinkResult link_error_log_size(nvJitLinkHandle l, size_t *size)
{
    if (!l || !size) return NVJITLINK_ERROR_NULL_INPUT;
    *size = log_size(&l->errors);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult link_error_log(nvJitLinkHandle l, char *to)
{
    if (!l || !to) return NVJITLINK_ERROR_NULL_INPUT;
    give(&l->errors, to);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult link_info_log_size(nvJitLinkHandle l, size_t *size)
{
    if (!l || !size) return NVJITLINK_ERROR_NULL_INPUT;
    *size = log_size(&l->infos);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult link_info_log(nvJitLinkHandle l, char *to)
{
    if (!l || !to) return NVJITLINK_ERROR_NULL_INPUT;
    give(&l->infos, to);
    return NVJITLINK_SUCCESS;
}

/* ---- by name */

void *link_entry_point(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } table[] = {
        { "nvJitLinkCreate", (void *)link_create },
        { "nvJitLinkDestroy", (void *)link_destroy },
        { "nvJitLinkAddData", (void *)link_add_data },
        { "nvJitLinkAddFile", (void *)link_add_file },
        { "nvJitLinkComplete", (void *)link_complete },
        { "nvJitLinkGetLinkedCubinSize", (void *)link_cubin_size },
        { "nvJitLinkGetLinkedCubin", (void *)link_cubin },
        { "nvJitLinkGetLinkedPtxSize", (void *)link_ptx_size },
        { "nvJitLinkGetLinkedPtx", (void *)link_ptx },
        { "nvJitLinkGetLinkedLTOIRSize", (void *)link_ltoir_size },
        { "nvJitLinkGetLinkedLTOIR", (void *)link_get_ltoir },
        { "nvJitLinkGetErrorLogSize", (void *)link_error_log_size },
        { "nvJitLinkGetErrorLog", (void *)link_error_log },
        { "nvJitLinkGetInfoLogSize", (void *)link_info_log_size },
        { "nvJitLinkGetInfoLog", (void *)link_info_log },
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (!strcmp(table[k].name, name)) return table[k].function;
    return NULL;
}
