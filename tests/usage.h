/* What this process takes of what there is, as Linux counts it. */
#ifndef FL_TESTS_USAGE_H
#define FL_TESTS_USAGE_H

#include "check.h"

#include <dirent.h>
#include <stdint.h>

static inline unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    EXPECT(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

/* A system has room for some 65,000. */
static inline unsigned mappings(void)
{
    unsigned n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    EXPECT(f);
    for (int c; (c = fgetc(f)) != EOF;) n += c == '\n';
    fclose(f);
    return n;
}

/* Bytes that are mapped. */
static inline uint64_t addresses(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    EXPECT(f);
    EXPECT_EQUAL(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    return pages * (uint64_t)getpagesize();
}

/* The process's own memory, not what it shares with devices; 0 where a sanitizer's would count. */
static inline long resident_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    EXPECT(f);
    while (fgets(line, sizeof line, f)) sscanf(line, "RssAnon: %ld", &kib);
    fclose(f);
#ifdef __SANITIZE_THREAD__
    kib = 0;
#endif
    return kib;
}

#endif
