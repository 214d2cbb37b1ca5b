/* The page table of a device process: mmap in the unified window, as the host
 * says. Descriptors of physical memory arrive on the socket, ahead of the
 * first command that names them. */
#include "device/device.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct known {
    uint64_t id;
    int fd;
    struct known *next;
};
static struct known *backings;

/* What is mapped, for a child that makes it private; ordered by nothing, few entries change at a time. */
struct mapping {
    uint64_t va, size, backing, offset;
    uint32_t prot;
    struct mapping *next;
};
static struct mapping *mappings[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned slot(uint64_t va) { return (unsigned)(va >> 21) % 4096; }

static int receive(uint64_t id)
{
    for (;;) {
        for (struct known *k = backings; k; k = k->next)
            if (k->id == id) return k->fd;
        struct backing_message message;
        struct iovec part = { &message, sizeof message };
        union {
            struct cmsghdr header;
            char room[CMSG_SPACE(sizeof(int))];
        } control_data;
        struct msghdr m = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control_data, .msg_controllen = sizeof control_data
        };
        ssize_t n = recvmsg(host_socket, &m, MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR) continue;
        struct cmsghdr *c = n == sizeof message ? CMSG_FIRSTHDR(&m) : NULL;
        struct known *k = c ? malloc(sizeof *k) : NULL;
        if (!k) return -1;
        k->id = message.id;
        memcpy(&k->fd, CMSG_DATA(c), sizeof k->fd);
        k->next = backings;
        backings = k;
    }
}

static int protection(uint32_t prot)
{
    return (prot & 1 ? PROT_READ : 0) | (prot & 2 ? PROT_READ | PROT_WRITE : 0) |
           (prot & 4 ? PROT_READ | PROT_EXEC : 0);
}

static void fatal_mapping(const char *what, uint64_t va, uint64_t size)
{
    fl_log(FL_LOG_ERROR, "the device process cannot %s 0x%llx, %llu bytes: %s", what, (unsigned long long)va,
           (unsigned long long)size, strerror(errno));
    _exit(1);
}

/* The table forgets [va, va+size); what sticks out on either side stays. */
static void forget(uint64_t va, uint64_t size)
{
    for (unsigned s = 0; s < 4096; s++) {
        if (size < (1ull << 33) && s != slot(va) && !mappings[s]) continue;
        for (struct mapping **at = &mappings[s]; *at;) {
            struct mapping *m = *at;
            if (m->va + m->size <= va || va + size <= m->va) {
                at = &m->next;
                continue;
            }
            if (m->va < va && va + size < m->va + m->size) {
                struct mapping *rest = malloc(sizeof *rest);
                if (!rest) _exit(1);
                *rest = *m;
                rest->offset += va + size - m->va;
                rest->size = m->va + m->size - (va + size);
                rest->va = va + size;
                m->size = va - m->va;
                rest->next = m->next;
                m->next = rest;
                at = &rest->next;
            } else if (m->va < va) {
                m->size = va - m->va;
                at = &m->next;
            } else if (va + size < m->va + m->size) {
                uint64_t cut = va + size - m->va;
                m->va += cut;
                m->offset += cut;
                m->size -= cut;
                at = &m->next;
            } else {
                *at = m->next;
                free(m);
            }
        }
    }
}

void agent_map(uint64_t va, uint64_t size, uint64_t backing, uint64_t offset, uint32_t prot)
{
    int fd = receive(backing);
    struct mapping *m = malloc(sizeof *m);
    if (fd < 0 || !m) _exit(1);
    if (mmap((void *)va, size, protection(prot), MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (off_t)offset) ==
        MAP_FAILED)
        fatal_mapping("map", va, size);
    pthread_mutex_lock(&lock);
    forget(va, size);
    *m = (struct mapping){ va, size, backing, offset, prot, mappings[slot(va)] };
    mappings[slot(va)] = m;
    pthread_mutex_unlock(&lock);
}

void agent_unmap(uint64_t va, uint64_t size)
{
    if (munmap((void *)va, size)) fatal_mapping("unmap", va, size);
    pthread_mutex_lock(&lock);
    forget(va, size);
    pthread_mutex_unlock(&lock);
}

void agent_protect(uint64_t va, uint64_t size, uint32_t prot)
{
    if (mprotect((void *)va, size, protection(prot))) fatal_mapping("protect", va, size);
}

void agent_make_private(void)
{
    for (unsigned s = 0; s < 4096; s++)
        for (struct mapping *m = mappings[s]; m; m = m->next) {
            if (!(m->prot & 2)) continue;
            for (struct known *k = backings; k; k = k->next)
                if (k->id == m->backing)
                    mmap((void *)m->va, m->size, protection(m->prot), MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, k->fd,
                         (off_t)m->offset);
        }
}
