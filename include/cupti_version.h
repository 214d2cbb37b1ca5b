/* The version of CUPTI that this one answers like. See cupti.h. */
#ifndef FAULTLINE_CUPTI_VERSION_H
#define FAULTLINE_CUPTI_VERSION_H

#include "cupti_result.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUPTI_API_VERSION 130001
FAULTLINE_CUPTI CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version);

#ifdef __cplusplus
}
#endif
#endif
