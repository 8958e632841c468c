"""An mcp.json becomes tools that an agent can call. See the README, and `toolnexus.sync` for programs without asyncio."""

from __future__ import annotations

from . import _ffi, _hub, _tool
from ._ffi import use_library
from ._native import define_tool
from ._source import (
    McpSource,
    check_mcp_config,
    list_mcp_tools,
    load_mcp,
    load_mcp_with_context,
    parse_mcp_config,
)
from ._tool import Tool, to_anthropic, to_gemini, to_openai
from ._toolkit import Toolkit, create_toolkit
from ._types import (
    Answer,
    McpInventory,
    Progress,
    Request,
    SkillFile,
    ToolContext,
    ToolHints,
    ToolInfo,
    ToolnexusError,
    ToolResult,
)

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "McpInventory",
    "McpSource",
    "Progress",
    "Request",
    "SkillFile",
    "Tool",
    "ToolContext",
    "ToolHints",
    "ToolInfo",
    "ToolResult",
    "Toolkit",
    "ToolnexusError",
    "check_mcp_config",
    "create_toolkit",
    "define_tool",
    "library_version",
    "list_mcp_tools",
    "load_mcp",
    "load_mcp_with_context",
    "parse_mcp_config",
    "shutdown",
    "to_anthropic",
    "to_gemini",
    "to_openai",
    "use_library",
]


def library_version() -> str:
    """The version of the C library in use."""
    return str(_ffi.library().version().decode())


def shutdown(timeout: float = 10) -> dict[str, int]:
    """For tests and the end of a program: ends every source and the library's threads. Blocks. Gives how many references
    of each kind are still held; {} when nothing leaked. Call it when no event loop that used the package is open."""
    from . import sync
    from ._json import load

    sync.stop()
    if _hub.open_loops():
        raise ToolnexusError("argument", "toolnexus: an event loop that uses the library is open; close it before shutdown")
    _tool.release_calls()
    lib = _ffi.library()
    result = _ffi.Ref(lib.shutdown(int(timeout * 1000)))
    if lib.result_is_error(result.value):
        raise _ffi.failure(result.value)
    return dict(load(lib.result_json(result.value, None))["live"])
