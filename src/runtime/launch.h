/* What launches and questions about them share: the driver's form of a launch. */
#ifndef FL_RUNTIME_LAUNCH_H
#define FL_RUNTIME_LAUNCH_H

#include "runtime/runtime.h"

/* Attributes are the caller's: they have the driver's numbers and layout. */
CUlaunchConfig launch_config(const cudaLaunchConfig_t *config);

#endif
