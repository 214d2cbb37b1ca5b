#!/usr/bin/env python3
"""Writes forms.h as gen.py does, of instruction forms that are not among its 955: comparisons with a second
predicate, selections, operands that are constants, directed and saturating conversions, parts of warps. Some are
no PTX; an H200 refuses them, too."""
from gen import c_string, convert as cv, forms, op, width


INTS = ["u16", "s16", "u32", "s32", "u64", "s64"]
SETS = {"f16": 3, "f16x2": 3, "bf16": 6, "bf16x2": 6, "f32": 1, "f64": 2}
ORDERED = ["eq", "ne", "lt", "le", "gt", "ge"]
UNORDERED = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
PRED = "selp.u32 %d,1,0,%p;"
BOTH = ".reg .b32 %two; selp.u32 %d,1,0,%p; selp.u32 %two,2,0,%q; or.b32 %d,%d,%two;"


def compare():
    for t in INTS + ["b16", "b32", "b64", "f32", "f64", "f16", "bf16"]:
        tests = ["eq", "ne"] if t[0] == "b" and t != "bf16" else ORDERED
        if t in SETS:
            tests = tests + UNORDERED
        elif t[0] == "u":
            tests = tests + ["lo", "ls", "hi", "hs"]
        for k, c in enumerate(tests):
            how = ["and", "or", "xor"][k % 3]
            op(f"setp.{c}.{how}.{t} both", "u32", [t, t, "s32"], SETS.get(t, 0),
               f"setp.lt.s32 %q,%s2,0; .reg .pred %r; setp.{c}.{how}.{t} %p|%r,%s0,%s1,%q; and.pred %q,%r,%r; {BOTH}")
            if t in ("f16", "f32"):
                op(f"setp.{c}.ftz.{t}", "u32", [t, t], SETS[t], f"setp.{c}.ftz.{t} %p,%s0,%s1; {PRED}")
    for t in ("f16x2", "bf16x2"):
        for k, c in enumerate(ORDERED + UNORDERED):
            how = ["and", "or", "xor"][k % 3]
            op(f"setp.{c}.{t}", "u32", [t, t], SETS[t], f"setp.{c}.{t} %p|%q,%s0,%s1; {BOTH}")
            op(f"setp.{c}.{how}.{t}", "u32", [t, t, "s32"], SETS[t],
               f"setp.lt.s32 %q,%s2,0; .reg .pred %r,%s; setp.{c}.{how}.{t} %r|%s,%s0,%s1,%q; "
               f"and.pred %p,%r,%r; and.pred %q,%s,%s; {BOTH}")


def set_forms():
    for d in ("u32", "s32", "f32"):
        for k, t in enumerate(INTS + ["b16", "b32", "b64", "f32", "f64"]):
            tests = ["eq", "ne"] if t[0] == "b" else ORDERED + (UNORDERED if t[0] == "f" else [])
            c = tests[k % len(tests)]
            op(f"set.{c}.{d}.{t}", d, [t, t], SETS.get(t, 0))
            c = tests[(k + 3) % len(tests)]
            how = ["and", "or", "xor"][k % 3]
            op(f"set.{c}.{how}.{d}.{t}", d, [t, t, "s32"], SETS.get(t, 0),
               f"setp.lt.s32 %q,%s2,0; set.{c}.{how}.{d}.{t} %d,%s0,%s1,{'!' if k & 1 else ''}%q;")
    for c in ("lt", "geu", "nan"):
        op(f"set.{c}.ftz.f32.f32", "f32", ["f32", "f32"], 1)
        op(f"set.{c}.ftz.u32.f32", "u32", ["f32", "f32"], 1)
    for d in ("f16", "u16", "s16", "u32", "s32"):
        for c in ("eq", "ltu", "num"):
            op(f"set.{c}.{d}.f16", d, ["f16", "f16"], 3)
            op(f"set.{c}.ftz.{d}.f16", d, ["f16", "f16"], 3)
            if d != "f16":
                op(f"set.{c}.{d}.bf16", d, ["bf16", "bf16"], 6)
    for c in ("ne", "ge", "equ", "nan"):
        op(f"set.{c}.bf16.bf16", "bf16", ["bf16", "bf16"], 6)
        op(f"set.{c}.bf16x2.bf16x2", "bf16x2", ["bf16x2", "bf16x2"], 6)
        op(f"set.{c}.ftz.f16x2.f16x2", "f16x2", ["f16x2", "f16x2"], 3)
        op(f"set.{c}.u32.f16x2", "u32", ["f16x2", "f16x2"], 3, f"set.{c}.f16x2.f16x2 %d,%s0,%s1;")
    for t in ("b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
        op(f"selp.{t}", t, [t, t, "s32"], SETS.get(t, 0), f"setp.ge.s32 %p,%s2,0; selp.{t} %d,%s0,%s1,%p;")
        for c in ("s32", "f32"):
            op(f"slct.{t}.{c}", t, [t, t, c], SETS.get(t, 1 if c == "f32" else 0))
        op(f"slct.ftz.{t}.f32", t, [t, t, "f32"], SETS.get(t, 1))


def integers():
    for t in ("u32", "s32"):
        for o in ("add", "sub"):
            op(f"{o}c.{t} both", "b64", ["b64", "b64"], 0,
               f".reg .b32 %x<3>,%y<3>; mov.b64 {{%x0,%x1}},%s0; mov.b64 {{%y0,%y1}},%s1; {o}.cc.{t} %x0,%x0,%y0; "
               f"{o}c.cc.{t} %x1,%x1,%y1; {o}c.{t} %x2,%y0,%x1; mov.b64 %d,{{%x1,%x2}};")
        op(f"madc.{t} chain", "b64", ["b64", "b64", "b64"], 0,
           f".reg .b32 %x<3>,%y<3>,%z<3>; mov.b64 {{%x0,%x1}},%s0; mov.b64 {{%y0,%y1}},%s1; "
           f"mov.b64 {{%z0,%z1}},%s2; "
           f"mad.hi.cc.{t} %x2,%x0,%y0,%z0; madc.lo.cc.{t} %y2,%x1,%y1,%z1; madc.hi.{t} %z2,%x0,%y1,%z0; mov.b64 %d,{{%y2,%z2}};")
    for t in ("u64", "s64"):
        for o in ("add", "sub"):
            op(f"{o}c.{t}", t, [t, t, t], 0, f".reg .b64 %x; {o}.cc.{t} %x,%s0,%s1; {o}c.{t} %d,%s2,%x;")
            op(f"{o}c.cc.{t}", t, [t, t, t], 0, f".reg .b64 %x; {o}.cc.{t} %x,%s0,%s1; {o}c.cc.{t} %x,%s2,%x; {o}c.{t} %d,0,%s1;")
    for t in ("u16x2", "s16x2"):
        for o in ("add", "min", "max"):
            op(f"{o}.{t}", "b32", ["b32", "b32"], 0, f"{o}.{t} %d,%s0,%s1;")
    for t in ("s16x2", "s32"):
        for o in ("min", "max"):
            op(f"{o}.relu.{t}", "b32", ["b32", "b32"], 0, f"{o}.relu.{t} %d,%s0,%s1;")
    for lut in range(0, 256, 7):
        op(f"lop3.{lut:#x}", "b32", ["b32"] * 3, 0, f"lop3.b32 %d,%s0,%s1,%s2,{lut};")
    for how in ("or", "and"):
        op(f"lop3.{how}", "b32", ["b32"] * 3, 0,
           f"setp.lt.s32 %q,%s2,0; lop3.{how}.b32 %d|%p,%s0,%s1,%s2,0x6a,%q; @%p xor.b32 %d,%d,0x5a5a5a5a;")
    for o in ("and", "or", "xor"):
        op(f"{o}.pred", "u32", ["s32", "s32"], 0,
           f"setp.lt.s32 %p,%s0,0; setp.lt.s32 %q,%s1,%s0; {o}.pred %p,%p,%q; not.pred %q,%p; {BOTH}")
    for first in ("a", "c"):
        op(f"fns.b32 {first}", "b32", ["b32", "b32", "s32"], 0,
           "and.b32 %s1,%s1,31; and.b32 %s2,%s2,15; sub.s32 %s2,%s2,7; fns.b32 %d,%s0,%s1,%s2;")
    for d in "su":
        op(f"shr.b{16 if d == 's' else 32}", "b16" if d == "s" else "b32", ["b16" if d == "s" else "b32", "u32"], 4)
    op("shr.b64", "b64", ["b64", "u32"], 4)
    op("bfi.b64 far", "b64", ["b64", "b64", "u32"], 4, "shr.u32 %tmp32,%s2,4; bfi.b64 %d,%s0,%s1,%tmp32,%s2;")
    op("bfe.s64 far", "s64", ["s64", "u32", "u32"], 4, "shr.u32 %tmp32,%s2,4; bfe.s64 %d,%s0,%tmp32,%s1;")
    op("szext.wrap.u32", "u32", ["u32", "u32"], 4)
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        op(f"div by zero {t}", t, [t, t], 0, f"div.{t} %d,%s0,%s1;")
        op(f"rem by zero {t}", t, [t, t], 0, f"rem.{t} %d,%s0,%s1;")


def floats():
    for o in ("add", "sub", "mul"):
        for m in ("", ".ftz", ".sat", ".ftz.sat"):
            op(f"{o}{m}.f32", "f32", ["f32", "f32"], 1)
        op(f"{o}.f64", "f64", ["f64", "f64"], 2)
        for t in ("f16", "f16x2"):
            for m in (".rn", ".rn.ftz", ".rn.sat", ".rn.ftz.sat", ".ftz.sat"):
                op(f"{o}{m}.{t}", t, [t, t], 3)
        for t in ("bf16", "bf16x2"):
            op(f"{o}.rn.{t}", t, [t, t], 6)
    op("sub.bf16", "bf16", ["bf16", "bf16"], 6)
    op("sub.bf16x2", "bf16x2", ["bf16x2", "bf16x2"], 6)
    for r in ("rn", "rz", "rm", "rp"):
        op(f"fma.{r}.ftz.sat.f32", "f32", ["f32"] * 3, 1)
        op(f"mad.{r}.f32", "f32", ["f32"] * 3, 1)
        op(f"mad.{r}.ftz.sat.f32", "f32", ["f32"] * 3, 1)
        op(f"mad.{r}.f64", "f64", ["f64"] * 3, 2)
    for t in ("f16", "f16x2"):
        for m in (".rn.ftz.sat",):
            op(f"fma{m}.{t}", t, [t] * 3, 3)
        for o in ("min", "max"):
            for m in (".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs", ".ftz.xorsign.abs", ".ftz.NaN.xorsign.abs"):
                op(f"{o}{m}.{t}", t, [t, t], 3)
        op(f"abs.ftz.{t}", t, [t], 3)
        op(f"neg.ftz.{t}", t, [t], 3)
    for t in ("bf16", "bf16x2"):
        for o in ("min", "max"):
            for m in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"):
                op(f"{o}{m}.{t}", t, [t, t], 6)
    for o in ("min", "max"):
        for m in (".xorsign.abs", ".NaN.xorsign.abs", ".ftz.xorsign.abs", ".ftz.NaN.xorsign.abs"):
            op(f"{o}{m}.f32", "f32", ["f32", "f32"], 1)
    # with one operand that is a constant, as compilers write them
    singles, doubles = ("0f3F800000", "0f80000000", "0f7F800000"), ("0d3FF0000000000000", "0d8000000000000000")
    for t, c in [("f32", c) for c in singles] + [("f64", c) for c in doubles]:
        for o in ("add.rn", "mul.rn", "min", "max", "div.rn", "sub.rn"):
            op(f"{o}.{t} {c}", t, [t], SETS[t], f"{o}.{t} %d,%s0,{c};")
            op(f"{o}.{t} {c} first", t, [t], SETS[t], f"{o}.{t} %d,{c},%s0;")
        op(f"fma.rn.{t} {c}", t, [t, t], SETS[t], f"fma.rn.{t} %d,%s0,{c},%s1;")
        op(f"fma.rn.{t} plus {c}", t, [t, t], SETS[t], f"fma.rn.{t} %d,%s0,%s1,{c};")
    for r in ("rn", "rz", "rm", "rp"):
        op(f"fma.{r}.f64 cancels", "f64", ["f64", "f64"], 2,
           f".reg .f64 %x; mul.rn.f64 %x,%s0,%s1; neg.f64 %x,%x; fma.{r}.f64 %d,%s0,%s1,%x;")
        op(f"fma.{r}.f32 cancels", "f32", ["f32", "f32"], 1,
           f".reg .f32 %x; mul.rn.f32 %x,%s0,%s1; neg.f32 %x,%x; fma.{r}.f32 %d,%s0,%s1,%x;")


def conversions():
    for s in ("f16", "bf16"):
        for d in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
            for r in ("rni", "rzi", "rmi", "rpi"):
                if s == "bf16":
                    cv(d, s, "." + r, 6)
                cv(d, s, f".{r}.sat", SETS[s])
    for d in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
        for r in ("rn", "rz", "rm", "rp"):
            cv("bf16", d, "." + r, 0)
    for s in ("f32", "f64"):
        for d in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
            for r in ("rni", "rmi", "rpi"):
                cv(d, s, f".{r}.sat", SETS[s])
        for d in ("u16", "s32", "u64"):
            if s == "f32":
                cv(d, s, ".rpi.ftz", 1)
                cv(d, s, ".rmi.ftz.sat", 1)
    for r in ("rn", "rz", "rm", "rp"):
        for m in (".ftz", ".sat", ".ftz.sat"):
            cv("f32", "f64", f".{r}{m}", 2)
        cv("f16", "f64", "." + r, 2)
        cv("f16", "f32", "." + r, 1)
        for m in (".ftz", ".sat", ".ftz.sat"):
            cv("f16", "f32", f".{r}{m}", 1)
        cv("f16", "f64", f".{r}.sat", 2)
    for r in ("rn", "rz"):
        for m in (".relu", ".satfinite", ".relu.satfinite"):
            op(f"cvt.{r}{m}.f16.f32", "f16", ["f32"], 1)
            op(f"cvt.{r}{m}.f16x2.f32", "f16x2", ["f32", "f32"], 1)
            op(f"cvt.{r}{m}.bf16.f32", "bf16", ["f32"], 1)
            op(f"cvt.{r}{m}.bf16x2.f32", "bf16x2", ["f32", "f32"], 1)
        for m in ("", ".relu"):
            op(f"cvt.{r}{m}.tf32.f32", "b32", ["f32"], 1)
    op("cvt.rna.satfinite.tf32.f32", "b32", ["f32"], 1)
    for r in ("rn", "rz", "rm", "rp"):
        cv("bf16", "f32", "." + r, 1) if r in ("rm", "rp") else None
        cv("bf16", "f64", "." + r, 2)
        cv("bf16", "f16", "." + r, 3)
    for s in ("f16", "bf16"):
        for m in (".ftz", ".sat", ".ftz.sat"):
            cv("f32", s, m, SETS[s])
        cv("f64", s, ".sat", SETS[s])
    cv("f64", "bf16", "", 6)
    for r in ("rni", "rzi", "rmi", "rpi"):
        for t in ("f16", "f32", "f64", "bf16"):
            cv(t, t, f".{r}.sat", SETS[t])
        cv("f16", "f16", f".{r}.ftz", 3)
        cv("f32", "f32", f".{r}.ftz.sat", 1)
        cv("bf16", "bf16", "." + r, 6)
    cv("f32", "f32", ".sat", 1)
    cv("f32", "f32", ".ftz.sat", 1)
    cv("f16", "f16", ".sat", 3)
    cv("f64", "f64", ".sat", 2)
    for t in ("e4m3x2", "e5m2x2"):
        for m in ("", ".relu"):
            op(f"cvt.rn.satfinite{m}.{t}.f32", "b16", ["f32", "f32"], 1, f"cvt.rn.satfinite{m}.{t}.f32 %d,%s0,%s1;")
            op(f"cvt.rn.satfinite{m}.{t}.f16x2", "b16", ["f16x2"], 3, f"cvt.rn.satfinite{m}.{t}.f16x2 %d,%s0;")
            op(f"cvt.rn{m}.f16x2.{t}", "f16x2", ["b16"], 0, f"cvt.rn{m}.f16x2.{t} %d,%s0;")
    for d in ("u16", "s16"):
        op(f"cvt.pack.sat.{d}.s32 swapped", "b32", ["s32", "s32"], 0, f"cvt.pack.sat.{d}.s32 %d,%s1,%s0;")


def moves():
    op("mov b32 v2", "b32", ["b32"], 0, ".reg .b16 %x,%y; mov.b32 {%x,%y},%s0; mov.b32 %d,{%y,%x};")
    op("mov b32 v4", "b32", ["b32"], 0, ".reg .b8 %w,%x,%y,%z; mov.b32 {%w,%x,%y,%z},%s0; mov.b32 %d,{%y,%w,%z,%x};")
    op("mov b64 v4", "b64", ["b64"], 0, ".reg .b16 %w,%x,%y,%z; mov.b64 {%w,%x,%y,%z},%s0; mov.b64 %d,{%y,%w,%z,%x};")
    op("mov b64 sink", "b32", ["b64"], 0, "mov.b64 {_,%d},%s0;")
    op("prmt const", "b32", ["b32", "b32"], 0, "prmt.b32 %d,%s0,%s1,0x9c3f;")
    for m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        op(f"prmt.b32.{m} again", "b32", ["b32", "b32", "b32"], 4, f"prmt.b32.{m} %d,%s0,%s1,%s2;")
    for m in ("up", "down", "bfly", "idx"):
        for mask in ("0x0000ffff", "0xaaaaaaaa"):
            if m == "down" and mask == "0x0000ffff":
                continue  # the last lanes would read those that take no part
            last = "15" if mask == "0x0000ffff" and m == "idx" else "31"
            far, clamp = 3 if m == "idx" else 2, 0 if m == "up" else 31
            op(f"shfl.{m} among {mask}", "b32", ["b32", "b32"], 0,
               f".reg .b32 %l,%k; mov.u32 %l,%laneid; mov.u32 %k,1; shl.b32 %k,%k,%l; and.b32 %k,%k,{mask}; "
               f"setp.ne.u32 %q,%k,0; mov.u32 %d,7; and.b32 %s1,%s1,31; .reg .b32 %r1; "
               f"@!%q bra Z; or.b32 %k,%s1,1; and.b32 %s1,%s1,{last}; shfl.sync.{m}.b32 %r1|%p,%s0,{far},{clamp},{mask}; "
               f"selp.b32 %d,%r1,5,%p; Z: bar.warp.sync 0xffffffff;")
    for o in ("add", "min", "max"):
        for t in ("u32", "s32"):
            op(f"redux.{o}.{t} among", t, [t], 0,
               ".reg .b32 %l; mov.u32 %l,%laneid; and.b32 %l,%l,1; setp.eq.u32 %q,%l,0; mov.u32 %d,0; "
               f"@%q redux.sync.{o}.{t} %d,%s0,0x55555555;")
    op("match.all.b64", "b32", ["b64"], 0, "shr.u64 %s0,%s0,63; match.all.sync.b64 %d|%p,%s0,0xffffffff; selp.b32 %d,%d,9,%p;")
    op("vote.not", "u32", ["s32"], 0, "setp.lt.s32 %q,%s0,0; vote.sync.any.pred %p,!%q,0xffffffff; selp.u32 %d,1,0,%p;")
    for t in ("f16", "bf16", "f16x2", "bf16x2", "f32", "f64"):
        for o in ("add", "min", "max"):
            if t in ("f32", "f64") and o != "add":
                continue
            w = width(t)
            mods = ".noftz" if t not in ("f32", "f64") else ""
            op(f"atom.{o}{mods}.{t} again", t, [t, t], SETS[t],
               f"st.global.b{w} [%po],%s0; atom.global.{o}{mods}.{t} %d,[%po],%s1; ld.global.b{w} %d,[%po];")
            op(f"red.{o}{mods}.{t}", t, [t, t], SETS[t],
               f"st.global.b{w} [%po],%s0; red.global.{o}{mods}.{t} [%po],%s1; ld.global.b{w} %d,[%po];")
    for t in ("u32", "s32", "u64", "s64", "f32", "f64"):
        for o in ("add", "min", "max", "inc", "dec", "exch", "and", "or", "xor"):
            if t in ("f32", "f64") and o != "add" or o in ("inc", "dec") and t != "u32" or o == "add" and t == "s64":
                continue
            tt = ("b" + t[1:]) if o in ("exch", "and", "or", "xor") else t
            if tt[0] == "b" and t[0] == "s":
                continue
            w = width(t)
            op(f"atom.shared.{o}.{tt}", t, [t, t], SETS.get(t, 0),
               f".shared .align 8 .b64 sm[128]; .reg .b32 %a,%l; mov.u32 %l,%tid.x; "
               f"shl.b32 %l,%l,3; mov.u32 %a,sm; add.u32 %a,%a,%l; .reg .b{w} %old; "
               f"st.shared.b{w} [%a],%s0; atom.shared.{o}.{tt} %old,[%a],%s1; ld.shared.b{w} %d,[%a];")


# Forms that came with a later version than gen.py's.
NEWER = ("satfinite", "e4m3", "e5m2")


def main():
    for family in (compare, set_forms, integers, floats, conversions, moves):
        family()
    with open("forms.h", "w") as f:
        f.write("static const struct form { const char *name; int set, type; const char *ptx; } forms[] = {\n")
        for name, operands, nan, ptx in forms:
            if any(part in name for part in NEWER):
                ptx = ptx.replace(".version 8.0", ".version 8.6")
            f.write(f"{{ {c_string(name)}, {operands}, {nan}, {c_string(ptx)} }},\n")
        f.write("{ 0 } };\n")
    print(len(forms), "forms")


if __name__ == "__main__":
    main()
