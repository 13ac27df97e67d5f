"""Fault injection: hotcell's programs in a folder of their own, warden and front under the tracer faults.c, one
system call of one process failing at a time."""

import errno
import functools
import json
import queue
import re
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import hotcell

SOURCE = Path(__file__).with_name("faults.c")
TRACED = ("hotcell-warden", "hotcell-front")
OTHERS = ("hotcell", "hotcell-init", "hotcell-files")
# Prints, and makes a file: then hotcell-files is started too.
CODE = 'print("started"); open("made", "w").write("x")'
# For the text of a call; elsewhere it is whatever lay in memory.
TELLING = ("openat", "openat2", "newfstatat", "mkdirat", "mknodat", "mount", "mount_setattr", "fsconfig", "unlinkat")
FOR_EVER = 1 << 30
NEVER = 1  # as a result: the call does not come back


class Point:
    """The n-th call of this name by a process in this role. what: the path, or prctl's option and argument."""

    def __init__(self, role, call, n, what):
        self.role, self.call, self.n, self.what = role, call, n, what

    def __repr__(self):
        return f"{self.role}: {self.call} #{self.n} ({self.what})"


class Injection:
    """What came of one. It went one of these ways:

    refused   status 1, nothing of the user's code, one sentence of ours (after the dying program's own, if any)
    complete  as if nothing had happened
    told      the program ran, and the result says that its files could not be listed
    """

    def __init__(self, point, result, done, lines, ended):
        self.point, self.result, self.done, self.ended = point, result, done, ended
        first = next((k for k, line in enumerate(lines) if line.startswith("failed ")), None)
        self.hit = first is not None
        # The warden's turns are not counted out: what was before the program may come after it.
        self.late = self.hit and "program" in lines[:first] and point.role == "warden"
        try:
            self.answer = json.loads(done.out)
        except ValueError:
            self.answer = {}
        self.started = b"started" in done.out
        lines = done.errors.splitlines()
        self.said = any(re.match(r"hotcell: (sandbox unavailable: |hotcell-|cannot )\w", line) for line in lines)

    @property
    def way(self):
        status, note = self.done.status, self.answer.get("note")
        if status == 1 and not self.started and self.said and len(self.done.errors.splitlines()) <= 2:
            return "refused"
        if status == 0 and self.started and not note and [f["path"] for f in self.answer["files"]] == ["made"]:
            return "complete"
        if status == 0 and self.started and note and not self.answer["files"]:
            return "told"
        return "neither"

    def __repr__(self):
        name = {0: "success", NEVER: "nothing, ever"}.get(self.result) or errno.errorcode[-self.result]
        return (f"{self.point!r} gives {name}: {self.way}, status {self.done.status} after {self.done.seconds:.1f} s"
                f"{'' if self.ended else ', processes left'}, {self.done.err[-300:]!r} {self.done.out[:200]!r}")


@functools.lru_cache(None)
def call_numbers():
    """Name → number of every system call here."""
    command = ["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name: int(number) for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", text, re.M)}


class Bench:
    """Folders of programs, as many as injections run at once."""

    def __init__(self, at_once=2):
        self.top = Path(tempfile.mkdtemp(prefix="hotcell-faults-"))
        self.top.chmod(0o755)
        self.tracer = self.top / "faults"
        subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-o", self.tracer, SOURCE], check=True)
        self.at_once, self.folders = at_once, queue.SimpleQueue()
        for i in range(at_once):
            self.folders.put(self.make_folder(self.top / str(i)))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        shutil.rmtree(self.top)

    def make_folder(self, folder):
        (folder / "real").mkdir(parents=True)
        for name in OTHERS:
            shutil.copy(hotcell.BUILD / name, folder / name)
        for name in TRACED:
            shutil.copy(hotcell.BUILD / name, folder / "real" / name)
        (folder / "runtimes").symlink_to(hotcell.BUILD / "runtimes")
        return folder

    def run(self, role="-", number=0, first=0, last=0, result=0):
        """One `hotcell run` under the tracer: what came of it, the log, and whether all its processes are gone."""
        folder = self.folders.get()
        try:
            logs = []
            for name in TRACED:
                log, wrapper = folder / f"{name}.log", folder / name
                log.write_text("")
                fault = f"{log} {role} {number} {first} {last} {result}"
                wrapper.write_text(f'#!/bin/sh\nexec {self.tracer} {fault} {folder}/real/{name} "$@"\n')
                wrapper.chmod(0o755)
                logs.append(log)
            done = hotcell.hotcell("run", "--json", "-c", CODE, program=folder / "hotcell", timeout=60)
            ended = self.wait_for_end(logs)
            return done, [line for log in logs for line in log.read_text().splitlines()], ended
        finally:
            self.folders.put(folder)

    def wait_for_end(self, logs, patience=5):
        """The tracer's last line says that every process which it followed is gone; with init goes its cell."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            texts = [log.read_text() for log in logs]
            if all(not text or text.endswith("end\n") for text in texts):
                return True
            time.sleep(0.005)
        return False

    def baseline(self):
        """Without a fault: role → its calls in order; a None where the program was executed."""
        names = {number: name for name, number in call_numbers().items()}
        done, lines, ended = self.run()
        assert Injection(None, 0, done, lines, ended).way == "complete" and ended, done
        roles = {}
        for line in lines:
            words = line.split(maxsplit=5)
            if words[0] == "program":
                for calls in roles.values():
                    calls.append(None)
            elif words[0] == "call":
                call, text = names[int(words[2])], re.sub(r"\d{2,}", "N", words[5]) if len(words) > 5 else ""
                what = f"{words[4]} {words[5]}" if call == "prctl" else text if call in TELLING else ""
                roles.setdefault(words[1], []).append(Point(words[1], call, int(words[3]), what))
        return roles

    def inject(self, faults, for_ever=()):
        """(point, result) → what came of each. In the roles for_ever, every later call of that name fails too."""

        def one(fault):
            point, result = fault
            last = FOR_EVER if point.role in for_ever else point.n
            return Injection(point, result, *self.run(point.role, call_numbers()[point.call], point.n, last, result))

        with ThreadPoolExecutor(self.at_once) as pool:
            return list(pool.map(one, faults))
