#!/usr/bin/env python3
"""Each room of the headers uses only rooms that its banner names, all of them above it, and is not too large.

    python3 tests/project/test_rooms.py [-v]        -v: prints the used names of each room

Prints the rooms, their lines and the names they use; tests/project/rooms.py finds them. Likewise each folder of units of a
program uses only those that its header names: tests/project/units.py. No line of a header or tool has more than 100 characters."""
import glob
import os
import re
import sys

import headers
import rooms
import units

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Lines of a room; rooms that are tables alone may have more.
MOST = 600
DATA = {"vendor_codes", "vendor_names", "known_codes", "known_lines"}
FLOOR = {"config"}
# Characters of a line.
WIDEST = 100

# Keys of rooms, and how many rooms their headers have at least.
KEYS = {key: sum(row.rooms for row in headers.ROWS if row.key == key)
        for key in dict.fromkeys(row.key for row in headers.ROWS) if key != "-"}


def unit(key):
    """Return the headers of a key, which are one translation unit, that with the object first."""
    return sorted((row for row in headers.ROWS if row.key == key), key=lambda row: row.part)


def load(key, change=lambda path, text: text):
    """Return the headers of a key, each after a change of its text."""
    files = unit(key)
    found = [rooms.Header(row.path, change(row.path, row.text()), row.begin(), row.guard, row.end()) for row in files]
    rooms.read(found, [headers.BY_NAME[name].declared() for name in files[0].needs], DATA)
    return found


def wide(paths):
    """Return the lines that are too long, and loops that declare a variable."""
    found = []
    for path in paths:
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if len(line.rstrip("\n")) > WIDEST:
                    found.append("%s:%d: %d characters, at most %d" % (path, number, len(line.rstrip("\n")), WIDEST))
                if path.endswith(".h") and re.search(r"\bfor \((?:const )?[a-z_]\w* \*?\w+ *[=;,]", line):
                    found.append("%s:%d: a loop declares a variable; blocks declare at their top" % (path, number))
    return found


def floorless():
    """Return the floors of coverage of rooms that do not exist."""
    with open(os.path.join(TOP, "tests/gates/floors"), encoding="utf-8") as file:
        rows = [line.split()[:2] for line in file if not line.startswith("#")]
    texts = {path: open(os.path.join(TOP, path), encoding="utf-8").read() if os.path.exists(os.path.join(TOP, path)) else "" for path in {row[0] for row in rows}}
    return ["tests/gates/floors: %s has no room >>%s" % (path, room) for path, room in rows
            if not re.search(r">>%s$" % room if room != "-" else ".", texts[path], re.M)]


def main():
    failed = passed = 0
    verbose = "-v" in sys.argv[1:]
    paths = ["qnnrt.h", "qnnrt_json.h"]
    paths += sorted(os.path.relpath(path, TOP) for kind in "hc" for path in glob.glob(os.path.join(TOP, "tools", "*." + kind)) +
                    glob.glob(os.path.join(TOP, "tools", "engines", "*." + kind)))
    programs = units.load()
    paths += sorted(programs)
    wrong = wide(paths)
    for text in wrong:
        print("rooms: " + text)
    failed += len(wrong)
    passed += len(paths) - len({text.split(":")[0] for text in wrong})
    wrong = units.faults(programs)
    for text in wrong:
        print("rooms: " + text)
    print("\n".join("  " + line for line in units.drawing(programs)))
    failed += len(wrong)
    passed += len(programs)
    for key, fewest in KEYS.items():
        loaded = load(key)
        wrong = rooms.faults(loaded, FLOOR, MOST, DATA)
        for text in wrong:
            print("rooms: " + text)
        every = [room for header in loaded for room in header.rooms]
        if len(every) < fewest:
            wrong.append("banners are missing")
        for room in every:
            print("  >>%-10s %5d lines   %s" % (room.name, room.lines, " ".join(">>" + r.name for r in every if r.name in room.uses)))
            if verbose:
                for owner in sorted(room.uses):
                    print("        >>%s: %s" % (owner, " ".join(sorted(room.uses[owner]))))
        failed += len(wrong)
        passed += len(every)
    for text in floorless():
        print("rooms: " + text)
        failed += 1
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
