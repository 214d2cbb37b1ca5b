/* What the PTX compiler, up to LLVM, says of each of many modules, which end with a byte of 1: "0", or the exit status
 * and why. */
#include "ptx/arena.h"
#include "ptx/llvm.h"
#include "ptx/ptxc.h"
#include "ptx/translate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULE_END = 1, LONGEST = 1 << 16 };

struct options options = { .level = 2 };
static jmp_buf ended;
static char why[1024];

bool llvm_host_has(const char *feature) { return feature != NULL; }

void fatal(int status, const char *format, ...)
{
    (void)format;
    *why = 0;
    longjmp(ended, status);
}

void begin_again(void) { abort(); }

void fatal_at(int status, int line, const char *format, ...)
{
    (void)line;
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    longjmp(ended, status);
}

static void tell(const char *text, size_t size)
{
    struct translation t;
    int status = setjmp(ended);
    if (!status) {
        *why = 0;
        translate(text, size, &t);
        for (uint32_t k = 0; k < t.nunits; k++) free(t.units[k].ir);
    }
    printf("%d %s\n", status, why);
    arena_again();
}

int main(void)
{
    static char text[LONGEST];
    size_t size = 0;
    for (int c; (c = getchar()) != EOF;) {
        if (c != MODULE_END && size + 1 < sizeof text) {
            text[size++] = (char)c;
            continue;
        }
        text[size] = 0;
        tell(text, size);
        size = 0;
    }
    return 0;
}
