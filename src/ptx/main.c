/* faultline-ptxc [-O0..-O3] [--cpu NAME] [--dump-ir] [--dump-optimised] [--log FILE] IN.ptx -o OUT.img
 * ("-" is standard input or output). Exit status: see ptxc.h; 0 is success. */
#include "arena.h"
#include "emit.h"
#include "kernel.h"
#include "llvm.h"
#include "object.h"
#include "ptxc.h"
#include "write.h"

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

void fatal_at(int status, int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(line, "error", format, list);
    va_end(list);
    finish(status);
}

static char *read_all(const char *path, size_t *size)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
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
    *size = strlen(text);
    return text;
}

/* Variables of all functions and the module that get an address of their own,
 * then functions whose address is taken: the image's symbols. */
static struct var **variables;
static struct func **functions;
static uint32_t nvariables, nfunctions;

static void add_variable(struct var *v)
{
    if (v->space != SPACE_global && v->space != SPACE_const) return;
    v->index = nvariables;
    ARENA_PUSH(variables, nvariables) = v;
}

static void note_addresses(struct func *f)
{
    for (uint32_t k = 0; k < f->ncode; k++)
        for (unsigned o = 0; o < f->code[k].nops; o++) {
            struct operand *op = &f->code[k].ops[o];
            if (op->kind == OPERAND_func && f->code[k].op != OP_call) op->func->address_taken = true;
            if (op->kind == OPERAND_var && op->var->space == SPACE_shared && !op->var->size && !op->var->is_extern)
                op->var->is_extern = true;
        }
}

static void number_symbols(struct module_ir *m)
{
    for (uint32_t k = 0; k < m->nvars; k++) add_variable(m->vars[k]);
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        f->number = k;
        note_addresses(f);
        for (uint32_t v = 0; v < f->nvars; v++) add_variable(f->vars[v]);
    }
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        if (!f->address_taken || f->entry) continue;
        struct func *target = f;
        for (int hops = 0; target->alias && hops < 8; hops++) target = target->alias;
        if (!target->body) continue;
        target->address_taken = true;
        f->index = nvariables + nfunctions;
        ARENA_PUSH(functions, nfunctions) = target;
    }
}

/* Shared variables that functions and several kernels use have one place for the whole module. */
static void place_shared(struct module_ir *m)
{
    uint32_t size = 0;
    for (uint32_t k = 0; k < m->nfuncs + 1; k++) {
        bool module = k == m->nfuncs;
        struct var **list = module ? m->vars : m->funcs[k]->vars;
        uint32_t n = module ? m->nvars : m->funcs[k]->nvars;
        for (uint32_t v = 0; v < n; v++) {
            struct var *x = list[v];
            if (x->space != SPACE_shared || x->placed || (!module && m->funcs[k]->entry) || (x->is_extern && !x->size))
                continue;
            size = (size + x->align - 1) & ~(x->align - 1);
            x->offset = size;
            x->placed = true;
            size += (uint32_t)x->size;
        }
    }
}

/* Whether f may call what the system provides under this name. Each function is looked at once a search. */
static bool reaches(const struct module_ir *m, struct func *f, const char *name, uint32_t search)
{
    struct func **queue = arena_alloc((m->nfuncs + 1ul) * sizeof *queue);
    uint32_t n = 0;
    queue[n++] = f;
    f->search = search;
    while (n) {
        f = queue[--n];
        for (uint32_t k = 0; k < f->ncode; k++) {
            if (f->code[k].op != OP_call) continue;
            bool direct = false;
            for (unsigned o = 0; o < f->code[k].nops; o++) {
                struct func *g = f->code[k].ops[o].kind == OPERAND_func ? f->code[k].ops[o].func : NULL;
                if (!g) continue;
                direct = true;
                for (int hops = 0; g->alias && hops < 8; hops++) g = g->alias;
                if (!g->body && !strcmp(g->name, name)) return true;
                if (g->search != search) g->search = search, queue[n++] = g;
            }
            for (uint32_t a = 0; a < m->nfuncs && !direct; a++)
                if (m->funcs[a]->address_taken && m->funcs[a]->search != search)
                    m->funcs[a]->search = search, queue[n++] = m->funcs[a];
        }
    }
    return false;
}

static void emit_all(struct module_ir *m, struct emitter *e)
{
    fputs("attributes #0 = { nounwind null_pointer_is_valid \"no-builtins\" \"prefer-vector-width\"=\"512\" }\n"
          "attributes #1 = { nounwind null_pointer_is_valid noinline optnone \"no-builtins\" }\n"
          "!0 = !{}\n!1 = distinct !{}\n!2 = distinct !{!2, !{!\"llvm.loop.parallel_accesses\", !1}}\n!3 = "
          "!{!\"branch_weights\", i32 1, i32 100000}\n!5 = !{i64 8}\n"
          "!6 = distinct !{!6, !{!\"llvm.loop.parallel_accesses\", !1}, !{!\"llvm.loop.interleave.count\", i32 1}}\n"
          "declare i32 @llvm.umin.i32(i32, i32)\ndeclare i64 @llvm.readcyclecounter()\n",
          e->out);
    fprintf(e->out, "!4 = !{i64 %u}\n", (nvariables + nfunctions) * 8);
    uint32_t number = 0;
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        struct func *f = m->funcs[k];
        if (!f->body) continue;
        if (!f->entry) {
            emit_function(e, f);
            continue;
        }
        f->kernel = arena_alloc(sizeof *f->kernel);
        f->kernel->number = number++;
        f->uses_printf = reaches(m, f, "vprintf", number * 2);
        f->uses_malloc = reaches(m, f, "malloc", number * 2 + 1);
        kernel_analyse(f->kernel, m, f);
        emit_kernel(e, f);
    }
}

static void compile(const char *in, const char *out)
{
    size_t size, ir_size;
    char *text = read_all(in, &size), *ir;
    struct module_ir *m = parse(text, size);
    check_module(m);
    inline_calls(m);
    number_symbols(m);
    place_shared(m);
    struct emitter e = { .module = m, .out = open_memstream(&ir, &ir_size), .avoid_fma = !llvm_host_has("fma") };
    if (!e.out) fatal(EXIT_INTERNAL, "out of memory");
    emit_all(m, &e);
    fclose(e.out);
    if (options.dump_ir) fputs(ir, stdout);
    const unsigned char *object;
    size_t object_size;
    struct code code;
    llvm_compile(ir, ir_size, &object, &object_size);
    object_link(object, object_size, &code);
    FILE *f = strcmp(out, "-") ? fopen(out, "wb") : stdout;
    if (!f) fatal(EXIT_INTERNAL, "cannot write %s", out);
    image_write(m, variables, nvariables, functions, nfunctions, &code, f);
}

int main(int argc, char **argv)
{
    const char *in = NULL, *out = "/dev/null";
    for (int k = 1; k < argc; k++) {
        if (!strncmp(argv[k], "-O", 2) && argv[k][2] >= '0' && argv[k][2] <= '3')
            options.level = argv[k][2] - '0';
        else if (!strcmp(argv[k], "--dump-ir"))
            options.dump_ir = true;
        else if (!strcmp(argv[k], "--dump-optimised"))
            options.dump_optimised = true;
        else if (!strcmp(argv[k], "--cpu") && k + 1 < argc)
            options.cpu = argv[++k];
        else if (!strcmp(argv[k], "-o") && k + 1 < argc)
            out = argv[++k];
        else if (!strcmp(argv[k], "--log") && k + 1 < argc)
            log_file = fopen(argv[++k], "w");
        else if (!strcmp(argv[k], "--status") && k + 1 < argc)
            status_fd = atoi(argv[++k]);
        else if (argv[k][0] == '-' && argv[k][1])
            fatal(EXIT_INTERNAL, "unknown option %s", argv[k]);
        else
            in = argv[k];
    }
    if (!in) fatal(EXIT_INTERNAL, "usage: faultline-ptxc [-O0..-O3] [--log FILE] IN.ptx -o OUT.img");
    /* a hostile module must not keep the machine busy for ever */
    setrlimit(RLIMIT_CPU, &(struct rlimit){ 300, 300 });
    compile(in, out);
    finish(0);
}
