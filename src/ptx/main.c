/* faultline-ptxc [-O0..-O3] [--cpu NAME] [--eager] [--dump-ir] [--dump-optimised] [--log FILE] [--refused] IN.ptx -o OUT.img
 * faultline-ptxc [...] --part N IN.img -o OUT.code
 * ("-" is standard input or output, "fd:N" an open descriptor). Exit status: see ptxc.h; 0 is success. */
#include "arena.h"
#include "llvm.h"
#include "object.h"
#include "part.h"
#include "ptxc.h"
#include "refuse.h"
#include "remote.h"
#include "translate.h"
#include "write.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct options options = { .level = 2 };
static FILE *log_file;
static int status_fd = -1; /* the library reads the exit status here: it is not this process's parent */

static void finish(int status) __attribute__((noreturn));
static void finish(int status)
{
    char byte = (char)status;
    if (status_fd >= 0 && write(status_fd, &byte, 1) != 1) status = EXIT_INTERNAL;
    fflush(stdout); /* what was asked to be dumped */
    /* nothing is worth being taken apart: the process ends */
    _Exit(status);
}

static void say(int line, const char *kind, const char *format, va_list list)
{
    if (!log_file) log_file = stderr;
    if (line) fprintf(log_file, "line %d; ", line);
    fprintf(log_file, "%s: ", kind);
    vfprintf(log_file, format, list);
    fputc('\n', log_file);
    fflush(log_file);
}

void fatal(int status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(0, status == EXIT_INTERNAL ? "internal error" : "error", format, list);
    va_end(list);
    finish(status);
}

static jmp_buf beginning; /* where compiling begins again */
static bool can_begin_again;

static void refuse_or_go_on(int line, const char *format, va_list list)
{
    char why[512];
    vsnprintf(why, sizeof why, format, list);
    if (can_begin_again && refuse(line, why)) longjmp(beginning, 1);
}

void begin_again(void) { longjmp(beginning, 1); }

void fatal_at(int status, int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (status == EXIT_UNSUPPORTED) refuse_or_go_on(line, format, list);
    va_end(list);
    va_start(list, format);
    say(line, "error", format, list);
    va_end(list);
    finish(status);
}

static FILE *open_file(const char *path, const char *mode)
{
    if (!strcmp(path, "-")) return *mode == 'r' ? stdin : stdout;
    return strncmp(path, "fd:", 3) ? fopen(path, mode) : fdopen(atoi(path + 3), mode);
}

static char *read_all(const char *path, size_t *size)
{
    FILE *f = open_file(path, "rb");
    if (!f) fatal(EXIT_INTERNAL, "cannot read %s", path);
    size_t room = 1 << 16;
    char *text = malloc(room);
    *size = 0;
    for (size_t n; text && (n = fread(text + *size, 1, room - *size - 1, f)) > 0;) {
        *size += n;
        if (*size + 1 == room) text = realloc(text, room *= 2);
        if (*size > 256ul << 20) fatal(EXIT_UNSUPPORTED, "the text is too long");
    }
    if (!text) fatal(EXIT_INTERNAL, "out of memory");
    text[*size] = 0;
    return text;
}

static bool say_refused; /* not for the library, which says it of what is launched */

static void warn_at(int line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn_at(int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(line, "warning", format, list);
    va_end(list);
}

static void list_refused(const struct module_ir *m)
{
    for (uint32_t n = 0; n < m->nfuncs; n++) {
        const struct func *f = m->funcs[n];
        if (f->entry && f->body && f->refused)
            warn_at(f->refused_line, "kernel %s cannot be launched: %s", f->name, f->refused);
    }
}

/* A module of which no kernel can be launched is of no use. */
static void check_refused(const struct module_ir *m)
{
    const struct func *first = NULL;
    for (uint32_t n = 0; n < m->nfuncs; n++) {
        const struct func *f = m->funcs[n];
        if (!f->entry || !f->body) continue;
        if (!f->refused) return;
        if (!first) first = f;
    }
    if (first) fatal_at(EXIT_UNSUPPORTED, first->refused_line, "%s", first->refused);
}

static void translate_what_runs(const char *text, size_t size, struct translation *t)
{
    remote_choose(size);
    if (setjmp(beginning)) {
        arena_again();
        refuse_again();
    }
    can_begin_again = true;
    translate(text, size, t);
    can_begin_again = false;
    check_refused(t->module);
    if (say_refused) list_refused(t->module);
}

struct task {
    const char *in, *out;
    long part; /* -1: IN is PTX */
};

static void compile_module(const char *text, FILE *out)
{
    struct translation t;
    struct code code = { 0 };
    translate_what_runs(text, strlen(text), &t);
    for (uint32_t k = 0; k < t.nunits && options.dump_ir; k++) fputs(t.units[k].ir, stdout);
    const uint32_t later = t.deferred ? t.nunits - t.nshared : 0;
    if (t.nunits > later) llvm_compile(t.units + later, t.nunits - later, &code);
    image_write(&t, &code, out);
}

static void *compile(void *arg)
{
    const struct task *task = arg;
    size_t size;
    char *in = read_all(task->in, &size);
    FILE *out = open_file(task->out, "wb");
    if (!out) fatal(EXIT_INTERNAL, "cannot write %s", task->out);
    if (task->part < 0)
        compile_module(in, out);
    else
        part_compile(in, size, (uint32_t)task->part, out);
    finish(0);
}

int main(int argc, char **argv)
{
    struct task task = { .out = "/dev/null", .part = -1 };
    for (int k = 1; k < argc; k++) {
        if (!strncmp(argv[k], "-O", 2) && argv[k][2] >= '0' && argv[k][2] <= '3')
            options.level = argv[k][2] - '0';
        else if (!strcmp(argv[k], "--dump-ir"))
            options.dump_ir = true;
        else if (!strcmp(argv[k], "--eager"))
            options.eager = true;
        else if (!strcmp(argv[k], "--refused"))
            say_refused = true;
        else if (!strcmp(argv[k], "--part") && k + 1 < argc)
            task.part = atol(argv[++k]);
        else if (!strcmp(argv[k], "--dump-optimised"))
            options.dump_optimised = true;
        else if (!strcmp(argv[k], "--cpu") && k + 1 < argc)
            options.cpu = argv[++k];
        else if (!strcmp(argv[k], "-o") && k + 1 < argc)
            task.out = argv[++k];
        else if (!strcmp(argv[k], "--log") && k + 1 < argc)
            log_file = open_file(argv[++k], "w");
        else if (!strcmp(argv[k], "--status") && k + 1 < argc)
            status_fd = atoi(argv[++k]);
        else if (argv[k][0] == '-' && argv[k][1])
            fatal(EXIT_INTERNAL, "unknown option %s", argv[k]);
        else
            task.in = argv[k];
    }
    if (!task.in) fatal(EXIT_INTERNAL, "usage: faultline-ptxc [-O0..-O3] [--log FILE] IN.ptx -o OUT.img");
    /* a hostile module must not keep the machine busy for ever */
    setrlimit(RLIMIT_CPU, &(struct rlimit){ 300, 300 });
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTXC_STACK);
    if (!pthread_create(&thread, &attributes, compile, &task)) pthread_join(thread, NULL);
    compile(&task);
}
