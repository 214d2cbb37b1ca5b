/* Graph management: a picture of a graph for graphviz. What is written, and how,
 * is what an H200's driver writes. */
#include "api/array.h"
#include "api/graph_api.h"
#include "context/context.h"
#include "graph/conditional.h"
#include "mempool/mempool.h"
#include "module/module.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct dot {
    FILE *f;
    unsigned flags;
};

#define SHOWS(d, what) (((d)->flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_##what)) != 0)

__attribute__((format(printf, 2, 3))) static void say(const struct dot *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(d->f, format, args);
    va_end(args);
}

static void address(const struct dot *d, const char *before, uint64_t a, const char *after)
{
    say(d, "%s0x%016llX%s", before, (unsigned long long)a, after);
}

static void name(const struct dot *d, const struct node *n)
{
    say(d, "\"graph_%llu_node_%u\"", (unsigned long long)n->graph->number, n->number);
}

static void number(const struct dot *d, const struct node *n)
{
    say(d, "%u", n->number);
    if (SHOWS(d, EXTRA_TOPO_INFO)) say(d, " (topoId: %u)", n->missing);
}

/* The first field of a record, and the second if handles are shown; `fields` are the names of the others. */
static void record(const struct dot *d, const struct node *n, const char *fields)
{
    const bool handle = SHOWS(d, HANDLES);
    say(d, "| {{ID%s%s} | {", handle ? " | node handle" : "", fields);
    number(d, n);
    if (handle) address(d, " | ", (uint64_t)n, "");
}

static void handle_line(const struct dot *d, const struct node *n)
{
    if (SHOWS(d, HANDLES)) address(d, "node handle: ", (uint64_t)n, "\n");
}

/* ---- kernels */

static void dimensions(const struct dot *d, unsigned x, unsigned y, unsigned z)
{
    if (y == 1 && z == 1)
        say(d, "%u", x);
    else
        say(d, "\\{%u,%u,%u\\}", x, y, z);
}

static void configuration(const struct dot *d, const CUDA_KERNEL_NODE_PARAMS_v3 *p)
{
    say(d, "\\<\\<\\<");
    dimensions(d, p->gridDimX, p->gridDimY, p->gridDimZ);
    say(d, ",");
    dimensions(d, p->blockDimX, p->blockDimY, p->blockDimZ);
    say(d, ",%u\\>\\>\\>", p->sharedMemBytes);
}

static char property(CUaccessProperty p) { return p == CU_ACCESS_PROPERTY_STREAMING ? 'S' : p ? 'P' : 'N'; }

static void attributes(const struct dot *d, const struct node *n)
{
    CUaccessPolicyWindow w = { 0 };
    int cooperative = 0, priority = 0;
    for (unsigned k = 0; k < n->attributes; k++) {
        const CUlaunchAttribute *a = &n->attribute[k];
        if (a->id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) w = a->value.accessPolicyWindow;
        if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) cooperative = a->value.cooperative;
        if (a->id == CU_LAUNCH_ATTRIBUTE_PRIORITY) priority = a->value.priority;
    }
    address(d, "| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | hitProp | missProp} | {", (uint64_t)w.base_ptr, "");
    say(d, " | %zu | %f | %c | %c}}\n", w.num_bytes, (double)w.hitRatio, property(w.hitProp), property(w.missProp));
    say(d, "| {cooperative | %d}\n| {priority | %d}\n}\"];\n", cooperative, priority);
}

static const char *kernel_name(const CUDA_KERNEL_NODE_PARAMS_v3 *p, struct function **f)
{
    struct context *c;
    *f = NULL;
    if (context_check(p->ctx, &c) || function_get(c, p->func, f)) return "?";
    return (*f)->name;
}

static void kernel(const struct dot *d, const struct node *n)
{
    const CUDA_KERNEL_NODE_PARAMS_v3 *p = &n->params.kernel;
    const uint64_t handle = p->kern ? (uint64_t)p->kern : (uint64_t)p->func;
    const bool whole = SHOWS(d, KERNEL_NODE_ATTRIBUTES), config = SHOWS(d, KERNEL_NODE_PARAMS);
    struct function *f;
    const char *called = kernel_name(p, &f);
    say(d, whole ? "[style=\"bold\" shape=\"record\" label=\"{KERNEL\n| {ID | " : "[style=\"bold\" shape=\"octagon\" label=\"");
    number(d, n);
    say(d, whole ? " | %s" : "\n%s\n", called);
    if (f) function_end(f, CUDA_SUCCESS);
    if (!whole) {
        handle_line(d, n);
        if (SHOWS(d, HANDLES)) address(d, "func handle: ", handle, "\n");
    }
    if (config) configuration(d, p);
    say(d, whole ? "}\n" : "\"];\n");
    if (!whole) return;
    if (SHOWS(d, HANDLES)) {
        address(d, "| {{node handle | func handle} | {", (uint64_t)n, " | ");
        address(d, "", handle, "}}\n");
    }
    attributes(d, n);
}

/* ---- copies and fills */

struct side {                      /* of a copy */
    CUmemorytype type;
    uint64_t array, host, device;
    size_t x, y, z, pitch, height, lod;
};

static void sides(const CUDA_MEMCPY3D *c, struct side *src, struct side *dst)
{
    *src = (struct side){ c->srcMemoryType, (uint64_t)c->srcArray, (uint64_t)c->srcHost, c->srcDevice, c->srcXInBytes,
                          c->srcY, c->srcZ, c->srcPitch, c->srcHeight, c->srcLOD };
    *dst = (struct side){ c->dstMemoryType, (uint64_t)c->dstArray, (uint64_t)c->dstHost, c->dstDevice, c->dstXInBytes,
                          c->dstY, c->dstZ, c->dstPitch, c->dstHeight, c->dstLOD };
    if (src->type != CU_MEMORYTYPE_ARRAY) src->array = 0;
    if (dst->type != CU_MEMORYTYPE_ARRAY) dst->array = 0;
    if (src->type != CU_MEMORYTYPE_HOST) src->host = 0;
    if (dst->type != CU_MEMORYTYPE_HOST) dst->host = 0;
    if (src->type != CU_MEMORYTYPE_DEVICE && src->type != CU_MEMORYTYPE_UNIFIED) src->device = 0;
    if (dst->type != CU_MEMORYTYPE_DEVICE && dst->type != CU_MEMORYTYPE_UNIFIED) dst->device = 0;
}

static char letter(CUmemorytype t) { return "?HDAU"[t <= CU_MEMORYTYPE_UNIFIED ? t : 0]; }

static const char *type_of(CUmemorytype t)
{
    static const char *const names[] = { "?", "HOST", "DEVICE", "ARRAY", "UNIFIED" };
    return names[t <= CU_MEMORYTYPE_UNIFIED ? t : 0];
}

/* What the memory is, whatever the copy calls it. */
static const char *place_of(const struct side *s)
{
    struct allocation a;
    if (s->type == CU_MEMORYTYPE_ARRAY) return "DEVICE";
    if (!mempool_look_any(s->host | s->device, 1, &a)) return "HOST PAGEABLE";
    if (a.kind == ALLOCATION_MANAGED) return "MANAGED";
    return a.kind == ALLOCATION_HOST || a.kind == ALLOCATION_REGISTERED || !a.device ? "HOST PINNED" : "DEVICE";
}

static void side(const struct dot *d, const struct side *s)
{
    say(d, "%s (%s)", type_of(s->type), place_of(s));
    address(d, " | ", s->array, "");
    address(d, " | ", s->host, "");
    address(d, " | ", s->device, "");
    say(d, " | %zu | %zu | %zu | %zu | %zu | %zu", s->x, s->y, s->z, s->pitch, s->height, s->lod);
}

/* As the driver's API describes copies. */
static void copy_record(const struct dot *d, const struct node *n)
{
    static const char fields[] = " MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD";
    const CUDA_MEMCPY3D *c = &n->params.memcpy.copyParams;
    struct side src, dst;
    sides(c, &src, &dst);
    record(d, n, "");
    say(d, "}}\n| {{src | dst} | {%s |%s} | {", fields, fields);
    side(d, &src);
    say(d, " | ");
    side(d, &dst);
    say(d, "}}\n| {Extent | {WidthInBytes | Height | Depth} | {%zu | %zu | %zu}}\n", c->WidthInBytes, c->Height, c->Depth);
}

static void pitched(const struct dot *d, const struct side *s)
{
    say(d, "%zu", s->pitch);
    address(d, " | ", s->host | s->device, "");
    say(d, " | 0 | %zu", s->height);
}

/* One side alone, since the other is an array, or both are. */
static void lone(const struct dot *d, const char *which, const struct side *s)
{
    if (s->array) {
        say(d, "| {%sArray", which);
        address(d, " | ", s->array, "}\n");
        return;
    }
    say(d, "| {%sPtr | {pitch | ptr | xsize | ysize} | {", which);
    pitched(d, s);
    say(d, "}}\n");
}

static const char *direction(const struct side *src, const struct side *dst)
{
    static const char *const kinds[2][2] = { { "HtoH", "HtoD" }, { "DtoH", "DtoD" } };
    if (src->type == CU_MEMORYTYPE_UNIFIED || dst->type == CU_MEMORYTYPE_UNIFIED) return "default";
    return kinds[src->type != CU_MEMORYTYPE_HOST][dst->type != CU_MEMORYTYPE_HOST];
}

/* Bytes of a row, in elements where an array takes part. */
static size_t in_elements(size_t bytes, const struct side *src, const struct side *dst)
{
    struct array *a;
    const uint64_t array = src->array ? src->array : dst->array;
    if (!array || array_get((CUarray)array, &a)) return bytes;
    bytes /= a->element;
    array_end(a, CUDA_SUCCESS);
    return bytes;
}

/* As the runtime's API does. */
static void copy_runtime(const struct dot *d, const struct node *n)
{
    static const char fields[] = "pitch | ptr | xsize | ysize";
    const CUDA_MEMCPY3D *c = &n->params.memcpy.copyParams;
    struct side src, dst;
    sides(c, &src, &dst);
    record(d, n, "");
    say(d, "}}\n| {kind | %s (%s to %s)}\n", direction(&src, &dst), place_of(&src), place_of(&dst));
    if (src.array || dst.array) {
        lone(d, "src", &src);
        lone(d, "dst", &dst);
    } else {
        say(d, "| {{srcPtr | dstPtr} | {%s | %s} | {", fields, fields);
        pitched(d, &src);
        say(d, " | ");
        pitched(d, &dst);
        say(d, "}}\n");
    }
    say(d, "| {{srcPos | {{x | %zu} | {y | %zu} | {z | %zu}}} | {dstPos | {{x | %zu} | {y | %zu} | {z | %zu}}} | ", src.x,
        src.y, src.z, dst.x, dst.y, dst.z);
    say(d, "{Extent | {{Width | %zu} | {Height | %zu} | {Depth | %zu}}}}\n", in_elements(c->WidthInBytes, &src, &dst), c->Height,
        c->Depth);
}

static void copy(const struct dot *d, const struct node *n)
{
    const CUDA_MEMCPY3D *c = &n->params.memcpy.copyParams;
    if (SHOWS(d, MEMCPY_NODE_PARAMS)) {
        say(d, "[style=\"solid\" shape=\"record\" label=\"{\nMEMCPY\n");
        if (d->flags & CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES)
            copy_runtime(d, n);
        else
            copy_record(d, n);
        say(d, "}\"];\n");
        return;
    }
    say(d, "[style=\"solid\" shape=\"trapezium\"label=\"");
    number(d, n);
    say(d, "\nMEMCPY\n");
    handle_line(d, n);
    say(d, "(%cto%c,%zu)\n\"];\n", letter(c->srcMemoryType), letter(c->dstMemoryType), c->WidthInBytes * c->Height * c->Depth);
}

static void fill(const struct dot *d, const struct node *n)
{
    const CUDA_MEMSET_NODE_PARAMS_v2 *p = &n->params.memset;
    if (SHOWS(d, MEMSET_NODE_PARAMS)) {
        say(d, "[style=\"solid\" style=\"solid\" shape=\"record\" label=\"{MEMSET\n");
        record(d, n, " | dptr | pitch | value | elementSize | width | height");
        address(d, " | ", p->dst, "");
        say(d, " | %zu | %u | %u | %zu | %zu}}}\"];\n", p->pitch, p->value, p->elementSize, p->width, p->height);
        return;
    }
    say(d, "[style=\"solid\" shape=\"invtrapezium\"label=\"");
    number(d, n);
    say(d, "\nMEMSET\n");
    handle_line(d, n);
    say(d, "(%u,%zu)\n\"];\n", p->value, p->elementSize * p->width * p->height);
}

/* ---- memory and words of it */

static void allocation(const struct dot *d, const struct node *n)
{
    const bool begins = n->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    const CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p = &n->params.alloc;
    say(d, "[style=\"solid\" shape=\"record\" label=\"{\n%s\n", begins ? "MEM_ALLOC" : "MEM_FREE");
    record(d, n, "");
    say(d, "}}\n");
    if (begins) {
        say(d, "| {{{poolProps | {allocType | handleTypes | {location | {type | id}}} | {PINNED | NONE | DEVICE | %d}}}}\n",
            p->poolProps.location.id);
        say(d, "| {{bytesize | dptr} | {%zu", p->bytesize);
        address(d, " | ", p->dptr, "}}\n}\"];\n");
    } else {
        address(d, "| {{dptr} | {", n->params.free.dptr, "}}\n}\"];\n");
    }
}

static void word(const struct dot *d, const CUstreamBatchMemOpParams *op)
{
    static const char *const waits[] = { "GEQ", "EQ", "AND", "NOR" };
    const bool wait = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
    const bool wide = op->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || op->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    if (!wait && !wide && op->operation != CU_STREAM_MEM_OP_WRITE_VALUE_32) {
        say(d, "%s", op->operation == CU_STREAM_MEM_OP_BARRIER ? "BARRIER" : "FLUSH_REMOTE_WRITES");
        return;
    }
    say(d, "%s_VALUE_%s", wait ? "WAIT" : "WRITE", wide ? "64" : "32");
    address(d, " | ", op->waitValue.address, "");
    say(d, wide ? " | 0x%016llX" : " | 0x%08llX", (unsigned long long)(wide ? op->waitValue.value64 : op->waitValue.value));
    say(d, " | %s", wait ? waits[op->waitValue.flags & 3] : op->writeValue.flags ? "NO_MEMORY_BARRIER" : "DEFAULT");
}

static void words(const struct dot *d, const struct node *n)
{
    const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p = &n->params.memOp;
    say(d, "[style=\"solid\" shape=\"record\" label=\"{\nBATCH_MEM_OP\n");
    record(d, n, " | count | flags ");
    say(d, " | %u | 0x%08X }}\n| {{", p->count, p->flags);
    for (unsigned k = 0; k < p->count; k++)
        say(d, "%s{paramArray[%u] | {op | addr | val | flags }}", k ? "\n| " : "", k);
    say(d, "}\n| {");
    for (unsigned k = 0; k < p->count; k++) {
        say(d, "%s", k ? "\n| " : "");
        word(d, &p->paramArray[k]);
    }
    say(d, "}}\n}\"];\n");
}

/* ---- other nodes */

static void conditional(const struct dot *d, const struct node *n)
{
    static const char *const types[] = { "IF", "WHILE", "SWITCH" };
    const CUDA_CONDITIONAL_NODE_PARAMS *p = &n->params.conditional;
    say(d, "[style=\"bold\" shape=\"record\" label=\"{\nCONDITIONAL\n| {ID | ");
    number(d, n);
    say(d, "}\n");
    if (SHOWS(d, HANDLES)) address(d, "| {node handle| ", (uint64_t)n, "}\n");
    if (d->flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE) say(d, "| {Conditional Handle|%u}\n", n->condition->number);
    say(d, "| {Conditional Type| %s}\n", types[p->type <= CU_GRAPH_COND_TYPE_SWITCH ? p->type : 0]);
    for (unsigned k = 0; k < n->body_count; k++) {
        const unsigned long long body = n->bodies[k]->number;
        if (p->type == CU_GRAPH_COND_TYPE_SWITCH)
            say(d, "| {%u|  graph_%llu}\n", k, body);
        else if (p->type == CU_GRAPH_COND_TYPE_WHILE)
            say(d, "| {True|graph_%llu}\n", body);
        else
            say(d, k ? "| {False| graph_%llu}\n" : "| {True | graph_%llu}\n", body);
    }
    say(d, "}\n\"];\n");
}

static const char *type_name(CUgraphNodeType t)
{
    static const char *const names[] = {
        "KERNEL",       "MEMCPY",           "MEMSET",         "HOST",      "GRAPH",    "EMPTY",        "EVENT_WAIT",
        "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE", "BATCH_MEM_OP", "CONDITIONAL"
    };
    return (unsigned)t < sizeof names / sizeof *names ? names[t] : "?";
}

static void plain(const struct dot *d, const struct node *n)
{
    const CUgraphNodeParams *p = &n->params;
    say(d, "[style=\"solid\" shape=\"rectangle\" label=\"");
    number(d, n);
    if (n->child)
        say(d, "\ngraph_%llu\n", (unsigned long long)n->child->number);
    else
        say(d, "\n%s\n", type_name(p->type));
    handle_line(d, n);
    if (p->type == CU_GRAPH_NODE_TYPE_HOST && SHOWS(d, HOST_NODE_PARAMS)) {
        address(d, "fn: ", (uint64_t)p->host.fn, "\n");
        address(d, "userData: ", (uint64_t)p->host.userData, "\n");
    }
    if (SHOWS(d, EVENT_NODE_PARAMS)) {
        if (p->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) address(d, "event: ", (uint64_t)p->eventWait.event, "\n");
        if (p->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) address(d, "event: ", (uint64_t)p->eventRecord.event, "\n");
    }
    say(d, "\"];\n");
}

static void node(const struct dot *d, const struct node *n)
{
    const CUgraphNodeType t = n->params.type;
    name(d, n);
    if (t == CU_GRAPH_NODE_TYPE_KERNEL)
        kernel(d, n);
    else if (t == CU_GRAPH_NODE_TYPE_MEMCPY)
        copy(d, n);
    else if (t == CU_GRAPH_NODE_TYPE_MEMSET)
        fill(d, n);
    else if (t == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        conditional(d, n);
    else if ((t == CU_GRAPH_NODE_TYPE_MEM_ALLOC && SHOWS(d, MEM_ALLOC_NODE_PARAMS)) ||
             (t == CU_GRAPH_NODE_TYPE_MEM_FREE && SHOWS(d, MEM_FREE_NODE_PARAMS)))
        allocation(d, n);
    else if (t == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && SHOWS(d, BATCH_MEM_OP_NODE_PARAMS))
        words(d, n);
    else
        plain(d, n);
    say(d, "\n");
}

static void edges(const struct dot *d, const struct node *n)
{
    for (unsigned k = 0; k < n->after.count; k++) {
        const struct node *to = n->after.node[k];
        unsigned place = 0;
        while (to->before.node[place] != n) place++;
        name(d, n);
        say(d, " -> ");
        name(d, to);
        if (SHOWS(d, EXTRA_TOPO_INFO)) say(d, " [headlabel=%u]", place);
        say(d, ";\n");
    }
}

static void number_next(struct node *n, struct node **queue, unsigned *count)
{
    if (n->missing != UINT_MAX) return;
    n->missing = *count;
    queue[(*count)++] = n;
}

/* topoId, in `missing`: first the nodes that nothing comes behind, from the last one on, then what these come behind, and
 * so on (found in what an H200 wrote). */
static CUresult number_nodes(const struct graph *g)
{
    unsigned count = 0;
    struct node **queue = calloc(g->nodes.count + 1, sizeof *queue);
    if (!queue) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned k = 0; k < g->nodes.count; k++) g->nodes.node[k]->missing = UINT_MAX;
    for (unsigned k = g->nodes.count; k--;)
        if (!g->nodes.node[k]->after.count) number_next(g->nodes.node[k], queue, &count);
    for (unsigned k = 0; k < count; k++)
        for (unsigned j = 0; j < queue[k]->before.count; j++) number_next(queue[k]->before.node[j], queue, &count);
    free(queue);
    return CUDA_SUCCESS;
}

/* The graphs inside follow. */
static CUresult cluster(const struct dot *d, const struct graph *g)
{
    const unsigned long long id = g->number;
    CUresult r = number_nodes(g);
    if (r) return r;
    say(d, "subgraph cluster_%llu {\nlabel=\"graph_%llu\" graph[style=\"dashed\"];\n", id, id);
    for (unsigned k = 0; k < g->nodes.count; k++) node(d, g->nodes.node[k]);
    for (unsigned k = 0; k < g->nodes.count; k++) edges(d, g->nodes.node[k]);
    say(d, "}\n");
    for (unsigned k = 0; k < g->nodes.count && !r; k++) {
        const struct node *n = g->nodes.node[k];
        if (n->child) r = cluster(d, n->child);
        for (unsigned j = 0; j < n->body_count && !r; j++) r = cluster(d, n->bodies[j]);
    }
    return r;
}

CUresult CUDAAPI cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
    struct graph *g;
    CUresult r = graph_begin();
    if (r) return r;
    if (!path) return graph_end(CUDA_ERROR_INVALID_VALUE);
    if ((r = graph_get(hGraph, &g))) return graph_end(r);
    FILE *f = fopen(path, "we");
    if (!f) return graph_end(CUDA_ERROR_OPERATING_SYSTEM);
    fprintf(f, "digraph dot {\n");
    r = cluster(&(struct dot){ f, flags }, g);
    fprintf(f, "}\n");
    if (fclose(f) && !r) r = CUDA_ERROR_OPERATING_SYSTEM;
    return graph_end(r);
}
