/* faultline run: a program loads objects with a runtime in them or that are one, each of which is led to ours of its version.
 * usage: both-runtimes LIBRARY VERSION... */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int k = 1; k + 1 < argc; k += 2) {
        void *library = dlopen(argv[k], RTLD_NOW);
        int (*inside)(void) = library ? (int (*)(void))dlsym(library, "runtime_inside") : NULL;
        if (!inside) return fprintf(stderr, "%s\n", dlerror()), 1;
        int version = inside();
        if (version != atoi(argv[k + 1])) return fprintf(stderr, "%s: version %d\n", argv[k], version), 1;
    }
    return 0;
}
