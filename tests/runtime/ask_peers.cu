/* Two devices: which one is current, peer access, copies between them, whose streams, events, pools and pointers are whose. */
#include "ask.h"
#include <pthread.h>

__global__ void store(int *p, int v) { *p = v; }
__device__ int variable = 3;

static int *p[2], v;
static cudaStream_t s[2];
static cudaEvent_t e[2];

static void begin(void)
{
    for (int d = 0; d < 2; d++) {
        MUST(cudaSetDevice(d));
        MUST(cudaMalloc((void **)&p[d], 4096));
        MUST(cudaMemset(p[d], d + 1, 4096));
        MUST(cudaStreamCreate(&s[d]));
        MUST(cudaEventCreate(&e[d]));
        MUST(cudaDeviceSynchronize());
    }
    MUST(cudaSetDevice(0));
}

static void current(void)
{
    ASKV("count", cudaGetDeviceCount(&v), "%d", v);
    begin();
    ASKV("get", cudaGetDevice(&v), "%d", v);
    for (int d = 0; d < 2; d++) {
        struct cudaPointerAttributes a;
        memset(&a, 0, sizeof a);
        ASKV(keyf("pointer%d", d), cudaPointerGetAttributes(&a, p[d]), "%d %d", a.type, a.device);
        ASKV(keyf("stream%d", d), cudaStreamGetDevice(s[d], &v), "%d", v);
        ASK(keyf("query%d", d), cudaStreamQuery(s[d]));
        ASK(keyf("record%d", d), cudaEventRecord(e[d], s[0]));
        ASK(keyf("wait%d", d), cudaStreamWaitEvent(s[0], e[d], 0));
        ASK(keyf("memset%d", d), cudaMemset(p[d], 9, 16));
        ASK(keyf("memsetasync%d", d), cudaMemsetAsync(p[d], 9, 16, s[0]));
        store<<<1, 1, 0, s[d]>>>(p[0], 4);
        ASK(keyf("launch%d", d), cudaGetLastError());
        ASK(keyf("sync%d", d), cudaStreamSynchronize(s[d]));
        ASK(keyf("free%d", d), cudaFree(p[d]));
    }
    ASK("reset", cudaDeviceReset());
    ASKV("get2", cudaGetDevice(&v), "%d", v);
    ASK("query1", cudaStreamQuery(s[1]));
    void *a[2] = { NULL, NULL };
    for (int d = 0; d < 2; d++) {
        MUST(cudaSetDevice(d));
        ASK(keyf("symbol%d", d), cudaGetSymbolAddress(&a[d], variable));
    }
    say("symbols", "%d", a[0] != a[1]);
}

static void peers(void)
{
    begin();
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            v = -7;
            ASKV(keyf("can%d%d", i, j), cudaDeviceCanAccessPeer(&v, i, j), "%d", v);
            for (int a = 1; a <= 5; a++) {
                v = -7;
                ASKV(keyf("p2p%d%d.%d", i, j, a), cudaDeviceGetP2PAttribute(&v, (enum cudaDeviceP2PAttr)a, i, j), "%d",
                     v);
            }
        }
    ASK("disable first", cudaDeviceDisablePeerAccess(1));
    ASK("enable", cudaDeviceEnablePeerAccess(1, 0));
    ASK("enable again", cudaDeviceEnablePeerAccess(1, 0));
    ASK("enable flags", cudaDeviceEnablePeerAccess(1, 1));
    store<<<1, 1>>>(p[1], 0x07070707);
    ASK("store", cudaDeviceSynchronize());
    say("value", "%s", all_on_device(p[1], 7, 4));
    ASK("disable", cudaDeviceDisablePeerAccess(1));
    ASK("disable again", cudaDeviceDisablePeerAccess(1));
}

static void no_peer(void)
{
    begin();
    store<<<1, 1>>>(p[1], 7);
    ASK("store", cudaDeviceSynchronize());
    ASK("malloc", cudaMalloc((void **)&p[0], 16));
    MUST(cudaSetDevice(1));
    ASK("other", cudaDeviceSynchronize());
}

static void copies(void)
{
    begin();
    ASK("peer", cudaMemcpyPeer(p[0], 0, p[1], 1, 4096));
    say("peer.data", "%s", all_on_device(p[0], 2, 4096));
    ASK("peer wrong", cudaMemcpyPeer(p[0], 1, p[1], 0, 16));
    ASK("d2d", cudaMemcpy(p[1], p[0], 16, cudaMemcpyDeviceToDevice));
    ASK("default", cudaMemcpy(p[1], p[0], 16, cudaMemcpyDefault));
    ASK("async", cudaMemcpyPeerAsync(p[0], 0, p[1], 1, 4096, s[0]));
    ASK("async other", cudaMemcpyPeerAsync(p[0], 0, p[1], 1, 4096, s[1]));
    ASK("sync", cudaDeviceSynchronize());
    int *m;
    MUST(cudaMallocManaged((void **)&m, 4096));
    for (int d = 0; d < 2; d++) {
        MUST(cudaSetDevice(d));
        store<<<1, 1>>>(m + d, d + 5);
        ASK(keyf("managed%d", d), cudaDeviceSynchronize());
        ASK(keyf("prefetch%d", d), cudaMemPrefetchAsync(m, 4096, at(cudaMemLocationTypeDevice, d), 0, 0));
        ASK(keyf("prefetch%d.sync", d), cudaDeviceSynchronize());
    }
    say("managed", "%d %d", m[0], m[1]);
}

static void pools(void)
{
    begin();
    cudaMemPool_t pool[2], now;
    for (int d = 0; d < 2; d++) MUST(cudaDeviceGetDefaultMemPool(&pool[d], d));
    say("apart", "%d", pool[0] != pool[1]);
    void *a;
    ASK("malloc on other's stream", cudaMallocAsync(&a, 4096, s[1]));
    struct cudaPointerAttributes known;
    memset(&known, 0, sizeof known);
    ASKV("pointer", cudaPointerGetAttributes(&known, a), "%d %d", known.type, known.device);
    ASK("set other's", cudaDeviceSetMemPool(0, pool[1]));
    ASK("get", cudaDeviceGetMemPool(&now, 0));
    for (int d = 0; d < 2; d++) {
        cudaMemLocation l = at(cudaMemLocationTypeDevice, d);
        enum cudaMemAccessFlags f = (enum cudaMemAccessFlags)77;
        ASKV(keyf("access%d", d), cudaMemPoolGetAccess(&f, pool[0], &l), "%d", f);
        for (int flags = 0; flags <= 3; flags++) {
            cudaMemAccessDesc desc;
            desc.location = l;
            desc.flags = (enum cudaMemAccessFlags)flags;
            ASK(keyf("set%d.%d", d, flags), cudaMemPoolSetAccess(pool[0], &desc, 1));
            ASKV(keyf("then%d.%d", d, flags), cudaMemPoolGetAccess(&f, pool[0], &l), "%d", f);
        }
    }
}

static void *in_thread(void *)
{
    ASKV("thread.get", cudaGetDevice(&v), "%d", v);
    return NULL;
}

static void threads_and_lists(void)
{
    pthread_t t;
    int list[2] = { 1, 0 };
    ASK("valid", cudaSetValidDevices(list, 2));
    ASKV("get", cudaGetDevice(&v), "%d", v);
    void *m;
    ASK("malloc", cudaMalloc(&m, 16));
    ASKV("get2", cudaGetDevice(&v), "%d", v);
    MUST(cudaSetDevice(1));
    pthread_create(&t, NULL, in_thread, NULL);
    pthread_join(t, NULL);
    struct cudaDeviceProp properties;
    memset(&properties, 0, sizeof properties);
    ASKV("choose", cudaChooseDevice(&v, &properties), "%d", v);
}

const struct group groups[] = {
    { "current", current, 2 },
    { "peers", peers, 2 },
    { "no_peer", no_peer, 2 },
    { "copies", copies, 2 },
    { "pools", pools, 2 },
    { "threads_and_lists", threads_and_lists, 2 },
    LAST_GROUP,
};
