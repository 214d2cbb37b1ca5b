/* Signals by which this library reaches threads of the program. */
#ifndef FL_ORDINARY_FREE_SIGNAL_H
#define FL_ORDINARY_FREE_SIGNAL_H

/* One that nobody else uses, with this handler from now on; *chosen is what was found before (0: nothing yet).
 * Interrupted calls begin again where the system can do that. 0: there is none. */
int free_signal(int *chosen, void (*handler)(int));

#endif
