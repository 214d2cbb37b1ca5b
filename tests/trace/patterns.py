#!/usr/bin/env python3
"""What `faultline run --um-summary` says of programs that use managed memory
well or badly. usage: patterns.py FAULTLINE PATTERNS"""

import re
import subprocess
import sys

faultline, program = sys.argv[1:3]
FAULTS = r"MiB moved to the GPU page by page by \d+ faults: prefetch it before the launch"
TURNS = r"(went back and forth|moved again and again)"
EXPECTED = {
    "faulted": (r"#1 .* 16 MiB +16 MiB .*\n +16 " + FAULTS, None, 0),
    "prefetched": (r"#1 .* 16 MiB +16 MiB +- +\d+ +0 ", r"\n {8}\S", 0),
    "turns": (TURNS + ".*preferred location", None, 0),
    "reads-in-turns": (TURNS + ".*advise read-mostly.*preferred location", None, 0),
    "ordinary-in-turns": (TURNS + ".*set the host as its preferred location", "read-mostly", 0),
    "read-mostly": (r"#1 .* 4 MiB +4 MiB +- +\d+ +0 +4 MiB", r"\n {8}\S", 0),
    "written-copies": (r"read-mostly, but writes ended 12 MiB of copies.*UNSET_READ_MOSTLY", TURNS, 0),
    "oversubscribed": (r"MiB was evicted from device memory.*prefetch each", None, 0),
    "too-much-prefetched": (r"MiB was evicted from device memory.*prefetch smaller pieces", "prefetch each", 0),
    "oversubscribed-and-read": (r"MiB was evicted from device memory", TURNS, 0),
    "neighbours": (r"#21 .*\n +448 KiB moved along with its neighbours", r"(share blocks of 2 MiB[\s\S]*){2}", 0),
    "reads-of-two-devices": (TURNS + ".*nearly all faults were reads.*advise read-mostly", None, 0),
    "few-copies-written": (FAULTS, TURNS + "|UNSET", 0),
    "prefetched-but-for-a-little": (r"#1 .* 32 MiB +32 MiB +- +\d+ +[1-9]", r"\n {8}\S", 0),
    "small-and-alone": (r"#1 .* 12 KiB ", "neighbours", 0),
    "never-synchronised": (FAULTS, None, 0),
    "crashed": (FAULTS, None, 137),
}
failures = 0
for name, (want, never, status) in EXPECTED.items():
    r = subprocess.run(
        [faultline, "run", "--profile", "h200-hmm" if name.startswith("ordinary") else "h200"]
        + ["--devices", "2", "--vram", "64M", "--um-summary", "--", program, name],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "ordinary memory does not migrate" in r.stderr:
        print(f"skipped {name}: this user has no userfaultfd that serves system calls")
        continue
    good = re.search(want, r.stderr) and not (never and re.search(never, r.stderr)) and r.returncode == status
    failures += not good
    print(f"{'ok      ' if good else 'NOT OK  '}{name}" + ("" if good else f": exit status {r.returncode}\n{r.stderr}"))
sys.exit(failures > 0)
