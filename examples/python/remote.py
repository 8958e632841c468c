"""A local and a remote server of one config: python examples/python/remote.py

Before: `tiny-server --http` prints a URL, and REMOTE_URL has it.
"""

import asyncio

from toolnexus import ToolContext, load_mcp


async def main() -> None:
    async with await load_mcp("examples/remote.json") as source:
        print(source.status)
        for name in ("progress_echo", "remote_echo"):
            echo = next(tool for tool in source.tools if tool.name == name)
            print(name, "-", (await echo.execute({"text": "hello"})).output)

        slow = next(tool for tool in source.tools if tool.name == "remote_slow")
        result = await slow.execute({"durationMs": 60_000, "intervalMs": 0}, ToolContext(timeout=0.2))
        print(f"{result.code}: {result.output}")


asyncio.run(main())
