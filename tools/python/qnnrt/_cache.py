"""Folders of compiled models: what cache_dir of a session keeps."""
from __future__ import annotations

import os
from ctypes import byref, c_size_t, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

from . import _abi as abi
from . import _errors as errors
from ._core import Caught, Owner, call, lib, path_of, text_of


@dataclass(frozen=True)
class CacheEntry:
    """One compiled model: its size on the disk, when it was used last (seconds since 1970), its files with their sizes, and
    what is wrong with it; None: nothing was found."""
    key: str
    bytes: int
    used: int
    files: Tuple[Tuple[str, int], ...]
    damage: Optional[str] = None


def _open(folder: Any) -> Owner:
    path = path_of(folder)
    # The C function makes the folder.
    if not os.path.lexists(path):
        raise errors.NotFoundError("there is no folder of a cache: %s" % os.fsdecode(path), "Name the folder that was cache_dir of a session.")
    made = c_void_p()
    call(lib.qnnrt_cache_open, path, None, byref(made))
    return Owner(made.value, lib.qnnrt_cache_close)


def cache_list(folder: Any) -> List[CacheEntry]:
    """The entries of a cache_dir, the one that was used the longest ago first. The hashes of files are not checked."""
    found: List[CacheEntry] = []
    caught = Caught()

    def visit(_user: Any, pointer: Any) -> None:
        e = pointer.contents
        found.append(CacheEntry(text_of(e.key), e.bytes, e.used, tuple((text_of(e.files[i].name), e.files[i].bytes) for i in range(e.file_count)),
                                None if e.damage is None else text_of(e.damage)))

    visitor = lib.qnnrt_cache_list.argtypes[1](caught.guard(visit))
    call(lib.qnnrt_cache_list, _open(folder), visitor, None, caught=caught)
    caught.check()
    return found


def cache_clear(folder: Any) -> Tuple[int, int]:
    """Remove all entries of a cache_dir; return how many, and their bytes. Other files in the folder stay."""
    count, size = c_size_t(), c_uint64()
    call(lib.qnnrt_cache_clear, _open(folder), byref(count), byref(size))
    return count.value, size.value
