"""The part of a file that is written by a program, between two lines that say so."""

import re
import sys


def update(path, begin, end, text, check, remedy):
    """Replaces what stands between the line with begin and the line with end; check: only complains if it would."""
    old = open(path).read()
    m = re.search(rf"(?<=\n)([^\n]*{begin}[^\n]*\n)(.*?)([^\n]*{end})", old, re.S)
    if not m:
        sys.exit(f"{path}: has no generated part")
    new = old[: m.start(2)] + text + old[m.end(2) :]
    if check and new != old:
        sys.exit(f"{path} is out of date; {remedy}")
    if not check and new != old:
        open(path, "w").write(new)
