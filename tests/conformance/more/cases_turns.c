/* Events and memory that two processes share by legacy IPC: random steps (dice.h) of both, by turns. A stream of each is
 * held up from time to time; nobody waits for it but streams. */
#include "turns.h"

enum { EVENTS = 6, STREAMS = 3, BLOCKS = 6, VIEWS = 8 };
enum order {
    CREATE,
    GET,
    OPEN,
    RECORD,
    WAIT,
    QUERY,
    SYNC,
    DESTROY,
    ELAPSED,
    HOLD,
    GO,
    STREAM_QUERY,
    STREAM_SYNC,
    TAKE,
    FREE,
    LEND,
    VIEW,
    CLOSE,
    TELL,
    READ,
    WRITE
};

struct ask {
    enum order what;
    int event, stream, block, view, a, owner;
    size_t size;
    unsigned flags;
    CUipcEventHandle event_handle;
    CUipcMemHandle memory_handle;
};
struct reply { /* behind what is said */
    bool done;
    CUipcEventHandle event_handle;
    CUipcMemHandle memory_handle;
};

static CUstream streams[STREAMS];
static CUevent events[EVENTS];
static CUdeviceptr blocks[BLOCKS], views[VIEWS];
static size_t sizes[BLOCKS];
static volatile uint32_t *word;
static uint32_t turn;

static void ready(void)
{
    setup();
    for (int k = 0; k < STREAMS; k++) MUST(cuStreamCreate(&streams[k], CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocHost((void **)&word, 64));
    *word = 0;
}

static void tell_view(CUdeviceptr p)
{
    size_t n = 0;
    CUdeviceptr b = 0;
    CUresult r = cuMemGetAddressRange(&b, &n, p);
    add(" %s", rname(r));
    if (!r) add(" %ld %zu", (long)(p - b), n);
    static const int some[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES };
    for (int j = 0; j < 4; j++) {
        int v = 0;
        r = cuPointerGetAttribute(&v, (CUpointer_attribute)some[j], p);
        if (r)
            add(" %s", rname(r));
        else
            add(" %d", v);
    }
    for (int k = 0; k < VIEWS; k++)
        if (views[k] == p) {
            add(" v%d", k);
            break;
        }
}

/* What becomes ready does so soon, also on a busy machine; what waits for a stream that is held up does not. */
static CUresult query(CUevent e, CUstream s, bool of_stream)
{
    CUresult r = CUDA_ERROR_NOT_READY;
    for (int ms = 0; ms < 300 && r == CUDA_ERROR_NOT_READY; ms++) {
        if (ms) usleep(1000);
        r = of_stream ? cuStreamQuery(s) : cuEventQuery(e);
    }
    return r;
}

static bool do_it(const struct ask *q, struct reply *a)
{
    CUevent *e = &events[q->event];
    CUstream s = streams[q->stream];
    CUdeviceptr *b = &blocks[q->block], *v = &views[q->view], p = 0;
    unsigned x = 0;
    float ms;
    CUresult r = CUDA_SUCCESS;
    memset(a, 0, sizeof *a);
    switch (q->what) {
    case CREATE: r = cuEventCreate(e, q->flags); break;
    case GET: r = cuIpcGetEventHandle(&a->event_handle, *e); break;
    case OPEN: r = cuIpcOpenEventHandle(e, q->event_handle); break;
    case RECORD: r = cuEventRecord(*e, s); break;
    case WAIT: r = cuStreamWaitEvent(s, *e, 0); break;
    case QUERY: r = query(*e, s, false); break;
    case SYNC: r = cuEventSynchronize(*e); break;
    case DESTROY:
        r = cuEventDestroy(*e);
        *e = NULL;
        break;
    case ELAPSED: r = cuEventElapsedTime(&ms, *e, events[(q->event + q->a) % EVENTS]); break;
    case HOLD: r = cuStreamWaitValue32(streams[0], (CUdeviceptr)word, ++turn, CU_STREAM_WAIT_VALUE_GEQ); break;
    case GO: *word = turn; break;
    case STREAM_QUERY: r = query(*e, s, true); break;
    case STREAM_SYNC: r = cuStreamSynchronize(s); break;
    case TAKE:
        r = cuMemAlloc(b, q->size);
        sizes[q->block] = q->size;
        if (!r) MUST(cuMemsetD8(*b, (unsigned char)q->a, q->size));
        break;
    case FREE:
        r = cuMemFree(*b);
        *b = 0;
        break;
    case LEND: r = cuIpcGetMemHandle(&a->memory_handle, *b + (q->a ? sizes[q->block] / 2 : 0)); break;
    case VIEW:
        r = cuIpcOpenMemHandle(&p, q->memory_handle, q->flags);
        if (r) break;
        for (int k = 0; k < VIEWS; k++)
            if (views[k] == p) add(" as v%d", k);
        *v = p;
        break;
    case CLOSE:
        r = cuIpcCloseMemHandle(*v + (CUdeviceptr)q->a);
        if (!r && !q->flags) *v = 0; /* otherwise it may be there still, opened twice */
        break;
    case TELL: tell_view(*v + (CUdeviceptr)q->a); break;
    case READ:
        r = cuMemcpyDtoH(&x, *v, 4);
        add(" %x", x);
        break;
    case WRITE: r = cuMemsetD8(*v, (unsigned char)q->a, 4); break;
    }
    add(" %s", rname(r));
    a->done = !r;
    return !r;
}

static void other(void)
{
    struct ask q;
    struct reply a;
    ready();
    for (;;) {
        received(&q, sizeof q);
        used = 0, line[0] = 0;
        do_it(&q, &a);
        answer();
        sent(&a, sizeof a, -1);
    }
}

/* ---- the one that walks; who: 0 it, 1 the other */

static bool there[2][EVENTS], took[2][BLOCKS], opened[2][VIEWS], held[2];
static struct {
    bool known;
    int owner, block;
    bool freed;
    CUipcMemHandle handle;
} lent[10];
static struct {
    bool known;
    CUipcEventHandle handle;
} given[EVENTS];

static bool ask_who(int who, struct ask *q, struct reply *a)
{
    if (who == 0) return do_it(q, a);
    ask(q, sizeof *q, -1);
    if (recv(link_fd, a, sizeof *a, MSG_WAITALL) != sizeof *a) _exit(1);
    return a->done;
}

static void let_go(int who)
{
    struct ask q = { .what = GO };
    struct reply a;
    if (!held[who]) return;
    ask_who(who, &q, &a);
    held[who] = false;
}

static void let_all_go(void)
{
    let_go(0);
    let_go(1);
}

/* The next one that there is, from here on. */
static int next_of(const bool *there, int n, int from)
{
    for (int k = 0; k < n; k++)
        if (there[(from + k) % n]) return (from + k) % n;
    return from;
}

static void events_step(int who, struct ask *q)
{
    static const enum order some[] = { RECORD,       RECORD,       RECORD,      WAIT,    WAIT,    WAIT, QUERY, QUERY,
                                       QUERY,        QUERY,        SYNC,        DESTROY, ELAPSED, HOLD, HOLD,  HOLD,
                                       STREAM_QUERY, STREAM_QUERY, STREAM_SYNC, CREATE,  CREATE,  OPEN, OPEN,  GET };
    static const char *const names[] = { "create",  "get",     "open", "record", "wait",        "query",     "sync",
                                         "destroy", "elapsed", "hold", "go",     "streamquery", "streamsync" };
    struct reply a;
    q->what = some[draw(24)];
    q->flags = draw(8) ? CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING : draw(8);
    if (q->what == CREATE) {
        q->event = q->event % (EVENTS / 2) + who * (EVENTS / 2);
        if (there[who][q->event]) q->what = draw(2) ? RECORD : GET;
    } else if (q->what == OPEN) {
        q->event = q->event % (EVENTS / 2) + (1 - who) * (EVENTS / 2);
        if (there[who][q->event] || !given[q->event].known) q->what = WAIT;
        q->event_handle = given[q->event].handle;
    } else
        q->event = next_of(there[who], EVENTS, q->event);
    if (q->what == HOLD && held[who]) q->what = GO;
    if (q->what == SYNC || q->what == STREAM_SYNC) let_all_go();
    add(" %c %s e%d s%d %u", 'a' + who, names[q->what], q->event, q->stream, q->what == CREATE ? q->flags : 0);
    bool done = ask_who(who, q, &a);
    switch (q->what) {
    case CREATE:
        if (!done) break;
        there[who][q->event] = true;
        q->what = GET;
        done = ask_who(who, q, &a); /* fallthrough */
    case GET:
        if (done && q->event / (EVENTS / 2) == who)
            given[q->event].known = true, given[q->event].handle = a.event_handle;
        break;
    case OPEN: there[who][q->event] = done; break;
    case DESTROY:
        there[who][q->event] = false;
        if (q->event / (EVENTS / 2) == who) given[q->event].known = false;
        break;
    case HOLD: held[who] = true; break;
    case GO: held[who] = false; break;
    default:;
    }
}

static void memory_step(int who, struct ask *q)
{
    static const size_t some_sizes[] = { 4, 512, 10000, 65536, 700000, 2 * MiB, 2 * MiB + 8, 5 * MiB };
    static const enum order some[] = { TAKE, TAKE, TAKE,  FREE,  LEND, LEND, LEND, VIEW, VIEW, VIEW,
                                       VIEW, VIEW, CLOSE, CLOSE, TELL, TELL, READ, READ, WRITE };
    static const char *const names[] = { "take", "free", "lend", "view", "close", "tell", "read", "write" };
    struct reply a;
    int n = (int)draw(10);
    let_all_go();
    q->what = some[draw(19)];
    q->size = some_sizes[draw(8)];
    q->a = q->what == TAKE || q->what == WRITE ? (int)draw(256) : 0;
    if (q->what == CLOSE && draw(8) == 0) q->a = 512;
    if (q->what == CLOSE) q->flags = draw(4) == 0;
    if (q->what == TELL && draw(3) == 0) q->a = 300;
    if (q->what == LEND) q->a = draw(3) == 0;
    if (q->what == VIEW) {
        q->flags = draw(10) ? 1 : draw(4);
        for (int k = 0; k < 10 && (!lent[n].known || lent[n].owner == who || lent[n].freed); k++) n = (n + 1) % 10;
        q->memory_handle = lent[n].handle;
        if (lent[n].freed) return;
    }
    if (q->what == TAKE && took[who][q->block]) q->what = LEND, q->a = 0;
    if (q->what == FREE || q->what == LEND) q->block = next_of(took[who], BLOCKS, q->block);
    if (q->what > VIEW) q->view = next_of(opened[who], VIEWS, q->view);
    add(" %c %s", 'a' + who, names[q->what - TAKE]);
    if (q->what == VIEW)
        add(" %d%s", n, !lent[n].known ? " nothing" : lent[n].owner == who ? " own" : lent[n].freed ? " freed" : "");
    else
        add(" b%d %zu", q->block, q->what == TAKE ? q->size : 0);
    add(" v%d %d %u", q->view, q->a, q->what >= VIEW ? q->flags : 0);
    bool done = ask_who(who, q, &a);
    switch (q->what) {
    case TAKE: took[who][q->block] = done; break;
    case FREE:
        if (done)
            for (int k = 0; k < 10; k++) lent[k].freed |= lent[k].owner == who && lent[k].block == q->block;
        took[who][q->block] = false;
        break;
    case LEND:
        if (!done) break;
        for (int k = 0; k < 10; k++)
            if (lent[k].known && !memcmp(&lent[k].handle, &a.memory_handle, sizeof a.memory_handle)) add(" as l%d", k);
        lent[n].known = true;
        lent[n].freed = false;
        lent[n].owner = who;
        lent[n].block = q->block;
        lent[n].handle = a.memory_handle;
        break;
    case VIEW: opened[who][q->view] |= done; break;
    case CLOSE:
        if (done && !q->flags) opened[who][q->view] = false;
        break;
    default:;
    }
}

static void begin(void)
{
    two_processes(other);
    ready();
}

static struct ask question(void)
{
    return (struct ask){ .event = (int)draw(EVENTS),
                         .stream = (int)draw(STREAMS),
                         .block = (int)draw(BLOCKS),
                         .view = (int)draw(VIEWS),
                         .a = (int)draw(2) };
}

static void call_events(void)
{
    struct ask q = question();
    events_step((int)draw(2), &q);
    say();
}

static void call_memory(void)
{
    struct ask q = question();
    memory_step((int)draw(2), &q);
    say();
}

#define E(seed) WALK(events, seed, 400, begin, call_events)
#define M(seed) WALK(memory, seed, 400, begin, call_memory)
E(1)
E(2)
E(3) E(4) M(1) M(2) M(3) M(4)

    const struct group groups[] = { WALKED(events, 1), WALKED(memory, 1), WALKED(events, 2),
                                    WALKED(memory, 2), WALKED(events, 3), WALKED(memory, 3),
                                    WALKED(events, 4), WALKED(memory, 4), { 0 } };
