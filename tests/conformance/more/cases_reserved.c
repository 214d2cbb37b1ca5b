/* Reservations of addresses: every combination of alignment, wish, size and flags; and which may be given back. */
#include "short.h"

enum { ROOM = 37 };
static CUdeviceptr room, taken; /* free addresses, aligned to 2^36; a reservation of 16 */
static CUdeviceptr own;         /* the program's own memory */

static void begin(void)
{
    setup();
    MUST(cuMemAddressReserve(&room, 1ul << ROOM, 1ul << (ROOM - 1), 0, 0));
    MUST(cuMemAddressFree(room, 1ul << ROOM));
    taken = 0;
    MUST(cuMemAddressReserve(&taken, 16 * GRAN, 32 * MiB, room + (1ul << 36) + (3ul << 30), 0));
    char *p = mmap(NULL, 8 * GRAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    own = ((CUdeviceptr)p + GRAN - 1) / GRAN * GRAN;
}

static void reserved(size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags)
{
    CUdeviceptr p = 0x5a;
    CUresult r = cuMemAddressReserve(&p, size, alignment, hint, flags);
    add("%s", letter(r));
    if (r) {
        if (p != 0x5a) add("%s", p ? "wrote" : "0");
        return;
    }
    add("%s%s%s", !hint ? "" : p == hint ? "=" : "/", p % GRAN ? "o" : "", alignment && p % alignment ? "!" : "");
    CUresult f = cuMemAddressFree(p, size);
    if (f) add(" free %s", rname(f));
}

static const size_t alignments[] = { 0,         1,         2,         3,         4096,      4097,      65536,
                                     MiB,       GRAN,      GRAN + 1,  3 * MiB,   2 * GRAN,  3 * GRAN,  32 * MiB,
                                     1ul << 29, 1ul << 30, 1ul << 33, 1ul << 36, 1ul << 40, 1ul << 44, 1ul << 47,
                                     1ul << 48, 1ul << 60, 1ul << 63, -1ul };

struct wish {
    const char *name;
    CUdeviceptr at;
};

static void g_wishes(void)
{
    begin();
    const struct wish wishes[] = { { "none", 0 },
                                   { "1", 1 },
                                   { "4096", 4096 },
                                   { "64K", 65536 },
                                   { "2M", GRAN },
                                   { "3M", 3 * MiB },
                                   { "free", room },
                                   { "free+1", room + 1 },
                                   { "free+4K", room + 4096 },
                                   { "free+64K", room + 65536 },
                                   { "free+1M", room + MiB },
                                   { "free+2M", room + GRAN },
                                   { "free+4M", room + 2 * GRAN },
                                   { "free+32M", room + 32 * MiB },
                                   { "free+34M", room + 34 * MiB },
                                   { "free+1G", room + (1ul << 30) },
                                   { "free+8G", room + (1ul << 33) },
                                   { "free+8G+2M", room + (1ul << 33) + GRAN },
                                   { "taken", taken },
                                   { "taken+2M", taken + GRAN },
                                   { "taken+1", taken + 1 },
                                   { "before taken", taken - GRAN },
                                   { "own+4K", own + 4096 },
                                   { "2^44+2^40", (1ul << 44) + (1ul << 40) },
                                   { "2^44+2^40+2M", (1ul << 44) + (1ul << 40) + GRAN },
                                   { "2^45+2^40", (1ul << 45) + (1ul << 40) },
                                   { "2^46", 1ul << 46 },
                                   { "2^47-2M", (1ul << 47) - GRAN },
                                   { "2^47-4M", (1ul << 47) - 2 * GRAN },
                                   { "2^47", 1ul << 47 },
                                   { "2^47+2M", (1ul << 47) + GRAN },
                                   { "2^48", 1ul << 48 },
                                   { "2^48+2M", (1ul << 48) + GRAN },
                                   { "2^49", 1ul << 49 },
                                   { "2^56", 1ul << 56 },
                                   { "2^57", 1ul << 57 },
                                   { "2^63", 1ul << 63 },
                                   { "-4M", -2 * GRAN },
                                   { "-2M", -GRAN },
                                   { "-1", -1ul } };
    static const size_t sizes[] = { GRAN, 2 * GRAN, 32 * MiB };
    for (unsigned w = 0; w < COUNT(wishes); w++)
        for (unsigned s = 0; s < COUNT(sizes); s++) {
            for (unsigned a = 0; a < COUNT(alignments); a++) {
                if (a) add(" ");
                reserved(sizes[s], alignments[a], wishes[w].at, 0);
            }
            say_as(keyf("%s.%zx", wishes[w].name, sizes[s]));
        }
}

static void g_sizes(void)
{
    static const size_t sizes[] = { 0,         1,           4096,         MiB,       GRAN - 4096, GRAN,
                                    GRAN + 1,  GRAN + 4096, GRAN + 65536, 3 * MiB,   3 * GRAN,    1ul << 30,
                                    1ul << 36, 1ul << 40,   1ul << 44,    1ul << 47, 1ul << 48,   1ul << 49,
                                    1ul << 57, 1ul << 63,   -GRAN,        -4096ul,   -1ul };
    begin();
    for (unsigned s = 0; s < COUNT(sizes); s++)
        for (unsigned f = 0; f < 4; f++) {
            for (unsigned a = 0; a < COUNT(alignments); a++) {
                add("%s", a ? " " : "");
                /* where so much fits is another question on every machine */
                if (!f && alignments[a] > 1ul << 44 && sizes[s] > 1ul << 40 && sizes[s] < 1ul << 47) continue;
                reserved(sizes[s], alignments[a], 0, f);
            }
            say_as(keyf("none.%zx.f%u", sizes[s], f));
            for (int k = 0; k < 6; k++) {
                CUdeviceptr hint = (CUdeviceptr[]){ room, room + 4096, taken, 17ul << 40, 1ul << 48, -GRAN }[k];
                reserved(sizes[s], 0, hint, f), add(" "), reserved(sizes[s], 32 * MiB, hint, f), add(" ");
                reserved(sizes[s], 3, hint, f), add(" ");
            }
            say_as(keyf("wished.%zx.f%u", sizes[s], f));
        }
    for (int f = 0; f < 64; f++) reserved(GRAN, 0, 0, 1ull << f), reserved(GRAN, 0, room, 1ull << f);
    say_as("flags");
    add("%s%s%s", letter(cuMemAddressReserve(NULL, GRAN, 0, 0, 0)), letter(cuMemAddressReserve(NULL, 1, 0, 0, 0)),
        letter(cuMemAddressReserve(NULL, 0, 3, 1, 1)));
    say_as("null");
}

static void g_free(void)
{
    CUdeviceptr p, q;
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop = prop_dev(0);
    begin();
    MUST(cuMemCreate(&h, GRAN, &prop, 0));
    for (int m = -1; m < 4; m++) {
        MUST(cuMemAddressReserve(&p, 4 * GRAN, 0, 0, 0));
        if (m >= 0) add("map %s:", letter(cuMemMap(p + (size_t)m * GRAN, GRAN, 0, h, 0)));
        for (int a = -1; a < 5; a++)
            for (int n = 0; n < 6; n++) {
                if (!a && n == 4) continue;
                add("%s", letter(cuMemAddressFree(p + (size_t)a * GRAN, (size_t)n * GRAN)));
            }
        add(" odd %s%s%s", letter(cuMemAddressFree(p, 4 * GRAN - 1)), letter(cuMemAddressFree(p, 4 * GRAN + 4096)),
            letter(cuMemAddressFree(p + 1, 4 * GRAN)));
        add(" whole %s", letter(cuMemAddressFree(p, 4 * GRAN)));
        if (m >= 0) add(" unmap %s", letter(cuMemUnmap(p + (size_t)m * GRAN, GRAN)));
        add(" again %s", letter(cuMemAddressFree(p, 4 * GRAN)));
        add(" twice %s", letter(cuMemAddressFree(p, 4 * GRAN)));
        say_as(keyf("mapped%d", m));
    }
    MUST(cuMemAddressReserve(&p, 2 * GRAN, 0, room, 0));
    MUST(cuMemAddressReserve(&q, 2 * GRAN, 0, room + 2 * GRAN, 0));
    add("%s %s", p == room ? "=" : "/", q == room + 2 * GRAN ? "=" : "/");
    add(" both %s", letter(cuMemAddressFree(p, 4 * GRAN)));
    add(" across %s", letter(cuMemAddressFree(p + GRAN, 2 * GRAN)));
    add(" each %s%s", letter(cuMemAddressFree(p, 2 * GRAN)), letter(cuMemAddressFree(q, 2 * GRAN)));
    say_as("neighbours");
    CUdeviceptr d;
    MUST(cuMemAlloc(&d, GRAN));
    add("%s%s%s%s%s", letter(cuMemAddressFree(d, GRAN)), letter(cuMemAddressFree(own, GRAN)),
        letter(cuMemAddressFree(0, 0)), letter(cuMemAddressFree(0, GRAN)), letter(cuMemAddressFree(1ul << 60, GRAN)));
    say_as("foreign");
}

const struct group groups[] = { { "wishes", g_wishes, 1 }, { "sizes", g_sizes, 1 }, { "free", g_free, 1 }, { 0 } };
