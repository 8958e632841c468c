"""A server on the 2.x Python SDK, which speaks both eras: `python v2srv.py [http PORT]`."""

import sys

from mcp.server import MCPServer

server = MCPServer("v2srv")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.resource("fixture://hello", name="hello", description="A fixed text resource.", mime_type="text/plain")
def hello() -> str:
    return "hello resource"


@server.resource("fixture://greet/{name}", name="greet", description="A greeting.", mime_type="text/plain")
def greet(name: str) -> str:
    return f"hello {name}"


@server.prompt()
def review(code: str) -> str:
    """Ask for a review."""
    return f"Please review this code: {code}"


if sys.argv[1:2] == ["http"]:
    server.run("streamable-http", port=int(sys.argv[2]))
else:
    server.run()
