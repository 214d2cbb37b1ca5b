/* A program that has PTX assembled by ptxas, as it finds that in PATH, and loads what comes out. Under faultline run. */
#include "twice.h"

#include <stdlib.h>
#include <string.h>

static const char ptx[] = ".version 8.0\n" TWICE;

int main(void)
{
    char folder[] = "/tmp/faultline-ptxas-XXXXXX", command[512], path[64], image[4096];
    EXPECT(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/twice.ptx", folder);
    FILE *f = fopen(path, "w");
    EXPECT(f && fwrite(ptx, 1, strlen(ptx), f) == strlen(ptx));
    EXPECT_EQUAL(fclose(f), 0);
    snprintf(command, sizeof command, "ptxas -v --gpu-name=sm_90 %s -o %s.o", path, path);
    EXPECT_EQUAL(system(command), 0);
    snprintf(command, sizeof command, "%s.o", path);
    EXPECT((f = fopen(command, "r")));
    EXPECT(fread(image, 1, sizeof image, f) > strlen(ptx));
    EXPECT_EQUAL(fclose(f), 0);
    EXPECT(!unlink(path) && !unlink(command) && !rmdir(folder));
    use_device();
    run_twice(image);
    return 0;
}
