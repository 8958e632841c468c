"""The same without asyncio: every function blocks until it is done, and may be called from any thread.

One thread, started with the first call, runs an event loop for all of them. Ctrl-C in a blocked call cancels it.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from . import _source, _tool, _toolkit
from ._requests import Notify
from ._types import Config, JSONSchema, McpInventory, McpStatus, SkillFile, ToolContext, ToolHints, ToolResult, WaitFor

T = TypeVar("T")
parse_mcp_config = _source.parse_mcp_config

_lock = threading.Lock()
_thread: _LoopThread | None = None


class _LoopThread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="toolnexus-sync", daemon=True)
        self.loop = asyncio.new_event_loop()

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self.loop.close()


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    global _thread
    with _lock:
        if _thread is None:
            _thread = _LoopThread()
            _thread.start()
        thread = _thread
    if threading.current_thread() is thread:
        coroutine.close()
        raise RuntimeError(
            "toolnexus.sync is called in its own event loop, which would wait for itself: use the async functions"
        )
    future = asyncio.run_coroutine_threadsafe(coroutine, thread.loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@atexit.register
def stop() -> None:
    """Ends the thread. Calls under way are cancelled; a later call starts it anew."""
    global _thread
    with _lock:
        thread, _thread = _thread, None
    if thread is not None:
        thread.loop.call_soon_threadsafe(thread.loop.stop)
        thread.join()


def _forget() -> None:
    # The thread is not in a forked child, and the lock may have been held.
    global _thread, _lock
    _thread, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


class Tool:
    """A tool whose `execute` blocks."""

    def __init__(self, tool: _tool.Tool) -> None:
        self._tool = tool

    def __repr__(self) -> str:
        return repr(self._tool)

    @property
    def name(self) -> str:
        return self._tool.name

    @property
    def description(self) -> str:
        return self._tool.description

    @property
    def input_schema(self) -> JSONSchema:
        return self._tool.input_schema

    @property
    def source(self) -> _tool.ToolSource:
        return self._tool.source

    @property
    def hints(self) -> ToolHints:
        return self._tool.hints

    @property
    def server(self) -> str | None:
        return self._tool.server

    @property
    def original_name(self) -> str | None:
        return self._tool.original_name

    def execute(self, args: _tool.Arguments = None, ctx: ToolContext | None = None) -> ToolResult:
        """Calls the tool; see toolnexus.Tool.execute."""
        return _run(self._tool.execute(args, ctx))


def _plain(tool: Tool | _tool.Tool) -> _tool.Tool:
    return tool._tool if isinstance(tool, Tool) else tool


class McpSource:
    """The connected servers of one config; see toolnexus.McpSource."""

    def __init__(self, source: _source.McpSource) -> None:
        self._source = source

    @property
    def tools(self) -> list[Tool]:
        return [Tool(t) for t in self._source.tools]

    @property
    def status(self) -> dict[str, McpStatus]:
        return self._source.status

    @property
    def servers(self) -> dict[str, dict[str, Any]]:
        return self._source.servers

    @property
    def warnings(self) -> list[str]:
        return self._source.warnings

    def resource_tools(self) -> list[Tool]:
        return [Tool(t) for t in self._source.resource_tools()]

    def request(self, server: str, method: str, params: Mapping[str, Any] | None = None, ctx: ToolContext | None = None) -> Any:
        return _run(self._source.request(server, method, params, ctx))

    def read_skill(
        self, server: str, skill: str | Mapping[str, Any], uri: str | None = None, ctx: ToolContext | None = None
    ) -> SkillFile:
        return _run(self._source.read_skill(server, skill, uri, ctx))

    def restart(self, server: str | None = None) -> None:
        _run(self._source.restart(server))

    def close(self) -> None:
        _run(self._source.close())

    def __enter__(self) -> McpSource:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Toolkit:
    """Many sources of tools as one; see toolnexus.Toolkit."""

    def __init__(self, toolkit: _toolkit.Toolkit) -> None:
        self._toolkit = toolkit

    def register(self, *tools: Tool | _tool.Tool) -> Toolkit:
        self._toolkit.register(*map(_plain, tools))
        return self

    def tools(self) -> list[Tool]:
        return [Tool(t) for t in self._toolkit.tools()]

    def get(self, name: str) -> Tool | None:
        tool = self._toolkit.get(name)
        return None if tool is None else Tool(tool)

    def execute(self, name: str, args: _tool.Arguments = None, ctx: ToolContext | None = None) -> ToolResult:
        return _run(self._toolkit.execute(name, args, ctx))

    def mcp_source(self) -> McpSource | None:
        source = self._toolkit.mcp_source()
        return None if source is None else McpSource(source)

    def mcp_status(self) -> dict[str, McpStatus]:
        return self._toolkit.mcp_status()

    def to_openai(self) -> list[dict[str, Any]]:
        return self._toolkit.to_openai()

    def to_anthropic(self) -> list[dict[str, Any]]:
        return self._toolkit.to_anthropic()

    def to_gemini(self) -> list[dict[str, Any]]:
        return self._toolkit.to_gemini()

    def close(self) -> None:
        _run(self._toolkit.close())

    def __enter__(self) -> Toolkit:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def load_mcp(
    config: Config,
    wait_for: WaitFor | None = None,
    *,
    timeout: float | None = None,
    options: Mapping[str, Any] | None = None,
    on_notice: Notify | None = None,
) -> McpSource:
    """Connects to every server of a config; see toolnexus.load_mcp_with_context."""
    return McpSource(
        _run(_source.load_mcp_with_context(config, wait_for, timeout=timeout, options=options, on_notice=on_notice))
    )


def list_mcp_tools(config: Config, *, timeout: float | None = None, options: Mapping[str, Any] | None = None) -> McpInventory:
    """What the servers of a config offer; see toolnexus.list_mcp_tools."""
    return _run(_source.list_mcp_tools(config, timeout=timeout, options=options))


def create_toolkit(
    mcp_config: Config | None = None,
    extra_tools: Iterable[Tool | _tool.Tool] | None = None,
    builtins: bool | Mapping[str, Any] | None = None,
    wait_for: WaitFor | None = None,
    disable_tools: Iterable[str] | None = None,
    *,
    timeout: float | None = None,
    options: Mapping[str, Any] | None = None,
    on_notice: Notify | None = None,
) -> Toolkit:
    """The tools of a config, and yours; see toolnexus.create_toolkit."""
    created = _toolkit.create_toolkit(
        mcp_config,
        map(_plain, extra_tools or ()),
        builtins,
        wait_for,
        disable_tools,
        timeout=timeout,
        options=options,
        on_notice=on_notice,
    )
    return Toolkit(_run(created))
