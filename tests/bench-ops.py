#!/usr/bin/env python3
"""Table of `make bench-ops`: the graphs of tests/bench/bench_ops.c on several backends and on ONNX Runtime.

    python3 tests/bench-ops.py BENCH_OPS LABEL=LIBRARY [LABEL=LIBRARY ...]

The first library is what the others are compared with. ONNX Runtime's CPU provider runs the same graphs, in its
own layout, when numpy, onnx and onnxruntime can be imported (python3 -m venv V; V/bin/pip install onnx
onnxruntime; then PYTHON=V/bin/python); else its column is left out. Everything runs on one core.
"""
import os
import subprocess
import sys
import time

ROUNDS = 101


def onnx_graphs():
    """Name of a graph -> (model as bytes, inputs)."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
    rng = np.random.default_rng(1)

    def values(*shape):
        return (rng.random(shape, dtype=np.float32) - 0.5) * 0.5

    def model(nodes, inputs, outputs, weights):
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, v.shape) for n, v in inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
            [numpy_helper.from_array(v, n) for n, v in weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=9).SerializeToString(), inputs

    node = helper.make_node
    graphs = {
        "matmul": model([node("MatMul", ["x", "w"], ["y"])], {"x": values(256, 256)}, {"y": [256, 256]},
                        {"w": values(256, 256)}),
        "conv2d": model([node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])], {"x": values(1, 64, 28, 28)},
                        {"y": [1, 64, 28, 28]}, {"w": values(64, 64, 3, 3), "b": values(64)}),
    }
    dim, heads, positions, inside = 128, 4, 128, 384
    weights = {"wq": values(dim, dim), "wk": values(dim, dim), "wv": values(dim, dim), "wo": values(dim, dim),
               "wg": values(dim, inside), "wu": values(dim, inside), "wd": values(inside, dim),
               "gamma1": values(dim), "beta1": values(dim), "gamma2": values(dim), "beta2": values(dim),
               "eps": np.array([1e-5], np.float32), "last": np.array([-1], np.int64),
               "split": np.array([1, heads, 1, dim // heads], np.int64), "flat": np.array([1, dim], np.int64)}

    def rms(x, n):
        return [node("Mul", [x, x], ["sq" + n]), node("ReduceMean", ["sq" + n, "last"], ["ms" + n]),
                node("Add", ["ms" + n, "eps"], ["me" + n]), node("Sqrt", ["me" + n], ["rt" + n]),
                node("Div", [x, "rt" + n], ["dv" + n]), node("Mul", ["dv" + n, "gamma" + n], ["ga" + n]),
                node("Add", ["ga" + n, "beta" + n], ["normed" + n])]

    nodes = rms("x", "1") + [
        node("MatMul", ["normed1", "wq"], ["q"]), node("MatMul", ["normed1", "wk"], ["new_keys"]),
        node("MatMul", ["normed1", "wv"], ["new_values"]), node("Reshape", ["q", "split"], ["queries"]),
        node("Transpose", ["keys"], ["turned"], perm=[0, 1, 3, 2]), node("MatMul", ["queries", "turned"], ["scores"]),
        node("Softmax", ["scores"], ["shares"]), node("MatMul", ["shares", "values"], ["mixed"]),
        node("Reshape", ["mixed", "flat"], ["flattened"]), node("MatMul", ["flattened", "wo"], ["o"]),
        node("Add", ["x", "o"], ["middle"])] + rms("middle", "2") + [
        node("MatMul", ["normed2", "wg"], ["gate"]), node("Sigmoid", ["gate"], ["sigmoid"]),
        node("Mul", ["gate", "sigmoid"], ["swish"]), node("MatMul", ["normed2", "wu"], ["up"]),
        node("Mul", ["swish", "up"], ["gated"]), node("MatMul", ["gated", "wd"], ["down"]),
        node("Add", ["middle", "down"], ["y"])]
    cache = (1, heads, positions, dim // heads)
    graphs["decoder"] = model(nodes, {"x": values(1, dim), "keys": values(*cache), "values": values(*cache)},
                              {"y": [1, dim], "new_keys": [1, dim], "new_values": [1, dim]}, weights)
    return graphs


def run_onnx():
    """Name of a graph -> (fastest, median) in microseconds."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    results = {}
    for name, (model, inputs) in onnx_graphs().items():
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for key, value in inputs.items():
            binding.bind_cpu_input(key, value)
        for output in session.get_outputs():
            binding.bind_output(output.name)
        times = []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            session.run_with_iobinding(binding)
            times.append((time.perf_counter() - begin) * 1e6)
        times.sort()
        results[name] = (times[0], times[ROUNDS // 2])
    return results


def main():
    if len(sys.argv) < 3 or any("=" not in a for a in sys.argv[2:]):
        sys.exit(__doc__)
    labels = {path: label for label, path in (a.split("=", 1) for a in sys.argv[2:])}
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    done = subprocess.run([sys.argv[1]] + list(labels), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("bench-ops: " + done.stdout.strip())
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    rows = [(name, labels[path], float(low), float(mid), float(off)) for name, path, low, mid, off in rows]
    try:
        rows += [(name, "ONNX Runtime", low, mid, None) for name, (low, mid) in run_onnx().items()]
    except ImportError as missing:
        print("bench-ops: without ONNX Runtime: %s" % missing)
    print("%-8s %-14s %12s %12s %10s %10s %12s" % ("graph", "backend", "fastest us", "median us", "x fastest",
                                                  "x median", "difference"))
    for name in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == name]
        for _, label, low, mid, off in own:
            print("%-8s %-14s %12.1f %12.1f %10.2f %10.2f %12s" % (
                name, label, low, mid, low / own[0][2], mid / own[0][3], "" if not off else "%.1e" % off))


if __name__ == "__main__":
    main()
