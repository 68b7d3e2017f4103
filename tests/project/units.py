"""The units of the programs: which folder uses which, and what the headers of the folders say about it.

A folder of tools/cli, tools/run and tools/llm has headers. Each says in "Needs:" which other folders the units that
it lists use, and in "UNITS" which rooms they have. Folders do not use each other in a circle; a unit has at most MOST
lines and says its rooms at its head; one that calls a library includes cli/stages.h last, so that a crash is told.
"""
import glob
import os
import re

import rooms

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST = 500
STAGES = "tools/cli/stages.h"


def load():
    """Return the texts of all units and headers, by their paths."""
    texts = {}
    for pattern in ("cli/*.[ch]", "run/*.[ch]", "run/*/*.[ch]", "llm/*.[ch]"):
        for path in sorted(glob.glob(os.path.join(TOP, "tools", pattern))):
            with open(path, encoding="utf-8") as file:
                texts[os.path.relpath(path, TOP)] = file.read()
    return texts


def folder(path):
    """Return "io" for tools/run/io/zip.c, and "run" for tools/run/main.c."""
    return os.path.basename(os.path.dirname(path))


def head(text):
    return text[:text.index("*/")]


def listed(text):
    """Return the units that a header lists, each with its rooms; None: it has no such list."""
    part = head(text).partition("   UNITS ")
    return {name: re.findall(r">>(\w+)", tags) for name, tags in re.findall(r"(\w+\.c)(?::((?:\s+>>\w+)+))?", part[2])} if part[1] else None


def needs(text):
    found = re.search(r"^   Needs: +(.*(?:\n {12}.*)*)", head(text), re.M)
    return set(re.findall(r"\w+", found.group(1))) - set("nothing but headers".split()) if found else None


def declared(text):
    """Return the names that a header declares: functions, and all others."""
    code = re.sub(r"\\\n", " ", rooms.strip(text))
    macros = set(re.findall(r"^#\s*define (\w+)(?=[ (])", code, re.M)) - {"_POSIX_C_SOURCE", "CLI_NAME"}
    code = re.sub(r"^#.*$", "", code, flags=re.M)
    words = set(re.findall(r"^extern [^;=]*?(\w+)(?:\[\w*\])*;", code, re.M)) | set(re.findall(r"^} (\w+);", code, re.M))
    for body in re.findall(r"\benum\b[^{;]*\{(.*?)\}", code, re.S):
        words |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\([^()]*\)", "", body)))
    functions = set(re.findall(r"^[a-zA-Z][^;{}=#]*?\b(\w+)\((?=[^;]*\);)", re.sub(r"^CLI_FORMAT\([^)]*\)", "", code, flags=re.M), re.M))
    return functions, words | macros


def uses(text, functions, words):
    """Return which of these names a text uses: functions that are called or passed, types of declarations, constants."""
    code = rooms.strip(text)
    code = re.sub(r"^#\s*include.*$", "", code, flags=re.M)
    code = re.sub(r"\bstruct \w+\s+\*", "int *", code)      # known by name alone
    own = set(re.findall(r"[\w*,] +\**(\w+)(?= =|;|, |\)|\[)", code))
    found = set(re.findall(r"(?<![.>\w])(\w+)(?=\()", code)) & functions
    for name in set(re.findall(r"(?<![.>\w])[A-Za-z_]\w*", code)) & words:
        constant = name.upper() == name or name not in own
        if constant or re.search(r"(?<![.>\w])%s \**\w+ ?[=;,()\[]" % name, code):
            found.add(name)
    return found


def faults(texts):
    """Return what is wrong, as sentences."""
    wrong, where, stated, names = [], {}, {}, {}
    headers = [path for path in texts if path.endswith(".h") and path != STAGES]
    for path, text in texts.items():
        if text.count("\n") > MOST:
            wrong.append("%s has %d lines, at most %d" % (path, text.count("\n"), MOST))
    for path in headers:
        functions, words = names.setdefault(folder(path), (set(), set()))
        more = declared(texts[path])
        functions |= more[0]
        words |= more[1]
        if needs(texts[path]) is None:
            wrong.append("%s does not say what it needs" % path)
        stated.setdefault(folder(path), set()).update(needs(texts[path]) or set())
    for path in headers:
        for unit, tags in (listed(texts[path]) or {}).items():
            where.setdefault(os.path.join(os.path.dirname(path), unit), []).append((path, tags))
    rooms_of = {}
    for path, text in texts.items():
        if path.endswith(".h"):
            continue
        tags = re.findall(r"^/\* =+\n   [A-Z][^\n]*>>(\w+)$", text, re.M)
        own = re.findall(r">>(\w+)", re.split(r"\n   ROOMS? ", head(text))[-1]) if "   ROOM" in head(text) else []
        if own != tags:
            wrong.append("%s lists %s and has %s" % (path, own, tags))
        if os.path.basename(path) != "headers.c" and [row[1] for row in where.get(path, [])] != ([tags] if tags else [[]]):
            if not (folder(path) == "show" and not tags):
                wrong.append("%s has %s, and its header lists %s" % (path, tags, where.get(path)))
        for tag in tags:
            program = path.split("/")[1]
            for other in rooms_of.setdefault((program, tag), []):
                wrong.append(">>%s is a room of %s and of %s" % (tag, other, path))
            rooms_of[program, tag].append(path)
        wrong += stage_faults(path, text, texts[STAGES])
    wrong += ["%s is listed, and is no unit" % path for path in where if path not in texts]
    used = {name: set() for name in names}
    for path, text in texts.items():
        for other, (functions, words) in names.items():
            if other == folder(path) or path == STAGES or os.path.basename(path) == "headers.c":
                continue
            if (other == "llm") != (folder(path) == "llm") and other not in ("cli", folder(path)):
                continue                    # two programs
            found = uses(text, functions, words)
            if found:
                used[folder(path)].add(other)
                if other not in stated[folder(path)]:
                    wrong.append("%s uses %s of %s, and its folder does not need that" % (path, " ".join(sorted(found)[:5]), other))
    for name, all_needs in stated.items():
        wrong += ["%s needs %s and does not use it" % (name, other) for other in sorted(all_needs - used.get(name, set()))]
    return wrong + circle(stated)


def stage_faults(path, text, stages):
    calls = "|".join(re.findall(r"^#define (qnnrt_\w+)\(", stages, re.M))
    if not re.search(r"\b(?:%s)\(" % calls, rooms.strip(text)):
        return []
    includes = re.findall(r'^#include "(.*)"', text, re.M)
    return [] if includes and includes[-1] == "cli/stages.h" else ["%s calls a library and does not include cli/stages.h last" % path]


def circle(stated):
    """Return a sentence if folders need each other in a circle."""
    left = {name: set(others) & set(stated) for name, others in stated.items()}
    while True:
        needed = set().union(*left.values())
        done = [name for name, others in left.items() if not others & set(left) or name not in needed]
        if not done:
            return ["these folders need each other: " + " ".join(sorted(left))] if left else []
        for name in done:
            del left[name]
        for others in left.values():
            others -= set(done)


def drawing(texts):
    """Return the folders as lines, each after those that it needs."""
    stated = {}
    for path, text in texts.items():
        if path.endswith(".h") and path != STAGES:
            stated.setdefault(folder(path), set()).update(needs(text) or set())
    lines, done = [], set()
    while len(done) < len(stated):
        ready = [name for name in stated if name not in done and not (stated[name] & set(stated)) - done]
        if not ready:
            break
        for name in ready:
            lines.append("%-8s %3d units %6d lines   needs %s" % (name, *size(texts, name), " ".join(sorted(stated[name])) or "headers alone"))
        done |= set(ready)
    return lines


def size(texts, name):
    own = [path for path in texts if folder(path) == name]
    return sum(path.endswith(".c") for path in own), sum(texts[path].count("\n") for path in own)


if __name__ == "__main__":
    print("\n".join(drawing(load()) + faults(load())))
