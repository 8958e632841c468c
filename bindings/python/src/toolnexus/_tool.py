"""Tools, whoever runs them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from . import _ffi, _json
from ._hub import log, run
from ._types import JSONSchema, ToolContext, ToolHints, ToolnexusError, ToolResult

ToolSource = Literal["mcp", "skill", "native", "http", "builtin", "a2a", "custom"]
#: What a tool's arguments may be: a dict, or the JSON text that a model wrote.
Arguments = Mapping[str, Any] | str | None
Execute = Callable[..., Awaitable[ToolResult]]

_HINTS = (("read_only", "readOnly"), ("destructive", "destructive"), ("idempotent", "idempotent"), ("open_world", "openWorld"))


class Tool:
    """One tool. Those of servers come from a source; make your own with define_tool, or with this constructor and an
    `execute` of the form `async (args: dict, ctx: ToolContext | None) -> ToolResult`."""

    def __init__(
        self,
        name: str,
        description: str = "",
        input_schema: JSONSchema | None = None,
        source: ToolSource = "native",
        execute: Execute | None = None,
        *,
        hints: ToolHints | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.input_schema: JSONSchema = {"type": "object", "properties": {}} if input_schema is None else input_schema
        self.source: ToolSource = source
        self.hints = hints or ToolHints()
        #: The server's name in the config and the tool's name there; None for tools of the host.
        self.server: str | None = None
        self.original_name: str | None = None
        self.title: str | None = None
        self.output_schema: JSONSchema | None = None
        self._execute = execute
        self._list: _ffi.Ref | None = None
        self._index = 0
        self._ref: _ffi.Ref | None = None

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    @classmethod
    def _of_document(cls, document: Mapping[str, Any]) -> Tool:
        given = document.get("hints") or {}
        hints = ToolHints(**{ours: given[theirs] for ours, theirs in _HINTS if theirs in given})
        tool = cls(
            document["name"], document.get("description") or "", document.get("inputSchema"), document["source"], hints=hints
        )
        tool.server, tool.original_name = document.get("server"), document.get("originalName")
        tool.title, tool.output_schema = document.get("title"), document.get("outputSchema")
        return tool

    def _handle(self) -> int:
        """The library's tool. Those of long lists are fetched when first needed."""
        if self._ref is None:
            if self._list is not None:
                self._ref = _ffi.Ref(_ffi.library().tools_get(self._list.value, self._index))
            else:
                self._ref = _create(self)
        return self._ref.value

    async def execute(self, args: Arguments = None, ctx: ToolContext | None = None) -> ToolResult:
        """Calls the tool. Whatever the tool or its server does wrong is a result with is_error; TypeError and ToolnexusError
        are the caller's mistakes. Cancelling the task cancels the call, and the server is told."""
        if self._execute is not None:
            return await _run_native(self._execute, args, ctx)
        lib = _ffi.library()
        return await run(lib.tool_execute_submit, (self._handle(), _json.arguments(args)), tool_result, ctx)

    def close(self) -> None:
        """Gives the tool back now rather than with this object; calls under way go on. Executing it then raises."""
        self._handle()
        if self._ref is not None:
            self._ref.release()


# Where calls of the host's tools would arrive if they came through the library. They come from this package, which runs
# them itself.
_calls: _ffi.Ref | None = None


def _create(tool: Tool) -> _ffi.Ref:
    """The library's side of a tool of the host: its name, for the toolkit's rules."""
    global _calls
    lib = _ffi.library()
    if _calls is None:
        _calls = _ffi.Ref(lib.queue_new())
    result = _ffi.Ref(lib.tool_create(_json.dump({"name": tool.name}), _calls.value))
    if lib.result_is_error(result.value):
        raise _ffi.failure(result.value)
    return _ffi.Ref(lib.result_take_tool(result.value))


def release_calls() -> None:
    global _calls
    _calls = None


class ToolList:
    """The tools of a source or toolkit; the same objects for as long as they do not change."""

    def __init__(self) -> None:
        self._document: bytes | None = None
        self._tools: list[Tool] = []

    def read(self, handle: int | None, native: Mapping[str, Tool] | None = None) -> list[Tool]:
        """`handle`: a new reference to a list. `native`: the tools of the host in it, by name."""
        lib = _ffi.library()
        ref = _ffi.Ref(handle)
        document: bytes = lib.tools_json(ref.value, None)
        if document != self._document:
            tools = []
            for index, one in enumerate(_documents(ref, document)):
                tool = (native or {}).get(one["name"]) if one["source"] == "native" else None
                if tool is None:
                    tool = Tool._of_document(one)
                    tool._list, tool._index = ref, index
                tools.append(tool)
            self._document, self._tools = document, tools
        return list(self._tools)


def _documents(tools: _ffi.Ref, document: bytes) -> list[dict[str, Any]]:
    try:
        return list(_json.load(document))
    except RecursionError:
        return [_one_document(_ffi.Ref(_ffi.library().tools_get(tools.value, i))) for i in range(_length(tools))]


def _length(tools: _ffi.Ref) -> int:
    return int(_ffi.library().tools_len(tools.value))


def _one_document(tool: _ffi.Ref) -> dict[str, Any]:
    lib = _ffi.library()
    try:
        return dict(_json.load(lib.tool_json(tool.value, None)))
    except RecursionError:
        name = lib.tool_name(tool.value).decode()
        log.warning("the schema of the tool %r is nested deeper than Python reads; it is shown without one", name)
        return {"name": name, "source": "mcp"}


def tool_of(ref: _ffi.Ref) -> Tool:
    """The tool of a reference of its own."""
    tool = Tool._of_document(_one_document(ref))
    tool._ref = ref
    return tool


def tool_result(result: int, status: int) -> ToolResult:
    """What a call of a tool gives. Raises for misuse."""
    lib = _ffi.library()
    if status and _ffi.is_misuse(status):
        raise _ffi.failure(result)
    try:
        document = _json.load(lib.result_json(result, None))
    except RecursionError:
        document = {
            "metadata": {"unread": "the result is nested deeper than Python reads"},
            "output": _ffi.output_of(result),
            "isError": lib.result_is_error(result),
        }
        if status:
            document["error"] = {"code": _ffi.code_of(status), "message": document["output"]}
    get = document.get
    content = get("content")
    if content is None:
        content = get("contents", [])
    parts = get("parts")
    if parts:
        parts = [_with_data(part, content) for part in parts]
    return ToolResult(
        document["output"], document["isError"], get("metadata", {}), parts or [], get("structured"), content, get("error")
    )


def _with_data(part: dict[str, Any], content: list[Any]) -> dict[str, Any]:
    """The part with its data in place of the number of its block."""
    at = part.pop("content", None)
    if at is not None and "url" not in part:
        block = content[at]
        part["data"] = block.get("data", block.get("blob", (block.get("resource") or {}).get("blob")))
    return part


async def _run_native(execute: Execute, args: Arguments, ctx: ToolContext | None) -> ToolResult:
    """A call of a tool of the host: like any other, its failure is a result."""
    given: Any = args
    if isinstance(args, str):
        try:
            given = json.loads(args)
        except (ValueError, RecursionError) as e:
            return failed("json", f"the arguments are no JSON object: {e}")
        if not isinstance(given, dict):
            return failed("json", f"the arguments must be a JSON object, not {type(given).__name__}")
    elif args is not None and not isinstance(args, Mapping):
        raise TypeError(f"a tool's arguments must be a dict, or JSON text, not {type(args).__name__}")
    limits = [x for x in (ctx.timeout, ctx.deadline) if x is not None] if ctx is not None else []
    call = asyncio.ensure_future(execute(dict(given or {}), ctx))
    signalled = asyncio.ensure_future(ctx.signal.wait()) if ctx is not None and ctx.signal is not None else None
    try:
        waits = [call] if signalled is None else [call, signalled]
        done, _ = await asyncio.wait(waits, timeout=min(limits, default=None), return_when=asyncio.FIRST_COMPLETED)
        if call in done:
            return call.result()
        if signalled in done:
            raise asyncio.CancelledError
        return failed("timeout", f"the tool did not answer within {min(limits) * 1000:.0f} ms")
    except ToolnexusError:
        raise
    except Exception as e:
        return ToolResult(str(e) or type(e).__name__, True)
    finally:
        call.cancel()
        if signalled is not None:
            signalled.cancel()


def failed(code: str, message: str) -> ToolResult:
    return ToolResult(message, True, error={"code": code, "message": message})


def to_openai(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools as OpenAI's API wants them."""
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.input_schema}}
        for t in tools
    ]


def to_anthropic(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools as Anthropic's API wants them."""
    return [{"name": t.name, "description": t.description, "input_schema": t.input_schema} for t in tools]


def to_gemini(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools as Gemini's API wants them."""
    declarations = [{"name": t.name, "description": t.description, "parameters": t.input_schema} for t in tools]
    return [{"functionDeclarations": declarations}]
