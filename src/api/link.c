/* The linker: pieces of PTX become one text, and that one fatbinary. */
#include "api/library.h"
#include "base/log.h"
#include "module/container.h"
#include "module/fatbin.h"
#include "module/join.h"
#include "module/spare.h"

#include <stdlib.h>
#include <string.h>

struct link { /* CUlinkState_st */
    struct jit jit;
    pthread_mutex_t lock;
    char *text;   /* of all pieces so far, NULL: none */
    void *binary; /* what cuLinkComplete gave */
    struct spares spares;
    CUresult failed; /* what nothing that is added mends (observed on H200) */
    struct link *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */
static struct link *links;

static CUresult link_get(CUlinkState state, struct link **out)
{
    CUresult r = library_ready(); /* without a context, too (observed on H200) */
    if (r) return r;
    r = CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&lock);
    for (struct link *l = links; l && r; l = l->next)
        if (l == (struct link *)state) {
            *out = l;
            r = CUDA_SUCCESS;
        }
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult CUDAAPI cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                                 CUlinkState *stateOut)
{
    struct context *c;
    struct jit j;
    CUresult r = context_current(&c);
    if (r) return r;
    if (!stateOut) return CUDA_ERROR_INVALID_VALUE;
    if ((r = jit_options(numOptions, options, optionValues, &j))) return r;
    struct link *l = calloc(1, sizeof *l);
    if (!l) return CUDA_ERROR_OUT_OF_MEMORY;
    l->jit = j;
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_lock(&lock);
    l->next = links;
    links = l;
    pthread_mutex_unlock(&lock);
    *stateOut = (CUlinkState)l;
    return CUDA_SUCCESS;
}

/* What one call adds: all of it, or nothing. */
struct addition {
    const struct jit *jit;
    char *text;
    struct spares spares;
};

/* What a piece does wrong by itself is said here; one that leaves names for others waits for them. */
static CUresult add_piece(char *piece, void *data)
{
    struct addition *a = data;
    struct image_file file;
    CUresult r = CUDA_SUCCESS;
    if ((jit_wrong(a->jit) || !strstr(piece, ".extern")) && !(r = image_from_ptx(piece, a->jit, &file))) image_release(&file);
    return r ? r : ptx_join(&a->text, piece);
}

static CUresult add_spare(char *piece, void *data)
{
    struct addition *a = data;
    return spares_keep(&a->spares, piece);
}

static CUresult read_pieces(struct addition *a, CUjitInputType type, const void *data, size_t size)
{
    char *piece;
    if (type == CU_JIT_INPUT_OBJECT && is_object(data, size)) {
        CUresult r = container_visit(data, size, simulated_sm(), add_piece, a);
        if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
            fl_log_once(FL_LOG_WARN,
                        "an object that is linked has machine code only, and only PTX can run here: compile it "
                        "with nvcc -gencode arch=compute_90,code=compute_90");
        return r;
    }
    if (type == CU_JIT_INPUT_LIBRARY && is_library(data, size))
        return container_visit(data, size, simulated_sm(), add_spare, a);
    if (type >= CU_JIT_INPUT_OBJECT) return CUDA_ERROR_UNKNOWN; /* it is none: observed on H200 */
    CUresult r = ptx_from_data(data, size, &piece);
    if (r) return r;
    r = add_piece(piece, a);
    free(piece);
    return r;
}

static CUresult add(struct link *l, CUjitInputType type, const struct jit *jit, const void *data, size_t size)
{
    struct addition a = { .jit = jit };
    const bool other = type > CU_JIT_INPUT_LIBRARY; /* that nobody can compile here */
    CUresult r = other ? CUDA_SUCCESS : read_pieces(&a, type, data, size);
    pthread_mutex_lock(&l->lock);
    if (other && !l->failed) l->failed = CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    if (!r) r = l->failed;
    if (!r && a.text) r = ptx_join(&l->text, a.text);
    if (!r) r = spares_move(&l->spares, &a.spares);
    pthread_mutex_unlock(&l->lock);
    spares_forget(&a.spares);
    free(a.text);
    return r;
}

static CUresult check_type(CUjitInputType type)
{
    return (int)type < 0 || type >= CU_JIT_NUM_INPUT_TYPES ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* What was asked for when l was made is for each piece (observed on H200), and tells where the logs go. Some options a piece
 * cannot have for itself (observed, too). */
static CUresult piece_options(const struct link *l, unsigned n, CUjit_option *options, void **values, struct jit *out)
{
    struct jit own;
    CUresult r = jit_options(n, options, values, &own);
    for (unsigned k = 0; k < n && !r; k++) switch (options[k]) {
        case CU_JIT_WALL_TIME:
        case CU_JIT_INFO_LOG_BUFFER:
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        case CU_JIT_ERROR_LOG_BUFFER:
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        case CU_JIT_TARGET:
        case CU_JIT_FALLBACK_STRATEGY:
        case CU_JIT_LTO:
        case CU_JIT_FTZ:
        case CU_JIT_PREC_DIV:
        case CU_JIT_PREC_SQRT:
        case CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES: return CUDA_ERROR_INVALID_VALUE;
        default: break;
        }
    *out = l->jit;
    if (own.level) out->level = own.level;
    out->debug |= own.debug;
    return r;
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                                  unsigned int numOptions, CUjit_option *options, void **optionValues)
{
    struct link *l;
    struct jit jit;
    CUresult r = link_get(state, &l);
    (void)name;
    if (r) return r;
    if (!data || !size) return CUDA_ERROR_INVALID_VALUE;
    if ((r = piece_options(l, numOptions, options, optionValues, &jit)) || (r = check_type(type))) return r;
    return add(l, type, &jit, data, size);
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions,
                                  CUjit_option *options, void **optionValues)
{
    struct link *l;
    struct jit jit;
    void *data;
    size_t size;
    CUresult r = link_get(state, &l);
    if (r) return r;
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    if ((r = piece_options(l, numOptions, options, optionValues, &jit)) || (r = check_type(type)) ||
        (r = read_file(path, &data, &size)))
        return r;
    r = size ? add(l, type, &jit, data, size) : CUDA_ERROR_INVALID_IMAGE;
    free(data);
    return r;
}

/* What is missing libraries may have, unless it is of the device runtime, which the compiler has (ptx/provided.h). Under
 * the link's lock. */
static CUresult join_spares(struct link *l)
{
    char log[4096], *spare;
    struct image_file file;
    CUresult r = CUDA_SUCCESS;
    while (l->spares.n && !r) {
        if (!compile_ptx(l->text, &file, log, sizeof log)) {
            image_release(&file);
            break;
        }
        if (!(spare = spares_take(&l->spares, log))) break; /* what is wrong will be said again */
        r = ptx_join(&l->text, spare);
        free(spare);
    }
    return r;
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    struct link *l;
    struct image_file file;
    void *binary;
    size_t size;
    CUresult r = link_get(state, &l);
    if (r) return r;
    if (!cubinOut) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&l->lock);
    r = l->failed;
    struct jit jit = l->jit; /* its pieces were compiled with what there can be */
    jit.level = jit.debug = 0;
    /* of nothing a module is made that has nothing (observed on H200) */
    if (!r && !l->text) r = ptx_join(&l->text, ".version 6.0\n.target sm_52\n.address_size 64\n");
    if (r || (r = join_spares(l)) || (r = image_from_ptx(l->text, &jit, &file))) goto out;
    image_release(&file);
    if ((r = fatbin_wrap(l->text, &binary, &size))) goto out;
    free(l->binary);
    l->binary = *cubinOut = binary;
    if (sizeOut) *sizeOut = size;
out:
    pthread_mutex_unlock(&l->lock);
    return r;
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
    CUresult r = library_ready();
    if (r) return r;
    pthread_mutex_lock(&lock);
    struct link **at = &links;
    while (*at && *at != (struct link *)state) at = &(*at)->next;
    struct link *l = *at;
    if (l) *at = l->next;
    pthread_mutex_unlock(&lock);
    if (!l) return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_destroy(&l->lock);
    spares_forget(&l->spares);
    free(l->text);
    free(l->binary);
    free(l);
    return CUDA_SUCCESS;
}
