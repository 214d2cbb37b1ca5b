/* Why a call fails, where its error says less than is known: rules of the driver
 * that programs stumble over. What becomes known of the call ends with it. */
#ifndef FL_BASE_BECAUSE_H
#define FL_BASE_BECAUSE_H

void because_note(int error, const char *why);
/* What the calling thread said last, if it was about this error; NULL: nothing. It is forgotten. */
const char *because_take(int error);

/* Returns the error. why is a literal: "sizes are multiples of 2 MiB". */
static inline int because(int error, const char *why)
{
    because_note(error, why);
    return error;
}

#endif
