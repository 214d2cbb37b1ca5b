/* Loops of many kinds, as functions that a kernel and the CPU both run: thread
 * i of all, which is thread t of its block, with LOOP_IN numbers at in, n rounds. */
#ifndef LOOPS_H
#define LOOPS_H

#if defined __clang__ && defined __CUDA__
#define LOOP static __device__ int
#define ROLLED _Pragma("clang loop unroll(disable)")
#elif defined __CUDACC__
#define LOOP static __device__ int
#define ROLLED _Pragma("unroll 1")
#else
#define LOOP static int
#define ROLLED
#endif
enum { LOOP_IN = 4096 };

/* neighbours, the same for all, a sum of each thread's own */
LOOP dot(const int *in, int i, int t, int n)
{
    int s = 0;
    (void)t;
    ROLLED for (int k = 0; k < n; k++) s += in[k] * in[(k * 64 + i) % LOOP_IN];
    return s;
}
/* unrolled, with a remainder */
LOOP rows_by_columns(const int *in, int i, int t, int n)
{
    const int *p = in + t;
    int s = i;
    for (int k = 0; k < n; k++) s = s * 3 + in[k] * p[k * 16];
    return s;
}
/* the induction is read after the loop, and goes down */
LOOP last_place(const int *in, int i, int t, int n)
{
    int place = 2000 + t, s = 0;
    ROLLED for (int k = n; k > 0; k--) s ^= in[place] + k, place -= 3;
    return s + place * 7 + i;
}
/* as often as each thread wants */
LOOP own_count(const int *in, int i, int t, int n)
{
    int rounds = in[t] % 7 + n, s = i;
    ROLLED for (int k = 0; k < rounds; k++) s = s * 5 + in[k + t];
    return s;
}
/* only some threads enter */
LOOP some_enter(const int *in, int i, int t, int n)
{
    int s = 1;
    if (t % 3 != 1) {
        ROLLED for (int k = 0; k < n; k++) s = s * 7 + in[t + k];
    }
    return s - i;
}
/* nested: the inner one is entered again and again, at times with what it left */
LOOP nested(const int *in, int i, int t, int n)
{
    int s = i, place = t + 500;
    ROLLED for (int k = 0; k < n % 5 + 1; k++) {
        ROLLED for (int j = 0; j < n; j++) s += in[place] ^ j, place += 2;
        place -= n + 3;
        s *= 3;
    }
    return s + place;
}
/* a step that the launch decides, and a step that a thread decides */
LOOP odd_steps(const int *in, int i, int t, int n)
{
    int s = 0, a = i % 100, b = i % 100;
    ROLLED for (int k = 0; k < n * 4; k += 4) {
        s += in[a] - in[b];
        a += n % 9 + 1;
        b += t % 4;
    }
    return s + a - b;
}
/* what a round sets is read after the last */
LOOP last_value(const int *in, int i, int t, int n)
{
    int v = 0, best = -1;
    ROLLED for (int k = 0; k <= n; k++) {
        v = in[t + k] % 1000;
        best = v > best ? v : best;
    }
    return best * 1000 + v + i % 3;
}
/* 64 bits, selects, conversions */
LOOP wide(const int *in, int i, int t, int n)
{
    long long s = i;
    unsigned char c = (unsigned char)t;
    ROLLED for (int k = 0; k <= n; k++) {
        s = s * 1000003 + (long long)in[k + t] * (k & 1 ? 3 : -2);
        c = (unsigned char)(c + s);
    }
    return (int)(s >> 20) + c;
}
LOOP ends_in_the_middle(const int *in, int i, int t, int n)
{
    int s = i;
    ROLLED for (int k = 0; k <= n; k++) {
        s += in[t + k];
        if (in[k] % 13 == 5) break;
    }
    return s;
}
LOOP floats(const int *in, int i, int t, int n)
{
    float s = (float)(i % 10), f = 1;
    ROLLED for (int k = 0; k <= n; k++) {
        s = s * .5f + (float)(in[t + k] % 64);
        f = -f;
        if (s > 60) s -= f;
    }
    return (int)(s * 16);
}

/* one loop right after another, with what the first left */
LOOP chained(const int *in, int i, int t, int n)
{
    int s = i, k = 0;
    ROLLED for (; k < n; k++) s += in[t + k] * k;
    ROLLED for (; k < 2 * n + 1; k++) s ^= in[t + 2 * k] + k;
    ROLLED for (; k > 0; k -= 2) s = s * 3 + in[t + 100 + k];
    return s + k;
}
/* a condition of doubles, predicates and halves of words that live on */
LOOP doubles(const int *in, int i, int t, int n)
{
    double s = i, x = 0;
    short h = (short)t;
    int odd = 0;
    ROLLED while (x <= n) {
        s = s * 0.25 + in[t] % 100;
        h = (short)(h * 3 + 1);
        odd = s > 50;
        x += 1.0;
    }
    return (int)(s * 8) + h + odd + (int)x;
}
/* not entered at all by all threads of some blocks, left in the middle of the function by others */
LOOP returns_early(const int *in, int i, int t, int n)
{
    if (i % 500 > 400) return -i;
    int s = 0;
    ROLLED for (int k = 0; k < n; k++) s += in[k + t % 5] & 0xff;
    if (s % 3 == 0) return s;
    ROLLED for (int k = 0; k < n; k++) s -= in[t + k] & 15;
    return s * 2;
}
/* the same count in all threads, which each of them has read */
LOOP count_in_memory(const int *in, int i, int t, int n)
{
    int rounds = in[n] % 9 + 1, s = i;
    ROLLED for (int k = 0; k < rounds; k++) s += in[t + k] * rounds;
    return s;
}
/* unsigned and 64-bit inductions that wrap, and end somewhere odd */
LOOP wraps(const int *in, int i, int t, int n)
{
    unsigned a = 0xfffffff0u + (unsigned)t;
    unsigned long long b = 0xffffffffull - (unsigned)t;
    int s = 0;
    ROLLED for (int k = 0; k <= n; k++) {
        s += (int)(a >> 3) ^ (int)(b >> 5) ^ in[k];
        a += 7;
        b += 0x40000001ull;
    }
    return s + (int)a + (int)(b >> 8) + i;
}
/* in strides, to an end that not all threads reach in the same round; what the rounds left is read */
LOOP strides(const int *in, int i, int t, int n)
{
    int s = i, last = -1, k = t;
    ROLLED for (; k < 10 * n + 50; k += 128) s = s * 3 + in[k], last = k;
    return s + last * 5 + k;
}
/* the same downwards, unsigned, until a value that each thread has read */
LOOP strides_down(const int *in, int i, int t, int n)
{
    unsigned k = 3000u + (unsigned)t, end = (unsigned)(in[t] & 1023) + 100, s = (unsigned)i;
    ROLLED do
    {
        s = s * 5 + (unsigned)in[k];
        k -= 37;
    }
    while (k >= end + (unsigned)n)
        ;
    return (int)(s + k);
}
/* each thread has a stride of its own, or all have one that was read */
LOOP own_strides(const int *in, int i, int t, int n)
{
    int s = 0, by = in[n] % 5 + 200, own = t % 3 + 1;
    ROLLED for (int k = t; k < 2000; k += by) s += in[k] ^ k;
    ROLLED for (int k = 0; k < n + 9; k += own) s = s * 3 + in[k + t];
    return s + i;
}
/* the condition looks at the index before its step, or at what the loop has read */
LOOP looks_back(const int *in, int i, int t, int n)
{
    int s = i, k = t, v;
    ROLLED while (k++ < 300 + n) s += in[k] * 7;
    ROLLED do
    {
        v = in[k % 1000 + t];
        s ^= v, k += 11;
    }
    while (v % 5)
        ;
    return s + k;
}
/* strides within strides, and after a return */
LOOP strides_nested(const int *in, int i, int t, int n)
{
    int s = i;
    if (t % 7 == 2) return s;
    ROLLED for (int k = t; k < 500; k += 64)
    {
        ROLLED for (int j = k; j < 600 + n; j += 70) s = s * 3 + in[j];
        s ^= k;
    }
    return s;
}

/* what is set depends on what was read, and not every round sets it */
LOOP strides_with_ifs(const int *in, int i, int t, int n)
{
    int s = i, hits = 0, seen = -7, by = n % 9 + 64;
    ROLLED for (int k = t; k < 700 + 5 * n; k += by)
    {
        int v = in[k];
        if (v % 3 == 0) {
            s = s * 7 + v;
            seen = k;
        } else if (v % 3 == 1) {
            if (v & 8) s ^= in[v & 1023];
            hits++;
        }
        s += v / 5 + v % 9;
    }
    return s + hits * 3 + seen;
}
/* long long indices, leaving a part of the round out */
LOOP strides_wide(const int *in, int i, int t, int n)
{
    long long s = i, k = t, by = n + 50;
    float f = 1;
    ROLLED for (; k < 900 + n; k += by)
    {
        f = f * .5f + (float)(in[k] & 15);
        if (f > 9) continue;
        s += in[k] ^ k;
    }
    return (int)s + (int)(f * 64) + (int)k;
}

/* clang-format off */
#define LOOPS(X) X(dot) X(rows_by_columns) X(last_place) X(own_count) X(some_enter) X(nested) X(odd_steps) X(last_value) \
    X(wide) X(ends_in_the_middle) X(floats) X(chained) X(doubles) X(returns_early) X(count_in_memory) X(wraps) \
    X(strides) X(strides_down) X(own_strides) X(looks_back) X(strides_nested) X(strides_with_ifs) X(strides_wide)
/* clang-format on */

#endif
