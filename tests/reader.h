/* A thread into whose memory system calls write all the time: two patterns by turns. */
#ifndef FL_TESTS_READER_H
#define FL_TESTS_READER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct reader {
    char *to;
    size_t size;
    int file;
    pthread_t thread;
    _Atomic bool stop, began;
    bool wrong; /* a call failed, or bytes were lost */
};

static inline void *reader_run(void *arg)
{
    struct reader *r = arg;
    for (unsigned n = 0; !atomic_load(&r->stop); n++) {
        r->wrong |= pread(r->file, r->to, r->size, (off_t)(n % 2 * r->size)) != (ssize_t)r->size;
        for (size_t k = 0; k < r->size; k += 512) r->wrong |= r->to[k] != (char)(n % 2 + 1);
        atomic_store(&r->began, true);
    }
    return NULL;
}

/* Returns after its first call. */
static inline void reader_start(struct reader *r, char *to, size_t size)
{
    *r = (struct reader){ .to = to, .size = size, .file = memfd_create("pattern", MFD_CLOEXEC) };
    for (int n = 0; n < 2; n++) {
        memset(to, n + 1, size);
        r->wrong |= write(r->file, to, size) != (ssize_t)size;
    }
    pthread_create(&r->thread, NULL, reader_run, r);
    while (!atomic_load(&r->began)) usleep(100);
}

/* Whether all was well. */
static inline bool reader_stop(struct reader *r)
{
    atomic_store(&r->stop, true);
    pthread_join(r->thread, NULL);
    close(r->file);
    return !r->wrong;
}

#endif
