/* ptxas: inputs become one text, that is compiled to see what is wrong with it, and
 * written. What it compiled is in the library's cache when the program loads it. */
#include "base/driver_version.h"
#include "base/ptx_version.h"
#include "module/compile.h"
#include "module/image.h"
#include "module/join.h"
#include "ptxas/arch.h"
#include "ptxas/ptxas.h"
#include "ptxas/verdict.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The PTX that a driver of CUDA 13.0 takes. */
static const unsigned versions[] = { 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 30, 31, 32, 40, 41,
                                     42, 43, 50, 51, 60, 61, 62, 63, 64, 65, 70, 71, 72, 73, 74,
                                     75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90 };

bool ptxas_fatal(const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    verdict_say(stderr, "fatal", "%s", text);
    return false;
}

/* ---- inputs */

struct work {
    const struct ptxas_options *options;
    char *text; /* all inputs, as the compiler gets them */
    struct verdict_piece pieces[PTXAS_INPUTS];
};

char *ptxas_read(const char *name)
{
    FILE *f = strcmp(name, "-") ? fopen(name, "re") : stdin;
    size_t room = 1 << 16, size = 0, n;
    char *text = f ? malloc(room) : NULL;
    while (text && (n = fread(text + size, 1, room - size - 1, f)) > 0) {
        size += n;
        if (size + 1 == room) text = realloc(text, room *= 2);
    }
    if (text) text[size] = 0;
    if (text && ferror(f)) {
        free(text);
        text = NULL;
    }
    if (f && f != stdin) fclose(f);
    return text;
}

static bool read_inputs(struct work *w)
{
    for (int k = 0; k < w->options->ninputs; k++) {
        const struct ptxas_input *in = &w->options->inputs[k];
        char *piece = in->text ? strdup(in->text) : ptxas_read(in->name);
        if (!piece) {
            ptxas_fatal("Input file '%s' could not be opened", in->name);
            return ptxas_fatal("Ptx assembly aborted due to errors");
        }
        ptx_lower_version(piece, driver_minor());
        w->pieces[k] = (struct verdict_piece){ in->name, verdict_next_line(w->text) };
        bool joined = !ptx_join(&w->text, piece);
        free(piece);
        if (!joined) return ptxas_fatal("Memory allocation failure");
    }
    return true;
}

/* ---- the work */

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

/* What another file has to bring cannot be looked at before they are linked. */
static bool waits_for_others(const struct work *w) { return w->options->relocatable && strstr(w->text, ".extern"); }

static bool check(const struct work *w)
{
    static char log[4096];
    struct image_file image;
    if (!arch_takes(w->options->arch, w->text, stderr)) return false;
    if (waits_for_others(w)) return true;
    CUresult r = compile_ptx(w->text, &image, log, sizeof log);
    if (r) {
        verdict_errors(stderr, w->text, w->pieces, w->options->ninputs, r, log);
        return false;
    }
    bool good = check_entries(image.data, w->options->entries);
    if (good && w->options->verbose) verdict_statistics(stderr, image.data, w->options->arch);
    image_release(&image);
    return good;
}

/* With the 0 at the end: programs hand over what they read without saying how long it is. */
static bool write_output(const struct work *w)
{
    size_t size = strlen(w->text) + 1;
    if (arch_is_virtual(w->options->arch)) return true; /* a virtual one is for looking at PTX only */
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

/* The last release of 12, unless a later driver was asked for: Tritons of CUDA 12 take no release of 13, and others need
 * none for what runs here. */
static void print_version(void)
{
    int major = driver_minor() ? 13 : 12, minor = driver_minor() ? driver_minor() : 9;
    printf("ptxas: PTX for simulated GPUs, checked by Faultline\n"
           "Cuda compilation tools, release %d.%d, V%d.%d.88\n",
           major, minor, major, minor);
}

int main(int argc, char **argv)
{
    static struct ptxas_options options;
    static struct work w = { .options = &options }; /* what they have lives as long as the program */
    if (!ptxas_options(argc, argv, &options)) return PTXAS_FAILED;
    if (options.version) {
        print_version();
    } else if (options.list_versions) {
        for (size_t k = 0; k < sizeof versions / sizeof *versions; k++)
            printf("%u.%u\n", versions[k] / 10, versions[k] % 10);
        for (int k = 1; k <= driver_minor(); k++) printf("9.%d\n", k);
    } else if (options.help || !options.ninputs) {
        ptxas_help();
    } else {
        find_compiler();
        return read_inputs(&w) && check(&w) && write_output(&w) ? 0 : PTXAS_FAILED;
    }
    return 0;
}
