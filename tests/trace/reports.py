#!/usr/bin/env python3
"""The reports of `faultline run`, on a program that writes a known trace.
usage: reports.py FAULTLINE PROGRAM"""

import json
import os
import re
import subprocess
import sys
import tempfile

faultline, program = sys.argv[1:3]
failures = 0


def check(what, good, seen=""):
    global failures
    failures += not good
    print(("ok      " if good else "NOT OK  ") + what + ("" if good else f"; seen:\n{seen}"))


def run(*args):
    # programs have names in any encoding
    r = subprocess.run([faultline, "run", *args], capture_output=True, text=True, errors="replace", timeout=60)
    return r.returncode, r.stderr


code, text = run("--um-summary", "--", program)
check("a watched program's exit status is its own", code == 0, text)
check(
    "faults one by one: advice to prefetch",
    "40 MiB moved to the GPU page by page by 640 faults: prefetch it before the launch" in text,
    text,
)
check("turns: advice to settle the pages", re.search(r"again and again, 98 times.*preferred location", text), text)
check(
    "thrashing reads: advice to duplicate", re.search(r"went back and forth.*noticed 1 time:.*read-mostly", text), text
)
check("eviction is named", "200 MiB was evicted from device memory" in text, text)
check("memory that was only prefetched gets no advice", not re.search(r"#5 .*\n   ", text), text)
check("the sum is there", re.search(r"all +59 MiB +203 MiB +70 +710", text), text)

code, text = run("--um-summary", "--", program, "kill")
check("a killed program's summary is printed", code == 137 and "640 faults" in text, text)

code, text = run("--page-map", "--", program)
rows = [line for line in text.split("\n") if line.endswith("|") or " more time" in line]
check(
    "page map: nowhere, host, device",
    any("|" + "-" * 64 + "|" in r for r in rows)
    and any("|" + "H" * 64 + "|" in r for r in rows)
    and any("|" + "H" * 32 + "0" * 32 + "|" in r for r in rows),
    text,
)
check("page map: what did not change is one row", "and 1 more time" in text, text)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "trace.json")
    code, text = run("--trace", path, "--", program)
    events = json.load(open(path))["traceEvents"]
    check("trace: every migration", sum(e.get("cat") == "migration" for e in events) == 1481, text)
    check("trace: every fault", sum(e["name"] in ("GPU fault", "CPU fault") for e in events) == 780, text)
    named = [e["tid"] for e in events if e["name"] == "thread_name"]
    check(
        "trace: the tracks that are used have a name",
        sorted(named) == sorted({e["tid"] for e in events if e["ph"] in "Xi"}),
        named,
    )
    kernels = [e for e in events if e.get("cat") == "kernel" and e["name"] != "in another stream"]
    check(
        "trace: kernels with any name",
        len(kernels) == 1 and kernels[0]["name"].startswith('a "kernel" \\ with\ttabs') and kernels[0]["dur"] == 2.5,
        kernels,
    )
    streams = {e["args"]["stream"]: e["tid"] for e in events if e.get("cat") == "kernel"}
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    check("trace: each of many streams has a track", len(streams) == 2499
          and all(tracks[track] == f"device 0: stream {stream}" for stream, track in streams.items()), tracks)

    copies = [e for e in events if e.get("cat") == "copy"]
    check(
        "trace: a copy",
        [(e["name"], e["dur"], e["args"]["from"], e["args"]["to"]) for e in copies]
        == [("copy 3 MiB from host to device 0", 5.5, "pageable", "device")],
        copies,
    )
    memsets = [e for e in events if e.get("cat") == "memset"]
    check(
        "trace: a memset, in the stream's track",
        [(e["name"], e["args"]["value"], e["tid"]) for e in memsets]
        == [("memset 512 B on device 0", "0xab", kernels[0]["tid"])],
        memsets,
    )

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "trace.json")
    for seed in range(12):
        code, text = run("--um-summary", "--page-map", "--trace", path, "--", program, "scribble", str(seed))
        check(f"noise in place of a trace ({seed}) is reported as well as can be", code >= 0, f"{code}\n{text[:2000]}")

    reader, writer = os.pipe()
    os.close(reader)
    r = subprocess.run([faultline, "run", "--trace", path, "--", "sh", "-c", '"$0" >&2; exit 3', program], stderr=writer, timeout=60)
    os.close(writer)
    check("who says what nobody reads still has the program's exit status", r.returncode == 3, r.returncode)
    with open(path) as f:
        text = f.read()
    check("trace: complete then, too", '"cat":"kernel"' in text and text.endswith("\n]}\n"), text[-200:])

code, text = run("--um-summary", "--", "true")
check("a program without managed memory is told so", code == 0 and "nothing was recorded" in text, text)
code, text = run("--trace", "/nowhere/at/all", "--", "true")
check(
    "a file that cannot be written is an error before the program starts",
    code == 126 and "/nowhere/at/all" in text,
    text,
)
sys.exit(failures > 0)
