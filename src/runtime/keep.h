/* Memory that lives as long as its runtime: everything is kept, nothing is freed singly. */
#pragma once

#include <stddef.h>

struct keep {
	void **items;
	size_t n;
};

void *keep_zeroed(struct keep *k, size_t n, size_t size);
char *keep_text(struct keep *k, const char *text, size_t len);
void keep_done(struct keep *k);
