/* Finding PTX in what a program hands over, with memory that ends where the data ends. */
#include "../draw.h"
#include "module/fatbin.h"
#include "ptx/image.h"

#include <elf.h>
#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include <zstd.h>

enum { PAGE = 4096, ROOM = 4 * PAGE, MUTATIONS = 100000 };
enum { UNPACKED, WITH_LZ4 = 0x2000, WITH_ZSTD = 0x8000 };

static const char ptx[] = "// a comment\n.version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry k(){ ret; }\n.visible .entry l(){ ret; }\n.visible .entry m(){ ret; }\n";
static char *end; /* a page that cannot be read begins here */

static int set_up(void **state)
{
    (void)state;
    char *p = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + ROOM, PAGE, PROT_NONE)) return -1;
    end = p + ROOM;
    return 0;
}

static void *at_end(const void *data, size_t n) { return memcpy(end - n, data, n); }

static void put(unsigned char **to, uint64_t value, int bytes)
{
    memcpy(*to, &value, (size_t)bytes);
    *to += bytes;
}

static void put_head(unsigned char **to, int kind, unsigned arch, size_t size, size_t packed, int packing, size_t unpacked)
{
    put(to, (uint64_t)kind, 2), put(to, 0x101, 2), put(to, 64, 4), put(to, size, 8), put(to, packed, 4), put(to, 64, 4);
    put(to, 0, 2), put(to, 7, 2), put(to, arch, 4), put(to, 0, 8), put(to, (uint64_t)packing, 8), put(to, 0, 8);
    put(to, unpacked, 8);
}

/* One entry of a fatbinary: 64 bytes and the payload, a multiple of 8. */
static void put_entry(unsigned char **to, int kind, unsigned arch, const char *text, int packing)
{
    unsigned char payload[1024] = { 0 };
    size_t n = strlen(text) + 1, packed = 0;
    if (packing == WITH_LZ4)
        packed = (size_t)LZ4_compress_default(text, (char *)payload, (int)n, sizeof payload);
    else if (packing == WITH_ZSTD)
        packed = ZSTD_compress(payload, sizeof payload, text, n, 3);
    else
        memcpy(payload, text, n);
    size_t size = ((packed ? packed : n) + 7) & ~(size_t)7;
    put_head(to, kind, arch, size, packed, packing, packed ? n : 0);
    memcpy(*to, payload, size);
    *to += size;
}

static size_t finish(unsigned char *start, unsigned char *to)
{
    unsigned char *head = start;
    put(&head, 0xba55ed50u, 4), put(&head, 1, 2), put(&head, 16, 2), put(&head, (uint64_t)(to - start - 16), 8);
    return (size_t)(to - start);
}

static size_t fatbin(unsigned char *out, int packing)
{
    unsigned char *to = out + 16;
    put_entry(&to, 2, 80, "machine code", UNPACKED);
    put_entry(&to, 1, 70, ptx, packing);
    put_entry(&to, 1, 120, "for a later device", UNPACKED);
    return finish(out, to);
}

/* What nvcc hands over. */
struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *pieces;
};

static void text_ends_at_its_0(void **state)
{
    (void)state;
    char *text;
    assert_int_equal(fatbin_ptx(at_end(ptx, sizeof ptx), 0, 90, &text), CUDA_SUCCESS);
    assert_string_equal(text, ptx);
    free(text);
}

static void text_without_an_end_is_refused(void **state)
{
    (void)state;
    char *text;
    assert_int_equal(fatbin_ptx(at_end(ptx, sizeof ptx - 1), 0, 90, &text), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(fatbin_ptx(end, 0, 90, &text), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(fatbin_ptx((void *)8, 0, 90, &text), CUDA_ERROR_INVALID_IMAGE);
}

static void every_packing_is_opened_and_the_newest_that_fits_is_taken(void **state)
{
    (void)state;
    static const int packings[] = { UNPACKED, WITH_LZ4, WITH_ZSTD };
    for (int k = 0; k < 3; k++) {
        unsigned char data[4096];
        char *text;
        size_t n = fatbin(data, packings[k]);
        assert_int_equal(fatbin_ptx(at_end(data, n), 0, 90, &text), CUDA_SUCCESS);
        assert_string_equal(text, ptx);
        free(text);
        struct wrapper wrapper = { 0x466243b1, 1, end - n, NULL };
        assert_int_equal(fatbin_ptx(&wrapper, 0, 90, &text), CUDA_SUCCESS);
        assert_string_equal(text, ptx);
        free(text);
    }
}

/* As nvcc -rdc=true writes it: data for other devices, and the pieces it was linked from. */
static void pieces_are_joined_and_those_of_machine_code_left_out(void **state)
{
    (void)state;
    static const char first[] = ".version 7.0\n.target sm_70\n.visible .func f(){ ret; }\n";
    static const char second[] = ".version 8.0\n.target sm_80\n.visible .func g(){ ret; }\n";
    unsigned char data[4][4096];
    for (int k = 0; k < 4; k++) {
        unsigned char *to = data[k] + 16;
        if (k == 1) put_entry(&to, 1, 70, first, WITH_LZ4);
        if (k == 2) put_entry(&to, 1, 80, second, WITH_ZSTD);
        if (k % 3 == 0) put_entry(&to, 2, 80, "machine code", UNPACKED);
        finish(data[k], to);
    }
    const void *pieces[] = { data[1], data[2], data[3], NULL };
    struct wrapper wrapper = { 0x466243b1, 2, data[0], pieces };
    char *text;
    assert_int_equal(fatbin_ptx(&wrapper, 0, 90, &text), CUDA_SUCCESS);
    assert_memory_equal(text, first, sizeof first - 1);
    assert_non_null(strstr(text, "g(){ ret; }"));
    assert_non_null(strstr(text, "\n.pragma \"" FL_PIECE_PRAGMA "\";\n.version 8.0\n"));
    free(text);
    wrapper.pieces = pieces + 2;
    assert_int_equal(fatbin_ptx(&wrapper, 0, 90, &text), CUDA_ERROR_NO_BINARY_FOR_GPU);
    wrapper.pieces = (const void *const *)(const void *)end;
    assert_int_equal(fatbin_ptx(&wrapper, 0, 90, &text), CUDA_ERROR_INVALID_IMAGE);
}

/* Its PTX is for a later device, and there is machine code for this one. */
static void the_device_runtime_is_left_out(void **state)
{
    (void)state;
    static const char first[] = ".version 7.0\n.target sm_70\n.visible .func f(){ ret; }\n";
    static const char runtime[] = ".version 9.0\n.target sm_121\n.visible .func g(){ call __cuda_syscall_g; ret; }\n";
    unsigned char whole[64], data[2][4096], *to = whole + 16;
    finish(whole, to);
    to = data[0] + 16;
    put_entry(&to, 1, 70, first, UNPACKED);
    finish(data[0], to);
    to = data[1] + 16;
    put_entry(&to, 1, 121, runtime, WITH_ZSTD);
    put_entry(&to, 2, 90, "machine code", UNPACKED);
    finish(data[1], to);
    const void *pieces[] = { data[1], data[0], NULL };
    struct wrapper wrapper = { 0x466243b1, 2, whole, pieces };
    char *text;
    assert_int_equal(fatbin_ptx(&wrapper, 0, 90, &text), CUDA_SUCCESS);
    assert_string_equal(text, first);
    free(text);
}

static void machine_code_alone_is_not_for_this_device(void **state)
{
    (void)state;
    unsigned char data[4096], *to = data + 16;
    char *text;
    put_entry(&to, 2, 80, "machine code", UNPACKED);
    size_t n = finish(data, to);
    assert_int_equal(fatbin_ptx(at_end(data, n), 0, 90, &text), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

/* A library's: machine code for several devices, PTX for those to come. */
static void newer_ptx_runs_where_machine_code_would(void **state)
{
    (void)state;
    static const char newer[] = ".version 9.2\n.target sm_120\n", marked[] = ".pragma \"" FL_TWIN_PRAGMA "\";\n";
    static const struct {
        unsigned code;
        CUresult result;
    } devices[] = { { 80, CUDA_ERROR_NO_BINARY_FOR_GPU }, { 90, CUDA_SUCCESS }, { 100, CUDA_ERROR_NO_BINARY_FOR_GPU } };
    for (int k = 0; k < 3; k++) {
        unsigned char data[4096], *to = data + 16;
        char *text;
        put_entry(&to, 1, 121, "for an even later device", UNPACKED);
        put_entry(&to, 1, 120, newer, WITH_ZSTD);
        put_entry(&to, 2, devices[k].code, "machine code", UNPACKED);
        size_t n = finish(data, to);
        assert_int_equal(fatbin_ptx(at_end(data, n), 0, 90, &text), devices[k].result);
        if (devices[k].result) continue;
        assert_memory_equal(text, marked, sizeof marked - 1);
        assert_string_equal(text + sizeof marked - 1, newer);
        free(text);
    }
}

/* Machine code of four kernels: an ELF file with a table of names and a section each; the linker knows of the last. */
static void put_machine_code(unsigned char **to)
{
    enum { KERNELS = 4, SECTIONS = 2 + KERNELS, SIZE = 48, NAMES = 512, CODE = 640 };
    static const uint16_t kernels[KERNELS][3] = { { 0x7b82, 0x7c24, 0x794d },   /* computes, ends */
                                                  { 0x7b82, 0x7986, 0x794d },   /* a store between */
                                                  { 0x794d, 0x7918, 0x7918 },   /* ends */
                                                  { 0x7b82, 0x7944, 0x794d } }; /* calls what is elsewhere */
    static const char names[] = "\0.text.idle\0.text.busy\0.text.gone\0.text.call";
    unsigned char file[1024] = { 0 };
    Elf64_Shdr s[SECTIONS] = { { .sh_offset = NAMES, .sh_size = sizeof names } };
    Elf64_Ehdr h = { .e_ident = ELFMAG, .e_machine = 190, .e_shoff = 64, .e_shentsize = sizeof *s, .e_shnum = SECTIONS };
    for (unsigned k = 0; k < KERNELS; k++) {
        s[1 + k] = (Elf64_Shdr){ .sh_name = 1 + 11 * k, .sh_offset = CODE + k * SIZE, .sh_size = SIZE };
        for (int n = 0; n < 3; n++) memcpy(file + CODE + k * SIZE + n * 16, &kernels[k][n], 2);
    }
    s[1 + KERNELS] = (Elf64_Shdr){ .sh_type = SHT_RELA, .sh_size = 24, .sh_info = KERNELS };
    memcpy(file, &h, sizeof h);
    memcpy(file + h.e_shoff, s, sizeof s);
    memcpy(file + NAMES, names, sizeof names);
    put_head(to, 2, 90, sizeof file, 0, 0, 0);
    memcpy(*to, file, sizeof file);
    *to += sizeof file;
}

static void kernels_that_do_nothing_in_machine_code_are_named(void **state)
{
    (void)state;
    static const char newer[] = ".version 9.2\n.target sm_120\n";
    static const char marked[] = ".pragma \"" FL_TWIN_PRAGMA "\", \"idle\", \"gone\";\n";
    unsigned char data[4096], *to = data + 16;
    char *text;
    put_machine_code(&to);
    put_entry(&to, 1, 120, newer, WITH_ZSTD);
    size_t n = finish(data, to);
    assert_int_equal(fatbin_ptx(at_end(data, n), 0, 90, &text), CUDA_SUCCESS);
    assert_memory_equal(text, marked, sizeof marked - 1);
    assert_string_equal(text + sizeof marked - 1, newer);
    free(text);
}

static void what_was_wrapped_is_found_again(void **state)
{
    (void)state;
    void *data;
    char *text;
    size_t n;
    assert_int_equal(fatbin_wrap(ptx, &data, &n), CUDA_SUCCESS);
    assert_int_equal(fatbin_ptx(at_end(data, n), 0, 90, &text), CUDA_SUCCESS);
    assert_string_equal(text, ptx);
    free(text);
    free(data);
}

/* Headers that lie, data that is cut short: an answer each time. */
static void mutations_are_answered(void **state)
{
    (void)state;
    static const int packings[] = { UNPACKED, WITH_LZ4, WITH_ZSTD };
    for (int k = 0; k < MUTATIONS; k++) {
        unsigned char data[4096];
        char *text;
        unsigned char *to = data + 16;
        size_t n = k % 4 ? fatbin(data, packings[k % 3])
                         : (put_machine_code(&to), put_entry(&to, 1, 120, ptx, packings[k % 3]), finish(data, to));
        for (unsigned changes = 1 + draw(4); changes; changes--) {
            unsigned at = draw(2) ? draw((unsigned)n) : draw(96);
            switch (draw(3)) {
            case 0: data[at] ^= (unsigned char)(1u << draw(8)); break;
            case 1: data[at] = (unsigned char)draw(256); break;
            default: memset(data + at, draw(2) ? 0xff : 0, 1 + draw(8)); break;
            }
        }
        if (!draw(4)) n = 1 + draw((unsigned)n);
        if (!fatbin_ptx(at_end(data, n), draw(2) ? n : 0, 90, &text)) free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_ends_at_its_0),
        cmocka_unit_test(text_without_an_end_is_refused),
        cmocka_unit_test(every_packing_is_opened_and_the_newest_that_fits_is_taken),
        cmocka_unit_test(pieces_are_joined_and_those_of_machine_code_left_out),
        cmocka_unit_test(the_device_runtime_is_left_out),
        cmocka_unit_test(machine_code_alone_is_not_for_this_device),
        cmocka_unit_test(newer_ptx_runs_where_machine_code_would),
        cmocka_unit_test(kernels_that_do_nothing_in_machine_code_are_named),
        cmocka_unit_test(what_was_wrapped_is_found_again),
        cmocka_unit_test(mutations_are_answered),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
