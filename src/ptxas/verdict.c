/* See verdict.h. */
#include "ptxas/verdict.h"
#include "base/driver_version.h"
#include "module/image.h"

#include <stdarg.h>
#include <string.h>

void verdict_say(FILE *to, const char *kind, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(to, "ptxas %-8s: ", kind);
    vfprintf(to, format, list);
    fputc('\n', to);
    va_end(list);
}

int verdict_next_line(const char *text)
{
    enum { BORDER = 2 }; /* lines that ptx_join writes between pieces */
    int n = 1;
    if (!text) return n;
    while ((text = strchr(text, '\n'))) text++, n++;
    return n + BORDER;
}

const struct verdict_piece *verdict_piece_of(const struct verdict_piece *pieces, int npieces, int line)
{
    while (npieces > 1 && pieces[npieces - 1].first_line > line) npieces--;
    return &pieces[npieces - 1];
}

void verdict_errors(FILE *to, const char *text, const struct verdict_piece *pieces, int npieces, CUresult r, char *log)
{
    char *rest = log, *line;
    const char *version = strstr(text, ".version");
    unsigned major, minor;
    while ((line = strtok_r(rest, "\n", &rest))) {
        int number = 1, n = 0;
        if (sscanf(line, "line %d; %n", &number, &n) == 1 && n) line += n;
        const char *kind = strncmp(line, "warning: ", 9) ? "error" : "warning", *what = strstr(line, ": ");
        const struct verdict_piece *piece = verdict_piece_of(pieces, npieces, number);
        fprintf(to, "ptxas %s, line %d; ", piece->name, number - piece->first_line + 1);
        if (r == CUDA_ERROR_UNSUPPORTED_PTX_VERSION && version &&
            sscanf(version, ".version %u.%u", &major, &minor) == 2)
            fprintf(to, "fatal   : Unsupported .version %u.%u; current version is '9.%d'\n", major, minor,
                    driver_minor());
        else
            fprintf(to, "%-8s: %s%s\n", kind, what ? what + 2 : line,
                    r == CUDA_ERROR_NOT_SUPPORTED ? " (a GPU could run this, Faultline cannot)" : "");
    }
    if (r == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) verdict_say(to, "fatal", "faultline-ptxc is missing");
    verdict_say(to, "fatal", "Ptx assembly aborted due to errors");
}

void verdict_statistics(FILE *to, const struct fl_image *image, const char *arch)
{
    const struct fl_image_symbol *s = image_symbols(image);
    unsigned long gmem = 0;
    for (uint32_t k = 0; k < image->nsymbols; k++)
        if (s[k].kind == FL_SYMBOL_GLOBAL) gmem += s[k].size;
    verdict_say(to, "info", "%lu bytes gmem", gmem);
    for (uint32_t i = 0; i < image->nkernels; i++) {
        const struct fl_image_kernel *k = &image_kernels(image)[i];
        const char *name = image_string(image, k->name);
        verdict_say(to, "info", "Compiling entry function '%s' for '%s'", name, arch);
        verdict_say(to, "info", "Function properties for %s", name);
        fprintf(to, "    %u bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n", k->local_reported);
        if (k->static_shared)
            verdict_say(to, "info", "Used %u registers, %u bytes smem", k->registers, k->static_shared);
        else
            verdict_say(to, "info", "Used %u registers", k->registers);
    }
}
