#!/usr/bin/env python3
"""Join what suite_run wrote for each backend to one table: a line for each case, then why cases are not right.

    table.py DIR > tests/onnx/table.txt        DIR has host.txt, ref.txt, cpu.txt, htp.txt, as far as they were made
    table.py DIR --check tests/onnx/table.txt  a case must be right where it is right in the table, and refused otherwise

Letters: R right, w wrong, - refused, X the process ended, b beyond float16."""
import os
import sys

LETTERS = {"right": "R", "wrong": "w", "refused": "-", "crash": "X", "beyond": "b"}
ORDER = ("host", "ref", "cpu", "htp")


def read(folder):
    """Return what suite_run wrote: for each backend, a verdict and its reason by the name of the case."""
    tables = {}
    for name in ORDER:
        path = os.path.join(folder, name + ".txt")
        if os.path.exists(path):
            with open(path, errors="replace") as file:
                tables[name] = dict((line.split(None, 1) + [""])[:2] for line in file.read().splitlines())
    return tables


def check(folder, committed):
    """Compare with a table; return how many verdicts are worse than its own."""
    with open(committed) as file:
        lines = file.read().splitlines()
    columns = next(words[1:] for words in map(str.split, lines) if words[1:] and set(words[1:]) <= set(ORDER))
    rows = [line.split() for line in lines[:lines.index("# why not right")] if not line.startswith("#")]
    rows = {row[-1]: row[:-1] for row in rows}
    passed = failed = 0
    for name, found in read(folder).items():
        for case, letters in rows.items():
            verdict, _, why = found.get(case, "missing").partition(" ")
            expected = letters[columns.index(name)]
            good = verdict == "right" or (verdict == "refused" and expected == "-")
            passed, failed = passed + good, failed + (not good)
            if not good:
                print("FAIL: %s on %s: %s %s; the table says %s" % (case, name, verdict, why[:200], expected))
    print("%d passed, %d failed" % (passed, failed))
    return failed + (passed == 0)


def main(folder):
    tables = read(folder)
    names = [name for name in ORDER if name in tables]
    cases = sorted(set().union(*tables.values()))
    print("# The suite of onnx 1.23.2, cases in scope, attribute-like inputs bound. `make suite-onnx BACKEND=host,ref,cpu,htp TABLE=1` remakes it.")
    print("# R right, w wrong, - refused, X the process ended, b beyond float16. cpu: libQnnCpu.so 2.47; htp: libQnnHtp.so 2.51, soc 57")
    for name in names:
        verdicts = [verdict.split(None, 1)[0] for verdict in tables[name].values()]
        print("# %-4s %s" % (name, ", ".join("%d %s" % (verdicts.count(v), v) for v in LETTERS if v in verdicts)))
    print("# " + " ".join(names))
    for case in cases:
        print(" ".join(LETTERS[tables[name].get(case, "refused").split(None, 1)[0]] for name in names), case)
    print("# why not right")
    for case in cases:
        reasons = {}
        for name in names:
            verdict, _, why = tables[name].get(case, "refused").partition(" ")
            if verdict != "right":
                reasons.setdefault(why[:240].rstrip(), []).append(name)
        for why, of in reasons.items():
            print("%s %s: %s" % (case, ",".join(of), why))


if __name__ == "__main__":
    if sys.argv[2:3] == ["--check"]:
        sys.exit(check(sys.argv[1], sys.argv[3]) > 0)
    main(sys.argv[1])
