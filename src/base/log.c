/* Messages to the user; see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum fl_log_level limit(void)
{
    static const char *const names[] = { "off", "error", "warn", "info", "debug" };
    static _Atomic int known = -1;
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level >= 0) return (enum fl_log_level)level;
    const char *asked = getenv("FAULTLINE_LOG");
    for (int k = 0; asked && k < 5; k++)
        if (!strcmp(asked, names[k])) level = k;
    bool wrong = asked && *asked && level < 0;
    if (level < 0) level = FL_LOG_WARN;
    /* the first thread alone says what is wrong: by then what it says is shown */
    int before = atomic_exchange_explicit(&known, level, memory_order_relaxed);
    if (wrong && before < 0)
        fl_log(FL_LOG_WARN, "FAULTLINE_LOG=%s: off, error, warn, info or debug is wanted; it is warn now", asked);
    return (enum fl_log_level)level;
}

static _Atomic(fl_log_listener *) listener;

void fl_log_listen(fl_log_listener *l) { atomic_store(&listener, l); }

/* One write per message, so that messages of several processes do not mix. */
void fl_log(enum fl_log_level level, const char *format, ...)
{
    char text[4096] = "faultline: ";
    fl_log_listener *l = level <= FL_LOG_WARN ? atomic_load_explicit(&listener, memory_order_acquire) : NULL;
    if (!l && level > limit()) return;
    va_list list;
    va_start(list, format);
    size_t start = strlen(text);
    int n = vsnprintf(text + start, sizeof text - start - 1, format, list);
    va_end(list);
    size_t size = n < 0 ? start : start + (size_t)n;
    if (size > sizeof text - 2) size = sizeof text - 2;
    text[size] = 0;
    if (l) l(level, text + start);
    if (level > limit()) return;
    text[size++] = '\n';
    /* past the C library's function, in which the thread could be cancelled, with locks of who called us */
    syscall(SYS_write, STDERR_FILENO, text, size);
}
