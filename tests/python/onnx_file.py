"""Write small .onnx files, with the standard library alone: protobuf by hand."""
import struct


def _number(value):
    out = b""
    value &= (1 << 64) - 1
    while True:
        out += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if not value:
            return out


def _field(number, value):
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    data = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(data)) + data


def _value(name, kind, shape):
    dims = b"".join(_field(1, _field(2, n) if isinstance(n, str) else _field(1, n)) for n in shape)
    return _field(1, name) + _field(2, _field(1, _field(1, kind) + _field(2, dims)))


def floats(name, shape, values):
    """An initializer."""
    return b"".join(_field(1, n) for n in shape) + _field(2, 1) + _field(8, name) + _field(9, struct.pack("<%df" % len(values), *values))


def model(nodes, inputs, outputs, initializers=()):
    """nodes: (type, inputs, outputs); inputs and outputs: (name, element type of ONNX, shape)."""
    graph = b"".join(_field(1, b"".join(_field(1, i) for i in ins) + b"".join(_field(2, o) for o in outs) + _field(4, kind)) for kind, ins, outs in nodes)
    graph += _field(2, "graph") + b"".join(_field(5, i) for i in initializers)
    graph += b"".join(_field(11, _value(*i)) for i in inputs) + b"".join(_field(12, _value(*o)) for o in outputs)
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


def layer(batch=1):
    """y = relu(x * w + b), the same as examples/03_compose.c; batch may be a name."""
    return model([("MatMul", ["x", "w"], ["p"]), ("Add", ["p", "b"], ["s"]), ("Relu", ["s"], ["y"])], [("x", 1, [batch, 4])], [("y", 1, [batch, 2])],
                 [floats("w", [4, 2], [1, -1, 2, -2, 3, -3, 4, -4]), floats("b", [2], [0.5, 0.5])])
