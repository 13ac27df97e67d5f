/* Small words used everywhere: sizes, cleanup on scope exit, handing a resource on. */
#pragma once

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define _cleanup_(f)        __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _noreturn_          __attribute__((noreturn))
#define _unused_            __attribute__((unused))

/* Hands the fd on: the variable that was to close it forgets it. */
#define TAKE_FD(fd)                \
	({                         \
		int *_fd = &(fd);  \
		int _taken = *_fd; \
		*_fd = -1;         \
		_taken;            \
	})

#define TAKE_PTR(p)                         \
	({                                  \
		__typeof__(p) *_p = &(p);   \
		__typeof__(p) _taken = *_p; \
		*_p = NULL;                 \
		_taken;                     \
	})
