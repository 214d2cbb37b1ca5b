/* ptxas: inputs become one text, that is compiled to see what is wrong with it, and
 * written. What it compiled is in the library's cache when the program loads it. */
#include "module/compile.h"
#include "module/image.h"
#include "module/join.h"
#include "ptxas/ptxas.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The newest PTX that is taken; programs take it from --version, too. */
static const unsigned versions[] = { 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 30, 31, 32, 40, 41,
                                     42, 43, 50, 51, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74,
                                     75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90 };

/* ---- messages */

static void say(const char *kind, const char *format, va_list list)
{
    fprintf(stderr, "ptxas %-8s: ", kind);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}

void ptxas_say(const char *kind, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(kind, format, list);
    va_end(list);
}

bool ptxas_fatal(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("fatal", format, list);
    va_end(list);
    return false;
}

/* ---- inputs */

struct work {
    const struct ptxas_options *options;
    char *text;                   /* all inputs, as the compiler gets them */
    int first_line[PTXAS_INPUTS]; /* of each in the text */
};

static char *read_input(const char *name)
{
    FILE *f = strcmp(name, "-") ? fopen(name, "re") : stdin;
    size_t room = 1 << 16, size = 0, n;
    char *text = f ? malloc(room) : NULL;
    while (text && (n = fread(text + size, 1, room - size - 1, f)) > 0) {
        size += n;
        if (size + 1 == room) text = realloc(text, room *= 2);
    }
    if (text) text[size] = 0;
    if (f && f != stdin) fclose(f);
    return text;
}

static int lines(const char *text)
{
    int n = 1;
    while (text && (text = strchr(text, '\n'))) text++, n++;
    return n;
}

static bool read_inputs(struct work *w)
{
    enum { BORDER = 2 }; /* lines that ptx_join writes between pieces */
    for (int k = 0; k < w->options->ninputs; k++) {
        const struct ptxas_input *in = &w->options->inputs[k];
        char *piece = in->text ? strdup(in->text) : read_input(in->name);
        if (!piece) {
            ptxas_fatal("Input file '%s' could not be opened", in->name);
            return ptxas_fatal("Ptx assembly aborted due to errors");
        }
        w->first_line[k] = k ? lines(w->text) + BORDER : 1;
        bool joined = !ptx_join(&w->text, piece);
        free(piece);
        if (!joined) return ptxas_fatal("Memory allocation failure");
    }
    return true;
}

/* ---- what the compiler says */

static void say_where(const struct work *w, int line, const char *kind, const char *what)
{
    int k = w->options->ninputs - 1;
    while (k && w->first_line[k] > line) k--;
    fprintf(stderr, "ptxas %s, line %d; %-8s: %s\n", w->options->inputs[k].name, line - w->first_line[k] + 1, kind,
            what);
}

static bool say_log(const struct work *w, CUresult r, char *log)
{
    unsigned major = 0, minor = 0;
    const char *version = strstr(w->text, ".version");
    for (char *line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
        int number = 1, n = 0;
        if (sscanf(line, "line %d; %n", &number, &n) == 1 && n) line += n;
        const char *kind = !strncmp(line, "warning: ", 9) ? "warning" : "error";
        char *what = strstr(line, ": ");
        what = what ? what + 2 : line;
        char text[640];
        snprintf(text, sizeof text, "%s%s", what,
                 r == CUDA_ERROR_NOT_SUPPORTED ? " (a GPU could run this, Faultline cannot)" : "");
        if (r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION && version &&
            sscanf(version, ".version %u.%u", &major, &minor) == 2) {
            kind = "fatal";
            snprintf(text, sizeof text, "Unsupported .version %u.%u; current version is '9.0'", major, minor);
        }
        say_where(w, number, kind, text);
    }
    if (r == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) ptxas_fatal("faultline-ptxc is missing");
    return ptxas_fatal("Ptx assembly aborted due to errors");
}

static void say_statistics(const struct fl_image *image, const char *arch)
{
    const struct fl_image_symbol *s = image_symbols(image);
    const struct fl_image_kernel *kernels = image_kernels(image);
    unsigned long gmem = 0;
    for (uint32_t k = 0; k < image->nsymbols; k++)
        if (s[k].kind == FL_SYMBOL_GLOBAL) gmem += s[k].size;
    ptxas_say("info", "%lu bytes gmem", gmem);
    for (uint32_t i = 0; i < image->nkernels; i++) {
        const struct fl_image_kernel *k = &kernels[i];
        const char *name = image_string(image, k->name);
        ptxas_say("info", "Compiling entry function '%s' for '%s'", name, arch);
        ptxas_say("info", "Function properties for %s", name);
        fprintf(stderr, "    %u bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n", k->local_reported);
        if (k->static_shared)
            ptxas_say("info", "Used %u registers, %u bytes smem", k->registers, k->static_shared);
        else
            ptxas_say("info", "Used %u registers", k->registers);
    }
}

static bool has_kernel(const struct fl_image *image, const char *name, size_t n)
{
    for (uint32_t k = 0; k < image->nkernels; k++) {
        const char *other = image_string(image, image_kernels(image)[k].name);
        if (strlen(other) == n && !strncmp(other, name, n)) return true;
    }
    return false;
}

static bool check_entries(const struct fl_image *image, const char *entries)
{
    for (size_t n; entries && *entries; entries += n + (entries[n] == ',')) {
        n = strcspn(entries, ",");
        if (!has_kernel(image, entries, n)) return ptxas_fatal("Unknown function %.*s", (int)n, entries);
    }
    return true;
}

/* ---- the work */

/* What another file has to bring cannot be looked at before they are linked. */
static bool waits_for_others(const struct work *w) { return w->options->relocatable && strstr(w->text, ".extern"); }

static bool check(const struct work *w)
{
    static char log[4096];
    char target[32] = "";
    struct image_file image;
    const char *at = strstr(w->text, ".target");
    if (at && sscanf(at, ".target %31[a-z0-9_]", target) == 1 && !ptxas_arch_takes(w->options->arch, target))
        return false;
    if (waits_for_others(w)) return true;
    CUresult r = compile_ptx(w->text, &image, log, sizeof log);
    if (r) return say_log(w, r, log);
    bool good = check_entries(image.data, w->options->entries);
    if (good && w->options->verbose) say_statistics(image.data, w->options->arch);
    image_release(&image);
    return good;
}

/* With the 0 at the end: programs hand over what they read without saying how long it is. */
static bool write_output(const struct work *w)
{
    size_t size = strlen(w->text) + 1;
    if (strncmp(w->options->arch, "sm_", 3)) return true; /* a virtual one is for looking at PTX only */
    FILE *f = fopen(w->options->output, "we");
    bool good = f && fwrite(w->text, 1, size, f) == size;
    if (f && fclose(f)) good = false;
    return good || ptxas_fatal("Output file '%s' could not be %s", w->options->output, f ? "written" : "opened");
}

/* Beside the folder that this executable lies in when it is installed, and where it is built. */
static void find_compiler(void)
{
    static const char *const places[] = { "..", "../.." };
    char self[PATH_MAX], path[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%s/%s/faultline-ptxc", self, places[k]);
        if (!access(path, X_OK)) setenv("FAULTLINE_PTXC_EXE", path, 0);
    }
}

static void print_version(void)
{
    printf("ptxas: PTX for simulated GPUs, checked by Faultline\n"
           "Cuda compilation tools, release 13.0, V13.0.88\n");
}

int main(int argc, char **argv)
{
    static struct ptxas_options options;
    struct work w = { .options = &options };
    if (!ptxas_options(argc, argv, &options)) return PTXAS_FAILED;
    if (options.version) {
        print_version();
    } else if (options.list_versions) {
        for (size_t k = 0; k < sizeof versions / sizeof *versions; k++)
            printf("%u.%u\n", versions[k] / 10, versions[k] % 10);
    } else if (options.help || !options.ninputs) {
        ptxas_help();
    } else {
        find_compiler();
        return read_inputs(&w) && check(&w) && write_output(&w) ? 0 : PTXAS_FAILED;
    }
    return 0;
}
