#include "front/arguments.h"

#include <string.h>

#include "base/parse.h"

static bool parse_number(const char *name, const char *text, uint32_t *ret, struct error *err)
{
	uint64_t value;

	if (!text || parse_uint64(text, &value) < 0 || value > UINT32_MAX)
		return error_set(err, ERR_INPUT, 0, "%s needs a number", name);
	*ret = (uint32_t)value;
	return true;
}

bool arguments_parse(struct arguments *ret, int argc, char **argv, struct error *err)
{
	int i = 2;

	*ret = (struct arguments){ 0 };
	if (argc < 2 || (strcmp(argv[1], "run") != 0 && strcmp(argv[1], "mcp") != 0))
		return error_set(err, ERR_INPUT, 0,
				 "hotcell-front is started by hotcell; try `hotcell --help`");
	ret->serves_mcp = strcmp(argv[1], "mcp") == 0;
	for (; i < argc && argv[i][0] == '-'; i += 2) {
		uint32_t value = 0;

		if (!parse_number(argv[i], argv[i + 1], &value, err))
			return false;
		if (!strcmp(argv[i], "--uid")) {
			ret->has_uid = true;
			ret->uid = value;
		} else if (!strcmp(argv[i], "--keep-uid")) {
			ret->keeps_uid = value != 0;
		} else if (!strcmp(argv[i], "--trees")) {
			ret->has_trees = true;
			ret->trees = value;
		} else {
			return error_set(err, ERR_INPUT, 0, "unknown option %s", argv[i]);
		}
	}
	ret->folders = (const char *const *)(argv + i);
	return true;
}
