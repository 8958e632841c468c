"""The C library: where it is found, and its functions. Nothing is loaded before the first use."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, c_bool, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from ._types import ToolnexusError

# What this package was written for: major << 16 | minor, TN_ABI_VERSION of include/toolnexus.h.
ABI_VERSION = 1
SONAME = "libtoolnexus.so.0"

OK = 0
ARGUMENT = 1
CLOSED = 22
CANCELLED = 20
FORKED = 6

DONE, REQUEST, CALL, NOTICE, CANCEL = 1, 2, 3, 4, 5

# Statuses that say that the host made a mistake, or the library: an exception, also where the rest is a result.
_RESULTS = frozenset({0, 3, 7, 8, 20, 21, 22, 23, 40, 41, 42, 43, 44})

_FORKED_MESSAGE = (
    "this process was forked from one that had used toolnexus; use it in the parent, "
    "or start the child with the method spawn or forkserver"
)

_QUEUE_ID = [c_void_p, c_uint64]
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "tn_abi_version": (c_uint32, []),
    "tn_version": (c_char_p, []),
    "tn_status_name": (c_char_p, [c_int32]),
    "tn_free": (None, [c_void_p]),
    "tn_result_is_error": (c_bool, [c_void_p]),
    "tn_result_status": (c_int32, [c_void_p]),
    "tn_result_output": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "tn_result_json": (c_char_p, [c_void_p, POINTER(c_size_t)]),
    "tn_result_take_mcp": (c_void_p, [c_void_p]),
    "tn_result_take_toolkit": (c_void_p, [c_void_p]),
    "tn_result_take_tool": (c_void_p, [c_void_p]),
    "tn_context_new": (c_void_p, []),
    "tn_context_set_timeout": (c_int32, [c_void_p, c_uint32]),
    "tn_context_set_deadline": (c_int32, [c_void_p, c_uint32]),
    "tn_context_set_progress": (c_int32, [c_void_p, c_void_p, c_uint64]),
    "tn_context_cancel": (c_int32, [c_void_p]),
    "tn_mcp_tools": (c_void_p, [c_void_p]),
    "tn_resource_tools": (c_void_p, [c_void_p]),
    "tn_mcp_status": (c_void_p, [c_void_p]),
    "tn_mcp_request_submit": (c_int32, [c_void_p, c_char_p, c_char_p, c_char_p, c_void_p, *_QUEUE_ID]),
    "tn_mcp_skill_read_submit": (c_int32, [c_void_p, c_char_p, c_char_p, c_char_p, c_void_p, *_QUEUE_ID]),
    "tn_mcp_restart_submit": (c_int32, [c_void_p, c_char_p, c_void_p, *_QUEUE_ID]),
    "tn_mcp_close_submit": (c_int32, [c_void_p, c_void_p, *_QUEUE_ID]),
    "tn_tools_len": (c_size_t, [c_void_p]),
    "tn_tools_get": (c_void_p, [c_void_p, c_size_t]),
    "tn_tools_json": (c_char_p, [c_void_p, POINTER(c_size_t)]),
    "tn_tool_name": (c_char_p, [c_void_p]),
    "tn_tool_json": (c_char_p, [c_void_p, POINTER(c_size_t)]),
    "tn_tool_execute_submit": (c_int32, [c_void_p, c_char_p, c_void_p, *_QUEUE_ID]),
    "tn_tool_create": (c_void_p, [c_char_p, c_void_p]),
    "tn_toolkit_register": (c_void_p, [c_void_p, c_void_p]),
    "tn_toolkit_tools": (c_void_p, [c_void_p]),
    "tn_toolkit_get": (c_void_p, [c_void_p, c_char_p]),
    "tn_toolkit_mcp": (c_void_p, [c_void_p]),
    "tn_toolkit_execute_submit": (c_int32, [c_void_p, c_char_p, c_char_p, c_void_p, *_QUEUE_ID]),
    "tn_toolkit_close_submit": (c_int32, [c_void_p, c_void_p, *_QUEUE_ID]),
    "tn_queue_new": (c_void_p, []),
    "tn_queue_fd": (c_int32, [c_void_p]),
    "tn_queue_take": (c_int32, [c_void_p, c_void_p, c_size_t, c_int32, POINTER(c_size_t)]),
    "tn_answer": (c_void_p, [c_uint64, c_char_p]),
}
# These read files or wait, so other threads of Python run meanwhile.
_SLOW: dict[str, tuple[Any, list[Any]]] = {
    "tn_shutdown": (c_void_p, [c_uint32]),
    "tn_config_parse": (c_void_p, [c_char_p, c_char_p]),
    "tn_mcp_load_submit": (c_int32, [c_char_p, c_char_p, c_void_p, c_void_p, *_QUEUE_ID]),
    "tn_mcp_inventory_submit": (c_int32, [c_char_p, c_char_p, c_void_p, *_QUEUE_ID]),
    "tn_toolkit_create_submit": (c_int32, [c_char_p, c_void_p, c_void_p, *_QUEUE_ID]),
}


class Library:
    """The functions of the library, by their names without the prefix."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            # Most functions never block. To hand the interpreter's lock over and back for them would cost more than
            # they do, and, beside a busy thread, milliseconds each time.
            quick, slow = ctypes.PyDLL(path), ctypes.CDLL(path)
            found = int(quick.tn_abi_version())
        except (OSError, AttributeError) as e:
            raise ToolnexusError("library", f"toolnexus: {path} is no usable toolnexus library: {e}") from e
        if found >> 16 != ABI_VERSION >> 16 or found & 0xFFFF < ABI_VERSION & 0xFFFF:
            raise ToolnexusError(
                "library",
                f"toolnexus: {path} has the ABI {_show(found)}, and this package needs "
                f"{_show(ABI_VERSION)} or a newer one of the same major version",
            )
        for source, functions in ((quick, _FUNCTIONS), (slow, _SLOW)):
            for name, (result, arguments) in functions.items():
                function = getattr(source, name)
                function.restype, function.argtypes = result, arguments
                setattr(self, name[3:], function)

    def __getattr__(self, name: str) -> Any:
        # Only for names that are not there: it tells type checkers that the functions are.
        raise AttributeError(f"the library has no function tn_{name}")


def _show(version: int) -> str:
    return f"{version >> 16}.{version & 0xFFFF}"


_lock = threading.Lock()
_library: Library | None = None
_chosen: str | None = None


def use_library(path: str | os.PathLike[str]) -> None:
    """Names the shared library to use, before anything else does. Without it: the file that TOOLNEXUS_LIBRARY names,
    the one inside the package, the system's libtoolnexus.so.0."""
    global _chosen
    with _lock:
        if _library is not None and _library.path != os.fspath(path):
            raise ToolnexusError(
                "library", f"toolnexus: the library {_library.path} is in use already; call use_library before anything else"
            )
        _chosen = os.fspath(path)


def _find() -> str:
    bundled = Path(__file__).parent / "_lib" / SONAME
    return _chosen or os.environ.get("TOOLNEXUS_LIBRARY") or (str(bundled) if bundled.is_file() else SONAME)


def library() -> Library:
    """The library, loaded when first asked for."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                loaded = Library(_find())
                Ref.free = loaded.free
                _library = loaded
    return _library


class Ref:
    """A reference of the library that is given back with this object."""

    __slots__ = ("__weakref__", "_owned", "value")
    # Bound once: at the end of the interpreter the module's names may be gone before the last object.
    free: Any = None

    def __init__(self, value: int | None) -> None:
        if value is None:
            raise forked() if is_forked() else ToolnexusError("handle", "toolnexus: this object has ended")
        self.value = value
        self._owned = True

    def release(self) -> None:
        """Gives the reference back now. Later uses of its value are the library's error for a freed one."""
        if self._owned:
            self._owned = False
            Ref.free(self.value)

    def __del__(self) -> None:
        if getattr(self, "_owned", False):
            Ref.free(self.value)


def is_forked() -> bool:
    """Whether this process was forked from one that had used the library."""
    lib = library()
    context = lib.context_new()
    lib.free(context)
    return context is None


def forked() -> ToolnexusError:
    return ToolnexusError("forked", _FORKED_MESSAGE)


def code_of(status: int) -> str:
    name: bytes = library().status_name(status)
    return name.decode().removeprefix("TN_E_").lower()


def is_misuse(status: int) -> bool:
    return status not in _RESULTS


def output_of(result: int) -> str:
    length = c_size_t()
    at = library().result_output(result, ctypes.byref(length))
    return ctypes.string_at(at, length.value).decode()


def failure(result: int, data: Any = None) -> ToolnexusError:
    """The exception for a result that failed."""
    lib = library()
    status = lib.result_status(result)
    message = _FORKED_MESSAGE if status == FORKED else output_of(result)
    return ToolnexusError(code_of(status), message, data)


def submit_failure(status: int) -> ToolnexusError:
    """The exception for a submit that queued nothing."""
    return forked() if status == FORKED else ToolnexusError(code_of(status), "toolnexus: the event loop's queue has ended")


def text(value: str, what: str) -> bytes:
    """A string for C."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} contains a NUL character")
    return value.encode()
