/* The cache of compiled modules: what is kept, what is believed, what goes when there is too much.
 * usage: with an argument, how long additions take among so many files. */
#include "module/compile.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { MIB = 1 << 20, SHARE = 128 * MIB };
static char top[64];

static struct cache_key key_of(const char *text) { return cache_key(text, strlen(text), 0); }

static int make_top(void **state)
{
    (void)state;
    strcpy(top, "/tmp/faultline-cache-XXXXXX");
    if (!mkdtemp(top)) return -1;
    unsetenv("FAULTLINE_CACHE");
    setenv("FAULTLINE_LOG", "off", 1);
    return setenv("FAULTLINE_CACHE_DIR", top, 1);
}

static int drop(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
    (void)s, (void)kind, (void)ftw;
    return remove(path);
}

static int remove_top(void **state)
{
    (void)state;
    return nftw(top, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static uint64_t kept_bytes, kept_files;
static char last_file[256];

static int count(const char *path, const struct stat *s, int kind, struct FTW *ftw)
{
    (void)ftw;
    if (kind != FTW_F) return 0;
    kept_bytes += (uint64_t)s->st_size;
    kept_files++;
    snprintf(last_file, sizeof last_file, "%s", path);
    return 0;
}

static uint64_t files(void)
{
    kept_bytes = kept_files = 0;
    assert_int_equal(nftw(top, count, 16, FTW_PHYS), 0);
    return kept_files;
}

static void keep(const char *text, const char *content)
{
    cache_write(key_of(text), &(struct mapped){ (void *)content, strlen(content) });
}

static void keep_some(int from, int number, size_t size)
{
    char text[32], *content = calloc(1, size);
    assert_non_null(content);
    for (int k = from; k < from + number; k++) {
        snprintf(text, sizeof text, "module %d", k);
        cache_write(key_of(text), &(struct mapped){ content, size });
    }
    free(content);
}

static bool has(const char *text, const char *content)
{
    struct mapped f = { 0 };
    if (!cache_read(key_of(text), &f)) return false;
    bool same = f.size == strlen(content) && !memcmp(f.data, content, f.size);
    munmap(f.data, f.size);
    return same;
}

/* A file of zeros as an unused one of the cache, that takes no room. */
static void place(const char *folder, const char *name, off_t size, time_t used)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", top, folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", top, folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(futimens(fd, (struct timespec[]){ { .tv_sec = used }, { .tv_sec = used } }), 0);
    close(fd);
}

static bool is_there(const char *folder, const char *name)
{
    char path[256];
    struct stat s;
    snprintf(path, sizeof path, "%s/%s/%s", top, folder, name);
    return !lstat(path, &s);
}

static void what_is_kept_is_found_again(void **state)
{
    (void)state;
    assert_false(has("a", "one"));
    keep("a", "one");
    keep("b", "two");
    assert_true(has("a", "one"));
    assert_true(has("b", "two"));
    assert_false(has("c", "one"));
    keep("a", "three");
    assert_true(has("a", "three"));
    assert_int_equal(files(), 2);
}

static void a_damaged_file_is_not_believed_and_goes(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        keep("a", "some bytes of code");
        assert_int_equal(files(), 1);
        int fd = open(last_file, O_RDWR);
        if (how == 0) assert_int_equal(pwrite(fd, "X", 1, 20), 1);
        if (how == 1) assert_int_equal(ftruncate(fd, 20), 0);
        if (how == 2) assert_int_equal(ftruncate(fd, 0), 0);
        if (how == 3) assert_int_equal(ftruncate(fd, 1l << 40), 0);
        close(fd);
        assert_false(has("a", "some bytes of code"));
        assert_int_equal(files(), 0);
    }
}

static void what_is_no_file_is_not_waited_for(void **state)
{
    (void)state;
    keep("a", "one");
    files();
    unlink(last_file);
    assert_int_equal(mkfifo(last_file, 0600), 0);
    assert_false(has("a", "one"));
    assert_int_equal(symlink("/dev/zero", last_file), 0);
    assert_false(has("a", "one"));
    keep("a", "one");
    assert_true(has("a", "one"));
}

static void a_cache_that_cannot_be_written_is_done_without(void **state)
{
    (void)state;
    setenv("FAULTLINE_CACHE_DIR", "/proc/nowhere", 1);
    keep("a", "one");
    assert_false(has("a", "one"));
    setenv("FAULTLINE_CACHE", "off", 1);
    setenv("FAULTLINE_CACHE_DIR", top, 1);
    keep("a", "one");
    assert_int_equal(files(), 0);
    /* nor is anything read that could name a file */
    struct cache_key none = cache_key((const void *)8, 1ul << 40, 0);
    assert_true(!none.a && !none.b);
    unsetenv("FAULTLINE_CACHE");
    cache_write(none, &(struct mapped){ "one", 3 });
    assert_int_equal(files(), 0);
}

static void files_that_may_not_be_so_long_are_not_begun(void **state)
{
    (void)state;
    pid_t child = fork();
    if (!child) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4096, 4096 });
        keep_some(0, 1, 8192);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(files(), 0);
}

/* Twice what is allowed, in one folder, of which nobody used the most for long, and then some that is new. */
static void what_was_unused_for_longest_goes_first(void **state)
{
    char name[64];
    (void)state;
    for (int k = 0; k < 32; k++) {
        snprintf(name, sizeof name, "3%031x.img", k);
        place("3", name, SHARE / 16, k < 24 ? 1000 + k : 2000000000);
    }
    place("3", "30000000000000000000000000000abc.img.1234.0", MIB, 999); /* of a process that was killed */
    place("3", "notes.txt", 2 * SHARE, 1);
    for (int k = 0; k < 160; k++) keep_some(k, 1, MIB);
    for (int k = 0; k < 32; k++) {
        snprintf(name, sizeof name, "3%031x.img", k);
        if (k < 8 && is_there("3", name)) fail_msg("%s is still there", name);
        if (k >= 24 && !is_there("3", name)) fail_msg("%s is gone", name);
    }
    assert_false(is_there("3", "30000000000000000000000000000abc.img.1234.0"));
    assert_true(is_there("3", "notes.txt"));
}

static void what_is_too_large_for_a_folder_is_not_kept(void **state)
{
    (void)state;
    keep_some(0, 1, SHARE);
    assert_int_equal(files(), 0);
    keep_some(0, 1, SHARE - 16);
    assert_int_equal(files(), 1);
}

/* Most additions of small files do not look at the folder; enough of them do. */
static void small_files_are_pruned_too(void **state)
{
    char folder[2] = "0", name[64];
    (void)state;
    for (int k = 0; k < 16; k++)
        for (int i = 0; i < 17; i++) {
            folder[0] = "0123456789abcdef"[k];
            snprintf(name, sizeof name, "%s%031x.img", folder, i);
            place(folder, name, SHARE / 16, 1000 + i);
        }
    keep_some(0, 6000, 8192);
    files();
    if (kept_bytes > 16ull * SHARE + SHARE / 4) fail_msg("%lu bytes are kept", (unsigned long)kept_bytes);
    if (kept_bytes < 15ull * SHARE) fail_msg("only %lu bytes are kept", (unsigned long)kept_bytes);
}

static void files_of_earlier_versions_go(void **state)
{
    char name[64];
    (void)state;
    for (int k = 0; k < 5000; k++) {
        snprintf(name, sizeof name, "%032x.img", k);
        place(".", name, 100, 1000);
    }
    place(".", "notes.txt", 100, 1000);
    place(".", "0123.img", 100, 1000);
    keep_some(0, 1, SHARE / 64);
    assert_int_equal(files(), 5000 - 4096 + 3);
    keep_some(1, 1, SHARE / 64);
    assert_int_equal(files(), 4);
}

static void processes_write_and_prune_side_by_side(void **state)
{
    pid_t child[6];
    (void)state;
    for (int c = 0; c < 6; c++)
        if (!(child[c] = fork())) {
            char text[32];
            bool good = true;
            for (int k = 0; k < 60; k++) {
                snprintf(text, sizeof text, "module %d", k % 40);
                keep_some(k % 40, 1, MIB);
                struct mapped f = { 0 };
                if (!cache_read(key_of(text), &f)) continue;
                good = good && f.size == MIB && !((char *)f.data)[MIB / 2];
                munmap(f.data, f.size);
            }
            _exit(good ? 0 : 1);
        }
    for (int c = 0; c < 6; c++) {
        int status;
        assert_int_equal(waitpid(child[c], &status, 0), child[c]);
        assert_int_equal(status, 0);
    }
    for (int k = 0; k < 40; k++) {
        char text[32];
        struct mapped f = { 0 };
        snprintf(text, sizeof text, "module %d", k);
        if (!cache_read(key_of(text), &f)) fail_msg("%s is not kept", text);
        munmap(f.data, f.size);
    }
    assert_int_equal(files(), 40);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void measure(int many)
{
    enum { MORE = 2000 };
    double worst = 0, began;
    make_top(NULL);
    keep_some(0, many, 12304);
    double start = now();
    for (int k = 0; k < MORE; k++) {
        began = now();
        keep_some(many + k, 1, 12304);
        if (now() - began > worst) worst = now() - began;
    }
    printf("among %d files: %.3f ms an addition, %.1f the slowest\n", many, 1e3 * (now() - start) / MORE, 1e3 * worst);
    remove_top(NULL);
}

int main(int argc, char **argv)
{
    if (argc > 1) return measure(atoi(argv[1])), 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_kept_is_found_again, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_not_believed_and_goes, make_top, remove_top),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_not_waited_for, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_cache_that_cannot_be_written_is_done_without, make_top, remove_top),
        cmocka_unit_test_setup_teardown(files_that_may_not_be_so_long_are_not_begun, make_top, remove_top),
        cmocka_unit_test_setup_teardown(what_was_unused_for_longest_goes_first, make_top, remove_top),
        cmocka_unit_test_setup_teardown(what_is_too_large_for_a_folder_is_not_kept, make_top, remove_top),
        cmocka_unit_test_setup_teardown(small_files_are_pruned_too, make_top, remove_top),
        cmocka_unit_test_setup_teardown(files_of_earlier_versions_go, make_top, remove_top),
        cmocka_unit_test_setup_teardown(processes_write_and_prune_side_by_side, make_top, remove_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
