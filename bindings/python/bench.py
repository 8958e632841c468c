"""What a call costs through this package and through the official SDK; `bench` runs it.

bench.py SERVER ROUNDS             the table
bench.py SERVER toolnexus|mcp ROW  one measurement, in a process of its own
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

WIDTH, SERVERS, TOOLS = 64, 32, "10"
ARGUMENTS = {"size": 100}
CALLS = {"toolnexus": 20_000, "mcp": 3_000}


# As tools/bench: before what else the machine does where that is allowed, and calls with their server on one core.
REAL_TIME = ["chrt", "-f", "1"] if shutil.which("chrt") else []
if REAL_TIME and subprocess.run([*REAL_TIME, "true"], capture_output=True, check=False).returncode:
    REAL_TIME = []
ONE_CORE = ["taskset", "-c", str((os.cpu_count() or 1) - 1)] if shutil.which("taskset") else []


async def flight(call: Callable[[], Awaitable[Any]], count: int) -> list[float]:
    """WIDTH calls in flight: as one ends the next begins. Calls a second, the loop's thread's CPU in us a call, new threads."""
    left = count

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await call()

    await asyncio.gather(*(worker() for _ in range(WIDTH)))  # warm up
    left = count
    threads, began, cpu = len(os.listdir("/proc/self/task")), time.perf_counter(), time.thread_time()
    await asyncio.gather(*(worker() for _ in range(WIDTH)))
    took, cpu = time.perf_counter() - began, time.thread_time() - cpu
    return [count / took, cpu / count * 1e6, len(os.listdir("/proc/self/task")) - threads]


async def sequence(call: Callable[[], Awaitable[Any]], count: int) -> list[float]:
    """One call after the other: the median, in us."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        await call()
        took.append((time.perf_counter() - began) * 1e6)
    return [statistics.median(took)]


ROWS = {"flight": flight, "sequence": sequence}


async def ours(server: str, row: str) -> list[float]:
    import toolnexus

    count = SERVERS if row == "load" else 1
    config = {"mcpServers": {f"s{i}": {"command": server, "args": [TOOLS]} for i in range(count)}}
    began = time.perf_counter()
    async with await toolnexus.load_mcp(config) as source:
        tools = source.tools
        took = time.perf_counter() - began
        assert len(tools) == count * int(TOOLS), source.servers
        if row == "load":
            return [took * 1e3]
        tool = tools[0]
        result = await tool.execute(ARGUMENTS)
        assert len(result.output) == 100, result.output
        return await ROWS[row](lambda: tool.execute(ARGUMENTS), CALLS["toolnexus"])


async def sdk(server: str, row: str) -> list[float]:
    from mcp import Client, StdioServerParameters

    parameters = StdioServerParameters(command=server, args=[TOOLS])
    if row == "load":
        listed = 0
        done, close = asyncio.Event(), asyncio.Event()

        async def one() -> None:
            nonlocal listed
            async with Client(parameters) as client:
                tools = (await client.list_tools()).tools
                listed += len(tools)
                if listed == SERVERS * int(TOOLS):
                    done.set()
                await close.wait()

        began = time.perf_counter()
        tasks = [asyncio.create_task(one()) for _ in range(SERVERS)]
        await done.wait()
        took = time.perf_counter() - began
        close.set()
        await asyncio.gather(*tasks)
        return [took * 1e3]
    async with Client(parameters) as client:
        name = (await client.list_tools()).tools[0].name
        result = await client.call_tool(name, ARGUMENTS)
        assert len(result.content[0].text) == 100, result
        return await ROWS[row](lambda: client.call_tool(name, ARGUMENTS), CALLS["mcp"])


def measure(server: str, who: str, row: str) -> list[float]:
    program = [*REAL_TIME, *([] if row == "load" else ONE_CORE), sys.executable, __file__, server, who, row]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        sys.exit(f"{who} {row} failed: {done.stderr}")
    return [float(x) for x in done.stdout.split()]


def table(server: str, rounds: int) -> None:
    found: dict[tuple[str, str], list[list[float]]] = {}
    for _ in range(rounds):
        for row in ("flight", "sequence", "load"):
            for who in ("mcp", "toolnexus"):
                found.setdefault((who, row), []).append(measure(server, who, row))

    def median(who: str, row: str, column: int = 0) -> float:
        return statistics.median(figures[column] for figures in found[who, row])

    print(f"{'':<38}{'mcp':>10}{'toolnexus':>12}{'ratio':>8}  target")

    def line(title: str, row: str, column: int, target: str, met: Callable[[float, float], bool]) -> None:
        theirs, mine = median("mcp", row, column), median("toolnexus", row, column)
        ratio = f"{mine / theirs:.2f}" if theirs else "-"
        print(f"{title:<38}{theirs:>10.1f}{mine:>12.1f}{ratio:>8}  {target}: {'yes' if met(theirs, mine) else 'NO'}")

    line(f"{WIDTH} calls in flight, calls/s", "flight", 0, ">= 8 x mcp", lambda a, b: b >= 8 * a)
    line("  of the loop's thread, us CPU a call", "flight", 1, "< 10", lambda a, b: b < 10)
    line("  threads that it adds", "flight", 2, "0", lambda a, b: b == 0)
    line("one call after the other, us", "sequence", 0, "< mcp", lambda a, b: b < a)
    line(f"load of {SERVERS} servers, ms", "load", 0, "<= 1/2 of mcp", lambda a, b: b <= a / 2)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(*asyncio.run({"toolnexus": ours, "mcp": sdk}[sys.argv[2]](sys.argv[1], sys.argv[3])))
    else:
        table(sys.argv[1], int(sys.argv[2]))
