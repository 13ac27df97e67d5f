"""The least that must work on a machine: languages, every limit, the isolation that was promised, nothing left.

HOTCELL_EXPECT says what this user must get here: "strong v2", "weak none", ...
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

import hotcell

LEVEL, KIND = os.environ.get("HOTCELL_EXPECT", "strong v2").split()
INSTALLED = Path("/usr/local/bin/hotcell")
SLEEP = "import time; print('up', flush=True); time.sleep(600)"


@pytest.fixture(params=["build", "installed"])
def program(request):
    return hotcell.PROGRAM if request.param == "build" else INSTALLED


def test_python(program):
    done = hotcell.run("print(6*7)", program=program)
    assert (done.status, done.out, done.err) == (0, b"42\n", b""), done


def test_bash(program):
    done = hotcell.run("echo $((6*7))", "-l", "bash", program=program)
    assert (done.status, done.out, done.err) == (0, b"42\n", b""), done


def test_isolation():
    """What the result says is what this machine can give this user."""
    answer = hotcell.result("print(1)")
    assert answer["isolation"]["level"] == LEVEL, answer


def test_status():
    assert hotcell.run("raise SystemExit(7)").status == 7


def test_memory():
    """A memory limit reads as a memory limit, also where the watcher stands in for the cgroup."""
    done = hotcell.run("x = [b'x' * (1 << 20) for _ in range(1000)]", "--memory", "64M")
    assert done.status == 137, done


def test_timeout():
    assert hotcell.run("while True: pass", "--timeout", "2s").status == 124


FORK_BOMB = """
import os
n = 0
try:
    while True:
        if os.fork() == 0:
            import time; time.sleep(600)
        n += 1
except OSError as error:
    print(n, type(error).__name__)
"""


def test_fork_bomb():
    """It gets its share of processes and no more, and the machine goes on."""
    done = hotcell.run(FORK_BOMB, "--processes", "20", "--timeout", "60s")
    assert done.status == 0 and done.text.endswith("BlockingIOError\n"), done
    assert int(done.text.split()[0]) < 20, done
    assert hotcell.run("print(1)").out == b"1\n"


def test_network():
    done = hotcell.run("import socket; print(socket.if_nameindex())\nsocket.create_connection(('192.0.2.1', 80), 1)")
    assert done.status == 1 and "unreachable" in done.errors, done


def cell_cgroups(pid):
    """Paths of the v2 cgroups of everything beneath the command `pid`."""
    found = set()
    for child in hotcell.descendants(pid):
        try:
            found |= set(re.findall(r"^0::(\S+)", Path(f"/proc/{child}/cgroup").read_text(), re.M))
        except OSError:
            pass
    return found


def test_cgroup():
    """The cell is in a cgroup of its own that has the limits, and afterwards that cgroup is gone."""
    if KIND != "v2":
        pytest.skip("not here: no cgroup to look at")
    process = hotcell.start("run", "--memory", "80M", "--processes", "21", "-c", SLEEP)
    try:
        assert process.stdout.readline() == b"up\n"
        paths = [Path("/sys/fs/cgroup" + path) for path in cell_cgroups(process.pid)]
        limited = [path for path in paths if (path / "memory.max").read_text().strip() == str(80 << 20)]
        assert len(limited) == 1, paths
        cell = limited[0]
        # The cell's own first process is counted, and the limit is the program's.
        assert 21 <= int((cell / "pids.max").read_text()) <= 24
        assert (cell / "memory.swap.max").exists() is False or (cell / "memory.swap.max").read_text().strip() == "0"
        assert (cell / "memory.oom.group").read_text().strip() == "1"
    finally:
        hotcell.end(process)
    hotcell.wait_for("the cgroup to be gone", lambda: not cell.exists())


def test_nothing_left():
    """After a run, and after a command that was killed and the next run."""
    before = hotcell.snapshot()
    hotcell.run("print(1)")
    process = hotcell.start("run", "-c", SLEEP)
    assert process.stdout.readline() == b"up\n"
    process.kill()
    hotcell.end(process)
    hotcell.run("print(1)")
    assert not hotcell.leftovers(before)


def test_two_at_once():
    first, second = (hotcell.start("run", "-c", SLEEP) for _ in range(2))
    try:
        assert first.stdout.readline() == second.stdout.readline() == b"up\n"
        hotcell.end(first)
        assert second.poll() is None
    finally:
        hotcell.end(first)
        hotcell.end(second)


def test_doctor():
    """It agrees that runs work here. Its words are in the results."""
    listed = subprocess.run([hotcell.PROGRAM, "--help"], capture_output=True, text=True).stdout
    if not re.search(r"^  doctor ", listed, re.M):
        pytest.skip("not here: there is no hotcell doctor yet")
    done = hotcell.hotcell("doctor")
    assert done.status == 0 and LEVEL in done.text, done
