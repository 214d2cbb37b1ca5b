/* The page table of a device process: mmap in the unified window, as the host
 * says. Descriptors of physical memory arrive on the socket, ahead of the
 * first command that names them. */
#include "device/device.h"
#include "base/log.h"
#include "base/message.h"
#include "base/tree.h"
#include "processor/processor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUCKETS = 1024 };

struct known {
    uint64_t id;
    int fd;
    struct known *next;
};
static struct known *backings[BUCKETS];

/* What is mapped, for a child that makes it private. */
struct mapping {
    uint64_t va, size, backing, offset;
    uint32_t prot;
    RB_ENTRY(mapping) link;
};
static int by_va(struct mapping *x, struct mapping *y) { return x->va < y->va ? -1 : x->va > y->va; }
RB_HEAD(mappings, mapping);
TREE_FUNCTIONS(mappings, mapping, link, by_va)
static struct mappings mappings = RB_INITIALIZER(&mappings);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct known *find_known(uint64_t id)
{
    struct known *k = backings[id % BUCKETS];
    while (k && k->id != id) k = k->next;
    return k;
}

static int receive(uint64_t id)
{
    for (;;) {
        struct known *k = find_known(id);
        if (k) return k->fd;
        struct backing_message message;
        int fd;
        if (!message_receive(host_socket, &message, sizeof message, &fd) || fd < 0) return -1;
        if (!(k = malloc(sizeof *k))) return -1;
        *k = (struct known){ .id = message.id, .fd = fd };
        k->next = backings[k->id % BUCKETS];
        backings[k->id % BUCKETS] = k;
    }
}

void agent_forget(uint64_t backing)
{
    receive(backing);
    for (struct known **at = &backings[backing % BUCKETS]; *at; at = &(*at)->next)
        if ((*at)->id == backing) {
            struct known *k = *at;
            *at = k->next;
            close(k->fd);
            free(k);
            return;
        }
}

static int protection(uint32_t prot)
{
    return (prot & PROT_DEVICE_READ ? PROT_READ : 0) | (prot & PROT_DEVICE_WRITE ? PROT_READ | PROT_WRITE : 0) |
           (prot & PROT_DEVICE_EXEC ? PROT_READ | PROT_EXEC : 0);
}

static void fatal_mapping(const char *what, uint64_t va, uint64_t size)
{
    fl_log(FL_LOG_ERROR, "the device process cannot %s 0x%llx, %llu bytes: %s", what, (unsigned long long)va,
           (unsigned long long)size, strerror(errno));
    _exit(1);
}

/* The lowest mapping that ends above va, or NULL. */
static struct mapping *from(uint64_t va)
{
    struct mapping key = { .va = va }, *m = RB_NFIND(mappings, &mappings, &key),
                   *below = m ? RB_PREV(mappings, &mappings, m) : RB_MAX(mappings, &mappings);
    return below && below->va + below->size > va ? below : m;
}

/* No mapping lies across `at` afterwards. */
static void split(uint64_t at)
{
    struct mapping *m = from(at), *rest;
    if (!m || m->va >= at) return;
    if (!(rest = malloc(sizeof *rest))) fatal_mapping("keep account of", m->va, m->size);
    *rest = *m;
    m->size = at - m->va;
    rest->va = at;
    rest->size -= m->size;
    rest->offset += m->size;
    RB_INSERT(mappings, &mappings, rest);
}

/* The table forgets [va, va+size); what sticks out on either side stays. */
static void forget(uint64_t va, uint64_t size)
{
    split(va);
    split(va + size);
    for (struct mapping *m = from(va), *next; m && m->va < va + size; m = next) {
        next = RB_NEXT(mappings, &mappings, m);
        RB_REMOVE(mappings, &mappings, m);
        free(m);
    }
}

void agent_map(uint64_t va, uint64_t size, uint64_t backing, uint64_t offset, uint32_t prot)
{
    int fd = receive(backing);
    struct mapping *m = malloc(sizeof *m);
    if (fd < 0 || !m) _exit(1);
    int place = prot & PROT_DEVICE_KEEP ? MAP_FIXED_NOREPLACE : MAP_FIXED;
    if (mmap((void *)va, size, protection(prot), MAP_SHARED | place | MAP_NORESERVE, fd, (off_t)offset) == MAP_FAILED)
        fatal_mapping("map", va, size);
    pthread_mutex_lock(&lock);
    forget(va, size);
    *m = (struct mapping){ .va = va, .size = size, .backing = backing, .offset = offset, .prot = prot };
    RB_INSERT(mappings, &mappings, m);
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
    pthread_mutex_lock(&lock);
    split(va);
    split(va + size);
    for (struct mapping *m = from(va); m && m->va < va + size; m = RB_NEXT(mappings, &mappings, m)) m->prot = prot;
    pthread_mutex_unlock(&lock);
}

void agent_make_private(void)
{
    struct mapping *m;
    RB_FOREACH(m, mappings, &mappings)
    {
        const struct known *k = m->prot & PROT_DEVICE_WRITE ? find_known(m->backing) : NULL;
        /* without a copy of its own the child would write to everybody's */
        if (k && mmap((void *)m->va, m->size, protection(m->prot), MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, k->fd,
                      (off_t)m->offset) == MAP_FAILED)
            _exit(1);
    }
    multimem_make_private();
}

void *agent_map_anywhere(uint64_t size, uint64_t backing, uint64_t offset)
{
    int fd = receive(backing);
    if (fd < 0) _exit(1);
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)offset);
    if (at == MAP_FAILED) fatal_mapping("map a member's part of", 0, size);
    return at;
}

void agent_remap_private(void *at, uint64_t size, uint64_t backing, uint64_t offset)
{
    mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, receive(backing), (off_t)offset);
}
