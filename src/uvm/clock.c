/* The time that policy goes by; apart, so that a test can be the clock. */
#include "uvm/internal.h"

#include <time.h>

uint64_t uvm_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void uvm_sleep(uint64_t until)
{
    quiet_unlock(&uvm_lock);
    for (uint64_t now; (now = uvm_now()) < until;) nanosleep(&(struct timespec){ 0, (long)(until - now) }, NULL);
    quiet_lock(&uvm_lock);
}
