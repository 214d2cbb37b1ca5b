/* See spare.h. */
#include "module/spare.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

CUresult spares_keep(struct spares *s, const char *text)
{
    char **more = realloc(s->texts, (s->n + 1) * sizeof *more);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    s->texts = more;
    if (!(more[s->n] = strdup(text))) return CUDA_ERROR_OUT_OF_MEMORY;
    s->n++;
    return CUDA_SUCCESS;
}

CUresult spares_move(struct spares *to, struct spares *from)
{
    if (!from->n) return CUDA_SUCCESS;
    char **more = realloc(to->texts, (to->n + from->n) * sizeof *more);
    if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(more + to->n, from->texts, from->n * sizeof *more);
    to->texts = more;
    to->n += from->n;
    from->n = 0;
    return CUDA_SUCCESS;
}

void spares_forget(struct spares *s)
{
    for (unsigned k = 0; k < s->n; k++) free(s->texts[k]);
    free(s->texts);
    *s = (struct spares){ 0 };
}

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%'; }

/* Whether what stands between from and to declares for other files; a call does not, nor does .extern. */
static bool declares(const char *from, const char *to)
{
    static const char *const words[] = { ".visible", ".weak", ".common" };
    for (int k = 0; k < 3; k++)
        if (memmem(from, (size_t)(to - from), words[k], strlen(words[k]))) return true;
    return false;
}

static bool defines(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += n) {
        if (in_name(at[n]) || (at > text && in_name(at[-1]))) continue;
        const char *begin = at;
        while (begin > text && !strchr(";{}", begin[-1])) begin--;
        if (declares(begin, at)) return true;
    }
    return false;
}

char *spares_take(struct spares *s, const char *log)
{
    char name[512];
    const char *at = strstr(log, "unresolved extern ");
    if (!at || sscanf(at, "unresolved extern %*s '%511[^']'", name) != 1) return NULL;
    for (unsigned k = 0; k < s->n; k++) {
        char *text = s->texts[k];
        if (!defines(text, name)) continue;
        s->texts[k] = s->texts[--s->n];
        return text;
    }
    return NULL;
}
