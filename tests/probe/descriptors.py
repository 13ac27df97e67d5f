"""F16: what a program finds open, and where it stands."""

import stat

from prelude import errno, os, say

found = {}
for entry in os.listdir("/proc/self/fd"):
    try:
        found[entry] = os.readlink("/proc/self/fd/" + entry)
    except OSError:
        pass  # the fd of this very listing
say("fds", value=found)
say("types", value={fd: stat.S_IFMT(os.fstat(int(fd)).st_mode) for fd in found})
say("ttys", value=[fd for fd in range(3) if os.isatty(fd)])
say("cwd", value=os.getcwd())

through = {}
for fd in range(1024):
    try:
        os.close(os.open("../../..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd))
        through[fd] = "ok"
    except OSError as error:
        if error.errno != errno.EBADF:
            through[fd] = errno.errorcode[error.errno]
say("openat", value=through)
say("environ", value=dict(os.environ))
say("home", value=os.path.expanduser("~"))
say("data", value=os.path.realpath("/data"))
say("umask", value=os.umask(0o22))
say("ids", value=[os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()])
