#include "core/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/path.h"
#include "core/policy.h"
#include "core/program.h"
#include "runtime/runtime.h"

/* Every program finds these; a runtime's own of the same name wins. */
static const struct runtime_string base_env[] = {
	{ "PATH", "/usr/local/bin:/usr/bin:/bin" },
	{ "HOME", "/workspace" },
	{ "LANG", "C.UTF-8" },
	{ "TMPDIR", "/tmp" },
};

static const char file_word[] = "{file}";

bool env_name_is_valid(const char *name, size_t len)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char digits[] = "0123456789";

	if (len == 0 || len > PLAN_ENV_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool letter = name[i] && strchr(letters, name[i]);

		if (!letter && (i == 0 || !name[i] || !strchr(digits, name[i])))
			return false;
	}
	return true;
}

/* Adds one argument of the runtime's, with the code's path in the place of {file}. */
static int add_arg(struct cell_spec *spec, const char *arg)
{
	const char *at = strstr(arg, file_word);
	_cleanup_free_ char *text = NULL;

	if (!at)
		return cell_spec_add_arg(spec, arg);
	text = xasprintf("%.*s%s%s", (int)(at - arg), arg, spec->code_path, at + strlen(file_word));
	return cell_spec_add_arg(spec, text);
}

static bool runtime_has_env(const struct runtime *runtime, const char *name)
{
	for (size_t i = 0; i < runtime->n_env; i++)
		if (!strcmp(runtime->env[i].name, name))
			return true;
	return false;
}

static int add_strings(struct cell_spec *spec, const struct runtime *runtime)
{
	int r = 0;

	for (size_t i = 0; r == 0 && runtime->argv[i]; i++)
		r = add_arg(spec, runtime->argv[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(base_env); i++)
		if (!runtime_has_env(runtime, base_env[i].name))
			r = cell_spec_add_env(spec, base_env[i].name, base_env[i].value);
	for (size_t i = 0; r == 0 && i < runtime->n_env; i++)
		r = cell_spec_add_env(spec, runtime->env[i].name, runtime->env[i].value);
	return r;
}

/* What is wrong here is wrong in a runtime.ini, not in the request. */
static bool fill_spec(struct plan *plan, const struct core_config *config, struct error *err)
{
	const struct runtime *runtime = plan->runtime;
	struct cell_spec *spec = &plan->spec;
	const char *why = NULL;

	spec->flags = runtime->loopback ? CELL_LOOPBACK : 0;
	spec->profile = runtime->profile;
	spec->trees = config->trees;
	if (runtime->kind == RUNTIME_DRIVER)
		spec->flags |= CELL_DRIVER;
	else
		snprintf(spec->code_path, sizeof(spec->code_path), "/tmp/%s", runtime->code_file);
	if (add_strings(spec, runtime) < 0)
		why = "its command and environment are too long";
	else
		(void)cell_spec_check(spec, &why);
	if (why)
		return error_set(err, ERR_SYSTEM, 0, "the runtime %s cannot be used: %s",
				 runtime->name, why);
	return true;
}

static bool check_input(const struct run_request *request, size_t i, struct error *err)
{
	const char *path = request->files[i].path;

	if (!path_is_plain(path))
		return error_set(
			err, ERR_INPUT, 0,
			"files has the path \"%.100s\"; it must be relative to /workspace, without . and ..",
			path);
	for (size_t j = 0; j < i; j++)
		if (!strcmp(request->files[j].path, path))
			return error_set(err, ERR_INPUT, 0, "files has \"%.100s\" twice", path);
	return true;
}

static bool copy_inputs(struct plan *plan, const struct run_request *request, struct error *err)
{
	uint64_t total = 0;

	if (request->n_files > PLAN_INPUTS_MAX)
		return error_set(err, ERR_INPUT, 0, "files has %zu entries; allowed is at most %d",
				 request->n_files, PLAN_INPUTS_MAX);
	plan->inputs = request->n_files ? xcalloc(request->n_files, sizeof(*plan->inputs)) : NULL;
	for (size_t i = 0; i < request->n_files; i++) {
		const struct run_input *from = &request->files[i];
		struct plan_input *to = &plan->inputs[i];

		if (!check_input(request, i, err))
			return false;
		total += from->len;
		if (total > plan->spec.limits.workspace_bytes)
			return error_set(err, ERR_INPUT, 0,
					 "files are larger than the workspace of %" PRIu64
					 " bytes; raise the memory limit",
					 plan->spec.limits.workspace_bytes);
		*to = (struct plan_input){
			.path = xstrdup(from->path),
			.data = from->len ? xmalloc(from->len) : NULL,
			.len = from->len,
			.executable = from->executable,
		};
		if (from->len)
			memcpy(to->data, from->data, from->len);
		plan->n_inputs = i + 1;
	}
	return true;
}

bool plan_make(struct plan *plan, const struct core_config *config, const struct runtimes *runtimes,
	       const struct run_request *request, struct error *err)
{
	*plan = (struct plan){ .policy = config->policy, .bundle_fd = request->bundle_fd };
	plan->output_max = request->output_max ? request->output_max : (uint64_t)RUN_OUTPUT_MAX;
	if (plan->output_max > RUN_OUTPUT_MAX)
		return error_set(err, ERR_INPUT, 0,
				 "limit output is %" PRIu64 " bytes; allowed is 1 to %d",
				 plan->output_max, RUN_OUTPUT_MAX);
	if (!request->language || !*request->language)
		return error_set(err, ERR_INPUT, 0, "language is missing");
	if (!runtimes_find(runtimes, request->language, &plan->runtime, err))
		return false;
	if (request->policy && *request->policy &&
	    !policy_find(request->policy, &plan->policy, err))
		return false;
	return policy_limits(config, plan->policy, &request->limits, &plan->spec.limits, err) &&
	       policy_timeout(config, request->timeout_ms, &plan->timeout_ms, err) &&
	       fill_spec(plan, config, err) && copy_inputs(plan, request, err) &&
	       program_bundle(request, &plan->bundle_fd, err);
}

void plan_done(struct plan *plan)
{
	plan->bundle_fd = fd_close(plan->bundle_fd);
	for (size_t i = 0; i < plan->n_inputs; i++) {
		free(plan->inputs[i].path);
		free(plan->inputs[i].data);
	}
	free(plan->inputs);
	plan->inputs = NULL;
	plan->n_inputs = 0;
}
