/* What kernels find behind a texture or surface handle. The host writes it
 * (src/api/texture_table.c) into memory that kernels can read; the device
 * process samples by it (src/device/texture.c, surface.c). */
#ifndef FL_PROCESSOR_TEXTURE_H
#define FL_PROCESSOR_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

/* A handle: its descriptor's address, and above that a number that tells it from earlier ones there. */
enum { TEXTURE_ADDRESS_BITS = 48, TEXTURE_ROOM = 1024 /* bytes, aligned */, TEXTURE_LEVELS = 20 };

enum texture_number { TEXTURE_UNSIGNED, TEXTURE_SIGNED, TEXTURE_FLOAT };
/* As CUaddress_mode. */
enum texture_address { TEXTURE_WRAP, TEXTURE_CLAMP, TEXTURE_MIRROR, TEXTURE_BORDER };

/* Instead of a handle: that of a reference for which nothing is set. It reads as zeros. */
enum { TEXTURE_UNSET = 1 };

struct texture_level {
    uint64_t base, pitch, slice; /* slice: bytes from one layer, or depth, to the next */
    uint32_t extent[3];          /* elements, at least 1 */
};
struct texture {
    uint64_t self; /* the handle; anything else: there is none */
    bool surface;
    bool linear; /* plain memory: elements by number only */
    bool layered;
    bool cube;              /* every 6 layers are the faces of one */
    bool normalised;        /* elements are read as floating-point numbers up to 1 */
    bool unit;              /* coordinates go from 0 to 1 */
    bool filtered, blended; /* linearly: between elements, between levels */
    bool anisotropic;
    bool named;             /* an array's, by a reference: no bias but to a level that is told, no numbers of elements */
    uint8_t dimensions;
    uint8_t number, bytes, channels; /* an element's: enum texture_number, bytes of a channel */
    uint8_t address[3];              /* enum texture_address */
    uint32_t layers, levels;
    float border[4];
    float bias, least, most; /* level of detail */
    struct texture_level level[TEXTURE_LEVELS];
};
_Static_assert(sizeof(struct texture) <= TEXTURE_ROOM, "a texture fits its room");

#endif
