#!/usr/bin/env python3
"""Print numbers with their exact floats as text lines, computed with integers and fractions.

Lines are of two kinds:
  r NUMBER f64 f32    the floats that NUMBER reads as: bits in hex, rounded half to even
  d BITS TEXT         the text of the float64 with these bits; f: of the float32
TEXT has the fewest digits that read back. Of several such texts it is the nearest to the float; a tie
goes to the even digit. tests/json/test_json.c compares the lines when QNNRT_ORACLE names the file.
"""
import random
import struct
from fractions import Fraction

F64 = ("d", 53, 11)
F32 = ("f", 24, 8)


def limits(fmt):
    _, bits, field = fmt
    least = 3 - (1 << (field - 1)) - bits                # power of two of the smallest denormal
    return bits, least, ((1 << field) - 1) << (bits - 1)


def exact(fmt, b):
    bits, least, _ = limits(fmt)
    field, m = b >> (bits - 1), b & ((1 << (bits - 1)) - 1)
    if field:
        m |= 1 << (bits - 1)
    return m * Fraction(2) ** (least + max(field, 1) - 1)


def nearest(fmt, digits, exponent):
    """Return the bits of the float nearest to digits * 10^exponent."""
    bits, least, infinity = limits(fmt)
    if digits == 0:
        return 0
    size = len(str(digits)) + exponent
    if size > 400:
        return infinity
    if size < -400:
        return 0
    n, d = digits * 10 ** max(exponent, 0), 10 ** max(-exponent, 0)
    two = max(n.bit_length() - d.bit_length() - bits - 2, least)
    while True:                                          # the last bit: the smallest power that fits
        if two >= 0:
            m, rest = divmod(n, d << two)
            whole = d << two
        else:
            m, rest = divmod(n << -two, d)
            whole = d
        if m.bit_length() <= bits:
            break
        two += 1
    m += 2 * rest > whole or (2 * rest == whole and m & 1)
    if m == 1 << bits:
        m, two = m >> 1, two + 1
    if m >> (bits - 1) == 0:
        return m
    b = ((two - least + 1) << (bits - 1)) | (m & ((1 << (bits - 1)) - 1))
    return min(b, infinity)


def take(text):
    text = text.lstrip("-").lower()
    text, _, exponent = text.partition("e")
    whole, _, fraction = text.partition(".")
    return int(whole + fraction), int(exponent or 0) - len(fraction)


def read_line(text):
    digits, exponent = take(text)
    b64, b32 = nearest(F64, digits, exponent), nearest(F32, digits, exponent)
    try:                                                 # compare with Python's own reader
        other = struct.unpack("<Q", struct.pack("<d", abs(float(text))))[0]
    except OverflowError:
        other = limits(F64)[2]
    assert b64 == other, text
    if text[0] == "-":
        b64, b32 = b64 | 1 << 63, b32 | 1 << 31
    print("r", text, "%016x" % b64, "%08x" % b32)


def shortest(fmt, b):
    """Return digits and exponent of the printed text."""
    value = exact(fmt, b)
    power = len(str(value.numerator)) - len(str(value.denominator)) - 1
    while Fraction(10) ** (power + 1) <= value:
        power += 1                                       # 10^power <= value < 10^(power + 1)
    for count in range(1, 18):
        unit = power + 1 - count
        scaled = value / Fraction(10) ** unit
        low = scaled.numerator // scaled.denominator
        best = [(abs(scaled - k), k & 1, k) for k in (low, low + 1) if nearest(fmt, k, unit) == b]
        if best:
            digits = min(best)[2]
            while digits % 10 == 0:
                digits, unit = digits // 10, unit + 1
            return digits, unit
    raise AssertionError("%x" % b)


def print_line(fmt, b):
    name, bits, field = fmt
    sign = b >> (bits + field - 1)
    b &= (1 << (bits + field - 1)) - 1
    if b == 0:
        text = "0.0"
    else:
        digits, exponent = shortest(fmt, b)
        if name == "d":
            value = struct.unpack("<d", struct.pack("<Q", b))[0]
            assert take(repr(value))[0] in (digits * 10 ** k for k in range(18)), repr(value)
        digits = str(digits)
        point = len(digits) + exponent
        if 0 < point <= 21:
            digits = digits.ljust(point, "0")
            text = digits[:point] + "." + (digits[point:] or "0")
        elif -6 < point <= 0:
            text = "0." + "0" * -point + digits
        else:
            text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + "e%d" % (point - 1)
    print(name, "%x" % (sign << (bits + field - 1) | b), ("-" if sign else "") + text)


def decimals(value):
    """Return all digits of a fraction whose denominator is a power of two, and their exponent."""
    k = value.denominator.bit_length() - 1
    return str(value.numerator * 5 ** k), -k


def main():
    rng = random.Random(20241121)
    for text in ["0", "-0", "0.0", "-0.000e5", "0e999999999999999999999", "1", "10", "1e-400", "1e400",
                 "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
                 "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1.8e308", "3e308",
                 "3.4028235e38", "3.4028235677973366e38", "3.4028235677973367e38", "3.4028236e38",
                 "1e-45", "7e-46", "7.1e-46", "2.2250738585072011e-308", "2.2250738585072014e-308",
                 "1e99999999999999999999", "1e-99999999999999999999", "0." + "0" * 400 + "1",
                 "1" + "0" * 300, "1" + "0" * 400, "0." + "0" * 1000 + "1e1001", "1" + "0" * 1000 + "e-1000",
                 "9007199254740993", "9007199254740993" + "0" * 900 + "1", "16777217",
                 "16777217." + "0" * 900 + "1", "0.1e00000000000000000000000000000001"]:
        read_line(text)
    # Powers of ten, over the borders of both formats and of every table.
    for e in range(-400, 330):
        for m in ("1", "9.999999999999999999999", "12345678901234567890"):
            read_line(m + "e%d" % e)
    # Random digits.
    for _ in range(3000):
        read_line("%d.%0*de%d" % (rng.randrange(10 ** rng.randrange(1, 40)), rng.randrange(1, 30),
                                  rng.randrange(10), rng.randrange(-400, 400)))
        read_line("%s%de%d" % (rng.choice(["", "-"]), rng.randrange(10 ** rng.randrange(1, 22)),
                               rng.randrange(-60, 50)))
    # Points halfway between two floats: exact, cut off, a little more, a little less.
    for fmt, count in ((F64, 500), (F32, 500)):
        bits, _, infinity = limits(fmt)
        for i in range(count):
            b = rng.randrange(infinity) if i % 4 else rng.randrange(1 << rng.randrange(1, bits))
            if i % 8 == 1:
                b &= -1 << (bits - 1)                    # above a power of two
            digits, exponent = decimals((exact(fmt, b) + exact(fmt, b + 1)) / 2)
            tail = "e%d" % exponent
            read_line(digits + tail)
            if 0 < -exponent < len(digits):
                read_line(digits[:exponent] + "." + digits[exponent:])
            read_line(digits + "." + "0" * rng.randrange(900) + "1" + tail)
            read_line(str(int(digits) - 1) + "." + "9" * rng.randrange(1, 900) + tail)
            cut = rng.choice([17, 18, 19, 20, 21, 40, 100])
            if cut < len(digits):
                read_line(digits[:cut] + "e%d" % (len(digits) - cut + exponent))
    # Printing: borders, every power of two, neighbours of these, random ones.
    for fmt, count in ((F64, 2500), (F32, 1500)):
        bits, _, infinity = limits(fmt)
        sign = 1 << (fmt[1] + fmt[2] - 1)
        print_bits = [0, sign, 1, 2, 3, infinity - 1, infinity - 2]
        print_bits += [1 << i for i in range(bits - 1)]
        for b in range(1 << (bits - 1), infinity, 1 << (bits - 1)):
            print_bits += [b - 1, b, b + 1] if b >> (bits - 1) & 3 == 0 else [b]
        for e in range(-40, 40):                         # powers of ten: borders of the notation
            b = nearest(fmt, 1, e)
            print_bits += [x for x in (b - 1, b, b + 1) if 0 <= x < infinity]
        print_bits += [rng.randrange(infinity) | rng.choice([0, sign]) for _ in range(count)]
        print_bits += [nearest(fmt, rng.randrange(10 ** rng.randrange(1, 18)), rng.randrange(-30, 20))
                       for _ in range(count // 3)]
        # Halfway between two texts of the same length: 1125899906842624.25 is 1125899906842624.2
        print_bits += [nearest(fmt, (rng.randrange(1 << (bits - 3), 1 << (bits - 2)) * 4 + rng.choice([1, 3])) * 25, -2)
                       for _ in range(100)]
        for b in print_bits:
            print_line(fmt, b)


if __name__ == "__main__":
    main()
