#!/usr/bin/env python3
"""qnnrt-run ops: its table against libQnnRef.so's sources and the table of known faults, and misspelt words.

    python3 tests/cli/test_ops.py [BUILD_DIR]"""
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build")
TOOL = os.path.join(BUILD, "qnnrt-run")



def run(*words):
    done = subprocess.run([TOOL] + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def text(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


code, said, wrong = run("ops", "--json")
doc = json.loads(said)
ops = {op["name"]: op for op in doc["operators"]}
check("json", code == 0 and wrong == "" and doc["format"] == "qnnrt-run.ops" and doc["version"] == 1, wrong)

# libQnnRef.so computes each of them, with the parameters that the table names, and no other.
sources = "".join(text(path) for path in sorted(glob.glob(os.path.join(TOP, "tools/refbackend/ops_*.c"))))
strings = set(re.findall(r'"([A-Za-z0-9_]+)"', sources))
check("ref", not set(ops) - strings, set(ops) - strings)
named = {word for word in strings if re.fullmatch(r"(ElementWise|Pool|Relu|Reduce|Conv|Scatter|Gather)[A-Za-z0-9]+", word)}
check("ref", not named - set(ops), named - set(ops))
rows = re.findall(r'\{ "([A-Z]\w+)", (?:[A-Z0-9_| \n]+), (\d+), (\d+), (\d+), (\d+), (\w+),', sources)
specs = {name: set(re.findall(r'\{ "(\w+)"', body))
         for name, body in re.findall(r"ref_param_spec (\w+)\[\] = \{(.*?)\n\};", sources, re.S)}
check("ref", len(rows) > 50, len(rows))
for name, least, most, _, _, params in rows:
    op = ops.get(name)
    if op is None:
        check(name, False, "libQnnRef.so has it, ops does not")
        continue
    # Ref may take a parameter that the libraries were not measured with, but none is missing there.
    mine = {one["name"] for one in op["parameters"]}
    if params in specs:
        check(name, mine <= specs[params], "%s, Ref: %s" % (mine, specs[params]))
    if int(most) != 255:
        check(name, int(least) <= len(op["inputs"]) <= int(most),
              "%d inputs, Ref takes %s to %s" % (len(op["inputs"]), least, most))

# Each line of the table of known faults is shown with each of its operators.
known = re.findall(r'\{ "([a-z0-9-]+)", "((?:Cpu|Htp)[^"]*)", QNNRT_QUIRK_\w+, \w+,\s+"([^"*]+)"', text("tools/qnnrt_quirks.h"))
check("known", len(known) > 40, len(known))
for name, _, listed in known:
    for op in listed.split():
        check("known", op in ops and any(one["name"] == name for one in ops[op]["known"]), "%s of %s" % (name, op))

code, said, wrong = run("ops", "Conv2d", "matmul")
check("conv2d", code == 0 and wrong == "", wrong)
lines = [line.split() for line in said.splitlines()]
check("conv2d", [line[1] for line in lines[:lines.index(["MatMul"])] if line[0] == "input"] == ["x", "weight", "bias"], said)
check("conv2d", ["parameter", "stride", "tensor", "uint32"] in [line[:4] for line in lines], said)
check("conv2d", all(len(line) <= 100 for line in said.splitlines()), said)
code, said, wrong = run("ops")
check("list", code == 0 and all(len(line) <= 100 for line in said.splitlines()) and len(said.splitlines()) == len(ops) + 3, said)

for word, near in (("Conv2D_", "Conv2d"), ("matmu", "MatMul"), ("Softmx", "Softmax"), ("Add", "ElementWiseAdd"),
                   ("strided", "StridedSlice"), ("LayerNom", "LayerNorm"), ("gathernd", None), ("zzzzzz", ""),
                   ("x\x1b[31m", ""), ("", "")):
    code, said, wrong = run("ops", word) if word else (1, "", "hint: Run qnnrt-run ops for the list.")
    if near is None:
        check(word, code == 0, wrong)
    else:
        check(word, code == 1 and "hint: Run qnnrt-run ops %s" % (near or "for the list") in wrong, wrong)
        check(word, "\x1b" not in wrong, wrong)
code, said, wrong = run("explain", "Conv2D")
check("explain", code == 1 and "Run qnnrt-run ops Conv2d" in wrong, wrong)
code, said, wrong = run("explain", "nonsense of all kinds")
check("explain", code == 1 and "Run qnnrt-run explain for the list." in wrong, wrong)
code, said, wrong = run("ops", "--backend_so", "x")
check("option", code == 2 and "--backend_so" in wrong, wrong)
sys.exit(close())
