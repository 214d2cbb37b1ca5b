"""Qualifiers of memory accesses, atomic operations, asynchronous copies. See corners.py."""

from gen import forms, width
from groups import ANY_DOUBLE, ANY_HALF, ANY_INTEGER, ANY_SINGLE, put, rnd


def memory():
    """Qualifiers, spaces, vectors."""
    for sem in (
        "",
        ".weak",
        ".volatile",
        ".relaxed.cta",
        ".relaxed.gpu",
        ".relaxed.sys",
        ".relaxed.cluster",
        ".acquire.gpu",
        ".acquire.cta",
        ".mmio.relaxed.sys",
    ):
        for space in ("", ".global"):
            ssem = sem.replace("acquire", "release")
            for t, d in (("u8", "b32"), ("s16", "b64"), ("f32", "f32"), ("b64", "b64")):
                if rnd.random() < 0.6:
                    put(
                        f"st{ssem}{space}.{t} ld{sem}",
                        d,
                        [d],
                        ANY_INTEGER,
                        f"st.global.b64 [%po],0; st{ssem}{space}.{t} [%po],%s0; ld{sem}{space}.{t} %d,[%po];",
                    )
    for hint in (
        ".L1::evict_last",
        ".L1::evict_normal",
        ".L1::evict_first",
        ".L1::evict_unchanged",
        ".L1::no_allocate",
        ".L2::64B",
        ".L2::128B",
        ".L2::256B",
        ".ca",
        ".cg",
        ".cs",
        ".lu",
        ".cv",
        ".nc",
        ".nc.L1::evict_last.L2::128B",
        ".L1::no_allocate.L2::256B",
    ):
        sp = ".global" + hint if hint[1:3] != "nc" else ".global" + hint
        put(f"ld{sp}", "b64", ["b64"], ANY_INTEGER, f"ld{sp}.b64 %d,[%pb];")
        put(
            f"ld{sp}.v2",
            "b64",
            ["b64"],
            ANY_INTEGER,
            f".reg .b32 %x,%y; ld{sp}.v2.s32 {{%x,%y}},[%pb]; mov.b64 %d,{{%y,%x}};",
        )
        put(
            f"ld{sp}.v4 bytes",
            "b32",
            ["b64"],
            ANY_INTEGER,
            f".reg .b32 %x<4>; ld{sp}.v4.s8 {{%x0,%x1,%x2,%x3}},[%pb+4]; mad.lo.u32 %d,%x0,3,%x1; mad.lo.u32"
            " %d,%d,5,%x2; mad.lo.u32 %d,%d,7,%x3;",
        )
    put(
        "createpolicy ld st",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .b64 %pol; createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %pol,0.5;"
        " st.global.L2::cache_hint.b64 [%po],%s0,%pol; ld.global.L2::cache_hint.b64 %d,[%po],%pol;",
    )
    put(
        "atom cache hint",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .b64 %pol; createpolicy.fractional.L2::evict_first.b64 %pol; st.global.b64 [%po],5;"
        " atom.global.add.L2::cache_hint.u64 %d,[%po],%s0,%pol; ld.global.b64 %d,[%po];",
    )
    for t in ("u8", "s8", "b8", "u16", "s16", "b16", "b32", "u32", "f32", "b64", "u64", "f64"):
        w = int("".join(c for c in t if c.isdigit()))
        for n in (2, 4, 8):
            if n * w > 128 or n == 8 and w == 16:
                continue
            for rw in (16, 32, 64):
                if rw < w or rnd.random() < 0.4 or (t[0] == "f" and rw != w):
                    continue
                rt = t if t in ("f32", "f64") else f"b{rw}"
                regs = [f"%v{k}" for k in range(n)]
                src = regs[:]
                rnd.shuffle(src)
                if n > 2:
                    src[rnd.randrange(n)] = {"f32": "0f40490FDB", "f64": "0d400921FB54442D18"}.get(
                        t, rnd.choice(["-2", "77"])
                    )
                store_to, dst = ".local", "lm"
                body = (
                    ".local .align 16 .b8 lm[32]; .local .align 16 .b8 in[32]; st.local.b64 [in],%A; st.local.b64"
                    f" [in+8],%B; .reg .{rt} %v<{n}>; ld.local.v{n}.{t} {{{','.join(regs)}}},[in]; st.local.v{n}.{t}"
                    f" [lm],{{{','.join(src)}}}; ld.local.b64 %d,[lm]; "
                    + (".reg .b64 %hi; ld.local.b64 %hi,[lm+8]; mad.lo.u64 %d,%d,31,%hi;" if n * w > 64 else "")
                )
                if n * w < 64:
                    body = body.replace("ld.local.b64 %d,[lm];", f"ld.local.u{n * w} %d,[lm];")
                put(f"ld.v{n}.{t} {rt} st", "b64", ["b64"], ANY_INTEGER, body)
    put(
        "ld.v4 sinks",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .b16 %x,%y; ld.global.v4.u16 {_,%x,_,%y},[%pb]; mov.b64 %d,{%x,%y,%x,%y};",
    )
    put("ld.v2 sinks", "b64", ["b64"], ANY_INTEGER, ".reg .b32 %x; ld.global.v2.u32 {%x,_},[%pb]; mov.b64 %d,{%x,%x};")
    put("ld sink", "b64", ["b64"], ANY_INTEGER, "ld.global.v2.u32 {_,_},[%pb]; mov.b64 %d,%s0;")
    put(
        "st.v2 special",
        "b64",
        ["b64"],
        ANY_INTEGER,
        "st.global.v2.u32 [%po],{%laneid,WARP_SZ}; ld.global.b64 %d,[%po];",
    )
    put(
        "ld b128",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .b128 %z; .reg .b64 %x,%y; .local .align 16 .b8 lm[32]; mov.b128 %z,{%A,%B}; st.local.b128 [lm],%z;"
        " ld.local.b128 %z,[lm]; mov.b128 {%x,%y},%z; mad.lo.u64 %d,%x,3,%y;",
    )
    put(
        "mov b128",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .b128 %z,%zz; .reg .b64 %x; mov.b128 %z,{%A,%B}; mov.b128 %zz,%z; mov.b128 {_,%d},%zz;",
    )
    put("negative offset", "b64", ["b64"], ANY_INTEGER, "add.u64 %pb,%pb,64; ld.global.u64 %d,[%pb+-64];")
    put("constant offset", "b64", ["b64"], ANY_INTEGER, "add.u64 %pb,%pb,64; ld.global.u64 %d,[%pb+(8-72)];")
    put(
        "symbol offset",
        "b32",
        ["b32"],
        ANY_INTEGER,
        "ld.global.u32 %d,[ga@+4*2]; add.u32 %d,%d,%s0;",
        ".global .u32 ga@[4] = {1,2,3,4};",
    )
    put(
        "symbol minus",
        "b64",
        ["b64"],
        ANY_INTEGER,
        "mov.u64 %d,ga@+8; .reg .b64 %x; mov.u64 %x,ga@; sub.u64 %d,%d,%x;",
        ".global .u32 ga@[4] = {1,2,3,4};",
    )
    put(
        "array subscript",
        "b32",
        ["b32"],
        ANY_INTEGER,
        "ld.global.u32 %d,ga@[2]; add.u32 %d,%d,%s0;",
        ".global .u32 ga@[4] = {1,2,3,4};",
    )
    put(
        "array two dimensions",
        "b32",
        ["b32"],
        ANY_INTEGER,
        "ld.global.u16 %d,[ga@+6];",
        ".global .u16 ga@[2][3] = {{1,2},{3,4,5}};",
    )
    put("array open", "b32", ["b32"], ANY_INTEGER, "ld.global.s8 %d,[ga@+3];", ".global .s8 ga@[] = {1,-2,3,-4};")
    put(
        "string bytes",
        "b32",
        ["b32"],
        ANY_INTEGER,
        "ld.global.v4.u8 {%d,_,_,_},[ga@];",
        ".global .align 4 .b8 ga@[4] = {0xFF,\n0x12, 7, 8};",
    )
    put(
        "address initialiser",
        "b32",
        ["b32"],
        ANY_INTEGER,
        ".reg .b64 %x; ld.global.u64 %x,[gp@]; ld.global.u32 %d,[%x];",
        ".global .u32 ga@[4] = {1,2,3,4}; .global .u64 gp@ = ga@+8;",
    )
    put(
        "generic initialiser",
        "b32",
        ["b32"],
        ANY_INTEGER,
        ".reg .b64 %x; ld.global.u64 %x,[gp@+8]; ld.u32 %d,[%x+4];",
        ".global .u32 ga@[4] = {1,2,3,4}; .global .u64 gp@[2] = {0,generic(ga@)+4};",
    )
    put(
        "mask initialiser",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .b64 %x; .reg .b32 %y<8>; ld.global.v4.u8 {%y0,%y1,%y2,%y3},[gp@]; ld.global.v4.u8"
        " {%y4,%y5,%y6,%y7},[gp@+4]; shl.b32 %y1,%y1,8; or.b32 %y0,%y0,%y1; shl.b32 %y2,%y2,16; or.b32 %y0,%y0,%y2;"
        " shl.b32 %y3,%y3,24; or.b32 %y0,%y0,%y3; shl.b32 %y5,%y5,8; or.b32 %y4,%y4,%y5; shl.b32 %y6,%y6,16; or.b32"
        " %y4,%y4,%y6; shl.b32 %y7,%y7,24; or.b32 %y4,%y4,%y7; mov.b64 %x,{%y0,%y4}; ld.u64 %d,[%x];",
        ".global .align 8 .u64 ga@ = 0x123456789; .global .align 8 .u8 gp@[8] ="
        " {0xFF(ga@),0xFF00(ga@),0xFF0000(ga@),0xFF000000(ga@),0xFF00000000(ga@),0xFF0000000000(ga@),"
        "0xFF000000000000(ga@),0xFF00000000000000(ga@)};",
    )


def atomics():
    shared = (
        ".shared .align 8 .b64 sm[128]; .reg .b32 %a,%l; mov.u32 %l,%tid.x; shl.b32 %l,%l,3; mov.u32 %a,sm; add.u32"
        " %a,%a,%l; "
    )
    gen = shared + ".reg .b64 %g; cvt.u64.u32 %g,%a; cvta.shared.u64 %g,%g; "
    kinds = [
        ("u32", "add min max inc dec exch and or xor cas"),
        ("s32", "add min max"),
        ("u64", "add min max exch and or xor cas"),
        ("s64", "min max"),
        ("f32", "add"),
        ("f64", "add"),
        ("f16", "add.noftz"),
        ("f16x2", "add.noftz"),
        ("bf16", "add.noftz"),
        ("bf16x2", "add.noftz"),
        ("b16", "cas"),
        ("b128", "exch cas"),
    ]
    sets = {
        "f32": ANY_SINGLE,
        "f64": ANY_DOUBLE,
        "f16": ANY_HALF,
        "f16x2": ANY_HALF,
        "bf16": ANY_HALF,
        "bf16x2": ANY_HALF,
    }
    for t, ops in kinds:
        for o in ops.split():
            tt = "b" + t[1:] if o in ("exch", "and", "or", "xor", "cas") else t
            if t == "b128":
                continue
            w = width(t)
            third = ",%s2" if o == "cas" else ""
            for where, pre, at in (
                (".global", "", "%po"),
                ("", "", "%po"),
                (".shared", shared, "%a"),
                ("", gen, "%g"),
                (".shared::cta", shared, "%a"),
                (".shared::cluster", shared, "%a"),
            ):
                sem = rnd.choice(["", ".relaxed", ".acquire", ".release", ".acq_rel"]) + rnd.choice(
                    ["", ".cta", ".gpu", ".sys", ".cluster"]
                )
                st = ".shared" if "shared" in where else where
                name = f"atom{sem}{where}.{o}.{tt} {'g' if at == '%g' else 'o'}"
                new = rnd.random() < 0.5
                put(
                    name,
                    t,
                    [t, t] + ([t] if third else []),
                    sets.get(t, ANY_INTEGER),
                    f"{pre} st{st}.b{w} [{at}],%s0; atom{sem}{where}.{o}.{tt}"
                    f" {rnd.choice(['%d', '%d', '_']) if new and o != 'cas' else '%d'},[{at}],%s1{third}; "
                    + (f"ld{st}.b{w} %d,[{at}];" if new else ""),
                )
                if o not in ("cas", "exch") and rnd.random() < 0.6:
                    sem = rnd.choice(["", ".relaxed", ".release"]) + rnd.choice(["", ".cta", ".gpu", ".sys"])
                    put(
                        f"red{sem}{where}.{o}.{tt} {'g' if at == '%g' else 'o'}",
                        t,
                        [t, t],
                        sets.get(t, ANY_INTEGER),
                        f"{pre} st{st}.b{w} [{at}],%s0; red{sem}{where}.{o}.{tt} [{at}],%s1; ld{st}.b{w} %d,[{at}];",
                    )
    for o, n, t in (
        ("add", 2, "f32"),
        ("add", 4, "f32"),
        ("add.noftz", 2, "f16"),
        ("min.noftz", 4, "f16"),
        ("add.noftz", 4, "bf16"),
        ("max.noftz", 2, "bf16"),
        ("add.noftz", 2, "f16x2"),
        ("max.noftz", 4, "f16x2"),
        ("add.noftz", 4, "bf16x2"),
        ("min.noftz", 2, "bf16x2"),
    ):
        w = {"f32": 32, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32}[t]
        total = n * w
        scratch = (
            ".reg .b32 %idx; .reg .b64 %ga; mov.u32 %idx,%ctaid.x; .reg .b32 %tx; mov.u32 %tx,%tid.x; mad.lo.u32"
            " %idx,%idx,128,%tx; mul.wide.u32 %ga,%idx,16; .reg .b64 %gb; mov.u64 %gb,gs@; add.u64 %ga,%ga,%gb; "
        )
        rt = "f32" if t == "f32" else f"b{w}"
        parts = total // 64 or 1
        fill = "st.global.b64 [%ga],%A; " + ("st.global.b64 [%ga+8],%B; " if total > 64 else "")
        src = (
            f".reg .{rt} %v<{n}>,%o<{n}>; .local .align 16 .b8 lm[16]; st.local.b64 [lm],%B; st.local.b64 [lm+8],%C; "
            + f"ld.local.v{n}.{'b%d' % w if t != 'f32' else 'f32'} {{{','.join('%%v%d' % k for k in range(n))}}},[lm]; "
        )
        vec = "{" + ",".join("%%v%d" % k for k in range(n)) + "}"
        old = "{" + ",".join("%%o%d" % k for k in range(n)) + "}"
        end = "ld.global.b64 %d,[%ga]; " if total >= 64 else "ld.global.u32 %d,[%ga]; "
        if total > 64:
            end += ".reg .b64 %h; ld.global.b64 %h,[%ga+8]; "
        kind = t if w == 16 else t
        sset = ANY_SINGLE if t == "f32" else ANY_HALF
        for what in ("red", "atom"):
            call = (
                f"red.global.{o}.v{n}.{t} [%ga],{vec};"
                if what == "red"
                else f"atom.global.{o}.v{n}.{t} {old},[%ga],{vec};"
            )
            put(
                f"{what}.{o}.v{n}.{t}",
                "b32",
                ["b32"],
                sset,
                scratch + fill + src + call + f" ld.global.b32 %d,[%ga{'+4' if total > 32 else ''}];",
                ".global .align 16 .b8 gs@[16384];",
            )
            kinds_of = {"f32": 1, "f16": 4, "f16x2": 4, "bf16": 6, "bf16x2": 6}[t]
            n_, s_, _, p_ = forms[-1]
            forms[-1] = (n_, s_, kinds_of, p_)


def asynchronous():
    pre = (
        ".shared .align 16 .b8 sm[4096]; .reg .b32 %a,%l; mov.u32 %l,%tid.x; shl.b32 %l,%l,4; mov.u32 %a,sm; add.u32"
        " %a,%a,%l; st.shared.b64 [%a],-1; st.shared.b64 [%a+8],-1; "
    )
    end = "cp.async.commit_group; cp.async.wait_group 0; ld.shared.b64 %d,[%a]; "
    for n in (4, 8):
        put(f"cp.async {n}", "b64", ["b64"], ANY_INTEGER, pre + f"cp.async.ca.shared.global [%a],[%pb],{n}; " + end)
        put(
            f"cp.async {n} register size",
            "b64",
            ["b64", "u32"],
            ANY_INTEGER,
            pre + f"and.b32 %s1,%s1,3; cp.async.ca.shared.global [%a],[%pb],{n},%s1; " + end,
        )
        for k in range(n + 1):
            put(
                f"cp.async {n} {k}",
                "b64",
                ["b64"],
                ANY_INTEGER,
                pre + f"cp.async.ca.shared::cta.global.L2::128B [%a],[%pb],{n},{k}; " + end,
            )
        put(
            f"cp.async {n} ignore",
            "b64",
            ["b64", "s32"],
            ANY_INTEGER,
            pre + f"setp.lt.s32 %p,%s1,0; cp.async.ca.shared.global [%a],[%pb],{n},%p; " + end,
        )
        put(
            f"cp.async {n} not ignore",
            "b64",
            ["b64", "s32"],
            ANY_INTEGER,
            pre + f"setp.lt.s32 %p,%s1,0; cp.async.ca.shared.global [%a],[%pb],{n},!%p; " + end,
        )
    put(
        "cp.async 16",
        "b64",
        ["b64"],
        ANY_INTEGER,
        pre
        + "and.b64 %pb,%pb,-16; cp.async.cg.shared.global [%a],[%pb],16; "
        + end
        + ".reg .b64 %h; ld.shared.b64 %h,[%a+8]; mad.lo.u64 %d,%d,3,%h;",
    )
    for k in (0, 1, 5, 12, 16):
        put(
            f"cp.async 16 {k}",
            "b64",
            ["b64"],
            ANY_INTEGER,
            pre
            + f"and.b64 %pb,%pb,-16; cp.async.cg.shared.global [%a],[%pb],16,{k}; "
            + end
            + ".reg .b64 %h; ld.shared.b64 %h,[%a+8]; mad.lo.u64 %d,%d,3,%h;",
        )
    mb = (
        ".shared .align 8 .b64 mb; .reg .b64 %st; .reg .b32 %m,%l; mov.u32 %m,mb; mov.u32 %l,%tid.x; setp.eq.u32"
        " %q,%l,0; @%q mbarrier.init.shared.b64 [%m],COUNT; bar.sync 0; "
    )
    put(
        "mbarrier arrive test",
        "u32",
        ["u32"],
        ANY_INTEGER,
        mb.replace("COUNT", "128")
        + "mbarrier.arrive.shared.b64 %st,[%m]; W: mbarrier.test_wait.shared.b64 %p,[%m],%st; @!%p bra W; mov.u32"
        " %d,%s0;",
    )
    put(
        "mbarrier pending",
        "u32",
        ["u32"],
        ANY_INTEGER,
        mb.replace("COUNT", "200")
        + "mov.u32 %d,0; @%q mbarrier.arrive.shared.b64 %st,[%m]; @%q mbarrier.pending_count.b64 %d,%st; ",
    )
    put(
        "mbarrier pending drop",
        "u32",
        ["u32"],
        ANY_INTEGER,
        mb.replace("COUNT", "200")
        + "mov.u32 %d,0; @!%q bra Z; mbarrier.arrive_drop.shared.b64 %st,[%m],3; mbarrier.arrive.shared.b64 %st,[%m],5;"
        " mbarrier.pending_count.b64 %d,%st; Z: ",
    )
    put(
        "mbarrier phase parity",
        "u32",
        ["u32"],
        ANY_INTEGER,
        mb.replace("COUNT", "1")
        + "mov.u32 %d,0; @!%q bra Z; mbarrier.test_wait.parity.shared.b64 %p,[%m],0; selp.u32 %d,1,0,%p;"
        " mbarrier.arrive.shared.b64 %st,[%m]; mbarrier.test_wait.parity.shared.b64 %p,[%m],0; @%p add.u32 %d,%d,2;"
        " mbarrier.test_wait.parity.shared.b64 %p,[%m],1; @%p add.u32 %d,%d,4; mbarrier.test_wait.shared.b64"
        " %p,[%m],%st; @%p add.u32 %d,%d,8; Z: ",
    )
    put(
        "mbarrier transactions",
        "u32",
        ["u32"],
        ANY_INTEGER,
        mb.replace("COUNT", "1")
        + "mov.u32 %d,0; @!%q bra Z; mbarrier.arrive.expect_tx.shared.b64 %st,[%m],16; mbarrier.test_wait.shared.b64"
        " %p,[%m],%st; @%p add.u32 %d,%d,1; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%m],16;"
        " mbarrier.test_wait.shared.b64 %p,[%m],%st; @%p add.u32 %d,%d,2; Z: ",
    )
    put(
        "mbarrier cp.async",
        "b64",
        ["b64"],
        ANY_INTEGER,
        pre.replace("%l", "%ll")
        + mb.replace("COUNT", "128")
        + "cp.async.ca.shared.global [%a],[%pb],8; cp.async.mbarrier.arrive.noinc.shared.b64 [%m]; W:"
        " mbarrier.try_wait.parity.shared.b64 %p,[%m],0; @!%p bra W; ld.shared.b64 %d,[%a];",
    )
    put(
        "mbarrier try_wait time",
        "u32",
        ["u32"],
        ANY_INTEGER,
        mb.replace("COUNT", "1")
        + "mov.u32 %d,0; @!%q bra Z; mbarrier.try_wait.parity.shared.b64 %p,[%m],0,100; selp.u32 %d,1,0,%p; Z: ",
    )


def halves_in_shared():
    """Of which pairs only the first is added."""
    shared = (
        ".shared .align 8 .b64 sm[128]; .reg .b32 %a,%l; mov.u32 %l,%tid.x; shl.b32 %l,%l,3; mov.u32 %a,sm; add.u32"
        " %a,%a,%l; "
    )
    for t in ("f16x2", "bf16x2", "f16", "bf16"):
        w = width(t)
        for o in (0, 2, 4, 6):
            if w == 32 and o & 2:
                continue
            for what in ("red", "atom", "old"):
                text = f"st.shared.b64 [%a],%A; "
                text += (
                    f"red.shared.add.noftz.{t} [%a+{o}],%s1; "
                    if what == "red"
                    else f".reg .b{w} %x; atom.shared.add.noftz.{t} %x,[%a+{o}],%s1; "
                )
                text += (
                    f"ld.shared.b64 %res,[%a]; "
                    + ("" if what != "old" else f"cvt.u64.u{w} %res,%x; ")
                    + "mov.b64 %d,%res;"
                )
                put(f"{what}.shared.{t}+{o}", "b64", [t, t], ANY_HALF, shared + text)
                text = text.replace(".shared.add", ".shared::cta.relaxed.cta.add" if False else ".shared.add")
            put(
                f"red generic shared.{t}+{o}",
                "b64",
                [t, t],
                ANY_HALF,
                shared
                + f".reg .b64 %g; cvt.u64.u32 %g,%a; cvta.shared.u64 %g,%g; st.shared.b64 [%a],%A; red.add.noftz.{t}"
                f" [%g+{o}],%s1; ld.shared.b64 %d,[%a];",
            )
            put(
                f"atom.exch loop {t}+{o}",
                "b64",
                [t, t],
                ANY_HALF,
                shared
                + f".reg .b{w} %x; st.shared.b64 [%a],%A; atom.shared.add.noftz.{t} _,[%a+{o}],%s1; ld.shared.b64"
                " %d,[%a];",
            )
