"""What the families of corners.py have in common: their sets of operands, and kernels that share a module."""

import os
import random

from gen import c_string, forms, op

# The sets of operands in ptxforms.c that gen.py does not use.
TINY, ANY_SINGLE, ANY_DOUBLE, ANY_HALF, NEAR_HALF, NEAR_SINGLE, ANY_INTEGER, EDGE = range(9, 17)
ROUNDINGS = ["rn", "rz", "rm", "rp"]
INTS = ["u16", "s16", "u32", "s32", "u64", "s64"]
BYTES = ["u8", "s8"]
TOGETHER = 48  # kernels of one module
HEADER = ".version 8.6\n.target sm_90\n.address_size 64\n"

rnd = random.Random(90)
before = {}  # what stands before the kernel of a form, by its index


def put(name, result, sources, operands, instruction=None, outside=None):
    """A form as gen.op has it; in what is outside its kernel, and in names, @ is its number."""
    op(name, result, sources, operands, instruction)
    before[len(forms) - 1] = outside or ""


def kernel(index, name):
    ptx = forms[index][3]
    text = before[index] + "\n" + ptx[ptx.index(".visible") :].replace("entry k(", f"entry {name}(")
    for guard in ("@p", "@!", "@%"):
        text = text.replace(guard, guard.replace("@", "\0"))
    return text.replace("@", str(index)).replace("\0", "@")


def write(golden):
    """Of the forms those that the golden answers are of: the others were asked too, and no assembler takes them, or
    their answers vary."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), golden)
    asked = {line.split(" = ")[0].removeprefix("ptx.") for line in open(path)}
    seen, chosen = {}, []
    for index, (name, *_) in enumerate(forms):
        seen[name] = seen.get(name, 0) + 1
        name += f" #{seen[name]}" if seen[name] > 1 else ""
        if name in asked:
            chosen.append((index, name))
    with open("forms.h", "w") as f:
        f.write("static const struct form { const char *name; int set, type; const char *ptx; } forms[] = {\n")
        for first in range(0, len(chosen), TOGETHER):
            group = chosen[first : first + TOGETHER]
            module = HEADER + "".join(kernel(index, f"k{n or ''}") for n, (index, _) in enumerate(group))
            for index, name in group:
                _, operands, nan, _ = forms[index]
                f.write(f"{{ {c_string(name)}, {operands}, {nan}, {c_string(module)} }},\n")
                module = ""
        f.write("{ 0 } };\n")
    print(len(chosen), "forms")
