#!/usr/bin/env python3
"""Writes forms.h as gen.py does, of what was left out there: video instructions with selectors, masks, saturation and
secondary operations drawn at random, fma.oob, and integers packed into fewer bits than a byte."""
import itertools
import random

from gen import c_string, forms, op

PIECES, OUTSIDE = 7, 8  # sets of operands in ptxforms.c
SIGNS = ["u32", "s32"]
ORDER = ["eq", "ne", "lt", "le", "gt", "ge"]
SECOND = ["add", "min", "max"]
# With words, of these words() has more than chance would.
COMPARED = tuple(f"{o}.u32.{a}.{b}.sat.{second}"
                for o in ("vadd", "vsub") for a in SIGNS for b in SIGNS for second in ("min", "max"))
rnd = random.Random(2026)


def part():
    """A selector of one operand, or none."""
    return rnd.choice(["", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"])


def source(register):
    return rnd.choice(["-3", "200", "70000"]) if rnd.random() < 0.04 else register + part()


def video(name, d="%d", a=None, b=None, c=""):
    a, b = a or source("%s0"), b or source("%s1")
    operands = ",".join(x for x in (d, a, b, c) if x)
    if name.endswith(COMPARED) and not ("." in a and "." in b):
        return
    shown = operands.replace("%s0", "a").replace("%s1", "b").replace("%s2", "c").replace("%", "")
    op(f"{name} {shown}", "b32", ["b32"] * 3, PIECES, f"{name} {operands};")


def scalar(name):
    """Plain, merged into the third operand (which may be named without a place), with each secondary operation."""
    video(name)
    video(name, c="%s2") if rnd.random() < 0.2 else None
    video(name, d="%d" + (part() or ".h0"), c="%s2")
    video(name, d="%d" + (part() or ".b3"), c=rnd.choice(["%s2", "%s2", "0x12345678"]))
    for second in SECOND:
        video(f"{name}.{second}", c="%s2")


def scalars():
    saturation = ["", ".sat"]
    for o in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for d, a, b, s in itertools.product(SIGNS, SIGNS, SIGNS, saturation):
            scalar(f"{o}.{d}.{a}.{b}{s}")
    for o, d, a, s, mode in itertools.product(("vshl", "vshr"), SIGNS, SIGNS, saturation, (".clamp", ".wrap")):
        scalar(f"{o}.{d}.{a}.u32{s}{mode}")
    for a, b, c in itertools.product(SIGNS, SIGNS, ORDER):
        scalar(f"vset.{a}.{b}.{c}")
    signs = [("", "", ""), ("-", "", ""), ("", "-", ""), ("", "", "-"), ("-", "-", "")]
    for d, a, b, s, shift in itertools.product(SIGNS, SIGNS, SIGNS, saturation, ("", ".shr7", ".shr15")):
        for x, y, z in signs:
            video(f"vmad.{d}.{a}.{b}{s}{shift}", a=x + "%s0" + part(), b=y + "%s1" + part(), c=z + "%s2")
        video(f"vmad.{d}.{a}.{b}.po{s}{shift}", c="%s2")


def lanes(n, letter):
    """A mask or none, and a selector or none."""
    chosen = [k for k in reversed(range(n)) if rnd.random() < 0.6]
    mask = "." + letter + "".join(map(str, chosen)) if chosen else ""
    return mask, lambda: "." + letter + "".join(str(rnd.randrange(2 * n)) for _ in range(n)) if rnd.random() < 0.7 else ""


def simd():
    for n, letter in ((2, "h"), (4, "b")):
        names = [
            f"{o}{n}.{d}.{a}.{b}{how}"
            for o in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
            for d, a, b, how in itertools.product(SIGNS, SIGNS, SIGNS, ("", ".sat", ".add"))
        ] + [f"vset{n}.{a}.{b}.{c}{how}" for a, b, c, how in itertools.product(SIGNS, SIGNS, ORDER, ("", ".add"))]
        for name in names:
            video(name, a="%s0", b="%s1", c="%s2")
            for _ in range(2):
                mask, selector = lanes(n, letter)
                video(name, d="%d" + mask, a="%s0" + selector(), b="%s1" + selector(), c="%s2")


def outside():
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        for m in ("", ".relu", ".sat") if t[0] == "f" else ("", ".relu"):
            op(f"fma.rn.oob{m}.{t}", t, [t] * 3, OUTSIDE)


def packed():
    for d, shift in itertools.product(("u4", "s4", "u2", "s2", "u8", "s8"), (0, 24, 28)):
        op(f"cvt.pack.sat.{d}.s32.b32 of {32 - shift} bits", "b32", ["s32"] * 3, PIECES,
           f"shr.s32 %s0,%s0,{shift}; shr.s32 %s1,%s1,{shift}; cvt.pack.sat.{d}.s32.b32 %d,%s0,%s1,%s2;")  # fmt: skip


def stacks():
    """What was taken from the stack holds what is stored there, and comes again once it was given back."""
    keep = ".reg .b64 %at,%p0,%p1,%n; .reg .b32 %x; cvt.u64.u32 %n,%s1; and.b64 %n,%n,127; add.u64 %n,%n,8; "
    for size in ("64", "%n"):
        for align in ("", ",8", ",64"):
            op(f"alloca {size.strip('%')}{align}", "b32", ["b32", "b32"], PIECES,
               keep + f"alloca.u64 %p0,{size}{align}; alloca.u64 %p1,{size}{align}; st.local.u32 [%p0],%s0; "
               "st.local.u32 [%p1+4],%s1; ld.local.u32 %d,[%p0]; ld.local.u32 %x,[%p1+4]; xor.b32 %d,%d,%x;")  # fmt: skip
            op(f"alloca {size.strip('%')}{align} aligned", "u64", ["b32", "b32"], PIECES,
               keep + f"alloca.u64 %p0,{size}{align}; and.b64 %d,%p0,{align[1:] or 8}-1;")
            op(f"stackrestore {size.strip('%')}{align}", "u64", ["b32", "b32"], PIECES,
               keep + f"stacksave.u64 %at; alloca.u64 %p0,{size}{align}; st.local.u32 [%p0],%s0; stackrestore.u64 %at; "
               f"alloca.u64 %p1,{size}{align}; ld.local.u32 %x,[%p1]; cvt.u64.u32 %n,%x; sub.u64 %d,%p1,%p0; "
               "add.u64 %d,%d,%n;")  # fmt: skip
    op("stacksave twice", "u64", ["b32"], PIECES,
       ".reg .b64 %at,%p0; stacksave.u64 %at; alloca.u64 %p0,64; stackrestore.u64 %at; stacksave.u64 %p0; sub.u64 %d,%p0,%at;")


def words():
    """Unsigned sums of words that saturate and are compared."""
    for o, a, b, second in itertools.product(("vadd", "vsub"), SIGNS, SIGNS, ("min", "max")):
        for x, y in (("%s0", "%s1"), ("%s0.b1", "%s1"), ("%s0", "%s1.h0"), ("-3", "%s1"), ("%s0", "%s1.b3")):
            name, operands = f"{o}.u32.{a}.{b}.sat.{second}", f"%d,{x},{y},%s2"
            shown = operands.replace("%s0", "a").replace("%s1", "b").replace("%s2", "c").replace("%", "")
            op(f"{name} {shown}", "b32", ["b32"] * 3, PIECES, f"{name} {operands};")


TOGETHER = 48  # kernels of one module


def main():
    for family in (scalars, simd, outside, packed, stacks, words):
        family()
    with open("forms.h", "w") as f:
        f.write("static const struct form { const char *name; int set, type; const char *ptx; } forms[] = {\n")
        for first in range(0, len(forms), TOGETHER):
            group = forms[first : first + TOGETHER]
            module = group[0][3].replace(".version 8.0", ".version 8.1")
            for n, (_, _, _, ptx) in enumerate(group[1:], 1):
                module += ptx[ptx.index(".visible") :].replace("entry k(", f"entry k{n}(")
            for name, operands, nan, _ in group:
                f.write(f"{{ {c_string(name)}, {operands}, {nan}, {c_string(module)} }},\n")
                module = ""
        f.write("{ 0 } };\n")
    print(len(forms), "forms")


if __name__ == "__main__":
    main()
