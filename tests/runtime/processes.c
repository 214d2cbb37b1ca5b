/* Two processes of the runtime: memory, an event and a pool of the one in the other. */
#include "../players.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

enum { BYTES = 1 << 20 };

/* The runtime's codes have the driver's numbers and names. */
#define WELL(call) CHECK((CUresult)(call))

static unsigned char byte_at(const char *p)
{
    unsigned char byte;
    WELL(cudaMemcpy(&byte, p, 1, cudaMemcpyDeviceToHost));
    return byte;
}

static void memory_exporter(int s)
{
    char *p;
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t handle;
    cudaEvent_t filled;
    WELL(cudaMalloc((void **)&p, BYTES));
    WELL(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming | cudaEventInterprocess));
    WELL(cudaIpcGetMemHandle(&memory, p));
    WELL(cudaIpcGetEventHandle(&handle, filled));
    WELL(cudaMemsetAsync(p, 5, BYTES, NULL));
    WELL(cudaEventRecord(filled, NULL));
    tell(s, &memory, sizeof memory);
    tell(s, &handle, sizeof handle);
    wait_other(s);
    EXPECT_EQUAL(byte_at(p + BYTES - 1), 6);
    WELL(cudaFree(p));
}

static void memory_importer(int s)
{
    char *p;
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t handle;
    cudaEvent_t filled;
    hear(s, &memory, sizeof memory);
    hear(s, &handle, sizeof handle);
    WELL(cudaIpcOpenEventHandle(&filled, handle));
    WELL(cudaIpcOpenMemHandle((void **)&p, memory, cudaIpcMemLazyEnablePeerAccess));
    WELL(cudaStreamWaitEvent(NULL, filled, 0));
    EXPECT_EQUAL(byte_at(p), 5);
    WELL(cudaMemset(p + BYTES - 1, 6, 1));
    WELL(cudaDeviceSynchronize());
    WELL(cudaIpcCloseMemHandle(p));
    EXPECT_EQUAL(cudaIpcCloseMemHandle(p), cudaErrorInvalidValue);
    WELL(cudaEventDestroy(filled));
    signal_other(s);
}

static void memory_and_an_event_of_another_process(void **state)
{
    (void)state;
    play(memory_exporter, ENDS_WELL, memory_importer, ENDS_WELL);
}

static void pool_exporter(int s)
{
    const struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned,
                                            .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                            .location = { cudaMemLocationTypeDevice, 0 } };
    struct cudaMemPoolPtrExportData data;
    cudaMemPool_t pool;
    char *p;
    int fd;
    WELL(cudaMemPoolCreate(&pool, &props));
    WELL(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    hand_over(s, fd);
    WELL(cudaMallocFromPoolAsync((void **)&p, BYTES, pool, NULL));
    WELL(cudaMemsetAsync(p, 8, BYTES, NULL));
    WELL(cudaStreamSynchronize(NULL));
    WELL(cudaMemPoolExportPointer(&data, p));
    tell(s, &data, sizeof data);
    wait_other(s);
    EXPECT_EQUAL(byte_at(p), 9);
    WELL(cudaFreeAsync(p, NULL));
    WELL(cudaMemPoolDestroy(pool));
}

static void pool_importer(int s)
{
    struct cudaMemPoolPtrExportData data;
    cudaMemPool_t pool;
    char *p;
    int fd = take_over(s);
    WELL(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, cudaMemHandleTypePosixFileDescriptor, 0));
    close(fd);
    hear(s, &data, sizeof data);
    WELL(cudaMemPoolImportPointer((void **)&p, pool, &data));
    EXPECT_EQUAL(byte_at(p + BYTES - 1), 8);
    WELL(cudaMemset(p, 9, 1));
    WELL(cudaDeviceSynchronize());
    WELL(cudaFreeAsync(p, NULL));
    WELL(cudaStreamSynchronize(NULL));
    WELL(cudaMemPoolDestroy(pool));
    signal_other(s);
}

static void memory_of_another_processs_pool(void **state)
{
    (void)state;
    play(pool_exporter, ENDS_WELL, pool_importer, ENDS_WELL);
}

/* ---- devices that they see (CUDA_VISIBLE_DEVICES) */

static void sees_none(int s)
{
    int count = 7;
    void *p;
    (void)s;
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    EXPECT_EQUAL(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    EXPECT_EQUAL(count, 0);
    EXPECT_EQUAL(cudaMalloc(&p, 16), cudaErrorNoDevice);
    EXPECT_EQUAL(cudaSetDevice(0), cudaErrorNoDevice);
}

static void sees_the_third_and_the_first(int s)
{
    struct cudaDeviceProp first, second;
    int count, found;
    char bus[16];
    (void)s;
    setenv("FAULTLINE_DEVICES", "3", 1);
    setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
    EXPECT_EQUAL(cudaGetDeviceCount(&count), cudaSuccess);
    EXPECT_EQUAL(count, 2);
    EXPECT_EQUAL(cudaGetDeviceProperties(&first, 0), cudaSuccess);
    EXPECT_EQUAL(cudaGetDeviceProperties(&second, 1), cudaSuccess);
    EXPECT_EQUAL(first.pciBusID, second.pciBusID + 2);
    EXPECT(memcmp(&first.uuid, &second.uuid, sizeof first.uuid));
    EXPECT_EQUAL(cudaDeviceGetPCIBusId(bus, sizeof bus, 0), cudaSuccess);
    EXPECT_EQUAL(cudaDeviceGetByPCIBusId(&found, bus), cudaSuccess);
    EXPECT_EQUAL(found, 0);
    EXPECT_EQUAL(cudaSetDevice(2), cudaErrorInvalidDevice);
}

static void a_list_says_which_devices_there_are(void **state)
{
    (void)state;
    play_alone(sees_none);
    play_alone(sees_the_third_and_the_first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_and_an_event_of_another_process),
        cmocka_unit_test(memory_of_another_processs_pool),
        cmocka_unit_test(a_list_says_which_devices_there_are),
    };
    return cmocka_run_group_tests_name("two processes of the runtime", tests, NULL, NULL);
}
