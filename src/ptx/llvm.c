/* Runs LLVM over the emitted IR; see llvm.h. Only the native target is there. */
#include "llvm.h"
#include "arena.h"
#include "object.h"
#include "ptxc.h"
#include "stream.h"
#include "units.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST_THREADS = 16 }; /* each may take some 100 MB */

static char *host_cpu, *host_features;

static void host(const char **cpu, const char **features)
{
    if (!host_cpu) host_cpu = LLVMGetHostCPUName();
    if (!host_features) host_features = LLVMGetHostCPUFeatures();
    *cpu = options.cpu ? options.cpu : host_cpu;
    *features = options.cpu ? "" : host_features;
}

bool llvm_host_has(const char *feature)
{
    const char *cpu, *features;
    host(&cpu, &features);
    if (options.cpu) return true;
    size_t n = strlen(feature);
    for (const char *p = features; (p = strstr(p, feature)); p += n)
        if (p > features && p[-1] == '+' && (p[n] == ',' || !p[n])) return true;
    return false;
}

static void check(LLVMErrorRef error)
{
    if (error) fatal(EXIT_INTERNAL, "LLVM: %s", LLVMGetErrorMessage(error));
}

/* Probes are left alone by all that moves and joins instructions, for they say where each one is. Only their registers
 * need not lie in memory: where kernels are told of they run for long. */
static void settle_probes(LLVMModuleRef module, LLVMTargetMachineRef machine, LLVMPassBuilderOptionsRef passes)
{
    const unsigned alone = LLVMGetEnumAttributeKindForName("optnone", 7),
                   function = (unsigned)LLVMAttributeFunctionIndex;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (LLVMGetEnumAttributeAtIndex(f, function, alone)) LLVMRemoveEnumAttributeAtIndex(f, function, alone);
    check(LLVMRunPasses(module, "function(mem2reg)", machine, passes));
}

static void compile(const struct unit *unit, struct object *object)
{
    const char *cpu, *features;
    char *message = NULL, *triple = LLVMGetDefaultTargetTriple();
    host(&cpu, &features);
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef input = LLVMCreateMemoryBufferWithMemoryRange(unit->ir, unit->size, "ptx", 1), output;
    LLVMModuleRef module;
    if (LLVMParseIRInContext(context, input, &module, &message)) fatal(EXIT_INTERNAL, "LLVM: %s", message);
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) fatal(EXIT_INTERNAL, "LLVM: %s", message);
    LLVMTargetRef target;
    if (LLVMGetTargetFromTriple(triple, &target, &message)) fatal(EXIT_INTERNAL, "LLVM: %s", message);
    LLVMCodeGenOptLevel level = options.level == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
    LLVMTargetMachineRef machine =
        LLVMCreateTargetMachine(target, triple, cpu, features, level, LLVMRelocPIC, LLVMCodeModelSmall);
    LLVMSetTarget(module, triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMPassBuilderOptionsRef passes = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(passes, 1);
    LLVMPassBuilderOptionsSetLoopInterleaving(passes, 1);
    LLVMPassBuilderOptionsSetSLPVectorization(passes, 1);
    const char *pipeline[] = { "default<O0>", "default<O1>", "default<O2>", "default<O3>" };
    check(LLVMRunPasses(module, pipeline[options.level], machine, passes));
    if (stream_stores(module)) check(LLVMRunPasses(module, "always-inline", machine, passes));
    if (options.level > 0) settle_probes(module, machine, passes);
    if (options.dump_optimised) {
        char *ir = LLVMPrintModuleToString(module);
        fputs(ir, stdout);
        LLVMDisposeMessage(ir);
    }
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &message, &output))
        fatal(EXIT_INTERNAL, "LLVM: %s", message);
    *object = (struct object){ (const unsigned char *)LLVMGetBufferStart(output), LLVMGetBufferSize(output) };
}

/* ---- Side by side ---- */

struct work {
    const struct unit *units;
    struct object *objects;
    uint32_t count;
    atomic_uint next;
};

static void *compile_some(void *arg)
{
    struct work *w = arg;
    for (uint32_t k; (k = atomic_fetch_add(&w->next, 1)) < w->count;) compile(&w->units[k], &w->objects[k]);
    return NULL;
}

static uint32_t processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : (uint32_t)CPU_COUNT(&set);
}

void llvm_compile(const struct unit *units, uint32_t count, struct code *code)
{
    struct work w = { .units = units, .objects = arena_alloc(count * sizeof *w.objects), .count = count };
    uint32_t wanted = processors(), helpers = 0;
    pthread_t threads[MOST_THREADS];
    pthread_attr_t attributes;
    if (wanted > count || options.dump_optimised) wanted = options.dump_optimised ? 1 : count;
    if (wanted > MOST_THREADS) wanted = MOST_THREADS;
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    host(&(const char *){ NULL }, &(const char *){ NULL });
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTXC_STACK);
    while (helpers + 1 < wanted && !pthread_create(&threads[helpers], &attributes, compile_some, &w)) helpers++;
    compile_some(&w);
    while (helpers) pthread_join(threads[--helpers], NULL);
    pthread_attr_destroy(&attributes);
    object_link(w.objects, count, code);
}
