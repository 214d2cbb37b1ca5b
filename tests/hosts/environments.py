#!/usr/bin/env python3
"""One program in the places where programs find themselves: limits, layouts of
addresses, file systems that are not there, sanitizers. usage: environments.py BUILD"""

import ctypes
import errno
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
build = os.path.abspath(sys.argv[1])
failed = []


def check(name, good, saw=""):
    print(f"{'right' if good else 'WRONG'}: {name}{'' if good else ': ' + str(saw)}", flush=True)
    if not good:
        failed.append(name)


def compiled(work, name, *flags):
    """None where this compiler has no such thing."""
    out = os.path.join(work, name)
    p = subprocess.run(
        [
            os.environ.get("CC", "gcc").split()[-1],
            "-std=gnu17",
            "-O1",
            "-w",
            "-I",
            os.path.join(root, "include"),
            *flags,
            "-o",
            out,
            os.path.join(here, "workload.c"),
            os.path.join(build, "libcuda.so.1"),
            "-Wl,-rpath," + build,
            "-lpthread",
        ],
        capture_output=True,
    )
    return out if p.returncode == 0 else None


def run(command, env=None, **more):
    env = dict(os.environ, FAULTLINE_LOG="error", FAULTLINE_CACHE="off", **(env or {}))
    p = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, **more)
    return p.returncode, (p.stdout + p.stderr)[-500:]


def works(name, command, **more):
    r = run(command, **more)
    check(name, r[0] == 0, r)


def limit(what, value):
    return lambda: resource.setrlimit(getattr(resource, what), (value, value))


def denied(number, error):
    """A system call is answered as by the filters of container runtimes that are older than it."""
    load, equal, ret = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
    refuse, allow = 0x00050000 | error, 0x7FFF0000  # SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW
    steps = (load, 0, 0, 0), (equal, 0, 1, number), (ret, 0, 0, refuse), (ret, 0, 0, allow)
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def install():
        if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP: SECCOMP_MODE_FILTER
            raise OSError(ctypes.get_errno(), "no filter of system calls")

    install.code = code  # it lives as long
    return install


def unshared(commands):
    """A shell's commands in file systems of its own, or nothing where that is not permitted."""
    return ["unshare", "-m", "sh", "-ec", commands]


with tempfile.TemporaryDirectory() as work:
    exe = compiled(work, "workload")
    works("at home", exe)

    for what, values in (
        ("RLIMIT_NOFILE", (1024, 256, 32)),
        ("RLIMIT_AS", (64 << 30, 4 << 30)),
        ("RLIMIT_MEMLOCK", (0,)),
        ("RLIMIT_STACK", (256 << 10, 1 << 40, resource.RLIM_INFINITY)),
    ):
        for value in values:
            works(f"with {what} {value}", exe, preexec_fn=limit(what, value))
    r = run(exe, preexec_fn=limit("RLIMIT_FSIZE", 1 << 20))
    check("with RLIMIT_FSIZE an answer and an explanation", r[0] == 1 and "ulimit -f" in r[1], r)

    for how in ("-L", "-R"):
        if run(["setarch", how, "true"])[0] == 0:
            works(f"with addresses as setarch {how} wants them", ["setarch", how, exe])
    for name, number in (("close_range", 436), ("faccessat2", 439)):  # the same on every processor
        works(f"where the system has no {name}", exe, preexec_fn=denied(number, errno.ENOSYS))
        works(f"where the system lets nobody have {name}", exe, preexec_fn=denied(number, errno.EPERM))
    r = run(exe, env={"FAULTLINE_DEVICE_EXE": "/nowhere"})
    check("without the device's program an answer and an explanation", r[0] == 1 and "is missing" in r[1], r)
    works("without any variable", ["env", "-i", exe])
    works(
        "with a home and a folder for temporary files that are not there",
        exe,
        env={"HOME": "/nowhere", "TMPDIR": "/nowhere"},
    )
    works(
        "with signals ignored",
        ["sh", "-c", 'trap "" HUP INT QUIT ILL BUS FPE USR1 USR2 PIPE ALRM TERM CHLD; exec "$0"', exe],
    )
    works("without standard input, output and error", ["sh", "-c", '"$0" <&- >&- 2>&-', exe])
    works(
        "in a folder that is gone",
        ["sh", "-c", 'mkdir "$1/gone" && cd "$1/gone" && rmdir "$1/gone" && exec "$0"', exe, work],
    )
    works("with 50,000 arguments", [exe] + ["x"] * 50000)

    if os.getuid() == 0 and run(unshared("true"))[0] == 0:
        quiet = ' "$0" unregistered'
        for name, commands in (
            ("without /proc", "umount -l /proc;" + quiet),
            ("without /sys", 'umount -l /sys; "$0"'),
            ("with a small /dev/shm", 'mount -t tmpfs -o size=64k none /dev/shm; "$0"'),
            ("without devices", 'mount -t tmpfs none /dev; "$0"'),
            (
                "on a read-only file system, without /proc",
                f"mkdir {work}/r; mount --bind / {work}/r; mount -o remount,bind,ro {work}/r; chroot {work}/r" + quiet,
            ),
        ):
            works(name, unshared(commands) + [exe])
        r = run(unshared('umount -l /proc; "$0"') + [exe])
        check(
            "host memory that cannot be registered for lack of /proc is said",
            r[0] == 1 and "/proc/self/maps" in r[1],
            r,
        )

    if shutil.which("valgrind"):
        r = run(["valgrind", "-q", exe])
        check("under valgrind an answer and an explanation", r[0] == 1 and "under valgrind" in r[1], r)

    # compiled or preloaded: sanitizers keep large parts of the address space for themselves
    for name in ("address", "thread"):
        exe = compiled(work, name, "-g", "-fsanitize=" + name)
        if exe and run(exe, env={"FAULTLINE_DEVICES": "bad"})[0] == 1:
            for rung in ("on", "off"):
                works(
                    f"beside the {name} sanitizer, FAULTLINE_UFFD={rung}",
                    exe,
                    env={"FAULTLINE_UFFD": rung, "ASAN_OPTIONS": "detect_leaks=0"},
                )
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    if os.path.isabs(asan):
        works(
            "with the address sanitizer preloaded",
            os.path.join(work, "workload"),
            env={"LD_PRELOAD": asan, "ASAN_OPTIONS": "detect_leaks=0"},
        )
print(f"environments: {len(failed)} wrong")
sys.exit(1 if failed else 0)
