"""Runs last: what the whole suite did to the machine."""

import subprocess

import pytest

import hotcell


def test_K19_kernel_log_is_clean():
    """K19: no bug, warning, oops or hung task is in the kernel's log. Out of memory of a cell is no bug."""
    done = subprocess.run(["dmesg"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("not here: the kernel's log cannot be read")
    words = ("BUG:", "WARNING:", "Oops", "hung_task", "blocked for more than", "general protection", "soft lockup",
             "RCU stall", "refcount_t", "KASAN", "UBSAN", "unregister_netdevice: waiting")
    found = [line for line in done.stdout.splitlines() if any(word in line for word in words)]
    assert not found, "\n".join(found)


def test_nothing_runs(root):
    """No process of a cell is left, no cgroup has one, and the next run is as good as the first."""
    hotcell.wait_for("the cells' processes to be gone", lambda: not hotcell.own_processes(), 10)
    everything, left = hotcell.processes(), {}
    for path in hotcell.cgroups():
        try:
            with open(path + "/cgroup.procs") as file:
                pids = [int(line) for line in file]
        except FileNotFoundError:
            continue
        pids = [pid for pid in pids if pid in everything and not hotcell.is_foreign(pid, everything)]
        if pids:
            left[path] = pids
    assert not left
    assert hotcell.run("print(1)").out == b"1\n"
