#!/usr/bin/env python3
"""Check that the unit tests notice changes of the code: build and test mutants of rooms of the headers.

    python3 tests/project/mutants.py [-n COUNT] [-s SEED] [-r ROOM,ROOM] [-b COMMIT] [-o FILE]

A mutant is one change of one line: an operator becomes another one, a number grows or shrinks by one, a condition is
inverted, a statement is removed. -b changes only lines that differ from those of a commit. A mutant is compiled (gcc -O0),
linked with the tests of its header that tests/index names, those of its room first, and run: it is killed when it does not
compile, or when a test fails, crashes, or takes ten times its usual processor time (and 5 s more). Survivors are printed as
a diff. Exit status 1 when fewer than 92 % of the mutants were killed.

Works in build/mutants. Uses the sources as they are; `make check` should pass before."""
import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys

import headers
import rooms
import table

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join("build", "mutants")
CC = os.environ.get("CC", "gcc")
FLAGS = ["-std=c99", "-O0", "-w", "-D_POSIX_C_SOURCE=200809L"]
BAR = 92

def objects():
    """Return (object, header, macros) for each implementation."""
    return [(row.object + ".o", row.path, row.macros) for row in headers.ROWS if row.object != "-" and not row.part]


# Headers and where the implementation of each begins; those that have no object of their own are compiled into the first.
TARGETS = [(row.path, row.begin()) for row in headers.ROWS if row.part]
TARGETS += [(path, "#ifdef " + macros[-1]) for _, path, macros in objects()]


def object_of(path):
    return ([name for name, header, _ in objects() if header == path] + [objects()[0][0]])[0]


SWAPS = ((r" == ", " != "), (r" != ", " == "), (r" <= ", " < "), (r" < ", " <= "), (r" >= ", " > "), (r" > ", " >= "),
         (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" \+= ", " -= "),
         (r" & ", " | "), (r" \| ", " & "), (r"\+\+", "--"))
DECLARATION = re.compile(r"\s*(?:static|const|typedef|struct|return|goto|break|continue|case|default|enum|union|"
                         r"(?:unsigned |const )*(?:\w+_t|int|char|float|double|void|long|qnnrt\w*) +\**\w+(?:\[|;|,| =))")
HOOK = re.compile(r"\bQNNRT(?:_LLM__STEP|__STEP|_IR__MUST)\(")    # what tests count, what other builds assert


def sites(line, code):
    """List the possible changes of a line: (kind, new line). code: the line without comments, which may go on in the next."""
    found = []
    if line.lstrip().startswith(("#", "*", "/*")) or "STATIC_ASSERT" in line or HOOK.search(line):
        return found
    for pattern, new in SWAPS:
        for m in re.finditer(pattern, code):
            found.append(("operator", line[:m.start()] + new + line[m.end():]))
    size = re.search(r"\w\[\w+\];\s*$", code) is not None           # of an array: a larger one is not a fault
    last = code.rfind("{ NULL,")                                    # of a table: fields that nobody reads
    for m in re.finditer(r"(?<![\w.])(\d+)(u?)(?![\w.])", "" if size else code):
        octal = re.match(r"0\d", m.group(1)) is not None and code[m.start() - 1] != "-"      # no exponent
        value = int(m.group(1), 8 if octal else 10)
        if (last >= 0 and m.start() > last) or re.search(r"sizeof\([\w.>-]+\[$", code[:m.start()]):   # elements are of one size
            continue
        truth = value == 1 and code[:m.start()].endswith("return ")   # 2 is as true as 1
        for other in ([0] if truth else [value + 1, value - 1] if value > 0 else [1]):
            found.append(("constant", line[:m.start()] + ("0%o" if octal else "%d") % other + m.group(2) + line[m.end():]))
    m = re.match(r"(\s*(?:\} else )?(?:if|while) )\(", code)
    if m:
        depth, end = 0, None
        for i in range(m.end() - 1, len(code)):
            depth += {"(": 1, ")": -1}.get(code[i], 0)
            if depth == 0:
                end = i
                break
        if end is not None:
            found.append(("condition", line[:m.end()] + "!(" + line[m.end():end] + ")" + line[end:]))
    if re.match(r"\s+[^{}]*;\s*$", code) and not DECLARATION.match(code) and "else" not in code and code.count("(") == code.count(")"):
        found.append(("deletion", re.match(r"\s*", line).group(0) + ";"))
    return found


def changed(path, base):
    """Return the numbers of the lines of a file that differ from those of a commit, from 0."""
    diff = subprocess.run(["git", "diff", "-U0", base, "--", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    lines = set()
    for first, count in re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", diff, re.M):
        lines.update(range(int(first) - 1, int(first) - 1 + int(count or 1)))
    return lines


def text_size(line, text):
    """Return true if a line names a number that is nothing but the size of arrays of characters: as those, it is not changed."""
    m = re.match(r"\s*enum \{ (\w+) = \d+ \};$", line)
    return m is not None and (len(re.findall(r"\b%s\b" % m.group(1), text)) ==
                              len(re.findall(r"\bchar +\w+\[%s\];" % m.group(1), text)) + 1)


def mutations(base):
    """List all lines that can be changed: (file, line number, room, changes)."""
    every = []
    for path, begin in TARGETS:
        text = open(os.path.join(TOP, path)).read()
        lines = text.split("\n")
        stripped = rooms.strip(text).split("\n")
        room, only = None, changed(path, base) if base else range(len(lines))
        for number in range(text[:text.index(begin)].count("\n"), len(lines)):
            m = re.match(r"   [A-Z][A-Z ,0-9-]+ >>(\w+)$", lines[number])
            if m:
                room = m.group(1)
            if room and number in only and stripped[number].strip() and stripped[number].strip() == lines[number].split("/*")[0].strip():
                previous = stripped[number - 1].rstrip()
                code = stripped[number].rstrip()
                changes = [] if text_size(code, "\n".join(stripped)) else sites(lines[number], code)
                if previous and previous[-1] not in ";{}:":         # the end of a longer statement stays
                    changes = [c for c in changes if c[0] != "deletion"]
                if changes:
                    every.append((path, number, room, changes))
    return every


def run(command, seconds, test=None):
    """Run a command; a test gets the output of its oracle."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    more = {"TMPDIR": os.path.join(WORK, "tmp"), "LOCPATH": "build/locale"}
    if test and test.oracle:
        more["QNNRT_ORACLE"] = os.path.join(WORK, test.name + ".txt")
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              preexec_fn=limit, timeout=60 + 10 * seconds, env=dict(os.environ, **more))
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return 1, "it hangs"


def includes(folder):
    return ["-I" + folder, "-I" + os.path.join(folder, "tools"), "-I.", "-Itests/harness", "-Itools",
            '-DTEST_FAKE_LIB="build/check/fake/libQnnFake.so"', '-DTEST_FAKE_FOLDER="build/check/fake/"',
            '-DTEST_REF_LIB="build/check/libQnnRef.so"', '-DTEST_OP_PACKAGE="build/fake/libOpPackage.so"',
            '-DTEST_FAKE_ORT="build/check/fake/libFakeOrt.so"', '-DTEST_ENGINES="build/engines"', '-DTEST_QNN="build/qnn"']


def compile_headers(folder, which):
    """Compile the implementation that a change of the header which alters (None: all); return False when one does not compile."""
    for name, header, macros in objects():
        if which is not None and name != object_of(which):
            continue
        friends = headers.FRIENDS if name == "impl.o" else []
        status, _ = run([CC] + FLAGS + includes(folder) + ["-D" + macro for macro in macros] +
                        [word for row in friends for word in ("-D" + row.macros[0], "-include", os.path.join(folder, row.path))] +
                        ["-x", "c", "-c", os.path.join(folder, header), "-o", os.path.join(folder, name)], 120)
        if status != 0:
            return False
    return True


def compiled_again(test):
    """Return true for a test that is compiled with each mutant: it compiles a header itself."""
    return "nojson" in test.needs or re.search(r"define QNNRT\w*_IMPLEMENTATION", test.text()) is not None


def build_test(folder, test, which):
    """Link a test with the objects of a folder; a test that compiles a header itself is compiled again."""
    program = os.path.join(folder, test.name)
    if compiled_again(test):
        text = os.path.join(folder, "own.c")
        source = re.sub(r'#include "\.\./\.\./(?:tools/)?(?=(?:engines/)?qnnrt)', '#include "', test.text())
        with open(text, "w") as out:
            out.write(source)
        thing = [text]
    else:
        thing = [os.path.join(WORK, "objects", test.name + ".o")]
    archive = os.path.join(folder, "lib.a")
    if os.path.exists(archive):
        os.remove(archive)
    subprocess.run(["ar", "rc", archive] + [os.path.join(folder, name) for name, _, _ in objects()], check=True)
    if "nojson" in test.needs:
        nojson = os.path.join(folder, "nojson.o")
        run([CC] + FLAGS + includes(folder) + ["-DQNNRT_NO_JSON", "-DQNNRT_IMPLEMENTATION", "-x", "c", "-c", os.path.join(folder, "qnnrt.h"), "-o", nojson], 120)
        thing.append(nojson)
    status, text = run([CC] + FLAGS + includes(folder) + ["-I" + os.path.dirname(test.path), "-o", program] + thing + [archive, "-ldl", "-lm", "-pthread"], 120)
    return program if status == 0 else None


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    for inner in ("", "tools", os.path.join("tools", "engines")):
        os.makedirs(os.path.join(folder, inner))
        for name in os.listdir(inner or "."):
            if name.endswith(".h"):
                shutil.copy(os.path.join(inner, name), os.path.join(folder, inner))


def index():
    """Return (test, seconds, {header: rooms}) for each unit test of tests/index."""
    prefixes = {name[:-2]: path for name, path, _ in objects()[1:]}
    rows = []
    for test in table.ROWS:
        if test.kind == "unit":
            about = {}
            for part in re.split(r"(?:^|[,; ])(?=\w+: )", test.about):
                m = re.match(r"(\w+): ", part)
                path = prefixes.get(m.group(1)) if m else "qnnrt_json.h" if "qnnrt_json.h" in part else "qnnrt.h" if ">>" in part else None
                if path:
                    about.setdefault(path, set()).update(re.findall(r">>(\w+)", part))
            rows.append((test, test.seconds, about))
    return rows


def tests_of(rows, path, room):
    """Return the tests of a header, those of the room first, and short ones before long ones."""
    path = "qnnrt.h" if path.startswith("tools/") and object_of(path) == object_of("qnnrt.h") else path
    own = [(room not in about[path], seconds, test) for test, seconds, about in rows if path in about]
    return [test for _, _, test in sorted(own, key=lambda row: (row[0], row[1], row[2].name))]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("-n", type=int, default=200)
    options.add_argument("-s", type=int, default=1)
    options.add_argument("-r", default="")
    options.add_argument("-b", default="")
    options.add_argument("-o", default="")
    options = options.parse_args()
    os.chdir(TOP)
    every = mutations(options.b)
    if options.r:
        every = [m for m in every if m[2] in options.r.split(",")]
    # Rooms are weighted by their lines. Each line has as many changes as it can have when there are few lines.
    draw = random.Random(options.s)
    draw.shuffle(every)
    chosen, left, number = [], sum(len(m[3]) for m in every), 0
    while len(chosen) < min(options.n, left):
        path, line, room, changes = every[number % len(every)]
        kind, text = draw.choice(changes)
        changes.remove((kind, text))
        chosen.append((path, line, room, kind, text))
        every = [m for m in every if m[3]] if not changes else every
        number += bool(changes)

    base = os.path.join(WORK, "base")
    fresh(base)
    os.makedirs(os.path.join(WORK, "objects"), exist_ok=True)
    os.makedirs(os.path.join(WORK, "tmp"), exist_ok=True)
    if not compile_headers(base, None):
        print("mutants: the headers do not compile")
        return 1
    rows, seconds = index(), {}
    names = sorted({test for path, _, room, _, _ in chosen for test in tests_of(rows, path, room)}, key=lambda test: test.name)
    for test in names:
        if not compiled_again(test):
            run([CC] + FLAGS + includes(".") + ["-c", test.path, "-o", os.path.join(WORK, "objects", test.name + ".o")], 120)
        if test.oracle:
            with open(os.path.join(WORK, test.name + ".txt"), "w") as out:
                subprocess.run([sys.executable, test.oracle], stdout=out, check=True)
        program = build_test(base, test, None)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        status, text = run([program], 600, test) if program else (1, "it does not link")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if status != 0:
            print("mutants: %s fails without a mutant: %s" % (test.name, text[-400:]))
            return 1
        seconds[test] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    log = open(options.o, "w") if options.o else None
    killed, by_room, survivors = 0, {}, []
    folder = os.path.join(WORK, "mutant")
    for at, (path, number, room, kind, line) in enumerate(chosen):
        fresh(folder)
        lines = open(path).read().split("\n")
        old = lines[number]
        lines[number] = line
        with open(os.path.join(folder, path), "w") as out:
            out.write("\n".join(lines))
        for name, _, _ in objects():
            shutil.copy(os.path.join(base, name), folder)
        killer = None
        if not compile_headers(folder, path):
            killer = "the compiler"
        for test in tests_of(rows, path, room) if killer is None else []:
            program = build_test(folder, test, path)
            if program is None or run([program], int(10 * seconds[test]) + 5, test)[0] != 0:
                killer = test.name
                break
        killed += killer is not None
        counts = by_room.setdefault(room, [0, 0])
        counts[0] += killer is not None
        counts[1] += 1
        report = "%3d %s:%d >>%s %s: %s" % (at + 1, path, number + 1, room, kind, "killed by " + killer if killer else "SURVIVES")
        if killer is None:
            survivors.append(report)
            report += "\n    - %s\n    + %s" % (old.strip(), line.strip())
        print(report, flush=True)
        if log:
            log.write(report + "\n")
            log.flush()
    for room in sorted(by_room):
        print("  >>%-10s %3d of %3d killed" % (room, by_room[room][0], by_room[room][1]))
    share = 100.0 * killed / max(1, len(chosen))
    print("%d of %d mutants killed, %.1f %%; the bar is %d %%" % (killed, len(chosen), share, BAR))
    return share < BAR


if __name__ == "__main__":
    sys.exit(main())
