"""The attack cases of reference/isolation.md section 5: probes that run once for many cases, and the canary."""

import os

import pytest

import hotcell


@pytest.fixture(autouse=True)
def canary():
    """Whatever a hostile run did, somebody else's `print(1)` right after it is as always."""
    yield
    done = hotcell.run("print(1)")
    assert (done.out, done.status) == (b"1\n", 0), done
    assert done.seconds < 10, done


@pytest.fixture(scope="session")
def inside_files():
    return hotcell.probe_inside("files")


@pytest.fixture(scope="session")
def outside_files():
    return hotcell.probe_outside("files")


@pytest.fixture(scope="session")
def inside_processes():
    return hotcell.probe_inside("processes", TARGET=1)


@pytest.fixture(scope="session")
def outside_processes():
    return hotcell.probe_outside("processes", TARGET=None)


@pytest.fixture(scope="session")
def inside_syscalls():
    return hotcell.binary_inside("syscalls")


@pytest.fixture(scope="session")
def outside_syscalls():
    if os.geteuid() != 0:
        return None
    return hotcell.binary_outside("syscalls", prefix=hotcell.own_namespaces())

