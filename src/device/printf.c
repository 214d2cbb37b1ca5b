/* printf of kernels: the format's conversions one by one, each with the next
 * argument of the packed buffer, into text that the host shows later. */
#include "device/device.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 8192 };
struct output {
    char text[LONGEST];
    size_t size;
};
struct arguments {
    const char *next;
};

static void add(struct output *o, const char *text, size_t size)
{
    if (size > sizeof o->text - o->size) size = sizeof o->text - o->size;
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

/* "%-08.3" of a conversion; stars are replaced by their values. */
static const char *flags_and_widths(const char *f, struct arguments *a, char *spec, size_t room)
{
    size_t n = 0;
    spec[n++] = '%';
    for (f++; *f && strchr("-+ #0123456789.*", *f); f++) {
        if (*f == '*')
            n += (size_t)snprintf(spec + n, room - n, "%d", (int)take(a, 4));
        else if (n < room - 24)
            spec[n++] = *f;
        if (n > room - 24) n = room - 24;
    }
    spec[n] = 0;
    return f;
}

static const char *conversion(const char *f, struct arguments *a, struct output *o)
{
    char spec[64], text[1024];
    int n = 0;
    f = flags_and_widths(f, a, spec, sizeof spec - 8);
    unsigned bytes = 4;
    bool is_short = false, is_char = false;
    for (; *f && strchr("hlLzjtq", *f); f++) {
        if (*f == 'h')
            is_char = is_short, is_short = true;
        else
            bytes = 8;
    }
    size_t end = strlen(spec);
    switch (*f) {
    case 'd':
    case 'i': {
        int64_t v = bytes == 8 ? (int64_t)take(a, 8) : (int32_t)take(a, 4);
        if (is_char)
            v = (int8_t)v;
        else if (is_short)
            v = (int16_t)v;
        strcpy(spec + end, "lld");
        n = snprintf(text, sizeof text, spec, (long long)v);
        break;
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
        uint64_t v = take(a, bytes);
        if (is_char)
            v = (uint8_t)v;
        else if (is_short)
            v = (uint16_t)v;
        snprintf(spec + end, 8, "ll%c", *f);
        n = snprintf(text, sizeof text, spec, (unsigned long long)v);
        break;
    }
    case 'c':
        strcpy(spec + end, "c");
        n = snprintf(text, sizeof text, spec, (int)take(a, 4));
        break;
    case 'p':
        strcpy(spec + end, "p");
        n = snprintf(text, sizeof text, spec, (void *)take(a, 8));
        break;
    case 's': {
        const char *s = (const char *)take(a, 8);
        strcpy(spec + end, "s");
        n = snprintf(text, sizeof text, spec, s ? s : "(null)");
        break;
    }
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
        uint64_t bits = take(a, 8);
        double d;
        memcpy(&d, &bits, 8);
        snprintf(spec + end, 8, "%c", *f);
        n = snprintf(text, sizeof text, spec, d);
        break;
    }
    case '%': add(o, "%", 1); return f + 1;
    case 0: return f;
    default: add(o, f, 1); return f + 1;
    }
    add(o, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
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
    struct output o = { .size = 0 };
    struct arguments a = { (const char *)args };
    uint32_t count = 0;
    (void)b;
    if (!format) return (uint32_t)-1;
    for (const char *f = (const char *)format; *f;) {
        const char *percent = strchrnul(f, '%');
        add(&o, f, (size_t)(percent - f));
        f = percent;
        if (!*f) break;
        count += f[1] != '%';
        f = conversion(f, &a, &o);
    }
    if (!mute) append(&o);
    return count;
}
