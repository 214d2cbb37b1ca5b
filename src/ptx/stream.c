/* Gives vector stores the choice between the cache and memory; see stream.h.
 * Each becomes a call of a small function that is inlined then: for LLVM's C
 * interface cannot split a block. */
#include "stream.h"
#include "abi.h"
#include "kernel.h"

#include <llvm-c/Core.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A store: the value, where, which lanes (NULL: all), and how many bytes. */
struct store {
    LLVMValueRef value, pointer, lanes;
    unsigned bytes;
};

static bool is_wide(LLVMTypeRef type, unsigned *bytes)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return false;
    unsigned bits;
    LLVMTypeRef element = LLVMGetElementType(type);
    switch (LLVMGetTypeKind(element)) {
    case LLVMIntegerTypeKind: bits = LLVMGetIntTypeWidth(element); break;
    case LLVMHalfTypeKind: bits = 16; break;
    case LLVMFloatTypeKind: bits = 32; break;
    case LLVMDoubleTypeKind: bits = 64; break;
    default: return false;
    }
    *bytes = LLVMGetVectorSize(type) * bits / 8;
    return bits >= 8 && (*bytes == 32 || *bytes == 64);
}

static bool is_vector_store(LLVMValueRef i, struct store *s)
{
    size_t length;
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (op == LLVMStore) {
        *s = (struct store){ LLVMGetOperand(i, 0), LLVMGetOperand(i, 1), NULL, 0 };
        return !LLVMGetVolatile(i) && is_wide(LLVMTypeOf(s->value), &s->bytes);
    }
    LLVMValueRef callee = op == LLVMCall ? LLVMGetCalledValue(i) : NULL;
    if (!callee || !LLVMIsAFunction(callee)) return false;
    const char *name = LLVMGetValueName2(callee, &length), *masked = "llvm.masked.store.";
    if (length < strlen(masked) || strncmp(name, masked, strlen(masked))) return false;
    *s = (struct store){ LLVMGetOperand(i, 0), LLVMGetOperand(i, 1), LLVMGetOperand(i, 3), 0 };
    return is_wide(LLVMTypeOf(s->value), &s->bytes);
}

static void add_attribute(LLVMContextRef c, LLVMValueRef f, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(c, kind, 0));
}

/* void (value, pointer, lanes, keep): past the cache if the address and keep have no
 * bit of a vector's size in common with what keeps it there, and all lanes are stored. */
static void write_body(LLVMContextRef c, LLVMValueRef f, LLVMValueRef original, bool masked, unsigned bytes)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMValueRef value = LLVMGetParam(f, 0), pointer = LLVMGetParam(f, 1), lanes = masked ? LLVMGetParam(f, 2) : NULL,
                 keep = LLVMGetParam(f, masked ? 3 : 2);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(c, f, "entry"),
                      past = LLVMAppendBasicBlockInContext(c, f, "past"),
                      cached = LLVMAppendBasicBlockInContext(c, f, "cached");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderAtEnd(b, entry);
    LLVMValueRef bits = LLVMBuildOr(b, keep, LLVMConstInt(i64, bytes - 1, 0), ""),
                 low = LLVMBuildAnd(b, LLVMBuildPtrToInt(b, pointer, i64, ""), bits, ""),
                 go = LLVMBuildICmp(b, LLVMIntEQ, low, LLVMConstInt(i64, 0, 0), "");
    if (masked) {
        LLVMTypeRef word = LLVMIntTypeInContext(c, LLVMGetVectorSize(LLVMTypeOf(lanes)));
        LLVMValueRef all =
            LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildBitCast(b, lanes, word, ""), LLVMConstAllOnes(word), "");
        go = LLVMBuildAnd(b, go, all, "");
    }
    LLVMBuildCondBr(b, go, past, cached);

    LLVMPositionBuilderAtEnd(b, past);
    LLVMValueRef store = LLVMBuildStore(b, value, pointer);
    LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(c), 1, 0));
    LLVMSetAlignment(store, bytes);
    LLVMSetMetadata(store, LLVMGetMDKindIDInContext(c, "nontemporal", 11),
                    LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, &one, 1)));
    LLVMBuildRetVoid(b);

    LLVMPositionBuilderAtEnd(b, cached);
    if (masked) {
        LLVMValueRef callee = LLVMGetCalledValue(original);
        LLVMBuildCall2(b, LLVMGlobalGetValueType(callee), callee,
                       (LLVMValueRef[]){ value, pointer, LLVMGetOperand(original, 2), lanes }, 4, "");
    } else {
        LLVMSetAlignment(LLVMBuildStore(b, value, pointer), LLVMGetAlignment(original));
    }
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
}

/* The function for stores of this kind: made once for a type and an alignment. */
static LLVMValueRef choice(LLVMModuleRef m, LLVMValueRef original, const struct store *s)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef type = LLVMTypeOf(s->value), i64 = LLVMInt64TypeInContext(c), parameters[4];
    unsigned n = 0, align = s->lanes ? (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(original, 2))
                                     : LLVMGetAlignment(original);
    char name[128], *type_name = LLVMPrintTypeToString(type);
    snprintf(name, sizeof name, "stream.%s.%u%s", type_name, align, s->lanes ? ".masked" : "");
    LLVMDisposeMessage(type_name);
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    if (f) return f;
    parameters[n++] = type;
    parameters[n++] = LLVMTypeOf(s->pointer);
    if (s->lanes) parameters[n++] = LLVMTypeOf(s->lanes);
    parameters[n++] = i64;
    f = LLVMAddFunction(m, name, LLVMFunctionType(LLVMVoidTypeInContext(c), parameters, n, 0));
    LLVMSetLinkage(f, LLVMInternalLinkage);
    add_attribute(c, f, "alwaysinline");
    add_attribute(c, f, "nounwind");
    write_body(c, f, original, s->lanes != NULL, s->bytes);
    return f;
}

static void replace(LLVMModuleRef m, LLVMValueRef function, LLVMValueRef i, const struct store *s)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(c);
    LLVMValueRef f = choice(m, i, s), arguments[4] = { s->value, s->pointer };
    unsigned n = 2;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(b, i);
    LLVMValueRef offset = LLVMConstInt(i64, offsetof(struct fl_block, keep_cached), 0),
                 at = LLVMBuildGEP2(b, LLVMInt8TypeInContext(c), LLVMGetParam(function, 0), &offset, 1, "");
    if (s->lanes) arguments[n++] = s->lanes;
    arguments[n++] = LLVMBuildLoad2(b, i64, at, "keep");
    LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, arguments, n, "");
    LLVMDisposeBuilder(b);
    LLVMInstructionEraseFromParent(i);
}

bool stream_stores(LLVMModuleRef module)
{
    bool any = false;
    const char *name = STREAMS_ATTRIBUTE;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMGetStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, name, (unsigned)strlen(name))) continue;
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
                struct store s;
                next = LLVMGetNextInstruction(i);
                if (!is_vector_store(i, &s)) continue;
                replace(module, f, i, &s);
                any = true;
            }
    }
    return any;
}
