/* A program that asks NVRTC for machine code and loads that. usage, under faultline run: nvrtc LIBRARY, a stand-in for
 * NVRTC. Compiled with -DLINKED it is linked with that. */
#include "twice.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct nvrtc {
    int (*ptx_size)(void *, size_t *), (*ptx)(void *, char *), (*cubin_size)(void *, size_t *),
        (*cubin)(void *, char *);
};

#ifdef LINKED
int nvrtcGetPTXSize(void *program, size_t *size);
int nvrtcGetPTX(void *program, char *to);
int nvrtcGetCUBINSize(void *program, size_t *size);
int nvrtcGetCUBIN(void *program, char *to);

static struct nvrtc find(char **argv)
{
    (void)argv;
    return (struct nvrtc){ nvrtcGetPTXSize, nvrtcGetPTX, nvrtcGetCUBINSize, nvrtcGetCUBIN };
}
#else
static struct nvrtc find(char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) check_failed(argv[1], dlerror(), __FILE__, __LINE__);
    return (struct nvrtc){
        (int (*)(void *, size_t *))dlsym(library, "nvrtcGetPTXSize"),
        (int (*)(void *, char *))dlsym(library, "nvrtcGetPTX"),
        (int (*)(void *, size_t *))dlsym(library, "nvrtcGetCUBINSize"),
        (int (*)(void *, char *))dlsym(library, "nvrtcGetCUBIN"),
    };
}
#endif

int main(int argc, char **argv)
{
    int program = argc;
    char ptx[1024], cubin[1024];
    size_t ptx_size, cubin_size;
    struct nvrtc n = find(argv);
    EXPECT_EQUAL(n.ptx_size(&program, &ptx_size), 0);
    EXPECT_EQUAL(n.cubin_size(&program, &cubin_size), 0);
    EXPECT_EQUAL(cubin_size, ptx_size);
    EXPECT_EQUAL(n.ptx(&program, ptx), 0);
    EXPECT_EQUAL(n.cubin(&program, cubin), 0);
    /* who asks for PTX gets that of NVRTC, of which the driver says that it is too new */
    EXPECT(strstr(ptx, "\n.version 9.2\n") && strstr(cubin, "\n.version\t9.0\n"));
    EXPECT_EQUAL(n.cubin_size(NULL, &cubin_size), 4);
    EXPECT_EQUAL(n.cubin(NULL, cubin), 4);
    EXPECT_EQUAL(n.cubin(&program, NULL), 3);
    use_device();
    run_twice(cubin);
    return 0;
}
