/* hotcell.ini as anybody may write it; what is accepted must read back to the same text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/config.h"
#include "config/ini_text.h"

static bool take_entry(const struct ini_entry *entry, void *data, struct error *err)
{
	(void)data;
	(void)err;
	/* A value that stands in a file could also come from a flag. */
	if (entry->value && !ini_value_check(entry->value, NULL))
		abort();
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ini_reader reader = { .entry = take_entry };
	_cleanup_free_ char *text = xstrndup((const char *)data, size);
	struct config config, again;
	struct error err;

	/* With its NUL bytes, which config_read_text() cannot see. */
	(void)ini_read_text("fuzz", (const char *)data, size, &reader, &err);
	config_init(&config);
	if (config_read_text(&config, "fuzz", text, &err)) {
		_cleanup_free_ char *first = config_to_text(&config), *second = NULL;

		config_init(&again);
		if (!config_read_text(&again, "again", first, &err))
			abort();
		second = config_to_text(&again);
		if (strcmp(first, second) != 0)
			abort();
		config_done(&again);
	} else if (strncmp(err.message, "fuzz:", 5) != 0) {
		abort();
	}
	(void)config_check(&config, &err);
	config_done(&config);
	return 0;
}
