/* Who waits for a thread to end sleeps on a word of its descriptor, and is found by the memory that the word lies in. */
#ifndef FL_ORDINARY_JOINERS_H
#define FL_ORDINARY_JOINERS_H

#include <stdint.h>

/* Other memory has come to lie behind [va, va+size): who sleeps there on a word that processes could share looks at
 * it anew. Words of which the program says that they are its own alone are found by address. */
void joiners_look_again(uint64_t va, uint64_t size);

#endif
