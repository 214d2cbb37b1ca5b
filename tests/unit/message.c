/* Callers of a socket that has too many of them, while signals come. */
#include "base/message.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIGNALS_US = 5000, PATIENCE_US = 5000000, BUSY_US = 100000 };
static const char PREFIX[] = "faultline-test-";
static unsigned char name[MESSAGE_NAME];
static int listener;
static _Atomic unsigned signals;

static void count(int signal)
{
    (void)signal;
    signals++;
}

static int listen_at_name(void)
{
    struct sockaddr_un a;
    const pid_t pid = getpid();
    for (size_t k = 0; k < sizeof pid; k++) name[k] = (unsigned char)(pid >> 8 * k);
    socklen_t length = message_address(PREFIX, name, &a);
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s, (struct sockaddr *)&a, length) | listen(s, 0), 0);
    return s;
}

static int caller(uint64_t patience)
{
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(s >= 0);
    message_be_impatient(s, patience);
    return s;
}

static void *accept_later(void *unused)
{
    (void)unused;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    usleep(BUSY_US);
    close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    return NULL;
}

static void signals_do_not_make_who_listens_look_gone(void **state)
{
    struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, SIGNALS_US }, { 0, SIGNALS_US } }, never = { 0 };
    pthread_t t;
    (void)state;
    listener = listen_at_name();
    int first = caller(PATIENCE_US), second = caller(BUSY_US / 10), third = caller(PATIENCE_US);
    assert_true(message_connect(first, PREFIX, name));
    assert_false(message_connect(second, PREFIX, name)); /* there is room for one */
    assert_int_equal(errno, EAGAIN);
    sigaction(SIGALRM, &action, NULL);
    assert_int_equal(pthread_create(&t, NULL, accept_later, NULL), 0);
    setitimer(ITIMER_REAL, &often, NULL);
    bool connected = message_connect(third, PREFIX, name);
    setitimer(ITIMER_REAL, &never, NULL);
    pthread_join(t, NULL);
    assert_true(connected);
    assert_true(signals > 0);
    close(first), close(second), close(third), close(listener);
    assert_false(message_connect(caller(PATIENCE_US), PREFIX, name));
    assert_int_equal(errno, ECONNREFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(signals_do_not_make_who_listens_look_gone) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
