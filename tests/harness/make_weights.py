"""Write a .safetensors file for graphs in ATen IR, for tests; it needs nothing except Python.

    python3 tests/harness/make_weights.py OUT.safetensors FILE ... [--empty]

FILE is one of
    x.npz     its arrays sd/<key> are the weights
    x.json    a graph: its weights are made from random numbers, the same ones for each name
--empty: the weights are zeros that take no room on the disk, for large graphs whose values nobody looks at.
"""
import ast
import json
import math
import os
import random
import struct
import sys
import zipfile

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
         "bool": 1}
TYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64", "int64": "I64", "int32": "I32",
         "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}
NUMPY = {"<f4": "float32", "<f2": "float16", "<f8": "float64", "<i8": "int64", "<i4": "int32", "<i2": "int16", "|i1": "int8",
         "|u1": "uint8", "|b1": "bool"}


def from_npz(path):
    """Return {key: (dtype, shape, bytes)} of the arrays sd/<key>."""
    out = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.startswith("sd/"):
                continue
            data = archive.read(name)
            size = struct.unpack("<H", data[8:10])[0]
            head = ast.literal_eval(data[10:10 + size].decode())
            assert not head["fortran_order"], name
            out[name[3:-4]] = (NUMPY[head["descr"]], list(head["shape"]), data[10 + size:])
    return out


def values(key, shape):
    """Return random numbers as a model has them: activations neither grow nor vanish much."""
    count = math.prod(shape)
    one = random.Random(key)
    if len(shape) >= 2:
        spread = math.sqrt(3 / math.prod(shape[1:]))
        return [spread * one.uniform(-1, 1) for _ in range(count)]
    middle = 1 if "norm" in key and key.endswith("weight") or "bn.weight" in key or key.endswith("running_var") else 0
    return [middle + 0.1 * one.uniform(-1, 1) for _ in range(count)]


def encode(dtype, numbers):
    if dtype == "bfloat16":
        raw = struct.pack("<%df" % len(numbers), *numbers)
        return b"".join(raw[i + 2:i + 4] for i in range(0, len(raw), 4))
    if dtype in ("float32", "float16", "float64"):
        return struct.pack("<%d%s" % (len(numbers), {"float32": "f", "float16": "e", "float64": "d"}[dtype]), *numbers)
    return bytes(len(numbers) * BYTES[dtype])


def from_graph(path, empty):
    with open(path) as file:
        graph = json.load(file)
    out = {}
    for weight in graph["weights"]:
        key, dtype, shape = weight["name"], weight["dtype"], weight["shape"]
        if key.endswith("inv_freq"):
            continue                            # checkpoints do not have it: --rope_base
        out[key] = (dtype, shape, None if empty else encode(dtype, values(key, shape)))
    return out


def main():
    empty = "--empty" in sys.argv
    out, *files = [a for a in sys.argv[1:] if a != "--empty"]
    weights = {}
    for path in files:
        weights.update(from_npz(path) if path.endswith(".npz") else from_graph(path, empty))
    header, at = {}, 0
    for key, (dtype, shape, _) in weights.items():
        size = BYTES[dtype] * math.prod(shape)
        header[key] = {"dtype": TYPES[dtype], "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(out + ".new", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in weights.values():
            if data is not None:
                file.write(data)
        file.truncate(8 + len(text) + at)
    os.replace(out + ".new", out)


main()
