"""`hotcell mcp`: both eras, from the first message to the end of the process."""

import os
import signal
import subprocess
import time

import pytest

import hotcell
from mcp_client import LEGACY, META, MODERN, Client, envelope

VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


@pytest.mark.parametrize("version", VERSIONS)
def test_handshake(version):
    with Client(era="legacy", version=version) as mcp:
        result = mcp.hello["result"]
        assert result["protocolVersion"] == version
        assert result["capabilities"] == {"tools": {}}
        assert result["serverInfo"]["name"] == "hotcell"
        assert "sandbox_execute" in result["instructions"]
        assert mcp.ask("ping")["result"] == {}
        assert mcp.ask("resources/list")["error"]["code"] == -32601


@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", ""])
def test_other_versions_get_our_latest(version):
    with Client(era="legacy", version=version) as mcp:
        assert mcp.hello["result"]["protocolVersion"] == LEGACY


def test_discover():
    with Client(era="modern") as mcp:
        result = mcp.ask("server/discover")["result"]
        assert result["supportedVersions"] == [MODERN]
        assert result["capabilities"] == {"tools": {}}
        assert result["resultType"] == "complete"
        assert result["cacheScope"] == "public" and result["ttlMs"] >= 0
        assert result["_meta"][META + "serverInfo"]["name"] == "hotcell"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_tools_list(era):
    with Client(era=era) as mcp:
        lists = [mcp.ask("tools/list")["result"] for _ in range(3)]
        assert lists[0] == lists[1] == lists[2]
        (tool,) = [t for t in lists[0]["tools"] if t["name"] == "sandbox_execute"]
        assert tool["inputSchema"]["type"] == "object"
        assert tool["inputSchema"]["required"] == ["language", "code"]
        assert "python" in tool["inputSchema"]["properties"]["language"]["enum"]
        assert tool["annotations"] == {
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": False,
            "openWorldHint": False,
        }
        assert "outputSchema" not in tool and "session" not in tool["inputSchema"]["properties"]
        assert ("ttlMs" in lists[0]) == (era == "modern")


def test_both_eras_on_one_connection():
    with Client(era="legacy", client="old") as mcp:
        modern = mcp.ask("server/discover", meta=envelope())
        assert modern["result"]["resultType"] == "complete"
        assert mcp.ask("ping")["result"] == {}
        assert mcp.ask("ping", meta=envelope())["error"]["code"] == -32601
        assert mcp.ask("server/discover")["error"]["code"] == -32601


def test_before_the_handshake():
    with Client() as mcp:
        assert mcp.ask("ping")["result"] == {}
        answer = mcp.ask("server/discover")
        assert answer["error"]["code"] == -32602 and MODERN in answer["error"]["data"]["supported"]
        answer = mcp.ask("tools/list", meta=envelope("v999.0.0"))
        assert answer["error"]["code"] == -32022
        assert answer["error"]["data"] == {"supported": [MODERN], "requested": "v999.0.0"}


@pytest.mark.skipif(hotcell.is_sanitized(), reason="not here: the time of a sanitizer build says nothing")
def test_initialize_is_answered_at_once():
    """50 ms on a quiet machine; the best of several on any."""
    times = []
    for _ in range(10):
        with Client(era="legacy") as mcp:
            times.append(time.monotonic() - mcp.begun)
    assert min(times) < 0.05, times


@pytest.mark.parametrize("how", ["end", "SIGTERM", "SIGINT"])
def test_end_of_everything(how):
    """However it ends, it ends within a second, exit status 0, and leaves no process."""
    mcp = Client(era="legacy")
    mcp.execute("1")
    mcp.start_execute("import time; time.sleep(60)")
    mcp.ask("ping")
    time.sleep(0.3)
    family = set(hotcell.descendants(mcp.process.pid))
    assert family
    begun = time.monotonic()
    if how == "end":
        mcp.process.stdin.close()
    else:
        mcp.process.send_signal(getattr(signal, how))
    status = mcp.process.wait(10)
    seconds = time.monotonic() - begun
    assert status == 0
    assert seconds < (1.0 if not hotcell.is_sanitized() else 3.0), seconds
    hotcell.wait_for("its processes to end", lambda: not family & set(hotcell.processes()))
    mcp.process.stderr.close()


def test_client_that_reads_no_more():
    """It closed our output: nobody is there, whatever it still writes."""
    process = hotcell.start("mcp", stdin=subprocess.PIPE, bufsize=0)
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    process.stdin.write(ping)
    assert process.stdout.readline()
    process.stdout.close()
    process.stdin.write(ping)
    assert process.wait(5) == 0
    process.stdin.close()
    process.stderr.close()


def test_kill():
    """Killed without a word: still nothing is left."""
    mcp = Client(era="legacy")
    mcp.execute("1")
    mcp.start_execute("import time; time.sleep(60)")
    time.sleep(0.3)
    family = set(hotcell.descendants(mcp.process.pid))
    mcp.process.kill()
    mcp.process.wait()
    hotcell.wait_for("its processes to end", lambda: not family & set(hotcell.processes()))
    mcp.process.stdin.close()
    mcp.process.stdout.close()
    mcp.process.stderr.close()


def test_death_of_the_client():
    """A shell that started it and is killed, while somebody else still holds the pipe."""
    read, write = os.pipe()
    shell = subprocess.Popen(
        ["sh", "-c", f'"{hotcell.PROGRAM}" mcp; exit 3'], stdin=read, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    os.write(write, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert shell.stdout.readline() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    family = set(hotcell.descendants(shell.pid))
    shell.kill()
    shell.wait()
    hotcell.wait_for("its processes to end", lambda: not family & set(hotcell.processes()))
    os.close(read)
    os.close(write)
    shell.stdout.close()


def test_input_from_a_file(tmp_path):
    """What the end of input finds unanswered may still finish if it is quick."""
    requests = tmp_path / "requests"
    requests.write_text(
        '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"ping"}'  # and no newline
    )
    with open(requests, "rb") as file, open(tmp_path / "answers", "w+b") as answers:
        done = hotcell.hotcell("mcp", stdin=file, stdout=answers)
        answers.seek(0)
        assert answers.read() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n{"jsonrpc":"2.0","id":2,"result":{}}\n'
    assert done.status == 0


def test_no_input():
    done = hotcell.hotcell("mcp")
    assert (done.status, done.out) == (0, b"")


def test_two_at_once():
    with Client(era="legacy") as a, Client(era="modern") as b:
        first = a.start_execute("import time; time.sleep(0.5); print('a')")
        assert b.execute("print('b')")["structuredContent"]["stdout"] == "b\n"
        assert a.wait(first)["result"]["structuredContent"]["stdout"] == "a\n"


def test_stdout_is_for_the_protocol():
    """The log goes to stderr; every line of stdout was JSON, or the client would have failed."""
    env = {**os.environ, "LOG_LEVEL": "debug"}
    with Client(era="legacy", env=env) as mcp:
        mcp.execute("import sys; print('x', file=sys.stderr)")
