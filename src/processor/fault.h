/* What a kernel did wrong, as the device process reports it to the host. */
#ifndef FL_PROCESSOR_FAULT_H
#define FL_PROCESSOR_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_NONE, FAULT_ADDRESS, FAULT_MISALIGNED, FAULT_TRAP, FAULT_ASSERT, FAULT_STACK, FAULT_ILLEGAL_INSTRUCTION,
    FAULT_RESOURCES,               /* the launch could not be given what it needs */
};
struct fault {
    enum fault_kind kind;
    char kernel[256];
    uint32_t block[3], thread[3];
    bool thread_known;
    uint32_t line;                 /* in the PTX, 0 unknown */
    char source[256];              /* "file:line" of what the PTX was made from, or nothing */
    uint64_t address;
    bool write, address_known;
    char space[16];                /* "global", "shared", "local" */
    char text[512];                /* an assertion's message */
};

#endif
