/* Reading the folder of channels; see imex.h. It is read anew each time: access can be granted and taken. */
#include "vmm/imex.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool identify(int fd, struct imex_channel *id)
{
    struct stat s;
    if (fstat(fd, &s) || !(S_ISREG(s.st_mode) || S_ISCHR(s.st_mode))) return false;
    *id = (struct imex_channel){ s.st_dev, s.st_ino };
    return true;
}

static bool same(const struct imex_channel *x, const struct imex_channel *y)
{
    return x->device == y->device && x->inode == y->inode;
}

static int not_hidden(const struct dirent *d) { return d->d_name[0] != '.'; }

int imex_open(const struct imex_channel *id, struct imex_channel *opened)
{
    const char *folder = getenv("FAULTLINE_IMEX_CHANNELS");
    struct dirent **names;
    int found = -1, at = folder && *folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (at < 0) return -1;
    int count = scandirat(at, ".", &names, not_hidden, versionsort);
    for (int k = 0; k < count; k++) {
        int fd = found < 0 ? openat(at, names[k]->d_name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
        if (fd >= 0 && identify(fd, opened) && (!id || same(id, opened)))
            found = fd;
        else if (fd >= 0)
            close(fd);
        free(names[k]);
    }
    if (count >= 0) free(names);
    close(at);
    return found;
}

bool imex_proves(int fd, const struct imex_channel *id)
{
    struct imex_channel of;
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_WRONLY && identify(fd, &of) && same(&of, id);
}
