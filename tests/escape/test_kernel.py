"""K: the kernel's surface: system calls, capabilities, /proc, Landlock."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hotcell
from attack import Case, cases


def rows(text, wanted):
    """A table of attempts that all end the same way."""
    return {name.strip(): wanted for name in text.split(",")}


NAMESPACES = "user, mnt, pid, net, ipc, uts, cgroup"
CALLS = (
    Case(
        "K1",
        "no namespace can be made or entered",
        {
            **{f"unshare {name}": "EPERM" for name in (NAMESPACES + ", time, files").split(", ")},
            **{f"clone {name}": "EPERM" for name in (NAMESPACES + ", user net").split(", ")},
            "clone3": "ENOSYS",
            "setns": "EPERM",
        },
        ("unshare user", "unshare net", "unshare time", "clone user", "clone user net", "clone3", "setns"),
    ),
    Case(
        "K2",
        "io_uring, which no filter sees into, is not there",
        rows("io_uring_setup, io_uring_enter, io_uring_register", "ENOSYS"),
        {"io_uring_setup": "ok|EPERM", "io_uring_enter": "EBADF|EINVAL|EPERM"},
    ),
    Case(
        "K3",
        "bits above the 32 that the kernel looks at change nothing",
        {
            "ioctl TIOCSTI": "ENOTTY",
            "high ioctl TIOCSTI": "ENOTTY",
            "prctl SET_MM": "EINVAL",
            "high prctl SET_MM": "EINVAL",
            "socket VSOCK": "EAFNOSUPPORT",
            "high socket VSOCK": "EAFNOSUPPORT",
            "high socket PACKET": "EAFNOSUPPORT",
            "high clone user": "EPERM",
            "high personality": "EPERM",
            "high futex LOCK_PI": "ENOSYS",
            "high mknod char": "EPERM",
            "high SO_ATTACH_FILTER": "ENOPROTOOPT",
        },
        (
            "high socket PACKET",
            "high clone user",
            "high personality",
            "high futex LOCK_PI",
            "high mknod char",
            "high SO_ATTACH_FILTER",
        ),
    ),
    Case("K9", "no keyrings", rows("keyctl, add_key, request_key", "EPERM"), ("keyctl", "add_key")),
    Case(
        "K10",
        "what only debuggers and administrators need is refused",
        {
            **rows("ptrace, kcmp, process_vm_readv, process_vm_writev, pidfd_getfd, bpf, perf_event_open", "EPERM"),
            **rows("personality, prlimit of another, reboot, sethostname, setdomainname, get_mempolicy", "EPERM"),
            **rows("userfaultfd, memfd_secret, fanotify_init, fanotify_mark, inotify_init1, cachestat", "ENOSYS"),
            **rows("name_to_handle_at, open_by_handle_at, process_madvise, process_mrelease, move_pages", "ENOSYS"),
            **rows("migrate_pages, remap_file_pages, vmsplice, syslog, acct, swapon, swapoff", "ENOSYS"),
            **rows("init_module, finit_module, delete_module, clock_settime, adjtimex, clock_adjtime", "ENOSYS"),
            **rows("mq_open, lsm_get_self_attr, lsm_set_self_attr, lsm_list_modules, mseal, setxattrat", "ENOSYS"),
            "open_tree_attr": "ENOSYS",
            "preadv2 RWF_NOWAIT": "EOPNOTSUPP|ENOTSUP",
            "setxattr": "EOPNOTSUPP|ENOTSUP",
            **rows("fcntl F_SETOWN, fcntl F_SETSIG, fcntl F_SETLEASE, fcntl F_NOTIFY", "EINVAL"),
            **rows("seccomp listener, seccomp SPEC_ALLOW", "EINVAL"),
        },
        (
            *"ptrace kcmp process_vm_readv pidfd_getfd personality memfd_secret fanotify_init inotify_init1".split(),
            *"sethostname adjtimex mq_open setxattr syslog vmsplice get_mempolicy".split(),
            "prlimit of another",
            "preadv2 RWF_NOWAIT",
        ),
    ),
    Case(
        "K10-ids",
        "there is nobody else to be",
        rows("setuid, setgid, setreuid, setresuid, setresgid, setfsuid, setgroups, capset", "EPERM"),
        ("setuid", "setresuid", "setfsuid", "setgroups"),
    ),
    Case(
        "K11",
        "sockets carry no programs",
        {
            **rows("SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF", "ENOPROTOOPT"),
            **rows("TCP_ULP, TCP_REPAIR, IP_ADD_SOURCE_MEMBERSHIP, IPT_SO_SET_REPLACE", "ENOPROTOOPT"),
        },
        ("SO_ATTACH_FILTER", "TCP_REPAIR"),
    ),
    Case(
        "K12",
        "no futex with priority inheritance",
        rows(
            "futex LOCK_PI, futex TRYLOCK_PI, futex UNLOCK_PI, futex LOCK_PI private, futex CMP_REQUEUE_PI, "
            "futex WAIT_REQUEUE_PI",
            "ENOSYS",
        ),
        ("futex LOCK_PI", "futex TRYLOCK_PI", "futex CMP_REQUEUE_PI"),
    ),
    Case(
        "fine",
        "what every program needs still works",
        rows(
            "fine: getpid, fine: clone, fine: preadv2, fine: socket, fine: SO_REUSEADDR, fine: mkfifo, fine: futex, "
            "fine: prctl, fine: memfd_create",
            "ok",
        ),
        ("fine: getpid", "fine: clone", "fine: socket"),
    ),
)
if os.uname().machine == "x86_64":
    CALLS += (
        Case(
            "K5",
            "calls by another ABI's numbers kill",
            {
                **rows("x32 getpid, x32 execve, x32 ioctl, int80 getpid, int80 unshare", "SIGSYS"),
                **rows("iopl, ioperm, modify_ldt", "ENOSYS"),
            },
            ("int80 getpid", "modify_ldt"),
        ),
    )


@cases(*CALLS)
def test_calls(case, inside_syscalls, outside_syscalls):
    case.check(inside_syscalls, outside_syscalls)


def test_K_every_refusal_is_the_cells(inside_syscalls, outside_syscalls, root):
    """Every call that a cell refuses gets another answer outside, so it is the cell that refuses; only what this
    kernel does not have at all (ENOSYS) proves nothing."""
    same = {
        name: outcome
        for name, outcome in inside_syscalls.items()
        if not name.startswith("fine") and outside_syscalls[name] == outcome and outcome != "ENOSYS"
    }
    assert not same
    proven = [name for name in inside_syscalls if outside_syscalls[name] not in ("ENOSYS", inside_syscalls[name])]
    assert len(proven) > 100, proven


def test_K5_program_killed_says_so():
    """K5: when the program itself makes such a call, the result says signal 31 (SIGSYS)."""
    if os.uname().machine != "x86_64":
        pytest.skip("not here: there are no other ABIs on this machine")
    code = "import ctypes; ctypes.CDLL(None).syscall(0x40000000 | 39); print('alive')"
    answer = hotcell.result(code)
    assert (answer["verdict"], answer["signal"], answer["stdout"]) == ("signal", 31, ""), answer
    control = subprocess.run([hotcell.PYTHON, "-c", code], capture_output=True, text=True)
    assert control.stdout == "alive\n"


def test_K12_pthread_prio_inherit():
    """K12: a mutex with priority inheritance is refused by the library, cleanly."""
    code = """
import ctypes, errno
libc = ctypes.CDLL(None)
attributes, mutex = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
libc.pthread_mutexattr_init(attributes)
print(libc.pthread_mutexattr_setprotocol(attributes, 1))
print(errno.errorcode.get(libc.pthread_mutex_init(mutex, attributes), 'ok'))
"""
    assert hotcell.run(code).text == "0\nENOTSUP\n"
    control = subprocess.run([hotcell.PYTHON, "-c", code], capture_output=True, text=True)
    assert control.stdout == "0\nok\n"


def check_locked(status, who):
    for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[key], 16) == 0, (who, status)
    assert (status["NoNewPrivs"], status["Seccomp"], status["Groups"]) == ("1", "2", ""), (who, status)


def test_K13_no_capabilities(inside_processes, outside_processes):
    """K13: worker, child and threads have no capability, not even to be had, and both locks are on."""
    check_locked(inside_processes.value["K13 process"], "worker")
    check_locked(inside_processes.value["K13 child"], "child")
    if os.geteuid() == 0:
        assert int(outside_processes.value["K13 process"]["CapEff"], 16) != 0


def test_K13_bash():
    """K13: the same of what bash starts."""
    status = dict(
        line.split(":\t", 1) for line in hotcell.run("cat /proc/self/status", "-l", "bash").text.splitlines()
    )
    check_locked({key: value.strip() for key, value in status.items()}, "cat")


def test_K16_every_thread(inside_processes):
    """K16: no thread is older than the lock, and every thread has the same number of filters."""
    assert len(inside_processes.value["K16 threads at first"]) == 1
    threads = inside_processes.value["K16 threads"]
    assert len(threads) == 4
    for thread, status in threads.items():
        check_locked(status, thread)
    assert len({status["Seccomp_filters"] for status in threads.values()}) == 1


SETUID = "su mount umount newgrp passwd chsh chfn gpasswd sudo ping newuidmap newgidmap fusermount3 pkexec".split()


def test_K14_setuid_binaries():
    """K14: the setuid programs of the host run with no more rights than anybody."""
    here = [name for name in SETUID if shutil.which(name)]
    code = f"""
import os, stat, subprocess
for name in {here!r}:
    path = '/usr/bin/' + name
    if not os.path.exists(path): continue
    pid = os.fork()
    if pid == 0:
        null = os.open('/dev/null', os.O_RDWR)
        for fd in (0, 1, 2): os.dup2(null, fd)
        os.execv(path, [name, '--help'])
    for line in open(f'/proc/{{pid}}/status'):
        if line.startswith(('Uid', 'CapEff')): print(name, line.split()[1:])
    os.waitpid(pid, 0)
for argv in (['su', '-c', 'id -u'], ['newuidmap', '1', '0', '0', '1'], ['mount', '-t', 'tmpfs', 'x', '/tmp'],
             ['umount', '/tmp'], ['passwd', '-d', 'root']):
    try: done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10)
    except FileNotFoundError: continue
    print(argv[0], 'succeeded' if done.returncode == 0 else 'refused', repr(done.stdout))
"""
    answer = hotcell.result(code)
    lines = answer["stdout"].splitlines()
    assert answer["exitCode"] == 0 and len(lines) > 4, answer
    for line in lines:
        if "[" in line:
            numbers = re.findall(r"'(\w+)'", line)
            assert numbers in (["1000"] * 4, ["0000000000000000"]), line
        else:
            assert "refused" in line and "'0" not in line, line


PROC = (
    Case(
        "K15",
        "nothing is set through /proc",
        {
            **rows("K15 sysctl, K15 sysrq, K15 core_pattern", "ENOENT|EACCES|EROFS"),
            **rows("K15 oom_score_adj, K15 uid_map, K15 setgroups, K15 timens", "EACCES|EPERM|ENOENT"),
            **rows("K15 attr, K15 attr exec", "EACCES|EPERM|EINVAL|ENOENT"),
        },
        ("K15 sysctl", "K15 core_pattern", "K15 oom_score_adj"),
    ),
)


@cases(*PROC)
def test_proc(case, inside_processes, outside_processes):
    case.check(inside_processes, outside_processes)


NESTED = {
    "bwrap": ["bwrap", "--ro-bind", "/", "/", "true"],
    "bwrap-user": ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "/usr/bin/true"],
    "unshare": ["unshare", "-Ur", "true"],
    "unshare-net": ["unshare", "-n", "true"],
    "nsenter": ["nsenter", "-t", "1", "-m", "true"],
    "setpriv": ["setpriv", "--reuid", "0", "true"],
    "chroot": ["/usr/sbin/chroot", "/", "/usr/bin/true"],
    "podman": ["podman", "unshare", "true"],
    "firejail": ["firejail", "true"],
}


def test_K17_sandboxes_inside():
    """K17: what would build a sandbox inside fails with a message; outside the same commands work."""
    here = {name: argv for name, argv in NESTED.items() if shutil.which(argv[0])}
    code = f"""
import subprocess
for name, argv in {here!r}.items():
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    print(name, done.returncode, bool(done.stderr))
"""
    answer = hotcell.result(code)
    lines = answer["stdout"].splitlines()
    assert len(lines) == len(here) and len(here) >= 4, answer
    for line in lines:
        _, code_, said = line.split()
        # A status, not a signal, and a word about it.
        assert int(code_) > 0 and said == "True", line
    if os.geteuid() == 0:
        for name in ("bwrap", "unshare-net", "chroot"):
            if name in here:
                subprocess.run(here[name], check=True, capture_output=True)


def test_K18_landlock(inside_processes, outside_processes):
    """K18: a Landlock domain is on: one's own /proc entries cannot be written, which nothing else forbids."""
    if not landlock_abi():
        pytest.skip("not here: the kernel has no Landlock")
    assert inside_processes["K18 comm"] == "EACCES"
    assert outside_processes["K18 comm"] == "ok"


def landlock_abi():
    import ctypes

    return max(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1), 0)


def test_K18_moves_between_places():
    """K18: rename and link between the writable places are EXDEV, within one they work."""
    code = """
import errno, os
def attempt(name, call, *args):
    try: call(*args); print(name, 'ok')
    except OSError as error: print(name, errno.errorcode[error.errno])
open('a', 'w').close(); open('/tmp/a', 'w').close()
os.mkdir('d'); os.mkdir('/tmp/d')
attempt('rename out', os.rename, 'a', '/tmp/b')
attempt('link out', os.link, 'a', '/tmp/b')
attempt('rename in', os.rename, '/tmp/a', 'b')
attempt('rename within', os.rename, 'a', 'd/a')
attempt('link within', os.link, 'd/a', 'c')
attempt('tmp within', os.rename, '/tmp/a', '/tmp/d/a')
attempt('mkdir usr', os.mkdir, '/usr/x')
attempt('exec own', lambda: None)
"""
    assert hotcell.run(code).text.splitlines()[:7] == [
        "rename out EXDEV",
        "link out EXDEV",
        "rename in EXDEV",
        "rename within ok",
        "link within ok",
        "tmp within ok",
        "mkdir usr EROFS",
    ]


def test_K18_isolation_is_told():
    """The result says how strong the cell was; as root on a whole machine that is strong."""
    isolation = hotcell.result("pass")["isolation"]
    assert isolation["backend"] == "native"
    assert isolation["level"] in ("strong", "fair", "weak")
    if os.geteuid() == 0 and landlock_abi() and Path("/sys/fs/cgroup").exists():
        assert isolation["level"] == "strong"


# Not here: K4, K6 are not in the reference's list. K9's second half (a key left by run A) cannot be tried, because no
# key can be made. K13 and K16 in pool, zygote and session cells come with those; docker and podman (K17) are tried
# where installed. K18's "overlay made rw in a test build" is replaced by a write that only Landlock forbids. K19 is in
# test_zz_afterwards.py, which runs last.
