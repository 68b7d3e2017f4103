#!/usr/bin/env python3
"""Run the recorded cases of the onnx package through our sessions, and compare with the engine's own Python.

    build/engines/venv/bin/python tests/engines/cases.py ENGINE_RUN DATA ENGINE [--library FILE_OR_FOLDER]
        [--part TEXT] [--bound] [--expect N] [-v]

ENGINE is onnxrt or openvino. DATA is onnx/backend/test/data of the package onnx, with the folders simple,
pytorch-operator and pytorch-converted. For each case both sides have a verdict: right (all outputs within rtol 1e-3
and atol 1e-7 of the recorded ones, as the package's own runner has it), wrong or refused. The verdicts must be equal,
and where both have outputs, these must be equal byte by byte. --library: another release than Python's; then the
verdicts alone are compared. --expect N: so many cases must be right."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.numpy_helper


def tensors(folder, what, types):
    """Return the recorded tensors, and None where a file holds something else."""
    found = []
    for i in range(1000):
        path = os.path.join(folder, "test_data_set_0", "%s_%d.pb" % (what, i))
        if not os.path.exists(path):
            return found
        with open(path, "rb") as file:
            data = file.read()
        found.append(onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))
                     if i >= len(types) or types[i] else None)
    return found


def judge(outputs, expected):
    if len(outputs) != len(expected):
        return "wrong"
    for got, want in zip(outputs, expected):
        if want is None or got is None or got.shape != want.shape or got.dtype != want.dtype:
            return "wrong"
        if want.dtype == object or want.dtype.kind in "SU":
            if [str(one) for one in got.flat] != [str(one) for one in want.flat]:
                return "wrong"
        elif not numpy.allclose(got, want, rtol=1e-3, atol=1e-7, equal_nan=True):
            return "wrong"
    return "right"


def python_onnxrt(model, feeds):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return session.run(None, dict(zip(names, feeds)))


def python_openvino(model, feeds):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model), "CPU",
                                  {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
    result = compiled.create_infer_request().infer(dict(enumerate(feeds)))
    return [result[i] for i in range(len(compiled.outputs))]


def ours(program, engine, library, bound, model, folder, work):
    """Return the outputs of a session, or the text of its error."""
    command = [program, "--engine", engine, "--device", "cpu", "--output_dir", work]
    if engine == "openvino":
        command += ["--precision", "fp32"]
    if library:
        command += ["--library", library]
    if bound:
        command += ["--bound"]
    command.append(model)
    for i in range(1000):
        path = os.path.join(folder, "test_data_set_0", "input_%d.pb" % i)
        if not os.path.exists(path):
            break
        command.append(path)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode == 2:
        return "\n".join(line for line in text.splitlines() if line.startswith("error"))
    if done.returncode != 0:
        raise SystemExit("cases: %s ended with %d: %s" % (" ".join(command), done.returncode, text))
    outputs = []
    for line in text.splitlines():
        if not line.startswith("result "):
            continue
        dtype, dims = line.rsplit('" ', 1)[1].split(" ")[:2]
        dims = [int(dim) for dim in dims.strip("[]").split(",") if dim]
        with open(os.path.join(work, "%d.raw" % len(outputs)), "rb") as file:
            data = file.read()
        if dtype in ("string", "STRING"):
            texts = [one.decode("utf-8") for one in data.split(b"\0")[:-1]]
            outputs.append(numpy.array(texts, dtype=object).reshape(dims))
        else:
            outputs.append(numpy.frombuffer(data, dtype=numpy.dtype(TYPES[dtype])).reshape(dims))
    return outputs


TYPES = {"float32": "f4", "float64": "f8", "float16": "f2", "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8",
         "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8", "bool": "?", "bool8": "?"}
ENGINES = {"onnxrt": python_onnxrt, "openvino": python_openvino}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("engine", choices=sorted(ENGINES))
    parser.add_argument("--library")
    parser.add_argument("--part", default="")
    parser.add_argument("--bound", action="store_true")
    parser.add_argument("--expect", type=int)
    parser.add_argument("--verdicts-only", action="store_true")
    parser.add_argument("-v", action="store_true")
    asked = parser.parse_args()
    totals = {"right": 0, "wrong": 0, "refused": 0}
    same = differ = bytes_same = 0
    folders = []
    for group in ("simple", "pytorch-operator", "pytorch-converted"):
        base = os.path.join(asked.data, group)
        folders += [os.path.join(base, name) for name in sorted(os.listdir(base)) if asked.part in name]
    for folder in folders:
        model = os.path.join(folder, "model.onnx")
        graph = onnx.load(model, load_external_data=False).graph
        expected = tensors(folder, "output", [one.type.HasField("tensor_type") for one in graph.output])
        weights = {one.name for one in graph.initializer}
        feeds = tensors(folder, "input", [one.type.HasField("tensor_type") for one in graph.input if one.name not in weights])
        why = ""
        try:
            theirs = ENGINES[asked.engine](model, feeds)
            their = judge(theirs, expected)
        except Exception as error:    # whatever the engine throws is a refusal
            theirs, their, why = None, "refused", str(error).splitlines()[0]
        with tempfile.TemporaryDirectory() as work:
            mine = ours(asked.program, asked.engine, asked.library, asked.bound, model, folder, work)
        my = "refused" if isinstance(mine, str) else judge(mine, expected)
        totals[my] += 1
        equal = my == their
        if equal and not asked.verdicts_only and theirs is not None and my != "refused":
            equal = all(a.tolist() == numpy.asarray(b).tolist() if a.dtype == object else
                        a.tobytes() == numpy.asarray(b).tobytes() for a, b in zip(mine, theirs))
            bytes_same += equal
        same += equal
        differ += not equal
        if asked.v or not equal:
            print("%s %s: ours %s, Python's %s%s" % ("" if equal else "DIFFERS", os.path.basename(folder), my, their,
                                                     "; %s; %s" % (mine, why) if isinstance(mine, str) else ""))
    print("%s: %d cases: %d right, %d wrong, %d refused; %d verdicts as the engine's own Python, %d with equal bytes"
          % (asked.engine, len(folders), totals["right"], totals["wrong"], totals["refused"], same, bytes_same))
    failed = differ + (asked.expect is not None and asked.expect != totals["right"])
    print("%d passed, %d failed" % (same, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
