/* See visible.h. Programming guide, "CUDA environment variables"; what that leaves open (duplicates, what follows
 * a number) is as an H200's driver answered. */
#include "base/visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NONE = -1 };

void device_uuid(int physical, unsigned char uuid[UUID_BYTES])
{
    memcpy(uuid, "faultline gpu\0\0", UUID_BYTES);
    uuid[0] = (unsigned char)(physical << 4 | 0xf);
}

void device_uuid_text(int physical, char text[UUID_TEXT])
{
    unsigned char u[UUID_BYTES];
    device_uuid(physical, u);
    snprintf(text, UUID_TEXT, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static size_t length_of(const char *item) { return strcspn(item, ", \t"); }

static int by_uuid(const char *item, int installed)
{
    char text[UUID_TEXT];
    int found = NONE;
    for (int k = 0; k < installed; k++) {
        device_uuid_text(k, text);
        if (strncmp(text, item, 4) || strncasecmp(text + 4, item + 4, length_of(item) - 4)) continue;
        if (found != NONE) return NONE;
        found = k;
    }
    return found;
}

/* Only digits count; what follows them does not matter. */
static int by_number(const char *item, int installed)
{
    char *end;
    long n = strtol(item, &end, 10);
    return end != item && n >= 0 && n < installed ? (int)n : NONE;
}

static bool has(const int *order, int count, int device)
{
    while (count)
        if (order[--count] == device) return true;
    return false;
}

static int named(const char *list, int installed, int order[MAX_DEVICES])
{
    int count = 0;
    bool uuids = false;
    for (const char *item = list; item; item = strchr(item, ',')) {
        if (item != list) item++;
        item += strspn(item, " \t");
        bool uuid = !strncmp(item, "GPU-", 4);
        if (!count) uuids = uuid;
        int device = uuid != uuids ? NONE : uuid ? by_uuid(item, installed) : by_number(item, installed);
        if (device == NONE) break;
        if (has(order, count, device)) return VISIBLE_TWICE;
        order[count++] = device;
    }
    return count;
}

int visible_devices(const char *list, int installed, int order[MAX_DEVICES])
{
    int count = list ? named(list, installed, order) : 0, shown = count == VISIBLE_TWICE ? 0 : count, all = shown;
    for (int k = 0; k < installed; k++)
        if (!has(order, shown, k)) order[all++] = k;
    return list ? count : installed;
}
