/* What the program gives back of its memory where a device has reached that (madvise with MADV_DONTNEED, MADV_FREE). */
#ifndef FL_ORDINARY_GIVEN_H
#define FL_ORDINARY_GIVEN_H

/* The program's calls of madvise are seen from now on; again: those of libraries that were loaded since, too. Without
 * locks. */
void given_lead(void);

#endif
