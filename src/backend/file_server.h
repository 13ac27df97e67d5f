/*
 * The front's side of one hotcell-files: requests in order, one on the way at a time.
 *
 * Requests may be made before the socket is there; they wait. What comes back is checked like
 * everything that comes from a cell. When the other side breaks off or says something it may not,
 * every request still open (and every later one) completes with an errno.
 */
#pragma once

#include "backend/backend.h"

struct file_server;
struct loop;

struct file_server *file_server_new(struct loop *loop);
/* No completion is called. Accepts NULL; returns NULL. */
struct file_server *file_server_free(struct file_server *server);

void file_server_connect(struct file_server *server, int socket); /* takes the socket */
void file_server_fail(struct file_server *server, int errnum);

void file_server_list(struct file_server *server, uint32_t max, cell_listed done, void *data);
void file_server_open(struct file_server *server, const char *path, cell_opened done, void *data);
void file_server_put(struct file_server *server, const char *path, bool executable, int fd,
		     cell_put_done done, void *data);
