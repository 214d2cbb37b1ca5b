/* Texture and surface objects, and what kernels read and write through them. A program of its own: a device that knows no
 * textures refuses the whole module. */
#include "ask.h"

static __global__ void fetch(cudaTextureObject_t t, float *out, float x, float y) { *out = tex2D<float>(t, x, y); }
static __global__ void surface_add(cudaSurfaceObject_t s, int x, int y)
{
    surf2Dwrite(surf2Dread<float>(s, x * 4, y) + 1.0f, s, x * 4, y);
}

static void textures(void)
{
    cudaArray_t a;
    static float host[64 * 16];
    struct cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    for (int i = 0; i < 64 * 16; i++) host[i] = (float)i;
    MUST(cudaMallocArray(&a, &format, 64, 16, cudaArraySurfaceLoadStore));
    MUST(cudaMemcpy2DToArray(a, 0, 0, host, 256, 256, 16, cudaMemcpyHostToDevice));
    struct cudaResourceDesc r, r2;
    struct cudaTextureDesc d, d2;
    struct cudaResourceViewDesc v2;
    memset(&r, 0, sizeof r);
    memset(&d, 0, sizeof d);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    d.addressMode[0] = d.addressMode[1] = cudaAddressModeClamp;
    d.filterMode = cudaFilterModePoint;
    d.readMode = cudaReadModeElementType;
    cudaTextureObject_t t = 0;
    cudaSurfaceObject_t s = 0;
    float *out, value = -1;
    MUST(cudaMallocManaged((void **)&out, 4));
    ASKV("create", cudaCreateTextureObject(&t, &r, &d, NULL), "%d", t != 0);
    fetch<<<1, 1>>>(t, out, 5.5f, 3.5f);
    ASK("fetch", cudaDeviceSynchronize());
    say("value", "%g", *out);
    fetch<<<1, 1>>>(t, out, 100.5f, -3.5f);
    ASK("fetch clamped", cudaDeviceSynchronize());
    say("clamped", "%g", *out);
    memset(&r2, 0, sizeof r2);
    memset(&d2, 0x55, sizeof d2);
    ASKV("resource", cudaGetTextureObjectResourceDesc(&r2, t), "%d %d", r2.resType, r2.res.array.array == a);
    ASKV("texture", cudaGetTextureObjectTextureDesc(&d2, t), "%d %d %d", d2.addressMode[0], d2.filterMode,
         d2.normalizedCoords);
    ASK("view", cudaGetTextureObjectResourceViewDesc(&v2, t));
    ASK("destroy", cudaDestroyTextureObject(t));
    ASK("destroy 0", cudaDestroyTextureObject(0));
    d.filterMode = cudaFilterModeLinear;
    ASK("linear", cudaCreateTextureObject(&t, &r, &d, NULL));
    fetch<<<1, 1>>>(t, out, 5.25f, 3.5f);
    ASK("fetch linear", cudaDeviceSynchronize());
    say("linear.value", "%g", *out);
    d.normalizedCoords = 1;
    ASK("normalised", cudaCreateTextureObject(&t, &r, &d, NULL));
    fetch<<<1, 1>>>(t, out, 0.5f, 0.5f);
    ASK("fetch normalised", cudaDeviceSynchronize());
    say("normalised.value", "%g", *out);
    d.readMode = cudaReadModeNormalizedFloat;
    ASK("normalised float", cudaCreateTextureObject(&t, &r, &d, NULL));
    RISK("null", cudaCreateTextureObject(NULL, &r, &d, NULL));
    RISK("null resource", cudaCreateTextureObject(&t, NULL, &d, NULL));
    RISK("null texture", cudaCreateTextureObject(&t, &r, NULL, NULL));
    r.res.array.array = NULL;
    ASK("array null", cudaCreateTextureObject(&t, &r, &d, NULL));
    ASK("surface null", cudaCreateSurfaceObject(&s, &r));
    r.resType = (enum cudaResourceType)9;
    ASK("type", cudaCreateTextureObject(&t, &r, &d, NULL));
    memset(&r, 0, sizeof r);
    memset(&d, 0, sizeof d);
    void *p;
    MUST(cudaMalloc(&p, 4096));
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = p;
    r.res.linear.desc = format;
    r.res.linear.sizeInBytes = 4096;
    ASK("from memory", cudaCreateTextureObject(&t, &r, &d, NULL));
    r.res.linear.devPtr = (char *)p + 4;
    ASK("from memory misaligned", cudaCreateTextureObject(&t, &r, &d, NULL));
    r.res.linear.devPtr = NULL;
    ASK("from null", cudaCreateTextureObject(&t, &r, &d, NULL));
    r.resType = cudaResourceTypePitch2D;
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.desc = format;
    r.res.pitch2D.width = 8;
    r.res.pitch2D.height = 4;
    r.res.pitch2D.pitchInBytes = 512;
    ASK("pitched", cudaCreateTextureObject(&t, &r, &d, NULL));
    r.res.pitch2D.pitchInBytes = 36;
    ASK("pitched odd", cudaCreateTextureObject(&t, &r, &d, NULL));
    ASK("surface of memory", cudaCreateSurfaceObject(&s, &r));
    memset(&r, 0, sizeof r);
    r.resType = cudaResourceTypeArray;
    r.res.array.array = a;
    ASKV("surface", cudaCreateSurfaceObject(&s, &r), "%d", s != 0);
    surface_add<<<1, 1>>>(s, 3, 2);
    ASK("surface use", cudaDeviceSynchronize());
    ASKV("surface value", cudaMemcpy2DFromArray(&value, 4, a, 12, 2, 4, 1, cudaMemcpyDeviceToHost), "%g", value);
    ASKV("surface resource", cudaGetSurfaceObjectResourceDesc(&r2, s), "%d", r2.resType);
    ASK("surface destroy", cudaDestroySurfaceObject(s));
    ASK("surface destroy 0", cudaDestroySurfaceObject(0));
    RISK("surface out", cudaCreateSurfaceObject(NULL, &r));
    RISK("surface resource null", cudaCreateSurfaceObject(&s, NULL));
    struct cudaChannelFormatDesc f = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);
    say("channel", "%d %d %d %d %d", f.x, f.y, f.z, f.w, f.f);
    f = cudaCreateChannelDesc<uchar4>();
    say("channel.uchar4", "%d %d %d %d %d", f.x, f.y, f.z, f.w, f.f);
}

const struct group groups[] = {
    GROUP(textures),
    LAST_GROUP,
};
