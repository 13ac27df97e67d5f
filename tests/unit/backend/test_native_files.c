#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "native_world.h"

static void on_listed(int errnum, const struct cell_file *files, size_t n_files, uint64_t skipped,
		      void *data)
{
	struct world *world = data;

	(void)skipped;
	world->listed++;
	world->files_errnum = errnum;
	world->n_files = n_files;
	if (n_files)
		snprintf(world->first, sizeof(world->first), "%s", files[0].path);
}

static void on_opened(int errnum, int fd, uint64_t size, void *data)
{
	struct world *world = data;

	(void)size;
	world->opened++;
	world->files_errnum = errnum;
	(void)fd_close(fd);
}

static void on_put(int errnum, void *data)
{
	struct world *world = data;

	world->put++;
	world->files_errnum = errnum;
}

/* Connects a hotcell-files that the test plays; returns its end. */
static int serve_files(struct world *world)
{
	WIRE_MESSAGE(warden_files_ready, ready, WARDEN_FILES_READY);
	int pair[2];

	assert_int_equal(receive(world, NULL, 0), WARDEN_FILES);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ready.cell = 77;
	assert_int_equal(wire_send(world->warden, &ready, &pair[0], 1), 0);
	(void)fd_close(pair[0]);
	loop_step(world->loop);
	return pair[1];
}

static void receive_request(int files, uint16_t type)
{
	_Alignas(8) char buffer[WIRE_MAX_BYTES];
	_cleanup_fds_ struct wire_fds fds;
	struct wire_header header;

	assert_true(wire_recv(files, buffer, sizeof(buffer), &fds) > 0);
	memcpy(&header, buffer, sizeof(header));
	assert_int_equal(header.type, type);
}

static void open_world_with_cell(struct world *world)
{
	world_open(world);
	say_hello(world);
	ask(world, 0);
	create(world, false);
}

static void test_files(void **state)
{
	WIRE_MESSAGE(files_entry, entry, FILES_ENTRY);
	WIRE_MESSAGE(files_end, end, FILES_END);
	WIRE_MESSAGE(files_opened, opened, FILES_OPENED);
	WIRE_MESSAGE(files_done, done, FILES_DONE);
	struct world world;
	int files;

	(void)state;
	open_world_with_cell(&world);
	cell_put(world.cell, "in.txt", false, world.kill, on_put, &world);
	cell_list(world.cell, 10, on_listed, &world);
	cell_open(world.cell, "a/b", on_opened, &world);
	files = serve_files(&world);
	receive_request(files, FILES_PUT);
	assert_int_equal(wire_send(files, &done, NULL, 0), 0);
	while (!world.put)
		loop_step(world.loop);
	receive_request(files, FILES_LIST);
	snprintf(entry.path, sizeof(entry.path), "a/b");
	assert_int_equal(wire_send(files, &entry, NULL, 0), 0);
	assert_int_equal(wire_send(files, &end, NULL, 0), 0);
	while (!world.listed)
		loop_step(world.loop);
	assert_int_equal(world.n_files, 1);
	assert_string_equal(world.first, "a/b");
	receive_request(files, FILES_OPEN);
	assert_int_equal(wire_send(files, &opened, &world.warden, 1), 0);
	while (!world.opened)
		loop_step(world.loop);
	assert_int_equal(world.files_errnum, 0);
	(void)fd_close(files);
	world_close(&world);
}

/* Names are hostile: each of these ends the conversation, and every request is still answered. */
static void test_hostile_entries(void **state)
{
	static const char *const paths[] = {
		"", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "."
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths) + 3; i++) {
		WIRE_MESSAGE(files_entry, entry, FILES_ENTRY);
		struct world world;
		int files;

		print_message("entry %zu\n", i);
		open_world_with_cell(&world);
		cell_list(world.cell, 1, on_listed, &world);
		cell_open(world.cell, "x", on_opened, &world);
		files = serve_files(&world);
		receive_request(files, FILES_LIST);
		snprintf(entry.path, sizeof(entry.path), "%s",
			 i < ARRAY_SIZE(paths) ? paths[i] : "good");
		if (i == ARRAY_SIZE(paths)) /* no end */
			memset(entry.path, 'a', sizeof(entry.path));
		if (i == ARRAY_SIZE(paths) + 1)
			entry.kind = 99;
		if (i == ARRAY_SIZE(paths) + 2) /* more than asked for */
			assert_int_equal(wire_send(files, &entry, NULL, 0), 0);
		assert_int_equal(wire_send(files, &entry, NULL, 0), 0);
		while (!world.listed || !world.opened)
			loop_step(world.loop);
		assert_int_equal(world.files_errnum, EPROTO);
		/* Later ones too. */
		cell_put(world.cell, "y", true, world.kill, on_put, &world);
		while (!world.put)
			loop_step(world.loop);
		assert_int_equal(world.files_errnum, EPROTO);
		(void)fd_close(files);
		world_close(&world);
	}
}

static void test_files_cannot_start(void **state)
{
	WIRE_MESSAGE(warden_files_ready, ready, WARDEN_FILES_READY);
	struct world world;

	(void)state;
	open_world_with_cell(&world);
	cell_list(world.cell, 1, on_listed, &world);
	ready.cell = 77;
	ready.errnum = EACCES;
	assert_int_equal(wire_send(world.warden, &ready, NULL, 0), 0);
	while (!world.listed)
		loop_step(world.loop);
	assert_int_equal(world.files_errnum, EACCES);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_hostile_entries),
		cmocka_unit_test(test_files_cannot_start),
	};

	return cmocka_run_group_tests_name("native_files", tests, NULL, NULL);
}
