/* SIGSEGV's handler stays ours, whatever the program installs. */
#ifndef FL_PROCESSOR_HOST_HOOK_H
#define FL_PROCESSOR_HOST_HOOK_H

#include <signal.h>

/* Once: our handler of SIGSEGV; from now on what sigaction and signal are asked for is only remembered. */
void hook_install(void (*handler)(int, siginfo_t *, void *));
/* Libraries may have been loaded. */
void hook_objects(void);
/* A handler may have been installed by other ways than sigaction and signal. Cheap. */
void hook_look_again(void);
/* What the program last asked for. In a signal handler, too. */
struct sigaction hook_action(void);
/* The process ends with the next SIGSEGV. */
void hook_default(void);

#endif
