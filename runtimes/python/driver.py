"""The Python driver: started by hotcell-init in a cell, with a SEQPACKET socket to the front on fd 3.

It says READY, waits for one RUN, runs the program it brings and says DONE (src/wire/cell_messages.h).
The interpreter compiles this file anew at every start, so it holds only what comes before READY; the
rest is in the modules beside it: run.py (one run from RUN to DONE), source.py (the program's code and
how errors show it), outputs.py (values, images, tables; loaded when there are some).
"""

import os
import sys
import _socket  # not socket: its enums cost more than everything else here
from _frozen_importlib_external import SourceFileLoader

CONTROL_FD = 3
# Out of the way of programs, which expect their first file on fd 3 and may close "all" small ones.
CONTROL_FD_HIGH = 200
READY = (4).to_bytes(2, "little") + bytes(2) + (8).to_bytes(4, "little")
HERE = os.path.dirname(os.path.abspath(__file__))
modules = {}


def load(name):
    """A module beside this file. Not by import: sys.path and sys.modules belong to the program."""
    if name not in modules:
        loader = SourceFileLoader("hotcell_" + name, f"{HERE}/{name}.py")
        module = modules[name] = type(sys)(loader.name)
        module.load, module.PLACE = load, HERE
        exec(loader.get_code(loader.name), module.__dict__)
    return modules[name]


def connect():
    try:
        os.dup2(CONTROL_FD, CONTROL_FD_HIGH, inheritable=False)
    except OSError:  # a small RLIMIT_NOFILE
        os.set_inheritable(CONTROL_FD, False)
        return _socket.socket(fileno=CONTROL_FD)
    os.close(CONTROL_FD)
    return _socket.socket(fileno=CONTROL_FD_HIGH)


control = connect()
control.send(READY)
load("run").main(control)
