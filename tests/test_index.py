#!/usr/bin/env python3
"""tests/index names every test, every oracle, and every room of the headers, and only existing ones."""
import glob
import os
import re
import sys

import headers

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
passed = failed = 0


def check(good, message):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("index: " + message)


def names(pattern, begin, end):
    return [os.path.basename(path)[len(begin):-len(end) or None] for path in glob.glob(os.path.join(TOP, pattern))]


there = set(names("tests/test_*.c", "test_", ".c")) | set(names("tests/test_*.sh", "", "")) | set(names("tests/test_*.py", "", ""))
there |= set("real/" + name for name in names("tests/real/*.c", "", ".c"))
there |= set("fuzz/" + name for name in names("tests/fuzz/fuzz_*.c", "fuzz_", ".c"))

listed, oracles, needs = [], set(), {}
rooms = {row.key: set() for row in headers.ROWS if row.key != "-"}
for line in open(os.path.join(TOP, "tests", "index")):
    if line.startswith("#") or not line.strip():
        continue
    words = line.split(None, 3)
    check(len(words) == 4 and words[1].isdigit(), "a line has no four columns: %s" % line.strip())
    listed.append(words[0])
    needs[words[0]] = set(words[2].split(","))
    if "oracle" in words[2].split(","):
        oracles.add(words[0])
    for about in words[3].split("; "):      # one header each
        which = about.split(":")[0]
        which = which if which in rooms else "qnnrt"
        rooms[which] |= set(re.findall(r">>(\w+)", about))



def backends(path, seen):
    """Find which of fake and ref a test opens, in its own text and in the headers of tests/ that it includes."""
    if path in seen or not os.path.exists(path):
        return set()
    seen.add(path)
    text = open(path).read()
    found = {name.lower() for name in re.findall(r"^(?![ \t]*#).*\bTEST_(FAKE|REF)_LIB\b", text, re.M)}
    for header in re.findall(r'^#include "([^"]+)"', text, re.M):
        found |= backends(os.path.join(TOP, "tests", os.path.basename(header)), seen)
    return found


# The top of the repository is fixed; build/ and the rest of a checkout are made by tools.
top = {name for name in os.listdir(TOP) if not name.startswith(".")} - {"build"}
wanted = {"qnnrt.h", "qnnrt_json.h", "examples", "tests", "tools", "Makefile", "LICENSE", "README.md"}
check(top == wanted, "the top of the repository has %s" % sorted(top ^ wanted))

for name in sorted(needs):
    if re.match(r"\w+$", name):
        opened = backends(os.path.join(TOP, "tests", "test_%s.c" % name), set())
        check(opened == needs[name] & {"fake", "ref"}, "%s opens %s and needs %s" % (name, sorted(opened), sorted(needs[name])))

check(len(listed) == len(set(listed)), "a test has two lines")
for name in sorted(there - set(listed)):
    check(False, "%s is in tests/ and has no line" % name)
for name in sorted(set(listed) - there):
    check(False, "%s has a line and is not in tests/" % name)
check(oracles == set(names("tests/oracle_*.py", "oracle_", ".py")) - {"ops"}, "oracles are %s" % sorted(oracles))

for which in rooms:
    own, found = [row for row in headers.ROWS if row.key == which], set()
    for row in own:
        found |= set(re.findall(r"^/\* =+\n   [^\n]*?>>(\w+)$", row.text(), re.M))
    for room in sorted(found - rooms[which]):
        check(False, "room >>%s of %s is in no line" % (room, own[0].path))
    for room in sorted(rooms[which] - found):
        check(False, "room >>%s is in a line, and not in %s" % (room, own[0].path))
    check(len(found) >= sum(row.rooms for row in own) > 0, "%s has %d rooms" % (own[0].path, len(found)))

# What nobody runs rots: all of it is called by .ci/run.
ci = open(os.path.join(TOP, ".ci", "run")).read()
for command in ("make test SILENT=all", "make tsan", "make check", "make test-ggml", "make test-gguf"):
    check(re.search(r"&& run [\w.-]+ %s$" % re.escape(command), ci, re.M), ".ci/run does not call %s" % command)

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
