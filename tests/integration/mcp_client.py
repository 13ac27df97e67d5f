"""A small MCP client over the pipes of `hotcell mcp`, for tests that look at every message."""

import json
import queue
import subprocess
import threading
import time

import hotcell

META = "io.modelcontextprotocol/"
MODERN, LEGACY = "2026-07-28", "2025-11-25"
PATIENCE = 60


def envelope(version=MODERN, client="test", **more):
    return {
        META + "protocolVersion": version,
        META + "clientCapabilities": {},
        META + "clientInfo": {"name": client, "version": "1"},
        **more,
    }


class Client:
    """Starts the server. Messages that are not the awaited answer are kept in `others`."""

    def __init__(self, *args, era=None, client="test", version=LEGACY, **more):
        self.begun = time.monotonic()
        self.process = hotcell.start("mcp", *args, stdin=subprocess.PIPE, bufsize=0, **more)
        self.era, self.name = era, client
        self.ident, self.others, self.lines = 0, [], queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if era == "legacy":
            self.hello = self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": client, "version": "1"})
            self.tell("notifications/initialized")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("the server did not end after its input did") from None
        finally:
            self.reader.join(10)
            self.process.stdout.close()
            self.process.stderr.close()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def raw(self, data):
        data = memoryview(data.encode() if isinstance(data, str) else data)
        while data:
            data = data[self.process.stdin.write(data) :]

    def send(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def tell(self, method, **params):
        self.send(method=method, **({"params": params} if params else {}))

    def next(self, timeout=PATIENCE):
        """The next message; None at the end of output."""
        try:
            return self.lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no message within {timeout} s") from None

    def start(self, method, meta=None, ident=None, **params):
        """Sends a request and returns its id."""
        self.ident += 1
        ident = self.ident if ident is None else ident
        if self.era == "modern":
            meta = {**envelope(client=self.name), **(meta or {})}
        if meta:
            params["_meta"] = meta
        self.send(id=ident, method=method, params=params)
        return ident

    def wait(self, ident, timeout=PATIENCE):
        """The answer to that request."""
        until = time.monotonic() + timeout
        for message in self.others:
            if message.get("id") == ident and "method" not in message:
                self.others.remove(message)
                return message
        while True:
            message = self.next(max(0.01, until - time.monotonic()))
            assert message is not None, f"the server ended: {self.process.stderr.read()[-2000:]}"
            if message.get("id") == ident and "method" not in message:
                return message
            self.others.append(message)

    def ask(self, method, **params):
        return self.wait(self.start(method, **params))

    def execute(self, code, language="python", meta=None, **arguments):
        """The result of one sandbox_execute."""
        answer = self.wait(self.start_execute(code, language, meta, **arguments))
        assert "result" in answer, answer
        return answer["result"]

    def start_execute(self, code, language="python", meta=None, **arguments):
        arguments = {"language": language, "code": code, **arguments}
        return self.start("tools/call", meta=meta, name="sandbox_execute", arguments=arguments)

    def silence(self, seconds=0.3):
        """Nothing comes for this long."""
        try:
            message = self.lines.get(timeout=seconds)
        except queue.Empty:
            return
        raise AssertionError(f"a message that should not be there: {message}")


def text(result):
    return result["content"][0]["text"]
