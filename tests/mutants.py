#!/usr/bin/env python3
"""Check that the unit tests notice changes of the code: build and test mutants of rooms of the headers.

    python3 tests/mutants.py [-n COUNT] [-s SEED] [-r ROOM,ROOM] [-o FILE]

A mutant is one change of one line: an operator becomes another one, a number grows or shrinks by one, a condition is
inverted, a statement is removed. It is compiled (gcc -O0), linked with the tests of its room, and run: it is killed when
it does not compile, or when a test fails, crashes, or takes ten times its usual processor time (and 5 s
more). Survivors are printed as a diff. Exit status 1 when fewer than 92 % of the mutants were killed.

Works in build/mutants. Uses the sources as they are; `make check` should pass before."""
import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys

import rooms

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join("build", "mutants")
CC = os.environ.get("CC", "gcc")
FLAGS = ["-std=c99", "-O0", "-w", "-D_POSIX_C_SOURCE=200809L"]
BAR = 92

QNN = ["wire", "run", "meta", "files", "json_cost", "profile", "backend", "compose", "nojson", "faults", "oom", "llm",
       "share", "resident", "dynamic", "mixed", "manifest"]
FIRST = {"table": ["files", "meta", "json_cost"], "compare": ["meta", "wire", "files"], "record": ["meta"], "parse": ["meta"],
         "read_json": ["meta", "json_cost"], "wiring": ["wire"], "pipeline": ["wire"], "model": ["files", "wire", "meta"],
         "place": ["run", "oom"], "area": ["run", "share", "oom"], "binding": ["run", "share"], "share": ["share"],
         "register": ["share"], "resident": ["resident"], "flex": ["dynamic"], "update": ["dynamic"], "run": ["run", "profile", "mixed"],
         "manifest": ["manifest"], "assemble": ["manifest", "oom"], "folder": ["manifest", "files"],
         "exec": ["run", "profile", "mixed"], "host": ["mixed"], "program": ["mixed"], "convert": ["convert", "mixed"],
         "value": ["convert", "quant"], "loop": ["convert", "quant"],
         "step": ["llm", "llm_misuse"]}
COMPOSE = ["compose", "dynamic", "faults", "oom", "ref_files"]
LLM = ["llm", "llm_misuse", "llm_roles", "llm_cells"]
# Headers and the rooms of each that are changed.
TARGETS = (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION", {"table", "compare", "record", "parse", "read_json", "wiring", "pipeline", "place", "area",
                                                       "manifest", "assemble", "folder", "binding", "run", "share", "register", "resident", "flex", "update",
                                                       "program", "host", "exec", "value", "loop", "convert"}),
           ("tools/qnnrt_compose.h", "#define QNNRT__COMPOSE_ONCE", {"build", "tensor", "node", "device", "compose", "builder", "encode"}),
           ("tools/qnnrt_llm.h", "#ifdef QNNRT_LLM_IMPLEMENTATION", {"step"}))

SWAPS = ((r" == ", " != "), (r" != ", " == "), (r" <= ", " < "), (r" < ", " <= "), (r" >= ", " > "), (r" > ", " >= "),
         (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" \+= ", " -= "),
         (r" & ", " | "), (r" \| ", " & "), (r"\+\+", "--"))
DECLARATION = re.compile(r"\s*(?:static|const|typedef|struct|return|goto|break|continue|case|default|enum|union|"
                         r"(?:unsigned |const )*(?:\w+_t|int|char|float|double|void|long|qnnrt\w*) \**\w+(?:\[|;|,| =))")
HOOK = re.compile(r"\bQNNRT(?:_LLM)?__STEP\(\)")                  # what tests count


def sites(line):
    """List the possible changes of a line: (kind, new line)."""
    code = rooms.strip(line)
    found = []
    if line.lstrip().startswith(("#", "*", "/*")) or "STATIC_ASSERT" in line or HOOK.search(line):
        return found
    for pattern, new in SWAPS:
        for m in re.finditer(pattern, code):
            found.append(("operator", line[:m.start()] + new + line[m.end():]))
    size = re.search(r"\w\[\w+\];\s*$", code) is not None           # of an array: a larger one is not a fault
    last = code.rfind("{ NULL,")                                    # of a table: fields that nobody reads
    for m in re.finditer(r"(?<![\w.])(\d+)(u?)(?![\w.])", "" if size else code):
        value = int(m.group(1))
        if last >= 0 and m.start() > last:
            continue
        truth = value == 1 and code[:m.start()].endswith("return ")   # 2 is as true as 1
        for other in ([0] if truth else [value + 1, value - 1] if value > 0 else [1]):
            found.append(("constant", line[:m.start()] + str(other) + m.group(2) + line[m.end():]))
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


def mutations():
    """List all lines that can be changed: (file, line number, room, changes)."""
    every = []
    for path, begin, names in TARGETS:
        text = open(os.path.join(TOP, path)).read()
        lines = text.split("\n")
        stripped = rooms.strip(text).split("\n")
        room, comment = None, text[:text.index(begin)].count("\n")
        for number in range(comment, len(lines)):
            m = re.match(r"   [A-Z][A-Z ,0-9-]+ >>(\w+)$", lines[number])
            if m:
                room = m.group(1)
            if room in names and stripped[number].strip() and stripped[number].strip() == lines[number].split("/*")[0].strip():
                previous = stripped[number - 1].rstrip()
                changes = sites(lines[number])
                if previous and previous[-1] not in ";{}:":         # the end of a longer statement stays
                    changes = [c for c in changes if c[0] != "deletion"]
                if changes:
                    every.append((path, number, room, changes))
    return every


def run(command, seconds, test=""):
    """Run a command; a test gets the table of expected values that it has one of."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    more = {"TMPDIR": os.path.join(WORK, "tmp")}
    if os.path.exists("tests/oracle_%s.py" % test):
        more["QNNRT_ORACLE"] = os.path.join(WORK, "oracle_%s.txt" % test)
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              preexec_fn=limit, timeout=60 * seconds, env=dict(os.environ, **more))
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return 1, "it hangs"


def includes(folder):
    return ["-I" + folder, "-I" + os.path.join(folder, "tools"), "-I.", "-Itests", "-Itools",
            '-DTEST_FAKE_LIB="build/check/fake/libQnnFake.so"', '-DTEST_FAKE_FOLDER="build/check/fake/"',
            '-DTEST_REF_LIB="build/check/libQnnRef.so"']


def compile_headers(folder, which):
    """Compile the implementations that a change of `which` alters; return False when one does not compile."""
    jobs = [("impl.o", ["-DQNNRT_COMPOSE", "-DQNNRT_PROFILE_LOG", "-DQNNRT_IMPLEMENTATION"], "qnnrt.h"),
            ("llm.o", ["-DQNNRT_COMPOSE", "-DQNNRT_LLM_IMPLEMENTATION"], os.path.join("tools", "qnnrt_llm.h")),
            ("weights.o", ["-DQNNRT_WEIGHTS_IMPLEMENTATION"], os.path.join("tools", "qnnrt_weights.h"))]
    for name, defines, header in jobs:
        own = {"tools/qnnrt_llm.h": "llm.o", "tools/qnnrt_weights.h": "weights.o"}.get(which, "impl.o")
        if which is not None and name != own:
            continue
        status, _ = run([CC] + FLAGS + includes(folder) + defines + ["-x", "c", "-c", os.path.join(folder, header), "-o",
                        os.path.join(folder, name)], 120)
        if status != 0:
            return False
    return True


def defines_own(test):
    return re.search(r"define QNNRT\w*_IMPLEMENTATION", open("tests/test_%s.c" % test).read()) is not None


def build_test(folder, test, which):
    """Link a test with the objects of a folder; a test that compiles a header itself is compiled again."""
    program = os.path.join(folder, "test_" + test)
    source = open("tests/test_%s.c" % test).read()
    own = defines_own(test)
    if own or test == "nojson":
        text = os.path.join(folder, "own.c")
        source = source.replace('"../qnnrt.h"', '"qnnrt.h"')
        with open(text, "w") as out:
            out.write(source)
        thing = [text]
    else:
        thing = [os.path.join(WORK, "objects", test + ".o")]
    archive = os.path.join(folder, "lib.a")
    if os.path.exists(archive):
        os.remove(archive)
    subprocess.run(["ar", "rc", archive, os.path.join(folder, "impl.o"), os.path.join(folder, "llm.o"),
                    os.path.join(folder, "weights.o")], check=True)
    if test == "nojson":
        nojson = os.path.join(folder, "nojson.o")
        run([CC] + FLAGS + includes(folder) + ["-DQNNRT_NO_JSON", "-DQNNRT_IMPLEMENTATION", "-x", "c", "-c", os.path.join(folder, "qnnrt.h"), "-o", nojson], 120)
        thing.append(nojson)
    status, text = run([CC] + FLAGS + includes(folder) + ["-o", program] + thing + [archive, "-ldl", "-lm", "-pthread"], 120)
    return program if status == 0 else None


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "tools"))
    for name in os.listdir("."):
        if name.endswith(".h"):
            shutil.copy(name, folder)
    for name in os.listdir("tools"):
        if name.endswith(".h"):
            shutil.copy(os.path.join("tools", name), os.path.join(folder, "tools"))


def tests_of(path, room):
    base = {"qnnrt.h": QNN, "tools/qnnrt_compose.h": COMPOSE, "tools/qnnrt_llm.h": LLM}[path]
    first = FIRST.get(room, [])
    return first + [test for test in base if test not in first]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("-n", type=int, default=200)
    options.add_argument("-s", type=int, default=1)
    options.add_argument("-r", default="")
    options.add_argument("-o", default="")
    options = options.parse_args()
    os.chdir(TOP)
    every = mutations()
    if options.r:
        every = [m for m in every if m[2] in options.r.split(",")]
    # Rooms are weighted by their lines.
    draw = random.Random(options.s)
    chosen = []
    while len(chosen) < options.n and every:
        path, number, room, changes = draw.choice(every)
        kind, line = draw.choice(changes)
        if (path, number, line) not in [c[:2] + (c[4],) for c in chosen]:
            chosen.append((path, number, room, kind, line))

    base = os.path.join(WORK, "base")
    fresh(base)
    os.makedirs(os.path.join(WORK, "objects"), exist_ok=True)
    os.makedirs(os.path.join(WORK, "tmp"), exist_ok=True)
    if not compile_headers(base, None):
        print("mutants: the headers do not compile")
        return 1
    seconds, names = {}, sorted(set(QNN + COMPOSE + LLM).union(*FIRST.values()))
    for test in names:
        if not defines_own(test) and test != "nojson":
            run([CC] + FLAGS + includes(".") + ["-c", "tests/test_%s.c" % test, "-o", os.path.join(WORK, "objects", test + ".o")], 120)
        if os.path.exists("tests/oracle_%s.py" % test):
            with open(os.path.join(WORK, "oracle_%s.txt" % test), "w") as out:
                subprocess.run([sys.executable, "tests/oracle_%s.py" % test], stdout=out, check=True)
        program = build_test(base, test, None)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        status, text = run([program], 600, test) if program else (1, "it does not link")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if status != 0:
            print("mutants: test_%s fails without a mutant: %s" % (test, text[-400:]))
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
        for name in ("impl.o", "llm.o", "weights.o"):
            shutil.copy(os.path.join(base, name), folder)
        killer = None
        if not compile_headers(folder, path):
            killer = "the compiler"
        for test in tests_of(path, room) if killer is None else []:
            program = build_test(folder, test, path)
            if program is None or run([program], int(10 * seconds[test]) + 5, test)[0] != 0:
                killer = "test_" + test
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
