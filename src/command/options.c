#include "command/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "base/macros.h"
#include "base/parse.h"

enum {
	OPTIONS_MAX = 32,
	/* What getopt_long returns for row n: beyond every letter. */
	ROW_CODE = 0x1000,
	HELP_COLUMN = 26,
};

/* One kind of number: how its text is read and how its range is told. */
struct number {
	const char *what;
	const char *example;
	int (*parse)(const char *text, uint64_t *ret);
	void (*print)(uint64_t value, char *text, size_t size);
};

static void print_bytes(uint64_t value, char *text, size_t size)
{
	(void)format_bytes(value, text, size);
}

static void print_ms(uint64_t value, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64 " ms", value);
}

static void print_milli(uint64_t value, char *text, size_t size)
{
	snprintf(text, size, "%g", (double)value / 1000);
}

static void print_count(uint64_t value, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64, value);
}

static const struct number bytes_number = { "a size", "256M", parse_bytes, print_bytes };
static const struct number ms_number = { "a time", "5000 or 5s", parse_duration_ms, print_ms };
static const struct number milli_number = { "a number", "0.5", parse_milli, print_milli };
static const struct number count_number = { "a whole number", "64", parse_uint64, print_count };

static bool take_number(const struct number *number, const struct option_row *row, const char *text,
			void *into, struct error *err)
{
	char bound[32];
	uint64_t value;
	int r = number->parse(text, &value);

	if (r == 0 && (row->max == 0 || (value >= row->min && value <= row->max))) {
		memcpy((char *)into + row->offset, &value, sizeof(value));
		return true;
	}
	if (r == -ERANGE || (r == 0 && value > row->max)) {
		number->print(row->max, bound, sizeof(bound));
		return error_set(err, ERR_INPUT, 0, "--%s %s is too much: at most %s is allowed",
				 row->name, text, bound);
	}
	number->print(row->min, bound, sizeof(bound));
	if (r == 0)
		return error_set(err, ERR_INPUT, 0, "--%s %s is too little: it must be at least %s",
				 row->name, text, bound);
	return error_set(err, ERR_INPUT, 0, "--%s %s is not %s: give for example %s, at least %s",
			 row->name, text, number->what, number->example, bound);
}

bool option_take_bytes(const struct option_row *row, const char *text, void *into,
		       struct error *err)
{
	return take_number(&bytes_number, row, text, into, err);
}

bool option_take_ms(const struct option_row *row, const char *text, void *into, struct error *err)
{
	return take_number(&ms_number, row, text, into, err);
}

bool option_take_milli(const struct option_row *row, const char *text, void *into,
		       struct error *err)
{
	return take_number(&milli_number, row, text, into, err);
}

bool option_take_count(const struct option_row *row, const char *text, void *into,
		       struct error *err)
{
	return take_number(&count_number, row, text, into, err);
}

bool option_take_switch(const struct option_row *row, const char *text, void *into,
			struct error *err)
{
	bool on = true;

	(void)text;
	(void)err;
	memcpy((char *)into + row->offset, &on, sizeof(on));
	return true;
}

bool option_take_text(const struct option_row *row, const char *text, void *into, struct error *err)
{
	(void)err;
	memcpy((char *)into + row->offset, &text, sizeof(text));
	return true;
}

bool option_take_list(const struct option_row *row, const char *text, void *into, struct error *err)
{
	struct option_list *list = (void *)((char *)into + row->offset);

	if (list->n == OPTION_LIST_MAX)
		return error_set(err, ERR_INPUT, 0, "--%s is given more than %d times", row->name,
				 OPTION_LIST_MAX);
	list->text[list->n++] = text;
	return true;
}

static const struct option_row *row_of(const struct option_row *rows, size_t n_rows, int code)
{
	if (code >= ROW_CODE)
		return &rows[code - ROW_CODE];
	for (size_t i = 0; i < n_rows; i++)
		if (rows[i].letter && rows[i].letter == code)
			return &rows[i];
	return NULL;
}

/* getopt's own tables: "+" stops at the first argument, ":" tells a missing value from an unknown
 * option. */
static void getopt_tables(const struct option_row *rows, size_t n_rows,
			  char letters[2 * OPTIONS_MAX + 3], struct option longs[OPTIONS_MAX + 1])
{
	char *p = stpcpy(letters, "+:");

	for (size_t i = 0; i < n_rows; i++) {
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].value ? required_argument : no_argument,
			.val = ROW_CODE + (int)i,
		};
		if (!rows[i].letter)
			continue;
		*p++ = rows[i].letter;
		if (rows[i].value)
			*p++ = ':';
	}
	*p = '\0';
}

static bool tell_misuse(int code, const struct option_row *row, const char *word, const char *name,
			struct error *err)
{
	if (code == ':')
		return error_set(err, ERR_INPUT, 0, "%s needs a value: %s", word,
				 row && row->value ? row->value : "none was given");
	if (row && !row->value)
		return error_set(err, ERR_INPUT, 0, "--%s takes no value", row->name);
	if (optopt && optopt < ROW_CODE)
		return error_set(err, ERR_INPUT, 0, "there is no option -%c: see `hotcell help %s`",
				 optopt, name);
	return error_set(err, ERR_INPUT, 0, "there is no option %s: see `hotcell help %s`", word,
			 name);
}

bool options_parse(const struct option_row *rows, size_t n_rows, int argc, char **argv, void *into,
		   int *ret_first, struct error *err)
{
	char letters[2 * OPTIONS_MAX + 3];
	struct option longs[OPTIONS_MAX + 1] = { 0 };

	if (n_rows > OPTIONS_MAX)
		return error_set(err, ERR_SYSTEM, 0, "too many options in the table");
	getopt_tables(rows, n_rows, letters, longs);
	optind = 0; /* starts getopt anew */
	opterr = 0;
	for (;;) {
		int code = getopt_long(argc, argv, letters, longs, NULL);
		const struct option_row *row;

		if (code == -1)
			break;
		row = row_of(rows, n_rows, code == '?' || code == ':' ? optopt : code);
		if (code == '?' || code == ':')
			return tell_misuse(code, row, argv[optind - 1], argv[0], err);
		if (!row || !row->take(row, optarg, into, err))
			return row ? false : error_set(err, ERR_SYSTEM, 0, "option without a row");
	}
	*ret_first = optind;
	return true;
}

void options_print(const struct option_row *rows, size_t n_rows, FILE *to)
{
	for (size_t i = 0; i < n_rows; i++) {
		char left[64], letter[8] = "    ";

		if (rows[i].letter)
			snprintf(letter, sizeof(letter), "-%c, ", rows[i].letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, rows[i].name,
			 rows[i].value ? " " : "", rows[i].value ? rows[i].value : "");
		fprintf(to, "  %-*s %s\n", HELP_COLUMN, left, rows[i].help);
	}
}
