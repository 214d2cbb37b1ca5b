/* Clusters: blocks that know each other, wait for each other and see each
 * other's shared memory. The kernels are PTX, loaded while the program runs. */
#include "runtime_rig.h"

/* Of each block, at out + 32 * block: cluster x y z, place in it x y z, rank, blocks of the cluster.
 * ring: each block adds, through its next one's shared memory, what all had written: a generic access, a shared one,
 * an atomic one. some: threads but the first of each warp end before the barrier.
 * split: between arriving and waiting the blocks but the second one wait for it, which waits first.
 * needs: compiled for clusters of two. */
static const char code[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry who(.param .u64 out)\n{\n"
    "    .reg .b32 %r<16>;\n    .reg .b64 %d<4>;\n"
    "    mov.u32 %r0, %ctaid.x;\n    mov.u32 %r1, %ctaid.y;\n    mov.u32 %r2, %ctaid.z;\n"
    "    mov.u32 %r3, %nctaid.x;\n    mov.u32 %r4, %nctaid.y;\n"
    "    mad.lo.u32 %r1, %r2, %r4, %r1;\n    mad.lo.u32 %r0, %r1, %r3, %r0;\n"
    "    ld.param.u64 %d0, [out];\n    mul.wide.u32 %d1, %r0, 32;\n    add.u64 %d0, %d0, %d1;\n"
    "    mov.u32 %r5, %clusterid.x;\n    mov.u32 %r6, %clusterid.y;\n    mov.u32 %r7, %clusterid.z;\n"
    "    mov.u32 %r8, %cluster_ctaid.x;\n    mov.u32 %r9, %cluster_ctaid.y;\n    mov.u32 %r10, %cluster_ctaid.z;\n"
    "    mov.u32 %r11, %cluster_ctarank;\n    mov.u32 %r12, %cluster_nctarank;\n"
    "    st.global.v4.u32 [%d0], {%r5, %r6, %r7, %r8};\n    st.global.v4.u32 [%d0+16], {%r9, %r10, %r11, %r12};\n"
    "    ret;\n}\n"
    ".visible .entry ring(.param .u64 out)\n{\n"
    "    .reg .b32 %r<16>;\n    .reg .b64 %d<8>;\n    .reg .pred %p;\n    .shared .align 4 .b32 word[64];\n"
    "    mov.u32 %r0, %tid.x;\n    mov.u32 %r1, %cluster_ctarank;\n    mov.u32 %r2, %cluster_nctarank;\n"
    "    add.u32 %r3, %r1, 1;\n    rem.u32 %r3, %r3, %r2;\n"
    "    mov.u32 %r4, word;\n    shl.b32 %r5, %r0, 2;\n    add.u32 %r4, %r4, %r5;\n"
    "    mad.lo.u32 %r6, %r1, 100, %r0;\n    st.shared.u32 [%r4], %r6;\n"
    "    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n"
    "    cvt.u64.u32 %d0, %r4;\n    cvta.shared.u64 %d0, %d0;\n    mapa.u64 %d1, %d0, %r3;\n    ld.u32 %r7, [%d1];\n"
    "    mapa.shared::cluster.u32 %r8, %r4, %r3;\n    ld.shared::cluster.u32 %r9, [%r8];\n"
    "    setp.ne.u32 %p, %r7, %r9;\n    @%p trap;\n"
    "    getctarank.u64 %r9, %d1;\n    setp.ne.u32 %p, %r9, %r3;\n    @%p trap;\n"
    "    getctarank.shared::cluster.u32 %r9, %r8;\n    setp.ne.u32 %p, %r9, %r3;\n    @%p trap;\n"
    "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
    "    red.relaxed.cluster.shared::cluster.add.u32 [%r8], 1000;\n    atom.add.u32 %r9, [%d1], 2000;\n"
    "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
    "    ld.shared.u32 %r10, [%r4];\n    add.u32 %r10, %r10, %r7;\n"
    "    mov.u32 %r11, %ctaid.x;\n    mad.lo.u32 %r11, %r11, 64, %r0;\n"
    "    ld.param.u64 %d2, [out];\n    mul.wide.u32 %d3, %r11, 4;\n    add.u64 %d2, %d2, %d3;\n"
    "    st.global.u32 [%d2], %r10;\n    ret;\n}\n"
    ".visible .entry some(.param .u64 out)\n{\n"
    "    .reg .b32 %r<8>;\n    .reg .b64 %d<2>;\n    .reg .pred %p;\n"
    "    mov.u32 %r0, %tid.x;\n    and.b32 %r1, %r0, 31;\n    setp.ne.u32 %p, %r1, 0;\n    @%p ret;\n"
    "    mov.u32 %r2, %ctaid.x;\n    setp.eq.u32 %p, %r2, 1;\n    @%p ret;\n"
    "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
    "    ld.param.u64 %d0, [out];\n    red.global.add.u32 [%d0], 1;\n    ret;\n}\n"
    ".visible .entry split(.param .u64 out)\n{\n"
    "    .reg .b32 %r<8>;\n    .reg .b64 %d<2>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %d0, [out];\n    mov.u32 %r0, %cluster_ctarank;\n    setp.eq.u32 %p, %r0, 1;\n"
    "    barrier.cluster.arrive;\n    @%p bra FIRST;\n"
    "L:  ld.volatile.global.u32 %r1, [%d0];\n    setp.eq.u32 %p, %r1, 0;\n    @%p bra L;\n"
    "    barrier.cluster.wait;\n    bra DONE;\n"
    "FIRST:\n    barrier.cluster.wait;\n    st.volatile.global.u32 [%d0], 1;\n"
    "DONE:\n    red.global.add.u32 [%d0+4], 1;\n    ret;\n}\n"
    ".visible .entry needs(.param .u64 out) .explicitcluster .reqnctapercluster 2, 1, 1\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %d<2>;\n"
    "    ld.param.u64 %d0, [out];\n    mov.u32 %r0, %cluster_nctarank;\n    red.global.add.u32 [%d0], %r0;\n    "
    "ret;\n}\n";

enum { THREADS = 64, MOST_BLOCKS = 6000 };

struct rig {
    cudaLibrary_t library;
    cudaKernel_t who, ring, some, split, needs;
    unsigned *out; /* managed */
    cudaStream_t stream;
};

static int set_up(void **state)
{
    static struct rig rig;
    *state = &rig;
    return cudaLibraryLoadData(&rig.library, code, NULL, NULL, 0, NULL, NULL, 0) ||
           cudaLibraryGetKernel(&rig.who, rig.library, "who") || cudaLibraryGetKernel(&rig.ring, rig.library, "ring") ||
           cudaLibraryGetKernel(&rig.some, rig.library, "some") ||
           cudaLibraryGetKernel(&rig.split, rig.library, "split") ||
           cudaLibraryGetKernel(&rig.needs, rig.library, "needs") ||
           cudaMallocManaged((void **)&rig.out, MOST_BLOCKS * THREADS * 4, cudaMemAttachGlobal) ||
           cudaStreamCreate(&rig.stream);
}

static int take_down(void **state)
{
    struct rig *rig = *state;
    return cudaStreamDestroy(rig->stream) || cudaFree(rig->out) || cudaLibraryUnload(rig->library);
}

static cudaError_t launch(struct rig *rig, cudaKernel_t kernel, dim3 grid, dim3 cluster)
{
    cudaLaunchAttribute a = { .id = cudaLaunchAttributeClusterDimension,
                              .val.clusterDim = { cluster.x, cluster.y, cluster.z } };
    const cudaLaunchConfig_t config = { grid, { THREADS, 1, 1 }, 0, rig->stream, &a, 1 };
    void *args[] = { &rig->out };
    return cudaLaunchKernelExC(&config, kernel, args);
}

static void blocks_know_their_place_in_a_cluster(void **state)
{
    struct rig *rig = *state;
    const dim3 grid = { 4, 6, 2 }, cluster = { 2, 3, 1 };
    OK(launch(rig, rig->who, grid, cluster));
    OK(cudaStreamSynchronize(rig->stream));
    for (unsigned n = 0; n < grid.x * grid.y * grid.z; n++) {
        unsigned x = n % grid.x, y = n / grid.x % grid.y, z = n / grid.x / grid.y;
        const unsigned wanted[8] = { x / 2, y / 3, z, x % 2, y % 3, 0, y % 3 * 2 + x % 2, 6 };
        for (int k = 0; k < 8; k++) assert_int_equal(rig->out[n * 8 + k], wanted[k]);
    }
}

/* Of ring. */
static void check(const struct rig *rig, unsigned blocks, unsigned size)
{
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned t = 0; t < THREADS; t++) {
            unsigned rank = b % size, next = (rank + 1) % size;
            unsigned own = rank * 100 + t + 3000, others = next * 100 + t;
            if (rig->out[b * THREADS + t] != own + others)
                fail_msg("clusters of %u, block %u thread %u: %u, not %u", size, b, t, rig->out[b * THREADS + t],
                         own + others);
        }
}

static void blocks_of_a_cluster_see_each_others_shared_memory(void **state)
{
    struct rig *rig = *state;
    for (unsigned size = 1; size <= 8; size++) {
        OK(launch(rig, rig->ring, (dim3){ 840, 1, 1 }, (dim3){ size, 1, 1 }));
        OK(cudaStreamSynchronize(rig->stream));
        check(rig, 840, size);
    }
}

static void more_blocks_than_are_there_at_a_time(void **state)
{
    struct rig *rig = *state;
    OK(launch(rig, rig->ring, (dim3){ MOST_BLOCKS, 1, 1 }, (dim3){ 4, 1, 1 }));
    OK(cudaStreamSynchronize(rig->stream));
    check(rig, MOST_BLOCKS, 4);
}

static void who_has_ended_is_not_waited_for(void **state)
{
    struct rig *rig = *state;
    *rig->out = 0;
    OK(launch(rig, rig->some, (dim3){ 4, 1, 1 }, (dim3){ 4, 1, 1 }));
    OK(cudaStreamSynchronize(rig->stream));
    assert_int_equal(*rig->out, 3 * THREADS / 32);
}

static void between_arriving_and_waiting_a_block_may_wait_for_another(void **state)
{
    struct rig *rig = *state;
    rig->out[0] = rig->out[1] = 0;
    OK(launch(rig, rig->split, (dim3){ 2, 1, 1 }, (dim3){ 2, 1, 1 }));
    OK(cudaStreamSynchronize(rig->stream));
    assert_int_equal(rig->out[1], 2 * THREADS);
}

static void a_node_of_a_graph_keeps_its_clusters(void **state)
{
    struct rig *rig = *state;
    cudaGraph_t g;
    cudaGraphExec_t x;
    OK(cudaStreamBeginCapture(rig->stream, cudaStreamCaptureModeThreadLocal));
    OK(launch(rig, rig->ring, (dim3){ 60, 1, 1 }, (dim3){ 3, 1, 1 }));
    OK(cudaStreamEndCapture(rig->stream, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    memset(rig->out, 0, 60 * THREADS * 4);
    OK(cudaGraphLaunch(x, rig->stream));
    OK(cudaStreamSynchronize(rig->stream));
    check(rig, 60, 3);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}

static void a_kernel_may_be_compiled_for_clusters(void **state)
{
    struct rig *rig = *state;
    void *args[] = { &rig->out };
    struct cudaFuncAttributes known;
    OK(cudaFuncGetAttributes(&known, rig->needs));
    assert_int_equal(known.requiredClusterWidth, 2);
    *rig->out = 0;
    OK(cudaLaunchKernel(rig->needs, (dim3){ 6, 1, 1 }, (dim3){ 1, 1, 1 }, args, 0, rig->stream));
    OK(cudaStreamSynchronize(rig->stream));
    assert_int_equal(*rig->out, 12);
    FAILS(cudaLaunchKernel(rig->needs, (dim3){ 5, 1, 1 }, (dim3){ 1, 1, 1 }, args, 0, rig->stream),
          cudaErrorInvalidClusterSize);
    FAILS(launch(rig, rig->needs, (dim3){ 6, 1, 1 }, (dim3){ 3, 1, 1 }), cudaErrorInvalidClusterSize);
}

static void clusters_are_of_eight_blocks_or_if_allowed_sixteen(void **state)
{
    struct rig *rig = *state;
    FAILS(launch(rig, rig->ring, (dim3){ 16, 1, 1 }, (dim3){ 16, 1, 1 }), cudaErrorInvalidClusterSize);
    OK(cudaFuncSetAttribute(rig->ring, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(launch(rig, rig->ring, (dim3){ 16, 1, 1 }, (dim3){ 16, 1, 1 }));
    OK(cudaStreamSynchronize(rig->stream));
    check(rig, 16, 16);
    OK(cudaFuncSetAttribute(rig->ring, cudaFuncAttributeNonPortableClusterSizeAllowed, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_know_their_place_in_a_cluster),
        cmocka_unit_test(blocks_of_a_cluster_see_each_others_shared_memory),
        cmocka_unit_test(more_blocks_than_are_there_at_a_time),
        cmocka_unit_test(who_has_ended_is_not_waited_for),
        cmocka_unit_test(between_arriving_and_waiting_a_block_may_wait_for_another),
        cmocka_unit_test(a_node_of_a_graph_keeps_its_clusters),
        cmocka_unit_test(a_kernel_may_be_compiled_for_clusters),
        cmocka_unit_test(clusters_are_of_eight_blocks_or_if_allowed_sixteen),
    };
    return cmocka_run_group_tests(tests, set_up, take_down);
}
