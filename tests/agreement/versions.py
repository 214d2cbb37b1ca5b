#!/usr/bin/env python3
"""Compares the table of entry points with NVIDIA's toolkit, where it is
installed: the CUDA version of every ABI version with cudaTypedefs.h and its
siblings, and the symbols with the stub library. usage: versions.py TABLE GENERATE_PY"""

import glob
import importlib.util
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import headers

spec = importlib.util.spec_from_file_location("generate", sys.argv[2])
generate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generate)

vendor = headers.find_vendor()
folder = vendor and os.path.dirname(vendor)
if not folder or "#define CUDA_VERSION 13000" not in open(vendor, errors="replace").read():
    headers.skip("NVIDIA's CUDA 13.0 toolkit is not installed")

theirs, ours, symbols = set(), set(), set()
for path in glob.glob(os.path.join(folder, "cuda*Typedefs.h")):
    for m in re.finditer(r"PFN_(cu\w+?)_v(\d+)(?:_(ptsz|ptds))?\)\(", open(path, errors="replace").read()):
        if not m.group(1).startswith("cuWGL"):  # Windows only
            theirs.add((m.group(1), int(m.group(2)), m.group(3) or ""))
for e in generate.read_table(sys.argv[1]):
    name = generate.base_name(e.symbol)
    ours.add((name, e.since, ""))
    symbols.add(e.symbol)
    if e.variant:
        ours.add((name, e.since_pt, e.variant))
        symbols.add(f"{e.symbol}_{e.variant}")
wrong = [f"{n} of {v} {k}: missing" for n, v, k in theirs - ours] + [
    f"{n} of {v} {k}: not NVIDIA's" for n, v, k in ours - theirs
]

stub = os.path.join(folder, "..", "lib64", "stubs", "libcuda.so")
if os.path.exists(stub):
    nm = subprocess.run(["nm", "-D", "--defined-only", "-P", stub], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[0].split("@")[0] for line in nm.splitlines() if line.startswith("cu")}
    wrong += [f"{n}: exported by NVIDIA's library, not in the table" for n in exported - symbols]
for line in sorted(wrong):
    print(line)
print(f"{len(theirs)} versions of entry points compared, {len(wrong)} differ")
sys.exit(bool(wrong))
