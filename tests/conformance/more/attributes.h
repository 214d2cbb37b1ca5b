/* For cases_hosts.c, cases_kinds.c and cases_ipc.c: what a pointer's attributes say, in words that stay the same. */
#ifndef ATTRIBUTES_H
#define ATTRIBUTES_H
#include "say.h"

/* ---- where an address is */

enum { PLACES = 64 };
static struct place {
    CUdeviceptr p;
    size_t size;
    char name[16];
} places[PLACES];
static int known;

static void place(const char *name, CUdeviceptr p, size_t size)
{
    places[known].p = p;
    places[known].size = size;
    snprintf(places[known++].name, sizeof places->name, "%s", name);
}

static const char *where(CUdeviceptr p)
{
    for (int i = 0; i < known; i++)
        if (places[i].p && p >= places[i].p && p < places[i].p + places[i].size)
            return keyf("%s+%lu", places[i].name, (unsigned long)(p - places[i].p));
    return p ? "elsewhere" : "0";
}

/* ---- attributes */

static size_t written(const unsigned char *v, size_t n)
{
    while (n && v[n - 1] == 0x5a) n--;
    return n;
}

/* What can be compared between runs. */
static void tell_attribute(int a, const void *v, CUdeviceptr p)
{
    uint64_t u;
    CUcontext c;
    memcpy(&u, v, 8);
    memcpy(&c, v, 8);
    size_t n = written(v, 64);
    if (!n) {
        add(" -");
        return;
    }
    switch (a) {
    case 1: add(" %s", c == ctx0 ? "ctx0" : c ? "other" : "none"); break;
    case 3:
    case 4:
    case 11: add(" %s%s", u == p ? "same " : "", where(u)); break;
    case 19: /* where the driver happened to put it */ add(" %s", u == p ? "same" : u < p ? "before" : "behind"); break;
    case 5: break;
    case 7:
    case 17:
    case 20: add(" %s", u ? "some" : "0"); break;
    default: add(" %llx", (unsigned long long)(n > 4 ? u : u & 0xffffffff));
    }
}

enum { MOST_ATTRIBUTES = 25 };

static void all_attributes(CUdeviceptr p)
{
    unsigned type = 0;
    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    for (int a = 1; a < MOST_ATTRIBUTES; a++) {
        unsigned char v[64];
        if (a == CU_POINTER_ATTRIBUTE_P2P_TOKENS && type == CU_MEMORYTYPE_HOST)
            continue; /* forgets that it is portable */
        memset(v, 0x5a, sizeof v);
        CUresult r = cuPointerGetAttribute(v, (CUpointer_attribute)a, p);
        add(" a%d=%s", a, r == CUDA_SUCCESS ? "" : r == CUDA_ERROR_INVALID_VALUE ? "INV" : rname(r));
        if (!r)
            tell_attribute(a, v, p);
        else if (written(v, 64))
            add(" wrote");
    }
}

static void some_attributes(CUdeviceptr p)
{
    unsigned char v[6][64];
    void *to[6];
    CUpointer_attribute a[6];
    unsigned n = 1 + draw(6);
    memset(v, 0x5a, sizeof v);
    for (unsigned k = 0; k < n; k++) {
        do a[k] = (CUpointer_attribute)(draw(40) ? 1 + draw(21) : draw(2) * 24);
        while (a[k] == 5);
        to[k] = draw(80) ? v[k] : NULL;
    }
    CUresult r = cuPointerGetAttributes(n, a, to, p);
    add(" %s", rname(r));
    for (unsigned k = 0; k < n; k++) {
        add(" a%d%s", a[k], to[k] ? "" : "n");
        tell_attribute(a[k], v[k], p);
    }
}

#endif
