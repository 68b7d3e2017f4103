#!/usr/bin/env python3
"""Write the conformance suite of the package onnx as files that tests/onnx/suite_run.c reads.

    suite.py DIR              DIR/NAME.onnx, DIR/NAME.data, DIR/cases.txt
    suite.py DIR --classes    print the classes and their counts

1,884 cases are made by the package's own generator, 140 lie on its disk. A line of cases.txt is "NAME CLASS FROZEN RTOL ATOL":
CLASS is "in" for the cases in scope of QNN's operators, else why it is not; FROZEN are the inputs that say how to compute
and not what (axes, shapes, pads, ...), by index and with commas between, or "-".
A .data file: "CASE", then u32 inputs, u32 outputs, then each: u32 type of ONNX (0: no tensor), u32 rank, i64 dims [rank],
u64 bytes, the bytes as raw_data has them."""
import argparse
import collections
import os
import struct
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, numpy_helper  # noqa: E402

# Operators that no graph of QNN can have, whatever the types.
OUT = set("""StringSplit StringNormalizer StringConcat RegexFullMatch LabelEncoder TfIdfVectorizer SequenceMap SequenceEmpty
    SequenceLength SequenceInsert SequenceErase SequenceAt SequenceConstruct ConcatFromSequence SplitToSequence 
    Optional OptionalHasElement OptionalGetElement Loop Scan If ImageDecoder Bernoulli RandomUniform RandomUniformLike
    RandomNormal RandomNormalLike Multinomial FlexAttention Momentum Adagrad Adam Gradient ArrayFeatureExtractor Binarizer
    TreeEnsemble""".split())
# Operators without a counterpart in QNN.
NONE = set("""BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitCast Compress Unique NonZero NonMaxSuppression RoiAlign
    DeformConv MaxUnpool""".split())
EXOTIC = {TensorProto.BFLOAT16, TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128} | set(range(17, 32))
SMALL = {TensorProto.INT8, TensorProto.INT16, TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64}
QUANTIZED = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"}
# Inputs that say how to compute, by operator.
FROZEN = {
    "Reshape": [1], "Expand": [1], "Tile": [1], "Pad": [1, 2, 3], "Slice": [1, 2, 3, 4], "Squeeze": [1], "Unsqueeze": [1],
    "Split": [1], "TopK": [1], "Resize": [1, 2, 3], "Upsample": [1], "ConstantOfShape": [0], "Range": [0, 1, 2], "OneHot": [1, 2],
    "CumSum": [1], "CumProd": [1], "Trilu": [1], "Clip": [1, 2], "ReduceSum": [1], "ReduceMean": [1], "ReduceMax": [1], "ReduceMin": [1],
    "ReduceProd": [1], "ReduceL1": [1], "ReduceL2": [1], "ReduceLogSum": [1], "ReduceLogSumExp": [1], "ReduceSumSquare": [1],
    "CenterCropPad": [1], "Col2Im": [1, 2], "AffineGrid": [1], "DFT": [1, 2], "STFT": [1, 3], "Dropout": [1, 2],
    "ReverseSequence": [1], "HannWindow": [0], "HammingWindow": [0], "BlackmanWindow": [0], "MelWeightMatrix": [0, 1, 2, 3, 4],
    "LSTM": [4], "GRU": [4], "RNN": [4], "QuantizeLinear": [1, 2], "DequantizeLinear": [1, 2], "QLinearConv": [1, 2, 4, 5, 6, 7],
    "QLinearMatMul": [1, 2, 4, 5, 6, 7], "ConvInteger": [2, 3], "MatMulInteger": [2, 3],
}


def tensor(value):
    """Return (type, dims, bytes) of an input or an output of a case; type 0: it is no tensor."""
    if isinstance(value, TensorProto):
        if value.data_type == TensorProto.STRING:
            return 0, [], b""
        if not value.HasField("raw_data"):
            array = numpy_helper.to_array(value)
            value = numpy_helper.from_array(array) if value.data_type < 14 else value
        data = value.raw_data if value.HasField("raw_data") else b""
        return value.data_type, list(value.dims), data
    if value is None or isinstance(value, (list, dict)):
        return 0, [], b""
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return 0, [], b""
    proto = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape))
    return proto.data_type, list(proto.dims), proto.raw_data


def disk_cases():
    root = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for folder in ("simple", "pytorch-converted", "pytorch-operator"):
        for name in sorted(os.listdir(os.path.join(root, folder))):
            case = os.path.join(root, folder, name)
            model = onnx.load(os.path.join(case, "model.onnx"))
            sides = []
            for side, infos in (("input", model.graph.input), ("output", model.graph.output)):
                values, files = [], os.path.join(case, "test_data_set_0")
                for i in range(len([n for n in os.listdir(files) if n.startswith(side)])):
                    value = TensorProto()
                    with open(os.path.join(files, "%s_%d.pb" % (side, i)), "rb") as file:
                        data = file.read()
                    if infos[i].type.HasField("tensor_type"):
                        value.ParseFromString(data)
                    else:
                        value = None
                    values.append(value)
                sides.append(values)
            yield name, model, sides[0], sides[1], 1e-3, 1e-7


def node_cases():
    from onnx.backend.test.case.node import collect_testcases
    for case in collect_testcases(None):
        inputs, outputs = case.data_sets[0]
        yield case.name, case.model, inputs, outputs, case.rtol, case.atol


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def classify(name, model, inputs, outputs):
    """Return "in", or why a case is out of scope."""
    nodes = [node for graph in graphs(model.graph) for node in graph.node]
    ops = {node.op_type for node in nodes}
    values = [tensor(v) for v in inputs + outputs]
    types = {v[0] for v in values}
    if ops & OUT or any(n.domain not in ("", "ai.onnx") for n in nodes):
        return "operator"
    casts = {a.i for n in nodes if n.op_type == "Cast" for a in n.attribute if a.name == "to"}
    if ops & NONE:
        return "no-counterpart"
    if (types | casts) & EXOTIC or 0 in types:
        return "type"
    if any(0 in v[1] for v in values):
        return "empty"
    if TensorProto.DOUBLE in types:
        return "double"
    if types & SMALL and not ops & QUANTIZED:
        return "small-integer"
    return "in"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir")
    parser.add_argument("--classes", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    counts, lines, frozen_of = collections.Counter(), [], {}
    for name, model, inputs, outputs, rtol, atol in list(node_cases()) + list(disk_cases()):
        label = classify(name, model, inputs, outputs)
        counts[label] += 1
        if args.classes:
            continue
        names = [i.name for i in model.graph.input]
        frozen = {names.index(node.input[i]) for node in model.graph.node for i in FROZEN.get(node.op_type, [])
                  if i < len(node.input) and node.input[i] in names}
        for base, of in frozen_of.items():
            if name.startswith(base + "_") and "expanded" in name:
                frozen |= {names.index(n) for n in of if n in names}
        frozen_of[name] = [names[i] for i in frozen]
        if "expanded" in name:
            del frozen_of[name]
        lines.append("%s %s %s %g %g" % (name, label, ",".join(map(str, sorted(frozen))) or "-", rtol, atol))
        with open(os.path.join(args.dir, name + ".onnx"), "wb") as file:
            file.write(model.SerializeToString())
        with open(os.path.join(args.dir, name + ".data"), "wb") as file:
            file.write(b"CASE" + struct.pack("<2I", len(inputs), len(outputs)))
            for value in list(inputs) + list(outputs):
                kind, dims, data = tensor(value)
                file.write(struct.pack("<2I%dqQ" % len(dims), kind, len(dims), *dims, len(data)) + data)
    if not args.classes:
        with open(os.path.join(args.dir, "cases.txt"), "w") as file:
            file.write("\n".join(lines) + "\n")
    for label, count in counts.most_common():
        print("%5d %s" % (count, label))
    print("%5d all" % sum(counts.values()))


if __name__ == "__main__":
    sys.exit(main())
