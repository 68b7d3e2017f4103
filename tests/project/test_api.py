#!/usr/bin/env python3
"""Print what became of the public functions of 0.1, and check that tests/golden/api_0.1.txt lists every function.

The list has one function a line: its name, its state (kept, changed, merged, removed, new) and then the replacement or
the change. "changed" and "kept" functions are declared in a header, "removed" and "merged" ones are not, and every
function that a header declares is in the list. All headers have one version, and those above qnnrt.h compare it: with
a qnnrt.h whose number differs in any part none compiles. qnnrt_engines.h implements all that its engines need.
Public names and options have the words of the field, and none of the project's own ones before them."""
import glob
import os
import re
import subprocess
import sys
import tempfile

import headers

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = [row.path for row in headers.ROWS]
DECLARATION = re.compile(r"^(?:%s)_API\s[^;{}]*?\b(qnnrt_\w+)\s*\([^;{}]*\)\s*;" % "|".join(row.prefix for row in headers.ROWS), re.M)
HOUSE = set("blame blamed card cards carrier carriers codes fate flex hole holes small smalls spread turn turned".split())
OPTIONS = {"context", "contexts", "positions"}                 # names before, which are read all the same
STATES = ("kept", "changed", "merged", "removed", "new")


def declared():
    names = {}
    for header in HEADERS:
        with open(os.path.join(TOP, header)) as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for name in DECLARATION.findall(text):
            names[name] = header
    return names


def listed():
    states = {}
    with open(os.path.join(TOP, "tests/golden/api_0.1.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, state, about = (line.rstrip("\n").split(None, 2) + [""])[:3]
                states[name] = (state, about)
    return states


def wrong(names, states):
    for name, (state, about) in sorted(states.items()):
        if state not in STATES:
            yield "%s: %s is not a state" % (name, state)
        elif (name in names) != (state in ("kept", "changed", "new")):
            yield "%s is %s, and %s" % (name, state, "a header declares it" if name in names else "no header declares it")
        if state in ("changed", "merged", "removed") and not about:
            yield "%s is %s: the list does not say what to use or what changed" % (name, state)
        for other in re.findall(r"\b(qnnrt_\w+)\(", about):
            if other not in names:
                yield "%s: %s(), its replacement, is not declared" % (name, other)
    for name in sorted(set(names) - set(states)):
        yield "%s of %s is not in the list" % (name, names[name])


def house():
    """Return the public names and options that have words of the house."""
    for row in headers.ROWS:
        text = re.sub(r"/\*.*?\*/", "", row.declared(), flags=re.S)
        for name in sorted(set(re.findall(r"\w+", text))):
            if HOUSE & set(name.lower().split("_")):
                yield "%s: %s has a word of the house" % (row.path, name)
    for path in glob.glob(os.path.join(TOP, "tools/*/**/*.c"), recursive=True):
        with open(path, encoding="utf-8") as file:
            for name in OPTIONS & set(re.findall(r'\.name = "(\w+)"', file.read())):
                yield "%s: the option --%s has another name" % (path, name)


def versions():
    """Return what is wrong with the versions of the headers."""
    core = headers.BY_NAME["qnnrt"]
    parts = re.findall(r"^#define QNNRT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", core.text(), re.M)
    version = ".".join(parts)
    number = sum(int(part) * weight for part, weight in zip(parts, (1000000, 1000, 1)))
    above = [row for row in headers.ROWS if row.name not in ("qnnrt", "qnnrt_json")]
    for row in headers.ROWS:
        if " v%s - " % version not in row.text().split("\n")[0]:
            yield "the first line of %s does not say v%s" % (row.path, version)
        if row in above and ('\n#if QNNRT_VERSION_NUMBER != %d\n#error "%s.h %s needs qnnrt.h of the same version"\n#endif\n'
                             % (number, row.name, version)) not in row.text():
            yield "%s does not compare QNNRT_VERSION_NUMBER with %d" % (row.path, number)
    with open(os.path.join(TOP, "tools/qnnrt.hpp"), encoding="utf-8") as file:
        if " v%s - " % version not in file.readline():
            yield "the first line of tools/qnnrt.hpp does not say v%s" % version
    with tempfile.TemporaryDirectory() as folder:
        for part in ("MAJOR", "MINOR", "PATCH"):
            with open(os.path.join(folder, "qnnrt.h"), "w", encoding="utf-8") as file:
                file.write(re.sub(r"(#define QNNRT_VERSION_%s) (\d+)" % part, lambda m: m.group(1) + " %d" % (int(m.group(2)) + 1),
                                  core.declared()))
            for row in above if part == "PATCH" else above[:1]:
                said = subprocess.run(os.environ.get("CC", "cc").split() + ["-std=c99", "-E", "-I" + folder, "-I" + TOP, "-Itools",
                                      "-Itools/engines", row.path], cwd=TOP, capture_output=True, text=True)
                if said.returncode == 0 or "%s.h %s needs qnnrt.h" % (row.name, version) not in said.stderr:
                    yield "%s accepts a qnnrt.h of another %s" % (row.path, part)


def engines():
    """Return what qnnrt_engines.h does not implement of what its engines need."""
    row, needed = headers.BY_NAME["qnnrt_engines"], set()
    waiting = list(row.needs)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += headers.BY_NAME[name].needs
    for name in sorted(needed - {"qnnrt_json"}):
        other = headers.BY_NAME[name]
        if other.object != "-" and "\n#define %s_IMPLEMENTATION\n" % other.prefix not in row.text():
            yield "%s does not define %s_IMPLEMENTATION, which its engines need" % (row.path, other.prefix)


def main():
    names, states = declared(), listed()
    faults = list(wrong(names, states)) + list(house()) + list(versions()) + list(engines())
    for state in STATES[1:]:
        for name in sorted(n for n in states if states[n][0] == state):
            print("%-8s %-28s %s" % (state, name, states[name][1]))
    before = sum(state != "new" for state, _ in states.values())
    print("%d functions before, %d now: %s" % (before, len(names), ", ".join(
        "%d %s" % (sum(f == state for f, _ in states.values()), state) for state in STATES)))
    for fault in faults:
        print("api: " + fault)
    print("%d passed, %d failed" % (len(names), len(faults)))
    return 1 if faults else 0


sys.exit(main())
