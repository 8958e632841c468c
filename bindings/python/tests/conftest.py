"""What the tests share: the fixture servers, whose programs are named by TOOLNEXUS_TINY and TOOLNEXUS_HOSTILE."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs coroutine functions in a loop in debug mode, with an end to their patience."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), 180), debug=True)
    return True


def pytest_unconfigure(config: pytest.Config) -> None:
    """The closing line that all bindings have, and what was skipped."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    count = {kind: len(reporter.stats.get(kind, [])) for kind in ("passed", "failed", "error", "skipped")}
    for skipped in reporter.stats.get("skipped", []):
        print(f"SKIPPED: {skipped.nodeid}: {skipped.longrepr[2].removeprefix('Skipped: ')}")
    skips = f", {count['skipped']} skipped" if count["skipped"] else ""
    print(f"{count['passed']} passed, {count['failed'] + count['error']} failed{skips}")


def program(variable: str) -> str:
    path = os.environ.get(variable)
    if not path:
        pytest.exit(f"{variable} must name the example server; bindings/python/test says how", 2)
    return path


@pytest.fixture
def tiny() -> dict[str, Any]:
    return {"mcpServers": {"progress": {"command": [program("TOOLNEXUS_TINY")]}}}


def hostile_config(*arguments: str, **more: Any) -> dict[str, Any]:
    return {"mcpServers": {"x": {"command": [program("TOOLNEXUS_HOSTILE"), *arguments], **more}}}


def odd(source: Any) -> Any:
    """The tool of the hostile server that does what the server is named for."""
    return next(t for t in source.tools if t.name == "x_odd")


def python(code: str, *arguments: str, env: dict[str, str] | None = None, rc: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a program in an interpreter of its own, where every warning is an error."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == rc, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done
