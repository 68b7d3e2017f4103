"""One exception for each result of the C functions; all of them are an Error."""
from __future__ import annotations

from typing import Any, Tuple

from . import _abi as abi


class Error(Exception):
    """Something failed. str() is text, and the hint on a line of its own.

    text         the thing, the place, what was expected and found
    code         the number of the C result, such as -7
    name         its name, such as "QNNRT_E_NOT_FOUND"
    vendor_code  what the library of an engine returned; 0 if none failed
    hint         what to do, in one sentence; "" if nothing is known
    """

    code: int = abi.QNNRT_E_STATE

    def __init__(self, text: str, hint: str = "", vendor_code: int = 0) -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint
        self.vendor_code = vendor_code

    def __str__(self) -> str:
        return self.text + "\n" + self.hint if self.hint else self.text

    @property
    def name(self) -> str:
        """The name of the result in C."""
        return _NAMES.get(self.code, "unknown")

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.text, self.hint, self.vendor_code)


class ArgumentError(Error, ValueError):
    """A wrong argument."""
    code = abi.QNNRT_E_ARG


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""
    code = abi.QNNRT_E_MEMORY


class FileError(Error):
    """A file or folder cannot be read or written."""
    code = abi.QNNRT_E_IO


class FormatError(Error):
    """A damaged model, or another kind of file."""
    code = abi.QNNRT_E_FORMAT


class LibraryError(Error):
    """The library of an engine is missing, or is not one."""
    code = abi.QNNRT_E_LIBRARY


class VersionError(Error):
    """Releases that do not fit together."""
    code = abi.QNNRT_E_VERSION


class NotFoundError(Error, LookupError):
    """No such file, engine, graph, tensor or slot."""
    code = abi.QNNRT_E_NOT_FOUND


class MismatchError(Error, ValueError):
    """Shapes, sizes, types or encodings that do not fit."""
    code = abi.QNNRT_E_MISMATCH


class UnsupportedError(Error):
    """Valid, but this version or this machine cannot do it."""
    code = abi.QNNRT_E_UNSUPPORTED


class BackendError(Error):
    """A call of an engine's library failed; vendor_code has its answer."""
    code = abi.QNNRT_E_BACKEND


class BusyError(Error):
    """Another thread uses the object."""
    code = abi.QNNRT_E_BUSY


class StateError(Error):
    """Called too early or too late, such as a run without an input."""
    code = abi.QNNRT_E_STATE


class ClosedError(StateError):
    """The object was closed."""


class ForkError(StateError):
    """The object was made before fork() in another process."""


class LimitError(Error):
    """Over a limit, or too large."""
    code = abi.QNNRT_E_LIMIT


class CancelledError(Error):
    """The call was ended by cancel(), or by a limit of its time."""
    code = abi.QNNRT_E_CANCELLED


class ToolError(Error):
    """A program of the package failed. status is its exit status."""

    status: int = 1


class CrashError(ToolError):
    """A program of the package was ended by a signal; vendor_code is its number."""


_NAMES = {value: name for name, value in vars(abi).items()
          if name == "QNNRT_OK" or (name.startswith("QNNRT_E_") and isinstance(value, int))}
_CLASSES = {c.code: c for c in (ArgumentError, OutOfMemoryError, FileError, FormatError, LibraryError, VersionError, NotFoundError,
                                MismatchError, UnsupportedError, BackendError, BusyError, StateError, LimitError, CancelledError)}


def make(known: abi.qnnrt_error, code: int) -> Error:
    """Make the exception for an error of C that is explained already; _core.failure() explains it, too."""
    text = known.text.decode("utf-8", "replace")
    if known.cause:
        text += "\n  likely cause: " + known.cause.decode("utf-8", "replace")
    return _CLASSES.get(code, Error)(text or _NAMES.get(code, "result %d" % code), known.hint.decode("utf-8", "replace"), known.vendor_code)
