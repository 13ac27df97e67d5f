/* hotcell, the command: reads the configuration, starts the other programs, is what people type. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/close_range.h>

#include "base/fd.h"
#include "base/log.h"
#include "command/commands.h"

/* Whoever started us may have closed or ignored things, or left descriptors open. */
static void tidy_up(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		(void)fcntl(fd, F_SETFD, 0);
	(void)fd_close(fd);
	/* What we inherited is not for the programs that we start. */
	(void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
}

int main(int argc, char **argv)
{
	int status;

	tidy_up();
	log_set_program("hotcell");
	status = commands_main(argc, argv);
	if (fflush(stdout) != 0 && status == EXIT_STATUS_OK)
		status = EXIT_STATUS_FAILED;
	return status;
}
