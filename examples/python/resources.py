"""Lists and reads the resources of a server, as a model would: python examples/python/resources.py"""

import asyncio

from toolnexus import load_mcp

CONFIG = {"mcpServers": {"progress": {"command": "node", "args": ["examples/mcp-progress-server.mjs"]}}}


async def main() -> None:
    async with await load_mcp(CONFIG) as source:
        list_tool, read_tool = source.resource_tools()
        print((await list_tool.execute()).output)
        print((await read_tool.execute({"server": "progress", "uri": "fixture://hello"})).output)
        # Failures are results that a model can read.
        for arguments in ({"server": "nope", "uri": "x"}, {"server": "progress", "uri": "fixture://nope"}):
            result = await read_tool.execute(arguments)
            print(result.code, "-", result.output)


asyncio.run(main())
