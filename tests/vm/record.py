"""A pytest plugin for slow machines: writes down each result at once, and stops in time instead of being killed.

HOTCELL_RECORD names the file: one JSON object per line. HOTCELL_SECONDS is how long the tests may take.
"""

import json
import os
import time

import pytest

until = time.monotonic() + float(os.environ["HOTCELL_SECONDS"])
record = open(os.environ["HOTCELL_RECORD"], "w")


def why(report):
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash else str(report.longrepr or "")


def pytest_runtest_logreport(report):
    # Set-up and clean-up count only when they say something of their own.
    if report.when == "call" or not report.passed:
        row = {"test": report.nodeid, "outcome": report.outcome, "why": why(report), "seconds": report.duration}
        print(json.dumps(row), file=record, flush=True)


def pytest_runtest_protocol(item):
    if time.monotonic() > until:
        pytest.exit("no time left", 5)


def pytest_collection_modifyitems(items):
    """The canary after each attack takes a quarter of the time; here it comes after every eighth."""
    for number, item in enumerate(items):
        if number % 8 and "canary" in item.fixturenames:
            item.fixturenames = [name for name in item.fixturenames if name != "canary"]
