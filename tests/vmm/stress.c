/* Processes that share device memory and die at any moment. Each worker makes
 * memory, writes it all, and hands it as a descriptor to whoever it likes; who
 * gets one imports it, maps it, checks every byte of the maker's half, writes
 * its own place in the other half, and may pass it on. Workers kill themselves
 * and are killed, in the midst of anything; new ones take their places.
 * Afterwards no process and no device memory may be left.
 * usage: [FAULTLINE_STRESS_SECONDS=8] stress WORKERS [seed] */
#include "rig.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 16, HELD = 12, UNIT = 2 * MIB, PLACE = 4096 };

/* Seen by all processes. */
struct board {
    _Atomic bool stop;
    _Atomic unsigned long made, received, passed_on, checked, killed, wrong;
};
static struct board *board;
static unsigned workers;
static pid_t coordinator;

/* What goes with a descriptor. */
struct letter {
    uint64_t size;
    uint32_t seed;
};
struct held {
    struct letter letter;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;
    bool received;
    int descriptor; /* of what was received, which cannot be exported again; or -1 */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- letters: a datagram socket for each place, in the abstract namespace, so nothing is left of it */

static socklen_t name_of(unsigned place, struct sockaddr_un *a)
{
    *a = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "faultline-stress-%d-%u", (int)coordinator, place);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* The name may still be that of who was killed here before: what it was about to start has its descriptors for a moment. */
static int take_place(unsigned place)
{
    struct sockaddr_un a;
    socklen_t length = name_of(place, &a);
    int in = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    EXPECT(in >= 0);
    for (double patience = now() + 15; bind(in, (struct sockaddr *)&a, length);) {
        EXPECT(errno == EADDRINUSE);
        EXPECT(now() < patience);
        usleep(1000);
    }
    return in;
}

static void post(int socket, unsigned to, const struct letter *l, int descriptor)
{
    struct sockaddr_un a;
    struct iovec part = { (void *)l, sizeof *l };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } data = { .header = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) } };
    memcpy(CMSG_DATA(&data.header), &descriptor, sizeof descriptor);
    struct msghdr h = { &a, name_of(to, &a), &part, 1, &data, sizeof data, 0 };
    if (sendmsg(socket, &h, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) /* nobody there just now, or too much to read */
        EXPECT(errno == ECONNREFUSED || errno == EAGAIN || errno == ENOENT || errno == ETOOMANYREFS);
}

static bool fetch(int socket, struct letter *l, int *descriptor)
{
    struct iovec part = { l, sizeof *l };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } data;
    struct msghdr h = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &data, .msg_controllen = sizeof data };
    if (recvmsg(socket, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof *l || !CMSG_FIRSTHDR(&h)) return false;
    memcpy(descriptor, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof *descriptor);
    return true;
}

/* ---- a worker */

static void pattern(uint32_t seed, uint32_t *words, size_t bytes)
{
    for (size_t k = 0; k < bytes / 4; k++) words[k] = seed * 2654435761u + (uint32_t)k * 40503u;
}

static void wrong(const char *what, const struct letter *l)
{
    fprintf(stderr, "memory %#x of %llu bytes: %s\n", l->seed, (unsigned long long)l->size, what);
    atomic_fetch_add(&board->wrong, 1);
}

static void map(struct held *m)
{
    CHECK(cuMemAddressReserve(&m->at, m->letter.size, 0, 0, 0));
    CHECK(cuMemMap(m->at, m->letter.size, 0, m->handle, 0));
    give_access(m->at, m->letter.size, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static void drop(struct held *m, bool handle_first)
{
    if (handle_first) CHECK(cuMemRelease(m->handle));
    CHECK(cuMemUnmap(m->at, m->letter.size));
    if (!handle_first) CHECK(cuMemRelease(m->handle));
    if (m->descriptor >= 0) close(m->descriptor);
    CHECK(cuMemAddressFree(m->at, m->letter.size));
}

static void make(struct held *m, uint32_t *words)
{
    const CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
    m->received = false;
    m->descriptor = -1;
    m->letter = (struct letter){ (1 + draw(3)) * (uint64_t)UNIT, draw(1u << 30) };
    CHECK(cuMemCreate(&m->handle, m->letter.size, &prop, 0));
    map(m);
    pattern(m->letter.seed, words, m->letter.size / 2);
    CHECK(cuMemcpyHtoD(m->at, words, m->letter.size / 2));
    atomic_fetch_add(&board->made, 1);
}

static bool take(struct held *m, int socket)
{
    if (!fetch(socket, &m->letter, &m->descriptor)) return false;
    CHECK(cuMemImportFromShareableHandle(&m->handle, (void *)(long)m->descriptor,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    m->received = true;
    map(m);
    if (draw(2)) {
        close(m->descriptor);
        m->descriptor = -1;
    }
    atomic_fetch_add(&board->received, 1);
    return true;
}

static void send_out(const struct held *m, int socket)
{
    int descriptor = m->descriptor;
    if (m->received && descriptor < 0) return;
    if (!m->received)
        CHECK(cuMemExportToShareableHandle(&descriptor, m->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    post(socket, draw(workers), &m->letter, descriptor);
    if (!m->received) close(descriptor);
    atomic_fetch_add(&board->passed_on, 1);
}

/* Every byte of the maker's half by copy, and a place of one's own in the other half by kernel. */
static void check(struct device *d, const struct held *m, unsigned place, uint32_t *words, uint32_t *seen)
{
    size_t half = m->letter.size / 2;
    pattern(m->letter.seed, words, half);
    CHECK(cuMemcpyDtoH(seen, m->at, half));
    if (memcmp(words, seen, half)) wrong("the maker's bytes are not there", &m->letter);
    struct tagged t = { m->at + half + place * (uint64_t)PLACE, 256, draw(1u << 30) };
    tags_run(d, &t, 1, 1);
    if (tags_run(d, &t, 1, 0)) wrong("what a kernel wrote is not there", &m->letter);
    atomic_fetch_add(&board->checked, 1);
}

static void work(unsigned place)
{
    static struct held held[HELD];
    static struct device device;
    unsigned count = 0;
    uint32_t *words = malloc(3 * UNIT / 2), *seen = malloc(3 * UNIT / 2);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int in = take_place(place);
    EXPECT(words);
    EXPECT(seen);
    device_open(&device, 1);
    size_t before = free_memory();
    while (!atomic_load(&board->stop)) {
        unsigned what = draw(100);
        if (what < 25 && count < HELD)
            make(&held[count++], words);
        else if (what < 55 && count < HELD)
            count += take(&held[count], in);
        else if (what < 70 && count)
            send_out(&held[draw(count)], in);
        else if (what < 85 && count)
            check(&device, &held[draw(count)], place, words, seen);
        else if (what < 99 && count) {
            unsigned k = draw(count);
            drop(&held[k], draw(2));
            held[k] = held[--count];
        } else if (what == 99 && !draw(3)) {
            kill(getpid(), SIGKILL);
        }
    }
    close(in);
    while (count) drop(&held[--count], true);
    /* others may still hold what was made here, until they have come to this point too */
    double patience = now() + 40;
    while (free_memory() != before && now() < patience) usleep(20000);
    if (free_memory() != before) wrong("device memory is missing at the end", &(struct letter){ 0 });
    CHECK(cuDevicePrimaryCtxRelease(0));
    free(words);
    free(seen);
    exit(0);
}

/* ---- the coordinator */

static pid_t start(unsigned place, uint64_t seed)
{
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child) return child;
    draw_state = seed * 0x9e3779b97f4a7c15u + 1;
    draw(1);
    work(place);
    return 0;
}

static bool marked(const char *pid)
{
    char path[64], text[1 << 16], mark[64];
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    int n = snprintf(mark, sizeof mark, "FAULTLINE_STRESS=%d", (int)coordinator);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    size_t length = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    return memmem(text, length, mark, (size_t)n + 1);
}

/* Processes that our workers have left behind: device processes carry their environment. */
static unsigned left_behind(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc");
    EXPECT(d);
    for (struct dirent *e; (e = readdir(d));)
        if (strtol(e->d_name, NULL, 10) > 0 && strtol(e->d_name, NULL, 10) != coordinator && marked(e->d_name)) n++;
    closedir(d);
    return n;
}

int main(int argc, char **argv)
{
    pid_t pids[WORKERS];
    char mark[32];
    EXPECT(argc >= 2);
    const char *asked = getenv("FAULTLINE_STRESS_SECONDS");
    workers = (unsigned)strtoul(argv[1], NULL, 10);
    double end = now() + (asked ? strtod(asked, NULL) : 8);
    const uint64_t seed = argc > 2 ? strtoul(argv[2], NULL, 10) : (uint64_t)time(NULL);
    uint64_t worker_seed = seed << 20;
    EXPECT(workers > 1);
    EXPECT(workers <= WORKERS);
    coordinator = getpid();
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(board != MAP_FAILED);
    draw_state = seed * 2 + 1;
    snprintf(mark, sizeof mark, "%d", (int)coordinator);
    setenv("FAULTLINE_STRESS", mark, 1);
    for (unsigned k = 0; k < workers; k++) pids[k] = start(k, ++worker_seed);
    while (now() < end) {
        int status;
        pid_t dead = waitpid(-1, &status, WNOHANG);
        for (unsigned k = 0; k < workers && dead > 0; k++)
            if (pids[k] == dead) pids[k] = start(k, ++worker_seed);
        if (dead > 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
            fprintf(stderr, "a worker ended by itself: status %#x\n", status);
            atomic_fetch_add(&board->wrong, 1);
        }
        atomic_fetch_add(&board->killed, dead > 0);
        if (!draw(12)) kill(pids[draw(workers)], SIGKILL);
        usleep(50000);
    }
    atomic_store(&board->stop, true);
    for (int status; wait(&status) > 0;)
        if (!(WIFEXITED(status) && !WEXITSTATUS(status)) && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
            fprintf(stderr, "a worker could not end: status %#x\n", status);
            atomic_fetch_add(&board->wrong, 1);
        }
    for (unsigned k = 0; k < 600 && left_behind(); k++) usleep(50000);
    unsigned left = left_behind();
    printf("%u workers, %lu killed: %lu made, %lu handed out, %lu received, %lu checked, %lu wrong, %u processes left, "
           "seed %llu\n",
           workers, board->killed, board->made, board->passed_on, board->received, board->checked, board->wrong, left,
           (unsigned long long)seed);
    return board->wrong || left || !board->checked;
}
