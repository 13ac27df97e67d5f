/*
 * Runs a fuzz target without libFuzzer: every file of the corpus folders given, then mutations of
 * them. The mutations come from a fixed seed, so a failure happens again on the next run.
 *
 * With HOTCELL_REPLAY_SAVE=FILE each input is written there before it is tried; after a crash the
 * file holds the culprit, ready for the corpus.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX (64 * 1024)
#define SEEDS_MAX 4096
#define MUTATIONS 4000

struct seed {
	uint8_t *data;
	size_t size;
};

static struct seed seeds[SEEDS_MAX];
static size_t n_seeds;
static uint64_t random_state = 0x9e3779b97f4a7c15;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % limit;
}

static void try_input(const uint8_t *data, size_t size)
{
	const char *save = getenv("HOTCELL_REPLAY_SAVE");
	/* An exact copy on the heap, so that ASan sees a read of one byte too many. */
	uint8_t *copy = malloc(size > 0 ? size : 1);

	if (!copy)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	if (save) {
		FILE *f = fopen(save, "we");

		if (f) {
			fwrite(copy, 1, size, f);
			fclose(f);
		}
	}
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void add_seed(const uint8_t *data, size_t size)
{
	struct seed *s;

	if (n_seeds == SEEDS_MAX)
		return;
	s = &seeds[n_seeds++];
	s->data = malloc(size > 0 ? size : 1);
	if (!s->data)
		abort();
	if (size > 0)
		memcpy(s->data, data, size);
	s->size = size;
}

/* The order of readdir() differs between machines; the mutations must not. */
static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void load_folder(const char *path)
{
	static uint8_t data[INPUT_MAX];
	struct dirent **entries;
	int n = scandir(path, &entries, not_hidden, alphasort);

	for (int i = 0; i < n; i++) {
		char name[4096];
		FILE *f;

		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		free(entries[i]);
		f = fopen(name, "re");
		if (!f)
			continue;
		add_seed(data, fread(data, 1, sizeof(data), f));
		fclose(f);
	}
	if (n >= 0)
		free(entries);
}

static size_t mutate_once(uint8_t *data, size_t size)
{
	static const uint8_t edges[] = { 0x00, 0x01, 0x7f, 0x80, 0xff, '\n', '"', '=' };
	uint32_t at = size > 0 ? random_below((uint32_t)size) : 0;
	uint32_t run = 1 + random_below(16);

	switch (size > 0 ? random_below(6) : 4) {
	case 0:
		data[at] ^= (uint8_t)(1u << random_below(8));
		return size;
	case 1:
		data[at] = edges[random_below(sizeof(edges))];
		return size;
	case 2: /* cut the end off */
		return at;
	case 3: /* take a piece out */
		if (run > size - at)
			run = (uint32_t)(size - at);
		memmove(data + at, data + at + run, size - at - run);
		return size - run;
	case 4: /* put noise in */
		if (size + run > INPUT_MAX)
			return size;
		memmove(data + at + run, data + at, size - at);
		for (uint32_t i = 0; i < run; i++)
			data[at + i] = (uint8_t)random_below(256);
		return size + run;
	default: /* copy a piece elsewhere */
		if (run > size - at)
			run = (uint32_t)(size - at);
		memmove(data + random_below((uint32_t)(size - run + 1)), data + at, run);
		return size;
	}
}

int main(int argc, char **argv)
{
	static uint8_t data[INPUT_MAX];

	for (int i = 1; i < argc; i++)
		load_folder(argv[i]);
	for (size_t i = 0; i < n_seeds; i++)
		try_input(seeds[i].data, seeds[i].size);
	printf("%zu corpus files\n", n_seeds);

	add_seed(data, 0);
	for (int i = 0; i < MUTATIONS; i++) {
		const struct seed *s = &seeds[random_below((uint32_t)n_seeds)];
		size_t size = s->size;

		memcpy(data, s->data, size);
		for (uint32_t steps = 1 + random_below(8); steps > 0; steps--)
			size = mutate_once(data, size);
		try_input(data, size);
	}
	printf("%d mutations\n", MUTATIONS);

	for (size_t i = 0; i < n_seeds; i++)
		free(seeds[i].data);
	return 0;
}
