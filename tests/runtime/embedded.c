/* A program that knows nothing of CUDA loads a shared object that nvcc made, and again after closing it.
 * usage: embedded-loader LIBRARY */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int times = 0; times < 3; times++) {
        void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
        int (*sum)(int) = library ? (int (*)(int))dlsym(library, "sum_below") : NULL;
        int (*calls)(void) = library ? (int (*)(void))dlsym(library, "calls") : NULL;
        if (!sum || !calls) return fprintf(stderr, "%s\n", dlerror()), 1;
        int result = sum(1000), called = calls();
        if (result != 499500 || called != 1) return fprintf(stderr, "the sum is %d, calls: %d\n", result, called), 1;
        if (dlclose(library)) return fprintf(stderr, "%s\n", dlerror()), 1;
    }
    return 0;
}
