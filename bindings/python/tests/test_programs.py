"""Programs as their readers copy them: the README's, the examples', and those of the original documents."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, python

README = (ROOT / "bindings/python/README.md").read_text()
EXAMPLES = ROOT / "examples/python"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def test_the_readmes_programs_print_what_it_says() -> None:
    programs, outputs = blocks("python"), blocks("text")
    assert len(programs) == len(outputs) >= 2
    for program, output in zip(programs, outputs, strict=True):
        assert python(program).stdout == output


@pytest.mark.parametrize("expected", sorted(EXAMPLES.glob("*.expected")), ids=lambda path: path.stem)
def test_examples(expected: Path) -> None:
    servers = {"TINY_SERVER": os.environ["TOOLNEXUS_TINY"], "REMOTE_URL": os.environ["TOOLNEXUS_REMOTE"]}
    assert python(expected.with_suffix(".py").read_text(), env=servers).stdout == expected.read_text()


def test_every_example_is_tested() -> None:
    assert {p.stem for p in EXAMPLES.glob("*.py")} == {p.stem for p in EXAMPLES.glob("*.expected")}


@pytest.mark.skipif(
    "TOOLNEXUS_ORIGINALS" not in os.environ, reason="TOOLNEXUS_ORIGINALS names no folder with the original documents"
)
def test_the_original_documents_programs_run_unchanged() -> None:
    assert shutil.which("node"), "the programs' server needs Node"
    document = (Path(os.environ["TOOLNEXUS_ORIGINALS"]) / "original-python-resource_tools.txt").read_text()
    programs = re.findall(r"^import asyncio\n.*?^asyncio\.run\(main\(\)\)$", document, re.M | re.S)
    assert [python(program).stdout for program in programs] == [
        "ok: progress fixture://hello — hello (text/plain): A fixed text resource.\n",
        "ok: hello resource\n",
        "ok: both failures came back as error results\n",
    ]
