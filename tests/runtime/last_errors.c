/* The runtime's last error is that of the runtime which an object has in it, or shares with others. Under faultline run.
 * usage: last-errors LIBRARY, which has one in it */
#include "../check.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) check_failed("the library", dlerror(), __FILE__, __LINE__);
    int (*set_device)(int) = (int (*)(int))dlsym(library, "inside_set_device");
    int (*get_last)(void) = (int (*)(void))dlsym(library, "inside_get_last");
    int (*peek)(void) = (int (*)(void))dlsym(library, "inside_peek_at_last");
    EXPECT(set_device && get_last && peek);

    EXPECT_EQUAL(set_device(99), cudaErrorInvalidDevice);
    EXPECT_EQUAL(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_EQUAL(cudaGetLastError(), cudaSuccess);
    EXPECT_EQUAL(peek(), cudaErrorInvalidDevice);
    EXPECT_EQUAL(get_last(), cudaErrorInvalidDevice);
    EXPECT_EQUAL(get_last(), cudaSuccess);

    EXPECT_EQUAL(cudaSetDevice(99), cudaErrorInvalidDevice);
    EXPECT_EQUAL(get_last(), cudaSuccess);
    EXPECT_EQUAL(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT_EQUAL(cudaGetLastError(), cudaSuccess);
    return 0;
}
