#!/usr/bin/env python3
"""Print how large the core is, room by room, and check it against its bars.

    python3 tests/project/test_core.py [--times]        --times: also how long it takes to compile, which is not checked

tests/golden/core_rooms.txt and core_names.txt have the rooms and public names of the commit before the core became
small, and where they went. Sizes of code are those of gcc for x86-64; other compilers ($CC) are skipped."""
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

import headers
import rooms

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CC = os.environ.get("CC") or "gcc"
CORE = headers.BY_NAME["qnnrt"]
BESIDE = ("convert", "manifest", "device", "profile")
failed = passed = 0


def bar(what, value, most, now=None):
    """Print one figure. most: its bar, or None; now: what it may be as long as the bar is not reached."""
    global failed, passed
    wrong = most is not None and value > (now or most)
    failed += wrong
    passed += not wrong
    print("%s %-62s %10s%s%s" % ("FAIL:" if wrong else "ok:  ", what, format(value, ","),
                                 "" if most is None else "   at most " + format(now or most, ","),
                                 "; the bar is " + format(most, ",") if now else ""))


def functions(text):
    """Return (lines, name) of each function that is defined in a text."""
    bare = rooms.strip(text).split("\n")
    found, name, begin = [], None, 0
    for number, line in enumerate(bare):
        if re.match(r"[A-Za-z_][^;=#]*\w\(", line) and not line.startswith(("typedef", "struct", "enum", "union")):
            name, begin = re.search(r"(\w+)\(", line).group(1), number
        elif line.startswith("}") and name:
            found.append((number - begin + 1, name))
            name = None
        elif line.rstrip().endswith(";") and not line.startswith((" ", "\t")):
            name = None
    return found


def public(text):
    """Return the functions of the core, those for headers above, and the structs with members."""
    begin = text.index("for code that stands on qnnrt.h -- */")
    end = text.index("/* ------", begin)
    bare = re.sub(r"/\*.*?\*/", lambda m: " " * len(m.group(0)), text, flags=re.S)
    calls = [(m.start(), m.group(1)) for m in re.finditer(r"^QNNRT_API\s[^;{}]*?\b(qnnrt_\w+)\s*\([^;{}]*\)[^;{}]*;", bare, re.M)]
    above = [name for at, name in calls if begin < at < end]
    return [name for _, name in calls if name not in above], above, re.findall(r"^typedef struct (qnnrt_\w+)\s*\{", bare, re.M)


def read(row):
    header = rooms.Header(row.path, row.text(), row.begin(), row.guard, row.end())
    return {room.name: room.lines + room.about.count("\n") + 2 for room in header.rooms}


def table():
    """Print each room, its lines before and now, and where the rest is."""
    global failed, passed
    now = read(CORE)
    now["manual"] = CORE.declared().count("\n")
    elsewhere = {name: read(headers.BY_NAME["qnnrt_" + name]) for name in BESIDE + ("builder", "explain")}
    listed = set()
    print("%-14s %7s %7s  %s" % ("room", "before", "now", "what moved, and where"))
    with open(os.path.join(TOP, "tests/golden/core_rooms.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            name, before, where = line.rstrip("\n").split(None, 2)
            listed.add(name)
            print("%-14s %7s %7s  %s" % (name, before, now.get(name, "-"), where))
            for header, room in re.findall(r"(\w+)\.h: (\w+)(?=[;,]|$)", where):
                if header in elsewhere and room not in elsewhere[header]:
                    failed += 1
                    print("FAIL: tools/qnnrt_%s.h has no room >>%s" % (header, room))
            if name not in now and where == "-":
                failed += 1
                print("FAIL: >>%s is gone, and tests/golden/core_rooms.txt does not say where to" % name)
    missing = sorted(set(now) - listed)
    failed, passed = failed + bool(missing), passed + (not missing)
    if missing:
        print("FAIL: tests/golden/core_rooms.txt lacks " + " ".join(missing))
    print()


def names():
    """Print the public names before, and check that each is where tests/golden/core_names.txt says."""
    global failed, passed
    where_now = {}
    for row in headers.ROWS:
        bare = re.sub(r"/\*.*?\*/", "", row.text(), flags=re.S)
        for name in re.findall(r"^(?:%s|QNNRT)_API\s[^;{}]*?\b(qnnrt_\w+)\s*\(" % row.prefix, bare, re.M) + \
                re.findall(r"^typedef struct (qnnrt_\w+)\s*\{", bare, re.M):
            where_now[name] = os.path.basename(row.path)
    kept = {"function": 0, "struct": 0}
    print("%-8s %-30s %s" % ("before", "", "now"))
    with open(os.path.join(TOP, "tests/golden/core_names.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            kind, name, where = line.rstrip("\n").split(None, 2)
            kept[kind] += where == "-"
            if where != "-":
                print("%-8s %-30s %s" % (kind, name, where))
            header, _, others = where.rpartition(": ")
            wanted = re.findall(r"qnnrt_\w+", others) or [name]
            if where.endswith(".h"):
                header = where
            lacks = [each for each in wanted if where_now.get(each) != ("qnnrt_" + header if header else "qnnrt.h")]
            failed, passed = failed + bool(lacks), passed + (not lacks)
            if lacks:
                print("FAIL: %s is not in qnnrt%s" % (", ".join(lacks), "_" + header if header else ".h"))
    print("%d functions and %d structs are where they were\n" % (kept["function"], kept["struct"]))


def compiled(folder, flags, source="#define QNNRT_IMPLEMENTATION\n#include \"qnnrt.h\"\n"):
    """Compile, and return the object and the seconds of CPU."""
    path = os.path.join(folder, "core.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([CC, "-std=c99", "-I", TOP, "-c", path, "-o", path + ".o"] + flags, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return path + ".o", after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def sizes(path):
    line = subprocess.run(["size", path], check=True, capture_output=True, text=True).stdout.splitlines()[1].split()
    return int(line[0]), int(line[2])


def is_gcc():
    said = subprocess.run([CC, "-dM", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True).stdout
    return "__x86_64__ 1" in said and "__GNUC__" in said and "__clang__" not in said


def main():
    table()
    names()
    text = CORE.text()
    bar("lines of qnnrt.h", text.count("\n"), 12500)
    bar("bytes of qnnrt.h", len(text.encode()), 640 * 1024)
    for name in BESIDE + ("builder",):
        bar("lines of qnnrt_%s.h" % name, headers.BY_NAME["qnnrt_" + name].text().count("\n"), 3000 if name == "builder" else None)
    bar("lines of convert, manifest, device and profile together",
        sum(headers.BY_NAME["qnnrt_" + name].text().count("\n") for name in BESIDE), 4500, 6540)
    calls, above, structs = public(CORE.declared())
    bar("public functions, without those for headers above", len(calls), 60)
    bar("public functions for headers above", len(above), None)
    bar("public structs", len(structs), 38)
    bodies = sorted(functions(text[text.index(CORE.begin()):]))
    bar("lines of the longest function, %s()" % bodies[-1][1], bodies[-1][0], 60)
    bar("lines of the median function, of %d" % len(bodies), int(statistics.median(lines for lines, _ in bodies)), 13)
    if not is_gcc():
        print("core: skipped: sizes of code are those of gcc for x86-64")
    else:
        with tempfile.TemporaryDirectory() as folder:
            code, zeroed = sizes(compiled(folder, ["-O2"])[0])
            bar("bytes of code and constants, -O2", code, 265000)
            bar("bytes of zeroed data", zeroed, 2048)
            bar("bytes of code and constants, -Os, QNNRT_NO_ERROR_TEXT",
                sizes(compiled(folder, ["-Os", "-DQNNRT_NO_ERROR_TEXT"])[0])[0], 150000)
            if "--times" in sys.argv:
                with open(os.path.join(TOP, "examples/01_hello.c"), encoding="utf-8") as file:
                    hello = file.read().replace("../qnnrt.h", "qnnrt.h")
                for what, flags, source in (("the implementation, -O2", ["-O2"], None), ("01_hello.c, -O0", ["-O0"], hello)):
                    seconds = sorted(compiled(folder, flags, *([source] if source else []))[1] for _ in range(5))
                    print("     %-62s %10.2f   median %.2f" % ("seconds of CPU to compile " + what, seconds[0], seconds[2]))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
