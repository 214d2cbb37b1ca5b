// Functions that wait for other threads and are called through pointers, as
// virtual functions, or by themselves; calls.c runs each kernel against a CPU
// reference. Compiled by nvcc (whole programs and with -rdc) and by clang;
// calls.ptx is what nvcc makes of it, for machines without either.
#ifdef __clang__
#include "clang.h"
DEVICE void __syncwarp(unsigned mask = 0xffffffff) { asm volatile("bar.warp.sync %0;" : : "r"(mask) : "memory"); }
#else
#include <assert.h>
#include <cooperative_groups.h>
#include <stdio.h>
#endif
#define K extern "C" __global__ void
#define FUNCTION __device__ __noinline__
#define ALL 0xffffffffu

// ---- virtual functions with barriers

struct reduction {
    __device__ virtual int run(int *s, int t, int n) const = 0;
};
struct sum : reduction {
    __device__ int run(int *s, int t, int n) const override
    {
        for (int h = n / 2; h; h >>= 1) { if (t < h) s[t] += s[t + h]; __syncthreads(); }
        return s[0];
    }
};
struct greatest : reduction {
    int least;
    __device__ int run(int *s, int t, int n) const override
    {
        for (int h = n / 2; h; h >>= 1) { if (t < h && s[t + h] > s[t]) s[t] = s[t + h]; __syncthreads(); }
        return s[0] > least ? s[0] : least;
    }
};
K virtual_reduction(const int *in, int *out, int which)
{
    __shared__ int s[1024];
    sum a;
    greatest b;
    b.least = 17;
    const reduction *r = which ? (const reduction *)&b : (const reduction *)&a;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = r->run(s, threadIdx.x, blockDim.x);
}

// ---- a table of functions, chosen anew by each warp or group of lanes

typedef unsigned (*step)(unsigned v, unsigned mask);
FUNCTION unsigned step_up(unsigned v, unsigned mask) { return v + __shfl_up_sync(mask, v, 2); }
FUNCTION unsigned step_first(unsigned v, unsigned mask) { return v ^ 3 * __shfl_sync(mask, v, mask & 1 ? 0 : 1); }
FUNCTION unsigned step_ballot(unsigned v, unsigned mask) { return v * 5 + __ballot_sync(mask, v & 4); }
FUNCTION unsigned step_match(unsigned v, unsigned mask) { return v + __match_any_sync(mask, v & 7); }
FUNCTION unsigned step_alone(unsigned v, unsigned mask) { return v * 3 + (mask >> 9); }
FUNCTION unsigned step_sync(unsigned v, unsigned mask)
{
    __shared__ volatile unsigned s[1024];
    s[threadIdx.x] = v;
    __syncwarp(mask);
    unsigned r = s[threadIdx.x ^ 2];
    __syncwarp(mask);
    return v - r;
}
FUNCTION unsigned step_block(unsigned v, unsigned mask) { return v + __syncthreads_count(v & 1); }
__device__ step steps[] = { step_up, step_first, step_ballot, step_match, step_alone, step_sync, step_block };
enum { STEPS_OF_WARPS = 6, STEP_BLOCK = 6 };

// lanes with and without bit 0 may take different ways; the block goes one way where rounds says so
K steps_of_lanes(const unsigned char *plan, unsigned *out, int rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = i * 7 + 1;
    unsigned odd = threadIdx.x & 1, mask = odd ? 0xaaaaaaaau : 0x55555555u;
    for (int r = 0; r < rounds; r++) {
        int which = plan[(i / 32 * rounds + r) * 2 + odd], all = plan[r] % 5 == 0;
        v = steps[all ? STEP_BLOCK : which % STEPS_OF_WARPS](v, mask);
    }
    out[i] = v;
}

// ---- recursion

FUNCTION int warp_sum(int v, int by)
{
    if (!by) return v;
    v += __shfl_sync(ALL, v, (threadIdx.x & 31) ^ by);
    __syncwarp();
    return warp_sum(v, by >> 1);
}
K recursive_sum(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = warp_sum(in[i], 16);
}

// each calls the other; what is even at a level waits for the block, what is odd for its warp
FUNCTION unsigned odd_level(unsigned *s, unsigned level, unsigned v);
FUNCTION unsigned even_level(unsigned *s, unsigned level, unsigned v)
{
    unsigned kept = v * level;
    s[threadIdx.x] = v;
    __syncthreads();
    v += s[(threadIdx.x + level) % blockDim.x];
    __syncthreads();
    return level ? odd_level(s, level - 1, v) + kept : v;
}
FUNCTION unsigned odd_level(unsigned *s, unsigned level, unsigned v)
{
    unsigned kept = v ^ level;
    v += __shfl_up_sync(ALL, v, 1);
    return level ? even_level(s, level - 1, v) - kept : v;
}
K mutual_recursion(unsigned *out, unsigned levels)
{
    extern __shared__ unsigned dynamic[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = even_level(dynamic, levels, threadIdx.x);
}

// as deep as each thread goes by itself, with local memory on the way; all meet at the end of it
FUNCTION int depths(int depth, int t)
{
    volatile int mine[4];
    for (int k = 0; k < 4; k++) mine[k] = depth * k + t;
    int below = depth ? depths(depth - 1, t) : __syncthreads_count(t % 3 == 0);
    return below + mine[depth & 3];
}
K different_depths(int *out, int most) { out[threadIdx.x] = depths(threadIdx.x * 5 % most, threadIdx.x); }
K deep(int *out, int depth) { out[threadIdx.x] = depths(depth, threadIdx.x); }

// ---- waiting

struct gate {
    volatile int *turn;
    __device__ virtual void pass(int me) const { while (*turn != me) ; __threadfence(); }
    __device__ virtual void open(int next) const { __threadfence(); *turn = next; }
};
struct slow_gate : gate {
    __device__ virtual int ready(int me) const { return *turn == me; }
    __device__ void pass(int me) const override { while (!ready(me)) ; __threadfence(); }
};
// the last block first, threads of a block one after the other
K gates(int *turn, unsigned *sum, int which)
{
    gate a;
    slow_gate b;
    a.turn = b.turn = turn;
    const gate *g = which ? (const gate *)&b : &a;
    int me = (gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;
    g->pass(me);
    *(volatile unsigned *)sum = *(volatile unsigned *)sum * 3 + me;
    g->open(me + 1);
}

typedef bool (*attempt)(int *lock);
FUNCTION bool try_lock(int *lock) { return atomicCAS(lock, 0, 1) == 0; }
FUNCTION bool try_often(int *lock) { for (int k = 0; k < 3; k++) if (try_lock(lock)) return true; return false; }
__device__ attempt attempts[] = { try_lock, try_often };
K locks(int *lock, int *count, int which)
{
    for (bool done = false; !done;) {
        if (!attempts[which](lock)) continue;
        *(volatile int *)count = *(volatile int *)count + 1;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
    }
    __syncthreads();
}

// ---- the system's functions, and ends

struct reporter {
    int *kept;
    __device__ virtual void report(int t)
    {
        kept = (int *)malloc(64);
        if (kept) kept[t % 16] = t;
        int n = __syncthreads_count(kept != 0);
        if (t == 0) printf("%d of %d kept\n", n, (int)blockDim.x);
        __syncthreads();
        if (kept && kept[t % 16] == t) atomicAdd(&count, 1);
        free(kept);
    }
    int count;
};
K reports(int *out)
{
    reporter r;
    r.count = 0;
    reporter *volatile p = &r;
    p->report(threadIdx.x);
    atomicAdd(out, r.count);
}

typedef void (*leaver)(int t);
FUNCTION void leave_odd(int t) { if (t & 1) asm volatile("exit;"); }
FUNCTION void leave_none(int t) { __syncwarp(); }
__device__ leaver leavers[] = { leave_odd, leave_none };
K some_leave(int *out, int which)
{
    leavers[which](threadIdx.x);
    out[threadIdx.x] = __syncthreads_count(1);
}

FUNCTION int lanes_there(int t) { return t % 3 ? 0 : (int)__activemask(); }
FUNCTION int lanes_twice(int t) { return t & 1 ? lanes_there(t) : ~lanes_there(t); }
typedef int (*asker)(int t);
__device__ asker askers[] = { lanes_there, lanes_twice };
K who_is_there(int *out, int which) { out[threadIdx.x] = askers[which](threadIdx.x); }

// ---- what goes wrong within

FUNCTION int falls(int depth, int *p)
{
    __syncwarp();
    if (depth) return falls(depth - 1, p) + 1;
    if (threadIdx.x == 37) *p = 1;
    return 0;
}
K falls_deep(int *p) { falls(5, p); }
K bad_address(int *p) { falls(3, (int *)0x1230); }
K bad_alignment(char *p) { falls(3, (int *)(p + 2)); }
FUNCTION void asserts(int t, int *p) { if (__syncthreads_count(t == 37) != 1) return; if (t == 37) { assert(t != 37); } }
FUNCTION void traps(int t, int *p) { __syncthreads(); if (t == 37) asm volatile("trap;"); }
typedef void (*wrong)(int t, int *p);
__device__ wrong wrongs[] = { asserts, traps };
__device__ wrong nothing[2];
K bad_assertion(int *p) { wrongs[*p & 0](threadIdx.x, p); }
K bad_trap(int *p) { wrongs[1 | (*p & 0)](threadIdx.x, p); }
K bad_call(int *p) { if (threadIdx.x == 37) nothing[*p & 1](threadIdx.x, p); wrongs[*p & 0](threadIdx.x, p); }

// ---- a grid that waits for itself

#ifndef __clang__
struct exchange {
    int *data;
    int n;
    __device__ virtual int swap(int i) const
    {
        cooperative_groups::grid_group g = cooperative_groups::this_grid();
        data[i] = i;
        g.sync();
        int v = data[(i + n / 2) % n];
        g.sync();
        return v;
    }
};
K grid_exchange(int *data, int n)
{
    exchange e;
    e.data = data;
    e.n = n;
    const exchange *volatile p = &e;
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    data[i] = p->swap(i) + 1;
}
#endif
