"""The first part of every Python probe: attempts, and a line of JSON that says what came of each."""

import errno
import json
import os
import sys


def say(name, ok=True, error="", value=None):
    row = {"name": name, "ok": ok, "errno": error, "value": value}
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def attempt(name, call, *args, **more):
    """Says whether the call went through; gives back what it gave, or None."""
    try:
        value = call(*args, **more)
    except OSError as error:
        say(name, False, errno.errorcode.get(error.errno, str(error.errno or error)))
        return None
    except Exception as error:  # a refusal that is no errno: RuntimeError of threads, ValueError of limits
        say(name, False, type(error).__name__)
        return None
    shown = value if isinstance(value, (int, str, list, dict)) and not isinstance(value, bool) else None
    say(name, True, value=shown)
    return value


def read(path, size=100_000):
    with open(path, "rb") as file:
        return file.read(size).decode("latin-1")


def open_and_close(path, flags):
    os.close(os.open(path, flags))
