/* A program that loads a CUPTI from where it knows one. usage, under faultline run: cupti LIBRARY, a stand-in. */
#include "../check.h"

#include <cupti_result.h>
#include <dlfcn.h>

int main(int argc, char **argv)
{
    unsigned number = 0;
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) check_failed("the library", dlerror(), __FILE__, __LINE__);
    int (*version)(unsigned *) = (int (*)(unsigned *))dlsym(library, "cuptiGetVersion");
    int (*later)(int) = (int (*)(int))dlsym(library, "cuptiOfALaterVersion");
    int (*twice)(int) = (int (*)(int))dlsym(library, "twiceByCupti");
    EXPECT(version && later && twice);
    EXPECT_EQUAL(version(&number), CUPTI_SUCCESS);
    EXPECT(number > 0);
    EXPECT_EQUAL(later(1), CUPTI_ERROR_NOT_SUPPORTED);
    EXPECT_EQUAL(twice(4), 8);
    return 0;
}
