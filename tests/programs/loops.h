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

#define LOOPS(X) X(dot) X(rows_by_columns) X(last_place) X(own_count) X(some_enter) X(nested) X(odd_steps) X(last_value) \
    X(wide) X(ends_in_the_middle) X(floats)

#endif
