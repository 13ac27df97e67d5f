"""What a client must not do, and what the server then does: it answers correctly, and lives."""

import json
import subprocess
import threading
import time

import pytest

import hotcell
from mcp_client import Client

PING = '{"jsonrpc":"2.0","id":%s,"method":"ping"}\n'
DEEP = 100_000


def ping(mcp):
    assert mcp.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    "line, code, ident",
    [
        ("nonsense", -32700, None),
        ("{", -32700, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping"}}', -32700, None),
        ('{"jsonrpc":"2.0","id":1,"method":"pi\\ud800ng"}', -32700, None),
        ('{"jsonrpc":"2.0","id":1,"method":"pi\\u0000ng"}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', -32700, None),
        (b"\0\0\0", -32700, None),
        ("[]", -32600, None),
        ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        ("5", -32600, None),
        ("{}", -32600, None),
        ('{"jsonrpc":"2.0","id":1}', -32600, 1),
        ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1),
        ('{"id":1,"method":"ping"}', -32600, 1),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600, None),
        ('{"jsonrpc":"2.0","id":1,"method":5}', -32600, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"ping","params":5}', -32602, 1),
        ("[" * DEEP + "]" * DEEP, -32600, None),
        ('{"a":' * DEEP + "1" + "}" * DEEP, -32600, None),
        ("[" + "0," * 200_000 + "0]", -32600, None),
        ('{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602, 1),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sandbox_execute","arguments":5}}', -32602, 1),
    ],
)
def test_malformed(line, code, ident):
    with Client(era="legacy") as mcp:
        mcp.raw(line)
        mcp.raw("\n")
        answer = mcp.next()
        assert answer["error"]["code"] == code and answer["error"]["message"]
        assert answer.get("id") == ident and ("id" in answer) == (ident is not None)
        ping(mcp)


@pytest.mark.parametrize("ident", [0, -1, 1 << 52, -(1 << 63), (1 << 63) - 1, "", "x", "1", "a\nb\"\\", "ü😀", "x" * 10_000])
def test_every_good_id(ident):
    with Client() as mcp:
        mcp.send(id=ident, method="ping")
        answer = mcp.next()
        assert answer == {"jsonrpc": "2.0", "id": ident, "result": {}} and type(answer["id"]) is type(ident)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        '{"jsonrpc":"2.0","method":"no/such"}',
        '{"jsonrpc":"2.0","method":"notifications/initialized","params":5}',
        '{"jsonrpc":"2.0","id":"srv-1","result":{}}',
        '{"jsonrpc":"2.0","id":"srv-1","error":{"code":-1,"message":"no"}}',
    ],
)
def test_never_answered(line):
    with Client() as mcp:
        mcp.raw(line + "\n")
        ping(mcp)
        assert not mcp.others


def test_too_long():
    """The limit is named, memory does not grow with the message, the next one is understood."""
    with Client(era="legacy") as mcp:
        front = hotcell.part(mcp.process.pid, "front")
        for _ in range(100):
            mcp.raw(b"x" * (1 << 20))
        mcp.raw("\n")
        answer = mcp.next()
        assert answer["error"]["code"] == -32600 and "mcp.message_max" in answer["error"]["message"]
        assert "id" not in answer
        ping(mcp)
        assert not mcp.others
        if not hotcell.is_sanitized():
            with open(f"/proc/{front}/status") as status:
                peak = [int(line.split()[1]) for line in status if line.startswith("VmHWM")][0]
            assert peak < 150_000, f"{peak} KB"


def test_large_but_allowed():
    with Client(era="legacy") as mcp:
        content = "x" * (20 << 20)
        result = mcp.execute("import os; print(os.path.getsize('big'))", files=[{"path": "big", "content": content}])
        assert result["structuredContent"]["stdout"] == f"{20 << 20}\n", str(result)[:2000]


def test_pipelined():
    """10 000 requests in one go."""
    with Client() as mcp:
        writer = threading.Thread(target=mcp.raw, args=("".join(PING % n for n in range(10_000)),))
        writer.start()
        for n in range(10_000):
            assert mcp.next() == {"jsonrpc": "2.0", "id": n, "result": {}}
        writer.join()


def test_pipelined_before_reading():
    """The same from a client that writes everything before it reads anything."""
    process = hotcell.start("mcp", stdin=subprocess.PIPE)
    process.stdin.write("".join(PING % n for n in range(10_000)).encode())
    process.stdin.flush()
    for n in range(10_000):
        assert json.loads(process.stdout.readline())["id"] == n
    hotcell.end(process)


def test_never_reads():
    """A client that asks for more and more and reads nothing: it is made to wait, memory stays bounded."""
    process = hotcell.start("mcp", stdin=subprocess.PIPE, bufsize=0)
    front = hotcell.part(process.pid, "front")
    sent = 0

    def ask():
        nonlocal sent
        line = b'{"jsonrpc":"2.0","id":"' + b"x" * 100_000 + b'","method":"ping"}\n'
        try:
            while True:
                view = memoryview(line)
                while view:
                    view = view[process.stdin.write(view) :]
                sent += 1
        except (OSError, ValueError):
            pass

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    last = -1
    while sent != last:
        last = sent
        time.sleep(1.5)
    assert 300 < sent < 5000
    if not hotcell.is_sanitized():
        with open(f"/proc/{front}/status") as status:
            peak = [int(line.split()[1]) for line in status if line.startswith("VmHWM")][0]
        assert peak < 300_000, f"{peak} KB"
    # It reads after all.
    for _ in range(sent):
        assert json.loads(process.stdout.readline())["result"] == {}
    process.kill()
    process.wait()
    thread.join(10)
    hotcell.end(process)


def test_dies_without_reading():
    """A client that goes away with answers unread."""
    process = hotcell.start("mcp", stdin=subprocess.PIPE, bufsize=0)
    process.stdin.write(b'{"jsonrpc":"2.0","id":"%s","method":"ping"}\n' % (b"x" * 200_000))
    time.sleep(0.2)
    begun = time.monotonic()
    process.stdin.close()
    assert process.wait(10) == 0
    assert time.monotonic() - begun < 3
    process.stdout.close()
    process.stderr.close()


def test_in_pieces():
    with Client() as mcp:
        for byte in PING % 5:
            mcp.raw(byte)
            time.sleep(0.001)
        assert mcp.next()["id"] == 5


def test_windows_line_ends():
    with Client() as mcp:
        mcp.raw((PING % 5).replace("\n", "\r\n"))
        assert mcp.next()["id"] == 5
