"""Many sources of tools as one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from . import _ffi, _json
from ._hub import log, run
from ._requests import Notify, Requests
from ._source import McpSource, document, load, load_context
from ._tool import Arguments, Tool, ToolList, to_anthropic, to_gemini, to_openai, tool_of, tool_result
from ._types import Config, McpStatus, ToolContext, ToolResult, WaitFor

_said = False


async def create_toolkit(
    mcp_config: Config | None = None,
    extra_tools: Iterable[Tool] | None = None,
    builtins: bool | Mapping[str, Any] | None = None,
    wait_for: WaitFor | None = None,
    disable_tools: Iterable[str] | None = None,
    cancel: asyncio.Event | None = None,
    *,
    timeout: float | None = None,
    options: Mapping[str, Any] | None = None,
    on_notice: Notify | None = None,
) -> Toolkit:
    """The tools of a config, and after them `extra_tools`. The first tool of a name stays; a later one is left out, with a
    warning in the log.

    disable_tools: names of tools that the toolkit has not, whoever brings them.
    builtins: there are no built-in tools, so only None and False are right.
    The rest is as for load_mcp_with_context.
    """
    lib = _ffi.library()
    _explain(builtins)
    fixed: dict[str, Any] = {"builtins": _wanted(builtins)}
    if disable_tools is not None:
        fixed["disableTools"] = list(disable_tools)
    if mcp_config is not None:
        fixed["mcpConfig"] = _json.config(mcp_config)

    def arguments(chosen: Mapping[str, Any]) -> tuple[bytes | None, ...]:
        return (_json.dump(fixed | {"mcpOptions": chosen} if chosen else fixed),)

    context = load_context(cancel, timeout)
    ref, events = await load(
        lib.toolkit_create_submit, arguments, options, wait_for, on_notice, context, lib.result_take_toolkit
    )
    return Toolkit(ref, events).register(*(extra_tools or ()))


def _wanted(builtins: bool | Mapping[str, Any] | None) -> bool:
    if isinstance(builtins, Mapping):
        return not builtins.get("disabled", False) and bool(builtins.get("enabled", True))
    return bool(builtins)


def _explain(builtins: object) -> None:
    """Says once what someone who expects built-in tools must know."""
    global _said
    if builtins is None and not _said:
        _said = True
        log.warning("a toolkit has no built-in tools here; builtins=False says that you know")


class Toolkit:
    """The tools of servers, and beside them your own. `async with`, or `await close()`."""

    def __init__(self, ref: _ffi.Ref, events: Requests | None = None) -> None:
        self._ref = ref
        self._events = events
        self._list = ToolList()
        self._native: dict[str, Tool] = {}
        self._running: set[asyncio.Future[ToolResult]] = set()
        self._closed = False
        self._source: McpSource | None = None

    def __del__(self) -> None:
        if getattr(self, "_events", None) is not None and self._events is not None:
            self._events.close_soon()

    def register(self, *tools: Tool) -> Toolkit:
        """Adds tools: yours, resource tools, those of another source. Gives the toolkit back."""
        lib = _ffi.library()
        for tool in tools:
            result = _ffi.Ref(lib.toolkit_register(self._ref.value, tool._handle()))
            outcome = document(result.value, lib.result_status(result.value))
            for warning in outcome["warnings"]:
                log.warning("%s", warning)
            if outcome["registered"] and tool._execute is not None:
                self._native[tool.name] = tool
        return self

    def tools(self) -> list[Tool]:
        """The servers' tools as of now, then the registered ones."""
        return self._list.read(_ffi.library().toolkit_tools(self._ref.value), self._native)

    def get(self, name: str) -> Tool | None:
        """The tool of a name, or None."""
        if name in self._native:
            return self._native[name]
        found = None if "\0" in name else _ffi.library().toolkit_get(self._ref.value, name.encode())
        return None if found is None else tool_of(_ffi.Ref(found))

    async def execute(self, name: str, args: Arguments = None, ctx: ToolContext | None = None) -> ToolResult:
        """Calls the tool of a name, as Tool.execute. An unknown name is an error result."""
        native = self._native.get(name)
        if native is not None and not self._closed:
            running = asyncio.ensure_future(native.execute(args, ctx))
            self._running.add(running)
            try:
                return await running
            except asyncio.CancelledError:
                if running in self._running:
                    raise
                # close() ended it, and the library says so below.
            finally:
                self._running.discard(running)
        # No name holds a NUL, which would end the C string.
        named = name.replace("\0", "\ufffd").encode()
        arguments = (self._ref.value, named, _json.arguments(args))
        return await run(_ffi.library().toolkit_execute_submit, arguments, tool_result, ctx)

    def mcp_source(self) -> McpSource | None:
        """The source of the config that the toolkit was created with. Closing the toolkit closes it."""
        if self._source is None:
            ref = _ffi.library().toolkit_mcp(self._ref.value)
            self._source = None if ref is None else McpSource(_ffi.Ref(ref))
        return self._source

    def mcp_status(self) -> dict[str, McpStatus]:
        """Each server's status now."""
        source = self.mcp_source()
        return {} if source is None else source.status

    def to_openai(self) -> list[dict[str, Any]]:
        """The tools as OpenAI's API wants them."""
        return to_openai(self.tools())

    def to_anthropic(self) -> list[dict[str, Any]]:
        """The tools as Anthropic's API wants them."""
        return to_anthropic(self.tools())

    def to_gemini(self) -> list[dict[str, Any]]:
        """The tools as Gemini's API wants them."""
        return to_gemini(self.tools())

    async def close(self) -> None:
        """Closes the toolkit and its source; calls under way, also of your tools, give results that say so. Tools of other
        sources stay good where they come from. Again: no effect."""
        self._closed = True
        ended, self._running = self._running, set()
        for call in ended:
            call.cancel()
        try:
            await run(_ffi.library().toolkit_close_submit, (self._ref.value,), document)
        finally:
            if self._events is not None:
                self._events.close_soon()

    async def __aenter__(self) -> Toolkit:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
