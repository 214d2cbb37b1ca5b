/* Tests that two processes play: each is forked before either knows CUDA, has
 * one end of a socket, and says by its exit status whether all was well (check.h);
 * the test itself only watches how they end. */
#ifndef FL_TESTS_PLAYERS_H
#define FL_TESTS_PLAYERS_H

#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void player(int socket);

/* How a player is to end. */
enum ending { ENDS_WELL = 0, IS_KILLED = SIGKILL };
enum { PLAYER_PATIENCE_S = 60 };

/* ---- the socket between them */

/* False: the other one is gone. */
static inline bool try_tell(int s, const void *bytes, size_t size)
{
    return send(s, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}
static inline bool try_hear(int s, void *bytes, size_t size)
{
    return recv(s, bytes, size, MSG_WAITALL) == (ssize_t)size;
}
static inline void tell(int s, const void *bytes, size_t size) { EXPECT(try_tell(s, bytes, size)); }
static inline void hear(int s, void *bytes, size_t size) { EXPECT(try_hear(s, bytes, size)); }

static inline void signal_other(int s) { tell(s, "", 1); }
static inline void wait_other(int s)
{
    char byte;
    hear(s, &byte, 1);
}
/* Returns when both have come here. */
static inline void meet(int s)
{
    signal_other(s);
    wait_other(s);
}
/* Returns when the other one has ended. */
static inline void wait_end(int s)
{
    char byte;
    EXPECT_EQUAL(recv(s, &byte, 1, 0), 0);
}

/* Room for a control message with one descriptor. */
union players_control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

/* The descriptor is the other's now. */
static inline void hand_over(int s, int fd)
{
    char byte = 0;
    struct iovec part = { &byte, 1 };
    union players_control control = {
        .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd) }
    };
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    EXPECT_EQUAL(sendmsg(s, &m, MSG_NOSIGNAL), 1);
    close(fd);
}

/* -1: the other one is gone. */
static inline int take_over(int s)
{
    char byte;
    int fd = -1;
    struct iovec part = { &byte, 1 };
    union players_control control;
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    if (recvmsg(s, &m, MSG_CMSG_CLOEXEC) != 1) return -1;
    EXPECT(CMSG_FIRSTHDR(&m));
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

/* ---- the test */

static inline pid_t begin_player(player *p, int mine, int other)
{
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid) return pid;
    close(other);
    alarm(PLAYER_PATIENCE_S);
    p(mine);
    _exit(0);
}

/* Whether it ended so; what it said is on standard output. */
static inline bool ended(pid_t pid, enum ending wanted)
{
    int status;
    while (waitpid(pid, &status, 0) < 0) EXPECT_EQUAL(errno, EINTR);
    return status == (int)wanted;
}

/* For cmocka: both end as they should. */
#define play(a, a_ends, b, b_ends) assert_true(play_pair(a, a_ends, b, b_ends))
static inline bool play_pair(player *a, enum ending a_ends, player *b, enum ending b_ends)
{
    int ends[2];
    EXPECT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid_a = begin_player(a, ends[0], ends[1]), pid_b = begin_player(b, ends[1], ends[0]);
    close(ends[0]);
    close(ends[1]);
    bool a_good = ended(pid_a, a_ends), b_good = ended(pid_b, b_ends);
    return a_good && b_good;
}
/* One player alone. */
#define play_alone(a) assert_true(ended(begin_player(a, -1, -1), ENDS_WELL))

#endif
