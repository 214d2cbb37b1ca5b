/* Addresses in the shared memory of a cluster's other blocks: in 64 and in 32 bits, made of each other, and mapped again. */
#include "../child.h"

/* d2: the generic address of the thread's word in the block of rank r1; r4: the shared one; r2: the rank of this block */
#define ENTRY(name) \
    ".visible .entry " name "(.param .u64 out) .reqnctapercluster 3, 1, 1\n{\n.reg .b64 d<6>;\n.reg .b32 r<9>;\n" \
    ".shared .align 8 .b8 before[1000];\n.shared .b32 v[32];\nld.param.u64 d0, [out];\nmov.u32 r0, %tid.x;\n" \
    "mov.u32 r2, %cluster_ctarank;\nadd.u32 r1, r2, 1;\nrem.u32 r1, r1, 3;\nmad.lo.u32 r3, r2, 32, r0;\n" \
    "mad.wide.u32 d0, r3, 4, d0;\nst.volatile.shared.u32 [before], r0;\nmov.u32 r4, v;\nmad.lo.u32 r4, r0, 4, r4;\n" \
    "st.shared.u32 [r4], r3;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" \
    "cvt.u64.u32 d1, r4;\ncvta.shared.u64 d1, d1;\nmapa.u64 d2, d1, r1;\nmapa.shared::cluster.u32 r4, r4, r1;\n"
#define END \
    "st.global.u32 [d0], r5;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;\n}\n"

static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ENTRY("shared_of_generic") "cvta.to.shared.u64 d3, d2;\ncvt.u32.u64 r6, d3;\nld.shared::cluster.u32 r5, [r6];\n"
    "sub.u32 r7, r6, r4;\nadd.u32 r5, r5, r7;\n" END
    ENTRY("generic_of_shared") "cvt.u64.u32 d3, r4;\ncvta.shared.u64 d3, d3;\nld.u32 r5, [d3];\n" END
    /* its own has no other name, and what lies before it stays there */
    ENTRY("own") "cvta.to.shared.u64 d3, d1;\ncvt.u32.u64 r6, d3;\nld.shared.u32 r5, [r6];\nmov.u64 d4, before;\n"
    "cvta.shared.u64 d5, d4;\nsub.u64 d5, d5, 8;\ncvta.to.shared.u64 d5, d5;\nsub.u64 d5, d5, d4;\nadd.u64 d5, d5, 8;\n"
    "cvt.u32.u64 r7, d5;\nadd.u32 r5, r5, r7;\n" END
    ENTRY("generic_again") "mapa.u64 d3, d2, r2;\nld.u32 r5, [d3];\n" END
    ENTRY("shared_again") "mapa.shared::cluster.u32 r6, r4, r2;\nld.shared.u32 r5, [r6];\n" END
    ENTRY("generic_onwards") "add.u32 r6, r1, 1;\nrem.u32 r6, r6, 3;\nmapa.u64 d3, d2, r6;\nld.u32 r5, [d3];\n" END
    ENTRY("shared_onwards") "add.u32 r6, r1, 1;\nrem.u32 r6, r6, 3;\nmapa.shared::cluster.u32 r7, r4, r6;\n"
    "ld.shared::cluster.u32 r5, [r7];\n" END
    /* where the loop begins, it is computed once for all threads that agree */
    ENTRY("in_step") ".reg .pred q;\n.reg .b32 c<4>;\n.reg .b64 p<3>;\nmov.u64 p0, v;\ncvta.shared.u64 p1, p0;\n"
    "cvta.to.shared.u64 p2, p1;\ncvt.u32.u64 c0, p2;\nmov.u32 c1, c0;\nadd.u32 c2, c0, 128;\npopc.b32 c3, 15;\n"
    "mov.u32 r5, 0;\nL: ld.shared.u32 r7, [c1];\nadd.u32 r5, r5, r7;\nadd.u32 c1, c1, c3;\nsetp.lt.u32 q, c1, c2;\n"
    "@q bra L;\nsub.u32 r5, r5, 496;\ndiv.u32 r5, r5, 32;\nadd.u32 r5, r5, r0;\n" END;

enum { BLOCKS = 3, THREADS = 32 };
static CUmodule m;

static void start(void)
{
    check_context();
    CHECK(cuModuleLoadData(&m, text));
}

/* Each thread has read what the same thread has written so many blocks further on. */
static void expect(const char *name, unsigned further)
{
    unsigned r[BLOCKS * THREADS];
    CUdeviceptr out;
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, m, name));
    CHECK(cuMemAlloc(&out, sizeof r));
    CHECK(cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, (void *[]){ &out }, NULL));
    CHECK(cuMemcpyDtoH(r, out, sizeof r));
    for (unsigned b = 0; b < BLOCKS; b++)
        for (unsigned t = 0; t < THREADS; t++) EXPECT(r[b * THREADS + t] == (b + further) % BLOCKS * THREADS + t);
}

static void the_shared_address_of_a_generic_one_names_the_block(void) { expect("shared_of_generic", 1); }
static void the_generic_address_of_a_shared_one_is_in_the_block_it_names(void) { expect("generic_of_shared", 1); }

static void a_block_needs_no_name_for_itself(void)
{
    expect("own", 0);
    expect("in_step", 0);
}

static void what_is_mapped_may_be_in_any_block(void)
{
    expect("generic_again", 0);
    expect("shared_again", 0);
    expect("generic_onwards", 2);
    expect("shared_onwards", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, the_shared_address_of_a_generic_one_names_the_block),
        ALONE(start, the_generic_address_of_a_shared_one_is_in_the_block_it_names),
        ALONE(start, a_block_needs_no_name_for_itself),
        ALONE(start, what_is_mapped_may_be_in_any_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
