/* The command line of ptxas: --name or -short, a value behind = or as the next
 * argument, files of more options. What only tunes machine code is taken and left. */
#include "ptxas/arch.h"
#include "ptxas/ptxas.h"
#include "ptxas/verdict.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, VALUE, TRUTH, NUMBER };
enum what { TUNING, ARCH, OUTPUT, ENTRY, VERBOSE, RELOCATABLE, QUIET, HELP, VERSION, LIST, INPUT, OPTIONS_FILE };

static const struct option {
    const char *name, *short_name; /* short_name NULL: it has none */
    enum kind kind;
    enum what what;
} table[] = {
    { "gpu-name", "arch", VALUE, ARCH },
    { "output-file", "o", VALUE, OUTPUT },
    { "entry", "e", VALUE, ENTRY },
    { "verbose", "v", FLAG, VERBOSE },
    { "compile-only", "c", FLAG, RELOCATABLE },
    { "disable-warnings", "w", FLAG, QUIET },
    { "help", "h", FLAG, HELP },
    { "version", "V", FLAG, VERSION },
    { "list-version", "version-ls", FLAG, LIST },
    { "input-as-string", "ias", VALUE, INPUT },
    { "options-file", "optf", VALUE, OPTIONS_FILE },
    { "opt-level", "O", NUMBER, TUNING },
    { "maxrregcount", "maxrregcount", VALUE, TUNING },
    { "device-function-maxrregcount", "func-maxrregcount", VALUE, TUNING },
    { "register-usage-level", "regUsageLevel", NUMBER, TUNING },
    { "regAllocOptLevel", NULL, NUMBER, TUNING },
    { "split-compile", "split-compile", NUMBER, TUNING },
    { "minnctapersm", "minnctapersm", NUMBER, TUNING },
    { "maxntid", "maxntid", VALUE, TUNING },
    { "machine", "m", NUMBER, TUNING },
    { "Ofast-compile", "Ofc", VALUE, TUNING },
    { "def-load-cache", "dlcm", VALUE, TUNING },
    { "def-store-cache", "dscm", VALUE, TUNING },
    { "force-load-cache", "flcm", VALUE, TUNING },
    { "force-store-cache", "fscm", VALUE, TUNING },
    { "sanitize", "sanitize", VALUE, TUNING },
    { "fmad", "fmad", TRUTH, TUNING },
    { "allow-expensive-optimizations", "allow-expensive-optimizations", TRUTH, TUNING },
    { "device-stack-protector", "device-stack-protector", TRUTH, TUNING },
    { "position-independent-code", "pic", TRUTH, TUNING },
    { "generate-line-info", "lineinfo", FLAG, TUNING },
    { "device-debug", "g", FLAG, TUNING },
    { "suppress-debug-info", "suppress-debug-info", FLAG, TUNING },
    { "compile-as-tools-patch", "astoolspatch", FLAG, TUNING },
    { "compiler-annotations", "annotate", FLAG, TUNING },
    { "disable-optimizer-constants", "disable-optimizer-consts", FLAG, TUNING },
    { "dont-merge-basicblocks", "no-bb-merge", FLAG, TUNING },
    { "extensible-whole-program", "ewp", FLAG, RELOCATABLE },
    { "g-tensor-memory-access-check", "g-tmem-access-check", FLAG, TUNING },
    { "gno-tensor-memory-access-check", "gno-tmem-access-check", FLAG, TUNING },
    { "legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", FLAG, TUNING },
    { "make-errors-visible-at-exit", "make-errors-visible-at-exit", FLAG, TUNING },
    { "optimize-float-atomics", "opt-fp-atomics", FLAG, TUNING },
    { "override-directive-values", "override-directive-values", FLAG, TUNING },
    { "preserve-relocs", "preserve-relocs", FLAG, TUNING },
    { "return-at-end", "ret-end", FLAG, TUNING },
    { "sp-bounds-check", "sp-bounds-check", FLAG, TUNING },
    { "suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning", FLAG,
      TUNING },
    { "suppress-double-demote-warning", "suppress-double-demote-warning", FLAG, TUNING },
    { "suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", FLAG, TUNING },
    { "suppress-stack-size-warning", "suppress-stack-size-warning", FLAG, TUNING },
    { "uumn", NULL, FLAG, TUNING },
    { "warn-on-double-precision-use", "warn-double-usage", FLAG, TUNING },
    { "warn-on-local-memory-usage", "warn-lmem-usage", FLAG, TUNING },
    { "warn-on-spills", "warn-spills", FLAG, TUNING },
    { "warning-as-error", "Werror", FLAG, TUNING },
};
enum { OPTIONS = sizeof table / sizeof *table };

void ptxas_help(void)
{
    static const char *const values[] = { "", " <value>", " <true|false>", " <N>" };
    printf("\nUsage  : ptxas [options] <ptx file>,...\n\n"
           "Checks PTX and writes what a simulated GPU loads in the place of machine code.\n\nOptions\n=======\n\n");
    for (int k = 0; k < OPTIONS; k++) {
        int n = printf("--%s%s", table[k].name, values[table[k].kind]);
        if (table[k].short_name)
            printf("%*s(-%s)\n", n < 52 ? 52 - n : 1, "", table[k].short_name);
        else
            putchar('\n');
    }
}

/* word: behind its dashes, up to = or its end. */
static const struct option *find(const char *word, size_t n, bool is_long)
{
    for (int k = 0; k < OPTIONS; k++) {
        const char *name = is_long ? table[k].name : table[k].short_name;
        if (name && strlen(name) == n && !strncmp(name, word, n)) return &table[k];
    }
    return NULL;
}

static bool check_value(const struct option *option, const char *value)
{
    char *end;
    if (option->kind == TRUTH && strcmp(value, "true") && strcmp(value, "false"))
        return ptxas_fatal("'%s': expected true or false", value);
    if (option->kind == NUMBER && (strtol(value, &end, 10), end == value || *end))
        return ptxas_fatal("'%s': expected a number", value);
    return true;
}

static bool add_input(struct ptxas_options *o, const char *name, const char *text)
{
    if (o->ninputs == PTXAS_INPUTS) return ptxas_fatal("Too many inputs");
    o->inputs[o->ninputs++] = (struct ptxas_input){ name, text };
    return true;
}

static bool read_options(const char *name, struct ptxas_options *o);

static bool set(const struct option *option, const char *value, struct ptxas_options *o)
{
    switch (option->what) {
    case TUNING: break;
    case ARCH:
        if (arch_known(value) != ARCH_KNOWN)
            return ptxas_fatal("Value '%s' is not defined for option 'gpu-name'", value);
        o->arch = value;
        break;
    case OUTPUT: o->output = value; break;
    case ENTRY: o->entries = value; break;
    case VERBOSE: o->verbose = true; break;
    case RELOCATABLE: o->relocatable = true; break;
    case QUIET: o->quiet = true; break;
    case HELP: o->help = true; break;
    case VERSION: o->version = true; break;
    case LIST: o->list_versions = true; break;
    case INPUT: return add_input(o, "application ptx input", value);
    case OPTIONS_FILE: return read_options(value, o);
    }
    return true;
}

/* NVIDIA's has options that it does not tell of. */
static bool leave_unknown(const char *word, const struct ptxas_options *o)
{
    if (!o->quiet) verdict_say(stderr, "warning", "Unknown option '%s' is ignored", word);
    return true;
}

static bool take(int argc, char **argv, struct ptxas_options *o)
{
    for (int k = 0; k < argc; k++) {
        const char *word = argv[k], *value = NULL;
        if (*word != '-' || !word[1]) {
            if (!add_input(o, word, NULL)) return false;
            continue;
        }
        bool is_long = word[1] == '-';
        const char *name = word + 1 + is_long, *equals = strchr(name, '=');
        const struct option *option = find(name, equals ? (size_t)(equals - name) : strlen(name), is_long);
        if (equals) value = equals + 1;
        if (!option && !is_long && *name == 'O' && isdigit((unsigned char)name[1])) {
            option = find("O", 1, false);
            value = name + 1;
        }
        if (!option) {
            if (!leave_unknown(word, o)) return false;
            continue;
        }
        if (option->kind == FLAG && value)
            return ptxas_fatal("no argument expected after '%.*s'", (int)(equals - word), word);
        if (option->kind != FLAG && !value && !(value = k + 1 < argc ? argv[++k] : NULL))
            return ptxas_fatal("argument expected after '%s'", word);
        if ((value && !check_value(option, value)) || !set(option, value, o)) return false;
    }
    return true;
}

/* Words with white space between them; they stay for good. */
static bool read_options(const char *name, struct ptxas_options *o)
{
    enum { DEEPEST = 8 };
    static int depth;
    char *text = depth < DEEPEST ? ptxas_read(name) : NULL, *rest = text;
    size_t most = text ? strlen(text) / 2 + 2 : 0; /* words of a letter and a space each, and the end */
    char **words = text ? malloc(most * sizeof *words) : NULL;
    int n = 0;
    if (!words) return ptxas_fatal("Options file '%s' could not be opened", name);
    while ((words[n] = strtok_r(rest, " \t\r\n", &rest))) n++;
    depth++;
    bool good = take(n, words, o);
    depth--;
    free(words);
    return good;
}

bool ptxas_options(int argc, char **argv, struct ptxas_options *o)
{
    *o = (struct ptxas_options){ .output = "elf.o", .arch = "sm_75" };
    return take(argc - 1, argv + 1, o);
}
