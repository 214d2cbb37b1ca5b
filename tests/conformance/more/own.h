/* Managed memory whose pages lie somewhere, cases that run in a process of their own, and words that may not be there. */
#ifndef OWN_H
#define OWN_H
#include "short.h"
#include <setjmp.h>

enum { SIZE = 4 << 20, PAGE = 4096 };

static CUdeviceptr p, out;
static CUstream s;
static int place; /* of pages, before something is done */

static void apart(const char *given, void (*ask)(const char *))
{
    char name[64];
    int status;
    snprintf(name, sizeof name, "%s", given);
    pid_t child = fork();
    if (!child) {
        alarm(20);
        ask(name);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) rec(keyf("%s.signal", name), "%d", WTERMSIG(status));
    else if (WEXITSTATUS(status)) rec(keyf("%s.exit", name), "%d", WEXITSTATUS(status));
}

#define SAID(part, ...) rec(keyf("%s.%s", name, part), __VA_ARGS__)
#define ANSWERED(part, call) recr(keyf("%s.%s", name, part), call)

/* ---- what the host and kernels see */

static sigjmp_buf back;

static void caught(int number) { siglongjmp(back, number); }

/* A word, or that reading it (writing it: v) makes a signal. */
static const char *word_at(CUdeviceptr at, int v)
{
    struct sigaction a = { .sa_handler = caught, .sa_flags = SA_NODEFER }, old[2];
    sigaction(SIGSEGV, &a, &old[0]);
    sigaction(SIGBUS, &a, &old[1]);
    int number = sigsetjmp(back, 1);
    uint32_t seen = 0;
    if (!number && v) *(volatile uint32_t *)at = (uint32_t)v;
    else if (!number) seen = *(volatile uint32_t *)at;
    sigaction(SIGSEGV, &old[0], NULL);
    sigaction(SIGBUS, &old[1], NULL);
    return number ? "signal" : v ? "stored" : keyf("%x", seen);
}

static const char *poked(CUdeviceptr at, uint32_t v)
{
    CUresult r = k_poke(at, v);
    if (!r) r = cuCtxSynchronize();
    return rname(r);
}

static void begin(void)
{
    setup();
    kernels();
    MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocHost((void **)&out, PAGE));
}

/* ---- where pages are */

enum { FRESH, HOST, DEVICE, FETCHED, BOTH, THERE };
static const char *const places[] = { "fresh", "host", "device", "fetched", "both", "there" };

static void settle(CUdeviceptr at, size_t n, int where)
{
    if (where == FRESH) return;
    memset((void *)at, 0x41, n);
    if (where == DEVICE) MUST(FILLED(at, n));
    if (where == BOTH) MUST(cuMemAdvise(at, n, CU_MEM_ADVISE_SET_READ_MOSTLY, loc(1, 0)));
    if (where == THERE) MUST(cuMemAdvise(at, n, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, loc(1, 0)));
    if (where == THERE) MUST(cuMemAdvise(at, n, CU_MEM_ADVISE_SET_ACCESSED_BY, loc(2, 0)));
    if (where >= FETCHED) MUST(cuMemPrefetchAsync(at, n, loc(1, 0), 0, NULL));
    MUST(cuCtxSynchronize());
}

#endif
