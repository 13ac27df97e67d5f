"""Many runs in a row leave nothing behind: 200 by default, 1000 with HOTCELL_SOAK=1."""

import hashlib
import os

import hotcell

RUNS = 1000 if os.environ.get("HOTCELL_SOAK") == "1" else 200

KINDS = (
    ("python", "print(1)", 0),
    ("python", "open('a', 'w').write('x' * 1000); print(1)", 0),
    ("bash", "echo 1", 0),
    ("python", "import sys; sys.exit(3)", 3),
    ("python", "import os; os.kill(os.getpid(), 9)", 137),
    ("bash", "sleep 1000 & exit 0", 0),
    ("python", "import socket; s = socket.create_server(('127.0.0.1', 0)); import os; os._exit(0)", 0),
    ("bash", "exec 0<&- 1>&- 2>&-; exit 7", 7),
)


def programs():
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in hotcell.BUILD.glob("hotcell*") if p.is_file()}


def test_many_runs():
    """Runs of all kinds, four at a time: each ends as it should; processes, cgroups, mounts, locks, and the programs
    themselves are as before."""
    before, bytes_before = hotcell.snapshot(), programs()

    def one(i):
        lang, code, status = KINDS[i % len(KINDS)]
        done = hotcell.run(code, "-l", lang)
        return None if done.status == status else f"run {i}: {done!r}"

    failed = [text for text in hotcell.together([lambda i=i: one(i) for i in range(RUNS)], 4) if text]
    assert not failed, "\n".join(failed[:5])
    assert not hotcell.leftovers(before, 5)
    assert programs() == bytes_before


def test_refused_runs_leave_nothing():
    """Nor do commands that fail before, while and after a cell is made."""
    before = hotcell.snapshot()
    for args in (
        ["run", "-l", "klingon", "-c", "1"],
        ["run", "--memory", "12x", "-c", "1"],
        ["run", "--files", "/etc/passwd", "-c", "print(1)"],
        ["run", "--memory", "8M", "-c", "print(1)"],
        ["run", "--processes", "4", "-c", "import os; os.fork()"],
        ["run", "--timeout", "1", "-c", "print(1)"],
    ):
        hotcell.hotcell(*args)
    assert not hotcell.leftovers(before, 5)


def test_the_smallest_limits():
    """The least of everything is still a run with a verdict, or a clear refusal, never a hang."""
    for flags in (["--timeout", "1"], ["--memory", "8M"], ["--processes", "4"], ["--disk", "64K"], ["--cpus", "0.01"]):
        done = hotcell.run("print(1)", *flags, timeout=100)
        assert done.status in (0, 1, 124, 137), (flags, done)
        assert done.status == 0 or done.err.strip(), (flags, done)
