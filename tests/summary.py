#!/usr/bin/env python3
"""Counts a Meson test run: names what was skipped and why, what failed with the last
lines that it said, and ends with 'N passed, M failed'.
usage: summary.py TESTLOG.json (one JSON object a line)"""

import json
import sys

LAST_LINES = 40


def said(test):
    return ((test.get("stdout") or "") + "\n" + (test.get("stderr") or "")).strip().splitlines()


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
        reason = next((l for l in said(test) if "SKIP" in l), "SKIP")
        skipped.append((test["name"], reason))
    else:
        failed += 1
        print(f"failed: {test['name']} ({test['result']})")
        print(*("    " + l for l in said(test)[-LAST_LINES:]), sep="\n")
for name, reason in skipped:
    print(f"skipped: {name}: {reason}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
