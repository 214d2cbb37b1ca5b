/* Single instructions: what PTX does not have is refused, what it has is not. */
#include "ptx/arena.h"
#include "ptx/image.h"
#include "ptx/llvm.h"
#include "ptx/ptxc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct options options = { .level = 2 };
static jmp_buf ended;

bool llvm_host_has(const char *feature) { return feature != NULL; }

void fatal(int status, const char *format, ...)
{
    (void)format;
    longjmp(ended, status);
}

void begin_again(void) { abort(); }

void fatal_at(int status, int line, const char *format, ...)
{
    (void)line, (void)format;
    longjmp(ended, status);
}

/* 0, or the exit status. */
static int outcome(const char *version, const char *target, const char *instruction)
{
    char text[2048];
    snprintf(text, sizeof text,
             ".version %s\n.target %s\n.address_size 64\n.global .align 16 .b8 gv[64];\n.shared .align 16 .b8 sv[64];\n"
             ".entry k(.param .u64 kp)\n{\n.reg .b8 %%b<4>;\n.reg .b16 %%h<4>;\n.reg .b32 %%r<4>;\n.reg .b64 %%d<4>;\n"
             ".reg .f32 %%f<4>;\n.reg .f64 %%g<4>;\n.reg .pred %%p<4>;\n%s\nret;\n}\n",
             version, target, instruction);
    int status = setjmp(ended);
    if (!status) parse(text, strlen(text));
    arena_again();
    return status;
}

static void expect(int status, const char *const *list)
{
    int wrong = 0;
    for (; *list; list++) {
        int was = outcome("9.0", "sm_90", *list);
        if (was == status) continue;
        print_error("%s: %d\n", *list, was);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void modifiers_and_types_belong_together(void **state)
{
    (void)state;
    static const char *const illegal[] = { "cvt.u64.shared.u32 %d0, %r0;",
                                           "mov.b64.b64 %d0, %d1;",
                                           "mul.u16.hi %h0, %h1, %h2;",
                                           "mul.u16 %h0, %h1, %h2;",
                                           "ld.global.add.u8 %r0, [%d0];",
                                           "add.rp.rm.f32 %f0, %f1, %f2;",
                                           "add.sat.cc.s32 %r0, %r1, %r2;",
                                           "cvt.rn.bf16.u8 %h0, %r0;",
                                           "cvt.f32.u32 %f0, %r0;",
                                           "cvt.sat.u32.u16 %r0, %h0;",
                                           "setp.lt.b32 %p0, %r0, %r1;",
                                           "setp.lo.s32 %p0, %r0, %r1;",
                                           "rcp.approx.f64 %g0, %g1;",
                                           "div.f32 %f0, %f1, %f2;",
                                           "mov.f16 %h0, %h1;",
                                           "selp.pred %p0, %p1, %p2, %p3;",
                                           "ld.volatile.ca.u32 %r0, [%d0];",
                                           "ld.relaxed.global.u32 %r0, [%d0];",
                                           "ld.shared.L2::128B.u32 %r0, [%r1];",
                                           "ld.global.v4.u64 {%d0, %d1, %d2, %d3}, [%d0];",
                                           "st.const.u32 [%d0], %r0;",
                                           "atom.global.add.s64 %d0, [%d0], %d1;",
                                           "atom.global.add.f16 %h0, [%d0], %h1;",
                                           "red.acquire.gpu.add.u32 [%d0], %r0;",
                                           "redux.sync.add.b32 %r0, %r1, -1;",
                                           NULL };
    static const char *const legal[] = {
        "add.f32.rn %f0, %f1, %f2;",
        "add.sat.ftz.rn.f32 %f0, %f1, %f2;",
        "mul.hi.u16 %h0, %h1, %h2;",
        "cvt.rzi.ftz.sat.s8.f32 %r0, %f0;",
        "setp.u32.lo %p0|%p1, %r0, %r1;",
        "rcp.approx.ftz.f64 %g0, %g1;",
        "ld.u32.global %r0, [%d0];",
        "ld.volatile.global.L2::64B.u32 %r0, [%d0];",
        "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%f0, %f1, %f2, %f3}, [%d0], %d1;",
        "ld.global.v2.u64 {%d0, %d1}, [%d0];",
        "atom.acq_rel.sys.shared::cta.cas.b64 %d0, [%r0], %d1, %d2;",
        "red.global.add.noftz.v2.bf16x2 [%d0], {%r0, %r1};",
        "bar.red.popc.u32 %r0, 0, 64, !%p0;",
        NULL
    };
    expect(EXIT_INVALID_PTX, illegal);
    expect(0, legal);
}

static void operands_are_of_the_types(void **state)
{
    (void)state;
    static const char *const illegal[] = { "add.u32 %r0, %f1, %r1;",
                                           "add.u32 %r0, %h1, %r1;",
                                           "add.u32 %r0, %r1, 1.0;",
                                           "add.f32 %f0, %f1, 1;",
                                           "add.u32 %r0, %r1;",
                                           "add.u32 %r0, %r1, %tid.x;",
                                           "mov.b32 %r0, 0d3ff0000000000000;",
                                           "mov.u64 %d0, %tid.x;",
                                           "mov.u32 %f0, %r1;",
                                           "cvt.u64.u32 %r0, %r1;",
                                           "cvt.rn.f32.u32 %g0, %r1;",
                                           "ld.global.u32 %f0, [%d0];",
                                           "ld.global.u32 %h0, [%d0];",
                                           "ld.shared.u32 %r0, [gv];",
                                           "ld.u64 %d0, [kp];",
                                           "ld.global.v2.u32 {%r0, %r1, %r2}, [%d0];",
                                           "setp.lt.and.u32 %p0, %r0, %r1;",
                                           "setp.lt.u32 %p0, %r0, %r1, %p1;",
                                           "setp.eq.f16 %p0|%p1, %h0, %h1;",
                                           "lop3.or.b32 %r0, %r1, %r2, %r3, 7, %p1;",
                                           "bfe.u32 %r0, %r1, 256, %r2;",
                                           "bar.sync 16;",
                                           "shl.b64 %d0, %d1, %d2;",
                                           NULL };
    static const char *const legal[] = { "add.f32 %f0, %r1, 0d3ff0000000000000;",
                                         "mov.b32 %f0, 0f3f800000;",
                                         "mov.u32 %r0, %tid.x;",
                                         "mov.u64 %d0, gv;",
                                         "cvt.u8.u32 %d0, %d1;",
                                         "cvt.u64.u32 %d0, %tid.x;",
                                         "ld.global.u8 %d0, [%d0];",
                                         "ld.global.b32 %g0, [%d0];",
                                         "ld.param.u64 %d0, [kp];",
                                         "st.global.f32 [%d0], %d1;",
                                         "lop3.or.b32 _|%p0, %r1, %r2, %r3, 7, !%p1;",
                                         "shl.b64 %d0, %d1, %r2;",
                                         NULL };
    expect(EXIT_INVALID_PTX, illegal);
    expect(0, legal);
}

static void newer_instructions_need_newer_versions_and_targets(void **state)
{
    (void)state;
    static const struct {
        const char *version, *target, *instruction;
    } list[] = { { "8.2", "sm_70", "lop3.or.b32 %r0|%p0, %r1, %r2, %r3, 7, %p1;" },
                 { "7.0", "sm_80", "min.NaN.f32 %f0, %f1, %f2;" },
                 { "7.8", "sm_90", "add.bf16 %h0, %h1, %h2;" },
                 { "6.2", "sm_50", "activemask.b32 %r0;" },
                 { "7.8", "sm_50", "ld.shared::cta.u32 %r0, [%r1];" },
                 { "8.1", "sm_90", "red.global.add.noftz.v2.bf16 [%d0], {%h0, %h1};" } };
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        unsigned major, minor, sm;
        char before[16], earlier[16];
        assert_int_equal(sscanf(list[k].version, "%u.%u", &major, &minor), 2);
        assert_int_equal(sscanf(list[k].target, "sm_%u", &sm), 1);
        snprintf(before, sizeof before, "%u.%u", minor ? major : major - 1, minor ? minor - 1 : 5);
        snprintf(earlier, sizeof earlier, "sm_%u", sm <= 50 ? 50 : sm <= 70 ? 53 : 75);
        assert_int_equal(outcome(list[k].version, list[k].target, list[k].instruction), 0);
        assert_int_equal(outcome(before, list[k].target, list[k].instruction), EXIT_INVALID_PTX);
        if (sm > 50) assert_int_equal(outcome(list[k].version, earlier, list[k].instruction), EXIT_INVALID_PTX);
    }
}

/* "_" is of version 7.1. */
static void a_joined_file_has_the_forms_of_its_own_version(void **state)
{
    (void)state;
    static const char joined[] = "mbarrier.arrive.shared.b64 %d0, [%r0];\nret;\n}\n"
                                 ".pragma \"" FL_PIECE_PRAGMA "\";\n.version 8.0\n.target sm_90\n.address_size 64\n"
                                 ".entry another()\n{\n.reg .b32 %r<4>;\nmbarrier.arrive.shared.b64 _, [%r0];";
    assert_int_equal(outcome("7.0", "sm_80", joined), 0);
}

/* As ptxas has it, and programs that make PTX by hand (XLA) rely on. */
static void a_declaration_of_a_function_needs_no_semicolon(void **state)
{
    (void)state;
    static const char *const declared[] = { ".extern .func f(.param .b32 x)", ".func f", NULL };
    static const char *const undeclared[] = { ".entry f(.param .b32 x)", ".extern .func f() f", NULL };
    char text[256];
    for (int k = 0; declared[k]; k++) {
        snprintf(text, sizeof text, "ret;\n}\n%s\n.entry another()\n{", declared[k]);
        assert_int_equal(outcome("8.0", "sm_90", text), 0);
        snprintf(text, sizeof text, "ret;\n}\n%s\n.entry another()\n{", undeclared[k]);
        assert_int_equal(outcome("8.0", "sm_90", text), EXIT_INVALID_PTX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modifiers_and_types_belong_together),
        cmocka_unit_test(operands_are_of_the_types),
        cmocka_unit_test(newer_instructions_need_newer_versions_and_targets),
        cmocka_unit_test(a_joined_file_has_the_forms_of_its_own_version),
        cmocka_unit_test(a_declaration_of_a_function_needs_no_semicolon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
