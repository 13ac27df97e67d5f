/* SHA-256 of an open file, a slice at a time, so that the loop never waits long for a large one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;

enum { DIGEST_HEX_SIZE = 65 };

/* Loads what the library needs, before the program locks itself out of the file system. */
bool digest_prepare(void);

struct digest *digest_new(void);
struct digest *digest_free(struct digest *digest); /* accepts NULL; returns NULL */

/* Reads the next bytes of fd, at most max. 1: there is more; 0: the end, hex is filled; negative errno.
 * After the end (or an error) the digest may be used for another file. */
int digest_slice(struct digest *digest, int fd, size_t max, char hex[DIGEST_HEX_SIZE]);
