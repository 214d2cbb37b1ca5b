#!/usr/bin/env python3
"""Which kernels' stores go past the cache. usage: streaming.py PTXC KERNELS.ptx"""

import re
import subprocess
import sys

ptxc, ptx = sys.argv[1:]
names = re.findall(r"^\.entry (\w+)", open(ptx).read(), re.M)
ir = subprocess.run(
    [ptxc, "--cpu", "x86-64-v4", "--dump-optimised", ptx, "-o", "/dev/null"], capture_output=True, text=True, check=True
).stdout
functions = dict(re.findall(r"^define [^\n]*@k(\d+)_s0\((.*?)^}", ir, re.M | re.S))
streaming = {names[int(k)] for k, body in functions.items() if "!nontemporal" in body}
expected = {"bytes", "shorts", "words", "longs", "floats"}
if streaming != expected:
    sys.exit(f"go past the cache: {sorted(streaming)}, expected: {sorted(expected)}")
