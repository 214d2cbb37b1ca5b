/* Kernels that were compiled for blocks and clusters of a size: grids of clusters (.blocksareclusters), blocks of one thread,
 * clusters that are asked for. Of a launch that succeeds: how many blocks ran, and what the first of the last cluster was told. */
#include "oracle.h"

#define KERNEL(directives) \
    ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out) " directives " {\n" \
    ".reg .b64 p;\n.reg .b32 v<6>, i;\n.reg .pred q;\nld.param.u64 p, [out];\n" \
    "mov.u32 v0, %nctaid.x;\nmov.u32 v1, %nclusterid.x;\nmov.u32 v2, %cluster_nctaid.x;\nmov.u32 v3, %ntid.x;\n" \
    "mov.u32 v4, %nctaid.y;\nst.global.u32 [p+4], v0;\nst.global.u32 [p+8], v1;\nst.global.u32 [p+12], v2;\n" \
    "st.global.u32 [p+16], v3;\nst.global.u32 [p+20], v4;\nmov.u32 i, %tid.x;\nsetp.ne.u32 q, i, 0;\n@q ret;\n" \
    "red.global.add.u32 [p], 1;\nret;\n}\n"

static CUdeviceptr words;

static void launch(CUfunction f, unsigned x, unsigned y, unsigned threads, unsigned cluster)
{
    unsigned v[6];
    CUlaunchAttribute a = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    a.value.clusterDim.x = cluster;
    a.value.clusterDim.y = a.value.clusterDim.z = 1;
    const CUlaunchConfig c = { x, y, 1, threads, 1, 1, 0, 0, &a, cluster ? 1 : 0 };
    MUST(cuMemsetD32(words, 0, 6));
    CUresult r = cuLaunchKernelEx(&c, f, (void *[]){ &words }, NULL);
    MUST(cuCtxSynchronize());
    MUST(cuMemcpyDtoH(v, words, sizeof v));
    rec(keyf("g%u,%u.b%u.c%u", x, y, threads, cluster), "%s %u: %u %u %u %u %u", rname(r), v[0], v[1], v[2], v[3], v[4], v[5]);
}

static void of_kernel(const char *text)
{
    static const unsigned grids[][2] = { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 2 }, { 3, 3 } }, threads[] = { 32, 1, 64 };
    CUmodule m;
    CUfunction f;
    int n = -1;
    setup();
    MUST(cuMemAlloc(&words, 4096));
    CUresult r = cuModuleLoadData(&m, text);
    recr("load", r);
    if (r) return;
    MUST(cuModuleGetFunction(&f, m, "k"));
    for (int g = 0; g < 5; g++)
        for (int b = 0; b < 3; b++)
            for (unsigned how = 0; how < 3; how++) launch(f, grids[g][0], grids[g][1], threads[b], (unsigned[]){ 0, 2, 1 }[how]);
    const CUlaunchConfig c = { .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1 };
    r = cuOccupancyMaxActiveClusters(&n, f, &c);
    rec("clusters", "%s %d", rname(r), n);
    r = cuOccupancyMaxPotentialClusterSize(&n, f, &c);
    rec("size", "%s %d", rname(r), n);
}

static void all(void) { of_kernel(KERNEL(".blocksareclusters .reqntid 32 .reqnctapercluster 2")); }
static void flat(void) { of_kernel(KERNEL(".blocksareclusters .reqntid 32,1,1 .reqnctapercluster 2,2,1")); }
static void threads(void) { of_kernel(KERNEL(".blocksareclusters .reqntid 32")); }
static void blocks(void) { of_kernel(KERNEL(".blocksareclusters .reqnctapercluster 2")); }
static void nothing(void) { of_kernel(KERNEL(".blocksareclusters")); }
static void plain(void) { of_kernel(KERNEL(".reqntid 32 .reqnctapercluster 2")); }

const struct group groups[] = { { "all", all, 1 },       { "flat", flat, 1 },       { "threads", threads, 1 },
                                { "blocks", blocks, 1 }, { "nothing", nothing, 1 }, { "plain", plain, 1 },
                                { 0 } };
