/* What a launch refuses, and what the kernel gets when it does not. */
#include "api/green.h"
#include "api/reference.h"
#include "base/log.h"
#include "graph/capture.h"
#include "module/module.h"
#include "stream/event.h"
#include "stream/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

struct stream {
    int unused;
};
struct event {
    unsigned flags;
    struct context *context;
};

static struct device device;
static struct context context = { .device = &device };
static struct stream stream;
static struct event event = { .context = &context };
static struct module module = { .context = &context, .image_va = 0x1000, .symbols_va = 0x2000 };
static struct {
    struct fl_image image;
    struct fl_image_kernel kernel;
    struct fl_image_param param[3];
} file;
static struct function function = { .module = &module, .kernel = &file.kernel, .set[SETTING_SHARED] = 49152 };
static int blocks_per_multiprocessor = 2, records, uses;
static struct launch launched;
static uint8_t params[64];

CUresult context_current(struct context **out)
{
    *out = &context;
    return CUDA_SUCCESS;
}

CUresult stream_caller_outside(CUstream handle, struct context **c)
{
    (void)handle;
    return context_current(c);
}

CUresult stream_get(struct context *c, CUstream handle, bool per_thread, struct stream **out)
{
    (void)c, (void)per_thread;
    *out = &stream;
    return handle == (CUstream)99 ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

struct context *stream_context(const struct stream *s)
{
    (void)s;
    return &context;
}

CUresult stream_launch(struct stream *s, const struct launch *l)
{
    (void)s;
    launched = *l;
    memcpy(params, l->params, l->params_size);
    return CUDA_SUCCESS;
}

/* CUDA_LAUNCH_BLOCKING is another test's */
CUresult stream_synchronize(struct stream *s)
{
    (void)s;
    return CUDA_ERROR_UNKNOWN;
}
void mempool_synchronized(struct context *c, struct stream *s) { (void)c, (void)s; }

static CUresult preparation;
CUresult function_prepare(struct function *f)
{
    (void)f;
    return preparation;
}

void fl_log(enum fl_log_level level, const char *format, ...) { (void)level, (void)format; }

_Atomic unsigned capture_count, multicast_objects;
void multicast_refresh(void) {}

CUresult context_check(CUcontext handle, struct context **out)
{
    (void)handle;
    *out = &context;
    return CUDA_SUCCESS;
}

struct green *stream_green(const struct stream *s)
{
    (void)s;
    return NULL;
}

struct context *named_context_of(const struct stream *s) { return stream_context(s); }

void capture_spoil(struct stream *s) { (void)s; }
bool capture_kernel(struct stream *s, const CUgraphNodeParams *p, const CUlaunchAttribute *a, unsigned count,
                    bool programmatic, CUresult *r)
{
    (void)s, (void)p, (void)a, (void)count, (void)programmatic, (void)r;
    return false;
}

bool capture_has(const struct stream *s)
{
    (void)s;
    return false;
}

CUresult library_ready(void) { return CUDA_SUCCESS; }

bool stream_attribute_valid(const struct device *d, CUstreamAttrID id, const CUstreamAttrValue *value)
{
    (void)d, (void)id, (void)value;
    return true;
}

bool capture_record_launch(struct event *e, struct stream *s, CUgraphEdgeData edge, CUresult *r)
{
    (void)e, (void)s, (void)edge, (void)r;
    return false;
}

int stream_clamp_priority(int priority) { return priority; }

CUresult event_get(CUevent handle, struct event **out)
{
    *out = &event;
    return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

unsigned event_flags(const struct event *e) { return e->flags; }
struct context *event_context(const struct event *e) { return e->context; }

CUresult event_record(struct event *e, struct stream *s)
{
    (void)e, (void)s;
    records++;
    return CUDA_SUCCESS;
}

CUresult function_get(struct context *c, CUfunction handle, struct function **out)
{
    (void)c;
    *out = &function;
    if (handle != (CUfunction)&function) return CUDA_ERROR_INVALID_HANDLE;
    uses++;
    return CUDA_SUCCESS;
}

CUresult function_end(struct function *f, CUresult r)
{
    assert_ptr_equal(f, &function);
    uses--;
    return r;
}

CUresult function_occupancy(const struct function *f, int block_size, size_t dynamic_shared, int *blocks)
{
    (void)f, (void)block_size, (void)dynamic_shared;
    *blocks = blocks_per_multiprocessor;
    return CUDA_SUCCESS;
}

CUresult module_heap(struct context *c, uint64_t *va, uint64_t *size)
{
    (void)c;
    *va = 0x3000;
    *size = 8 << 20;
    return CUDA_SUCCESS;
}

CUresult reference_symbols(struct module *m, uint64_t *va)
{
    *va = m->symbols_va;
    return CUDA_SUCCESS;
}
void reference_symbols_end(struct module *m, uint64_t va) { (void)m, (void)va; }

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    (void)dev;
    *pi = attrib == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X                                                   ? 0x7fffffff
          : attrib == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y || attrib == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z ? 65535
          : attrib == CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z                                                ? 64
          : attrib == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                                           ? 132
                                                                                                         : 1024;
    return CUDA_SUCCESS;
}

/* Whatever becomes of a call, the module can be unloaded when it has returned. */
static int teardown(void **state)
{
    (void)state;
    return uses;
}

static int setup(void **state)
{
    (void)state;
    memset(&file, 0, sizeof file);
    file.image.params = offsetof(__typeof__(file), param);
    file.kernel.nparams = 3;
    file.kernel.param_size = 20;
    file.param[0] = (struct fl_image_param){ .offset = 0, .size = 8 };
    file.param[1] = (struct fl_image_param){ .offset = 8, .size = 4 };
    file.param[2] = (struct fl_image_param){ .offset = 16, .size = 4 };
    module.image = &file.image;
    memset(&launched, 0, sizeof launched);
    memset(params, 0xee, sizeof params);
    event.flags = CU_EVENT_DISABLE_TIMING;
    records = 0;
    return 0;
}

static uint64_t a = 0x1122334455667788;
static uint32_t b = 77, c = 99;
static void *args[] = { &a, &b, &c };

static CUresult shape(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared)
{
    return cuLaunchKernel((CUfunction)&function, gx, gy, gz, bx, by, bz, shared, NULL, args, NULL);
}

static void shapes_the_device_cannot_have_are_invalid(void **state)
{
    (void)state;
    assert_int_equal(shape(0, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(shape(1, 1, 1, 1, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(shape(1, 1, 1, 1025, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(shape(1, 1, 1, 1024, 1, 1, 0), CUDA_SUCCESS);
    assert_int_equal(shape(1, 1, 1, 32, 32, 2, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(shape(1, 65536, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(shape(1, 65535, 1, 1, 1, 1, 0), CUDA_SUCCESS);
    assert_int_equal(shape(1, 1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(shape(0x80000000u, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(shape(1, 1, 1, 32, 1, 1, 49152), CUDA_SUCCESS);
    assert_int_equal(shape(1, 1, 1, 32, 1, 1, 49153), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(shape(1, 1, 1, 32, 1, 1, 0xffffffffu), CUDA_ERROR_INVALID_VALUE);
}

static void bounds_of_the_kernel_are_kept(void **state)
{
    (void)state;
    file.kernel.max_threads = 128;
    assert_int_equal(shape(1, 1, 1, 128, 1, 1, 0), CUDA_SUCCESS);
    assert_int_equal(shape(1, 1, 1, 129, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    file.kernel.reqntid[0] = 32;
    file.kernel.reqntid[1] = 2;
    file.kernel.reqntid[2] = 1;
    assert_int_equal(shape(1, 1, 1, 32, 2, 1, 0), CUDA_SUCCESS);
    assert_int_equal(shape(1, 1, 1, 64, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

static void handles_are_checked(void **state)
{
    (void)state;
    assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuLaunchKernel((CUfunction)&a, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuLaunchKernel((CUfunction)&function, 1, 1, 1, 1, 1, 1, 0, (CUstream)99, args, NULL),
                     CUDA_ERROR_INVALID_HANDLE);
    static struct context other = { .device = &device };
    module.context = &other;
    assert_int_equal(shape(1, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_HANDLE);
    module.context = &context;
}

static void parameters_are_laid_out_as_the_kernel_declares_them(void **state)
{
    (void)state;
    assert_int_equal(shape(3, 2, 1, 32, 4, 1, 100), CUDA_SUCCESS);
    assert_memory_equal(params, &a, 8);
    assert_memory_equal(params + 8, &b, 4);
    assert_memory_equal(params + 16, &c, 4);
    assert_int_equal(launched.params_size, 20);
    assert_int_equal(launched.grid[1], 2);
    assert_int_equal(launched.block[1], 4);
    assert_int_equal(launched.dynamic_shared, 100);
    assert_int_equal(launched.image, 0x1000);
    assert_int_equal(launched.symbols, 0x2000);
    assert_false(launched.cooperative);
    assert_int_equal(launched.heap, 0);
}

static CUresult with(void **kernel_params, void **extra)
{
    return cuLaunchKernel((CUfunction)&function, 1, 1, 1, 1, 1, 1, 0, NULL, kernel_params, extra);
}

static void parameters_that_are_missing_or_given_twice_are_invalid(void **state)
{
    (void)state;
    size_t size = 20;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    assert_int_equal(with(NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(with(args, extra), CUDA_ERROR_INVALID_VALUE);
    file.kernel.nparams = file.kernel.param_size = 0;
    assert_int_equal(with(NULL, NULL), CUDA_SUCCESS);
}

static void a_parameter_buffer_may_be_short_but_not_long(void **state)
{
    (void)state;
    uint8_t buffer[64];
    memset(buffer, 5, sizeof buffer);
    size_t size = 8;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    assert_int_equal(with(NULL, extra), CUDA_SUCCESS);
    assert_int_equal(params[7], 5);
    assert_int_equal(params[8], 0);
    assert_int_equal(params[19], 0);
    size = sizeof buffer;
    assert_int_equal(with(NULL, extra), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    extra[0] = (void *)7;
    assert_int_equal(with(NULL, extra), CUDA_ERROR_INVALID_VALUE);
}

static void a_parameter_buffer_of_no_bytes_is_none(void **state)
{
    (void)state;
    uint8_t buffer[64];
    size_t size = 0;
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END };
    void *nothing[] = { CU_LAUNCH_PARAM_END };
    assert_int_equal(with(NULL, extra), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(with(NULL, nothing), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(with(args, extra), CUDA_SUCCESS);
    assert_int_equal(with(args, nothing), CUDA_SUCCESS);
    file.kernel.nparams = file.kernel.param_size = 0;
    assert_int_equal(with(NULL, extra), CUDA_SUCCESS);
    size = 1;
    assert_int_equal(with(NULL, extra), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    extra[1] = NULL;
    assert_int_equal(with(NULL, extra), CUDA_ERROR_INVALID_VALUE);
}

static void a_cooperative_grid_must_fit_the_device(void **state)
{
    (void)state;
    CUfunction f = (CUfunction)&function;
    assert_int_equal(cuLaunchCooperativeKernel(f, 264, 1, 1, 32, 1, 1, 0, NULL, args), CUDA_SUCCESS);
    assert_true(launched.cooperative);
    assert_int_equal(cuLaunchCooperativeKernel(f, 265, 1, 1, 32, 1, 1, 0, NULL, args),
                     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    assert_int_equal(cuLaunchCooperativeKernel(f, 0x7fffffff, 65535, 65535, 32, 1, 1, 0, NULL, args),
                     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

static CUresult with_attribute(CUlaunchAttribute attribute)
{
    CUlaunchConfig config = { .gridDimX = 8,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = 32,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .attrs = &attribute,
                              .numAttrs = 1 };
    return cuLaunchKernelEx(&config, (CUfunction)&function, args, NULL);
}

static void launch_attributes_are_honoured_or_refused(void **state)
{
    (void)state;
#define WITH(kind, field, ...) \
    with_attribute((CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_##kind, .value.field = __VA_ARGS__ })
    assert_int_equal(WITH(COOPERATIVE, cooperative, 1), CUDA_SUCCESS);
    assert_true(launched.cooperative);
    assert_int_equal(WITH(PRIORITY, priority, -3), CUDA_SUCCESS);
    assert_int_equal(WITH(PROGRAMMATIC_STREAM_SERIALIZATION, programmaticStreamSerializationAllowed, 1), CUDA_SUCCESS);
    assert_int_equal(WITH(CLUSTER_DIMENSION, clusterDim, { 1, 1, 1 }), CUDA_SUCCESS);
    assert_int_equal(WITH(CLUSTER_DIMENSION, clusterDim, { 3, 1, 1 }), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_int_equal(WITH(CLUSTER_DIMENSION, clusterDim, { 2, 1, 1 }), CUDA_SUCCESS);
    assert_int_equal(WITH(LAUNCH_COMPLETION_EVENT, launchCompletionEvent, { (CUevent)&event, 0 }), CUDA_SUCCESS);
    assert_int_equal(records, 1);
    event.flags = 0;
    assert_int_equal(WITH(LAUNCH_COMPLETION_EVENT, launchCompletionEvent, { (CUevent)&event, 0 }),
                     CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(WITH(LAUNCH_COMPLETION_EVENT, launchCompletionEvent, { (CUevent)&event, 1 }),
                     CUDA_ERROR_ILLEGAL_STATE);
    assert_int_equal(WITH(DEVICE_UPDATABLE_KERNEL_NODE, deviceUpdatableKernelNode, { 0, NULL }),
                     CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(WITH(PREFERRED_CLUSTER_DIMENSION, preferredClusterDim, { 2, 1, 1 }),
                     CUDA_ERROR_INVALID_CLUSTER_SIZE);
    assert_int_equal(WITH(CLUSTER_SCHEDULING_POLICY_PREFERENCE, clusterSchedulingPolicyPreference, 3),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(WITH(SYNCHRONIZATION_POLICY, syncPolicy, CU_SYNC_POLICY_SPIN), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernelEx(NULL, (CUfunction)&function, args, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void a_kernel_whose_code_cannot_be_made_is_not_launched(void **state)
{
    (void)state;
    preparation = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(shape(1, 1, 1, 1, 1, 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(launched.image, 0);
    preparation = CUDA_SUCCESS;
}

static void only_kernels_that_allocate_get_a_heap(void **state)
{
    (void)state;
    file.kernel.flags = FL_KERNEL_MALLOC;
    assert_int_equal(shape(1, 1, 1, 1, 1, 1, 0), CUDA_SUCCESS);
    assert_int_equal(launched.heap, 0x3000);
    assert_int_equal(launched.heap_size, 8 << 20);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(shapes_the_device_cannot_have_are_invalid),
        T(bounds_of_the_kernel_are_kept),
        T(handles_are_checked),
        T(parameters_are_laid_out_as_the_kernel_declares_them),
        T(parameters_that_are_missing_or_given_twice_are_invalid),
        T(a_parameter_buffer_may_be_short_but_not_long),
        T(a_parameter_buffer_of_no_bytes_is_none),
        T(a_cooperative_grid_must_fit_the_device),
        T(launch_attributes_are_honoured_or_refused),
        T(a_kernel_whose_code_cannot_be_made_is_not_launched),
        T(only_kernels_that_allocate_get_a_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
