/* What a program gives back of memory that kernels have touched (madvise). Each test runs in a process of its own.
 * usage: FAULTLINE_PROFILE=h200-hmm given */
#include "rig.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

static const char kernels[] = PTX_HEADER PTX_POKE
    ".visible .entry peek(.param .u64 at, .param .u64 to) { .reg .b32 %r<2>; .reg .b64 %a<3>;\n"
    "ld.param.u64 %a1, [at]; ld.param.u64 %a2, [to]; ld.global.u32 %r1, [%a1]; st.global.u32 [%a2], %r1; ret; }\n";
enum { PAGE = 4096, PAGES = 64, SIZE = PAGES * PAGE };

static CUfunction poke_kernel, peek_kernel;
static CUdeviceptr word;

static void start(void)
{
    CUmodule m = start_with(0, kernels);
    poke_kernel = function_of(m, "poke");
    peek_kernel = function_of(m, "peek");
    CHECK(cuMemAlloc(&word, 4));
}

static void poke(volatile void *at, uint32_t value)
{
    CHECK(cuLaunchKernel(poke_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &at, &value }, NULL));
    CHECK(cuCtxSynchronize());
}

/* What a kernel sees. */
static uint32_t peek(volatile void *at)
{
    uint32_t seen;
    CHECK(cuLaunchKernel(peek_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){ &at, &word }, NULL));
    CHECK(cuMemcpyDtoH(&seen, word, 4));
    return seen;
}

static uint32_t look(volatile void *at) { return *(volatile uint32_t *)at; }

static char *map(int flags, int fd)
{
    char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
    EXPECT(p != MAP_FAILED);
    return p;
}

/* Page k has the word 100 + k at its beginning, here and in a new file. */
static void number(char *p)
{
    for (uint32_t k = 0; k < PAGES; k++) *(uint32_t *)(p + k * PAGE) = 100 + k;
}
static char file_name[] = "/tmp/faultline-given-XXXXXX";
/* It keeps its name meanwhile: not everybody may look for it in /proc/self/map_files. */
static int new_file(void)
{
    int fd = open(file_name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    EXPECT(fd >= 0);
    EXPECT_EQUAL(ftruncate(fd, SIZE), 0);
    char *p = map(MAP_SHARED, fd);
    number(p);
    EXPECT_EQUAL(munmap(p, SIZE), 0);
    return fd;
}

/* Pages 2 to 5 are given back of p, which shows what number() wrote, and show it, or zeros, again. */
static void give_back_some(char *p, bool of_file)
{
    for (uint32_t k = 0; k < 8; k++) poke(p + k * PAGE, 7);
    EXPECT_EQUAL(madvise(p + 2 * PAGE, 4 * PAGE, MADV_DONTNEED), 0);
    for (uint32_t k = 2; k < 6; k++) EXPECT_EQUAL(look(p + k * PAGE), of_file ? 100 + k : 0);
    EXPECT_EQUAL(peek(p + 4 * PAGE), of_file ? 104 : 0);
    EXPECT_EQUAL(look(p + PAGE), 7);
    EXPECT_EQUAL(look(p + 6 * PAGE), 7);
    *(volatile uint32_t *)(p + 3 * PAGE) = 5;
    EXPECT_EQUAL(peek(p + 3 * PAGE), 5);
    poke(p + 4 * PAGE, 6);
    EXPECT_EQUAL(look(p + 4 * PAGE), 6);
}

static void anonymous_memory_is_zeros_again(void)
{
    char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    number(p);
    give_back_some(p, false);
}

static void private_memory_of_a_file_shows_it_again(void)
{
    int fd = new_file();
    char *p = map(MAP_PRIVATE, fd);
    close(fd);
    give_back_some(p, true);
}

static void so_it_does_once_kernels_are_not_concerned_any_more(void)
{
    int fd = new_file();
    char *p = map(MAP_PRIVATE, fd), *begin = p + 1000;
    close(fd);
    CHECK(cuMemHostRegister(begin, 8 * PAGE, 0));
    p[3 * PAGE] = 1;
    CHECK(cuMemHostUnregister(begin));
    EXPECT_EQUAL(p[3 * PAGE], 1);
    EXPECT_EQUAL(madvise(p + 3 * PAGE, PAGE, MADV_DONTNEED), 0);
    EXPECT_EQUAL(look(p + 3 * PAGE), 103);
}

static void a_file_that_has_become_shorter_is_zeros_there(void)
{
    int fd = new_file();
    char *p = map(MAP_PRIVATE, fd);
    poke(p + 2 * PAGE, 7);
    EXPECT_EQUAL(ftruncate(fd, 2 * PAGE + 100), 0);
    EXPECT_EQUAL(madvise(p + 2 * PAGE, PAGE, MADV_DONTNEED), 0);
    EXPECT_EQUAL(look(p + 2 * PAGE), 102);
    EXPECT_EQUAL(look(p + 2 * PAGE + 200), 0);
}

static void *give_back_of_my_stack(void *arg)
{
    char room[SIZE], *p = (char *)(((uintptr_t)room + PAGE) & -(uintptr_t)PAGE);
    (void)arg;
    memset(p, 1, 10 * PAGE);
    CHECK(cuCtxSetCurrent(arg));
    give_back_some(p, false);
    return NULL;
}

static void stacks_are_zeros_again(void)
{
    CUcontext c;
    pthread_t t;
    CHECK(cuCtxGetCurrent(&c));
    give_back_of_my_stack(c);
    EXPECT_EQUAL(pthread_create(&t, NULL, give_back_of_my_stack, c), 0);
    EXPECT_EQUAL(pthread_join(t, NULL), 0);
}

/* Moved since a kernel touched it, to where nothing was. */
static char *move(char *p)
{
    char *to = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    for (size_t at = 0; at < SIZE; at += PAGE)
        EXPECT(mremap(p + at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + at) == to + at);
    return to;
}

static void moved_memory_is_zeros_again(void)
{
    char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    number(p);
    for (uint32_t k = 0; k < 8; k++) poke(p + k * PAGE, 7);
    p = move(p);
    EXPECT_EQUAL(madvise(p + 2 * PAGE, 4 * PAGE, MADV_DONTNEED), 0);
    for (uint32_t k = 2; k < 6; k++) EXPECT_EQUAL(look(p + k * PAGE), 0);
    EXPECT_EQUAL(look(p + PAGE), 7);
    EXPECT_EQUAL(look(p + 6 * PAGE), 7);
    give_back_some(p, false);
}

static void moved_memory_of_a_file_shows_it_again(void)
{
    int fd = new_file();
    char *p = map(MAP_PRIVATE, fd);
    close(fd);
    for (uint32_t k = 0; k < 8; k++) poke(p + k * PAGE, 7);
    p = move(p);
    EXPECT_EQUAL(madvise(p + 2 * PAGE, PAGE, MADV_DONTNEED), 0);
    EXPECT_EQUAL(look(p + 2 * PAGE), 102);
    give_back_some(p, true);
}

static void what_comes_where_memory_was_moved_from_is_others(void)
{
    char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    number(p);
    poke(p + 2 * PAGE, 7);
    char *q = move(p);
    EXPECT(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == p);
    number(p);
    EXPECT_EQUAL(madvise(p, SIZE, MADV_DONTNEED), 0);
    EXPECT_EQUAL(look(p + 2 * PAGE), 0);
    EXPECT_EQUAL(look(q + 2 * PAGE), 7);
    EXPECT_EQUAL(look(q + 3 * PAGE), 103);
}

/* Linux may keep the bytes, or not; once written to they stay. */
static void what_may_be_freed_is_no_error(void)
{
    char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    number(p);
    poke(p + 2 * PAGE, 7);
    EXPECT_EQUAL(madvise(p, SIZE, MADV_FREE), 0);
    EXPECT(look(p + 2 * PAGE) == 7 || look(p + 2 * PAGE) == 0);
    EXPECT(look(p + 9 * PAGE) == 109 || look(p + 9 * PAGE) == 0);
    poke(p + 4 * PAGE, 8);
    EXPECT_EQUAL(look(p + 4 * PAGE), 8);
    CHECK(cuMemHostRegister(p, SIZE, 0));
    EXPECT_EQUAL(madvise(p, SIZE, MADV_FREE), 0);
}

static void what_may_be_freed_is_no_error_without_descriptors(void)
{
    const struct rlimit few = { 3, 3 };
    char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    number(p);
    poke(p, 7);
    EXPECT_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_EQUAL(madvise(p, SIZE, MADV_FREE), 0);
    *(volatile uint32_t *)p = 8;
    EXPECT_EQUAL(look(p), 8);
}

static int refused(void *p, size_t size, int advice)
{
    errno = 0;
    return madvise(p, size, advice) ? errno : 0;
}

/* Who cannot be told what is there is told so, and may count on nothing. */
static void no_old_bytes_pass_for_zeros_without_descriptors(void)
{
    const struct rlimit few = { 3, 3 };
    char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    poke(p, 7);
    EXPECT_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
    const int error = refused(p, PAGE, MADV_DONTNEED);
    if (error)
        EXPECT_EQUAL(error, EAGAIN);
    else
        EXPECT_EQUAL(look(p), 0);
}

static void what_linux_refuses_is_refused(void)
{
    char *p = map(MAP_PRIVATE | MAP_ANONYMOUS, -1), *others = map(MAP_SHARED | MAP_ANONYMOUS, -1);
    poke(p, 7);
    EXPECT_EQUAL(munmap(p + 10 * PAGE, PAGE), 0);
    EXPECT_EQUAL(refused(p + 1, PAGE, MADV_FREE), EINVAL);
    EXPECT_EQUAL(refused(others, PAGE, MADV_FREE), EINVAL);
    EXPECT_EQUAL(refused(p + 8 * PAGE, 4 * PAGE, MADV_FREE), ENOMEM);
    EXPECT_EQUAL(refused(p, 12 * PAGE, MADV_DONTNEED), ENOMEM);
    EXPECT_EQUAL(look(p), 0);
    EXPECT_EQUAL(refused(p, PAGE, 1000), EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, anonymous_memory_is_zeros_again),
        ALONE(start, private_memory_of_a_file_shows_it_again),
        ALONE(start, so_it_does_once_kernels_are_not_concerned_any_more),
        ALONE(start, a_file_that_has_become_shorter_is_zeros_there),
        ALONE(start, stacks_are_zeros_again),
        ALONE(start, moved_memory_is_zeros_again),
        ALONE(start, moved_memory_of_a_file_shows_it_again),
        ALONE(start, what_comes_where_memory_was_moved_from_is_others),
        ALONE(start, what_may_be_freed_is_no_error),
        ALONE(start, what_may_be_freed_is_no_error_without_descriptors),
        ALONE(start, no_old_bytes_pass_for_zeros_without_descriptors),
        ALONE(start, what_linux_refuses_is_refused),
    };
    close(mkstemp(file_name));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(file_name);
    return failed;
}
