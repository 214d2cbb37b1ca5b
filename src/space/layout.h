/* Addresses of the simulated machine. They are left free by the loader, by the
 * kernel's own choice of addresses and by sanitizers:
 *   reserve    64 TiB  cuMemAddressReserve
 *   import     memory of other processes
 *   (PROCESSOR_PRIVATE, processor.h: device processes' own)
 *   window     a stride of `span` for each device, one for pinned host memory, one for code
 *   managed    after them */
#ifndef FL_SPACE_LAYOUT_H
#define FL_SPACE_LAYOUT_H

#include <stdint.h>

struct space_layout {
    uint64_t reserve, reserve_end;
    uint64_t import, import_end;
    uint64_t window;
    uint64_t span; /* addresses that a device's memory may take */
    uint64_t host_base;
    uint64_t code_base;
    uint64_t managed, managed_end;
};

/* Until layout_choose: what suits most programs. Constant from then on. */
extern struct space_layout space_layout;

/* What suits this process. Once, before anything has an address. */
void layout_choose(void);

#endif
