"""What every test of the real programs shares: they work at all, and leave nothing behind."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import hotcell  # noqa: E402


# What does not use the built programs at all is tested once, with the plain ones.
collect_ignore = ["integration/test_python_driver.py"] if hotcell.is_sanitized() else []


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """With HOTCELL_TESTS_MUST_RUN=1 a test is skipped only for what this kernel or machine lacks."""
    report = (yield).get_result()
    if not report.skipped or hasattr(report, "wasxfail") or os.environ.get("HOTCELL_TESTS_MUST_RUN") != "1":
        return
    reason = str(call.excinfo.value) if call.excinfo else ""
    if not reason.startswith("not here:"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and every test must run: {reason}"


@pytest.fixture(scope="session", autouse=True)
def working():
    """Without this nothing else means anything, so it is said once and plainly."""
    if not hotcell.PROGRAM.exists():
        pytest.exit(f"{hotcell.PROGRAM} is missing: ./dev build", 3)
    done = hotcell.run("print(6*7)")
    if done.out != b"42\n" or done.status != 0:
        pytest.exit(f"hotcell does not run anything here:\n{done!r}", 3)


@pytest.fixture(scope="session", autouse=True)
def nothing_left(working):
    """Processes, cgroups, mounts and state files that were not there before the tests."""
    before = hotcell.snapshot()
    yield
    left = hotcell.leftovers(before)
    assert not left, f"left behind by the tests: {left}"


@pytest.fixture
def root():
    """For what only root can look at or do outside the cell."""
    if os.geteuid() != 0:
        pytest.skip("not here: needs root")


def pytest_make_parametrize_id(val):
    """A long value is no name: pytest puts names into the environment, where they may be too long."""
    if isinstance(val, (str, bytes)) and len(val) > 60:
        text = val if isinstance(val, str) else val.decode("latin-1")
        return f"{text[:40]}... {len(val)} long".encode("unicode_escape").decode()
    return None
