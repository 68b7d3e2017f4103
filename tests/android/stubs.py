#!/usr/bin/env python3
"""Write what stands in for Android's libraries when a program is linked: every symbol that they have at an API
level, each an empty function, with their versions. The lists are bionic's *.map.txt files.

    python3 tests/android/stubs.py BIONIC OUT API       writes OUT/lib<name>.s and OUT/lib<name>.map
    python3 tests/android/stubs.py BIONIC --levels      prints "function level" for each function of arm64
"""
import os
import re
import sys

LIBRARIES = {"c": "libc/libc.map.txt", "dl": "libdl/libdl.map.txt", "m": "libm/libm.map.txt"}
# The first level of a release that a map file names by its letter or word.
RELEASES = {"O": 26, "P": 28, "Q": 29, "R": 30, "S": 31, "T": 33, "U": 34, "V": 35}
ARCHITECTURES = {"arm", "arm64", "x86", "x86_64", "riscv64"}
# What the vendor of the phone or the system alone may call.
CLOSED = {"apex", "llndk", "systemapi", "platform-only"}
OLDEST = 21
NEVER = 1 << 20


def level(tags, otherwise):
    """Return the API level from which on arm64 has what the tags are about."""
    named = set(tags) & ARCHITECTURES
    if named and "arm64" not in named or set(tags) & CLOSED:
        return NEVER
    found = {}
    for tag in tags:
        match = re.match(r"introduced(-arm64)?=(\w+)$", tag)
        if match:
            word = match.group(2)
            found[match.group(1)] = int(word) if word.isdigit() else RELEASES.get(word[0], NEVER)
    return found.get("-arm64", found.get(None, otherwise))


def read(path):
    """Yield (version, name, level, is a variable) for each symbol of a map file."""
    version, first, visible = None, OLDEST, True
    for line in open(path):
        line, _, comment = line.partition("#")
        line, tags = line.strip(), comment.split()
        if line.endswith("{"):
            version, visible = line[:-1].strip(), True
            first = NEVER if re.search("PRIVATE|PLATFORM|DEPRECATED", version) else level(tags, OLDEST)
        elif line.startswith("}"):
            version = None
        elif line in ("global:", "local:"):
            visible = line == "global:"
        elif line.endswith(";") and line != "*;" and version and visible:
            at = level(tags, first)
            yield version, line[:-1], max(at, first), "var" in tags


def write(bionic, out, api):
    for library, path in LIBRARIES.items():
        versions, code = {}, []
        for version, name, first, variable in read(os.path.join(bionic, path)):
            if first > api:
                continue
            versions.setdefault(version, []).append(name)
            if variable:
                code.append("    .data\n    .globl %s\n    .type %s, %%object\n    .size %s, 512\n%s: .zero 512\n" % ((name,) * 4))
            else:
                code.append("    .text\n    .globl %s\n    .type %s, %%function\n%s: ret\n" % ((name,) * 3))
        with open(os.path.join(out, "lib%s.s" % library), "w") as file:
            file.write("".join(code) + '    .section .note.GNU-stack, "", %progbits\n')
        with open(os.path.join(out, "lib%s.map" % library), "w") as file:
            before = ""
            for version, names in versions.items():
                file.write("%s {\n  global:\n%s}%s;\n" % (version, "".join("    %s;\n" % name for name in names), before))
                before = " " + version


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] == "--levels":
        for at in sorted({(name, first) for path in LIBRARIES.values()
                          for _, name, first, _ in read(os.path.join(sys.argv[1], path)) if first < NEVER}):
            print("%s %d" % at)
    elif len(sys.argv) == 4 and sys.argv[3].isdigit():
        write(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(__doc__)
