"""A server on the fastmcp 4 framework, which speaks both eras: `python fm.py [http PORT]`."""

import sys

from fastmcp import FastMCP

server = FastMCP("fm")


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
    server.run("http", port=int(sys.argv[2]))
else:
    server.run()
