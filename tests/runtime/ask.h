/* What the programs that ask a CUDA runtime share: lines of answers, one
 * `group.key = answer` each, and groups, each run in a process of its own.
 * Addresses, handles, ids and times are never printed, only relations of them.
 *
 * The same executables run with NVIDIA's libcudart.so.13 on a GPU (recorded
 * answers) and with ours; the two outputs are compared line by line. */
#ifndef ASK_H
#define ASK_H
#include <cuda.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KiB 1024ul
#define MiB (1024ul * KiB)
#define GiB (1024ul * MiB)
#define COUNT(array) (sizeof(array) / sizeof *(array))

void say(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A result, what `format` adds and, where it is not the result again, the last error; which is cleared. */
void answer(const char *key, cudaError_t result, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *name_of(cudaError_t);
/* One of a ring of strings: keys of loops. */
char *keyf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The answer of a call. RAW leaves the last error alone; ASKV prints values that the call gave. */
#define RAW(key, call) say(key, "%s", name_of(call))
#define ASK(key, call) \
    ({ \
        cudaError_t result_ = (call); \
        answer(key, result_, " "); \
        result_; \
    })
#define ASKV(key, call, ...) \
    ({ \
        cudaError_t result_ = (call); \
        answer(key, result_, __VA_ARGS__); \
        result_; \
    })
/* A call that may well end in a segmentation fault. */
#define RISK(key, call) \
    do { \
        if (!sigsetjmp(crashed, 1)) { \
            expect_crash(1); \
            cudaError_t result_ = (call); \
            expect_crash(0); \
            answer(key, result_, " "); \
        } else { \
            expect_crash(0); \
            say(key, "segmentation fault"); \
        } \
    } while (0)
/* A call without which the group's further questions mean nothing. */
#define MUST(call) \
    do { \
        cudaError_t result_ = (call); \
        if (result_) { \
            say("must", "%s: %s", #call, name_of(result_)); \
            exit(3); \
        } \
    } while (0)

extern sigjmp_buf crashed;
void expect_crash(int on);

/* The driver's function of that name, as the header's macros version it. */
#define DRIVER_(f) ((decltype(&f))driver_symbol(#f))
#define DRIVER(f) DRIVER_(f)
void *driver_symbol(const char *name);

/* A line of its own: is the driver initialised, is the primary context active, which context is current (by order of
 * appearance)? */
void state(const char *key);

/* "ok" where all n bytes are `value`, else where the first other one is */
const char *all(const void *memory, int value, size_t n);
/* the same of memory that the host may not read */
const char *all_on_device(const void *memory, int value, size_t n);
unsigned hash(const void *memory, size_t n);

/* A stream's work that ends only when the gate opens: what is asked meanwhile finds the stream busy. */
struct gate {
    volatile int open;
};
void gate_close(struct gate *, cudaStream_t);
void gate_open(struct gate *);
/* The same of a stream that may be capturing, or through another call: */
void wait_for_gate(void *gate);

static inline struct cudaMemLocation at(enum cudaMemLocationType type, int id)
{
    struct cudaMemLocation l;
    memset(&l, 0, sizeof l);
    l.type = type;
    l.id = id;
    return l;
}
#define ON_DEVICE at(cudaMemLocationTypeDevice, 0)
#define ON_HOST at(cudaMemLocationTypeHost, 0)

/* what a call gave in a pointer that was (void *)1 before */
static inline const char *given(const void *p) { return p == (void *)1 ? "untouched" : p ? "pointer" : "null"; }

struct group {
    const char *name;
    void (*ask)(void);
    int devices; /* at least; 0 is 1 */
};
extern const struct group groups[];
#define GROUP(f) \
    { \
#f, f, 0 \
    }
#define LAST_GROUP \
    { \
        0, 0, 0 \
    }
#endif
