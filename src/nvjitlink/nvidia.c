/* See nvidia.h. Found where the program would find libraries, beside those that it has loaded, and where the toolkit is
 * installed. */
#include "nvjitlink/nvidia.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of these */
static struct nvidia used;
static bool led; /* what has a function's name is ours, whoever's library it is of */
static pthread_once_t searched = PTHREAD_ONCE_INIT;

static const struct {
    const char *name;
    size_t slot;
} table[] = {
    { "nvJitLinkCreate", offsetof(struct nvidia, create) },
    { "nvJitLinkDestroy", offsetof(struct nvidia, destroy) },
    { "nvJitLinkAddData", offsetof(struct nvidia, add_data) },
    { "nvJitLinkComplete", offsetof(struct nvidia, complete) },
    { "nvJitLinkGetLinkedPtxSize", offsetof(struct nvidia, ptx_size) },
    { "nvJitLinkGetLinkedPtx", offsetof(struct nvidia, ptx) },
    { "nvJitLinkGetErrorLogSize", offsetof(struct nvidia, log_size) },
    { "nvJitLinkGetErrorLog", offsetof(struct nvidia, log) },
};
enum { FUNCTIONS = sizeof table / sizeof *table };

void *nvidia_slot(struct nvidia *n, const char *name)
{
    for (int k = 0; k < FUNCTIONS; k++)
        if (!strcmp(table[k].name, name)) return (char *)n + table[k].slot;
    return NULL;
}

static bool use(const struct nvidia *n, bool of_led)
{
    bool whole = true;
    for (int k = 0; k < FUNCTIONS; k++) {
        void *function;
        memcpy(&function, (const char *)n + table[k].slot, sizeof function);
        whole &= function != NULL;
    }
    pthread_mutex_lock(&lock);
    if (whole) used = *n;
    led |= of_led;
    pthread_mutex_unlock(&lock);
    return whole;
}

void nvidia_use(const struct nvidia *n) { use(n, true); }

static bool get(struct nvidia *n)
{
    pthread_mutex_lock(&lock);
    *n = used;
    pthread_mutex_unlock(&lock);
    return n->create;
}

static bool is_led(void)
{
    pthread_mutex_lock(&lock);
    bool is = led;
    pthread_mutex_unlock(&lock);
    return is;
}

/* ---- the search */

static bool is_ours(const char *path)
{
    Dl_info self;
    struct stat a, b;
    return dladdr((void *)nvidia_use, &self) && !stat(self.dli_fname, &a) && !stat(path, &b) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static bool try_folder(const char *folder)
{
    char path[PATH_MAX];
    struct nvidia n = { 0 };
    if ((size_t)snprintf(path, sizeof path, "%s/libnvJitLink.so.13", folder) >= sizeof path || is_ours(path))
        return false;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    for (int k = 0; k < FUNCTIONS; k++) {
        void *function = dlsym(library, table[k].name);
        memcpy((char *)&n + table[k].slot, &function, sizeof function);
    }
    bool found = is_led() ? get(&n) : use(&n, false);
    if (!found) dlclose(library);
    return found;
}

static bool try_search_path(void)
{
    Dl_serinfo size, *all = NULL;
    bool found = false;
    void *program = dlopen(NULL, RTLD_NOW);
    if (program && !dlinfo(program, RTLD_DI_SERINFOSIZE, &size) && (all = malloc(size.dls_size))) {
        memcpy(all, &size, sizeof size);
        if (!dlinfo(program, RTLD_DI_SERINFOSIZE, all) && !dlinfo(program, RTLD_DI_SERINFO, all))
            for (unsigned k = 0; k < all->dls_cnt && !found; k++) found = try_folder(all->dls_serpath[k].dls_name);
    }
    free(all);
    if (program) dlclose(program);
    return found;
}

struct folders {
    char (*all)[PATH_MAX];
    size_t n;
};

/* NVIDIA's libraries that are loaded: one folder often has them all. */
static int note_folder(struct dl_phdr_info *info, size_t size, void *data)
{
    struct folders *f = data;
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (!slash || (strncmp(slash, "/libnv", 6) && strncmp(slash, "/libcu", 6)) || slash - info->dlpi_name >= PATH_MAX)
        return 0;
    char(*more)[PATH_MAX] = realloc(f->all, (f->n + 1) * sizeof *more);
    if (!more) return 1;
    f->all = more;
    snprintf(more[f->n++], PATH_MAX, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name);
    return 0;
}

static bool try_neighbours(void)
{
    struct folders f = { 0 };
    bool found = false;
    dl_iterate_phdr(note_folder, &f);
    for (size_t k = 0; k < f.n && !found; k++) found = try_folder(f.all[k]);
    free(f.all);
    return found;
}

static void search(void)
{
    if (!try_search_path() && !try_neighbours()) try_folder("/usr/local/cuda/lib64");
}

bool nvidia_get(struct nvidia *n)
{
    if (get(n)) return true;
    pthread_once(&searched, search);
    return get(n);
}
