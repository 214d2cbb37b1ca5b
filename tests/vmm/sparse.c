/* Sparse arrays against a model of them: boxes of tiles and mip tails mapped,
 * unmapped and aliased at random, copies of random boxes to and from them, for
 * every element size, flat, deep, layered and mipmapped. usage: sparse [ROUNDS [SEED]] */
#include "rig.h"

#include <string.h>

enum { SLOTS = 96, TAILS = 4, TAIL_MOST = 64 * TILE, LEVELS = 12, LAYERS = 3 };

struct shape {
    CUarray_format format;
    unsigned channels, element;
    size_t width, height, depth;
    bool layered;
    unsigned levels; /* 0: not mipmapped */
};
static struct device device;
static struct shape shape;
static CUDA_ARRAY_SPARSE_PROPERTIES properties;
static CUarray array, level_array[LEVELS];
static CUmipmappedArray mipmap;
static unsigned levels, layers;
static bool volume;
static CUstream stream;
static CUmemGenericAllocationHandle tile_pool, tail_pool;

/* The model: what each tile shows, and what is in each place of the pools. */
static int *shown[LEVELS];     /* by tile: slot, or -1 */
static int tail_shown[LAYERS]; /* by layer: place in the tail pool, or -1 */
static unsigned char slot[SLOTS][TILE], *tail[TAILS][LEVELS];

static size_t most(size_t a, size_t b) { return a > b ? a : b; }
static size_t width(unsigned l) { return most(shape.width >> l, 1); }
static size_t height(unsigned l) { return most(shape.height >> l, 1); }
static size_t depth(unsigned l) { return volume ? most(shape.depth >> l, 1) : layers; }
static size_t tiles(size_t extent, unsigned tile) { return (extent + tile - 1) / tile; }
static unsigned tail_level(void) { return properties.miptailSize ? properties.miptailFirstLevel : levels; }
static bool single(void) { return properties.flags & CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL; }

static size_t tile_index(unsigned l, size_t tx, size_t ty, size_t z)
{
    size_t deep = volume ? z / properties.tileExtent.depth : z;
    return (deep * tiles(height(l), properties.tileExtent.height) + ty) * tiles(width(l), properties.tileExtent.width) +
           tx;
}

/* Where the model keeps an element, or NULL. */
static unsigned char *element(unsigned l, size_t x, size_t y, size_t z)
{
    unsigned w = properties.tileExtent.width, h = properties.tileExtent.height, d = properties.tileExtent.depth;
    if (l >= tail_level()) {
        int place = tail_shown[volume || single() ? 0 : z];
        size_t layer = volume || single() ? z : 0;
        return place < 0 ? NULL : tail[place][l] + ((layer * height(l) + y) * width(l) + x) * shape.element;
    }
    int s = shown[l][tile_index(l, x / w, y / h, z)];
    return s < 0 ? NULL : slot[s] + (((volume ? z % d : 0) * h + y % h) * w + x % w) * shape.element;
}

/* ---- mapping */

static void submit(CUarrayMapInfo *m, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        m[k].resourceType = shape.levels ? CU_RESOURCE_TYPE_MIPMAPPED_ARRAY : CU_RESOURCE_TYPE_ARRAY;
        if (shape.levels)
            m[k].resource.mipmap = mipmap;
        else
            m[k].resource.array = array;
        m[k].memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
        m[k].deviceBitMask = 1;
    }
    CHECK(cuMemMapArrayAsync(m, count, stream));
}

/* Elements of tiles from the first on: the last one may be cut off where the level ends. */
static unsigned extent(size_t first, size_t count, unsigned tile, size_t whole)
{
    size_t all = count * tile, left = whole - first * tile;
    return (unsigned)(all < left ? all : left);
}

/* A box of tiles of a level, mapped to a run of slots, or unmapped. */
static void change_box(CUarrayMapInfo *m)
{
    unsigned l = draw(tail_level());
    const unsigned *tile = &properties.tileExtent.width;
    size_t count[3] = { tiles(width(l), tile[0]), tiles(height(l), tile[1]), volume ? tiles(depth(l), tile[2]) : 1 };
    size_t first[3], size[3], total = 1;
    unsigned layer = volume ? 0 : draw(layers);
    for (int d = 0; d < 3; d++) {
        first[d] = draw((unsigned)count[d]);
        size[d] = 1 + draw((unsigned)(count[d] - first[d]));
        if (total * size[d] > SLOTS) size[d] = 1;
        total *= size[d];
    }
    int at = draw(3) ? (int)draw((unsigned)(SLOTS - total + 1)) : -1;
    *m = (CUarrayMapInfo){ .subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL };
    m->subresource.sparseLevel.level = l;
    m->subresource.sparseLevel.layer = layer;
    m->subresource.sparseLevel.offsetX = (unsigned)first[0] * tile[0];
    m->subresource.sparseLevel.offsetY = (unsigned)first[1] * tile[1];
    m->subresource.sparseLevel.offsetZ = (unsigned)first[2] * tile[2];
    m->subresource.sparseLevel.extentWidth = extent(first[0], size[0], tile[0], width(l));
    m->subresource.sparseLevel.extentHeight = extent(first[1], size[1], tile[1], height(l));
    m->subresource.sparseLevel.extentDepth = volume ? extent(first[2], size[2], tile[2], depth(l)) : 1;
    m->memOperationType = at < 0 ? CU_MEM_OPERATION_TYPE_UNMAP : CU_MEM_OPERATION_TYPE_MAP;
    if (at >= 0) {
        m->memHandle.memHandle = tile_pool;
        m->offset = (unsigned)at * (uint64_t)TILE;
    }
    for (size_t z = 0; z < size[2]; z++)
        for (size_t y = 0; y < size[1]; y++)
            for (size_t x = 0; x < size[0]; x++)
                shown[l][tile_index(l, first[0] + x, first[1] + y, volume ? (first[2] + z) * tile[2] : layer)] =
                    at < 0 ? -1 : at++;
}

static void change_tail(CUarrayMapInfo *m)
{
    unsigned layer = volume || single() ? 0 : draw(layers);
    int at = draw(3) ? (int)draw(TAILS) : -1;
    *m = (CUarrayMapInfo){ .subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL };
    m->subresource.miptail.layer = layer;
    m->subresource.miptail.size = properties.miptailSize;
    m->memOperationType = at < 0 ? CU_MEM_OPERATION_TYPE_UNMAP : CU_MEM_OPERATION_TYPE_MAP;
    if (at >= 0) {
        m->memHandle.memHandle = tail_pool;
        m->offset = (unsigned)at * (uint64_t)TAIL_MOST;
    }
    tail_shown[layer] = at;
}

static void change(void)
{
    CUarrayMapInfo m[3];
    unsigned count = 1 + draw(3);
    for (unsigned k = 0; k < count; k++)
        if (tail_level() && (tail_level() == levels || draw(4)))
            change_box(&m[k]);
        else
            change_tail(&m[k]);
    submit(m, count);
}

/* ---- copies */

struct box {
    unsigned level;
    size_t x, y, z, width, height, depth;
};

static struct box random_box(void)
{
    struct box b = { .level = draw(levels) };
    b.x = draw((unsigned)width(b.level));
    b.y = draw((unsigned)height(b.level));
    b.z = draw((unsigned)depth(b.level));
    b.width = 1 + draw((unsigned)(width(b.level) - b.x));
    b.height = 1 + draw((unsigned)(height(b.level) - b.y < 90 ? height(b.level) - b.y : 90));
    b.depth = 1 + draw((unsigned)(depth(b.level) - b.z < 5 ? depth(b.level) - b.z : 5));
    return b;
}

static CUarray array_of(unsigned l) { return shape.levels ? level_array[l] : array; }

static void copy(const struct box *b, void *host, CUdeviceptr device, bool to_array)
{
    CUDA_MEMCPY3D c = { .WidthInBytes = b->width * shape.element, .Height = b->height, .Depth = b->depth };
    CUmemorytype type = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    size_t pitch = b->width * shape.element, rows = b->height;
    if (to_array) {
        c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        c.dstArray = array_of(b->level);
        c.dstXInBytes = b->x * shape.element;
        c.dstY = b->y;
        c.dstZ = b->z;
        c.srcMemoryType = type;
        c.srcHost = host;
        c.srcDevice = device;
        c.srcPitch = pitch;
        c.srcHeight = rows;
    } else {
        c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        c.srcArray = array_of(b->level);
        c.srcXInBytes = b->x * shape.element;
        c.srcY = b->y;
        c.srcZ = b->z;
        c.dstMemoryType = type;
        c.dstHost = host;
        c.dstDevice = device;
        c.dstPitch = pitch;
        c.dstHeight = rows;
    }
    CHECK(cuMemcpy3DAsync(&c, stream));
}

/* An array with memory, of just the box's size. */
static CUarray plain_array(const struct box *b)
{
    CUarray a;
    CUDA_ARRAY3D_DESCRIPTOR d = { b->width, b->height, b->depth, shape.format, shape.channels, 0 };
    CHECK(cuArray3DCreate(&a, &d));
    return a;
}

/* The box on the one side, the whole of a plain array on the other; host too, through that array. */
static void copy_by_array(const struct box *b, void *host, bool to_array)
{
    CUarray a = plain_array(b);
    size_t row = b->width * shape.element;
    CUDA_MEMCPY3D c = { .WidthInBytes = row, .Height = b->height, .Depth = b->depth }, h = c;
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    h.srcPitch = h.dstPitch = row;
    h.srcHeight = h.dstHeight = b->height;
    if (to_array) {
        h.srcMemoryType = CU_MEMORYTYPE_HOST;
        h.srcHost = host;
        h.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        h.dstArray = a;
        CHECK(cuMemcpy3DAsync(&h, stream));
        c.srcArray = a;
        c.dstArray = array_of(b->level);
        c.dstXInBytes = b->x * shape.element;
        c.dstY = b->y;
        c.dstZ = b->z;
        CHECK(cuMemcpy3DAsync(&c, stream));
    } else {
        c.dstArray = a;
        c.srcArray = array_of(b->level);
        c.srcXInBytes = b->x * shape.element;
        c.srcY = b->y;
        c.srcZ = b->z;
        CHECK(cuMemcpy3DAsync(&c, stream));
        h.dstMemoryType = CU_MEMORYTYPE_HOST;
        h.dstHost = host;
        h.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        h.srcArray = a;
        CHECK(cuMemcpy3DAsync(&h, stream));
    }
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuArrayDestroy(a));
}

static void write_box(CUdeviceptr buffer)
{
    struct box b = random_box();
    size_t bytes = b.width * b.height * b.depth * shape.element, at = 0;
    unsigned char *data = malloc(bytes);
    for (size_t k = 0; k < bytes; k++) data[k] = (unsigned char)draw(256);
    unsigned way = draw(3);
    if (way == 0) {
        copy_by_array(&b, data, true);
    } else if (way == 1) {
        CHECK(cuMemcpyHtoDAsync(buffer, data, bytes, stream));
        copy(&b, NULL, buffer, true);
    } else {
        copy(&b, data, 0, true);
    }
    /* row by row, as the copy does: aliased tiles take the last of it */
    for (size_t z = 0; z < b.depth; z++)
        for (size_t y = 0; y < b.height; y++)
            for (size_t x = 0; x < b.width; x++, at += shape.element) {
                unsigned char *e = element(b.level, b.x + x, b.y + y, b.z + z);
                if (e) memcpy(e, data + at, shape.element);
            }
    CHECK(cuStreamSynchronize(stream));
    free(data);
}

static void read_box(CUdeviceptr buffer)
{
    static const unsigned char zero[16];
    struct box b = random_box();
    size_t bytes = b.width * b.height * b.depth * shape.element, at = 0;
    unsigned char *data = malloc(bytes);
    memset(data, 0xa5, bytes);
    unsigned way = draw(3);
    if (way == 0) {
        copy_by_array(&b, data, false);
    } else if (way == 1) {
        copy(&b, NULL, buffer, false);
        CHECK(cuMemcpyDtoHAsync(data, buffer, bytes, stream));
    } else {
        copy(&b, data, 0, false);
    }
    CHECK(cuStreamSynchronize(stream));
    for (size_t z = 0; z < b.depth; z++)
        for (size_t y = 0; y < b.height; y++)
            for (size_t x = 0; x < b.width; x++, at += shape.element) {
                const unsigned char *e = element(b.level, b.x + x, b.y + y, b.z + z);
                if (!memcmp(data + at, e ? e : zero, shape.element)) continue;
                fprintf(stderr, "%zux%zux%zu of %u bytes, level %u, element %zu,%zu,%zu is wrong (%s)\n", shape.width,
                        shape.height, shape.depth, shape.element, b.level, b.x + x, b.y + y, b.z + z,
                        e ? "mapped" : "not mapped");
                exit(1);
            }
    free(data);
}

/* ---- one shape */

static void make(void)
{
    CUDA_ARRAY3D_DESCRIPTOR d = { shape.width,    shape.height,
                                  shape.depth,    shape.format,
                                  shape.channels, CUDA_ARRAY3D_SPARSE | (shape.layered ? CUDA_ARRAY3D_LAYERED : 0) };
    volume = shape.depth && !shape.layered;
    layers = shape.layered ? (unsigned)shape.depth : 1;
    levels = shape.levels ? shape.levels : 1;
    if (shape.levels) {
        CHECK(cuMipmappedArrayCreate(&mipmap, &d, shape.levels));
        CHECK(cuMipmappedArrayGetSparseProperties(&properties, mipmap));
        for (unsigned l = 0; l < levels; l++) CHECK(cuMipmappedArrayGetLevel(&level_array[l], mipmap, l));
    } else {
        CHECK(cuArray3DCreate(&array, &d));
        CHECK(cuArrayGetSparseProperties(&properties, array));
    }
    EXPECT(properties.tileExtent.width * properties.tileExtent.height * properties.tileExtent.depth * shape.element ==
           TILE);
    EXPECT(properties.miptailSize <= TAIL_MOST);
    for (unsigned l = 0; l < levels; l++) {
        size_t n =
            tiles(width(l), properties.tileExtent.width) * tiles(height(l), properties.tileExtent.height) * depth(l);
        shown[l] = malloc(n * sizeof **shown);
        for (size_t k = 0; k < n; k++) shown[l][k] = -1;
        for (unsigned t = 0; t < TAILS; t++) tail[t][l] = calloc(width(l) * height(l) * depth(l), shape.element);
    }
    for (unsigned k = 0; k < LAYERS; k++) tail_shown[k] = -1;
    memset(slot, 0, sizeof slot);
}

static void unmake(void)
{
    if (shape.levels)
        CHECK(cuMipmappedArrayDestroy(mipmap));
    else
        CHECK(cuArrayDestroy(array));
    for (unsigned l = 0; l < levels; l++) {
        free(shown[l]);
        for (unsigned t = 0; t < TAILS; t++) free(tail[t][l]);
    }
}

static void random_shape(void)
{
    static const struct {
        CUarray_format format;
        unsigned channels, element;
    } kinds[] = { { CU_AD_FORMAT_UNSIGNED_INT8, 1, 1 },   { CU_AD_FORMAT_HALF, 1, 2 },
                  { CU_AD_FORMAT_FLOAT, 1, 4 },           { CU_AD_FORMAT_SIGNED_INT16, 4, 8 },
                  { CU_AD_FORMAT_UNSIGNED_INT32, 4, 16 }, { CU_AD_FORMAT_UNSIGNED_INT8, 2, 2 } };
    unsigned k = draw(6), dimensions = draw(3);
    shape = (struct shape){ kinds[k].format, kinds[k].channels, kinds[k].element, 0, 0, 0, dimensions == 1, 0 };
    unsigned longest = dimensions == 2 ? 100 : 600;
    shape.width = 1 + draw(longest);
    shape.height = 1 + draw(longest);
    if (dimensions == 1) shape.depth = 1 + draw(LAYERS);
    if (dimensions == 2) shape.depth = 1 + draw(70);
    if (draw(2)) {
        size_t side = most(shape.width, most(shape.height, dimensions == 2 ? shape.depth : 1));
        while (side >> shape.levels) shape.levels++;
        shape.levels = 1 + draw(shape.levels);
    }
}

static void one_shape(CUdeviceptr buffer)
{
    random_shape();
    size_t before = free_memory();
    tile_pool = tile_pool_of(SLOTS * (size_t)TILE);
    tail_pool = tile_pool_of(TAILS * (size_t)TAIL_MOST);
    make();
    for (unsigned k = 0; k < 60; k++) {
        unsigned what = draw(4);
        if (what < 2)
            change();
        else if (what == 2)
            write_box(buffer);
        else
            read_box(buffer);
    }
    bool early = draw(2);
    if (early) CHECK(cuMemRelease(tile_pool)); /* tiles keep it */
    for (unsigned k = 0; k < 10; k++) draw(2) ? write_box(buffer) : read_box(buffer);
    unmake();
    if (!early) CHECK(cuMemRelease(tile_pool));
    CHECK(cuMemRelease(tail_pool));
    EXPECT(free_memory() == before);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 60;
    CUdeviceptr buffer;
    draw_state = argc > 2 ? strtoul(argv[2], NULL, 10) : 20241105;
    device_open(&device, 1);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&buffer, 8 * MIB));
    for (unsigned long k = 0; k < rounds; k++) one_shape(buffer);
    printf("%lu shapes are as their model\n", rounds);
    return 0;
}
