/* Two processes that take turns: one walks (dice.h) and asks, the other does what it is asked to and answers with what was
 * added to its line. A descriptor may come with a question. */
#ifndef TURNS_H
#define TURNS_H
#include "say.h"

static int link_fd;
struct answer {
    char text[600];
};

static int received(void *what, size_t size)
{
    char room[64];
    int fd = -1;
    struct iovec v = { what, size };
    struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
    if (recvmsg(link_fd, &h, MSG_WAITALL) != (ssize_t)size) _exit(0);
    struct cmsghdr *c = CMSG_FIRSTHDR(&h);
    if (c) memcpy(&fd, CMSG_DATA(c), 4);
    return fd;
}

static void sent(void *what, size_t size, int fd)
{
    char room[CMSG_SPACE(4)] = { 0 };
    struct iovec v = { what, size };
    struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1 };
    if (fd >= 0) {
        h.msg_control = room;
        h.msg_controllen = sizeof room;
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(4);
        memcpy(CMSG_DATA(c), &fd, 4);
    }
    if (sendmsg(link_fd, &h, MSG_NOSIGNAL) != (ssize_t)size) {
        add(" the other is gone");
        say();
        _exit(STICKY);
    }
}

static void answer(void)
{
    struct answer a;
    snprintf(a.text, sizeof a.text, "%.590s", line);
    sent(&a, sizeof a, -1);
}

static void ask(void *q, size_t size, int fd)
{
    struct answer a;
    sent(q, size, fd);
    if (recv(link_fd, &a, sizeof a, MSG_WAITALL) != sizeof a) {
        add(" the other died");
        say();
        _exit(STICKY);
    }
    add("%s", a.text);
    if (strstr(a.text, "broken")) {
        say();
        _exit(STICKY);
    }
}

/* Before the driver is there. The other one's function does not return. */
static void two_processes(void (*other)(void))
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) exit(1);
    if (!fork()) {
        close(ends[0]);
        link_fd = ends[1];
        other();
    }
    close(ends[1]);
    link_fd = ends[0];
}

#endif
