"""The cases that every language must do alike: tests/cases of the repository."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, program

import toolnexus
from toolnexus import Answer, McpSource, Request, Tool, ToolContext, Toolkit, ToolnexusError, ToolResult

CASES: list[dict[str, Any]] = json.loads((ROOT / "tests/cases/cases.json").read_text())


@pytest.fixture(autouse=True)
def _nothing_lives() -> Iterator[None]:
    yield
    gc.collect()
    assert toolnexus.shutdown() == {}


def known(given: dict[str, Any], *words: str) -> None:
    """A word that this runner does not know must not pass by being ignored."""
    assert not set(given) - set(words), f"unknown words: {set(given) - set(words)}"


def filled(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            text, times = value["$repeat"]
            return text * times
        return {k: filled(v) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v) for v in value]
    if isinstance(value, str) and "$" in value:
        for name in ("tiny", "hostile", "remote"):
            value = value.replace(f"${name}", program(f"TOOLNEXUS_{name.upper()}"))
        return value
    return value


def assert_holds(has: Any, wanted: Any, path: str = "") -> None:
    if isinstance(wanted, dict):
        assert isinstance(has, dict), f"{path}: {has!r}"
        for key, value in wanted.items():
            assert key in has, f"{path}/{key} is absent in {has!r}"
            assert_holds(has[key], value, f"{path}/{key}")
    else:
        assert has == wanted, f"{path}: {has!r}"


def status_of(error: str | None) -> str:
    return "TN_OK" if error is None else f"TN_E_{error.upper()}"


def document_of(tool: Tool) -> dict[str, Any]:
    names = {"read_only": "readOnly", "destructive": "destructive", "idempotent": "idempotent", "open_world": "openWorld"}
    hints = {names[k]: v for k, v in vars(tool.hints).items() if v is not None}
    everything = {
        "name": tool.name,
        "description": tool.description,
        "source": tool.source,
        "server": tool.server,
        "originalName": tool.original_name,
    }
    return {k: v for k, v in everything.items() if v is not None} | {"hints": hints, "inputSchema": tool.input_schema}


def check(outcome: ToolResult | BaseException, expect: dict[str, Any]) -> None:
    known(expect, "status", "isError", "output", "outputHas", "outputLength", "parts", "structured")
    status = expect.get("status", "TN_OK")
    if isinstance(outcome, BaseException):
        assert status == "TN_E_CANCELLED", repr(outcome)
        assert isinstance(outcome, asyncio.CancelledError), repr(outcome)
        known(expect, "status")
        return
    assert status_of(outcome.code) == status, outcome.output
    assert outcome.is_error is expect.get("isError", status != "TN_OK"), outcome.output[:200]
    if "output" in expect:
        assert outcome.output == expect["output"]
    for part in expect.get("outputHas", []):
        assert part in outcome.output
    if "outputLength" in expect:
        assert len(outcome.output.encode()) == expect["outputLength"]
    if "structured" in expect:
        assert outcome.structured == expect["structured"]
    if "parts" in expect:
        for has, wanted in zip(outcome.parts, expect["parts"], strict=True):
            # This binding gives the data in place of the number of its block.
            at = wanted.pop("content")
            if "url" not in wanted:
                block = outcome.content[at]
                wanted["data"] = block.get("data") or block["resource"]["blob"]
            assert has == wanted


class Runner:
    """One case."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.answers = [dict(a) for a in case.get("answers", [])]
        self.source: McpSource | None = None
        self.toolkit: Toolkit | None = None
        self.resource_tools: list[Tool] = []
        self.host_tools: list[Tool] = []
        self.started: asyncio.Task[Any] | None = None
        self.last: Tool | None = None

    def answer(self, request: Request) -> Answer:
        given = self.answers.pop(0)
        known(given, "ok", "data", "reason")
        return Answer(request.id, **given)

    async def run(self) -> None:
        known(self.case, "name", "parse", "config", "options", "answers", "hostTool", "load", "steps")
        wanted = self.case.get("load", {})
        try:
            loaded = await self.load()
            status = "TN_OK"
        except ToolnexusError as e:
            loaded, status = {}, status_of(e.code)
        assert status == wanted.get("status", "TN_OK")
        assert_holds(loaded, {k: v for k, v in wanted.items() if k != "status"})
        for step in self.case["steps"]:
            await self.step(step)
        if self.toolkit is not None:
            await self.toolkit.close()
        elif self.source is not None:
            await self.source.close()
        assert self.answers == []

    async def load(self) -> dict[str, Any]:
        if "parse" in self.case:
            return toolnexus.check_mcp_config(self.case["parse"], options=self.case.get("options"))
        wait_for = self.answer if "answers" in self.case else None
        options = self.case.get("options")
        if "hostTool" in self.case:
            tool = self.host_tool(self.case["hostTool"])
            self.toolkit = await toolnexus.create_toolkit(self.case["config"], [tool], False, wait_for, options=options)
            self.source = self.toolkit.mcp_source()
        else:
            self.source = await toolnexus.load_mcp(self.case["config"], wait_for, options=options)
        assert self.source is not None
        return {"servers": self.source.servers, "warnings": self.source.warnings}

    def host_tool(self, spec: dict[str, Any]) -> Tool:
        known(spec, "name", "description", "inputSchema", "does")

        async def upper(text: str) -> str:
            return text.upper()

        async def fail() -> str:
            raise RuntimeError("it does not want to")

        known_tools: dict[str, Callable[..., Any]] = {"upper": upper, "fail": fail}
        does = known_tools[spec["does"]]
        tool = toolnexus.define_tool(
            does, name=spec["name"], description=spec["description"], input_schema=spec.get("inputSchema")
        )
        self.host_tools = [tool]
        return tool

    def find(self, name: str) -> Tool:
        assert self.source is not None
        return next(t for t in [*self.resource_tools, *self.source.tools, *self.host_tools] if t.name == name)

    async def step(self, step: dict[str, Any]) -> None:
        source = self.source
        assert source is not None
        if "tools" in step:
            known(step, "tools")
            assert [t.name for t in source.tools] == step["tools"]
        elif "tool" in step:
            known(step, "tool", "document")
            assert_holds(document_of(self.find(step["tool"])), step["document"])
        elif "schema" in step:
            known(step, "schema", "contains")
            text = json.dumps(getattr(toolnexus, f"to_{step['schema']}")(source.tools), separators=(",", ":"))
            for part in step["contains"]:
                assert part in text
        elif "call" in step:
            await self.call(step)
        elif "start" in step:
            known(step, "start", "arguments")
            self.started = asyncio.create_task(self.execute(step["start"], step))
            await self.until_received(step["start"])
        elif "await" in step:
            known(step, "await", "expect")
            assert self.started is not None
            check(await self.started, step["expect"])
        elif "request" in step:
            await self.request(step)
        elif "status" in step:
            known(step, "status")
            assert_holds({"servers": source.servers}, step["status"])
        elif "inventory" in step:
            known(step, "inventory")
            found = await toolnexus.list_mcp_tools(self.case["config"], options=self.case.get("options"))
            known(step["inventory"], "status")
            assert_holds(found.status, step["inventory"]["status"])
        elif "resourceTools" in step:
            known(step, "resourceTools")
            self.resource_tools = source.resource_tools()
        elif "close" in step:
            known(step, "close")
            await source.close()
        elif "free" in step:
            known(step, "free")
            assert step["free"] == "tool"
            assert self.last is not None
            self.last.close()
            with pytest.raises(ToolnexusError) as raised:
                await self.last.execute({})
            assert raised.value.code == "handle"
        else:
            raise AssertionError(f"unknown step: {step}")

    async def execute(self, name: str, step: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        arguments = step.get("text", step.get("arguments"))
        if step.get("through") == "toolkit":
            assert self.toolkit is not None
            return await self.toolkit.execute(name, arguments, context)
        self.last = self.find(name)
        return await self.last.execute(arguments, context)

    async def call(self, step: dict[str, Any]) -> None:
        known(step, "call", "arguments", "text", "timeoutMs", "deadlineMs", "cancel", "times", "through", "expect")
        assert step.get("through", "toolkit") == "toolkit"
        context = ToolContext(asyncio.Event())
        assert context.signal is not None
        if "timeoutMs" in step:
            context.timeout = step["timeoutMs"] / 1000
        if "deadlineMs" in step:
            context.deadline = step["deadlineMs"] / 1000
        cancel = step.get("cancel")
        assert cancel in (None, "before", "during", "after")
        if cancel == "before":
            context.signal.set()
        calls = [asyncio.create_task(self.execute(step["call"], step, context)) for _ in range(step.get("times", 1))]
        if cancel == "during":
            await self.until_received(step["call"])
            context.signal.set()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        if cancel == "after":
            context.signal.set()
        for outcome in outcomes:
            check(outcome, dict(step["expect"]))

    async def until_received(self, name: str) -> None:
        """The server has the call once it tells of it."""
        assert self.source is not None
        tool = self.find(name)
        received = self.find(f"{tool.server}_received")
        while f'"{tool.original_name}"' not in (await received.execute()).output:
            pass

    async def request(self, step: dict[str, Any]) -> None:
        known(step, "request", "server", "params", "expect")
        expect = step["expect"]
        known(expect, "status", "serverError", "document")
        assert self.source is not None
        status, data = "TN_OK", {}
        try:
            reply = await self.source.request(step["server"], step["request"], step.get("params"))
            assert_holds(reply, expect.get("document", {}))
        except ToolnexusError as e:
            status, data = status_of(e.code), e.data
        assert status == expect.get("status", "TN_OK")
        if "serverError" in expect:
            assert data["code"] == expect["serverError"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    asyncio.run(asyncio.wait_for(Runner(filled(case)).run(), 60))


def test_no_word_is_ignored() -> None:
    for step in ({"unheard": 1}, {"call": "a", "unheard": 1}, {"tools": [], "unheard": 1}):
        runner = Runner({"config": {}, "steps": []})
        runner.source = object.__new__(McpSource)
        with pytest.raises(AssertionError, match="unknown"):
            asyncio.run(runner.step(step))


def test_the_cases_are_there() -> None:
    assert len(CASES) > 30
    assert Path(ROOT / "tests/cases/README.md").is_file()
