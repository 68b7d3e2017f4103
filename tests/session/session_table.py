#!/usr/bin/env python3
"""Run one model through every engine that is here, and print one table: differences and times.

    session_table.py [--exports build/exports/session] [--build build] [--report FILE] [mlp] [cnn] [minilm]

The models are those of tests/exports/export_session.py: each as ONNX, as a graph that is compiled by the session, and as a
folder that qnnrt-run compiled before. Each row is a process of its own, build/c99/session_table, whose first output is compared
with what torch computed in float64. error: the largest difference divided by the largest value. create: of the session,
compilation included; again: a second session with the same cache. run: the median of bound runs. A row whose library is
not there is printed with the reason. HTP is emulated on x86-64: its times say nothing about a phone."""
import argparse
import array
import ast
import glob
import os
import shutil
import struct
import subprocess
import sys

TYPES = {"<f4": ("float32", "f"), "<i8": ("int64", "q"), "<i4": ("int32", "i")}
RUNS = {"mlp": 2000, "cnn": 100, "minilm": 3}


def read_npy(path):
    """Return (type, values) of a file of numpy."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    name, code = TYPES[head["descr"]]
    values = array.array(code)
    values.frombytes(data[10 + size:])
    return name, values


def newest(pattern):
    """Return the newest match by the numbers in its path, or ""."""
    found = glob.glob(pattern)
    return max(found, key=lambda path: [int(n) if n.isdigit() else 0 for n in path.replace("-", ".").split(".")]) if found else ""


def places(build):
    """Return what can run: [name, file, arguments, library]."""
    ref = build + "/libQnnRef.so"
    cpu = build + "/qnn/2.47/onnxruntime_qnn/libQnnCpu.so"
    htp = build + "/qnn/2.51/onnxruntime_qnn/libQnnHtp.so"
    ort = newest(build + "/engines/onnxruntime-1.31*/libonnxruntime.so.*")
    plug = newest(build + "/engines/onnxruntime*qnn*/libonnxruntime_providers_qnn.so") or \
        newest(build + "/qnn/2.51/onnxruntime_qnn/libonnxruntime_providers_qnn.so")
    openvino = newest(build + "/engines/openvino-2026*")
    rows = []
    rows.append(("ONNX Runtime CPU", "model.onnx", ["engine=onnxrt", "device=cpu", "onnxrt.library_path=" + ort], ort))
    rows.append(("ONNX Runtime + QNN, HTP", "model.onnx",
                 ["engine=onnxrt", "device=npu", "precision=fp16", "onnxrt.soc_model=57", "onnxrt.htp_arch=75", "onnxrt.library_path=" + ort, "onnxrt.provider_library=" + os.path.abspath(plug),
                  "onnxrt.backend_path=" + os.path.abspath(htp)], plug and ort))
    rows.append(("OpenVINO CPU", "model.onnx", ["engine=openvino", "device=cpu", "precision=fp32", "openvino.library_path=" + openvino], openvino))
    for name, device, library, key in (("qnn, Ref", "cpu", ref, "cpu_path"), ("qnn, CPU 2.47", "cpu", cpu, "cpu_path"),
                                       ("qnn, HTP 2.51", "npu", htp, "npu_path")):
        arguments = ["engine=qnn", "device=" + device, "qnn.library_path=" + library]
        rows.append((name, "model.json", arguments, library))
        rows.append((name, "folder", arguments, library))
    return rows


def facts_of(command, env):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env, errors="replace")
    except subprocess.TimeoutExpired:
        return {"failed": "it takes longer than 10 minutes"}
    facts = dict(line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line)
    if done.returncode != 0 and "failed" not in facts:
        facts["failed"] = "status %d %s" % (done.returncode, done.stderr.strip()[-300:])
    return facts


def compile_folder(options, model, library, folder):
    """Compile a folder with the tool. Return "" or why not."""
    done = subprocess.run([options.build + "/qnnrt-run", "compile", model + "/model.json", "--weights", model + "/model.safetensors",
                           "--backend_so", library, "--output_dir", folder], capture_output=True, text=True, timeout=600)
    return "" if done.returncode == 0 else done.stderr.strip()


def one(options, name, place, work):
    """Return the cells of a row."""
    what, file, arguments, library = place
    model = os.path.join(options.exports, name)
    blank = [name, what, file, "", "", "", "", ""]
    if not library or not os.path.exists(library):
        return blank[:7] + ["its library is not here"]
    path = os.path.join(model, file)
    if file == "folder":
        path = os.path.join(work, name + "_" + "".join(c for c in what if c.isalnum()))
        why = compile_folder(options, model, library, path)
        if why:
            return blank[:7] + [why[:120]]
    inputs = []
    for number in range(len(glob.glob(model + "/in_*.npy"))):
        kind, values = read_npy("%s/in_%d.npy" % (model, number))
        raw = "%s/%s_%d.raw" % (work, name, number)
        with open(raw, "wb") as out:
            values.tofile(out)
        inputs.append("%s:%s" % (kind, raw))
    out = work + "/out.raw"
    cache = os.path.join(work, "cache")
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(os.path.abspath(library)))
    command = [options.build + "/c99/session_table", path, str(RUNS[name]), out] + inputs + arguments
    facts = facts_of(command + ([] if file == "folder" else ["cache=" + cache]), env)
    if "fallback to CPU" in facts.get("failed", ""):      # it is not allowed: the second time it is, and the row lists it
        command.append("fallback=1")
        facts = facts_of(command + ([] if file == "folder" else ["cache=" + cache]), env)
    if "failed" in facts:
        return blank[:7] + [facts["failed"].split("\n")[0][:160]]
    got = array.array("f")
    with open(out, "rb") as data:
        got.frombytes(data.read())
    wanted = read_npy(model + "/out_0.npy")[1]
    if len(got) != len(wanted):
        return blank[:7] + ["%d values, expected %d" % (len(got), len(wanted))]
    error = max(abs(a - b) for a, b in zip(got, wanted)) / max(abs(b) for b in wanted)
    again = "-"
    if facts["cache"] == "stored":
        second = facts_of(command[:2] + ["1"] + command[3:] + ["cache=" + cache], env)
        again = "%.1f" % float(second["create_ms"]) if second.get("cache") == "hit" else second.get("failed", second.get("cache", ""))[:60]
        with open(out, "rb") as data:
            if data.read() != got.tobytes():
                again += ", other bytes"
    return [name, what, file, "%.1e" % error, "%.1f" % float(facts["create_ms"]), again, "%.1f" % float(facts["run_us"]),
            facts["fallback"][:80] or facts["engine"] + " " + facts["version"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--exports", default="build/exports/session")
    parser.add_argument("--build", default="build")
    parser.add_argument("--report")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_args()
    work = os.path.join(options.build, "session-table")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    lines = ["| model | engine, device | file | error | create ms | again ms | run us | |", "|---|---|---|---|---|---|---|---|"]
    print("\n".join(lines))
    ran = 0
    for name in options.models or RUNS:
        for place in places(options.build):
            cells = one(options, name, place, work)
            ran += cells[3] != ""
            lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
            print(lines[-1], flush=True)
    if options.report:
        with open(options.report, "w") as file:
            file.write("\n".join(lines) + "\n")
    shutil.rmtree(work, ignore_errors=True)
    return ran == 0


if __name__ == "__main__":
    sys.exit(main())
