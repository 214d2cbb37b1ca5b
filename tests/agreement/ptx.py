#!/usr/bin/env python3
"""Which instructions are legal: asks NVIDIA's ptxas and our compiler of thousands, legal ones (FORMS) and what becomes
of these at random, for several versions of PTX and targets.
usage: ptx.py FORMS OUTCOMES
SEED=1 N=15000 make other ones. Exit status 77 (skipped) where ptxas of CUDA 13.0 is missing."""

import os
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict

LEGAL, INVALID = "0", "10"  # EXIT_INVALID_PTX; what is legal, but not run, is neither
NEWEST = ("9.0", "sm_90a")
MODULES = [NEWEST] * 8 + [("9.0", "sm_90"), ("8.0", "sm_90a"), ("7.8", "sm_90"), ("8.4", "sm_80"), ("8.1", "sm_75"),
                          ("7.0", "sm_70"), ("6.3", "sm_60"), ("5.0", "sm_50"), ("3.2", "sm_30")]  # fmt: skip
TYPES = """b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 tf32 e4m3x2
u16x2 s16x2""".split()
WORDS = """rn rz rm rp rna rni rzi ftz sat satfinite approx full noftz relu NaN xorsign abs oob hi lo wide cc clamp wrap
eq lt le ltu num and or xor add inc min max exch cas popc up idx all any uni ballot sync arrive red aligned v2 v4 v8
volatile relaxed acquire release acq_rel weak mmio cta cluster gpu sys nc to po shr7 ca cg cs cv wt L1::no_allocate L2::128B
L2::cache_hint global const shared local param shared::cta shared::cluster param::entry""".split()
OPERANDS = """%p1 !%p1 %b1 %h1 %hu1 %hs1 %r1 %ru1 %rs1 %d1 %du1 %ds1 %f1 %g1 1 -1 0 7 31 255 256 65536 70000 1.0
0f3f800000 0d3ff0000000000000 %tid.x %clock64 gv sv _ %p0|%p2 %r0|%p2 [%d1] [%r1+4] [gv] [sv] WARP_SZ -%r1 %r1.b2 %r1.h1
%r1.h31 %r1.b7106
{%r0,%r1} {%f0,%f1} {%d0,%d1} {%h0,%h1} {%r0,%r1,%r2,%r3}""".split()


def find_ptxas():
    for folder in (os.environ.get("CUDA_HOME"), "/usr/local/cuda", "/usr"):
        ptxas = os.path.join(folder or "/nonexistent", "bin", "ptxas")
        if os.path.exists(ptxas):
            version = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=False).stdout
            if "release 13.0" in version:
                return ptxas
    print("SKIP: no ptxas of CUDA 13.0")
    sys.exit(77)


def head(version, target):
    wide = ".reg .b128 %q<4>;" if float(version) >= 8.3 and int(target[3:].rstrip("a")) >= 70 else ""
    return f""".version {version}
.target {target}
.address_size 64
.global .align 16 .b8 gv[256];
.shared .align 16 .b8 sv[256];
.visible .entry k(.param .u64 kp, .param .align 16 .b8 ka[64])
{{
.reg .b8 %b<6>; .reg .b16 %h<6>; .reg .u16 %hu<4>; .reg .s16 %hs<4>; .reg .b32 %r<10>; .reg .u32 %ru<4>;
.reg .s32 %rs<4>; .reg .b64 %d<6>; .reg .u64 %du<4>; .reg .s64 %ds<4>; .reg .f32 %f<6>; .reg .f64 %g<6>;
.reg .pred %p<6>; {wide} .local .align 16 .b8 lv[64];
"""


def refused_lines(ptxas, folder, module, instructions):
    """{index: why}; ptxas tells of all that it finds wrong, one stage after the other."""
    refused, left = {}, list(range(len(instructions)))
    path, first = os.path.join(folder, "a.ptx"), head(*module).count("\n") + 1
    while left:
        with open(path, "w") as f:
            f.write(head(*module) + "".join("{%s}\n" % instructions[k] for k in left) + "ret;\n}\n")
        run = subprocess.run([ptxas, "-arch=sm_90a", "-O0", "-o", "/dev/null", path], capture_output=True, text=True,
                             check=False)  # fmt: skip
        if run.returncode == 0:
            break
        found = re.findall(r", line (\d+); (?:error|fatal)\s*: (.*)", run.stderr)
        lines = {int(line) - first: why for line, why in found if 0 <= int(line) - first < len(left)}
        if not lines and len(left) == 1:
            refused[left[0]] = run.stderr.strip()
            break
        if not lines:  # it does not say which
            half = len(left) // 2
            for part in (left[:half], left[half:]):
                some = refused_lines(ptxas, folder, module, [instructions[k] for k in part])
                refused.update({part[k]: why for k, why in some.items()})
            break
        refused.update({left[k]: why for k, why in lines.items()})
        left = [k for n, k in enumerate(left) if n not in lines]
    return refused


def theirs(ptxas, asked):
    """For each (module, instruction): why it is refused, or None."""
    answers, groups = [None] * len(asked), defaultdict(list)
    for k, (module, _) in enumerate(asked):
        groups[module].append(k)
    with tempfile.TemporaryDirectory() as folder:
        for module, members in groups.items():
            for k, why in refused_lines(ptxas, folder, module, [asked[m][1] for m in members]).items():
                answers[members[k]] = why
    return answers


def ours(outcomes, asked):
    text = "".join(head(*module) + "{" + instruction + "}\nret;\n}\n\x01" for module, instruction in asked)
    run = subprocess.run([outcomes], input=text, capture_output=True, text=True, check=True)
    answers = [line.split(" ", 1) for line in run.stdout.splitlines()]
    assert len(answers) == len(asked), f"one answer for each was expected, not {len(answers)}"
    return answers


def mutate(instruction, rnd):
    name, _, rest = instruction.rstrip(";").partition(" ")
    words, operands = name.split("."), re.findall(r"\[[^\]]*\]|\{[^}]*\}[^,]*|[^,\s]+", rest)
    at, kind = 1 + rnd.randrange(max(1, len(words) - 1)), rnd.random()
    new = rnd.choice(TYPES if rnd.random() < 0.5 else WORDS)
    if new in words:  # said twice, some words count once
        return instruction
    if kind < 0.25:
        words.insert(at, new)
    elif kind < 0.4 and len(words) > 1:
        del words[at]
    elif kind < 0.65 and len(words) > 1:
        words[at] = new
    elif kind < 0.9 and operands:
        operands[rnd.randrange(len(operands))] = rnd.choice(OPERANDS)
    elif kind < 0.95 and operands:
        del operands[rnd.randrange(len(operands))]
    else:
        operands.insert(rnd.randrange(len(operands) + 1), rnd.choice(OPERANDS))
    return ".".join(words) + " " + ", ".join(operands) + ";"


def compare(asked, ptxas, outcomes):
    """Prints the differences: how many are (illegal, but accepted here; illegal; legal, but refused here; legal)."""
    missed = illegal = wrong = legal = 0
    for (module, instruction), their, (status, why) in zip(asked, theirs(ptxas, asked), ours(outcomes, asked)):
        illegal += bool(their)
        legal += not their
        missed += bool(their) and status == LEGAL
        wrong += not their and status == INVALID
        if status == (LEGAL if their else INVALID):
            print(f"{' '.join(module)}: {instruction}\n    ptxas: {their or 'legal'}\n    here: {why or 'legal'}")
    return missed, illegal, wrong, legal


def main():
    forms, outcomes = open(sys.argv[1]).read().splitlines(), sys.argv[2]
    ptxas, rnd = find_ptxas(), random.Random(int(os.environ.get("SEED", "1")))
    missed, _, wrong, _ = compare([(m, f) for m in dict.fromkeys(MODULES) for f in forms], ptxas, outcomes)
    print(f"forms: {wrong} legal ones refused, {missed} illegal ones accepted")
    mutants = [(rnd.choice(MODULES), mutate(rnd.choice(forms), rnd)) for _ in range(int(os.environ.get("N", "15000")))]
    bad, illegal, strict, legal = compare(mutants, ptxas, outcomes)
    print(f"mutants: {bad} of {illegal} illegal ones accepted, {strict} of {legal} legal ones refused")
    # ptxas takes a vector for a .bf16 register, and the like
    sys.exit(bool(wrong or bad > 0.01 * illegal or strict > 0.02 * legal))


if __name__ == "__main__":
    main()
