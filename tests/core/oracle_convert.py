#!/usr/bin/env python3
"""Print conversions of whole tensors as lines of words, computed with exact integers.

    how rank dims  from to  lost count elements elements

how is the number of qnnrt_convert, dims are those of `from`. from and to are "dtype encoding": 0 (none), 1 scale offset,
or 2 axis count (scale offset)..., with scales as the bits of a float32. Elements are hex, as stored, of `from` and then of
`to`. Numbers without a note are decimal. tests/core/test_convert.c compares them when QNNRT_ORACLE names the file.
"""
import functools
import itertools
import random

FLOATS = {"float16": (10, 15, 16), "bfloat16": (7, 127, 16), "float32": (23, 127, 32), "float64": (52, 1023, 64)}
INTS = {"%s%d" % (kind, bits): (kind[0] in "is", bits) for kind in ("int", "uint", "sfixed", "ufixed")
        for bits in (2, 4, 8, 16, 32, 64) if bits < 64 or "fixed" not in kind}
VALUES, TO_NHWC, TO_NCHW = 1, 2, 3
ONE = 1080                                       # a value is an integer, in units of 2^-1080
RNG = random.Random(20261122)


def bits_of(dtype):
    return 8 if dtype == "bool8" else FLOATS[dtype][2] if dtype in FLOATS else INTS[dtype][1]


def nearest(value, unit):
    """Return value / unit, rounded to nearest, ties to even."""
    code, rest = divmod(value, unit)
    return code + int(2 * rest > unit or (2 * rest == unit and code & 1))


def decode(dtype, element, scale, offset):
    """Return an element's value and its sign; or "inf" or the fraction bits of a NaN instead of the value."""
    if dtype == "bool8":
        return int(element != 0) << ONE, 0
    if dtype in FLOATS:
        frac, bias, bits = FLOATS[dtype]
        sign, field, mant = element >> (bits - 1), element >> frac & (2 * bias + 1), element & ((1 << frac) - 1)
        if field == 2 * bias + 1:
            return ("inf" if mant == 0 else ("nan", mant, frac)), sign
        value = (mant + ((1 << frac) if field else 0)) << (ONE + max(field, 1) - bias - frac)
        return (-value if sign else value), sign
    signed, bits = INTS[dtype]
    code = element - (1 << bits) if signed and element >> (bits - 1) else element
    value = code << ONE if "fixed" not in dtype else (code + offset) * scale
    return value, int(value < 0)


def encode(dtype, value, sign, scale, offset):
    """Return the element that stores a value, and 1 if it does not fit."""
    if dtype == "bool8":
        fits = isinstance(value, int) and 0 <= value <= 1 << ONE
        return int(value != 0), int(not fits)
    if dtype in FLOATS:
        frac, bias, bits = FLOATS[dtype]
        top = (2 * bias + 1) << frac
        lost = 0
        if isinstance(value, tuple):
            _, mant, had = value
            mant = mant << (frac - had) if frac > had else mant >> (had - frac)
            size = top | mant | 1 << (frac - 1)
        elif value == "inf":
            lost = int(dtype == "float16")
            size = top - lost
        elif value == 0:
            size = 0
        else:
            exp = max(value.bit_length() - 1 - ONE, 1 - bias)
            size = nearest(abs(value), 1 << (ONE + exp - frac)) + ((exp + bias - 1) << frac)
            lost = int(size >= top)
            size = min(size, top - 1)
        return size | sign << (bits - 1), lost
    signed, bits = INTS[dtype]
    least, most = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if "fixed" not in dtype:
        scale, offset = 1 << ONE, 0
    if isinstance(value, tuple):
        code, lost = -offset, 1
    elif value == "inf":
        code, lost = (least if sign else most), 1
    else:
        code = nearest(value, scale) - offset
        lost = int(not least <= code <= most)
    return min(max(code, least), most) & ((1 << bits) - 1), lost


@functools.lru_cache(None)
def exact(bits):
    return decode("float32", bits, None, None)[0]


class Side:
    """A dtype with an encoding: pairs of scale bits and offset, one, or one per index of the axis."""

    def __init__(self, dtype, pairs=(), axis=None):
        self.dtype, self.pairs, self.axis = dtype, list(pairs), axis

    def __str__(self):
        words = [self.dtype, "0" if not self.pairs else "1" if self.axis is None else "2 %d %d" % (self.axis, len(self.pairs))]
        return " ".join(words + ["%x %d" % pair for pair in self.pairs])

    def at(self, place):
        if not self.pairs:
            return None, 0
        bits, offset = self.pairs[0 if self.axis is None else place[self.axis]]
        return exact(bits), offset


def put(how, dims, a, b, elements):
    rank, count = len(dims), len(elements)
    to_dims = dims if how == VALUES else [dims[0]] + dims[2:] + [dims[1]] if how == TO_NHWC else [dims[0], dims[-1]] + dims[1:-1]
    out, lost, same = [0] * count, 0, str(a) == str(b)
    for n, place in enumerate(itertools.product(*map(range, dims))):
        to, at = place, n
        if how != VALUES:
            to = place[:1] + place[2:] + place[1:2] if how == TO_NHWC else place[:1] + place[-1:] + place[1:-1]
            at = 0
            for i in range(rank):
                at = at * to_dims[i] + to[i]
        if same:
            out[at] = elements[n]
            continue
        value, sign = decode(a.dtype, elements[n], *a.at(place))
        out[at], over = encode(b.dtype, value, sign, *b.at(to))
        lost += over
    print(how, rank, *dims, a, b, lost, count, *["%x" % e for e in elements], *["%x" % e for e in out])


SPECIAL = {"float32": [0, 1, 0x7FFFFF, 0x800000, 0x33000000, 0x33000001, 0x33800000, 0x387FC000, 0x387FE000, 0x387FFFFF, 0x38800000,
                       0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x40200000, 0x437F0000,
                       0x437F7FFF, 0x437F8000, 0x437F8001, 0x477FE000, 0x477FEFFF, 0x477FF000, 0x477FF001, 0x47800000, 0x4B800001,
                       0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000, 0x5EFFFFFF, 0x5F000000, 0x5F7FFFFF, 0x5F800000, 0x7F7F7FFF,
                       0x7F7F8000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF],
           "float64": [0, 1, 0x000FFFFFFFFFFFFF, 0x36A0000000000000, 0x36A0000000000001, 0x380FFFFFFFFFFFFF, 0x3E70000000000000,
                       0x3E70000000000001, 0x3FE0000000000000, 0x3FF0000000000000, 0x40EFFDFFFFFFFFFF, 0x40EFFE0000000000,
                       0x41DFFFFFFFC00000, 0x41DFFFFFFFE00000, 0x43E0000000000000, 0x43F0000000000000, 0x47EFFFFFE0000000,
                       0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF0000000000001,
                       0x7FF8000000000000, 0x7FFFFFFFFFFFFFFF]}
SCALES = [0x3F800000, 0x3F000000, 0x3DCCCCCD, 0x3C23D70A, 0x38D1B717, 0x3780803C, 0x00200001, 0x00800000, 0x7F7FFFFF, 0x40400000,
          0x4B7FFFFF, 0x33D6BF95, 0x477FE000]


def random_scale():
    return RNG.choice(SCALES) if RNG.random() < 0.5 else RNG.randrange(0x34000000, 0x42000000)


def random_pair(dtype):
    signed, bits = INTS[dtype]
    most = 1 << bits
    offset = RNG.choice([0, 0, -most // 2, most // 2, 1, -1, RNG.randint(-most, most), RNG.randint(-2**31, 2**31 - 1)])
    return random_scale(), max(min(offset, 2**31 - 1), -2**31)


def side(dtype, dims=None):
    if "fixed" not in dtype:
        return Side(dtype)
    if dims and RNG.random() < 0.6:
        axis = RNG.randrange(len(dims))
        return Side(dtype, [random_pair(dtype) for _ in range(dims[axis])], axis)
    return Side(dtype, [random_pair(dtype)])


def near(dtype, a, b):
    """Return an element of `a` that is close to the middle between two codes, or to the ends, of `b`."""
    if dtype not in FLOATS or not (b.dtype in INTS or b.dtype == "bool8"):
        return RNG.getrandbits(bits_of(dtype))
    scale, offset = b.at([0] * 9)
    signed, bits = INTS.get(b.dtype, (False, 1))
    least, most = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    code = RNG.choice([least, most, RNG.randint(least, most), 0, 1])
    value = (2 * (code + offset) + RNG.choice([1, -1, 0])) * (scale or 1 << ONE) // 2
    element, _ = encode(dtype, value, int(value < 0), None, None)
    return max(0, min(element + RNG.choice([-1, 0, 0, 1]), (1 << bits_of(dtype)) - 1))


def elements_of(a, b, count):
    bits = bits_of(a.dtype)
    if bits <= 8 and count >= 1 << bits:
        return [n % (1 << bits) for n in range(count)]
    special = SPECIAL.get(a.dtype, [0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 0x7F, 0x80, 0x7FFFFFFF, 0x80000000])
    special = [s for s in special if s < 1 << bits]
    if a.dtype in SPECIAL:
        special = special + [s | 1 << (bits - 1) for s in special]
    while len(special) < count:
        special.append(near(a.dtype, a, b) if RNG.random() < 0.7 else RNG.getrandbits(bits))
    return special[:count]


def main():
    types = list(FLOATS) + list(INTS) + ["bool8"]
    # Every half and every bfloat16.
    for dtype in ("float16", "bfloat16"):
        for other in [t for t in FLOATS if t != dtype and t != "float64"] + (["ufixed8"] if dtype == "float16" else []):
            b = Side(other, [(0x3C23D70A, -128)] if "fixed" in other else [])
            put(VALUES, [65536], Side(dtype), b, list(range(65536)))
    # Every pair of types; every code of 16 bits for some.
    for one, other in itertools.product(types, types):
        for _ in range(2 if "fixed" in one + other else 1):
            a, b = side(one), side(other)
            if str(a) != str(b):
                put(VALUES, [261], a, b, elements_of(a, b, 261))
    for other in ("float16", "sfixed16"):
        a, b = side("ufixed16"), side(other)
        put(VALUES, [65536], a, b, list(range(65536)))
    # A conversion between two encodings that has ties.
    for s, t in ((0x3F000000, 0x3F800000), (0x3F800000, 0x40000000), (0x3F400000, 0x3F000000), (0x3DCCCCCD, 0x3E4CCCCD)):
        put(VALUES, [256], Side("ufixed8", [(s, -128)]), Side("sfixed8", [(t, 3)]), list(range(256)))
        put(VALUES, [8192], Side("ufixed16", [(s, -32768)]), Side("ufixed8", [(t, -100)]), list(range(32768 - 4096, 32768 + 4096)))
    # One scale for each index of an axis.
    for _ in range(60):
        dims = [RNG.randint(1, 5) for _ in range(RNG.randint(1, 4))]
        count = 1
        for d in dims:
            count *= d
        a, b = side(RNG.choice([t for t in INTS if "fixed" in t]), dims), side(RNG.choice(types), dims)
        if RNG.random() < 0.5 and "fixed" in b.dtype:
            a = Side(RNG.choice(list(FLOATS)))
        if str(a) != str(b):
            put(VALUES, dims, a, b, [RNG.getrandbits(bits_of(a.dtype)) for _ in range(count)])
    # Layouts: other dimensions than those of a tile.
    shapes = [[1, 1, 1], [2, 3, 5], [1, 33, 65], [2, 32, 8, 8], [1, 3, 9, 31], [3, 37, 5, 13], [1, 70, 1, 1], [1, 1, 11, 7],
              [2, 5, 2, 3, 4], [1, 2, 3, 2, 2, 2], [1, 3, 16, 24]]
    wide = [t for t in types if bits_of(t) >= 8]
    for dims in shapes:
        count = 1
        for d in dims:
            count *= d
        for how in (TO_NHWC, TO_NCHW):
            for n in range(8):
                a = side(RNG.choice(wide), dims)
                b = side(RNG.choice(wide), [dims[0]] + dims[2:] + [dims[1]] if how == TO_NHWC else [dims[0], dims[-1]] + dims[1:-1])
                if n < 4:                           # the layout alone
                    a = b = Side(["uint8", "float16", "float32", "int64"][n])
                elif n == 4:
                    pair = random_pair("ufixed16")
                    a = b = Side("ufixed16", [pair])
                put(how, dims, a, b, [RNG.getrandbits(bits_of(a.dtype)) for _ in range(count)])


if __name__ == "__main__":
    main()
