"""Progress and cancellation of calls under way."""

import time

import pytest

import hotcell
from mcp_client import Client

COUNT = """
import time
for n in range(20):
    print(n, flush=True)
    time.sleep(0.05)
"""


def progress(mcp, token):
    found = [m["params"] for m in mcp.others if m.get("method") == "notifications/progress"]
    assert all(p["progressToken"] == token for p in found)
    return found


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("token", ["p1", 7])
def test_live_output(era, token):
    with Client(era=era) as mcp:
        result = mcp.execute(COUNT, meta={"progressToken": token})
        found = progress(mcp, token)
        values = [p["progress"] for p in found]
        assert values == sorted(set(values)), "strictly increasing"
        assert 3 <= len(found) <= 15, "live, and at most ten times a second"
        told = "".join(p.get("message", "") for p in found)
        assert told == result["structuredContent"]["stdout"] == "".join(f"{n}\n" for n in range(20))


def test_output_comes_before_the_end():
    with Client(era="legacy") as mcp:
        ident = mcp.start_execute(
            "import time; print('early', flush=True); time.sleep(2)", meta={"progressToken": "t"}
        )
        message = mcp.next()
        assert message["method"] == "notifications/progress" and message["params"]["message"] == "early\n"
        assert "result" in mcp.wait(ident)


def test_nobody_asked():
    with Client(era="legacy") as mcp:
        mcp.execute("print('x', flush=True)")
        assert not mcp.others


def test_too_much_to_tell():
    """A flood is thinned out on the way; the answer has beginning and end."""
    with Client(era="legacy") as mcp:
        result = mcp.execute("print('first'); print('x' * 20_000_000); print('last')", meta={"progressToken": 1})
        told = "".join(p.get("message", "") for p in progress(mcp, 1))
        assert "bytes left out" in told and told.endswith("last\n")
        assert len(told) < 2_000_000
        assert result["structuredContent"]["stdout"].endswith("last\n")


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_cancel(era):
    with Client(era=era) as mcp:
        mcp.execute("1")
        before = hotcell.own_processes()
        ident = mcp.start_execute(
            "import time; print('started', flush=True); time.sleep(60)", meta={"progressToken": "t"}
        )
        assert mcp.next()["method"] == "notifications/progress"
        mcp.tell("notifications/cancelled", requestId=ident, reason="no longer needed")
        mcp.silence(1)
        hotcell.wait_for("the program to end", lambda: len(hotcell.own_processes() - before) <= 4)
        # The server lives, the id may be used again.
        ident = mcp.start("tools/call", ident=ident, name="sandbox_execute", arguments={"language": "python", "code": "2"})
        assert "result" in mcp.wait(ident)


def test_cancel_before_it_runs():
    with Client(era="legacy") as mcp:
        ident = mcp.start_execute("print(1)")
        mcp.tell("notifications/cancelled", requestId=ident)
        mcp.silence(1)
        assert mcp.ask("ping")["result"] == {}


@pytest.mark.parametrize("params", [{"requestId": 999}, {"requestId": None}, {"requestId": []}, {}])
def test_cancel_of_nothing(params):
    with Client(era="legacy") as mcp:
        mcp.tell("notifications/cancelled", **params)
        mcp.silence()
        assert mcp.ask("ping")["result"] == {}


def test_cancel_many():
    with Client(era="legacy") as mcp:
        idents = [mcp.start_execute("import time; time.sleep(30)") for _ in range(100)]
        for ident in idents:
            mcp.tell("notifications/cancelled", requestId=ident)
        begun = time.monotonic()
        assert mcp.execute("print('after')")["structuredContent"]["stdout"] == "after\n"
        assert time.monotonic() - begun < 25
        assert not mcp.others
