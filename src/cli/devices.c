/* faultline devices: the devices and attributes that a program will see. Asks
 * the library through its public interface, as any program would. */
#include "cli/cli.h"
#include "cli/machine.h"
#include <cuda.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: faultline devices [OPTION...]\n"
    MACHINE_USAGE
    "Shows what a program sees of the simulated machine if `faultline run` is given these options, or if the variables\n"
    "behind them are set. CUDA_VISIBLE_DEVICES says which of its devices there are for the program.\n";

static const struct option options[] = { MACHINE_OPTIONS, { "help", no_argument, NULL, 'h' }, { 0 } };

#define STRING_(x) #x
#define STRING(x) STRING_(x)
/* name is expanded first: cuDeviceTotalMem is looked up as cuDeviceTotalMem_v2. */
#define ENTRY_POINT(name) ((__typeof__(&name))find(STRING(name)))

static void *library;

static void *find(const char *symbol) { return dlsym(library, symbol); }

enum unit { COUNT, KIB, MIB, KHZ, YES_NO };

static const struct {
    CUdevice_attribute attribute;
    enum unit unit;
    const char *text;
} lines[] = {
    { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, COUNT, "multiprocessors" },
    { CU_DEVICE_ATTRIBUTE_CLOCK_RATE, KHZ, "clock" },
    { CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, KHZ, "memory clock" },
    { CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, COUNT, "memory bus width (bits)" },
    { CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, MIB, "L2 cache" },
    { CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, KIB, "constant memory" },
    { CU_DEVICE_ATTRIBUTE_WARP_SIZE, COUNT, "threads of a warp" },
    { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, COUNT, "threads of a block, at most" },
    { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, COUNT, "threads of a multiprocessor" },
    { CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, COUNT, "registers of a block" },
    { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, KIB, "shared memory of a block" },
    { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, KIB, "the same, after opting in" },
    { CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, COUNT, "copy engines" },
    { CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, YES_NO, "concurrent kernels" },
    { CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, YES_NO, "cooperative launch" },
    { CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, YES_NO, "unified addressing" },
    { CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, YES_NO, "managed memory" },
    { CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, YES_NO, "concurrent managed access" },
    { CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, YES_NO, "the host reaches it on devices" },
    { CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, YES_NO, "pageable memory access" },
    { CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, YES_NO, "by the host's page tables" },
    { CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, YES_NO, "virtual memory management" },
    { CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, YES_NO, "memory pools" },
};

static void print_line(const char *text, enum unit unit, int value)
{
    printf("  %-32s", text);
    switch (unit) {
    case COUNT: printf("%d\n", value); break;
    case KIB: printf("%d KiB\n", value >> 10); break;
    case MIB: printf("%d MiB\n", value >> 20); break;
    case KHZ: printf("%d MHz\n", value / 1000); break;
    case YES_NO: puts(value ? "yes" : "no"); break;
    }
}

static CUresult print_uuid(CUdevice dev)
{
    CUuuid u;
    CUresult r = ENTRY_POINT(cuDeviceGetUuid_v2)(&u, dev);
    if (r) return r;
    printf("  %-32sGPU", "UUID");
    for (unsigned k = 0; k < sizeof u.bytes; k++)
        printf("%s%02x", k == 0 || (k >= 4 && k <= 10 && k % 2 == 0) ? "-" : "", (unsigned char)u.bytes[k]);
    putchar('\n');
    return r;
}

static CUresult print_device(CUdevice dev, int count)
{
    char name[256], bus[32];
    size_t memory;
    int major, minor;
    CUresult r;
    if ((r = ENTRY_POINT(cuDeviceGetName)(name, sizeof name, dev)) ||
        (r = ENTRY_POINT(cuDeviceTotalMem)(&memory, dev)) ||
        (r = ENTRY_POINT(cuDeviceGetPCIBusId)(bus, sizeof bus, dev)) ||
        (r = ENTRY_POINT(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev)) ||
        (r = ENTRY_POINT(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev)))
        return r;
    printf("device %d: %s\n", dev, name);
    printf("  %-32s%d.%d\n  %-32s%.1f GiB\n  %-32s%s\n", "compute capability", major, minor, "memory",
           (double)memory / (1ull << 30), "PCI address", bus);
    if ((r = print_uuid(dev))) return r;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        int value;
        if ((r = ENTRY_POINT(cuDeviceGetAttribute)(&value, lines[i].attribute, dev))) return r;
        print_line(lines[i].text, lines[i].unit, value);
    }
    if (count > 1) printf("  %-32s", "peers");
    for (CUdevice peer = 0; count > 1 && peer < count; peer++) {
        int can = 0;
        if (peer != dev && (r = ENTRY_POINT(cuDeviceCanAccessPeer)(&can, dev, peer))) return r;
        if (can) printf("%d ", peer);
    }
    if (count > 1) putchar('\n');
    return CUDA_SUCCESS;
}

static CUresult print_machine(void)
{
    int version, count;
    CUresult r;
    if ((r = ENTRY_POINT(cuInit)(0)) || (r = ENTRY_POINT(cuDriverGetVersion)(&version)) ||
        (r = ENTRY_POINT(cuDeviceGetCount)(&count)))
        return r;
    printf("CUDA driver API %d.%d, %d simulated device%s\n", version / 1000, version % 1000 / 10, count,
           count == 1 ? "" : "s");
    for (CUdevice dev = 0; !r && dev < count; dev++) r = print_device(dev, count);
    return r;
}

int command_devices(int argc, char **argv)
{
    char path[PATH_MAX + 16];
    int c;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "+h", options, NULL)) != -1 && machine_option(c, optarg)) continue;
    if (c != -1 || optind < argc) {
        fputs(usage, c == 'h' ? stdout : stderr);
        return c == 'h' ? 0 : 2;
    }
    const char *folder = library_folder();
    if (!folder) return EXIT_CANNOT_RUN;
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    library = dlopen(path, RTLD_NOW);
    if (!library) {
        complain("cannot load %s", dlerror());
        return EXIT_CANNOT_RUN;
    }
    CUresult r = print_machine();
    if (!r) return 0;
    const char *name = NULL;
    ENTRY_POINT(cuGetErrorName)(r, &name);
    complain("the library answered %s", name ? name : "an unknown error");
    return 1;
}
