#!/usr/bin/env python3
"""Each room of qnnrt.h uses only rooms that its banner names, all of them above it, and is not too large."""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
text = open(os.path.join(TOP, "qnnrt.h")).read()

# What does not carry its room's name in its own.
OWNER = {"arena": "mem", "fail": "err", "end": "pipeline", "join": "pipeline", "spot": "place", "entry": "place", "step": "run",
         "hooks": "mem", "assert": "config", "read": "read_json"}
passed = failed = 0


def check(good, message):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("rooms: " + message)


banner = re.compile(r"/\* =+\n   [^\n]*?>>(\w+)\n(.*?)=+ \*/", re.S)
rooms = [(m.group(1), m.group(2), m.start(), m.end()) for m in banner.finditer(text, text.index("#ifdef QNNRT_IMPLEMENTATION"))]
names = [room[0] for room in rooms]
check(len(names) == len(set(names)) and len(names) > 15, "a tag occurs twice, or banners are missing: %s" % names)

listed = re.findall(r">>(\w+)", text[text.index("ROOMS (search"):text.index("#ifndef QNNRT_H")])
check(listed == names, "the manual lists the rooms as %s, they are %s" % (listed, names))

for at, (name, about, _, begin) in enumerate(rooms):
    end = rooms[at + 1][2] if at + 1 < len(rooms) else text.index("#endif /* QNNRT__IMPL_ONCE */")
    body = re.sub(r"/\*.*?\*/", "", text[begin:end], flags=re.S)
    body = re.sub(r'"(\\.|[^"\\])*"', '""', body)
    needs_text = about[about.index("Needs:"):].split("Knows")[0] if "Needs:" in about else ""
    check("Needs:" in about and "Knows nothing of:" in about, ">>%s does not say what it needs and must not know" % name)
    needs = set(re.findall(r">>(\w+)", needs_text))
    if "every room above" in needs_text:
        needs = set(names[:at])
    for need in sorted(needs):
        check(need in names[:at], ">>%s needs >>%s, which is not above it" % (name, need))
    used = set()
    for symbol in re.findall(r"\bqnnrt__([a-z0-9]+)\w*", body):
        used.add(OWNER.get(symbol, symbol))
    used -= {name, "config", "x"}
    for use in sorted(used):
        check(use in names, ">>%s uses qnnrt__%s..., which belongs to no room" % (name, use))
        check(use in needs, ">>%s uses >>%s and does not say so" % (name, use))
    for need in sorted(needs - used - {"config"}):
        by_struct = re.search(r">>%s \(" % need, needs_text) is not None     # "(its struct)": used without a call
        check(by_struct or "every room above" in needs_text, ">>%s says that it needs >>%s and does not use it" % (name, need))
    count = text[begin:end].count("\n")
    most = 1500 if name == "compose" else 1100
    check(count <= most, ">>%s has %d lines; more than %d are two rooms" % (name, count, most))

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
