"""What the attack tests have in common: tables of cases, and listeners on the host."""

import os
import select
import threading

import pytest


class Case:
    """One attack: the attempts of a probe and what must come of each in a cell ("EPERM", or several with |).
    control: attempts that go through outside; they are looked at as root only, because some need it."""

    def __init__(self, name, meaning, inside, control=()):
        self.name, self.meaning, self.inside = name, meaning, inside
        self.control = {attempt: "ok" for attempt in control} if not isinstance(control, dict) else control

    def check(self, inside, outside):
        wrong = {
            attempt: f"{inside[attempt]}, not {wanted}"
            for attempt, wanted in self.inside.items()
            if inside[attempt] not in wanted.split("|")
        }
        assert not wrong, f"{self.name}: {self.meaning}, but: {wrong}"
        if os.geteuid() != 0 or outside is None:
            return
        broken = {
            attempt: f"{outside[attempt]}, not {wanted}"
            for attempt, wanted in self.control.items()
            if outside[attempt] not in wanted.split("|")
        }
        assert not broken, f"{self.name}: the probe does not work outside either: {broken}"


def cases(*rows):
    """Decorates a test with a table of cases."""
    return pytest.mark.parametrize("case", rows, ids=[row.name for row in rows])


class Listener(threading.Thread):
    """Accepts everything on a socket of the host's and remembers how often."""

    def __init__(self, *sockets):
        super().__init__(daemon=True)
        self.sockets, self.accepted, self.ending = sockets, 0, threading.Event()

    def run(self):
        while not self.ending.is_set():
            for ready in select.select(self.sockets, [], [], 0.1)[0]:
                ready.accept()[0].close()
                self.accepted += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.ending.set()
        self.join()
        for s in self.sockets:
            s.close()
