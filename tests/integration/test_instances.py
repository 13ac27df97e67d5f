"""Several hotcells at once, of root and of ordinary users, with subuids and without; one of them, or a part of it, is
killed: the others do not notice, and the next start clears away what the dead have left."""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import hotcell

SUBUIDS = "1500000000-1500524287"
PROGRAMS = ("hotcell", "hotcell-warden", "hotcell-front", "hotcell-init", "hotcell-files")
# Says that it lives, and lives until it is told to end.
WAITS = "print('here', flush=True); print(2 * int(input()))"


class Who:
    """A user that starts hotcells."""

    def __init__(self, name, uid, program):
        self.name, self.uid, self.program = name, uid, program
        self.run_folder = Path("/run/hotcell" if uid == 0 else f"/tmp/hotcell-{uid}")

    def options(self):
        if self.uid == os.geteuid():
            return {"program": self.program}
        environment = {"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8"}
        return {"program": self.program, "user": self.uid, "group": pwd.getpwuid(self.uid).pw_gid, "extra_groups": [],
                "env": environment, "cwd": "/"}

    def run(self, code, *flags):
        return hotcell.run(code, *flags, **self.options())

    def start(self, code=WAITS):
        return hotcell.start("run", "-c", code, stdin=subprocess.PIPE, **self.options())


@pytest.fixture(scope="module")
def readable_programs():
    """The build, where ordinary users can get at it."""
    folder = Path(tempfile.mkdtemp(prefix="hotcell-instances-"))
    for name in PROGRAMS:
        shutil.copy(hotcell.BUILD / name, folder / name)
    shutil.copytree(hotcell.BUILD / "runtimes", folder / "runtimes")
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    yield folder
    shutil.rmtree(folder)


def make_user(name, has_subuids):
    subprocess.run(["userdel", name], stderr=subprocess.DEVNULL)  # of a test that was interrupted
    subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/bin/sh", name], check=True)
    if has_subuids:
        subprocess.run(["usermod", "--add-subuids", SUBUIDS, "--add-subgids", SUBUIDS, name], check=True)
    return pwd.getpwnam(name).pw_uid


@pytest.fixture(scope="module", params=("itself", "user-with-subuids", "user-without"))
def who(request, readable_programs):
    if request.param == "itself":
        yield Who("itself", os.geteuid(), hotcell.PROGRAM)
        return
    if os.geteuid() != 0:
        pytest.skip("not here: needs root to make a user; this one has been tested")
    if request.param == "user-with-subuids" and not shutil.which("newuidmap"):
        pytest.skip("not here: no newuidmap")
    name = f"hotcell-test-{'a' if request.param == 'user-with-subuids' else 'b'}"
    try:
        user = Who(name, make_user(name, request.param == "user-with-subuids"), readable_programs / "hotcell")
        first = user.run("print(42)")
        if b"user namespace" in first.err:
            pytest.skip(f"not here: this host does not let ordinary users: {first.errors}")
        yield user
        shutil.rmtree(user.run_folder, ignore_errors=True)
    finally:
        subprocess.run(["userdel", name], check=True)


@pytest.fixture
def crowd(who):
    """Starts commands that wait; ends them whatever happens, and then nothing of theirs may be left."""
    before, started = hotcell.snapshot(), []

    def start(count):
        more = [who.start() for _ in range(count)]
        started.extend(more)
        for process in more:
            assert process.stdout.readline() == b"here\n", process.stderr.read()
        return more

    yield start
    for process in started:
        hotcell.end(process)
    assert who.run("print(42)").out == b"42\n"  # clears away what the dead have left
    left = hotcell.leftovers(before)
    assert not left, left


def answers(process, number):
    done = hotcell.finish(process, b"%d\n" % number, 30)
    assert (done.out, done.err, done.status) == (b"%d\n" % (2 * number), b"", 0), done


def family(process):
    """The processes below a command, each with when it was started: a number may come back, that not."""
    return {pid: born for pid in hotcell.descendants(process.pid) if (born := birth(pid))}


def birth(pid):
    try:
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    # A zombie is gone; when an orphan of that kind is reaped is the host's affair.
    return None if fields[0] == "Z" else fields[19]


def wait_until_gone(pids):
    hotcell.wait_for(f"the end of {pids}", lambda: all(birth(pid) != born for pid, born in pids.items()), 15)


def find_init(process):
    """Pid 1 of the command's cell, by its number outside."""
    for pid in hotcell.descendants(process.pid):
        numbers = re.search(r"^NSpid:\s*(.*)$", Path("/proc", str(pid), "status").read_text(), re.M)[1].split()
        if len(numbers) > 1 and numbers[-1] == "1":
            return pid
    raise AssertionError("the cell has no pid 1")


def test_four_at_once(crowd):
    """Four live at the same time, and each gives its own answer."""
    four = crowd(4)
    assert all(process.poll() is None for process in four)
    for number, process in enumerate(four):
        answers(process, number)


@pytest.mark.parametrize("victim", ("command", "front", "warden"))
def test_one_is_killed(crowd, who, victim):
    """kill -9 of one's command, front or warden: all of it ends, with a sentence if anybody is left to say it; the
    others, and one that is started meanwhile, are as always."""
    first, dead, last = crowd(3)
    pids = family(dead)
    os.kill(dead.pid if victim == "command" else hotcell.part(dead.pid, victim), signal.SIGKILL)
    dead.wait(15)
    err = dead.stderr.read()
    if victim == "command":
        assert dead.returncode == -signal.SIGKILL
    else:
        assert dead.returncode == 1 and re.fullmatch(rb"hotcell: .*%b.*\n" % victim.encode(), err), err
    wait_until_gone(pids)
    assert who.run("print(42)").out == b"42\n"
    answers(first, 1)
    answers(last, 2)


def test_init_is_killed(crowd):
    """kill -9 of a cell's pid 1 from outside: the program was ended by signal 9, and the others live."""
    first, dead = crowd(2)
    pids = family(dead)
    os.kill(find_init(dead), signal.SIGKILL)
    status, err = dead.wait(15), dead.stderr.read()
    assert status == 128 + signal.SIGKILL or (status == 1 and err.startswith(b"hotcell: ")), (status, err)
    wait_until_gone(pids)
    answers(first, 1)


def test_stale_locks(who):
    """Lock files that nobody holds are no obstacle, whatever is in them."""
    who.run("print(42)")
    for number in range(6):
        lock = who.run_folder / f"{number}.lock"
        if not lock.exists():
            lock.touch(0o600)
            os.chown(lock, who.uid, -1)
        if lock.stat().st_size == 0:
            lock.write_text("4194303\n")
    assert who.run("print(42)").out == b"42\n"
