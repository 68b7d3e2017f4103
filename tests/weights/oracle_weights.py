#!/usr/bin/env python3
"""Print safetensors files and conversions of their elements, computed with exact integers.

    file   <name> <hex of the file>            then one line for each thing that it holds:
    weight <name> <type> <dims> <hex>          in the order of the header; dims are joined by x, "-" for rank 0
    pair   <key> <value>                       of __metadata__
    gap    <bytes>                             that belong to no weight
    convert <from> <to> <count> <overflowed> <flushed> <out of range> <element,...> <element,...>

Names, keys and values are hex of their UTF-8, elements hex of their bits; "nan" stands for any NaN.
tests/weights/test_weights.c compares them when QNNRT_ORACLE names the output.
"""
import json
import random
import struct

FLOATS = {"F16": (10, 15, 16), "BF16": (7, 127, 16), "F32": (23, 127, 32), "F64": (52, 1023, 64)}
INTS = {"I8": (True, 8), "I16": (True, 16), "I32": (True, 32), "I64": (True, 64), "U8": (False, 8), "U16": (False, 16),
        "U32": (False, 32), "U64": (False, 64), "BOOL": (None, 8)}
OTHERS = {"F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4, "C64": 64}
BITS = dict({name: about[2] for name, about in FLOATS.items()}, **{name: about[1] for name, about in INTS.items()}, **OTHERS)
RNG = random.Random(15)


ONE = 1080                                               # a value is an integer, in units of 2^-1080


def nearest(value, shift):
    """Return value / 2^shift, rounded to nearest, ties to even."""
    code, rest = value >> shift, value & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    return code + int(rest > half or (rest == half and code & 1))


def decode(kind, bits):
    """Return (sign, value): an integer, "inf" or "nan"."""
    frac, bias, width = FLOATS[kind]
    sign, field, rest = bits >> (width - 1), bits >> frac & (2 * bias + 1), bits & ((1 << frac) - 1)
    if field == 2 * bias + 1:
        return sign, "nan" if rest else "inf"
    return sign, (rest + ((1 << frac) if field else 0)) << (ONE + max(field, 1) - bias - frac)


def encode(kind, sign, value):
    """Round to nearest, ties to even."""
    frac, bias, width = FLOATS[kind]
    infinity = (2 * bias + 1) << frac
    sign <<= width - 1
    if value == "nan":
        return "nan"
    if value == "inf":
        return sign | infinity
    exponent = max(value.bit_length() - 1 - ONE, 1 - bias)
    code = nearest(value, ONE + exponent - frac)
    code += (exponent + bias - 1) << frac
    return sign | min(code, infinity)


def convert_float(source, target, bits):
    sign, value = decode(source, bits)
    out = encode(target, sign, value)
    size = out if out == "nan" else out & ~(1 << (FLOATS[target][2] - 1))
    infinity = (2 * FLOATS[target][1] + 1) << FLOATS[target][0]
    finite = value not in ("nan", "inf")
    return out, int(finite and size == infinity), int(finite and value != 0 and size == 0), 0


def convert_int(source, target, bits):
    signed, width = INTS[source]
    value = bits - (1 << width) if signed and bits >> (width - 1) else bits
    if source == "BOOL":
        value = int(value != 0)
    signed, width = INTS[target]
    low, high = (0, 1) if signed is None else (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    kept = min(max(value, low), high)
    return kept & ((1 << width) - 1), 0, 0, int(kept != value)


def float_cases(source, target):
    """Return elements of all magnitudes, the ties of the target and their neighbours, and the ends of all ranges."""
    frac, bias, width = FLOATS[source]
    for kind in FLOATS:
        other_frac, other_bias, other_width = FLOATS[kind]
        for code in (0, 1, 2, (1 << other_frac) - 1, 1 << other_frac, ((2 * other_bias + 1) << other_frac) - 1):
            sign, value = decode(kind, code)
            for halves in (2, 1, 3, 4):
                at = encode(source, 0, value * halves // 2)
                yield from (at, max(at - 1, 0), at + 1, at | 1 << (width - 1))
    infinity = (2 * bias + 1) << frac
    yield from (infinity, infinity | 1 << (width - 1), infinity + 1, infinity + (1 << (frac - 1)), (1 << width) - 1)
    other_frac, other_bias, other_width = FLOATS[target]
    for _ in range(150):
        code = RNG.randrange((2 * other_bias + 1) << other_frac)
        below, above = decode(target, code)[1], decode(target, code + 1)[1]
        if above != "inf":
            at = encode(source, RNG.randrange(2), (below + above) // 2)
            yield from (at, at + 1, at - 1 if at & (infinity - 1) else at)
    for _ in range(150):
        yield RNG.getrandbits(width)


def int_cases(source, target):
    signed, width = INTS[source]
    for other in (8, 16, 32, 64):
        for value in (0, 1, 2, 1 << (other - 1), 1 << other):
            for near in (value - 1, value, value + 1, -value - 1, -value, -value + 1):
                yield near & ((1 << width) - 1)
    for _ in range(100):
        yield RNG.getrandbits(width)


def conversions():
    for kinds, cases, convert in ((FLOATS, float_cases, convert_float), (INTS, int_cases, convert_int)):
        for source in kinds:
            for target in kinds:
                if source == target:
                    continue
                elements = list(cases(source, target))
                results = [convert(source, target, bits) for bits in elements]
                print("convert", source, target, len(elements), *(sum(r[i] for r in results) for i in (1, 2, 3)),
                      ",".join("%x" % bits for bits in elements),
                      ",".join("nan" if r[0] == "nan" else "%x" % r[0] for r in results))


def text(value):
    return value.encode().hex() or "-"


def files():
    names = ["a", "model.layers.0.weight", "0", "x/y", "größe", "\u4e2d\u6587", "\U0001f600", "tab\t", "quote\"", "back\\slash", " ",
             "__metadata", "long." * 40]
    for number in range(40):
        header, data, expected, gap = {}, b"", [], 0
        kinds = list(BITS)
        RNG.shuffle(kinds)
        RNG.shuffle(names)
        if number % 3:
            pairs = {"format": "pt"} if number % 3 == 1 else {names[i]: names[-i] for i in range(RNG.randrange(5))}
            header["__metadata__"] = pairs
            expected += ["pair %s %s" % (text(k), text(v)) for k, v in pairs.items()]
        for i, kind in enumerate(kinds[:RNG.randrange(len(names) + 1)]):
            rank = RNG.randrange(9)
            dims = [RNG.choice((1, 1, 1, 2, 3, 4)) if number != 7 else RNG.choice((0, 1, 2)) for _ in range(rank)]
            if BITS[kind] % 8:
                dims = [4] + dims[1:]
            count = 1
            for dim in dims:
                count *= dim
            content = RNG.randbytes(count * BITS[kind] // 8)
            if number % 4 == 1:
                skipped = RNG.randrange(4)
                data += b"\xEE" * skipped
                gap += skipped
            members = [("dtype", kind), ("shape", dims), ("data_offsets", [len(data), len(data) + len(content)])]
            RNG.shuffle(members)
            if number % 5 == 2:
                members.insert(RNG.randrange(4), ("more", {"dtype": [None, True, -1.5e3]}))
            header[names[i]] = dict(members)
            expected.append("weight %s %s %s %s" % (text(names[i]), kind, "x".join(map(str, dims)) or "-", content.hex() or "-"))
            data += content
        style = dict(ensure_ascii=bool(number & 1), indent=2 if number % 6 == 5 else None)
        head = json.dumps(header, **style).encode()
        if number % 2:
            head += b" " * (-len(head) % 8)
        whole = struct.pack("<Q", len(head)) + head + data
        print("file", number, whole.hex())
        print("\n".join(expected + ["gap %d" % gap]))


files()
conversions()
