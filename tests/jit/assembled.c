/* A program that has PTX assembled by ptxas, as it finds that in PATH, or by one that it knows the path of, and loads
 * what comes out. Under faultline run. usage: assembled [PTXAS] */
#include "twice.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char ptx[] = ".version 8.0\n" TWICE;

static int status_of(const char *ptxas, const char *in, const char *out)
{
    char *const arguments[] = { "ptxas", "-v", "--gpu-name=sm_90", (char *)in, "-o", (char *)out, NULL };
    pid_t child;
    int status;
    EXPECT_EQUAL(posix_spawnp(&child, ptxas, NULL, NULL, arguments, environ), 0);
    EXPECT_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What who uses no driver starts may be meant for a GPU elsewhere. */
static void expect_other(const char *ptxas)
{
    char command[512];
    snprintf(command, sizeof command, "'%s' --version; exit $?", ptxas);
    int status = system(command); /* a shell uses no driver */
    EXPECT(WIFEXITED(status));
    EXPECT_EQUAL(WEXITSTATUS(status), 3);
}

int main(int argc, char **argv)
{
    const char *ptxas = argc > 1 ? argv[1] : "ptxas";
    char folder[] = "/tmp/faultline-ptxas-XXXXXX", out[64], path[64], image[4096];
    EXPECT(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/twice.ptx", folder);
    FILE *f = fopen(path, "w");
    EXPECT(f && fwrite(ptx, 1, strlen(ptx), f) == strlen(ptx));
    EXPECT_EQUAL(fclose(f), 0);
    snprintf(out, sizeof out, "%s/twice.o", folder);
    use_device();
    if (argc > 1) expect_other(ptxas);
    EXPECT_EQUAL(status_of(ptxas, path, out), 0);
    EXPECT((f = fopen(out, "r")));
    EXPECT(fread(image, 1, sizeof image, f) > strlen(ptx));
    EXPECT_EQUAL(fclose(f), 0);
    EXPECT(!unlink(path) && !unlink(out) && !rmdir(folder));
    run_twice(image);
    return 0;
}
