"""Floating-point numbers of any magnitude, limits of .ftz, approximations, instructions of constants alone. See corners.py."""

from gen import width
from groups import (
    ANY_DOUBLE,
    ANY_HALF,
    ANY_INTEGER,
    ANY_SINGLE,
    EDGE,
    INTS,
    NEAR_HALF,
    NEAR_SINGLE,
    ROUNDINGS,
    TINY,
    put,
    rnd,
)


def floats():
    for r in ROUNDINGS:
        for ftz in ("", ".ftz"):
            for s in (ANY_SINGLE, TINY):
                tag = " tiny" if s == TINY else " any"
                for o, n in (
                    ("add", 2),
                    ("sub", 2),
                    ("mul", 2),
                    ("div", 2),
                    ("fma", 3),
                    ("mad", 3),
                    ("rcp", 1),
                    ("sqrt", 1),
                ):
                    put(
                        f"{o}.{r}{ftz}.f32{tag}",
                        "f32",
                        ["f32"] * n,
                        s,
                        f"{o}.{r}{ftz}.f32 %d,{','.join('%%s%d' % k for k in range(n))};",
                    )
                for o, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
                    put(
                        f"{o}.{r}{ftz}.sat.f32{tag}",
                        "f32",
                        ["f32"] * n,
                        s,
                        f"{o}.{r}{ftz}.sat.f32 %d,{','.join('%%s%d' % k for k in range(n))};",
                    )
        for o, n in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("fma", 3), ("mad", 3), ("rcp", 1), ("sqrt", 1)):
            put(
                f"{o}.{r}.f64 any",
                "f64",
                ["f64"] * n,
                ANY_DOUBLE,
                f"{o}.{r}.f64 %d,{','.join('%%s%d' % k for k in range(n))};",
            )
    for m in ("", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".ftz.NaN.xorsign.abs"):
        for o in ("min", "max"):
            put(f"{o}{m}.f32 any", "f32", ["f32"] * 2, ANY_SINGLE, f"{o}{m}.f32 %d,%s0,%s1;")
    for m in ("", ".ftz"):
        for o in ("abs", "neg"):
            put(f"{o}{m}.f32 any", "f32", ["f32"], TINY, f"{o}{m}.f32 %d,%s0;")
        for c in ("eq", "lt", "ge", "ltu", "num"):
            put(f"setp.{c}{m}.f32 tiny", "u32", ["f32"] * 2, TINY, f"setp.{c}{m}.f32 %p,%s0,%s1; selp.u32 %d,1,0,%p;")
        for t in ("f32", "b32", "u64"):
            put(f"slct{m}.{t}.f32 tiny", t, [t, t, "f32"], TINY, f"slct{m}.{t}.f32 %d,%s0,%s1,%s2;")
    for t in ("f16", "f16x2"):
        for m in ("", ".ftz", ".sat", ".ftz.sat"):
            for o in ("add", "sub", "mul"):
                put(f"{o}{m}.{t} any", t, [t] * 2, ANY_HALF, f"{o}{m}.{t} %d,%s0,%s1;")
            put(f"fma.rn{m}.{t} any", t, [t] * 3, ANY_HALF, f"fma.rn{m}.{t} %d,%s0,%s1,%s2;")
        for m in (".relu", ".ftz.relu"):
            put(f"fma.rn{m}.{t} any", t, [t] * 3, ANY_HALF, f"fma.rn{m}.{t} %d,%s0,%s1,%s2;")
        for m in ("", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".ftz.NaN.xorsign.abs"):
            for o in ("min", "max"):
                put(f"{o}{m}.{t} any", t, [t] * 2, ANY_HALF, f"{o}{m}.{t} %d,%s0,%s1;")
    for t in ("bf16", "bf16x2"):
        for o in ("add", "sub", "mul", "min", "max", "min.NaN", "max.xorsign.abs"):
            put(f"{o}.{t} any", t, [t] * 2, ANY_HALF, f"{o}.{t} %d,%s0,%s1;")
        for m in ("", ".relu"):
            put(f"fma.rn{m}.{t} any", t, [t] * 3, ANY_HALF, f"fma.rn{m}.{t} %d,%s0,%s1,%s2;")
    # half-precision instructions whose operands come out of each other, as compilers fuse them or must not
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        put(f"mul add {t}", t, [t] * 3, ANY_HALF, f".reg .b{width(t)} %x; mul.{t} %x,%s0,%s1; add.{t} %d,%x,%s2;")
        put(
            f"mul.rn add.rn {t}",
            t,
            [t] * 3,
            ANY_HALF,
            f".reg .b{width(t)} %x; mul.rn.{t} %x,%s0,%s1; add.rn.{t} %d,%x,%s2;",
        )
    put("mul add f32", "f32", ["f32"] * 3, ANY_SINGLE, ".reg .f32 %x; mul.f32 %x,%s0,%s1; add.f32 %d,%x,%s2;")
    put("mul add f64", "f64", ["f64"] * 3, ANY_DOUBLE, ".reg .f64 %x; mul.f64 %x,%s0,%s1; sub.f64 %d,%s2,%x;")
    put(
        "mul.rn add.rn f32",
        "f32",
        ["f32"] * 3,
        ANY_SINGLE,
        ".reg .f32 %x; mul.rn.f32 %x,%s0,%s1; add.rn.f32 %d,%x,%s2;",
    )
    for c in ("normal", "subnormal", "finite"):
        put(f"testp.{c}.f32 any", "u32", ["f32"], TINY, f"testp.{c}.f32 %p,%s0; selp.u32 %d,1,0,%p;")
    for o, t in (("copysign", "f32"), ("copysign", "f64")):
        c = {"f32": ("0fBF800000", "0f7FC00000"), "f64": ("0dBFF0000000000000", "0d7FF8000000000000")}[t]
        for k in c:
            put(f"{o}.{t} {k}", t, [t], {"f32": ANY_SINGLE, "f64": ANY_DOUBLE}[t], f"{o}.{t} %d,{k},%s0;")
            put(f"{o}.{t} {k} second", t, [t], {"f32": ANY_SINGLE, "f64": ANY_DOUBLE}[t], f"{o}.{t} %d,%s0,{k};")


def approximations():
    for o, n in (
        ("rcp.approx", 1),
        ("sqrt.approx", 1),
        ("rsqrt.approx", 1),
        ("sin.approx", 1),
        ("cos.approx", 1),
        ("lg2.approx", 1),
        ("ex2.approx", 1),
        ("div.approx", 2),
        ("div.full", 2),
    ):
        for m in ("", ".ftz"):
            for s, tag in ((ANY_SINGLE, "any"), (TINY, "tiny"), (1, "edges"), (NEAR_HALF, "near")):
                if o[:3] in ("sin", "cos") and s == ANY_SINGLE:
                    continue
                put(
                    f"~{tag} {o}{m}.f32",
                    "f32",
                    ["f32"] * n,
                    s,
                    f"{o}{m}.f32 %d,{','.join('%%s%d' % k for k in range(n))};",
                )
    for s, tag in ((ANY_SINGLE, "any"), (TINY, "tiny"), (NEAR_HALF, "near")):
        put(f"~{tag} tanh.approx.f32", "f32", ["f32"], s, "tanh.approx.f32 %d,%s0;")
    for s, tag in ((ANY_DOUBLE, "any"), (NEAR_SINGLE, "near")):
        put(f"~{tag} rcp.approx.ftz.f64", "f64", ["f64"], s, "rcp.approx.ftz.f64 %d,%s0;")
        put(f"~{tag} rsqrt.approx.f64", "f64", ["f64"], s, "rsqrt.approx.f64 %d,%s0;")
        put(f"~{tag} rsqrt.approx.ftz.f64", "f64", ["f64"], s, "rsqrt.approx.ftz.f64 %d,%s0;")
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        b = t[0] == "b"
        for s, tag in ((ANY_HALF, "any"), (6 if b else 3, "edges")):
            put(
                f"~{tag} ex2.approx{'.ftz' if b else ''}.{t}", t, [t], s, f"ex2.approx{'.ftz' if b else ''}.{t} %d,%s0;"
            )
            put(f"~{tag} tanh.approx.{t}", t, [t], s, f"tanh.approx.{t} %d,%s0;")


def boundaries():
    """Results about the least normal number, and fields whose place is a constant."""
    for r in ROUNDINGS:
        for ftz in ("", ".ftz"):
            for o, n in (("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("mad", 3)):
                put(
                    f"{o}.{r}{ftz}.f32 edge",
                    "f32",
                    ["f32"] * n,
                    EDGE,
                    f"{o}.{r}{ftz}.f32 %d,{','.join('%%s%d' % k for k in range(n))};",
                )
            put(f"mul.{r}{ftz}.sat.f32 edge", "f32", ["f32"] * 2, EDGE, f"mul.{r}{ftz}.sat.f32 %d,%s0,%s1;")
            put(
                f"mul.{r}{ftz}.f32 edge mixed",
                "f32",
                ["f32"] * 2,
                EDGE,
                f".reg .f32 %x; mul.{r}{ftz}.f32 %d,%s0,%s1; add.f32 %x,%s0,%s0; selp.f32 %d,%d,%x,1;",
            )
            put(
                f"fma.{r}{ftz}.f32 edge mixed",
                "f32",
                ["f32"] * 3,
                EDGE,
                f".reg .f32 %x; fma.{r}{ftz}.f32 %d,%s0,%s1,%s2; add.f32 %x,%s0,%s0; selp.f32 %d,%d,%x,1;",
            )
            put(
                f"div.{r}{ftz}.f32 edge mixed",
                "f32",
                ["f32"] * 2,
                EDGE,
                f".reg .f32 %x; div.{r}{ftz}.f32 %d,%s0,%s1; add.f32 %x,%s0,%s0; selp.f32 %d,%d,%x,1;",
            )
            put(
                f"cvt.{r}{ftz}.f32.f64 edge",
                "f32",
                ["f32", "f32"],
                EDGE,
                f".reg .f64 %x,%y; cvt.f64.f32 %x,%s0; cvt.f64.f32 %y,%s1; mul.rn.f64 %x,%x,%y; cvt.{r}{ftz}.f32.f64"
                " %d,%x;",
            )
    for o in ("div.approx", "div.full"):
        for ftz in ("", ".ftz"):
            put(f"~{o}{ftz} edge.f32", "f32", ["f32"] * 2, EDGE, f"{o}{ftz}.f32 %d,%s0,%s1;")
    put("mul.ftz.f16 edge", "f16", ["f16"] * 2, ANY_HALF, "mul.ftz.f16 %d,%s0,%s1;")


def folded():
    """Instructions of which all operands are constants."""
    ints = [
        "0",
        "1",
        "-1",
        "5",
        "0x7fffffff",
        "0x80000000",
        "0xffffffff",
        "1000",
        "-7",
        "33",
        "64",
        "0x12345678",
        "0xffff",
        "0x8000",
    ]
    c = lambda t: (
        str(rnd.choice(["0", "1", "-1", "5", "0x7fff", "0x7ffe", "-7", "33", "1000"]))
        if width(t) == 16
        else rnd.choice(ints)
    )
    for t in INTS:
        wt = t[0] + str(2 * width(t))
        names = [
            ("add", 2),
            ("sub", 2),
            ("mul.lo", 2),
            ("mul.hi", 2),
            ("min", 2),
            ("max", 2),
            ("div", 2),
            ("rem", 2),
            ("mad.lo", 3),
            ("sad", 3),
        ]
        names += [("mul.wide", 2)] if width(t) < 64 else []
        names += [("mad.hi", 3)] if width(t) > 16 else []
        names += [("abs", 1), ("neg", 1)] if t[0] == "s" else []
        for o, n in names:
            for k in range(2):
                a = [c(t) for _ in range(n)]
                if o in ("div", "rem") and int(a[1], 0) == 0:
                    a[1] = "3"
                d = wt if o == "mul.wide" else t
                put(f"{o}.{t} folded {','.join(a)}", d, [d], ANY_INTEGER, f"{o}.{t} %d,{','.join(a)};")
        for k in range(3):
            a, b = c(t), rnd.choice(["0", "1", "31", "32", "40", "63", "64", "100"])
            put(f"shr.{t} folded {a},{b}", t, [t], ANY_INTEGER, f"shr.{t} %d,{a},{b};")
            if t[0] == "u":
                put(f"shl.b{t[1:]} folded {a},{b}", t, [t], ANY_INTEGER, f"shl.b{t[1:]} %d,{a},{b};")
        for o in ("lt", "ge", "eq"):
            a, b = c(t), c(t)
            put(
                f"setp.{o}.{t} folded {a},{b}", "u32", [t], ANY_INTEGER, f"setp.{o}.{t} %p,{a},{b}; selp.u32 %d,1,0,%p;"
            )
            put(f"set.{o}.f32.{t} folded {a},{b}", "f32", [t], ANY_INTEGER, f"set.{o}.f32.{t} %d,{a},{b};")
    put("div.u32 folded zero", "u32", ["u32"], ANY_INTEGER, "div.u32 %d,5,0;")
    put("rem.s32 folded zero", "u32", ["u32"], ANY_INTEGER, "rem.s32 %d,-5,0;")
    put("div.s64 folded zero", "s64", ["u32"], ANY_INTEGER, "div.s64 %d,-5,0;")
    put("div.s32 folded most", "s32", ["u32"], ANY_INTEGER, "div.s32 %d,0x80000000,-1;")
    put("rem.s32 folded most", "s32", ["u32"], ANY_INTEGER, "rem.s32 %d,0x80000000,-1;")
    put("div.s32 by zero constant", "s32", ["s32"], ANY_INTEGER, "div.s32 %d,%s0,0;")
    put("rem.u64 by zero constant", "u64", ["u64"], ANY_INTEGER, "rem.u64 %d,%s0,0;")
    put("div.u16 by zero constant", "u16", ["u16"], ANY_INTEGER, "div.u16 %d,%s0,0;")
    for k in range(4):
        for t in ("u32", "s32", "u64", "s64"):
            a, p, n = rnd.choice(ints), rnd.choice([0, 3, 31, 32, 50, 200]), rnd.choice([0, 1, 8, 31, 32, 40, 255])
            put(f"bfe.{t} folded {a},{p},{n}", t, [t], ANY_INTEGER, f"bfe.{t} %d,{a},{p},{n};")
        for t in ("b32", "b64"):
            a, b, p, n = (
                rnd.choice(ints),
                rnd.choice(ints),
                rnd.choice([0, 3, 31, 32, 50, 200]),
                rnd.choice([0, 1, 8, 31, 32, 40, 255]),
            )
            put(f"bfi.{t} folded {a},{b},{p},{n}", t, [t], ANY_INTEGER, f"bfi.{t} %d,{a},{b},{p},{n};")
        for o in (
            "popc.b32",
            "clz.b32",
            "brev.b32",
            "bfind.u32",
            "bfind.s32",
            "bfind.shiftamt.u32",
            "bfind.shiftamt.s32",
            "popc.b64",
            "clz.b64",
            "bfind.u64",
            "bfind.shiftamt.s64",
            "not.b32",
            "cnot.b32",
        ):
            a = rnd.choice(ints)
            put(f"{o} folded {a}", "u32", ["u32"], ANY_INTEGER, f"{o} %d,{a};")
        for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
            a, b, x = rnd.choice(ints), rnd.choice(ints), rnd.choice(["0x8bfd", "0x3210", "7", "0xffff"])
            put(f"prmt.b32{m} folded {a},{b},{x}", "b32", ["b32"], ANY_INTEGER, f"prmt.b32{m} %d,{a},{b},{x};")
        for o in ("shf.l.clamp.b32", "shf.l.wrap.b32", "shf.r.clamp.b32", "shf.r.wrap.b32"):
            a, b, x = rnd.choice(ints), rnd.choice(ints), rnd.choice(["0", "5", "31", "32", "33", "64", "-1"])
            put(f"{o} folded {a},{b},{x}", "b32", ["b32"], ANY_INTEGER, f"{o} %d,{a},{b},{x};")
        for o in (
            "dp4a.u32.s32",
            "dp4a.s32.s32",
            "dp2a.lo.s32.u32",
            "dp2a.hi.u32.u32",
            "mul24.lo.s32",
            "mul24.hi.u32",
            "bmsk.clamp.b32",
            "bmsk.wrap.b32",
            "szext.clamp.s32",
            "szext.wrap.u32",
        ):
            a = [rnd.choice(ints) for _ in range(3 if o[0] == "d" else 2)]
            put(f"{o} folded {','.join(a)}", "b32", ["b32"], ANY_INTEGER, f"{o} %d,{','.join(a)};")
        a = [rnd.choice(ints) for _ in range(3)]
        put(
            f"lop3.b32 folded {','.join(a)}",
            "b32",
            ["b32"],
            ANY_INTEGER,
            f"lop3.b32 %d,{','.join(a)},{rnd.randrange(256)};",
        )
    f32 = [
        "1.0",
        "-1.0",
        "0.0",
        "0f80000000",
        "3.0",
        "0.1",
        "1e30",
        "-1e30",
        "1e-40",
        "0f7f800000",
        "0fff800000",
        "0f7fc00000",
        "0f00800000",
        "2.5",
        "300.7",
        "-0.5",
        "0f00000001",
        "16777217.0",
        "1e-20",
    ]
    f64 = [
        "1.0",
        "-1.0",
        "0.0",
        "0d8000000000000000",
        "3.0",
        "0.1",
        "1e300",
        "-1e300",
        "1e-300",
        "0d7ff0000000000000",
        "0dfff0000000000000",
        "0d7ff8000000000000",
        "0d0010000000000000",
        "2.5",
        "300.7",
        "-0.5",
        "0d0000000000000001",
    ]
    for t, pool in (("f32", f32), ("f64", f64)):
        for r in ROUNDINGS:
            for o, n in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("fma", 3), ("rcp", 1), ("sqrt", 1)):
                for m in ("", ".ftz") if t == "f32" else ("",):
                    a = [rnd.choice(pool) for _ in range(n)]
                    put(f"{o}.{r}{m}.{t} folded {','.join(a)}", t, [t], 0, f"{o}.{r}{m}.{t} %d,{','.join(a)};")
        for o in ("min", "max", "copysign"):
            for k in range(3):
                a = [rnd.choice(pool) for _ in range(2)]
                put(f"{o}.{t} folded {','.join(a)}", t, [t], 0, f"{o}.{t} %d,{','.join(a)};")
        for o in ("abs", "neg"):
            a = rnd.choice(pool)
            put(f"{o}.{t} folded {a}", t, [t], 0, f"{o}.{t} %d,{a};")
        for d in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"):
            for r in ("rni", "rzi", "rmi", "rpi"):
                a, m = rnd.choice(pool), rnd.choice(["", ".sat"])
                w = {"u8": "u16", "s8": "s16"}.get(d, d)
                put(f"cvt.{r}{m}.{d}.{t} folded {a}", w, [w], 0, f"cvt.{r}{m}.{d}.{t} %d,{a};")
        for c_ in ("lt", "geu", "num", "nan", "equ"):
            a, b = rnd.choice(pool), rnd.choice(pool)
            put(f"setp.{c_}.{t} folded {a},{b}", "u32", [t], 0, f"setp.{c_}.{t} %p,{a},{b}; selp.u32 %d,1,0,%p;")
        for c_ in ("normal", "subnormal", "infinite", "notanumber"):
            a = rnd.choice(pool)
            put(f"testp.{c_}.{t} folded {a}", "u32", [t], 0, f"testp.{c_}.{t} %p,{a}; selp.u32 %d,1,0,%p;")
    for a in f32:
        for o in (
            "ex2.approx",
            "lg2.approx",
            "rcp.approx",
            "sqrt.approx",
            "rsqrt.approx",
            "sin.approx",
            "cos.approx",
            "tanh.approx",
            "ex2.approx.ftz",
            "rcp.approx.ftz",
        ):
            if rnd.random() < 0.4:
                put(f"~{o} folded {a} f32", "f32", ["f32"], 0, f"{o}.f32 %d,{a};")
        for d in ("f16", "bf16"):
            put(f"cvt.rn.{d}.f32 folded {a}", d, [d], 0, f"cvt.rn.{d}.f32 %d,{a};")
            put(f"cvt.rz.{d}x2.f32 folded {a}", d + "x2", [d], 0, f"cvt.rz.{d}x2.f32 %d,{a},2.5;")
        put(f"cvt.rna.tf32.f32 folded {a}", "b32", ["b32"], 0, f"cvt.rna.tf32.f32 %d,{a};")
        put(f"cvt.rn.satfinite.e4m3x2.f32 folded {a}", "b16", ["b16"], 0, f"cvt.rn.satfinite.e4m3x2.f32 %d,{a},1.0;")
