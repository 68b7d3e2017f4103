#!/usr/bin/env python3
"""Check the statistics of qnnrt-run bench --samples with slow computations of their definitions.

    bench_oracle.py QNNRT_RUN FOLDER

The quantile p is the least value v with at least p of all values at or below v, found by counting for each value. The
change of two sides is the median of the means of all pairs of log ratios; its interval is counted from both ends.
Prints "N passed, N failed"."""
import json
import math
import os
import random
import subprocess
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close  # noqa: E402

tool, folder = sys.argv[1:]



def near(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-12)


def write(name, values):
    path = "%s/%s.txt" % (folder, name)
    with open(path, "w") as file:
        file.write("# nanoseconds\n\n" + "".join("%s\n" % value for value in values))
    return path


def ask(*arguments):
    done = subprocess.run([tool, "bench", "--json"] + list(arguments), capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def quantile(values, part):
    return min(v for v in values if sum(1 for w in values if w <= v) >= part * len(values))


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


rng = random.Random(18)
for count in (1, 2, 3, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 1500):
    values = [rng.choice((rng.randint(1, 50), rng.randint(900, 1000), 10 ** rng.randint(0, 6))) for _ in range(count)]
    found = ask("--samples", write("one", values))
    sums = found.get("samples", {})
    expected = {"count": count, "min_ns": min(values), "median_ns": median(values), "p90_ns": quantile(values, Fraction(9, 10)),
                "p99_ns": quantile(values, Fraction(99, 100)), "p999_ns": quantile(values, Fraction(999, 1000)),
                "max_ns": max(values), "mean_ns": float(Fraction(sum(values), count))}
    for key, value in expected.items():
        check("%s of %d" % (key, count), near(sums.get(key, -1), value), "%s, not %s" % (sums.get(key), value))
    bars = found.get("histogram", {})
    least, p99 = min(values), expected["p99_ns"]
    bins = [0] * 12
    for value in values:
        if value <= p99:
            at = Fraction(12 * (value - least), p99 - least) if p99 > least else 0
            bins[min(int(at), 11)] += 1
    check("histogram of %d" % count, bars.get("above") == sum(1 for v in values if v > p99) and
          sum(bars["counts"]) + bars["above"] == count and
          sum(abs(a - b) for a, b in zip(bins, bars["counts"])) <= 2, "%s, not %s" % (bars, bins))

z = 2.5758293035489004
for rounds, slower, noise in ((1, 0, 0.1), (5, 0.5, 0.01), (12, 0.05, 0.002), (30, 0, 0.02), (30, 0.05, 0.01), (31, -0.05, 0.01), (60, 0.01, 0.001),
                              (60, 0.021, 0.0005), (100, 0.05, 0.5), (101, -0.5, 0.2)):
    a = [round(1e6 * math.exp(rng.gauss(0, 0.3))) for _ in range(rounds)]
    b = [max(1, round(x * (1 + slower) * math.exp(rng.gauss(0, noise)))) for x in a]
    found = ask("--samples", write("a", a), "--samples", write("b", b)).get("pipelines", [{}])[0]
    logs = [math.log(y / x) for x, y in zip(a, b)]
    means = sorted((logs[i] + logs[k]) / 2 for i in range(rounds) for k in range(i, rounds))
    n = rounds
    cut = max(1, math.floor(n * (n + 1) / 4 - z * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)))
    ratio, low, high = math.exp(median(means)), math.exp(means[cut - 1]), math.exp(means[-cut])
    verdict = "slower" if low > 1 and ratio >= 1.02 else "faster" if high < 1 and ratio <= 1 / 1.02 else "no difference"
    name = "%d rounds, %g, %g" % (rounds, slower, noise)
    for key, value in (("ratio", ratio), ("low", low), ("high", high)):
        check("%s of %s" % (key, name), near(found.get(key, -1), value), "%s, not %s" % (found.get(key), value))
    check("verdict of " + name, found.get("verdict") == verdict, "%s, not %s" % (found.get("verdict"), verdict))
    check("precise of " + name, found.get("precise") == (math.log(high / low) / 2 <= math.log(1.02) / 2))

# Of equal sides about 1 in 100 intervals leaves 1 out; the numbers are the same in every run.
outside = 0
for trial in range(60):
    a = [round(1e6 * math.exp(rng.gauss(0, 0.1))) for _ in range(30)]
    b = [round(1e6 * math.exp(rng.gauss(0, 0.1))) for _ in range(30)]
    found = ask("--samples", write("a", a), "--samples", write("b", b))["pipelines"][0]
    outside += not found["low"] <= 1 <= found["high"]
check("coverage", outside <= 4, "%d of 60 intervals leave 1 out" % outside)

sys.exit(close())
