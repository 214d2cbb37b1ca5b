/* printf of kernels: the format's conversions one by one, each with the next
 * argument of the packed buffer, into text that the host shows later. */
#include "device/device.h"
#include "device/rt.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct output {
    char *text; /* own, or what is allocated */
    size_t size, room;
    bool failed; /* there is no room for it */
    char own[1024];
};
struct arguments {
    const char *next;
};

/* For so many bytes more, and a NUL. What is longer than all that is kept for the host will not be shown. */
static bool make_room(struct output *o, size_t size)
{
    size_t want = o->size + size + 1;
    if (want <= o->room) return true;
    char *text = want > control->printf_size ? NULL : realloc(o->text == o->own ? NULL : o->text, want += want / 2);
    if (!text) return !(o->failed = true);
    if (o->text == o->own) memcpy(text, o->own, o->size);
    o->text = text;
    o->room = want;
    return true;
}

static void add(struct output *o, const char *text, size_t size)
{
    if (!make_room(o, size)) return;
    memcpy(o->text + o->size, text, size);
    o->size += size;
}

static uint64_t take(struct arguments *a, unsigned bytes)
{
    uint64_t v = 0;
    a->next = (const char *)(((uintptr_t)a->next + bytes - 1) & ~(uintptr_t)(bytes - 1));
    memcpy(&v, a->next, bytes);
    a->next += bytes;
    return v;
}

/* "%-08.3" of a conversion; a star is replaced by its value. NULL: there is one for the precision, of which no GPU makes
 * a conversion (observed on H200). */
static const char *flags_and_widths(const char *f, struct arguments *a, char *spec, size_t room)
{
    size_t n = 0;
    spec[n++] = '%';
    for (f++; *f && strchr("-+ #0123456789.*", *f); f++) {
        if (*f == '.' && f[1] == '*') return NULL;
        if (*f == '*')
            n += (size_t)snprintf(spec + n, room - n, "%d", (int)take(a, 4));
        else if (n < room - 24)
            spec[n++] = *f;
        if (n > room - 24) n = room - 24;
    }
    spec[n] = 0;
    return f;
}

/* hh, h, l and the like: the size of the argument, and of what is shown of it. */
static const char *lengths(const char *f, unsigned *bytes, unsigned *shown)
{
    unsigned halved = 0;
    *bytes = 4;
    for (; *f && strchr("hlLzjtq", *f); f++) {
        if (*f == 'h')
            halved++;
        else
            *bytes = 8;
    }
    *shown = halved > 1 ? 1 : halved ? 2 : *bytes;
    return f;
}

/* An argument of one conversion, formatted; spec has its flags and widths, to which the letter is added. As snprintf's
 * result. */
static int format(char *spec, char letter, struct arguments *a, unsigned bytes, unsigned shown, char *text, size_t room)
{
    char *end = spec + strlen(spec);
    unsigned unused = 64 - 8 * shown;
    switch (letter) {
    case 'd':
    case 'i': strcpy(end, "lld"); return snprintf(text, room, spec, (long long)(take(a, bytes) << unused) >> unused);
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        snprintf(end, 8, "ll%c", letter);
        return snprintf(text, room, spec, (unsigned long long)(take(a, bytes) << unused >> unused));
    case 'c': strcpy(end, "c"); return snprintf(text, room, spec, (int)take(a, 4));
    case 'p': strcpy(end, "p"); return snprintf(text, room, spec, (void *)take(a, 8));
    case 's': {
        const char *s = (const char *)take(a, 8);
        strcpy(end, "s");
        return snprintf(text, room, spec, s ? s : "(null)");
    }
    default: {
        uint64_t bits = take(a, 8);
        double d;
        memcpy(&d, &bits, 8);
        snprintf(end, 8, "%c", letter);
        return snprintf(text, room, spec, d);
    }
    }
}

static void add_formatted(struct output *o, char *spec, char letter, struct arguments *a, unsigned bytes, unsigned shown)
{
    const struct arguments before = *a;
    const size_t kept = strlen(spec), room = o->room - o->size;
    int n = format(spec, letter, a, bytes, shown, o->text + o->size, room);
    if (n >= 0 && (size_t)n >= room) {
        if (!make_room(o, (size_t)n)) return;
        *a = before;
        spec[kept] = 0;
        n = format(spec, letter, a, bytes, shown, o->text + o->size, o->room - o->size);
    }
    if (n > 0) o->size += (size_t)n;
}

static const char *conversion(const char *f, struct arguments *a, struct output *o)
{
    char spec[64];
    unsigned bytes, shown;
    const struct arguments before = *a;
    const char *percent = f;
    f = flags_and_widths(f, a, spec, sizeof spec - 8);
    if (!f) {
        *a = before;
        add(o, percent, 1);
        return percent + 1;
    }
    f = lengths(f, &bytes, &shown);
    if (!*f) return f;
    if (strchr("diuxXocpsfFeEgGaA", *f))
        add_formatted(o, spec, *f, a, bytes, shown);
    else
        add(o, f, 1); /* a percent sign, or what is no conversion */
    return f + 1;
}

static bool mute;
void printf_mute(void) { mute = true; }

/* Whole messages only: what does not fit is dropped. */
static void append(const struct output *o)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    uint64_t at = atomic_load(&control->printed), size = control->printf_size;
    if (o->size <= size - (at - atomic_load(&control->shown))) {
        for (size_t k = 0; k < o->size; k++) control->text[(at + k) % size] = o->text[k];
        atomic_store(&control->printed, at + o->size);
    }
    pthread_mutex_unlock(&lock);
}

uint32_t device_printf(struct fl_block *b, uint64_t format, uint64_t args)
{
    struct output o;
    struct arguments a = { (const char *)args };
    uint32_t count = 0;
    (void)b;
    if (!format) return (uint32_t)-1;
    o.text = o.own;
    o.size = 0;
    o.room = sizeof o.own;
    o.failed = false;
    for (const char *f = (const char *)format; *f;) {
        const char *percent = strchrnul(f, '%');
        add(&o, f, (size_t)(percent - f));
        f = percent;
        if (!*f) break;
        count += f[1] != '%';
        f = conversion(f, &a, &o);
    }
    if (!mute && !o.failed) append(&o);
    if (o.text != o.own) free(o.text);
    return count;
}
