/* The problems of problems.h on PoCL's CPU device, in microseconds per run
 * (median of several, after compilation). Peer of bench.c. */
#define CL_TARGET_OPENCL_VERSION 120
#include "problems.h"
#include <CL/cl.h>
#include <string.h>

#define CHECK(call) \
    do { \
        cl_int e_ = (call); \
        if (e_) { \
            fprintf(stderr, "%s: %d\n", #call, e_); \
            exit(1); \
        } \
    } while (0)

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static cl_mem buffer(size_t bytes, int fill)
{
    cl_int e;
    cl_mem m = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &e);
    CHECK(e);
    float *h = malloc(bytes);
    for (size_t i = 0; i < bytes / 4; i++) h[i] = fill ? (float)(i % 1000) / 1000 : 0;
    CHECK(clEnqueueWriteBuffer(queue, m, CL_TRUE, 0, bytes, h, 0, NULL, NULL));
    free(h);
    return m;
}

static void measure(const char *name, cl_mem *buffers, int count, cl_int n, cl_uint dims, size_t *global, size_t *local,
                    int runs)
{
    cl_int e;
    cl_kernel k = clCreateKernel(program, name, &e);
    CHECK(e);
    for (int i = 0; i < count; i++) CHECK(clSetKernelArg(k, i, sizeof *buffers, &buffers[i]));
    CHECK(clSetKernelArg(k, count, sizeof n, &n));
    double us[64];
    for (int r = -2; r < runs; r++) {
        double t = now_us();
        CHECK(clEnqueueNDRangeKernel(queue, k, dims, NULL, global, local, 0, NULL, NULL));
        CHECK(clFinish(queue));
        if (r >= 0) us[r] = now_us() - t;
    }
    report(name, median(us, runs));
    clReleaseKernel(k);
}

int main(int argc, char **argv)
{
    cl_platform_id platforms[8];
    cl_device_id device;
    cl_uint n = 0;
    cl_int e;
    if (argc < 2 || clGetPlatformIDs(8, platforms, &n) || !n ||
        clGetDeviceIDs(platforms[0], CL_DEVICE_TYPE_CPU, 1, &device, NULL)) {
        puts("SKIP no OpenCL CPU device");
        return 77;
    }
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &e);
    CHECK(e);
    queue = clCreateCommandQueue(context, device, 0, &e);
    CHECK(e);
    static char source[1 << 16];
    FILE *f = fopen(argv[1], "r");
    if (!f) return 1;
    size_t length = fread(source, 1, sizeof source - 1, f);
    fclose(f);
    const char *text = source;
    program = clCreateProgramWithSource(context, 1, &text, &length, &e);
    CHECK(e);
    CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));

    cl_mem add[3] = { buffer(ADD_N * 4, 1), buffer(ADD_N * 4, 1), buffer(ADD_N * 4, 0) };
    measure("vector_add", add, 3, ADD_N, 1, (size_t[]){ ADD_N }, (size_t[]){ 256 }, 15);
    cl_mem reduce[2] = { add[0], buffer(REDUCE_N / 256 * 4, 0) };
    measure("reduce", reduce, 2, REDUCE_N, 1, (size_t[]){ REDUCE_N }, (size_t[]){ 256 }, 15);
    size_t bytes = (size_t)MATMUL_N * MATMUL_N * 4;
    cl_mem mat[3] = { buffer(bytes, 1), buffer(bytes, 1), buffer(bytes, 0) };
    size_t square[2] = { MATMUL_N, MATMUL_N }, block[2] = { 16, 16 };
    measure("matmul_naive", mat, 3, MATMUL_N, 2, square, block, 7);
    measure("matmul_tiled", mat, 3, MATMUL_N, 2, square, block, 7);
    return 0;
}
