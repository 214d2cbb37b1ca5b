/* What processes share of an event with CU_EVENT_INTERPROCESS: how often it was
 * recorded, and which of the last records are complete. It lies in a file of the
 * process that created the event; others map that.
 *
 * A record takes the next number, or, while an earlier record's place is in use,
 * a later one; where all are, it waits for one, as for room in a GPU's queue. The
 * stream completes the number when it gets there. Whoever waits,
 * waits for the number that was the newest when it began. Numbers never go back,
 * so a beacon can be used for another event at once. With its number a record says
 * which process is to complete it, so that there is no moment at which it is not
 * known; as one number, which is what the functions here take for it. */
#ifndef FL_STREAM_BEACON_H
#define FL_STREAM_BEACON_H

#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BEACON_RECORDS = 1024, BEACONS = 4096 };

struct beacon {
    _Atomic uint32_t changed;      /* futex: bumped when a record completes */
    _Atomic uint32_t waiters;
    _Atomic uint64_t recorded;
    /* of a record, by its number modulo BEACON_RECORDS: the newest, the newest that is complete, and the process that
     * does it */
    _Atomic uint64_t last[BEACON_RECORDS], complete[BEACON_RECORDS];
    _Atomic int32_t recorder[BEACON_RECORDS];
    _Atomic uint32_t namespace[BEACON_RECORDS]; /* of its number */
};

/* One of this process's own, never recorded; counted. NULL: no memory, or none left. */
struct beacon *beacon_new(void);
void beacon_hold(struct beacon *b);
/* The last one makes it free for others, and the last one of all of another process's unmaps them. */
void beacon_release(struct beacon *b);
/* Where it is, for another process. */
unsigned beacon_index(const struct beacon *b);
int beacons_descriptor(void);
/* All of another process's, from a descriptor of its file; the first is counted. NULL: it is no such file, or no memory. */
struct beacon *beacons_open(int fd);

/* A record's number; it is complete; the newest number, 0: never recorded; whether number n is complete. */
uint64_t beacon_record(struct beacon *b);
void beacon_complete(struct beacon *b, uint64_t n);
uint64_t beacon_newest(const struct beacon *b);
bool beacon_done(const struct beacon *b, uint64_t n);
/* The same, and true once its process is gone, too. */
bool beacon_over(struct beacon *b, uint64_t n);
/* Returns when it is over. */
void beacon_wait(struct beacon *b, uint64_t n);

#endif
