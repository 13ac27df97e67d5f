#include "runtime/keep.h"

#include <stdlib.h>

#include "base/alloc.h"

static void *keep_item(struct keep *k, void *item)
{
	k->items = xrealloc(k->items, (k->n + 1) * sizeof(*k->items));
	k->items[k->n++] = item;
	return item;
}

void *keep_zeroed(struct keep *k, size_t n, size_t size)
{
	return keep_item(k, xcalloc(n, size));
}

char *keep_text(struct keep *k, const char *text, size_t len)
{
	return keep_item(k, xstrndup(text, len));
}

void keep_done(struct keep *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->items[i]);
	free(k->items);
	*k = (struct keep){ 0 };
}
