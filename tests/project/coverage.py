"""Lines and branches of each room of the headers that the unit tests run, beside their floors; see coverage.sh.

    python3 tests/project/coverage.py LCOV JSON FLOORS [--write]

LCOV and JSON are what llvm-cov export writes: lines are counted in the first, branches in the second, where copies of
a function have the same place. FLOORS has a line for each room: header, room (- is what stands in none), whole percents of
lines and of branches. --write writes what was measured, rounded down; no floor sinks by it.
Exit status 1: a room is below a floor, or has none."""
import json
import os
import re
import sys

BANNER = re.compile(r"   [A-Z][A-Z ,0-9-]+ >>(\w+)$")


def rooms_of(path):
    """Return the name of the room of each line."""
    room, found = "-", []
    for line in open(path, encoding="utf-8"):
        banner = BANNER.match(line)
        room = banner.group(1) if banner else room
        found.append(room)
    return found


def header_of(path):
    """Return the path below the checkout, or None for what is not a header of ours."""
    path = os.path.relpath(path)
    return path if re.fullmatch(r"qnnrt\w*\.h|tools/(engines/)?qnnrt_\w+\.h", path) else None


def read(lcov, branches):
    """Return {header: {("line" or a place of a branch and its side): (line, was it run)}}."""
    places = {}
    for line in open(lcov, encoding="utf-8"):
        name, _, value = line.strip().partition(":")
        if name == "SF":
            header = header_of(value)
        elif name == "DA" and header:
            number, count = value.split(",")[:2]
            places.setdefault(header, {})["line", int(number)] = int(count) > 0
    for file in json.load(open(branches, encoding="utf-8"))["data"][0]["files"]:
        header = header_of(file["filename"])
        for branch in file.get("branches", []) if header else []:
            for side in (4, 5):
                key = ("branch", branch[0], tuple(branch[1:4]), side)
                seen = places.setdefault(header, {})
                seen[key] = seen.get(key, False) or branch[side] > 0
    return places


def share(pair):
    """Return hundredths of a percent."""
    return 10000 * pair[0] // pair[1] if pair[1] else 10000


def main(lcov, branches, table, *words):
    floors, rows, bad = {}, {}, 0
    if os.path.exists(table):
        for line in open(table, encoding="utf-8"):
            if line.strip() and line[0] != "#":
                header, room, *least = line.split()
                floors[header, room] = [int(one) for one in least]
    for header, places in sorted(read(lcov, branches).items()):
        rooms, total = rooms_of(header), {"line": [0, 0], "branch": [0, 0]}
        for key, was_run in places.items():
            for counts in (total, rows.setdefault((header, rooms[key[1] - 1]), {"line": [0, 0], "branch": [0, 0]})):
                counts[key[0]][0] += was_run
                counts[key[0]][1] += 1
        print("%-36s %5.1f %% of %5d lines  %5.1f %% of %5d branches" % (
            header, share(total["line"]) / 100, total["line"][1], share(total["branch"]) / 100, total["branch"][1]))
    for at, counts in sorted(rows.items()):
        measured = [share(counts["line"]), share(counts["branch"])]
        if "--write" in words:
            floors[at] = [max(one // 100, old) for one, old in zip(measured, floors.get(at, (0, 0)))]
        elif at not in floors:
            bad += 1
            print("coverage: %s >>%s has no floor: say make coverage FLOORS=--write" % at)
        for what, one, least in zip(("lines", "branches"), measured, floors.get(at, (0, 0))):
            if one < 100 * least:
                bad += 1
                print("coverage: %s >>%s: %.1f %% of %s, the floor is %d %%" % (*at, one / 100, what, least))
    if "--write" in words:
        with open(table, "w", encoding="utf-8") as file:
            file.write("# Floors of coverage, in whole percents: header, room, lines, branches. make coverage FLOORS=--write raises them.\n")
            file.writelines("%s %s %d %d\n" % (*at, *floors[at]) for at in sorted(rows))
    print("coverage: %d rooms of %d headers; %d figures are below their floors" % (len(rows), len({at[0] for at in rows}), bad))
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
