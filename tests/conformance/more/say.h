/* A line of output that is put together from pieces; its key is the step of a walk. */
#ifndef SAY_H
#define SAY_H
#include "dice.h"

static char line[8192];
static size_t used;

static void add(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    used += (size_t)vsnprintf(line + used, sizeof line - used, fmt, ap);
    va_end(ap);
}

static void say(void)
{
    rec(keyf("%d", step), "%s", line);
    used = 0;
    line[0] = 0;
}

#endif
