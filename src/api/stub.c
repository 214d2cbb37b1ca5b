/* What the entry points that nobody has written yet do. */
#include "api/api.h"
#include "base/log.h"
#include "context/context.h"
#include <stdatomic.h>

CUresult api_not_supported(const char *name, _Atomic bool *said)
{
    CUresult r = library_ready();
    if (r) return r;
    if (!atomic_exchange(said, true))
        fl_log(FL_LOG_WARN, "%s is not implemented; it answers CUDA_ERROR_NOT_SUPPORTED", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}
