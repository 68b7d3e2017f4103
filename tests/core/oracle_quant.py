#!/usr/bin/env python3
"""Print quantisation cases as text lines, computed with exact integers.

Each line is: dtype scale_bits offset x_bits code
dtype is the table name (ufixed8 ...), scale_bits and x_bits are float32 bit patterns in hex,
offset and code are decimal. tests/core/test_quant.c compares them when QNNRT_ORACLE names the file.
"""
import random
import struct

TYPES = [("ufixed2", 0, 3), ("sfixed2", -2, 1), ("ufixed4", 0, 15), ("sfixed4", -8, 7),
         ("ufixed8", 0, 255), ("sfixed8", -128, 127),
         ("ufixed16", 0, 65535), ("sfixed16", -32768, 32767),
         ("ufixed32", 0, 2**32 - 1), ("sfixed32", -2**31, 2**31 - 1)]


def to_bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def exact(bits):
    """Return the exact value of a finite float32, from its fields: an integer, in units of 2^-150."""
    field, mant = (bits >> 23) & 255, bits & 0x7FFFFF
    value = (mant | (1 << 23) if field else mant) << max(field, 1)
    return -value if bits >> 31 else value


def nearest(value, unit):
    """Return value / unit, rounded to nearest, ties to even."""
    code, rest = divmod(value, unit)
    return code + int(2 * rest > unit or (2 * rest == unit and code & 1))


def code_of(bits, scale, offset, lo, hi):
    size = bits & 0x7FFFFFFF
    if size > 0x7F800000:
        q = 0                                   # NaN stores real zero
    elif size == 0x7F800000:
        return lo if bits >> 31 else hi
    else:
        q = nearest(exact(bits), scale)
    return min(max(q - offset, lo), hi)


def nearest_bits(halves):
    """Return the bits of a float32 near a value in units of 2^-151; exactness does not matter here."""
    try:
        return to_bits(halves / (1 << 151))
    except OverflowError:
        return 0xFF7FFFFF if halves < 0 else 0x7F7FFFFF


def main():
    rng = random.Random(20240607)
    special = [0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000,
               0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001,
               0x7F800001, 0x3F000000, 0x3EFFFFFF, 0x3F000001, 0xBF000000, 0x3FC00000, 0x40200000]
    scales = [0x3F800000, 0x3F000000, 0x3DCCCCCD, 0x3C23D70A, 0x38D1B717, 0x3780803C, 0x00200001,
              0x00400000, 0x00800000, 0x01000000, 0x7F7FFFFF, 0x4B7FFFFF, 0x40400000]
    for name, lo, hi in TYPES:
        for n in range(60):
            s = scales[n] if n < len(scales) else rng.randrange(0x00200001, 0x7F800000) \
                if n % 3 == 0 else rng.randrange(0x34000000, 0x42000000)
            scale = exact(s)
            offset = rng.choice([0, -lo - (hi - lo + 1) // 2, -lo, -hi, 1, -1,
                                 rng.randint(-hi, -lo), rng.randint(-2**31, 2**31 - 1),
                                 2**31 - 1, -2**31])
            offset = min(max(offset, -2**31), 2**31 - 1)    # the field is an int32
            xs = list(special)
            for _ in range(60):
                q = rng.randint(lo, hi)
                # The exact point between two codes when a float holds it, and its neighbours.
                b = nearest_bits((2 * (q + offset) + 1) * scale)
                xs += [b, min(b + 1, 0xFFFFFFFF), max(b - 1, 0)]
                xs.append(nearest_bits(2 * (q + offset) * scale))
                m = rng.randrange(1, 1 << rng.randint(1, 12)) * 2 + 1
                xs.append(nearest_bits(rng.choice([-1, 1]) * m * scale))
            xs += [rng.getrandbits(32) for _ in range(10)]
            for x in xs:
                print(name, "%08x" % s, offset, "%08x" % x, code_of(x, scale, offset, lo, hi))


if __name__ == "__main__":
    main()
