/* A processor whose channels are threads, and what else src/stream links to. */
#include "stream_fake.h"
#include "context/green.h"
#include "ordinary/registered.h"
#include "uvm/uvm.h"
#include "space/space.h"
#include "vmm/vmm.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct command {
    struct command *next;
    kernel *run;
    void *arg;
    uint64_t time, awaited_seq;
    uint32_t awaited;
};

struct channel {
    pthread_t thread;
    bool open, stop;
    uint64_t issued, done;
    struct command *first, **end;
    uint64_t times[4096];
};

struct processor {
    int unused;
};

static struct processor the_processor;
static struct device the_device = { .processor = &the_processor };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct channel channels[1024];
static _Atomic int dead, refusal;
static _Atomic int sticky;
_Thread_local void (*fake_before_wait)(void);
_Thread_local unsigned fake_misses;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double now_ms(void) { return (double)now() / 1e6; }

void nap(unsigned ms) { nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l }, NULL); }

static void *run_channel(void *arg)
{
    struct channel *c = arg;
    pthread_mutex_lock(&lock);
    while (c->first || !c->stop) {
        struct command *k = c->first;
        if (!k) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        c->first = k->next;
        if (!c->first) c->end = &c->first;
        while (k->awaited_seq > channels[k->awaited].done && !dead) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        if (k->run && !dead) k->run(k->arg);
        pthread_mutex_lock(&lock);
        c->done++;
        c->times[c->done % 4096] = now();
        pthread_cond_broadcast(&changed);
        free(k);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

CUresult processor_channel_open(struct processor *p, uint32_t *channel)
{
    (void)p;
    CUresult r = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < 1024 && r; i++) {
        struct channel *c = &channels[i];
        if (c->open) continue;
        const uint64_t issued = c->issued, done = c->done; /* go on counting */
        memset(c, 0, sizeof *c);
        c->issued = issued;
        c->done = done;
        c->open = true;
        c->end = &c->first;
        pthread_create(&c->thread, NULL, run_channel, c);
        *channel = i;
        r = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

void processor_channel_close(struct processor *p, uint32_t channel)
{
    (void)p;
    struct channel *c = &channels[channel];
    pthread_mutex_lock(&lock);
    assert_true(dead || c->issued == c->done);
    c->stop = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(c->thread, NULL);
    pthread_mutex_lock(&lock);
    c->open = false;
    pthread_mutex_unlock(&lock);
}

static uint64_t submit(uint32_t channel, struct command wanted)
{
    struct channel *c = &channels[channel];
    if (dead) return 0;
    struct command *k = calloc(1, sizeof *k);
    *k = wanted;
    pthread_mutex_lock(&lock);
    assert_true(c->open);
    *c->end = k;
    c->end = &k->next;
    uint64_t seq = ++c->issued;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return seq;
}

struct fake_params {
    kernel *run;
    void *arg;
};

CUresult processor_launch(struct processor *p, uint32_t channel, const struct launch *l, bool tells, uint64_t *seq)
{
    (void)tells;
    (void)p;
    const struct fake_params *params = l->params;
    if (refusal) return refusal;
    *seq = submit(channel, (struct command){ .run = params->run, .arg = params->arg });
    return *seq ? CUDA_SUCCESS : dead;
}

uint64_t processor_mark(struct processor *p, uint32_t channel)
{
    (void)p;
    return submit(channel, (struct command){ 0 });
}

uint64_t processor_wait_for(struct processor *p, uint32_t channel, uint32_t awaited, uint64_t seq)
{
    (void)p;
    return submit(channel, (struct command){ .awaited = awaited, .awaited_seq = seq });
}

uint64_t processor_mark_time(struct processor *p, uint32_t channel, uint64_t seq)
{
    (void)p;
    pthread_mutex_lock(&lock);
    uint64_t t = channels[channel].times[seq % 4096];
    pthread_mutex_unlock(&lock);
    return t;
}

bool processor_done(const struct processor *p, uint32_t channel, uint64_t seq)
{
    (void)p;
    if (fake_misses && fake_misses--) return false;
    pthread_mutex_lock(&lock);
    bool done = channels[channel].done >= seq;
    pthread_mutex_unlock(&lock);
    return done;
}

CUresult processor_wait(struct processor *p, uint32_t channel, uint64_t seq)
{
    (void)p;
    if (fake_before_wait) fake_before_wait();
    pthread_mutex_lock(&lock);
    while (channels[channel].done < seq && !dead) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return dead;
}

bool processor_busy(const struct processor *p) { return (void)p, false; }

CUresult processor_status(const struct processor *p)
{
    (void)p;
    return dead;
}

void processor_flush_printf(struct processor *p) { (void)p; }

CUresult sticky_set(CUresult error)
{
    int none = 0;
    atomic_compare_exchange_strong(&sticky, &none, error);
    return sticky;
}

CUresult sticky_get(void) { return sticky; }
CUresult library_ready(void) { return CUDA_SUCCESS; }

struct green *green_current(void) { return NULL; }
bool primary_lives(unsigned long long id) { return (void)id, false; }

struct allocation *space_look(uint64_t address, struct allocation *copy)
{
    *copy = (struct allocation){ .base = address, .size = 4096 };
    return address < 4096 ? NULL : copy;
}

uint64_t vmm_changes(void) { return 0; }
uint64_t space_changes(void) { return 0; }
void space_copy_begins(bool passing) { (void)passing; }
void space_copy_ends(bool passing) { (void)passing; }
void vmm_describe_any(uint64_t address, int ordinal, char *out, size_t size)
{
    (void)address;
    (void)ordinal;
    if (size) *out = 0;
}
unsigned space_access(const struct allocation *a, const struct device *d)
{
    (void)a, (void)d;
    return PROT_DEVICE_READ | PROT_DEVICE_WRITE;
}

void *space_alias(const struct allocation *a, uint64_t address)
{
    (void)a;
    return (void *)address;
}

void *registered_reach(uint64_t va, uint64_t size, bool write)
{
    (void)size;
    (void)write;
    return (void *)va;
}

struct context *fake_context(void)
{
    struct context *c = calloc(1, sizeof *c);
    c->device = &the_device;
    assert_int_equal(stream_set_create(c), CUDA_SUCCESS);
    return c;
}

void fake_context_destroy(struct context *c)
{
    stream_set_destroy(c);
    free(c);
}

CUresult fake_launch(struct stream *s, kernel *k, void *arg)
{
    struct fake_params params = { k, arg };
    struct launch l = { .params = &params, .params_size = sizeof params };
    return stream_launch(s, &l);
}

void fake_kill(CUresult error)
{
    pthread_mutex_lock(&lock);
    dead = error;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void fake_refuse(CUresult error) { refusal = error; }

void fake_revive(void) { dead = refusal = sticky = 0; }

unsigned fake_channels_open(void)
{
    unsigned n = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 1024; i++) n += channels[i].open;
    pthread_mutex_unlock(&lock);
    return n;
}

struct stream *new_stream(struct context *c, unsigned flags)
{
    struct stream *s;
    assert_int_equal(stream_create(c, flags, 0, &s), CUDA_SUCCESS);
    return s;
}

struct stream *legacy(struct context *c)
{
    struct stream *s;
    assert_int_equal(stream_get(c, NULL, false, &s), CUDA_SUCCESS);
    return s;
}

struct event *new_event(struct context *c, unsigned flags)
{
    struct event *e;
    assert_int_equal(event_create(c, flags, &e), CUDA_SUCCESS);
    return e;
}

void uvm_after_wait(void) {}
void uvm_settle(void) {}
void uvm_before_wait(void) {}
bool uvm_launching(int ordinal, uint64_t blocks, uint64_t threads)
{
    return (void)ordinal, (void)blocks, (void)threads, false;
}
bool uvm_exclusive, uvm_watches_launches;
CUresult uvm_before_launch(int ordinal, const void *stream)
{
    (void)ordinal, (void)stream;
    return CUDA_SUCCESS;
}
void uvm_after_launch(const void *stream, bool issued) { (void)stream, (void)issued; }
void uvm_take_back(bool (*chosen)(const void *stream, const void *arg), const void *arg) { (void)chosen, (void)arg; }
void uvm_host_function_begins(void) {}
CUresult uvm_host_function_ends(void) { return CUDA_SUCCESS; }
void uvm_stream_gone(const void *stream) { (void)stream; }
CUresult space_settle(void) { return CUDA_SUCCESS; }

/* ---- what most tests have */

struct context *c;
_Atomic bool gate;
_Atomic int count;

int setup(void **state)
{
    (void)state;
    c = fake_context();
    gate = false;
    count = 0;
    return 0;
}

int teardown(void **state)
{
    (void)state;
    gate = true;
    if (c) fake_context_destroy(c);
    c = NULL;
    fake_revive();
    return 0;
}

void gated(void *arg)
{
    (void)arg;
    while (!gate) nap(1);
    count++;
}
