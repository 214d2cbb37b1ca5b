/* How streams and contexts are numbered. */
#include "oracle.h"
#include <pthread.h>
#include <stdbool.h>

static void stream_id(const char *key, CUstream s)
{
    unsigned long long id = 0;
    CUresult r = cuStreamGetId(s, &id);
    rec(key, "%s %llu", rname(r), id);
}

static void context_id(const char *key, CUcontext c)
{
    unsigned long long id = 0;
    CUresult r = cuCtxGetId(c, &id);
    rec(key, "%s %llu", rname(r), id);
}

static CUstream created(const char *key, unsigned flags)
{
    CUstream s;
    MUST(cuStreamCreate(&s, flags));
    stream_id(key, s);
    return s;
}

static void of_context(const char *name, CUcontext c)
{
    MUST(cuCtxSetCurrent(c));
    context_id(keyf("%s.id", name), c);
    stream_id(keyf("%s.legacy", name), NULL);
    stream_id(keyf("%s.perthread", name), CU_STREAM_PER_THREAD);
    created(keyf("%s.created", name), 0);
}

static void *of_thread(void *c)
{
    cuCtxSetCurrent(c);
    stream_id("thread.perthread", CU_STREAM_PER_THREAD);
    stream_id("thread.legacy", CU_STREAM_LEGACY);
    return NULL;
}

static void numbers(bool legacy_first)
{
    CUcontext c, other, again;
    CUstream s;
    pthread_t t;
    setup();
    if (legacy_first) stream_id("legacy", NULL);
    created("first", 0);
    s = created("second", CU_STREAM_NON_BLOCKING);
    created("third", 0);
    stream_id("perthread", CU_STREAM_PER_THREAD);
    stream_id("legacy.later", CU_STREAM_LEGACY);
    MUST(cuStreamDestroy(s));
    created("again", 0);
    MUST(cuStreamCreateWithPriority(&s, 0, -5));
    stream_id("priority", s);
    if (pthread_create(&t, NULL, of_thread, ctx0)) exit(1);
    pthread_join(t, NULL);
    MUST(cuCtxCreate(&c, NULL, 0, 0));
    of_context("second.context", c);
    MUST(cuDevicePrimaryCtxRetain(&other, 1));
    of_context("other.device", other);
    of_context("first.again", ctx0);
    MUST(cuDevicePrimaryCtxReset(0));
    MUST(cuCtxSetCurrent(NULL));
    MUST(cuDevicePrimaryCtxRetain(&again, 0));
    of_context("reset", again);
}

static void numbers_0(void) { numbers(true); }
static void numbers_1(void) { numbers(false); }

static void numbers_made(void)
{
    CUcontext c, d;
    MUST(cuInit(0));
    MUST(cuCtxCreate(&c, NULL, 0, 0));
    of_context("made", c);
    MUST(cuDevicePrimaryCtxRetain(&d, 0));
    of_context("primary", d);
}

const struct group groups[] = { { "numbers_0", numbers_0, 2 }, { "numbers_1", numbers_1, 2 }, { "numbers_made", numbers_made, 1 }, { 0 } };
