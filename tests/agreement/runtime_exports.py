#!/usr/bin/env python3
"""Our libcudart.so.13 exports the symbols of NVIDIA's, of the same versions,
where that is installed. usage: runtime_exports.py OUR_LIBCUDART [NAMES]
NAMES: a file with the symbols of NVIDIA's, instead of it: libcudart12.txt is of 12.9."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import headers


def exported(path):
    nm = subprocess.run(["nm", "-D", "--defined-only", "-P", path], capture_output=True, text=True, check=True)
    # a version's own name is an absolute symbol
    return {line.split()[0] for line in nm.stdout.splitlines() if line.split()[1] != "A"}


def of_vendor():
    if len(sys.argv) > 2:
        library = os.path.basename(sys.argv[1])
        return {f"{name}@@{library}" for name in open(sys.argv[2]).read().split()}
    vendor = headers.find_vendor("cuda_runtime_api.h")
    theirs = vendor and os.path.join(os.path.dirname(vendor), "..", "lib64", "libcudart.so.13")
    if not theirs or not os.path.exists(theirs):
        headers.skip("NVIDIA's libcudart.so.13 is not installed")
    return exported(theirs)


ours, theirs = exported(sys.argv[1]), of_vendor()
for name in sorted(theirs - ours):
    print("not exported: " + name)
for name in sorted(ours - theirs):
    print("exported, but not by NVIDIA's: " + name)
print(f"{len(ours)} symbols exported, {len(theirs)} by NVIDIA's")
sys.exit(ours != theirs)
