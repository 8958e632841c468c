"""What servers ask of the host: each request is a task of the loop in which the source was loaded."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import _ffi, _json
from ._hub import Watcher, log
from ._types import Answer, Request, WaitFor

Notify = Callable[[dict[str, Any]], object]

# The kinds of the original API, where they differ.
_KINDS = {"url": "authorization", "oauth": "authorization"}


class Requests(Watcher):
    """The events of one source."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wait_for: WaitFor | None, on_notice: Notify | None) -> None:
        super().__init__(loop)
        self._wait_for, self._on_notice = wait_for, on_notice
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def handle(self, kind: int, status: int, number: int, result: int) -> None:
        loop = self._loop()
        if loop is None:
            return
        if kind == _ffi.REQUEST:
            document = _json.load(_ffi.library().result_json(result, None))
            task = self._tasks[number] = loop.create_task(self._serve(number, document))
            task.add_done_callback(lambda _: self._tasks.pop(number, None))
        elif kind == _ffi.CANCEL:
            unwanted = self._tasks.get(number)
            if unwanted is not None:
                unwanted.cancel()
        elif kind == _ffi.NOTICE and self._on_notice is not None:
            loop.call_soon(self._on_notice, _json.load(_ffi.library().result_json(result, None)))

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        super().close()

    async def _serve(self, number: int, document: dict[str, Any]) -> None:
        answer = {"ok": False, "reason": "cancelled"}
        try:
            answer = _answer(await self._ask(number, document))
        except Exception:
            log.exception("wait_for failed; the request of the server %r is cancelled", document.get("server"))
        refused = _send(number, answer)
        if refused is not None:
            # The question is open still, and nobody will answer it better.
            log.error("the answer of wait_for does not fit, so the request is cancelled: %s", refused)
            _send(number, {"ok": False, "reason": "cancelled"})

    async def _ask(self, number: int, document: dict[str, Any]) -> Any:
        if self._wait_for is None:
            return Answer.decline()
        kind = document.get("kind", "")
        request = Request(
            str(number),
            _KINDS.get(kind, kind),
            document.get("prompt") or "",
            *(document.get(key) for key in ("url", "data", "expiresAt", "server", "tool", "params")),
        )
        if inspect.iscoroutinefunction(self._wait_for):
            return await self._wait_for(request)
        # It may wait for a person, and the loop has other work.
        answer = await asyncio.to_thread(self._wait_for, request)
        return await answer if inspect.isawaitable(answer) else answer


def _answer(given: Any) -> dict[str, Any]:
    if isinstance(given, Answer):
        given = {"ok": given.ok, "data": given.data, "reason": given.reason}
    if not isinstance(given, Mapping):
        raise TypeError(f"wait_for must return an Answer, not {type(given).__name__}")
    return {k: v for k, v in given.items() if k in ("ok", "data", "reason") and v is not None}


def _send(number: int, answer: dict[str, Any]) -> str | None:
    """Why the library refuses the answer, if it does. One that comes too late is nobody's mistake."""
    lib = _ffi.library()
    result = _ffi.Ref(lib.answer(number, _json.dump(answer)))
    status = lib.result_status(result.value)
    if not lib.result_is_error(result.value) or _ffi.code_of(status) == "not_found":
        return None
    return _ffi.output_of(result.value)
