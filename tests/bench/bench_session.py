#!/usr/bin/env python3
"""Time runs of one small model through qnnrt's session and through ONNX Runtime's own Python, same library version.

    bench_session.py MODEL.onnx LIBONNXRUNTIME [ROUNDS]       needs qnnrt, numpy and onnxruntime in the same Python

Each figure is the least of the medians of several rounds, and the least of all runs, in microseconds a run; rounds alternate."""
import statistics
import sys
import time

import numpy
import onnxruntime
import qnnrt


def times_us(call, count=2000):
    times = []
    clock = time.perf_counter_ns
    for _ in range(count):
        begin = clock()
        call()
        times.append(clock() - begin)
    return statistics.median(times) / 1000, min(times) / 1000


def main():
    path, library = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    theirs = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    ours = qnnrt.InferenceSession(path, engine="onnxrt", device="cpu", options={"onnxrt.library_path": library})
    feeds, x_of = {}, {}
    types = {"tensor(float)": "float32", "tensor(int64)": "int64", "tensor(int32)": "int32"}
    for arg in theirs.get_inputs():
        shape = [n if isinstance(n, int) else 1 for n in arg.shape]
        feeds[arg.name] = numpy.ones(shape, types[arg.type])
    expected = theirs.run(None, feeds)
    for a, b in zip(expected, ours.run(None, feeds)):
        assert numpy.array_equal(a, b), "the results differ"
    mine, other = ours.io_binding(), theirs.io_binding()
    outs = [numpy.empty_like(e) for e in expected]
    for name, value in feeds.items():
        mine.bind_input(name, value)
        other.bind_input(name, "cpu", 0, value.dtype, value.shape, value.ctypes.data)
    other_outs = [numpy.empty_like(e) for e in expected]
    for arg, out, o in zip(theirs.get_outputs(), outs, other_outs):
        mine.bind_output(arg.name, out)
        other.bind_output(arg.name, "cpu", 0, o.dtype, o.shape, o.ctypes.data)
    cases = {"run": (lambda: ours.run(None, feeds), lambda: theirs.run(None, feeds)),
             "bound run": (lambda: ours.run_with_iobinding(mine), lambda: theirs.run_with_iobinding(other)),
             "binding.run()": (mine.run, lambda: theirs.run_with_iobinding(other))}
    print("%s, onnxruntime %s, %s" % (path, onnxruntime.__version__, ours.engine_version))
    for name, (a, b) in cases.items():
        best = [(1e9, 1e9)] * 2
        for _ in range(rounds):
            for i, call in enumerate((a, b)):
                best[i] = tuple(map(min, best[i], times_us(call)))
        print("%-14s qnnrt %7.2f us (least %7.2f)   onnxruntime %7.2f us (least %7.2f)   difference %+.2f us"
              % (name, *best[0], *best[1], best[0][0] - best[1][0]))
    for e, o in zip(expected, outs):
        assert numpy.array_equal(e, o), "the bound results differ"


main()
