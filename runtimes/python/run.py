"""One run: takes RUN, makes the process look like `python3 main.py`, runs the program, ends as CPython does.

The program has every right in here that the driver has, so nothing below is a defence: what counts is
that the program finds what it would find in a plain interpreter, and that the run always ends.
"""

import gc
import io
import os
import sys
import _signal
import _socket

source = load("source")  # noqa: F821, given by driver.py

CELL_RUN, CELL_DONE = 3, 7
RUN_FDS = 5  # bundle, stdin, stdout, stderr, outputs
BUNDLE_MAGIC = 0x4C454348
BUNDLE_HEADER_BYTES = 20
OUTPUTS_FD_HIGH = 201
# A RUN that was waiting for READY is here by then; after that there is time to warm up.
IDLE_S = 0.005
EXIT_FLUSH_FAILED = 120  # CPython's

REHEARSAL = b"""
import sys
class Point:
    def __init__(self, x): self.x = x
def total(points): return sum(p.x for p in points)
print(f"{total([Point(i) for i in range(9)]):>8}", {"a": 1.5}, sorted({3, 1}))
try: sys.absent
except AttributeError as e: print(e, file=sys.stderr)
[x ** 2 for x in range(3)]
"""


def u32(data, offset):
    return int.from_bytes(data[offset : offset + 4], "little")


class Run:
    """What RUN brought. Only the process that got it reports results: a fork of it is the program's own."""

    def __init__(self, control, fds):
        bundle, stdin, stdout, stderr, outputs = fds
        self.control = control
        self.control_identity = identity(control.fileno())
        self.pid = os.getpid()
        self.directory = os.getcwd()
        self.modules_before = set(sys.modules)
        self.args, self.env, self.code = read_bundle(bundle)
        for target, fd in enumerate((stdin, stdout, stderr)):
            os.dup2(fd, target)
            os.close(fd)
        os.close(bundle)
        self.outputs = None
        self.outputs_fd = outputs
        try:
            os.dup2(outputs, OUTPUTS_FD_HIGH, inheritable=False)
            os.close(outputs)
            self.outputs_fd = OUTPUTS_FD_HIGH
        except OSError:
            pass  # a small RLIMIT_NOFILE: it stays where it came
        self.outputs_identity = identity(self.outputs_fd)

    def is_owner(self):
        return os.getpid() == self.pid

    def show(self, what, *args):
        """Calls a method of outputs.Outputs; not in a fork, nor when the program closed the pipe (and may use
        its number itself). Showing is a courtesy: what fails in there is no failure of the run."""
        if not self.is_owner() or identity(self.outputs_fd) != self.outputs_identity:
            return
        try:
            if self.outputs is None:
                self.outputs = load("outputs").Outputs(self.outputs_fd, self.directory)  # noqa: F821
            getattr(self.outputs, what)(*args)
        except Exception:
            pass

    def done(self, code):
        if not self.is_owner() or identity(self.control.fileno()) != self.control_identity:
            return
        head = CELL_DONE.to_bytes(2, "little") + bytes(2) + (16).to_bytes(4, "little")
        try:
            self.control.send(head + code.to_bytes(4, "little") + bytes(4))
        except OSError:
            pass  # the exit status says the same


def identity(fd):
    try:
        st = os.fstat(fd)
    except OSError:
        return None
    return st.st_dev, st.st_ino


def read_bundle(fd):
    """src/wire/bundle.h. By pread: the offset is where the writer left it."""
    data = bytearray()
    while part := os.pread(fd, 16 << 20, len(data)):
        data += part
    magic, code_len, argc, envc, strings_len = (u32(data, i) for i in range(0, BUNDLE_HEADER_BYTES, 4))
    if magic != BUNDLE_MAGIC or BUNDLE_HEADER_BYTES + strings_len + code_len != len(data):
        os._exit(1)
    code_at = BUNDLE_HEADER_BYTES + strings_len
    strings = data[BUNDLE_HEADER_BYTES:code_at].decode("utf-8", "surrogateescape").split("\0")
    return strings[:argc], strings[argc : argc + envc], bytes(data[code_at:])


def receive(control):
    control.settimeout(IDLE_S)
    while True:
        try:
            space = _socket.CMSG_SPACE(RUN_FDS * 4)
            message, ancillary, _, _ = control.recvmsg(64, space, _socket.MSG_CMSG_CLOEXEC)
            break
        except _socket.timeout:
            control.settimeout(None)
            rehearse()
    if not message:
        os._exit(0)  # the front has no use for this cell
    fds = [u32(data, i) for _, _, data in ancillary for i in range(0, len(data), 4)]
    if int.from_bytes(message[:2], "little") != CELL_RUN or len(fds) != RUN_FDS:
        os._exit(1)
    control.settimeout(None)
    return Run(control, fds)


def rehearse():
    """Goes once through what a run does, with all streams on /dev/null, so that its pages are there."""
    load("outputs")  # noqa: F821
    open_streams()
    scope = {"__name__": "rehearsal"}
    body, last = source.Source(REHEARSAL).compile()
    exec(body, scope)
    repr(eval(last, scope))
    try:
        raise ValueError("rehearsal")
    except ValueError as error:
        source.Source(b"pass\n").showing(sys.__excepthook__)(ValueError, error, error.__traceback__)
    flush_streams()
    del scope
    gc.collect()


def open_streams(unbuffered=False):
    """New objects for 0, 1 and 2, made as CPython makes them: the old ones remember /dev/null."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        errors = "backslashreplace" if fd == 2 else "surrogateescape"
        write_through = unbuffered and fd > 0
        buffer = open(fd, mode + "b", 0 if write_through else -1, closefd=False)
        (buffer if write_through else buffer.raw).name = f"<{name}>"
        # stdout too: CPython would keep whole blocks back from a pipe, but output is watched live.
        text = io.TextIOWrapper(
            buffer, "utf-8", errors, newline="\n", line_buffering=fd > 0, write_through=write_through
        )
        text.mode = mode
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def flush_streams(tell=True):
    """0, or EXIT_FLUSH_FAILED: what was printed did not get out."""
    code = 0
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name, None)
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException as error:
            if tell and name == "stdout":  # as CPython: no word about stderr, it could not be printed
                unraisable(error, stream)
            code = EXIT_FLUSH_FAILED
    return code


def unraisable(error, where):
    """'Exception ignored in ...', as CPython says of errors for which nobody is left to ask."""
    try:
        error.__traceback__ = source.trimmed(error.__traceback__)
        source.complain(f"Exception ignored in: {where!r}")
        sys.__excepthook__(type(error), error, error.__traceback__)
    except BaseException:
        pass


def prepare(run, program):
    """The process as `python3 main.py ARGS` would find it; returns the globals of __main__."""
    for entry in run.env:
        name, _, value = entry.partition("=")
        os.environ[name] = value
        if name == "TZ":
            sys.modules["time"].tzset()
    open_streams(unbuffered=bool(os.environ.get("PYTHONUNBUFFERED")))
    sys.argv[:] = ["main.py", *run.args]
    sys.path.insert(0, run.directory)
    builtins = sys.modules["builtins"]
    # The collection at the end then looks at what the program made, not at the whole interpreter.
    gc.freeze()
    main = sys.modules["__main__"] = type(sys)("__main__")
    main.__dict__.update(
        __annotations__={},
        __builtins__=builtins,
        __cached__=None,
        __file__=run.directory + "/main.py",
        __loader__=program,
    )

    def display(*objects, raw=False, **_):
        """Sends objects to whoever reads the run's result: images, tables, HTML, or text."""
        run.show("display", objects, raw)

    def pyplot_imported(pyplot):
        pyplot.show = lambda *_, **__: send_figures(run)

    if not hasattr(builtins, "display"):
        builtins.display = display
    program.install({"matplotlib.pyplot": pyplot_imported})
    return main.__dict__


def send_figures(run):
    if "matplotlib.pyplot" in sys.modules:
        run.show("figures")


def main(control):
    run = receive(control)
    program = source.Source(run.code, run.directory)
    scope = prepare(run, program)
    value = error = None
    try:
        body, last = program.compile()
        if source.is_async(body) or source.is_async(last):
            value = source.run_async(body, last, scope)
        else:
            exec(body, scope)
            value = eval(last, scope) if last else None
    except BaseException as caught:
        error = caught
    sys.settrace(None)
    sys.setprofile(None)
    code = 1
    try:
        code = end(run, program, value, error)
        value = error = scope = None
        drop_program(run)
    finally:
        if code == source.INTERRUPTED:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
            os.kill(os.getpid(), _signal.SIGINT)
            code = 128 + _signal.SIGINT  # it was blocked
        run.done(code)
        os._exit(code)


def end(run, program, value, error):
    """What CPython does between the last line of the program and taking the interpreter apart."""
    code = 0
    if error is not None:
        error.__traceback__ = source.trimmed(error.__traceback__)
        code = program.report(error)
    elif value is not None:
        run.show("result", value)
    value = error = None
    threading = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()
    except BaseException as failure:
        unraisable(failure, threading)
    send_figures(run)  # before atexit, where pyplot closes them
    import atexit

    try:
        atexit._run_exitfuncs()
    except BaseException as failure:
        unraisable(failure, atexit)
    return flush_streams() or code


def drop_program(run):
    """Lets go of all that the program made, so that its files are flushed and its __del__ run."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        sys.__dict__.pop(name, None)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, f"__{name}__", None))
    # As CPython, once before: it leaves every object behind what refers to it, and the collection below
    # finalizes in that order. Otherwise files would close before the buffers on them are flushed.
    gc.collect()
    for name, module in list(sys.modules.items()):
        if name not in run.modules_before:
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path.startswith(run.directory + "/"):
                del sys.modules[name]
    sys.modules.pop("__main__", None)
    module = path = None
    gc.collect()
    flush_streams(tell=False)
