/* What was compiled, on disk: files named by a hash of what it was made from,
 * the compiler and the processor, in one of 16 folders by the name's first digit.
 * FAULTLINE_CACHE=off; FAULTLINE_CACHE_DIR, else $XDG_CACHE_HOME/faultline, else ~/.cache/faultline. */
#include "module/compile.h"
#include "base/file.h"
#include "base/spawn.h"
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

static const uint64_t SHARE = 128ul << 20; /* bytes of each of the 16 folders */
enum { KEY_DIGITS = 32, NAME_SIZE = 80 };

static void mix(struct cache_key *k, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) {
        k->a = (k->a ^ p[i]) * 0x100000001b3ull;
        k->b = (k->b + p[i]) * 0x9e3779b97f4a7c15ull;
        k->b ^= k->b >> 29;
    }
}

/* What the code depends on beside the PTX: which compiler, which processor. */
static struct cache_key environment;
static pthread_once_t environment_once = PTHREAD_ONCE_INIT;

static void find_environment(void)
{
    struct cache_key k = { 0xcbf29ce484222325ull, 0x2545f4914f6cdd1dull };
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

/* What was compiled is run: a program with more rights than its user has no cache (secure_getenv). */
static bool folder(char *out, size_t size)
{
    const char *off = secure_getenv("FAULTLINE_CACHE"), *asked = secure_getenv("FAULTLINE_CACHE_DIR"),
               *xdg = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
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

struct cache_key cache_key(const void *from, size_t size, uint64_t kind)
{
    char top[3000];
    if (!folder(top, sizeof top)) return (struct cache_key){ 0 };
    pthread_once(&environment_once, find_environment);
    struct cache_key k = environment;
    mix(&k, &kind, sizeof kind);
    mix(&k, from, size);
    return k;
}

struct place {
    char top[3000], part[3008], file[3072];
};

static bool find_place(struct cache_key k, struct place *out)
{
    if ((!k.a && !k.b) || !folder(out->top, sizeof out->top)) return false;
    snprintf(out->part, sizeof out->part, "%s/%x", out->top, (unsigned)(k.b >> 60));
    snprintf(out->file, sizeof out->file, "%s/%016" PRIx64 "%016" PRIx64 ".img", out->part, k.b, k.a);
    return true;
}

static struct cache_key content_key(const void *data, size_t n)
{
    struct cache_key k = { 0xcbf29ce484222325ull, n };
    mix(&k, data, n);
    return k;
}

/* A file is the key of its content and the content. It is read, not mapped:
 * who shortens a mapped file kills those who look at it. */
bool cache_read(struct cache_key key, struct mapped *out)
{
    struct place p;
    struct stat s;
    struct cache_key kept, k;
    if (!find_place(key, &p)) return false;
    int fd = open(p.file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool good = !fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_size > (off_t)sizeof kept &&
                (uint64_t)s.st_size <= SHARE && file_read(fd, &kept, sizeof kept);
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
        good = k.a == kept.a && k.b == kept.b;
    }
    if (good) return true;
    if (out->data) munmap(out->data, out->size);
    *out = (struct mapped){ 0 };
    unlink(p.file);
    return false;
}

/* The folder is the user's choice: other files in it are none of our business. A name may
 * have a tail: the process that was writing it, and may have been killed. */
static bool is_ours(const char *name)
{
    return strspn(name, "0123456789abcdef") == KEY_DIGITS && !strncmp(name + KEY_DIGITS, ".img", 4) &&
           strlen(name) < NAME_SIZE;
}

struct kept {
    char name[NAME_SIZE];
    uint64_t size;
    struct timespec used;
};

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct kept *)a)->used, *y = &((const struct kept *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* What a folder has of ours; *list is the caller's to free. Other processes may add and remove meanwhile. */
static size_t look(DIR *d, struct kept **list, uint64_t *total)
{
    size_t count = 0, room = 0;
    struct stat s;
    *list = NULL;
    *total = 0;
    for (struct dirent *e; (e = readdir(d));) {
        if (!is_ours(e->d_name) || fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode))
            continue;
        if (count == room) {
            struct kept *more = realloc(*list, (room = room ? 2 * room : 256) * sizeof *more);
            if (!more) break;
            *list = more;
        }
        strcpy((*list)[count].name, e->d_name);
        (*list)[count].size = (uint64_t)s.st_size;
        (*list)[count++].used = s.st_mtim;
        *total += (uint64_t)s.st_size;
    }
    return count;
}

/* What has not been used for longest goes when there is more than the folder's share. */
static void prune(const char *folder)
{
    struct kept *list;
    uint64_t total;
    DIR *d = opendir(folder);
    if (!d) return;
    size_t count = look(d, &list, &total);
    if (total > SHARE) qsort(list, count, sizeof *list, by_use);
    for (size_t k = 0; k < count && total > SHARE; total -= list[k++].size) unlinkat(dirfd(d), list[k].name, 0);
    free(list);
    closedir(d);
}

/* Earlier versions kept all files in one folder. Their keys can't match any more, as another
 * compiler made them; they go some thousand at a time, so that nobody waits long. */
static void remove_earlier(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) return;
    int left = 4096;
    for (struct dirent *e; left && (e = readdir(d));)
        if (is_ours(e->d_name) && !unlinkat(dirfd(d), e->d_name, 0)) left--;
    closedir(d);
}

/* Looking through a folder costs some milliseconds. So not every addition does it, but one
 * in so many that a folder gets SHARE / 64 between two, in small files or in large ones. */
static bool is_its_turn(struct cache_key k, uint64_t size) { return k.b % (SHARE / 64) < size; }

static void make_folders(char *path)
{
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
}

static bool write_fresh(const char *path, const struct mapped *what)
{
    struct cache_key k = content_key(what->data, what->size);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool good = file_write(fd, &k, sizeof k) && file_write(fd, what->data, what->size);
    return !close(fd) && good;
}

/* Failure to keep something is no failure. */
void cache_write(struct cache_key key, const struct mapped *what)
{
    static _Atomic unsigned count;
    struct place p;
    char fresh[sizeof p.file + 32];
    uint64_t size = sizeof key + what->size;
    if (size > SHARE || !file_fits(size) || !find_place(key, &p)) return;
    make_folders(p.file);
    snprintf(fresh, sizeof fresh, "%s.%d.%u", p.file, (int)getpid(), count++);
    if (!write_fresh(fresh, what) || rename(fresh, p.file)) unlink(fresh);
    if (!is_its_turn(key, size)) return;
    prune(p.part);
    remove_earlier(p.top);
}
