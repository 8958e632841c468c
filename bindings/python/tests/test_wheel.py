"""The wheel: built as `make dist-python` does, installed where nothing else is."""

from __future__ import annotations

import os
import subprocess
import venv
import zipfile
from pathlib import Path
from typing import Any

from conftest import ROOT


def test_wheel(tmp_path: Path, tiny: dict[str, Any]) -> None:
    env = {**os.environ, "TOOLNEXUS_DIST": str(tmp_path)}
    subprocess.run([ROOT / "tools/dist-python"], env=env, check=True, timeout=300, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("toolnexus-0.1.0-py3-none-")
    assert "linux" in wheel.name
    with zipfile.ZipFile(wheel) as files:
        assert {"toolnexus/py.typed", "toolnexus/_lib/LICENSE", "toolnexus/_lib/THIRD-PARTY"} <= set(files.namelist())

    venv.create(tmp_path / "clean", with_pip=True)
    clean = str(tmp_path / "clean/bin/python")
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("TOOLNEXUS", "PYTHON"))}
    install = [clean, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", str(wheel)]
    subprocess.run(install, env=bare, check=True, timeout=300)
    code = f"""
import toolnexus, toolnexus._ffi
from toolnexus.sync import load_mcp
with load_mcp({tiny!r}) as source:
    print(source.tools[0].execute({{"text": "from the wheel"}}).output)
    assert toolnexus._ffi.library().path.endswith("/toolnexus/_lib/libtoolnexus.so.0")
"""
    done = subprocess.run([clean, "-c", code], env=bare, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("from the wheel\n", "", 0)
