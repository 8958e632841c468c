"""The synchronous facade."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import hostile_config, odd

from toolnexus import Answer, Request, ToolContext, define_tool, sync


def test_source(tiny: dict[str, Any]) -> None:
    with sync.load_mcp(tiny) as source:
        assert source.status == {"progress": "connected"}
        echo = source.tools[0]
        assert (echo.name, echo.hints.read_only, echo.server) == ("progress_echo", True, "progress")
        assert echo.execute({"text": "a"}).output == "a"
        assert source.request("progress", "ping") is not None
        list_tool, read_tool = source.resource_tools()
        assert list_tool.execute().output.startswith("progress fixture://hello")
        with ThreadPoolExecutor(8) as pool:
            outputs = pool.map(lambda i: echo.execute({"text": str(i)}).output, range(200))
        assert list(outputs) == [str(i) for i in range(200)]
        assert source.tools[1].execute({"durationMs": 5000, "intervalMs": 0}, ToolContext(timeout=0.05)).code == "timeout"
    assert read_tool.execute({"server": "progress", "uri": "fixture://hello"}).output == "MCP source is closed"
    assert [t.name for t in sync.list_mcp_tools(tiny).tools["progress"]] == ["echo", "slow", "fail"]


def test_skills() -> None:
    with sync.load_mcp(hostile_config("skills")) as source:
        assert source.read_skill("x", "skill://acme/pdf/SKILL.md")["skill"]["frontmatter"]["name"] == "pdf"


def test_toolkit(tiny: dict[str, Any]) -> None:
    @define_tool
    def where() -> str:
        # A plain function may call the facade in turn.
        assert [t.name for t in tk.tools()][-1] == "where"
        return tk.execute("progress_echo", {"text": "from the tool"}).output

    with sync.create_toolkit(tiny, [where], False) as tk:
        assert tk.execute("where").output == "from the tool"
        assert tk.mcp_status() == {"progress": "connected"}
        source = tk.mcp_source()
        assert source is not None
        tk.register(*source.resource_tools())
        assert len(tk.to_openai()) == 6
        found = tk.get("read_mcp_resource")
        assert found is not None
        assert found.execute({"server": "progress", "uri": "fixture://hello"}).output == "hello resource"


def test_questions_are_answered_while_the_caller_waits() -> None:
    def wait_for(request: Request) -> Answer:
        assert threading.current_thread() is not threading.main_thread()
        return Answer(request.id, True, {"name": "Ada", "confirmed": True})

    with sync.load_mcp(hostile_config("asks-elicitation", "--era", "legacy"), wait_for) as source:
        assert "accept" in odd(source).execute().output


def test_waiting_for_itself_is_told(tiny: dict[str, Any]) -> None:
    @define_tool
    async def waits_for_itself() -> str:
        return tk.execute("progress_echo", {"text": "never"}).output

    with sync.create_toolkit(tiny, [waits_for_itself], False) as tk:
        assert "use the async functions" in tk.execute("waits_for_itself").output


def test_it_starts_anew_after_a_stop(tiny: dict[str, Any]) -> None:
    sync.stop()
    sync.stop()
    with sync.load_mcp(tiny) as source:
        assert source.tools[0].execute({"text": "again"}).output == "again"
    with pytest.raises(TypeError, match="a config must be"):
        sync.load_mcp(7)  # type: ignore[arg-type]
