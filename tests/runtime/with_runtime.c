/* An object that NVIDIA's runtime was linked into, as far as can be told: its functions are for nobody else, and what it
 * calls all others begins with libcudart_static_. */
#include <stdlib.h>

#define ENTRY_POINT __attribute__((visibility("hidden"), noipa, aligned(16)))
ENTRY_POINT int cudaSetDevice(int device);
ENTRY_POINT int cudaGetLastError(void);
ENTRY_POINT int cudaPeekAtLastError(void);
__attribute__((visibility("hidden"), noipa)) void libcudart_static_anything(void);

int cudaSetDevice(int device)
{
    libcudart_static_anything();
    return device;
}

int cudaGetLastError(void)
{
    libcudart_static_anything();
    return 0;
}

int cudaPeekAtLastError(void)
{
    libcudart_static_anything();
    return 0;
}

/* Whoever gets here is in the wrong runtime. */
void libcudart_static_anything(void) { abort(); }

#define EXPORT __attribute__((visibility("default")))
EXPORT int inside_set_device(int device);
EXPORT int inside_get_last(void);
EXPORT int inside_peek_at_last(void);

/* Not the last thing that they do: it is them that call. */
static volatile int times;
#define CALLED(call) \
    int answer = call; \
    times++; \
    return answer

int inside_set_device(int device) { CALLED(cudaSetDevice(device)); }
int inside_get_last(void) { CALLED(cudaGetLastError()); }
int inside_peek_at_last(void) { CALLED(cudaPeekAtLastError()); }
