/* Which accesses of a kernel of one thread fault together. A batch holds what a
 * GPU sends off until the first fault is known to it, which takes as long as the
 * walk to its page table entry (entries.c). Observed on an H200 (tests/behaviour;
 * strides, offsets and kinds of pages were varied):
 *
 * Loads are waited for, and atomic operations whose result is used. Those of four
 * rounds of a loop are a body; what is left of the loop is a pair and a single one.
 * A body's loads set out together, so a walk that one of them begins is at an end for
 * none of the others. What set out before the first fault was known is one batch, the
 * rest of the body's faults another.
 *
 * Stores and reductions are sent off and forgotten; a kernel's first ones are slower:
 * what is close is known to them when their body ends at the latest, and to what is
 * left of the loop at once. The latter sets out later than another body would, and a
 * single one that follows a pair later still: the first fault may be known by then.
 *
 * Those that faulted are made anew when their batch has been serviced. It is then
 * that their entries come to hand; those of the others have come before. Of these the
 * device tells (mmu_next_accesses) while somebody looks at what memory does, for it makes
 * kernels slow; otherwise faults are all that is seen. */
#include "uvm/internal.h"

enum {
    BODY = 4, /* loads in flight, stores between two looks at the loop's end */
    PAIR = 2, /* where the loop ends */
    AFTER_BODY = 3, AFTER_PAIR = 7, /* as many stores of a body later what is left of the loop sets out */
    HELD_MOST = 64,
    WALKS = 16,
    NOTES = 64, /* taken at a time */
};

/* Accesses until a fault is known. What is FAR is nearer if the window has tables of one kind, farther if nobody has read
 * there or written entries of pages, and nearer in the nearer half of the device's memory. The two loads with which a loop
 * ends set out one later than those of a body. */
enum { ALL = 2 * BODY };
static const unsigned first_stores[DISTANCES] = {
    [AT_HAND] = 1, [CLOSE] = 3, [NEAR] = 8, [NO_TABLE] = 10, 24, 31, 24, 46, 40, [NO_TABLE_LOST] = 32, 48, 52, 52, 52, 52
};
static const unsigned stores[DISTANCES] = { [AT_HAND] = 4, [CLOSE] = 9, [NEAR... DISTANCES - 1] = 52 };
static const unsigned loads[DISTANCES] = { [AT_HAND] = 1, [CLOSE] = 3, [NO_TABLE... DISTANCES - 1] = ALL };
static const unsigned last_pair[DISTANCES] = { [AT_HAND] = 1, [CLOSE] = 1, [NO_TABLE... DISTANCES - 1] = ALL };

struct visit {
    uint64_t va; /* of its page */
    enum access access;
    bool awaited, fault;
    bool close; /* a fault of the kernel's first stores whose entry is CLOSE */
};
static struct lone {
    struct visit held[HELD_MOST]; /* undecided: of a body, or from the first store that faulted on */
    unsigned n, groups;
    unsigned batches;       /* of this kernel */
    uint64_t loads, stores; /* of this kernel */
    uint64_t known;         /* stores: how many there will be when the first fault is known */
    bool close;             /* one of those held is */
    struct walk {
        struct sector sector;
        uint64_t ends;
    } walks[WALKS]; /* that stores have begun; the oldest goes */
    unsigned newest_walk;
    uint64_t first_end;                  /* no walk's is earlier */
    struct visit newest;                 /* that the device has told of */
    bool open;                           /* and of which it is not known whether it faults */
    struct mmu_access_note notes[NOTES]; /* that were taken; those up to `heard` are done with */
    unsigned taken, heard;
} lone[PROCESSORS];

/* Those of accesses that faulted, which are made anew, or of the others. */
static void read_entries(unsigned p, const struct visit *list, unsigned n, bool faulted)
{
    uint64_t read = 0;
    for (unsigned k = 0; k < n; k++) {
        if (list[k].fault != faulted || list[k].va == read) continue;
        read = list[k].va;
        sector_read(p, sector_at(p, read));
    }
}

static CUresult service(struct lone *t, unsigned p, const struct visit *list, unsigned from, unsigned to)
{
    struct faults f;
    f.n = 0;
    for (unsigned k = from; k < to; k++)
        if (list[k].fault) faults_add(&f, list[k].va, list[k].access);
    if (f.n) t->batches++;
    return f.n ? faults_service(&f, p) : CUDA_SUCCESS;
}

/* How many of loads that set out together have done so when the first fault is known. */
static unsigned set_out(unsigned p, const struct visit *list, unsigned n, const unsigned *until)
{
    struct sector walked[BODY];
    unsigned ends[BODY], known = n, faults = 0;
    for (unsigned k = 0; k < n; k++) faults += list[k].fault;
    if (!faults) return n;
    for (unsigned k = 0; k < n && k < known; k++) {
        struct sector s = sector_at(p, list[k].va);
        enum distance d = sector_distance(p, s, false);
        unsigned first = 0;
        while (first < k && !sector_same(walked[first], s)) first++;
        walked[k] = s;
        ends[k] = k + until[d];
        if (first < k && ends[first] < ends[k]) ends[k] = ends[first] > k + 1 ? ends[first] : k + 1;
        if (list[k].fault && ends[k] < known) known = ends[k];
    }
    return known;
}

static CUresult decide_loads(struct lone *t, unsigned p, const struct visit *list, unsigned n, const unsigned *until)
{
    unsigned first = set_out(p, list, n, until);
    read_entries(p, list, n, false);
    CUresult r = service(t, p, list, 0, first);
    if (!r) r = service(t, p, list, first, n);
    read_entries(p, list, n, true);
    return r;
}

/* How many stores there will have been when the walk for this one is at an end, if it is short: a kernel's first are so
 * when their body ends, at the latest; its second store's, if the first was a batch, one later than others. */
static uint64_t close_ends(const struct lone *t)
{
    uint64_t body_ends = (t->stores / BODY + 1) * BODY, ends = t->stores + first_stores[CLOSE];
    if (t->batches) return t->stores + stores[CLOSE] + (t->stores == 1);
    return ends < body_ends ? ends : body_ends;
}

/* How many stores there will have been when the walk for this one is at an end. */
static uint64_t walk_for_store(struct lone *t, struct sector s, enum distance d)
{
    const unsigned *until = t->batches ? stores : first_stores;
    uint64_t ends = t->stores + until[AT_HAND];
    if (d == AT_HAND) return ends;
    for (unsigned k = 0; k < WALKS && s.number; k++)
        if (t->walks[k].sector.number == s.number) return t->walks[k].ends > ends ? t->walks[k].ends : ends;
    ends = d == CLOSE ? close_ends(t) : t->stores + until[d];
    t->walks[t->newest_walk++ % WALKS] = (struct walk){ s, ends };
    if (ends < t->first_end) t->first_end = ends;
    return ends;
}

static void retire_walks(struct lone *t, unsigned p, uint64_t now)
{
    if (now < t->first_end) return;
    t->first_end = UINT64_MAX;
    for (unsigned k = 0; k < WALKS; k++) {
        struct walk *w = &t->walks[(t->newest_walk + k) % WALKS];
        if (w->sector.number && w->ends > now && w->ends < t->first_end) t->first_end = w->ends;
        if (!w->sector.number || w->ends > now) continue;
        sector_read(p, w->sector);
        w->sector.number = 0;
    }
}

/* How many of n stores are one batch. What is left of a loop, a pair and a single one, takes longer than a body: of it,
 * a fault that is close is known before the next store, and the kernel's first while these set out. */
static unsigned together(const struct lone *t, const struct visit *list, unsigned n, bool last)
{
    unsigned left = t->stores % BODY, body = n > left ? n - left : 0;
    uint64_t body_ends = t->stores - left;
    for (unsigned k = body; last && k < n; k++) {
        bool late = left > PAIR && k == n - 1;
        if (k && !t->close && !t->batches && body_ends + (late ? AFTER_PAIR : AFTER_BODY) >= t->known) return k;
        if (list[k].close) return k + 1;
    }
    return n;
}

/* Decides on what is held. A body that is not complete is a loop's end. last: nothing follows. */
static CUresult decide(struct lone *t, unsigned p, bool last)
{
    struct visit list[HELD_MOST];
    unsigned n = t->n;
    memcpy(list, t->held, n * sizeof *list);
    t->n = t->groups = 0;
    if (!n) return CUDA_SUCCESS;
    if (!list[0].awaited) {
        retire_walks(t, p, UINT64_MAX);
        read_entries(p, list, n, false);
        unsigned first = together(t, list, n, last);
        CUresult r = service(t, p, list, 0, first);
        if (!r) r = service(t, p, list, first, n);
        read_entries(p, list, n, true);
        return r;
    }
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0, body; k < n && !r; k += body) {
        body = n - k >= BODY ? BODY : n - k > PAIR ? PAIR : n - k;
        r = decide_loads(t, p, list + k, body, !k && n == PAIR && list[0].access == ACCESS_READ ? last_pair : loads);
    }
    return r;
}

/* Whether what is held has to be decided before this access can be: of what is close, whether the loop has ended was to
 * be seen first (together). */
static bool another_batch(const struct lone *t, bool awaited)
{
    if (!t->n || t->held[0].awaited != awaited) return t->n;
    return awaited ? t->loads % BODY == 0 : t->close && t->stores >= t->known;
}

static CUresult hold(struct lone *t, unsigned p, struct visit a)
{
    const uint64_t group = GROUP_PAGES * PAGE_BYTES;
    if (!a.awaited) {
        if (!t->n) retire_walks(t, p, t->stores);
        struct sector s = sector_at(p, a.va);
        enum distance d = sector_distance(p, s, true);
        uint64_t ends = walk_for_store(t, s, d);
        a.close = a.fault && d == CLOSE && !t->batches;
        t->close = a.close || (t->n && t->close);
        /* that there is no table is not known sooner than what an earlier walk finds */
        const bool overtakes = ends < t->known && d != NO_TABLE && d != NO_TABLE_LOST;
        if (a.fault && (!t->groups || overtakes)) t->known = ends;
        bool walked_for = a.fault || (t->n && d != AT_HAND);
        if (walked_for && (!t->n || a.va / group != t->held[t->n - 1].va / group)) t->groups++;
        t->stores++;
    }
    t->held[t->n++] = a;
    t->loads += a.awaited;
    bool known = t->stores >= t->known && !t->close;
    bool full = a.awaited ? t->loads % BODY == 0 : known || t->groups >= GROUPS_MOST || t->n == HELD_MOST;
    return full ? decide(t, p, false) : CUDA_SUCCESS;
}

/* An access that did not fault. */
static CUresult pass(struct lone *t, unsigned p, struct visit a)
{
    CUresult r = CUDA_SUCCESS;
    /* others may hold some while pages that thrash are waited for */
    while (!r && another_batch(t, a.awaited)) r = decide(t, p, false);
    if (r) return r;
    if (a.awaited || t->n) return hold(t, p, a);
    retire_walks(t, p, t->stores);
    struct sector s = sector_at(p, a.va);
    walk_for_store(t, s, sector_distance(p, s, true));
    t->stores++;
    return CUDA_SUCCESS;
}

static bool next_note(struct lone *t, unsigned p, struct mmu_access_note *note)
{
    if (t->heard == t->taken) {
        t->heard = 0;
        t->taken = mmu_next_accesses(p, t->notes, NOTES);
    }
    if (!t->taken) return false;
    *note = t->notes[t->heard++];
    return true;
}

/* A kernel is over. */
static CUresult finish(struct lone *t, unsigned p)
{
    CUresult r = t->open ? pass(t, p, t->newest) : CUDA_SUCCESS;
    if (!r) r = decide(t, p, true);
    retire_walks(t, p, UINT64_MAX);
    t->open = false;
    t->batches = 0;
    t->loads = t->stores = 0;
    return r;
}

/* What the device has told of; all but the newest have not faulted. */
static CUresult catch_up(struct lone *t, unsigned p)
{
    struct mmu_access_note note;
    struct visit newest = t->newest; /* read where it was just written in parts, it would be waited for */
    bool open = t->open;
    CUresult r = CUDA_SUCCESS;
    while (!r && next_note(t, p, &note)) {
        if (open) r = pass(t, p, newest);
        open = !note.begins;
        newest = (struct visit){ .va = page_down(note.address),
                                 .access = note.atomic  ? ACCESS_ATOMIC_WEAK
                                           : note.write ? ACCESS_WRITE
                                                        : ACCESS_READ,
                                 .awaited = note.awaited };
        t->open = false;
        if (note.begins && !r) r = finish(t, p);
    }
    t->newest = newest;
    t->open = open;
    return r;
}

CUresult lone_fault(unsigned p, uint64_t va, enum access access)
{
    struct lone *t = &lone[p];
    struct visit a = { .va = va, .access = access, .awaited = access == ACCESS_READ, .fault = true };
    CUresult r = catch_up(t, p);
    /* the device's page table does not tell an atomic access from a store */
    if (t->open && t->newest.va == va && t->newest.access == ACCESS_ATOMIC_WEAK) {
        a.awaited = t->newest.awaited;
        if (access == ACCESS_WRITE) a.access = ACCESS_ATOMIC_WEAK;
    }
    /* what comes may be what this access needs: it is tried again */
    if (!r && another_batch(t, a.awaited)) return decide(t, p, false);
    struct block *b = r ? NULL : block_at(va, true);
    if (!b) return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    if (page_prot(b, p, page_of(va)) >= prot_needed(p, access)) return CUDA_SUCCESS;
    t->open = false;
    r = fault_noted(p, va, access);
    return r ? r : hold(t, p, a);
}

/* Whether it is certain that the newest access does not fault. */
static bool newest_passes(const struct lone *t, unsigned p)
{
    struct block *b = t->open ? block_at(t->newest.va, false) : NULL;
    return b && page_prot(b, p, page_of(t->newest.va)) >= prot_needed(p, t->newest.access);
}

CUresult lone_close(unsigned p)
{
    struct lone *t = &lone[p];
    CUresult r = catch_up(t, p);
    if (!r && newest_passes(t, p)) {
        t->open = false;
        r = pass(t, p, t->newest);
    }
    return r ? r : decide(t, p, false);
}

CUresult lone_rest(unsigned p)
{
    CUresult r = catch_up(&lone[p], p);
    return r ? r : finish(&lone[p], p);
}
