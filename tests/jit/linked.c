/* What the driver's linker takes beside PTX: what stands for machine code, objects and libraries of the host; and what
 * it says of pieces that do not fit together. */
#include "object.h"
#include "twice.h"

#include <stddef.h>
#include <string.h>

#define CALLER ".version 7.8\n" CALLS_TWICE

/* The values receive something until the end of the link. */
static CUlinkState begin(char *log, size_t size)
{
    static CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    static void *values[2];
    CUlinkState link;
    values[0] = log;
    values[1] = (void *)size;
    CHECK(cuLinkCreate(2, options, values, &link));
    return link;
}

static CUresult add(CUlinkState link, CUjitInputType type, const void *data, size_t size)
{
    return cuLinkAddData(link, type, (void *)data, size, "a name", 0, NULL, NULL);
}

/* What is linked runs. */
static void finish(CUlinkState link)
{
    void *binary;
    size_t size;
    CHECK(cuLinkComplete(link, &binary, &size));
    run_twice(binary);
    CHECK(cuLinkDestroy(link));
}

/* The first object of the library is good, the second one's header is not. */
static size_t library_spoil(unsigned char *data, const char *first, const char *second)
{
    size_t alone = library_make(data, first, NULL), size = library_make(data, first, second);
    data[alone + offsetof(struct ar_hdr, ar_fmag)] = 0;
    return size;
}

int main(void)
{
    static const char other[] = ".version 9.0\n.target sm_90a\n.address_size 64\n.extern .func nowhere();\n"
                                ".visible .func unwanted() { call nowhere; ret; }\n";
    static const char doubled[] = ".version 9.0\n" DOUBLED;
    unsigned char data[8192];
    char log[1024] = "";
    void *binary;
    use_device();

    CUlinkState link = begin(log, sizeof log);
    CHECK(add(link, CU_JIT_INPUT_PTX, CALLER, sizeof CALLER));
    CHECK(add(link, CU_JIT_INPUT_CUBIN, doubled, sizeof doubled));
    finish(link);

    link = begin(log, sizeof log);
    CHECK(add(link, CU_JIT_INPUT_OBJECT, data, object_make(data, OBJECT_PTX, doubled)));
    CHECK(add(link, CU_JIT_INPUT_PTX, CALLER, sizeof CALLER));
    finish(link);

    /* of a library only what is missing: the rest of it would lack something itself */
    link = begin(log, sizeof log);
    CHECK(add(link, CU_JIT_INPUT_PTX, CALLER, sizeof CALLER));
    CHECK(add(link, CU_JIT_INPUT_LIBRARY, data, library_make(data, other, doubled)));
    finish(link);

    link = begin(log, sizeof log);
    ANSWERS(add(link, CU_JIT_INPUT_OBJECT, data, object_make(data, OBJECT_CODE, "code")), CUDA_ERROR_NO_BINARY_FOR_GPU);
    ANSWERS(add(link, CU_JIT_INPUT_OBJECT, doubled, sizeof doubled), CUDA_ERROR_UNKNOWN);
    ANSWERS(add(link, CU_JIT_INPUT_LIBRARY, doubled, sizeof doubled), CUDA_ERROR_UNKNOWN);
    CHECK(add(link, CU_JIT_INPUT_PTX, CALLER, sizeof CALLER));
    CHECK(add(link, CU_JIT_INPUT_LIBRARY, data, library_make(data, other, NULL)));
    ANSWERS(add(link, CU_JIT_INPUT_LIBRARY, data, library_spoil(data, doubled, other)), CUDA_ERROR_INVALID_IMAGE);
    EXPECT(cuLinkComplete(link, &binary, NULL) != CUDA_SUCCESS);
    EXPECT(strstr(log, "'doubled'"));
    CHECK(cuLinkDestroy(link));
    return 0;
}
