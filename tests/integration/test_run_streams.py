"""`hotcell run`: live output, stdin passed through, Ctrl-C, several at once, deaths of its parts."""

import hashlib
import os
import pty
import random
import select
import signal
import subprocess
import time

import pytest

import hotcell


def test_output_is_live():
    """What a program prints arrives while it runs."""
    code = "import time\nfor i in range(3): print(i, flush=True); time.sleep(1.5)"
    process = hotcell.start("run", "-c", code)
    begun = time.monotonic()
    assert process.stdout.readline() == b"0\n"
    first = time.monotonic() - begun
    done = hotcell.finish(process)
    assert done.out == b"1\n2\n" and done.status == 0
    # The program lives at least 4.5 s, the first line was there long before.
    assert first + 2 < time.monotonic() - begun


def test_a_prompt_is_live():
    """So does a line without its end, on both streams."""
    code = "import sys, time\nsys.stdout.write('name? '); sys.stdout.flush(); print(input())"
    process = hotcell.start("run", "-c", code, stdin=subprocess.PIPE)
    assert select.select([process.stdout], [], [], 20)[0]
    assert os.read(process.stdout.fileno(), 100) == b"name? "
    assert hotcell.finish(process, b"hotcell\n").out == b"hotcell\n"


def test_a_conversation():
    """Question and answer, ten times, through stdin and stdout."""
    code = "import sys\nfor line in sys.stdin: print(int(line) * 2, flush=True)"
    process = hotcell.start("run", "-c", code, stdin=subprocess.PIPE)
    for i in range(10):
        process.stdin.write(b"%d\n" % i)
        process.stdin.flush()
        assert process.stdout.readline() == b"%d\n" % (2 * i)
    assert hotcell.finish(process).status == 0


READ = "import sys, hashlib; d = sys.stdin.buffer.read(); print(len(d), hashlib.sha256(d).hexdigest())"


def digest(data):
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}\n"


def test_stdin_forms(tmp_path):
    """Pipe, file, nothing, and ten megabytes arrive whole."""
    large = random.Random(1).randbytes(10 << 20)
    file = tmp_path / "input"
    file.write_bytes(large)
    assert hotcell.run(READ, stdin=b"hello").text == digest(b"hello")
    assert hotcell.run(READ, stdin=b"").text == digest(b"")
    assert hotcell.run(READ).text == digest(b"")
    assert hotcell.run(READ, stdin=large).text == digest(large)
    with file.open("rb") as source:
        assert hotcell.run(READ, stdin=source).text == digest(large)
    assert hotcell.run("wc -c; cat", "-l", "bash", stdin=large[:100_000]).text.strip() == "100000"


def test_cat():
    """Ten megabytes in and out at once."""
    large = random.Random(2).randbytes(10 << 20)
    assert hotcell.run("cat", "-l", "bash", stdin=large).out == large


def test_stdin_is_not_read():
    """A program that never reads ends, however much there is to read, and a writer that never ends does not matter."""
    assert hotcell.run("print('done')", stdin=bytes(10 << 20)).out == b"done\n"
    process = hotcell.start("run", "-c", "print('done')", stdin=subprocess.PIPE)
    assert process.wait(30) == 0  # its stdin is still open
    assert process.stdout.read() == b"done\n"
    hotcell.end(process)
    yes = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    try:
        assert hotcell.run("head -c 3", "-l", "bash", stdin=yes.stdout).out == b"y\ny"
    finally:
        yes.kill()
        yes.wait()
        yes.stdout.close()


def test_stdin_ends_early():
    """A program that closes its stdin goes on."""
    code = "import os, sys, time; sys.stdin.close(); time.sleep(0.3); print('on')"
    assert hotcell.run(code, stdin=bytes(4 << 20)).out == b"on\n"


def test_code_on_stdin_leaves_nothing_to_read():
    """With - the program itself is stdin; it then reads end of file."""
    code = b"import sys; print(repr(sys.stdin.read()))"
    assert hotcell.hotcell("run", "-l", "python", "-", stdin=code).text == "''\n"


def test_slow_reader():
    """A reader that takes its time gets everything; the program waits for it."""
    process = hotcell.start("run", "-c", "print('x' * 5_000_000)")
    time.sleep(1)
    total = 0
    while data := process.stdout.read(100_000):
        total += len(data)
        time.sleep(0.005)
    assert total == 5_000_001 and process.wait(10) == 0
    hotcell.end(process)


def test_a_reader_that_stops_reading_does_not_stop_the_clock():
    """The time limit holds while nobody reads."""
    process = hotcell.start("run", "--timeout", "1000", "-c", "while True: print('x' * 10000)")
    time.sleep(3)
    before = hotcell.own_processes()
    hotcell.finish(process)
    assert process.returncode in (124, 153)
    assert before is not None


SLEEP = "import time; print('up', flush=True); time.sleep(60)"


@pytest.mark.parametrize("number,status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_cancel(number, status):
    """Ctrl-C, SIGTERM and a closed terminal cancel cleanly: at once, with that status, and nothing is left."""
    before = hotcell.snapshot()
    process = hotcell.start("run", "-c", SLEEP)
    assert process.stdout.readline() == b"up\n"
    begun = time.monotonic()
    process.send_signal(number)
    done = hotcell.finish(process)
    assert done.status in (status, -number), done
    assert time.monotonic() - begun < 5
    assert not hotcell.leftovers(before, 5)


def test_cancel_before_it_runs():
    """A signal at any moment of the start does the same."""
    before = hotcell.snapshot()
    for i in range(15):
        process = hotcell.start("run", "-c", SLEEP)
        time.sleep(i * 0.004)
        process.send_signal(signal.SIGINT)
        done = hotcell.finish(process)
        assert done.status in (130, -signal.SIGINT), done
    assert not hotcell.leftovers(before, 5)


def test_cancel_keeps_the_json():
    """A cancelled run still has its result: verdict cancelled, with the output so far."""
    process = hotcell.start("run", "--json", "-c", "import time, os; os.write(1, b'so far'); time.sleep(60)")
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    done = hotcell.finish(process)
    assert done.status == 130
    assert (done.json["verdict"], done.json["stdout"]) == ("cancelled", "so far"), done


def test_ctrl_c_in_a_terminal():
    """The real key in a real terminal: the whole foreground group gets the signal, the cell's program does not."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(hotcell.PROGRAM, ["hotcell", "run", "-c", SLEEP])
    output = b""
    while b"up" not in output:
        assert select.select([master], [], [], 30)[0], output
        output += os.read(master, 1000)
    os.write(master, b"\x03")
    begun = time.monotonic()
    while True:
        try:
            data = os.read(master, 1000)
        except OSError:
            break
        if not data:
            break
        output += data
    _, status = os.waitpid(pid, 0)
    os.close(master)
    assert os.waitstatus_to_exitcode(status) in (130, -signal.SIGINT), output
    assert time.monotonic() - begun < 5
    assert b"Traceback" not in output


def test_second_ctrl_c():
    """Impatience does no harm."""
    before = hotcell.snapshot()
    process = hotcell.start("run", "-c", "import signal; signal.signal(2, signal.SIG_IGN)\n" + SLEEP)
    process.stdout.readline()
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    assert hotcell.finish(process).status in (130, -signal.SIGINT)
    assert not hotcell.leftovers(before, 5)


def test_two_at_once():
    """Two runs side by side, started together, each with its own."""
    codes = [f"import time\nfor i in range(20): print({i}); time.sleep(0.02)" for i in range(6)]
    for i, done in enumerate(hotcell.together([lambda c=c: hotcell.run(c) for c in codes], 6)):
        assert done.text.split() == [str(i)] * 20 and done.status == 0, done


def test_forty_at_once():
    """Forty commands started at the same moment all get their cell, and nothing of each other's."""
    before = hotcell.snapshot()
    code = "import time; print({0}, flush=True); time.sleep(0.5); raise SystemExit({0})"
    running = [hotcell.start("run", "-c", code.format(i)) for i in range(40)]
    for i, process in enumerate(running):
        done = hotcell.finish(process)
        assert (done.text, done.status) == (f"{i}\n", i), done
    assert not hotcell.leftovers(before, 8)


def test_hotcell_in_the_background():
    """With its stdin at /dev/null and no terminal, as from cron."""
    done = subprocess.run(
        [hotcell.PROGRAM, "run", "-c", "print(1)"], stdin=subprocess.DEVNULL, capture_output=True, env={}, cwd="/",
        start_new_session=True, timeout=60,
    )
    assert done.stdout == b"1\n" and done.returncode == 0, done


# ---- deaths ----


@pytest.mark.parametrize("victim", ["command", "front", "warden"])
def test_death_of_a_part(victim):
    """kill -9 of the command, the front or the warden while a cell runs: the cell dies, the command says so in a
    sentence, and after the next run nothing is left."""
    before = hotcell.snapshot()
    process = hotcell.start("run", "-c", SLEEP)
    try:
        assert process.stdout.readline() == b"up\n"
        family = hotcell.descendants(process.pid)
        assert len(family) >= 3, family
        target = process.pid if victim == "command" else hotcell.part(process.pid, victim)
        os.kill(target, signal.SIGKILL)
        status = process.wait(20)
        errors = process.stderr.read().decode()
    finally:
        hotcell.end(process)
    if victim != "command":
        assert status == 1, (status, errors)
        assert errors.startswith("hotcell: ") and victim in errors, errors
    hotcell.wait_for("the cell to die with it", lambda: not (hotcell.own_processes() - before["processes"]), 10)
    assert hotcell.run("print(1)").out == b"1\n"
    assert not hotcell.leftovers(before, 5)


@pytest.mark.parametrize("victim", ["command", "front", "warden"])
def test_death_at_any_moment(victim):
    """The same at random moments, the start among them."""
    before = hotcell.snapshot()
    rng = random.Random(victim)
    for _ in range(10):
        process = hotcell.start("run", "-c", "import time; time.sleep(0.3)")
        try:
            time.sleep(rng.random() * 0.15)
            if victim == "command":
                process.kill()
            else:
                try:
                    os.kill(hotcell.part(process.pid, victim, 0.3), signal.SIGKILL)
                except (AssertionError, ProcessLookupError):
                    pass  # not there yet, or over
            process.wait(20)
            assert process.returncode in (0, 1, -9), process.stderr.read()
        finally:
            hotcell.end(process)
    hotcell.wait_for("all parts to be gone", lambda: not (hotcell.own_processes() - before["processes"]), 10)
    assert hotcell.run("print(1)").out == b"1\n"
    assert not hotcell.leftovers(before, 8)
