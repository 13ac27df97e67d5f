"""sandbox_execute through MCP: inputs, results, what a model reads, what is refused."""

import base64

import pytest

from mcp_client import Client, text


@pytest.fixture(scope="module", params=["legacy", "modern"])
def mcp(request):
    with Client(era=request.param) as client:
        yield client


def facts(result):
    return text(result).splitlines()[-1]


def test_print(mcp):
    result = mcp.execute("print(6 * 7)")
    assert result["isError"] is False
    assert text(result).splitlines()[0] == "42"
    assert facts(result).startswith("exit 0 · ") and " · python · " in facts(result)
    data = result["structuredContent"]
    assert data["stdout"] == "42\n" and data["stderr"] == "" and data["exitCode"] == 0
    assert data["verdict"] == "exit" and data["language"] == "python" and data["policy"] == "standard"
    assert data["truncated"] == {"stdout": False, "stderr": False}
    assert data["duration"] == data["usage"]["wall_ms"] > 0
    assert set(data["usage"]) == {"cpu_ms", "wall_ms", "memory_peak_bytes", "processes_peak"}
    assert data["isolation"]["level"] in ("strong", "fair", "weak") and data["isolation"]["backend"] == "native"
    assert data["pool"] in ("hit", "miss")
    assert data["files"] == [] and data["outputs"] == [] and "result" not in data
    assert data["text"] == text(result)


def test_bash_and_aliases(mcp):
    assert mcp.execute("echo $((6 * 7))", "bash")["structuredContent"]["stdout"] == "42\n"
    for name, language in (("py", "python"), ("python3", "python"), ("sh", "bash"), ("Python", "python")):
        assert mcp.execute("echo=1", name)["structuredContent"]["language"] == language


def test_last_value(mcp):
    result = mcp.execute("[n * n for n in range(4)]")
    assert result["structuredContent"]["result"] == "[0, 1, 4, 9]"
    assert "[0, 1, 4, 9]" in text(result)


def test_failure_is_a_result(mcp):
    result = mcp.execute("print('before')\n1 / 0")
    assert result["isError"] is True
    assert result["structuredContent"]["exitCode"] == 1
    assert "ZeroDivisionError" in result["structuredContent"]["stderr"]
    lines = text(result).splitlines()
    assert lines[0] == "before" and "ZeroDivisionError: division by zero" in lines
    assert facts(result).startswith("exit 1 · ")


@pytest.mark.parametrize(
    "code, arguments, verdict, exit_code",
    [
        ("import time; print('x', flush=True); time.sleep(60)", {"timeout": 300}, "timeout", 124),
        ("x = bytearray(400 << 20); x[::4096] = x[::4096]", {"limits": {"memory": "64M"}}, "memory", 137),
        ("import os; os.abort()", {}, "signal", 134),
        ("while True: print('x' * 1000)", {"limits": {"output": 100000}}, "output", None),
    ],
)
def test_verdicts(mcp, code, arguments, verdict, exit_code):
    result = mcp.execute(code, **arguments)
    data = result["structuredContent"]
    assert result["isError"] is True and data["verdict"] == verdict
    assert exit_code is None or data["exitCode"] == exit_code
    assert data["reason"] and data["reason"] in text(result)
    assert facts(result).startswith(verdict)
    if verdict == "timeout":
        assert data["stdout"] == "x\n"
    if verdict == "signal":
        assert data["signal"] == 6


def test_inputs(mcp):
    code = """
import os, sys
print(sys.argv[1:], os.environ["GREETING"], sys.stdin.read())
print(open("data/in.txt").read(), open("raw.bin", "rb").read(), os.access("tool.sh", os.X_OK))
"""
    result = mcp.execute(
        code,
        args=["-a", "b c"],
        env={"GREETING": "grüß dich"},
        stdin="from stdin",
        files=[
            {"path": "data/in.txt", "content": "text ✓"},
            {"path": "raw.bin", "content": base64.b64encode(b"\0\1\xff").decode(), "encoding": "base64"},
            {"path": "tool.sh", "content": "#!/bin/sh\n", "executable": True},
        ],
    )
    assert result["structuredContent"]["stdout"] == (
        "['-a', 'b c'] grüß dich from stdin\ntext ✓ b'\\x00\\x01\\xff' True\n"
    ), result


def test_files_made(mcp):
    result = mcp.execute("import os; os.mkdir('d'); open('d/out.txt', 'w').write('hello')")
    (file,) = [f for f in result["structuredContent"]["files"] if f["path"] == "d/out.txt"]
    assert file["size"] == 5 and file["change"] == "created" and len(file["sha256"]) == 64
    assert "d/out.txt (5 bytes, created)" in text(result)
    # A fresh sandbox each time.
    assert mcp.execute("import os; print(os.listdir())")["structuredContent"]["stdout"] == "[]\n"


def test_limits_and_policy(mcp):
    assert mcp.execute("1", policy="strict")["structuredContent"]["policy"] == "strict"
    result = mcp.execute("x = bytearray(300 << 20); print(len(x))", limits={"memory": "1G", "cpus": 1.5, "processes": 50})
    assert result["structuredContent"]["stdout"] == f"{300 << 20}\n"


def test_not_utf8(mcp):
    result = mcp.execute("import sys; sys.stdout.buffer.write(b'a\\xffb\\x00c')")
    assert result["structuredContent"]["stdout"] == "a\ufffdb\0c"


def test_unicode(mcp):
    assert mcp.execute("print('grüße 😀 \u2028')")["structuredContent"]["stdout"] == "grüße 😀 \u2028\n"


def test_long_output(mcp):
    """Beginning and end, how much is missing, and not more than the limit."""
    result = mcp.execute("print('first'); print('x' * 3_000_000); print('last')")
    data = result["structuredContent"]
    assert data["truncated"]["stdout"] is True
    assert data["stdout"].startswith("first\n") and data["stdout"].endswith("last\n")
    assert "bytes left out" in data["stdout"] and "bytes left out" in text(result)
    assert len(text(result)) < 65536 + 2000 and len(str(data)) < 65536 + 4000
    short = mcp.execute("print('x' * 30_000)")
    assert short["structuredContent"]["stdout"] == "x" * 30_000 + "\n"


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SHOW = f"""
class Image:
    def _repr_png_(self):
        import base64
        return base64.b64decode({PNG!r})
display(Image())
"""


def test_image(mcp):
    result = mcp.execute(SHOW)
    images = [block for block in result["content"] if block["type"] == "image"]
    assert images == [{"type": "image", "data": PNG, "mimeType": "image/png"}]
    (output,) = result["structuredContent"]["outputs"]
    assert output["mime"] == "image/png" and "data" not in output
    assert PNG not in str(result["structuredContent"])


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("client", ["claude-code", "codex-mcp-client", "opencode", "other"])
def test_clients_that_drop_content(client, era):
    with Client(era=era, client=client) as mcp:
        assert "structuredContent" in mcp.execute("print(1)")
        result = mcp.execute(SHOW)
        assert ("structuredContent" in result) == (client == "other")
        assert any(block["type"] == "image" for block in result["content"])


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"language": "cobol"}, ["language", '"cobol"', '"python"']),
        ({"timeout": 0}, ["timeout is 0", "1 to 600000"]),
        ({"timeout": "1s"}, ["timeout", '"1s"', "integer"]),
        ({"code": None}, ["code is missing"]),
        ({"env": {"A-B": "1"}}, ["env", '"A-B"', "letters"]),
        ({"files": [{"path": "../x", "content": ""}]}, ["files[0].path", '"../x"', "/workspace"]),
        ({"files": [{"path": "x", "content": "?", "encoding": "base64"}]}, ["files[0].content", "base64"]),
        ({"limits": {"memory": "lots"}}, ["limits.memory", '"lots"', '"256M"']),
        ({"limits": {"memory": 1000}}, ["memory", "allowed is"]),
        ({"policy": "none"}, ["policy", '"none"', '"strict"']),
        ({"colour": "red"}, ["colour", "timeout"]),
        ({"session": "s"}, ["session", "no sessions"]),
        ({"network": True}, ["network", "configuration"]),
        ({"wait": False}, ["wait", "no jobs"]),
    ],
)
def test_bad_arguments(mcp, arguments, words):
    result = mcp.execute(**{"code": "print('it ran')", **arguments})
    assert result["isError"] is True and "structuredContent" not in result
    for word in words:
        assert word in text(result)


def test_what_asks_for_nothing(mcp):
    result = mcp.execute("print(1)", network=False, wait=True, ml=False, session=None, timeout=None)
    assert result["isError"] is False


def test_unknown_tool(mcp):
    answer = mcp.ask("tools/call", name="no_such_tool", arguments={})
    assert answer["error"]["code"] == -32602 and "no_such_tool" in answer["error"]["message"]


def test_many_at_once(mcp):
    """More than run at once; each gets its own answer."""
    idents = {mcp.start_execute(f"print({n} * 2)"): n for n in range(80)}
    for ident, n in idents.items():
        assert mcp.wait(ident)["result"]["structuredContent"]["stdout"] == f"{n * 2}\n"


def test_answers_as_they_finish(mcp):
    slow = mcp.start_execute("import time; time.sleep(1); print('slow')")
    assert mcp.execute("print('fast')")["structuredContent"]["stdout"] == "fast\n"
    assert not any(message.get("id") == slow for message in mcp.others)
    assert mcp.wait(slow)["result"]["structuredContent"]["stdout"] == "slow\n"
