/* hotcell-probe in a real cell: the instance, the order and the result are those of `hotcell run`. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "command/context.h"
#include "command/doctor.h"
#include "command/instance.h"
#include "command/order.h"
#include "runtime/runtime.h"
#include "wire/bundle.h"
#include "wire/steps.h"
#include "wire/verdict.h"

enum { PROBE_TIMEOUT_MS = 20 * 1000 };

/* The probe's cell has a runtime of its own, in a folder that nobody but us looks into. */
static const char probe_folder[] = ".doctor", probe_language[] = "probe";

/* The program comes on stdin, because code is text. */
static const char probe_code[] =
	"cat >/tmp/probe && chmod 755 /tmp/probe && exec /tmp/probe </dev/null";

static char *find_folder(const struct context *context)
{
	for (size_t i = 0; context->installation.runtimes[i]; i++) {
		char *path = xasprintf("%s/%s", context->installation.runtimes[i], probe_folder);
		struct stat st;

		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			return path;
		free(path);
	}
	return NULL;
}

/* Puts hotcell-probe on our stdin, from where an order takes the program's. */
static bool open_probe(const struct context *context, struct error *err)
{
	_cleanup_free_ char *path = xasprintf("%s/hotcell-probe", context->installation.programs);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		return error_set(err, ERR_SYSTEM, errno, "cannot open %s", path);
	return true;
}

static bool take_result(const struct order_outcome *outcome, char **ret_output, char level[16],
			struct error *err)
{
	json_t *result = json_loadb(outcome->json, outcome->json_len, 0, NULL);
	const json_t *isolation = json_object_get(result, "isolation");
	const char *output = json_string_value(json_object_get(result, "stdout"));
	const char *word = json_string_value(json_object_get(isolation, "level"));
	bool ok = output && word;

	if (ok && outcome->result.verdict != VERDICT_EXIT)
		ok = error_set(err, ERR_SYSTEM, 0, "the probe was ended (%s) before it was done",
			       run_verdict_name(outcome->result.verdict));
	else if (!ok)
		(void)error_set(err, ERR_SYSTEM, 0, "the probe's result cannot be read");
	if (ok) {
		*ret_output = xstrdup(output);
		snprintf(level, 16, "%s", word);
	}
	json_decref(result);
	return ok;
}

static bool give_order(struct instance *instance, int signals, int bundle, char **ret_output,
		       char level[16], struct error *err)
{
	WIRE_MESSAGE(order_run, run, ORDER_RUN);
	const struct order_request request = {
		.run = &run,
		.bundle = bundle,
		.pass_stdin = true,
		.is_silent = true,
		.folder = -1,
		.keep_result = true,
	};
	struct order_outcome outcome;
	bool ok;

	run.timeout_ms = PROBE_TIMEOUT_MS;
	memcpy(run.language, probe_language, sizeof(probe_language));
	ok = order_run(instance, signals, &request, &outcome, err);
	if (ok && !outcome.has_result)
		ok = error_set(err, ERR_SYSTEM, 0, "interrupted");
	else if (ok)
		ok = take_result(&outcome, ret_output, level, err);
	free(outcome.json);
	return ok;
}

static bool run_with(const struct context *context, const struct installation *installation,
		     const struct runtimes *runtimes, char **ret_output, char level[16],
		     struct error *err)
{
	const struct bundle bundle = { .code = probe_code, .code_len = strlen(probe_code) };
	_cleanup_close_ int fd = bundle_to_fd(&bundle), signals = order_signals();
	struct instance_request request = {
		.mode = "run",
		.config = &context->config,
		.installation = installation,
		.runtimes = runtimes,
	};
	struct instance *instance;
	bool ok;

	if (fd < 0 || signals < 0)
		return error_set(err, ERR_SYSTEM, fd < 0 ? -fd : -signals,
				 "cannot prepare the probe's run");
	if (!runtimes_find(runtimes, probe_language, &request.only, err))
		return false;
	instance = instance_start(&request, err);
	if (!instance)
		return false;
	ok = give_order(instance, signals, fd, ret_output, level, err);
	instance_stop(instance, false);
	return ok;
}

bool cell_run_probe(const struct context *context, char **ret_output, char level[16],
		    struct error *err)
{
	_cleanup_free_ char *folder = find_folder(context);
	struct installation installation = { .programs = context->installation.programs };
	struct runtimes *runtimes;
	bool ok;

	if (!folder)
		return error_set(
			err, ERR_SYSTEM, 0,
			"the probe's folder (runtimes/%s) is not installed: install hotcell again",
			probe_folder);
	installation.runtimes[0] = folder;
	if (!open_probe(context, err) ||
	    !runtimes_load(&runtimes, installation_folders(&installation), err))
		return false;
	ok = run_with(context, &installation, runtimes, ret_output, level, err);
	runtimes_free(runtimes);
	return ok;
}

/* Which knob stands behind a step that failed. */
static const struct {
	enum cell_step step;
	const char *why, *fix;
} reasons[] = {
	{ STEP_PROC,
	  "the kernel mounts no fresh /proc where parts of the present one are hidden, as containers do",
	  "start the container with --security-opt systempaths=unconfined (docker, podman: "
	  "--security-opt unmask=ALL), or run hotcell outside it" },
	{ STEP_NAMESPACES,
	  "a container's seccomp filter or a limit of user.max_*_namespaces forbids one of the namespaces",
	  "sysctl -a | grep 'user.max_.*_namespaces'; docker: --security-opt seccomp=unconfined" },
	{ STEP_ID_MAP, "the uids of the cells may not be mapped here",
	  "inside a container give it more uids, or set cells.uid_base to a range that it has" },
	{ STEP_UID, "the uids of the cells are not mapped here",
	  "inside a container set cells.uid_base to a range of uids that it has" },
	{ STEP_CGROUP, "the cgroup hierarchy cannot be written",
	  "try with HOTCELL_CELLS_CGROUP=none; in a container mount cgroups writable" },
	{ STEP_CGROUP_LIMITS, "the cgroup takes no limits", "try with HOTCELL_CELLS_CGROUP=none" },
	{ STEP_ROOT, "neither an overlay nor a bind mount of the cell's root is allowed",
	  "inside a container: --security-opt apparmor=unconfined" },
	{ STEP_PRIVATE_MOUNTS, "mounting is forbidden, by AppArmor or by a container's profile",
	  "sudo hotcell setup host; in docker: --security-opt apparmor=unconfined" },
	{ STEP_LOOPBACK, "the network namespace gives no rights",
	  "sudo hotcell setup host (AppArmor), or see the container's seccomp profile" },
};

/* The step in the sentence; or, when it names none, /proc if something hides parts of it. */
static enum cell_step failed_step(const char *message, const struct doctor *doctor)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strstr(message, cell_step_text(reasons[i].step)))
			return reasons[i].step;
	for (size_t i = 0; i < doctor->n_checks; i++)
		if (strcmp(doctor->checks[i].id, "proc_masks") == 0 &&
		    doctor->checks[i].status != CHECK_OK)
			return STEP_PROC;
	return STEP_NONE;
}

bool cell_explain(const char *message, const struct doctor *doctor, struct check *check)
{
	enum cell_step step = failed_step(message, doctor);
	size_t used = strlen(check->text);

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].step != step)
			continue;
		snprintf(check->text + used, sizeof(check->text) - used, " (likely: %s)",
			 reasons[i].why);
		check_fix(check, "%s", reasons[i].fix);
		return true;
	}
	return false;
}
