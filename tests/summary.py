#!/usr/bin/env python3
"""Counts a Meson test run: names what was skipped and why, what failed with the last
lines that it said, and ends with 'N passed, M failed'.
usage: summary.py TESTLOG.json (one JSON object a line)"""

import json
import sys

LAST_LINES = {"stdout": 40, "stderr": 20}


def said(test, where):
    return (test.get(where) or "").strip().splitlines()


passed, failed, skipped = 0, 0, []
try:
    lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
except OSError:
    lines = []
for line in lines:
    test = json.loads(line)
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        passed += 1
    elif test["result"] == "SKIP":
        reason = next((line for where in LAST_LINES for line in said(test, where) if "SKIP" in line), "SKIP")
        skipped.append((test["name"], reason))
    else:
        failed += 1
        print(f"failed: {test['name']} ({test['result']})")
        for where, most in LAST_LINES.items():
            print(*("    " + line for line in said(test, where)[-most:]), sep="\n")
for name, reason in skipped:
    print(f"skipped: {name}: {reason}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
