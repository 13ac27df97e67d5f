/*
 * "Did you mean ...": of several known words the one nearest to what was typed.
 *
 * closest_init(&c, typed), closest_try(&c, word) for each known word, then c.best: borrowed, NULL when
 * nothing is near enough to be a slip of the fingers; or closest_hint() for the sentence.
 */
#pragma once

#include <stddef.h>

struct closest {
	const char *typed;
	const char *best;
	size_t distance;
	char hint[56];
};

void closest_init(struct closest *c, const char *typed);
void closest_try(struct closest *c, const char *word);

/* "; did you mean 'timeout'?" or ".", to stand after "there is no ...". Lives in c. */
const char *closest_hint(struct closest *c);
