"""P6, P7, P14, P15, K13 to K16, S2, S14: other processes, what this one is, and what /proc tells and takes.

TARGET is the process to attack: 1 in a cell, a child of ours outside.
"""

import ctypes
import resource
import signal
import threading
import time

from prelude import attempt, os, read, say

TARGET = globals().get("TARGET")
child = 0
if TARGET is None:  # outside: something that may be attacked
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    TARGET = child

libc = ctypes.CDLL(None, use_errno=True)


def checked(call, *args):
    ctypes.set_errno(0)
    value = call(*args)
    if value < 0:
        raise OSError(ctypes.get_errno(), "")
    return value


# P7
for name in ("mem", "environ", "maps", "status", "cmdline"):
    attempt("P7 " + name, read, f"/proc/{TARGET}/{name}", 0 if name == "mem" else 10)
for name in ("fd", "task", "ns"):
    attempt("P7 " + name, os.listdir, f"/proc/{TARGET}/{name}")
for name in ("root", "cwd", "exe"):
    attempt("P7 " + name, os.readlink, f"/proc/{TARGET}/{name}")
if attempt("P7 ptrace", checked, libc.ptrace, ctypes.c_long(0x4206), TARGET, 0, 0) is not None:
    libc.ptrace(ctypes.c_long(17), TARGET, 0, 0)
space = ctypes.create_string_buffer(16)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(space), 16)
attempt("P7 process_vm_readv", checked, libc.process_vm_readv, TARGET, vector, ctypes.c_ulong(1), vector,
        ctypes.c_ulong(1), ctypes.c_ulong(0))
try:
    pidfd = os.pidfd_open(TARGET)
except OSError:
    pidfd = -1
taken = []
for number in range(64):
    if libc.syscall(438, pidfd, number, 0) >= 0:
        taken.append(number)
say("P7 pidfd_getfd", bool(taken), "none")
attempt("P6 kill init", os.kill, TARGET, 0 if child else 9)
attempt("P6 stop init", os.kill, TARGET, 0 if child else signal.SIGSTOP)
attempt("P6 prlimit init", resource.prlimit, TARGET, resource.RLIMIT_NOFILE)

# P14
attempt("P14 nice", os.setpriority, os.PRIO_PROCESS, 0, -20)
attempt("P14 nice up", os.setpriority, os.PRIO_PROCESS, 0, 5 if not child else 0)
attempt("P14 round robin", os.sched_setscheduler, 0, os.SCHED_RR, os.sched_param(1))
if child:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
attempt("P14 affinity", os.sched_setaffinity, 0, range(os.cpu_count()))


# P15
def more_core():
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))


attempt("P15 core", more_core)
say("P15 limits", value=list(resource.getrlimit(resource.RLIMIT_CORE)))


# K13, K16: of this thread, another thread, a child
def security(path="/proc/self/status"):
    wanted = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "Groups")
    rows = (line.split(":", 1) for line in read(path).splitlines())
    return {key: value.strip() for key, value in rows if key in wanted}


say("K16 threads at first", value=sorted(os.listdir("/proc/self/task")))
say("K13 process", value=security())
done = threading.Event()
others = [threading.Thread(target=done.wait) for _ in range(3)]
for thread in others:
    thread.start()
say("K16 threads", value={tid: security(f"/proc/self/task/{tid}/status") for tid in os.listdir("/proc/self/task")})
done.set()
for thread in others:
    thread.join()
grandchild = os.fork()
if grandchild == 0:
    say("K13 child", value=security())
    os._exit(0)
os.waitpid(grandchild, 0)


# K15
def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)


attempt("K15 sysctl", write, "/proc/sys/kernel/hostname", b"")
attempt("K15 sysrq", lambda: os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY)))
attempt("K15 core_pattern", lambda: os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)))
attempt("K15 oom_score_adj", write, "/proc/self/oom_score_adj", b"-1000" if not child else b"0")
attempt("K15 uid_map", write, "/proc/self/uid_map", b"0 0 1" if not child else b"")
attempt("K15 setgroups", write, "/proc/self/setgroups", b"allow")
attempt("K15 timens", write, "/proc/self/timens_offsets", b"monotonic 1000 0\n" if not child else b"")
attempt("K15 attr", write, "/proc/self/attr/current", b"unconfined")
attempt("K15 attr exec", write, "/proc/self/attr/exec", b"unconfined")
attempt("K15 clear_refs", write, "/proc/self/clear_refs", b"1")
attempt("K18 comm", write, "/proc/self/comm", b"probe")

# S2, S14
say("S2 pids", value=sorted(int(entry) for entry in os.listdir("/proc") if entry.isdigit()))
say("S2 me", value=[os.getpid(), os.getppid()])
for name in ("loadavg stat interrupts pressure/cpu diskstats schedstat zoneinfo meminfo cpuinfo uptime vmstat slabinfo "
             "kallsyms kcore cmdline keys modules partitions timer_list sched_debug version mounts config.gz "
             "sys/kernel/osrelease sys/kernel/random/boot_id").split():
    attempt("S14 " + name, read, "/proc/" + name, 1000)
attempt("S14 net/dev", read, "/proc/self/net/dev")
attempt("S14 net/tcp", read, "/proc/self/net/tcp")
attempt("S14 net/unix", read, "/proc/self/net/unix")
attempt("S14 sys", os.listdir, "/sys")
attempt("S14 cgroup", read, "/proc/self/cgroup")
say("uname", value=list(os.uname()))

if child:
    os.kill(child, 9)
    os.waitpid(child, 0)
