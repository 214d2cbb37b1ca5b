/* SIGSEGV's handler stays ours, whatever the program installs. */
#ifndef FL_PROCESSOR_HOST_HOOK_H
#define FL_PROCESSOR_HOST_HOOK_H

#include <signal.h>
#include <stdbool.h>

/* Once: our handler of SIGSEGV; from now on what sigaction and signal are asked for is only remembered, and nobody blocks
 * that signal: a fault of ours would end the process. */
void hook_install(void (*handler)(int, siginfo_t *, void *));
/* Libraries may have been loaded. */
void hook_objects(void);
/* A handler may have been installed by other ways than sigaction and signal. Cheap. */
void hook_look_again(void);
/* What the program last asked for, to be called now. In a signal handler, too. */
struct sigaction hook_take(void);
/* Whether the calling thread has SIGSEGV blocked, as it believes. */
bool hook_blocked(void);
/* The process ends with the next SIGSEGV. */
void hook_default(void);

#endif
