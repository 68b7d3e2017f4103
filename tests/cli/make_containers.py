#!/usr/bin/env python3
"""Files that carry context binaries, made from the public descriptions of their formats.

    python3 tests/cli/make_containers.py DIR      write small ones into DIR: the corpus of tests/fuzz/fuzz_extract.c

Nothing here is shared with tools/run/io: tests/cli/test_extract.py compares what both say. Python's standard
library is enough; zlib and zipfile are the oracles of >>inflate and >>zip."""
import os
import struct
import sys
import zipfile
import zlib

HEAD = bytes([0, 0, 0, 2, 0, 0, 0, 3] + [0] * 7 + [1])


def context(seed, size=160):
    """Bytes that begin like a context binary."""
    return HEAD + bytes((seed * 7 + i * 31 + (i >> 5)) & 255 for i in range(size - len(HEAD)))


# ---- flatbuffers ---------------------------------------------------------------------------------------------------


class Flat:
    """A flatbuffer that grows from its end to its beginning, as the format wants it: offsets lead forward.

    A value is what offset() of it is: bytes from the end of the buffer to its beginning."""

    def __init__(self):
        self.data = b""

    def put(self, data, align=4):
        # The last byte of data is at a place that makes its beginning aligned from the end.
        while (len(self.data) + len(data)) % align:
            self.data = b"\0" + self.data
        self.data = data + self.data
        return len(self.data)

    def text(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        return self.put(struct.pack("<I", len(data)) + data + b"\0" * (4 - len(data) % 4))

    def bytes(self, data, align=4):
        while (len(self.data) + len(data)) % align:
            self.data = b"\0" + self.data
        self.data = data + self.data
        return self.put(struct.pack("<I", len(data)))

    def ints(self, values):
        return self.put(struct.pack("<I%di" % len(values), len(values), *values))

    def offsets(self, items):
        items = list(items)
        for i, item in enumerate(reversed(items)):
            # The offset counts from where it stands, which is one step further from the end.
            self.put(struct.pack("<I", len(self.data) + 4 - item))
        return self.put(struct.pack("<I", len(items)))

    def table(self, fields):
        """fields: {number: ("u8" | "i32" | "u64", value) or an offset}; written in order of their numbers."""
        sizes = {"u8": ("<Bxxx", 4), "i32": ("<i", 4), "u32": ("<I", 4), "u64": ("<Q", 8)}
        count = max(fields) + 1 if fields else 0
        at, places, body = 4, {}, b""
        for number, value in sorted(fields.items(), key=lambda f: -(isinstance(f[1], tuple) and sizes[f[1][0]][1])):
            places[number] = at
            at += sizes[value[0]][1] if isinstance(value, tuple) else 4
        size = at
        vtable = struct.pack("<HH", 4 + 2 * count, size)
        vtable += b"".join(struct.pack("<H", places.get(i, 0)) for i in range(count))
        vtable += b"\0" * (len(vtable) % 4)
        while (len(self.data) + size) % 4:
            self.data = b"\0" + self.data
        end = len(self.data)
        body = bytearray(size)
        begin = end + size                       # of the table, from the end of the buffer
        struct.pack_into("<i", body, 0, len(vtable))           # the list of fields stands before the table
        for number, value in fields.items():
            place = places[number]
            if isinstance(value, tuple):
                struct.pack_into(sizes[value[0]][0], body, place, value[1])
            else:
                struct.pack_into("<I", body, place, begin - place - value)
        self.data = vtable + bytes(body) + self.data
        return begin

    def finish(self, root, magic, header=b""):
        while (len(self.data) + 8) % 16:
            self.data = b"\0" + self.data
        place = 8 + len(header) + len(self.data) - root
        return struct.pack("<I", place) + magic + header + self.data


# ---- ExecuTorch ----------------------------------------------------------------------------------------------------


def wrapped(data, at=256, signature=77):
    """ExecuTorch's head before a context: 256 bytes since March 2026, 20 before."""
    return (struct.pack("<IqQ", 0x5678ABCD, signature, len(data)) + b"\0" * (at - 20)) + data


def binary_info(data):
    """The flatbuffer of two months of 2024."""
    f = Flat()
    inner = f.bytes(data, 16)
    return f.finish(f.table({0: f.text("signature"), 1: inner}), b"\0\0\0\0")


def pte(methods, blobs, segments=True, header=True):
    """methods: [(name, [(id, index of blob)])]; blobs: [bytes]. segments 0: the blobs are in the flatbuffer."""
    f = Flat()
    inlined = [] if segments else [f.table({0: f.bytes(blob, 16)}) for blob in blobs]
    places, at = [], 0
    for blob in blobs:
        places.append(at)
        at += -(-len(blob) // 16) * 16
    plans = []
    for name, delegates in methods:
        made = []
        for owner, index in delegates:
            fields = {1: ("u32", index)}
            if segments:
                fields[0] = ("u8", 1)
            made.append(f.table({0: f.text(owner), 1: f.table(fields)}))
        plans.append(f.table({0: f.text(name), 7: f.offsets(made)}))
    fields = {0: ("u32", 0), 1: f.offsets(plans)}
    if segments:
        fields[4] = f.offsets([f.table({0: ("u64", place), 1: ("u64", len(blob))})
                               for place, blob in zip(places, blobs)])
    else:
        fields[3] = f.offsets(inlined)
    root = f.table(fields)
    if not header:
        return f.finish(root, b"ET12")
    size = len(f.finish(root, b"ET12", b"\0" * 32))
    base = -(-size // 16) * 16 if segments else 0
    head = struct.pack("<4sIQQQ", b"eh00", 32, size, base, at if segments else 0)
    program = f.finish(root, b"ET12", head)
    if not segments:
        return program
    body = b"".join(blob + b"\0" * (-len(blob) % 16) for blob in blobs[:-1]) + (blobs[-1] if blobs else b"")
    return program + b"\0" * (base - size) + body


# ---- ONNX ----------------------------------------------------------------------------------------------------------


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value if isinstance(value, bytes) else value.encode()
    return varint(number << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    return field(5, field(1, name) + (field(3, value) + field(20, 2) if isinstance(value, int)
                                      else field(4, value) + field(20, 3)))


def ep_context(name, data, embedded=1, main=1, source="QNNExecutionProvider"):
    node = field(1, "x") + field(2, "y") + field(3, name) + field(4, "EPContext")
    node += attribute("main_context", main) + attribute("embed_mode", embedded)
    if data is not None:
        node += attribute("ep_cache_context", data)
    return node + attribute("source", source) + field(7, "com.microsoft")


def onnx(nodes):
    graph = b"".join(field(1, node) for node in nodes) + field(2, "graph")
    return field(1, 10) + field(2, "maker") + field(7, graph) + field(8, field(1, "") + field(2, 21))


# ---- .dlc ----------------------------------------------------------------------------------------------------------


def dlc_model(graphs):
    """graphs: [(name, nodes, [(tensor, kind, dims, dtype)])]"""
    f = Flat()
    made = []
    for name, nodes, tensors in graphs:
        listed = [f.table({0: ("u32", i), 1: f.text(tensor), 2: ("i32", kind), 3: f.ints(dims), 6: ("i32", dtype),
                           7: ("i32", dtype)}) for i, (tensor, kind, dims, dtype) in enumerate(tensors)]
        operators = [f.table({0: f.text("node_%d" % i), 1: f.text("ElementWiseAdd")}) for i in range(nodes)]
        made.append(f.table({0: f.text(name), 1: f.offsets(operators), 2: f.offsets(listed)}))
    return struct.pack("<BBHI", 0xD5, 0x0A, 4, 1) + f.finish(f.table({0: f.offsets(made)}), b"NETD")


def dlc(model, *more):
    """As libQnnIr.so writes it: stored, without checksums."""
    members = [("dlc.metadata2.3.0", b'{"header": {}}'), ("model", model), ("model.params", b"\xD5\x0A\4\0NETP")]
    return archive(members + list(more), crc=0)


# ---- zip -----------------------------------------------------------------------------------------------------------


def archive(members, crc=None, zip64=False, deflate=False, overlap=False, flags=0, stated=None, comment=b""):
    """Write an archive by hand: what zipfile does not do. members: [(name, bytes)] or [(name, bytes, deflate of them)]"""
    body, entries = b"", b""
    at = 0
    for name, data, *given in members:
        name = name if isinstance(name, bytes) else name.encode()
        packed = given[0] if given else data
        if deflate and not given:
            pack = zlib.compressobj(9, zlib.DEFLATED, -15)
            packed = pack.compress(data) + pack.flush()
        size = len(data) if stated is None else stated
        check = zlib.crc32(data) if crc is None else crc
        if not (overlap and body):
            at = len(body)
            body += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 45, flags, 8 if deflate or given else 0, 0, 0, check,
                                len(packed), size, len(name), 0) + name + packed
        large = struct.pack("<HHQQQ", 1, 24, size, len(packed), at) if zip64 else b""
        none = 0xFFFFFFFF
        entries += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 45, 45, flags, 8 if deflate or given else 0, 0, 0, check,
                               none if zip64 else len(packed), none if zip64 else size, len(name), len(large), 0, 0, 0, 0,
                               none if zip64 else at) + name + large
    end = body + entries
    if zip64:
        end += struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, len(members), len(members), len(entries), len(body))
        end += struct.pack("<4sIQI", b"PK\6\7", 0, len(body) + len(entries), 1)
        return end + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 65535, 65535, none, none, len(comment)) + comment
    return end + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, len(members), len(members), len(entries), len(body),
                             len(comment)) + comment


def small():
    """Return small files of each kind: {name: bytes}."""
    a, b = context(1, 96), context(2, 80)
    model = dlc_model([("main", 2, [("x", 0, [1, 8], 0x232), ("w", 4, [8], 0x232), ("y", 1, [1, 8], 0x416)])])
    one = pte([("forward", [("QnnBackend", 0)])], [wrapped(a, 20)])
    return {
        "inline.pte": pte([("forward", [("QnnBackend", 0), ("XnnpackBackend", 1)])], [a, b"weights"], segments=False,
                          header=False),
        "segments.pte": pte([("prefill", [("QnnBackend", 0), ("QnnBackend", 1)]), ("kv", [("QnnBackend", 0)])],
                            [wrapped(a), wrapped(b, 20)]),
        "info.pte": pte([("forward", [("QnnBackend", 0)])], [binary_info(a)]),
        "wrapped.bin": wrapped(a),
        "embedded.onnx": onnx([ep_context("one", a), ep_context("two", b), ep_context("three", None, main=0)]),
        "beside.onnx": onnx([ep_context("one", "beside.bin", embedded=0)]),
        "model.dlc": dlc(model),
        "cache.dlc": dlc(model, ("htp.cache", a)),
        "stored.zip": archive([("assets/forward_0.bin", a), ("lib/text", b"text")]),
        "deflated.zip": archive([("assets/forward_0.bin", a), ("m.pte", one)], deflate=True),
        "large.zip": archive([("a.bin", a)], zip64=True, comment=b"a comment"),
        "nested.zip": archive([("app.apk", archive([("m.pte", one)], deflate=True)), ("m.dlc", dlc(model))]),
    }


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for name, data in small().items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
