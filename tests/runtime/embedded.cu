// What a program loads that knows nothing of CUDA: kernels, and a runtime of its own.
__constant__ int first = 0;
__device__ int called;

__global__ void add(int *sum, int end)
{
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < end) atomicAdd(sum, i);
    if (!i) called++;
}

extern "C" int sum_below(int end)
{
    int *sum, result;
    if (cudaMalloc(&sum, sizeof *sum) || cudaMemset(sum, 0, sizeof *sum)) return -1;
    add<<<(end + 127) / 128, 128>>>(sum, end);
    if (cudaGetLastError() || cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDefault) || cudaFree(sum)) return -2;
    return result;
}

extern "C" int calls()
{
    int n;
    return cudaMemcpyFromSymbol(&n, called, sizeof n) ? -1 : n;
}
