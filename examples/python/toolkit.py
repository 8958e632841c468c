"""Tools of your own beside those of servers, in the form that a model's API wants: python examples/python/toolkit.py"""

import asyncio
import json
from typing import Annotated

from toolnexus import Answer, Request, create_toolkit, define_tool

CONFIG = {"mcpServers": {"progress": {"command": "node", "args": ["examples/mcp-progress-server.mjs"]}}}


@define_tool
async def multiply(a: Annotated[int, "the first factor"], b: int) -> str:
    """Multiplies two numbers."""
    return str(a * b)


async def answer(request: Request) -> Answer:
    """What a server asks of the person. A program without one declines."""
    return Answer.decline()


async def main() -> None:
    async with await create_toolkit(CONFIG, [multiply], builtins=False, wait_for=answer) as toolkit:
        print([tool.name for tool in toolkit.tools()])
        print(json.dumps(toolkit.to_openai()[-1]))
        # What a model asks for: a name, and arguments as text.
        for name, arguments in (("multiply", '{"a": 6, "b": 7}'), ("progress_echo", '{"text": "hi"}'), ("multiply", "{6, 7}")):
            result = await toolkit.execute(name, arguments)
            print(result.is_error, result.output)


asyncio.run(main())
