"""`hotcell mcp` with the clients that people use, in both eras of the protocol: the two SDKs, the inspector, Claude Code.
./dev installs them from tests/clients/package-lock.json."""

import base64
import json
import os
import platform
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import hotcell

SOURCES = hotcell.TESTS / "clients"
INSTALLED = Path(os.environ.get("HOTCELL_CLIENTS") or hotcell.BUILD.parent / "build-clients").resolve()
PACKAGES = INSTALLED / "node_modules"
MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
NODE = PACKAGES / f"node-linux-{MACHINE}" / "bin" / "node"
CLAUDE = PACKAGES / "@anthropic-ai" / f"claude-code-linux-{MACHINE}" / "claude"
INSPECTOR = PACKAGES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
EXAMPLES = json.loads((SOURCES / "examples.json").read_text())

LEGACY, MODERN = "2025-11-25", "2026-07-28"
# What each client agrees upon with a server that speaks both.
KINDS = {"sdk1": LEGACY, "sdk2": LEGACY, "sdk2-auto": MODERN, "sdk2-modern": MODERN}
BOTH_ERAS = ["sdk1", "sdk2-modern"]
# With sanitizers everything takes longer: one client for each era then, and one name of those that drop content.
IS_SHORT = hotcell.PROGRAM.exists() and hotcell.is_sanitized()
TESTED = BOTH_ERAS if IS_SHORT else list(KINDS)
DROPPING_CONTENT = ["claude-code"] if IS_SHORT else ["claude-code", "codex", "opencode"]

README = (hotcell.ROOT / "README.md").read_text()
PLOT = "import matplotlib.pyplot as plt\nprint('before')\nplt.plot([1, 4, 9])\n"


@pytest.fixture(scope="module", autouse=True)
def installed():
    if not (INSTALLED / ".installed").exists():
        pytest.skip("the clients are not installed: ./dev test integration")


class Client:
    """One real client, held open by tests/clients/bridge.mjs, with a server of its own."""

    def __init__(self, kind, name="hotcell-test", server=(hotcell.PROGRAM, "mcp")):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [NODE, SOURCES / "bridge.mjs", PACKAGES, kind, name, *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=os.environ | {"NODE_NO_WARNINGS": "1"},
        )
        self.kind, self.answers, self.orders = kind, {}, 0
        self.wait("ready")

    def start(self, order, **more):
        """Gives an order without waiting; wait() has its answer."""
        self.orders += 1
        self.process.stdin.write(json.dumps({"id": self.orders, "do": order, **more}) + "\n")
        self.process.stdin.flush()
        return self.orders

    def wait(self, number):
        while number not in self.answers:
            line = self.process.stdout.readline()
            assert line, f"{self.kind} has ended: {self.said()}"
            answer = json.loads(line)
            self.answers[answer["id"]] = answer
        return self.answers.pop(number)

    def ask(self, order, **more):
        answer = self.wait(self.start(order, **more))
        assert "error" not in answer, f"{order}: {answer}\n{self.said()}"
        return answer["value"]

    def call(self, language, code, **more):
        """The result of sandbox_execute."""
        value = self.ask("call", arguments={"language": language, "code": code, **more})
        assert "result" in value, value
        return value["result"]

    def said(self):
        """What the client and the server wrote to stderr."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-4000:]

    def close(self):
        """Like a client that quits. What a sanitizer found is a failure of the test that closes it."""
        server = None
        try:
            if self.process.poll() is None:
                server = self.ask("about")["pid"]
                self.process.stdin.close()
                self.process.wait(20)
        finally:
            hotcell.end(self.process)
        said = self.said()
        self.log.close()
        assert self.process.returncode == 0 and not re.search("Sanitizer|runtime error", said), said
        return server, said

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


@pytest.fixture(scope="module", params=TESTED)
def client(request):
    with Client(request.param) as client:
        yield client


@pytest.fixture(scope="module")
def sdk1():
    with Client("sdk1") as client:
        yield client


def text_of(result):
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


def images_of(result):
    return [block for block in result["content"] if block["type"] == "image"]


# ---- the SDKs: one client each for the tests of this part ----


def test_connects(client):
    about = client.ask("about")
    assert about["version"] == KINDS[client.kind]
    assert about["server"]["name"] == "hotcell" and about["server"]["version"]
    assert "tools" in about["capabilities"] and "sandbox_execute" in about["instructions"]


def test_lists_tools(client):
    tools = {tool["name"]: tool for tool in client.ask("list")["tools"]}
    tool = tools["sandbox_execute"]
    assert tool["title"] and tool["annotations"]["openWorldHint"] is False
    assert set(tool["inputSchema"]["required"]) == {"language", "code"}
    assert {"python", "bash"} <= set(tool["inputSchema"]["properties"]["language"]["enum"])


def test_is_alive(client):
    """ping is gone in the new era, and its clients refuse to send it; server/discover is what they have."""
    assert client.ask("ping" if KINDS[client.kind] == LEGACY else "discover") is not None


@pytest.mark.parametrize(
    "language, code, expected",
    [
        ("python", "print('grüße', 6 * 7)", "grüße 42\n"),
        ("py", "print(1)", "1\n"),
        ("bash", "echo one; echo two", "one\ntwo\n"),
    ],
)
def test_runs_a_program(client, language, code, expected):
    result = client.call(language, code)
    assert not result.get("isError"), result
    assert result["structuredContent"]["stdout"] == expected and result["structuredContent"]["exitCode"] == 0
    assert text_of(result).startswith(expected) and "exit 0" in text_of(result)
    assert result["structuredContent"]["text"] == text_of(result)


def test_program_that_fails(client):
    """A result like any other, marked as an error."""
    result = client.call("python", "print('before')\n1 / 0")
    assert result["isError"] and result["structuredContent"]["exitCode"] == 1
    assert result["structuredContent"]["stdout"] == "before\n"
    assert "ZeroDivisionError" in text_of(result) and "1 / 0" in text_of(result) and "driver" not in text_of(result)


def test_wrong_arguments(client):
    """An answer that a model can act on, not a protocol error."""
    for arguments, words in (
        ({"language": "python"}, ["code"]),
        ({"language": "cobol", "code": "x"}, ["language", "cobol", "python"]),
        ({"language": "bash", "code": "x", "timeout": 0}, ["timeout", "0"]),
        ({"language": "bash", "code": "x", "colour": "red"}, ["colour"]),
    ):
        result = client.ask("call", arguments=arguments)["result"]
        assert result["isError"], (arguments, result)
        assert all(word in text_of(result) for word in words), (arguments, result)


def test_unknown_tool(client):
    value = client.ask("call", name="no_such_tool", arguments={})
    assert value.get("code") == -32602 and "no_such_tool" in value["failed"], value


def test_timeout_with_progress(client):
    """What the program prints arrives while it runs, and is in the answer too."""
    code = "import time\nfor i in range(100):\n    print('line', i, flush=True)\n    time.sleep(0.3)"
    value = client.ask("call", arguments={"language": "python", "code": code, "timeout": 1500}, progress=True)
    result, progress = value["result"], value["progress"]
    assert result["isError"] and result["structuredContent"]["verdict"] == "timeout", result
    assert result["structuredContent"]["exitCode"] == 124
    assert result["structuredContent"]["stdout"].startswith("line 0\nline 1\nline 2\n")
    shown = "".join(update.get("message", "") for update in progress)
    assert "line 0" in shown and "line 2" in shown and len(progress) >= 3, progress
    assert progress[0]["msBeforeEnd"] > 700, progress
    counts = [update["progress"] for update in progress]
    assert counts == sorted(set(counts)), counts
    assert 1400 < value["ms"] < 10_000


def test_no_progress_unless_asked(client):
    """A client that did not ask would complain of a token that it does not know."""
    before = client.ask("about")["complaints"]
    client.call("bash", "for i in 1 2 3; do echo $i; sleep 0.2; done")
    assert client.ask("about")["complaints"] == before


def test_cancel(client):
    """The caller gets an error at once, the program is killed, the connection lives on."""
    mark = f"{os.getpid()}{list(KINDS).index(client.kind)}"
    code = f"sleep 100{mark} &\nsleep 0.5\necho enough\nwait"
    begun = time.monotonic()
    number = client.start("call", arguments={"language": "bash", "code": code}, cancelAfter="enough")
    hotcell.wait_for("the program to start", lambda: running(f"100{mark}"))
    value = client.wait(number)["value"]
    assert "result" not in value and "gives up" in value["failed"], value
    assert time.monotonic() - begun < 10
    hotcell.wait_for("the program to be killed", lambda: not running(f"100{mark}"), patience=3)
    assert client.call("bash", "echo still here")["structuredContent"]["stdout"] == "still here\n"


def running(argument):
    """Whether a process on this machine has this argument."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if argument.encode() in entry.read_bytes().split(b"\0"):
                return True
        except OSError:
            pass
    return False


def test_several_calls_at_once(client):
    """Side by side, answered as they finish, each to its own caller."""
    slow = client.start("call", arguments={"language": "bash", "code": "sleep 1.5; echo slow"})
    begun = time.monotonic()
    quick = [client.start("call", arguments={"language": "bash", "code": f"echo {i}"}) for i in range(5)]
    for i, number in enumerate(quick):
        assert client.wait(number)["value"]["result"]["structuredContent"]["stdout"] == f"{i}\n"
    assert slow not in client.answers, f"the slow one came first, after {time.monotonic() - begun:.2f} s"
    assert client.wait(slow)["value"]["result"]["structuredContent"]["stdout"] == "slow\n"


# ---- images, and clients that show a model only one part of a result ----


@pytest.mark.parametrize("kind", BOTH_ERAS)
def test_plot_is_an_image(kind):
    with Client(kind) as client:
        result = client.call("python", PLOT)
        [image] = images_of(result)
        assert image["mimeType"] == "image/png"
        assert base64.b64decode(image["data"], validate=True).startswith(b"\x89PNG\r\n\x1a\n")
        assert not result.get("isError") and "before" in text_of(result)
        structured = result["structuredContent"]
        assert (structured["stdout"], structured["stderr"]) == ("before\n", "")
        assert [output["mime"] for output in structured["outputs"]] == ["image/png"], structured["outputs"]
        assert_no_base64(structured)


@pytest.mark.parametrize("kind", BOTH_ERAS)
@pytest.mark.parametrize("name", DROPPING_CONTENT)
def test_clients_that_drop_content(kind, name):
    """They would not show the image if there were structuredContent; without an image it stays."""
    with Client(kind, name) as client:
        result = client.call("python", PLOT)
        assert "structuredContent" not in result and len(images_of(result)) == 1, result
        assert "before" in text_of(result) and "exit 0" in text_of(result)
        result = client.call("python", "print(1)")
        assert result["structuredContent"]["stdout"] == "1\n"
        assert result["structuredContent"]["text"] == text_of(result)


def assert_no_base64(structured):
    assert not re.search("[A-Za-z0-9+/]{200,}|iVBOR", json.dumps(structured)), structured


# ---- the documented examples ----


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["name"].replace(" ", "-") for example in EXAMPLES])
def test_example(sdk1, example):
    result = sdk1.ask("call", arguments=example["arguments"])["result"]
    expected, structured = dict(example["answer"]), result.get("structuredContent", {})
    for words in expected.pop("text"):
        assert words in text_of(result), result
    assert bool(result.get("isError")) == expected.pop("isError", False), result
    assert [image["mimeType"] for image in images_of(result)] == expected.pop("images", []), result
    listed = [{key: file[key] for key in ("path", "size", "change")} for file in structured.get("files", [])]
    files = expected.pop("files", None)
    assert files is None or listed == files, result
    for key, value in expected.items():
        assert structured.get(key) == value, (key, result)


def test_documented_examples_are_tested(sdk1):
    """Every call that the README or the tool's own description shows is one of tests/clients/examples.json."""
    known = [example["arguments"] for example in EXAMPLES]
    [tool] = [tool for tool in sdk1.ask("list")["tools"] if tool["name"] == "sandbox_execute"]
    own = re.findall(r"^Example: (\{.*\})$", tool["description"], re.M)
    assert own
    for text in own + [block for block in re.findall(r"```json\n(.*?)```", README, re.S) if '"code"' in block]:
        assert json.loads(text) in known, f"not in tests/clients/examples.json: {text}"


def test_answers_in_the_readme(sdk1):
    """A call in the README with its answer below it: that is the answer, but for times, sizes and the machine."""
    shown = re.findall(r"```json\n([^`]*?\"code\"[^`]*)```\n\nreturns\n\n```text\n(.*?)```", README, re.S)
    assert shown
    for call, answer in shown:
        assert without_figures(text_of(sdk1.ask("call", arguments=json.loads(call))["result"])) == without_figures(answer)


def without_figures(text):
    text = re.sub(r"\b[\d.]+ (ms|B|KB|MB)\b", r"N \1", text.strip())
    return re.sub(r"(strong|fair|weak)$", "ISOLATION", text)


# ---- beginning and end ----


@pytest.mark.parametrize("kind", BOTH_ERAS)
def test_close_ends_the_server(kind):
    """Closing stdin is enough: the SDKs would wait two seconds and then send a signal."""
    client = Client(kind)
    server = client.ask("about")["pid"]
    number = client.start("call", arguments={"language": "bash", "code": "sleep 60"})
    client.call("bash", "echo here")
    family = set(hotcell.descendants(server)) | {server}
    assert len(family) >= 3, family
    begun = time.monotonic()
    client.ask("close")
    seconds = time.monotonic() - begun
    hotcell.wait_for("the server to end", lambda: not family & set(hotcell.processes()), patience=2)
    assert "failed" in client.wait(number)["value"]
    client.process.stdin.close()
    client.process.wait(10)
    said = client.said()
    hotcell.end(client.process)
    assert seconds < 1.5, f"took {seconds:.2f} s"
    assert not said.strip(), said


@pytest.mark.parametrize("kind", BOTH_ERAS)
def test_client_that_dies(kind):
    """Killed with a program running: nothing stays behind."""
    client = Client(kind)
    server = client.ask("about")["pid"]
    client.start("call", arguments={"language": "bash", "code": "sleep 60"})
    client.call("bash", "echo here")
    family = set(hotcell.descendants(server)) | {server}
    client.process.send_signal(signal.SIGKILL)
    client.process.wait()
    hotcell.wait_for("the server to end", lambda: not family & set(hotcell.processes()), patience=3)
    hotcell.end(client.process)


# ---- two at once ----


@pytest.mark.parametrize("kinds", [("sdk1", "sdk1"), ("sdk1", "sdk2-modern")], ids=" and ".join)
def test_two_clients_at_once(kinds):
    """Two servers side by side, as with two editors: they do not disturb each other's runs, one's end is not the other's."""
    first, second = [Client(kind) for kind in kinds]
    with first:
        with second:
            assert first.ask("about")["pid"] != second.ask("about")["pid"]
            for round in range(5):
                numbers = [
                    (client, client.start("call", arguments={"language": "bash", "code": f"sleep 0.1; echo {name} {round}"}))
                    for name, client in (("first", first), ("second", second))
                ]
                answers = [client.wait(number)["value"]["result"] for client, number in numbers]
                assert [answer["structuredContent"]["stdout"] for answer in answers] == [
                    f"first {round}\n",
                    f"second {round}\n",
                ]
            long = first.start("call", arguments={"language": "bash", "code": "sleep 1; echo whole"})
        assert first.wait(long)["value"]["result"]["structuredContent"]["stdout"] == "whole\n"


def test_different_clients_in_parallel(tmp_path):
    """An SDK of each era, the inspector and Claude Code, all at the same time."""

    def sdk(kind):
        with Client(kind) as client:
            return [client.call("python", f"print({i} ** 2)")["structuredContent"]["stdout"] for i in range(10)]

    squares = [f"{i ** 2}\n" for i in range(10)]
    results = hotcell.together(
        [
            lambda: sdk("sdk1") == squares,
            lambda: sdk("sdk2-modern") == squares,
            lambda: inspect(tmp_path, "legacy", "python", "print(6 * 7)")[1]["structuredContent"]["stdout"] == "42\n",
            lambda: "✔ Connected" in claude_list(tmp_path / "claude"),
        ]
    )
    assert results == [True] * 4


# ---- the inspector ----


# As if the build were installed.
PATH = f"{hotcell.BUILD}:/usr/bin:/bin"


def inspector(home, era, *args, server=("--", "hotcell", "mcp")):
    """Its exit status, its answer and its messages."""
    env = {"HOME": str(home), "PATH": PATH, "MCP_INSPECTOR_SECRET_STORE": "memory", "NODE_NO_WARNINGS": "1"}
    command = [NODE, INSPECTOR, "--cli", "--protocol-era", era, "--format", "json", *args, *server]
    done = subprocess.run(command, env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.stdout, (done.returncode, done.stderr)
    return done.returncode, json.loads(done.stdout)["result"], done.stderr.decode()


def inspect(home, era, language, code):
    args = ("--tool-name", "sandbox_execute", "--tool-arg", f"language={language}", f"code={code}")
    return inspector(home, era, "--method", "tools/call", *args)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_lists(tmp_path, era):
    """With --strict it also complains of schemas that some client or model would not take."""
    status, result, said = inspector(tmp_path, era, "--method", "tools/list", "--strict")
    assert status == 0 and re.search(r"\b0 errors|^$", said), said
    assert "sandbox_execute" in [tool["name"] for tool in result["tools"]]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector_calls(tmp_path, era):
    status, result, said = inspect(tmp_path, era, "python", "print(6 * 7)")
    assert (status, result["structuredContent"]["stdout"]) == (0, "42\n"), (result, said)


def test_inspector_sees_errors(tmp_path):
    status, result, said = inspect(tmp_path, "modern", "bash", "exit 3")
    assert (status, result["structuredContent"]["exitCode"]) == (5, 3), (result, said)


def test_configuration_in_the_readme(tmp_path):
    """The mcpServers file, as it is there."""
    [text] = re.findall(r"```json\n([^`]*\"mcpServers\"[^`]*)```", README)
    config = tmp_path / "mcp.json"
    config.write_text(text)
    server = ("--config", str(config), "--server", "hotcell")
    status, result, said = inspector(tmp_path, "legacy", "--method", "tools/list", server=server)
    assert status == 0 and [tool["name"] for tool in result["tools"]] == ["sandbox_execute"], said


# ---- Claude Code ----


def claude(home, *args):
    """Nothing but hotcell is reachable for it: its home is empty, and so is the address of its service."""
    env = {
        "HOME": str(home),
        "PATH": PATH,
        "TERM": "dumb",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    done = subprocess.run(
        [CLAUDE, *args], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done
    return done.stdout


def claude_list(home):
    """Adds hotcell as the README says, and asks which servers there are."""
    [command] = re.findall(r"^claude (mcp add hotcell .*)$", README, re.M)
    home.mkdir()
    claude(home, *command.split())
    return claude(home, "mcp", "list")


def test_claude_code(tmp_path):
    home = tmp_path / "home"
    listed = claude_list(home)
    assert "hotcell: hotcell mcp - ✔ Connected" in " ".join(listed.split()), listed
    about = claude(home, "mcp", "get", "hotcell")
    assert "✔ Connected" in about and "stdio" in about, about
