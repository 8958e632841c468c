"""Puts the shared library into the wheel and names the platform that it is for."""

import os
import platform
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[2]


class LibraryHook(BuildHookInterface[Any]):
    """TOOLNEXUS_LIBRARY names the library; `make dist-python` sets it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        library = os.environ.get("TOOLNEXUS_LIBRARY")
        if not library:
            raise RuntimeError("TOOLNEXUS_LIBRARY must name the shared library to put into the wheel; use `make dist-python`")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_of(Path(library).read_bytes())}"
        build_data["force_include"][str(Path(library).resolve())] = "toolnexus/_lib/libtoolnexus.so.0"
        for notice in ("LICENSE", "THIRD-PARTY"):
            build_data["force_include"][str(ROOT / notice)] = f"toolnexus/_lib/{notice}"


def platform_of(library: bytes) -> str:
    """The oldest glibc that has all that the library asks for, as wheels name it; plain linux for another libc."""
    wanted = [int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", library)]
    return f"manylinux_2_{max(wanted)}_{platform.machine()}" if wanted else f"linux_{platform.machine()}"
