/* The device processes of a test, to be killed: they have inherited a mark, FAULTLINE_TEST=PID in the environment. */
#ifndef FL_TESTS_VICTIMS_H
#define FL_TESTS_VICTIMS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Before cuInit. */
static inline void victims_mark(void)
{
    char id[32];
    snprintf(id, sizeof id, "%d", (int)getpid());
    setenv("FAULTLINE_TEST", id, 1);
}

static inline bool is_victim(int pid, const char *mark)
{
    char path[64], text[65536];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *f = fopen(path, "r");
    bool device = f && fgets(text, sizeof text, f) && !strncmp(text, "faultline-devic", 15);
    if (f) fclose(f);
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    if (!device || !(f = fopen(path, "r"))) return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    for (const char *p = text; p < text + n; p += strlen(p) + 1)
        if (!strcmp(p, mark)) return true;
    return false;
}

/* How many there are; the first `most` of them in pids. */
static inline unsigned victims_find(int *pids, unsigned most)
{
    char mark[64];
    unsigned found = 0;
    snprintf(mark, sizeof mark, "FAULTLINE_TEST=%d", (int)getpid());
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d)) && found < most;) {
        int pid = atoi(e->d_name);
        if (pid && pid != getpid() && is_victim(pid, mark)) pids[found++] = pid;
    }
    if (d) closedir(d);
    return found;
}

#endif
