/* What all asking programs use: answers, groups, gates; and main, which runs each group in a process of its own. */
#include "ask.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

enum { seconds_of_a_group = 25 };

static const char *group_name = "?";

/* Names as the header has them: the library's own cudaGetErrorName is a thing to ask about. */
const char *name_of(cudaError_t e)
{
    static const struct {
        cudaError_t error;
        const char *name;
    } names[] = {
#define NAME(e) { e, #e }
        NAME(cudaSuccess),
        NAME(cudaErrorInvalidValue),
        NAME(cudaErrorMemoryAllocation),
        NAME(cudaErrorInitializationError),
        NAME(cudaErrorCudartUnloading),
        NAME(cudaErrorProfilerDisabled),
        NAME(cudaErrorProfilerNotInitialized),
        NAME(cudaErrorProfilerAlreadyStarted),
        NAME(cudaErrorProfilerAlreadyStopped),
        NAME(cudaErrorInvalidConfiguration),
        NAME(cudaErrorInvalidPitchValue),
        NAME(cudaErrorInvalidSymbol),
        NAME(cudaErrorInvalidHostPointer),
        NAME(cudaErrorInvalidDevicePointer),
        NAME(cudaErrorInvalidTexture),
        NAME(cudaErrorInvalidTextureBinding),
        NAME(cudaErrorInvalidChannelDescriptor),
        NAME(cudaErrorInvalidMemcpyDirection),
        NAME(cudaErrorAddressOfConstant),
        NAME(cudaErrorTextureFetchFailed),
        NAME(cudaErrorTextureNotBound),
        NAME(cudaErrorSynchronizationError),
        NAME(cudaErrorInvalidFilterSetting),
        NAME(cudaErrorInvalidNormSetting),
        NAME(cudaErrorMixedDeviceExecution),
        NAME(cudaErrorNotYetImplemented),
        NAME(cudaErrorMemoryValueTooLarge),
        NAME(cudaErrorStubLibrary),
        NAME(cudaErrorInsufficientDriver),
        NAME(cudaErrorCallRequiresNewerDriver),
        NAME(cudaErrorInvalidSurface),
        NAME(cudaErrorDuplicateVariableName),
        NAME(cudaErrorDuplicateTextureName),
        NAME(cudaErrorDuplicateSurfaceName),
        NAME(cudaErrorDevicesUnavailable),
        NAME(cudaErrorIncompatibleDriverContext),
        NAME(cudaErrorMissingConfiguration),
        NAME(cudaErrorPriorLaunchFailure),
        NAME(cudaErrorLaunchMaxDepthExceeded),
        NAME(cudaErrorLaunchFileScopedTex),
        NAME(cudaErrorLaunchFileScopedSurf),
        NAME(cudaErrorSyncDepthExceeded),
        NAME(cudaErrorLaunchPendingCountExceeded),
        NAME(cudaErrorInvalidDeviceFunction),
        NAME(cudaErrorNoDevice),
        NAME(cudaErrorInvalidDevice),
        NAME(cudaErrorDeviceNotLicensed),
        NAME(cudaErrorSoftwareValidityNotEstablished),
        NAME(cudaErrorStartupFailure),
        NAME(cudaErrorInvalidKernelImage),
        NAME(cudaErrorDeviceUninitialized),
        NAME(cudaErrorMapBufferObjectFailed),
        NAME(cudaErrorUnmapBufferObjectFailed),
        NAME(cudaErrorArrayIsMapped),
        NAME(cudaErrorAlreadyMapped),
        NAME(cudaErrorNoKernelImageForDevice),
        NAME(cudaErrorAlreadyAcquired),
        NAME(cudaErrorNotMapped),
        NAME(cudaErrorNotMappedAsArray),
        NAME(cudaErrorNotMappedAsPointer),
        NAME(cudaErrorECCUncorrectable),
        NAME(cudaErrorUnsupportedLimit),
        NAME(cudaErrorDeviceAlreadyInUse),
        NAME(cudaErrorPeerAccessUnsupported),
        NAME(cudaErrorInvalidPtx),
        NAME(cudaErrorInvalidGraphicsContext),
        NAME(cudaErrorNvlinkUncorrectable),
        NAME(cudaErrorJitCompilerNotFound),
        NAME(cudaErrorUnsupportedPtxVersion),
        NAME(cudaErrorJitCompilationDisabled),
        NAME(cudaErrorUnsupportedExecAffinity),
        NAME(cudaErrorUnsupportedDevSideSync),
        NAME(cudaErrorContained),
        NAME(cudaErrorInvalidSource),
        NAME(cudaErrorFileNotFound),
        NAME(cudaErrorSharedObjectSymbolNotFound),
        NAME(cudaErrorSharedObjectInitFailed),
        NAME(cudaErrorOperatingSystem),
        NAME(cudaErrorInvalidResourceHandle),
        NAME(cudaErrorIllegalState),
        NAME(cudaErrorLossyQuery),
        NAME(cudaErrorSymbolNotFound),
        NAME(cudaErrorNotReady),
        NAME(cudaErrorIllegalAddress),
        NAME(cudaErrorLaunchOutOfResources),
        NAME(cudaErrorLaunchTimeout),
        NAME(cudaErrorLaunchIncompatibleTexturing),
        NAME(cudaErrorPeerAccessAlreadyEnabled),
        NAME(cudaErrorPeerAccessNotEnabled),
        NAME(cudaErrorSetOnActiveProcess),
        NAME(cudaErrorContextIsDestroyed),
        NAME(cudaErrorAssert),
        NAME(cudaErrorTooManyPeers),
        NAME(cudaErrorHostMemoryAlreadyRegistered),
        NAME(cudaErrorHostMemoryNotRegistered),
        NAME(cudaErrorHardwareStackError),
        NAME(cudaErrorIllegalInstruction),
        NAME(cudaErrorMisalignedAddress),
        NAME(cudaErrorInvalidAddressSpace),
        NAME(cudaErrorInvalidPc),
        NAME(cudaErrorLaunchFailure),
        NAME(cudaErrorCooperativeLaunchTooLarge),
        NAME(cudaErrorTensorMemoryLeak),
        NAME(cudaErrorNotPermitted),
        NAME(cudaErrorNotSupported),
        NAME(cudaErrorSystemNotReady),
        NAME(cudaErrorSystemDriverMismatch),
        NAME(cudaErrorCompatNotSupportedOnDevice),
        NAME(cudaErrorMpsConnectionFailed),
        NAME(cudaErrorMpsRpcFailure),
        NAME(cudaErrorMpsServerNotReady),
        NAME(cudaErrorMpsMaxClientsReached),
        NAME(cudaErrorMpsMaxConnectionsReached),
        NAME(cudaErrorMpsClientTerminated),
        NAME(cudaErrorCdpNotSupported),
        NAME(cudaErrorCdpVersionMismatch),
        NAME(cudaErrorStreamCaptureUnsupported),
        NAME(cudaErrorStreamCaptureInvalidated),
        NAME(cudaErrorStreamCaptureMerge),
        NAME(cudaErrorStreamCaptureUnmatched),
        NAME(cudaErrorStreamCaptureUnjoined),
        NAME(cudaErrorStreamCaptureIsolation),
        NAME(cudaErrorStreamCaptureImplicit),
        NAME(cudaErrorCapturedEvent),
        NAME(cudaErrorStreamCaptureWrongThread),
        NAME(cudaErrorTimeout),
        NAME(cudaErrorGraphExecUpdateFailure),
        NAME(cudaErrorExternalDevice),
        NAME(cudaErrorInvalidClusterSize),
        NAME(cudaErrorFunctionNotLoaded),
        NAME(cudaErrorInvalidResourceType),
        NAME(cudaErrorInvalidResourceConfiguration),
        NAME(cudaErrorUnknown),
#undef NAME
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (names[i].error == e) return names[i].name;
    return keyf("error%d", (int)e);
}

char *keyf(const char *format, ...)
{
    static __thread char ring[16][200];
    static __thread unsigned next;
    char *s = ring[next++ % COUNT(ring)];
    va_list a;
    va_start(a, format);
    vsnprintf(s, sizeof ring[0], format, a);
    va_end(a);
    return s;
}

static void line(const char *key, const char *result, const char *format, va_list a, const char *tail)
{
    char text[2000];
    vsnprintf(text, sizeof text, format, a);
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = '|';
    size_t n = strlen(text);
    while (n && text[n - 1] == ' ') text[--n] = 0;
    printf("%s.%s = %s%s%s%s\n", group_name, key, result, *result && *text ? " " : "", text, tail);
    fflush(stdout);
}

void say(const char *key, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    line(key, "", format, a, "");
    va_end(a);
}

void answer(const char *key, cudaError_t result, const char *format, ...)
{
    cudaError_t last = cudaGetLastError();
    va_list a;
    va_start(a, format);
    line(key, name_of(result), format, a, last == result ? "" : keyf(" (last: %s)", name_of(last)));
    va_end(a);
}

void state(const char *key)
{
    static CUcontext seen[16];
    unsigned flags = 77;
    int active = -1;
    CUcontext c = NULL;
    CUresult r = DRIVER(cuDevicePrimaryCtxGetState)(0, &flags, &active);
    CUresult q = DRIVER(cuCtxGetCurrent)(&c);
    const char *which = "none";
    for (int i = 0; c && i < 16; i++) {
        if (!seen[i]) seen[i] = c;
        if (seen[i] != c) continue;
        which = keyf("%c", 'A' + i);
        break;
    }
    say(keyf("%s.state", key), "%d flags %u active %d, current %d %s", r, r ? 0 : flags, r ? 0 : active, q,
        q ? "" : which);
}

sigjmp_buf crashed;

static void on_crash(int) { siglongjmp(crashed, 1); }

void expect_crash(int on)
{
    static struct sigaction before;
    struct sigaction here;
    memset(&here, 0, sizeof here);
    here.sa_handler = on_crash;
    sigaction(SIGSEGV, on ? &here : &before, on ? &before : NULL);
}

void *driver_symbol(const char *name)
{
    static void *library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
    void *f = library ? dlsym(library, name) : NULL;
    if (!f) {
        say("must", "the driver has %s: no", name);
        exit(3);
    }
    return f;
}

const char *all(const void *memory, int value, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != (unsigned char)value) return keyf("byte %zu is %02x", i, bytes[i]);
    return "ok";
}

const char *all_on_device(const void *memory, int value, size_t n)
{
    void *copy = malloc(n);
    cudaError_t e = cudaMemcpy(copy, memory, n, cudaMemcpyDefault);
    const char *text = e ? name_of(e) : all(copy, value, n);
    free(copy);
    return text;
}

unsigned hash(const void *memory, size_t n)
{
    unsigned h = 2166136261u;
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)memory)[i]) * 16777619u;
    return h;
}

void wait_for_gate(void *gate)
{
    while (!((struct gate *)gate)->open) usleep(200);
}

void gate_close(struct gate *g, cudaStream_t stream)
{
    g->open = 0;
    MUST(cudaLaunchHostFunc(stream, wait_for_gate, g));
}

void gate_open(struct gate *g) { g->open = 1; }

static int ask_one(const char *name)
{
    for (const struct group *g = groups; g->name; g++)
        if (!strcmp(g->name, name)) {
            group_name = g->name;
            alarm(seconds_of_a_group);
            g->ask();
            say("finished", "yes");
            _exit(0);
        }
    return 2;
}

static void run(char *self, const struct group *g)
{
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        execl("/proc/self/exe", self, "--one", g->name, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        printf("%s.crash = signal %d\n", g->name, WTERMSIG(status));
    else if (WEXITSTATUS(status))
        printf("%s.exit = %d\n", g->name, WEXITSTATUS(status));
    fflush(stdout);
}

/* PROGRAM [--list | --one GROUP | --devices N] [GROUP-PREFIX...] */
int main(int argc, char **argv)
{
    int devices = 1, first = 1;
    if (argc == 3 && !strcmp(argv[1], "--one")) return ask_one(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "--devices")) {
        devices = atoi(argv[2]);
        first = 3;
    }
    int list = argc > 1 && !strcmp(argv[1], "--list");
    if (list) first = 2;
    for (const struct group *g = groups; g->name; g++) {
        int wanted = first >= argc;
        for (int i = first; i < argc; i++)
            if (!strncmp(argv[i], g->name, strlen(argv[i]))) wanted = 1;
        if (!wanted || (g->devices > devices && !list)) continue;
        if (list)
            puts(g->name);
        else
            run(argv[0], g);
    }
    return 0;
}
