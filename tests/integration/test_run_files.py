"""`hotcell run --files` and the list of files. Hostile names and links are in tests/escape/test_files.py."""

import hashlib
import os
import stat

import pytest

import hotcell


def test_files_come_out(tmp_path):
    """Files in folders, empty ones, executable ones, with their bytes; empty folders need not."""
    code = """
import os
os.makedirs('a/b/c')
open('a/b/c/deep', 'w').write('deep')
open('empty', 'w').close()
open('binary', 'wb').write(bytes(range(256)))
open('run.sh', 'w').write('#!/bin/sh\\n'); os.chmod('run.sh', 0o755)
open('.dot', 'w').write('x')
"""
    out = tmp_path / "out"
    answer = hotcell.result(code, "--files", str(out))
    assert answer["exitCode"] == 0, answer
    assert (out / "a/b/c/deep").read_text() == "deep"
    assert (out / "empty").read_bytes() == b"" and (out / "binary").read_bytes() == bytes(range(256))
    assert os.access(out / "run.sh", os.X_OK)
    assert (out / ".dot").read_text() == "x"
    for path in out.rglob("*"):
        status = path.lstat()
        assert status.st_uid == os.geteuid() and not status.st_mode & (stat.S_ISUID | stat.S_ISGID), path
    listed = {entry["path"]: entry for entry in answer["files"]}
    assert set(listed) == {"a/b/c/deep", "empty", "binary", "run.sh", ".dot"}
    for name, entry in listed.items():
        data = (out / name).read_bytes()
        assert (entry["size"], entry["change"]) == (len(data), "created"), entry
        assert entry["sha256"] == hashlib.sha256(data).hexdigest(), entry


def test_files_are_listed_without_being_asked_for():
    """The result lists files with their sizes also without --files; the code itself is not one of them."""
    for lang, code in (("python", "open('a', 'w').write('x' * 5)"), ("bash", "printf xxxxx > a")):
        files = hotcell.result(code, "-l", lang)["files"]
        assert [(f["path"], f["size"], f["change"]) for f in files] == [("a", 5, "created")]
    assert hotcell.result("print(1)")["files"] == []


def test_nothing_made_makes_nothing(tmp_path):
    """A run without files leaves an empty folder, or none; one that was there stays as it was."""
    out = tmp_path / "out"
    assert hotcell.run("print(1)", "--files", str(out)).out == b"1\n"
    assert not out.exists() or list(out.iterdir()) == []
    out.mkdir(exist_ok=True)
    (out / "mine").write_text("mine")
    hotcell.run("open('theirs', 'w').write('x')", "--files", str(out))
    assert (out / "mine").read_text() == "mine" and (out / "theirs").exists()


def test_files_of_runs_that_end_badly(tmp_path):
    """Files are there after a timeout, a signal, running out of memory and a failure."""
    for i, (end, flags) in enumerate(
        (
            ("import time; time.sleep(100)", ("--timeout", "700")),
            ("import os; os.abort()", ()),
            ("x = b'x' * (1 << 30)", ("--memory", "96M")),
            ("raise SystemExit(3)", ()),
        )
    ):
        out = tmp_path / str(i)
        done = hotcell.run("f = open('made', 'w'); f.write('so far'); f.close()\n" + end, *flags, "--files", str(out))
        assert (out / "made").read_text() == "so far", done


LEFT_OUT = {
    "more than are listed": "for i in range(1500): open(f'f{i}', 'w').write('x')",
    "deeper than is looked": "import os\nfor i in range(50): os.mkdir('d'); os.chdir('d')\nopen('f', 'w').write('x')",
    "a folder that may not be read": "import os; os.mkdir('d'); open('d/f', 'w').write('x'); os.chmod('d', 0)",
    "a file that may not be read": "import os; open('f', 'w').write('x'); os.chmod('f', 0)",
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_does_not_come_out_is_told(name, tmp_path):
    """Either every file comes out, or stderr says that some did not: nothing is lost quietly."""
    out = tmp_path / "out"
    done = hotcell.run("open('plain', 'w').write('x')\n" + LEFT_OUT[name], "--files", str(out))
    names = [path for path in out.rglob("*") if path.is_file()]
    assert (out / "plain").exists() or name == "more than are listed", done
    expected = 1501 if name == "more than are listed" else 2
    assert len(names) == expected or done.err.strip(), f"{expected - len(names)} files are missing without a word"


def test_a_large_file(tmp_path):
    """Two hundred megabytes, with the right bytes."""
    code = "f = open('large', 'wb')\nfor i in range(200): f.write(bytes([i]) * (1 << 20))"
    out = tmp_path / "out"
    answer = hotcell.result(code, "--files", str(out), "--memory", "600M")
    assert answer["exitCode"] == 0, answer
    data = (out / "large").read_bytes()
    assert len(data) == 200 << 20 and data[:: 1 << 20] == bytes(range(200))


def test_the_process_may_not_change_what_is_collected(tmp_path):
    """A background process that keeps writing is dead before files are read."""
    code = """
import os, time
if os.fork() == 0:
    while True: open('racing', 'w').write('late' * 1000)
time.sleep(0.2)
open('racing', 'w').write('final'); os._exit(0)
"""
    for i in range(5):
        answer = hotcell.result(code, "--files", str(tmp_path / str(i)))
        entry = next(f for f in answer["files"] if f["path"] == "racing")
        data = (tmp_path / str(i) / "racing").read_bytes()
        assert entry["sha256"] == hashlib.sha256(data).hexdigest() and entry["size"] == len(data)
