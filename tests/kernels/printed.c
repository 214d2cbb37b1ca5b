/* What kernels print, as an H200 prints it. */
#include "../child.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* at: the format, FORMAT bytes, and the arguments behind it */
enum { FORMAT = 64, ARGUMENTS = 32, LONG = 30000 };
static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".visible .entry print(.param .u64 at)\n{\n.reg .b64 %f, %a;\n.reg .b32 %n;\nld.param.u64 %f, [at];\nadd.u64 %a, %f, 64;\n"
    "{\n.param .b32 r;\n.param .b64 f;\n.param .b64 a;\nst.param.b64 [f], %f;\nst.param.b64 [a], %a;\n"
    "call (r), vprintf, (f, a);\nld.param.b32 %n, [r];\n}\nret;\n}\n";

struct printing {
    char format[FORMAT];
    union {
        int64_t i;
        double d;
        uint64_t string;
    } argument[ARGUMENTS / 8];
    char string[LONG];
};
static struct printing p;
static CUdeviceptr at;
static CUfunction print;

static void start(void)
{
    CUmodule m;
    check_context();
    CHECK(cuModuleLoadData(&m, text));
    CHECK(cuModuleGetFunction(&print, m, "print"));
    CHECK(cuMemAlloc(&at, sizeof p));
    memset(&p, 0, sizeof p);
}

/* Whether it prints what a prefix, so often a letter, and an end make. */
static void expect(const char *format, const char *begin, unsigned count, char letter, const char *end)
{
    static char out[2 * LONG], want[2 * LONG];
    void *params[] = { &at };
    FILE *file = tmpfile();
    int before = dup(1);
    strcpy(p.format, format);
    CHECK(cuMemcpyHtoD(at, &p, sizeof p));
    fflush(stdout);
    dup2(fileno(file), 1);
    CHECK(cuLaunchKernel(print, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CHECK(cuCtxSynchronize());
    fflush(stdout);
    dup2(before, 1);
    close(before);
    rewind(file);
    out[fread(out, 1, sizeof out - 1, file)] = 0;
    fclose(file);
    memset(mempcpy(want, begin, strlen(begin)), letter, count);
    strcpy(want + strlen(begin) + count, end);
    EXPECT(!strcmp(out, want));
}

static void all_of_what_is_long_is_printed(void)
{
    memset(p.string, 'a', LONG - 1);
    p.argument[0].string = at + offsetof(struct printing, string);
    expect("<%s>", "<", LONG - 1, 'a', ">");
    p.argument[0].i = 5 | (int64_t)6 << 32;
    expect("<%-20000d|%d>", "<5", 19999, ' ', "|6>");
    p.argument[0].d = 1.5;
    p.argument[1].i = 42;
    expect("<%.3000f|%d>", "<1.5", 2999, '0', "|42>");
}

static void a_star_is_a_width_but_no_precision(void)
{
    p.argument[0].i = 0xfffffffa | (int64_t)5 << 32;
    p.argument[1].i = 6;
    expect("[%*d|%d]", "[5", 5, ' ', "|6]");
    p.argument[0].i = 2;
    p.argument[1].d = 1.5;
    expect("[%.*f]", "[%.*f]", 0, 0, "");
    p.argument[0].i = -1;
    expect("[%-9.*e]", "[%-9.*e]", 0, 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, all_of_what_is_long_is_printed),
        ALONE(start, a_star_is_a_width_but_no_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
