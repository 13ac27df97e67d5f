/*
 * Memory that cannot fail: out of memory ends the program. Whatever a stranger sizes is bounded
 * before it comes here (see buf.h), so a request cannot reach that end.
 */
#pragma once

#include <stddef.h>

#include "base/macros.h"

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((returns_nonnull));
char *xasprintf(const char *fmt, ...) _printf_(1, 2) __attribute__((returns_nonnull));

void cleanup_freep(void *p);
#define _cleanup_free_ _cleanup_(cleanup_freep)
