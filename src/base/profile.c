/* Reads the simulated machine's description, and what the environment says of it; see profile.h. */
#include "base/profile.h"
#include "base/log.h"
#include "base/machine.h"
#include "profile_data.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t CHUNK = 2ul << 20, MOST_MEMORY = 1ul << 40;

/* "64M" and the like; false if it is no size. */
static bool parse_size(const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 0);
    int shift = 0;
    if (end == text || errno || strchr(text, '-')) return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (*end == 'i' || *end == 'I') end++;
    if (*end == 'B' || *end == 'b') end++;
    if (*end || v > UINT64_MAX >> shift) return false;
    *out = (uint64_t)v << shift;
    return true;
}

static bool parse_number(const char *text, int *out)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 0);
    if (end == text || *end || errno || v != (int)v) return false;
    *out = (int)v;
    return true;
}

static bool set_attribute(struct profile *p, const char *name, const char *value)
{
    for (size_t k = 0; k < sizeof attribute_names / sizeof *attribute_names; k++)
        if (!strcmp(name, attribute_names[k].name)) {
            int number = attribute_names[k].number;
            return p->has_attribute[number] = parse_number(value, &p->attribute[number]);
        }
    return false;
}

static int on_entry(void *user, const char *section, const char *name, const char *value);

static bool read_built_in(struct profile *p, const char *name)
{
    for (size_t k = 0; k < sizeof built_in / sizeof *built_in; k++)
        if (!strcmp(name, built_in[k].name)) return !ini_parse_string(built_in[k].text, on_entry, p);
    return false;
}

static bool set_device(struct profile *p, const char *name, const char *value)
{
    static const struct {
        const char *name;
        CUdevice_P2PAttribute attribute;
    } p2p[] = { { "p2p_performance_rank", CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK },
                { "p2p_access", CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED },
                { "p2p_native_atomics", CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED },
                { "p2p_array_access", CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED },
                { "p2p_only_partial_native_atomics", CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED } };
    if (!strcmp(name, "like")) return read_built_in(p, value);
    if (!strcmp(name, "name")) return snprintf(p->name, sizeof p->name, "%s", value) > 0;
    if (!strcmp(name, "memory")) return parse_size(value, &p->memory);
    for (size_t k = 0; k < sizeof p2p / sizeof *p2p; k++)
        if (!strcmp(name, p2p[k].name)) return parse_number(value, &p->p2p[p2p[k].attribute]);
    return false;
}

static bool set_limit(struct profile *p, const char *name, const char *value)
{
    static const struct {
        const char *name;
        CUlimit limit;
    } limits[] = { { "stack_size", CU_LIMIT_STACK_SIZE },
                   { "printf_fifo_size", CU_LIMIT_PRINTF_FIFO_SIZE },
                   { "malloc_heap_size", CU_LIMIT_MALLOC_HEAP_SIZE },
                   { "dev_runtime_pending_launch_count", CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT },
                   { "max_l2_fetch_granularity", CU_LIMIT_MAX_L2_FETCH_GRANULARITY },
                   { "persisting_l2_cache_size", CU_LIMIT_PERSISTING_L2_CACHE_SIZE },
                   { "shmem_size", CU_LIMIT_SHMEM_SIZE } };
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
        if (!strcmp(name, limits[k].name)) return parse_size(value, &p->limit[limits[k].limit]);
    return false;
}

static int on_entry(void *user, const char *section, const char *name, const char *value)
{
    struct profile *p = user;
    if (p->wrong) return 0; /* the first line that is wrong says enough */
    bool good = !strcmp(section, "device")   ? set_device(p, name, value)
                : !strcmp(section, "limits") ? set_limit(p, name, value)
                                             : !strcmp(section, "attributes") && set_attribute(p, name, value);
    if (!good) fl_log(FL_LOG_ERROR, "profile: [%s] %s = %s is not understood", section, name, value);
    p->wrong = !good;
    return good;
}

static const char *built_in_names(void)
{
    static char names[256];
    size_t used = 0, count = sizeof built_in / sizeof *built_in;
    for (size_t k = 0; k < count && used < sizeof names; k++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k ? ", " : "", built_in[k].name);
    return names;
}

static CUresult read_profile(struct profile *p)
{
    const char *asked = secure_getenv("FAULTLINE_PROFILE");
    if (!asked || !*asked) asked = "h200";
    if (read_built_in(p, asked)) return CUDA_SUCCESS;
    int line = ini_parse(asked, on_entry, p);
    if (line < 0)
        fl_log(FL_LOG_ERROR, "FAULTLINE_PROFILE: %s cannot be read (it is %s or the path of an INI file)", asked,
               built_in_names());
    else if (line > 0)
        fl_log(FL_LOG_ERROR, "FAULTLINE_PROFILE: %s: line %d is wrong", asked, line);
    return line ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* CUDA_DEVICE_ORDER needs no look: all are equally fast, so both orders are that of PCI addresses. */
static CUresult choose_visible(struct profile *p)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int shown = visible_devices(list, p->installed, p->order);
    p->devices = shown == VISIBLE_TWICE ? 0 : shown;
    if (shown > 0) return CUDA_SUCCESS;
    if (shown == VISIBLE_TWICE) {
        fl_log(FL_LOG_WARN, "CUDA_VISIBLE_DEVICES=%s names a device twice", list);
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (*list && *list != '-')
        fl_log(FL_LOG_WARN, "CUDA_VISIBLE_DEVICES=%s shows none of the %d device%s that FAULTLINE_DEVICES asks for",
               list, p->installed, p->installed == 1 ? "" : "s");
    return CUDA_ERROR_NO_DEVICE;
}

static CUresult read_environment(struct profile *p)
{
    const char *devices = getenv("FAULTLINE_DEVICES"), *memory = getenv("FAULTLINE_VRAM");
    p->installed = 1;
    p->host_memory = machine_room() / CHUNK * CHUNK;
    if (p->host_memory < 32 * CHUNK) p->host_memory = 32 * CHUNK;
    if (devices && *devices) {
        char *end;
        long n = strtol(devices, &end, 10);
        if (*end || n < 1 || n > MAX_DEVICES) {
            fl_log(FL_LOG_ERROR, "FAULTLINE_DEVICES=%s: a number from 1 to %d is wanted", devices, MAX_DEVICES);
            return CUDA_ERROR_INVALID_VALUE;
        }
        p->installed = (int)n;
    }
    if (memory && *memory) {
        if (!parse_size(memory, &p->memory) || p->memory < CHUNK || p->memory > MOST_MEMORY) {
            fl_log(FL_LOG_ERROR, "FAULTLINE_VRAM=%s: a size like 512M or 8G is wanted, from 2M to 1T", memory);
            return CUDA_ERROR_INVALID_VALUE;
        }
    } else if (p->memory > p->host_memory) {
        p->memory = p->host_memory;
    }
    if (p->memory > MOST_MEMORY) p->memory = MOST_MEMORY;
    p->memory = p->memory / CHUNK * CHUNK;
    if (p->memory < CHUNK) p->memory = CHUNK;
    return choose_visible(p);
}

CUresult profile_load(struct profile *p)
{
    memset(p, 0, sizeof *p);
    CUresult r = read_profile(p);
    return r ? r : read_environment(p);
}
