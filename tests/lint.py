#!/usr/bin/env python3
"""Style checks: what a machine can see of how this repository should read.
Prints one line per finding; exit status 1 if there is any."""
import re
import subprocess
import sys

LONG_FILE = {"include/cuda.h": 12000}
MAX_FILE, MAX_FUNCTION, MAX_LINE = 600, 60, 140
findings = []


def check(path):
    text = open(path, encoding="utf-8", errors="replace").read()
    lines = text.split("\n")
    limit = LONG_FILE.get(path, MAX_FILE)
    if len(lines) > limit:
        findings.append(f"{path}: {len(lines)} lines, at most {limit}")
    start = None
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        if line != line.rstrip():
            findings.append(f"{where}: white space at the end of the line")
        if "\t" in line:
            findings.append(f"{where}: tab")
        if len(line) > MAX_LINE:
            findings.append(f"{where}: {len(line)} characters, at most {MAX_LINE}")
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            findings.append(f"{where}: unfinished")
        if line == "{":
            start = number
        if line == "}" and start:
            if number - start > MAX_FUNCTION:
                findings.append(f"{path}:{start}: a function of {number - start} lines, at most {MAX_FUNCTION}")
            start = None
    if path.startswith("src/") and not text.startswith("/*"):
        findings.append(f"{path}: the first comment should say what the file owns")


files = subprocess.run(["git", "ls-files", "src/*.c", "src/*.h", "include/*.h", "examples/*.c", "bench/*.c", "tests/unit/*.c"],
                       capture_output=True, text=True, check=True).stdout.split()
for name in files:
    check(name)
print("\n".join(findings))
print(f"lint: {len(findings)} findings in {len(files)} files")
sys.exit(1 if findings else 0)
