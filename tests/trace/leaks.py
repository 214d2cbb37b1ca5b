#!/usr/bin/env python3
"""faultline run --leaks: what it says of programs that give back what they took, and of those that do not.
usage: leaks.py FAULTLINE PROGRAM"""
import os
import re
import subprocess
import sys
import tempfile

faultline, program = sys.argv[1:]
failures = 0


def run(*case, command=(program,)):
    """(exit status, [(bytes, what, [function])], all that was said)"""
    p = subprocess.run([faultline, "run", "--leaks", "--vram", "1G", "--", *command, *case], capture_output=True, text=True, timeout=120)
    pieces = []
    for line in p.stderr.splitlines():
        if found := re.fullmatch(r"  +(\S+(?: \S?i?B)?)  (\S.*), from", line):
            pieces.append((found.group(1), found.group(2), []))
        elif pieces and (found := re.fullmatch(r" {12}(\S+).*", line)):
            pieces[-1][2].append(found.group(1))
    return p.returncode, pieces, p.stderr + p.stdout


def check(what, ok, saw):
    global failures
    if not ok:
        failures += 1
        print(f"not so: {what}\n    saw: {saw}")


for case in ("gives", "late", "threads", "pieces", "captures", "child"):
    status, pieces, said = run(case)
    check(f"{case}: nothing is left", status == 0 and not pieces and "all memory was given back" in said, said)

status, pieces, said = run("keeps")
check("memory that is kept is exit status 1", status == 1, said)
kept = {what: (size, calls) for size, what, calls in pieces}
for what, size, call, by in (
    ("device memory, device 0", "3 MiB", "cuMemAlloc_v2", "take_memory"),
    ("managed memory", "5 MiB", "cuMemAllocManaged", "take_memory"),
    ("registered host memory", "1 MiB", "cuMemHostRegister_v2", "take_memory"),
    ("reserved addresses", "8 MiB", "cuMemAddressReserve", "take_mapped"),
    ("a pool", "-", "cuMemPoolCreate", "take_pools"),
):
    saw = [p for p in pieces if p[1] == what and p[0] == size]
    check(f"{what} is told with its size", len(saw) == 1, said)
    check(f"{what} is told with its call", saw and saw[0][2][0] == call and by in saw[0][2], said)
check("each kind is told", len(pieces) == 16, said)
check("of a handle that is held twice, and two mappings", sum("handle" in p[1] or "mapping" in p[1] for p in pieces) == 4, said)

status, pieces, said = run("resets")
left = sorted(p[1] for p in pieces)
check("a context's memory goes with it", not any(w.startswith(("device", "managed", "pinned", "an array")) for w in left), said)
check("what is of no context stays", len(left) == 8 and sum("pool" in w for w in left) == 3, said)

status, pieces, said = run("fails")
check("what failed to be freed is still there", status == 1 and [p[:2] for p in pieces] == [("7 MiB", "device memory, device 0")], said)

status, pieces, said = run("killed")
check("a program that was killed had memory", status == 128 + 9 and len(pieces) == 6, said)
status, pieces, said = run("status 3")
check("the program's exit status comes first", status == 3 and len(pieces) == 6, said)

status, pieces, said = run("cleared")
check("a program that has cleared its environment is known, too", status == 1 and len(pieces) == 3, said)
status, pieces, said = run(command=["true"])
check("of a program without the driver it is not said that it gave back memory",
      status == 0 and "nothing was recorded" in said and "given back" not in said, said)

with tempfile.TemporaryDirectory() as folder:
    os.mkfifo(folder + "/end")
    status, pieces, said = run("left", folder + "/end")
    open(folder + "/end").close()
check("what still runs is told, and what it has not counted",
      status == 0 and not pieces and "still runs" in said and "given back" not in said, said)

status, pieces, said = run("too many")
check("more than there is room for is counted", status == 1 and "no room in the ledger" in said, said)
check("pieces of one origin are one line", len(pieces) == 1 and pieces[0][1].startswith("65536 times"), said)

status, pieces, said = run("come and go")
check("of those that were given back none is", "no room in the ledger" not in said, said)
check("nor does what comes later lack room", [p[:2] for p in pieces] == [("7 MiB", "device memory, device 0")], said)
sys.exit(failures > 0)
