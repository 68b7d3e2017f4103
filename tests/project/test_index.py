#!/usr/bin/env python3
"""tests/index names every test, every oracle, and every room of the headers, and only existing ones; no file is left over."""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import close, holds as check  # noqa: E402

import headers
import table

TOP = table.TOP
# Folders of tests; what is in them is in the table, or something names it.
FOLDERS = ("core", "json", "llm", "ir", "lower", "compile", "weights", "onnx", "cache", "session", "ref", "cli", "project", "harness", "real", "fuzz")


def found(*patterns):
    return {os.path.relpath(path, os.path.join(TOP, "tests")) for pattern in patterns for path in glob.glob(os.path.join(TOP, "tests", pattern))}


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8", errors="replace") as file:
        return file.read()


rooms = {row.key: set() for row in headers.ROWS if row.key != "-"}
for row in table.ROWS:
    check(row.kind == "make" or os.path.exists(os.path.join(TOP, row.path)), "%s has a line, and there is no such file" % row.file)
    check(row.kind != "make" or row.about.startswith("make "), "%s is a target, and its last column is no command" % row.file)
    check(row.oracle is None or os.path.exists(os.path.join(TOP, row.oracle)), "%s needs %s, which is not there" % (row.file, row.oracle))
    for about in row.about.split("; "):     # one header each
        which = about.split(":")[0]
        which = which if which in rooms else "qnnrt"
        rooms[which] |= set(re.findall(r">>(\w+)", about))


def backends(path, seen):
    """Find which of fake and ref a test opens, in its own text and in the headers of tests/ that it includes."""
    if path in seen or not os.path.exists(path):
        return set()
    seen.add(path)
    text = read(path)
    opened = {name.lower() for name in re.findall(r"^(?![ \t]*#).*\bTEST_(FAKE|REF)_LIB\b", text, re.M)}
    for header in re.findall(r'^#include "([^"]+)"', text, re.M):
        for folder in (os.path.dirname(path), os.path.join(TOP, "tests", "harness")):
            other = os.path.normpath(os.path.join(folder, header))
            opened |= backends(other, seen) if other.startswith(os.path.join(TOP, "tests", "")) else set()
    return opened


# The top of the repository is fixed; build/ and the rest of a checkout are made by tools.
top = {name for name in os.listdir(TOP) if not name.startswith(".")} - {"build"}
wanted = {"qnnrt.h", "qnnrt_json.h", "examples", "tests", "tools", "Makefile", "LICENSE", "README.md"}
check(top == wanted, "the top of the repository has %s" % sorted(top ^ wanted))

for row in table.ROWS:
    if row.kind == "unit":
        opened = backends(os.path.join(TOP, row.path), set())
        check(opened == set(row.needs) & {"fake", "ref"}, "%s opens %s and needs %s" % (row.file, sorted(opened), sorted(row.needs)))

# Every program has a line, and every script and every header is named by something else.
listed = [row.file for row in table.ROWS]
check(len(listed) == len(set(listed)), "a test has two lines")
programs = [row.name for row in table.ROWS if row.kind in ("unit", "fuzz", "program")]
check(len(programs) == len(set(programs)), "two programs have one name")
for path in sorted(found(*(folder + "/*.c" for folder in FOLDERS)) - set(listed)):
    check(False, "%s is in tests/ and has no line" % path)
words, imports = {}, {}
for pattern in ("tests/*/*", "tests/*/*/*.py", "tests/index", "Makefile", "tools/**/*.py", ".ci/run"):
    for path in glob.glob(os.path.join(TOP, pattern), recursive=True):
        if os.path.isfile(path) and not path.endswith((".pack", ".txt")):
            text = read(path)
            words[path] = set(re.findall(r"[\w-]+\.\w+", text))
            imports[path] = set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.M))
for path in sorted(found(*(folder + "/*.%s" % end for folder in FOLDERS for end in ("h", "sh", "py", "mk", "txt", "allow", "cpp"))) - set(listed)):
    name, own = os.path.basename(path), os.path.join(TOP, "tests", path)
    check(any(other != own and (name in words[other] or (name.endswith(".py") and name[:-3] in imports[other])) for other in words),
          "tests/%s is named by nothing" % path)

for which in rooms:
    own, has = [row for row in headers.ROWS if row.key == which], set()
    for row in own:
        has |= set(re.findall(r"^/\* =+\n   [^\n]*?>>(\w+)$", row.text(), re.M))
    for room in sorted(has - rooms[which]):
        check(False, "room >>%s of %s is in no line" % (room, own[0].path))
    for room in sorted(rooms[which] - has):
        check(False, "room >>%s is in a line, and not in %s" % (room, own[0].path))
    check(len(has) >= sum(row.rooms for row in own) > 0, "%s has %d rooms" % (own[0].path, len(has)))

# What nobody runs rots: all of it is called by .ci/run.
ci = read(".ci/run")
for command in ("make test SILENT=all", "make tsan", "make check", "make test-ggml", "make test-gguf"):
    check(re.search(r"&& run [\w.-]+ %s$" % re.escape(command), ci, re.M), ".ci/run does not call %s" % command)

sys.exit(close())
