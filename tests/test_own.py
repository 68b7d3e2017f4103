#!/usr/bin/env python3
"""Only the tests listed here compile an implementation of their own; all others link build/<config>/libqnnrt.a.

A test that compiles qnnrt.h takes three times as long to build, and it can see names that no user sees."""
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# test: the prefixes of its defines, and the statics that it calls.
OWN = {
    "plan": ("QNNRT", "room >>plan: the packers one by one, compared with slow ones"),
    "place": ("QNNRT QNNRT_CONVERT", "counts the steps of plans of many entries"),
    "quant": ("QNNRT", "rooms >>dtype and >>quant: conversions of single values, compared with exact ones"),
    "convert": ("QNNRT QNNRT_CONVERT", "rooms >>value and >>loop: whole tensors, compared with exact ones"),
    "json": ("QNNRT_JSON", "decimal conversion: its steps, compared with exact ones"),
    "backend": ("QNNRT QNNRT_PROFILE", "the callback of a log slot, a device table and an execute of the test's own, the flag of a careful run"),
    "codes": ("QNNRT QNNRT_EXPLAIN", "log slots without a library, and lines from threads into one"),
    "size": ("QNNRT", "rooms >>size to >>log: sizes, arenas and formats that no public call reaches"),
    "json_cost": ("QNNRT", "reading one text without a model: allocations of the table alone"),
    "weights": ("QNNRT_WEIGHTS", "counts the steps of opening"),
    "gguf": ("QNNRT_WEIGHTS", "counts the steps of opening"),
    "llm": ("QNNRT_LLM", "the codes of a mask for each encoding"),
    "llm_cells": ("QNNRT_LLM", "rooms >>cells, >>rows and >>state, compared with slow ones"),
    "llm_math": ("QNNRT_LLM", "sine, cosine, exponential and logarithm"),
    "llm_misuse": ("QNNRT_LLM", "the checksum of a state, to make wrong states"),
    "llm_roles": ("QNNRT_LLM", "the shapes that roles lead to"),
    "llm_sample": ("QNNRT_SAMPLE", "sampling, with a given stream of random numbers"),
}

passed = failed = 0


def check(good, message):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("own: " + message)


seen = set()
for path in sorted(glob.glob(os.path.join(TOP, "tests", "test_*.c"))):
    name = os.path.basename(path)[5:-2]
    text = open(path).read()
    defined = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(QNNRT\w*)_IMPLEMENTATION\b", text, re.M)
    expected = OWN[name][0].split() if name in OWN else []
    seen.add(name)
    check(defined == expected, "tests/test_%s.c defines the implementation of %s; the list has %s"
          % (name, defined or "no header", expected or "no header"))
for path in sorted(glob.glob(os.path.join(TOP, "tests", "*.h")) + glob.glob(os.path.join(TOP, "tests", "real", "*.[ch]"))):
    check(re.search(r"^[ \t]*#[ \t]*define[ \t]+QNNRT\w*_IMPLEMENTATION", open(path).read(), re.M) is None,
          "%s defines an implementation" % os.path.relpath(path, TOP))
for name in sorted(OWN):
    check(name in seen, "the list has %s, and there is no tests/test_%s.c" % (name, name))

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
