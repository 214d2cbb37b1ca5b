/* See because.h. */
#include "base/because.h"

#include <stddef.h>

static _Thread_local struct {
    int error;
    const char *why;
} last;

void because_note(int error, const char *why)
{
    last.error = error;
    last.why = why;
}

const char *because_take(int error)
{
    const char *why = last.error == error ? last.why : NULL;
    last.why = NULL;
    return why;
}
