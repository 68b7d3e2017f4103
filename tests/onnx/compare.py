#!/usr/bin/env python3
"""Compare what qnnrt_onnx.h reads of files with what the package onnx reads: all of it, byte for byte.

    compare.py ONNX_DUMP FILE ...          also folders: their .onnx files

ONNX_DUMP is the program tests/onnx/onnx_dump.c. Some files of its own are added: functions, sparse tensors, external data,
each attribute, and each type of elements. The last line is "N passed, N failed"."""
import glob
import os
import subprocess
import sys
import tempfile
import warnings
import zlib

warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

KINDS = {"tensor_type": "tensor", "sparse_tensor_type": "sparse tensor", "sequence_type": "sequence", "optional_type": "optional", "map_type": "map", "opaque_type": "opaque"}
BITS = {TensorProto.UINT4: 4, TensorProto.INT4: 4, TensorProto.FLOAT4E2M1: 4, TensorProto.UINT2: 2, TensorProto.INT2: 2, TensorProto.FLOAT6E2M3: 6, TensorProto.FLOAT6E3M2: 6}


def packed(array, kind):
    """The bytes of raw_data."""
    if kind not in BITS:
        return array.tobytes()
    bits, total = BITS[kind], 0
    for i, value in enumerate(array.reshape(-1).view(np.uint8)):
        total |= (int(value) & (1 << bits) - 1) << bits * i
    return total.to_bytes((bits * array.size + 7) // 8, "little")


class Dump:
    def __init__(self, base):
        self.lines, self.base = [], base

    def put(self, *words):
        self.lines.append(" ".join(words))

    def data(self, tensor):
        """(type, dims, bytes or texts)."""
        if tensor.data_type == TensorProto.STRING:
            return 0, ["%08x" % zlib.crc32(text) for text in tensor.string_data]
        data = packed(numpy_helper.to_array(tensor, self.base), tensor.data_type)
        return len(data), ["%08x" % zlib.crc32(data)]

    def tensor(self, what, tensor):
        size, crc = self.data(tensor)
        self.put("%s <%s> %d [%s ] %d" % (what, tensor.name, tensor.data_type, "".join(" %d" % d for d in tensor.dims), size), *crc)

    def sparse(self, what, sparse):
        values, indices = numpy_helper.to_array(sparse.values, self.base), numpy_helper.to_array(sparse.indices, self.base)
        dense = np.zeros(list(sparse.dims), values.dtype)
        if indices.ndim == 2:
            dense[tuple(indices.T)] = values
        else:
            dense.reshape(-1)[indices] = values
        self.put("%s <%s> %d [%s ] %d" % (what, sparse.values.name, sparse.values.data_type, "".join(" %d" % d for d in sparse.dims), dense.nbytes),
                 "%08x" % zlib.crc32(dense.tobytes()), "sparse")

    def type(self, kind):
        which = kind.WhichOneof("value")
        if which is None:
            return " no type 0"
        inner = getattr(kind, which)
        out = " %s %d" % (KINDS[which], inner.elem_type if "tensor" in which else inner.key_type if which == "map_type" else 0)
        if "tensor" in which and inner.HasField("shape"):
            out += " [%s ]" % "".join(" %d<%s>" % (max(d.dim_value, -1) if d.HasField("dim_value") else -1, d.dim_param) for d in inner.shape.dim)
        if which in ("sequence_type", "optional_type"):
            out += self.type(inner.elem_type)
        if which == "map_type":
            out += self.type(inner.value_type)
        return out

    def values(self, what, values):
        for value in values:
            self.put("%s <%s>%s" % (what, value.name, self.type(value.type)))

    def attrs(self, attrs):
        for a in attrs:
            words = ["attr <%s> %d <%s>" % (a.name, a.type, a.ref_attr_name)]
            if not a.ref_attr_name:
                words += {1: lambda: ["%08x" % zlib.crc32(np.float32(a.f).tobytes())], 2: lambda: ["%d" % a.i], 3: lambda: ["%08x" % zlib.crc32(a.s)],
                          6: lambda: ["%08x" % zlib.crc32(np.array(a.floats, np.float32).tobytes())], 7: lambda: ["%d" % i for i in a.ints],
                          8: lambda: ["%08x" % zlib.crc32(s) for s in a.strings], 13: lambda: [self.type(a.tp)[1:]],
                          14: lambda: [self.type(t)[1:] for t in a.type_protos]}.get(a.type, list)()
            self.put(*words)
            for tensor in ([a.t] if a.type == 4 and not a.ref_attr_name else a.tensors):
                self.tensor("tensor", tensor)
            for sparse in ([a.sparse_tensor] if a.type == 11 else a.sparse_tensors):
                self.sparse("tensor", sparse)
            for graph in ([a.g] if a.type == 5 else a.graphs):
                self.graph(graph)

    def nodes(self, nodes):
        for i, n in enumerate(nodes):
            self.put("node %d <%s> <%s> <%s> <%s> reads%s writes%s" % (i, n.name, n.op_type, "" if n.domain == "ai.onnx" else n.domain, n.overload,
                     "".join(" <%s>" % x for x in n.input), "".join(" <%s>" % x for x in n.output)))
            self.attrs(n.attribute)

    def graph(self, g):
        self.put("graph <%s>" % g.name)
        self.values("input", g.input)
        self.values("output", g.output)
        self.values("value", g.value_info)
        for tensor in g.initializer:
            self.tensor("initializer", tensor)
        for sparse in g.sparse_initializer:
            self.sparse("initializer", sparse)
        self.nodes(g.node)

    def opsets(self, opsets):
        for o in opsets:
            self.put("opset <%s> %d" % ("" if o.domain == "ai.onnx" else o.domain, o.version))

    def model(self, m):
        self.put("ir %d version %d <%s> <%s> <%s>" % (m.ir_version, m.model_version, m.producer_name, m.producer_version, m.domain))
        self.opsets(m.opset_import)
        for pair in m.metadata_props:
            self.put("metadata <%s> %08x" % (pair.key, zlib.crc32(pair.value.encode())))
        self.graph(m.graph)
        for f in m.functions:
            self.put("function <%s> <%s> <%s> reads%s writes%s attributes%s" % (f.name, f.domain, f.overload, "".join(" <%s>" % x for x in f.input),
                     "".join(" <%s>" % x for x in f.output), "".join(" <%s>" % x for x in f.attribute)))
            self.opsets(f.opset_import)
            self.attrs(f.attribute_proto)
            self.values("value", f.value_info)
            self.nodes(f.node)
        return self.lines


def own(folder):
    """Write files with what those of others do not have."""
    random = np.random.default_rng(1)
    tensors = []
    for kind in range(1, 29):
        if kind == TensorProto.STRING:
            tensors.append(helper.make_tensor("t8", kind, [3], [b"one", b"\xff", b""]))
            continue
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        array = random.integers(0, 2, [3, 5]).astype(dtype)
        tensors.append(numpy_helper.from_array(array, "raw%d" % kind))
        try:
            tensors.append(helper.make_tensor("list%d" % kind, kind, [3, 5], array.reshape(-1)))
        except (TypeError, ValueError) as error:
            print("compare: no list of type %d: %s" % (kind, error))
    large = numpy_helper.from_array(random.standard_normal([64, 65]).astype(np.float32), "large")
    sparse = helper.make_sparse_tensor(helper.make_tensor("sparse", 1, [3], [1.0, 2.0, 3.0]), helper.make_tensor("", 7, [3, 2], [0, 1, 2, 0, 2, 3]), [4, 5])
    then = helper.make_graph([helper.make_node("Constant", [], ["c"], value_floats=[1.5, -2.5])], "then", [], [helper.make_tensor_value_info("c", 1, [2])])
    other = helper.make_graph([helper.make_node("Constant", [], ["c"], value_ints=[1, -2])], "else", [], [helper.make_tensor_value_info("c", 7, ["n"])])
    nodes = [helper.make_node("If", ["cond"], ["y"], "choice", then_branch=then, else_branch=other),
             helper.make_node("own", ["x", ""], ["z", ""], "call", domain="mine", text="a", texts=["a", "b"], tensor=large, tensors=[large, large], one=1.5, sparse=sparse,
                              kind=helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [1, None, "k"])))]
    function = helper.make_function("mine", "own", ["a", "b"], ["c", "d"], [helper.make_node("Add", ["a", "a"], ["c"]), helper.make_node("Elu", ["a"], ["d"])],
                                    [helper.make_opsetid("", 18)], ["text"], [helper.make_attribute("texts", ["q"])])
    reference = function.node[1].attribute.add()
    reference.name, reference.type, reference.ref_attr_name = "alpha", onnx.AttributeProto.FLOAT, "one"
    inputs = [helper.make_tensor_value_info("x", 1, [-1, "n", None, 3]), helper.make_tensor_value_info("cond", 9, []), helper.make_tensor_sequence_value_info("s", 1, [2])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)], tensors + [large], sparse_initializer=[sparse])
    model = helper.make_model(graph, functions=[function], opset_imports=[helper.make_opsetid("ai.onnx", 18), helper.make_opsetid("mine", 1)], producer_name="compare")
    helper.set_model_props(model, {"a": "b", "c": "\u00e4"})
    onnx.save(model, os.path.join(folder, "own.onnx"))
    onnx.save(model, os.path.join(folder, "external.onnx"), save_as_external_data=True, location="external.bin", size_threshold=100, convert_attribute=True)
    onnx.save(model, os.path.join(folder, "many.onnx"), save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=100)
    return sorted(glob.glob(os.path.join(folder, "*.onnx")))


def main(program, *paths):
    files = []
    for path in paths:
        files += sorted(glob.glob(os.path.join(path, "*.onnx"))) if os.path.isdir(path) else [path]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        files += own(folder)
        out = subprocess.run([program, *files], capture_output=True, check=True).stdout.decode("utf-8", "surrogateescape")
        dumps = out.split("file ")[1:] if "\nfile " not in out else ("\n" + out).split("\nfile ")[1:]
        for path, text in zip(files, dumps):
            mine = text.split("\n")[1:]
            mine = mine[:-1] if mine[-1] == "" else mine
            theirs = Dump(os.path.dirname(path)).model(onnx.load(path, load_external_data=False))
            if mine == theirs:
                passed += 1
                continue
            failed += 1
            for a, b in zip(mine + [""] * len(theirs), theirs + [""] * len(mine)):
                if a != b:
                    print("compare: %s:\n    qnnrt: %s\n    onnx:  %s" % (path, a[:300], b[:300]))
                    break
        if len(dumps) != len(files):
            print("compare: %d files, %d dumps" % (len(files), len(dumps)))
            failed += 1
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
