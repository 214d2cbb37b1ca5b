/* Modules: an image is loaded into a device (code, variables, initial values,
 * symbols), found by its handle, and unloaded again; a library's, one in each
 * context. What a function is asked is function.c's. */
#include "module/handles.h"
#include "module/image.h"
#include "module/module.h"
#include "processor/texture.h"
#include "stream/stream.h"
#include "uvm/uvm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Loads, one at a time, and the list of modules. Before a library's own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct module *loaded;

static void construct(void *object) { (void)object; }

static struct objects modules = OBJECTS_INIT(struct module, construct);

static struct module *module_new(void)
{
    const size_t life = offsetof(struct module, context);
    struct module *m = object_take(&modules);
    if (m) memset((char *)m + life, 0, sizeof *m - life);
    return m;
}

/* Shared with the library's other modules, which outlive this one. */
static bool is_shared(const struct module *m, uint32_t k)
{
    return m->library && m->library->managed && image_symbols(m->image)[k].kind == FL_SYMBOL_MANAGED;
}

static void free_variable(struct allocation *a)
{
    if (a && a->kind == ALLOCATION_MANAGED)
        uvm_free(a);
    else if (a)
        space_free(a);
}

static void free_variables(struct module *m)
{
    for (uint32_t k = 0; m->variables && k < m->image->nsymbols; k++)
        if (!is_shared(m, k)) free_variable(m->variables[k]);
    free(m->variables);
}

static void free_managed(struct library *l)
{
    const struct fl_image *h = l->file.data;
    for (uint32_t k = 0; l->managed && k < h->nsymbols; k++) free_variable(l->managed[k]);
    free(l->managed);
    l->managed = NULL;
}

static CUresult make_variable(struct module *m, uint32_t k)
{
    const struct fl_image_symbol *s = &image_symbols(m->image)[k];
    struct allocation *a;
    CUresult r;
    uint64_t size = s->size ? s->size : 1;
    if (s->kind == FL_SYMBOL_MANAGED)
        r = uvm_alloc_module(m->library ? NULL : m->context, size, &a);
    else
        r = space_alloc_module(m->context, size, s->align > 512 ? s->align : 512, &a);
    if (r) return r;
    char *bytes = space_alias(a, a->base);
    if (s->init)
        memcpy(bytes, (const char *)m->image + s->init, s->size);
    else
        memset(bytes, 0, s->size);
    m->variables[k] = a;
    return CUDA_SUCCESS;
}

/* The first module of a library made them for all. */
static CUresult share_managed(struct module *m)
{
    struct library *l = m->library;
    uint32_t n = m->image->nsymbols;
    if (!l || l->managed) return CUDA_SUCCESS;
    struct allocation **managed = calloc(n + 1ul, sizeof *managed);
    if (!managed) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < n; k++)
        if (image_symbols(m->image)[k].kind == FL_SYMBOL_MANAGED) managed[k] = m->variables[k];
    l->managed = managed;
    return CUDA_SUCCESS;
}

static CUresult make_symbols(struct module *m)
{
    const struct fl_image *h = m->image;
    const struct fl_image_symbol *s = image_symbols(h);
    const struct fl_image_reloc *r = image_relocs(h);
    CUresult result = CUDA_SUCCESS;
    m->variables = calloc(h->nsymbols + 1ul, sizeof *m->variables);
    if (!m->variables) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; k < h->nsymbols && !result; k++) {
        if (is_shared(m, k))
            m->variables[k] = m->library->managed[k];
        else if (s[k].kind != FL_SYMBOL_FUNCTION && !fl_symbol_is_reference(s[k].kind))
            result = make_variable(m, k);
        m->nreferences += (uint32_t)fl_symbol_is_reference(s[k].kind);
        m->addresses[k] = m->variables[k]                     ? m->variables[k]->base
                          : fl_symbol_is_reference(s[k].kind) ? TEXTURE_UNSET
                                                              : m->image_va + s[k].init;
    }
    for (uint32_t k = 0; k < h->nrelocs && !result; k++) {
        uint64_t v = (m->addresses[r[k].target] + (uint64_t)r[k].addend) >> r[k].shift;
        struct allocation *a = m->variables[r[k].symbol];
        if (a && !is_shared(m, r[k].symbol)) memcpy((char *)space_alias(a, a->base) + r[k].offset, &v, r[k].bytes);
    }
    return result ? result : share_managed(m);
}

static struct handles functions = HANDLES_INIT(struct function);

static CUresult make_functions(struct module *m)
{
    const struct fl_image_kernel *k = image_kernels(m->image);
    m->functions = handles_get(&functions, m->image->nkernels);
    if (!m->functions) return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < m->image->nkernels; i++) {
        struct function *f = &m->functions[i];
        f->ready = !k[i].part;
        f->index = i;
        f->kernel = &k[i];
        f->name = image_string(m->image, k[i].name);
        settings_begin(f, m->context->device);
        f->module = m;
        f->magic = FUNCTION_MAGIC; /* last: who has a stale handle looks at it first */
    }
    return CUDA_SUCCESS;
}

static void enter(struct module *m)
{
    struct library *l = m->library;
    m->next = loaded;
    loaded = m;
    uses_begin(&m->context->modules);
    if (!l) return;
    uses_begin(&l->uses);
    pthread_mutex_lock(&l->lock);
    settings_inherit(m);
    l->modules[l->nmodules++] = m;
    pthread_mutex_unlock(&l->lock);
}

/* The symbol table follows the image in code memory, which kernels may read but not write. Under the lock. */
static CUresult load(struct context *c, struct image_file *file, struct library *library, struct module **out)
{
    const struct fl_image *h = file->data;
    void *alias;
    if (atomic_load(&c->destroyed)) return CUDA_ERROR_CONTEXT_IS_DESTROYED; /* nobody would unload it */
    struct module *m = module_new();
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    m->context = c;
    m->library = library;
    m->file = file;
    m->loaded_size = h->loaded + (h->nsymbols + 1ul) * 8;
    m->parts = calloc(h->nparts + 1ul, sizeof *m->parts);
    CUresult r =
        m->parts ? space_alloc_code(c->device, m->loaded_size, &m->image_va, &alias) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r) goto failed;
    memcpy(alias, h, h->loaded);
    m->image = alias;
    m->symbols_va = m->image_va + h->loaded;
    m->addresses = (uint64_t *)((char *)alias + h->loaded);
    if ((r = make_symbols(m)) || (r = make_functions(m))) goto failed;
    enter(m);
    *out = m;
    return CUDA_SUCCESS;
failed:
    if (m->image) {
        free_variables(m);
        space_free_code(c->device, m->image_va, m->loaded_size);
    }
    handles_put(&functions, m->functions);
    free(m->parts);
    object_give(&modules, m);
    return r;
}

CUresult module_load(struct context *c, struct image_file *file, struct module **out)
{
    pthread_mutex_lock(&lock);
    CUresult r = load(c, file, NULL, out);
    if (!r) {
        (*out)->own = *file;
        (*out)->file = &(*out)->own;
        *file = (struct image_file){ 0 };
    }
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- unloading: first nobody finds the module any more, then those who have found it end */

/* Whoever takes it out is the one who unloads it. Under the lock. */
static void take_out(struct module *m)
{
    struct library *l = m->library;
    struct module **at = &loaded;
    if (l) pthread_mutex_lock(&l->lock);
    for (unsigned k = 0; l && k < l->nmodules; k++)
        if (l->modules[k] == m) l->modules[k] = l->modules[--l->nmodules];
    if (l) pthread_mutex_unlock(&l->lock);
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    for (uint32_t k = 0; k < m->image->nkernels; k++) m->functions[k].magic = 0;
}

/* Nothing runs in it. */
static void unload(struct module *m)
{
    struct context *c = m->context;
    struct library *l = m->library;
    if (m->references) m->references->release(m->references);
    free_variables(m);
    parts_unload(m);
    space_free_code(c->device, m->image_va, m->loaded_size);
    handles_put(&functions, m->functions);
    image_release(&m->own);
    object_give(&modules, m);
    uses_end(&c->modules);
    if (l) uses_end(&l->uses);
}

/* Without the lock, which those calls may need. The last of them may have launched something. */
static void unload_after_calls(struct module *m)
{
    uses_wait(&m->uses);
    context_synchronize(m->context);
    unload(m);
}

/* One of the context's, or of the library's; NULL: there is none. */
static struct module *take_out_any(const struct context *c, const struct library *l)
{
    pthread_mutex_lock(&lock);
    struct module *m = loaded;
    while (m && !(c && m->context == c) && !(l && m->library == l)) m = m->next;
    if (m) take_out(m);
    pthread_mutex_unlock(&lock);
    return m;
}

void module_set_destroy(struct context *c)
{
    for (struct module *m; (m = take_out_any(c, NULL));) {
        uses_wait(&m->uses); /* they can launch nothing: the streams are gone */
        unload(m);
    }
    uses_wait(&c->modules); /* other threads may be unloading some, whose variables are the context's */
    c->heap = c->heap_size = 0;
}

/* NULL: it is not loaded. Under the lock. */
static struct module *find(CUmodule handle)
{
    struct module *m = loaded;
    while (m && m != (struct module *)handle) m = m->next;
    return m;
}

CUresult module_get(CUmodule handle, struct module **out)
{
    pthread_mutex_lock(&lock);
    struct module *m = find(handle);
    if (m) uses_begin(&m->uses);
    pthread_mutex_unlock(&lock);
    *out = m;
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult module_end(struct module *m, CUresult r)
{
    uses_end(&m->uses);
    return r;
}

/* Under the lock. */
static CUresult find_own(CUmodule handle, struct module **out)
{
    if (!(*out = find(handle))) return CUDA_ERROR_INVALID_HANDLE;
    return (*out)->library ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult module_unload(CUmodule handle)
{
    struct module *m;
    struct context *c = NULL;
    pthread_mutex_lock(&lock);
    CUresult r = find_own(handle, &m);
    if (!r) c = m->context;
    pthread_mutex_unlock(&lock);
    if (r || (r = context_synchronize(c))) return r;
    pthread_mutex_lock(&lock);
    r = find_own(handle, &m);
    if (!r) take_out(m);
    pthread_mutex_unlock(&lock);
    if (!r) unload_after_calls(m);
    return r;
}

CUresult module_find_function(struct module *m, const char *name, struct function **out)
{
    for (uint32_t k = 0; k < m->image->nkernels; k++)
        if (!strcmp(m->functions[k].name, name)) {
            *out = &m->functions[k];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult module_find_variable(struct module *m, const char *name, unsigned kinds, struct allocation **out)
{
    const struct fl_image_symbol *s = image_symbols(m->image);
    for (uint32_t k = 0; k < m->image->nsymbols; k++)
        if (kinds >> s[k].kind & 1 && m->variables[k] && !strcmp(image_string(m->image, s[k].name), name)) {
            *out = m->variables[k];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- libraries */

/* Its module in c, or NULL; in use. */
static struct module *module_of(struct library *l, const struct context *c)
{
    struct module *m = NULL;
    pthread_mutex_lock(&l->lock);
    for (unsigned k = 0; k < l->nmodules && !m; k++)
        if (l->modules[k]->context == c) m = l->modules[k];
    if (m) uses_begin(&m->uses);
    pthread_mutex_unlock(&l->lock);
    return m;
}

/* Under the lock. */
static CUresult load_library(struct library *l, struct context *c, struct module **out)
{
    if (l->closed) return CUDA_ERROR_INVALID_HANDLE;
    if (l->nmodules == sizeof l->modules / sizeof *l->modules) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = load(c, &l->file, l, out);
    if (!r) uses_begin(&(*out)->uses);
    return r;
}

CUresult library_module(struct library *l, struct context *c, struct module **out)
{
    CUresult r = CUDA_SUCCESS;
    if ((*out = module_of(l, c))) return r;
    pthread_mutex_lock(&lock);
    if (!(*out = module_of(l, c))) r = load_library(l, c, out);
    pthread_mutex_unlock(&lock);
    return r;
}

void library_unload_modules(struct library *l)
{
    pthread_mutex_lock(&lock);
    l->closed = true;
    pthread_mutex_unlock(&lock);
    for (struct module *m; (m = take_out_any(NULL, l));) unload_after_calls(m);
    uses_wait(&l->uses); /* a context that ends may be unloading others */
    free_managed(l);
    settings_end(l);
}

CUresult module_heap(struct context *c, uint64_t *va, uint64_t *size)
{
    struct allocation *a;
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&c->lock);
    if (!c->heap && !(r = space_alloc_device(c, c->limits[CU_LIMIT_MALLOC_HEAP_SIZE], &a))) {
        a->module_owned = true;
        space_update(a);
        memset(space_alias(a, a->base), 0, 4096);
        c->heap = a->base;
        c->heap_size = a->size;
    }
    *va = c->heap;
    *size = c->heap_size;
    pthread_mutex_unlock(&c->lock);
    return r;
}
