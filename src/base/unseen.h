/* Functions that sanitizers do not look at. */
#ifndef FL_BASE_UNSEEN_H
#define FL_BASE_UNSEEN_H

#if defined __SANITIZE_THREAD__
#define UNSEEN __attribute__((no_sanitize_thread))
#elif defined __SANITIZE_ADDRESS__
#define UNSEEN __attribute__((no_sanitize_address))
#else
#define UNSEEN
#endif

#endif
