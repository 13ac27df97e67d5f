"""Bad input: one clear sentence, exit status 2 or 1, and nothing is run."""

import os
import re

import pytest

import hotcell

RAN = "print('it ran')"


def refused(*args, words=(), statuses=(2,), **more):
    """Runs a command that must be refused, and looks at what it says."""
    done = hotcell.hotcell(*args, **more)
    assert done.status in statuses, done
    assert done.out == b"", done
    text = done.errors
    assert text.startswith("hotcell: ") and text.endswith("\n"), done
    # One sentence: a hint may follow on a second line.
    assert 1 <= len(text.splitlines()) <= 2 and len(text) < 600, done
    assert "\x1b" not in text and "\0" not in text
    for word in words:
        assert re.search(word, text), f"{word!r} is not in {text!r}"
    assert done.seconds < 30
    return text


LIMITS = {
    "timeout": ("0", "-1", "99999999999", "abc", "", "1.5", "5x", "1e3", "18446744073709551616", " 5"),
    "memory": ("0", "-1", "1", "99999T", "12x", "abc", "", "1.5", "18446744073709551616", "256 M", "0x10M"),
    "cpus": ("0", "-1", "99999", "abc", "", "1/2", "nan", "inf", "1e2"),
    "processes": ("0", "-1", "99999999", "abc", "", "1.5", "0x10"),
    "disk": ("0", "-1", "99999T", "12x", "abc", "", "18446744073709551616"),
}


@pytest.mark.parametrize("name,value", [(name, value) for name, values in LIMITS.items() for value in values])
def test_limits(name, value):
    """Limits of zero, below it, beyond reason, or that are no numbers name the option and what is allowed."""
    text = refused("run", f"--{name}={value}", "-c", RAN, words=[f"--{name}"])
    assert value in text
    assert re.search(r"\d", text), f"says what is allowed: {text}"


REQUESTS = {
    "unknown language": (["run", "-l", "klingon", "-c", RAN], ["klingon", "python"]),
    "nearly a language": (["run", "-l", "pythom", "-c", RAN], ["pythom", "python"]),
    "empty language": (["run", "-l", "", "-c", RAN], ["python"]),
    "long language": (["run", "-l", "x" * 5000, "-c", RAN], []),
    "path as language": (["run", "-l", "../../etc/passwd", "-c", RAN], []),
    "missing file": (["run", "/nonexistent/file.py"], ["/nonexistent/file.py"]),
    "folder": (["run", "/tmp"], ["/tmp"]),
    "empty code": (["run", "-c", ""], ["empty"]),
    "nothing": (["run"], ["-c"]),
    "unknown option": (["run", "--frobnicate", "-c", RAN], ["frobnicate"]),
    "unknown letter": (["run", "-Z", "-c", RAN], ["-Z"]),
    "no value": (["run", "-c"], ["-c"]),
    "value for a switch": (["run", "--json=yes", "-c", RAN], ["json"]),
    "unknown policy": (["run", "--policy", "lax", "-c", RAN], ["lax", "strict"]),
    "variable without a name": (["run", "-e", "=x", "-c", RAN], ["NAME=VALUE"]),
    "variable without a value": (["run", "-e", "NAME", "-c", RAN], ["NAME=VALUE"]),
    "variable with a blank": (["run", "-e", "A B=x", "-c", RAN], ["NAME=VALUE"]),
    "unknown command": (["frobnicate"], ["frobnicate"]),
    "nearly a command": (["rnu", "-c", RAN], ["rnu"]),
    "unknown setting": (["run", "--set", "run.frob=1", "-c", RAN], ["frob"]),
    "setting without a value": (["run", "--set", "run.timeout", "-c", RAN], ["run.timeout"]),
    "bad setting": (["run", "--set", "cells.cgroup=v7", "-c", RAN], ["v7"]),
    "more than the settings allow": (
        ["run", "--set", "run.timeout_max=1s", "--timeout", "2s", "-c", RAN],
        ["timeout_max"],
    ),
    "no folder for files": (["run", "--files", "/proc/nonexistent/a", "-c", RAN], ["/proc/nonexistent"]),
    "a file as folder": (["run", "--files", "/etc/passwd", "-c", RAN], ["/etc/passwd"]),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests(name):
    """Each says what is wrong, with its name, and what to do."""
    args, words = REQUESTS[name]
    refused(*args, words=words, statuses=(1, 2))


def test_no_command():
    """Without a command the help comes, as a mistake."""
    done = hotcell.hotcell()
    assert done.status == 2 and "Usage: hotcell" in done.text + done.errors


def test_unreadable_file(tmp_path):
    """A file that may not be read, and one that is a device or a loop of links."""
    loop = tmp_path / "loop.py"
    loop.symlink_to(loop)
    refused("run", str(loop), words=["loop.py"], statuses=(1, 2))
    secret = tmp_path / "secret.py"
    secret.write_text(RAN)
    secret.chmod(0)
    if os.geteuid() != 0:
        refused("run", str(secret), words=["secret.py"], statuses=(1, 2))


def test_unknown_kind_of_file(tmp_path):
    """A file whose language cannot be told asks for -l."""
    file = tmp_path / "program"
    file.write_text(RAN)
    refused("run", str(file), words=["-l"])


def test_empty_file_and_stdin(tmp_path):
    """Empty code in every form."""
    empty = tmp_path / "empty.py"
    empty.touch()
    refused("run", str(empty), words=["empty"])
    refused("run", "-l", "python", "-", stdin=b"", words=["empty"])


def test_code_that_is_too_long(tmp_path):
    """10 MB of code is refused with the limit; one byte less than the limit runs."""
    large = tmp_path / "large.py"
    large.write_bytes(b"#" * (10 << 20))
    refused("run", str(large), words=["8 ?Mi?B"])
    refused("run", "-l", "python", "-", stdin=b"#" * (10 << 20), words=["8 ?Mi?B"])
    large.write_bytes(b"print(1)\n#" + b"x" * ((8 << 20) - 20))
    assert hotcell.hotcell("run", str(large)).out == b"1\n"


def test_nul_bytes(tmp_path):
    """Code with NUL bytes is no text."""
    file = tmp_path / "nul.py"
    file.write_bytes(b"print(1)\0\nprint(2)\n")
    refused("run", str(file), words=["NUL"])
    refused("run", "-l", "bash", "-", stdin=b"echo 1\0", words=["NUL"])


def test_too_many_arguments():
    """Arguments and variables have a limit, which is told."""
    refused("run", "-c", RAN, *["x"] * 1000, words=["argument"])
    refused("run", "-c", RAN, "x" * 100_000, words=["argument"])
    many = [word for i in range(300) for word in ("-e", f"A{i}=x")]
    refused("run", *many, "-c", RAN, words=["-e|--env"])


# ---- configuration ----

CONFIGURATIONS = {
    "unknown key": ("[run]\ntimeout = 5s\nfrobnicate = 1\n", 3, ["frobnicate"]),
    "nearly a key": ("[run]\ntimeuot = 5s\n", 2, ["timeuot", "timeout"]),
    "unknown section": ("[rnu]\ntimeout = 5s\n", None, ["rnu"]),
    "bad value": ("[run]\n\ntimeout = soon\n", 3, ["soon"]),
    "out of range": ("[policy.strict]\nmemory = 1\n", 2, ["memory"]),
    "bad word": ("[run]\npolicy = lax\n", 2, ["lax", "strict"]),
    "no section": ("timeout = 5s\n", 1, []),
    "no equals": ("[run]\ntimeout\n", 2, []),
    "open section": ("[run\ntimeout = 5s\n", 1, []),
    "long line": ("[run]\ntimeout = " + "x" * 100_000 + "\n", 2, []),
    "binary": ("[run]\n\x01\x02\xff = 1\n", 2, []),
}


@pytest.fixture
def configured(tmp_path):
    """Writes the user's configuration; gives the environment that reads it."""
    folder = tmp_path / "config" / "hotcell"
    folder.mkdir(parents=True)
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return folder / "hotcell.ini", environment


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configuration(name, configured):
    """A mistake in the configuration is told with file and line, and nothing is run."""
    text, line, words = CONFIGURATIONS[name]
    file, environment = configured
    file.write_text(text, encoding="latin-1")
    place = re.escape(str(file)) + (f":{line}" if line else r":\d+")
    refused("run", "-c", RAN, env=environment, words=[place, *words], statuses=(1, 2))


def test_configuration_unreadable(configured):
    """A configuration that cannot be read is an error, not ignored."""
    file, environment = configured
    file.mkdir()
    refused("run", "-c", RAN, env=environment, words=[re.escape(str(file))], statuses=(1, 2))
    file.rmdir()
    file.write_text("[run]\ntimeout = 5s\n")
    file.chmod(0)
    if os.geteuid() != 0:
        refused("run", "-c", RAN, env=environment, words=[re.escape(str(file))], statuses=(1, 2))


def test_configuration_works(configured):
    """A good one is followed, the environment goes before it, a flag before both."""
    file, environment = configured
    file.write_text("# mine\n[run]\ntimeout = 400ms\n[policy.standard]\nmemory = 100M\n")
    sleep = "import time; time.sleep(20)"
    done = hotcell.run(sleep, env=environment)
    assert done.status == 124 and "400" in done.errors, done
    done = hotcell.run(sleep, env={**environment, "HOTCELL_RUN_TIMEOUT": "300ms"})
    assert done.status == 124 and "300" in done.errors, done
    done = hotcell.run(sleep, "--timeout", "200", env={**environment, "HOTCELL_RUN_TIMEOUT": "300ms"})
    assert done.status == 124 and "200" in done.errors, done


def test_environment_settings():
    """Settings of the environment are checked as well, by their own name."""
    refused("run", "-c", RAN, env={**os.environ, "HOTCELL_RUN_TIMEOUT": "soon"}, words=["HOTCELL_RUN_TIMEOUT", "soon"],
            statuses=(1, 2))
