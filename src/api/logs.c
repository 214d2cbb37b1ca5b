/* Error log management: what the library says on standard error, kept, told to whoever asked, and written where
 * CUDA_LOG_FILE says. Errors and warnings only, whatever FAULTLINE_LOG shows. */
#include "api/api.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "context/context.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 50, LONGEST = 512, LISTENERS = 16, PATIENCE_MS = 20 };

struct listener { /* CUlogsCallbackEntry_st */
    CUlogsCallback call;
    void *arg;
    unsigned next; /* message to be told */
    bool busy;     /* it is being called */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER, quiet = PTHREAD_COND_INITIALIZER;
static char kept[KEPT][LONGEST];
static CUlogLevel level_of[KEPT];
static unsigned newest; /* messages so far: the next one's number, as iterators count */
static struct listener listeners[LISTENERS];
static bool started;
static _Thread_local bool telling; /* the thread that calls listeners */

/* What is said may be said under any lock, so listeners are called by a thread that holds none. */
static bool tell_next(struct listener *l)
{
    char copy[LONGEST];
    if (!l->call || l->next == newest) return false;
    if (newest - l->next > KEPT) l->next = newest - KEPT;
    const unsigned k = l->next++ % KEPT;
    const struct listener now = *l;
    const CUlogLevel level = level_of[k];
    memcpy(copy, kept[k], sizeof copy);
    l->busy = true;
    pthread_mutex_unlock(&lock);
    now.call(now.arg, level, copy, strlen(copy));
    pthread_mutex_lock(&lock);
    l->busy = false;
    pthread_cond_broadcast(&quiet);
    return true;
}

static void *tell(void *unused)
{
    telling = true;
    pthread_mutex_lock(&lock);
    for (;;) {
        bool any = false;
        for (int k = 0; k < LISTENERS; k++) any |= tell_next(&listeners[k]);
        if (!any) pthread_cond_wait(&news, &lock);
    }
    return unused;
}

/* Whoever holds the lock may wait for the caller, who serves faults: of the buffer that is filled, or of a signal's
 * handler. Such a message is shown, but not kept. */
static bool lock_in_time(void)
{
    for (int k = 0; k < PATIENCE_MS; k++) {
        if (!pthread_mutex_trylock(&lock)) return true;
        usleep(1000);
    }
    return false;
}

/* Where CUDA_LOG_FILE has each message written at once. */
enum { LOG_FILE = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC };
static char log_path[PATH_MAX];
static int log_descriptor = -1; /* standard output or error, instead of a file */

/* The file is opened for each message: a descriptor that stayed could be closed by the program, and become another file. */
static void write_down(const char *text)
{
    char line[LONGEST + 1];
    if (log_descriptor < 0 && !*log_path) return;
    const int n = snprintf(line, sizeof line, "%.*s\n", LONGEST - 1, text), before = cancel_defer();
    const int fd = *log_path ? open(log_path, LOG_FILE, 0666) : log_descriptor;
    if (fd >= 0) file_write(fd, line, (size_t)n);
    if (*log_path && fd >= 0) close(fd);
    cancel_restore(before);
}

static void hear(enum fl_log_level level, const char *text)
{
    write_down(text);
    if (!lock_in_time()) return;
    snprintf(kept[newest % KEPT], LONGEST, "%s", text);
    level_of[newest % KEPT] = level == FL_LOG_ERROR ? CU_LOG_LEVEL_ERROR : CU_LOG_LEVEL_WARNING;
    newest++;
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&lock);
}

/* From the root, because the program may go to another folder. */
static bool find_path(const char *asked)
{
    const int fd = open(asked, LOG_FILE, 0666);
    if (fd < 0) return false;
    close(fd);
    if (*asked != '/') return realpath(asked, log_path);
    return snprintf(log_path, sizeof log_path, "%s", asked) > 0;
}

static void open_log(const char *asked)
{
    if (!asked || !*asked) return;
    if (!strcmp(asked, "stdout"))
        log_descriptor = STDOUT_FILENO;
    else if (!strcmp(asked, "stderr"))
        log_descriptor = STDERR_FILENO;
    else if (!find_path(asked))
        fl_log(FL_LOG_WARN, "CUDA_LOG_FILE=%s: %s", asked, strerror(errno));
}

/* secure_getenv: a program with more rights than its user writes no file that the user names. */
void logs_init(void)
{
    fl_log_listen(hear);
    open_log(secure_getenv("CUDA_LOG_FILE"));
}

CUresult CUDAAPI cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData, CUlogsCallbackHandle *callback_out)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!callbackFunc) return CUDA_ERROR_INVALID_VALUE;
    r = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    if (!started) started = !thread_start(tell, NULL, THREAD_STACK_DEFAULT);
    for (int k = 0; k < LISTENERS && r && started; k++) {
        if (listeners[k].call || listeners[k].busy) continue;
        listeners[k] = (struct listener){ .call = callbackFunc, .arg = userData, .next = newest };
        if (callback_out) *callback_out = (CUlogsCallbackHandle)&listeners[k];
        r = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

/* On return it is not called any more, nor being called, but by a listener that is the caller itself. */
CUresult CUDAAPI cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    CUresult r = library_ready();
    if (r) return r;
    r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < LISTENERS && r; k++) {
        struct listener *l = &listeners[k];
        if (l != (struct listener *)callback || !l->call) continue;
        l->call = NULL;
        while (l->busy && !telling) pthread_cond_wait(&quiet, &lock);
        r = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult CUDAAPI cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
    CUresult r = library_ready();
    if (r) return r;
    (void)flags; /* observed on H200: nobody looks at them */
    if (!iterator_out) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    *iterator_out = newest;
    pthread_mutex_unlock(&lock);
    return r;
}

/* The first message that is still there from an iterator on. Under the lock. */
static unsigned first_from(const CUlogIterator *iterator, bool *lost)
{
    unsigned oldest = newest > KEPT ? newest - KEPT : 0, from = iterator ? *iterator : 0;
    if (from > newest) from = newest;
    *lost = from < oldest;
    return from < oldest ? oldest : from;
}

static const char truncated[] = "[older messages are lost]\n";

CUresult CUDAAPI cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags)
{
    bool lost;
    CUresult r = library_ready();
    if (r) return r;
    if (!pathToFile || flags) return CUDA_ERROR_INVALID_VALUE;
    FILE *f = fopen(pathToFile, "we");
    if (!f) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    unsigned k = first_from(iterator, &lost);
    if (lost) fputs(truncated, f);
    for (; k < newest; k++) fprintf(f, "%s\n", kept[k % KEPT]);
    if (iterator) *iterator = newest;
    pthread_mutex_unlock(&lock);
    return fclose(f) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

/* The newest messages that fit: *from moves up. What they need, final 0 included. */
static size_t fit(unsigned *from, bool *lost, size_t room)
{
    size_t need = 1;
    unsigned k = newest;
    for (; k > *from; k--) {
        size_t more = strlen(kept[(k - 1) % KEPT]) + 1;
        if (need + more > room) break;
        need += more;
    }
    *lost |= k > *from;
    *from = k;
    return need;
}

CUresult CUDAAPI cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    bool lost;
    CUresult r = library_ready();
    if (r) return r;
    if (!buffer || !size || !*size || flags) return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    unsigned k = first_from(iterator, &lost);
    const bool any = k < newest;
    const size_t room = *size;
    fit(&k, &lost, room);
    if (lost) fit(&k, &lost, room > sizeof truncated ? room - sizeof truncated + 1 : 0);
    char *at = buffer;
    *at = 0;
    if (any && k == newest) r = CUDA_ERROR_INVALID_VALUE;
    if (any && !r && lost) at = stpcpy(at, truncated);
    for (; k < newest; k++) at = stpcpy(stpcpy(at, kept[k % KEPT]), "\n");
    *size = (size_t)(at - buffer);
    if (iterator && !r) *iterator = newest;
    pthread_mutex_unlock(&lock);
    return r;
}
