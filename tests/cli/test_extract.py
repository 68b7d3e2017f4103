#!/usr/bin/env python3
"""qnnrt-run extract: what it takes out of files is what tests/cli/make_containers.py put in, and hostile files are refused.

    python3 tests/cli/test_extract.py [BUILD_DIR]

The writer of the files shares no code with the tool. A check that passes prints nothing."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

import make_containers as make
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build")
TOOL = os.path.join(BUILD, "qnnrt-run")

# Eight blocks of deflate that state codes of their own, each with nothing but its end: 90 bytes.
EMPTY_BLOCKS = bytes.fromhex("04c081000000000090ff6b100007020000000040feaf41001c080000000000f9bf060170200000000000e4ff1a"
                             "04c081000000000090ff6b100007020000000040feaf41001c080000000000f9bf060170200000000000e4ff1a")


def run(*words, **more):
    done = subprocess.run([TOOL] + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          **more)
    return done.returncode, done.stdout, done.stderr


def write(folder, name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def takes(tmp, name, data, expected, status=0):
    """Extract a file: `expected` is all that is written, {name: bytes}."""
    out = tempfile.mkdtemp(dir=tmp)
    path = write(tmp, name, data)
    code, said, wrong = run("extract", path, "--output_dir", out + "/new/folder")
    got = {}
    for folder, _, files in os.walk(out):
        for one in files:
            with open(os.path.join(folder, one), "rb") as file:
                got[one] = file.read()
    check(name, code == status, "status %d: %s %s" % (code, said, wrong))
    check(name, sorted(got) == sorted(expected), "%s instead of %s: %s" % (sorted(got), sorted(expected), wrong))
    check(name, all(got.get(one) == body for one, body in expected.items()), "other bytes")
    if status == 0:
        check(name, wrong == b"", wrong)
    return said.decode("utf-8"), wrong.decode("utf-8")


def refuses(tmp, name, data, *texts, more=()):
    """A file that cannot be taken apart: status 1, an error that has the texts, and nothing written."""
    said, wrong = takes(tmp, name, data, {}, 1)
    for text in texts:
        check(name, text in wrong, "no '%s' in: %s" % (text, wrong))
    check(name, all(32 <= ord(c) or c == "\n" for c in said + wrong), "a control character")


def programs(tmp):
    a, b = make.context(1, 3000), make.context(2, 5001)
    ref = b"QNNRTREF" + bytes(300)
    for header in (True, False):
        takes(tmp, "inline.pte", make.pte([("forward", [("QnnBackend", 0)])], [a], segments=False, header=header),
              {"inline.bin": a})
    for at in (20, 256):
        takes(tmp, "one%d.pte" % at, make.pte([("forward", [("QnnBackend", 0)])], [make.wrapped(a, at)]),
              {"one%d.bin" % at: a})
        takes(tmp, "ref%d.pte" % at, make.pte([("forward", [("QnnBackend", 0)])], [make.wrapped(ref, at)]),
              {"ref%d.bin" % at: ref})
    takes(tmp, "info.pte", make.pte([("forward", [("QnnBackend", 0)])], [make.binary_info(a)]), {"info.bin": a})
    unknown = b"\1\2\3\4" * 100                          # the layout of a context binary is not documented
    takes(tmp, "unknown.pte", make.pte([("forward", [("QnnBackend", 0)])], [make.wrapped(unknown)]),
          {"unknown.bin": unknown})
    said, _ = takes(tmp, "several.pte", make.pte(
        [("prefill", [("QnnBackend", 0), ("XnnpackBackend", 2), ("QnnBackend", 1)]),
         ("kv", [("QnnBackend", 0), ("QnnBackend", 1)])],
        [make.wrapped(a), make.wrapped(b), b"weights"]), {"several_1_of_2.bin": a, "several_2_of_2.bin": b})
    check("several", "delegate 0 of method prefill, 0 of kv" in said and "XnnpackBackend" in said, said)
    container = make.dlc(make.dlc_model([("g", 1, [("x", 0, [4], 0x232)])]))
    takes(tmp, "online.pte", make.pte([("forward", [("QnnBackend", 0)])], [container]), {"online.dlc": container})
    qcir = struct.pack("<IIQ", 0x1234ABCD, 8, 0) + bytes(8)
    refuses(tmp, "qcir.pte", make.pte([("forward", [("QnnBackend", 0)])], [qcir]), "compile on the device")
    refuses(tmp, "xnn.pte", make.pte([("forward", [("XnnpackBackend", 0)])], [a]), "no context binary")
    refuses(tmp, "empty.pte", make.pte([("forward", [])], [b"x"]), "no context binary")
    refuses(tmp, "short.pte", make.pte([("forward", [("QnnBackend", 0)])], [make.wrapped(a)])[:-1], "not in the file")
    refuses(tmp, "index.pte", make.pte([("forward", [("QnnBackend", 9)])], [a]), "not in the file")
    lies = make.wrapped(a)
    refuses(tmp, "lies.pte", make.pte([("forward", [("QnnBackend", 0)])],
                                      [lies[:12] + struct.pack("<Q", 1 << 63) + lies[20:]]), "ExecuTorch's head states")
    refuses(tmp, "names.pte", make.pte([("\x1b[31m\n../x", [("Qnn\rBackend", 0)])], [a]), "no context binary")


def models(tmp):
    a, b = make.context(3, 4000), make.context(4, 70000)
    takes(tmp, "embedded.onnx", make.onnx([make.ep_context("n", a)]), {"embedded.bin": a})
    takes(tmp, "two.onnx", make.onnx([make.ep_context("n", a), make.ep_context("m", None, main=0),
                                      make.ep_context("o", b, source="QNN")]),
          {"two_1_of_2.bin": a, "two_2_of_2.bin": b})
    write(tmp, "beside_qnn.bin", b)
    takes(tmp, "beside.onnx", make.onnx([make.ep_context("n", "beside_qnn.bin", embedded=0)]), {"beside.bin": b})
    takes(tmp, "wrap.onnx", make.onnx([make.ep_context("n", make.wrapped(a))]), {"wrap.bin": a})
    for name in ("../beside_qnn.bin", "/etc/hostname", "a/../beside_qnn.bin", "", ".", "..", "a\\b", "x\0y"):
        refuses(tmp, "leads.onnx", make.onnx([make.ep_context("n", name, embedded=0)]), "plain name")
    refuses(tmp, "gone.onnx", make.onnx([make.ep_context("n", "gone.bin", embedded=0)]), "cannot be read")
    os.symlink("beside_qnn.bin", os.path.join(tmp, "link.bin"))
    refuses(tmp, "link.onnx", make.onnx([make.ep_context("n", "link.bin", embedded=0)]), "it is a link")
    os.mkfifo(os.path.join(tmp, "pipe.bin"))
    refuses(tmp, "pipe.onnx", make.onnx([make.ep_context("n", "pipe.bin", embedded=0)]), "it is not a file")
    refuses(tmp, "other.onnx", make.onnx([make.ep_context("n", b"<ir/>" * 50, source="OpenVINOExecutionProvider")]),
            "no context binary")
    refuses(tmp, "plain.onnx", make.onnx([make.field(3, "n") + make.field(4, "Relu")]), "ep.context_enable")
    refuses(tmp, "none.onnx", make.onnx([make.ep_context("n", b"")]), "no bytes")
    refuses(tmp, "cut.onnx", make.onnx([make.ep_context("n", a)])[:-20], "cut short")
    deep = make.field(3, "n") + make.field(4, "If")
    for _ in range(40):
        deep = make.field(3, "n") + make.field(4, "If") + make.field(5, make.field(1, "then") + make.field(
            6, make.field(1, deep)))
    refuses(tmp, "deep.onnx", make.onnx([deep]), "too deep")


def archives(tmp):
    a, b = make.context(5, 5000), b"".join(make.context(i, 3000) for i in range(20))
    program = make.pte([("forward", [("QnnBackend", 0), ("QnnBackend", 1)])], [make.wrapped(a), make.wrapped(b, 20)])
    takes(tmp, "stored.zip", make.archive([("assets/forward_0.bin", a), ("assets/forward_1.bin", b), ("x/text", b"t")]),
          {"forward_0.bin": a, "forward_1.bin": b})
    takes(tmp, "large.apk", make.archive([("a.bin", a), ("b.bin", b)], zip64=True, comment=b"c" * 65535),
          {"a.bin": a, "b.bin": b})
    takes(tmp, "deflated.aar", make.archive([("jni/a.bin", a), ("jni/b.bin", b)], deflate=True),
          {"a.bin": a, "b.bin": b})
    for kind, level in ((zipfile.ZIP_STORED, 0), (zipfile.ZIP_DEFLATED, 1), (zipfile.ZIP_DEFLATED, 9)):
        path = os.path.join(tmp, "python.zip")
        with zipfile.ZipFile(path, "w", kind, compresslevel=level) as archive:
            archive.writestr("folder/", b"")
            archive.writestr("folder/model.pte", program)
            archive.writestr("folder/q.onnx", make.onnx([make.ep_context("n", b)]))
            archive.writestr("q.bin", make.wrapped(a))
        with open(path, "rb") as file:
            takes(tmp, "python.zip", file.read(),
                  {"model_1_of_2.bin": a, "model_2_of_2.bin": b, "q.bin": b, "q_1.bin": a})
    takes(tmp, "nested.zip", make.archive([("a.zip", make.archive([("b.zip", make.archive([("c.bin", a)]))],
                                                                 deflate=True))]), {"c.bin": a})
    deep = make.archive([("c.bin", a)])
    for _ in range(6):
        deep = make.archive([("in.zip", deep)])
    refuses(tmp, "deep.zip", deep, "too deep")
    same = {"x.bin": a, "x_1.bin": b, "x_2.bin": a}
    takes(tmp, "same.zip", make.archive([("1/x.bin", a), ("2/x.bin", b), ("3/X.bin".lower(), a)]), same)
    said, _ = takes(tmp, "evil.zip", make.archive([("../../../../tmp/e\x1b[31m\nvil.bin", a), ("C:\\x|y.bin", b),
                                                   ("/etc/.hidden", a), ("a/..", b)]),
                    {"e__31m_vil.bin": a, "C__x_y.bin": b, "_hidden.bin": a, "_.bin": b})
    check("evil", "\x1b" not in said, said)
    # A name does not become a line of its own.
    line = "x\n  written FORGED"
    model = make.dlc_model([(line, 2, [(line, 0, [1], 0x232), ("y", 1, [1], 0x232)])])
    for name, data in (("lines.dlc", make.dlc(model, (line, a))), ("lines.zip", make.archive([(line, a)])),
                       ("lines.pte", make.pte([(line, [("QnnBackend", 0), (line, 1)])], [make.wrapped(a), b"none"])),
                       ("lines.onnx", make.onnx([make.ep_context(line, a, source="QNN" + line)]))):
        code, said, _ = run("extract", write(tmp, name, data))
        check(name, code == 0 and b"x\\x0A  written FORGED" in said and b"\n  written FORGED" not in said, said)
    # Members with equal names get numbers in one pass: a pass for each number took a minute of 4,096.
    code, said, wrong = run("extract", write(tmp, "equal.zip", make.archive([("a.bin", a)] * 4096)), timeout=20)
    check("equal.zip", code == 0 and b" a_4095.bin\n" in said, said[-200:] + wrong)
    # A member behind another's bytes would make a small archive a huge one.
    _, wrong = takes(tmp, "overlap.zip", make.archive([("a.bin", a), ("b.bin", a)], overlap=True), {"a.bin": a}, 1)
    check("overlap.zip", "member b.bin: it overlaps" in wrong, wrong)
    refuses(tmp, "bomb.zip", make.archive([("a.bin", a)], deflate=True, stated=1 << 31), "too small")
    # Blocks without a byte cost work, too: of the fixed codes, of codes of their own, and stored ones.
    for kind, packed in enumerate((b"\x02\x08\x20\x80\x00", EMPTY_BLOCKS, b"\0\0\0\xff\xff")):
        check("blocks", zlib.decompressobj(-15).decompress(packed) == b"", "they are not empty")
        inner = make.archive([("x.bin", bytes(100), packed * (4000000 // len(packed)))])
        if kind == 0:
            refuses(tmp, "blocks.zip", inner, "member x.bin: unpacking it costs more")
        refuses(tmp, "nested%d.zip" % kind, make.archive([("in.zip", inner)], deflate=True), "member x.bin: unpacking it costs more",
                "hint: Unpack the archive, and extract")
    inner = make.archive([("x.zip", b"PK\3\4" + bytes(80 << 20))], deflate=True)
    refuses(tmp, "inflated.zip", make.archive([("in.zip", inner)], deflate=True), "member in.zip: member x.zip: unpacking it costs more")
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    flushed = b"".join(pack.compress(a[i:i + 10]) + pack.flush(zlib.Z_SYNC_FLUSH) for i in range(0, len(a), 10)) + pack.flush()
    takes(tmp, "flushed.zip", make.archive([("in.zip", make.archive([("a.bin", a, flushed)]))], deflate=True), {"a.bin": a})
    refuses(tmp, "more.zip", make.archive([("a.bin", a)], deflate=True, stated=4999), "more compressed data")
    refuses(tmp, "fewer.zip", make.archive([("a.bin", a)], deflate=True, stated=5001), "fewer bytes")
    refuses(tmp, "crc.zip", make.archive([("a.bin", a)], crc=1), "checksum")
    refuses(tmp, "crc_deflated.zip", make.archive([("a.bin", a)], crc=1, deflate=True), "checksum")
    refuses(tmp, "locked.zip", make.archive([("a.bin", a)], flags=1), "encrypted")
    refuses(tmp, "plain.zip", make.archive([("a.txt", b"text")]), "no context binary")
    refuses(tmp, "cut.zip", make.archive([("a.bin", a)])[:-1], "cut short")
    refuses(tmp, "none.zip", make.archive([]), "no context binary")


def containers(tmp):
    a = make.context(6, 4000)
    graphs = [("main", 3, [("x", 0, [1, 8], 0x232), ("w", 4, [8], 0x232), ("y\x1b[2J", 1, [2, 3, 4], 0x416)]),
              ("other", 1, [("in", 0, [], 0x32)])]
    path = write(tmp, "model.dlc", make.dlc(make.dlc_model(graphs)))
    code, said, wrong = run("extract", path, "--json")
    check("dlc", code == 0 and wrong == b"", wrong)
    doc = json.loads(said)
    check("dlc", doc["format"] == "qnnrt-run.extract" and doc["version"] == 1 and doc["ok"], doc)
    check("dlc", doc["files"][0]["kind"] == ".dlc container", doc)
    check("dlc", [(g["name"], g["operators"], g["tensors"]) for g in doc["files"][0]["graphs"]] ==
          [("main", 3, 3), ("other", 1, 1)], doc)
    check("dlc", doc["files"][0]["graphs"][0]["inputs"] == [{"name": "x", "dtype": "float32", "dims": [1, 8]}], doc)
    check("dlc", doc["files"][0]["graphs"][0]["outputs"] ==
          [{"name": "y\x1b[2J", "dtype": "ufixed16", "dims": [2, 3, 4]}], doc)
    refuses(tmp, "graphs.dlc", make.dlc(make.dlc_model(graphs)), "no context binary")
    takes(tmp, "cache.dlc", make.dlc(make.dlc_model(graphs), ("htp.v75", a)), {"htp.bin": a})
    for name, inputs, outputs, operators in (("w8a16_ar1", 12, 9, 252), ("w8a16_ar32", 12, 9, None)):
        code, said, wrong = run("extract", os.path.join(BUILD, "data/llm/dlc", name + ".dlc"), "--json")
        check(name, code == 0, wrong)
        graph = json.loads(said)["files"][0]["graphs"][0]
        check(name, (len(graph["inputs"]), len(graph["outputs"])) == (inputs, outputs), graph)
        check(name, operators in (None, graph["operators"]), graph)
        check(name, {"name": "input_ids", "dtype": "int32", "dims": [1, int(name[8:])]} in graph["inputs"], graph)


def rules(tmp):
    a = make.context(7, 200)
    path = write(tmp, "rule.pte", make.pte([("forward", [("QnnBackend", 0)])], [make.wrapped(a)]))
    out = os.path.join(tmp, "rules")
    old = write(out, "rule.bin", b"precious")
    code, _, wrong = run("extract", path, "--output_dir", out)
    with open(old, "rb") as file:
        check("exists", code == 1 and b"replaces nothing" in wrong and file.read() == b"precious", wrong)
    code, said, wrong = run("extract", path)
    check("list", code == 0 and b"rule.bin" in said and wrong == b"", wrong)
    code, said, wrong = run("extract", path, path, "--output_dir", os.path.join(tmp, "twice"))
    check("twice", code == 0 and sorted(os.listdir(os.path.join(tmp, "twice"))) == ["rule.bin", "rule_1.bin"], wrong)
    code, said, wrong = run("extract", path, "--output_dir", os.path.join(tmp, "json"), "--json")
    doc = json.loads(said)
    check("json", code == 0 and doc["files"][0]["pieces"] == [
        {"where": "delegate 0 of method forward", "owner": "QnnBackend", "kind": "context binary", "bytes": len(a),
         "file": "rule.bin", "written": True, "problem": None}], doc)
    for words, status, text in ((["extract"], 2, b"takes files"), (["extract", tmp], 1, b"it is a folder"),
                                (["extract", tmp + "/none"], 1, b"cannot read"),
                                (["extract", old], 1, b"nothing that carries"),
                                (["extract", write(tmp, "empty", b"")], 1, b"is empty"),
                                (["extract", write(tmp, "ctx.bin", a)], 1, b"is a context binary"),
                                (["extract", "--backend_so", "x", path], 2, b"--backend_so"),
                                (["extract", path, "--output_dir", "/dev/null/x"], 1, b"cannot make the folder")):
        code, said, wrong = run(*words)
        check(words, code == status and text in wrong and b"hint: " in wrong, wrong)
    # A missing file does not keep the others from being shown, and the document stays whole.
    code, said, wrong = run("extract", tmp + "/none", path, "--json")
    check("some", code == 1 and len(json.loads(said)["files"]) == 2, wrong)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, "extract", path], stdout=full, stderr=subprocess.PIPE)
        check("full", done.returncode == 1 and b"cannot write" in done.stderr, done.stderr)
    # Everywhere else such a file is named, with a pointer to this verb.
    archive = write(tmp, "x.apk", make.archive([("a.bin", a)]))
    model = write(tmp, "x.onnx", make.onnx([make.ep_context("n", a)]))
    ref = os.path.join(BUILD, "libQnnRef.so")
    for file, text in ((path, b"ExecuTorch program"), (archive, b"zip archive"), (model, b"ONNX model")):
        for words in (["inspect", file, "--system_so", ref], ["plan", file, "--system_so", ref],
                      ["run", file, "--backend_so", ref]):
            code, said, wrong = run(*words)
            check(words, code == 1 and text in wrong and b"qnnrt-run extract" in wrong, wrong)
        code, said, wrong = run("compile", file, "--output_dir", tmp + "/compiled")
        check(["compile", file], code == 2 and b"qnnrt-run extract" in wrong, wrong)


def cuts(tmp):
    """All beginnings of a file, in a few runs: none is taken for whole, and the rest goes on."""
    for name, data in make.small().items():
        folder = os.path.join(tmp, "cuts")
        shutil.rmtree(folder, ignore_errors=True)
        paths = [write(folder, "%04d_%s" % (i, name), data[:i]) for i in range(len(data))]
        if name == "beside.onnx":
            write(folder, "beside.bin", make.context(3))
        code, said, wrong = run("extract", "--json", *paths)
        files = json.loads(said)["files"]
        check("cuts of " + name, code == 1 and len(files) == len(data), wrong[-300:])
        whole = [i for i, one in enumerate(files)
                 if one["problem"] is None and one["pieces"] and not any(p["problem"] for p in one["pieces"])]
        # What follows the graph of a model of ONNX is not needed; a context without its end is not known to be cut.
        least = len(data) - (12 if name.endswith(".onnx") else 0)
        check("cuts of " + name, all(i >= least for i in whole), "whole at %s of %d" % (whole[:5], len(data)))


def streams(tmp):
    """Deflate of many kinds, some damaged: our verdict is zlib's, and so are the bytes."""
    random.seed(7)
    members, expected = [], {}
    head = make.HEAD
    for i in range(120):
        size = random.choice([1, 50, 3000, 9000])
        kind = random.randrange(3)
        body = head + (os.urandom(0) + bytes(random.randrange(256) for _ in range(size)) if kind == 0
                       else bytes(random.choice(b"ab") for _ in range(size)) if kind == 1 else b"hello, " * (size // 7))
        pack = zlib.compressobj(random.randrange(10), zlib.DEFLATED, -random.choice([9, 12, 15]), random.randrange(1, 10),
                                random.randrange(5))
        packed = bytearray(pack.compress(body) + pack.flush())
        if i % 2:
            packed[random.randrange(len(packed))] ^= 1 << random.randrange(8)
        try:
            unpack = zlib.decompressobj(-15)
            made = unpack.decompress(bytes(packed))
            made = made if unpack.eof else None
        except zlib.error:
            made = None
        if made is not None and not made.startswith(head):
            continue
        name = "m%03d.bin" % i
        members.append((name, bytes(packed), len(body) if made is None else len(made)))
        expected[name] = made
    for name, packed, size in members:
        # One archive for each: the first fault ends the writing.
        local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(packed), size, len(name), 0) + name.encode()
        entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(packed), size, len(name), 0, 0, 0,
                            0, 0, 0) + name.encode()
        write(tmp, "streams/" + name + ".zip", local + packed + entry + struct.pack(
            "<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local) + len(packed), 0))
    for name, _, _ in members:
        out = os.path.join(tmp, "streams", name + ".out")
        code, _, wrong = run("extract", os.path.join(tmp, "streams", name + ".zip"), "--output_dir", out)
        got = None
        if os.path.exists(os.path.join(out, name)):
            with open(os.path.join(out, name), "rb") as file:
                got = file.read()
        check("stream " + name, got == expected[name], "zlib: %s, ours: %s, %s" % (
            expected[name] and len(expected[name]), got and len(got), wrong))


def main():
    if not os.path.exists(TOOL):
        sys.exit("test_extract: %s is missing" % TOOL)
    tmp = tempfile.mkdtemp(prefix="test_extract.")
    try:
        for part in (programs, models, archives, containers, rules, cuts, streams):
            folder = os.path.join(tmp, part.__name__)
            os.makedirs(folder)
            part(folder)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    sys.exit(close())


if __name__ == "__main__":
    main()
