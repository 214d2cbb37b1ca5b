/* Messages to the user on standard error, one line each: "faultline: ...".
 * FAULTLINE_LOG = off | error | warn | info | debug (default: warn). */
#ifndef FL_BASE_LOG_H
#define FL_BASE_LOG_H

#include <stdbool.h>

enum fl_log_level { FL_LOG_OFF, FL_LOG_ERROR, FL_LOG_WARN, FL_LOG_INFO, FL_LOG_DEBUG };

/* Any thread, any lock; not in signal handlers. */
void fl_log(enum fl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Errors and warnings also go there, shown or not, without "faultline: ". May be called by any thread that holds any lock. */
typedef void fl_log_listener(enum fl_log_level level, const char *text);
void fl_log_listen(fl_log_listener *l);

/* Once per call site. */
#define fl_log_once(level, ...) \
    do { \
        static _Atomic(bool) said_; \
        if (!__atomic_exchange_n((bool *)&said_, true, __ATOMIC_RELAXED)) fl_log(level, __VA_ARGS__); \
    } while (0)

#endif
