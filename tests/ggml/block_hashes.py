#!/usr/bin/env python3
"""Check the hashes of dequantized blocks in tests/weights/test_gguf.c against the package gguf.

    build/ggml/venv/bin/python tests/ggml/block_hashes.py tests/weights/test_gguf.c      (needs make ggml-models)

Both fill blocks of each type with the same pseudo-random bytes, whose scales are finite, turn them into float32, and
hash the bits. The package's code is numpy, and shares nothing with tools/qnnrt_weights.h."""
import re
import sys

import gguf
import numpy

BLOCKS = 40
# Where the float16 scales of a block are.
TYPES = {"Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,), "Q4_K": (0, 2), "Q5_K": (0, 2),
         "Q6_K": (208,)}


def random_blocks(size, scales):
    """BLOCKS blocks of size bytes from a linear congruential generator; scales are below 2."""
    data, seed = numpy.empty(BLOCKS * size, numpy.uint8), 1
    for i in range(BLOCKS * size):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        data[i] = seed >> 24
    data = data.reshape(BLOCKS, size)
    for at in scales:
        data[:, at + 1] &= 0xBF
    return data


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def main(arguments):
    if len(arguments) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    with open(arguments[1], encoding="utf-8") as file:
        listed = dict(re.findall(r'"(Q\w+)", \d+, [^"]*?(0x[0-9A-F]{16})', file.read()))
    wrong = 0
    for name, scales in TYPES.items():
        kind = gguf.GGMLQuantizationType[name]
        values = gguf.quants.dequantize(random_blocks(gguf.GGML_QUANT_SIZES[kind][1], scales), kind)
        found = "0x%016X" % fnv(values.astype(numpy.float32).tobytes())
        print(name, found, "" if listed.get(name) == found else "listed: %s" % listed.get(name))
        wrong += listed.get(name) != found
    return wrong != 0


sys.exit(main(sys.argv))
