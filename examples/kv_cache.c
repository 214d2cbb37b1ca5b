/* A paged cache of keys and values, as a server of language models keeps one:
 * addresses for the longest sequence are reserved once, and 2 MiB pages are
 * mapped there as the sequence grows, so nothing ever moves. A second process
 * gets every page as a file descriptor and maps it too; both attend to the same
 * memory, and the CPU checks what they found. usage: kv_cache KERNELS.ptx */
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call) \
    do { \
        CUresult r_ = (call); \
        if (r_) { \
            const char *n_ = "?"; \
            cuGetErrorName(r_, &n_); \
            fprintf(stderr, "%s: %s\n", #call, n_); \
            exit(1); \
        } \
    } while (0)
#define NEED(condition) \
    do { \
        if (!(condition)) { \
            perror(#condition); \
            exit(1); \
        } \
    } while (0)

enum { HEADS = 4, DIM = 64, TOKEN = 2 * HEADS * DIM }; /* as in kv_cache_kernels.cu */
enum { PAGE = 2 << 20, PAGE_TOKENS = PAGE / (TOKEN * 4), MOST_PAGES = 512, SEED = 4711 };

struct cache {
    CUdeviceptr base; /* of MOST_PAGES reserved pages */
    unsigned pages, tokens;
    CUmemGenericAllocationHandle page[MOST_PAGES];
    CUmodule module;
    CUdeviceptr query, scores, out;
};
/* What the owner of the cache tells its reader. A message with new_page brings a descriptor. */
struct message {
    unsigned tokens, new_page;
};

/* ---- the cache */

static char *read_file(const char *name)
{
    FILE *f = fopen(name, "rb");
    NEED(f && !fseek(f, 0, SEEK_END));
    long size = ftell(f);
    char *text = calloc(1, (size_t)size + 1);
    rewind(f);
    NEED(text && fread(text, 1, (size_t)size, f) == (size_t)size);
    fclose(f);
    return text;
}

static CUmemAllocationProp page_properties(void)
{
    return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                  .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
}

static void cache_open(struct cache *c, const char *kernels)
{
    CUcontext context;
    CUmemAllocationProp prop = page_properties();
    size_t granularity;
    char *text = read_file(kernels);
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&c->module, text));
    CHECK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    NEED(PAGE % granularity == 0);
    CHECK(cuMemAddressReserve(&c->base, (size_t)MOST_PAGES * PAGE, 0, 0, 0));
    CHECK(cuMemAlloc(&c->query, HEADS * DIM * 4));
    CHECK(cuMemAlloc(&c->out, HEADS * DIM * 4));
    CHECK(cuMemAlloc(&c->scores, (size_t)HEADS * MOST_PAGES * PAGE_TOKENS * 4));
    free(text);
}

/* One more page, at the end of what is mapped. */
static void cache_map(struct cache *c, CUmemGenericAllocationHandle page, CUmemAccess_flags access)
{
    CUdeviceptr at = c->base + (CUdeviceptr)c->pages * PAGE;
    CUmemAccessDesc desc = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, access };
    CHECK(cuMemMap(at, PAGE, 0, page, 0));
    CHECK(cuMemSetAccess(at, PAGE, &desc, 1));
    c->page[c->pages++] = page;
}

static void cache_close(struct cache *c)
{
    CHECK(cuMemUnmap(c->base, (size_t)c->pages * PAGE));
    for (unsigned k = 0; k < c->pages; k++) CHECK(cuMemRelease(c->page[k]));
    CHECK(cuMemAddressFree(c->base, (size_t)MOST_PAGES * PAGE));
    CHECK(cuMemFree(c->query));
    CHECK(cuMemFree(c->out));
    CHECK(cuMemFree(c->scores));
    CHECK(cuModuleUnload(c->module));
    CHECK(cuDevicePrimaryCtxRelease(0));
}

static void launch(struct cache *c, const char *name, unsigned blocks, unsigned threads, void **args)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, c->module, name));
    CHECK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, 0, args, NULL));
}

/* ---- attention, on the device and on the CPU */

static float made_up(unsigned seed, unsigned k)
{
    unsigned h = (seed ^ k * 2654435761u) * 2246822519u;
    h ^= h >> 13;
    h *= 3266489917u;
    h ^= h >> 16;
    return (float)(int)h * (1.0f / 2147483648.0f);
}

static void attend(struct cache *c, unsigned seed, float *out)
{
    float query[HEADS * DIM];
    for (unsigned k = 0; k < HEADS * DIM; k++) query[k] = made_up(seed, k);
    CHECK(cuMemcpyHtoD(c->query, query, sizeof query));
    launch(c, "attention", HEADS, DIM, (void *[]){ &c->base, &c->tokens, &c->query, &c->scores, &c->out });
    CHECK(cuMemcpyDtoH(out, c->out, HEADS * DIM * 4));
}

static void attend_on_cpu(unsigned tokens, unsigned head, unsigned seed, double *out)
{
    double sum = 0, weight;
    memset(out, 0, DIM * sizeof *out);
    for (unsigned t = 0; t < tokens; t++, sum += weight) {
        double score = 0;
        for (unsigned d = 0; d < DIM; d++)
            score += (double)made_up(seed, head * DIM + d) * made_up(SEED, t * TOKEN + head * DIM + d);
        weight = exp(score * 0.125);
        for (unsigned d = 0; d < DIM; d++) out[d] += weight * made_up(SEED, t * TOKEN + (HEADS + head) * DIM + d);
    }
    for (unsigned d = 0; d < DIM; d++) out[d] /= sum;
}

/* Attends with a query of its own and says how it went. */
static void check(struct cache *c, const char *who, unsigned seed)
{
    float out[HEADS * DIM];
    double expected[DIM], worst = 0;
    attend(c, seed, out);
    for (unsigned head = 0; head < HEADS; head++) {
        attend_on_cpu(c->tokens, head, seed, expected);
        for (unsigned d = 0; d < DIM; d++) worst = fmax(worst, fabs(out[head * DIM + d] - expected[d]));
    }
    printf("  %-6s %6u tokens in %2u pages at %#llx  largest error %.1e  %s\n", who, c->tokens, c->pages,
           (unsigned long long)c->base, worst, worst < 1e-4 ? "as on the CPU" : "WRONG");
    fflush(stdout);
    if (!(worst < 1e-4)) exit(1);
}

/* ---- two processes */

static void tell(int socket, struct message m, int descriptor)
{
    struct iovec part = { &m, sizeof m };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } data = { 0 };
    struct msghdr h = { .msg_iov = &part, .msg_iovlen = 1 };
    if (m.new_page) {
        h.msg_control = &data;
        h.msg_controllen = sizeof data;
        data.header =
            (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
        memcpy(CMSG_DATA(&data.header), &descriptor, sizeof descriptor);
    }
    NEED(sendmsg(socket, &h, 0) == sizeof m);
}

/* False at the end of the conversation. */
static int hear(int socket, struct message *m, int *descriptor)
{
    struct iovec part = { m, sizeof *m };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } data;
    struct msghdr h = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &data, .msg_controllen = sizeof data };
    if (recvmsg(socket, &h, 0) != sizeof *m) return 0;
    if (m->new_page) {
        NEED(CMSG_FIRSTHDR(&h));
        memcpy(descriptor, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof *descriptor);
    }
    return 1;
}

/* Maps what it is given, read-only, and attends whenever it hears that tokens have come. */
static void reader(int socket, const char *kernels)
{
    struct cache c = { 0 };
    struct message m;
    int descriptor;
    cache_open(&c, kernels);
    while (hear(socket, &m, &descriptor)) {
        if (m.new_page) {
            CUmemGenericAllocationHandle page;
            CHECK(cuMemImportFromShareableHandle(&page, (void *)(long)descriptor,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
            close(descriptor);
            cache_map(&c, page, CU_MEM_ACCESS_FLAGS_PROT_READ);
            continue;
        }
        c.tokens = m.tokens;
        check(&c, "reader", 2 * m.tokens + 1);
        NEED(write(socket, "", 1) == 1);
    }
    cache_close(&c);
    exit(0);
}

static void grow(struct cache *c, int socket)
{
    CUmemGenericAllocationHandle page;
    CUmemAllocationProp prop = page_properties();
    int descriptor;
    CHECK(cuMemCreate(&page, PAGE, &prop, 0));
    cache_map(c, page, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CHECK(cuMemExportToShareableHandle(&descriptor, page, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    tell(socket, (struct message){ .new_page = 1 }, descriptor);
    close(descriptor);
}

/* The sequence becomes longer by count tokens; pages come as they are needed. */
static void append(struct cache *c, int socket, unsigned count)
{
    unsigned first = c->tokens, seed = SEED;
    char done;
    while (c->pages * PAGE_TOKENS < first + count) grow(c, socket);
    launch(c, "append", count, 128, (void *[]){ &c->base, &first, &seed });
    CHECK(cuCtxSynchronize());
    c->tokens += count;
    tell(socket, (struct message){ .tokens = c->tokens }, -1);
    check(c, "owner", 2 * c->tokens);
    NEED(read(socket, &done, 1) == 1);
}

int main(int argc, char **argv)
{
    static const unsigned steps[] = { 700, 1, 1, 1, 321, 1, 1, 2500, 1, 1 };
    struct cache c = { 0 };
    int sockets[2], status;
    size_t before, after, total;
    if (argc != 2) return 2;
    NEED(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
    pid_t child = fork(); /* before either process has spoken to CUDA */
    NEED(child >= 0);
    if (!child) {
        close(sockets[0]);
        reader(sockets[1], argv[1]);
    }
    close(sockets[1]);
    cache_open(&c, argv[1]);
    CHECK(cuMemGetInfo(&before, &total));
    printf("a cache of up to %u tokens, %u to a page of 2 MiB\n", MOST_PAGES * PAGE_TOKENS, PAGE_TOKENS);
    for (unsigned k = 0; k < sizeof steps / sizeof *steps; k++) append(&c, sockets[0], steps[k]);
    CHECK(cuMemGetInfo(&after, &total));
    printf("  %zu MiB of device memory for %u tokens\n", (before - after) >> 20, c.tokens);
    close(sockets[0]);
    NEED(waitpid(child, &status, 0) == child);
    cache_close(&c);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
