#!/usr/bin/env python3
"""Write build/data: a copy of tests/data in which the contexts of language models are unpacked.

    python3 tests/harness/data.py FOLDER                write FOLDER anew
    python3 tests/harness/data.py --pack FOLDER NAME... pack these folders of FOLDER/llm into the archive
"""
import os
import shutil
import sys
import tarfile

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "data")
ARCHIVE = os.path.join(DATA, "llm", "contexts.tar.xz")


def unpack(to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(DATA, to, copy_function=shutil.copyfile, ignore=shutil.ignore_patterns(os.path.basename(ARCHIVE)))
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(os.path.join(to, "llm"))


def same_everywhere(entry):
    """Leave out of an entry what depends on who packs it."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def pack(source, names):
    with tarfile.open(ARCHIVE + ".new", "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for name in names:
            archive.add(os.path.join(source, "llm", name), name, filter=same_everywhere)
    os.replace(ARCHIVE + ".new", ARCHIVE)


if sys.argv[1:2] == ["--pack"] and len(sys.argv) > 3:
    pack(sys.argv[2], sys.argv[3:])
elif len(sys.argv) == 2:
    unpack(sys.argv[1])
else:
    sys.exit(__doc__)
