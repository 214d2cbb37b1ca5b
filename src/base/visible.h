/* Who the machine's devices are, and which of them CUDA_VISIBLE_DEVICES shows to this process, in which order. */
#ifndef FL_BASE_VISIBLE_H
#define FL_BASE_VISIBLE_H

enum { MAX_DEVICES = 16, UUID_BYTES = 16, UUID_TEXT = sizeof "GPU-00000000-0000-0000-0000-000000000000" };

/* physical: the device's number in the machine. The first digits differ, so that a few of them name it. */
void device_uuid(int physical, unsigned char uuid[UUID_BYTES]);
void device_uuid_text(int physical, char text[UUID_TEXT]);

/* How many of the machine's devices the list (NULL: there is none) shows. order becomes all of them: first those, in
 * the list's order, then the hidden ones.
 * The list has numbers or GPU-<beginning of a UUID>; what it begins with says which. What names no device, or
 * several, ends it, and so does MIG-, as no device is divided. VISIBLE_TWICE: a device is named twice, which is an
 * error (observed on H200). */
enum { VISIBLE_TWICE = -1 };
int visible_devices(const char *list, int installed, int order[MAX_DEVICES]);

#endif
