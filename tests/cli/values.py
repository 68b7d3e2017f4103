"""Files of tensors, read and written without numpy, and the random values of qnnrt-run: an oracle that shares no code with tools/run/io."""
import ast
import json
import struct

TYPES = {"<f4": "f", "<f8": "d", "<f2": "e", "<i8": "q", "<i4": "i", "<i2": "h", "|i1": "b", "<u8": "Q", "<u4": "I", "<u2": "H", "|u1": "B", "|b1": "?"}
SAFE = {"F32": "f", "F64": "d", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U64": "Q", "U32": "I", "U16": "H", "U8": "B", "BOOL": "?"}


def unpack(code, data):
    return list(struct.unpack("<%d%s" % (len(data) // struct.calcsize(code), code), data))


def npy(path):
    """Return descr, shape and values of an .npy file."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = struct.unpack("<H", data[8:10])[0]
    assert (10 + size) % 64 == 0 and data[9 + size:10 + size] == b"\n"
    head = ast.literal_eval(data[10:10 + size].decode("ascii"))
    assert head["fortran_order"] is False
    return head["descr"], head["shape"], unpack(TYPES[head["descr"]], data[10 + size:])


def write_npy(path, descr, shape, values, order=False):
    head = repr({"descr": descr, "fortran_order": order, "shape": tuple(shape)}).encode("ascii")
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    body = struct.pack("<%d%s" % (len(values), TYPES.get(descr, "f")), *values)
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + body)


def safetensors(path):
    """Return a dict of (type, shape, values)."""
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    assert size % 8 == 0
    head, body = json.loads(data[8:8 + size].decode("utf-8")), data[8 + size:]
    assert max(t["data_offsets"][1] for t in head.values()) == len(body)
    return {name: (t["dtype"], tuple(t["shape"]), unpack(SAFE[t["dtype"]], body[t["data_offsets"][0]:t["data_offsets"][1]]))
            for name, t in head.items()}


def write_safetensors(path, tensors):
    """tensors: a list of (name, type, shape, values)"""
    head, body = {}, b""
    for name, dtype, shape, values in tensors:
        data = struct.pack("<%d%s" % (len(values), SAFE[dtype]), *values)
        head[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode("utf-8")
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)


def randoms(name, seed, count):
    """Return the numbers of SplitMix64 for a tensor: it begins with the seed plus the FNV-1a hash of the name."""
    most, state, out = 2 ** 64 - 1, 0xCBF29CE484222325, []
    for byte in name.encode("utf-8"):
        state = (state ^ byte) * 0x100000001B3 & most
    state = state + seed & most
    for _ in range(count):
        state = state + 0x9E3779B97F4A7C15 & most
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & most
        z = (z ^ z >> 27) * 0x94D049BB133111EB & most
        out.append(z ^ z >> 31)
    return out


def random_bytes(name, kind, seed, count):
    """Return the bytes of a random input: kind is a struct code, or "codes8" or "codes16" for quantized types."""
    numbers = randoms(name, seed, count)
    if kind.startswith("codes"):
        size = int(kind[5:]) // 8
        return b"".join((r & 2 ** (8 * size) - 1).to_bytes(size, "little") for r in numbers)
    if kind in "fde":
        return struct.pack("<%d%s" % (count, kind), *((r >> 11) / 4503599627370496.0 - 1 for r in numbers))
    return struct.pack("<%d%s" % (count, kind), *(r % 2 for r in numbers))
