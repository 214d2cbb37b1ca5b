#!/usr/bin/env python3
"""Compares our cupti.h with NVIDIA's, where it is installed: every constant,
structure layout and prototype that ours offers. usage: cupti.py OUR_INCLUDE
Exit status 77 (skipped) where NVIDIA's header of the same version is missing."""

import os
import re
import subprocess
import sys
import tempfile

from headers import CC, find_vendor, skip


def preprocess(folder):
    return subprocess.run(
        [*CC, "-E", "-P", "-I", folder, os.path.join(folder, "cupti.h")], capture_output=True, text=True, check=True
    ).stdout


def facts(text):
    """C statements that print what ours declares, and the prototypes as assertions."""
    out = []
    for m in re.finditer(r"typedef enum\s*\{([^}]*)\}\s*CU(?:pti_\w+|ptiResult)\s*;", text):
        for c in m.group(1).split(","):
            name = c.partition("=")[0].strip()
            if name:
                out.append(f'printf("{name} = %lld\\n", (long long){name});')
    for m in re.finditer(r"typedef struct [^{};]*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}\s*(CUpti_\w+)\s*;", text):
        name = m.group(2)
        out.append(f'printf("sizeof {name} = %zu, alignment %zu\\n", sizeof({name}), _Alignof({name}));')
        body = re.sub(r"union\s*\{(?:[^{}]|\{[^{}]*\})*\}", "int", m.group(1))
        for member in (d for line in body.split(";") for d in line.split(",")):
            found = re.search(r"(\w+)\s*(?:\[\w*\])?\s*$", member)
            if found:
                f = found.group(1)
                out.append(
                    f'printf("{name}.{f} at %zu, size %zu\\n", offsetof({name}, {f}), sizeof((({name} *)0)->{f}));'
                )
    return out


def run(folder, statements, prototypes):
    source = [
        "#include <cupti.h>",
        "#include <stdio.h>",
        "#include <stddef.h>",
        *prototypes,
        "int main(void) {",
        *statements,
        "return 0; }",
    ]
    with tempfile.TemporaryDirectory() as d:
        c, program = os.path.join(d, "facts.c"), os.path.join(d, "facts")
        open(c, "w").write("\n".join(source))
        subprocess.run([*CC, "-std=gnu17", "-w", "-I", folder, "-o", program, c], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def main():
    vendor = find_vendor()
    folder = vendor and os.path.dirname(vendor)
    if not folder or not os.path.exists(os.path.join(folder, "cupti.h")):
        skip("NVIDIA's cupti.h is not installed beside its cuda.h")
    version = open(os.path.join(folder, "cupti_version.h")).read()
    if not re.search(r"#define CUPTI_API_VERSION 1300\d\d", version):
        skip("NVIDIA's cupti.h is not of CUDA 13.0")
    ours = preprocess(sys.argv[1])
    statements = facts(ours)
    # a redeclaration that differs does not compile
    prototypes = [p.strip() for p in re.findall(r"CUptiResult\s+cupti\w+\([^;]*\)\s*;", ours)]
    wrong = [
        f"{a}; should be {b}"
        for a, b in zip(run(sys.argv[1], statements, []), run(folder, statements, prototypes))
        if a != b
    ]
    print("\n".join(wrong))
    print(f"{len(statements)} facts and {len(prototypes)} prototypes compared, {len(wrong)} differ")
    sys.exit(bool(wrong) or not prototypes or len(statements) < 100)


if __name__ == "__main__":
    main()
