/* hotcell run: one program, in a cell, between the user's terminal and the front. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "base/parse.h"
#include "command/bring_out.h"
#include "command/commands.h"
#include "command/context.h"
#include "command/instance.h"
#include "command/order.h"
#include "command/report.h"
#include "command/run_options.h"
#include "command/source.h"
#include "wire/bundle.h"

/* `hotcell run -c CODE` is most often this. */
static const char default_language[] = "python";

struct run_plan {
	struct source source;
	const struct runtime *runtime;
	struct order_run order;
	int bundle;
	int folder;
};

static bool find_runtime(struct run_plan *plan, const struct run_options *options,
			 const struct context *context, struct error *err)
{
	const struct runtime *guess;
	const char *language = options->language;

	if (!language && options->code)
		language = default_language;
	if (!language) {
		guess = runtimes_guess(context->runtimes, plan->source.name,
				       (const char *)plan->source.code.data, plan->source.code.len);
		if (!guess)
			return error_set(
				err, ERR_INPUT, 0,
				"cannot tell what language %s is: give it with -l, for example -l %s "
				"(`hotcell runtimes` lists them)",
				plan->source.is_stdin ? "stdin" : plan->source.name,
				default_language);
		language = guess->name;
	}
	/* By name even when guessed: it says how to install what is missing. */
	return runtimes_find(context->runtimes, language, &plan->runtime, err);
}

static bool make_bundle(struct run_plan *plan, const struct run_options *options, struct error *err)
{
	const struct bundle bundle = {
		.code = (const char *)plan->source.code.data,
		.code_len = plan->source.code.len,
		.args = options->args,
		.n_args = options->n_args,
		.env = options->env.text,
		.n_env = options->env.n,
	};

	plan->bundle = bundle_to_fd(&bundle);
	if (plan->bundle == -E2BIG)
		return error_set(
			err, ERR_INPUT, 0,
			"the arguments and variables (-e) are too many or too long: at most %d of each and %d KB together",
			BUNDLE_ARGS_MAX, BUNDLE_STRINGS_MAX >> 10);
	if (plan->bundle < 0)
		return error_set(err, ERR_SYSTEM, -plan->bundle,
				 "cannot make the program's bundle");
	return true;
}

static bool make_order(struct run_plan *plan, const struct run_options *options,
		       const struct config *config, struct error *err)
{
	WIRE_MESSAGE(order_run, order, ORDER_RUN);

	if (strlen(plan->runtime->name) >= sizeof(order.language))
		return error_set(err, ERR_INPUT, 0, "the language's name is too long");
	if (options->files)
		order.flags |= ORDER_WANT_FILES;
	order.timeout_ms = options->timeout_ms ? options->timeout_ms : config->run_timeout_ms;
	order.limits = options->limits;
	memcpy(order.language, plan->runtime->name, strlen(plan->runtime->name));
	if (options->policy)
		memcpy(order.policy, options->policy, strlen(options->policy));
	plan->order = order;
	return true;
}

static bool make_plan(struct run_plan *plan, const struct run_options *options,
		      const struct context *context, struct error *err)
{
	if (!run_options_check(options, &context->config, err) ||
	    !source_read(&plan->source, options->code, options->file, err) ||
	    !find_runtime(plan, options, context, err) || !make_bundle(plan, options, err) ||
	    !make_order(plan, options, &context->config, err))
		return false;
	if (options->files) {
		plan->folder = bring_out_open(options->files, err);
		if (plan->folder < 0)
			return false;
	}
	return true;
}

static int stdout_failed(int errnum)
{
	/* `hotcell run ... | head`: as quiet as any other program. */
	if (errnum == EPIPE)
		return 128 + SIGPIPE;
	fprintf(stderr, "hotcell: cannot write to stdout: %s\n", strerror(errnum));
	return EXIT_STATUS_FAILED;
}

/* The result as the options ask for it; 0, or the negative errno of stdout. */
static int print_result(const struct run_options *options, const struct order_outcome *outcome,
			bool *ret_files_missing)
{
	char sentence[160];
	bool noted = false;

	if (options->json) {
		int r = report_json(outcome->json, outcome->json_len);

		if (r < 0)
			return r;
	} else {
		report_sentence(&outcome->result, sentence, sizeof(sentence));
		if (sentence[0])
			fprintf(stderr, "hotcell: %s\n", sentence);
	}
	if (options->verbose)
		report_summary(&outcome->result, outcome->json, outcome->json_len);
	if (options->files || options->verbose)
		noted = report_note(outcome->json, outcome->json_len);
	*ret_files_missing = noted && options->files;
	return 0;
}

/* Prints what there is to print and says how the command ends. */
static int conclude(const struct run_options *options, const struct order_outcome *outcome)
{
	int status = outcome->has_result ? report_status(&outcome->result) : EXIT_STATUS_FAILED;
	bool files_missing = false;
	int r = -outcome->stdout_errnum;

	if (r == 0 && outcome->has_result)
		r = print_result(options, outcome, &files_missing);
	if (r < 0)
		return stdout_failed(-r);
	if (outcome->signal)
		return 128 + outcome->signal;
	if (status == EXIT_STATUS_OK && (outcome->files_failed || files_missing))
		return EXIT_STATUS_FAILED;
	return status;
}

static int carry_out(const struct run_plan *plan, const struct run_options *options,
		     const struct context *context)
{
	const struct instance_request start = {
		.mode = "run",
		.one_run = true,
		.config = &context->config,
		.installation = &context->installation,
		.runtimes = context->runtimes,
		.only = plan->runtime,
	};
	const struct order_request request = {
		.run = &plan->order,
		.bundle = plan->bundle,
		.pass_stdin = !plan->source.is_stdin,
		.is_silent = options->json,
		.folder = plan->folder,
		.keep_result = options->json || options->verbose || options->files,
	};
	_cleanup_close_ int signals = order_signals();
	struct order_outcome outcome;
	struct instance *instance;
	struct error err;
	int status;

	if (signals < 0) {
		(void)error_set(&err, ERR_SYSTEM, -signals, "cannot wait for signals");
		return command_fail(&err);
	}
	instance = instance_start(&start, &err);
	if (!instance)
		return command_fail(&err);
	if (order_run(instance, signals, &request, &outcome, &err))
		status = conclude(options, &outcome);
	else
		status = command_fail(&err);
	instance_stop(instance, outcome.is_at_once);
	free(outcome.json);
	return status;
}

static void print_problems(const struct context *context)
{
	const char *problem;

	for (size_t i = 0; (problem = runtimes_problem(context->runtimes, i)); i++)
		fprintf(stderr, "hotcell: %s\n", problem);
}

static int run(int argc, char **argv)
{
	struct run_options options;
	struct run_plan plan = { .bundle = -1, .folder = -1 };
	struct context context;
	struct error err;
	int status;

	if (!run_options_parse(&options, argc, argv, &err))
		return command_fail(&err);
	if (options.help) {
		command_print_help(&command_run, stdout);
		return EXIT_STATUS_OK;
	}
	if (!context_load(&context, &options.settings, &err))
		return command_fail(&err);
	if (options.verbose)
		print_problems(&context);
	if (make_plan(&plan, &options, &context, &err))
		status = carry_out(&plan, &options, &context);
	else
		status = command_fail(&err);
	(void)fd_close(plan.bundle);
	(void)fd_close(plan.folder);
	source_done(&plan.source);
	context_done(&context);
	return status;
}

const struct command command_run = {
	.name = "run",
	.summary = "Run a program in a cell of its own and show what it prints",
	.usage = "[OPTION...] (FILE | -c CODE | -) [ARGUMENT...]",
	.details =
		"The language is taken from the file's name or its #! line; with -c it is Python.\n"
		"FILE - is the program on stdin; its own stdin is then empty. Otherwise stdin is\n"
		"passed on to the program.\n\n"
		"The exit status is the program's; 128+N when signal N ended it, 124 after the time\n"
		"limit, 137 when the memory did not suffice, 153 when it printed too much; 2 when\n"
		"something is wrong with the request and 1 when hotcell could not run it.\n\n"
		"Examples:\n"
		"  hotcell run -c 'print(6 * 7)'\n"
		"  hotcell run --timeout 2s --memory 128M script.py input.txt\n"
		"  echo 'echo $((6 * 7))' | hotcell run -l bash -\n"
		"  hotcell run --files out -c 'open(\"hello.txt\", \"w\").write(\"hello\")'\n",
	.options = run_option_rows,
	.n_options = RUN_OPTION_ROWS,
	.run = run,
};
