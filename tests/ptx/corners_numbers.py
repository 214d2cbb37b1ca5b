"""Conversions between numbers of any magnitude, registers wider than what they hold, constants as operands. See corners.py."""

from gen import width
from groups import (
    ANY_DOUBLE,
    ANY_HALF,
    ANY_INTEGER,
    ANY_SINGLE,
    BYTES,
    INTS,
    NEAR_HALF,
    NEAR_SINGLE,
    ROUNDINGS,
    TINY,
    put,
    rnd,
)


def conversions():
    ints = BYTES + INTS
    reg = lambda t: {"u8": "u16", "s8": "s16"}.get(t, t)

    def c(name, d, s, iset, text=None):
        put(name + " any", reg(d), [reg(s)], iset, (text or name) + " %d,%s0;")

    for d in ints:
        for s, near in (
            ("f16", ANY_HALF),
            ("bf16", ANY_HALF),
            ("f32", NEAR_HALF),
            ("f64", NEAR_SINGLE),
            ("f32", ANY_SINGLE),
            ("f64", ANY_DOUBLE),
        ):
            for r in ("rni", "rzi", "rmi", "rpi"):
                m = rnd.choice(["", ".sat"]) if s != "bf16" else ""
                if s == "f32":
                    m = rnd.choice(["", ".ftz"]) + m
                c(f"cvt.{r}{m}.{d}.{s}", d, s, near)
        for f in ("f16", "bf16", "f32", "f64"):
            for r in ROUNDINGS:
                m = rnd.choice(["", "", ".sat"]) if f != "bf16" else ""
                c(f"cvt.{r}{m}.{f}.{d}", f, d, ANY_INTEGER)
    for r in ROUNDINGS:
        for m in ("", ".ftz", ".sat", ".ftz.sat"):
            c(f"cvt.{r}{m}.f32.f64", "f32", "f64", NEAR_SINGLE)
            c(f"cvt.{r}{m}.f16.f32", "f16", "f32", NEAR_HALF)
        c(f"cvt.{r}.f16.f64", "f16", "f64", NEAR_SINGLE)
        c(f"cvt.{r}.sat.f16.f64", "f16", "f64", NEAR_SINGLE)
        c(f"cvt.{r}.bf16.f64", "bf16", "f64", NEAR_SINGLE)
        c(f"cvt.{r}.bf16.f32", "bf16", "f32", NEAR_HALF)
        c(f"cvt.{r}.ftz.bf16.f32", "bf16", "f32", ANY_SINGLE)
        put(f"cvt.{r}.bf16.f32 tiny", "bf16", ["f32"], TINY, f"cvt.{r}.bf16.f32 %d,%s0;")
        put(f"cvt.{r}.ftz.bf16.f32 tiny", "bf16", ["f32"], TINY, f"cvt.{r}.ftz.bf16.f32 %d,%s0;")
        c(f"cvt.{r}.bf16.f16", "bf16", "f16", ANY_HALF)
        c(f"cvt.{r}.f16.bf16", "f16", "bf16", ANY_HALF)
        c(f"cvt.{r}.f32.bf16", "f32", "bf16", ANY_HALF)
        c(f"cvt.{r}.f64.bf16", "f64", "bf16", ANY_HALF)
    for m in ("", ".ftz", ".sat", ".ftz.sat"):
        c(f"cvt{m}.f64.f32", "f64", "f32", TINY)
        c(f"cvt{m}.f32.f16", "f32", "f16", ANY_HALF)
        c(f"cvt{m}.f32.f32", "f32", "f32", TINY)
    c("cvt.f64.f16", "f64", "f16", ANY_HALF)
    c("cvt.f16.f16", "f16", "f16", ANY_HALF)
    c("cvt.f64.f64", "f64", "f64", ANY_DOUBLE)
    c("cvt.f32.bf16", "f32", "bf16", ANY_HALF)
    c("cvt.ftz.f32.bf16", "f32", "bf16", ANY_HALF)
    c("cvt.bf16.f16", "bf16", "f16", ANY_HALF)
    c("cvt.f16.bf16", "f16", "bf16", ANY_HALF)
    for r in ("rni", "rzi", "rmi", "rpi"):
        for t, s in (
            ("f16", ANY_HALF),
            ("bf16", ANY_HALF),
            ("f32", NEAR_HALF),
            ("f64", NEAR_SINGLE),
            ("f64", ANY_DOUBLE),
        ):
            c(f"cvt.{r}.{t}.{t}", t, t, s)
        c(f"cvt.{r}.ftz.f32.f32", "f32", "f32", TINY)
    for r in ("rn", "rz"):
        for m in ("", ".relu", ".satfinite", ".relu.satfinite"):
            for s in (NEAR_HALF, ANY_SINGLE):
                tag = "near" if s == NEAR_HALF else "any"
                for t in ("f16", "bf16"):
                    put(f"cvt.{r}{m}.{t}.f32 {tag}", t, ["f32"], s, f"cvt.{r}{m}.{t}.f32 %d,%s0;")
                    put(f"cvt.{r}{m}.{t}x2.f32 {tag}", t + "x2", ["f32", "f32"], s, f"cvt.{r}{m}.{t}x2.f32 %d,%s0,%s1;")
        for m in ("", ".relu"):
            put(f"cvt.{r}{m}.tf32.f32 any", "b32", ["f32"], ANY_SINGLE, f"cvt.{r}{m}.tf32.f32 %d,%s0;")
            put(f"cvt.{r}{m}.tf32.f32 tiny", "b32", ["f32"], TINY, f"cvt.{r}{m}.tf32.f32 %d,%s0;")
    for m in ("", ".satfinite"):
        for s in (TINY, NEAR_HALF, ANY_SINGLE):
            put(f"cvt.rna{m}.tf32.f32 {s}", "b32", ["f32"], s, f"cvt.rna{m}.tf32.f32 %d,%s0;")
    for t in ("e4m3x2", "e5m2x2"):
        for m in ("", ".relu"):
            put(
                f"cvt.rn.satfinite{m}.{t}.f32 near",
                "b16",
                ["f32", "f32"],
                NEAR_HALF,
                f"cvt.rn.satfinite{m}.{t}.f32 %d,%s0,%s1;",
            )
            put(
                f"cvt.rn.satfinite{m}.{t}.f32 any",
                "b16",
                ["f32", "f32"],
                ANY_SINGLE,
                f"cvt.rn.satfinite{m}.{t}.f32 %d,%s0,%s1;",
            )
            put(
                f"cvt.rn.satfinite{m}.{t}.f16x2 any",
                "b16",
                ["f16x2"],
                ANY_HALF,
                f"cvt.rn.satfinite{m}.{t}.f16x2 %d,%s0;",
            )
            put(f"cvt.rn{m}.f16x2.{t} any", "f16x2", ["b16"], ANY_INTEGER, f"cvt.rn{m}.f16x2.{t} %d,%s0;")
            put(f"cvt.rn{m}.f16x2.{t} half", "f16x2", ["b16"], ANY_HALF, f"cvt.rn{m}.f16x2.{t} %d,%s0;")


def wide_registers():
    """Operands of 8 to 32 bits in registers that are wider."""
    ints = BYTES + INTS
    bits = lambda t: int("".join(c for c in t if c.isdigit()))
    for d in ints:
        for s in ints:
            for dw in (16, 32, 64):
                for sw in (16, 32, 64):
                    if dw < bits(d) or sw < bits(s) or (dw == max(16, bits(d)) and sw == max(16, bits(s))):
                        continue
                    sat = rnd.choice(["", ".sat"]) if bits(d) < bits(s) or (bits(d) == bits(s) and d != s) else ""
                    if rnd.random() < 0.5:
                        put(
                            f"cvt{sat}.{d}.{s} b{dw} b{sw}",
                            f"b{dw}",
                            [f"b{sw}"],
                            ANY_INTEGER,
                            f"cvt{sat}.{d}.{s} %d,%s0;",
                        )
                    elif rnd.random() < 0.4:
                        put(
                            f"cvt{sat}.{d}.{s} s{dw} s{sw}",
                            f"s{dw}",
                            [f"s{sw}"],
                            ANY_INTEGER,
                            f"cvt{sat}.{d}.{s} %d,%s0;",
                        )
    for d in ints:
        for f, s in (("f16", ANY_HALF), ("f32", NEAR_HALF), ("f64", NEAR_SINGLE)):
            for dw in (32, 64):
                if dw <= bits(d):
                    continue
                r, m = rnd.choice(["rni", "rzi", "rmi", "rpi"]), rnd.choice(["", ".sat"])
                put(f"cvt.{r}{m}.{d}.{f} b{dw}", f"b{dw}", [f], s, f"cvt.{r}{m}.{d}.{f} %d,%s0;")
        for f in ("f16", "f32", "f64"):
            for sw in (32, 64):
                if sw <= bits(d):
                    continue
                r = rnd.choice(ROUNDINGS)
                put(f"cvt.{r}.{f}.{d} b{sw}", f, [f"b{sw}"], ANY_INTEGER, f"cvt.{r}.{f}.{d} %d,%s0;")
    for d, s, iset in (("f16", "f32", NEAR_HALF), ("f32", "f64", NEAR_SINGLE), ("f16", "f64", NEAR_SINGLE)):
        for dw in (32, 64):
            if dw > bits(d):
                put(f"cvt.rn.{d}.{s} b{dw}", f"b{dw}", [s], iset, f"cvt.rn.{d}.{s} %d,%s0;")
    for s in ("f16", "f32"):
        for sw in (32, 64):
            if sw > bits(s):
                put(
                    f"cvt.f64.{s} b{sw}",
                    "f64",
                    [f"b{sw}"],
                    ANY_HALF if s == "f16" else ANY_SINGLE,
                    f"cvt.f64.{s} %d,%s0;",
                )
                put(
                    f"cvt.rni.s32.{s} b{sw}",
                    "s32",
                    [f"b{sw}"],
                    ANY_HALF if s == "f16" else NEAR_HALF,
                    f"cvt.rni.s32.{s} %d,%s0;",
                )
    for space in ("global", "shared", "local", "const", "param"):
        for t in ["b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32"]:
            for w in (16, 32, 64):
                if w < bits(t) or (rnd.random() < 0.3):
                    continue
                if space == "global":
                    text = f"ld.global.{t} %d,[%pb+{rnd.choice([0, bits(t) // 8])}];"
                elif space == "shared":
                    text = (
                        ".shared .align 8 .b64 sm[128]; .reg .b32 %a; mov.u32 %a,%tid.x; mad.lo.u32 %a,%a,8,0; .reg"
                        f" .b32 %base; mov.u32 %base,sm; add.u32 %a,%a,%base; st.shared.{t} [%a+{bits(t) // 8}],%s0;"
                        f" ld.shared.{t} %d,[%a+{bits(t) // 8}];"
                    )
                elif space == "local":
                    text = (
                        f".local .align 8 .b8 lm[16]; st.local.{t} [lm+{bits(t) // 8}],%s0; ld.local.{t}"
                        f" %d,[lm+{bits(t) // 8}];"
                    )
                elif space == "const":
                    text = (
                        f"cvt.u32.u64 %tmp32,%B; and.b32 %tmp32,%tmp32,{64 - bits(t) // 8}; .reg .b64 %ca; mov.u64"
                        f" %ca,cc@; cvt.u64.u32 %res,%tmp32; add.u64 %ca,%ca,%res; ld.const.{t} %d,[%ca];"
                    )
                else:
                    text = (
                        f"{{ .param .align 8 .b8 x[8]; st.param.b64 [x],%A; ld.param.{t}"
                        f" %d,[pb+{rnd.choice([0, bits(t) // 8])}]; xor.b{w} %d,%d,%d; }} ld.global.{t}"
                        f" %d,[%pa+{rnd.choice([0, 4])}];"
                    )
                    continue
                before = (
                    ".const .align 8 .b8 cc@[72] = {" + ",".join(str(rnd.randrange(256)) for _ in range(72)) + "};"
                    if space == "const"
                    else None
                )
                put(
                    f"ld.{space}.{t} b{w}",
                    f"b{w}",
                    ["b64"] if space not in ("shared", "local") else [f"b{w}"],
                    ANY_INTEGER,
                    text,
                    before,
                )


def constants():
    """Integer instructions with one operand or two that are constants."""
    pool = [
        "0",
        "1",
        "-1",
        "7",
        "31",
        "32",
        "33",
        "255",
        "0x7fff",
        "0x8000",
        "0xffff",
        "0x7fffffff",
        "0x80000000",
        "0xffffffff",
        "-5",
        "0x12345678",
        "63",
        "64",
        "65",
        "100",
    ]
    for t in INTS:
        wt = t[0] + str(2 * width(t))
        two = ["add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"] + (["mul.wide"] if width(t) < 64 else [])
        for o in two:
            for first in (False, True):
                c = rnd.choice(pool[1:] if o in ("div", "rem") else pool)
                if width(t) == 16:
                    c = str(int(c, 0) & 0x7FFF or 3)
                d = wt if o == "mul.wide" else t
                if o in ("div", "rem") and first:
                    put(f"{o}.{t} {c} first", d, [t], 5, f"{o}.{t} %d,{c},%s0;")
                else:
                    put(
                        f"{o}.{t} {c}{' first' if first else ''}",
                        d,
                        [t],
                        ANY_INTEGER,
                        f"{o}.{t} %d,{c},%s0;" if first else f"{o}.{t} %d,%s0,{c};",
                    )
        for o in ["mad.lo"] + (["mad.hi"]) + (["mad.wide"] if width(t) < 64 else []) + ["sad"]:
            for k in range(3):
                c = rnd.choice(pool)
                if width(t) == 16:
                    c = str(int(c, 0) & 0x7FFF)
                d = wt if o == "mad.wide" else t
                regs = ["%s0", "%s1"]
                regs.insert(k, c)
                types = [t, t]
                if o == "mad.wide" and k < 2:
                    types = [t, wt]
                put(f"{o}.{t} {c} as {k}", d, types, ANY_INTEGER, f"{o}.{t} %d,{','.join(regs)};")
        for c in ("0", "1", "15", "16", "17", "31", "32", "33", "63", "64", "200", "-1"):
            put(f"shr.{t} {c}", t, [t], ANY_INTEGER, f"shr.{t} %d,%s0,{c};")
            if t[0] == "u":
                put(f"shl.b{width(t)} {c}", t, [t], ANY_INTEGER, f"shl.b{width(t)} %d,%s0,{c};")
                put(
                    f"shr.b{width(t)} {c} first",
                    t,
                    ["u32"],
                    4,
                    f"shr.{t} %d,{rnd.choice(['0x1234', '0x7fff', '1'])},%s0;",
                )
    for t in ("u32", "s32", "u64", "s64"):
        for p, n in ((0, 8), (31, 1), (5, 40), (32, 8), (60, 10), (255, 3), (0, 0), (8, 255), (16, 16), (30, 4)):
            put(f"bfe.{t} {p} {n}", t, [t], ANY_INTEGER, f"bfe.{t} %d,%s0,{p},{n};")
            if t[0] == "u":
                b = "b" + t[1:]
                put(f"bfi.{b} {p} {n}", b, [b, b], ANY_INTEGER, f"bfi.{b} %d,%s0,%s1,{p},{n};")
                put(
                    f"bfi.{b} {p} {n} const",
                    b,
                    [b],
                    ANY_INTEGER,
                    f"bfi.{b} %d,{rnd.choice(['0', '-1', '0x55'])},%s0,{p},{n};",
                )
    for a in "us":
        for b in "us":
            for o in (f"dp4a.{a}32.{b}32", f"dp2a.lo.{a}32.{b}32", f"dp2a.hi.{a}32.{b}32"):
                c = rnd.choice(pool)
                put(f"{o} {c}", "b32", ["b32", "b32"], ANY_INTEGER, f"{o} %d,%s0,{c},%s1;")
                put(f"{o} {c} third", "b32", ["b32", "b32"], ANY_INTEGER, f"{o} %d,%s0,%s1,{c};")
                put(f"{o} any", "b32", ["b32"] * 3, ANY_INTEGER, f"{o} %d,%s0,%s1,%s2;")
    for d in "lr":
        for m in ("clamp", "wrap"):
            for c in ("0", "31", "32", "33", "64", "-1"):
                put(f"shf.{d}.{m}.b32 {c}", "b32", ["b32", "b32"], ANY_INTEGER, f"shf.{d}.{m}.b32 %d,%s0,%s1,{c};")
    for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        for c in ("0", "1", "2", "3", "6", "0x8bfd", "0xffffffff"):
            put(f"prmt.b32{m} {c}", "b32", ["b32", "b32"], ANY_INTEGER, f"prmt.b32{m} %d,%s0,%s1,{c};")
        put(f"prmt.b32{m} any", "b32", ["b32"] * 3, ANY_INTEGER, f"prmt.b32{m} %d,%s0,%s1,%s2;")
        put(f"prmt.b32{m} const", "b32", ["b32"] * 2, ANY_INTEGER, f"prmt.b32{m} %d,0x80ff017f,%s0,%s1;")
    for m in ("clamp", "wrap"):
        for c in ("0", "5", "31", "32", "33", "-1"):
            put(f"bmsk.{m}.b32 {c}", "b32", ["b32"], 4, f"bmsk.{m}.b32 %d,%s0,{c};")
            put(f"bmsk.{m}.b32 {c} first", "b32", ["b32"], 4, f"bmsk.{m}.b32 %d,{c},%s0;")
            for t in ("u32", "s32"):
                put(f"szext.{m}.{t} {c}", t, [t], ANY_INTEGER, f"szext.{m}.{t} %d,%s0,{c};")
    for t in ("u32", "s32"):
        for o in ("mul24.lo", "mul24.hi"):
            put(f"{o}.{t} any", t, [t, t], ANY_INTEGER, f"{o}.{t} %d,%s0,%s1;")
            put(f"{o}.{t} const", t, [t], ANY_INTEGER, f"{o}.{t} %d,%s0,0xfff123;")
        for o in ("mad24.lo", "mad24.hi"):
            put(f"{o}.{t} any", t, [t] * 3, ANY_INTEGER, f"{o}.{t} %d,%s0,%s1,%s2;")
    for o, n in (("mad24.hi.sat.s32", 3), ("mad.hi.sat.s32", 3), ("add.sat.s32", 2), ("sub.sat.s32", 2)):
        put(f"{o} any", "s32", ["s32"] * n, ANY_INTEGER, f"{o} %d,{','.join('%%s%d' % k for k in range(n))};")
    for w in ("b16", "b32", "b64"):
        for o in ("and", "or", "xor"):
            c = rnd.choice(["0x5a5a", "-1", "0", "0x7f"])
            put(f"{o}.{w} {c}", w, [w], ANY_INTEGER, f"{o}.{w} %d,%s0,{c};")
        put(f"cnot.{w} const", w, [w], ANY_INTEGER, f"cnot.{w} %d,0; add.u{w[1:]} %d,%d,%s0;")
    for o in (
        "popc.b32",
        "clz.b32",
        "brev.b32",
        "bfind.u32",
        "bfind.s32",
        "bfind.shiftamt.s32",
        "popc.b64",
        "clz.b64",
        "bfind.s64",
        "bfind.shiftamt.u64",
    ):
        put(f"{o} const", "u32", ["u32"], ANY_INTEGER, f"{o} %d,0x1234500; add.u32 %d,%d,%s0;")
        w = o[-2:]
        put(f"{o} any", "u32", ["b" + w], ANY_INTEGER, f"{o} %d,%s0;")
    put("fns const", "b32", ["b32"], ANY_INTEGER, "fns.b32 %d,%s0,3,2;")
    put("fns minus", "b32", ["b32"], ANY_INTEGER, "fns.b32 %d,%s0,20,-2;")
    put("fns zero", "b32", ["b32"], ANY_INTEGER, "fns.b32 %d,%s0,7,0;")
    for t in INTS + ["f32", "f64"]:
        c = {"f32": "0f3FC00000", "f64": "0d3FF8000000000000"}.get(t, "77")
        s = {"f32": ANY_SINGLE, "f64": ANY_DOUBLE}.get(t, ANY_INTEGER)
        put(
            f"selp.{t} consts", t, ["s32"], s, f"setp.lt.s32 %p,%s0,0; selp.{t} %d,{c},{c if t[0] == 'f' else '-3'},%p;"
        )
        put(f"selp.{t} not", t, [t, "s32"], s, f"setp.lt.s32 %p,%s1,0; selp.{t} %d,%s0,{c},!%p;")
        put(f"setp.le.{t} const", "u32", [t], s, f"setp.le.{t} %p,%s0,{c}; selp.u32 %d,1,0,%p;")
        put(f"setp.gt.{t} const first", "u32", [t], s, f"setp.gt.{t} %p|%q,{c},%s0; selp.u32 %d,1,0,%q;")
        put(f"set.lt.u32.{t} const", "u32", [t], s, f"set.lt.u32.{t} %d,%s0,{c};")
        put(f"slct.{t}.s32 const", t, [t, "s32"], s, f"slct.{t}.s32 %d,{c},%s0,%s1;")
        put(f"slct.{t}.f32 const", t, [t, "f32"], s, f"slct.{t}.f32 %d,%s0,{c},%s1;")


def sets():
    tests = {
        "b": ["eq", "ne"],
        "s": ["eq", "ne", "lt", "le", "gt", "ge"],
        "u": ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
        "f": ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"],
    }
    for d in ("f16", "bf16"):
        for t in ["b16", "b32", "b64"] + INTS + ["f16", "bf16", "f32", "f64"]:
            k = "f" if t in ("bf16",) else t[0]
            s = {"f": {"f16": 3, "bf16": 6, "f32": 1, "f64": 2}.get(t, 0)}.get(k, 0)
            for c in rnd.sample(tests[k], 2):
                put(f"set.{c}.{d}.{t}", d, [t, t], s, f"set.{c}.{d}.{t} %d,%s0,%s1;")
                how = rnd.choice(["and", "or", "xor"])
                put(
                    f"set.{c}.{how}.{d}.{t}",
                    d,
                    [t, t, "s32"],
                    s,
                    f"setp.lt.s32 %q,%s2,0; set.{c}.{how}.{d}.{t} %d,%s0,%s1,{rnd.choice(['', '!'])}%q;",
                )
    for d in ("u16", "s16", "u32", "s32"):
        for t in ("f16", "bf16", "f16x2", "bf16x2"):
            for c in rnd.sample(tests["f"], 2):
                put(f"set.{c}.{d}.{t}", d, [t, t], 3 if t[0] == "f" else 6, f"set.{c}.{d}.{t} %d,%s0,%s1;")
                how = rnd.choice(["and", "or", "xor"])
                put(
                    f"set.{c}.{how}.{d}.{t}",
                    d,
                    [t, t, "s32"],
                    3 if t[0] == "f" else 6,
                    f"setp.lt.s32 %q,%s2,0; set.{c}.{how}.{d}.{t} %d,%s0,%s1,%q;",
                )
    for t in ("f16x2", "bf16x2"):
        for c in rnd.sample(tests["f"], 4):
            put(
                f"set.{c}.xor.{t}.{t}",
                t,
                [t, t, "s32"],
                3 if t[0] == "f" else 6,
                f"setp.lt.s32 %q,%s2,0; set.{c}.xor.{t}.{t} %d,%s0,%s1,!%q;",
            )


def literals():
    """Constants where a register would be, and what is written as it stands."""
    for d in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
        for s in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
            c = rnd.choice(["-5", "300", "0x89abcdef", "0xffff", "70000", "0x8000"])
            sat = rnd.choice(["", ".sat"]) if d != s else ""
            w = {"u8": "u16", "s8": "s16"}.get(d, d)
            put(f"cvt{sat}.{d}.{s} {c}", w, [w], ANY_INTEGER, f"cvt{sat}.{d}.{s} %d,{c}; xor.b{width(w)} %d,%d,%s0;")
        for f in ("f16", "f32", "f64"):
            c = rnd.choice(["-5", "300", "0x89abcdef", "0xffff", "70000", "0x8000"])
            put(f"cvt.rn.{f}.{d} {c}", f, [f], 0, f"cvt.rn.{f}.{d} %d,{c};")
        for f, c in (("f32", "0f40200000"), ("f64", "0dC004000000000000"), ("f32", "2.5"), ("f64", "-1e30")):
            w = {"u8": "u16", "s8": "s16"}.get(d, d)
            put(f"cvt.rni.{d}.{f} {c}", w, [w], 0, f"cvt.rni.{d}.{f} %d,{c};")
        c = rnd.choice(["-5", "300", "0x89abcdef", "0xffff", "70000", "0x8000"])
        put(
            f"st.{d} {c}",
            "b64",
            ["b64"],
            0,
            f"st.global.b64 [%po],%s0; st.global.{d} [%po+{rnd.choice([0, 8 - int(d[1:]) // 8])}],{c}; ld.global.b64"
            " %d,[%po];",
        )
    for t, c in (
        ("f32", "1.5"),
        ("f64", "1.5"),
        ("b32", "0f3f800000"),
        ("b64", "0d3ff0000000000000"),
        ("f32", "0d3ff0000000000000"),
        ("f64", "0f3f800000"),
        ("u32", "-1"),
        ("u16", "70000"),
        ("s16", "0xffff"),
        ("b16", "-2"),
        ("u64", "-1"),
        ("u32", "0xfffffffffffffff0"),
        ("u32", "0x1ffffffff"),
        ("f32", "1"),
        ("u32", "1.5"),
        ("s64", "0x8000000000000000"),
        ("f32", "1e-46"),
        ("f32", "1e300"),
        ("u32", "0777"),
        ("u32", "0b1011"),
        ("u32", "08"),
        ("u32", "10U"),
        ("u64", "0x10U"),
        ("pred", "1"),
    ):
        if t == "pred":
            continue
        put(f"mov.{t} {c}", t, [t], 0, f"mov.{t} %d,{c};")
        put(
            f"st.{t} {c}",
            "b64",
            ["b64"],
            0,
            f"st.global.b64 [%po],%s0; st.global.{t} [%po],{c}; ld.global.b64 %d,[%po];",
        )
        put(f"initial .{t} {c}", t, [t], 0, f"ld.global.{t} %d,[gi@];", f".global .{t} gi@ = {c};")
    for t, c in (
        ("f32", "1"),
        ("f64", "2"),
        ("f32", "0d4000000000000000"),
        ("f64", "0f40000000"),
        ("f32", "-1.5"),
        ("f16", "0x3c00"),
        ("f16x2", "0x3c003c00"),
        ("bf16", "0x3f80"),
        ("f16", "1.0"),
        ("bf16x2", "0x3f803f80"),
    ):
        s = {"f32": ANY_SINGLE, "f64": ANY_DOUBLE}.get(t, ANY_HALF)
        for o in ("add", "mul", "min", "sub"):
            put(f"{o}.{t} {c}", t, [t], s, f"{o}.{t} %d,%s0,{c};")
        put(f"fma.rn.{t} {c}", t, [t, t], s, f"fma.rn.{t} %d,%s0,{c},%s1;")
        put(f"setp.lt.{t} {c}", "u32", [t], s, f"setp.lt.{t} %p,%s0,{c}; selp.u32 %d,1,0,%p;")
    put("mov.b64 consts", "b64", ["b64"], 0, "mov.b64 %d,{1,-2};")
    put("mov.b64 mixed", "b64", ["b32"], 0, "mov.b64 %d,{%s0,7};")
    put("mov.b32 halves", "b32", ["b16"], 0, "mov.b32 %d,{%s0,0x7fff};")
    put("mov.b64 of floats", "b64", ["f32"], 0, "mov.b64 %d,{%s0,0f3f800000};")
    put("mov.b64 to floats", "f32", ["b64"], 0, ".reg .f32 %x; mov.b64 {%x,%d},%s0;")
    put("mov.b32 first sink", "b16", ["b32"], 0, "mov.b32 {%d,_},%s0;")
    put("mov.b64 four sinks", "b16", ["b64"], 0, "mov.b64 {_,_,%d,_},%s0;")
    put("mov.b16 bytes", "b16", ["b16"], 0, ".reg .b8 %x,%y; mov.b16 {%x,%y},%s0; mov.b16 %d,{%y,%x};")
    put(
        "lop3.or sink",
        "u32",
        ["b32"] * 3,
        0,
        "setp.lt.s32 %q,%s2,0; lop3.or.b32 _|%p,%s0,%s1,%s2,0x80,!%q; selp.u32 %d,1,0,%p;",
    )
    put("lop3 consts", "b32", ["b32"], 0, "lop3.b32 %d,%s0,0x0ff0,0x3c3c,0x6a;")
    put("lop3 expression", "b32", ["b32"] * 3, 0, "lop3.b32 %d,%s0,%s1,%s2,(0xf0&0xcc)|0xaa;")
    put("elect sink", "u32", ["b32"], 0, "elect.sync _|%p,-1; selp.u32 %d,1,0,%p;")
    put("setp sink", "u32", ["b32"], 0, "setp.lt.s32 _|%p,%s0,3; selp.u32 %d,1,0,%p;")
    put("setp second sink", "u32", ["b32"], 0, "setp.lt.s32 %p|_,%s0,3; selp.u32 %d,1,0,%p;")
    put(
        "atom sink",
        "u32",
        ["u32"],
        0,
        "st.global.b32 [%po],9; atom.global.add.u32 _,[%po],%s0; ld.global.u32 %d,[%po];",
    )
    put("shfl sink", "u32", ["u32"], 0, "shfl.sync.up.b32 _|%p,%s0,3,0,-1; selp.u32 %d,1,0,%p;")
    put("match sink", "u32", ["u32"], 0, "match.all.sync.b32 %d|_,%s0,-1;")
