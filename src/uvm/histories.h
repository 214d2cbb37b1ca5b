/* What the pages of a window have gone through of late, for the thrashing detector. Pages that went through the same
 * share one history: most move together, and a window in which everything thrashes does not need one for each page. */
#ifndef FL_UVM_HISTORIES_H
#define FL_UVM_HISTORIES_H

#include <stdbool.h>
#include <stdint.h>

/* Packed, without holes: they are compared as bytes. Times (ns) of 56 bits last for two years. */
struct history {
    uint64_t last : 56, events : 8;
    uint64_t nap_end : 56, throttle_count : 8;
    uint64_t pin_end : 56, privileged : 8;
    uint64_t processors : 24, throttled : 24, target : 8;
    uint64_t pinned : 1, revoked : 1, unused : 6;
};

struct histories;

/* All pages have this one. NULL: there is no memory. */
struct histories *histories_new(const struct history *first);
void histories_free(struct histories *h); /* may be NULL */
/* Until the next history_set. */
const struct history *history_of(const struct histories *h, unsigned page);
/* False: there is no memory for one more, and the page keeps the one that it had. */
bool history_set(struct histories *h, unsigned page, const struct history *is);
/* Gives memory back that is not needed any more. */
void histories_tidy(struct histories *h);

#endif
