/* What can be set of functions and kernels. A kernel's setting, of a device, is
 * that of its functions in all contexts there, also of those that begin later,
 * but for functions for which it was set by themselves (observed on H200). A
 * library's lock guards its kernels' settings and who inherits them. */
#include "module/image.h"
#include "module/module.h"

#include <stdlib.h>

static int default_of(const struct fl_image_kernel *k, const struct device *d, enum function_setting which)
{
    int most;
    switch (which) {
    case SETTING_SHARED:
        most = profile_attribute(d->profile, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - (int)k->static_shared;
        return most > 0 ? most : 0;
    case SETTING_CARVEOUT: return -1;
    case SETTING_WIDTH:
    case SETTING_HEIGHT:
    case SETTING_DEPTH: return (int)k->cluster[which - SETTING_WIDTH];
    default: return 0;
    }
}

void settings_begin(struct function *f, const struct device *d)
{
    f->own = 0;
    for (int k = 0; k < SETTINGS; k++) f->set[k] = default_of(f->kernel, d, k);
}

/* A kernel keeps any number that says yes; its functions say 1 (observed on H200). */
static int inherited(enum function_setting which, int value) { return which == SETTING_NON_PORTABLE ? value != 0 : value; }

void settings_inherit(struct module *m)
{
    int (*of)[SETTINGS] = m->library->settings[m->context->device->ordinal];
    for (uint32_t i = 0; of && i < m->image->nkernels; i++)
        for (int k = 0; k < SETTINGS; k++) m->functions[i].set[k] = inherited(k, of[i][k]);
}

void function_set(struct function *f, enum function_setting which, int value)
{
    struct library *l = f->module->library;
    if (l) pthread_mutex_lock(&l->lock);
    f->set[which] = inherited(which, value);
    if (!l) return;
    f->own |= 1u << which;
    pthread_mutex_unlock(&l->lock);
}

/* With the library's lock. NULL: no memory. */
static int (*settings_of(struct library *l, const struct device *d))[SETTINGS]
{
    const struct fl_image *h = l->file.data;
    int (**of)[SETTINGS] = &l->settings[d->ordinal];
    if (*of || !(*of = calloc(h->nkernels, sizeof **of))) return *of;
    for (uint32_t i = 0; i < h->nkernels; i++)
        for (int k = 0; k < SETTINGS; k++) (*of)[i][k] = default_of(&image_kernels(h)[i], d, k);
    return *of;
}

CUresult kernel_set(const struct kernel_handle *k, const struct device *d, enum function_setting which, int value)
{
    struct library *l = k->library;
    pthread_mutex_lock(&l->lock);
    int (*of)[SETTINGS] = settings_of(l, d);
    if (of) of[k->index][which] = value;
    for (unsigned j = 0; of && j < l->nmodules; j++) {
        struct function *g = &l->modules[j]->functions[k->index];
        if (l->modules[j]->context->device == d && !(g->own >> which & 1)) g->set[which] = inherited(which, value);
    }
    pthread_mutex_unlock(&l->lock);
    return of ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

int kernel_setting(const struct kernel_handle *k, const struct device *d, enum function_setting which)
{
    struct library *l = k->library;
    pthread_mutex_lock(&l->lock);
    int (*of)[SETTINGS] = l->settings[d->ordinal];
    int value = of ? of[k->index][which] : default_of(&image_kernels(l->file.data)[k->index], d, which);
    pthread_mutex_unlock(&l->lock);
    return value;
}

void settings_end(struct library *l)
{
    for (int k = 0; k < MAX_DEVICES; k++) {
        free(l->settings[k]);
        l->settings[k] = NULL;
    }
}
