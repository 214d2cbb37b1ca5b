// The kernels of kv_cache.c. The cache is one array of floats at addresses that
// never change, [token][key, value][head][element], however many of its pages
// are mapped by now.
#include "cuda_builtins.h"

enum { HEADS = 4, DIM = 64, TOKEN = 2 * HEADS * DIM };

// A number in [-1, 1) that every process, and the CPU, can make up again.
DEVICE float made_up(unsigned seed, unsigned k)
{
    unsigned h = (seed ^ k * 2654435761u) * 2246822519u;
    h ^= h >> 13;
    h *= 3266489917u;
    h ^= h >> 16;
    return (float)(int)h * (1.0f / 2147483648.0f);
}

DEVICE float exponential(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504f));
    return r;
}

// Writes keys and values of tokens [first, first + count): one block a token
KERNEL append(float *cache, unsigned first, unsigned seed)
{
    unsigned token = first + block_x();
    for (unsigned k = tid_x(); k < TOKEN; k += size_x()) cache[token * TOKEN + k] = made_up(seed, token * TOKEN + k);
}

// out[head] = softmax(query . keys) values, over all tokens: one block a head, DIM threads
KERNEL attention(const float *cache, unsigned tokens, const float *query, float *scores, float *out)
{
    __shared__ static float partial[DIM];
    unsigned head = block_x(), me = tid_x();
    const float *q = query + head * DIM;
    float *mine = scores + head * tokens, largest = -3.0e38f, sum = 0, v = 0;

    for (unsigned t = me; t < tokens; t += DIM) {
        const float *key = cache + t * TOKEN + head * DIM;
        float s = 0;
        for (unsigned d = 0; d < DIM; d++) s += q[d] * key[d];
        mine[t] = s * 0.125f;
        largest = mine[t] > largest ? mine[t] : largest;
    }
    partial[me] = largest;
    __syncthreads();
    for (unsigned k = 0; k < DIM; k++) largest = partial[k] > largest ? partial[k] : largest;
    for (unsigned t = 0; t < tokens; t++) {
        float weight = exponential(mine[t] - largest);
        sum += weight;
        v += weight * cache[t * TOKEN + HEADS * DIM + head * DIM + me];
    }
    out[head * DIM + me] = v / sum;
}
