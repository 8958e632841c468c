"""A server on the 2.x Python SDK that asks its host and tells what changed, in both eras: `python asks.py`."""

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


server.run()
