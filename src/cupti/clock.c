/* A client's own clock, whose unit and beginning nobody knows: both clocks are looked
 * at when it is registered and before each delivery, and times in between are on the
 * line through these two points. */
#include "cupti/clock.h"

#include <cupti.h>

#include <pthread.h>
#include <stddef.h>
#include <time.h>

struct point {
    uint64_t system, client;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_TimestampCallbackFunc function;
static struct point first, last;

uint64_t clock_system(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp)
{
    if (!funcTimestamp) return CUPTI_ERROR_INVALID_PARAMETER;
    struct point now = { clock_system(), funcTimestamp() };
    pthread_mutex_lock(&lock);
    function = funcTimestamp;
    first = last = now;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

void clock_in_child(void) { pthread_mutex_init(&lock, NULL); }

void clock_look(void)
{
    pthread_mutex_lock(&lock);
    CUpti_TimestampCallbackFunc f = function;
    pthread_mutex_unlock(&lock);
    if (!f) return;
    struct point now = { clock_system(), f() };
    pthread_mutex_lock(&lock);
    if (function == f) last = now;
    pthread_mutex_unlock(&lock);
}

uint64_t clock_convert(uint64_t time)
{
    pthread_mutex_lock(&lock);
    if (function && time) {
        __int128 passed = (__int128)time - first.system;
        if (last.system > first.system)
            passed = passed * (__int128)(last.client - first.client) / (__int128)(last.system - first.system);
        time = (uint64_t)((__int128)first.client + passed);
    }
    pthread_mutex_unlock(&lock);
    return time;
}
