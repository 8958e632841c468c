"""Progress, time-outs and cancellation: python examples/python/calls.py"""

import asyncio

from toolnexus import Progress, ToolContext, load_mcp

CONFIG = {"mcpServers": {"progress": {"command": "node", "args": ["examples/mcp-progress-server.mjs"]}}}


async def main() -> None:
    async with await load_mcp(CONFIG) as source:
        slow = next(tool for tool in source.tools if tool.name == "progress_slow")

        seen: list[Progress] = []
        result = await slow.execute({"durationMs": 300, "intervalMs": 50}, ToolContext(progress=seen.append))
        print(f"{result.output}, told of it: {len(seen) > 0}")

        # Progress keeps a call alive; silence ends it.
        result = await slow.execute({"durationMs": 60_000, "intervalMs": 0}, ToolContext(timeout=0.2))
        print(f"{result.code}: {result.output}")

        # Cancelling the task, here by a time limit, cancels the call, and the server is told.
        try:
            await asyncio.wait_for(slow.execute({"durationMs": 60_000}), 0.2)
        except asyncio.TimeoutError:
            print("cancelled")


asyncio.run(main())
