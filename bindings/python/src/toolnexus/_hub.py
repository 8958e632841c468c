"""The library's queues in event loops.

Each loop has one queue, in which the calls that were begun in it complete. The loop watches the queue's socket: no thread is
needed, and none of the library's ever runs Python.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
import logging
import os
import struct
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from . import _ffi, _json
from ._types import Progress, ToolContext, ToolnexusError, milliseconds

T = TypeVar("T")
log = logging.getLogger("toolnexus")

# tn_event: kind, status, id, result.
_EVENT = struct.Struct("=iiQQ")
_CAPACITY = 256


def _end(fd: int, queue: _ffi.Ref) -> None:
    os.close(fd)
    queue.release()


class Watcher:
    """A queue that an event loop reads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        lib = _ffi.library()
        self.queue = _ffi.Ref(lib.queue_new())
        fd = lib.queue_fd(self.queue.value)
        if fd < 0:
            raise ToolnexusError("internal", "toolnexus: there is no socket for the queue: no file descriptors are left")
        self._fd = fd
        # Not the loop itself: the hub of a loop must not keep it alive.
        self._loop = weakref.ref(loop)
        self._release = weakref.finalize(self, _end, fd, self.queue)
        self._release.atexit = False
        self._events = ctypes.create_string_buffer(_EVENT.size * _CAPACITY)
        self._view = memoryview(self._events).cast("B")
        self._count = ctypes.c_size_t()
        self._take, self._free = lib.queue_take, lib.free
        loop.add_reader(fd, self.drain)

    def drain(self) -> None:
        """Takes all that is there."""
        with contextlib.suppress(BlockingIOError):
            if os.read(self._fd, 4096) == b"":
                self.close()
                return
        count = _CAPACITY
        while count == _CAPACITY:
            if self._take(self.queue.value, self._events, _CAPACITY, 0, self._count):
                return
            count = self._count.value
            for kind, status, number, result in _EVENT.iter_unpack(self._view[: count * _EVENT.size]):
                try:
                    self.handle(kind, status, number, result)
                except Exception:
                    log.exception("an event of the library was lost")
                finally:
                    self._free(result)

    def handle(self, kind: int, status: int, number: int, result: int) -> None:
        """What one event is for; the result is freed afterwards."""
        raise NotImplementedError

    def close(self) -> None:
        """In the loop's thread, or when the loop has ended."""
        if self._release.alive:
            loop = self._loop()
            if loop is not None and not loop.is_closed():
                loop.remove_reader(self._fd)
            self._release()

    def close_soon(self) -> None:
        """From any thread."""
        loop = self._loop()
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and the finalizer does the rest
                loop.call_soon_threadsafe(self.close)


# A call that has not completed: its future, what makes the outcome from the result, and who hears of progress.
_Pending = tuple[asyncio.Future[Any], Callable[[int, int], Any], Callable[[Progress], object] | None]

_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()
_ids = itertools.count(1)


class Hub(Watcher):
    """Where the calls of one event loop complete."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.pending: dict[int, _Pending] = {}

    def handle(self, kind: int, status: int, number: int, result: int) -> None:
        if kind == _ffi.DONE:
            call = self.pending.pop(number, None)
            if call is None or call[0].done():
                return  # its task was cancelled
            future, read, _ = call
            if status == _ffi.CANCELLED:
                future.cancel()
                return
            try:
                future.set_result(read(result, status))
            except Exception as e:
                future.set_exception(e)
        elif kind == _ffi.NOTICE and number in self.pending:
            future, _, progress = self.pending[number]
            if progress is not None:
                notice = _json.load(_ffi.library().result_json(result, None))
                values = (notice.get(k) for k in ("progress", "total", "message", "server"))
                future.get_loop().call_soon(progress, Progress(*values))


def current() -> Hub:
    """The running loop's hub."""
    loop = asyncio.get_running_loop()
    hub = _hubs.get(loop)
    if hub is None:
        release_ended()
        hub = _hubs[loop] = Hub(loop)
    return hub


def release_ended() -> None:
    """Gives back the queues of loops that have ended."""
    for loop, hub in list(_hubs.items()):
        if loop.is_closed():
            hub.close()
            del _hubs[loop]


def open_loops() -> int:
    """How many loops that have not ended use the library."""
    release_ended()
    return len(_hubs)


async def run(
    submit: Callable[..., int],
    arguments: tuple[Any, ...],
    read: Callable[[int, int], T],
    context: ToolContext | None = None,
) -> T:
    """Begins a call of the library and waits for what `read` makes of its result and status. Cancelling the task, or setting
    the context's signal, cancels the call."""
    lib = _ffi.library()
    hub = current()
    native = lib.context_new()
    watch = None
    number = next(_ids)
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    try:
        if context is not None:
            watch = _apply(context, native, hub, number)
        hub.pending[number] = future, read, None if context is None else context.progress
        status = submit(*arguments, native, hub.queue.value, number)
        if status:
            del hub.pending[number]
            raise _ffi.submit_failure(status)
        return await future
    except asyncio.CancelledError:
        lib.context_cancel(native)
        raise
    finally:
        if watch is not None:
            watch.cancel()
        lib.free(native)


def _apply(context: ToolContext, native: int, hub: Hub, number: int) -> asyncio.Task[None] | None:
    """Gives the library what the context says. The task, if any, cancels the call when the signal is set."""
    lib = _ffi.library()
    if context.timeout is not None:
        lib.context_set_timeout(native, milliseconds(context.timeout, "timeout"))
    if context.deadline is not None:
        lib.context_set_deadline(native, milliseconds(context.deadline, "deadline"))
    if context.progress is not None:
        lib.context_set_progress(native, hub.queue.value, number)
    if context.signal is None:
        return None
    if context.signal.is_set():
        lib.context_cancel(native)
        return None

    async def cancel(signal: asyncio.Event) -> None:
        await signal.wait()
        lib.context_cancel(native)

    return asyncio.get_running_loop().create_task(cancel(context.signal))
