/* Heat on a plate, in managed memory: host and device work on the same arrays
 * through the same pointers, and no copy is written anywhere. Twice: first the
 * pages move when they are touched; then the program says beforehand who needs
 * what. The result is checked on the CPU. usage: heat KERNELS.ptx */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum { SIDE = 1024, PLACES = SIDE * SIDE, STEPS = 4, LIMIT = 1000, HEATED = 384, ROWS = 96 };

static const CUmemLocation gpu = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
static const CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };

/* What host and device share. */
struct plate {
    int *now, *next;         /* temperatures */
    unsigned char *material; /* how well each place conducts */
    unsigned *warm;          /* a counter */
};

static void *managed(size_t bytes)
{
    CUdeviceptr p;
    CHECK(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
    return (void *)p;
}

static void release(void *p) { CHECK(cuMemFree((CUdeviceptr)p)); }

static char *read_file(const char *name)
{
    FILE *f = fopen(name, "rb");
    if (!f) {
        perror(name);
        exit(1);
    }
    char *text = calloc(1, 1 << 20);
    if (!text || !fread(text, 1, (1 << 20) - 1, f)) exit(1);
    fclose(f);
    return text;
}

/* The host heats a spot and draws a bar that conducts well. */
static void prepare(struct plate *p)
{
    for (int k = 0; k < PLACES; k++) {
        int x = k % SIDE, y = k / SIDE;
        p->now[k] = (x - 300) * (x - 300) + (y - 400) * (y - 400) < 100 * 100 ? 1 << 20 : 0;
        p->material[k] = (unsigned char)(x > 600 && x < 640 ? 255 : 128 + (x ^ y) % 64);
    }
    *p->warm = 0;
}

/* Between two steps the host heats a strip of the plate again. */
static void heat(int *now)
{
    for (int k = HEATED * SIDE; k < (HEATED + ROWS) * SIDE; k++)
        if (k % SIDE > 200 && k % SIDE < 400) now[k] = 1 << 20;
}

static int at(const int *plate, int x, int y)
{
    x = x < 0 ? 0 : x < SIDE ? x : SIDE - 1;
    y = y < 0 ? 0 : y < SIDE ? y : SIDE - 1;
    return plate[y * SIDE + x];
}

/* What the kernels do, on the CPU: the temperatures after all steps. */
static int *expected(const struct plate *p)
{
    int *now = malloc(PLACES * sizeof *now), *next = malloc(PLACES * sizeof *next);
    if (!now || !next) exit(1);
    memcpy(now, p->now, PLACES * sizeof *now);
    for (int step = 0; step < STEPS; step++) {
        heat(now);
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                int here = at(now, x, y);
                int flow = at(now, x - 1, y) + at(now, x + 1, y) + at(now, x, y - 1) + at(now, x, y + 1) - 4 * here;
                next[y * SIDE + x] = here + ((flow >> 2) * p->material[y * SIDE + x] >> 8);
            }
        int *swap = now;
        now = next;
        next = swap;
    }
    free(next);
    return now;
}

static void launch(CUfunction f, unsigned gx, unsigned gy, unsigned threads, void **args)
{
    CHECK(cuLaunchKernel(f, gx, gy, 1, threads, 1, 1, 0, NULL, args, NULL));
}

static void prefetch(const void *p, size_t bytes, CUmemLocation to)
{
    CHECK(cuMemPrefetchAsync((CUdeviceptr)p, bytes, to, 0, NULL));
}

/* Who is going to need what. The material is read by both and written by neither. */
static void announce(const struct plate *p)
{
    CHECK(cuMemAdvise((CUdeviceptr)p->material, PLACES, CU_MEM_ADVISE_SET_READ_MOSTLY, gpu));
    prefetch(p->material, PLACES, gpu);
    prefetch(p->now, PLACES * sizeof *p->now, gpu);
    prefetch(p->next, PLACES * sizeof *p->next, gpu);
}

/* told: the program says beforehand where what it touches next should be. */
static void run(struct plate *p, CUfunction spread, CUfunction count_warm, int told)
{
    int side = SIDE, limit = LIMIT;
    size_t strip = ROWS * SIDE * sizeof *p->now;
    if (told) announce(p);
    for (int step = 0; step < STEPS; step++) {
        if (told) prefetch(p->now + HEATED * SIDE, strip, host);
        CHECK(cuCtxSynchronize());
        heat(p->now);
        if (told) prefetch(p->now + HEATED * SIDE, strip, gpu);
        launch(spread, SIDE / 256, SIDE, 256, (void *[]){ &p->now, &p->next, &p->material, &side });
        int *swap = p->now;
        p->now = p->next;
        p->next = swap;
    }
    launch(count_warm, 64, 1, 256, (void *[]){ &p->now, &side, &limit, &p->warm });
    if (told) prefetch(p->now, PLACES * sizeof *p->now, host);
    CHECK(cuCtxSynchronize());
}

static void check(const char *what, const struct plate *p, const int *want)
{
    unsigned warm = 0;
    for (int k = 0; k < PLACES; k++) warm += want[k] >= LIMIT;
    int good = !memcmp(p->now, want, PLACES * sizeof *want) && *p->warm == warm;
    printf("  %-32s %u of %d places are warm, %s\n", what, *p->warm, PLACES, good ? "as on the CPU" : "WRONG");
    if (!good) exit(1);
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;
    CUfunction spread, count_warm;
    char name[128];
    if (argc != 2) return 2;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, NULL, 0, 0));
    CHECK(cuDeviceGetName(name, sizeof name, 0));
    char *ptx = read_file(argv[1]);
    CHECK(cuModuleLoadData(&module, ptx));
    free(ptx);
    CHECK(cuModuleGetFunction(&spread, module, "spread"));
    CHECK(cuModuleGetFunction(&count_warm, module, "count_warm"));
    printf("%s: heat on a plate of %d x %d, %d steps\n", name, SIDE, SIDE, STEPS);
    for (int told = 0; told < 2; told++) {
        struct plate p = { managed(PLACES * sizeof(int)), managed(PLACES * sizeof(int)), managed(PLACES),
                           managed(sizeof(unsigned)) };
        prepare(&p);
        int *want = expected(&p);
        run(&p, spread, count_warm, told);
        check(told ? "with advice and prefetches:" : "pages move as they are touched:", &p, want);
        free(want);
        release(p.now);
        release(p.next);
        release(p.material);
        release(p.warm);
    }
    CHECK(cuCtxDestroy(context));
    return 0;
}
