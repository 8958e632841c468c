"""Tools from plain functions."""

from __future__ import annotations

import asyncio
import enum
import functools
import inspect
import json
import types
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, overload

from ._tool import Execute, Tool, ToolSource
from ._types import JSONSchema, ToolContext, ToolHints, ToolResult

_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_CONTEXT = ("ctx", "context")


@overload
def define_tool(
    fn: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: JSONSchema | None = None,
    source: ToolSource = "native",
    hints: ToolHints | None = None,
) -> Tool: ...


@overload
def define_tool(
    fn: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: JSONSchema | None = None,
    source: ToolSource = "native",
    hints: ToolHints | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def define_tool(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: JSONSchema | None = None,
    source: ToolSource = "native",
    hints: ToolHints | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a tool of a function; also a decorator, with or without arguments.

    The schema comes from the type hints (describe a parameter with Annotated[int, "what it is"]), the description from the
    docstring's first line. A parameter named ctx or context gets the call's ToolContext.

    A coroutine function runs in the event loop, a plain one in a thread. A str is the output, a ToolResult the result, and
    anything else becomes JSON. An exception is a result with is_error and its message.
    """
    if fn is None:
        return functools.partial(
            define_tool, name=name, description=description, input_schema=input_schema, source=source, hints=hints
        )
    return Tool(
        name or fn.__name__,
        (inspect.getdoc(fn) or "").strip().split("\n")[0].strip() if description is None else description,
        schema_of(fn) if input_schema is None else input_schema,
        source,
        _executor(fn),
        hints=hints,
    )


def _executor(fn: Callable[..., Any]) -> Execute:
    takes = next((p for p in inspect.signature(fn).parameters if p in _CONTEXT), None)
    in_loop = inspect.iscoroutinefunction(fn)

    async def execute(args: dict[str, Any], ctx: ToolContext | None = None) -> ToolResult:
        if takes is not None:
            args = {**args, takes: ctx}
        value = fn(**args) if in_loop else await asyncio.to_thread(fn, **args)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, ToolResult):
            return value
        return ToolResult(value if isinstance(value, str) else "" if value is None else json.dumps(value))

    return execute


def schema_of(fn: Callable[..., Any]) -> JSONSchema:
    """The JSON schema of a function's parameters."""
    try:
        hints = get_type_hints(fn, include_extras=True)
    except Exception:  # names that are nowhere: a parameter without a type is better than no tool
        hints = {}
    properties: JSONSchema = {}
    required = []
    for name, parameter in inspect.signature(fn).parameters.items():
        if name in _CONTEXT or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        properties[name] = _schema(hints.get(name, Any))
        if parameter.default is parameter.empty:
            required.append(name)
    schema: JSONSchema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return schema


def _schema(hint: Any) -> JSONSchema:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        texts = [x for x in inner[1:] if isinstance(x, str)]
        return _schema(inner[0]) | ({"description": texts[0]} if texts else {})
    if origin in (Union, types.UnionType):
        # Leaving the parameter out says None.
        kinds = [_schema(x) for x in inner if x is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if origin is Literal:
        return {"enum": list(inner)}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    plain = origin or hint
    if isinstance(plain, type):
        if issubclass(plain, enum.Enum):
            return {"enum": [x.value for x in plain]}
        if issubclass(plain, Mapping):
            return {"type": "object"}
        if issubclass(plain, (Sequence, Set)):
            items = _schema(inner[0]) if inner else {}
            return {"type": "array", "items": items} if items else {"type": "array"}
    return {}
