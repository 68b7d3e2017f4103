#!/usr/bin/env python3
"""Draw what includes and calls what, from the top floor to the ground; no arrow runs upwards or in a circle.

    python3 tests/project/test_layers.py [WORD]     the drawings with this word in their names; make layers

First the house: each header and each folder of tools, and the examples. Then what is inside: files of folders, rooms of
headers. An arrow is an include, or a call of a function that the other file alone defines. A header may use those that
tools/headers names for it, a unit of libQnnRef.so those that ref.h lists below it; test_rooms.py has the rules of rooms."""
import collections
import fnmatch
import os
import re
import sys

import headers
import rooms
import test_rooms
import units

TOP = headers.TOP
CODE = (".h", ".c", ".hpp", ".cpp", ".py", ".cmake")
INCLUDE = re.compile(r'^\s*#\s*include "([\w./-]+)"|^(?:from|import) \.?([\w.]+)(?: import (\w+))?', re.M)
# Folders that are linked with each other.
PROGRAMS = {"tools/cli", "tools/run", "tools/llm"}
FUNCTION = re.compile(r"^(?!static|typedef|else|return)[A-Za-z_][^;{}=#()\n]*?\b(\w+)\([^;{}#]*\)\s*\{", re.M)
DATA = re.compile(r"^(?!static|typedef|extern|struct \w+;)[A-Za-z_][\w *]*?[ *](\w+)(?:\[\w*\])*(?: =[^;]*)?;", re.M)
STATIC = re.compile(r"^static [^;{}=#()]*?\b(\w+)\(", re.M)


def load():
    """Return the texts of all files with code, by their paths."""
    texts = {}
    for top in ("tools", "examples"):
        for folder, _, names in os.walk(os.path.join(TOP, top)):
            texts.update((os.path.join(folder, name), None) for name in names if name.endswith(CODE))
    for path in list(texts) + [os.path.join(TOP, row.path) for row in headers.ROWS]:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    return {os.path.relpath(path, TOP): text for path, text in sorted(texts.items())}


def included(path, text, texts):
    """Return the files that a text includes or imports."""
    for quoted, module, name in INCLUDE.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
        words = [quoted] if quoted else [module.replace(".", "/") + ".py", name + ".py"]
        places = [os.path.dirname(path), "tools", "tools/engines", "tools/run", "examples", ""] if quoted else [os.path.dirname(path)]
        yield from [found for found in (os.path.normpath(os.path.join(place, word)) for word in words for place in places) if found in texts][:1]


def arrows(texts):
    """Return {path: the paths that it includes, and those whose names it uses}."""
    found = {path: set(included(path, text, texts)) for path, text in texts.items()}
    owners, data = collections.defaultdict(set), set()
    plain = {path: rooms.strip(text) for path, text in texts.items() if path.endswith(".c") or path in headers.BY_PATH}
    for path, text in plain.items():
        if path in headers.BY_PATH:
            names = units.declared(headers.BY_PATH[path].declared())[0]
        else:
            tables = [name for name in DATA.findall(text) if "_" in name]
            data |= set(tables)
            names = FUNCTION.findall(text) + tables
        for name in names:
            owners[name].add(path)
    for path, text in plain.items():
        words = {name for name, call in re.findall(r"(?<![.>\w])([A-Za-z_]\w*)(\(?)", text) if call or name in data}
        for name in words & set(owners) - set(STATIC.findall(text)):
            near = {owner for owner in owners[name] if owner in headers.BY_PATH or house(owner) == house(path)
                    or {house(owner), house(path)} <= PROGRAMS}
            if len(near) == 1:
                found[path] |= near
    return {path: others - {path} for path, others in found.items()}


def needed(row):
    """Return the headers that a header needs, and those that they need."""
    return set(row.needs).union(*(needed(headers.BY_NAME[name]) for name in row.needs))


def house(path):
    """Return what a file is in the drawing of the house: itself, or its folder."""
    return path if path in headers.BY_PATH or path.endswith("pp") and "ggml" not in path else "/".join(path.split("/")[:2 if path.startswith("tools/") else 1])


def group(edges, name_of):
    """Return the arrows between groups; name_of(path) None: left out."""
    grouped = {name_of(path): set() for path in edges}
    for path, others in edges.items():
        grouped[name_of(path)] |= {name_of(other) for other in others} - {name_of(path)}
    return {name: others - {None} for name, others in grouped.items() if name is not None}


def floors(edges):
    """Return the names by floors from the ground, and those that are left in circles or above one."""
    done, built = set(), []
    while True:
        floor = sorted(name for name in edges if name not in done and edges[name] & set(edges) <= done)
        if not floor:
            return built, sorted(set(edges) - done)
        built.append(floor)
        done |= set(floor)


def circle(edges, names):
    """Return one circle among names of which each uses another."""
    path = [names[0]]
    while path[-1] not in path[:-1]:
        path.append(sorted(edges[path[-1]] & set(names))[0])
    return path[path.index(path[-1]):]


def draw(title, edges, order=()):
    """Return a drawing as lines, and its faults. order: names from the top to the ground, where that is stated."""
    built, left = floors(edges)
    lines = ["%s: %d floors" % (title, len(built))]
    for number, floor in reversed(list(enumerate(built, 1))):
        lines += [("%3d  %-26s %s" % (number, name, " ".join(sorted(edges[name])))).replace("tools/", "") for name in floor]
    wrong = ["%s: a circle: %s" % (title, " -> ".join(circle(edges, left)))] if left else []
    for name in sorted(edges) if order else ():
        if name in order:
            wrong += ["%s: %s uses %s, which is not below it" % (title, name, other) for other in order[:order.index(name)] if other in edges[name]]
        elif not name.endswith(".h"):
            wrong.append("%s: %s is not in the list of layers" % (title, name))
    return lines, wrong


def look(texts):
    """Return all drawings of these files, each its lines and its faults."""
    edges = arrows(texts)
    yield draw("the house", group(edges, house))
    for row in headers.ROWS:
        yield [], ["%s uses %s, and tools/headers does not say so" % (row.path, other) for other in sorted(edges[row.path])
                   if os.path.basename(other)[:-2] not in needed(row)]
    inside = {name: {path for path in edges if house(path) == name} for name in group(edges, house)}
    inside.update({"tools/run/" + name: {path for path in inside["tools/run"] if path.startswith("tools/run/%s/" % name)}
                   for name in {path.split("/")[2] for path in inside["tools/run"]} if "." not in name})
    for name, paths in sorted(inside.items()):
        near = {path: edges[path] & paths for path in paths}
        if name == "tools/run":
            yield draw(name, group(near, lambda path: path.split("/")[2]))
        elif any(near.values()):
            grouped = group(near, lambda path: os.path.relpath(path, name))
            listed = re.findall(r"[\w*]+\.c\b", units.head(texts["tools/refbackend/ref.h"])) if name == "tools/refbackend" else ()
            yield draw(name, grouped, [unit for word in listed for unit in sorted(fnmatch.filter(grouped, word))])


def rooms_of(key):
    """Draw the rooms of the headers with this key."""
    every = [room for header in test_rooms.load(key) for room in header.rooms]
    return draw("rooms of " + key, {room.name: set(room.uses) - test_rooms.FLOOR for room in every})


def main():
    wrong, files = [], load()
    for lines, faults in [*look(files), *(rooms_of(key) for key in test_rooms.KEYS)]:
        wrong += faults
        if lines and (len(sys.argv) < 2 or sys.argv[1] in lines[0]):
            print("\n".join([""] + lines))
    print("\n".join(["", *("layers: " + text for text in wrong), "%d passed, %d failed" % (len(files), len(wrong))]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
