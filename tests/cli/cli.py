#!/usr/bin/env python3
"""The faultline command: what it passes on and what it says. usage: cli.py FAULTLINE"""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

FAULTLINE = sys.argv[1]
failures = 0

# programs inherit what is ignored, as under nohup, and a shell's trap does not change that
for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(ignored, signal.SIG_DFL)


def faultline(*args, **env):
    p = subprocess.run([FAULTLINE, *args], capture_output=True, text=True, env=dict(os.environ, **env), timeout=60)
    return p.returncode, p.stdout, p.stderr


def check(what, ok, saw):
    global failures
    if not ok:
        failures += 1
        print(f"not so: {what}\n    saw: {saw!r}")


r = faultline()
check("without a command it explains itself and fails", r[0] == 2 and "usage" in r[2], r)
r = faultline("--help")
check("--help explains and succeeds", r[0] == 0 and "devices" in r[1], r)
r = faultline("--version")
check("--version is a line", r[0] == 0 and re.fullmatch(r"faultline \d+\.\d+\.\d+\n", r[1]) and not r[2], r)
for words in (["run", "--help"], ["run", "-h"], ["devices", "--help"], ["devices", "-h"], ["ptxc", "--help"], ["ptxc", "-h"],
              ["ptxas", "--help"]):
    r = faultline(*words)
    check(" ".join(words) + " explains and succeeds", r[0] == 0 and "usage" in r[1].lower() and not r[2], r)
for words in (["devices", "all"], ["ptxc"], ["run"]):
    r = faultline(*words)
    check(" ".join(words) + " is wrong usage and says so on standard error", r[0] == 2 and "usage" in r[2] and not r[1], r)
r = faultline("nonsense")
check("an unknown command is named", r[0] == 2 and "nonsense" in r[2], r)
r = faultline("run")
check("run without a program fails", r[0] == 2, r)
r = faultline("run", "--", "/no/such/program")
check("a program that is not there gives 127", r[0] == 127 and "/no/such/program" in r[2], r)
check("that is said once", r[2].count("\n") == 1, r)
r = faultline("run", "nosuchprogram")
check("a program that is nowhere in PATH gives 127", r[0] == 127 and "PATH" in r[2], r)
r = faultline("run", "--", "/etc/passwd")
check("a program that cannot run gives 126", r[0] == 126 and "executable" in r[2], r)
small = ["sh", "-c", "ulimit -f 100; exec \"$0\" \"$@\"", FAULTLINE, "run"]
p = subprocess.run([*small, "--um-summary", "true"], capture_output=True, text=True, timeout=60)
check("where files may not be large it cannot watch, and says so", p.returncode == 126 and "large" in p.stderr, p)
p = subprocess.run([*small, "sh", "-c", "f=$(mktemp) && { head -c 1000000 /dev/zero >$f; s=$?; rm $f; exit $s; }"], timeout=60)
check("who makes a large file there is told as ever", p.returncode == 128 + signal.SIGXFSZ, p)
r = faultline("run", "/etc")
check("a folder is called one", r[0] == 126 and "directory" in r[2], r)
r = faultline("run", "--bogus", "true")
check("an unknown option is named", r[0] == 2 and "--bogus is no option" in r[2].splitlines()[-1], r)
r = faultline("run", "--vram")
check("so is one that lacks its argument", r[0] == 2 and "--vram lacks its argument" in r[2].splitlines()[-1], r)
r = faultline("devices", "--devices", "2", "--profile", "gh200", "--vram=64M")
check("devices shows the machine that its options describe",
      r[0] == 0 and r[1].count("GH200") == 2 and r[1].count("0.1 GiB") == 2, r)
with tempfile.NamedTemporaryFile("w", suffix=".ini") as f:
    f.write("[device]\nlike = h200\np2p_access = yes\nnonsense = 1\nmore = 2\n")
    f.flush()
    r = faultline("devices", "--profile", f.name)
    check("of a file that describes no machine the first wrong line is shown, and no more",
          r[0] == 1 and "p2p_access = yes is not" in r[2] and "line 3" in r[2] and "nonsense" not in r[2], r)
with tempfile.TemporaryDirectory() as folder:
    program = folder + "/static"
    made = subprocess.run(
        ["cc", "-static", "-x", "c", "-o", program, "-"],
        input="int main(void) { return 5; }",
        text=True,
        capture_output=True,
    )
    if made.returncode == 0:
        r = faultline("run", program)
        check("a static program runs, and it is said that it goes without us", r[0] == 5 and "statically" in r[2], r)
    with open(folder + "/kernel.cu", "w") as f:
        f.write("__global__ void k() { }\n")
    r = faultline("ptxc", folder + "/kernel.cu")
    with open(folder + "/some.ptx", "w") as f:
        f.write(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry good()\n{\n ret;\n}\n"
                ".visible .entry bad()\n{\n .reg .u64 %a;\n pmevent.mask 1;\n ret;\n}\n")
    some = faultline("ptxc", folder + "/some.ptx")
    check("ptxc names kernels that cannot be launched where others can",
          some[0] == 0 and "line 11; warning: kernel bad cannot be launched" in some[2] and "good" not in some[2], some)
    with open(folder + "/some.ptx") as f:
        p = subprocess.run([FAULTLINE, "ptxc", "/dev/stdin"], input=f.read(), capture_output=True, text=True, timeout=60)
    check("of a pipe, too", p.returncode == 0 and p.stderr == some[2], p)
    p = subprocess.run([FAULTLINE, "ptxc", "/dev/stdin"], input="\177ELF and more", capture_output=True, text=True, timeout=60)
    check("what comes through one is known for what it is", p.returncode == 2 and "machine code" in p.stderr, p)
    check("who gives ptxc CUDA C++ learns how to make PTX of it", r[0] == 2 and "nvcc -ptx" in r[2], r)
r = faultline("run", "--", "sh", "-c", "exit 7")
check("the exit status is passed on and said", r[0] == 7 and "status 7" in r[2], r)
r = faultline("run", "--", "sh", "-c", "kill -SEGV $$")
check("a signal gives 128 + n and is named", r[0] == 128 + signal.SIGSEGV and "Segmentation" in r[2], r)
r = faultline("run", "--", "sh", "-c", "kill -PIPE $$")
check("a pipe that nobody reads ends the program as ever", r[0] == 128 + signal.SIGPIPE, r)
r = faultline("run", "true")
check("success is silent", r == (0, "", ""), r)
name = "import ctypes; print(ctypes.c_char_p.in_dll(ctypes.CDLL(None), 'program_invocation_short_name').value.decode())"
r = faultline("run", "--", sys.executable, "-c", name)
check("a program knows what it is called", r[1].strip() == os.path.basename(sys.executable), r)
told = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).arguments_told())"
r = faultline("run", "--", sys.executable, "-c", told, os.path.abspath(sys.argv[2]), "more")
check("a library that is loaded is told the program's arguments", r[1].strip() == "5", r)
r = faultline("devices", FAULTLINE_DEVICES="3", CUDA_VISIBLE_DEVICES="2,GPU-0")
check("a list is of numbers or of UUIDs", r[0] == 0 and "GPU-2f61756c-" in r[1] and "GPU-0f61756c-" not in r[1], r)
r = faultline("devices", FAULTLINE_DEVICES="3", CUDA_VISIBLE_DEVICES="GPU-2,GPU-0")
check("devices are shown in the order of the list", r[1].find("GPU-2f61756c-") < r[1].find("GPU-0f61756c-") > 0, r)
r = faultline("devices", FAULTLINE_DEVICES="3", CUDA_VISIBLE_DEVICES="")
check("without visible devices there is none", r[0] == 1 and "NO_DEVICE" in r[2], r)
r = faultline("devices", FAULTLINE_DEVICES="3", CUDA_VISIBLE_DEVICES="3")
check("a list that shows none of the devices is explained", r[0] == 1 and "CUDA_VISIBLE_DEVICES=3 shows none" in r[2], r)
r = faultline(
    "run",
    "--devices",
    "3",
    "--vram",
    "2G",
    "--profile",
    "h200",
    "--",
    "sh",
    "-c",
    "echo $FAULTLINE_DEVICES $FAULTLINE_VRAM $FAULTLINE_PROFILE",
    "--devices",
    "4",
)
check("options become variables, up to the program", r[1].split() == ["3", "2G", "h200"], r)
forks = """import ctypes, os, sys
cu = ctypes.CDLL("libcuda.so.1")
def child():
    d, c, m = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    cu.cuInit(0)
    cu.cuDevicePrimaryCtxRetain(ctypes.byref(c), d)
    cu.cuCtxSetCurrent(c)
    os._exit(cu.cuMemAllocManaged(ctypes.byref(m), ctypes.c_size_t(4096), 1))
for _ in range(int(sys.argv[1])):
    if not os.fork(): child()
    os.wait()"""
for processes, wanted in (("64", False), ("66", True)):
    r = faultline("run", "--um-summary", "--", sys.executable, "-c", forks, processes)
    check("who has more processes than can be watched is told how many are left out",
          r[2].count("managed memory of") == 64 and ("; 2 came later" in r[2]) == wanted, r)
with tempfile.TemporaryDirectory() as folder:
    libraries = os.path.dirname(os.path.abspath(FAULTLINE))
    for name in ("with a space", "with:colon"):
        os.mkdir(folder + "/" + name)
        for file in ("faultline", "libcuda.so.1", "libfaultline-lead.so"):
            shutil.copy(libraries + "/" + file, folder + "/" + name)
    maps = ["run", "--", "grep", "-o", "libfaultline-lead.so", "/proc/self/maps"]
    r = subprocess.run([folder + "/with a space/faultline", *maps], capture_output=True, text=True)
    check("the path of the libraries may have spaces in it", r.returncode == 0 and r.stdout and not r.stderr, r)
    r = subprocess.run([folder + "/with:colon/faultline", *maps], capture_output=True, text=True)
    check("a path that programs cannot be told is refused", r.returncode == 126 and "':'" in r.stderr, r)

    with open(folder + "/here", "w") as f:
        f.write("#!/bin/sh\nexit 6\n")
    os.chmod(folder + "/here", 0o755)
    for path in (":/usr/bin:/bin", "/usr/bin::/bin", "/usr/bin:/bin:"):
        r = subprocess.run([os.path.abspath(FAULTLINE), "run", "here"], capture_output=True, text=True, cwd=folder,
                           env=dict(os.environ, PATH=path))
        check("an empty folder in PATH is the one where one is", r.returncode == 6, r)

    def compiled(name, code, *options):
        subprocess.run(["cc", "-x", "c", "-o", f"{folder}/{name}", "-", "-Wl,--no-as-needed", "-L" + libraries, *options],
                       input=code, text=True, check=True)

    compiled("hook.so", "int cudaMalloc(void **p, unsigned long n) { return 77; }", "-shared", "-fPIC", "-l:libcuda.so.1")
    compiled("program", "int cudaMalloc(void **, unsigned long); int main(void) { void *p; return cudaMalloc(&p, 8); }",
             "-l:libcudart.so.13")
    r = faultline("run", folder + "/program", LD_PRELOAD=folder + "/hook.so", LD_LIBRARY_PATH="")
    check("what is preloaded stands before the CUDA runtime, and may need libcuda.so.1", r[0] == 77, r)
    compiled("pointers.so", """#include <dlfcn.h>
                 int (*cuInit)(unsigned);
                 int cudaMalloc(void **p, unsigned long n) { return 5; }
                 int names(void)
                 {
                     void *p, *driver = dlopen("libcuda.so.1", RTLD_NOW);
                     cuInit = (int (*)(unsigned))dlsym(driver, "cuInit");
                     return cuInit(0) + cudaMalloc(&p, 8);
                 }""", "-shared", "-fPIC")
    compiled("names", "int names(void); int main(void) { return names(); }", "-L" + folder, "-l:pointers.so")
    r = faultline("run", folder + "/names", LD_LIBRARY_PATH=folder)
    check("names of CUDA that an object has for its own are its own", r[0] == 5, r)
r = faultline("run", "--", "sh", "-c", "echo $LD_LIBRARY_PATH", LD_LIBRARY_PATH="/somewhere/else")
folder, _, rest = r[1].strip().partition(":")
check("our library comes first", os.path.exists(folder + "/libcuda.so.1") and rest == "/somewhere/else", r)
r = faultline("run", "--", "sh", "-c", 'echo "cuThing: failed" >>"$FAULTLINE_REPORT"; exit 1')
check("failed calls are shown when the program fails", "cuThing: failed" in r[2], r)
r = faultline("run", "--", "sh", "-c", 'for k in 1 2; do echo "cuThing: failed" >>"$FAULTLINE_REPORT"; done; exit 1')
check("what failed in several processes is shown once", r[2].count("cuThing") == 1, r)
r = faultline("run", "--", sys.executable, "-c", """if True:
    import ctypes
    cu, va = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
    cu.cuInit(0)
    cu.cuMemFree_v2(ctypes.c_uint64(4096))
    exit(cu.cuMemAddressReserve(ctypes.byref(va), ctypes.c_size_t(4096), ctypes.c_size_t(0), ctypes.c_uint64(0), 0))""")
check("of a rule that a call breaks the program's user is told",
      r[0] == 1 and "multiples of" in r[2] and "2 MiB" in r[2] and "nothing is allocated at this address" in r[2], r)
r = faultline("run", "--", "sh", "-c", "echo $FAULTLINE_REPORT")
check("nothing is left behind", r[1].startswith("/proc/") and not os.path.exists(r[1].strip()), r)



def waits(trap, **more):
    """A program that has set the trap."""
    p = subprocess.Popen([FAULTLINE, "run", "--", "sh", "-c", f"trap {trap}; echo ready; while :; do sleep 0.05; done"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    p.stdout.readline()
    return p


def ends(p):
    try:
        p.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
    return p.returncode


for number in (*(getattr(signal, "SIG" + name) for name in "TERM HUP INT QUIT USR1 USR2 ALRM VTALRM PROF IO PWR CONT WINCH "
                 "URG TTIN TTOU".split()), signal.SIGRTMIN, signal.SIGRTMIN + 3, signal.SIGRTMAX):
    p = waits(f"'exit 9' {int(number)}", start_new_session=True)
    p.send_signal(number)
    check(f"signal {int(number)} reaches the program", ends(p) == 9, p.returncode)
p = waits("'exit 9' ALRM", preexec_fn=lambda: signal.alarm(2))
check("so does an alarm that was set before", ends(p) == 9, p.returncode)

# in a group of its own: this signal stops no process of a group that nobody outside could continue
p = waits("'echo told' TSTP", preexec_fn=lambda: os.setpgid(0, 0))
p.send_signal(signal.SIGTSTP)
told = select.select([p.stdout], [], [], 20)[0] and p.stdout.readline()
check("who stops faultline run stops the program", told == "told\n", told)
for _ in range(400):
    _, status = os.waitpid(p.pid, os.WNOHANG | os.WUNTRACED)
    if status:
        break
    time.sleep(0.05)
check("and it stops itself", os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTSTP, status)
p.send_signal(signal.SIGCONT)
p.send_signal(signal.SIGTERM)
check("until it is continued", ends(p) == 128 + signal.SIGTERM, p.returncode)

# in a terminal of its own, whose key is pressed
terminal, inside = pty.openpty()
count = "n=0; trap 'n=$((n+1))' INT; echo ready; for k in 1 2 3 4 5 6; do sleep 0.05; done; exit $((n+4))"
p = subprocess.Popen([FAULTLINE, "run", "--", "sh", "-c", count], stdin=inside, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, text=True, start_new_session=True,
                     preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
p.stdout.readline()
os.write(terminal, b"\x03")
p.communicate(timeout=20)
check("the key of a terminal is one signal", p.returncode == 5, p.returncode)

p = subprocess.Popen([FAULTLINE, "run", "--", "sh", "-c", "echo $$; exec sleep 60"], stdout=subprocess.PIPE, text=True)
child = int(p.stdout.readline())
p.kill()
p.wait()
gone = False
for _ in range(400):
    try:
        os.kill(child, 0)
        gone = open(f"/proc/{child}/stat").read().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        gone = True
    if gone:
        break
    time.sleep(0.05)
check("the program does not outlive faultline run", gone, child)

print(f"{failures} failed")
sys.exit(failures != 0)
