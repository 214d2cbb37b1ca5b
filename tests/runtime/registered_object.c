/* A shared object with a kernel, as nvcc makes one: its constructor and its destructor say so to the runtime. Meanwhile the
 * program does what it likes to. */
#include "runtime/registration.h"

RUNTIME_EXPORT void while_it_is_opened(void) __attribute__((weak));
RUNTIME_EXPORT void while_it_is_closed(void) __attribute__((weak));

static char fatbinary[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry other()\n{\n    ret;\n}\n";
static const char other[1];
static void **handle;

__attribute__((constructor)) static void opened(void)
{
    while_it_is_opened();
    handle = __cudaRegisterFatBinary(fatbinary);
    __cudaRegisterFunction(handle, other, NULL, "other", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor)) static void closed(void)
{
    while_it_is_closed();
    __cudaUnregisterFatBinary(handle);
}
