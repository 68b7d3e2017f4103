#!/usr/bin/env python3
"""The inputs of a fuzz target in one file, which the replay of fuzz.h reads.

    python3 tests/fuzz/corpus.py pack FILE INPUT ...       write a file with these inputs: files, or folders of them
    python3 tests/fuzz/corpus.py add FILE INPUT ...        add inputs, such as one that failed
    python3 tests/fuzz/corpus.py unpack FILE FOLDER        write each input into a folder, as libFuzzer reads them
    python3 tests/fuzz/corpus.py list FILE ...             print names and sizes

The file begins with the line "qnnrt corpus". Each input is a line "NAME BYTES", its bytes, and a line feed."""
import os
import sys

MAGIC = b"qnnrt corpus\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def inputs(path):
    """Return the inputs of a packed file, as {name: bytes}."""
    data = read(path)
    if not data.startswith(MAGIC):
        sys.exit("corpus: %s does not begin with %r" % (path, MAGIC.decode()))
    found, at = {}, len(MAGIC)
    while at < len(data):
        end = data.find(b"\n", at)
        name, _, size = data[at:end].decode("ascii").rpartition(" ")
        size, at = int(size), end + 1
        if end < 0 or not name or name in found or data[at + size:at + size + 1] != b"\n":
            sys.exit("corpus: %s is damaged at byte %d, input %s" % (path, at, name))
        found[name] = data[at:at + size]
        at += size + 1
    return found


def gathered(paths):
    """Return the inputs of files and folders."""
    found = {}
    for path in paths:
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else [""]:
            file = os.path.join(path, name) if name else path
            found[os.path.basename(file).replace(" ", "_")] = read(file)
    return found


def write(path, found):
    with open(path + ".new", "wb") as out:
        out.write(MAGIC)
        for name, data in sorted(found.items()):
            out.write(b"%s %d\n%s\n" % (name.encode("ascii"), len(data), data))
    os.rename(path + ".new", path)


def main(verb, path, *rest):
    if verb == "pack" and rest:
        write(path, gathered(rest))
    elif verb == "add" and rest:
        write(path, {**inputs(path), **gathered(rest)})
    elif verb == "unpack" and len(rest) == 1:
        os.makedirs(rest[0], exist_ok=True)
        for name, data in inputs(path).items():
            if os.path.basename(name) != name or name in (".", ".."):
                sys.exit("corpus: %s has an input called %s" % (path, name))
            with open(os.path.join(rest[0], name), "wb") as out:
                out.write(data)
    elif verb == "list":
        for file in (path,) + rest:
            for name, data in inputs(file).items():
                print("%s %s %d" % (file, name, len(data)))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
