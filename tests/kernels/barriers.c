/* Threads that wait for each other, as an H200 lets them: at barriers that some of a block come to, at those of clusters, and
 * in loops. What a kernel stores is what an H200 stored, which finishes all of them. */
#include "../child.h"

#include <string.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
/* q: the kernel's argument, r0: the thread, r1: the block, or its rank */
#define ENTRY(name, rank) \
    ".visible .entry " name "\n{\n.reg .b64 a;\n.reg .b32 r<9>;\n.reg .pred q<3>;\n.shared .b32 v;\n" \
    "ld.param.u64 a, [p];\nmov.u32 r0, %tid.x;\nmov.u32 r1, " rank ";\n"
#define KERNEL(name) ENTRY(name "(.param .u64 p)", "%ctaid.x")
#define CLUSTER(name, blocks) \
    ENTRY(name "(.param .u64 p) .explicitcluster .reqnctapercluster " blocks ", 1, 1", "%cluster_ctarank")
#define NAP(us) "mov.u32 r2, 0;\nL: nanosleep.u32 1000;\nadd.u32 r2, r2, 1;\nsetp.lt.u32 q2, r2, " us ";\n@q2 bra L;\n"
#define ARRIVE "barrier.cluster.arrive.aligned;\n"
#define WAIT "barrier.cluster.wait.aligned;\n"
#define END "ret;\n}\n"

static const char text[] =
    HEAD /* the cluster's barrier is none of the sixteen */
    CLUSTER("fifteen", "2") "mad.wide.u32 a, r1, 4, a;\nsetp.lt.u32 q0, r0, 32;\n@q0 bra ALL;\nsetp.lt.u32 q0, r0, 64;\n"
    "@q0 bra ONE;\n" NAP("50") "st.volatile.shared.u32 [v], 7;\nbar.sync 15, 64;\nbra ALL;\nONE: bar.sync 15, 64;\n"
    "ld.volatile.shared.u32 r5, [v];\nst.global.u32 [a], r5;\nALL:\n" ARRIVE WAIT END
    /* warp 1 has arrived, and waits once warp 0 went on */
    CLUSTER("each", "2") "mad.wide.u32 a, r1, 4, a;\nst.volatile.shared.u32 [v], 0;\nbar.sync 0;\nsetp.ge.u32 q0, r0, 32;\n"
    "@q0 bra ONE;\n" ARRIVE WAIT "st.volatile.shared.u32 [v], 7;\nret;\nONE:\n" ARRIVE
    "L: ld.volatile.shared.u32 r5, [v];\nsetp.eq.u32 q1, r5, 0;\n@q1 bra L;\n" WAIT "st.global.u32 [a], r5;\n" END
    KERNEL("alone") "mad.wide.u32 a, r0, 4, a;\nsetp.gt.u32 q0, r0, 40;\n@q0 exit;\n" ARRIVE WAIT ARRIVE WAIT
    "st.global.u32 [a], 7;\n" END
    /* of block 0 warp 0 ends at once, and warp 1 waits once block 1 went on */
    CLUSTER("ended", "2") "setp.ne.u32 q0, r1, 0;\n@q0 bra ONE;\nsetp.lt.u32 q0, r0, 32;\n@q0 exit;\n" ARRIVE
    "L: ld.relaxed.gpu.global.u32 r2, [a+64];\nsetp.eq.u32 q1, r2, 0;\n@q1 bra L;\n" WAIT "st.global.u32 [a], 7;\nret;\nONE:\n"
    ARRIVE WAIT "st.relaxed.gpu.global.u32 [a+64], 1;\n" END
    /* block 0 arrives and ends, block 1 must not go on before block 2 has stored */
    CLUSTER("once", "3") "setp.eq.u32 q0, r1, 1;\n@q0 bra ONE;\nsetp.eq.u32 q0, r1, 2;\n@q0 bra TWO;\n" ARRIVE "exit;\nONE:\n"
    ARRIVE WAIT "ld.relaxed.gpu.global.u32 r3, [a+64];\nst.global.u32 [a], r3;\nret;\nTWO:\n" NAP("1000")
    "st.relaxed.gpu.global.u32 [a+64], 7;\n" ARRIVE WAIT END
    /* who has not arrived does not wait */
    CLUSTER("unannounced", "2") "setp.ne.u32 q0, r1, 0;\n@q0 bra ONE;\n" WAIT
    "ld.relaxed.gpu.global.u32 r3, [a+64];\nadd.u32 r3, r3, 7;\nst.global.u32 [a], r3;\nst.relaxed.gpu.global.u32 [a+64], 1;\n"
    "ret;\nONE:\nL: ld.relaxed.gpu.global.u32 r2, [a+64];\nsetp.eq.u32 q1, r2, 0;\n@q1 bra L;\n" ARRIVE WAIT END
    /* four warps meet in pairs; the last one comes late */
    KERNEL("pairs") "mad.wide.u32 a, r0, 4, a;\nsetp.lt.u32 q0, r0, 96;\n@q0 bra COME;\n" NAP("50")
    "COME: bar.sync 1, 64;\nst.global.u32 [a], 7;\n" END
    /* each warp lets the next one go on */
    KERNEL("chain") "mad.wide.u32 a, r0, 4, a;\nshr.u32 r2, r0, 5;\nadd.u32 r3, r2, 1;\nsetp.eq.u32 q0, r2, 0;\n"
    "@!q0 bar.sync r2, 64;\nsetp.eq.u32 q0, r2, 7;\n@!q0 bar.arrive r3, 64;\nsetp.eq.u32 q1, r0, r0;\n"
    "bar.red.popc.u32 r4, 9, 256, q1;\nsub.u32 r4, r4, 249;\nst.global.u32 [a], r4;\n" END
    /* a warp counts as a whole */
    KERNEL("whole_warps") "mad.wide.u32 a, r0, 4, a;\nbar.sync 1, 64;\nst.global.u32 [a], 7;\n" END
    KERNEL("of_the_rest") "mad.wide.u32 a, r0, 4, a;\nsetp.gt.u32 q0, r0, 40;\n@q0 exit;\nbar.sync 1, 64;\n"
    "st.global.u32 [a], 7;\n" END
    KERNEL("but_one") "mad.wide.u32 a, r0, 4, a;\nsetp.eq.u32 q0, r0, 40;\n@!q0 bra COME;\n" NAP("50") "exit;\n"
    "COME: barrier.sync 1, 64;\nst.global.u32 [a], 7;\n" END
    /* warp 0 arrives and ends, two wait for the last one, too */
    KERNEL("arrived_once") "setp.lt.u32 q0, r0, 32;\n@q0 bra FIRST;\nsub.u32 r3, r0, 32;\nmad.wide.u32 a, r3, 4, a;\n"
    "setp.lt.u32 q0, r0, 96;\n@q0 bra COME;\n" NAP("50") "st.volatile.shared.u32 [v], 7;\n"
    "COME: bar.sync 1, 128;\nld.volatile.shared.u32 r3, [v];\nst.global.u32 [a], r3;\nret;\nFIRST: bar.arrive 1, 128;\n" END
    /* all blocks wait for all others */
    KERNEL("grid") "mad.wide.u32 a, r1, 4, a;\nsetp.ne.u32 q0, r0, 0;\n@q0 bra COME;\nld.param.u64 a, [p];\n"
    "mov.u32 r3, %nctaid.x;\natom.global.add.u32 r2, [a+40000], 1;\n"
    "L: ld.relaxed.gpu.global.u32 r2, [a+40000];\nsetp.lt.u32 q1, r2, r3;\n@q1 bra L;\nmad.wide.u32 a, r1, 4, a;\n"
    "COME: bar.sync 0;\nst.global.u32 [a], 7;\n" END;

enum { WORDS = 10001 };
static CUmodule m;

static void start(void)
{
    check_context();
    CHECK(cuModuleLoadData(&m, text));
}

/* The kernel ends, and has stored so many sevens. */
static void expect(const char *name, unsigned grid, unsigned block, unsigned sevens)
{
    static unsigned out[WORDS];
    CUdeviceptr at;
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, m, name));
    CHECK(cuMemAlloc(&at, sizeof out));
    CHECK(cuMemsetD32(at, 0, WORDS));
    CHECK(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, NULL, (void *[]){ &at }, NULL));
    CHECK(cuMemcpyDtoH(out, at, sizeof out));
    for (unsigned k = 0; k < sevens; k++) EXPECT(out[k] == 7);
}

static void the_barrier_of_a_cluster_is_none_of_a_blocks(void) { expect("fifteen", 2, 96, 2); }

static void who_waits_for_a_cluster_goes_on_when_all_have_arrived(void)
{
    expect("each", 2, 64, 2);
    expect("unannounced", 2, 1, 1);
}

static void who_has_ended_keeps_no_cluster_waiting_and_counts_once(void)
{
    expect("ended", 2, 64, 1);
    expect("once", 3, 32, 1);
    expect("alone", 1, 96, 41);
}

static void a_barrier_begins_anew_when_enough_have_come(void)
{
    expect("pairs", 1, 128, 128);
    expect("chain", 1, 256, 256);
}

static void a_warp_counts_as_a_whole(void)
{
    expect("whole_warps", 1, 48, 48);
    expect("whole_warps", 1, 33, 33);
    expect("of_the_rest", 1, 64, 41);
    expect("but_one", 1, 64, 40);
    expect("arrived_once", 1, 128, 96);
}

static void blocks_wait_for_as_many_as_a_device_has_room_for(void) { expect("grid", 4224, 32, 4224); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(start, the_barrier_of_a_cluster_is_none_of_a_blocks),
        ALONE(start, who_waits_for_a_cluster_goes_on_when_all_have_arrived),
        ALONE(start, who_has_ended_keeps_no_cluster_waiting_and_counts_once),
        ALONE(start, a_barrier_begins_anew_when_enough_have_come),
        ALONE(start, a_warp_counts_as_a_whole),
        ALONE(start, blocks_wait_for_as_many_as_a_device_has_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
