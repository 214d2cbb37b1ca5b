/* Compiled modules on disk: one file each, named by a hash of the PTX, the
 * compiler and the processor. FAULTLINE_CACHE=off; FAULTLINE_CACHE_DIR, else
 * $XDG_CACHE_HOME/faultline, else ~/.cache/faultline. */
#include "module/compile.h"
#include "base/file.h"
#include "base/spawn.h"
#include "module/image.h"
#include "ptx/abi.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t BOUND = 1ul << 30;

struct key {
    uint64_t a, b;
};

static void mix(struct key *k, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) {
        k->a = (k->a ^ p[i]) * 0x100000001b3ull;
        k->b = (k->b + p[i]) * 0x9e3779b97f4a7c15ull;
        k->b ^= k->b >> 29;
    }
}

/* What the code depends on beside the PTX: which compiler, which processor. */
static struct key environment;
static pthread_once_t environment_once = PTHREAD_ONCE_INIT;

static void find_environment(void)
{
    struct key k = { 0xcbf29ce484222325ull, 0x2545f4914f6cdd1dull };
    char path[4096], line[4096];
    struct stat s;
    uint32_t abi = FL_ABI_VERSION;
    mix(&k, &abi, sizeof abi);
    if (!library_sibling("faultline-ptxc", "FAULTLINE_PTXC_EXE", path, sizeof path) && !stat(path, &s)) {
        mix(&k, &s.st_size, sizeof s.st_size);
        mix(&k, &s.st_mtim, sizeof s.st_mtim);
        mix(&k, &s.st_ino, sizeof s.st_ino);
    }
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f) && *line != '\n')
        if (!strncmp(line, "model", 5) || !strncmp(line, "flags", 5)) mix(&k, line, strlen(line));
    if (f) fclose(f);
    environment = k;
}

static bool folder(char *out, size_t size)
{
    const char *off = getenv("FAULTLINE_CACHE"), *asked = getenv("FAULTLINE_CACHE_DIR"),
               *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (off && !strcmp(off, "off")) return false;
    if (asked && *asked)
        n = snprintf(out, size, "%s", asked);
    else if (xdg && *xdg)
        n = snprintf(out, size, "%s/faultline", xdg);
    else if (home && *home && !access(home, X_OK)) /* one that is not there is not made */
        n = snprintf(out, size, "%s/.cache/faultline", home);
    else
        return false;
    return n > 0 && (size_t)n < size;
}

static bool file_name(const char *text, char *out, size_t size)
{
    char dir[3000];
    if (!folder(dir, sizeof dir)) return false;
    pthread_once(&environment_once, find_environment);
    struct key k = environment;
    mix(&k, text, strlen(text));
    return (size_t)snprintf(out, size, "%s/%016" PRIx64 "%016" PRIx64 ".img", dir, k.a, k.b) < size;
}

static struct key content_key(const void *data, size_t n)
{
    struct key k = { 0xcbf29ce484222325ull, n };
    mix(&k, data, n);
    return k;
}

/* A file is the key of its content and the content. It is read, not mapped:
 * who shortens a mapped file kills those who look at it. */
bool cache_read(const char *text, struct image_file *out)
{
    char name[4096];
    struct stat s;
    struct key kept, k;
    if (!file_name(text, name, sizeof name)) return false;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool good = !fstat(fd, &s) && s.st_size > (off_t)sizeof kept && file_read(fd, &kept, sizeof kept);
    out->data = MAP_FAILED;
    if (good) {
        out->size = (size_t)s.st_size - sizeof kept;
        out->data = mmap(NULL, out->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (out->data == MAP_FAILED) out->data = NULL;
    good = good && out->data && file_read(fd, out->data, out->size);
    futimens(fd, NULL);
    close(fd);
    if (good) {
        k = content_key(out->data, out->size);
        good = k.a == kept.a && k.b == kept.b && image_check(out->data, out->size);
    }
    if (good) return true;
    image_release(out);
    unlink(name);
    return false;
}

/* The folder is the user's choice: other files in it are none of our business. */
static bool is_ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == 32 && !strncmp(name + 32, ".img", 4);
}

/* What has not been used for longest goes when there is too much. */
static void prune(const char *dir)
{
    for (;;) {
        char name[4096], oldest[4096] = "";
        uint64_t total = 0;
        struct timespec when = { 0 };
        struct stat s;
        DIR *d = opendir(dir);
        if (!d) return;
        for (struct dirent *e; (e = readdir(d));) {
            if (!is_ours(e->d_name) || (size_t)snprintf(name, sizeof name, "%s/%s", dir, e->d_name) >= sizeof name ||
                stat(name, &s) || !S_ISREG(s.st_mode))
                continue;
            total += (uint64_t)s.st_size;
            if (!*oldest || s.st_mtim.tv_sec < when.tv_sec) {
                strcpy(oldest, name);
                when = s.st_mtim;
            }
        }
        closedir(d);
        if (total <= BOUND || unlink(oldest)) return;
    }
}

static void make_folders(char *path)
{
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
}

/* Failure to keep something is no failure. */
void cache_write(const char *text, const struct image_file *f)
{
    static _Atomic unsigned count;
    char name[4096], fresh[4200], dir[4096];
    if (!file_name(text, name, sizeof name)) return;
    make_folders(name);
    snprintf(fresh, sizeof fresh, "%s.%d.%u", name, (int)getpid(), count++);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return;
    struct key k = content_key(f->data, f->size);
    bool good = file_write(fd, &k, sizeof k) && file_write(fd, f->data, f->size);
    if (close(fd) || !good || rename(fresh, name)) unlink(fresh);
    strcpy(dir, name);
    *strrchr(dir, '/') = 0;
    if (count % 64 == 1) prune(dir);
}
