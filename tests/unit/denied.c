/* Runs a command as those systems would on which userfaultfd is not for everybody.
 * usage: denied user|seccomp RUNG COMMAND...
 *   user     as an unprivileged user: no /dev/userfaultfd, user mode only
 *   seccomp  the same with the system call denied, as container runtimes do
 * RUNG: what the library must then choose (the value of FAULTLINE_EXPECT_RUNG
 * for the command). Exit status 77: this cannot be arranged here. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534, SKIP = 77 };

/* Whom nothing is allowed but to find its files: builds lie in folders that are their owner's alone. */
static int become_nobody(void)
{
    struct __user_cap_header_struct version = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct search[2] = { { 0 } };
    search[0].effective = search[0].permitted = search[0].inheritable = 1u << CAP_DAC_READ_SEARCH;
    if (geteuid()) return 0;
    return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) ||
           syscall(SYS_capset, &version, search) ||
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0);
}

static int deny_userfaultfd(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = { sizeof program / sizeof *program, program };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    if (become_nobody() || (!strcmp(argv[1], "seccomp") && deny_userfaultfd())) return SKIP;
    int fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (fd >= 0 || faccessat(AT_FDCWD, argv[3], X_OK, AT_EACCESS)) {
        fprintf(stderr, "SKIP: everybody may use /dev/userfaultfd here, or nobody may run %s\n", argv[3]);
        return SKIP;
    }
    const char *device = getenv("FAULTLINE_DEVICE_EXE");
    if (device && faccessat(AT_FDCWD, device, X_OK, AT_EACCESS)) {
        fprintf(stderr, "SKIP: nobody but its owner may enter the folder of %s\n", device);
        return SKIP;
    }
    setenv("FAULTLINE_EXPECT_RUNG", argv[2], 1);
    execv(argv[3], argv + 3);
    return 1;
}
