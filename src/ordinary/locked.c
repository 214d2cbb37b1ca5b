/* See locked.h. mlockall(MCL_CURRENT) makes every page that a process has mapped, and Linux takes the aliases of devices'
 * memory for the program's own: it would make more than the machine has. A GPU's driver maps memory in a way that mlockall
 * passes over. So all is locked as it is touched, and then what is the program's is made. */
#include "ordinary/locked.h"
#include "base/backing.h"
#include "base/cancel.h"
#include "base/led.h"
#include "ordinary/registration.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef int mlockall_fn(int);
static mlockall_fn *real;

/* What cannot be made is passed over, as mlockall does. */
static int lock_programs(bool make)
{
    struct region *list;
    size_t n;
    if (regions_of(0, UINT64_MAX, &list, &n)) {
        errno = EAGAIN;
        return -1;
    }
    for (size_t k = 0; k < n; k++) {
        void *start = (void *)list[k].start;
        const size_t size = list[k].end - list[k].start;
        if (backing_shows(list[k].device, list[k].path) && !registration_shows(&list[k]))
            munlock(start, size);
        else if (make)
            mlock(start, size);
    }
    free(list);
    return 0;
}

static int led_mlockall(int flags)
{
    const bool make = !(flags & MCL_ONFAULT);
    if (!(flags & MCL_CURRENT)) return real(flags);
    const int cancel = cancel_defer();
    int result = real(flags | MCL_ONFAULT);
    if (!result) result = lock_programs(make);
    if (!result && make && flags & MCL_FUTURE) result = real(MCL_FUTURE);
    cancel_restore(cancel);
    return result;
}

void locked_lead(void)
{
    static _Atomic unsigned long long objects;
    static const struct led list[] = { { "mlockall", led_mlockall, false }, { 0 } };
    real = mlockall;
    led_lead_new(list, &objects);
}
