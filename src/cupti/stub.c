/* The rest of CUPTI's activity and callback interfaces: there, so that programs
 * load, and answering CUPTI_ERROR_NOT_SUPPORTED. FAULTLINE_LOG=info names the
 * ones that are called. */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUptiResult not_supported(const char *name)
{
    const char *level = getenv("FAULTLINE_LOG");
    if (level && (!strcmp(level, "info") || !strcmp(level, "debug"))) fprintf(stderr, "faultline: %s is not supported\n", name);
    return CUPTI_ERROR_NOT_SUPPORTED;
}

/* Arguments are not looked at. */
#define STUB(name) \
    FAULTLINE_CUPTI CUptiResult name(void); \
    CUptiResult name(void) { return not_supported(#name); }

STUB(cuptiActivityConfigurePCSampling)
STUB(cuptiActivityDisableContext)
STUB(cuptiActivityEnableAllSyncRecords)
STUB(cuptiActivityEnableAllocationSource)
STUB(cuptiActivityEnableAndDump)
STUB(cuptiActivityEnableContext)
STUB(cuptiActivityEnableCudaEventDeviceTimestamps)
STUB(cuptiActivityEnableDeviceGraph)
STUB(cuptiActivityEnableDriverApi)
STUB(cuptiActivityEnableHWTrace)
STUB(cuptiActivityEnableLatencyTimestamps)
STUB(cuptiActivityEnableLaunchAttributes)
STUB(cuptiActivityEnableRuntimeApi)
STUB(cuptiActivityGetAttribute)
STUB(cuptiActivityPopExternalCorrelationId)
STUB(cuptiActivityPushExternalCorrelationId)
STUB(cuptiActivityRegisterTimestampCallback)
STUB(cuptiActivitySetAttribute)
STUB(cuptiComputeCapabilitySupported)
STUB(cuptiDeviceSupported)
STUB(cuptiDeviceVirtualizationMode)
STUB(cuptiEnableAllDomains)
STUB(cuptiEnableCallback)
STUB(cuptiEnableDomain)
STUB(cuptiFinalize)
STUB(cuptiGetAutoBoostState)
STUB(cuptiGetCallbackName)
STUB(cuptiGetCallbackState)
STUB(cuptiGetContextId)
STUB(cuptiGetDeviceId)
STUB(cuptiGetGraphExecId)
STUB(cuptiGetGraphId)
STUB(cuptiGetGraphNodeId)
STUB(cuptiGetLastError)
STUB(cuptiGetStreamId)
STUB(cuptiGetStreamIdEx)
STUB(cuptiGetThreadIdType)
STUB(cuptiSetThreadIdType)
STUB(cuptiSubscribe)
STUB(cuptiSubscribe_v2)
STUB(cuptiSupportedDomains)
STUB(cuptiUnsubscribe)
