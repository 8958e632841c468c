"""Toolkits, and tools of the host."""

from __future__ import annotations

import asyncio
import enum
import logging
import threading
from typing import Annotated, Any, Literal

import pytest

import toolnexus
from toolnexus import Tool, ToolContext, ToolHints, Toolkit, ToolnexusError, ToolResult, define_tool


@define_tool
async def add(a: int, b: int = 2) -> str:
    """Adds two numbers.

    And no more.
    """
    return str(a + b)


async def test_order_lookup_and_schemas(tiny: dict[str, Any]) -> None:
    async with await toolnexus.create_toolkit(tiny, [add], False, disable_tools=["progress_fail"]) as tk:
        assert [t.name for t in tk.tools()] == ["progress_echo", "progress_slow", "add"]
        assert tk.get("add") is add
        assert tk.tools()[-1] is add
        echo = tk.get("progress_echo")
        assert echo is not None
        assert (await echo.execute({"text": "a"})).output == "a"
        assert tk.get("nope") is None
        assert tk.get("add\0") is None
        assert tk.mcp_status() == {"progress": "connected"}
        assert tk.to_openai()[2]["function"] == {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": add.input_schema,
        }
        assert tk.to_anthropic()[0]["input_schema"] == echo.input_schema
        assert len(tk.to_gemini()[0]["functionDeclarations"]) == 3
        assert (await tk.execute("add", {"a": 1})).output == "3"
        assert (await tk.execute("progress_echo", {"text": "b"})).output == "b"
        for unknown in ("nope", "add\0x"):
            result = await tk.execute(unknown)
            assert result.is_error
            assert result.output == f"Unknown tool: {unknown}".replace("\0", "\ufffd")
    assert (await tk.execute("add", {"a": 1})).code == "closed"
    assert (await tk.execute("progress_echo", {"text": "b"})).code == "closed"


async def test_the_first_of_a_name_stays(tiny: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    other = define_tool(lambda: "other", name="add")
    taken = define_tool(lambda: "mine", name="progress_echo")
    async with await toolnexus.create_toolkit(tiny, [add, other], False) as tk:
        assert '"add" is not registered' in caplog.text
        tk.register(taken)
        assert (await tk.execute("add", {"a": 1})).output == "3"
        assert (await tk.execute("progress_echo", {"text": "the server's"})).output == "the server's"
        assert len(tk.tools()) == 4


async def test_resource_tools_of_another_source(tiny: dict[str, Any]) -> None:
    async with await toolnexus.load_mcp(tiny) as source:
        tk = await toolnexus.create_toolkit(builtins=False, extra_tools=source.resource_tools())
        assert tk.mcp_source() is None
        assert tk.mcp_status() == {}
        read = await tk.execute("read_mcp_resource", {"server": "progress", "uri": "fixture://hello"})
        assert read.output == "hello resource"
        await tk.close()
        assert (await source.resource_tools()[0].execute()).output.startswith("progress fixture://hello")


async def test_builtins(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            await (await toolnexus.create_toolkit()).close()
        for wanted in (False, {"disabled": True}, {"enabled": False}):
            await (await toolnexus.create_toolkit(builtins=wanted)).close()
    assert caplog.text.count("no built-in tools") == 1
    with pytest.raises(ToolnexusError, match="built"):
        await toolnexus.create_toolkit(builtins=True)


async def test_close_ends_calls_of_the_hosts_tools() -> None:
    began = asyncio.Event()

    async def waits() -> str:
        began.set()
        await asyncio.Event().wait()
        return "never"

    tk = await toolnexus.create_toolkit(builtins=False, extra_tools=[define_tool(waits)])
    call = asyncio.create_task(tk.execute("waits"))
    await began.wait()
    await tk.close()
    result = await call
    assert (result.is_error, result.code) == (True, "closed")


async def test_time_out_and_cancel_of_the_hosts_tools() -> None:
    async def waits() -> None:
        await asyncio.Event().wait()

    tool = define_tool(waits)
    result = await tool.execute({}, ToolContext(timeout=0.02))
    assert (result.code, result.output) == ("timeout", "the tool did not answer within 20 ms")
    signal = asyncio.Event()
    asyncio.get_running_loop().call_later(0.02, signal.set)
    with pytest.raises(asyncio.CancelledError):
        await tool.execute({}, ToolContext(signal=signal))
    async with await toolnexus.create_toolkit(builtins=False, extra_tools=[tool]) as tk:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(tk.execute("waits"), 0.02)


async def test_what_functions_give() -> None:
    async def outcome(value: Any) -> ToolResult:
        return await define_tool(lambda: value, name="f").execute()

    assert (await outcome({"a": [1]})).output == '{"a": [1]}'
    assert (await outcome(None)).output == ""
    assert await outcome(ToolResult("own", True)) == ToolResult("own", True)
    assert (await outcome(object())).is_error

    def fails() -> str:
        raise RuntimeError("it broke")

    assert await define_tool(fails).execute() == ToolResult("it broke", True)
    missing = await add.execute({})
    assert missing.is_error
    assert "'a'" in missing.output
    for text in ("[1]", "{", "[" * 100_000):
        assert (await add.execute(text)).code == "json"
    assert (await add.execute('{"a": 1}')).output == "3"
    with pytest.raises(TypeError, match="must be a dict"):
        await add.execute([1])  # type: ignore[arg-type]


async def test_plain_functions_run_in_threads_and_get_the_context() -> None:
    @define_tool(name="here", description="Where it runs.", hints=ToolHints(read_only=True))
    def where(ctx: ToolContext) -> str:
        assert ctx.timeout == 5
        return threading.current_thread().name

    assert where.input_schema["properties"] == {}
    assert (await where.execute({}, ToolContext(timeout=5))).output != threading.current_thread().name
    assert (where.name, where.description, where.hints.read_only) == ("here", "Where it runs.", True)


def test_schema_from_type_hints() -> None:
    class Colour(enum.Enum):
        RED = "red"

    def every(
        text: Annotated[str, "what to say"],
        count: int,
        share: float,
        flag: bool,
        names: list[str],
        table: dict[str, int],
        kind: Literal["a", "b"],
        either: int | str,
        anything: Any,
        maybe: str | None = None,
        *rest: int,
        **more: int,
    ) -> None: ...

    schema = define_tool(every).input_schema
    assert schema["properties"] == {
        "text": {"type": "string", "description": "what to say"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "flag": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "table": {"type": "object"},
        "kind": {"enum": ["a", "b"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "anything": {},
        "maybe": {"type": "string"},
    }
    assert schema["required"] == list(schema["properties"])[:-1]

    def of_enum(colour: Colour) -> None: ...

    of_enum.__annotations__["colour"] = Colour
    assert define_tool(of_enum).input_schema["properties"] == {"colour": {"enum": ["red"]}}


async def test_a_tool_made_by_hand() -> None:
    async def execute(args: dict[str, Any], ctx: ToolContext | None = None) -> ToolResult:
        return ToolResult(args["x"])

    tool = Tool("mine", "Mine.", {"type": "object", "properties": {"x": {}}}, "custom", execute)
    async with await toolnexus.create_toolkit(builtins=False, extra_tools=[tool]) as tk:
        assert isinstance(tk, Toolkit)
        assert (await tk.execute("mine", {"x": "y"})).output == "y"
    with pytest.raises(ToolnexusError, match="name"):
        await toolnexus.create_toolkit(builtins=False, extra_tools=[define_tool(lambda: "", name="no good")])
