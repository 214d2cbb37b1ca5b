/* What both ends of the exchange agree on; see wire.h. */
#include "ipc/wire.h"

#include <unistd.h>

const char ipc_magic[8] = "FLipc\0\0\1";
const char ipc_prefix[] = "faultline-ipc-";

bool ipc_same_user(int s)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return !getsockopt(s, SOL_SOCKET, SO_PEERCRED, &who, &size) && who.uid == geteuid();
}
