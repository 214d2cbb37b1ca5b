/* See machine.h: /proc/meminfo, /proc/vmstat, the control groups that this process is in, its
 * own limits. What cannot be found out does not limit anything. */
#include "base/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t number_in(const char *path)
{
    unsigned long long v;
    FILE *f = fopen(path, "re");
    int n = f ? fscanf(f, "%llu", &v) : 0;
    if (f) fclose(f);
    return n == 1 ? v : UINT64_MAX;
}

/* Where a version of control groups says what the limit is, and what is used. */
struct files {
    const char *root, *limit, *used;
};
static const struct files version1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes" },
                          version2 = { "/sys/fs/cgroup", "memory.max", "memory.current" };

/* What the control group permits, or still does. */
static uint64_t left_in(const char *folder, const struct files *names, bool still)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, names->limit);
    uint64_t limit = number_in(path);
    if (!still) return limit;
    snprintf(path, sizeof path, "%s/%s", folder, names->used);
    uint64_t used = number_in(path);
    return limit == UINT64_MAX || used == UINT64_MAX ? limit : used < limit ? limit - used : 0;
}

/* The same of those above it, too; group is its path as in /proc/self/cgroup. */
static uint64_t left_in_group(const char *group, const struct files *names, bool still)
{
    char folder[768];
    uint64_t most = UINT64_MAX;
    size_t top = strlen(names->root);
    if (snprintf(folder, sizeof folder, "%s%s", names->root, group) >= (int)sizeof folder) folder[top] = 0;
    for (;;) {
        uint64_t left = left_in(folder, names, still);
        if (left < most) most = left;
        char *slash = strrchr(folder + top, '/');
        if (!slash) return most;
        *slash = 0;
    }
}

static bool lists_memory(const char *controllers)
{
    const char *at = strstr(controllers, "memory");
    return at && (at == controllers || at[-1] == ',') && (!at[6] || at[6] == ',');
}

/* Lines of /proc/self/cgroup: "0::/path" (version 2), "4:cpu,memory:/path" (version 1). */
static uint64_t left_in_groups(bool still)
{
    char line[768];
    uint64_t most = UINT64_MAX;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(++controllers, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        uint64_t left = UINT64_MAX;
        if (!*controllers)
            left = left_in_group(group, &version2, still);
        else if (lists_memory(controllers))
            left = left_in_group(group, &version1, still);
        if (left < most) most = left;
    }
    if (f) fclose(f);
    return most;
}

/* What this process's own limits leave: memory is a file, which is mapped more than once. */
static uint64_t left_in_limits(void)
{
    uint64_t most = UINT64_MAX;
    struct rlimit l;
    if (!getrlimit(RLIMIT_AS, &l) && l.rlim_cur != RLIM_INFINITY) most = l.rlim_cur / 8;
    if (!getrlimit(RLIMIT_FSIZE, &l) && l.rlim_cur != RLIM_INFINITY && l.rlim_cur < most) most = l.rlim_cur;
    return most;
}

static uint64_t installed(void) { return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE); }

uint64_t machine_memory(void)
{
    uint64_t groups = left_in_groups(false), most = installed();
    return groups < most ? groups : most;
}

uint64_t machine_oom_kills(void)
{
    char line[128];
    unsigned long long n, kills = 0;
    FILE *f = fopen("/proc/vmstat", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "oom_kill %llu", &n) == 1) kills = n;
    if (f) fclose(f);
    return kills;
}

uint64_t machine_room(void)
{
    char line[128];
    unsigned long long kib, available = 0, swap = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) available = kib;
        if (sscanf(line, "SwapFree: %llu", &kib) == 1) swap = kib;
    }
    if (f) fclose(f);
    uint64_t most = f ? (available + swap) << 10 : installed();
    uint64_t groups = left_in_groups(true), limits = left_in_limits();
    if (groups < most) most = groups;
    return limits < most ? limits : most;
}
