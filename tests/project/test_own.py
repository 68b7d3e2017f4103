#!/usr/bin/env python3
"""Only the tests listed here compile an implementation of their own; all others link build/<config>/libqnnrt.a.

A test that compiles qnnrt.h takes three times as long to build, and it can see names that no user sees."""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import close, holds as check  # noqa: E402

import table

TOP = table.TOP

# file: the prefixes of its defines, and the statics that it calls.
OWN = {
    "core/test_plan.c": ("QNNRT", "room >>plan: the packers one by one, compared with slow ones"),
    "core/test_place.c": ("QNNRT QNNRT_CONVERT", "counts the steps of plans of many entries"),
    "core/test_quant.c": ("QNNRT", "rooms >>dtype and >>quant: conversions of single values, compared with exact ones"),
    "core/test_convert.c": ("QNNRT QNNRT_CONVERT", "rooms >>value and >>loop: whole tensors, compared with exact ones"),
    "json/test_json.c": ("QNNRT_JSON", "decimal conversion: its steps, compared with exact ones"),
    "core/test_backend.c": ("QNNRT QNNRT_PROFILE", "the callback of a log slot, a device table and an execute of the test's own, the flag of a careful run"),
    "core/test_codes.c": ("QNNRT QNNRT_EXPLAIN", "log slots without a library, and lines from threads into one"),
    "core/test_size.c": ("QNNRT", "rooms >>size to >>log: sizes, arenas and formats that no public call reaches"),
    "core/test_json_cost.c": ("QNNRT", "reading one text without a model: allocations of the table alone"),
    "weights/test_weights.c": ("QNNRT_WEIGHTS", "counts the steps of opening"),
    "weights/test_gguf.c": ("QNNRT_WEIGHTS", "counts the steps of opening"),
    "llm/test_llm.c": ("QNNRT_LLM", "the codes of a mask for each encoding"),
    "llm/test_llm_cells.c": ("QNNRT_LLM", "rooms >>cells, >>rows and >>state, compared with slow ones"),
    "llm/test_llm_math.c": ("QNNRT_LLM", "sine, cosine, exponential and logarithm"),
    "llm/test_llm_misuse.c": ("QNNRT_LLM", "the checksum of a state, to make wrong states"),
    "llm/test_llm_roles.c": ("QNNRT_LLM", "the shapes that roles lead to"),
    "llm/test_llm_sample.c": ("QNNRT_SAMPLE", "sampling, with a given stream of random numbers"),
}

units = [row for row in table.ROWS if row.kind == "unit"]
for row in units:
    defined = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(QNNRT\w*)_IMPLEMENTATION\b", row.text(), re.M)
    expected = OWN[row.file][0].split() if row.file in OWN else []
    check(defined == expected, "%s defines the implementation of %s; the list has %s" % (row.path, defined or "no header", expected or "no header"))
for path in sorted(glob.glob(os.path.join(TOP, "tests", "*", "*.h")) + glob.glob(os.path.join(TOP, "tests", "real", "*.c"))):
    check(re.search(r"^[ \t]*#[ \t]*define[ \t]+QNNRT\w*_IMPLEMENTATION", open(path).read(), re.M) is None,
          "%s defines an implementation" % os.path.relpath(path, TOP))
for file in sorted(OWN):
    check(file in [row.file for row in units], "the list has %s, which is no unit test of tests/index" % file)

sys.exit(close())
