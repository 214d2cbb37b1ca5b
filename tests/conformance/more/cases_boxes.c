/* Copies of rows and slices between all kinds of memory and arrays, at random, and batches of copies: what each answers,
 * and what it left at its destination. Some are spoilt in one place or in two, which tells the order of the driver's
 * checks. */
#include "places.h"

/* ---- rows and slices */

struct side {
    enum kind k;
    CUmemorytype type;
    size_t x, y, z, pitch, height;
};

static CUmemorytype type_of(enum kind k)
{
    if (is_array(k)) return CU_MEMORYTYPE_ARRAY;
    if (k == PLAIN) return draw(2) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    if (of_host(k)) return (CUmemorytype[]){ CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED }[draw(3)];
    return k == FREED || draw(3) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
}

static struct side any_side(enum kind k, size_t w, size_t h, size_t d, bool deep)
{
    struct side v = { .k = k, .type = type_of(k) };
    if (is_array(k)) {
        size_t e = draw(8) ? at[k].element : 1;
        if (w < at[k].row) v.x = draw(2) * draw((uint32_t)(at[k].row - w) / e + 1) * e;
        if (h < at[k].rows) v.y = draw(2) * draw((uint32_t)(at[k].rows - h + 1));
        if (deep && d < at[k].slices) v.z = draw(2) * draw((uint32_t)(at[k].slices - d + 1));
        if (draw(4) == 0) v.pitch = draw(700);
        if (draw(4) == 0) v.height = draw(30);
        return v;
    }
    v.x = draw(3) ? 0 : draw(40);
    v.y = draw(3) ? 0 : draw(4);
    if (deep) v.z = draw(3) ? 0 : draw(3);
    v.pitch = (size_t[]){ 0, v.x + w, v.x + w + draw(64), 512 }[draw(4)];
    if (deep || draw(8) == 0) v.height = (size_t[]){ 0, v.y + h, v.y + h, v.y + h + draw(3) }[draw(4)];
    return v;
}

/* What may be as large as one likes, because no processor of the host's follows it. */
static bool unbounded(const struct side *v)
{
    return (v->type == CU_MEMORYTYPE_DEVICE && !of_host(v->k)) || is_array(v->k);
}

struct box {
    struct side to, from;
    size_t w, h, d, lod[2];
    void *reserved;
    CUcontext context[2];
    bool null[2];
    CUmemorytype type[2];
};

static const char *spoil(struct box *b)
{
    static const size_t big[] = { 100, 5000, 41213, 1 << 20, 1ul << 31, 1ul << 32, 1ul << 40 };
    unsigned which = draw(2), what = draw(18);
    struct side *v = which ? &b->to : &b->from;
    size_t n = big[draw(7)];
    switch (what) {
    case 0: b->null[which] = true; break;
    case 1: b->type[which] = (CUmemorytype)(draw(2) * 5); break;
    case 2: v->pitch = b->w ? b->w - 1 : 0; break;
    case 3: v->pitch = b->w + v->x ? b->w + v->x - 1 : 0; break;
    case 4: v->height = b->h + v->y ? b->h + v->y - 1 : 0; break;
    case 5: v->height = b->h ? b->h - 1 : 0; break;
    case 6: b->lod[which] = 1; break;
    case 7: b->reserved = (void *)1; break;
    case 8: b->context[which] = NULL; break;
    case 9: b->w = 0; break;
    case 10: b->h = 0; break;
    case 11: b->d = 0; break;
    case 12:
        if (unbounded(v)) v->x = n;
        break;
    case 13:
        if (unbounded(v)) v->y = n;
        break;
    case 14:
        if (unbounded(v)) v->z = n;
        break;
    case 15:
        if (unbounded(v)) v->pitch = n;
        break;
    case 16:
        if (unbounded(v)) v->height = n;
        break;
    default:
        if (unbounded(&b->to) && unbounded(&b->from)) {
            if (draw(3) == 0)
                b->w = n;
            else if (draw(2))
                b->h = n;
            else
                b->d = n;
        }
    }
    return keyf(" !%u%c", what, which ? 't' : 'f');
}

static CUDA_MEMCPY3D filled_in(const struct box *b)
{
    CUDA_MEMCPY3D c = { .WidthInBytes = b->w, .Height = b->h, .Depth = b->d, .srcLOD = b->lod[0], .dstLOD = b->lod[1] };
    const struct side *f = &b->from, *t = &b->to;
    c.srcMemoryType = b->type[0];
    c.dstMemoryType = b->type[1];
    c.srcXInBytes = f->x, c.srcY = f->y, c.srcZ = f->z, c.srcPitch = f->pitch, c.srcHeight = f->height;
    c.dstXInBytes = t->x, c.dstY = t->y, c.dstZ = t->z, c.dstPitch = t->pitch, c.dstHeight = t->height;
    if (!b->null[0]) {
        c.srcArray = at[f->k].array;
        if (f->type == CU_MEMORYTYPE_HOST)
            c.srcHost = (void *)at[f->k].p;
        else
            c.srcDevice = at[f->k].p;
    }
    if (!b->null[1]) {
        c.dstArray = at[t->k].array;
        if (t->type == CU_MEMORYTYPE_HOST)
            c.dstHost = (void *)at[t->k].p;
        else
            c.dstDevice = at[t->k].p;
    }
    c.reserved0 = b->reserved;
    return c;
}

static CUresult copy_2d(int form, const CUDA_MEMCPY3D *c, CUstream q)
{
    CUDA_MEMCPY2D d = { c->srcXInBytes, c->srcY,        c->srcMemoryType, c->srcHost,       c->srcDevice, c->srcArray,
                        c->srcPitch,    c->dstXInBytes, c->dstY,          c->dstMemoryType, c->dstHost,   c->dstDevice,
                        c->dstArray,    c->dstPitch,    c->WidthInBytes,  c->Height };
    return form == 0 ? cuMemcpy2D(&d) : form == 1 ? cuMemcpy2DUnaligned(&d) : cuMemcpy2DAsync(&d, q);
}

static CUresult copy_3d_peer(int form, const CUDA_MEMCPY3D *c, const struct box *b, CUstream q)
{
    CUDA_MEMCPY3D_PEER p;
    memcpy(&p, c, sizeof p);
    p.srcContext = b->context[0];
    p.dstContext = b->context[1];
    return form == 5 ? cuMemcpy3DPeer(&p) : cuMemcpy3DPeerAsync(&p, q);
}

static bool reads_inside(const struct box *b)
{
    const struct side *f = &b->from;
    if (is_array(f->k)) return true;
    size_t pitch = f->pitch ? f->pitch : f->x + b->w, rows = f->height ? f->height : b->h;
    return (f->z + b->d) * rows * pitch + (f->y + b->h) * pitch + f->x + b->w <= WINDOW;
}

static const char *told(const struct side *v, CUmemorytype type)
{
    return keyf("%s/%u %zu,%zu,%zu p%zu h%zu", names[v->k], type, v->x, v->y, v->z, v->pitch, v->height);
}

static void boxes(bool arrays)
{
    static const char *const called[] = { "2d", "2dun", "2dAsync", "3d", "3dAsync", "3dPeer", "3dPeerAsync" };
    int form = (int)draw(7);
    bool deep = form > 2;
    struct box b = { .w = 1 + draw(200), .h = 1 + draw(10), .d = deep ? 1 + draw(4) : 1, .context = { ctx0, ctx0 } };
    enum kind to = any_place(), from = any_place();
    if (arrays) {
        unsigned which = draw(3);
        if (which != 0) to = PLACES + draw(ALL - PLACES);
        if (which != 1) from = PLACES + draw(ALL - PLACES);
        if (draw(8)) {
            if (is_array(to))
                b.w = b.w / at[to].element * at[to].element, b.h = b.h % at[to].rows + 1, b.d = b.d % at[to].slices + 1;
            if (is_array(from))
                b.w = b.w / at[from].element * at[from].element, b.h = b.h % at[from].rows + 1,
                b.d = b.d % at[from].slices + 1;
            if (!b.w) b.w = 16;
        }
    }
    b.to = any_side(to, b.w, b.h, b.d, deep);
    b.from = any_side(from, b.w, b.h, b.d, deep);
    b.type[0] = b.from.type;
    b.type[1] = b.to.type;
    if (to == from && !is_array(to) && draw(4)) b.from.z = 0, b.from.y = 0;
    const char *one = draw(3) == 0 ? spoil(&b) : "", *two = *one && draw(3) == 0 ? spoil(&b) : "";
    CUstream q = any_stream();
    CUDA_MEMCPY3D c = filled_in(&b);
    refill(from, 77);
    refill(to, 0);
    CUresult r = form < 3    ? copy_2d(form, &c, q)
                 : form == 3 ? cuMemcpy3D(&c)
                 : form == 4 ? cuMemcpy3DAsync(&c, q)
                             : copy_3d_peer(form, &c, &b, q);
    answer(keyf("%s q%s %s %s %zux%zux%zu%s%s", called[form], stream_name(q), told(&b.to, b.type[1]),
                told(&b.from, b.type[0]), b.w, b.h, b.d, one, two),
           r, to, r || (to != from && reads_inside(&b)));
}

/* ---- batches */

static CUstream batch_stream(void) { return draw(6) ? s : any_stream(); }

static void batch(void)
{
    enum { MOST = 4 };
    CUdeviceptr to[MOST], from[MOST];
    size_t n[MOST], index[MOST] = { 0 }, count = 1 + draw(MOST), attributes = 1 + draw((uint32_t)count);
    CUmemcpyAttributes how[MOST] = { 0 };
    char told_as[700] = "";
    bool certain = true;
    enum kind last = DEVICE;
    for (size_t i = 0; i < count; i++) {
        enum kind t = any_place(), f = any_place();
        if (t == FREED) t = MAPPED;
        if (f == FREED) f = MANAGED;
        while (f == t) f = (enum kind)draw(FREED);
        n[i] = draw(25) ? 1 + draw(9000) : draw(2) * 50000;
        if ((of_host(t) || of_host(f)) && n[i] > WINDOW) n[i] = 100;
        size_t a = n[i] < WINDOW ? draw((uint32_t)(WINDOW - n[i])) : 0,
               b = n[i] < WINDOW ? draw((uint32_t)(WINDOW - n[i])) : 0;
        if (t == last && i) certain = false;
        to[i] = draw(60) ? at[t].p + a : 0;
        from[i] = draw(60) ? at[f].p + b : 0;
        refill(f, 77);
        refill(t, 0);
        last = t;
        if (count > 1) certain = false;
        sprintf(told_as + strlen(told_as), " %s+%zu%s %s+%zu%s %zu", names[t], a, to[i] ? "" : "=0", names[f], b,
                from[i] ? "" : "=0", n[i]);
    }
    for (size_t k = 0; k < attributes; k++) {
        index[k] = draw(12) ? k : draw(5);
        how[k].srcAccessOrder = (CUmemcpySrcAccessOrder)(draw(12) ? 1 + draw(3) : draw(2) * 4);
        how[k].flags = draw(10) ? draw(2) : 2;
        if (draw(6) == 0) how[k].srcLocHint = loc((int)draw(6), (int)draw(3));
        if (draw(6) == 0) how[k].dstLocHint = loc((int)draw(6), (int)draw(3));
        sprintf(told_as + strlen(told_as), " [%zu o%u f%u %d/%d %d/%d]", index[k], how[k].srcAccessOrder, how[k].flags,
                how[k].srcLocHint.type, how[k].srcLocHint.id, how[k].dstLocHint.type, how[k].dstLocHint.id);
    }
    unsigned spoilt = draw(40);
    if (spoilt == 0) count = 0;
    if (spoilt == 1) attributes = 0;
    if (spoilt == 2) attributes = count + 1;
    CUstream q = batch_stream();
    CUresult r = cuMemcpyBatchAsync(spoilt == 3 ? NULL : to, spoilt == 4 ? NULL : from, spoilt == 5 ? NULL : n, count,
                                    spoilt == 6 ? NULL : how, spoilt == 7 ? NULL : index, attributes, q);
    sprintf(told_as + strlen(told_as), " q%s !%u", stream_name(q), spoilt < 8 ? spoilt : 99);
    answer(told_as, r, last, certain);
}

static CUmemcpy3DOperand operand(enum kind k, char *out, const CUextent3D *e)
{
    CUmemcpy3DOperand o = { 0 };
    if (is_array(k)) {
        o.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
        o.op.array.array = at[k].array;
        if (draw(3) == 0) o.op.array.offset = (CUoffset3D){ draw(10), draw(4) == 0, draw(4) == 0 };
        sprintf(out, " %s%s %zu,%zu,%zu", names[k], o.op.array.array ? "" : "=0", o.op.array.offset.x,
                o.op.array.offset.y, o.op.array.offset.z);
    } else {
        o.type = draw(40) ? CU_MEMCPY_OPERAND_TYPE_POINTER : (CUmemcpy3DOperandType)(draw(2) * 3);
        o.op.ptr.ptr = draw(40) ? at[k].p + draw(2) * draw(64) * 16 : 0;
        o.op.ptr.rowLength = (size_t[]){ 0, e->width, e->width + draw(20), e->width - 1 }[draw(12) ? draw(3) : 3];
        o.op.ptr.layerHeight = (size_t[]){ 0, e->height, e->height + draw(3), e->height - 1 }[draw(12) ? draw(3) : 3];
        if (draw(6) == 0) o.op.ptr.locHint = loc((int)draw(6), (int)draw(3));
        sprintf(out, " %s%s+%zu r%zu l%zu t%d %d/%d", names[k], o.op.ptr.ptr ? "" : "=0",
                (size_t)(o.op.ptr.ptr ? o.op.ptr.ptr - at[k].p : 0), o.op.ptr.rowLength, o.op.ptr.layerHeight, o.type,
                o.op.ptr.locHint.type, o.op.ptr.locHint.id);
    }
    return o;
}

static void batch_boxes(void)
{
    enum { MOST = 3 };
    CUDA_MEMCPY3D_BATCH_OP op[MOST] = { 0 };
    size_t count = 1 + draw(MOST);
    char told_as[700] = "";
    enum kind last = DEVICE;
    for (size_t i = 0; i < count; i++) {
        enum kind t = (enum kind)draw(ALL), f = (enum kind)draw(ALL);
        if (t == FREED) t = MAPPED;
        while (f == t || f == FREED || (is_array(f) && is_array(t) && at[f].element != at[t].element && draw(5)))
            f = (enum kind)draw(ALL);
        op[i].extent = (CUextent3D){ 1 + draw(30), 1 + draw(7), 1 + draw(3) };
        for (int w = 0; w < 2; w++) {
            const struct place *a = &at[w ? t : f];
            if (!is_array(w ? t : f) || draw(6) == 0) continue;
            op[i].extent.height = (op[i].extent.height - 1) % a->rows + 1;
            op[i].extent.depth = (op[i].extent.depth - 1) % a->slices + 1;
        }
        if (draw(40) == 0) op[i].extent.width = 0;
        if (draw(40) == 0) op[i].extent.depth = 0;
        op[i].srcAccessOrder = (CUmemcpySrcAccessOrder)(draw(20) ? 1 + draw(3) : draw(2) * 4);
        op[i].flags = draw(20) ? draw(2) : 2;
        refill(f, 77);
        refill(t, 0);
        op[i].src = operand(f, told_as + strlen(told_as), &op[i].extent);
        op[i].dst = operand(t, told_as + strlen(told_as), &op[i].extent);
        sprintf(told_as + strlen(told_as), " %zux%zux%zu o%u f%u;", op[i].extent.width, op[i].extent.height,
                op[i].extent.depth, op[i].srcAccessOrder, op[i].flags);
        last = t;
    }
    unsigned long long flags = draw(25) == 0;
    CUstream q = batch_stream();
    size_t asked = draw(40) ? count : 0;
    CUresult r = cuMemcpy3DBatchAsync(asked, draw(60) ? op : NULL, flags, q);
    sprintf(told_as + strlen(told_as), " q%s n%zu f%llu", stream_name(q), asked, flags);
    answer(told_as, r, last, count == 1);
}

static void flat_boxes(void) { boxes(false); }
static void array_boxes(void) { boxes(true); }

WALKS(boxes, 1500, flat_boxes)
WALKS(arrays, 1500, array_boxes)
WALKS(batch, 600, batch)
WALKS(batch3d, 600, batch_boxes)

const struct group groups[] = { BOTH(boxes), BOTH(arrays), BOTH(batch), BOTH(batch3d), { 0 } };
