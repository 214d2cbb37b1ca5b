/* Calls of functions by the program and its libraries that come to this library instead. Not those from within the
 * object that has the function, nor system calls made otherwise. */
#ifndef FL_BASE_LED_H
#define FL_BASE_LED_H

#include <stdbool.h>

struct led {
    const char *name; /* NULL ends a list */
    void *to;
    bool ours_too; /* what this library itself calls; the first one's counts for the list */
};
/* In all objects that are loaded now. */
void led_lead(const struct led *list);
/* The same, unless none has been loaded since this was last called with that list. *objects: 0 at first, for that list. */
void led_lead_new(const struct led *list, _Atomic unsigned long long *objects);

#endif
