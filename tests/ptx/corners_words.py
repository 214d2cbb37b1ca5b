"""Carries, constant expressions, bit fields at places that are constants, parts of warps, state spaces. See corners.py."""

from groups import ANY_DOUBLE, ANY_INTEGER, ANY_SINGLE, put, rnd


def carries():
    for w in (32, 64):
        firsts = ["add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc", "addc.cc", "subc.cc", "madc.lo.cc", "madc.hi.cc"]
        lasts = ["addc", "subc", "madc.lo", "madc.hi"]
        for f in firsts:
            for l in lasts:
                t1, t2 = rnd.choice("us") + str(w), rnd.choice("us") + str(w)
                a = f"{f}.{t1} %x,%s0,%s1{',%s2' if f[0] == 'm' else ''};"
                b = f"{l}.{t2} %d,%s2,%s1{',%x' if l[0] == 'm' else ''};"
                pre = "add.cc.u32 %tmp32,-1,1; " if f.split(".")[0].endswith("c") else ""
                put(
                    f"{f}.{t1} {l}.{t2}",
                    f"b{w}",
                    [f"b{w}"] * 3,
                    ANY_INTEGER,
                    f".reg .b{w} %x; {pre}{a} {b} xor.b{w} %d,%d,%x;",
                )
        for f in ("add.cc", "sub.cc"):
            for l in ("addc", "subc"):
                put(
                    f"{f}.u{w} {l}.cc {l} const",
                    f"b{w}",
                    [f"b{w}"] * 2,
                    ANY_INTEGER,
                    f".reg .b{w} %x,%y; {f}.u{w} %x,%s0,1; {l}.cc.u{w} %y,%s1,-1; {l}.u{w} %d,0,0; xor.b{w} %d,%d,%y;",
                )
    for f in ("add.cc.u32 %x,%s0,%s1", "sub.cc.u32 %x,%s0,%s1"):
        for l in ("addc.sat.s32 %d,%s2,%s1", "subc.sat.s32 %d,%s2,%s1", "madc.hi.sat.s32 %d,%s0,%s1,%s2"):
            put(f"{f[:6]} {l.split(' ')[0]}", "s32", ["s32"] * 3, ANY_INTEGER, f".reg .b32 %x; {f}; {l}; ")
    put(
        "carry between widths",
        "b64",
        ["b64"] * 2,
        ANY_INTEGER,
        ".reg .b64 %x; .reg .b32 %y; add.cc.u64 %x,%s0,%s1; addc.u32 %y,0,0; cvt.u64.u32 %d,%y; xor.b64 %d,%d,%x;",
    )
    put("carry to wide", "b64", ["b32"] * 2, ANY_INTEGER, ".reg .b32 %x; sub.cc.u32 %x,%s0,%s1; subc.u64 %d,5,0;")
    put(
        "carry through mul",
        "b32",
        ["b32"] * 3,
        ANY_INTEGER,
        ".reg .b32 %x; add.cc.u32 %x,%s0,%s1; mul.lo.u32 %x,%x,%s2; addc.u32 %d,%x,0;",
    )
    put(
        "carry through branch",
        "b32",
        ["b32"] * 3,
        ANY_INTEGER,
        ".reg .b32 %x; add.cc.u32 %x,%s0,%s1; setp.lt.s32 %p,%s2,0; @%p bra Z; add.u32 %x,%x,7; Z: addc.u32 %d,%x,0;",
    )
    put(
        "carry conditional",
        "b32",
        ["b32"] * 3,
        ANY_INTEGER,
        ".reg .b32 %x; add.cc.u32 %x,-1,1; setp.lt.s32 %p,%s2,0; @%p add.cc.u32 %x,%s0,%s1; addc.u32 %d,%x,0;",
    )
    put(
        "carry not set",
        "b32",
        ["b32"] * 3,
        ANY_INTEGER,
        ".reg .b32 %x; add.cc.u32 %x,%s0,%s1; addc.u32 %x,%x,%s2; addc.u32 %d,%x,0;",
    )


def expression(depth, width_bits):
    if depth == 0 or rnd.random() < 0.15:
        n = rnd.choice(
            [
                0,
                1,
                2,
                3,
                5,
                8,
                31,
                32,
                63,
                100,
                255,
                0x7FFFFFFF,
                0x80000000,
                0xFFFFFFFF,
                0x7FFFFFFFFFFFFFFF,
                0x8000000000000000,
                0xFFFFFFFFFFFFFFFF,
                rnd.randrange(1 << 16),
                rnd.randrange(1 << 40),
            ]
        )
        form = rnd.choice(["%d", "0x%x", "0X%X", "0%o", "b"])
        text = "0b" + bin(n)[2:] if form == "b" else form % n
        return text + rnd.choice(["", "", "U"])
    k = rnd.random()
    if k < 0.2:
        return rnd.choice(["-", "~", "!", "+", "(.s64)", "(.u64)"]) + "(" + expression(depth - 1, width_bits) + ")"
    if k < 0.3:
        return f"({expression(depth - 1, 0)} ? {expression(depth - 1, 0)} : {expression(depth - 1, 0)})"
    o = rnd.choice(
        [
            "+",
            "-",
            "*",
            "/",
            "%",
            "<<",
            ">>",
            "<",
            "<=",
            ">",
            ">=",
            "==",
            "!=",
            "&",
            "|",
            "^",
            "&&",
            "||",
            "+",
            "-",
            "*",
            ">>",
        ]
    )
    b = expression(depth - 1, 0)
    if o in "/%":
        b = str(rnd.choice([1, 2, 3, 7, 10, 1000, -3, "0xfffffffffffffffe", "5U"]))
    if o in ("<<", ">>"):
        b = str(rnd.randrange(64))
    if rnd.random() < 0.6:
        return f"({expression(depth - 1, 0)} {o} {b})"
    return f"{expression(depth - 1, 0)} {o} {b}"


def expressions():
    for k in range(170):
        e = expression(rnd.choice([1, 2, 2, 3, 3, 4]), 64)
        put(
            f"expression {k}",
            "b64",
            ["b64"],
            ANY_INTEGER,
            f"mov.b64 %d,{e}; xor.b64 %d,%d,%s0;" if k % 3 else f"mov.u64 %d,{e}; ",
        )
    for k in range(40):
        e = expression(2, 64)
        t = rnd.choice(["u8", "s16", "u32", "s64", "b64", "b16"])
        put(
            f"initialiser {k} .{t}",
            "b64",
            ["b64"],
            ANY_INTEGER,
            f"ld.global.{t} %d,[gi@+8];",
            f".global .align 8 .{t} gi@[{128 // int(t[1:])}] = {{ "
            + ",".join(["0"] * (64 // int(t[1:])) + [e])
            + " };",
        )
    for k in range(20):
        n = [
            "0f3f800000",
            "0F7f800000",
            "0d3FF0000000000000",
            "1.5",
            "1e10",
            "1.e-3",
            ".5",
            "2.5e+3",
            "-1.25",
            "0d7FEFFFFFFFFFFFFF",
            "1e-300",
            "3.4028235e38",
            "1e39",
            "0.1",
            "16777217.0",
            "-0.0",
            "5e-46",
            "1.17549429e-38",
            "0f80000001",
            "+2.0",
        ][k]
        put(f"number {n} f32", "f32", ["f32"], ANY_SINGLE, f"mov.f32 %d,{n};")
        put(f"number {n} f64", "f64", ["f64"], ANY_DOUBLE, f"mov.f64 %d,{n};")
        put(f"number {n} add.f32", "f32", ["f32"], ANY_SINGLE, f"add.f32 %d,%s0,{n};")
        put(f"number {n} global", "f32", ["f32"], ANY_SINGLE, "ld.global.f32 %d,[gf@];", f".global .f32 gf@ = {n};")
    for k in range(12):
        e = [
            "1.0+2.0",
            "(1.5*2.0)",
            "-(3.0)",
            "3.0-1.0/4.0",
            "2.0<3.0?1.0:0.5",
            "1.0e0",
            "0f3f800000+1.0",
            "(0d3FF0000000000000)",
            "1.5-2.0",
            "10.0/4.0",
            "7.0*-1.0",
            "- 1.0",
        ][k]
        put(f"float expression {k}", "f64", ["f64"], ANY_DOUBLE, f"mov.f64 %d,{e};")
        put(f"float expression {k} single", "f32", ["f32"], ANY_SINGLE, f"mov.f32 %d,{e};")


def fields():
    places = [0, 1, 7, 16, 31, 32, 33, 40, 63, 64, 65, 96, 128, 200, 255, 256, 300]
    for t in ("u32", "s32", "u64", "s64"):
        for p in places:
            put(
                f"bfe.{t} at {p}",
                t,
                [t, "u32"],
                4,
                f"bfe.{t} %d,%s0,{p},%s1;" if p < 256 else f"mov.u32 %tmp32,{p}; bfe.{t} %d,%s0,%tmp32,%s1;",
            )
            put(
                f"bfe.{t} of {p}",
                t,
                [t, "u32"],
                4,
                f"bfe.{t} %d,%s0,%s1,{p};" if p < 256 else f"mov.u32 %tmp32,{p}; bfe.{t} %d,%s0,%s1,%tmp32;",
            )
            n = rnd.choice(places[:15])
            if p < 256:
                put(f"bfe.{t} {p},{n} const", t, [t], ANY_INTEGER, f"bfe.{t} %d,%s0,{p},{n};")
        for p, n in (
            (32, 0),
            (40, 0),
            (31, 32),
            (31, 33),
            (0, 32),
            (0, 33),
            (0, 64),
            (16, 40),
            (16, 64),
            (8, 96),
            (32, 32),
            (64, 64),
            (63, 2),
        ):
            put(f"bfe.{t} {p},{n} constant", t, [t], ANY_INTEGER, f"bfe.{t} %d,%s0,{p},{n};")
    for t in ("b32", "b64"):
        for p in places:
            put(
                f"bfi.{t} at {p}",
                t,
                [t, t, "u32"],
                4,
                f"bfi.{t} %d,%s0,%s1,{p},%s2;" if p < 256 else f"mov.u32 %tmp32,{p}; bfi.{t} %d,%s0,%s1,%tmp32,%s2;",
            )
            put(
                f"bfi.{t} of {p}",
                t,
                [t, t, "u32"],
                4,
                f"bfi.{t} %d,%s0,%s1,%s2,{p};" if p < 256 else f"mov.u32 %tmp32,{p}; bfi.{t} %d,%s0,%s1,%s2,%tmp32;",
            )
        for p in (0, 1, 5, 16, 31, 32, 40, 63, 64):
            for n in (0, 1, 8, 27, 31, 32, 33, 40, 63, 64, 65, 72, 96, 100, 128, 160, 200, 255):
                put(f"bfi.{t} {p},{n} constant", t, [t, t], ANY_INTEGER, f"bfi.{t} %d,%s0,%s1,{p},{n};")


def warps():
    for m in ("up", "down", "bfly", "idx"):
        for k in range(12):
            c = hex(rnd.randrange(32) | rnd.choice([0, 0x10, 0x18, 0x1C, 0x1E, 0x1F, rnd.randrange(32)]) << 8)
            b = rnd.choice(["%s1", str(rnd.randrange(40)), "%s1"])
            put(
                f"shfl.sync.{m} {b} {c}",
                "b32",
                ["b32", "b32"],
                ANY_INTEGER,
                f".reg .b32 %r1; shfl.sync.{m}.b32 %r1|%p,%s0,{b},{c},-1; selp.b32 %d,%r1,0x0badbad0,%p;",
            )
        put(
            f"shfl.sync.{m} register c",
            "b32",
            ["b32", "b32"],
            ANY_INTEGER,
            f".reg .b32 %r1; and.b32 %s1,%s1,0x1f1f; shfl.sync.{m}.b32 %r1,%s0,3,%s1,-1; mov.b32 %d,%r1;",
        )
    for mask in ("0x1", "0x80000001", "0x00ff00ff", "0x7fffffff"):
        for v in ("all", "any", "uni"):
            put(
                f"vote.sync.{v} {mask}",
                "u32",
                ["s32"],
                ANY_INTEGER,
                f".reg .b32 %l,%k; mov.u32 %l,%laneid; shr.u32 %k,{mask},%l; and.b32 %k,%k,1; setp.ne.u32 %q,%k,0;"
                f" mov.u32 %d,7; @!%q bra Z; setp.lt.s32 %q,%s0,0; vote.sync.{v}.pred %p,!%q,{mask}; selp.u32"
                " %d,1,0,%p; Z: bar.warp.sync -1;",
            )
        put(
            f"ballot {mask}",
            "u32",
            ["s32"],
            ANY_INTEGER,
            f".reg .b32 %l,%k; mov.u32 %l,%lanemask_eq; and.b32 %k,%l,{mask}; setp.ne.u32 %q,%k,0; mov.u32 %d,7; @!%q"
            f" bra Z; setp.lt.s32 %q,%s0,0; vote.sync.ballot.b32 %d,%q,{mask}; Z: bar.warp.sync -1;",
        )
        put(
            f"elect {mask}",
            "u32",
            ["s32"],
            ANY_INTEGER,
            f".reg .b32 %l,%k; mov.u32 %l,%lanemask_eq; and.b32 %k,%l,{mask}; setp.ne.u32 %q,%k,0; mov.u32 %d,7; @!%q"
            f" bra Z; elect.sync %d|%p,{mask}; @%p add.u32 %d,%d,100; Z: bar.warp.sync -1;",
        )
        put(
            f"match {mask}",
            "u32",
            ["b32"],
            ANY_INTEGER,
            f".reg .b32 %l,%k; mov.u32 %l,%lanemask_eq; and.b32 %k,%l,{mask}; setp.ne.u32 %q,%k,0; mov.u32 %d,7; @!%q"
            f" bra Z; and.b32 %s0,%s0,1; match.any.sync.b32 %d,%s0,{mask}; Z: bar.warp.sync -1;",
        )
        put(
            f"match all {mask}",
            "u32",
            ["b32"],
            ANY_INTEGER,
            f".reg .b32 %l,%k; mov.u32 %l,%lanemask_eq; and.b32 %k,%l,{mask}; setp.ne.u32 %q,%k,0; mov.u32 %d,7; @!%q"
            f" bra Z; shr.u32 %s0,%s0,31; match.all.sync.b32 %d|%p,%s0,{mask}; @%p add.u32 %d,%d,3; Z:"
            " bar.warp.sync -1;",
        )
        for o, t in (("and", "b32"), ("xor", "b32"), ("max", "s32"), ("add", "s32"), ("min", "u32")):
            put(
                f"redux {o}.{t} {mask}",
                "b32",
                ["b32"],
                ANY_INTEGER,
                f".reg .b32 %l,%k; mov.u32 %l,%lanemask_eq; and.b32 %k,%l,{mask}; setp.ne.u32 %q,%k,0; mov.u32 %d,7;"
                f" @!%q bra Z; redux.sync.{o}.{t} %d,%s0,{mask}; Z: bar.warp.sync -1;",
            )
    for r in (
        "%tid.x",
        "%tid.y",
        "%ntid.x",
        "%ntid.z",
        "%ctaid.x",
        "%nctaid.x",
        "%laneid",
        "%lanemask_eq",
        "%lanemask_le",
        "%lanemask_lt",
        "%lanemask_ge",
        "%lanemask_gt",
        "WARP_SZ",
        "%clusterid.x",
        "%nclusterid.x",
        "%cluster_ctaid.x",
        "%cluster_nctaid.x",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%dynamic_smem_size",
        "%total_smem_size",
        "%aggr_smem_size",
        "%envreg0",
        "%envreg31",
        "%warpid",
        "%nwarpid",
        "%reserved_smem_offset_begin",
        "%reserved_smem_offset_end",
        "%reserved_smem_offset_cap",
        "%reserved_smem_offset_0",
    ):
        for t in ("u32", "s32", "b32", "u16", "b16", "u64", "f32"):
            if t in ("u32",) or rnd.random() < 0.35:
                put(f"mov.{t} {r}", t, [t], ANY_INTEGER, f"mov.{t} %d,{r};")
    for r in ("%tid.x", "%laneid", "%ctaid.x", "WARP_SZ", "%ntid.x"):
        put(f"add {r}", "u32", ["u32"], ANY_INTEGER, f"add.u32 %d,%s0,{r};")
        put(f"cvt.u16 {r}", "u16", ["u16"], ANY_INTEGER, f"cvt.u16.u32 %d,{r};")
        put(f"cvt.f32 {r}", "f32", ["f32"], ANY_INTEGER, f"cvt.rn.f32.u32 %d,{r};")
        put(f"shl {r}", "b32", ["b32"], ANY_INTEGER, f"shl.b32 %d,%s0,{r};")
        put(f"selp {r}", "b32", ["b32"], ANY_INTEGER, f"setp.lt.s32 %p,%s0,0; selp.b32 %d,{r},%s0,%p;")
        put(f"setp {r}", "u32", ["b32"], ANY_INTEGER, f"setp.lt.u32 %p,%s0,{r}; selp.u32 %d,1,0,%p;")
    put("mov.v4 tid", "u32", ["u32"], ANY_INTEGER, ".reg .v4 .u32 %vv; mov.v4.u32 %vv,%tid; mov.u32 %d,%vv.x;")
    put(
        "cvt.u64 clock",
        "u32",
        ["u32"],
        ANY_INTEGER,
        ".reg .b64 %x,%y; mov.u64 %x,%clock64; mov.u64 %y,%clock64; setp.le.u64 %p,%x,%y; selp.u32 %d,1,0,%p;",
    )


def spaces():
    for space in ("global", "shared", "local", "const", "shared::cta", "shared::cluster", "param", "param::entry"):
        for at, pre in (
            ("global", "mov.u64 %g,gv@;"),
            ("shared", ".shared .b64 sv; mov.u64 %g,sv; cvta.shared.u64 %g,%g;"),
            ("local", ".local .b64 lv; mov.u64 %g,lv; cvta.local.u64 %g,%g;"),
            ("const", "mov.u64 %g,cv@; cvta.const.u64 %g,%g;"),
            ("param", "mov.u64 %g,pa; cvta.param.u64 %g,%g;"),
            ("null", "mov.u64 %g,0;"),
            ("small", "mov.u64 %g,64;"),
            ("minus", "mov.u64 %g,-8;"),
            ("buffer", "mov.u64 %g,%po;"),
        ):
            put(
                f"isspacep.{space} {at}",
                "u32",
                ["u32"],
                0,
                f".reg .b64 %g; {pre} isspacep.{space} %p,%g; selp.u32 %d,1,0,%p;",
                ".global .b64 gv@; .const .b64 cv@ = 5;",
            )
    put("shared offset", "u32", ["u32"], 0, ".shared .align 4 .b32 s1[4]; mov.u32 %d,s1;")
    put("shared offset 64", "u64", ["u32"], 0, ".shared .align 4 .b32 s1[4]; mov.u64 %d,s1;")
    put("dynamic shared offset", "u32", ["u32"], 0, "mov.u32 %d,dyn@;", ".extern .shared .align 16 .b8 dyn@[];")
    put("local offset", "u64", ["u32"], 0, ".local .align 8 .b8 l1[16]; mov.u64 %d,l1; and.b64 %d,%d,7;")
    put(
        "cvta.shared null",
        "u32",
        ["u32"],
        0,
        ".reg .b64 %g; mov.u64 %g,0; cvta.shared.u64 %g,%g; setp.ne.u64 %p,%g,0; selp.u32 %d,1,0,%p;",
    )
    put(
        "cvta.to.shared",
        "b64",
        ["b64"],
        0,
        ".shared .align 8 .b64 sv[128]; .reg .b64 %g; mov.u64 %g,sv; cvta.shared.u64 %g,%g; cvta.to.shared.u64 %d,%g;",
    )
    put(
        "cvta.to.shared u32",
        "b32",
        ["b64"],
        0,
        ".shared .align 8 .b64 sv[128]; .reg .b64 %g; mov.u64 %g,sv; cvta.shared.u64 %g,%g; cvta.to.shared.u64 %g,%g;"
        " cvt.u32.u64 %d,%g;",
    )
    put(
        "mapa self",
        "b32",
        ["b64"],
        ANY_INTEGER,
        ".shared .align 8 .b64 sv[128]; .reg .b32 %m,%n; mov.u32 %m,sv; mapa.shared::cluster.u32 %n,%m,0; sub.u32"
        " %d,%n,%m;",
    )
    put(
        "getctarank",
        "b32",
        ["b64"],
        ANY_INTEGER,
        ".shared .align 8 .b64 sv[128]; .reg .b32 %m; mov.u32 %m,sv; getctarank.shared::cluster.u32 %d,%m;",
    )
