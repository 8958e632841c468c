"""What the package takes and gives: plain data, and the exception."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

JSONSchema = dict[str, Any]
McpStatus = Literal["connected", "disabled", "failed", "needs_auth"]
#: A config: a dict, JSON text that starts with `{`, or the path of a file.
Config = str | os.PathLike[str] | Mapping[str, Any]


class ToolnexusError(Exception):
    """Something is wrong with how the library is used, or with a whole config. What one tool or server does wrong is a
    ToolResult or a status instead."""

    def __init__(self, code: str, message: str, data: Any = None) -> None:
        super().__init__(message)
        #: What kind: "argument", "config", "handle", "forked", "closed", "library", ...
        self.code = code
        #: For McpSource.request: the server's error object, when it answered with one.
        self.data = data


@dataclass(frozen=True)
class ToolHints:
    """What a tool says of itself. None: it does not say. They are claims, not facts."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass
class ToolResult:
    """The outcome of a call. Hand `output` to the model whatever `is_error` is."""

    output: str
    is_error: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    #: What is not text: {"type": "image" | "audio" | "file", "mimeType": ..., "data": base64 or "url": ..., "name": ...}
    parts: list[dict[str, Any]] = field(default_factory=list)
    #: The server's structuredContent.
    structured: Any = None
    #: The server's content blocks as they came.
    content: list[Any] = field(default_factory=list)
    #: Where the call itself failed: {"code": "timeout", "message": ..., "phase": ..., "server": ..., "data": ...}
    error: dict[str, Any] | None = None

    @property
    def code(self) -> str | None:
        """Why the call failed, such as "timeout", "closed", "transport" or "server"; None if the tool ran."""
        return None if self.error is None else str(self.error.get("code"))


@dataclass(frozen=True)
class Progress:
    """One progress notification of a call."""

    progress: float
    total: float | None = None
    message: str | None = None
    server: str | None = None


@dataclass
class Request:
    """What a server asks of the person: `input` (a form; its schema is data["schema"]), `authorization` (a `url` to open),
    `sampling`, ... The key expiresAt is spelled as in the other languages."""

    id: str
    kind: str
    prompt: str
    url: str | None = None
    data: dict[str, Any] | None = None
    expiresAt: str | None = None  # noqa: N815
    server: str | None = None
    tool: str | None = None
    params: dict[str, Any] | None = None


@dataclass
class Answer:
    """The answer to a Request: `Answer.accept(data)`, `Answer.decline()` or `Answer.cancel()`.

    Written out, ok accepts, with the `data` that was asked for. Else the reason "declined" declines, and any other cancels. The
    id may repeat the request's; nothing goes by it."""

    id: str
    ok: bool
    data: dict[str, Any] | None = None
    reason: Literal["declined", "cancelled", "expired"] | None = None

    @classmethod
    def accept(cls, data: dict[str, Any] | None = None) -> Answer:
        """Accepts, with what was asked for: of a form the values of its fields."""
        return cls("", True, data)

    @classmethod
    def decline(cls) -> Answer:
        """The person does not want to."""
        return cls("", False, reason="declined")

    @classmethod
    def cancel(cls) -> Answer:
        """Nobody has decided: the window was closed, the time is over."""
        return cls("", False, reason="cancelled")


#: Answers the servers' requests. A plain function runs in a thread of its own, a coroutine function in the event loop.
WaitFor = Callable[[Request], Answer | Awaitable[Answer]]


@dataclass
class ToolContext:
    """How one call is to be made. Every field may be left out."""

    #: Set it to cancel the call: execute raises asyncio.CancelledError. Cancelling the task does the same.
    signal: asyncio.Event | None = None
    #: Seconds of silence the call may have; progress starts them anew.
    timeout: float | None = None
    #: The answer to an earlier request, for tools of the host that ask for one.
    answer: Answer | None = None
    #: Seconds the call may take in all.
    deadline: float | None = None
    #: Called in the event loop for each progress notification, before the call's result.
    progress: Callable[[Progress], object] | None = None


@dataclass
class ToolInfo:
    """A tool as its server lists it, under its original name."""

    name: str
    description: str
    input_schema: JSONSchema


@dataclass
class McpInventory:
    """What the servers of a config offer, filters not applied."""

    tools: dict[str, list[ToolInfo]]
    status: dict[str, McpStatus]


class SkillFile(TypedDict):
    """A file of a skill that is what the skill's entry says. That does not make it safe: the server wrote both."""

    #: The text; of a file that is no text its type and size, and `contents` has it in base64.
    output: str
    #: {"server": ..., "skill": the uri of SKILL.md, "uri": the file's}
    metadata: dict[str, Any]
    #: The file as the server sent it: one element, with `text` or `blob`.
    contents: list[dict[str, Any]]
    #: The entry that it was checked against. Read the skill's other files with it.
    skill: dict[str, Any]


def milliseconds(seconds: float, what: str) -> int:
    value = math.ceil(seconds * 1000) if math.isfinite(seconds) else 0
    if not 0 < value < 1 << 32:
        raise ValueError(f"{what} must be a number of seconds above 0 and below 4294967, not {seconds}")
    return value
