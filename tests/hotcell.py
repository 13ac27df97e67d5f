"""Runs the real programs for the tests: `hotcell run` in every way, the same probes outside, and what is left over."""

import functools
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
BUILD = Path(os.environ.get("HOTCELL_BUILD") or ROOT / "build").resolve()
PROGRAM = BUILD / "hotcell"
PROBES = TESTS / "probe"
# The interpreter that cells use; the one that runs the tests may be another.
PYTHON = "/usr/bin/python3"
# Host uids of cells: cells.uid_base and what follows.
CELL_UIDS = range(1_900_000_000, 2_000_000_000)
# No test waits longer than this for one command: then it hangs.
PATIENCE = 120


class Done:
    """A finished command."""

    def __init__(self, args, status, out, err, seconds):
        self.args, self.status, self.out, self.err, self.seconds = args, status, out, err, seconds

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def errors(self):
        return self.err.decode("utf-8", "replace")

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"no JSON on stdout: {self!r}") from None

    def __repr__(self):
        shown = " ".join(str(a) if len(str(a)) < 200 else "…" for a in self.args)
        return (
            f"{shown!r} → status {self.status} after {self.seconds:.2f} s\n"
            f"stdout: {self.out[:2000]!r}\nstderr: {self.err[:2000]!r}"
        )


@functools.lru_cache(None)
def is_sanitized():
    """ASan multiplies memory and time; a few numbers mean nothing then."""
    return b"__asan_init" in PROGRAM.read_bytes()


def start(*args, stdin=subprocess.DEVNULL, program=PROGRAM, **more):
    """`hotcell ARG...` as a Popen with pipes, for tests that look while it runs."""
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen([str(program), *map(os.fspath, args)], stdin=stdin, **more)


def finish(process, stdin=None, timeout=PATIENCE, begun=None):
    begun = begun or time.monotonic()
    try:
        out, err = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"still running after {timeout} s: {process.args}\n{err[-2000:]!r}") from None
    return Done(process.args, process.returncode, out or b"", err or b"", time.monotonic() - begun)


def hotcell(*args, stdin=None, timeout=PATIENCE, **more):
    """`hotcell ARG...` to its end. stdin: bytes, a file, or nothing."""
    begun = time.monotonic()
    data = stdin if isinstance(stdin, bytes) else None
    source = subprocess.PIPE if data is not None else (subprocess.DEVNULL if stdin is None else stdin)
    return finish(start(*args, stdin=source, **more), data, timeout, begun)


def run(code, *flags, args=(), **more):
    """`hotcell run` of this code, handed over as -c, or as a file when it is long or not text."""
    flags = [str(flag) for flag in flags]
    if isinstance(code, str) and len(code) < 60_000 and "\0" not in code:
        return hotcell("run", *flags, "-c", code, *args, **more)
    with tempfile.NamedTemporaryFile(suffix=".py") as file:
        file.write(code if isinstance(code, bytes) else code.encode())
        file.flush()
        return hotcell("run", *flags, file.name, *args, **more)


def result(code, *flags, args=(), **more):
    """The same with --json: the result as a dict. Fails when there is none."""
    done = run(code, "--json", *flags, args=args, **more)
    answer = done.json
    answer["command"] = done
    return answer


def together(calls, at_once=4):
    """Calls each function, a few at a time; their results in order."""
    with ThreadPoolExecutor(at_once) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


# ---- probes: one program, run in a cell and outside ----


def probe_text(name, **values):
    """tests/probe/NAME.py with the prelude before it and VALUES as its globals."""
    parts = [(PROBES / "prelude.py").read_text()]
    parts += [f"{key} = {value!r}\n" for key, value in values.items()]
    parts.append((PROBES / f"{name}.py").read_text())
    return re.sub(r"^from prelude import .*$", "", "\n".join(parts), flags=re.M)


def outcomes(text):
    """The lines that a probe printed: attempt → "ok" or the name of an errno; values beside them."""
    found, values = {}, {}
    for line in text.splitlines():
        if line.startswith('{"name"'):
            row = json.loads(line)
            found[row["name"]] = "ok" if row["ok"] else row["errno"]
            values[row["name"]] = row.get("value")
    return found, values


class Outcome(dict):
    """attempt → "ok" or errno name; .value[attempt] is what it gave; .result the whole run."""

    def __init__(self, text, result):
        found, self.value = outcomes(text)
        super().__init__(found)
        self.result = result

    def __missing__(self, name):
        raise AssertionError(f"the probe said nothing of {name!r}: {self.result}")


def probe_inside(name, *flags, timeout=PATIENCE, stdin=None, lang="python", **values):
    answer = result(probe_text(name, **values), "-l", lang, *flags, timeout=timeout, stdin=stdin)
    return Outcome(answer["stdout"], answer)


def probe_outside(name, user=None, prefix=(), **values):
    """The positive control: the same text, by the same interpreter, with no cell around it. It gets a folder
    of its own to work in. user=65534: not as root."""
    with tempfile.TemporaryDirectory(prefix="outside-") as folder:
        os.chmod(folder, 0o777)
        script = Path(folder, "probe.py")
        script.write_text(probe_text(name, **values))
        work = Path(folder, "work")
        work.mkdir()
        work.chmod(0o777)
        ids = {"user": user, "group": user, "extra_groups": []} if user is not None and os.geteuid() == 0 else {}
        begun = time.monotonic()
        process = subprocess.Popen(
            [*prefix, PYTHON, str(script)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=work,
            start_new_session=True,
            **ids,
        )
        done = finish(process, begun=begun)
        return Outcome(done.text, done)


def own_namespaces():
    """A prefix for controls that would touch the host: new mount, uts, ipc, net and pid namespaces."""
    return ["unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


# A file given on stdin becomes an executable in the workspace; the arguments are its own.
LAUNCHER = """
import os, sys
with open("probe", "wb") as to:
    to.write(sys.stdin.buffer.read())
os.chmod("probe", 0o755)
sys.stdout.flush()
os.execv("./probe", ["probe", *sys.argv[1:]])
"""


@functools.lru_cache(None)
def binary(name):
    """The static probe program of tests/probe/NAME.c: Meson builds it; without that, gcc here."""
    built = BUILD / "tests" / "probe" / name
    if built.exists():
        return built
    folder = tempfile.mkdtemp(prefix="probe-")
    program = Path(folder, name)
    subprocess.run(["gcc", "-static", "-O1", "-D_GNU_SOURCE", "-o", program, PROBES / f"{name}.c"], check=True)
    program.chmod(0o755)
    Path(folder).chmod(0o755)
    return program


def binary_inside(name, *args, flags=(), **more):
    answer = result(LAUNCHER, *flags, args=args, stdin=binary(name).read_bytes(), **more)
    return Outcome(answer["stdout"], answer)


def binary_outside(name, *args, prefix=(), user=None):
    with tempfile.TemporaryDirectory(prefix="outside-") as folder:
        os.chmod(folder, 0o777)
        copy = Path(folder, "probe")
        copy.write_bytes(binary(name).read_bytes())
        copy.chmod(0o755)
        ids = {"user": user, "group": user, "extra_groups": []} if user is not None and os.geteuid() == 0 else {}
        process = subprocess.Popen(
            [*prefix, str(copy), *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            start_new_session=True,
            **ids,
        )
        done = finish(process)
        return Outcome(done.text, done)


# ---- looking from the host ----


def processes():
    """pid → (parent, exe, uids) of everything that runs."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            status = Path("/proc", entry, "status").read_text()
            exe = os.readlink(f"/proc/{entry}/exe")
        except FileNotFoundError:
            exe = ""  # a zombie, or gone
            try:
                status = Path("/proc", entry, "status").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
        except (PermissionError, ProcessLookupError):
            continue
        parent = int(re.search(r"^PPid:\s*(\d+)", status, re.M)[1])
        uid = int(re.search(r"^Uid:\s*(\d+)", status, re.M)[1])
        found[int(entry)] = (parent, exe, uid)
    return found


def descendants(pid):
    everything = processes()
    family, grown = {pid}, True
    while grown:
        more = {p for p, (parent, _, _) in everything.items() if parent in family} - family
        family |= more
        grown = bool(more)
    family.discard(pid)
    return {p: everything[p] for p in family if p in everything}


def part(pid, name, patience=10):
    """The pid of the command's child hotcell-NAME (the warden has children of the same program); waits for it."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        for child, (parent, exe, _) in processes().items():
            if parent == pid and os.path.basename(exe).split(" ")[0] == f"hotcell-{name}":
                return child
        time.sleep(0.005)
    raise AssertionError(f"no hotcell-{name} appeared under {pid}")


def wait_for(what, check, patience=10, pause=0.02):
    until = time.monotonic() + patience
    while True:
        value = check()
        if value or time.monotonic() > until:
            assert value, f"waited {patience} s for {what}"
            return value
        time.sleep(pause)


class Watch:
    """Samples a program's front while it runs: highest resident memory and number of fds."""

    def __init__(self, process):
        self.process, self.rss_kib, self.fds, self.first_fds = process, 0, 0, None
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.sample)

    def sample(self):
        try:
            front = part(self.process.pid, "front")
        except AssertionError:
            return
        while not self.stop.is_set():
            try:
                status = Path("/proc", str(front), "status").read_text()
                fds = len(os.listdir(f"/proc/{front}/fd"))
            except OSError:
                return
            match = re.search(r"VmHWM:\s*(\d+)", status)
            if not match:
                return
            self.rss_kib = max(self.rss_kib, int(match[1]))
            self.fds = max(self.fds, fds)
            self.stop.wait(0.01)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        self.thread.join()


# ---- what is left over ----


def cgroups():
    """Every cgroup of hotcell's instances, in every hierarchy; the folder that holds them may stay."""
    found = set()
    for top, folders, _ in os.walk("/sys/fs/cgroup"):
        if "hotcell" in top:
            found |= {os.path.join(top, folder) for folder in folders}
    return found


def mounts():
    """Mount points of the host's namespace, with their file systems."""
    found = set()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        found.add((fields[4], fields[fields.index("-") + 1]))
    return found


def own_processes():
    """Processes of this build: those that run one of its programs, and those with a cell's uid; not those of
    another build that somebody uses on this machine just now."""
    everything = processes()
    found = {
        pid
        for pid, (_, exe, uid) in everything.items()
        if exe.startswith(str(BUILD) + "/hotcell") or uid in CELL_UIDS
    }
    return {pid for pid in found if not is_foreign(pid, everything)}


def is_foreign(pid, everything):
    """Beneath a hotcell of another build."""
    while pid in everything:
        parent, exe, _ = everything[pid]
        if os.path.basename(exe) in ("hotcell", "hotcell-warden"):
            return not exe.startswith(str(BUILD) + "/")
        pid = parent
    return False


def foreign_instances():
    """Numbers of the instances that run from another build."""
    everything = processes()
    numbers = set()
    for pid, (_, _, uid) in everything.items():
        if uid in CELL_UIDS and is_foreign(pid, everything):
            try:
                numbers |= set(re.findall(r"/hotcell/(\d+)", Path("/proc", str(pid), "cgroup").read_text()))
            except OSError:
                pass
    return numbers


def state_files():
    """Run directories: the locks that somebody holds, and whatever is no lock. Free lock files may stay."""
    held = set(re.findall(r"FLOCK .*?:(\d+) \d+ EOF", Path("/proc/locks").read_text()))
    found = set()
    for folder in ("/run/hotcell", f"{os.environ.get('XDG_RUNTIME_DIR')}/hotcell", f"/tmp/hotcell-{os.geteuid()}"):
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        found |= {e.path for e in entries if not e.name.endswith(".lock") or str(e.inode()) in held}
    return found


def snapshot():
    return {
        "cgroups": cgroups(),
        "mounts": mounts(),
        "processes": own_processes(),
        "state": state_files(),
    }


def leftovers(before, patience=10):
    """What is here now and was not before, after as long as it takes to go away."""
    until = time.monotonic() + patience
    while True:
        foreign, now = foreign_instances(), snapshot()
        more = {kind: now[kind] - before[kind] for kind in now}
        for number in foreign:
            mine = re.compile(rf"/hotcell(-\d+)?/{number}(/|\.lock$|$)")
            for kind in ("cgroups", "state"):
                more[kind] = {path for path in more[kind] if not mine.search(path)}
        more = {kind: things for kind, things in more.items() if things}
        if not more or time.monotonic() > until:
            return more
        time.sleep(0.2)


def end(process, patience=10):
    """Ends a command of ours that a test has started, whatever happened."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
