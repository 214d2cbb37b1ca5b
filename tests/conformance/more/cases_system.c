/* Managed memory and the operating system: system calls on pages that lie on either side, what mprotect, madvise and fork
 * do to it, signals, and that it is gone when it was freed. What follows when a program unmaps or moves it
 * cases_unmapped.c asks. */
#define FILLED(at, n) k_fill(at, (uint32_t)((n) / 64), 16, 0x41414141)
#include "own.h"
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static const char *peeked(CUdeviceptr at)
{
    *(volatile uint32_t *)out = 0xabad1dea;
    CUresult r = k_peek(at, out);
    if (!r) r = cuCtxSynchronize();
    return r ? rname(r) : keyf("%x", *(volatile uint32_t *)out);
}

static void begin_with_memory(void)
{
    begin();
    MUST(cuMemAllocManaged(&p, SIZE, 1));
}

/* ---- system calls; two neighbours, of which each may be anywhere */

static long result(long r) { return r < 0 ? -errno : r; }

static void calls_on(int here, int next)
{
    char *a = (char *)p, name[32], note[64];
    int ends[2], both[2];
    long r[24];
    unsigned n = 0;
    FILE *file = tmpfile();
    int fd = fileno(file);
    if (pipe2(ends, O_NONBLOCK) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, both)) exit(1);
    struct iovec two[] = { { a + PAGE - 64, 32 }, { a + PAGE - 32, 64 } }, whole = { a + PAGE - 64, 128 }, mine = { note, 64 };
    struct msghdr m = { .msg_iov = two, .msg_iovlen = 2 };
    memset(note, 0x42, sizeof note);
#define AGAIN settle(p, PAGE, here), settle(p + PAGE, PAGE, next)
#define CALL(...) (AGAIN, r[n++] = result(__VA_ARGS__))
    CALL(write(ends[1], a + PAGE - 64, 128));
    CALL(read(ends[0], a + PAGE - 64, 128));
    CALL(pwrite(fd, a, 2 * PAGE, 0));
    CALL(pread(fd, a, 2 * PAGE, 0));
    CALL(writev(fd, two, 2));
    CALL(preadv(fd, two, 2, 0));
    CALL(sendmsg(both[0], &m, 0));
    CALL(recvmsg(both[1], &m, 0));
    CALL(process_vm_readv(getpid(), &mine, 1, &whole, 1, 0));
    CALL(process_vm_writev(getpid(), &mine, 1, &whole, 1, 0));
    CALL(vmsplice(ends[1], &whole, 1, 0));
    CALL(read(ends[0], note, 64));
    CALL(stat("/proc/self/exe", (struct stat *)(a + PAGE - 8)));
    CALL(readlink("/proc/self/exe", a + PAGE - 2, 4));
    CALL(syscall(SYS_futex, a, FUTEX_WAIT_PRIVATE, 7, NULL, NULL, 0));
    CALL(syscall(SYS_futex, a, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
    CALL(poll((struct pollfd *)(a + PAGE - 8), 1, 0) >= 0);
    CALL(clock_gettime(CLOCK_MONOTONIC, (struct timespec *)(a + PAGE - 8)));
    CALL(mlock(a, 2 * PAGE));
    CALL(munlock(a, 2 * PAGE));
#undef CALL
    snprintf(name, sizeof name, "%s.%s", places[here], places[next]);
    for (unsigned k = 0; k < n; k++) add(" %ld", r[k]);
    AGAIN;
    long got = result(pread(fd, a, 2 * PAGE, 0));
    add(" then %ld %s", got, peeked(p));
    add(" %s", peeked(p + PAGE));
    say_as(name);
    fclose(file);
    close(ends[0]), close(ends[1]), close(both[0]), close(both[1]);
#undef AGAIN
}

static void g_calls(void)
{
    begin_with_memory();
    for (int here = FRESH; here <= THERE; here++)
        for (int next = FRESH; next <= THERE; next++) {
            calls_on(here, next);
            MUST(cuMemFree(p));
            MUST(cuMemAllocManaged(&p, SIZE, 1));
        }
}

/* ---- the program changes the mapping */

static void seen(const char *name)
{
    CUdeviceptr base;
    size_t size;
    int v = 77;
    rec(keyf("%s.before", name), "%s", word_at(p, 0));
    rec(keyf("%s.inside", name), "%s", word_at(p + MiB, 0));
    rec(keyf("%s.behind", name), "%s", word_at(p + 2 * MiB, 0));
    rec(keyf("%s.store", name), "%s", word_at(p + MiB, 5));
    CUresult r = cuMemGetAddressRange(&base, &size, p + MiB);
    rec(keyf("%s.range", name), "%s %d %zu", rname(r), !r && base == p, r ? 0 : size);
    recr(keyf("%s.advise", name), cuMemAdvise(p, SIZE, 1, loc(1, 0)));
    recr(keyf("%s.unadvise", name), cuMemAdvise(p, SIZE, 2, loc(1, 0)));
    r = cuMemRangeGetAttribute(&v, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, SIZE);
    rec(keyf("%s.attribute", name), "%s %d", rname(r), v);
    recr(keyf("%s.prefetch", name), cuMemPrefetchAsync(p, SIZE, loc(1, 0), 0, s));
    recr(keyf("%s.sync", name), cuStreamSynchronize(s));
    recr(keyf("%s.home", name), cuMemPrefetchAsync(p, SIZE, loc(2, 0), 0, s));
    recr(keyf("%s.sync2", name), cuStreamSynchronize(s));
    recr(keyf("%s.copy", name), cuMemcpyDtoH((void *)out, p + MiB - 64, 128));
    recr(keyf("%s.set", name), cuMemsetD8(p + MiB, 9, 64));
    recr(keyf("%s.sync3", name), cuCtxSynchronize());
    rec(keyf("%s.after", name), "%s", word_at(p, 0));
    rec(keyf("%s.after.inside", name), "%s", word_at(p + MiB, 0));
    rec(keyf("%s.after.behind", name), "%s", word_at(p + 2 * MiB, 0));
}

static void change(const char *name)
{
    const char *what = strchr(name, '.') + 1;
    char *a = (char *)p;
    long r = 0;
    begin_with_memory();
    a = (char *)p;
    settle(p, SIZE, place);
    if (!strcmp(what, "read")) r = mprotect(a + MiB, MiB, PROT_READ);
    if (!strcmp(what, "none")) r = mprotect(a + MiB, MiB, PROT_NONE);
    if (!strcmp(what, "exec")) r = mprotect(a + MiB, MiB, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (!strcmp(what, "all_read")) r = mprotect(a, SIZE, PROT_READ);
    if (!strcmp(what, "there_and_back")) r = mprotect(a + MiB, MiB, PROT_NONE) | mprotect(a + MiB, MiB, PROT_READ | PROT_WRITE);
    rec(name, "%ld", result(r));
    seen(name);
    K(keyf("%s.free", name), cuMemFree(p));
    MUST(cuMemAllocManaged(&p, SIZE, 1));
    rec(keyf("%s.again.store", name), "%s", word_at(p + MiB, 6));
    rec(keyf("%s.again.poke", name), "%s", poked(p + MiB, 8));
    rec(keyf("%s.again", name), "%s", word_at(p + MiB, 0));
}

static void change_and_peek(const char *name)
{
    const char *what = strchr(name, '.') + 1;
    begin_with_memory();
    char *a = (char *)p;
    settle(p, SIZE, place);
    if (strstr(what, "read")) mprotect(a + MiB, MiB, PROT_READ);
    if (strstr(what, "none")) mprotect(a + MiB, MiB, PROT_NONE);
    SAID("before", "%s", peeked(p));
    SAID("inside", "%s", peeked(p + MiB));
    SAID("poke", "%s", poked(p + MiB, 3));
}

static void g_changed(void)
{
    static const char *const ways[] = { "read", "none", "exec", "all_read", "there_and_back" };
    static const char *const peeks[] = { "read_peek", "none_peek" };
    for (place = FRESH; place <= FETCHED; place++) {
        for (unsigned k = 0; k < COUNT(ways); k++) apart(keyf("%s.%s", places[place], ways[k]), change);
        for (unsigned k = 0; k < COUNT(peeks); k++) apart(keyf("%s.%s", places[place], peeks[k]), change_and_peek);
    }
}

/* ---- madvise: what they answer, and that the bytes stay */

static void advised(const char *name)
{
    static const struct {
        const char *name;
        int advice;
    } ways[] = { { "normal", MADV_NORMAL },     { "random", MADV_RANDOM },       { "willneed", MADV_WILLNEED },
                 { "dontneed", MADV_DONTNEED }, { "free", MADV_FREE },           { "dontfork", MADV_DONTFORK },
                 { "dofork", MADV_DOFORK },     { "huge", MADV_HUGEPAGE },       { "nohuge", MADV_NOHUGEPAGE },
                 { "mergeable", MADV_MERGEABLE }, { "dump", MADV_DONTDUMP },     { "wipe", MADV_WIPEONFORK },
                 { "cold", MADV_COLD },         { "pageout", MADV_PAGEOUT },     { "populate", 22 },
                 { "populate_write", 23 } };
    begin_with_memory();
    for (unsigned k = 0; k < COUNT(ways); k++) {
        settle(p, SIZE, place);
        long r = result(madvise((void *)(p + MiB), MiB, ways[k].advice));
        rec(keyf("%s.%s", name, ways[k].name), "%ld", r);
        rec(keyf("%s.%s.device", name, ways[k].name), "%s", peeked(p + MiB));
        settle(p, SIZE, place);
        madvise((void *)(p + MiB), MiB, ways[k].advice);
        rec(keyf("%s.%s.host", name, ways[k].name), "%s", word_at(p + MiB + PAGE, 0));
    }
    settle(p, SIZE, place);
    rec(keyf("%s.bytes", name), "%s %s", peeked(p + MiB), word_at(p + MiB + PAGE, 0));
}

static void g_advised(void)
{
    for (place = HOST; place <= BOTH; place++) apart(places[place], advised);
}

/* ---- fork */

static void in_child(const char *name)
{
    static const char *const what[] = { "read", "write", "calls", "write_call", "read_call", "unmap", "exit" };
    begin_with_memory();
    settle(p, SIZE, place);
    for (unsigned k = 0; k < COUNT(what); k++) {
        int status;
        pid_t child = fork();
        if (!child) {
            char key[64];
            snprintf(key, sizeof key, "%s.%s", name, what[k]);
            alarm(20);
            CUdeviceptr base;
            size_t size;
            int v = 0;
            if (k == 0) rec(key, "%s", word_at(p, 0));
            if (k == 1) rec(key, "%s", word_at(p, 4));
            if (k == 2) {
                recr(keyf("%s.init", key), cuInit(0));
                recr(keyf("%s.count", key), cuDeviceGetCount(&v));
                recr(keyf("%s.current", key), cuCtxGetCurrent(&ctx0));
                recr(keyf("%s.range", key), cuMemGetAddressRange(&base, &size, p));
                recr(keyf("%s.pointer", key), cuPointerGetAttribute(&v, CU_POINTER_ATTRIBUTE_IS_MANAGED, p));
                recr(keyf("%s.attribute", key), cuMemRangeGetAttribute(&v, 4, 1, p, PAGE));
                recr(keyf("%s.advise", key), cuMemAdvise(p, PAGE, 1, loc(1, 0)));
                recr(keyf("%s.prefetch", key), cuMemPrefetchAsync(p, PAGE, loc(1, 0), 0, 0));
                recr(keyf("%s.alloc", key), cuMemAllocManaged(&base, PAGE, 1));
                recr(keyf("%s.copy", key), cuMemcpyDtoH(&v, p, 4));
                recr(keyf("%s.free", key), cuMemFree(p));
                recr(keyf("%s.sync", key), cuCtxSynchronize());
            }
            int ends[2];
            if (k > 2 && pipe2(ends, O_NONBLOCK)) exit(1);
            if (k == 3) rec(key, "%ld", result(write(ends[1], (void *)p, 64)));
            if (k == 4) rec(key, "%ld", result(write(ends[1], "abcdefgh", 8)) + result(read(ends[0], (void *)p, 8)));
            if (k == 5) rec(key, "%ld", result(munmap((void *)p, SIZE)));
            if (k == 6) exit(0);
            _exit(0);
        }
        waitpid(child, &status, 0);
        rec(keyf("%s.%s.parent", name, what[k]), "%d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        rec(keyf("%s.%s.parent.host", name, what[k]), "%s", word_at(p, 0));
        rec(keyf("%s.%s.parent.device", name, what[k]), "%s", peeked(p + MiB));
        rec(keyf("%s.%s.parent.poke", name, what[k]), "%s", poked(p + MiB, 7));
        settle(p, SIZE, place);
    }
}

static void g_forked(void)
{
    for (place = FRESH; place <= BOTH; place++) apart(places[place], in_child);
}

/* A child reads its parent's managed memory, and the parent that of a child. */
static void g_looked_at(void)
{
    begin_with_memory();
    for (place = FRESH; place <= BOTH; place++) {
        CUdeviceptr q;
        int ends[2], status;
        if (pipe(ends)) exit(1);
        MUST(cuMemAllocManaged(&q, SIZE, 1));
        settle(q, SIZE, place);
        fflush(stdout);
        pid_t parent = getpid(), child = fork();
        if (!child) {
            char note[64] = { 0 };
            struct iovec mine = { note, 64 }, theirs = { (void *)q, 64 };
            long r = result(process_vm_readv(parent, &mine, 1, &theirs, 1, 0));
            rec(keyf("%s.from_child", places[place]), "%ld %x", r, note[3]);
            _exit(0);
        }
        waitpid(child, &status, 0);
        rec(keyf("%s.then", places[place]), "%s", word_at(q, 0));
        rec(keyf("%s.then.device", places[place]), "%s", peeked(q));
        close(ends[0]), close(ends[1]);
    }
}

/* ---- signals */

static volatile uint32_t handled;
static CUdeviceptr other;

static void touches(int number)
{
    (void)number;
    handled = *(volatile uint32_t *)other;
    *(volatile uint32_t *)(other + PAGE) = 0x43;
}

static void g_signals(void)
{
    begin_with_memory();
    for (place = FRESH; place <= BOTH; place++) {
        MUST(cuMemAllocManaged(&other, SIZE, 1));
        settle(other, SIZE, place);
        struct sigaction a = { .sa_handler = touches };
        sigaction(SIGUSR1, &a, NULL);
        handled = 1;
        raise(SIGUSR1);
        rec(keyf("%s.raised", places[place]), "%x %s", handled, peeked(other + PAGE));
        settle(other, SIZE, place);
        /* the stack of signals lies in managed memory */
        stack_t stack = { .ss_sp = (void *)(other + MiB), .ss_size = MiB }, none = { .ss_flags = SS_DISABLE };
        long r = result(sigaltstack(&stack, NULL));
        a.sa_flags = SA_ONSTACK;
        sigaction(SIGUSR1, &a, NULL);
        handled = 1;
        raise(SIGUSR1);
        rec(keyf("%s.stack", places[place]), "%ld %x %s", r, handled, peeked(other + PAGE));
        sigaltstack(&none, NULL);
    }
}

static void stray(const char *name)
{
    begin_with_memory();
    settle(p, SIZE, place);
    rec(keyf("%s.null", name), "%s", word_at(8, 0));
    K(keyf("%s.free", name), cuMemFree(p));
    rec(keyf("%s.freed", name), "%s", word_at(p, 0));
}

static void g_stray(void)
{
    for (place = FRESH; place <= BOTH; place++) apart(places[place], stray);
}

const struct group groups[] = { { "calls", g_calls, 1 },     { "changed", g_changed, 1 }, { "advised", g_advised, 1 },
                                { "forked", g_forked, 1 },   { "looked_at", g_looked_at, 1 },
                                { "signals", g_signals, 1 }, { "stray", g_stray, 1 },     { 0 } };
