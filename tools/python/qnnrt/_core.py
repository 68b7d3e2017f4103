"""The library, and who owns what it makes."""
from __future__ import annotations

import ctypes
import os
import threading
import weakref
from ctypes import byref
from typing import Any, Callable, List, Optional, TypeVar

from . import _abi as abi
from . import _errors as errors

HERE = os.path.dirname(os.path.abspath(__file__))


def _load() -> ctypes.CDLL:
    path = os.environ.get("QNNRT_LIBRARY") or os.path.join(HERE, "libqnnrt.so")
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError("qnnrt: cannot load its library: %s. Install the wheel again, or set QNNRT_LIBRARY" % error) from None
    loaded.qnnrt_version.restype = ctypes.c_char_p
    version = loaded.qnnrt_version().decode()
    if tuple(int(v) for v in version.split(".")[:2]) != abi.VERSION[:2]:
        raise ImportError("qnnrt: %s is version %s, and this package is for %d.%d" % ((path, version) + abi.VERSION[:2]))
    for name, (result, parameters) in abi.FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = parameters
    return loaded


lib = _load()


class Caught(List[BaseException]):
    """The first exception of the caller's functions that C calls. It ends the call of C, as far as Python can tell.

    While it is kept, these functions are not called again. One that no call can raise any more, because it came up while an
    object was freed, goes to sys.unraisablehook."""

    def guard(self, function: Callable[..., None]) -> Callable[..., None]:
        """A function for C, which keeps what the other one raises."""
        def guarded(*arguments: Any) -> None:
            if self:
                return
            try:
                function(*arguments)
            except BaseException as error:  # pylint: disable=broad-except
                self.append(error)
        return guarded

    def check(self, failed: Optional[errors.Error] = None) -> None:
        """Raise what was kept, else how the call itself failed. If both are there, the latter is the __context__."""
        if self:
            kept = self.pop()
            try:
                if failed is not None:
                    try:
                        raise failed
                    except errors.Error:
                        raise kept  # noqa: B904 its __context__ is the error of the call
                raise kept
            finally:
                del kept, failed
        if failed is not None:
            raise failed

    def __del__(self) -> None:
        if self:
            raise self.pop()


def failure(err: abi.qnnrt_error, code: int = 0) -> errors.Error:
    """Make the exception for an error of C, with its likely cause."""
    known = abi.qnnrt_error.from_buffer_copy(err)
    lib.qnnrt_explain_error(byref(known))
    return errors.make(known, code or err.code)


def call(function: Callable[..., int], *arguments: Any, caught: Optional[Caught] = None) -> None:
    """Call a function that takes a qnnrt_error last; raise what it reports."""
    err = abi.qnnrt_error()
    code = function(*arguments, byref(err))
    if code:
        (caught or Caught()).check(failure(err, code))


def text_of(data: Optional[bytes]) -> str:
    """The text of a string of C; "" for NULL."""
    return "" if data is None else data.decode("utf-8", "replace")


def path_of(path: Any) -> bytes:
    """The bytes of a path."""
    data = os.fsencode(path)
    if b"\0" in data:
        raise errors.ArgumentError("a path has a zero byte in it: %r" % (path,))
    return data


def name_of(text: Any, what: str = "a name") -> bytes:
    """The bytes of a name or of another text."""
    if not isinstance(text, str):
        raise errors.ArgumentError("%s is text, and not %s" % (what, type(text).__name__))
    if "\0" in text:
        raise errors.ArgumentError("%s has a zero byte in it: %r" % (what, text))
    return text.encode("utf-8", "surrogateescape")


_lock = threading.RLock()
_owners: "weakref.WeakSet[Owner]" = weakref.WeakSet()


class Owner(ctypes.c_void_p):
    """A pointer that frees its object when nothing in Python uses it any more.

    Arrays that show memory of the object hold its owner, and an owner holds its parent. So nothing is freed too early,
    also not by the garbage collector, which may end a parent first: then the last child frees it."""

    def __init__(self, pointer: Optional[int], free: Callable[[int], Optional[int]], parent: "Optional[Owner]" = None, *keep: Any) -> None:
        super().__init__(pointer)
        self.free, self.parent, self.keep = free, parent, keep
        self.children, self.ended, self.forked = 0, False, False
        self.late: "list[Owner]" = []
        with _lock:
            _owners.add(self)
            if parent is not None:
                parent.children += 1

    def __del__(self) -> None:
        with _lock:
            self.ended = True
            self._end()

    def _end(self) -> None:
        if not self.ended or self.value is None:
            return
        for child in self.late[:]:
            child._end()
        if self.children:
            return
        parent = self.parent
        if self.free(self.value) == abi.QNNRT_E_BUSY and parent is not None:
            # Another thread uses the parent now: try again when that ends.
            if self not in parent.late:
                parent.late.append(self)
            return
        self.value = None
        if parent is not None:
            if self in parent.late:
                parent.late.remove(self)
            parent.children -= 1
            parent._end()

    __hash__ = object.__hash__


def _after_fork() -> None:
    # Devices and threads of libraries stay with the parent process: nothing is used or freed here.
    global _lock
    _lock = threading.RLock()
    for owner in list(_owners):
        owner.forked = True
        owner.value = None


os.register_at_fork(after_in_child=_after_fork)


_Self = TypeVar("_Self", bound="Object")


class Object:
    """What has an owner: it can be closed, and says so afterwards."""

    _owner: Optional[Owner] = None
    _kind = "object"
    _children: "Optional[weakref.WeakSet[Object]]" = None

    def _handle(self) -> Owner:
        owner = self._owner
        if owner is None:
            raise errors.ClosedError("this %s is closed" % self._kind, "Use it before close(), or inside of its with block.")
        if owner.forked:
            raise errors.ForkError("this %s was made before fork(), in process %d" % (self._kind, os.getppid()),
                                   "Make it in the process that uses it, or start processes with the method 'spawn'.")
        return owner

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._owner is None

    def _child(self, child: "Object") -> None:
        """Close another object with this one."""
        if self._children is None:
            self._children = weakref.WeakSet()
        self._children.add(child)

    def close(self) -> None:
        """Close what was made of it, and free it as soon as no array of its memory is in use. Closing twice is allowed."""
        for child in list(self._children or ()):
            child.close()
        self._owner = None

    def __enter__(self: _Self) -> _Self:
        self._handle()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class Guard:
    """One thread at a time: another one gets a BusyError, and does not wait."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        if not self.lock.acquire(False):
            raise errors.BusyError("another thread uses this %s" % self.kind, "Give each thread its own, or take turns with a lock.")

    def __exit__(self, *exception: Any) -> None:
        self.lock.release()
