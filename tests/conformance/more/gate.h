/* A word that a stream waits for. A thread sets it as soon as what is asked meanwhile has been answered, or in the end,
 * so that a call that waits for the stream is answered, too. */
#ifndef GATE_H
#define GATE_H
#include "../../asleep.h"
#include "oracle.h"
#include <pthread.h>

#ifndef GATE_MS
#define GATE_MS 2000 /* far longer than what does not wait may take on a busy machine */
#endif

static struct {
    pthread_t thread;
    volatile uint32_t *word;
    int answered;
    int asker;    /* the thread that asks */
    int patience; /* if it has slept for so many milliseconds it waits; 0: only the end says so */
    int naps;     /* or if it slept whenever looked at, so often; 0: that says nothing */
} gate;

static void *gate_keeper(void *unused)
{
    struct asleep asker = { 0, 0 };
    int naps = 0;
    (void)unused;
    for (int ms = 0; ms < GATE_MS && !__atomic_load_n(&gate.answered, __ATOMIC_SEQ_CST); ms++) {
        usleep(1000);
        if (gate.patience && asleep_for(&asker, gate.asker) >= gate.patience) break;
        naps += asker.seen >= 0;
        if (gate.naps && naps >= gate.naps) break;
    }
    *gate.word = 1;
    return NULL;
}

/* The word is 0. */
static void gate_close(volatile uint32_t *word)
{
    gate.word = word;
    gate.answered = 0;
    gate.asker = thread_id();
    if (pthread_create(&gate.thread, NULL, gate_keeper, NULL)) exit(1);
}

static void gate_open(void)
{
    __atomic_store_n(&gate.answered, 1, __ATOMIC_SEQ_CST);
    pthread_join(gate.thread, NULL);
}

#endif
