"""What the interpreter around the library does: loops, threads, forks, its end; and where the library is found."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, hostile_config, odd, python

import toolnexus
from toolnexus import _ffi, _hub

HEAD = """
import asyncio, logging, os, sys, threading
import toolnexus, toolnexus.sync
logging.getLogger("asyncio").setLevel("ERROR")  # debug mode warns of slow callbacks, which a busy machine makes
TINY, HOSTILE = os.environ["TOOLNEXUS_TINY"], os.environ["TOOLNEXUS_HOSTILE"]
CONFIG = {"mcpServers": {"progress": {"command": [TINY]}}}
NEVER = {"mcpServers": {"x": {"command": [HOSTILE, "never-answers"]}}}
async def work():
    async with await toolnexus.load_mcp(CONFIG) as source:
        results = await asyncio.gather(*(source.tools[0].execute({"text": str(i)}) for i in range(200)))
        assert [r.output for r in results] == [str(i) for i in range(200)]
async def received(source):
    tools = {t.name: t for t in source.tools}
    while '"odd"' not in (await tools["x_received"].execute()).output:
        pass
"""


def run(code: str, **more: Any) -> str:
    done = python(HEAD + code, **more)
    assert done.stderr == ""
    return done.stdout


def test_debug_mode_and_several_loops() -> None:
    run("for _ in range(3): asyncio.run(work(), debug=True)\nassert threading.active_count() == 1")


def test_uvloop() -> None:
    run("import uvloop\nfor debug in (False, False, True): uvloop.run(work(), debug=debug)\nassert toolnexus.shutdown() == {}")


def test_loops_in_threads() -> None:
    run("""
threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert toolnexus.shutdown() == {}
""")


def test_loops_that_ended_give_everything_back() -> None:
    async def leave() -> None:
        source = await toolnexus.load_mcp(hostile_config("never-answers"))
        call = asyncio.ensure_future(odd(source).execute())
        assert not call.done()

    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    asyncio.run(leave())
    gc.collect()
    assert toolnexus.shutdown() == {}
    before = descriptors()
    for _ in range(5):
        asyncio.run(leave())
    gc.collect()
    assert toolnexus.shutdown() == {}
    assert descriptors() <= before
    assert _hub.open_loops() == 0


def test_no_thread_a_call(tiny: dict[str, Any]) -> None:
    async def many() -> None:
        async with await toolnexus.load_mcp(tiny) as source:
            await source.tools[0].execute({"text": "a"})
            before = len(os.listdir("/proc/self/task"))
            calls = [asyncio.ensure_future(source.tools[1].execute({"durationMs": 300, "intervalMs": 0})) for _ in range(500)]
            await source.tools[0].execute({"text": "a"})
            assert len(os.listdir("/proc/self/task")) == before
            assert not any(r.is_error for r in await asyncio.gather(*calls))
            assert threading.active_count() == 1

    asyncio.run(many())


ENDS = {
    "return": "",
    "sys.exit": "sys.exit(0)",
    "exception": "raise SystemExit(0)",
    "without closing": "global kept; kept = (source, call)",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_clean_end_with_calls_in_flight(end: str) -> None:
    out = run(f"""
async def main():
    source = await toolnexus.load_mcp(NEVER)
    tools = {{t.name: t for t in source.tools}}
    call = [asyncio.ensure_future(tools["x_odd"].execute()) for _ in range(50)]
    await received(source)
    print((await tools["x_process"].execute()).output, flush=True)
    {end}
asyncio.run(main())
""")
    assert_gone(out)


def test_clean_end_of_the_synchronous_facade() -> None:
    out = run("""
source = toolnexus.sync.load_mcp(NEVER)
tools = {t.name: t for t in source.tools}
def call():
    try:
        tools["x_odd"].execute()
    except BaseException:
        pass
threading.Thread(target=call, daemon=True).start()
while '"odd"' not in tools["x_received"].execute().output:
    pass
print(tools["x_process"].execute().output, flush=True)
""")
    assert_gone(out)


def assert_gone(out: str) -> None:
    """No process of the server is left."""
    found = re.search(r"\d+", out)
    assert found, out
    pid = int(found[0])
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.005)
    pytest.fail(f"the server {pid} is still there")


def test_fork() -> None:
    out = run("""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: fork beside threads
asyncio.run(work())
source = toolnexus.sync.load_mcp(CONFIG)
tool = source.tools[0]
pid = os.fork()
if pid == 0:
    for misuse in (lambda: asyncio.run(work()), lambda: tool.execute({}), lambda: source.tools, lambda: source.status,
                   lambda: toolnexus.sync.load_mcp(CONFIG), lambda: toolnexus.parse_mcp_config(CONFIG), source.close):
        try:
            misuse()
        except toolnexus.ToolnexusError as e:
            assert e.code == "forked" and "spawn" in str(e), e
        else:
            os._exit(1)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert tool.execute({"text": "the parent goes on"}).output == "the parent goes on"
source.close()
print("ok")
""")
    assert out == "ok\n"


@pytest.mark.parametrize(("method", "expected"), [("fork", "forked"), ("spawn", "ok")])
def test_multiprocessing(method: str, expected: str, tmp_path: Path) -> None:
    program = tmp_path / "main.py"
    program.write_text(
        HEAD
        + """
import multiprocessing, warnings
warnings.simplefilter("ignore", DeprecationWarning)
def child(answers):
    try:
        asyncio.run(work())
        answers.put("ok")
    except toolnexus.ToolnexusError as e:
        answers.put(e.code)
if __name__ == "__main__":
    asyncio.run(work())
    kind = multiprocessing.get_context(sys.argv[1])
    answers = kind.SimpleQueue()
    process = kind.Process(target=child, args=(answers,))
    process.start()
    print(answers.get())
    process.join()
    assert process.exitcode == 0
"""
    )
    # Spawn imports the main module from its file.
    done = subprocess.run(
        [sys.executable, "-X", "dev", str(program), method], capture_output=True, text=True, timeout=180, check=True
    )
    assert done.stdout == f"{expected}\n"


def test_abi_version_is_the_headers() -> None:
    header = (ROOT / "include/toolnexus.h").read_text()
    found = re.search(r"#define TN_ABI_VERSION (\d+)", header)
    assert found
    assert int(found[1]) == _ffi.ABI_VERSION
    declared = set(re.findall(r"\b(tn_[a-z_]+)\(", header))
    assert {*_ffi._FUNCTIONS, *_ffi._SLOW} <= declared
    assert toolnexus.library_version()


STUB = "unsigned tn_abi_version(void) {{ return {}u; }}"


@pytest.mark.parametrize(
    ("version", "shown"),
    [((_ffi.ABI_VERSION >> 16) + 1 << 16, "1.0"), (_ffi.ABI_VERSION - 1, "0.0"), (None, "undefined symbol")],
)
def test_a_library_of_another_version(version: int | None, shown: str, tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    source = "int other;" if version is None else STUB.format(version)
    subprocess.run(["cc", "-shared", "-x", "c", "-", "-o", str(library)], input=source, text=True, check=True)
    out = run(
        """
try:
    toolnexus.library_version()
except toolnexus.ToolnexusError as e:
    print(e.code, e)
""",
        env={"TOOLNEXUS_LIBRARY": str(library)},
    )
    assert out.startswith("library toolnexus: ")
    assert str(library) in out
    assert shown in out
    assert version is None or f"needs {_ffi._show(_ffi.ABI_VERSION)}" in out
    assert out.count("\n") == 1


def test_where_the_library_is_found() -> None:
    out = run(
        """
path = sys.argv[1]
for wrong in ("/no/such/file.so", ""):
    os.environ["TOOLNEXUS_LIBRARY"] = wrong
    if wrong:
        try:
            toolnexus.library_version()
        except toolnexus.ToolnexusError as e:
            assert wrong in str(e)
toolnexus.use_library(path)  # counts more than the variable
print(toolnexus.library_version())
toolnexus.use_library(path)
try:
    toolnexus.use_library("/no/such/file.so")
except toolnexus.ToolnexusError as e:
    assert path in str(e)
""".replace("sys.argv[1]", repr(_ffi.library().path))
    )
    assert out.strip() == toolnexus.library_version()
