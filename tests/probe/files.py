"""F: what of the file system can be reached, read and changed. Cleans up, because it also runs outside."""

import stat

from prelude import attempt, open_and_close, os, read, say

MARK = f"hotcell-probe-{os.getpid()}"
UP = "/".join([".."] * 12)

# F1
attempt("F1 /etc/shadow", read, "/etc/shadow")
attempt("F1 /root", os.listdir, "/root")
attempt("F1 /proc/1/root", read, "/proc/1/root/etc/shadow")
attempt("F1 dotdot", read, os.getcwd() + "/" + UP + "/etc/shadow")
attempt("F1 /etc/apt", os.listdir, "/etc/apt")
attempt("F1 /var", os.listdir, "/var/lib")
attempt("F1 /sys", os.listdir, "/sys/kernel")
attempt("F1 /boot", os.listdir, "/boot")
attempt("F1 /run", os.listdir, "/run")
attempt("F1 /home", os.listdir, "/home")
attempt("F1 etc", lambda: sorted(os.listdir("/etc")))
attempt("F1 passwd", read, "/etc/passwd")
attempt("F1 var", lambda: sorted(os.listdir("/var")))
attempt("F1 opt", lambda: sorted(os.listdir("/opt")))
attempt("F1 top", lambda: sorted(os.listdir("/")))


# F2
def make_file(path):
    with open(path, "x") as file:
        file.write("x")
    os.unlink(path)


def make_folder(path):
    os.mkdir(path)
    os.rmdir(path)


attempt("F2 /usr file", make_file, "/usr/" + MARK)
attempt("F2 /usr/bin file", make_file, "/usr/bin/" + MARK)
attempt("F2 append passwd", open_and_close, "/etc/passwd", os.O_WRONLY | os.O_APPEND)
attempt("F2 /etc file", make_file, "/etc/" + MARK)
attempt("F2 / folder", make_folder, "/" + MARK)
attempt("F2 /dev file", make_file, "/dev/" + MARK)
attempt("F2 open python", open_and_close, "/usr/bin/env", os.O_RDWR)
attempt("F2 chmod", os.chmod, "/usr/bin/env", 0o755)
attempt("F2 utime", os.utime, "/usr/bin/env")
attempt("F2 own file", make_file, MARK)


# F7
def make_link(of):
    os.link(of, MARK)
    os.unlink(MARK)


attempt("F7 link to /usr", make_link, "/usr/bin/env")
attempt("F7 link to /etc", make_link, "/etc/passwd")
with open("own", "w") as own:
    own.write("x")
attempt("F7 own link", make_link, "own")


# F9
def make_node(kind, device):
    os.mknod(MARK, kind | 0o666, device)
    os.unlink(MARK)


attempt("F9 char", make_node, stat.S_IFCHR, os.makedev(1, 1))
attempt("F9 block", make_node, stat.S_IFBLK, os.makedev(254, 0))
attempt("F9 null", make_node, stat.S_IFCHR, os.makedev(1, 3))
attempt("F9 fifo", make_node, stat.S_IFIFO, 0)


# F10
def sparse(size):
    with open("sparse", "wb") as file:
        try:
            os.truncate(file.fileno(), size)
        finally:
            os.unlink("sparse")


attempt("F10 a terabyte", sparse, 1 << 40)
attempt("F10 a megabyte", sparse, 1 << 20)

# F15
attempt("F15 self", open_and_close, "/proc/self/exe", os.O_WRONLY)
attempt("F15 init", open_and_close, "/proc/1/exe", os.O_RDONLY)
attempt("F15 init path", open_and_close, "/proc/1/exe", os.O_PATH)


def reopen():
    fd = os.open("/proc/self/exe", os.O_PATH)
    open_and_close(f"/proc/self/fd/{fd}", os.O_WRONLY)


attempt("F15 reopen", reopen)
for entry in os.listdir("/proc"):
    if entry.isdigit():
        try:
            open_and_close(f"/proc/{entry}/exe", os.O_WRONLY)
            say("F15 any", value=entry)
        except OSError:
            pass
say("F15 exe", value=os.readlink("/proc/self/exe"))

# F20
say("F20 dev", value=sorted(os.listdir("/dev")))
for name in ("kvm", "fuse", "net/tun", "vsock", "kmsg", "mem", "port", "loop0", "loop-control", "tty", "tty0",
             "ptmx", "pts/0", "console", "vda", "sda", "userfaultfd", "hwrng", "mapper/control"):
    attempt("F20 " + name, open_and_close, "/dev/" + name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
for name in ("null", "zero", "urandom"):
    attempt("F20 " + name, open_and_close, "/dev/" + name, os.O_RDWR if name != "urandom" else os.O_RDONLY)

# K14, K18: how things are mounted
say("mounts", value=read("/proc/self/mountinfo").splitlines())
