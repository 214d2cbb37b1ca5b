"""Functions and their parameters, vectors of registers, what is written between instructions, copies of blocks. See corners.py."""

from groups import ANY_DOUBLE, ANY_HALF, ANY_INTEGER, ANY_SINGLE, put


def functions():
    """Parameters and results of all types, calls of several kinds."""
    for t in ("u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "f32", "f64"):
        w = int(t[1:])
        for rw in (16, 32, 64):
            if rw < w or (t[0] == "f" and rw != w):
                continue
            rt = t if t[0] == "f" else f"b{rw}"
            add = {"f32": "add.f32 %r,%a,%a;", "f64": "add.f64 %r,%a,%a;"}.get(t, f"mul.lo.u{rw} %r,%a,3;")
            fn = (
                f".func (.param .{t} r) fn@(.param .{t} a) {{ .reg .{rt} %a,%r; ld.param.{t} %a,[a]; {add} st.param.{t}"
                " [r],%r; ret; }"
            )
            put(
                f"call .param .{t} {rt}",
                t if t[0] == "f" else f"b{rw}",
                [t if t[0] == "f" else f"b{rw}"],
                {"f32": ANY_SINGLE, "f64": ANY_DOUBLE}.get(t, ANY_INTEGER),
                f"{{ .param .{t} x; .param .{t} y; st.param.{t} [x],%s0; call (y),fn@,(x); ld.param.{t} %d,[y]; }}",
                fn,
            )
        if w >= 16:
            add = {"f32": "add.f32 %r,%a,%a;", "f64": "add.f64 %r,%a,%a;"}.get(t, f"or.b{w} %r,%a,3;")
            fn = f".func (.reg .{t} %r) fn@(.reg .{t} %a) {{ {add} ret; }}"
            put(
                f"call .reg .{t}",
                t,
                [t],
                {"f32": ANY_SINGLE, "f64": ANY_DOUBLE}.get(t, ANY_INTEGER),
                "call (%d),fn@,(%s0);",
                fn,
            )
    put(
        "call .reg several",
        "u32",
        ["u32", "u32"],
        ANY_INTEGER,
        ".reg .u32 %x,%y; call (%x,%y),fn@,(%s0,%s1); sub.u32 %d,%x,%y;",
        ".func (.reg .u32 %r, .reg .u32 %s) fn@(.reg .u32 %a, .reg .u32 %b) { add.u32 %r,%a,%b; mul.lo.u32 %s,%a,%b;"
        " ret; }",
    )
    put(
        "call .param several",
        "u32",
        ["u32", "u32"],
        ANY_INTEGER,
        "{ .param .u32 a,b,c,d; st.param.u32 [a],%s0; st.param.u32 [b],%s1; .reg .u32 %x,%y; call (c,d),fn@,(a,b);"
        " ld.param.u32 %x,[c]; ld.param.u32 %y,[d]; sub.u32 %d,%x,%y; }",
        ".func (.param .u32 r, .param .u32 s) fn@(.param .u32 a, .param .u32 b) { .reg .u32 %a,%b,%r; ld.param.u32"
        " %a,[a]; ld.param.u32 %b,[b]; add.u32 %r,%a,%b; st.param.u32 [r],%r; mul.lo.u32 %r,%a,%b; st.param.u32 [s],%r;"
        " ret; }",
    )
    put(
        "call struct",
        "b64",
        ["b64", "b64"],
        ANY_INTEGER,
        "{ .param .align 16 .b8 s[24]; .param .align 8 .b8 r[16]; st.param.v2.b64 [s],{%s0,%s1}; st.param.b8"
        " [s+17],%s0; st.param.u16 [s+20],%s1; call (r),fn@,(s); .reg .b64 %x,%y; ld.param.v2.b64 {%x,%y},[r];"
        " mad.lo.u64 %d,%x,7,%y; }",
        ".func (.param .align 16 .b8 r[16]) fn@(.param .align 16 .b8 s[24]) { .reg .b64 %x,%y,%z,%w; ld.param.v2.b64"
        " {%x,%y},[s]; ld.param.s8 %z,[s+17]; ld.param.s16 %w,[s+20]; add.u64 %x,%x,%z; xor.b64 %y,%y,%w; st.param.b64"
        " [r],%y; st.param.b64 [r+8],%x; ret; }",
    )
    put(
        "call prototype",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "{ .reg .b64 %f; mov.u64 %f,fn@; .param .u32 a,b; st.param.u32 [a],%s0; P: .callprototype (.param .u32 _) _"
        " (.param .u32 _); call (b),%f,(a),P; ld.param.u32 %d,[b]; }",
        ".func (.param .u32 r) fn@(.param .u32 a) { .reg .u32 %a; ld.param.u32 %a,[a]; not.b32 %a,%a; st.param.u32"
        " [r],%a; ret; }",
    )
    put(
        "call targets",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "{ .reg .b64 %f,%g; mov.u64 %f,fa@; mov.u64 %g,fb@; setp.lt.s32 %p,%s0,0; selp.b64 %f,%f,%g,%p; .param .u32"
        " a,b; st.param.u32 [a],%s0; T: .calltargets fa@,fb@; call (b),%f,(a),T; ld.param.u32 %d,[b]; }",
        ".func (.param .u32 r) fa@(.param .u32 a) { .reg .u32 %a; ld.param.u32 %a,[a]; not.b32 %a,%a; st.param.u32"
        " [r],%a; ret; } .func (.param .u32 r) fb@(.param .u32 a) { .reg .u32 %a; ld.param.u32 %a,[a]; add.u32 %a,%a,9;"
        " st.param.u32 [r],%a; ret; }",
    )
    put(
        "call table",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "{ .reg .b64 %f,%o; .reg .b32 %k; and.b32 %k,%s0,1; mul.wide.u32 %o,%k,8; mov.u64 %f,tab@; add.u64 %f,%f,%o;"
        " ld.global.u64 %f,[%f]; .param .u32 a,b; st.param.u32 [a],%s0; P: .callprototype (.param .u32 _) _ (.param"
        " .u32 _); call (b),%f,(a),P; ld.param.u32 %d,[b]; }",
        ".func (.param .u32 r) fa@(.param .u32 a) { .reg .u32 %a; ld.param.u32 %a,[a]; not.b32 %a,%a; st.param.u32"
        " [r],%a; ret; } .func (.param .u32 r) fb@(.param .u32 a) { .reg .u32 %a; ld.param.u32 %a,[a]; add.u32 %a,%a,9;"
        " st.param.u32 [r],%a; ret; } .global .u64 tab@[2] = {fa@,fb@};",
    )
    put(
        "recursion",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "{ .param .u32 a,b; and.b32 %s0,%s0,15; st.param.u32 [a],%s0; call (b),fr@,(a); ld.param.u32 %d,[b]; }",
        ".func (.param .u32 r) fr@(.param .u32 a) { .reg .u32 %a,%b; .reg .pred %p; ld.param.u32 %a,[a]; setp.lt.u32"
        " %p,%a,2; mov.u32 %b,1; @%p bra E; sub.u32 %b,%a,1; { .param .u32 x,y; st.param.u32 [x],%b; call (y),fr@,(x);"
        " ld.param.u32 %b,[y]; } mul.lo.u32 %b,%b,%a; E: st.param.u32 [r],%b; ret; }",
    )
    put(
        "call conditional",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "setp.lt.s32 %p,%s0,0; mov.u32 %d,3; @%p call (%d),fn@,(%s0);",
        ".func (.reg .u32 %r) fn@(.reg .u32 %a) { add.u32 %r,%a,7; ret; }",
    )
    put(
        "call constant",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "call (%d),fn@,(%s0,41);",
        ".func (.reg .u32 %r) fn@(.reg .u32 %a,.reg .u32 %b) { add.u32 %r,%a,%b; ret; }",
    )
    put(
        "call.uni",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "call.uni (%d),fn@,(%s0,%s0);",
        ".func (.reg .u32 %r) fn@(.reg .u32 %a,.reg .u32 %b) { add.u32 %r,%a,%b; ret.uni; }",
    )
    put(
        "call sink",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "mov.u32 %d,%s0; call (_),fn@,(%s0,%s0);",
        ".func (.reg .u32 %r) fn@(.reg .u32 %a,.reg .u32 %b) { add.u32 %r,%a,%b; ret.uni; }",
    )
    put(
        "call nothing",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "call fn@; ld.global.u32 %d,[gg@];",
        ".global .u32 gg@; .func fn@ { st.global.u32 [gg@],9; ret; }",
    )
    put(
        "call nothing ()",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "call fn@,(); ld.global.u32 %d,[gg@];",
        ".global .u32 gg@; .func fn@() { st.global.u32 [gg@],9; ret; }",
    )
    put(
        "noreturn",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "setp.eq.u32 %p,%s0,0x77777777; mov.u32 %d,1; @%p call fn@,();",
        ".func fn@() .noreturn { trap; }",
    )
    put(
        "weak function",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "call (%d),fn@,(%s0);",
        ".weak .func (.reg .u32 %r) fn@(.reg .u32 %a) { add.u32 %r,%a,7; ret; }",
    )
    put(
        "forward",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "call (%d),fn@,(%s0);",
        ".func (.reg .u32 %r) fn@(.reg .u32 %a); .func (.reg .u32 %r) fn@(.reg .u32 %a) { add.u32 %r,%a,7; ret; }",
    )
    put(
        "alias",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "{ .param .u32 a,b; st.param.u32 [a],%s0; call (b),al@,(a); ld.param.u32 %d,[b]; }",
        ".visible .func (.param .u32 r) fn@(.param .u32 a) { .reg .u32 %a; ld.param.u32 %a,[a]; not.b32 %a,%a;"
        " st.param.u32 [r],%a; ret; } .visible .func (.param .u32 r) al@(.param .u32 a); .alias al@,fn@;",
    )
    put(
        "brx.idx",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "and.b32 %s0,%s0,3; T: .branchtargets A,B,C,A; brx.idx %s0,T; A: mov.u32 %d,5; bra E; B: mov.u32 %d,6; bra E;"
        " C: mov.u32 %d,7; E: add.u32 %d,%d,%s0;",
    )
    put(
        "brx.idx.uni",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "mov.u32 %s0,1; T: .branchtargets A,B; brx.idx.uni %s0,T; A: mov.u32 %d,5; bra.uni E; B: mov.u32 %d,6; E:"
        " add.u32 %d,%d,%s0;",
    )
    put(
        "brx.idx conditional",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "setp.lt.s32 %p,%s0,0; and.b32 %s0,%s0,1; mov.u32 %d,1; T: .branchtargets A,B; @%p brx.idx %s0,T; bra E; A:"
        " mov.u32 %d,5; bra E; B: mov.u32 %d,6; E: add.u32 %d,%d,%s0;",
    )
    put(
        "brx.idx labels N<>",
        "u32",
        ["u32"],
        ANY_INTEGER,
        "and.b32 %s0,%s0,1; T: .branchtargets L<2>; brx.idx %s0,T; L0: mov.u32 %d,5; bra E; L1: mov.u32 %d,6; E:"
        " add.u32 %d,%d,%s0;",
    )
    put(
        "alloca",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .b64 %s,%m; stacksave.u64 %s; alloca.u64 %m,32,8; st.local.b64 [%m+8],%s0; ld.local.b64 %d,[%m+8];"
        " stackrestore.u64 %s;",
    )


def texts():
    """What is between instructions, and names."""

    def plain(name, text, before=None):
        put(name, "u32", ["u32"], ANY_INTEGER, text, before)

    plain("comments", "add.u32 /* a */ %d , // b\n %s0 /* c\n d */, 1 ; /**/ // ;\n")
    plain(
        "names",
        ".reg .u32 $a,%b$,_c,d_$1,%_,$_0; mov.u32 $a,%s0; add.u32 %b$,$a,1; add.u32 _c,%b$,2; mov.u32 d_$1,_c; mov.u32"
        " %_,d_$1; mov.u32 $_0,%_; mov.u32 %d,$_0;",
    )
    plain(
        "names like words",
        ".reg .u32 add,mov,pred,x; mov.u32 add,%s0; add.u32 mov,add,1; mov.u32 pred,mov; mov.u32 x,pred; mov.u32 %d,x;",
    )
    plain("names with dots", ".reg .v2 .u32 %vv; mov.u32 %vv.x,%s0; mov.u32 %vv.y,3; add.u32 %d,%vv.x,%vv.y;")
    plain(
        "names rgba",
        ".reg .v4 .u32 %vv; mov.u32 %vv.r,%s0; mov.u32 %vv.g,3; mov.u32 %vv.b,1; mov.u32 %vv.a,2; add.u32"
        " %d,%vv.x,%vv.w;",
    )
    plain(
        "scopes", "{ .reg .u32 %x; mov.u32 %x,1; { .reg .u32 %x; mov.u32 %x,2; add.u32 %d,%s0,%x; } add.u32 %d,%d,%x; }"
    )
    plain("labels in scopes", "{ bra L; L: mov.u32 %d,1; } { bra L; L: add.u32 %d,%d,%s0; }")
    plain("labels twice", "A: B: C: mov.u32 %d,%s0;")
    plain("semicolons", "mov.u32 %d,%s0;;; ;")
    plain("loc", ".loc 1 5 0\nmov.u32 %d,%s0;\n.loc 1 6 3, function_name Lfn, inlined_at 1 5 0\n", None)
    plain("line markers", '\n# 12 "a.cu"\nmov.u32 %d,%s0;\n#line 5 "b.cu"\n')
    plain("pragma", '.pragma "nounroll"; mov.u32 %d,%s0;')
    plain("pragma unknown", '.pragma "something else"; mov.u32 %d,%s0;')
    plain(
        "pragma used_bytes",
        '.reg .b32 %x,%y; .pragma "used_bytes_mask 0xf"; ld.global.v2.u32 {%x,%y},[%pb]; mov.u32 %d,%x;',
    )
    plain(
        "register ranges", ".reg .u32 %x<3>,%y<2>,z; mov.u32 %x2,%s0; mov.u32 %y1,4; add.u32 z,%x2,%y1; mov.u32 %d,z;"
    )
    plain("predicates", "setp.eq.u32 %p,%s0,0; not.pred %q,%p; @!%q mov.u32 %d,1; @%q mov.u32 %d,2;")
    plain(
        "predicate constants",
        ".reg .pred %r; mov.pred %r,1; mov.pred %q,0; selp.u32 %d,3,4,%r; @!%q add.u32 %d,%d,%s0;",
    )
    plain("setp constant predicate", "setp.lt.and.s32 %p,%s0,5,1; selp.u32 %d,1,0,%p;")
    plain(
        "align",
        ".reg .b64 %x; mov.u64 %x,ga@; and.b64 %x,%x,63; cvt.u32.u64 %d,%x; ",
        ".global .align 64 .u8 gz@ = 1; .global .align 64 .u8 ga@ = 1;",
    )
    plain(
        "vector variable",
        "ld.global.v4.f32 {_,_,%f,_},[gv@]; mov.b32 %d,%f; .reg .f32 %g;".replace("ld.", ".reg .f32 %f; ld.", 1),
        ".global .v4 .f32 gv@ = {1.0,2.0,3.0,4.0};",
    )
    plain(
        "vector array",
        ".reg .u32 %x,%y; ld.global.v2.u32 {%x,%y},[gv@+8]; sub.u32 %d,%x,%y;",
        ".global .v2 .u32 gv@[2] = {{1,2},{30,4}};",
    )
    plain("several variables", "ld.global.u32 %d,[gb@];", ".global .u32 ga@ = 1, gb@ = 2, gc@[2] = {3,4};")
    plain("weak variable", "ld.global.u32 %d,[gb@];", ".weak .global .u32 gb@ = 2;")
    plain("visible variable", "ld.global.u32 %d,[gb@];", ".visible .global .align 16 .u32 gb@ = 2;")
    plain("common variable", "ld.global.u32 %d,[gb@];", ".common .global .u32 gb@;")
    plain("attribute managed", "ld.global.u32 %d,[gb@];", ".global .attribute(.managed) .u32 gb@ = 2;")
    plain("half initialiser", "ld.global.u32 %d,[gb@];", ".global .align 4 .b16 gb@[2] = {0x3c00,0x4000};")
    plain("section", "mov.u32 %d,%s0;", ".section .debug_x@ { .b8 1,2,3 \n .b32 5 }")
    plain("dwarf", "mov.u32 %d,%s0;", "@@DWARF .section .debug_y@\n@@DWARF .byte 1,2,3\n@@DWARF .4byte 5\n")
    plain("unused", "mov.u32 %d,%s0;", ".extern .func (.param .u32 r) nowhere@(.param .u32 a);")
    plain(
        "bra backwards",
        ".reg .u32 %k; mov.u32 %k,0; mov.u32 %d,0; L: add.u32 %d,%d,%s0; add.u32 %k,%k,1; setp.lt.u32 %p,%k,5; @%p"
        " bra L;",
    )
    plain("ret in middle", "setp.lt.s32 %p,%s0,0; @%p st.global.u64 [%po],1; @%p ret; mov.u32 %d,5;")
    plain("exit in middle", "setp.lt.s32 %p,%s0,0; @%p st.global.u64 [%po],1; @%p exit; mov.u32 %d,5;")
    plain("minus minus", "mov.u32 %d,- -5; add.u32 %d,%d,-(3);")
    plain(
        "nanosleep",
        "nanosleep.u32 20; nanosleep.u32 %s0; mov.u32 %d,%s0;".replace(
            "nanosleep.u32 %s0;", "and.b32 %s0,%s0,15; nanosleep.u32 %s0;"
        ),
    )
    plain(
        "prefetches",
        "prefetch.global.L1 [%pb]; prefetch.global.L2 [%pb]; prefetch.L2 [%pb]; prefetchu.L1 [%pb];"
        " prefetch.global.L2::evict_last [%pb]; mov.u32 %d,%s0;",
    )
    plain(
        "fences",
        "membar.cta; membar.gl; membar.sys; fence.sc.cta; fence.acq_rel.gpu; fence.proxy.alias; fence.proxy.async;"
        " fence.acquire.sys; mov.u32 %d,%s0;",
    )
    plain("applypriority", "and.b64 %pb,%pb,-128; applypriority.global.L2::evict_normal [%pb],128; mov.u32 %d,%s0;")
    plain(
        "bar variants",
        "bar.sync 0; bar.sync 1,128; barrier.sync 2; barrier.sync.aligned 3,128; barrier.cta.sync 4; .reg .pred %r;"
        " setp.lt.s32 %p,%s0,0; bar.red.popc.u32 %d,0,%p; bar.red.and.pred %q,0,!%p; bar.red.or.pred %r,0,128,%p; @%q"
        " add.u32 %d,%d,1000; @%r add.u32 %d,%d,2000;",
    )


def vectors():
    put(
        "vector mov",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .v2 .b32 %v,%w; mov.b64 %v,%s0; mov.v2.b32 %w,%v; mov.b64 %d,{%w.y,%w.x};",
    )
    put(
        "vector load",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .v2 .u32 %v; ld.global.v2.u32 %v,[%pb]; st.global.v2.u32 [%po],%v; ld.global.b64 %d,[%po];",
    )
    put(
        "vector of floats",
        "f32",
        ["f32", "f32"],
        ANY_SINGLE,
        ".reg .v4 .f32 %v; mov.f32 %v.x,%s0; mov.f32 %v.w,%s1; add.rn.f32 %v.y,%v.x,%v.w; mov.f32 %d,%v.g;",
    )
    put(
        "vector range",
        "u32",
        ["u32"],
        ANY_INTEGER,
        ".reg .v2 .u32 %v<3>; mov.u32 %v2.x,%s0; mov.u32 %v0.x,3; add.u32 %d,%v2.x,%v0.x;",
    )
    put("vector constants", "b64", ["b64"], ANY_INTEGER, ".reg .v2 .u32 %v; mov.v2.u32 %v,{1,2}; mov.b64 %d,%v;")
    put(
        "vector of halves",
        "b64",
        ["b64"],
        ANY_INTEGER,
        ".reg .v4 .b16 %v; mov.b64 %v,%s0; mov.b64 %d,{%v.w,%v.z,%v.y,%v.x};",
    )
    put("vector tid", "u32", ["u32"], ANY_INTEGER, ".reg .v4 .u32 %v; mov.v4.u32 %v,%tid; mad.lo.u32 %d,%v.y,100,%v.x;")
    put(
        "vector ntid",
        "u32",
        ["u32"],
        ANY_INTEGER,
        ".reg .u32 %x<4>; mov.v4.u32 {%x0,%x1,%x2,%x3},%ntid; mad.lo.u32 %d,%x1,1000,%x0; mad.lo.u32 %d,%x2,100000,%d;"
        " mad.lo.u32 %d,%x3,1000000,%d;",
    )
    for k, v in enumerate(("1.0", "0f40490fdb", "0d400921fb54442d18", "-2.5", "0.1")):
        for t in ("b32", "b64", "f32", "f64"):
            put(f"initial .{t} = {v}", t, [t], 0, f"ld.global.{t} %d,[gi@];", f".global .{t} gi@ = {v};")
    put(
        "address low",
        "u32",
        ["u32"],
        0,
        ".reg .u64 %x; ld.global.u32 %d,[gp@]; mov.u64 %x,ga@; cvt.u32.u64 %tmp32,%x; sub.u32 %d,%d,%tmp32;",
        ".global .u32 ga@; .global .u32 gp@ = ga@+4;",
    )
    put(
        "address bytes",
        "u32",
        ["u32"],
        0,
        ".reg .u64 %x; ld.global.u8 %d,[gp@+1]; mov.u64 %x,ga@; shr.u64 %x,%x,8; cvt.u32.u64 %tmp32,%x; and.b32"
        " %tmp32,%tmp32,255; sub.u32 %d,%d,%tmp32;",
        ".global .u32 ga@; .global .u8 gp@[3] = {7,0xff00(ga@+256),9};",
    )
    put(
        "address byte in word",
        "u32",
        ["u32"],
        0,
        ".reg .u64 %x; ld.global.u32 %d,[gp@]; mov.u64 %x,ga@; shr.u64 %x,%x,8; cvt.u32.u64 %tmp32,%x; and.b32"
        " %tmp32,%tmp32,255; sub.u32 %d,%d,%tmp32;",
        ".global .u32 ga@; .global .u32 gp@ = 0xff00(ga@);",
    )
    put(
        "braces in part",
        "u64",
        ["u32"],
        0,
        "ld.global.u64 %d,[gi@+8];",
        ".global .align 8 .u32 gi@[2][2] = {{1},{3,4}};",
    )
    put("braces short", "u64", ["u32"], 0, "ld.global.u64 %d,[gi@];", ".global .align 8 .u32 gi@[2][2] = {{1}};")


def bulk():
    """Copies of blocks of memory, and matrices in registers."""
    scratch = (
        ".reg .b32 %idx,%tx,%a,%l; .reg .b64 %ga,%gb; mov.u32 %idx,%ctaid.x; mov.u32 %tx,%tid.x; mad.lo.u32"
        " %idx,%idx,128,%tx; mul.wide.u32 %ga,%idx,16; mov.u64 %gb,gs@; add.u64 %ga,%ga,%gb; .shared .align 16 .b8"
        " sm[2048]; mov.u32 %l,sm; mad.lo.u32 %a,%tx,16,%l; st.global.v2.b64 [%ga],{%A,%C}; st.shared.v2.b64"
        " [%a],{%B,%A}; fence.proxy.async; "
    )
    end = (
        " cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async; .reg .b64 %x,%y; ld.global.v2.b64"
        " {%x,%y},[%ga]; "
    )
    before = ".global .align 16 .b8 gs@[16384];"
    put(
        "bulk store",
        "b64",
        ["b64"],
        ANY_INTEGER,
        scratch + "cp.async.bulk.global.shared::cta.bulk_group [%ga],[%a],16;" + end + "mad.lo.u64 %d,%x,3,%y;",
        before,
    )
    for o, types in (
        ("add", "u32 s32 u64 s64 f32 f64"),
        ("min", "u32 s32 u64 s64 f16 bf16"),
        ("max", "u32 s32 u64 s64 f16 bf16"),
        ("inc", "u32"),
        ("dec", "u32"),
        ("and", "b32 b64"),
        ("or", "b32 b64"),
        ("xor", "b32 b64"),
        ("add.noftz", "f16 bf16"),
    ):
        for t in types.split():
            s = {"f32": ANY_SINGLE, "f64": ANY_DOUBLE, "f16": ANY_HALF, "bf16": ANY_HALF}.get(t, ANY_INTEGER)
            w = {"f16": "f16x2", "bf16": "bf16x2", "f32": "f32", "f64": "f64"}.get(t, "b64")
            get = {
                "f16": "ld.global.b32 %d,[%ga];",
                "bf16": "ld.global.b32 %d,[%ga];",
                "f32": "ld.global.f32 %d,[%ga+8];",
                "f64": "ld.global.f64 %d,[%ga+8];",
            }.get(t, "mad.lo.u64 %d,%x,3,%y;")
            put(
                f"cp.reduce.{o}.{t}",
                w,
                [w],
                s,
                scratch + f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{o}.{t} [%ga],[%a],16;" + end + get,
                before,
            )
    put(
        "bulk load",
        "b64",
        ["b64"],
        ANY_INTEGER,
        scratch
        + ".shared .align 8 .b64 mb; .reg .b32 %m; mov.u32 %m,mb; setp.eq.u32 %q,%tx,0; @%q mbarrier.init.shared.b64"
        " [%m],128; bar.sync 0; fence.proxy.async; mbarrier.arrive.expect_tx.shared.b64 _,[%m],16;"
        " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a],[%ga],16,[%m]; W:"
        " mbarrier.try_wait.parity.shared.b64 %p,[%m],0; @!%p bra W; .reg .b64 %x,%y; ld.shared.v2.b64 {%x,%y},[%a];"
        " mad.lo.u64 %d,%x,3,%y;",
        before,
    )
    for t in ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        w = int(t[1:])
        n = {32: 4, 64: 2}[w]
        for v in (1, n):
            vec = ("{" + ",".join(["%s0", "%s1", "%s0", "%s1"][:v]) + "}") if v > 1 else "%s0"
            rt = t if t[0] == "f" else f"b{w}"
            put(
                f"st.async {v} {t}",
                "b64",
                [rt, rt],
                ANY_INTEGER,
                scratch
                + ".shared .align 8 .b64 mb; .reg .b32 %m; mov.u32 %m,mb; setp.eq.u32 %q,%tx,0; @%q"
                " mbarrier.init.shared.b64 [%m],128; bar.sync 0; fence.proxy.async;"
                f" mbarrier.arrive.expect_tx.shared.b64 _,[%m],{v * w // 8};"
                f" st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{'.v%d' % v if v > 1 else ''}.{t}"
                f" [%a],{vec},[%m]; W: mbarrier.try_wait.parity.shared.b64 %p,[%m],0; @!%p bra W; .reg .b64 %x,%y;"
                " ld.shared.v2.b64 {%x,%y},[%a]; mad.lo.u64 %d,%x,3,%y;",
                before,
            )
    for o, types in (
        ("add", "u32 s32 u64"),
        ("inc", "u32"),
        ("dec", "u32"),
        ("min", "u32 s32"),
        ("max", "u32 s32"),
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
    ):
        for t in types.split():
            w = int(t[1:])
            put(
                f"red.async {o} {t}",
                "b64",
                [f"b{w}"],
                ANY_INTEGER,
                scratch
                + ".shared .align 8 .b64 mb; .reg .b32 %m; mov.u32 %m,mb; setp.eq.u32 %q,%tx,0; @%q"
                " mbarrier.init.shared.b64 [%m],128; bar.sync 0; fence.proxy.async;"
                f" mbarrier.arrive.expect_tx.shared.b64 _,[%m],{w // 8};"
                f" red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{o}.{t} [%a],%s0,[%m]; W:"
                " mbarrier.try_wait.parity.shared.b64 %p,[%m],0; @!%p bra W; .reg .b64 %x,%y; ld.shared.v2.b64"
                " {%x,%y},[%a]; mad.lo.u64 %d,%x,3,%y;",
                before,
            )
    put("movmatrix", "b32", ["b32"], ANY_INTEGER, "movmatrix.sync.aligned.m8n8.trans.b16 %d,%s0;")
    for trans in ("", ".trans"):
        for n in (1, 2, 4):
            regs = "{" + ",".join(f"%x{k}" for k in range(n)) + "}"
            total = " ".join(f"mad.lo.u32 %d,%d,31,%x{k};" for k in range(n))
            put(
                f"ldmatrix.x{n}{trans}",
                "b32",
                ["b32"],
                ANY_INTEGER,
                scratch
                + f"bar.sync 0; .reg .b32 %x<4>; ldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 {regs},[%a]; mov.u32"
                f" %d,0; {total}",
                before,
            )
            put(
                f"stmatrix.x{n}{trans}",
                "b64",
                ["b64"],
                ANY_INTEGER,
                scratch
                + "bar.sync 0; .reg .b32 %x<4>; mov.b64 {%x0,%x1},%A; mov.b64 {%x2,%x3},%B;"
                f" stmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 [%a],{regs}; bar.sync 0; .reg .b64 %x,%y;"
                " ld.shared.v2.b64 {%x,%y},[%a]; mad.lo.u64 %d,%x,3,%y;",
                before,
            )
    put(
        "mapa generic",
        "b64",
        ["b64"],
        0,
        ".shared .align 8 .b64 sv[128]; .reg .b64 %m,%n; mov.u64 %m,sv; cvta.shared.u64 %m,%m; mapa.u64 %n,%m,0; ld.u64"
        " %n,[%n]; st.shared.u64 [sv],5; mapa.u64 %n,%m,0; bar.sync 0; ld.u64 %d,[%n];",
    )
    put(
        "getctarank generic",
        "b32",
        ["b64"],
        0,
        ".shared .align 8 .b64 sv[128]; .reg .b64 %m; mov.u64 %m,sv; cvta.shared.u64 %m,%m; getctarank.u64 %d,%m;",
    )
    put("griddepcontrol", "b32", ["b32"], 0, "griddepcontrol.wait; griddepcontrol.launch_dependents; mov.b32 %d,%s0;")
    put(
        "barrier.cluster",
        "b32",
        ["b32"],
        0,
        "barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.arrive.relaxed.aligned;"
        " barrier.cluster.wait.acquire.aligned; mov.b32 %d,%s0;",
    )
