/* Stores that go past the cache. A kernel of very many threads, each of which
 * stores its result once, fills the cache with what nobody reads soon, and has
 * each line read before it is written. Its vector stores, where whole lines or
 * halves of them are written, can go to memory directly. Which of them do is
 * decided at run time: by the address, and by b->keep_cached (abi.h). */
#ifndef FL_PTX_STREAM_H
#define FL_PTX_STREAM_H

#include <llvm-c/Types.h>
#include <stdbool.h>

/* Gives the vector stores of functions with STREAMS_ATTRIBUTE (kernel.h) the choice, after
 * they were optimised; true if there are any: what they call then is to be inlined. */
bool stream_stores(LLVMModuleRef module);

#endif
