/* What the program locks of its memory: all of it, but devices' (mlockall). */
#ifndef FL_ORDINARY_LOCKED_H
#define FL_ORDINARY_LOCKED_H

/* The program's calls of mlockall are seen from now on; again: those of libraries that were loaded since, too. Without
 * locks. */
void locked_lead(void);

#endif
