#!/usr/bin/env python3
"""The library exports exactly the entry points of the table.
usage: exports.py LIBCUDA TABLE GENERATE_PY"""

import importlib.util
import subprocess
import sys

spec = importlib.util.spec_from_file_location("generate", sys.argv[3])
generate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(generate)

wanted = set()
for e in generate.read_table(sys.argv[2]):
    wanted.add(e.symbol)
    if e.variant:
        wanted.add(f"{e.symbol}_{e.variant}")
nm = subprocess.run(
    ["nm", "-D", "--defined-only", "-P", sys.argv[1]], capture_output=True, text=True, check=True
).stdout
exported = {line.split()[0].split("@")[0] for line in nm.splitlines()}
exported = {name for name in exported if not name.startswith("faultline_")}
for name in sorted(wanted - exported):
    print("not exported: " + name)
for name in sorted(exported - wanted):
    print("exported, but not in the table: " + name)
print(f"{len(exported)} symbols exported, {len(wanted)} in the table")
sys.exit(exported != wanted)
