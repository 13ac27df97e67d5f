"""`hotcell run`: what comes out, how it ends, what it says of it."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import hotcell


def test_the_answer():
    """The two lines of the README, and the ways to hand code over."""
    assert hotcell.hotcell("run", "-c", "print(6*7)").out == b"42\n"
    assert hotcell.hotcell("run", "-l", "bash", "-", stdin=b"echo $((6*7))\n").out == b"42\n"
    assert hotcell.hotcell("run", "-l", "sh", "-c", "echo $((6*7))").out == b"42\n"
    assert hotcell.hotcell("run", "-l", "py", "-c", "print(6*7)").out == b"42\n"


def test_files_by_extension_and_first_line(tmp_path):
    """A file's language is told by its name, or by its #! line."""
    python, bash, script = tmp_path / "a.py", tmp_path / "a.sh", tmp_path / "noname"
    python.write_text("import sys; print('python', sys.argv[1:])")
    bash.write_text('echo bash "$@"')
    script.write_text("#!/usr/bin/env bash\necho by its first line\n")
    assert hotcell.hotcell("run", python, "a", "b c").text == "python ['a', 'b c']\n"
    assert hotcell.hotcell("run", bash, "a", "b c").text == "bash a b c\n"
    assert hotcell.hotcell("run", script).text == "by its first line\n"


def test_arguments_are_the_programs(tmp_path):
    """What follows the file is the program's, options of ours in it too; after -c CODE that needs a --."""
    code = "import sys; print(sys.argv[1:])"
    file = tmp_path / "a.py"
    file.write_text(code)
    done = hotcell.hotcell("run", file, "--json", "-x", "", "ü", "--", "a\nb")
    assert done.text == "['--json', '-x', '', 'ü', '--', 'a\\nb']\n", done
    done = hotcell.hotcell("run", "-c", code, "--", "--json", "-x", "", "--", "y")
    assert done.text == "['--json', '-x', '', '--', 'y']\n", done
    assert hotcell.hotcell("run", "-c", code, "a", "--json").text == "['a', '--json']\n"


def test_both_streams():
    """stdout and stderr stay apart."""
    done = hotcell.run("import sys; print('out'); print('err', file=sys.stderr)")
    assert (done.out, done.err, done.status) == (b"out\n", b"err\n", 0)


@pytest.mark.parametrize("status", [0, 1, 2, 3, 42, 124, 127, 137, 255])
def test_exit_status(status):
    """The exit status is the program's, and nothing is added to its output."""
    for lang, code in (("python", f"import sys; sys.exit({status})"), ("bash", f"exit {status}")):
        done = hotcell.run(code, "-l", lang)
        assert (done.status, done.out, done.err) == (status, b"", b""), done


def test_python_exits():
    """An exception is 1 with its traceback; sys.exit takes what Python takes."""
    done = hotcell.run("x = 1\nraise ValueError('told')")
    assert done.status == 1 and "ValueError: told" in done.errors and "line 2" in done.errors, done
    assert "driver" not in done.errors, "the traceback is the program's own"
    done = hotcell.run("import sys; sys.exit('a message')")
    assert (done.status, done.err) == (1, b"a message\n")
    assert hotcell.run("print(1").status == 1
    assert hotcell.run("import atexit; atexit.register(print, 'late'); print('early')").text == "early\nlate\n"
    late = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.3), print('t'))).start()"
    assert hotcell.run(late).text == "t\n"


@pytest.mark.parametrize("number", [1, 2, 6, 9, 11, 13, 15])
def test_signals(number):
    """A program ended by a signal: 128 + its number, and a sentence that names it."""
    for lang, code in (("python", f"import os; os.kill(os.getpid(), {number})"), ("bash", f"kill -{number} $$")):
        if lang == "python" and number in (2, 13):
            code = f"import signal; signal.signal({number}, signal.SIG_DFL)\n" + code
        done = hotcell.run(code, "-l", lang)
        assert done.status == 128 + number, done
        assert str(number) in done.errors and len(done.errors.splitlines()) == 1, done


def test_keyboard_interrupt_is_pythons():
    """SIGINT from within is Python's own KeyboardInterrupt, as outside."""
    done = hotcell.run("import os; os.kill(os.getpid(), 2)")
    assert "KeyboardInterrupt" in done.errors and done.status in (1, 130), done


# ---- limits ----


def test_timeout():
    """Status 124, a plain sentence, what was printed before is there, and it does not take longer."""
    done = hotcell.run("print('before', flush=True)\nwhile True: pass", "--timeout", "1000")
    assert (done.status, done.out) == (124, b"before\n"), done
    assert "1000" in done.errors and len(done.errors.splitlines()) == 1
    assert 1.0 <= done.seconds < 1 + 5
    answer = hotcell.result("import time; time.sleep(100)", "--timeout", "500ms")
    assert answer["verdict"] == "timeout" and 500 <= answer["usage"]["wall_ms"] < 500 + 1500


def test_timeout_keeps_what_was_written():
    """Partial output without a newline, of both streams, is returned."""
    answer = hotcell.result(
        "import os, time\nos.write(1, b'half a li'); os.write(2, b'and an err'); time.sleep(100)", "--timeout", "700"
    )
    assert (answer["stdout"], answer["stderr"], answer["exitCode"]) == ("half a li", "and an err", 124)


def test_memory():
    """Status 137, a plain sentence, and what was printed before."""
    done = hotcell.run("print('before', flush=True)\nx = b'x' * (1 << 30)", "--memory", "64M")
    assert (done.status, done.out) == (137, b"before\n"), done
    assert "memory" in done.errors and "64 MB" in done.errors and len(done.errors.splitlines()) == 1, done


def test_killed_is_not_memory():
    """A program that kills itself with 9 did not run out of memory."""
    answer = hotcell.result("import os; os.kill(os.getpid(), 9)")
    assert (answer["verdict"], answer["exitCode"], answer["signal"]) == ("signal", 137, 9)


def test_child_out_of_memory():
    """When a child is killed for memory, the run is over with that verdict, or the parent goes on and says so."""
    code = """
import os, sys
pid = os.fork()
if pid == 0:
    x = b'x' * (1 << 30); os._exit(0)
print(os.waitpid(pid, 0)[1])
"""
    answer = hotcell.result(code, "--memory", "64M")
    assert answer["verdict"] in ("memory", "exit"), answer
    assert answer["verdict"] == "memory" or answer["stdout"] == "9\n", answer


def test_output():
    """A gigabyte of output ends at 64 MiB with its own verdict; live, all of that was passed on."""
    done = hotcell.run("import os\nfor _ in range(1024): os.write(1, b'x' * (1 << 20))")
    assert done.status == 153 and "64 MB" in done.errors, (done.status, done.errors)
    assert 60 << 20 <= len(done.out) <= 72 << 20, len(done.out)


def test_output_below_the_limit():
    """Ten megabytes come through whole and in order; the JSON keeps head and tail."""
    code = "for i in range(1_000_000): print(f'{i:09}')"
    done = hotcell.run(code)
    assert len(done.out) == 10_000_000 and done.status == 0
    assert done.out[:20] == b"000000000\n000000001\n" and done.out[-10:] == b"000999999\n"
    answer = hotcell.result(code)
    assert answer["truncated"] == {"stdout": True, "stderr": False}
    assert answer["stdout"].startswith("000000000\n") and answer["stdout"].endswith("000999999\n")
    assert len(answer["stdout"]) <= (1 << 20) + 1000


def test_policies():
    """Each policy has its limits, and a flag goes before it."""
    code = "import os; print(sum(os.sched_getaffinity(0)) >= 0)"
    for policy in ("strict", "standard", "permissive"):
        assert hotcell.result(code, "--policy", policy)["policy"] == policy
    hog = "x = b'x' * (300 << 20); print('fits')"
    assert hotcell.result(hog, "--policy", "strict")["verdict"] == "memory"
    assert hotcell.result(hog, "--policy", "strict", "--memory", "512M")["stdout"] == "fits\n"
    assert hotcell.result(hog, "--policy", "standard")["stdout"] == "fits\n"


# ---- background processes ----


def test_background_processes_do_not_delay():
    """A child that holds the pipes and one that does not: the answer comes when the program ends."""
    for lang, code in (
        ("bash", "sleep 1000 & echo done"),
        ("bash", "(setsid sleep 1000 </dev/null >/dev/null 2>&1 &); echo done"),
        ("python", "import subprocess; subprocess.Popen(['sleep', '1000']); print('done')"),
    ):
        done = hotcell.run(code, "-l", lang)
        assert done.text == "done\n" and done.status == 0 and done.seconds < 10, done


def test_output_of_a_late_child_is_cut():
    """What a child would have written after the program's end does not come, and nobody waits for it."""
    done = hotcell.run("(sleep 1; echo late) & echo early", "-l", "bash")
    assert done.text == "early\n" and done.seconds < 10


# ---- text ----


def test_unicode():
    """Text of every plane, in code, arguments, environment and output."""
    text = "äöü €uro 日本語 🙂 \u202e مرحبا"
    assert hotcell.run(f"print({text!r})").text == text + "\n"
    assert hotcell.run("import sys; print(sys.argv[1])", args=[text]).text == text + "\n"
    assert hotcell.run("import os; print(os.environ['X'])", "-e", f"X={text}").text == text + "\n"
    assert hotcell.result(f"print({text!r})")["stdout"] == text + "\n"
    assert hotcell.run(f"echo '{text}'", "-l", "bash").text == text + "\n"


def test_bytes_that_are_no_text():
    """Every byte passes as it is; in JSON it is repaired, not refused."""
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 40)"
    assert hotcell.run(code).out == bytes(range(256)) * 40
    done = hotcell.run(code, "--json")
    answer = json.loads(done.out.decode("utf-8"))
    assert answer["stdout"].startswith("\x00\x01") and "\ufffd" in answer["stdout"]
    # A character cut in two by the writer is one character.
    halves = "import os, time\nfor b in '🙂'.encode(): os.write(1, bytes([b])); time.sleep(0.05)"
    assert hotcell.result(halves)["stdout"] == "🙂"


# ---- JSON ----

FIELDS = {
    "stdout": str,
    "stderr": str,
    "exitCode": int,
    "duration": (int, float),
    "verdict": str,
    "truncated": dict,
    "outputs": list,
    "files": list,
    "usage": dict,
    "isolation": dict,
    "policy": str,
    "pool": str,
    "language": str,
}


def test_json_has_everything():
    """One object, one line when it is not for a terminal, every field of its type, numbers that are true."""
    done = hotcell.run("print('out')\nx = b'x' * (50 << 20)\nfor i in range(3_000_000): pass", "--json")
    assert done.out.count(b"\n") == 1 and done.err == b"", done
    answer = done.json
    for name, kind in FIELDS.items():
        assert isinstance(answer[name], kind), (name, answer.get(name))
    assert (answer["verdict"], answer["exitCode"], answer["stdout"], answer["stderr"]) == ("exit", 0, "out\n", "")
    assert "signal" not in answer or answer["signal"] is None
    assert (answer["language"], answer["policy"], answer["pool"]) == ("python", "standard", "miss")
    usage = answer["usage"]
    assert usage["memory_peak_bytes"] > 50 << 20
    assert 10 <= usage["cpu_ms"] <= usage["wall_ms"] * 4 + 1000
    assert 1 <= usage["processes_peak"] <= 4
    assert 0 < usage["wall_ms"] <= done.seconds * 1000
    assert answer["isolation"]["level"] in ("strong", "fair", "weak") and answer["isolation"]["backend"] == "native"
    assert abs(answer["duration"] - usage["wall_ms"]) < 1000


def test_json_usage_of_children():
    """Time and processes of children count."""
    code = """
import subprocess
p = [subprocess.Popen(['python3', '-c', 'for i in range(5_000_000): pass']) for _ in range(4)]
for x in p: x.wait()
"""
    usage = hotcell.result(code)["usage"]
    assert usage["processes_peak"] >= 5 and usage["cpu_ms"] > 200, usage


def test_json_of_a_failure():
    """A program that fails is a result, with the same status."""
    done = hotcell.run("import sys; print('no', file=sys.stderr); sys.exit(9)", "--json")
    assert done.status == 9 and done.json["exitCode"] == 9 and done.json["stderr"] == "no\n"
    done = hotcell.run("import os; os.abort()", "--json")
    assert done.status == 134 and done.json["signal"] == 6 and done.json["verdict"] == "signal"


def test_the_last_expression():
    """The value of the last expression is in the result, and is not printed."""
    answer = hotcell.result("x = 20\nx + 22")
    assert (answer["result"], answer["stdout"]) == ("42", "")
    assert hotcell.run("x = 20\nx + 22").out == b""


# ---- what it says ----


def test_verbose():
    """-v tells isolation, usage and what became of it, on stderr."""
    done = hotcell.run("print('out')", "-v")
    assert done.out == b"out\n" and done.status == 0
    for word in ("strong|fair|weak", r"\d+(\.\d+)? ?ms", r"MB|KB"):
        assert re.search(word, done.errors), (word, done.errors)
    assert hotcell.run("print('out')").err == b""


def test_help():
    """Help of the command and of each subcommand: usage, options, an example; on stdout with status 0."""
    top = hotcell.hotcell("--help")
    assert top.status == 0 and top.err == b"" and "Usage: hotcell" in top.text
    commands = re.findall(r"^  (\w+) +[A-Z]", top.text, re.M)
    assert {"run", "help"} <= set(commands)
    for command in commands:
        for args in ([command, "--help"], ["help", command]):
            done = hotcell.hotcell(*args)
            assert done.status == 0 and done.err == b"" and "Usage: hotcell " in done.text, (args, done)
    text = hotcell.hotcell("run", "--help").text
    for option in ("-l", "-c", "--timeout", "--memory", "--cpus", "--processes", "--disk", "--policy", "--json",
                   "--files", "-v", "-e"):
        assert option in text, option
    assert all(len(line) <= 100 for line in text.splitlines())
    assert hotcell.hotcell("-h").text == top.text
    assert re.search(r"\d+\.\d+", hotcell.hotcell("--version").text)
    settings = hotcell.hotcell("help", "settings").text
    assert "[run]" in settings and "timeout = 30s" in settings


def test_runtimes_are_listed():
    """The languages with what this machine has of them."""
    text = hotcell.hotcell("runtimes").text
    assert "python" in text.lower() and "bash" in text.lower()


# ---- bash ----


def test_bash():
    """Pipes, arrays, functions, here-documents, tools of the host, exit by set -e, $0 and $#."""
    script = """
set -euo pipefail
a=(1 2 3); f() { echo "f $1"; }
f "${a[1]}"
printf 'b\\na\\n' | sort | tr -d '\\n'; echo
cat <<END
home $HOME $PWD $#
END
echo '{"a": 1}' | python3 -c 'import json,sys; print(json.load(sys.stdin)["a"])'
[[ abc =~ b ]] && echo match
diff <(echo 1) <(echo 1) && echo same
false
echo never
"""
    done = hotcell.run(script, "-l", "bash", args=["x", "y"])
    assert done.text.splitlines() == ["f 2", "ab", "home /workspace /workspace 2", "1", "match", "same"], done
    assert done.status == 1


def test_bash_says_where():
    """A mistake in a script is told with the script's own name and line."""
    done = hotcell.run("echo ok\nnosuchcommand\n", "-l", "bash")
    assert done.text == "ok\n" and done.status == 127
    assert re.search(r"main\.sh: line 2: nosuchcommand", done.errors), done


# ---- the program's world ----


def test_the_world_inside():
    """Own names for user and host, a home, a clock, time zones, temporary files, threads, processes, sqlite."""
    code = """
import getpass, multiprocessing, os, pathlib, pwd, socket, sqlite3, subprocess, tempfile, threading, zoneinfo
print(getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, os.getcwd(), pathlib.Path.home())
print(tempfile.NamedTemporaryFile().name.startswith('/tmp/'))
print(zoneinfo.ZoneInfo('Europe/Berlin'))
print(subprocess.run(['id', '-un'], capture_output=True, text=True).stdout.strip())
with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()
db = sqlite3.connect('x.db'); db.execute('create table t (a)'); print(db.execute('select 6*7').fetchone())
print(socket.gethostbyname('localhost'))
"""
    lines = hotcell.run(code).text.splitlines()
    assert len(lines) == 8, lines
    name, home, cwd, path_home = lines[0].split()
    assert (home, cwd, path_home) == ("/workspace",) * 3
    assert lines[1:] == ["True", "Europe/Berlin", name, "[1, 2]", "thread", "(42,)", "127.0.0.1"]


def test_data_is_the_workspace():
    """/data is /workspace; what is written there comes out."""
    answer = hotcell.result("open('/data/a', 'w').write('x')\nprint(open('/workspace/a').read())")
    assert answer["stdout"] == "x\n" and [f["path"] for f in answer["files"]] == ["a"]


def test_stdout_gone():
    """A reader that leaves ends the run, quietly."""
    process = hotcell.start("run", "-c", "import time\nwhile True: print('x' * 1000, flush=True); time.sleep(0.01)")
    process.stdout.read(100)
    process.stdout.close()
    begun = time.monotonic()
    status = process.wait(30)
    assert status in (128 + signal.SIGPIPE, -signal.SIGPIPE, 1), status
    assert time.monotonic() - begun < 15
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()


def test_closed_descriptors():
    """Started with stdin, stdout or stderr closed, hotcell does not mix up descriptors."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        script = f"exec {closed}; exec \"$0\" run -c 'import sys; sys.exit(5)'"
        done = subprocess.run(["bash", "-c", script, hotcell.PROGRAM], capture_output=True, timeout=60)
        assert done.returncode == 5, (closed, done)


def test_disk_full_outside():
    """Output that cannot be written is told."""
    if not os.path.exists("/dev/full"):
        pytest.skip("not here: there is no /dev/full")
    with open("/dev/full", "wb") as full:
        done = hotcell.hotcell("run", "-c", "print('x' * 100000)", stdout=full)
    assert done.status == 1 and "No space left" in done.errors, done
