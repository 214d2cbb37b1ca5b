/* The faultline command: one subcommand a file. */
#ifndef FL_CLI_CLI_H
#define FL_CLI_CLI_H

#include <stdbool.h>

/* Exit statuses, as shells have them; EXIT_BY_SIGNAL + n: signal n ended the program. */
enum { EXIT_LEAKS = 1, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127, EXIT_BY_SIGNAL = 128 };

/* Each gets its own name as argv[0] and returns the exit status. */
int command_run(int argc, char **argv);
int command_devices(int argc, char **argv);
int command_ptxc(int argc, char **argv);
int command_ptxas(int argc, char **argv);

/* The folder of libcuda.so.1, faultline-device and faultline-ptxc that belong to this
 * executable: its own in a build folder, ../lib/faultline when installed. NULL after a
 * message if there is none. Static storage. */
const char *library_folder(void);

bool wants_help(const char *argument);

/* "faultline: ..." on standard error. Returns 2, the exit status of wrong usage. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* program.c: 0, or after a message the exit status for a program that cannot be run. Warns of those that would
 * run without our library. */
int program_check(const char *name);

/* --- watch.c: what a program that is run does with managed memory */
struct watch_options { bool summary, page_map, leaks; const char *trace_file; };
/* Before the program starts: sets FAULTLINE_TRACE. False after a message. */
bool watch_begin(const struct watch_options *options);
/* When it has ended, however, and nothing has been said of that yet: who reads it may leave it unread. The file of the
 * trace is complete. */
void watch_stop(void);
/* After that: writes what else was asked for. Whether it still had memory, if that was asked for. */
bool watch_end(void);

#endif
