#!/usr/bin/env python3
"""Join what suite_run wrote for each backend to one table: a line for each case, then why cases are not right.

    table.py DIR > tests/onnx/table.txt        DIR has host.txt, ref.txt, cpu.txt, htp.txt, as far as they were made

Letters: R right, w wrong, - refused, X the process ended, b beyond float16."""
import os
import sys

LETTERS = {"right": "R", "wrong": "w", "refused": "-", "crash": "X", "beyond": "b"}
ORDER = ("host", "ref", "cpu", "htp")


def main(folder):
    tables = {}
    for name in ORDER:
        path = os.path.join(folder, name + ".txt")
        if os.path.exists(path):
            with open(path, errors="replace") as file:
                tables[name] = dict((line.split(None, 1) + [""])[:2] for line in file.read().splitlines())
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
    main(sys.argv[1])
