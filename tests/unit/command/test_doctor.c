/* What the doctor reads of a machine, and what it makes of the probe's lines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "command/context.h"
#include "command/doctor.h"

static const struct {
	const char *text;
	bool ok;
	unsigned major, minor;
} releases[] = {
	{ "6.18.44-fc-v445", true, 6, 18 },
	{ "5.4.0-42-generic", true, 5, 4 },
	{ "5.15.153.1-microsoft-standard-WSL2", true, 5, 15 },
	{ "6", false, 0, 0 },
	{ "linux", false, 0, 0 },
	{ "", false, 0, 0 },
};

static void test_release(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		unsigned major = 0, minor = 0;

		print_message("parse_release(\"%s\")\n", releases[i].text);
		assert_int_equal(parse_release(releases[i].text, &major, &minor), releases[i].ok);
		if (releases[i].ok) {
			assert_int_equal(major, releases[i].major);
			assert_int_equal(minor, releases[i].minor);
		}
	}
}

static const struct {
	const char *what, *text, *first;
	unsigned count;
} masks[] = {
	{ "nothing", "", "", 0 },
	{ "a plain host", "22 1 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n", "", 0 },
	{ "systemd's automount",
	  "22 1 0:21 / /proc rw - proc proc rw\n"
	  "30 22 0:30 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n",
	  "", 0 },
	{ "docker",
	  "500 499 0:61 / /proc rw,nosuid - proc proc rw\n"
	  "510 500 0:61 /bus /proc/bus ro,nosuid - proc proc rw\n"
	  "515 500 0:66 / /proc/acpi ro - tmpfs tmpfs ro\n"
	  "516 500 0:62 /null /proc/kcore rw - tmpfs tmpfs rw\n",
	  "/proc/bus", 3 },
	{ "no newline at the end", "1 2 0:3 / /proc/keys rw - tmpfs tmpfs rw", "/proc/keys", 1 },
	{ "a broken line", "x\n\n1 2\n", "", 0 },
};

static void test_masks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		char first[64];

		print_message("%s\n", masks[i].what);
		assert_int_equal(count_proc_masks(masks[i].text, first, sizeof(first)),
				 masks[i].count);
		assert_string_equal(first, masks[i].first);
	}
}

/* ---- another machine ---- */

struct machine {
	char root[64];
	struct context context;
	struct doctor doctor;
};

static void put_file(const struct machine *m, const char *path, const char *text)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", m->root, path);
	for (char *p = full + strlen(m->root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(full, 0755);
		*p = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	struct machine *m = xcalloc(1, sizeof(*m));

	snprintf(m->root, sizeof(m->root), "/tmp/test-doctor-XXXXXX");
	if (!mkdtemp(m->root))
		return -1;
	config_init(&m->context.config);
	m->doctor.root = m->root;
	m->doctor.context = &m->context;
	m->context.installation.programs = xstrdup("/usr/bin");
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", m->root);
	(void)!system(command);
	config_done(&m->context.config);
	free(m->context.installation.programs);
	free(m);
	return 0;
}

static const struct check *look(struct machine *m, const char *id)
{
	m->doctor.n_checks = 0;
	doctor_look(&m->doctor, doctor_isolation_rows, doctor_n_isolation_rows);
	doctor_look(&m->doctor, doctor_host_rows, doctor_n_host_rows);
	for (size_t i = 0; i < m->doctor.n_checks; i++)
		if (strcmp(m->doctor.checks[i].id, id) == 0)
			return &m->doctor.checks[i];
	fail_msg("no check is called %s", id);
	return &m->doctor.checks[0];
}

static const struct {
	const char *id, *path, *text, *says;
	enum check_status status;
} facts[] = {
	{ "kernel", "/proc/sys/kernel/osrelease", "4.19.0-27-amd64\n", "older", CHECK_DEGRADED },
	{ "kernel", "/proc/sys/kernel/osrelease", "6.1.0-27-amd64\n", "6.1.0", CHECK_OK },
	{ "wsl", "/proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft\n", "WSL 1", CHECK_FATAL },
	{ "wsl", "/proc/sys/kernel/osrelease", "5.15.1-microsoft-standard-WSL2\n", "WSL 2",
	  CHECK_OK },
	{ "io_uring", "/proc/sys/kernel/io_uring_disabled", "0\n", "= 0", CHECK_DEGRADED },
	{ "io_uring", "/proc/sys/kernel/io_uring_disabled", "2\n", "closed", CHECK_OK },
	{ "ptrace_scope", "/proc/sys/kernel/yama/ptrace_scope", "1\n", "Yama keeps", CHECK_OK },
	{ "tiocsti", "/proc/sys/dev/tty/legacy_tiocsti", "1\n", "TIOCSTI", CHECK_DEGRADED },
	{ "protected_fifos", "/proc/sys/fs/protected_fifos", "0\n", "not protected",
	  CHECK_DEGRADED },
	{ "protected_fifos", "/proc/sys/fs/protected_fifos", "2\n", "are protected", CHECK_OK },
	{ "ksm", "/sys/kernel/mm/ksm/run", "1\n", "merged", CHECK_DEGRADED },
	{ "smt", "/sys/devices/system/cpu/smt/active", "1\n", "SMT is on", CHECK_DEGRADED },
	{ "vulnerabilities", "/sys/devices/system/cpu/vulnerabilities/mds",
	  "Vulnerable: Clear CPU buffers attempted\n", "1 open vulnerabilities: mds",
	  CHECK_DEGRADED },
	{ "vulnerabilities", "/sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n",
	  "knows no open", CHECK_OK },
	{ "core_pattern", "/proc/sys/kernel/core_pattern", "|/usr/share/apport/apport %p\n",
	  "apport", CHECK_DEGRADED },
	{ "core_pattern", "/proc/sys/kernel/core_pattern", "core\n", "not handed", CHECK_OK },
	{ "pids", "/proc/sys/kernel/pid_max", "8192\n", "too few", CHECK_DEGRADED },
	{ "pids", "/proc/sys/kernel/pid_max", "4194304\n", "suffice", CHECK_OK },
	{ "inotify", "/proc/sys/fs/inotify/max_user_instances", "8\n", "few", CHECK_DEGRADED },
	{ "vsock", "/dev/vsock", "", "AF_VSOCK", CHECK_DEGRADED },
	{ "clock", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "jiffies\n",
	  "coarse", CHECK_DEGRADED },
	{ "swap", "/proc/swaps", "Filename Type Size Used Priority\n/dev/dm-1 partition 999 0 -2\n",
	  "cannot be limited", CHECK_DEGRADED },
	{ "swap", "/proc/swaps", "Filename Type Size Used Priority\n", "no swap", CHECK_OK },
	{ "proc_masks", "/proc/self/mountinfo", "1 2 0:3 / /proc/kcore rw - tmpfs tmpfs rw\n",
	  "/proc/kcore", CHECK_DEGRADED },
};

static void test_facts(void **state)
{
	struct machine *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		const struct check *check;

		print_message("%s: %s", facts[i].id, facts[i].text);
		put_file(m, facts[i].path, facts[i].text);
		check = look(m, facts[i].id);
		assert_int_equal(check->status, facts[i].status);
		assert_non_null(strstr(check->text, facts[i].says));
	}
}

/* A machine of which nothing can be read gives sentences, not crashes; ids are unique. */
static void test_empty_machine(void **state)
{
	struct machine *m = *state;

	snprintf(m->doctor.trial.userns_error, sizeof(m->doctor.trial.userns_error), "not there");
	(void)look(m, "kernel");
	for (size_t i = 0; i < m->doctor.n_checks; i++) {
		const struct check *check = &m->doctor.checks[i];

		assert_true(check->text[0]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(check->id, m->doctor.checks[j].id);
	}
}

static const struct {
	const char *path, *value, *names, *fix;
	enum privilege privilege;
} blocked[] = {
	{ "/proc/sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces", "sysctl",
	  PRIVILEGE_ROOT },
	{ "/proc/sys/user/max_user_namespaces", "0\n", "user.max_user_namespaces", "sysctl",
	  PRIVILEGE_ONE_UID },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone",
	  "sysctl", PRIVILEGE_ONE_UID },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "AppArmor",
	  "hotcell setup host", PRIVILEGE_ONE_UID },
	{ "/.dockerenv", "", "cannot make", "seccomp=unconfined", PRIVILEGE_ONE_UID },
};

static void test_blocked(void **state)
{
	struct machine *m = *state;
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(blocked); i++) {
		const struct check *check;

		put_file(m, blocked[i].path, blocked[i].value);
		m->doctor.trial.identity.privilege = blocked[i].privilege;
		snprintf(m->doctor.trial.userns_error, sizeof(m->doctor.trial.userns_error),
			 "cannot make a user namespace");
		check = look(m, "user_namespaces");
		print_message("%s\n", check->text);
		assert_int_equal(check->status, CHECK_FATAL);
		assert_true(check->counts);
		assert_non_null(strstr(check->text, blocked[i].names));
		assert_non_null(strstr(check->fix, blocked[i].fix));
		snprintf(path, sizeof(path), "%s%s", m->root, blocked[i].path);
		(void)unlink(path);
	}
}

static void test_limits(void **state)
{
	struct machine *m = *state;
	struct trial *t = &m->doctor.trial;

	*t = (struct trial){ .has_userns = true,
			     .has_cgroups = true,
			     .kind = CGROUP_V2,
			     .controllers = 1u << CGROUP_MEMORY | 1u << CGROUP_PIDS,
			     .identity.privilege = PRIVILEGE_SUBUIDS };
	assert_int_equal(look(m, "cgroups")->status, CHECK_OK);
	assert_int_equal(look(m, "cpu_limit")->status, CHECK_DEGRADED);
	assert_non_null(strstr(look(m, "cpu_limit")->fix, "setup host"));
	t->controllers = 1u << CGROUP_PIDS;
	assert_int_equal(look(m, "cgroups")->status, CHECK_DEGRADED);
	assert_non_null(strstr(look(m, "cgroups")->text, "lacks memory (not delegated"));
	assert_int_equal(look(m, "uids")->status, CHECK_OK);
	t->identity.privilege = PRIVILEGE_ONE_UID;
	assert_int_equal(look(m, "uids")->status, CHECK_DEGRADED);
	assert_int_equal(look(m, "landlock")->status, CHECK_DEGRADED);
	t->landlock_abi = 3;
	assert_int_equal(look(m, "landlock")->status, CHECK_OK);
	assert_int_equal(look(m, "landlock_abi")->status, CHECK_DEGRADED);
	assert_false(look(m, "landlock_abi")->counts);
}

/* ---- the probe's lines ---- */

/* What a good cell prints: for every row the first of what is expected. */
static char *good_output(void)
{
	char *text = xcalloc(1, 64 * 1024);

	for (size_t i = 0; i < doctor_n_expectations; i++) {
		const struct expectation *row = &doctor_expectations[i];

		sprintf(text + strlen(text), "%s %.*s\n", row->name,
			(int)strcspn(row->expected, "|"), row->expected);
	}
	return text;
}

static const struct trial root_trial = { .identity.privilege = PRIVILEGE_ROOT, .landlock_abi = 7 };
static const struct trial one_uid_trial = { .identity.privilege = PRIVILEGE_ONE_UID,
					    .landlock_abi = 5 };

static void test_good_probe(void **state)
{
	_cleanup_free_ char *text = good_output();
	static struct probe_report report;

	(void)state;
	probe_compare(text, &root_trial, &report);
	assert_int_equal(report.n_wrong, 0);
	assert_int_equal(report.n, doctor_n_expectations);
	assert_true(report.is_complete);
	assert_true(report.n >= 60);
}

static void test_expectations(void **state)
{
	(void)state;
	for (size_t i = 0; i < doctor_n_expectations; i++) {
		assert_true(doctor_expectations[i].meaning[0]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(doctor_expectations[i].name,
						doctor_expectations[j].name);
	}
}

static const struct probe_result *find(const struct probe_report *report, const char *name)
{
	for (size_t i = 0; i < report->n; i++)
		if (strcmp(report->results[i].row->name, name) == 0)
			return &report->results[i];
	fail_msg("no row is called %s", name);
	return &report->results[0];
}

static const struct {
	const char *what, *from, *to, *wrong; /* wrong: a name, or NULL for a strange line */
} changes[] = {
	{ "let through", "\nmount EPERM\n", "\nmount ok\n", "mount" },
	{ "refused by something else", "\nmount EPERM\n", "\nmount ENOSYS\n", "mount" },
	{ "not tried", "\nmount EPERM\n", "\n", "mount" },
	{ "a beginning only", "\nmount EPERM\n", "\nmount EPER\n", "mount" },
	{ "not killed", "\ncall_i386 killed:SIGSYS\n", "\ncall_i386 ok\n", "call_i386" },
	{ "a capability", "caps_bounding 0000000000000000", "caps_bounding 0000000000000001",
	  "caps_bounding" },
	{ "a fourth descriptor", "descriptors 0,1,2\n", "descriptors 0,1,2,5\n", "descriptors" },
	{ "did not end", "\nend ok\n", "\n", "end" },
	{ "a stranger's line", "\nend ok\n", "\nend ok\nhello world\n", NULL },
	{ "said twice", "\nmount EPERM\n", "\nmount EPERM\nmount EPERM\n", NULL },
};

static void test_changed_probe(void **state)
{
	static struct probe_report report;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_free_ char *text = good_output(), *changed = NULL;
		char *at = strstr(text, changes[i].from);

		print_message("%s\n", changes[i].what);
		if (!at) /* another machine's row */
			continue;
		changed = xasprintf("%.*s%s%s", (int)(at - text), text, changes[i].to,
				    at + strlen(changes[i].from));
		probe_compare(changed, &root_trial, &report);
		assert_int_equal(report.n_wrong, 1);
		if (changes[i].wrong)
			assert_false(find(&report, changes[i].wrong)->ok);
		else
			assert_true(report.strange[0]);
	}
}

/* With one uid, groups stay, and below Landlock's ABI 6 init can be signalled (which does nothing). */
static void test_relaxed_probe(void **state)
{
	_cleanup_free_ char *text = good_output();
	static struct probe_report report;

	(void)state;
	probe_compare(text, &one_uid_trial, &report);
	assert_int_equal(report.n_wrong, 1);
	assert_string_equal(find(&report, "kill_init")->expected, "ok");
	assert_true(find(&report, "groups")->ok);
}

static void test_no_output(void **state)
{
	static struct probe_report report;

	(void)state;
	probe_compare("", &root_trial, &report);
	assert_int_equal(report.n_wrong, doctor_n_expectations);
	assert_false(report.is_complete);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_masks),
		cmocka_unit_test_setup_teardown(test_facts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_empty_machine, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_blocked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
		cmocka_unit_test(test_good_probe),
		cmocka_unit_test(test_expectations),
		cmocka_unit_test(test_changed_probe),
		cmocka_unit_test(test_relaxed_probe),
		cmocka_unit_test(test_no_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
