#!/usr/bin/env python3
"""Which modules are legal: declarations, functions, what stands between instructions. FILE has one a line, with what
NVIDIA's assembler and driver of CUDA 13.0 said of it: "+" they take it, "-" they do not. Its first letter says where it
stands: in the (b)ody of a kernel (what follows " ||| " before that), (o)utside, or as all that follows the header.
usage: ptx_modules.py OUTCOMES FILE"""

import subprocess
import sys

INVALID = "10"  # EXIT_INVALID_PTX
HEADER = ".version 8.6\n.target sm_90\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 pa){ .reg .b64 %a<9>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .pred %p<9>;
.reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b128 %q<4>;
BODY
ret; }
"""


def module(place, text):
    if place == "e":
        return HEADER + text
    body, outside = ("", text) if place == "o" else (text.split(" ||| ") + [""])[:2]
    return HEADER + outside + "\n" + KERNEL.replace("BODY", body)


def main():
    lines = [line.rstrip("\n") for line in open(sys.argv[2]) if line[0] in "+-"]
    text = "".join(module(line[2], line[4:]) + "\x01" for line in lines)
    run = subprocess.run([sys.argv[1]], input=text, capture_output=True, text=True, check=True)
    answers = run.stdout.splitlines()
    assert len(answers) == len(lines), f"one answer for each was expected, not {len(answers)}"
    wrong = 0
    for line, answer in zip(lines, answers):
        if (line[0] == "+") == (answer.split(" ")[0] == INVALID):
            wrong += 1
            print(f"{line}\n    here: {answer}")
    print(f"{len(lines) - wrong} of {len(lines)} modules are judged as NVIDIA's assembler does")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
