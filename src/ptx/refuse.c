/* Functions that are not run; see refuse.h. */
#include "refuse.h"
#include "ptxc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 }; /* each time all is compiled again */

static struct {
    int first, culprit;
    char *why;
} list[MOST];
static unsigned count;

/* The functions of this time, in the order of their lines. */
static struct extent {
    int first, last;
} * extents;
static unsigned functions, room;

void refuse_enter(int line)
{
    if (functions == room) {
        struct extent *more = realloc(extents, (room * 2 + 64) * sizeof *more);
        if (!more) fatal(EXIT_INTERNAL, "out of memory");
        extents = more;
        room = room * 2 + 64;
    }
    extents[functions++] = (struct extent){ line, INT_MAX };
}

void refuse_leave(int line)
{
    if (functions) extents[functions - 1].last = line;
}

bool refuse(int line, const char *why)
{
    for (unsigned n = functions; n-- > 0;) {
        if (line < extents[n].first || line > extents[n].last) continue;
        if (count == MOST || refused(extents[n].first, NULL)) return false;
        list[count].first = extents[n].first;
        list[count].culprit = line;
        list[count].why = strdup(why);
        return list[count++].why;
    }
    return false;
}

const char *refused(int line, int *culprit)
{
    for (unsigned n = 0; n < count; n++) {
        if (list[n].first != line) continue;
        if (culprit) *culprit = list[n].culprit;
        return list[n].why;
    }
    return NULL;
}

void refuse_again(void) { functions = 0; }
