"""load_mcp and what it gives."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import hostile_config, odd

import toolnexus
from toolnexus import Progress, ToolContext, ToolHints, ToolnexusError


async def test_attributes(tiny: dict[str, Any]) -> None:
    tiny["mcpServers"]["off"] = {"command": ["x"], "disabled": True}
    async with await toolnexus.load_mcp(tiny) as source:
        assert source.status == {"progress": "connected", "off": "disabled"}
        echo = source.tools[0]
        assert (echo.name, echo.source, echo.server, echo.original_name) == ("progress_echo", "mcp", "progress", "echo")
        assert echo.input_schema["required"] == ["text"]
        assert echo.hints.read_only is True
        assert echo.hints.open_world is None
        assert source.tools[0] is echo, "the same objects while nothing changes"
        assert [t.hints for t in source.resource_tools()] == [ToolHints(read_only=True)] * 2


async def test_config_as_path_and_text(tiny: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(tiny))
    for config in (path, str(path), json.dumps(tiny)):
        assert list(toolnexus.parse_mcp_config(config)) == ["progress"]
    with pytest.raises(TypeError, match="a config must be"):
        toolnexus.parse_mcp_config(7)  # type: ignore[arg-type]
    with pytest.raises(ToolnexusError, match="no-such-file") as raised:
        await toolnexus.load_mcp("no-such-file.json")
    assert raised.value.code == "config"


def test_parse_gives_secrets_and_names_what_is_wrong() -> None:
    config = {"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "a-long-secret"}}}}
    assert toolnexus.parse_mcp_config(config)["a"]["env"] == {"TOKEN": "a-long-secret"}
    assert "a-long-secret" not in str(toolnexus.check_mcp_config(config))
    with pytest.raises(ToolnexusError, match="put arguments in args"):
        toolnexus.parse_mcp_config({"mcpServers": {"a": {"command": "x y"}}})


async def test_inventory(tiny: dict[str, Any]) -> None:
    found = await toolnexus.list_mcp_tools(tiny)
    assert [t.name for t in found.tools["progress"]] == ["echo", "slow", "fail"]
    assert found.tools["progress"][0].input_schema["type"] == "object"
    assert found.status == {"progress": "connected"}


async def test_a_server_that_fails_is_a_status() -> None:
    async with await toolnexus.load_mcp(hostile_config("exit-1-stderr")) as source:
        assert source.status == {"x": "failed"}
        assert source.servers["x"]["phase"] == "initialize"
        assert source.tools == []


async def test_misuse_is_an_exception(tiny: dict[str, Any]) -> None:
    async with await toolnexus.load_mcp(tiny) as source:
        tool = source.tools[0]
        with pytest.raises(TypeError, match="must be a dict, or JSON text, not list"):
            await tool.execute([1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="not JSON serializable"):
            await tool.execute({"text": object()})
        with pytest.raises(ValueError, match="not JSON compliant"):
            await tool.execute({"text": float("nan")})
        with pytest.raises(ValueError, match="timeout must be a number of seconds above 0"):
            await tool.execute({}, ToolContext(timeout=0))
        with pytest.raises(ToolnexusError, match="paralel"):
            await toolnexus.load_mcp(tiny, options={"paralel": 1})
        tool.close()
        with pytest.raises(ToolnexusError) as raised:
            await tool.execute({"text": "a"})
        assert raised.value.code == "handle"


async def test_what_a_model_wrote_is_a_result(tiny: dict[str, Any]) -> None:
    async with await toolnexus.load_mcp(tiny) as source:
        tool = source.tools[0]
        assert (await tool.execute('{"text": "raw"}')).output == "raw"
        for text in ("[1]", "{", '{"text": "a"}\0', '{"text": "a\0b"}'):
            result = await tool.execute(text)
            assert (result.is_error, result.code) == (True, "json"), text


async def test_closed_source_gives_results(tiny: dict[str, Any]) -> None:
    source = await toolnexus.load_mcp(tiny)
    tools = source.tools + source.resource_tools()
    await source.close()
    await source.close()
    for tool in tools:
        result = await tool.execute({"text": "a"})
        assert (result.output, result.is_error, result.code) == ("MCP source is closed", True, "closed")


async def test_request_and_restart(tiny: dict[str, Any]) -> None:
    async with await toolnexus.load_mcp(tiny) as source:
        read = await source.request("progress", "resources/read", {"uri": "fixture://hello"})
        assert read["contents"][0]["text"] == "hello resource"
        with pytest.raises(ToolnexusError) as raised:
            await source.request("progress", "no/such")
        assert (raised.value.code, raised.value.data["code"]) == ("server", -32601)
        await source.restart("progress")
        assert source.status == {"progress": "connected"}


async def test_progress_comes_before_the_result(tiny: dict[str, Any]) -> None:
    seen: list[Progress | str] = []
    async with await toolnexus.load_mcp(tiny) as source:
        slow = source.tools[1]
        await slow.execute({"durationMs": 200, "intervalMs": 20}, ToolContext(progress=seen.append))
        seen.append("result")
    assert seen.pop() == "result"
    assert len(seen) > 2
    assert all(isinstance(p, Progress) and p.server == "progress" and p.total == 200 for p in seen)


async def test_cancelling_the_task_cancels_the_call() -> None:
    async with await toolnexus.load_mcp(hostile_config("never-answers")) as source:
        tools = {t.name: t for t in source.tools}
        call = asyncio.create_task(tools["x_odd"].execute())
        while '"odd"' not in (await tools["x_received"].execute()).output:
            pass
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        while "notifications/cancelled" not in (await tools["x_received"].execute()).output:
            pass
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(tools["x_odd"].execute(), 0.05)


async def test_cancelled_load_leaves_nothing() -> None:
    cancel = asyncio.Event()
    load = asyncio.create_task(toolnexus.load_mcp_with_context(hostile_config("never-replies"), cancel=cancel))
    asyncio.get_running_loop().call_later(0.05, cancel.set)
    with pytest.raises(asyncio.CancelledError):
        await load
    with pytest.raises(asyncio.CancelledError):
        await toolnexus.load_mcp_with_context(hostile_config("never-replies"), cancel=cancel)
    with pytest.raises(ToolnexusError) as raised:
        await toolnexus.load_mcp_with_context(hostile_config("never-replies"), timeout=0.05)
    assert raised.value.code == "timeout"


async def test_json_that_python_cannot_read() -> None:
    async with await toolnexus.load_mcp(hostile_config("deep-nesting-reply", "--count", "50000")) as source:
        result = await odd(source).execute()
        assert not result.is_error
        assert result.output.startswith('{"a":[[[')
        assert "deeper" in result.metadata["unread"]
    async with await toolnexus.load_mcp(hostile_config("deep-schema", "--count", "50000")) as source:
        names = [t.name for t in source.tools]
        assert "x_deep" in names
        deep = source.tools[names.index("x_deep")]
        assert deep.input_schema == {"type": "object", "properties": {}}
        assert "output" in vars(await deep.execute())


async def test_untouched_numbers_and_surrogates() -> None:
    async with await toolnexus.load_mcp(hostile_config("untouched")) as source:
        assert (await odd(source).execute()).structured is not None
    async with await toolnexus.load_mcp(hostile_config("lone-surrogate")) as source:
        assert "\ufffd" in (await odd(source).execute()).output


async def test_parts_carry_their_data() -> None:
    async with await toolnexus.load_mcp(hostile_config("odd-content")) as source:
        tools = {t.name: t for t in source.tools}
        image = (await tools["x_image"].execute()).parts
        assert image == [{"type": "image", "mimeType": "image/png", "data": "AAEC"}]
        link = (await tools["x_link"].execute()).parts
        assert link == [{"type": "file", "mimeType": "text/plain", "url": "file:///a/b.txt", "name": "b.txt"}]
    async with await toolnexus.load_mcp(hostile_config("resource-contents-odd")) as source:
        read = await source.resource_tools()[1].execute({"server": "x", "uri": "fixture://blob"})
        assert read.parts == [{"type": "file", "mimeType": "image/png", "name": "fixture://blob", "data": "AAEC"}]


SKILL = "skill://acme/pdf/SKILL.md"


async def test_skills() -> None:
    async with await toolnexus.load_mcp(hostile_config("skills")) as source:
        read = await source.read_skill("x", SKILL)
        assert read["output"].endswith("\nBody\n")
        assert read["metadata"] == {"server": "x", "skill": SKILL, "uri": SKILL}
        logo = await source.read_skill("x", read["skill"], "skill://acme/pdf/logo.png")
        assert logo["contents"][0]["blob"] == "iVBORw=="
        with pytest.raises(ToolnexusError, match="not among the 3 files") as raised:
            await source.read_skill("x", read["skill"], "skill://acme/pdf/hidden.md")
        assert raised.value.code == "protocol"
        with pytest.raises(TypeError, match="uri must be a str"):
            await source.read_skill("x", SKILL, 7)  # type: ignore[arg-type]
    async with await toolnexus.load_mcp(hostile_config("skill-digest")) as source:
        with pytest.raises(ToolnexusError, match=r"skill pdf .* is refused: .* has the digest sha256:"):
            await source.read_skill("x", SKILL)


async def test_notices_arrive() -> None:
    notices: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    async with await toolnexus.load_mcp(hostile_config("changes-tools"), on_notice=notices.put_nowait) as source:
        before = len(source.tools)
        await odd(source).execute()
        while (await notices.get())["kind"] != "tools_changed":
            pass
        assert len(source.tools) == before + 1


async def test_a_dropped_source_ends_its_servers(tiny: dict[str, Any]) -> None:
    source = await toolnexus.load_mcp(tiny)
    echo = source.tools[0]
    del source
    with contextlib.suppress(asyncio.TimeoutError):
        while (await asyncio.wait_for(echo.execute({"text": "a"}), 60)).code != "closed":
            pass
        return
    pytest.fail("the server is still there")
