#!/usr/bin/env python3
"""Compares our nvJitLink.h with NVIDIA's, where it is installed: every value and
prototype; and that our library exports what NVIDIA's header calls.
usage: nvjitlink.py OUR_INCLUDE OUR_LIBRARY
Exit status 77 (skipped) where NVIDIA's header is missing."""

import os
import re
import subprocess
import sys
import tempfile

from headers import CC, find_vendor, skip


def values(folder, names):
    prints = [f'printf("{name} = %d\\n", (int){name});' for name in names]
    source = ["#include <nvJitLink.h>", "#include <stdio.h>", "int main(void) {", *prints, "return 0; }"]
    with tempfile.TemporaryDirectory() as d:
        c, program = os.path.join(d, "values.c"), os.path.join(d, "values")
        with open(c, "w") as f:
            f.write("\n".join(source))
        subprocess.run([*CC, "-w", "-DNVJITLINK_NO_INLINE", "-I", folder, "-o", program, c], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def check_prototypes(ours, vendors):
    """One file with both headers: a prototype that differs is an error of the compiler."""
    with tempfile.TemporaryDirectory() as d:
        c = os.path.join(d, "both.c")
        our = open(os.path.join(ours, "nvJitLink.h")).read()
        our = re.sub(r"typedef (enum|struct)[^;]*;", "", our)  # as in the other one, whose types are taken
        vendor = open(os.path.join(vendors, "nvJitLink.h")).read()
        with open(c, "w") as f:
            f.write(f'#define NVJITLINK_NO_INLINE\n#include "{vendors}/nvJitLink.h"\n{our}')
            for name, minor in sorted(set(re.findall(r"\b__(nvJitLink\w+?)_(\d+_\d+)", vendor))):
                if name != "nvJitLinkCreate":  # of which the two differ in a const
                    f.write(f"__typeof__({name}) __{name}_{minor};\n")
        subprocess.run([*CC, "-std=gnu17", "-c", "-o", os.path.join(d, "both.o"), c], check=True)


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r" T (\w+)@@libnvJitLink\.so\.13", out))


def main():
    ours, library = sys.argv[1:]
    vendor = find_vendor("nvJitLink.h")
    if not vendor:
        return skip("NVIDIA's nvJitLink.h")
    vendors = os.path.dirname(vendor)
    text = open(vendor).read()
    names = sorted(set(re.findall(r"^\s+(NVJITLINK_(?:SUCCESS|ERROR|INPUT)\w*)", text, re.M)))
    a, b = values(ours, names), values(vendors, names)
    different = [f"{x}, NVIDIA's: {y}" for x, y in zip(a, b) if x != y]
    check_prototypes(ours, vendors)
    missing = sorted(set(re.findall(r"\b((?:__)?nvJitLink[A-Z]\w+) ?\(", text)) - exported(library))
    for line in [*different, *(f"{name} is not exported" for name in missing)]:
        print(line)
    print(f"{len(names)} values")
    return 1 if different or missing or not names else 0


sys.exit(main())
