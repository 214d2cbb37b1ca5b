/* What must hold of a module as a whole before its code is looked at. */
#include "ptxc.h"

static void check_params(const struct module_ir *m, const struct func *f)
{
    if (!f->entry || !f->sig.nparams) return;
    const struct var *last = &f->sig.params[f->sig.nparams - 1];
    uint32_t limit = m->version >= 81 && m->target >= 70 ? 32764 : 4352, size = last->offset + (uint32_t)last->size;
    if (size > limit)
        fatal_at(EXIT_INVALID_PTX, f->line, "the parameters of '%s' take %u bytes, at most %u are possible", f->name,
                 size, limit);
}

static void check_clusters(const struct module_ir *m, const struct func *f)
{
    enum { WITH_CLUSTERS = 90 };
    if ((f->cluster[0] || f->explicit_cluster) && m->target < WITH_CLUSTERS)
        fatal_at(EXIT_INVALID_PTX, f->line, "'%s': clusters of blocks need .target sm_90 or later", f->name);
}

void check_module(struct module_ir *m)
{
    uint64_t constants = 0;
    for (uint32_t k = 0; k < m->nvars; k++) {
        const struct var *v = m->vars[k];
        if (v->space == SPACE_const) constants += v->size;
        if (v->space == SPACE_local)
            fatal_at(EXIT_INVALID_PTX, v->line, "'%s': local variables belong to functions", v->name);
        if (v->space == SPACE_param)
            fatal_at(EXIT_INVALID_PTX, v->line, "'%s': parameters belong to functions", v->name);
    }
    if (constants > 65536)
        fatal_at(EXIT_INVALID_PTX, 1, "constant variables take %llu bytes, at most 65536 are possible",
                 (unsigned long long)constants);
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        check_params(m, m->funcs[k]);
        check_clusters(m, m->funcs[k]);
    }
}
