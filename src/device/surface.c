/* Surfaces: kernels read and write the bytes of an array's elements. */
#include "device/texture.h"
#include "device/device.h"
#include "device/rt.h"

#include <string.h>

/* Brings v into [0, most]; false: it was outside. */
static bool inside(int32_t *v, uint32_t most)
{
    if (*v >= 0 && (uint32_t)*v <= most) return true;
    *v = *v < 0 ? 0 : (int32_t)most;
    return false;
}

/* Where the access is, after clamping; *outside: that it would have been outside. */
static uint64_t place(const struct texture *x, const int32_t words[4], uint32_t what, uint32_t bytes, bool *outside)
{
    const struct texture_level *l = &x->level[0];
    uint32_t row = l->extent[0] * x->bytes * x->channels, n = what & FL_TEXTURE_DIMENSIONS;
    int32_t at[4] = { words[0], n > 1 ? words[1] : 0, n > 2 ? words[2] : 0, what & FL_TEXTURE_LAYERED ? words[3] : 0 };
    bool good = inside(&at[0], row - bytes);
    good &= inside(&at[1], l->extent[1] - 1);
    good &= inside(&at[2], l->extent[2] - 1);
    good &= inside(&at[3], x->layers - 1);
    *outside = !good;
    return l->base + (uint64_t)(at[2] + at[3]) * l->slice + (uint64_t)at[1] * l->pitch + (uint64_t)at[0];
}

void device_surface(struct fl_block *b, uint32_t t, uint32_t line, uint64_t handle, void *words, uint32_t what)
{
    const struct texture *x = texture_find(t, line, handle, true);
    uint32_t bytes = what >> FL_SURFACE_BYTES;
    int32_t at[4];
    char *data = (char *)words + 16;
    bool outside;
    (void)b;
    if (!x->levels) {
        memset(data, 0, bytes);
        return;
    }
    memcpy(at, words, sizeof at);
    texture_check_shape(t, line, x, what);
    if (x->level[0].extent[0] * x->bytes * x->channels < bytes)
        texture_fault(t, line, "the access is larger than the surface");
    if (at[0] & (int32_t)(bytes - 1)) fault_raise(FAULT_MISALIGNED, t, line, NULL);
    void *element = (void *)place(x, at, what, bytes, &outside);
    if (outside && !(what & (FL_SURFACE_CLAMP | FL_SURFACE_ZERO)))
        fault_raise(FAULT_ADDRESS, t, line, "an access outside the surface"); /* observed on H200 */
    if (what & FL_SURFACE_STORE) {
        if (!outside || what & FL_SURFACE_CLAMP) memcpy(element, data, bytes);
    } else if (outside && what & FL_SURFACE_ZERO) {
        memset(data, 0, bytes);
    } else {
        memcpy(data, element, bytes);
    }
}
