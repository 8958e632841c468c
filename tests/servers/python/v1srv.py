"""A server on the last 1.x Python SDK, which knows `initialize` only: `python v1srv.py [http PORT]`."""

import sys

from mcp.server.fastmcp import FastMCP

http = sys.argv[1:2] == ["http"]
server = FastMCP("v1srv", port=int(sys.argv[2]) if http else 8000)


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


server.run("streamable-http" if http else "stdio")
