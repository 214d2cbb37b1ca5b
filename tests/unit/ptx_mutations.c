/* PTX that was damaged at random: the compiler, up to LLVM, refuses it or
 * translates it, and neither crashes nor hangs. Each batch is translated in a
 * process of its own, so that a crash ends only that one.
 * usage: PTX-FILE... */
#include "ptx/llvm.h"
#include "ptx/ptxc.h"
#include "ptx/translate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#ifdef __SANITIZE_THREAD__
enum { MUTATIONS = 2000 }; /* there are no threads here, and forking costs much */
#else
enum { MUTATIONS = 40000 };
#endif
enum { BATCH = 250, SECONDS = 20, LONGEST = 1 << 14 };

struct options options = { .level = 2 };
static jmp_buf refused;
static char *texts[64];
static size_t lengths[64];
static int count;

bool llvm_host_has(const char *feature) { return feature != NULL; }

void fatal(int status, const char *format, ...)
{
    (void)format;
    longjmp(refused, status);
}

void begin_again(void) { abort(); }

void fatal_at(int status, int line, const char *format, ...)
{
    (void)line, (void)format;
    longjmp(refused, status);
}

static uint32_t any(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

/* A line of some text: what belongs into a kernel, but not there. */
static size_t some_line(uint64_t *r, const char **start)
{
    int which = (int)any(r, (uint32_t)count);
    const char *p = texts[which] + any(r, (uint32_t)lengths[which]), *last = texts[which] + lengths[which];
    const char *end = memchr(p, '\n', (size_t)(last - p));
    while (p > texts[which] && p[-1] != '\n') p--;
    *start = p;
    return (size_t)((end ? end + 1 : last) - p);
}

static size_t replace(char *text, size_t n, size_t at, size_t out, const char *in, size_t in_size)
{
    char copy[256];
    if (out > n - at) out = n - at;
    if (in_size > sizeof copy) in_size = sizeof copy;
    if (n - out + in_size >= LONGEST) return n;
    memcpy(copy, in, in_size);
    memmove(text + at + in_size, text + at + out, n - at - out);
    memcpy(text + at, copy, in_size);
    return n - out + in_size;
}

/* The word (of letters, digits, dots and the like) around at. */
static size_t word_at(const char *text, size_t n, size_t at, size_t *start)
{
    static const char ends[] = " \t\n,;()[]{}|+";
    size_t end = at;
    while (at > 0 && !strchr(ends, text[at - 1])) at--;
    while (end < n && !strchr(ends, text[end])) end++;
    *start = at;
    return end - at;
}

/* clang-format off */
static const char *const odd[] = {
    "0", "-1", "4294967296", "99999999999999999999", "0x", "0fFFFFFFFF", "_", "%p1", "%r1", "%rd1", "%f1", ".f64",
    ".u8", ".pred", ".v4", ".b128", "@", "{", "}", "(", ")", "[", "]", ";", "<1000000>", "<99999999999>", "%tid.x",
    "%tid.w", ".shared", ".local", "bra", "call", "ret", "bar.sync 0;", "shfl.sync.idx.b32", "\"", "/*", "//",
    "\\", "!", "~", "\0"
};
/* clang-format on */

static size_t damage(char *text, size_t n, uint64_t *r)
{
    for (uint32_t k = any(r, 4) + 1; k-- && n;) {
        const char *line;
        size_t at = any(r, (uint32_t)n), start, length, size;
        switch (any(r, 7)) {
        case 0: text[at] = (char)any(r, 256); break;
        case 1: n = replace(text, n, at, any(r, 40) + 1, "", 0); break;
        case 2: size = some_line(r, &line), n = replace(text, n, at, 0, line, size); break;
        case 3:
            if (any(r, 8) == 0) n = at;
            break;
        case 4:
            line = odd[any(r, sizeof odd / sizeof *odd)];
            length = word_at(text, n, at, &start);
            n = replace(text, n, start, length, line, strlen(line));
            break;
        case 5: {
            /* one word in another's place */
            size_t from, words = word_at(text, n, any(r, (uint32_t)n), &from);
            char word[64];
            if (words > sizeof word) words = sizeof word;
            memcpy(word, text + from, words);
            length = word_at(text, n, at, &start);
            n = replace(text, n, start, length, word, words);
            break;
        }
        default:
            while (at > 0 && text[at - 1] != '\n') at--;
            size = some_line(r, &line);
            n = replace(text, n, at, 0, line, size);
        }
    }
    text[n] = 0;
    return n;
}

/* Another SEED makes other mutations. */
static uint64_t seed_of(int batch, int k)
{
    const char *seed = getenv("SEED");
    return (uint64_t)batch * BATCH + (uint64_t)k + 1 + (seed ? strtoull(seed, NULL, 0) << 32 : 0);
}

static size_t make(int batch, int k, char *text)
{
    uint64_t r = seed_of(batch, k) * 0x9e3779b97f4a7c15u;
    int which = (int)any(&r, (uint32_t)count);
    size_t n = lengths[which];
    memcpy(text, texts[which], n);
    return damage(text, n, &r);
}

/* In the child; the pipe says which input it was. */
static void translate_batch(int batch, int out)
{
    /* the text ends where memory that can be read ends */
    char *text = malloc(LONGEST),
         *room = mmap(NULL, LONGEST * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED || mprotect(room + LONGEST, LONGEST, PROT_NONE)) _exit(1);
    alarm(SECONDS);
    for (volatile int k = 0; k < BATCH; k++) {
        struct translation t;
        if (write(out, (const void *)&k, sizeof k) < 0) _exit(1);
        size_t n = make(batch, k, text);
        char *exact = memcpy(room + LONGEST - (n + 1), text, n + 1);
        int status = setjmp(refused);
        if (!status) {
            translate(exact, strlen(exact), &t);
            for (uint32_t u = 0; u < t.nunits; u++) free(t.units[u].ir);
        } else if (status != EXIT_INVALID_PTX && status != EXIT_VERSION && status != EXIT_UNSUPPORTED) {
            _exit(2);
        }
    }
    _exit(0);
}

static void damaged_ptx_is_refused_or_translated(void **state)
{
    (void)state;
    int wrong = 0;
    const char *one = getenv("BATCH");
    for (int batch = one ? atoi(one) : 0; batch < MUTATIONS / BATCH && wrong < 10; batch++) {
        int ends[2], status, k = -1;
        assert_false(pipe(ends));
        pid_t child = fork();
        if (!child) translate_batch(batch, ends[1]);
        close(ends[1]);
        for (int next; read(ends[0], &next, sizeof next) == sizeof next;) k = next;
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status) {
            static char text[LONGEST];
            char name[64];
            size_t n = make(batch, k, text);
            snprintf(name, sizeof name, "mutation-%d-%d.ptx", batch, k);
            FILE *f = fopen(name, "w");
            if (f) {
                fwrite(text, 1, n, f);
                fclose(f);
            }
            print_error("batch %d, input %d: %s %d; it is in %s\n", batch, k, WIFSIGNALED(status) ? "signal" : "exit",
                        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), name);
            wrong++;
        }
        if (one) break;
    }
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_ptx_is_refused_or_translated) };
    for (int k = 1; k < argc && count < 64; k++) {
        FILE *f = fopen(argv[k], "r");
        if (!f) return 2;
        texts[count] = malloc(LONGEST);
        lengths[count] = fread(texts[count], 1, LONGEST - 1, f);
        fclose(f);
        count++;
    }
    return count ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
