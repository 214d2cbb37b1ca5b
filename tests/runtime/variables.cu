// Variables of a program that nvcc compiled: by name from the host and from kernels, on the device, constant and managed.
#include "nvcc_check.h"

#include <cstring>

__device__ int numbers[10] = { 1, 2, 3 };
__constant__ int factor = 2;
__managed__ int total = 40;
static int no_variable;

static __global__ void multiply()
{
    numbers[threadIdx.x] *= factor;
    atomicAdd(&total, numbers[threadIdx.x]);
}

static void initial_values_and_kernels()
{
    int back[10];
    EXPECT(total == 40);
    multiply<<<1, 10>>>();
    OK(cudaMemcpyFromSymbol(back, numbers, sizeof back));
    EXPECT(back[0] == 2 && back[2] == 6 && back[9] == 0);
    OK(cudaDeviceSynchronize());
    EXPECT(total == 52);
}

static void parts_are_copied_to_and_from_them()
{
    int five = 5, back[3], *on_device;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMemcpyToSymbol(factor, &five, sizeof five));
    OK(cudaMemcpyToSymbolAsync(numbers, &five, sizeof five, 9 * sizeof(int), cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    multiply<<<1, 10, 0, stream>>>();
    OK(cudaMalloc(&on_device, sizeof back));
    OK(cudaMemcpyFromSymbolAsync(on_device, numbers, sizeof back, 7 * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    OK(cudaMemcpyAsync(back, on_device, sizeof back, cudaMemcpyDefault, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(back[0] == 0 && back[1] == 0 && back[2] == 25);
    OK(cudaFree(on_device));
    OK(cudaStreamDestroy(stream));
}

static void addresses_and_sizes_are_theirs()
{
    void *p;
    size_t size;
    struct cudaPointerAttributes a;
    int seven = 7;
    OK(cudaGetSymbolAddress(&p, numbers));
    OK(cudaGetSymbolSize(&size, numbers));
    EXPECT(size == sizeof numbers);
    OK(cudaPointerGetAttributes(&a, p));
    EXPECT(a.type == cudaMemoryTypeDevice);
    OK(cudaMemcpy(p, &seven, sizeof seven, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromSymbol(&seven, numbers, sizeof seven));
    EXPECT(seven == 7);
    OK(cudaGetSymbolAddress(&p, total));
    EXPECT(p == &total);
    OK(cudaPointerGetAttributes(&a, p));
    EXPECT(a.type == cudaMemoryTypeManaged);
    OK(cudaGetSymbolSize(&size, factor));
    EXPECT(size == sizeof factor);
}

static void what_does_not_fit_is_refused()
{
    int back[11] = { 0 };
    void *p;
    ANSWERS(cudaMemcpyToSymbol(numbers, back, sizeof back), cudaErrorInvalidValue);
    ANSWERS(cudaMemcpyToSymbol(numbers, back, sizeof(int), sizeof numbers), cudaErrorInvalidValue);
    ANSWERS(cudaMemcpyFromSymbol(back, numbers, sizeof(int), ~(size_t)0), cudaErrorInvalidValue);
    ANSWERS(cudaMemcpyToSymbol(numbers, back, sizeof(int), 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    ANSWERS(cudaMemcpyFromSymbol(back, numbers, sizeof(int), 0, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
    ANSWERS(cudaGetSymbolAddress(&p, no_variable), cudaErrorInvalidSymbol);
    ANSWERS(cudaMemcpyToSymbol(no_variable, back, sizeof(int)), cudaErrorInvalidSymbol);
}

int main()
{
    initial_values_and_kernels();
    parts_are_copied_to_and_from_them();
    addresses_and_sizes_are_theirs();
    what_does_not_fit_is_refused();
    return 0;
}
