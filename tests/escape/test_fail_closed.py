"""X1: every system call by which warden, init, files and front set themselves and a cell up is made to fail, one by one.

A run is then refused with the reason, user code never starts, nothing hangs and nothing is left. `./dev test` takes of
calls that are alike the first and the last, with one or two errnos each; HOTCELL_SOAK=1 takes all, with every errno that
matters. Sanitizer builds get a sample: ASan makes thousands of calls of its own and is slow under a tracer.
"""

import errno
import os
import platform
import re
from pathlib import Path

import pytest

import hotcell
from faults import NEVER, Bench

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="not here: the tracer knows x86-64 only")

SOAK = os.environ.get("HOTCELL_SOAK") == "1"
# A refusal takes milliseconds: so long takes only who waits for what will not come.
HANG_SECONDS = 8

# Role: the first and the last call of its set-up. Before the first is the C library's start, None is the very end.
SETUP = {
    "warden": ("landlock_create_ruleset", None),  # until the program is executed
    "starter": (None, None),
    "builder": (None, None),
    "init": ("prctl", "seccomp"),
    "worker": (None, None),
    "front": ("close_range", "seccomp"),
    "files-start": (None, None),
    "files": ("umask", "seccomp"),
}

# Which errnos matter, the likeliest first.
ERRNOS = {
    "openat openat2": "EMFILE EACCES ENOMEM EPERM",
    "write": "EPERM ENOSPC EINVAL EIO",
    "read recvmsg sendmsg": "EIO ENOMEM EMFILE",
    "mkdirat mknodat symlinkat": "ENOSPC EACCES ENOMEM",
    "clone clone3": "EAGAIN ENOMEM EPERM ENOSPC ENOSYS EINVAL",
    "unshare": "EINVAL ENOMEM ENOSYS EPERM ENOSPC",
    "mount umount2 move_mount open_tree mount_setattr pivot_root": "EPERM ENOSYS EINVAL ENOMEM EACCES",
    "fsopen fsconfig fsmount": "EPERM ENOSYS EINVAL ENOMEM EMFILE",
    "prctl": "EPERM EINVAL ENOSYS",
    "capset capget setgroups setresuid setresgid setns chroot": "EPERM EINVAL ENOMEM",
    "seccomp": "EINVAL ENOSYS EACCES ENOMEM",
    "landlock_create_ruleset landlock_add_rule landlock_restrict_self": "EPERM ENOSYS EOPNOTSUPP ENOMEM EMFILE",
    "prlimit64": "EPERM EINVAL",
    "close_range": "ENOSYS ENOMEM EINVAL",
    "socketpair socket pipe2 epoll_create1 signalfd4 dup2 dup3 fcntl": "EMFILE ENOMEM EINVAL",
    "execve execveat": "EACCES ENOENT ENOMEM ENOSYS EPERM",
    "keyctl": "EDQUOT EPERM ENOMEM ENOSYS",
    "setsid": "ENOSYS EPERM",
}
OTHER_ERRNOS = "EPERM ENOMEM"
BY_CALL = {call: errnos.split() for calls, errnos in ERRNOS.items() for call in calls.split()}

LAST_CAPABILITY = int(Path("/proc/sys/kernel/cap_last_cap").read_text())

CANNOT_FAIL = ("exit_group", "umask", "geteuid", "getppid", "set_robust_list")
OF_SANITIZERS = ("sigaltstack", "mmap", "munmap", "mprotect", "madvise")

# What may fail without refusing the run: role, call, what (a pattern), errnos ("" is any), and why that is right.
TOLERATED = (
    (".*", "close", ".*", "", "the descriptor is gone all the same"),
    (".*", "rt_sigaction", ".*", "", "how a signal is taken is no barrier, and the cell's processes inherit no SIG_IGN"),
    ("warden", "brk|mmap|munmap|getrandom", ".*", "", "the allocator's; it has another way, or the warden ends"),
    ("warden", "wait4|read", "", "", "a child that is not reaped now is reaped at the end"),
    ("warden", "openat|newfstatat|pread64|getdents64", r"|/proc/N/(status|task.*)", "",
     "the watcher where there is no cgroup: each process has RLIMIT_DATA, and isolation says weak"),
    ("warden|front", "landlock_create_ruleset", ".*", "", "a kernel or container without Landlock: isolation says so"),
    ("warden", "mknodat", ".*", "EPERM", "in a container: the host's devices are mounted instead"),
    ("warden", "openat", r"\.|cgroup\.(kill|events|freeze)|freezer\.state|(memory|pids|cpu|cpuacct)\.[a-z_]+", "",
     "only to look at the cell and to kill it sooner: the warden kills it too"),
    ("starter", "clone3", ".*", "EINVAL", "a kernel without time namespaces"),
    ("builder", "setsid", ".*", "EPERM", "it leads a session already"),
    ("builder", "keyctl", ".*", "ENOSYS", "a kernel without keyrings"),
    ("builder", "unshare", ".*", "EPERM ENOSPC", "that it fails is what is proved"),
    ("worker|warden|front", "prctl", r"23 (3[89]|[456]\d)", "EINVAL", "may be the end of the capabilities"),
    ("worker", "prctl", f"24 {LAST_CAPABILITY + 1}", "EINVAL", "is the end of the capabilities"),
    ("front", "setuid", ".*", "", "that it fails is what is proved"),
)
# Files that are written when the cell's limits are set, not only looked at.
LIMITS = r"memory\.(limit_in_bytes|memsw.*|max|swap\.max|oom\.group)|pids\.max|cpu\.(max|cfs_.*)"

# Calls that say they have succeeded and have done nothing: what is believed only after looking. (Not capset: the
# change of uid has taken the capabilities before.)
LIES = (
    ("builder", "unshare", "", "a user namespace can be made inside"),
    ("builder", "chdir", "", "the working directory is not in the cell's root"),
    ("builder", "pivot_root", "", "the root is still the template's"),
    ("worker", "prctl", "24 0", "a capability is left in the bounding set"),
    ("worker", "setresuid", "", "the uid is still init's"),
    ("front", "setresuid", "", "the front is still root"),
    ("front", "setresgid", "", "the front's group is still root's"),
    ("front", "prctl", "38 1", "the front may still gain privileges"),
)


def is_tolerated(point, name):
    if point.role == "warden" and point.call == "openat" and re.fullmatch(LIMITS, point.what):
        return False
    return any(
        re.fullmatch(role, point.role) and re.fullmatch(call, point.call) and re.fullmatch(what, point.what)
        and (not errnos or name in errnos.split())
        for role, call, what, errnos, _ in TOLERATED
    )


@pytest.fixture(scope="module")
def bench():
    before = hotcell.snapshot()
    with Bench() as bench:
        yield bench
    left = hotcell.leftovers(before)
    assert not left, f"left behind by injected faults: {left}"


@pytest.fixture(scope="module")
def calls(bench):
    return bench.baseline()


def setup_of(calls, role):
    """The calls of a role's set-up."""
    first, last = SETUP[role]
    points, begun = [], first is None
    for point in calls[role]:
        if point is None:
            if role == "warden":
                break
            continue
        begun = begun or point.call == first
        if begun and point.call not in CANNOT_FAIL and not (hotcell.is_sanitized() and point.call in OF_SANITIZERS):
            points.append(point)
        if begun and point.call == last and not (last == "seccomp" and len(points) < 2):
            break
    return points


def sample(points):
    """Of those that are alike the first and the last; all in a long test; a few of all in a sanitizer build."""
    if SOAK:
        return points
    alike = {}
    for point in points:
        alike.setdefault((point.call, point.what.split(" ")[0]), []).append(point)
    some = [point for group in alike.values() for point in ([group[0], group[-1]] if len(group) > 1 else group)]
    return some[:: max(1, len(some) // 6)] if hotcell.is_sanitized() else some


def faults(points):
    for point in points:
        names = BY_CALL.get(point.call, OTHER_ERRNOS.split())
        # The warden makes most of the calls, and nearly all of them on the way to a template that is whole or not.
        for name in names if SOAK else names[:1] if point.role == "warden" else names[:2]:
            yield point, -getattr(errno, name)


def is_as_expected(i):
    if i.late:
        return is_harmless(i)
    wanted = {"told"} if i.point.role.startswith("files") else {"refused"}
    if is_tolerated(i.point, errno.errorcode[-i.result]):
        wanted |= {"complete", "told"}
    return i.way in wanted and i.ended and i.done.seconds < HANG_SECONDS


def report(injections, expected):
    """One message for all that is wrong. A point that was not reached says nothing, so there may be few of them."""
    hit = [i for i in injections if i.hit]
    wrong = [repr(i) for i in hit if not expected(i)]
    print(f"{len(injections)} injected, {len(hit)} met, {len(hit) - len(wrong)} as expected")
    assert not wrong, f"{len(wrong)} of {len(hit)}:\n" + "\n".join(wrong[:20])
    assert len(hit) >= 0.9 * len(injections), [i.point for i in injections if not i.hit]


@pytest.mark.parametrize("role", SETUP)
def test_X1_setup(bench, calls, role):
    """Each call of the set-up fails, in every process of this role: the run is refused, or it was allowed to."""
    points = sample(setup_of(calls, role))
    assert points, f"nothing is known of the set-up of {role}"
    # There is one warden. It tries again with a fresh cell, so its calls must go on failing.
    report(bench.inject(faults(points), for_ever=("warden",)), is_as_expected)


def test_X1_lies(bench, calls):
    """A call claims to have succeeded and has done nothing."""
    points = []
    for role, call, what, meaning in LIES:
        found = [p for p in setup_of(calls, role) if p.call == call and (not what or p.what == what)]
        assert found or role == "front" or os.geteuid() != 0, f"{role} makes no {call}: {meaning}"
        points += found[:1]
    report(bench.inject([(p, 0) for p in points]), lambda i: i.way == "refused" and i.ended)


@pytest.mark.parametrize("role", ("warden", "front", "init"))
def test_X1_later(bench, calls, role):
    """A call outside the set-up fails, once: while the libraries are loaded, or when the program runs or has ended. What
    comes of it is open; hanging, processes left, a crash that nobody speaks of or a status without a sentence are not."""
    setup = set(setup_of(calls, role))
    first = calls[role].index(next(iter(setup_of(calls, role))))
    rest = [p for i, p in enumerate(calls[role]) if p and p not in setup and p.call not in CANNOT_FAIL
            # Its C library gives up by abort(), and a traced pid 1 does not die of that.
            and not (role == "init" and i < first)]
    rest = sample(rest)
    injections = bench.inject(faults(rest if SOAK else rest[::3]))
    wrong = [repr(i) for i in injections if i.hit and not is_harmless(i)]
    print(f"{len(injections)} injected, {len(injections) - len(wrong)} as expected")
    assert not wrong, "\n".join(wrong)


def is_harmless(i):
    spoke = bool(re.search(r"^hotcell: \w", i.done.errors, re.M))
    return i.ended and i.done.seconds < 2 * HANG_SECONDS and i.done.status in (0, 1, 2) and (i.done.status == 0 or spoke)


def test_slow_init(bench, calls):
    """init comes to a stop between starting the driver and locking itself down: the driver is ready, but nothing is run."""
    point = [p for p in setup_of(calls, "init") if p.call == "capset"][-1]
    (i,) = bench.inject([(point, NEVER)])
    assert i.hit and i.way == "refused" and i.ended, i


def test_without_landlock_isolation_says_so(bench, calls):
    """The warden takes a failing Landlock for a kernel without: then the result must not say strong."""
    point = setup_of(calls, "warden")[0]
    assert point.call == "landlock_create_ruleset"
    for i in bench.inject([(point, -errno.ENOSYS), (point, -errno.EPERM)]):
        assert i.way == "complete" and i.answer["isolation"]["level"] != "strong", i
