"""JSON to and from the library."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ._types import Config

# ASCII, so that half a surrogate pair gets through as the escape that it is.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
# The library's documents have no blanks around them, so what json.loads does besides is not needed.
_decode = json.JSONDecoder().raw_decode


def dump(value: Any) -> bytes:
    """Raises TypeError or ValueError for what JSON cannot say."""
    return _encode(value).encode()


def _number(digits: str) -> Any:
    try:
        return int(digits)
    except ValueError:
        return float(digits)  # more digits than Python reads as an int


def load(document: bytes) -> Any:
    """Raises RecursionError for JSON that is nested deeper than Python reads."""
    text = document.decode()
    try:
        return _decode(text)[0]
    except ValueError:
        return json.loads(text, parse_int=_number)


def arguments(value: Any) -> bytes | None:
    """A tool's arguments: a dict, or the JSON text that a model wrote, which the library checks."""
    if type(value) is dict:
        return dump(value)
    if value is None:
        return None
    if isinstance(value, str):
        # As wrong in JSON, and not the end of a C string.
        return value.replace("\0", "\x01").encode()
    if isinstance(value, Mapping):
        return dump(dict(value))
    raise TypeError(f"a tool's arguments must be a dict, or JSON text, not {type(value).__name__}")


def config(value: Config) -> Any:
    """A config as JSON has it: an object, or the text or path."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise TypeError(f"a config must be a dict, JSON text or a path, not {type(value).__name__}")
