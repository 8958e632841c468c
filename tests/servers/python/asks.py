"""A server on the 2.x Python SDK that asks its host and tells what changed, in both eras: `python asks.py [http PORT]`."""

import asyncio
import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

URI = "fixture://hello"
server = MCPServer("asks")


class Name(BaseModel):
    name: str


def ask() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


@server.tool()
async def confirm(answer: Annotated[ElicitationResult[Name], Resolve(ask)]) -> str:
    """Ask for a name, then greet it."""
    if isinstance(answer, AcceptedElicitation):
        return f"hello {answer.data.name}"
    return f"no name: {answer.action}"


@server.tool()
async def slow(duration_ms: int, interval_ms: int, ctx: Context) -> str:
    """Take duration_ms and report progress every interval_ms."""
    for elapsed in range(interval_ms, duration_ms + 1, interval_ms):
        await asyncio.sleep(interval_ms / 1000)
        await ctx.report_progress(elapsed, duration_ms)
    return f"slept {duration_ms} ms"


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool, and tell so."""
    server.add_tool(grown)
    await ctx.notify_tools_changed()
    return "one more"


def grown() -> str:
    """The tool that grow adds."""
    return "grown"


@server.resource(URI, name="hello", mime_type="text/plain")
def hello() -> str:
    return "hello resource"


@server.tool()
async def touch(ctx: Context) -> str:
    """Tell that the resource changed."""
    await ctx.notify_resource_updated(URI)
    return "touched"


if sys.argv[1:2] == ["http"]:
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run()
