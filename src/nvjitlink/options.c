/* nvJitLink's options: -name or -name=value. What only tunes machine code is taken and left. */
#include "nvjitlink/nvjitlink.h"
#include "ptxas/arch.h"

#include <string.h>

enum what { TUNING, ARCH, LTO, PTX, RELOCATABLE, VERBOSE, DEBUG, LEVEL, PTXAS };

static const struct {
    const char *name;
    enum what what;
    bool has_value;
} table[] = {
    { "-arch", ARCH, true },
    { "-lto", LTO, false },
    { "-dlto", LTO, false },
    { "-ptx", PTX, false },
    { "-r", RELOCATABLE, false },
    { "-verbose", VERBOSE, false },
    { "-g", DEBUG, false },
    { "-Xptxas", PTXAS, true },
    { "-maxrregcount", TUNING, true },
    { "-time", TUNING, false },
    { "-lineinfo", TUNING, false },
    { "-Ofc", TUNING, true },
    { "-ftz", TUNING, true },
    { "-prec-div", TUNING, true },
    { "-prec-sqrt", TUNING, true },
    { "-fma", TUNING, true },
    { "-Xnvvm", TUNING, true },
    { "-kernels-used", TUNING, true },
    { "-variables-used", TUNING, true },
    { "-optimize-unused-variables", TUNING, false },
    { "-nvvm-latest", TUNING, false },
    { "-split-compile", TUNING, true },
    { "-split-compile-extended", TUNING, true },
    { "-jump-table-density", TUNING, true },
    { "-no-cache", TUNING, false },
    { "-device-stack-protector", TUNING, false },
};

static nvJitLinkResult set_arch(struct nvJitLink *l, const char *value)
{
    const char *number = strchr(value, '_');
    switch (arch_known(value)) {
    case ARCH_NONE:
        fprintf(l->errors.file, "ERROR NVJITLINK_ERROR_UNRECOGNIZED_OPTION: missing option value (-arch=%s)\n", value);
        return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
    case ARCH_UNKNOWN:
        fprintf(l->errors.file, "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (compute%s)\n",
                number);
        return NVJITLINK_ERROR_UNRECOGNIZED_ARCH;
    case ARCH_OLDER:
        fprintf(l->errors.file, "ERROR NVJITLINK_ERROR_UNSUPPORTED_ARCH: unsupported architecture (compute%s)\n",
                number);
        return NVJITLINK_ERROR_UNSUPPORTED_ARCH;
    default: snprintf(l->options.arch, sizeof l->options.arch, "%s", value); return NVJITLINK_SUCCESS;
    }
}

static nvJitLinkResult set_level(struct nvJitLink *l, const char *value)
{
    if (strcmp(value, "0") && strcmp(value, "3")) {
        fprintf(l->errors.file, "unsupported value of -O: %s. Only 0 and 3 are supported.\n", value);
        return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
    }
    l->options.optimised = *value == '3';
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult set(struct nvJitLink *l, enum what what, const char *value)
{
    struct link_options *o = &l->options;
    switch (what) {
    case TUNING: break;
    case ARCH: return set_arch(l, value);
    case LEVEL: return set_level(l, value);
    case LTO: o->lto = true; break;
    case PTX: o->ptx = true; break;
    case RELOCATABLE: o->relocatable = true; break;
    case VERBOSE: o->verbose = true; break;
    case DEBUG: o->debug = true; break;
    case PTXAS: o->verbose |= !strcmp(value, "-v") || !strcmp(value, "--verbose"); break;
    }
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult take(struct nvJitLink *l, const char *option)
{
    const char *equals = strchr(option, '=');
    size_t n = equals ? (size_t)(equals - option) : strlen(option);
    if (!strncmp(option, "-O", 2) && option[2] >= '0' && option[2] <= '9') return set(l, LEVEL, option + 2);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strlen(table[k].name) == n && !strncmp(table[k].name, option, n) && table[k].has_value == !!equals)
            return set(l, table[k].what, equals ? equals + 1 : NULL);
    fprintf(l->errors.file, "unrecognized option: %s\n", option);
    return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
}

/* What they mean together. */
static nvJitLinkResult check(struct nvJitLink *l)
{
    const struct link_options *o = &l->options;
    const char *wrong = NULL;
    if (!*o->arch) return NVJITLINK_ERROR_MISSING_ARCH;
    if (o->ptx && !o->lto)
        wrong = "-ptx requires -lto";
    else if (arch_is_virtual(o->arch) && !o->ptx)
        wrong = "virtual arch requires -ptx";
    else if (o->debug && o->optimised)
        wrong = "optimized debugging not supported; use -O0 with -g";
    if (wrong) fprintf(l->errors.file, "ERROR: %s\n", wrong);
    return wrong ? NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS : NVJITLINK_SUCCESS;
}

nvJitLinkResult link_options(struct nvJitLink *l, uint32_t n, const char *const *options)
{
    nvJitLinkResult r = NVJITLINK_SUCCESS;
    for (uint32_t k = 0; k < n && !r; k++) r = options[k] ? take(l, options[k]) : NVJITLINK_ERROR_NULL_INPUT;
    return r ? r : check(l);
}
