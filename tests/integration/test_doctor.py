"""`hotcell doctor` and `hotcell setup host`: as root, as ordinary users, on a broken host, and undone."""

import ctypes
import json
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import hotcell

NOBODY_IN_PARTICULAR = 54321  # an ordinary user with no entry anywhere
STATUSES = {"OK", "DEGRADED", "FATAL"}


@pytest.fixture(scope="module")
def program():
    """hotcell where every user can reach it, as it would be installed."""
    with tempfile.TemporaryDirectory(prefix="hotcell-doctor-") as folder:
        os.chmod(folder, 0o755)
        for source in [*hotcell.BUILD.glob("hotcell*"), hotcell.BUILD / "runtimes"]:
            if source.is_file():
                shutil.copy(source, folder)
            elif source.name == "runtimes":
                shutil.copytree(source, Path(folder, "runtimes"))
        yield Path(folder, "hotcell")


def doctor(program, *args, user=None, env=None, prefix=()):
    ids = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent" if user else "/root"} | (env or {})
    return subprocess.run(
        [*prefix, str(program), "doctor", *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=hotcell.PATIENCE,
        cwd="/",
        env=environment,
        check=False,
        **ids,
    )


def report(program, **more):
    done = doctor(program, "--json", **more)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"no JSON: {done!r}") from None
    answer["status"] = done.returncode
    answer["check"] = {check["id"]: check for check in answer["checks"]}
    return answer


def check_schema(answer):
    assert set(answer) >= {"level", "refused", "privilege", "checks", "probes"}
    assert answer["level"] in {"strong", "fair", "weak", None}
    for check in answer["checks"]:
        assert set(check) - {"fix"} == {"id", "status", "counts", "text"}
        assert check["status"] in STATUSES and isinstance(check["counts"], bool) and check["text"]
    for probe in answer["probes"]:
        assert set(probe) == {"name", "expected", "got", "ok", "meaning"}


def subuid_user():
    """A user with uids of his own to give away."""
    for line in Path("/etc/subuid").read_text().splitlines() if Path("/etc/subuid").exists() else ():
        name = line.split(":")[0]
        try:
            user = pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
        if user != 0 and shutil.which("newuidmap") and name in Path("/etc/subgid").read_text():
            return user
    return None


def test_root(root, program):
    answer = report(program)
    check_schema(answer)
    assert answer["status"] == 0 and not answer["refused"]
    assert answer["privilege"] == "root"
    # The word is the one that every run carries.
    assert answer["level"] == hotcell.result("print(1)")["isolation"]["level"]
    assert len(answer["probes"]) >= 60 and all(probe["ok"] for probe in answer["probes"])
    assert not [check for check in answer["checks"] if check["status"] == "FATAL"]


def test_text(program):
    done = doctor(program)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0 and not done.stderr
    assert lines[0].startswith("Isolation of a cell")
    assert lines[-1].startswith("Isolation: ") and "would not be refused" in lines[-1]
    marked = [line for line in lines[1:-1] if line and not line.startswith(("Advice", " "))]
    assert len(marked) > 25 and {line.split()[0] for line in marked} <= STATUSES
    # Every fix stands below the line it mends.
    assert not any(line.lstrip().startswith("->") for line in marked)


def test_one_uid(root, program):
    answer = report(program, user=NOBODY_IN_PARTICULAR)
    check_schema(answer)
    assert answer["status"] == 0 and answer["privilege"] == "user"
    assert answer["level"] in {"fair", "weak"}
    assert answer["check"]["uids"]["status"] == "DEGRADED" and answer["check"]["uids"]["counts"]
    assert all(probe["ok"] for probe in answer["probes"])


def test_subuids(root, program):
    user = subuid_user()
    if user is None:
        pytest.skip("not here: no user has subordinate uids, or there is no newuidmap")
    answer = report(program, user=user)
    assert answer["status"] == 0 and answer["privilege"] == "user with subuids"
    assert answer["check"]["uids"]["status"] == "OK"
    assert all(probe["ok"] for probe in answer["probes"])


def test_without_cgroups(program):
    answer = report(program, env={"HOTCELL_CELLS_CGROUP": "none"})
    assert answer["status"] == 0 and answer["level"] == "weak"
    assert answer["check"]["cgroups"]["status"] == "DEGRADED"
    assert "cells.cgroup" in answer["check"]["cgroups"]["fix"]


def without_user_namespaces(program, uid):
    """The doctor as `uid` in a user namespace in which no further one can be made; root outside maps it."""
    ready, go = os.pipe(), os.pipe()
    out = tempfile.TemporaryFile()
    child = os.fork()
    if child == 0:
        try:
            if ctypes.CDLL(None).unshare(0x10000000) != 0:
                os._exit(99)
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            Path("/proc/sys/user/max_user_namespaces").write_text("0")
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.dup2(out.fileno(), 1)
            os.execve(program, ["hotcell", "doctor", "--json"], {"PATH": os.environ["PATH"]})
        finally:
            os._exit(98)
    os.read(ready[0], 1)
    for name in ("uid_map", "gid_map"):
        # uid 0 inside is nobody here, so that root of the host may write this map even without CAP_SETFCAP
        Path(f"/proc/{child}/{name}").write_text("0 1900900000 1\n1 1 65535\n")
    os.write(go[1], b"x")
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for fd in (*ready, *go):
        os.close(fd)
    out.seek(0)
    return status, json.loads(out.read())


def test_user_namespaces_off(root, program):
    status, answer = without_user_namespaces(program, NOBODY_IN_PARTICULAR)
    check_schema(answer)
    assert status == 1 and answer["refused"] and answer["level"] is None and not answer["probes"]
    checks = {check["id"]: check for check in answer["checks"]}
    assert checks["user_namespaces"]["status"] == "FATAL"
    assert "user.max_user_namespaces" in checks["user_namespaces"]["text"]
    assert "sysctl user.max_user_namespaces" in checks["user_namespaces"]["fix"]
    assert checks["cell"]["status"] == "FATAL" and "sandbox unavailable" in checks["cell"]["text"]


def test_masked_proc(root, program):
    """As in a container that hides parts of /proc: told, and whatever comes of the cell is explained."""
    masks = "mount -t tmpfs none /proc/acpi || mount -t tmpfs none /proc/scsi || mount --bind /dev/null /proc/kcore; "
    prefix = ["unshare", "--mount", "sh", "-c", masks + 'exec "$@"', "sh"]
    answer = report(program, prefix=prefix)
    assert answer["check"]["proc_masks"]["status"] == "DEGRADED"
    if answer["refused"]:
        assert answer["status"] == 1
        assert "/proc" in answer["check"]["cell"]["text"] and "systempaths" in answer["check"]["cell"]["fix"]


def test_probe_outside_is_different(program):
    """The positive control: where nothing refuses, the probe says so, so its refusals mean something."""
    done = subprocess.run([program.parent / "hotcell-probe"], capture_output=True, text=True, timeout=60, check=True)
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    expected = {probe["name"]: probe["expected"] for probe in report(program)["probes"]}
    assert set(found) == set(expected)
    differs = {name for name in found if found[name] not in expected[name].split("|")}
    assert {"seccomp", "no_new_privs", "clone3", "call_i386", "read_sys", "socket_mptcp"} & differs
    assert len(differs) > 20, sorted(differs)


def test_wrong_arguments(program):
    assert doctor(program, "--jsn").returncode == 2
    assert doctor(program, "more").returncode == 2
    assert doctor(program, "--help").stdout.startswith(b"Usage: hotcell doctor")


# ---- setup host ----


def set_up_host(program, *args, **more):
    return subprocess.run(
        [program, "setup", "host", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **more
    )


MACHINE = {
    "proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n",
    "etc/passwd": "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n",
    "etc/subuid": "bob:100000:65536\n",
    "etc/subgid": "bob:100000:65536",
    "etc/apparmor.d/other": "# somebody's\n",
    "run/systemd/system/x": "",
    "sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
    "usr/lib/systemd/system/user@.service": "[Service]\nDelegate=pids memory\n",
    "usr/bin/newuidmap": "",
}


@pytest.fixture
def machine(tmp_path):
    for name, text in MACHINE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def tree(folder):
    return {str(p.relative_to(folder)): p.read_text() if p.is_file() else None for p in Path(folder).rglob("*")}


def test_setup_does_and_undoes(program, machine):
    before = tree(machine)
    shown = set_up_host(program, "--root", machine, "--user", "alice", "--dry-run")
    assert shown.returncode == 0 and tree(machine) == before
    for word in ("/etc/apparmor.d/hotcell", "userns,", "alice:165536:65536", "user@.service.d", "daemon-reload"):
        assert word in shown.stdout

    done = set_up_host(program, "--root", machine, "--user", "alice", "--yes")
    assert done.returncode == 0, done
    after = tree(machine)
    assert after["etc/subuid"] == "bob:100000:65536\nalice:165536:65536\n"
    assert after["etc/subgid"] == "bob:100000:65536\nalice:165536:65536\n"
    assert f'profile hotcell "{program}" flags=(unconfined)' in after["etc/apparmor.d/hotcell"]
    assert "Delegate=cpu" in after["etc/systemd/system/user@.service.d/hotcell.conf"]
    assert len(json.loads(after["etc/hotcell/host-setup.json"])["actions"]) == 4

    again = set_up_host(program, "--root", machine, "--user", "alice", "--yes")
    assert again.returncode == 0 and "needs nothing" in again.stdout and tree(machine) == after

    undone = set_up_host(program, "--root", machine, "--remove", "--yes")
    assert undone.returncode == 0, undone
    # But for the end of a line that somebody had left out.
    assert tree(machine) == before | {"etc/subgid": "bob:100000:65536\n"}
    nothing = set_up_host(program, "--root", machine, "--remove", "--yes")
    assert nothing.returncode == 0 and "nothing to undo" in nothing.stdout


def test_setup_keeps_what_others_changed(program, machine):
    set_up_host(program, "--root", machine, "--user", "alice", "--yes", check=True)
    mine = machine / "etc/systemd/system/user@.service.d/hotcell.conf"
    mine.write_text("[Service]\nDelegate=yes\n")
    done = set_up_host(program, "--root", machine, "--remove", "--yes")
    assert done.returncode == 0 and "kept" in done.stdout
    assert mine.read_text() == "[Service]\nDelegate=yes\n"
    # A profile of that name that is not ours is not touched either.
    profile = machine / "etc/apparmor.d/hotcell"
    profile.write_text("# the distribution's\n")
    done = set_up_host(program, "--root", machine, "--user", "alice", "--yes")
    assert done.returncode == 0 and "not ours" in done.stdout
    assert profile.read_text() == "# the distribution's\n"


def test_setup_asks(program, machine):
    before = tree(machine)
    done = set_up_host(program, "--root", machine, "--user", "alice")
    assert done.returncode == 2 and "--yes" in done.stderr and tree(machine) == before
    done = set_up_host(program, "--root", machine, "--user", "mallory", "--yes")
    assert done.returncode == 2 and "no user 'mallory'" in done.stderr and tree(machine) == before


def test_setup_needs_root(root, program):
    done = set_up_host(program, user=NOBODY_IN_PARTICULAR, group=NOBODY_IN_PARTICULAR, extra_groups=[])
    assert done.returncode == 1 and "sudo" in done.stderr and len(done.stderr.splitlines()) == 1


def test_setup_alone_is_help(program):
    done = subprocess.run([program, "setup"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("Usage: hotcell setup host")
    done = subprocess.run([program, "setup", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2


REAL = """
set -e
mkdir "$work/etc" && cp -a /etc/. "$work/etc" && mount --bind "$work/etc" /etc
echo hcalice:x:%(uid)d:%(uid)d::/nonexistent:/bin/sh >>/etc/passwd
cp /etc/subuid "$work/subuid.before"
"$program" setup host --user hcalice --yes >&2
setpriv --reuid %(uid)d --regid %(uid)d --clear-groups env -u XDG_RUNTIME_DIR HOME=/nonexistent "$program" doctor --json
"$program" setup host --remove --yes >&2
cmp /etc/subuid "$work/subuid.before" >&2
test ! -e /etc/hotcell/host-setup.json
"""


def test_setup_for_real(root, program, tmp_path):
    """On this machine with an /etc of its own: after it, a user without subuids has them, and after that not."""
    if not shutil.which("newuidmap"):
        pytest.skip("not here: there is no newuidmap")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", REAL % {"uid": NOBODY_IN_PARTICULAR}],
        env=os.environ | {"work": str(tmp_path), "program": str(program)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=hotcell.PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done
    answer = json.loads(done.stdout)
    assert answer["privilege"] == "user with subuids" and not answer["refused"]
    assert "hcalice" not in Path("/etc/subuid").read_text()
