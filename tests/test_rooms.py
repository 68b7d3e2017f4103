#!/usr/bin/env python3
"""Each room of qnnrt.h, qnnrt_compose.h, qnnrt_profile_log.h and qnnrt_llm.h uses only rooms that its banner names, all of them above it, and is not too large."""
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
passed = failed = 0

# What does not carry its room's name in its own, as far as the first underscore.
QNNRT = {"arena": "mem", "fail": "err", "hint": "err", "vendor": "vendor_codes", "end": "pipeline", "join": "pipeline", "spot": "place", "entry": "place", "step": "run",
         "hooks": "mem", "assert": "config", "read": "read_json"}
LLM = {"clean": "config", "fail": "config", "error": "config", "alloc": "config", "free": "config", "count": "config", "hint": "config",
       "kv": "shape", "ends": "shape", "slots": "shape", "graph": "shape", "layered": "shape", "keep": "shape", "drop": "shape",
       "facts": "shape", "same": "shape", "store": "rows", "table": "session", "feed": "session", "run": "session", "part": "session",
       "wants": "session", "number": "session", "fresh": "rows"}


def check(good, message):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("rooms: " + message)


def check_header(path, prefix, owner, fewest, largest, begin=None, guard=None, once=None, above=()):
    """prefix: of private names; owner: see above; fewest: rooms; largest: lines of rooms that may be longer than others.
    begin, guard, once: what begins the implementation, guards the header, ends the implementation; above: rooms of
    the header that includes this one. Returns the names of the rooms."""
    macro = prefix.upper()
    begin = begin or "#ifdef %s_IMPLEMENTATION" % macro
    guard = guard or "#ifndef %s_H" % macro
    once = once or "#endif /* %s__IMPL_ONCE */" % macro
    text = open(os.path.join(TOP, path)).read()
    banner = re.compile(r"/\* =+\n   [^\n]*?>>(\w+)\n(.*?)=+ \*/", re.S)
    rooms = [(m.group(1), m.group(2), m.start(), m.end())
             for m in banner.finditer(text, text.index(begin))]
    names = [room[0] for room in rooms]
    check(len(names) == len(set(names)) and len(names) > fewest, "%s: a tag occurs twice, or banners are missing: %s" % (path, names))

    listed = re.findall(r">>(\w+)", text[text.index("ROOMS (search"):text.index(guard)])
    check(listed == names, "%s: the manual lists the rooms as %s, they are %s" % (path, listed, names))
    names = list(above) + names

    for at, (name, about, _, begin) in enumerate(rooms):
        end = rooms[at + 1][2] if at + 1 < len(rooms) else text.index(once)
        at += len(above)
        body = re.sub(r"/\*.*?\*/", "", text[begin:end], flags=re.S)
        body = re.sub(r'"(\\.|[^"\\])*"', '""', body)
        needs_text = about[about.index("Needs:"):].split("Knows")[0] if "Needs:" in about else ""
        here = "%s: >>%s" % (path, name)
        check("Needs:" in about and "Knows nothing of:" in about, "%s does not say what it needs and must not know" % here)
        needs = set(re.findall(r">>(\w+)", needs_text))
        if "every room above" in needs_text:
            needs = set(names[:at])
        for need in sorted(needs):
            check(need in names[:at], "%s needs >>%s, which is not above it" % (here, need))
        used = set()
        for symbol in re.findall(r"\b%s__([a-z0-9]+)\w*" % prefix, body):
            used.add(owner.get(symbol, symbol))
        used -= {name, "config", "x"}
        for use in sorted(used):
            check(use in names, "%s uses %s__%s..., which belongs to no room" % (here, prefix, use))
            check(use in needs, "%s uses >>%s and does not say so" % (here, use))
        for need in sorted(needs - used - {"config"}):
            by_struct = re.search(r">>%s \(" % need, needs_text) is not None     # "(its struct)": used without a call
            check(by_struct or "every room above" in needs_text, "%s says that it needs >>%s and does not use it" % (here, need))
        count = text[begin:end].count("\n")
        most = largest.get(name, 1100)
        check(count <= most, "%s has %d lines; more than %d are two rooms" % (here, count, most))
    return names


ROOMS = check_header("qnnrt.h", "qnnrt", QNNRT, 15, {})
check_header("tools/qnnrt_compose.h", "qnnrt", QNNRT, 3, {}, "#define QNNRT__COMPOSE_ONCE", "#ifndef QNNRT_COMPOSE_H",
             "#endif /* QNNRT__COMPOSE_ONCE */", ROOMS)
check_header("tools/qnnrt_profile_log.h", "qnnrt", QNNRT, 0, {}, "#define QNNRT__PROFILE_LOG_ONCE", "#ifndef QNNRT_PROFILE_LOG_H",
             "#endif /* QNNRT__PROFILE_LOG_ONCE */", ROOMS)
check_header("tools/qnnrt_llm.h", "qnnrt_llm", LLM, 15, {})

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
