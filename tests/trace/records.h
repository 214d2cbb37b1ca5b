/* A client of CUPTI that prints a line for each call: what it answered, and the records that it left. */
#ifndef FL_TESTS_TRACE_RECORDS_H
#define FL_TESTS_TRACE_RECORDS_H

#include <cuda.h>
#include <cupti.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(call) ((call) ? (printf("%s failed\n", #call), exit(1)) : (void)0)
enum { BUFFER = 1 << 20, BUFFERS = 16 };

static CUstream blocking, apart;
static uint32_t context_id, legacy_id, blocking_id, apart_id;
static CUcontext context;

static struct {
    uint8_t *bytes;
    size_t valid;
} buffer[BUFFERS];
static int buffers;
static void (*record_told)(const CUpti_Activity *r);

static void CUPTIAPI request(uint8_t **b, size_t *size, size_t *most)
{
    *b = aligned_alloc(8, BUFFER);
    *size = BUFFER;
    *most = 0;
}

static void CUPTIAPI complete(CUcontext c, uint32_t stream, uint8_t *b, size_t size, size_t valid)
{
    (void)c, (void)stream, (void)size;
    buffer[buffers].bytes = b;
    buffer[buffers++].valid = valid;
}

static inline const char *stream_text(uint32_t id)
{
    return id == legacy_id ? "default" : id == blocking_id ? "blocking" : id == apart_id ? "apart" : "another";
}

/* The rest of the line says what the call was. */
__attribute__((format(printf, 2, 3))) static inline void tell(CUresult answer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(": %d", answer);
    REQUIRE(cuCtxSynchronize());
    REQUIRE(cuptiActivityFlushAll(1));
    for (int k = 0; k < buffers; k++) {
        CUpti_Activity *r = NULL;
        while (!cuptiActivityGetNextRecord(buffer[k].bytes, buffer[k].valid, &r)) record_told(r);
        free(buffer[k].bytes);
    }
    buffers = 0;
    puts("");
}

/* A context, two streams, and what records call them. Nothing is enabled yet. */
static inline void begin_records(void (*told)(const CUpti_Activity *r))
{
    record_told = told;
    REQUIRE(cuptiActivityRegisterCallbacks(request, complete));
    REQUIRE(cuInit(0));
    REQUIRE(cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE(cuCtxSetCurrent(context));
    REQUIRE(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    REQUIRE(cuStreamCreate(&apart, CU_STREAM_NON_BLOCKING));
    REQUIRE(cuptiGetContextId(context, &context_id));
    REQUIRE(cuptiGetStreamIdEx(context, NULL, 0, &legacy_id));
    REQUIRE(cuptiGetStreamIdEx(context, blocking, 0, &blocking_id));
    REQUIRE(cuptiGetStreamIdEx(context, apart, 0, &apart_id));
}

#endif
