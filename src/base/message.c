/* Messages with descriptors; see message.h. */
#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

socklen_t message_address(const char *prefix, const unsigned char *name, struct sockaddr_un *out)
{
    static const char DIGITS[] = "0123456789abcdef";
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    char *to = out->sun_path + 1;
    to += strlen(strcpy(to, prefix));
    for (unsigned k = 0; k < MESSAGE_NAME; k++) {
        *to++ = DIGITS[name[k] >> 4];
        *to++ = DIGITS[name[k] & 15];
    }
    return (socklen_t)(to - (char *)out);
}

int message_listen(const char *prefix, unsigned char *name, int flags)
{
    enum { CALLERS = 64 };
    struct sockaddr_un a;
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
    if (s < 0) return s;
    if (getrandom(name, MESSAGE_NAME, 0) == MESSAGE_NAME) {
        const socklen_t length = message_address(prefix, name, &a);
        if (!bind(s, (const struct sockaddr *)&a, length) && !listen(s, CALLERS)) return s;
    }
    close(s);
    return -1;
}

bool message_connect(int s, const char *prefix, const unsigned char *name)
{
    struct sockaddr_un a;
    const socklen_t length = message_address(prefix, name, &a);
    int r;
    while ((r = connect(s, (const struct sockaddr *)&a, length)) && errno == EINTR)
        ;
    return !r;
}

static bool send_with(int s, const void *bytes, size_t size, int fd, int flags)
{
    struct iovec part = { (void *)bytes, size };
    union control data = { 0 };
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
    if (fd >= 0) {
        m.msg_control = &data;
        m.msg_controllen = sizeof data;
        data.header = (struct cmsghdr){ CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS };
        memcpy(CMSG_DATA(&data.header), &fd, sizeof fd);
    }
    ssize_t n;
    while ((n = sendmsg(s, &m, MSG_NOSIGNAL | flags)) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)size;
}

bool message_send(int s, const void *bytes, size_t size, int fd) { return send_with(s, bytes, size, fd, 0); }
bool message_try(int s, const void *bytes, size_t size, int fd) { return send_with(s, bytes, size, fd, MSG_DONTWAIT); }

bool message_receive(int s, void *bytes, size_t size, int *fd)
{
    struct iovec part = { bytes, size };
    union control data;
    struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &data, .msg_controllen = sizeof data };
    ssize_t n;
    *fd = -1;
    while ((n = recvmsg(s, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(c), sizeof *fd);
    if (n == (ssize_t)size) return true;
    int error = n < 0 ? errno : EPIPE;
    if (*fd >= 0) close(*fd);
    *fd = -1;
    errno = error;
    return false;
}

void message_be_impatient(int s, uint64_t us)
{
    const struct timeval patience = { .tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000) };
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}
