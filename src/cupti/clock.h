/* The clock of records: the system's, or one of the client's. */
#ifndef FL_CUPTI_CLOCK_H
#define FL_CUPTI_CLOCK_H

#include <stdint.h>

/* Nanoseconds since 1970. */
uint64_t clock_system(void);
/* Looks at both clocks. What is converted afterwards lies between here and where the client's was registered. */
void clock_look(void);
/* The client's time of one of the system's; without a clock of the client's, and for 0, that itself. */
uint64_t clock_convert(uint64_t time);
/* Of a fork: nobody holds its lock there. */
void clock_in_child(void);

#endif
