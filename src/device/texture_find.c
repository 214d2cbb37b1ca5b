/* Handles of textures and surfaces: what they name, and what it is. A handle
 * that names nothing is a fault of the kernel. */
#include "device/texture.h"
#include "device/device.h"
#include "device/rt.h"

void texture_fault(uint32_t t, uint32_t line, const char *text)
{
    fault_raise(FAULT_ILLEGAL_INSTRUCTION, t, line, text);
}

const struct texture *texture_find(uint32_t t, uint32_t line, uint64_t handle, bool surface)
{
    static const struct texture unset;
    if (handle == TEXTURE_UNSET) return &unset;
    uint64_t address = handle & ((1ull << TEXTURE_ADDRESS_BITS) - 1);
    const struct texture *x = (const struct texture *)address;
    if (address % TEXTURE_ROOM || x->self != handle)
        fault_raise(FAULT_ADDRESS, t, line,
                    surface ? "the handle is no surface object's" : "the handle is no texture object's");
    if (x->surface != surface)
        texture_fault(t, line,
                      surface ? "a texture object where a surface object is needed"
                              : "a surface object where a texture object is needed");
    return x;
}

void texture_check_shape(uint32_t t, uint32_t line, const struct texture *x, uint32_t what)
{
    bool layered = what & FL_TEXTURE_LAYERED;
    if (x->layered != layered) texture_fault(t, line, "layers are asked for, or there are some, but not both");
    if (x->dimensions > (what & FL_TEXTURE_DIMENSIONS)) texture_fault(t, line, "the object has more dimensions");
}

/* What is flat (a line is a plane of one row) may be read as a plane of the first layer, or by one coordinate in its first
 * row (observed on H200, where all else gives zeros: here it is a mistake). */
void texture_check_sampled(uint32_t t, uint32_t line, const struct texture *x, uint32_t what)
{
    const bool layered = what & FL_TEXTURE_LAYERED, flat = x->dimensions == 2 || (x->dimensions == 1 && !x->layered);
    const unsigned n = what & FL_TEXTURE_DIMENSIONS;
    if (x->cube != !!(what & FL_TEXTURE_CUBE))
        texture_fault(t, line, "a direction is asked for, or the object is a cube, but not both");
    if (x->cube) {
        if (x->layered != layered) texture_fault(t, line, "a cube is asked for where there are several, or the other way");
        if (x->layers % 6) texture_fault(t, line, "the view has not all faces of its cubes");
        return;
    }
    if (x->layered != layered && (!flat || (layered && n == 1)))
        texture_fault(t, line, "layers are asked for, or there are some, but not both");
    if (x->dimensions > n && (!flat || layered || (x->filtered && x->level[0].extent[1] > 1)))
        texture_fault(t, line, "the object has more dimensions");
    if (x->dimensions < n && (!flat || n == 3)) texture_fault(t, line, "the object has fewer dimensions");
}

/* As observed on an H200: a surface has a layer for each face of a cube, a texture for each of several cubes. */
static uint32_t layers_of(const struct texture *x)
{
    if (x->surface) return x->layered || x->cube ? x->layers : 0;
    if (!x->layered) return 0;
    return x->cube ? x->layers / 6 : x->layers;
}

/* Observed on an H200: beyond the levels there is nothing, and of what has fewer dimensions layers are the next one. */
static uint32_t extent_of(const struct texture *x, uint32_t query, uint32_t level)
{
    if (level >= x->levels) return 0;
    const uint32_t *extent = x->level[level].extent;
    switch (query) {
    case FL_TEXTURE_WIDTH: return extent[0];
    case FL_TEXTURE_HEIGHT:
        if (x->dimensions > 1) return extent[1];
        return x->layered ? x->layers : !x->linear && !x->surface;
    default: return x->dimensions == 3 ? extent[2] : x->dimensions == 2 ? layers_of(x) : 0;
    }
}

uint32_t device_texture_query(struct fl_block *b, uint32_t t, uint32_t line, uint64_t handle, uint32_t what)
{
    const bool surface = what & FL_TEXTURE_OF_SURFACE;
    const struct texture *x = texture_find(t, line, handle, surface);
    const uint32_t query = what & (FL_TEXTURE_OF_SURFACE - 1);
    (void)b;
    if (query <= FL_TEXTURE_DEPTH) return extent_of(x, query, surface ? 0 : what >> FL_TEXTURE_OF_LEVEL);
    switch (query) {
    case FL_TEXTURE_LAYERS: return x->layers;
    case FL_TEXTURE_LEVELS: return x->levels;
    default: return x->unit;
    }
}
