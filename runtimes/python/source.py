"""The program's code: compiled, with the last expression apart, and shown where errors point at it.

It is in no file (a main.py in the workspace would be listed among the files the run made), so whoever
looks for its lines is told: linecache, inspect and pdb by an entry made when linecache is imported,
the interpreter's own printer of tracebacks by an io.open that knows "main.py" while it prints.
"""

import io
import os
import sys
import _ast
import _thread
from _frozen_importlib import _find_spec

FILENAME = "main.py"
ONLY_AST = 0x400
TOP_LEVEL_AWAIT = 0x2000
FUTURES = 0x1FE0000  # all that `from __future__` sets in co_flags
CO_COROUTINE = 0x80
# In place of an exit code: CPython then dies of SIGINT, so that whoever started it knows.
INTERRUPTED = -2


class Source:
    """The program's text; also the loader of __main__ and the finder that waits for some imports."""

    def __init__(self, code, directory=""):
        self.code = code
        self.directory = directory
        self.awaited = {}

    # compiling

    def compile(self):
        """(code of all statements but a last expression, code of that expression or None)"""
        try:
            return self.compile_apart(0)
        except (RecursionError, MemoryError):
            refused = None
        except SyntaxError as error:
            refused = error
        if refused is None:
            # A tree of Python objects needs more than the compiler's own: run it without its last value.
            return compile(self.code, FILENAME, "exec", 0, True), None
        message = str(refused.msg)
        if "outside" in message and ("await" in message or "async" in message):
            try:
                return self.compile_apart(TOP_LEVEL_AWAIT)
            except SyntaxError:
                pass  # it was in a function: the first word stands
        self.complete(refused)
        raise refused

    def compile_apart(self, flags):
        tree = compile(self.code, FILENAME, "exec", ONLY_AST, True)
        last = self.take_last_expression(tree)
        body = compile(tree, FILENAME, "exec", flags, True)
        if last is not None:
            last = compile(last, FILENAME, "eval", flags | body.co_flags & FUTURES, True)
        return body, last

    def take_last_expression(self, tree):
        if not tree.body or not isinstance(tree.body[-1], _ast.Expr):
            return None
        last = tree.body[-1].value
        line = self.code.splitlines()[last.end_lineno - 1 : last.end_lineno]
        if line and line[0][last.end_col_offset :].lstrip(b" \t)").startswith(b";"):
            return None  # as in notebooks: the semicolon says that the value is not wanted
        tree.body.pop()
        return _ast.Expression(last)

    def complete(self, error):
        """The compiler looks for the line of a SyntaxError in a file; gives it from here instead."""
        in_file = error.filename == FILENAME and not str(error.msg).startswith("f-string")
        if in_file and error.lineno and (error.text is None or os.path.exists(FILENAME)):
            lines = self.lines()
            if error.lineno <= len(lines):
                error.text = lines[error.lineno - 1]

    # being found

    def lines(self):
        try:
            text = self.get_source()
        except (SyntaxError, UnicodeDecodeError):
            text = self.code.decode("utf-8", "replace")
        return [line + "\n" for line in text.split("\n")]  # not splitlines: a form feed ends no line here

    def get_source(self, name=None):
        from importlib.util import decode_source

        return decode_source(self.code)

    def get_filename(self, name=None):
        return self.directory + "/" + FILENAME

    def is_package(self, name=None):
        return False

    def install(self, awaited):
        """From now on errors show the program's lines; awaited: functions by the module they wait for."""
        self.awaited = {"linecache": self.fill_linecache, "multiprocessing.spawn": self.fix_spawn, **awaited}
        sys.meta_path.insert(0, self)
        sys.unraisablehook = self.showing(sys.unraisablehook)
        _thread._excepthook = self.showing(_thread._excepthook)  # threading takes it from there

    def find_spec(self, name, path=None, target=None):
        after = self.awaited.pop(name, None)
        if after is None:
            return None
        try:
            spec = _find_spec(name, path, target)  # asks here again: popped above
        finally:
            self.awaited[name] = after
        if spec is not None and spec.loader is not None:
            spec.loader = ImportWatch(spec.loader, after)
        return spec

    def fill_linecache(self, linecache):
        lines = self.lines()
        if lines[-1] == "\n":
            lines.pop()
        for name in (FILENAME, self.get_filename()):
            # No time of change: linecache then never looks for a file.
            linecache.cache[name] = (len(self.code), None, lines, name)

    def fix_spawn(self, spawn):
        """A process that multiprocessing starts anew (not by fork) reads __main__ from a file: gives it one."""
        original = spawn.get_preparation_data

        def get_preparation_data(name):
            data = original(name)
            if data.get("init_main_from_path") == self.get_filename():
                import tempfile

                path = os.path.join(tempfile.mkdtemp(), FILENAME)
                with open(path, "xb") as file:
                    file.write(self.code)
                data["init_main_from_path"] = path
            return data

        spawn.get_preparation_data = get_preparation_data

    # being shown

    def showing(self, hook):
        """The hook, with the program's lines to be had for the interpreter's own printer."""

        def open_source(file, mode="r", *args, **kwargs):
            if file != FILENAME or mode != "rb":
                return open(file, mode, *args, **kwargs)
            fd = os.memfd_create(FILENAME)  # the printer wants a descriptor
            file = open(fd, "w+b")
            file.write(self.code)
            file.seek(0)
            return file

        def show(*args):
            io.open = open_source
            try:
                return hook(*args)
            finally:
                io.open = open

        return show

    def report(self, error):
        """Prints an exception that nobody caught; returns the exit code."""
        if isinstance(error, SystemExit):
            return exit_code(error)
        try:
            sys.stdout.flush()
        except Exception:
            pass  # told at the end
        tb = error.__traceback__
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, tb
        if sys.version_info >= (3, 12):
            sys.last_exc = error
        builtin_hook = self.showing(sys.__excepthook__)
        hook = getattr(sys, "excepthook", None)
        try:
            if hook is None:
                complain("sys.excepthook is missing")
                hook = builtin_hook
            self.showing(hook)(type(error), error, tb)
        except SystemExit as leave:
            return exit_code(leave)
        except BaseException as failure:
            complain("Error in sys.excepthook:")
            failure.__traceback__ = trimmed(failure.__traceback__)
            builtin_hook(type(failure), failure, failure.__traceback__)
            complain("\nOriginal exception was:")
            builtin_hook(type(error), error, tb)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


class ImportWatch:
    """A loader that calls a function when the module is there."""

    def __init__(self, loader, after):
        self.loader = loader
        self.after = after

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        try:
            self.after(module)
        except Exception:
            pass  # the program has its module, only less is shown

    # CPython leaves the frames of importlib out of tracebacks; this one is of that kind.
    exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")


def is_async(code):
    return code is not None and code.co_flags & CO_COROUTINE


def run_async(body, last, scope):
    """Both parts in one event loop, so that what the first started goes on in the second."""
    import asyncio

    async def both():
        value = eval(body, scope)
        if value is not None:
            await value
        value = eval(last, scope) if last else None
        return await value if is_async(last) else value

    return asyncio.run(both())


def trimmed(tb):
    """The traceback from the program's first frame on."""
    first = tb
    while first is not None and first.tb_frame.f_code.co_filename != FILENAME:
        first = first.tb_next
    if first is not None:
        return first
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(PLACE + "/"):  # noqa: F821, given by driver.py
        tb = tb.tb_next
    return tb


def exit_code(leave):
    """sys.exit(None), sys.exit(3), sys.exit("sentence"): as CPython takes them."""
    code = leave.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 0xFF
    complain(code)
    return 1


def complain(what):
    """A line on stderr, if there is one: the program may have closed it, replaced it or set it to None."""
    try:
        sys.stderr.write(f"{what}\n")
        sys.stderr.flush()
    except BaseException:
        pass
