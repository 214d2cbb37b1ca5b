/* A library that a program loads when it has managed memory already, and that unmaps some. */
#include <sys/mman.h>

int unmap_in_plugin(void *p, size_t size);
__attribute__((visibility("default"))) int unmap_in_plugin(void *p, size_t size) { return munmap(p, size); }
