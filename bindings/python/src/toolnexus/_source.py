"""The servers of a config: load_mcp and what it gives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from . import _ffi, _json
from ._hub import run
from ._requests import Notify, Requests
from ._tool import Tool, ToolList
from ._types import Config, McpInventory, McpStatus, SkillFile, ToolContext, ToolInfo, ToolnexusError, WaitFor

T = TypeVar("T")


def document(result: int, status: int) -> Any:
    """What a call gives that is no tool's. Raises if it failed."""
    read = _ffi.library().result_json(result, None)
    if status:
        raise _ffi.failure(result, (_json.load(read).get("error") or {}).get("data") if read else None)
    return _json.load(read)


def load_context(cancel: asyncio.Event | None, timeout: float | None) -> ToolContext | None:
    return None if cancel is None and timeout is None else ToolContext(signal=cancel, deadline=timeout)


async def load(
    submit: Callable[..., int],
    arguments: Callable[[Mapping[str, Any]], tuple[bytes | None, ...]],
    options: Mapping[str, Any] | None,
    wait_for: WaitFor | None,
    on_notice: Notify | None,
    context: ToolContext | None,
    take: Callable[[int], int | None],
) -> tuple[_ffi.Ref, Requests | None]:
    """Begins a load whose servers may ask this loop. What nobody answers is not announced to them."""
    chosen = dict(options or {})
    if wait_for is None and on_notice is not None:
        chosen |= {"elicitation": False, "sampling": False}
    events = None
    if wait_for is not None or on_notice is not None:
        events = Requests(asyncio.get_running_loop(), wait_for, on_notice)

    def read(result: int, status: int) -> _ffi.Ref:
        document(result, status)
        return _ffi.Ref(take(result))

    try:
        return await run(submit, (*arguments(chosen), events and events.queue.value), read, context), events
    except BaseException:
        if events is not None:
            events.close()
        raise


async def load_mcp(
    config: Config,
    wait_for: WaitFor | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    on_notice: Notify | None = None,
) -> McpSource:
    """Connects to every server of a config, all at once. A server that fails is in the source's `status`; a config that
    cannot be read raises ToolnexusError.

    config: a dict, JSON text that starts with `{`, or the path of an mcp.json.
    wait_for: answers what servers ask of the person. Without it servers are told that nobody is there to ask.
    options: as in the library's document of load options, such as {"inputs": {"ID": "value"}, "inheritEnv": True}.
    on_notice: called in the event loop with what servers announce: changed tools, their log, their state.
    """
    return await load_mcp_with_context(config, wait_for, options=options, on_notice=on_notice)


async def load_mcp_with_context(
    config: Config,
    wait_for: WaitFor | None = None,
    *,
    cancel: asyncio.Event | None = None,
    timeout: float | None = None,
    options: Mapping[str, Any] | None = None,
    on_notice: Notify | None = None,
) -> McpSource:
    """load_mcp that ends as a whole, with all that it started: when `cancel` is set it raises asyncio.CancelledError, and
    after `timeout` seconds ToolnexusError."""
    lib = _ffi.library()
    given = _config(config)

    def arguments(chosen: Mapping[str, Any]) -> tuple[bytes | None, ...]:
        return given, _json.dump(chosen) if chosen else None

    context = load_context(cancel, timeout)
    ref, events = await load(lib.mcp_load_submit, arguments, options, wait_for, on_notice, context, lib.result_take_mcp)
    return McpSource(ref, events)


def _config(config: Config) -> bytes:
    given = _json.config(config)
    return _json.dump(given) if isinstance(given, dict) else _ffi.text(given, "the config")


class McpSource:
    """The connected servers of one config. `async with`, or `await close()`; a source that is dropped closes itself."""

    def __init__(self, ref: _ffi.Ref, events: Requests | None = None) -> None:
        self._ref = ref
        self._events = events
        self._list, self._resource_list = ToolList(), ToolList()

    def __del__(self) -> None:
        if getattr(self, "_events", None) is not None and self._events is not None:
            self._events.close_soon()

    @property
    def tools(self) -> list[Tool]:
        """Every server's tools as of now. After the close the last ones, whose calls are results that say so."""
        return self._list.read(_ffi.library().mcp_tools(self._ref.value))

    def resource_tools(self) -> list[Tool]:
        """[list_mcp_resources, read_mcp_resource] over the connected servers: read-only, and registered nowhere but by
        you."""
        return self._resource_list.read(_ffi.library().resource_tools(self._ref.value))

    @property
    def servers(self) -> dict[str, dict[str, Any]]:
        """What is known of each server now: status, and where it failed the phase, the reason and the end of its stderr."""
        return dict(self._report()["servers"])

    @property
    def status(self) -> dict[str, McpStatus]:
        """Each server's status now."""
        return {name: server["status"] for name, server in self._report()["servers"].items()}

    @property
    def warnings(self) -> list[str]:
        """What is odd in the config and in what the servers said."""
        return list(self._report()["warnings"])

    def _report(self) -> dict[str, Any]:
        lib = _ffi.library()
        result = _ffi.Ref(lib.mcp_status(self._ref.value))
        return dict(document(result.value, lib.result_status(result.value)))

    async def request(
        self, server: str, method: str, params: Mapping[str, Any] | None = None, ctx: ToolContext | None = None
    ) -> Any:
        """Any request to one server, such as "prompts/get", and its reply. Raises ToolnexusError; `data` of that is the
        server's error object when it answered with one."""
        arguments = (
            self._ref.value,
            _ffi.text(server, "server"),
            _ffi.text(method, "method"),
            None if params is None else _json.dump(dict(params)),
        )
        return await run(_ffi.library().mcp_request_submit, arguments, document, ctx)

    async def read_skill(
        self, server: str, skill: str | Mapping[str, Any], uri: str | None = None, ctx: ToolContext | None = None
    ) -> SkillFile:
        """One file of a skill, if it is what the skill's entry says: its size, its digest, and in SKILL.md the frontmatter.
        `skill` is the entry, as `request(server, "skills/list")` has it, or the uri of SKILL.md, and then the server is asked
        for the entry. `uri` is the file; without it SKILL.md. Raises ToolnexusError; its code is "protocol" for what does
        not verify, and nothing of that is handed out."""
        arguments = (
            self._ref.value,
            _ffi.text(server, "server"),
            _ffi.text(skill, "skill") if isinstance(skill, str) else _json.dump(dict(skill)),
            None if uri is None else _ffi.text(uri, "uri"),
        )
        return cast(SkillFile, await run(_ffi.library().mcp_skill_read_submit, arguments, document, ctx))

    async def restart(self, server: str | None = None) -> None:
        """Ends a server, or all of them, and starts it again."""
        name = None if server is None else _ffi.text(server, "server")
        await run(_ffi.library().mcp_restart_submit, (self._ref.value, name), document)

    async def close(self) -> None:
        """Ends every server, and returns when nothing of the source runs. Calls under way give results that say so. Again:
        no effect."""
        try:
            await run(_ffi.library().mcp_close_submit, (self._ref.value,), document)
        finally:
            if self._events is not None:
                self._events.close_soon()

    async def __aenter__(self) -> McpSource:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


async def list_mcp_tools(
    config: Config,
    *,
    cancel: asyncio.Event | None = None,
    timeout: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> McpInventory:
    """What the servers of a config offer, under their own names and with no filter applied. Keeps nothing open."""
    arguments = (_config(config), _json.dump(dict(options)) if options else None)
    found = await run(_ffi.library().mcp_inventory_submit, arguments, document, load_context(cancel, timeout))
    return McpInventory(
        {
            server: [ToolInfo(t["name"], t.get("description") or "", t["inputSchema"]) for t in tools]
            for server, tools in found["tools"].items()
        },
        found["status"],
    )


def parse_mcp_config(config: Config, *, options: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """The servers of a config, normalised and with their env and headers, without starting anything. Raises ToolnexusError if
    the text cannot be read, and for the first server that is wrong; use check_mcp_config to see all that is."""
    found = _parse(config, {**(options or {}), "secrets": True})
    for name, problem in found["failed"].items():
        raise ToolnexusError("config", f"{problem['path']}: {problem['reason']}", {"server": name})
    return dict(found["servers"])


def check_mcp_config(config: Config, *, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """{"servers": {...}, "failed": {name: {"path", "reason"}}, "warnings": [...]}, secrets masked; starts nothing."""
    return _parse(config, dict(options or {}))


def _parse(config: Config, options: dict[str, Any]) -> dict[str, Any]:
    lib = _ffi.library()
    result = _ffi.Ref(lib.config_parse(_config(config), _json.dump(options) if options else None))
    return dict(document(result.value, lib.result_status(result.value)))
