// What came with sm_80 and sm_90: mbarriers, asynchronous copies, 128-bit
// atomics, memory from the stack. newer.c runs each kernel against a CPU
// reference; newer.ptx is what nvcc makes of it, for machines without.
#include <alloca.h>
#define K extern "C" __global__ void
typedef unsigned long long u64;

__device__ static unsigned offset(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ static void init(u64 *bar, unsigned n)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(offset(bar)), "r"(n) : "memory");
}
__device__ static u64 arrive(u64 *bar)
{
    u64 state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(offset(bar)) : "memory");
    return state;
}
__device__ static void wait(u64 *bar, u64 state)
{
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.shared.b64 p, [%0], %1; @!p bra L; }" : : "r"(offset(bar)), "l"(state) : "memory");
}
__device__ static void wait_parity(u64 *bar, unsigned parity)
{
    asm volatile("{ .reg .pred p; L: mbarrier.test_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L; }"
        : : "r"(offset(bar)), "r"(parity) : "memory");
}

// rounds of all threads, each of which sees what the others wrote in the round before
K phases(unsigned *out, int rounds)
{
    __shared__ u64 bar;
    __shared__ unsigned s[2][256];
    unsigned t = threadIdx.x, v = t;
    if (!t) init(&bar, blockDim.x);
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        s[r & 1][t] = v;
        if (r % 3) wait(&bar, arrive(&bar));
        else { arrive(&bar); wait_parity(&bar, r & 1); }
        v = v * 3 + s[r & 1][(t + r + 1) % blockDim.x];
    }
    out[blockIdx.x * blockDim.x + t] = v;
}

// threads leave one after the other; the rest go on
K dropping(unsigned *out)
{
    __shared__ u64 bar;
    __shared__ unsigned s;
    unsigned t = threadIdx.x;
    u64 state;
    if (!t) init(&bar, blockDim.x), s = 0;
    __syncthreads();
    for (unsigned r = 0; r < t; r++) { atomicAdd(&s, 1); wait(&bar, arrive(&bar)); }
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(offset(&bar)) : "memory");
    unsigned pending;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
    out[t] = pending > 0 && pending <= blockDim.x - t;
    __syncthreads();
    if (!t) out[blockDim.x] = s;
}

// one warp fetches, the others work, through two buffers
K pipeline(const unsigned *in, unsigned *out, int tiles)
{
    __shared__ u64 full[2], empty[2];
    __shared__ unsigned buffer[2][96];
    unsigned t = threadIdx.x, lane = t % 32, consumers = blockDim.x - 32, sum = 0;
    if (!t) for (int k = 0; k < 2; k++) init(&full[k], 32), init(&empty[k], consumers);
    __syncthreads();
    for (int k = 0; k < tiles; k++) {
        unsigned b = k & 1, parity = k >> 1 & 1;
        if (t < 32) {
            wait_parity(&empty[b], parity ^ 1);
            for (unsigned n = lane; n < 96; n += 32)
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(offset(&buffer[b][n])), "l"(in + k * 96 + n) : "memory");
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" : : "r"(offset(&full[b])) : "memory");
        } else {
            wait_parity(&full[b], parity);
            for (unsigned n = 0; n < 96; n++) sum = sum * 5 + buffer[b][(n + t) % 96];
            arrive(&empty[b]);
        }
    }
    out[t] = sum;
}

// whole arrays, in both directions
K bulk(const unsigned *in, unsigned *out)
{
    __shared__ alignas(16) unsigned s[512];
    __shared__ u64 bar;
    unsigned t = threadIdx.x;
    u64 state;
    if (!t) init(&bar, blockDim.x);
    __syncthreads();
    if (!t) {
        asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;"
            : "=l"(state) : "r"(offset(&bar)), "r"(2048) : "memory");
        for (int k = 0; k < 2; k++)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         : : "r"(offset(s + k * 256)), "l"(in + blockIdx.x * 512 + k * 256), "r"(1024), "r"(offset(&bar)) : "memory");
    } else state = arrive(&bar);
    wait(&bar, state);
    unsigned a = s[t], b = s[511 - t];
    __syncthreads();
    s[t] = b + 1;
    s[511 - t] = a + 2;
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
    __syncthreads();
    if (t) return;
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
        : : "l"(out + blockIdx.x * 512), "r"(offset(s)), "r"(2048) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" : : : "memory");
}

K stores(unsigned *out)
{
    __shared__ u64 bar;
    __shared__ alignas(16) unsigned s[128];
    unsigned t = threadIdx.x;
    if (!t) {
        init(&bar, 1);
        asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" : : "r"(offset(&bar)), "r"(512) : "memory");
    }
    __syncthreads();
    if (t < 32)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];"
                     : : "r"(offset(s + t * 2)), "r"(t * 7), "r"(t * 9), "r"(offset(&bar)) : "memory");
    else if (t < 96)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                     : : "r"(offset(s + t + 32)), "r"(t * 11), "r"(offset(&bar)) : "memory");
    wait_parity(&bar, 0);
    out[t] = s[t];
}

struct alignas(16) pair { u64 a, b; };
__device__ static pair swap128(pair *p, pair v)
{
    pair r;
    asm volatile("{ .reg .b128 x, y; mov.b128 x, {%3, %4}; atom.global.exch.b128 y, [%2], x; mov.b128 {%0, %1}, y; }"
                 : "=l"(r.a), "=l"(r.b) : "l"(p), "l"(v.a), "l"(v.b) : "memory");
    return r;
}
__device__ static pair cas128(pair *p, pair was, pair is)
{
    pair r;
    asm volatile("{ .reg .b128 x, y, z; mov.b128 x, {%3, %4}; mov.b128 z, {%5, %6}; atom.global.cas.b128 y, [%2], x, z; "
                 "mov.b128 {%0, %1}, y; }"
                 : "=l"(r.a), "=l"(r.b) : "l"(p), "l"(was.a), "l"(was.b), "l"(is.a), "l"(is.b) : "memory");
    return r;
}
// p[0] is counted up in both halves, p[1] handed from thread to thread
K wide_atomics(pair *p, u64 *sums)
{
    u64 i = blockIdx.x * blockDim.x + threadIdx.x;
    pair was = { 0, 0 };
    for (;;) {
        pair now = cas128(p, was, pair{ was.a + 1, was.b + i });
        if (now.a == was.a && now.b == was.b) break;
        was = now;
    }
    pair old = swap128(p + 1, pair{ i, ~i });
    atomicAdd(sums, old.a);
    if (old.a != ~old.b) atomicAdd(sums + 1, 1);
}

// as much as each thread wants
K from_the_stack(unsigned *out, int most, unsigned more)
{
    unsigned t = threadIdx.x, n = t % most + 1 + more, sum = 0;
    for (int round = 0; round < 2; round++) {
        unsigned *p = (unsigned *)alloca(n * 4);
        for (unsigned k = 0; k < n; k++) p[k] = k * t + round;
        __syncwarp();
        for (unsigned k = 0; k < n; k++) sum += p[(k * 7 + 3) % n] ^ k;
    }
    out[t] = sum;
}

K differences(const unsigned *in, unsigned *out)
{
    unsigned t = threadIdx.x, a = in[t], b = in[t + 64], r[3];
    asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(r[0]) : "r"(a), "r"(b), "r"(0));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r[1]) : "r"(a), "r"(b), "r"(17));
    asm("vabsdiff4.s32.s32.s32.sat %0, %1, %2, %3;" : "=r"(r[2]) : "r"(a), "r"(b), "r"(0));
    for (int k = 0; k < 3; k++) out[t * 3 + k] = r[k];
}

K hints(unsigned *p)
{
    u64 policy;
    unsigned v;
    asm volatile("griddepcontrol.wait; griddepcontrol.launch_dependents;" : : : "memory");
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %0, [%1], 128, 256;" : "=l"(policy) : "l"(p));
    asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(v) : "l"(p + threadIdx.x), "l"(policy));
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" : : "l"(p + threadIdx.x), "r"(v + 1), "l"(policy) : "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 256;" : : "l"(p));
}
