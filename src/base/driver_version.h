/* Which CUDA version the driver says it is of: 13.0, or what FAULTLINE_DRIVER asks for, so that programs of newer
 * toolkits that look at the version go on. No entry point comes with it. */
#ifndef FL_BASE_DRIVER_VERSION_H
#define FL_BASE_DRIVER_VERSION_H

/* As cuDriverGetVersion answers; also before cuInit. */
int driver_version(void);
int driver_minor(void);

#endif
