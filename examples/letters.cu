/* A program as nvcc compiles it, with the CUDA runtime in it: how often each letter occurs in a text, in managed memory
 * that host and device share.
 *
 *     nvcc -o letters examples/letters.cu && build/faultline run --um-summary ./letters README.md */
#include <cstdio>
#include <cstdlib>

__managed__ unsigned counts[26];

static void check(cudaError_t r, const char *what)
{
    if (r == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(r));
    exit(1);
}

/* A block counts in its shared memory first. */
__global__ void count(const char *text, size_t size)
{
    __shared__ unsigned mine[26];
    if (threadIdx.x < 26) mine[threadIdx.x] = 0;
    __syncthreads();
    for (size_t k = blockIdx.x * blockDim.x + threadIdx.x; k < size; k += gridDim.x * blockDim.x) {
        const unsigned letter = (text[k] | 32) - 'a';
        if (letter < 26) atomicAdd(&mine[letter], 1);
    }
    __syncthreads();
    if (threadIdx.x < 26) atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

int main(int argc, char **argv)
{
    FILE *f = fopen(argc > 1 ? argv[1] : "README.md", "r");
    if (!f || fseek(f, 0, SEEK_END)) return fprintf(stderr, "there is no text\n"), 1;
    const size_t size = (size_t)ftell(f);
    char *text;
    rewind(f);
    check(cudaMallocManaged(&text, size + 1), "memory");
    if (fread(text, 1, size, f) != size) return fprintf(stderr, "the text cannot be read\n"), 1;
    fclose(f);
    count<<<16, 256>>>(text, size);
    check(cudaDeviceSynchronize(), "kernel");
    for (int k = 0; k < 26; k++) printf("%c %u%s", 'a' + k, counts[k], k % 13 == 12 ? "\n" : "  ");
    check(cudaFree(text), "free");
}
