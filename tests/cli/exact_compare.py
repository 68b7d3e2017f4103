#!/usr/bin/env python3
"""qnnrt-run compare over files of values, against the same statistics in plain Python.

    python3 tests/cli/exact_compare.py QNNRT_RUN FOLDER

Writes files below FOLDER, compares them in all types, and prints "N passed, N failed". Sums are exact here (fractions of
integers), so nothing is shared with the program's way of adding."""
import json
import math
import os
import random
import struct
import subprocess
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close  # noqa: E402

TOOL, FOLDER = sys.argv[1:3]
PACK = {"float32": "f", "float16": "e", "float64": "d", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
        "uint8": "B", "uint16": "H", "uint32": "I", "bool8": "?"}
NPY = {"float32": "<f4", "float16": "<f2", "float64": "<f8", "int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8",
       "uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "bool8": "|b1"}



def npy(path, dtype, dims, data):
    shape = "(" + "".join(f"{d}," for d in dims) + ")"
    head = f"{{'descr': '{NPY[dtype]}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * ((64 - (11 + len(head)) % 64) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def root(x):
    """sqrt of a Fraction, to 60 digits and more"""
    if x == 0:
        return Fraction(0)
    shift = 400 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
    shift += shift % 2
    return Fraction(math.isqrt((x.numerator << shift) // x.denominator), 1 << shift // 2)


def decibel(x):
    """10 log10 of a Fraction of any size"""
    shift = x.numerator.bit_length() - x.denominator.bit_length()
    return 10 * (math.log10(x / Fraction(2) ** shift) + shift * math.log10(2))


def statistics(a, b, tolerance):
    """What the document says of two lists of floats."""
    finite = [(Fraction(x), Fraction(y)) for x, y in zip(a, b) if math.isfinite(x) and math.isfinite(y)]
    same = [x == y or (x != x and y != y) for x, y in zip(a, b)]
    wild = [not s and not (math.isfinite(x) and math.isfinite(y)) for x, y, s in zip(a, b, same)]
    n, d = len(finite) or 1, [abs(x - y) for x, y in finite]
    largest = max([abs(Fraction(x)) for x in a if math.isfinite(x)], default=Fraction(0))
    aa, bb, ab = sum(x * x for x, _ in finite), sum(y * y for _, y in finite), sum(x * y for x, y in finite)
    noise = sum(x * x for x in d)
    limit = Fraction(tolerance) * largest
    bad = [not s and (w or abs(Fraction(x) - Fraction(y)) > limit) for x, y, s, w in zip(a, b, same, wild)]
    bins = [0] * 10
    for x, y, s, w in zip(a, b, same, wild):
        if s or w:
            bins[0 if s else 9] += 1
            continue
        e = abs(Fraction(x) - Fraction(y))
        bins[next((i + 1 for i, p in enumerate(range(-6, 1)) if e < Fraction(float(f"1e{p}")) * largest), 8)] += 1
    wanted = {"count": len(a), "unequal": same.count(False), "not_finite": wild.count(True),
              "nans": sum(x != x and y != y for x, y in zip(a, b)), "largest": largest,
              "max_abs": max(d, default=Fraction(0)), "mean_abs": sum(d, Fraction(0)) / n, "rmse": root(Fraction(noise) / n),
              "cosine": ab / (root(aa) * root(bb)) if aa and bb else Fraction(not aa and not bb), "histogram": bins,
              "sqnr_db": None if not noise or not aa else decibel(aa / noise)}
    wanted = {k: None if isinstance(v, Fraction) and v > sys.float_info.max else v for k, v in wanted.items()}
    return wanted, bad.index(True) if True in bad else None


def index(at, dims):
    out = []
    for d in reversed(dims):
        out.insert(0, at % d)
        at //= d
    return out


def compare(*arguments):
    run = subprocess.run([TOOL, "compare", "--json", *arguments], capture_output=True, text=True, timeout=60)
    try:
        return run, json.loads(run.stdout)
    except ValueError:
        return run, None


def near(a, b):
    if a is None or b is None:
        return a is b
    most = max(abs(Fraction(a)), abs(Fraction(b)))
    return abs(Fraction(a) - Fraction(b)) <= max(Fraction(1, 10 ** 12) * most, Fraction(5e-324))


def one(name, dtype, dims, a, b, tolerance=0.0, raw=False):
    """a, b: values that the type has"""
    letter, paths = PACK[dtype], []
    for side, values in zip("ab", (a, b)):
        data = struct.pack(f"<{len(values)}{letter}", *values)
        path = f"{FOLDER}/{side}." + ("raw" if raw else "npy")
        if raw:
            open(path, "wb").write(data)
        else:
            npy(path, dtype, dims, data)
        paths.append(path)
    a, b = ([float(x) for x in struct.unpack(f"<{len(v)}{letter}", struct.pack(f"<{len(v)}{letter}", *v))] for v in (a, b))
    run, document = compare(*paths, "--tolerance", repr(tolerance), *(["--dtype", dtype] if raw else []))
    if document is None or len(document["tensors"]) != 1:
        check(name, False, run.stderr)
        return
    row = document["tensors"][0]
    wanted, bad = statistics(a, b, tolerance)
    for key, value in wanted.items():
        good = row[key] == value if isinstance(value, (int, list)) else near(row[key], value)
        check(f"{name}.{key}", good, f"{row[key]}, not {value if value is None or isinstance(value, (int, list)) else float(value)}")
    where = [len(a)] if raw else dims
    check(f"{name}.first_bad", row["first_bad"] == (None if bad is None else index(bad, where)), f"{row['first_bad']}, not {bad}")
    check(f"{name}.status", run.returncode == (bad is not None) and document["ok"] == (bad is None), run.returncode)


nan, inf = math.nan, math.inf
one("equal", "float32", [2, 3], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])
one("empty", "float32", [0], [], [])
one("empty_middle", "float32", [2, 0, 3], [], [])
one("scalar", "float32", [], [1.5], [2.5])
one("zeros", "float32", [4], [0] * 4, [0] * 4)
one("zeros_of_both_signs", "float32", [2], [0.0, -0.0], [-0.0, 0.0])
one("zero_and_not", "float32", [4], [0] * 4, [0, 0, 1, 0], 0.5)
one("not_and_zero", "float32", [4], [0, 0, 1, 0], [0] * 4)
one("constant", "float32", [5], [3.25] * 5, [3.0] * 5, 0.05)
one("opposite", "float32", [3], [1, -2, 3], [-1, 2, -3])
one("nan_both", "float32", [3], [nan, 1, 2], [nan, 1, 2.5], 0.3)
one("nan_left", "float32", [3], [nan, 1, 2], [0, 1, 2], 100.0)
one("nan_right", "float32", [3], [1, 2, 3], [1, nan, 3], 1e9)
one("nan_all", "float32", [3], [nan] * 3, [nan] * 3)
one("inf_both", "float32", [4], [inf, -inf, 1, 2], [inf, -inf, 1, 2])
one("inf_signs", "float32", [2], [inf, 1], [-inf, 1], 1.0)
one("inf_and_nan", "float32", [2], [inf, 1], [nan, 1], 1.0)
one("inf_and_number", "float32", [2], [1, inf], [1, 2], 1e30)
one("inf_alone", "float32", [1], [inf], [inf])
one("largest", "float32", [2], [3.4028234663852886e38, 1], [-3.4028234663852886e38, 1])
one("denormal", "float32", [3], [1e-45, 2e-45, 0], [2e-45, 2e-45, 0], 0.4)
one("double_large", "float64", [2], [1e308, -1e308], [-1e308, 1e308])
one("double_small", "float64", [3], [5e-324, 1e-310, 0], [1e-323, 1e-310, 5e-324], 0.0)
one("double_wide", "float64", [3], [1e300, 1e-300, 1], [1e300, 2e-300, 1.5])
one("half", "float16", [2, 2], [1, 2, 65504, 6e-8], [1, 2.001953125, 65504, 0], 1e-6)
one("int64", "int64", [3], [2 ** 52, -2 ** 52, 5], [2 ** 52 + 1, -2 ** 52, 5])
one("bool", "bool8", [4], [True, False, True, False], [True, True, True, False])
one("cancelled", "float64", [4], [1e16, 1, -1e16, 1], [1e16, 2, -1e16, 3])
one("edge_of_tolerance", "float32", [2], [4, 2], [5, 2], 0.25)
one("beyond_tolerance", "float32", [2], [4, 2], [5, 2], 0.2499)
for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32"):
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 2 ** bits - 1) if dtype[0] == "u" else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)
    one(f"ends_{dtype}", dtype, [2], [low, high], [high, low], raw=dtype[0] == "u")
random.seed(18)
for i in range(24):
    dims = [random.randint(1, 5) for _ in range(random.randint(1, 4))]
    count = math.prod(dims)
    dtype = random.choice(["float32", "float64", "float16"])
    scale = 10.0 ** random.randint(-4, 3 if dtype == "float16" else 20)
    a = [random.uniform(-1, 1) * scale for _ in range(count)]
    b = [random.choice([x, x + scale * 10.0 ** random.randint(-8, 0), -x, nan if random.random() < 0.1 else x]) for x in a]
    one(f"random_{i}", dtype, dims, a, b, 10.0 ** random.randint(-6, 0), raw=i % 3 == 0)

# ---- folders: keys, types, Result_N, .safetensors, what is on one side alone ----

A, B = f"{FOLDER}/A", f"{FOLDER}/B"
for side in (A, B):
    for folder in ("decode", "Result_0/decode", "Result_1/decode"):
        os.makedirs(f"{side}/{folder}")
values = struct.pack("<4f", 1, 2, 3, 4)
npy(f"{A}/decode/x.npy", "float32", [2, 2], values)
open(f"{B}/decode/x.raw", "wb").write(values[:12] + struct.pack("<f", 5))
for n in (0, 1):
    npy(f"{A}/Result_{n}/decode/y.npy", "float32", [4], values)
    npy(f"{B}/Result_{n}/decode/y.npy", "float64", [1, 4], struct.pack("<4d", 1, 2, 3, 4 + n))
header = json.dumps({"z z": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
open(f"{A}/decode/outputs.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + values)
open(f"{B}/decode/z_z.raw", "wb").write(values)
open(f"{A}/decode/only.raw", "wb").write(values)
open(f"{A}/decode/same.raw", "wb").write(b"abc")
open(f"{B}/decode/same.raw", "wb").write(b"abc")
open(f"{A}/decode/unknown.raw", "wb").write(b"abcd")
open(f"{B}/decode/unknown.raw", "wb").write(b"abce")
open(f"{B}/decode/notes.txt", "wb").write(b"not compared")
run, document = compare(A, B)
rows = {row["tensor"]: row for row in (document or {"tensors": []})["tensors"]}
check("folders", sorted(rows) == ["Result_0/decode/y", "Result_1/decode/y", "decode/only", "decode/same", "decode/unknown",
                                  "decode/x", "decode/z_z"], f"{sorted(rows)} {run.stderr}")
if len(rows) == 7:
    good = {key: row["good"] for key, row in rows.items()}
    check("folders_good", good == {"Result_0/decode/y": True, "Result_1/decode/y": False, "decode/only": False, "decode/same": True,
                                   "decode/unknown": False, "decode/x": False, "decode/z_z": True}, good)
    check("folders_index", rows["decode/x"]["first_bad"] == [1, 1], rows["decode/x"])
    check("folders_types", rows["Result_0/decode/y"]["dtypes"] == ["float32", "float64"], rows["Result_0/decode/y"])
    check("folders_only", rows["decode/only"]["problem"] == "only on side A", rows["decode/only"])
    check("folders_unknown", "--dtype" in rows["decode/unknown"]["problem"], rows["decode/unknown"])
run, document = compare(A, B, "--dtype", "float32", "--dtype", "unknown=uint8", "--tolerance", "1", "--tolerance", "decode/unknown=1:abs")
rows = {row["tensor"]: row for row in (document or {"tensors": []})["tensors"]}
check("dtype", rows.get("decode/unknown", {}).get("dtypes") == ["uint8"] * 2 and rows["decode/unknown"]["good"], run.stderr)
check("dtype_kind", rows.get("decode/unknown", {}).get("tolerance_kind") == "abs", run.stderr)
check("dtype_same", "dtypes" not in rows.get("decode/same", {"dtypes": 0}) or rows["decode/same"]["good"], rows.get("decode/same"))
run, document = compare(A, B, "--tolerance", "nothing=1")
check("tolerance_of_none", run.returncode == 1 and 'no tensor "nothing"' in run.stderr, run.stderr)
sys.exit(close())
