/* What the test programs of CUDA kernels share: each launches kernels of one
 * file and compares with what the CPU computes, in a process of its own. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "../check.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS(...) (void *[]){ __VA_ARGS__ }

enum { ABSENT = 77 };

struct program { const char *name; void (*run)(void); };
#define P(name) { #name, name }

static CUmodule module;
static const char *file;

static CUfunction kernel(const char *name)
{
    CUfunction f;
    CUresult r = cuModuleGetFunction(&f, module, name);
    if (r == CUDA_ERROR_NOT_FOUND && strstr(file, "clang")) _exit(ABSENT); /* clang cannot compile all */
    CHECK(r);
    return f;
}

__attribute__((unused)) static void run(const char *name, unsigned gx, unsigned gy, unsigned bx, unsigned by,
                                        unsigned shared, void **args)
{
    CHECK(cuLaunchKernel(kernel(name), gx, gy, 1, bx, by, 1, shared, 0, args, NULL));
    CHECK(cuCtxSynchronize());
}

static CUdeviceptr give(const void *data, size_t bytes)
{
    CUdeviceptr p;
    CHECK(cuMemAlloc(&p, bytes));
    if (data) CHECK(cuMemcpyHtoD(p, data, bytes));
    else CHECK(cuMemsetD8(p, 0, bytes));
    return p;
}

static void *take(CUdeviceptr p, size_t bytes)
{
    void *h = malloc(bytes);
    CHECK(cuMemcpyDtoH(h, p, bytes));
    return h;
}

/* What is written to a descriptor until the device has nothing more to do. */
struct catch { int fd, saved, end; };

__attribute__((unused)) static struct catch catch_begin(int fd)
{
    int ends[2];
    struct catch c = { .fd = fd, .saved = dup(fd) };
    fflush(stdout);
    EXPECT(!pipe(ends));
    dup2(ends[1], fd);
    close(ends[1]);
    c.end = ends[0];
    return c;
}

__attribute__((unused)) static CUresult catch_end(struct catch *c, char *text, size_t size)
{
    CUresult r = cuCtxSynchronize();
    size_t n = 0;
    fflush(stdout);
    dup2(c->saved, c->fd);
    for (ssize_t got; n < size - 1 && (got = read(c->end, text + n, size - 1 - n)) > 0;) n += (size_t)got;
    text[n] = 0;
    return r;
}

static void one(void (*program)(void))
{
    CUcontext c;
    alarm(60);
    setenv("FAULTLINE_LOG", "warn", 1);
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&c, 0));
    CHECK(cuCtxSetCurrent(c));
    CHECK(cuModuleLoad(&module, file));
    program();
}

/* The last of the programs has no name. */
static int run_programs(int argc, char **argv, const struct program *programs)
{
    int wrong = 0;
    if (argc < 2) return 2;
    file = argv[1];
    for (; programs->name; programs++) {
        if (argc > 2 && strcmp(argv[2], programs->name)) continue;
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            one(programs->run);
            fflush(stdout);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        bool absent = WIFEXITED(status) && WEXITSTATUS(status) == ABSENT;
        printf("%-36s %s\n", programs->name, absent ? "not compiled" : status ? "WRONG" : "right");
        wrong += status && !absent;
    }
    return wrong != 0;
}

#endif
