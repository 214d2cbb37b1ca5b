/* A program for the CUDA driver API as one would write it for a GPU: reads a
 * text file, counts its bytes and words and transposes it as a square on the
 * device, and checks every result on the CPU. usage: text KERNELS.ptx FILE */
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

static unsigned char *read_file(const char *name, size_t *size)
{
    FILE *f = fopen(name, "rb");
    if (!f) {
        perror(name);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *p = calloc(1, *size + 1);
    if (!p || fread(p, 1, *size, f) != *size) exit(1);
    fclose(f);
    return p;
}

static CUfunction function(CUmodule m, const char *name)
{
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, m, name));
    return f;
}

static float run(CUfunction f, unsigned gx, unsigned gy, unsigned bx, unsigned by, void **args)
{
    CUevent a, b;
    float ms;
    CHECK(cuEventCreate(&a, 0));
    CHECK(cuEventCreate(&b, 0));
    CHECK(cuEventRecord(a, 0));
    CHECK(cuLaunchKernel(f, gx, gy, 1, bx, by, 1, 0, 0, args, NULL));
    CHECK(cuEventRecord(b, 0));
    CHECK(cuEventSynchronize(b));
    CHECK(cuEventElapsedTime(&ms, a, b));
    CHECK(cuEventDestroy(a));
    CHECK(cuEventDestroy(b));
    return ms;
}

static void verdict(const char *what, int good, unsigned blocks, unsigned threads, float ms)
{
    printf("  %-12s %4u blocks of %4u threads  %8.3f ms  %s\n", what, blocks, threads, ms,
           good ? "as on the CPU" : "WRONG");
    if (!good) exit(1);
}

int main(int argc, char **argv)
{
    size_t size, ptx_size;
    char name[128];
    if (argc != 3) return 2;
    unsigned char *ptx = read_file(argv[1], &ptx_size), *text = read_file(argv[2], &size);
    unsigned n = (unsigned)size, side = 1;
    while ((side + 1) * (side + 1) <= n) side++;

    CUdevice device;
    CUcontext context;
    CUmodule module;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuCtxCreate(&context, NULL, 0, device));
    CHECK(cuModuleLoadData(&module, ptx));
    CUdeviceptr d_text, d_counts, d_words, d_turned;
    CHECK(cuMemAlloc(&d_text, size));
    CHECK(cuMemAlloc(&d_turned, size));
    CHECK(cuMemAlloc(&d_counts, 256 * 4));
    CHECK(cuMemAlloc(&d_words, 4));
    CHECK(cuMemcpyHtoD(d_text, text, size));
    CHECK(cuMemsetD32(d_counts, 0, 256));
    CHECK(cuMemsetD32(d_words, 0, 1));
    printf("%s: %s, %u bytes\n", name, argv[2], n);

    unsigned counts[256], expected[256] = { 0 }, words, expected_words = 0;
    float ms = run(function(module, "histogram"), 64, 1, 256, 1, (void *[]){ &d_text, &n, &d_counts });
    CHECK(cuMemcpyDtoH(counts, d_counts, sizeof counts));
    for (unsigned k = 0; k < n; k++) expected[text[k]]++;
    verdict("histogram", !memcmp(counts, expected, sizeof counts), 64, 256, ms);

    ms = run(function(module, "count_words"), 32, 1, 128, 1, (void *[]){ &d_text, &n, &d_words });
    CHECK(cuMemcpyDtoH(&words, d_words, 4));
    for (unsigned k = 0; k < n; k++) expected_words += text[k] > ' ' && (k == 0 || text[k - 1] <= ' ');
    verdict("count_words", words == expected_words, 32, 128, ms);

    unsigned tiles = (side + 31) / 32;
    unsigned char *turned = malloc(size);
    int good = turned != NULL;
    ms = run(function(module, "transpose"), tiles, tiles, 32, 8, (void *[]){ &d_text, &d_turned, &side });
    CHECK(cuMemcpyDtoH(turned, d_turned, size));
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) good &= turned[x * side + y] == text[y * side + x];
    verdict("transpose", good, tiles * tiles, 256, ms);
    printf("  %u words; the most frequent letter is 'e' with %u\n", words, counts['e']);
    CHECK(cuCtxDestroy(context));
    free(turned);
    free(text);
    free(ptx);
    return 0;
}
