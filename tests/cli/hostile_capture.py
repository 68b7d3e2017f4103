#!/usr/bin/env python3
"""Captures that are damaged or hostile: qnnrt-run replay and compare refuse each with one message, and open nothing outside.

    python3 tests/cli/hostile_capture.py QNNRT_RUN LIBRARY CAPTURE MODEL FOLDER

CAPTURE is a good capture of MODEL. Copies of it are made and damaged below FOLDER. A file that must not be opened has the content
that the capture expects, so that opening it would make the replay succeed. Prints "N passed, N failed"."""
import copy
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import close, holds  # noqa: E402

TOOL, LIBRARY, CAPTURE, MODEL, FOLDER = sys.argv[1:6]
good = json.load(open(f"{CAPTURE}/capture.json", encoding="utf-8"))
first = good["pipelines"][0]["tensors"][0]["file"]


def run(*words):
    done = subprocess.run([TOOL, *words, "--backend_so", LIBRARY], capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def check(name, text, folder):
    """The replay fails with this text, without a control character, a crash or a step."""
    status, out, err = run("replay", folder, MODEL)
    printed = out.decode(errors="replace") + err
    wrong = (f"status {status}" if status != 1 else f"no {text!r}" if text not in err else
             "a control character" if re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", printed) else
             "no hint" if "hint: " not in err else None)
    holds(wrong is None, f"{name}: {wrong} in {err[:600]!r}")


def new_folder():
    folder = f"{FOLDER}/copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(CAPTURE, folder)
    return folder


def raw(name, text, data):
    """Another capture.json, as bytes."""
    folder = new_folder()
    with open(f"{folder}/capture.json", "wb") as file:
        file.write(data)
    check(name, text, folder)


def edit(name, text, change):
    """capture.json after change(document, first pipeline, its first tensor)."""
    document = copy.deepcopy(good)
    pipeline = document["pipelines"][0]
    change(document, pipeline, pipeline["tensors"][0])
    raw(name, text, json.dumps(document).encode())


def files(name, text, change):
    """The folder after change(its path)."""
    folder = new_folder()
    change(folder)
    check(name, text, folder)


text = json.dumps(good).encode()
raw("empty", "is not an object", b"")
raw("no_json", "is not an object", b"\x7fELF")
raw("list", "is not an object", b"[]")
raw("nothing", '"format" is not', b"{}")
for cut in (1, 9, len(text) // 3, len(text) // 2, len(text) - 1):
    raw(f"cut_{cut}", "capture.json: ", text[:cut])
raw("more", "byte", text + b"{}")
raw("deep", "byte", b'{"x":' + b"[" * 100000)
raw("foreign", '"format" is not "qnnrt-run.capture"', b'{"format": "qnnrt-run.compare", "version": 1}')
edit("items", "more than 65536 items", lambda d, p, t: p.update(tensors=[{**t, "file": None}] * 70000))
edit("version_2", '"version" is 2, and this program reads 1', lambda d, p, t: d.update(version=2))
edit("version_text", '"version" is not a whole number', lambda d, p, t: d.update(version="1"))
edit("no_pipelines", "nothing to compare", lambda d, p, t: d.update(pipelines=[]))
edit("pipelines_object", '"pipelines" is not a list', lambda d, p, t: d.update(pipelines={}))
edit("pipeline_null", '"pipelines" is not an object', lambda d, p, t: d.update(pipelines=[None]))
edit("pipeline_unnamed", 'lacks "name"', lambda d, p, t: p.pop("name"))
edit("name_with_nul", "contains a NUL", lambda d, p, t: t.update(name="a\0b"))
for name in ("../x.raw", "/etc/passwd", ".", "..", "", "a/b", "a\\b", ".hidden", "a\nb", "\x1b[31mred", '"><script>alert(1)</script>',
             "x" * 256, "caf\u00e9.raw", "a\u202eb", "a b"):
    edit("file_" + re.sub(r"\W", "_", name)[:20], "not a plain name", lambda d, p, t, name=name: t.update(file=name))
edit("file_number", '"file" is not a string', lambda d, p, t: t.update(file=7))
edit("file_is_manifest", "capture.json has", lambda d, p, t: t.update(file="capture.json"))
edit("file_missing", "No such file", lambda d, p, t: t.update(file="missing.raw"))
edit("hash_short", 'lacks "sha256"', lambda d, p, t: t.update(sha256="00"))
edit("hash_long", 'lacks "sha256"', lambda d, p, t: t.update(sha256="0" * 65))
edit("hash_other", "has changed since it was captured", lambda d, p, t: t.update(sha256="0" * 64))
edit("dtype_unknown", 'no known "dtype"', lambda d, p, t: t.update(dtype="float99"))
edit("dtype_none", 'no known "dtype"', lambda d, p, t: t.pop("dtype"))
edit("dtype_wider", "its dims and dtype take", lambda d, p, t: t.update(dtype="float64"))
edit("dims_huge", "is too large", lambda d, p, t: t.update(dims=[4294967295] * 32))
edit("dims_overflow", "is too large", lambda d, p, t: t.update(dims=[65536, 65536, 65536, 65536]))
edit("dims_33", '"dims" has more than 32', lambda d, p, t: t.update(dims=[1] * 33))
edit("dims_negative", '"dims" is not a whole number', lambda d, p, t: t.update(dims=[-1]))
edit("dims_fraction", '"dims" is not a whole number', lambda d, p, t: t.update(dims=[1.5]))
edit("dims_large", '"dims" is not a whole number', lambda d, p, t: t.update(dims=[1 << 64]))
edit("dims_other", "its dims and dtype take", lambda d, p, t: t.update(dims=t["dims"] + [2]))
edit("bytes_other", "its dims and dtype take", lambda d, p, t: t.update(bytes=t["bytes"] + 1))
edit("bytes_huge", '"bytes" is not a whole number', lambda d, p, t: t.update(bytes=1 << 62))
edit("quant_text", '"quant" is not an object', lambda d, p, t: t.update(quant="x"))
edit("quant_empty", '"quant" lacks scale', lambda d, p, t: t.update(quant={}))
edit("quant_axis", "do not fit its dims", lambda d, p, t: t.update(quant={"axis": 9, "scales": [1.0], "offsets": [0]}))
edit("quant_axis_negative", "do not fit its dims", lambda d, p, t: t.update(quant={"axis": -1, "scales": [1.0], "offsets": [0]}))
edit("quant_counts", '"quant" lacks', lambda d, p, t: t.update(quant={"axis": 0, "scales": [1.0, 2.0], "offsets": [0]}))
edit("quant_infinite", '"scale" is not a float32', lambda d, p, t: t.update(quant={"scale": 10 ** 60, "offset": 0}))
edit("tensor_beyond", "the pipeline lacks", lambda d, p, t: p["steps"][0]["inputs"][0].update(tensor=len(p["tensors"])))
edit("tensor_negative", '"tensor" is not a whole number', lambda d, p, t: p["steps"][0]["inputs"][0].update(tensor=-1))
edit("tensors_none", "the pipeline lacks", lambda d, p, t: p.pop("tensors"))
edit("port_unnamed", 'lacks "name" or "tensor"', lambda d, p, t: p["steps"][0]["inputs"][0].pop("name"))
edit("step_kind", 'lacks "kind"', lambda d, p, t: p["steps"][0].update(kind="shell"))
edit("step_text", '"steps" is not an object', lambda d, p, t: p.update(steps=["x"]))
edit("context_huge", '"context" is not a whole number', lambda d, p, t: p["steps"][0].update(context=1 << 40))
edit("file_twice", "is named twice", lambda d, p, t: p["tensors"][1].update(file=t["file"]))
edit("output_twice", "is named twice", lambda d, p, t: p["steps"][0]["outputs"].append(p["steps"][0]["outputs"][0]))
edit("input_twice", "is named twice", lambda d, p, t: p["steps"][0]["inputs"].append(p["steps"][0]["inputs"][0]))
files("manifest_missing", "No such file", lambda f: os.remove(f"{f}/capture.json"))
files("manifest_link", "Too many levels", lambda f: (os.rename(f"{f}/capture.json", f"{f}/x"), os.symlink("x", f"{f}/capture.json")))
files("manifest_folder", "Invalid argument", lambda f: (os.remove(f"{f}/capture.json"), os.mkdir(f"{f}/capture.json")))
files("manifest_pipe", "Invalid argument", lambda f: (os.remove(f"{f}/capture.json"), os.mkfifo(f"{f}/capture.json")))
files("tensor_link", "links are not followed", lambda f: (os.rename(f"{f}/{first}", f"{f}/x"), os.symlink("x", f"{f}/{first}")))
files("tensor_link_outside", "links are not followed", lambda f: (os.remove(f"{f}/{first}"), os.symlink(f"{CAPTURE}/{first}", f"{f}/{first}")))
files("tensor_pipe", "cannot read", lambda f: (os.remove(f"{f}/{first}"), os.mkfifo(f"{f}/{first}")))
files("tensor_short", "bytes, not", lambda f: os.truncate(f"{f}/{first}", 1))
files("tensor_long", "bytes, not", lambda f: open(f"{f}/{first}", "ab").write(b"x"))
files("tensor_sparse", "cannot read", lambda f: os.truncate(f"{f}/{first}", 1 << 40))
check("folder_missing", "No such file", f"{FOLDER}/missing")
check("folder_is_file", "Not a directory", f"{CAPTURE}/capture.json")

# A file is read and hashed once, however many ports have it: a wrong one is reported once.
document = copy.deepcopy(good)
pipeline = document["pipelines"][0]
ports = [port["tensor"] for step in pipeline["steps"] for port in step["inputs"] + step["outputs"]]
often = max(range(len(pipeline["tensors"])), key=ports.count)
pipeline["tensors"][often]["sha256"] = "0" * 64
folder = new_folder()
json.dump(document, open(f"{folder}/capture.json", "w"))
status, _, err = run("replay", folder, MODEL)
fine = ports.count(often) > 1 and status == 1 and err.count("has changed since it was captured") == 1
holds(fine, f"hashed_once: {ports.count(often)} ports, status {status}, {err[:600]!r}")

# Hostile names that are no file names are shown without their control characters, and compared.
document = copy.deepcopy(good)
for backend in document["backends"]:
    backend["build"] = "v1\nFORGED"
for pipeline in document["pipelines"]:
    pipeline["name"] = "\x1b[2J\n../" + pipeline["name"]
    for step in pipeline["steps"]:
        step["text"] = "\x1b]0;x\x07<script>\nFORGED\u202e"
        for number, port in enumerate(step["outputs"]):
            port["name"] = f'"><script>\r\n\x1b[31m{number}'
folder = new_folder()
json.dump(document, open(f"{folder}/capture.json", "w"))
for words in (["replay", folder, MODEL], ["compare", folder, folder]):
    status, out, err = run(*words) if words[0] == "replay" else (lambda d: (d.returncode, d.stdout, d.stderr.decode()))(
        subprocess.run([TOOL, *words], capture_output=True, timeout=60))
    shown = out.decode() + err
    fine = (not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", shown) and status == (words[0] == "replay")
            and r"\x0A../" in shown and not re.search(r"^(\.\.|FORGED|\x1b)", shown, re.M))
    holds(fine, f"shown_{words[0]}: status {status}, {shown[:400]!r}")
sys.exit(close())
