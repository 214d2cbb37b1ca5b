/* Messages with a descriptor, over sequenced-packet sockets in the abstract
 * namespace, which go with their process. */
#ifndef FL_BASE_MESSAGE_H
#define FL_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { MESSAGE_NAME = 16 };

/* The address of the socket called prefix and name, MESSAGE_NAME bytes. */
socklen_t message_address(const char *prefix, const unsigned char *name, struct sockaddr_un *out);
/* fd -1: none. */
bool message_send(int s, const void *bytes, size_t size, int fd);
/* False at the end of the connection too; errno EAGAIN: nothing came in time. *fd is -1 if none came. */
bool message_receive(int s, void *bytes, size_t size, int *fd);
/* Nobody who is asked, or asks, can make the other wait for longer. */
void message_be_impatient(int s, uint64_t us);

#endif
