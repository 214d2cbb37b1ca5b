/* Ordinary stores to multicast addresses, which PTX leaves undefined and GPUs
 * broadcast. The address is mapped nowhere, so the store faults; it is then
 * executed alone, with its address register moved to a place of this thread's
 * own, once over zeros and once over ones: the bytes that come out equal are
 * what it stores, and go to every member. Anything but a plain store (loads,
 * atomics, scatters) stays the fault that it is. */
#include "device/device.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

enum { PLACE = 4096, WIDEST = 64, TRAP_FLAG = 0x100 };

static _Thread_local struct {
    bool active, second;
    greg_t before[NGREG];
    uint64_t address; /* that faulted; it is shown at middle */
    char first[2 * WIDEST];
} step;
static _Thread_local _Alignas(PLACE) char place[3 * PLACE];

/* ---- which register the address of a store comes from */

struct operand {
    int reg;   /* index in gregs, or -1: this is no store that can be moved */
    int scale; /* the address moves by this much if the register does by one */
};

struct prefixes {
    bool vex, evex, rex, rep_ne, rep;
    unsigned r, x, b, map;
};

static const unsigned char *read_prefixes(const unsigned char *p, struct prefixes *o)
{
    unsigned rex = 0;
    for (;; p++) {
        if (*p == 0xf2)
            o->rep_ne = true;
        else if (*p == 0xf3)
            o->rep = true;
        else if (*p != 0x66)
            break;
    }
    o->vex = *p == 0xc4 || *p == 0xc5;
    o->evex = *p == 0x62;
    if (*p == 0xc5) {
        o->r = !(p[1] >> 7);
        o->rep = (p[1] & 3) == 2;
        o->map = 1;
        return p + 2;
    }
    if (o->vex || o->evex) {
        o->r = !(p[1] >> 7);
        o->x = !(p[1] >> 6 & 1);
        o->b = !(p[1] >> 5 & 1);
        o->map = p[1] & (o->vex ? 31 : 7);
        o->rep = (p[2] & 3) == 2;
        return p + (o->vex ? 3 : 4);
    }
    if ((o->rex = (*p & 0xf0) == 0x40)) rex = *p++;
    o->r = rex >> 2 & 1;
    o->x = rex >> 1 & 1;
    o->b = rex & 1;
    if (*p != 0x0f) return p;
    o->map = p[1] == 0x38 ? 2 : p[1] == 0x3a ? 3 : 1;
    return p + (o->map == 1 ? 1 : 2);
}

/* Whether the instruction only stores: moves of general and vector registers, whole, masked, narrowed or in part. The
 * opcode maps are those of Intel's manual, volume 2, appendix A. */
static bool stores(const struct prefixes *o, unsigned opcode)
{
    /* movups, movlps, movhps, movaps, movntps, movdqa, movnti, movq, movntdq */
    static const unsigned char moves[] = { 0x11, 0x13, 0x17, 0x29, 0x2b, 0x7f, 0xc3, 0xd6, 0xe7 };
    /* pextrb, pextrw, pextrd, extractps, vextractf128, vextractf32x8, vcvtps2ph, vextracti128, vextracti32x8 */
    static const unsigned char parts[] = { 0x14, 0x15, 0x16, 0x17, 0x19, 0x1b, 0x1d, 0x39, 0x3b };
    switch (o->map) {
    case 0: /* mov */
        return !o->rep && !o->rep_ne && (opcode == 0x88 || opcode == 0x89 || opcode == 0xc6 || opcode == 0xc7);
    case 1: /* 7e: movd */ return (opcode == 0x7e && !o->rep) || memchr(moves, (int)opcode, sizeof moves);
    case 2: /* vmaskmovps, vmaskmovpd, vpmaskmov; vpmov*, which narrow */
        return (o->vex && (opcode == 0x2e || opcode == 0x2f || opcode == 0x8e)) ||
               (o->evex && o->rep && opcode >= 0x10 && opcode <= 0x35 && (opcode & 15) <= 5);
    case 3: return memchr(parts, (int)opcode, sizeof parts);
    default: return false;
    }
}

static struct operand address_register(const unsigned char *p)
{
    static const int gregs[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
    const struct operand none = { -1, 0 };
    struct prefixes o = { 0 };
    p = read_prefixes(p, &o);
    unsigned opcode = *p, mode = p[1] >> 6, low = p[1] & 7, data = (p[1] >> 3 & 7) | o.r << 3;
    if (opcode == 0x88 && !o.map && !o.rex && data > 3) data -= 4; /* ah, ch, dh, bh */
    bool from_general = o.map == 0 ? opcode < 0x90 : o.map == 1 && opcode == 0xc3;
    if (!stores(&o, opcode) || mode == 3 || (low == 5 && !mode)) return none;
    unsigned base = low | o.b << 3, index = 4, scale = 1;
    if (low == 4) {
        base = (p[2] & 7) | o.b << 3;
        index = (p[2] >> 3 & 7) | o.x << 3;
        scale = 1u << (p[2] >> 6);
        if ((p[2] & 7) == 5 && !mode) {
            if (index == 4 || (from_general && index == data)) return none;
            return (struct operand){ gregs[index], (int)scale };
        }
    }
    if (base == index || (from_general && base == data)) return none;
    return (struct operand){ gregs[base], 1 };
}

/* ---- executing it alone */

/* Where the faulting address is shown: in the middle, as far from a page's start as it is. */
static char *middle(void) { return place + PLACE + step.address % PLACE; }

static void go(ucontext_t *u, int pattern)
{
    const struct operand o = address_register((const unsigned char *)step.before[REG_RIP]);
    memset(middle() - WIDEST, pattern, 2 * WIDEST);
    memcpy(u->uc_mcontext.gregs, step.before, sizeof step.before);
    u->uc_mcontext.gregs[o.reg] += (greg_t)((uint64_t)middle() - step.address) / o.scale;
    u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

bool multimem_store_fault(void *context, uint64_t address)
{
    ucontext_t *u = context;
    uint64_t at[MULTIMEM_MEMBERS];
    if (!multimem_members(address, 1, true, at)) return false;
    if (address_register((const unsigned char *)u->uc_mcontext.gregs[REG_RIP]).reg < 0) return false;
    memcpy(step.before, u->uc_mcontext.gregs, sizeof step.before);
    step.address = address;
    step.active = true;
    step.second = false;
    go(u, 0);
    return true;
}

/* As large pieces as were stored, so that nobody sees half of a word. */
static void store_run(uint64_t address, const char *bytes, size_t count)
{
    uint64_t at[MULTIMEM_MEMBERS];
    while (count) {
        size_t n = 8;
        while (n > count || address % n) n /= 2;
        uint32_t members = multimem_members(address, (uint32_t)n, true, at);
        if (!members) at[members++] = address; /* what sticks out of the object */
        for (uint32_t m = 0; m < members; m++) switch (n) {
            case 8: __atomic_store_n((uint64_t *)at[m], *(const uint64_t *)bytes, __ATOMIC_RELEASE); break;
            case 4: __atomic_store_n((uint32_t *)at[m], *(const uint32_t *)bytes, __ATOMIC_RELEASE); break;
            case 2: __atomic_store_n((uint16_t *)at[m], *(const uint16_t *)bytes, __ATOMIC_RELEASE); break;
            default: __atomic_store_n((uint8_t *)at[m], *(const uint8_t *)bytes, __ATOMIC_RELEASE);
            }
        address += n;
        bytes += n;
        count -= n;
    }
}

static void broadcast(void)
{
    char *low = middle() - WIDEST;
    for (size_t k = 0, n; k < 2 * WIDEST; k += n) {
        for (n = 0; k + n < 2 * WIDEST && low[k + n] == step.first[k + n];) n++;
        if (n)
            store_run(step.address - WIDEST + k, low + k, n);
        else
            n = 1;
    }
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)info;
    if (!step.active) {
        signal(number, SIG_DFL);
        return;
    }
    if (!step.second) {
        step.second = true;
        memcpy(step.first, middle() - WIDEST, sizeof step.first);
        go(u, 0xff);
        return;
    }
    step.active = false;
    greg_t next = u->uc_mcontext.gregs[REG_RIP];
    memcpy(u->uc_mcontext.gregs, step.before, sizeof step.before);
    u->uc_mcontext.gregs[REG_RIP] = next;
    broadcast();
}

void multimem_store_install(void)
{
    struct sigaction a = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    sigaction(SIGTRAP, &a, NULL);
}
