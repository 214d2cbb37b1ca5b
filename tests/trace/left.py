#!/usr/bin/env python3
"""What a program has waited for is in its trace, however it ends. usage: left.py FAULTLINE LEFT"""

import json
import subprocess
import sys
import tempfile

faultline, program = sys.argv[1:3]
KERNELS, TIMES = 5, 3
failures = 0
for how in ("context", "stream", "event", "copy", "query", "event-query"):
    for _ in range(TIMES):
        with tempfile.NamedTemporaryFile() as f:
            r = subprocess.run([faultline, "run", "--trace", f.name, "--", program, how], capture_output=True, text=True, timeout=60)
            names = [e.get("name", "") for e in json.load(f)["traceEvents"] if e.get("ph") != "M"]
        if r.returncode or names.count("mark") != KERNELS or "GPU fault" not in names:
            failures += 1
            print(f"{how}: exit status {r.returncode}\n{r.stderr}{names}")
sys.exit(failures > 0)
