/* Addresses of the simulated machine. They are left free by the loader, by the
 * kernel's own choice of addresses and, in each case, by the sanitizer:
 *   RESERVE    64 TiB  cuMemAddressReserve
 *   IMPORT     memory of other processes
 *   (PROCESSOR_PRIVATE, processor.h: device processes' own)
 *   WINDOW     a stride of VRAM_SPAN for each device, one for pinned host memory, one for code
 *   MANAGED    after them */
#ifndef FL_SPACE_LAYOUT_H
#define FL_SPACE_LAYOUT_H

#include "context/context.h"
#include "space/vram.h"

#ifdef __SANITIZE_THREAD__
#define IMPORT 0x0800000000ul
#define IMPORT_END 0x1000000000ul
#define WINDOW 0x1000000000ul
#define MANAGED_STRIDES 2
#define RESERVE 0x7400000000ul
#define RESERVE_END 0x7f00000000ul
#else
#define IMPORT 0x501000000000ul
#define IMPORT_END 0x510000000000ul
#define WINDOW 0x570000000000ul
#define MANAGED_STRIDES 4
#define RESERVE 0x100100000000ul
#define RESERVE_END 0x500100000000ul
#endif
#define HOST_BASE (WINDOW + MAX_DEVICES * VRAM_SPAN)
#define CODE_BASE (HOST_BASE + VRAM_SPAN)
#define MANAGED (CODE_BASE + VRAM_SPAN)
#define MANAGED_END (MANAGED + MANAGED_STRIDES * VRAM_SPAN)

#endif
