#!/usr/bin/env python3
"""The driver API as a Python binding uses it: every function found by cuGetProcAddress_v2, structures and callbacks
through ctypes, kernels compiled from text with logs, memory shared with another Python.
usage: binding.py BUILD [what a second process is to do]"""

import ctypes as c
import os
import struct
import subprocess
import sys
import tempfile

build = os.path.abspath(sys.argv[1])
cuda = c.CDLL(os.path.join(build, "libcuda.so.1"))
failed = []
VERSION = 13000
LEGACY, PER_THREAD = 1, 2


class CudaError(Exception):
    pass


def found(name, version=VERSION, flags=LEGACY):
    """The function, or None, and cuGetProcAddress's own answer."""
    address, status = c.c_void_p(), c.c_int(-1)
    r = cuda.cuGetProcAddress_v2(name.encode(), c.byref(address), c.c_int(version), c.c_uint64(flags), c.byref(status))
    return address.value, status.value, r


class Driver:
    """driver.cuMemAlloc(...) calls the newest version and raises what is not success."""

    def __getattr__(self, name):
        address, status, r = found(name, 2000 if name == "cuCtxSynchronize" else VERSION)  # 13.0's takes a context
        assert r == 0 and status == 0 and address, (name, r, status)
        function = c.CFUNCTYPE(c.c_int)(address)

        def call(*arguments):
            r = function(*[c.c_size_t(a) if isinstance(a, int) else a for a in arguments])
            if r:
                text = c.c_char_p()
                cuda.cuGetErrorName(r, c.byref(text))
                raise CudaError(text.value.decode())

        setattr(self, name, call)
        return call


cu = Driver()


def check(name, good, saw=""):
    if not good:
        print(f"WRONG: {name}: {saw}", flush=True)
        failed.append(name)


def refused(error, function, *arguments):
    try:
        function(*arguments)
    except CudaError as e:
        return str(e) == error
    return False


class Location(c.Structure):
    _fields_ = [("type", c.c_int), ("id", c.c_int)]


class AllocationProp(c.Structure):
    _fields_ = [
        ("type", c.c_int),
        ("handles", c.c_int),
        ("location", Location),
        ("metadata", c.c_void_p),
        ("flags", c.c_ubyte * 8),
    ]


class AccessDesc(c.Structure):
    _fields_ = [("location", Location), ("flags", c.c_int)]


class IpcHandle(c.Structure):
    _fields_ = [("reserved", c.c_char * 64)]


class LaunchAttribute(c.Structure):
    _fields_ = [("id", c.c_int), ("pad", c.c_int), ("value", c.c_char * 64)]


class LaunchConfig(c.Structure):
    _fields_ = [
        ("grid", c.c_uint * 3),
        ("block", c.c_uint * 3),
        ("shared", c.c_uint),
        ("stream", c.c_void_p),
        ("attributes", c.POINTER(LaunchAttribute)),
        ("count", c.c_uint),
    ]


PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 scale = 3;
.extern .func (.param .b32 r) twice(.param .b32 a);
.visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 first)
{
    .reg .pred %q;
    .reg .b32 %r<9>;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [p];
    ld.param.u32 %r0, [n];
    ld.param.u32 %r1, [first];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %q, %r5, %r0;
    @%q bra end;
    ld.global.u32 %r6, [scale];
    mad.lo.u32 %r7, %r5, %r6, %r1;
    {
    .param .b32 a0;
    .param .b32 r0;
    st.param.b32 [a0], %r7;
    call (r0), twice, (a0);
    ld.param.b32 %r8, [r0];
    }
    mul.wide.u32 %d1, %r5, 4;
    add.u64 %d2, %d0, %d1;
    st.global.u32 [%d2], %r8;
end:
    ret;
}
"""
TWICE = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 r) twice(.param .b32 a)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r0, [a];
    shl.b32 %r1, %r0, 1;
    st.param.b32 [r], %r1;
    ret;
}
"""


def words(p, n):
    out = (c.c_uint * n)()
    cu.cuMemcpyDtoH(out, p, 4 * n)
    return list(out)


def wanted(n, first, scale=3):
    return [2 * (k * scale + first) for k in range(n)]


def every_function():
    """Each name that the table has is found with either flag, from the version on that it says."""
    table = open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "api", "entrypoints.txt")
    ).read()
    names = 0
    for line in table.splitlines():
        word = line.split()
        if (
            line.startswith("#")
            or len(word) < 4
            or not word[0].isdigit()
            or word[2] == "-"
            or not word[2].startswith("cu")
        ):
            continue
        name, since = word[2].partition("_v")[0], int(word[0])
        names += 1
        for flags in (0, LEGACY, PER_THREAD):
            address, status, r = found(name, max(since, VERSION), flags)
            check(f"{name} is found", r == 0 and status == 0 and address, (address, status, r))
        address, status, r = found(name, 1000, 0)
        check(f"{name} is not found for version 1.0", r == 0 and not address and status == 2, (address, status, r))
    check("the table has some hundred names", names > 400, names)
    for name in ("cuMemAlloc_v2", "cuGetProcAddress_v2", "cuNothing"):
        address, status, r = found(name)
        check(f"{name} is no name", r == 0 and not address and status == 1, (address, status, r))


def compiled_with_logs():
    """cuModuleLoadDataEx and the linker, options as a binding passes them: values in an array of pointers."""
    log, errors = c.create_string_buffer(4096), c.create_string_buffer(4096)
    keys = (c.c_int * 6)(
        3, 4, 5, 6, 12, 0
    )  # INFO_LOG_BUFFER, its size, ERROR_LOG_BUFFER, its size, LOG_VERBOSE, MAX_REGISTERS
    values = (c.c_void_p * 6)(c.addressof(log), len(log), c.addressof(errors), len(errors), 1, 32)
    module = c.c_void_p()
    broken = PTX.replace(b"mad.lo.u32 %r5", b"mad.low.u32 %r5")
    check(
        "wrong PTX is refused",
        refused("CUDA_ERROR_INVALID_PTX", cu.cuModuleLoadDataEx, c.byref(module), broken, 6, keys, values),
    )
    check("the log names line and instruction", b"line 19" in errors.value or b"mad" in errors.value, errors.value)
    check("the log's size is what was written", 0 < (values[3] or 0) <= len(errors), values[3])

    state, image, size = c.c_void_p(), c.c_void_p(), c.c_size_t()
    values = (c.c_void_p * 6)(c.addressof(log), len(log), c.addressof(errors), len(errors), 1, 32)
    cu.cuLinkCreate(6, keys, values, c.byref(state))
    cu.cuLinkAddData(state, 1, PTX, len(PTX) + 1, b"fill.ptx", 0, None, None)
    cu.cuLinkAddData(state, 1, TWICE, len(TWICE) + 1, b"twice.ptx", 0, None, None)
    cu.cuLinkComplete(state, c.byref(image), c.byref(size))
    check("the linked image has a size", size.value > 0, size.value)
    cu.cuModuleLoadData(c.byref(module), image)
    cu.cuLinkDestroy(state)
    function = c.c_void_p()
    cu.cuModuleGetFunction(c.byref(function), module, b"fill")
    check(
        "an unknown function is not found",
        refused("CUDA_ERROR_NOT_FOUND", cu.cuModuleGetFunction, c.byref(c.c_void_p()), module, b"nothing"),
    )
    return module, function


def launched_in_every_way(module, function):
    n, p, stream = 1000, c.c_uint64(), c.c_void_p()
    cu.cuMemAlloc(c.byref(p), 4 * n)
    cu.cuStreamCreate(c.byref(stream), 1)
    count, first = c.c_uint(n), c.c_uint(0)
    params = (c.c_void_p * 3)(c.addressof(p), c.addressof(count), c.addressof(first))
    cu.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, params, None)
    cu.cuStreamSynchronize(stream)
    check("parameters one by one", words(p, n) == wanted(n, 0))

    packed = c.create_string_buffer(struct.pack("=QII", p.value, n, 11))
    size = c.c_size_t(16)
    extra = (c.c_void_p * 5)(1, c.addressof(packed), 2, c.addressof(size), 0)
    cu.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, None, extra)
    cu.cuStreamSynchronize(stream)
    check("parameters in one buffer", words(p, n) == wanted(n, 11))
    check(
        "both at once are refused",
        refused("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel, function, 8, 1, 1, 128, 1, 1, 0, stream, params, extra),
    )

    first.value = 12
    config = LaunchConfig((8, 1, 1), (128, 1, 1), 0, stream.value, None, 0)
    cu.cuLaunchKernelEx(c.byref(config), function, params, None)
    cu.cuStreamSynchronize(stream)
    check("parameters with a configuration", words(p, n) == wanted(n, 12))

    scale, bytes_ = c.c_uint64(), c.c_size_t()
    cu.cuModuleGetGlobal(c.byref(scale), c.byref(bytes_), module, b"scale")
    check("a global's size", bytes_.value == 4, bytes_.value)
    cu.cuMemcpyHtoDAsync(scale, c.byref(c.c_uint(5)), 4, stream)
    cu.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, params, None)
    cu.cuStreamSynchronize(stream)
    check("a global that was changed", words(p, n) == wanted(n, 12, 5))

    value = c.c_int()
    for attribute in range(16):
        cu.cuFuncGetAttribute(c.byref(value), attribute, function)
        if attribute == 0:
            check("most threads of a block", value.value == 1024, value.value)
    grid, block, asked = c.c_int(), c.c_int(), []
    dynamic = c.CFUNCTYPE(c.c_size_t, c.c_int)(lambda threads: asked.append(threads) or 4 * threads)
    cu.cuOccupancyMaxPotentialBlockSize(c.byref(grid), c.byref(block), function, dynamic, 0, 0)
    check(
        "occupancy asks for shared memory by a callback",
        asked and 0 < block.value <= 1024 and grid.value > 0,
        (grid.value, block.value),
    )
    cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(c.byref(value), function, 128, 0)
    check("blocks of 128 that fit", value.value == 16, value.value)

    begin, end, ms = c.c_void_p(), c.c_void_p(), c.c_float(-1)
    cu.cuEventCreate(c.byref(begin), 0)
    cu.cuEventCreate(c.byref(end), 0)
    cu.cuEventRecord(begin, stream)
    cu.cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, params, None)
    cu.cuEventRecord(end, stream)
    cu.cuEventSynchronize(end)
    cu.cuEventElapsedTime(c.byref(ms), begin, end)
    check("time passes between events", ms.value >= 0, ms.value)

    seen = []
    host = c.CFUNCTYPE(None, c.c_void_p)(lambda data: seen.append(data))
    old = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_void_p)(lambda s, status, data: seen.append((s, status, data)))
    cu.cuLaunchHostFunc(stream, host, c.c_void_p(41))
    cu.cuStreamAddCallback(stream, old, c.c_void_p(42), 0)
    cu.cuStreamSynchronize(stream)
    check("Python functions run in a stream's order", seen == [41, (stream.value, 0, 42)], seen)
    cu.cuStreamDestroy(stream)
    cu.cuMemFree(p)


def pointers_asked():
    p, host = c.c_uint64(), c.c_void_p()
    cu.cuMemAlloc(c.byref(p), 4096)
    cu.cuMemAllocHost(c.byref(host), 4096)
    context, kind, device, host_pointer, ordinal, managed = (
        c.c_void_p(),
        c.c_int(),
        c.c_uint64(),
        c.c_void_p(),
        c.c_int(-9),
        c.c_uint(9),
    )
    keys = (c.c_int * 6)(
        1, 2, 3, 4, 9, 8
    )  # CONTEXT, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, DEVICE_ORDINAL, IS_MANAGED
    into = [context, kind, device, host_pointer, ordinal, managed]
    data = (c.c_void_p * 6)(*[c.addressof(x) for x in into])
    cu.cuPointerGetAttributes(6, keys, data, c.c_uint64(p.value + 16))
    check(
        "what device memory is",
        (kind.value, device.value, host_pointer.value, ordinal.value, managed.value) == (2, p.value + 16, None, 0, 0),
        [x.value for x in into],
    )
    cu.cuPointerGetAttributes(6, keys, data, c.c_uint64(host.value))
    check(
        "what pinned memory is",
        (kind.value, host_pointer.value, ordinal.value, managed.value) == (1, host.value, 0, 0),
        [x.value for x in into],
    )
    ordinary = c.create_string_buffer(64)
    cu.cuPointerGetAttributes(6, keys, data, c.c_uint64(c.addressof(ordinary)))
    check(
        "what ordinary memory is",
        (context.value, kind.value, device.value, ordinal.value) == (None, 0, 0, -2),
        [x.value for x in into],
    )
    cu.cuMemFree(p)
    cu.cuMemFreeHost(host)


def segments_expand():
    """As PyTorch's allocator: one large reservation, mapped piece by piece, behind it a kernel."""
    prop, granularity = AllocationProp(type=1, location=Location(1, 0)), c.c_size_t()
    cu.cuMemGetAllocationGranularity(c.byref(granularity), c.byref(prop), 1)
    piece, base, handles = granularity.value, c.c_uint64(), []
    cu.cuMemAddressReserve(c.byref(base), 64 * piece, 0, c.c_uint64(0), 0)
    access = AccessDesc(Location(1, 0), 3)
    for k in range(8):
        handle = c.c_uint64()
        cu.cuMemCreate(c.byref(handle), piece, c.byref(prop), 0)
        cu.cuMemMap(c.c_uint64(base.value + k * piece), piece, 0, handle, 0)
        cu.cuMemSetAccess(c.c_uint64(base.value + k * piece), piece, c.byref(access), 1)
        handles.append(handle)
        cu.cuMemsetD32(c.c_uint64(base.value), k, (k + 1) * piece // 4)
    last = c.c_uint64(base.value + 8 * piece - 4)
    check("all pieces are one memory", words(last, 1) == [7])
    check("what is not mapped is refused", refused("CUDA_ERROR_INVALID_VALUE", cu.cuMemsetD32, last, 0, 2))
    flags = c.c_uint64()
    cu.cuMemGetAccess(c.byref(flags), c.byref(access.location), last)
    check("access is what was set", flags.value == 3, flags.value)
    cu.cuMemUnmap(base, 8 * piece)
    for handle in handles:
        cu.cuMemRelease(handle)
    cu.cuMemAddressFree(base, 64 * piece)


def shared_with_another():
    p, handle, event, event_handle = c.c_uint64(), IpcHandle(), c.c_void_p(), IpcHandle()
    cu.cuMemAlloc(c.byref(p), 4096)
    cu.cuMemsetD32(p, 1234, 1024)
    cu.cuIpcGetMemHandle(c.byref(handle), p)
    cu.cuEventCreate(c.byref(event), 4 | 2)  # INTERPROCESS, DISABLE_TIMING
    cu.cuEventRecord(event, None)
    cu.cuIpcGetEventHandle(c.byref(event_handle), event)
    other = subprocess.run(
        [sys.executable, __file__, build, bytes(handle).hex(), bytes(event_handle).hex()],
        capture_output=True,
        text=True,
        timeout=60,
    )
    check("another Python opens memory and event", other.returncode == 0, other.stdout + other.stderr)
    cu.cuCtxSynchronize()
    check("what it wrote is here", words(p, 2) == [4321, 1234], words(p, 2))
    cu.cuEventDestroy(event)
    cu.cuMemFree(p)
    with tempfile.TemporaryFile() as said:
        child = os.fork()  # without exec: no CUDA there, and no damage here
        if not child:
            os.dup2(said.fileno(), 2)
            refusals = [
                refused("CUDA_ERROR_NOT_INITIALIZED", cu.cuMemAlloc, c.byref(c.c_uint64()), 16),
                refused("CUDA_ERROR_NOT_INITIALIZED", cu.cuInit, 0),
            ]
            os._exit(0 if all(refusals) else 1)
        check("a forked child is told that there is no CUDA", os.waitpid(child, 0)[1] == 0)
        said.seek(0)
        check("and what to do", b"spawn" in said.read())


def the_other(handle, event_handle):
    p, event = c.c_uint64(), c.c_void_p()
    cu.cuIpcOpenEventHandle(c.byref(event), IpcHandle.from_buffer_copy(bytes.fromhex(event_handle)))
    cu.cuStreamWaitEvent(None, event, 0)
    by_value = IpcHandle.from_buffer_copy(bytes.fromhex(handle))
    address, _, _ = found("cuIpcOpenMemHandle")
    r = c.CFUNCTYPE(c.c_int, c.c_void_p, IpcHandle, c.c_uint)(address)(c.byref(p), by_value, 1)
    assert r == 0, r
    assert words(p, 1024) == [1234] * 1024
    cu.cuMemsetD32(p, 4321, 1)
    cu.cuCtxSynchronize()
    cu.cuIpcCloseMemHandle(p)


WRONG = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry wrong()
{
    .reg .b64 %d<1>;
    .loc 1 40 3
    mov.u64 %d0, 64;
    .loc 1 42 7
    st.global.u32 [%d0], 1;
    .loc 2 99 1
    ret;
}
    .file 1 "some/folder/wrong.cu"
    .file 2 "other.cuh"
"""


def in_another(what, **env):
    return subprocess.run(
        [sys.executable, __file__, build, what],
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ, **env),
    )


def what_is_wrong_is_said():
    """Without a buffer for the compiler's log; by what a binding asks for and NVRTC looks up, nothing is hidden."""
    with tempfile.NamedTemporaryFile("r") as report:
        p = in_another("refused", FAULTLINE_LOG="warn", FAULTLINE_REPORT=report.name)
        lines = report.read().splitlines()
    check("what is wrong with PTX is said", p.returncode == 0 and "unresolved extern function 'twice'" in p.stderr, p)
    check("what NVRTC can do without is not", "own CUDA runtime" not in p.stderr, p.stderr)
    names = [line.partition(":")[0] for line in lines]
    wanted = ["cuGetProcAddress_v2", "cuGetExportTable", "cuModuleLoadData"]
    check("calls that failed are noted once", names == wanted, names)


def refuse():
    for name in ("cuInit", "cuMemAlloc", "cuMemFree") * 10:
        assert found(name, VERSION + 60)[2] == 1
    table, cache = c.c_void_p(), bytes.fromhex("da9151d33ae6cc41a5c04f26d533e328")
    assert refused("CUDA_ERROR_NOT_FOUND", cu.cuGetExportTable, c.byref(table), cache)
    assert refused("CUDA_ERROR_INVALID_PTX", cu.cuModuleLoadData, c.byref(c.c_void_p()), PTX)


def a_fault_names_the_source():
    p = in_another("wrong", FAULTLINE_LOG="error")
    check(
        "a fault names the line of the source",
        p.returncode == 0 and "kernel wrong" in p.stderr and "(some/folder/wrong.cu:42)" in p.stderr,
        (p.returncode, p.stderr),
    )


def wrong():
    module, function = c.c_void_p(), c.c_void_p()
    cu.cuModuleLoadData(c.byref(module), WRONG)
    cu.cuModuleGetFunction(c.byref(function), module, b"wrong")
    cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
    assert refused("CUDA_ERROR_ILLEGAL_ADDRESS", cu.cuCtxSynchronize)
    assert refused("CUDA_ERROR_ILLEGAL_ADDRESS", cu.cuMemAlloc, c.byref(c.c_uint64()), 16)


def main():
    context, version, count = c.c_void_p(), c.c_int(), c.c_int()
    cu.cuInit(0)
    cu.cuDriverGetVersion(c.byref(version))
    cu.cuDeviceGetCount(c.byref(count))
    check("version and devices", version.value == VERSION and count.value >= 1, (version.value, count.value))
    cu.cuDevicePrimaryCtxRetain(c.byref(context), 0)
    cu.cuCtxSetCurrent(context)
    if len(sys.argv) == 3:
        {"wrong": wrong, "refused": refuse}[sys.argv[2]]()
        return
    if len(sys.argv) > 3:
        the_other(*sys.argv[2:])
        return
    every_function()
    module, function = compiled_with_logs()
    launched_in_every_way(module, function)
    pointers_asked()
    segments_expand()
    shared_with_another()
    a_fault_names_the_source()
    what_is_wrong_is_said()
    cu.cuModuleUnload(module)
    cu.cuDevicePrimaryCtxRelease(0)


main()
sys.exit(1 if failed else 0)
