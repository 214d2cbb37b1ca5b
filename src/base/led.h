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
/* How many have been loaded so far. */
unsigned long long led_objects(void);

#endif
