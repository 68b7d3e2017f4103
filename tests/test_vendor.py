#!/usr/bin/env python3
"""The vendor data of qnnrt.h equals the output of tools/vendor/vendor.txt, and mistakes in a table are refused."""
import os
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "tools", "vendor"))
import make_vendor  # noqa: E402

passed = failed = 0


def check(good, message):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("vendor: " + message)


def table_of(text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        return make_vendor.Table(file.name)


CODE = "code | 0 | QNN_SUCCESS | It worked. | Go on.\n"
MISTAKES = [
    ("codes that do not ascend", CODE + CODE.replace("QNN_SUCCESS", "QNN_OTHER")),
    ("a symbol that occurs twice", CODE + CODE.replace("| 0", "| 5")),
    ("a symbol that the look-up does not expect", CODE.replace("QNN_SUCCESS", "SUCCESS")),
    ("a meaning without a full stop", CODE.replace("It worked.", "It worked")),
    ("a hint without a capital", CODE.replace("Go on.", "go on.")),
    ("a cause with a full stop", CODE.strip() + " | it failed.\n"),
    ("four causes", CODE.strip() + " | a | b | c | d\n"),
    ("an unknown kind", CODE.replace("code", "cade")),
    ("a missing field", "code | 0 | QNN_SUCCESS | It worked.\n"),
    ("an unknown $name", CODE.replace("Go on.", "$goon")),
    ("a line whose code has no entry", CODE + "line | 7 | some piece | It means something. | Do something.\n"),
    ("a character that is not ASCII", CODE.replace("worked", "w\u00f6rked")),
    ("a number that is none", CODE.replace("| 0", "| x")),
]

check(make_vendor.main(["--check"]) == 0, "qnnrt.h is not current: run `make vendor`")
for what, text in MISTAKES:
    try:
        table_of(text)
        check(False, "accepted: " + what)
    except make_vendor.Mistake:
        check(True, "")

names = "".join("%s | 1 | NAME\n" % kind for kind in make_vendor.NAMES)
made = make_vendor.generate(table_of(CODE + 'code | 5 | QNN_A QNN_B QNN_C | A "quoted" word. | Go on.\n' + names))
check('"QNN_B QNN_C"' in made, "the other symbols of a code are one list")
check('\\"quoted\\"' in made, "quotes are escaped")
check(all(len(line) <= make_vendor.WIDTH for line in made.split("\n")), "a line is too long")
check(make_vendor.generate(table_of(CODE + names)) != made, "another table makes other data")

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
