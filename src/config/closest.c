#include "config/closest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"

/* Words are short; nobody mistypes more than this of one. */
enum { CLOSEST_LENGTH_MAX = 32 };

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Letters to insert, delete, replace or swap with their neighbour to get from a to b. */
static size_t edit_distance(const char *a, size_t la, const char *b, size_t lb)
{
	size_t rows[3][CLOSEST_LENGTH_MAX + 1];

	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *now = rows[i % 3];
		const size_t *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t cost = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;

			now[j] = MIN(last[j], now[j - 1]) + 1;
			now[j] = MIN(now[j], last[j - 1] + cost);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				now[j] = MIN(now[j], before[j - 2] + 1);
		}
	}
	return rows[la % 3][lb];
}

void closest_init(struct closest *c, const char *typed)
{
	/* Half of a short word and a third of a long one may be wrong. */
	size_t len = strlen(typed);

	*c = (struct closest){ .typed = typed, .distance = len <= 4 ? len / 2 + 1 : len / 3 + 1 };
}

void closest_try(struct closest *c, const char *word)
{
	size_t la = strlen(c->typed), lb = strlen(word), distance;

	if (la > CLOSEST_LENGTH_MAX || lb > CLOSEST_LENGTH_MAX)
		return;
	distance = edit_distance(c->typed, la, word, lb);
	if (distance < c->distance) {
		c->distance = distance;
		c->best = word;
	}
}

const char *closest_hint(struct closest *c)
{
	if (!c->best)
		return ".";
	snprintf(c->hint, sizeof(c->hint), "; did you mean '%s'?", c->best);
	return c->hint;
}
