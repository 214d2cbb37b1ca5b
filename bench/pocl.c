/* The problems of problems.h on PoCL's CPU device, in microseconds per run
 * (median of several, after compilation). Peer of
 * basics.c. usage: pocl KERNELS.cl */
#define CL_TARGET_OPENCL_VERSION 120
#include "measure.h"
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

static cl_mem numbers(size_t count, enum fill fill)
{
    cl_int e;
    float *h = make_numbers(count, fill);
    cl_mem m = clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof *h, NULL, &e);
    CHECK(e);
    CHECK(clEnqueueWriteBuffer(queue, m, CL_TRUE, 0, count * sizeof *h, h, 0, NULL, NULL));
    free(h);
    return m;
}

/* side threads each way (1 or 2 ways) in blocks of block each way; the last argument of every kernel is n. */
struct shape {
    cl_uint ways;
    size_t side, block;
    cl_int n;
    int runs;
};

static void measure(const char *name, struct shape s, const cl_mem *buffers, cl_uint count)
{
    cl_int e;
    cl_kernel k = clCreateKernel(program, name, &e);
    size_t global[2] = { s.side, s.side }, local[2] = { s.block, s.block };
    double us[MOST_RUNS];
    CHECK(e);
    for (cl_uint i = 0; i < count; i++) CHECK(clSetKernelArg(k, i, sizeof *buffers, &buffers[i]));
    CHECK(clSetKernelArg(k, count, sizeof s.n, &s.n));
    for (int r = -RUNS_BEFORE; r < s.runs; r++) {
        double t = now_us();
        CHECK(clEnqueueNDRangeKernel(queue, k, s.ways, NULL, global, local, 0, NULL, NULL));
        CHECK(clFinish(queue));
        if (r >= 0) us[r] = now_us() - t;
    }
    report(name, median(us, s.runs));
    clReleaseKernel(k);
}

static void measure_problems(void)
{
    const struct shape add = { 1, ADD_N, LINE_BLOCK, ADD_N, LINE_RUNS };
    const struct shape reduce = { 1, REDUCE_N, LINE_BLOCK, REDUCE_N, LINE_RUNS };
    const struct shape histogram = { 1, GRID_BLOCKS * LINE_BLOCK, LINE_BLOCK, ADD_N, SQUARE_RUNS };
    const struct shape matmul = { 2, MATMUL_N, SQUARE_BLOCK, MATMUL_N, SQUARE_RUNS };
    cl_mem a = numbers(ADD_N, FRACTIONS), b = numbers(ADD_N, FRACTIONS), sum = numbers(ADD_N, ZEROS);
    cl_mem parts = numbers(REDUCE_N / LINE_BLOCK, ZEROS);
    const size_t square = (size_t)MATMUL_N * MATMUL_N;
    cl_mem m = numbers(square, FRACTIONS), n = numbers(square, FRACTIONS), product = numbers(square, ZEROS);
    measure("vector_add", add, (cl_mem[]){ a, b, sum }, 3);
    measure("reduce", reduce, (cl_mem[]){ a, parts }, 2);
    measure("histogram", histogram, (cl_mem[]){ a, parts }, 2);
    measure("matmul_naive", matmul, (cl_mem[]){ m, n, product }, 3);
    measure("matmul_tiled", matmul, (cl_mem[]){ m, n, product }, 3);
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
    measure_problems();
    return 0;
}
