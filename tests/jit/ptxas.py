#!/usr/bin/env python3
"""ptxas: what programs expect of its command line, its messages and its exit status. usage: ptxas.py FAULTLINE"""

import os
import re
import subprocess
import sys
import tempfile

FAULTLINE = os.path.abspath(sys.argv[1])
failures = 0

GOOD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %a;
    .reg .b32 %v;
    ld.param.u64 %a, [p];
    add.u32 %v, %v, 1;
    st.global.u32 [%a], %v;
    ret;
}
"""


def run(*args, command=(FAULTLINE, "ptxas"), **more):
    p = subprocess.run([*command, *args], capture_output=True, text=True, timeout=60, **more)
    return p.returncode, p.stdout, p.stderr


def check(what, ok, saw):
    global failures
    if not ok:
        failures += 1
        print(f"not so: {what}\n    saw: {saw!r}")


def write(name, text):
    with open(name, "w") as f:
        f.write(text)
    return name


def check_inputs():
    good = write("good.ptx", GOOD)
    r = run("-arch=sm_90", good, "-o", "out")
    check("PTX is taken without a word", r == (0, "", ""), r)
    check("the PTX comes out, with a 0 at its end", open("out").read() == GOOD + "\0", open("out").read())
    r = run("--gpu-name", "sm_90", good)
    check("the output is elf.o if nobody says otherwise", r[0] == 0 and os.path.exists("elf.o"), r)
    r = run("-arch=compute_90", good, "-o", "virtual")
    check("for a virtual architecture nothing is written", r[0] == 0 and not os.path.exists("virtual"), r)
    r = run("-arch=sm_90", "-o", "out", "-", input=GOOD)
    check("- is standard input", r == (0, "", "") and open("out").read() == GOOD + "\0", r)
    r = run("-arch=sm_90", "-o", "out", "-ias", GOOD)
    check("PTX can be an argument", r == (0, "", ""), r)
    r = run("-arch=sm_90", "missing.ptx")
    check("a missing file is named", r[0] == 255 and "fatal   : Input file 'missing.ptx' could not be opened" in r[2], r)
    r = run("-arch=sm_90", good, "-o", "/nowhere/out")
    check("so is one that cannot be written", r[0] == 255 and "Output file '/nowhere/out'" in r[2], r)


def check_errors():
    bad = write("bad.ptx", GOOD.replace("add.u32", "frob.u32"))
    end = "\nptxas fatal   : Ptx assembly aborted due to errors\n"
    r = run("-arch=sm_90", bad, "-o", "none")
    check(
        "an error has its file and line, and ends it with 255",
        r[0] == 255 and r[2].startswith("ptxas bad.ptx, line 9; error   : ") and r[2].endswith(end),
        r,
    )
    check("nothing is written then", not os.path.exists("none"), r)
    other = write("other.ptx", GOOD.replace("entry k", "entry l"))
    r = run("-arch=sm_90", other, bad)
    check("the line is one of its own file", r[2].startswith("ptxas bad.ptx, line 9; error   : "), r)
    r = run("-arch=sm_90", "-v", other, "good.ptx")
    check("two files become one", r[0] == 0 and "function 'k'" in r[2] and "function 'l'" in r[2], r)
    newer = write("newer.ptx", GOOD.replace("8.0", "9.9"))
    r = run("-arch=sm_90", newer)
    check("a newer PTX is refused in the known words", r[0] == 255 and "fatal   : Unsupported .version 9.9" in r[2], r)
    r = run("-arch=sm_80", "good.ptx")
    check("PTX of a newer target is refused", r[0] == 255 and "SM version specified by .target" in r[2], r)
    special = write("special.ptx", GOOD.replace("sm_90", "sm_90a"))
    r = run("-arch=sm_90", special)
    check("sm_90a is another target than sm_90", r[0] == 255 and "'sm_90a' cannot be compiled" in r[2], r)
    check("and can be asked for", run("-arch=sm_90a", special)[0] == 0, r)
    calls = write("calls.ptx", GOOD.replace(".visible", ".extern .func f;\n.visible", 1).replace("ret;", "call f; ret;"))
    r = run("-arch=sm_90", calls)
    check("what is nowhere defined is an error", r[0] == 255 and "'f'" in r[2], r)
    check("but with -c another file may bring it", run("-arch=sm_90", "-c", calls)[0] == 0, r)


def check_options():
    good = "good.ptx"
    r = run("--version")
    check("--version tells the release", re.search(r"release (\d+\.\d+), V(\d+)\.(\d+)\.(\d+)", r[1]), r)
    r = run("-arch=sm_90", "-v", good)
    check("-v tells of each kernel", r[0] == 0 and re.search(r"function 'k' for 'sm_90'", r[2]), r)
    check("and of its registers", re.search(r"ptxas info    : Used \d+ registers", r[2]), r)
    tuning = "-O3 --opt-level 2 -lineinfo -g --fmad=false -maxrregcount 32 --regAllocOptLevel=2 -warn-spills -Werror"
    r = run(*tuning.split(), "-arch", "sm_90", good)
    check("what tunes machine code is taken", r == (0, "", ""), r)
    r = run("-arch=sm_90", "--no-such-option", good)
    check("an option that nobody knows is told and left", r[0] == 0 and "warning : Unknown option" in r[2], r)
    check("or only left", run("-w", "-arch=sm_90", "--no-such-option", good) == (0, "", ""), r)
    for arguments, word in {
        ("-arch=sm_91", good): "Value 'sm_91' is not defined for option 'gpu-name'",
        ("-arch=sm_90", good, "-o"): "argument expected after '-o'",
        ("-v=1", good): "no argument expected after '-v'",
        ("-fmad=maybe", good): "'maybe': expected true or false",
        ("-arch=sm_90", "-e", "k,nothing", good): "Unknown function nothing",
    }.items():
        r = run(*arguments)
        check(f"{arguments} is refused", r[0] == 255 and r[2] == f"ptxas fatal   : {word}\n", r)
    options = write("options", "-arch=sm_90\n-v")
    r = run("-optf", options, good)
    check("options may stand in a file", r[0] == 0 and "registers" in r[2], r)
    options = write("many", "-arch=sm_90 " + 20000 * "-O3 " + "-v")
    r = run("-optf", options, good)
    check("of any length", r[0] == 0 and "registers" in r[2], r)
    r = run("-arch=sm_90", ".")
    check("what cannot be read is told", r[0] == 255 and "Input file '.' could not be opened" in r[2], r)
    r = run()
    check("without arguments it explains itself", r[0] == 0 and "--gpu-name" in r[1], r)


def check_environment():
    print_paths = "echo $TRITON_PTXAS_PATH; echo $TRITON_PTXAS_BLACKWELL_PATH; command -v ptxas"
    paths = run("-c", print_paths, command=(FAULTLINE, "run", "--", "sh"))[1].split()
    check("programs that are run find ptxas", len(paths) == 3 and len(set(paths)) == 1, paths)
    r = run("--version", command=paths[:1])
    check("that one", r[0] == 0 and "Faultline" in r[1], r)
    check("there is no other program beside it", [f for f in os.listdir(os.path.dirname(paths[0])) if "." not in f] == ["ptxas"], paths)
    chosen = dict(os.environ, TRITON_PTXAS_PATH="/their/own")
    r = run("-c", "echo $TRITON_PTXAS_PATH", command=(FAULTLINE, "run", "--", "sh"), env=chosen)
    check("who has chosen another one keeps it", r[1] == "/their/own\n", r)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_inputs()
    check_errors()
    check_options()
    check_environment()
    os.chdir("/")
sys.exit(failures > 0)
