/* hotcell-probe's lines beside what they should be. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "command/doctor.h"

/* From here on Landlock keeps a program from signalling what is outside its domain: pid 1. */
enum { LANDLOCK_ABI_SIGNALS = 6 };

static const char *expected_of(const struct expectation *row, const struct trial *trial)
{
	bool is_one = trial->identity.privilege == PRIVILEGE_ONE_UID;
	bool is_relaxed = false;

	if (row->relaxed_when == WITH_ONE_UID)
		is_relaxed = is_one;
	else if (row->relaxed_when == WITHOUT_BARRIER)
		is_relaxed = is_one && trial->landlock_abi < LANDLOCK_ABI_SIGNALS;
	return is_relaxed ? row->relaxed : row->expected;
}

/* "A|B" has both A and B. */
static bool is_one_of(const char *list, const char *word)
{
	size_t len = strlen(word);

	if (strcmp(list, "*") == 0)
		return true;
	for (const char *p = list;; p++) {
		size_t n = strcspn(p, "|");

		if (n == len && strncmp(p, word, n) == 0)
			return true;
		p += n;
		if (!*p)
			return false;
	}
}

static struct probe_result *find_result(struct probe_report *report, const char *name, size_t len)
{
	for (size_t i = 0; i < report->n; i++) {
		const char *known = report->results[i].row->name;

		if (strlen(known) == len && strncmp(known, name, len) == 0)
			return &report->results[i];
	}
	return NULL;
}

static void take_line(struct probe_report *report, const char *line, size_t len)
{
	size_t name_len = MIN(strcspn(line, " \n"), len);
	struct probe_result *result = find_result(report, line, name_len);
	size_t got_len = len > name_len ? len - name_len - 1 : 0;

	/* A second line of one name, or a stranger: whatever wrote it is not our probe. */
	if (!result || strcmp(result->got, "nothing") != 0) {
		if (!report->strange[0])
			snprintf(report->strange, sizeof(report->strange), "%.*s",
				 (int)MIN(len, sizeof(report->strange) - 1), line);
		return;
	}
	snprintf(result->got, sizeof(result->got), "%.*s",
		 (int)MIN(got_len, sizeof(result->got) - 1), line + name_len + (got_len > 0));
}

void probe_compare(const char *output, const struct trial *trial, struct probe_report *ret)
{
	*ret = (struct probe_report){ .n = doctor_n_expectations };
	for (size_t i = 0; i < ret->n; i++)
		ret->results[i] = (struct probe_result){
			.row = &doctor_expectations[i],
			.expected = expected_of(&doctor_expectations[i], trial),
			.got = "nothing",
		};
	for (const char *line = output; *line;) {
		size_t len = strcspn(line, "\n");

		if (len > 0)
			take_line(ret, line, len);
		line += len + (line[len] == '\n');
	}
	for (size_t i = 0; i < ret->n; i++) {
		struct probe_result *result = &ret->results[i];

		/* That an attempt was made at all is never optional. */
		result->ok = strcmp(result->got, "nothing") != 0 &&
			     is_one_of(result->expected, result->got);
		ret->n_wrong += !result->ok;
	}
	ret->n_wrong += ret->strange[0] != '\0';
	ret->is_complete = ret->results[ret->n - 1].ok;
}
