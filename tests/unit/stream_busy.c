/* Idle streams cost nothing, and no stream that has work is taken for one of them. */
#include "stream_fake.h"

#include "stream/internal.h"

#include <stdlib.h>

enum { THREADS = 6, STREAMS = 12, ROUNDS = 3000 };

static struct stream *stream[STREAMS];

static void bump(void *arg) { ++*(_Atomic unsigned *)arg; }

static CUresult bump_at(void *arg)
{
    bump(*(void **)arg);
    return CUDA_SUCCESS;
}

static void bump_on_worker(void *arg, CUresult status)
{
    if (!status) bump(*(void **)arg);
}

/* How many are; and that none is missing. */
static unsigned listed(void)
{
    unsigned n = 0;
    pthread_mutex_lock(&c->streams->lock);
    for (struct stream *s = c->streams->streams; s; s = s->next) {
        pthread_mutex_lock(&s->lock);
        n += s->listed;
        if (!s->listed && !stream_idle(s)) abort();
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&c->streams->lock);
    return n;
}

/* One stays whose lock its worker has just then, which does nothing any more. */
static void assert_none_is_listed(void)
{
    for (unsigned k = 0; listed() && k < 10000; k++) {
        usleep(1000);
        assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    }
    assert_int_equal(listed(), 0);
}

static void only_streams_with_work_are_looked_at(void **state)
{
    (void)state;
    _Atomic unsigned done = 0;
    void *at = (void *)&done;
    for (unsigned k = 0; k < STREAMS; k++) stream[k] = new_stream(c, k % 2);
    assert_int_equal(listed(), 0);
    for (unsigned k = 0; k < STREAMS; k++) {
        if (k % 3 == 0) assert_int_equal(fake_launch(stream[k], bump, at), CUDA_SUCCESS);
        if (k % 3 == 1) assert_int_equal(stream_enqueue(stream[k], bump_at, &at, sizeof at), CUDA_SUCCESS);
        if (k % 3 == 2) assert_int_equal(stream_call(stream[k], bump_on_worker, &at, sizeof at), CUDA_SUCCESS);
    }
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_int_equal(done, STREAMS);
    assert_none_is_listed();

    assert_int_equal(fake_launch(stream[1], gated, NULL), CUDA_SUCCESS);
    assert_int_equal(fake_launch(stream[3], gated, NULL), CUDA_SUCCESS);
    assert_false(context_idle(c));
    assert_int_equal(listed(), 2);
    gate = true;
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    assert_true(context_idle(c));
    assert_none_is_listed();
}

static void overlooked(const char *what)
{
    print_error("work was not done after %s\n", what);
    abort();
}

static void ok(CUresult r)
{
    if (r) abort();
}

static void issue(struct stream *s, unsigned kind, void *at)
{
    struct mark *m;
    switch (kind) {
    case 0:
    case 1: ok(fake_launch(s, bump, at)); break;
    case 2: ok(stream_enqueue(s, bump_at, &at, sizeof at)); break;
    case 3: ok(stream_call(s, bump_on_worker, &at, sizeof at)); break;
    case 4: ok(stream_enqueue_short(s, bump_at, &at, sizeof at)); break;
    case 5:
        m = mark_new(s, true);
        ok(fake_launch(s, bump, at));
        ok(stream_record(s, &m));
        mark_release(m);
        break;
    }
}

/* Whoever knows that the work has ended must find it done. */
static void look(unsigned kind, const _Atomic unsigned *done, unsigned expected)
{
    struct stream *l = legacy(c);
    void *nothing = &(_Atomic unsigned){ 0 };
    switch (kind) {
    case 0:
        ok(context_synchronize(c));
        if (*done != expected) overlooked("context_synchronize");
        break;
    case 1:
        ok(stream_run(l, bump_at, &nothing));
        if (*done != expected) overlooked("work in the legacy stream");
        break;
    case 2:
        ok(stream_synchronize(l));
        if (*done != expected) overlooked("stream_synchronize of the legacy stream");
        break;
    case 3:
        if (!stream_query(l) && *done != expected) overlooked("stream_query of the legacy stream");
        break;
    case 4:
        if (context_idle(c) && *done != expected) overlooked("context_idle");
        break;
    }
}

struct player {
    unsigned seed;
    _Atomic unsigned done;
};

static void *play(void *arg)
{
    struct player *p = arg;
    unsigned expected = 0;
    for (unsigned k = 0; k < ROUNDS; k++) {
        unsigned own = rand_r(&p->seed) % 8 == 0, which = (unsigned)rand_r(&p->seed) % STREAMS;
        struct stream *s = stream[which];
        if (own) ok(stream_create(c, 0, 0, &s));
        issue(s, (unsigned)rand_r(&p->seed) % 6, &p->done);
        expected++;
        if (own) ok(stream_destroy(s));
        bool ordered = own || s == legacy(c) || stream_legacy_orders(legacy(c), s);
        unsigned kind = (unsigned)rand_r(&p->seed) % 5;
        look(ordered ? kind : kind / 3 * 4, &p->done, expected);
        if (p->done != expected) look(0, &p->done, expected);
        if (k % 16 == 0) listed();
    }
    return NULL;
}

static void no_work_is_overlooked_while_streams_become_idle(void **state)
{
    (void)state;
    static struct player player[THREADS];
    pthread_t thread[THREADS];
    for (unsigned k = 0; k < STREAMS; k++) stream[k] = k ? new_stream(c, k % 3 == 0) : legacy(c);
    for (unsigned k = 0; k < THREADS; k++) {
        player[k].seed = k + 1;
        pthread_create(&thread[k], NULL, play, &player[k]);
    }
    for (unsigned k = 0; k < THREADS; k++) pthread_join(thread[k], NULL);
    assert_int_equal(context_synchronize(c), CUDA_SUCCESS);
    for (unsigned k = 0; k < THREADS; k++) assert_int_equal(player[k].done, ROUNDS);
    assert_true(context_idle(c));
    assert_none_is_listed();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_streams_with_work_are_looked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(no_work_is_overlooked_while_streams_become_idle, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
