#!/usr/bin/env python3
"""The vendor data of the headers equals the output of tools/vendor/vendor.txt, and mistakes in a table are refused."""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import close, holds as check  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "tools", "vendor"))
import make_vendor  # noqa: E402


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
    ("a number that C reads otherwise", "dtype | 1_0 | NAME\n"),
    ("a number with digits of another script", "dtype | \u0661 | NAME\n"),
    ("a number of 33 bits", CODE.replace("| 0", "| 0x100000000")),
    ("a name with quotes", 'dtype | 1 | A" }, { 2, "B\n'),
    ("a code of the core without a cause", CODE + "code | 5 | QNN_A | It worked. | Go on.\n"),
    ("a word that fits on no line", CODE.replace("worked", "w" * 100)),
    ("quotes that fit on no line", CODE.replace("worked", '"' * 60)),
    ("a text that is no identifier", "text | a-b | A text.\n"),
    ("a text with the name of a table", "text | codes | A text.\n"),
    ("two texts of one name", "text | a | A text.\ntext | a | Another text.\n"),
]

check(make_vendor.main(["--check"]) == 0, "the headers are not current: run `make vendor`")
for what, text in MISTAKES:
    try:
        table_of(text)
        check(False, "accepted: " + what)
    except make_vendor.Mistake:
        check(True, "")

names = "".join("%s | 1 | NAME\n" % kind for kind in make_vendor.NAMES)
table = table_of(CODE + 'rare | 5 | QNN_A QNN_B QNN_C | A "quoted" word. | Go on.\n' + names)
made = make_vendor.generate(table)
check('"QNN_B QNN_C"' in make_vendor.generate_lines(table), "the other symbols of a code are one list")
check('\\"quoted\\"' in make_vendor.generate_lines(table), "quotes are escaped")

# What a compiler could read otherwise, and what once never ended: two texts of the same words, long names in a row.
twins = "".join("rare | %d | - | %s | %s\n" % (number, "Oh no." if number % 2 else "Oh, no.", "Go on.") for number in range(9, 40))
hard = make_vendor.generate_lines(table_of(
    CODE.replace("It worked.", 'What ??/ did */ it /* return \\ "?".') +
    "code | 5 | QNN_%s | It worked. | Go on. | a cause\n" % ("S" * 50) + twins + names))
check('"What \\?\\?/ did */ it /* return \\\\ \\"\\?\\"."' in hard, "a trigraph is not escaped")
arrays = re.findall(r"char (\w+)\[\]", hard)
check(len(arrays) == 3 and len(set(arrays)) == 3, "the names of the arrays: %s" % arrays)
check(all(len(line) <= make_vendor.WIDTH for line in (made + hard).split("\n")), "a line is too long")
check(make_vendor.generate(table_of(CODE + names)) != made, "another table makes other data")

sys.exit(close())
