#!/usr/bin/env python3
"""Style checks: what a machine can see of how this repository should read.
Prints one line per finding; exit status 1 if there is any. Needs nothing but the
files, so it is one of the tests, too."""

import os
import re
import sys

FOLDERS = (".ci", "bench", "examples", "include", "profiles", "src", "tests")
SCRIPTS = ("dev", "demo", "run", "languages", "skip", "vendor")
# how a file of each kind begins: with what it owns
HEADS = {
    ("c", "h", "cu", "cl", "ptx"): r"/\*|//",
    ("py", *SCRIPTS): r'(#!/.*\n)?("""|# )',
    ("sh",): r"#!/.*\n# ",
    ("build",): "# ",
    ("ini",): "; ",
    ("map",): r"/\*",
}
HEAD = {kind: head for kinds, head in HEADS.items() for kind in kinds}

LONGEST_FILE, LONGEST_FUNCTION, LONGEST_LINE = 600, 60, 140
LONGER_FILES = {
    "include/cuda.h": 12000,
    "include/cuda_runtime_types.h": 1200,
    "include/cuda_runtime_api.h": 1200,
    "tests/conformance/more/cases_more.c": 1500,  # recorded questions, one after the other
    "tests/conformance/more/cases_pool.c": 1000,
    "tests/conformance/more/cases_captures.c": 900,
    "tests/conformance/more/cases_graphcalls.c": 900,
    "tests/conformance/more/cases_graphs.c": 750,
    "tests/conformance/more/cases_graphwalk.c": 750,
    "tests/runtime/ask_twelve.cu": 700,  # questions, too
}
LONGER_FUNCTIONS = ("tests/conformance/", "tests/runtime/ask", "tests/behaviour/", "tests/ptx/", "tests/hosts/")

# Who may include whose headers: a folder's own, and those of the folders below it. What stands side by side does not
# know of each other. doc/architecture.md, "Where a line of code belongs", says what each folder is for.
LAYERS = (
    ("base", "ptx"),
    ("processor", "trace"),
    ("space", "device", "cli"),
    ("ordinary",),
    ("uvm", "vmm"),
    ("stream",),
    ("module", "mempool", "ipc"),
    ("graph",),
    ("api", "ptxas"),
    ("nvjitlink",),
    ("lead",),
)
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
# context.h (who is asked, and may it go on?) is known from the address space upwards; the rest of src/context
# (green contexts) belongs to streams.
KNOWN_FROM = {"context/context.h": "space", "context/green.h": "stream"}
EXCEPTIONS = {
    ("context/library.c", "*"): "begins every other folder, once",
    ("context/context.c", "*"): "ends what a context has: streams, modules",
    ("context/green.c", "stream"): "its default stream begins and ends with it",
    ("context/*", "space"): "a device has its memory",
    ("context/*", "processor"): "a device has its process",
    ("trace/page_map.c", "uvm"): "asks where pages are, when kernels begin and end",
}
# What the compiler, a process of its own, shares with others, or they among themselves of what PTX says.
PTX_SHARED = ("ptx/abi.h", "ptx/image.h", "ptx/rt_math.h", "ptx/tensor_map.h")
used_exceptions = set()
findings = []


def below(path, header):
    """Whether layers permit path (folder/file.c) to include header."""
    folder, other = path.split("/")[0], header.split("/")[0]
    if header in KNOWN_FROM and folder in LEVEL:
        return LEVEL[folder] >= LEVEL[KNOWN_FROM[header]]
    return folder == other or other == "base" or LEVEL.get(folder, -1) > LEVEL.get(other, len(LAYERS))


def excepted(path, header):
    folder, other = path.split("/")[0], header.split("/")[0]
    for key in ((path, "*"), (path, other), (f"{folder}/*", other)):
        if key in EXCEPTIONS:
            used_exceptions.add(key)
            return True
    return False


def check_includes(path, lines):
    inside = path.removeprefix("src/")
    for number, line in enumerate(lines, 1):
        if path.endswith(".c") and line.startswith("extern "):
            findings.append(f"{path}:{number}: what another file defines is declared in its header")
        m = re.match(r'#include "(\w+/\w+\.h)"', line)
        if not m or not os.path.exists("src/" + m.group(1)):
            continue
        header = m.group(1)
        own = header.split("/")[0] == inside.split("/")[0]
        if not own and (header.endswith("/internal.h") or header.startswith("ptx/") and header not in PTX_SHARED):
            findings.append(f"{path}:{number}: {header} is that folder's own")
        elif not below(inside, header) and not excepted(inside, header):
            findings.append(
                f"{path}:{number}: {header} is not below {os.path.dirname(inside)} (LAYERS in tests/lint.py)"
            )


def check_lines(path, lines):
    start = None
    longest = LONGER_FILES.get(path, LONGEST_FILE)
    if len(lines) > longest:
        findings.append(f"{path}: {len(lines)} lines, at most {longest}")
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        if line != line.rstrip():
            findings.append(f"{where}: white space at the end of the line")
        if "\t" in line and not path.endswith(".ptx"):
            findings.append(f"{where}: tab")
        if len(line) > LONGEST_LINE:
            findings.append(f"{where}: {len(line)} characters, at most {LONGEST_LINE}")
        if re.search(r"\b(TO[D]O|FIX[M]E|XX[X])\b", line):
            findings.append(f"{where}: unfinished")
        if line == "{":
            start = number
        if line == "}" and start:
            if number - start > LONGEST_FUNCTION and not path.startswith(LONGER_FUNCTIONS):
                findings.append(f"{path}:{start}: a function of {number - start} lines, at most {LONGEST_FUNCTION}")
            start = None


def check_opcodes(text):
    """The compiler finds an opcode by bisection."""
    opcodes = re.findall(r"X\((\w+)\)", text[text.index("#define FL_PTX_OPS") : text.index("enum ptx_op")])
    for before, after in zip(opcodes, opcodes[1:]):
        if before >= after:
            findings.append(f"src/ptx/ir.h: FL_PTX_OPS: {after} comes before {before}")


def call_at(text, start):
    """The call that begins at start, as far as its parentheses go."""
    depth = 0
    for end in range(text.index("(", start), len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            return text[start : end + 1]
    return text[start:]


def check_targets(path, text):
    """Meson 1.7 does not build with everything else what only tests need."""
    for m in re.finditer(r"custom_target\(", text):
        if "build_by_default: true" not in call_at(text, m.start()):
            number = text.count("\n", 0, m.start()) + 1
            findings.append(f"{path}:{number}: what a test needs is built by default")


def kind(name):
    """What follows the last point, or all of a script's name."""
    return name.rpartition(".")[2]


def check_asked(text):
    """No golden file of further answers that nobody compares with."""
    for name in re.findall(r"^cases_(\w+)\.c$", "\n".join(os.listdir("tests/conformance/more")), re.M):
        if f'"{name}"' not in text[text.index("NAMES = [") : text.index("TWO_DEVICES")]:
            findings.append(f"tests/conformance/more/run: NAMES lacks {name}")


def made_by_a_compiler(text):
    return re.match(r"//\n// Generated by|// What nvcc \S+ makes of", text)


def check(path):
    text = open(path, encoding="utf-8", errors="replace").read()
    if not made_by_a_compiler(text):
        check_lines(path, text.split("\n"))
    if not re.match(HEAD[kind(os.path.basename(path))], text):
        findings.append(f"{path}: the first comment should say what the file owns")
    if path.startswith("tests/") and path.endswith("meson.build"):
        check_targets(path, text)
    if path == "src/ptx/ir.h":
        check_opcodes(text)
    if path == "tests/conformance/more/run":
        check_asked(text)
    if path.startswith("src/") and path.endswith((".c", ".h")):
        check_includes(path, text.split("\n"))


os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
files = [os.path.join(folder, name) for top in FOLDERS for folder, _, names in os.walk(top) for name in names]
files = [name for name in files + os.listdir(".") if kind(os.path.basename(name)) in HEAD and os.path.isfile(name)]
for name in sorted(files):
    check(name)
for key in EXCEPTIONS.keys() - used_exceptions:
    findings.append(f"tests/lint.py: nobody needs the exception {key}")
print("\n".join(findings))
print(f"lint: {len(findings)} findings in {len(files)} files")
sys.exit(1 if findings or not files else 0)
