/* The simulated machine as the environment describes it. */
#include "base/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct profile p;

static int clean(void **state)
{
    (void)state;
    unsetenv("FAULTLINE_DEVICES");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("FAULTLINE_VRAM");
    unsetenv("FAULTLINE_PROFILE");
    return setenv("FAULTLINE_LOG", "off", 1);
}

static void the_default_is_one_h200(void **state)
{
    (void)state;
    assert_int_equal(profile_load(&p), CUDA_SUCCESS);
    assert_int_equal(p.devices, 1);
    assert_int_equal(profile_attribute(&p, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
    assert_int_equal(profile_attribute(&p, CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
    assert_true(p.memory <= 150109880320 && p.memory % (2 << 20) == 0);
}

struct selection {
    const char *list, *shown; /* shown: the devices of four, in order */
};

static void shows(const struct selection *s)
{
    char shown[MAX_DEVICES + 1] = "";
    int order[MAX_DEVICES], seen = 0, count = visible_devices(s->list, 4, order);
    for (int k = 0; k < count; k++) shown[k] = (char)('0' + order[k]);
    if (strcmp(shown, s->shown)) fail_msg("\"%s\" shows \"%s\", not \"%s\"", s->list, shown, s->shown);
    for (int k = 0; k < 4; k++) seen |= 1 << order[k];
    assert_int_equal(seen, 15); /* hidden ones are known, too */
}

static void devices_are_seen_in_the_order_of_the_list(void **state)
{
    static const struct selection lists[] = {
        { NULL, "0123" },   { "0", "0" },          { "3", "3" },        { "0,1", "01" }, { "1,0", "10" },
        { "2,0,3", "203" }, { "3,2,1,0", "3210" }, { " 1 , 0 ", "10" }, { "\t2", "2" },  { "+1,-0", "10" },
    };
    (void)state;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) shows(&lists[k]);
}

static void what_names_no_device_ends_the_list(void **state)
{
    static const struct selection lists[] = {
        { "", "" },           { "-1", "" },
        { "4", "" },          { "NoDevFiles", "" },
        { "0,2,-1,1", "02" }, { "0,4,1", "0" },
        { "1,,2", "1" },      { ",1", "" },
        { "0,one,2", "0" },   { "99999999999999999999,0", "" },
        { "0,7,0", "0" },     { "MIG-1", "" },
        { "0,MIG-1", "0" },   { " ", "" },
        { "1,", "1" },        { "1gpu2,2amp", "12" },
        { "0x1", "0" },
    };
    (void)state;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) shows(&lists[k]);
}

static void who_is_named_twice_is_an_error(void **state)
{
    static const struct selection lists[] = {
        { "0,0", "" }, { "0,1,0", "" }, { "2,1,2,3", "" }, { "0,-0", "" }, { "GPU-0f,GPU-0f61", "" }
    };
    (void)state;
    int order[MAX_DEVICES];
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        shows(&lists[k]);
        assert_int_equal(visible_devices(lists[k].list, 4, order), VISIBLE_TWICE);
    }
}

static void the_beginning_of_a_uuid_names_a_device(void **state)
{
    static const struct selection lists[] = {
        { "GPU-0f61756c-746c-696e-6520-677075000000", "0" },
        { "GPU-2f61756c-746c-696e-6520-677075000000", "2" },
        { "GPU-2f61756c-746c-696e-6520-67707500000", "2" },
        { "GPU-2f61756c-746c-696e-6520-6770750000001", "" },
        { "GPU-2f61756c-746c-696e-6520-677075000001", "" },
        { "GPU-3,GPU-1f6", "31" },
        { "GPU-3, GPU-1f6 ,GPU-0", "310" },
        { "GPU-", "" },
        { "GPU-3,GPU-9,GPU-1", "3" },
        { "GPU-3,1", "3" },
        { "1,GPU-3", "1" },
        { "gpu-3", "" },
    };
    (void)state;
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) shows(&lists[k]);
}

static void the_process_sees_what_the_environment_shows(void **state)
{
    (void)state;
    setenv("FAULTLINE_DEVICES", "4", 1);
    setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
    assert_int_equal(profile_load(&p), CUDA_SUCCESS);
    assert_int_equal(p.installed, 4);
    assert_int_equal(p.devices, 2);
    assert_int_equal(p.order[0], 3);
    assert_int_equal(p.order[1], 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    assert_int_equal(profile_load(&p), CUDA_ERROR_NO_DEVICE);
    setenv("CUDA_VISIBLE_DEVICES", "4", 1);
    assert_int_equal(profile_load(&p), CUDA_ERROR_NO_DEVICE);
}

static void its_memory_is_no_more_than_the_machine_has(void **state)
{
    (void)state;
    assert_int_equal(profile_load(&p), CUDA_SUCCESS);
    assert_true(p.memory <= p.host_memory);
}

static void sizes_have_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = { { "2097152", 2 << 20 }, { "2048K", 2 << 20 }, { "64M", 64 << 20 }, { "3g", 3ull << 30 },
                  { "3GiB", 3ull << 30 }, { "5000K", 4 << 20 }, { "1T", 1ull << 40 } };
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        setenv("FAULTLINE_VRAM", sizes[k].text, 1);
        assert_int_equal(profile_load(&p), CUDA_SUCCESS);
        assert_int_equal(p.memory, sizes[k].bytes);
    }
}

static void a_bad_value_is_an_error(void **state)
{
    static const char *const bad[][2] = { { "VRAM", "1" },
                                          { "VRAM", "-4M" },
                                          { "VRAM", "many" },
                                          { "VRAM", "4M4" },
                                          { "VRAM", "2T" },
                                          { "VRAM", "99999999999999999999" },
                                          { "DEVICES", "0" },
                                          { "DEVICES", "17" },
                                          { "DEVICES", "2x" },
                                          { "DEVICES", "-1" },
                                          { "PROFILE", "/nonexistent/profile.ini" } };
    char name[32];
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        clean(state);
        snprintf(name, sizeof name, "FAULTLINE_%s", bad[k][0]);
        setenv(name, bad[k][1], 1);
        if (profile_load(&p) != CUDA_ERROR_INVALID_VALUE) fail_msg("%s=%s is taken", name, bad[k][1]);
    }
}

static CUresult load_text(const char *text)
{
    char path[] = "/tmp/faultline-profile-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    setenv("FAULTLINE_PROFILE", path, 1);
    CUresult r = profile_load(&p);
    unlink(path);
    return r;
}

static void a_file_describes_another_machine(void **state)
{
    (void)state;
    assert_int_equal(load_text("[device]\nname = Small\nmemory = 4M\n[attributes]\nwarp_size = 32\n"), CUDA_SUCCESS);
    assert_string_equal(p.name, "Small");
    assert_int_equal(p.memory, 4 << 20);
}

static void a_misspelt_name_in_a_file_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(load_text("[device]\nmemroy = 4M\n"), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(load_text("[attributes]\nno_such_attribute = 1\n"), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(load_text("[limits]\nstack_size = much\n"), CUDA_ERROR_INVALID_VALUE);
}

/* How each built-in machine treats managed and system-allocated memory. */
static void built_in_machines_differ_in_what_processors_reach(void **state)
{
    static const struct {
        const char *name;
        int concurrent, pageable, host_tables, direct, atomics;
    } machines[] = { { "h200", 1, 0, 0, 0, 0 },
                     { "h200-nvswitch", 1, 0, 0, 0, 0 },
                     { "h200-hmm", 1, 1, 0, 0, 0 },
                     { "gh200", 1, 1, 1, 1, 1 },
                     { "wddm", 0, 0, 0, 0, 0 } };
    (void)state;
    for (size_t k = 0; k < sizeof machines / sizeof *machines; k++) {
        setenv("FAULTLINE_PROFILE", machines[k].name, 1);
        assert_int_equal(profile_load(&p), CUDA_SUCCESS);
        assert_int_equal(profile_attribute(&p, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY), 1);
        assert_int_equal(profile_attribute(&p, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS), machines[k].concurrent);
        assert_int_equal(profile_attribute(&p, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS), machines[k].pageable);
        assert_int_equal(profile_attribute(&p, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
                         machines[k].host_tables);
        assert_int_equal(profile_attribute(&p, CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
                         machines[k].direct);
        assert_int_equal(profile_attribute(&p, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED), machines[k].atomics);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_default_is_one_h200, clean),
        cmocka_unit_test_setup(its_memory_is_no_more_than_the_machine_has, clean),
        cmocka_unit_test_setup(sizes_have_units, clean),
        cmocka_unit_test_setup(a_bad_value_is_an_error, clean),
        cmocka_unit_test_setup(devices_are_seen_in_the_order_of_the_list, clean),
        cmocka_unit_test_setup(what_names_no_device_ends_the_list, clean),
        cmocka_unit_test_setup(who_is_named_twice_is_an_error, clean),
        cmocka_unit_test_setup(the_beginning_of_a_uuid_names_a_device, clean),
        cmocka_unit_test_setup(the_process_sees_what_the_environment_shows, clean),
        cmocka_unit_test_setup(a_file_describes_another_machine, clean),
        cmocka_unit_test_setup(built_in_machines_differ_in_what_processors_reach, clean),
        cmocka_unit_test_setup(a_misspelt_name_in_a_file_is_an_error, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
