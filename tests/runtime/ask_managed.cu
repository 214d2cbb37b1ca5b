/* Unified Memory through the runtime: advice, prefetches, range attributes, discarding, batches, attachment to streams,
 * managed variables, system-allocated memory. */
#include "ask.h"
#include <sys/mman.h>

static __global__ void add(unsigned char *p, size_t n, int v)
{
    for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < n; i += (size_t)blockDim.x * gridDim.x)
        p[i] += v;
}

__managed__ int variable = 42;
__managed__ int array[1000];
__device__ __managed__ double another = 1.5;
__device__ int plain;
static __global__ void use_variables()
{
    variable++;
    array[999] = variable;
    another *= 2;
}

static const size_t size = 4 * MiB;
static unsigned char *p;
static void *q;
static cudaStream_t s;

static void begin(void)
{
    MUST(cudaStreamCreate(&s));
    MUST(cudaMallocManaged((void **)&p, size));
}

static const struct {
    enum cudaMemRangeAttribute attribute;
    const char *name;
} range_attributes[] = {
    { cudaMemRangeAttributeReadMostly, "readmostly" },
    { cudaMemRangeAttributePreferredLocation, "preferred" },
    { cudaMemRangeAttributeLastPrefetchLocation, "prefetched" },
    { cudaMemRangeAttributePreferredLocationType, "preferredtype" },
    { cudaMemRangeAttributePreferredLocationId, "preferredid" },
    { cudaMemRangeAttributeLastPrefetchLocationType, "prefetchedtype" },
    { cudaMemRangeAttributeLastPrefetchLocationId, "prefetchedid" },
};

/* One line: every attribute of the range, then who accesses it. */
static void show_range(const char *key, const void *from, size_t n)
{
    char text[300] = "";
    for (size_t i = 0; i < COUNT(range_attributes); i++) {
        int v = 0x7777;
        cudaError_t e = cudaMemRangeGetAttribute(&v, sizeof v, range_attributes[i].attribute, from, n);
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s %s, ", range_attributes[i].name,
                 e ? name_of(e) : keyf("%d", v));
    }
    int by[4] = { 0x77, 0x77, 0x77, 0x77 };
    cudaError_t e = cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, from, n);
    cudaGetLastError();
    say(key, "%sby %s %d %d %d %d", text, name_of(e), by[0], by[1], by[2], by[3]);
}

static void advice(void)
{
    begin();
    show_range("fresh", p, size);
    for (int a = 0; a <= 7; a++)
        for (int t = 0; t <= 5; t++)
            for (int id = -2; id <= 2; id++) {
                if (t == cudaMemLocationTypeHost + 1 && id > 0) continue;
                cudaError_t e = cudaMemAdvise(p, size, (enum cudaMemoryAdvise)a, at((enum cudaMemLocationType)t, id));
                answer(keyf("advise.%d.%d.%d", a, t, id), e, " ");
                if (!e) show_range(keyf("then.%d.%d.%d", a, t, id), p, size);
            }
}

static void advice_ranges(void)
{
    begin();
    ASK("part", cudaMemAdvise(p, size / 2, cudaMemAdviseSetReadMostly, ON_DEVICE));
    show_range("part.whole", p, size);
    show_range("part.first", p, size / 2);
    show_range("part.second", p + size / 2, size / 2);
    ASK("odd", cudaMemAdvise(p + 100, 100, cudaMemAdviseSetPreferredLocation, ON_DEVICE));
    show_range("odd.page", p, 4096);
    show_range("odd.64K", p, 65536);
    show_range("odd.next", p + 65536, 4096);
    ASK("zero", cudaMemAdvise(p, 0, cudaMemAdviseSetReadMostly, ON_DEVICE));
    ASK("null", cudaMemAdvise(NULL, 4096, cudaMemAdviseSetReadMostly, ON_DEVICE));
    ASK("over", cudaMemAdvise(p, size + 1, cudaMemAdviseSetReadMostly, ON_DEVICE));
    ASK("far over", cudaMemAdvise(p, 1ul << 40, cudaMemAdviseSetReadMostly, ON_DEVICE));
    ASK("wrap", cudaMemAdvise(p, ~0ul, cudaMemAdviseSetReadMostly, ON_DEVICE));
    MUST(cudaMalloc(&q, 4096));
    ASK("device", cudaMemAdvise(q, 4096, cudaMemAdviseSetReadMostly, ON_DEVICE));
    MUST(cudaMallocHost(&q, 4096));
    ASK("pinned", cudaMemAdvise(q, 4096, cudaMemAdviseSetReadMostly, ON_DEVICE));
    q = mmap(NULL, 2 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int a = 1; a <= 6; a++)
        ASK(keyf("system.%d", a), cudaMemAdvise(q, 2 * MiB, (enum cudaMemoryAdvise)a, ON_DEVICE));
    MUST(cudaMallocManaged(&q, 4096));
    MUST(cudaFree(q));
    ASK("freed", cudaMemAdvise(q, 4096, cudaMemAdviseSetReadMostly, ON_DEVICE));
}

static void prefetches(void)
{
    begin();
    memset(p, 1, size);
    for (int t = 0; t <= 5; t++)
        for (int id = -2; id <= 2; id++) {
            if (t == cudaMemLocationTypeHost + 1 && id > 0) continue;
            cudaError_t e = cudaMemPrefetchAsync(p, size, at((enum cudaMemLocationType)t, id), 0, s);
            answer(keyf("to.%d.%d", t, id), e, "%s", name_of(cudaStreamSynchronize(s)));
            if (!e) show_range(keyf("then.%d.%d", t, id), p, size);
        }
    ASK("flags", cudaMemPrefetchAsync(p, size, ON_DEVICE, 1, s));
    ASK("zero", cudaMemPrefetchAsync(p, 0, ON_DEVICE, 0, s));
    ASK("null", cudaMemPrefetchAsync(NULL, 4096, ON_DEVICE, 0, s));
    ASK("over", cudaMemPrefetchAsync(p, size + 1, ON_DEVICE, 0, s));
    ASK("odd", cudaMemPrefetchAsync(p + 100, 100, ON_DEVICE, 0, s));
    ASK("odd.sync", cudaStreamSynchronize(s));
    show_range("odd.page", p, 4096);
    show_range("odd.next", p + 4096, 4096);
    ASK("half", cudaMemPrefetchAsync(p, size / 2, ON_DEVICE, 0, s));
    ASK("half.sync", cudaStreamSynchronize(s));
    show_range("half.whole", p, size);
    show_range("half.first", p, size / 2);
    MUST(cudaMalloc(&q, 4096));
    ASK("device", cudaMemPrefetchAsync(q, 4096, ON_DEVICE, 0, s));
    MUST(cudaMallocHost(&q, 4096));
    ASK("pinned", cudaMemPrefetchAsync(q, 4096, ON_DEVICE, 0, s));
    q = mmap(NULL, 2 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(q, 2, 2 * MiB);
    ASK("system", cudaMemPrefetchAsync(q, 2 * MiB, ON_DEVICE, 0, s));
    ASK("system.sync", cudaStreamSynchronize(s));
    add<<<4, 128, 0, s>>>(p, size, 3);
    ASK("kernel", cudaStreamSynchronize(s));
    say("data", "%s", all(p, 4, size));
    ASK("stream 0", cudaMemPrefetchAsync(p, size, ON_HOST, 0, 0));
    ASK("stream legacy", cudaMemPrefetchAsync(p, size, ON_HOST, 0, cudaStreamLegacy));
    ASK("stream thread", cudaMemPrefetchAsync(p, size, ON_HOST, 0, cudaStreamPerThread));
    ASK("sync", cudaDeviceSynchronize());
}

static void range_errors(void)
{
    begin();
    int v[8];
    for (int a = -1; a <= 12; a++)
        for (size_t n = 0; n <= 12; n += 4) {
            memset(v, 0x77, sizeof v);
            ASKV(keyf("attribute%d.size%zu", a, n),
                 cudaMemRangeGetAttribute(v, n, (enum cudaMemRangeAttribute)a, p, size), "%x", v[0]);
        }
    ASK("size 3", cudaMemRangeGetAttribute(v, 3, cudaMemRangeAttributeReadMostly, p, size));
    ASK("size 5", cudaMemRangeGetAttribute(v, 5, cudaMemRangeAttributeAccessedBy, p, size));
    RISK("null", cudaMemRangeGetAttribute(NULL, 4, cudaMemRangeAttributeReadMostly, p, size));
    ASK("zero", cudaMemRangeGetAttribute(v, 4, cudaMemRangeAttributeReadMostly, p, 0));
    ASK("pointer null", cudaMemRangeGetAttribute(v, 4, cudaMemRangeAttributeReadMostly, NULL, size));
    ASK("over", cudaMemRangeGetAttribute(v, 4, cudaMemRangeAttributeReadMostly, p, 1ul << 40));
    MUST(cudaMalloc(&q, 4096));
    ASK("device", cudaMemRangeGetAttribute(v, 4, cudaMemRangeAttributeReadMostly, q, 4096));
    ASK("stack", cudaMemRangeGetAttribute(v, 4, cudaMemRangeAttributeReadMostly, v, 4));
    int r = 7, l[2] = { 7, 7 };
    void *data[2] = { &r, l };
    size_t sizes[2] = { 4, 8 };
    enum cudaMemRangeAttribute which[2] = { cudaMemRangeAttributeReadMostly, cudaMemRangeAttributeAccessedBy };
    MUST(cudaMemAdvise(p, size, cudaMemAdviseSetReadMostly, ON_DEVICE));
    MUST(cudaMemAdvise(p, size, cudaMemAdviseSetAccessedBy, ON_DEVICE));
    ASKV("attributes", cudaMemRangeGetAttributes(data, sizes, which, 2, p, size), "%d %d %d", r, l[0], l[1]);
    ASK("attributes none", cudaMemRangeGetAttributes(data, sizes, which, 0, p, size));
    RISK("attributes null", cudaMemRangeGetAttributes(NULL, sizes, which, 2, p, size));
    RISK("attributes sizes null", cudaMemRangeGetAttributes(data, NULL, which, 2, p, size));
    which[1] = (enum cudaMemRangeAttribute)99;
    ASK("attributes bad", cudaMemRangeGetAttributes(data, sizes, which, 2, p, size));
}

static void discards(void)
{
    begin();
    void *ptrs[2] = { p, p + 2 * MiB };
    size_t sizes[2] = { 2 * MiB, 2 * MiB }, index[2] = { 0, 1 };
    cudaMemLocation where[2] = { ON_DEVICE, ON_DEVICE };
    memset(p, 1, size);
    ASK("prefetch", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 1, 0, s));
    ASK("prefetch.sync", cudaStreamSynchronize(s));
    show_range("prefetch.range", p, size);
    ASK("prefetch 2", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 2, 0, s));
    ASK("prefetch count 0", cudaMemPrefetchBatchAsync(ptrs, sizes, 0, where, index, 1, 0, s));
    ASK("prefetch locations 0", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 0, 0, s));
    ASK("prefetch locations 3", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 3, 0, s));
    ASK("prefetch flags", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 1, 1, s));
    RISK("prefetch null", cudaMemPrefetchBatchAsync(NULL, sizes, 2, where, index, 1, 0, s));
    ASK("prefetch legacy", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 1, 0, 0));
    where[0] = at((enum cudaMemLocationType)9, 0);
    ASK("prefetch location", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 1, 0, s));
    where[0] = ON_HOST;
    ASK("prefetch host", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 1, 0, s));
    index[0] = 1;
    ASK("prefetch index", cudaMemPrefetchBatchAsync(ptrs, sizes, 2, where, index, 1, 0, s));
    index[0] = 0;
    ASK("prefetch.sync2", cudaStreamSynchronize(s));
    say("data", "%s", all(p, 1, size));
    ASK("discard", cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, s));
    ASK("discard.sync", cudaStreamSynchronize(s));
    say("discard.other", "%s", all(p + 2 * MiB, 1, 2 * MiB));
    ASK("discard flags", cudaMemDiscardBatchAsync(ptrs, sizes, 1, 1, s));
    ASK("discard count 0", cudaMemDiscardBatchAsync(ptrs, sizes, 0, 0, s));
    RISK("discard null", cudaMemDiscardBatchAsync(NULL, sizes, 1, 0, s));
    ASK("discard legacy", cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, 0));
    sizes[0] = 0;
    ASK("discard size 0", cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, s));
    sizes[0] = 8 * MiB;
    ASK("discard over", cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, s));
    sizes[0] = 100;
    ASK("discard odd", cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, s));
    sizes[0] = 2 * MiB;
    void *d;
    MUST(cudaMalloc(&d, 2 * MiB));
    ptrs[0] = d;
    ASK("discard device", cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, s));
    ASK("prefetch device", cudaMemPrefetchBatchAsync(ptrs, sizes, 1, where, index, 1, 0, s));
    ptrs[0] = p;
    where[0] = ON_DEVICE;
    ASK("both", cudaMemDiscardAndPrefetchBatchAsync(ptrs, sizes, 2, where, index, 1, 0, s));
    ASK("both.sync", cudaStreamSynchronize(s));
    show_range("both.range", p, size);
    ASK("both flags", cudaMemDiscardAndPrefetchBatchAsync(ptrs, sizes, 2, where, index, 1, 2, s));
    ASK("both count 0", cudaMemDiscardAndPrefetchBatchAsync(ptrs, sizes, 0, where, index, 1, 0, s));
    MUST(cudaMemset(p, 5, size));
    ASK("end", cudaDeviceSynchronize());
    say("end.data", "%s", all(p, 5, size));
}

static void attachment(void)
{
    begin();
    static const unsigned flags[] = { 0, 1, 2, 3, 4, 5, 8 };
    for (size_t i = 0; i < COUNT(flags); i++) {
        ASK(keyf("flags%u", flags[i]), cudaStreamAttachMemAsync(s, p, 0, flags[i]));
        ASK(keyf("flags%u legacy", flags[i]), cudaStreamAttachMemAsync(0, p, 0, flags[i]));
    }
    ASK("whole", cudaStreamAttachMemAsync(s, p, size, cudaMemAttachGlobal));
    ASK("part", cudaStreamAttachMemAsync(s, p, size / 2, cudaMemAttachGlobal));
    ASK("inside", cudaStreamAttachMemAsync(s, p + 4096, 0, cudaMemAttachGlobal));
    ASK("over", cudaStreamAttachMemAsync(s, p, size + 1, cudaMemAttachGlobal));
    ASK("null", cudaStreamAttachMemAsync(s, NULL, 0, cudaMemAttachGlobal));
    MUST(cudaMalloc(&q, 4096));
    ASK("device", cudaStreamAttachMemAsync(s, q, 0, cudaMemAttachGlobal));
    MUST(cudaMallocHost(&q, 4096));
    ASK("pinned", cudaStreamAttachMemAsync(s, q, 0, cudaMemAttachGlobal));
    q = malloc(4096);
    ASK("heap", cudaStreamAttachMemAsync(s, q, 4096, cudaMemAttachGlobal));
    ASK("heap 0", cudaStreamAttachMemAsync(s, q, 0, cudaMemAttachSingle));
    MUST(cudaMallocManaged(&q, 4096, cudaMemAttachHost));
    ASK("host one", cudaStreamAttachMemAsync(s, q, 0, cudaMemAttachSingle));
    ASK("sync", cudaStreamSynchronize(s));
    add<<<1, 32, 0, s>>>((unsigned char *)q, 4096, 9);
    ASK("kernel", cudaStreamSynchronize(s));
    say("data", "%s", all(q, 9, 4096));
    ASK("variable", cudaStreamAttachMemAsync(s, &variable, 0, cudaMemAttachGlobal));
    ASK("end", cudaDeviceSynchronize());
}

static void variables(void)
{
    say("first", "%d %d %g", variable, array[999], another);
    use_variables<<<1, 1>>>();
    ASK("sync", cudaDeviceSynchronize());
    say("then", "%d %d %g", variable, array[999], another);
    void *a = NULL;
    size_t n = 0;
    ASKV("address", cudaGetSymbolAddress(&a, variable), "%d", a == &variable);
    ASKV("address2", cudaGetSymbolAddress(&a, array), "%d", a == array);
    ASKV("size", cudaGetSymbolSize(&n, array), "%zu", n);
    ASKV("size2", cudaGetSymbolSize(&n, another), "%zu", n);
    int v = 7;
    ASKV("from", cudaMemcpyFromSymbol(&v, variable, 4), "%d", v);
    v = 70;
    ASK("to", cudaMemcpyToSymbol(variable, &v, 4));
    say("variable", "%d", variable);
    ASK("memset", cudaMemset(array, 0, sizeof array));
    ASK("sync2", cudaDeviceSynchronize());
    say("array", "%d", array[999]);
    struct cudaPointerAttributes known;
    memset(&known, 0, sizeof known);
    ASKV("attributes", cudaPointerGetAttributes(&known, &variable), "%d %d", known.type, known.device);
    show_range("range", array, sizeof array);
    ASK("advise", cudaMemAdvise(array, sizeof array, cudaMemAdviseSetPreferredLocation, ON_DEVICE));
    show_range("advised", array, sizeof array);
    ASK("prefetch", cudaMemPrefetchAsync(array, sizeof array, ON_DEVICE, 0, 0));
    ASK("sync3", cudaDeviceSynchronize());
    show_range("prefetched", array, sizeof array);
    ASK("memcpy", cudaMemcpy(&v, &variable, 4, cudaMemcpyDefault));
    ASK("free", cudaFree(array));
}

static void variables_host_first(void)
{
    variable = 100;
    array[999] = 5;
    say("host", "%d %d", variable, array[999]);
    use_variables<<<1, 1>>>();
    ASK("sync", cudaDeviceSynchronize());
    say("then", "%d %d %g", variable, array[999], another);
}

static void system_memory(void)
{
    int pageable = -1;
    MUST(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, 0));
    say("pageable", "%d", pageable);
    if (!pageable) return;
    unsigned char *m = (unsigned char *)malloc(100000), stack[1000];
    static unsigned char data[5000];
    memset(m, 1, 100000);
    memset(stack, 1, sizeof stack);
    memset(data, 1, sizeof data);
    add<<<4, 64>>>(m, 100000, 2);
    ASK("heap", cudaDeviceSynchronize());
    say("heap.data", "%s", all(m, 3, 100000));
    add<<<4, 64>>>(stack, sizeof stack, 2);
    ASK("stack", cudaDeviceSynchronize());
    say("stack.data", "%s", all(stack, 3, sizeof stack));
    add<<<4, 64>>>(data, sizeof data, 2);
    ASK("static", cudaDeviceSynchronize());
    say("static.data", "%s", all(data, 3, sizeof data));
    ASK("memset", cudaMemset(m, 7, 100000));
    ASK("sync", cudaDeviceSynchronize());
    say("memset.data", "%s", all(m, 7, 100000));
}

static void moves(void)
{
    begin();
    for (int round = 0; round < 3; round++) {
        memset(p, round, size);
        add<<<16, 128, 0, s>>>(p, size, 10);
        ASK(keyf("kernel%d", round), cudaStreamSynchronize(s));
        say(keyf("data%d", round), "%s", all(p, round + 10, size));
    }
    ASK("copy", cudaMemcpy(p, p + size / 2, size / 2, cudaMemcpyDefault));
    ASK("memset", cudaMemset(p, 3, size));
    ASK("sync", cudaDeviceSynchronize());
    say("data", "%s", all(p, 3, size));
    MUST(cudaMemAdvise(p, size, cudaMemAdviseSetReadMostly, ON_DEVICE));
    MUST(cudaMemPrefetchAsync(p, size, ON_DEVICE, 0, s));
    MUST(cudaStreamSynchronize(s));
    say("duplicated", "%s", all(p, 3, size));
    p[100] = 9;
    say("written", "%s", all_on_device(p + 100, 9, 1));
    ASK("free", cudaFree(p));
}

const struct group groups[] = {
    GROUP(advice),        GROUP(advice_ranges), GROUP(prefetches), GROUP(range_errors),
    GROUP(discards),      GROUP(attachment),    GROUP(variables),  GROUP(variables_host_first),
    GROUP(system_memory), GROUP(moves),         LAST_GROUP,
};
