#!/usr/bin/env python3
"""Read metadata of contexts with Python's json and print every field, for comparison with qnnrt's table.

Prints for each file "file <path>" and then the lines that meta_put_context() of tests/harness/meta.h prints. Files are those of
tests/data/json, and with QNNRT_SAMPLES its json/ctx_*.json. Floats are rounded to float32 with exact fractions. It shares no
code with the C reader. It ends with an exception when it cannot read a file: damaged files are not its task.
"""
import glob
import json
import os
import struct
import sys
from fractions import Fraction

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UNDEFINED = 0x7FFFFFFF

DTYPES = {
    "INT_2": 0x002, "INT_4": 0x004, "INT_8": 0x008, "INT_16": 0x016, "INT_32": 0x032, "INT_64": 0x064,
    "UINT_2": 0x102, "UINT_4": 0x104, "UINT_8": 0x108, "UINT_16": 0x116, "UINT_32": 0x132, "UINT_64": 0x164,
    "FLOAT_4": 0x204, "FLOAT_8": 0x208, "FLOAT_16": 0x216, "BFLOAT_16": 0x226, "FLOAT_32": 0x232, "FLOAT_64": 0x264,
    "SFIXED_POINT_2": 0x302, "SFIXED_POINT_4": 0x304, "SFIXED_POINT_8": 0x308, "SFIXED_POINT_16": 0x316, "SFIXED_POINT_32": 0x332,
    "UFIXED_POINT_2": 0x402, "UFIXED_POINT_4": 0x404, "UFIXED_POINT_8": 0x408, "UFIXED_POINT_16": 0x416, "UFIXED_POINT_32": 0x432,
    "BOOL_8": 0x508,
}
TYPES = ["APP_WRITE", "APP_READ", "APP_READWRITE", "NATIVE", "STATIC", "NULL", "UPDATEABLE_STATIC", "UPDATEABLE_NATIVE",
         "UPDATEABLE_APP_WRITE", "UPDATEABLE_APP_READ", "UPDATEABLE_APP_READWRITE", "OPTIONAL_APP_WRITE", "OPTIONAL_APP_READ",
         "OPTIONAL_APP_READWRITE"]
ENCODINGS = ["SCALE_OFFSET", "AXIS_SCALE_OFFSET", "BW_SCALE_OFFSET", "BW_AXIS_SCALE_OFFSET", "BLOCK", "BLOCKWISE_EXPANSION", "VECTOR"]


def bits(text):
    """Return the bits of the float32 nearest to a decimal text, ties to even."""
    exact = Fraction(text)
    guess = struct.unpack(">I", struct.pack(">f", float(exact)))[0]
    near = [b for b in (guess - 1, guess, guess + 1) if 0 <= b <= 0xFFFFFFFF and b & 0x7F800000 != 0x7F800000]
    return min(near, key=lambda b: (abs(Fraction(struct.unpack(">f", struct.pack(">I", b))[0]) - exact), b & 1))


def inner(record):
    """Return the members of a record, which may be in "info"."""
    return {**record, **record["info"]} if isinstance(record.get("info"), dict) else record


def name(text):
    return '"' + "".join(chr(b) if 0x20 < b < 0x7F and b not in b'\\"' else "\\x%02x" % b for b in text.encode()) + '"'


def version(text):
    parts = [int(part) for part in text.split("-")[0].split(".")] if text else []
    return ".".join(str(part) for part in (parts + [0, 0, 0])[:3])


def strip(text, prefix):
    assert text.startswith(prefix), text
    return text[len(prefix):]


def quant(record):
    """Return (encoding, vendor, bitwidth, the text after them)."""
    if record is None or record.get("definition") != "QNN_DEFINITION_DEFINED":
        return 0, UNDEFINED, 0, ""
    kind = strip(record["quantizationEncoding"], "QNN_QUANTIZATION_ENCODING_")
    if kind == "UNDEFINED":
        return 0, UNDEFINED, 0, ""
    vendor = ENCODINGS.index(kind)
    if vendor > 3:
        return 3, vendor, 0, ""
    body = record[["scaleOffset", "axisScaleOffset", "bwScaleOffset", "bwAxisScaleOffset"][vendor]]
    width = body["bitwidth"] if vendor in (2, 3) else 0
    if vendor in (0, 2):
        return 1, vendor, width, " %08x/%d" % (bits(body["scale"]), body["offset"])
    if vendor == 1:
        pairs = [(p["scale"], p["offset"]) if isinstance(p, dict) else (p.split(",")[0].strip(), int(p.split(",")[1]))
                 for p in body["scaleOffsets"]]
    else:
        pairs = list(zip(body["scales"], body["offsets"] if body["offsets"] is not None else [0] * len(body["scales"])))
    assert len(pairs) == body.get("numScaleOffsets", body.get("numElements"))
    return 2, vendor, width, " axis %d" % body["axis"] + "".join(" %08x/%d" % (bits(s), o) for s, o in pairs)


def tensor(kind, outer):
    t = inner(outer)
    dtype = DTYPES[strip(t["dataType"], "QNN_DATATYPE_")]
    width = {0x16: 16, 0x26: 16, 0x32: 32, 0x64: 64}.get(dtype & 0xFF, dtype & 0xFF)
    count = 1
    for dim in t["dimensions"]:
        count *= dim
    kind_of = TYPES.index(strip(t["type"], "QNN_TENSOR_TYPE_"))
    plain = t["dataFormat"] in ("QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER", "QNN_TENSOR_DATA_FORMAT_DENSE")
    assert plain and t["rank"] == len(t["dimensions"])
    dynamic = t.get("isDynamicDimensions") or []
    flags = "".join(str(int(d)) for d in dynamic) if any(dynamic) else "-"
    struct_version = 2 if dynamic or t["version"].endswith("2") else 1
    encoding, vendor, bitwidth, rest = quant(t.get("quantizeParams"))
    print("%s %s id %d dtype 0x%04x rank %d [%s] count %d bytes %d type %d format 0 version %d optional %d updateable %d dynamic %s"
          " encoding %d vendor 0x%x bitwidth %d%s"
          % (kind, name(t["name"]), t["id"], dtype, t["rank"], ",".join(str(d) for d in t["dimensions"]), count, (count * width + 7) // 8,
             kind_of, struct_version, kind_of >= 11, 6 <= kind_of <= 10, flags, encoding, vendor, bitwidth, rest))


def graph(outer):
    g = inner(outer)
    blob = inner(g.get("graphBlobInfo") or {})
    blob2 = inner(g.get("graphBlobInfoV2") or {})
    vtcm = blob.get("vtcmSize", 0)
    lists = [g["graphInputs"], g["graphOutputs"], g.get("updateableTensors", [])]
    for key, items in zip(("numGraphInputs", "numGraphOutputs", "numUpdateableTensors"), lists):
        assert g.get(key, len(items)) == len(items)
    print("graph %s inputs %d outputs %d updateables %d spill %d vtcm %d shared %d const %d io %d opdata %d ddr %d k %d v %d opt %d hvx %d"
          " dlbc %d safe %d"
          % ((name(g["graphName"]),) + tuple(len(items) for items in lists)
             + (blob.get("spillFillBufferSize", 0), vtcm << 20 if vtcm < 65536 else vtcm)
             + tuple(blob2.get(key, 0) for key in ("sharedWeightsSize", "constSize", "ioTensorSize", "opDataSize", "ddrTensorSize",
                                                   "nativeKChannelSize", "nativeVChannelSize"))
             + tuple(blob.get(key, 0) for key in ("optimizationLevel", "numHvxThreads", "htpDlbc")) + (blob2.get("isSafeShareIO", 0),)))
    for kind, items in zip(("in", "out", "upd"), lists):
        for item in items:
            tensor(kind, item)


def context(path):
    with open(path, encoding="utf-8") as file:
        c = inner(json.load(file, parse_float=str))
    metadata = inner(c.get("contextMetadata") or {})
    assert c["numGraphs"] == len(c["graphs"])
    print("file " + path)
    print("context build %s backend %d core %s api %s blob %s bytes %d soc %d arch %d tensors %d graphs %d"
          % (name(c["buildId"]), c["backendId"], version(c["coreApiVersion"]), version(c["backendApiVersion"]), version(c["contextBlobVersion"]),
             c["contextBlobSize"], c.get("socModel", 0), metadata.get("dspArch", 0), c["numContextTensors"], len(c["graphs"])))
    for item in c["graphs"]:
        graph(item)


paths = sorted(glob.glob(os.path.join(os.path.relpath(TOP), "tests/data/json/*.json")))
if os.environ.get("QNNRT_SAMPLES"):
    paths += sorted(glob.glob(os.path.join(os.environ["QNNRT_SAMPLES"], "json/ctx_*.json")))
for one in paths:
    context(one)
sys.exit(0 if paths else 1)
