#!/usr/bin/env python3
"""Compile exported models for each backend, run them, and compare with what torch computed.

    run_models.py [--exports build/exports] [--backend ref,cpu,htp] [NAME ...]

A row tells the largest difference divided by the largest expected value, over all outputs. The bar is 1e-4 on
libQnnRef.so and libQnnCpu.so, 1e-2 on libQnnHtp.so. The exit status is 1 if a bar is missed or a model fails, else 0.
Results are kept in <work>/results.json and used again while the program, the libraries and the model are the same;
--again runs them anew. --report FILE writes the table as Markdown, --failures FILE what failed and why.

A model is a folder that export_minilm.py or make_llama_ir.py made: <exports>/NAME. A folder with several graphs, such as
prefill and decode, becomes one context. This needs numpy. For all other models see run_list.py."""
import argparse
import collections
import concurrent.futures
import functools
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

import numpy as np

BARS = {"ref": 1e-4, "cpu": 1e-4, "htp": 1e-2}
NAMES = {"ref": "libQnnRef.so", "cpu": "libQnnCpu.so 2.47", "htp": "libQnnHtp.so 2.51"}
OTHERS = ("minilm", "tinyllama", "qwen2l_8k", "qwen2l")


def libraries(build):
    """Return backend -> (the backend library, the library that reads its binaries)."""
    qnn = os.path.join(build, "qnn", "%s", "onnxruntime_qnn", "%s")
    ref = os.path.join(build, "libQnnRef.so")
    return {"ref": (ref, ref), "cpu": (qnn % ("2.47", "libQnnCpu.so"), qnn % ("2.47", "libQnnSystem.so")),
            "htp": (qnn % ("2.51", "libQnnHtp.so"), qnn % ("2.51", "libQnnSystem.so"))}


def digest(paths):
    """Return a hash of the contents of small files, and of the size and time of large ones."""
    h = hashlib.sha256()
    for path in paths:
        state = os.stat(path)
        if state.st_size > 16 << 20:
            h.update(("%s %d %d" % (os.path.basename(path), state.st_size, state.st_mtime_ns)).encode())
        else:
            with open(path, "rb") as f:
                h.update(f.read())
    return h.hexdigest()[:16]


def execute(command, folder, name, timeout):
    """Run the command; return its status, its seconds, its peak memory in MB, and the text of its error stream."""
    began = time.monotonic()
    with open("%s/%s.out" % (folder, name), "w") as out, open("%s/%s.err" % (folder, name), "w") as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        late = threading.Event()
        timer = threading.Timer(timeout, lambda: (late.set(), child.kill()))
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        timer.cancel()
    with open("%s/%s.err" % (folder, name), errors="replace") as f:
        text = f.read()
    if late.is_set():
        text += "\nstopped after %d s" % timeout
    elif child.returncode < 0:
        text += "\nended by signal %d" % -child.returncode
    return child.returncode, round(time.monotonic() - began, 2), usage.ru_maxrss // 1024, text.strip()


class Model:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        parts = sorted(glob.glob(folder + "/*/model.json"), reverse=True)      # prefill before decode
        self.graphs = [(os.path.basename(os.path.dirname(p)), os.path.dirname(p)) for p in parts] or [(name, folder)]
        self.weights = folder + "/model.safetensors"
        self.files = [g + "/model.json" for _, g in self.graphs]
        self.infos = []
        for _, g in self.graphs:
            with open(g + "/info.json") as f:
                self.infos.append(json.load(f))
        self.base = self.infos[0].get("rope_base")
        self.half = max([i["float16_error"] for i in self.infos if isinstance(i.get("float16_error"), float)], default=None)

    def sets(self, folder):
        """Return the sets of inputs and outputs: lists of files."""
        count = len(glob.glob(folder + "/out_0_*.npy"))
        ends = ["_%d.npy" % i for i in range(count)] or [".npy"]

        def files(kind, end):
            found = []
            while os.path.exists("%s/%s_%d%s" % (folder, kind, len(found), end)):
                found.append("%s/%s_%d%s" % (folder, kind, len(found), end))
            return found
        return [(files("in", end), files("out", end)) for end in ends]


@functools.lru_cache(None)
def reports(tool):
    """Return whether the tool writes reports."""
    return "--report " in subprocess.run([tool, "compile", "--help"], stdout=subprocess.PIPE, universal_newlines=True).stdout


def compile_command(tool, model, backend, library, work):
    command = [tool, "compile"] + model.files + ["--weights", model.weights, "--output_dir", work + "/model"]
    command += ["--backend_so", library[0], "--system_so", library[1]]
    command += ["--report", work + "/report.txt"] if reports(tool) else []
    command += ["--graph_name", ",".join(name for name, _ in model.graphs)]
    if model.base:
        command += ["--rope_base", "%.17g" % model.base]
    return command


def find_raw(folder, name):
    """Return the file of an output. The tool changes characters that file names cannot hold."""
    for want in (name, re.sub(r"[^A-Za-z0-9_.-]", "_", name)):
        found = glob.glob("%s/**/%s.raw" % (glob.escape(folder), glob.escape(want)), recursive=True)
        if found:
            return found[0]
    raise ValueError("the output \"%s\" is missing; there is: %s" % (name, ", ".join(
        sorted(os.path.basename(p) for p in glob.glob(folder + "/**/*.raw", recursive=True))[:8])))


def inputs_of(folder, graph):
    """Return the names of the inputs that the metadata beside the binaries state for a graph."""
    names = set()
    for path in glob.glob(folder + "/*_json.json"):
        with open(path) as f:
            info = json.load(f)["info"]
        for entry in info["graphs"]:
            if entry["info"]["graphName"] == graph:
                names |= {t["info"]["name"] for t in entry["info"]["graphInputs"]}
    return names


def run_graph(tool, model, graph, folder, library, work, timeout, result):
    """Run one graph with every set of inputs; return the largest relative difference of its outputs."""
    with open(folder + "/model.json") as f:
        data = json.load(f)
    known = inputs_of(work + "/model", graph)
    worst, dots = 0.0, []
    for number, (inputs, outputs) in enumerate(model.sets(folder)):
        at = "%s/run_%s_%d" % (work, graph, number)
        os.makedirs(at)
        command = [tool, "run", work + "/model", "--backend_so", library[0], "--system_so", library[1], "--output_dir", at,
                   "--output_data_type", "float", "--graph", graph]
        for spec, path in zip(data["graph_inputs"], inputs):
            if spec["name"] not in known:        # nothing reads it: the compiled graph lacks it
                continue
            x = np.load(path)
            raw = "%s/%s.in" % (at, spec["name"])
            (x.astype(np.int32) if x.dtype == np.int64 else x).tofile(raw)
            command += ["--input", "%s=%s" % (spec["name"], raw)]
        status, seconds, _, text = execute(command, at, "tool", timeout)
        result["run_seconds"] = round(result.get("run_seconds", 0) + seconds, 2)
        if status:
            raise ValueError("run of graph %s: %s" % (graph, text[-4000:]))
        for spec, path in zip(data["graph_outputs"], outputs):
            want = np.load(path).astype(np.float64)
            got = np.fromfile(find_raw(at, spec["name"]), np.float32).astype(np.float64)
            if got.size != want.size:
                raise ValueError("output \"%s\" of graph %s has %d elements, torch's has %d"
                                 % (spec["name"], graph, got.size, want.size))
            got = got.reshape(want.shape)
            error = float(np.abs(got - want).max() / max(np.abs(want).max(), 1e-30))
            error = error if np.isfinite(got).all() else float("inf")
            result.setdefault("outputs", {})["%s/%s" % (graph, spec["name"])] = error
            worst = max(worst, error)
            dots.append(float((got * want).sum() / max(np.linalg.norm(got) * np.linalg.norm(want), 1e-30)))
        shutil.rmtree(at)
    result["cosine"] = min([result.get("cosine", 1.0)] + dots)
    return worst


def operators(path):
    """Return the number of operators of all graphs that the report of the compiler states, or None."""
    try:
        with open(path) as f:
            counts = re.findall(r" after the passes, (\d+) operators", f.read())
    except OSError:
        return None
    return sum(map(int, counts)) if counts else None


def measure(tool, model, backend, library, work, timeout):
    """Compile and run one model on one backend; return what is known of it."""
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work + "/model")
    os.rmdir(work + "/model")
    result = {"model": model.name, "backend": backend}
    status, result["compile_seconds"], result["compile_mb"], text = execute(
        compile_command(tool, model, backend, library, work), work, "compile", timeout)
    result["operators"] = operators(work + "/report.txt")
    if status:
        result.update(stage="compile", text=text[-20000:])
        return result
    result["bytes"] = sum(os.path.getsize(p) for p in glob.glob(work + "/model/**/*.bin", recursive=True))
    try:
        result["error"] = max(run_graph(tool, model, name, folder, library, work, timeout, result)
                              for name, folder in model.graphs)
        if not result["error"] <= BARS[backend]:
            wrong = ", ".join("%s %.1e" % x for x in result["outputs"].items() if not x[1] <= BARS[backend])
            result.update(stage="compare", text="the difference %.2e is above %.0e; outputs: %s"
                          % (result["error"], BARS[backend], wrong))
    except (ValueError, OSError) as e:
        result.update(stage="run", text=str(e))
    return result


def row(result, model):
    def show(form, value, none="-"):
        return none if value is None else form % value

    size = result.get("bytes")
    return (result["model"], result["backend"], show("%.1e", result.get("error"), "failed"), show("%.1e", model.half),
            show("%d", result.get("operators")), show("%.1f", None if size is None else size / 1048576),
            "%.1f" % result["compile_seconds"], show("%.1f", result.get("run_seconds")),
            "ok" if not result.get("stage") else result["stage"] + " FAILED")


HEAD = ("model", "backend", "error", "torch f16", "ops", "MiB", "compile s", "run s", "")
FORM = "%-30s %-7s %8s %9s %6s %8s %9s %8s  %s"


def key_line(text):
    """Return a line of an error without its names and numbers, to count the reasons."""
    return re.sub(r"\d+", "N", re.sub(r"\"[^\"]*\"", "\"...\"", text))[:160]


def write_failures(path, results):
    """Write each failure in full, and before them how often each reason occurs."""
    failed = [r for r in results if r.get("stage")]
    lines = ["# Failures of compiled exports", "",
             "%d of %d runs fail. Written by tests/exports/run_models.py." % (len(failed), len(results)), ""]
    reasons = collections.defaultdict(set)
    for r in failed:
        for line in r["text"].split("\n"):
            if line.strip():
                reasons[(r["stage"], key_line(line.strip()))].add("%s/%s" % (r["model"], r["backend"]))
    lines += ["## Reasons, by number of models", ""]
    for (stage, line), who in sorted(reasons.items(), key=lambda x: -len(x[1])):
        who = sorted(who)
        lines.append("- %d x %s: `%s` (%s%s)" % (len(who), stage, line, ", ".join(who[:6]), ", ..." if len(who) > 6 else ""))
    lines += ["", "## All of them", ""]
    for r in failed:
        lines += ["### %s on %s: %s" % (r["model"], r["backend"], r["stage"]), "", "```", r["text"][-6000:], "```", ""]
    with open(path + ".part", "w") as f:
        f.write("\n".join(lines))
    os.replace(path + ".part", path)


def write_report(path, rows, models, results):
    lines = ["# Exported models, compiled and run", "",
             "Written by `make test-decoders`. Each model is exported from PyTorch with random weights (minilm: its real ones),",
             "compiled by `qnnrt-run compile`, and run.", "",
             "error: the largest difference from torch's float64 divided by its largest value, over all outputs;",
             "torch f16: the error of torch's own float16.",
             "Times are those of one machine with other work on it; the HTP is emulated there.", ""]
    table = {}
    for r in rows:
        table.setdefault(r[0], {})[r[1]] = r
    backends = [b for b in BARS if any(b in t for t in table.values())]
    titles = ["%s: error | ops | MiB | compile s" % NAMES[b] for b in backends]
    lines += ["| model | nodes | torch f16 | " + " | ".join(titles) + " |",
              "|---" * (3 + 4 * len(backends)) + "|"]
    for name, found in table.items():
        nodes = sum(i["nodes"] for i in models[name].infos)
        cells = []
        for b in backends:
            r = found.get(b, ("-",) * 8 + ("ok",))
            cells += [r[2] + ("" if r[8] == "ok" else " (%s)" % r[8]), r[4], r[5], r[6]]
        lines.append("| %s | %d | %s | %s |" % (name, nodes, next(iter(found.values()))[3], " | ".join(cells)))
    found = [r for r in results if r["model"] == "minilm" and "cosine" in r]
    if found:
        lines += ["", "minilm: the smallest cosine of a sentence embedding with torch's: %s." % ", ".join(
            "%.7f on %s" % (r["cosine"], NAMES[r["backend"]]) for r in found)]
    good = sum(not r.get("stage") for r in results)
    lines += ["", "%d of %d runs are within the bar of their backend: %s." % (good, len(results), ", ".join(
        "%s %.0e" % (NAMES[b], BARS[b]) for b in backends)), ""]
    kept = ""                                    # sections that this program does not write
    if os.path.exists(path):
        with open(path) as f:
            _, mark, rest = f.read().partition("\n## ")
            kept = mark + rest
    with open(path, "w") as f:
        f.write("\n".join(lines) + kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--exports", help="default: BUILD/exports")
    parser.add_argument("--tool", help="default: BUILD/qnnrt-run")
    parser.add_argument("--backend", default="ref,cpu,htp")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one compilation or run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", help="folder for what is compiled; default: EXPORTS/work")
    parser.add_argument("--report")
    parser.add_argument("--failures")
    parser.add_argument("--again", action="store_true", help="use no kept results")
    parser.add_argument("--keep", action="store_true", help="keep the compiled folders")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    exports = options.exports or options.build + "/exports"
    tool = options.tool or options.build + "/qnnrt-run"
    work = options.work or exports + "/work"
    os.makedirs(work, exist_ok=True)
    backends = options.backend.split(",")
    library = libraries(options.build)

    models = {}
    places = [p for p in (exports + "/" + n for n in OTHERS) if os.path.exists(p + "/model.safetensors")]
    for place in places:
        name = os.path.basename(place)
        if not options.names or name in options.names:
            models[name] = Model(name, place)
    unknown = sorted(set(options.names) - set(models))
    if unknown or not models:
        parser.error("%s: not found below %s" % (", ".join(unknown) or "models", exports))

    store = work + "/results.json"
    kept = {}
    if os.path.exists(store):
        with open(store) as f:
            kept = json.load(f)
    base = {b: digest([tool] + [p for p in library[b] if os.path.exists(p)]) for b in backends}
    lock, rows, results = threading.Lock(), {}, {}
    print(FORM % HEAD, flush=True)

    def one(model, backend):
        data = [os.path.join(folder, n) for _, folder in model.graphs for n in sorted(os.listdir(folder))
                if n.endswith((".json", ".npy"))]
        key = base[backend] + digest(data + [model.weights])
        name = "%s/%s" % (model.name, backend)
        result = kept.get(name)
        if options.again or not result or result["key"] != key:
            folder = "%s/%s.%s" % (work, model.name, backend)
            if os.path.exists(library[backend][0]):
                result = measure(tool, model, backend, library[backend], folder, options.timeout)
            else:
                result = {"model": model.name, "backend": backend, "stage": "compile", "compile_seconds": 0,
                          "text": "%s is missing" % library[backend][0]}
            result["key"] = key
            if not options.keep:
                shutil.rmtree(folder, ignore_errors=True)
        with lock:
            kept[name] = results[name] = result
            rows[name] = row(result, model)
            print(FORM % rows[name], flush=True)
            with open(store + ".part", "w") as f:
                json.dump(kept, f, indent=1)
            os.replace(store + ".part", store)
            if options.failures:
                write_failures(options.failures, list(kept.values()))

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(one, m, b) for m in models.values() for b in backends]:
            future.result()
    order = ["%s/%s" % (m, b) for m in models for b in backends]
    failed = [results[n] for n in order if results[n].get("stage")]
    for r in failed:
        print("\n%s on %s, %s:\n%s" % (r["model"], r["backend"], r["stage"], r["text"][-1500:]))
    print("\n%d of %d runs are within their bars" % (len(order) - len(failed), len(order)))
    if options.report:
        write_report(options.report, [rows[n] for n in order], models, [results[n] for n in order])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
