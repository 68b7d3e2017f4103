#!/usr/bin/env python3
"""Functions of one number over the whole range of float16, and forms of layers, on the genuine libraries.

    sweep.py [--build build] [--step 8] [--library htp-2.51,..] [NAME ...]

Libraries for NPUs compute functions by tables and short polynomials, which are right where somebody looked. Here each
function reads every step-th float16 (all signs, all exponents) alone, and as the sum of two tensors, which libraries fuse
with it. torch's float64 is what is right: at most 4e-3 away, of the value where that is above 1. Results beyond
float16 may be any number beyond it. Then rows that are convolved and padded in sizes where libraries were wrong: 1e-2 of the
largest value. A row for each function and library: the largest error, or where it is wrong.
The exit status is 1 if one is wrong that KNOWN does not list."""
import argparse
import logging
import os
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tools", "python")]
MOST = 65504.0
# What is known to be wrong, and how the compiler avoids it or says so.
KNOWN = {
    ("htp", "sin"): (256, MOST), ("htp", "cos"): (256, MOST),              # angles of positions are refused
    ("htp-2.47", "reciprocal"): (32768, MOST),
    ("cpu", "gelu_tanh"): (60, MOST),                                      # 1e-7 of x, not 0
    ("htp", "softsign"): (16384, MOST),                                    # a divisor beyond 16384
    ("htp", "asinh"): (16384, MOST),                                       # a sum beyond float16
    ("htp", "exp2"): (8, 16),                                              # 7e-3: the exponent is float16, too
}


def functions():
    import torch
    from torch.nn import functional as F
    positive = ("log", "sqrt", "rsqrt", "log2", "log1p")
    found = {n: getattr(torch, n) for n in ("exp tanh sigmoid log sqrt rsqrt erf sin cos reciprocal log2 log1p abs floor ceil round sign trunc "
                                            "square neg expm1 exp2 atan sinh cosh asinh").split()}
    found.update({n: getattr(F, n) for n in "silu gelu elu softplus mish hardswish hardsigmoid relu6 leaky_relu logsigmoid softsign selu".split()})
    found["gelu_tanh"] = lambda x: F.gelu(x, approximate="tanh")
    return {n: (f, n in positive) for n, f in found.items()}


def forms():
    """Return layers by their names, each with its input."""
    import torch
    from torch.nn import functional as F
    found = {}
    for length in list(range(1, 33)) + [40, 48, 56, 64]:
        for wide in (5, 7, 9, 15):
            weight = torch.randn(16, 8, wide) / 4
            found["conv1d of %d, window of %d" % (length, wide)] = (
                lambda x, w=weight, p=wide // 2: F.conv1d(x, w, padding=p), torch.randn(1, 8, length))

    def heads(x):
        return x.transpose(1, 2).unflatten(1, (2, 16))
    found["pad behind a transpose"] = (
        lambda x: torch.matmul(F.pad(heads(x * 1.5), (0, 0, 0, 1), value=1.), torch.relu(heads(x)).transpose(-1, -2)), torch.randn(1, 64, 32))
    # Padded columns before a Transpose; rows of a product that become rank 5; constants beside comparisons.
    for height, channels, window, pads in ((2, 1, (2, 1), (1, 0)), (4, 3, (3, 3), (1, 1)), (6, 8, (5, 3), (2, 1)), (6, 8, (1, 3), (0, 1))):
        weight = torch.randn(6, channels, *window) / 4
        found["column of %d, window of %dx%d" % (height, *window)] = (
            lambda x, w=weight, p=pads: F.conv2d(x, w, padding=p), torch.randn(1, channels, height, 1))
    for columns in (2, 4, 7):
        weight = torch.randn(columns, 3) / 2
        found["linear to rank 5, %d columns" % columns] = (
            lambda x, w=weight: F.linear(torch.relu(x), w).unflatten(0, (2, 1, 2)), torch.randn(4, columns, 3))
    found["planes of one line"] = (lambda x: F.interpolate(x, size=(2, 4, 4), mode="nearest"), torch.randn(2, 1, 1, 1, 2))
    found["sums of windows"] = (lambda x: F.avg_pool2d(x, 3, 1, padding=(1, 0), divisor_override=5), torch.randn(2, 3, 6, 3))
    found["constant behind a comparison"] = (lambda x: torch.where(F.pad(x > 0, (0, 1), value=1), 1.0, -1.0), torch.randn(2, 3))
    for count in (2, 3):                                       # one of several slices in the middle, and heads in front
        found["slice, transpose and reshape of %d" % count] = (
            lambda x, n=count: x.view(n, 16, 4, 3, 16)[..., 1, :].transpose(1, 2).reshape(n * 4, 16, 16), torch.randn(count, 16, 192))

    def hidden(x, low, fill):                                  # rows that two masks hide: those of negative sums, and what follows
        later, row, scores = torch.ones(8, 8).triu(1) > 0, (x.sum(1) < 0)[:, None], torch.tanh(x) * 4
        scores = torch.where(later, low, scores) if fill else scores + later * low
        return torch.softmax(scores + row * low, -1)
    for low in (torch.finfo(torch.float32).min, -10000.0):
        for fill in (False, True):
            found["two masks of %.0e, %s" % (low, "filled" if fill else "added")] = (
                lambda x, v=low, f=fill: hidden(x, v, f), torch.randn(4, 8, 8) * 3)
    return found


def libraries(build):
    qnn = os.path.join(build, "qnn", "%s", "onnxruntime_qnn", "%s")
    return {"cpu-2.47": ("cpu", qnn % ("2.47", "libQnnCpu.so")), "htp-2.47": ("npu", qnn % ("2.47", "libQnnHtp.so")),
            "htp-2.51": ("npu", qnn % ("2.51", "libQnnHtp.so"))}


def values(step):
    """Return every step-th finite float16 as float32: all of them, and the positive ones."""
    import numpy
    bits = numpy.arange(0, 0x7C00, step, dtype="u2")
    positive = bits.view("f2").astype("f4")
    return numpy.concatenate([-positive[::-1], positive]), positive[1:]


def wrong_places(name, library, x, got, want, numpy):
    """Return the largest error, and where results are wrong."""
    with numpy.errstate(all="ignore"):
        error = numpy.abs(got - want) / numpy.maximum(numpy.abs(want), 1)
        beyond = ~(numpy.abs(want) < MOST)
        ok = numpy.where(beyond, ~(numpy.abs(got) < MOST * 0.99), error <= 4e-3)
    if library.startswith("cpu"):                          # float32
        ok = numpy.where(beyond, True, error <= 1e-5)
        beyond = beyond | (numpy.abs(want) > 1e38)
    for (where, known), (low, high) in KNOWN.items():
        if library.startswith(where) and known == name:
            ok = ok | ((numpy.abs(x) >= low) & (numpy.abs(x) <= high))
    return float(numpy.nanmax(numpy.where(ok & ~beyond, error, 0))), x[~ok], got[~ok], want[~ok]


def run(options, folder, model, args):
    """Export a model, compile it for each library and run it. Yield the library and a function that reads an output, or None."""
    import qnnrt
    import run_list
    qnnrt.export(model, args, folder + "/export", samples=[args])
    with open(folder + "/export/graph.json") as f:
        graph = run_list.json.load(f)
    for library, (role, path) in libraries(options.build).items():
        if library not in options.library.split(","):
            continue
        work = folder + "/" + library
        tool = os.path.join(options.build, "qnnrt-run")
        settings = argparse.Namespace(tool=tool, seconds=300, gib=8)
        status, _, said, _ = run_list.command([tool, "compile", folder + "/export", "--output_dir", work, "--backends", role, "--backend_so",
                                               role + "=" + path], settings.seconds, settings.gib)
        read = None
        if status == 0:
            read, _, _, said = run_list.run_samples(settings, folder + "/export", graph, work, {role: path}, 1)
        if read is None:
            print("FAIL sweep/%s: %s" % (library, said))
        yield library, read


def sweep(options, folder, chosen, torch, numpy):
    """Compare functions. Return how many are right and wrong."""
    every, positive = (torch.from_numpy(v).reshape(1, -1) for v in values(options.step))

    class All(torch.nn.Module):
        def forward(self, x, y, zero):
            result = {}
            for name, (function, of_positive) in chosen.items():
                v = y if of_positive else x
                result[name] = function(v)
                result[name + "_sum"] = function(v + (zero[:, :v.shape[1]] if of_positive else zero))
            return result
    right = wrong = 0
    for library, read in run(options, folder, All(), (every, positive, torch.zeros_like(every))):
        if read is None:
            wrong += 1
            continue
        for name, (function, of_positive) in chosen.items():
            x = positive if of_positive else every
            want = function(x.double()).numpy().reshape(-1)
            for form in ("", "_sum"):
                got = read(0, name + form, "float32", want.size).astype("f8").reshape(-1)
                most, where, is_, should = wrong_places(name, library, x.numpy().reshape(-1), got, want, numpy)
                if where.size:
                    at = numpy.abs(where).argmin()
                    print("FAIL sweep/%s %s%s: wrong for %d of %d numbers, nearest to 0: %g gives %g, expected %g" % (
                        library, name, form, where.size, want.size, where[at], is_[at], should[at]))
                elif not form and not options.quiet:
                    print("%-10s %-12s %.1e" % (library, name, most))
                wrong += where.size > 0
                right += where.size == 0
    return right, wrong


def layers(options, folder, torch, numpy):
    """Compare forms of layers. Return how many are right and wrong."""
    chosen = list(forms().items())

    class All(torch.nn.Module):
        def forward(self, *args):
            return {"o%d" % i: function(x) for i, ((_, (function, _)), x) in enumerate(zip(chosen, args))}
    right = wrong = 0
    for library, read in run(options, folder, All(), tuple(x for _, (_, x) in chosen)):
        if read is None:
            wrong += 1
            continue
        for i, (name, (function, x)) in enumerate(chosen):
            want = function(x).numpy().reshape(-1)
            error = float(numpy.abs(read(0, "o%d" % i, "float32", want.size) - want).max() / numpy.abs(want).max())
            if not error < 1e-2:
                print("FAIL sweep/%s %s: %.1e of the largest value" % (library, name, error))
            right, wrong = right + (error < 1e-2), wrong + (not error < 1e-2)
    return right, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--step", type=int, default=8)
    parser.add_argument("--library", default="cpu-2.47,htp-2.47,htp-2.51")
    parser.add_argument("--quiet", action="store_true", help="only what is wrong")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    os.environ.setdefault("QNNRT_LIBRARY", os.path.abspath(options.build + "/libqnnrt.so"))
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    import numpy
    import torch
    torch.manual_seed(0)
    chosen = {n: f for n, f in functions().items() if not options.names or n in options.names}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        found.append(sweep(options, folder + "/functions", chosen, torch, numpy))
        if not options.names:
            found.append(layers(options, folder + "/forms", torch, numpy))
    print("%d passed, %d failed" % tuple(map(sum, zip(*found))))
    return 1 if sum(wrong for _, wrong in found) else 0


if __name__ == "__main__":
    sys.exit(main())
