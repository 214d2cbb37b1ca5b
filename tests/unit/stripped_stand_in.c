/* A shared object that is stripped, and in which functions look as those of NVIDIA's runtime do from outside: each tells
 * tools its name in a record of 0x78 bytes. */
#include <stdint.h>

struct record {
    volatile uint32_t size;
    volatile char rest[0x74];
};

void *volatile told;
const char error_name[] = "cudaErrorCudartUnloading", table_getter[] = "cuGetExportTable";

#define ENTRY_POINT(function, name, bytes) \
    __attribute__((aligned(16), visibility("default"))) const char *function(void) \
    { \
        static const char own[] = name; \
        __attribute__((unused)) struct record r; \
        r.size = bytes; \
        return own; \
    }

ENTRY_POINT(stand_in_malloc, "cudaMalloc", 0x78)
ENTRY_POINT(stand_in_free, "cudaFree", 0x78)
ENTRY_POINT(stand_in_copy, "cudaMemcpyAsync_ptsz", 0x78)
/* before 12.8 the name is taken from where a pointer to it is */
__attribute__((aligned(16), visibility("default"))) const char *stand_in_fill(void)
{
    static const char own[] = "cudaMemsetAsync";
    static const char *const volatile pointer = own;
    __attribute__((unused)) struct record r;
    r.size = 0x78;
    return pointer;
}
/* of a program: they tell nobody, or name something else, or several */
ENTRY_POINT(of_program, "cudaMemset", 0x70)
ENTRY_POINT(of_program_too, "cublasCreate", 0x78)
__attribute__((visibility("default"))) const char *names_two(void)
{
    static const char one[] = "cudaHostAlloc", two[] = "cudaMallocHost";
    __attribute__((unused)) struct record r;
    r.size = 0x78;
    told = (void *)one;
    return two;
}

/* those without a name, of the lengths that they have in 12.2 or in 13, around the one that has one */
#ifdef STAND_IN_12
#define INIT 0xd0
#define PUSH 0x90
#define POP 0xc0
#define KERNEL 0x70
#else
#define INIT 0xe0
#define PUSH 0xa0
#define POP 0xb0
#define KERNEL 0x100
#endif
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define UNNAMED(function, length) \
    ".globl " function "\n.type " function ", @function\n" function ":\n" \
    ".cfi_startproc\n ret\n .fill " TEXT(length) " - 1, 1, 0xcc\n .cfi_endproc\n"
#define NAMED(function, name, length) \
    function ":\n.cfi_startproc\n lea " name "(%rip), %rax\n ret\n .fill " TEXT(length) " - 8, 1, 0xcc\n .cfi_endproc\n"
/* clang-format off */
__asm__(".text\n.balign 16\n"
        UNNAMED("stand_in_register", 0x30)
        UNNAMED("stand_in_end", 0x30)
        UNNAMED("stand_in_unregister", 0x40)
        UNNAMED("stand_in_variable", 0x80)
        UNNAMED("stand_in_managed", 0x80)
        UNNAMED("stand_in_host", 0x40)
        UNNAMED("stand_in_function", 0x70)
        NAMED("stand_in_init", "own_name", INIT)
        UNNAMED("stand_in_push", PUSH)
        UNNAMED("stand_in_pop", POP)
        UNNAMED("stand_in_kernel", KERNEL)
        UNNAMED("stand_in_launch", 0x10)
        UNNAMED("stand_in_launch_ptsz", 0x10)
        UNNAMED("after_all", 0x10)
        ".section .rodata\nown_name: .string \"__cudaInitModule\"\n.text\n");
/* clang-format on */
