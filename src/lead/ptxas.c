/* NVIDIA's ptxas, of which there is one in the wheels that programs bring along: who uses the driver and starts it
 * wants to run what it makes, so ours takes its place. Who only builds something (nvcc) uses no driver, and gets
 * machine code as ever. */
#include "base/ptxas_folder.h"
#include "lead/lead.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_called_ptxas(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/');
    return slash && !strcmp(slash + 1, "ptxas");
}

/* Everybody under faultline run has the library; after cuInit devices' memory is mapped, too. */
static bool parent_uses_driver(void)
{
    char name[64], line[PATH_MAX + 128];
    bool found = false;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)getppid());
    FILE *maps = fopen(name, "re");
    if (!maps) return false;
    while (!found && fgets(line, sizeof line, maps)) found = strstr(line, "/memfd:faultline-vram") != NULL;
    fclose(maps);
    return found;
}

void lead_program(char **argv, char **environment)
{
    char path[PATH_MAX], folder[PATH_MAX];
    if (!is_called_ptxas() || !own_path(".", folder, sizeof folder)) return;
    const char *ours = ptxas_folder(folder);
    if (!ours || (size_t)snprintf(path, sizeof path, "%s/ptxas", ours) >= sizeof path) return;
    if (!same_file(path, "/proc/self/exe") && parent_uses_driver()) execve(path, argv, environment);
}
