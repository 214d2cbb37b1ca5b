/* Two devices: whose memory is whose, access between them, copies without it. */
#include "runtime_rig.h"

enum { BYTES = 4096 };

static void access_is_enabled_once_and_in_one_direction(void **state)
{
    (void)state;
    int can;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    assert_int_equal(can, 1);
    OK(cudaDeviceCanAccessPeer(&can, 1, 1));
    assert_int_equal(can, 0);
    FAILS(cudaDeviceCanAccessPeer(&can, 0, 2), cudaErrorInvalidDevice);
    OK(cudaSetDevice(0));
    FAILS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    FAILS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    FAILS(cudaDeviceEnablePeerAccess(2, 0), cudaErrorInvalidDevice);
    OK(cudaSetDevice(1));
    FAILS(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
    OK(cudaSetDevice(0));
    OK(cudaDeviceDisablePeerAccess(1));
}

static void copies_between_devices_need_no_access(void **state)
{
    (void)state;
    static char bytes[BYTES], back[BYTES];
    void *on[2];
    struct cudaPointerAttributes a;
    memset(bytes, 7, sizeof bytes);
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        OK(cudaMalloc(&on[device], BYTES));
        OK(cudaPointerGetAttributes(&a, on[device]));
        assert_int_equal(a.device, device);
    }
    OK(cudaMemcpy(on[0], bytes, BYTES, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(on[1], 1, on[0], 0, BYTES));
    OK(cudaMemcpy(back, on[1], BYTES, cudaMemcpyDefault));
    assert_memory_equal(back, bytes, BYTES);
    OK(cudaMemset(on[1], 3, BYTES));
    const struct cudaMemcpy3DPeerParms box = { .srcPtr = { on[1], 64, 64, 8 },
                                               .srcDevice = 1,
                                               .dstPtr = { on[0], 128, 128, 8 },
                                               .dstDevice = 0,
                                               .extent = { 64, 8, 1 } };
    OK(cudaMemcpy3DPeer(&box));
    OK(cudaMemcpy(back, on[0], BYTES, cudaMemcpyDefault));
    for (int k = 0; k < BYTES; k++) assert_int_equal(back[k], k < 8 * 128 && k % 128 < 64 ? 3 : 7);
    FAILS(cudaMemcpyPeer(on[1], 2, on[0], 0, BYTES), cudaErrorInvalidDevice);
    OK(cudaFree(on[0]));
    OK(cudaFree(on[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_is_enabled_once_and_in_one_direction),
        cmocka_unit_test(copies_between_devices_need_no_access),
    };
    return cmocka_run_group_tests_name("two devices of the runtime", tests, NULL, NULL);
}
