/* Messages with a descriptor, over sequenced-packet sockets: between the host
 * and its device processes, and, by names in the abstract namespace, which go
 * with their process, between those who share memory. */
#ifndef FL_BASE_MESSAGE_H
#define FL_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { MESSAGE_NAME = 16 };

/* The address of the socket called prefix and name, MESSAGE_NAME bytes; the length of it. */
socklen_t message_address(const char *prefix, const unsigned char *name, struct sockaddr_un *out);
/* A socket with a new name, MESSAGE_NAME bytes, for others to call. flags: SOCK_NONBLOCK or 0. -1: errno says why not. */
int message_listen(const char *prefix, unsigned char *name, int flags);
/* To the socket of that name. False: errno EAGAIN: it has too many callers, and took none in time; else nobody has it. */
bool message_connect(int s, const char *prefix, const unsigned char *name);
/* fd -1: none. False: errno says why it was not sent. */
bool message_send(int s, const void *bytes, size_t size, int fd);
/* The same without waiting; errno EAGAIN, ETOOMANYREFS: not before the other side has received some. */
bool message_try(int s, const void *bytes, size_t size, int fd);
/* Waits for a message of size bytes. False at the end of the connection too; errno EAGAIN: nothing came in
 * time. *fd is the caller's to close; -1 if none came, or if the process has no room for another descriptor. */
bool message_receive(int s, void *bytes, size_t size, int *fd);
/* Connecting, sending and receiving wait no longer than this: nobody who is asked, or asks, can hold up the other. */
void message_be_impatient(int s, uint64_t us);

#endif
