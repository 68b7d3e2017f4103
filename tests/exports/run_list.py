#!/usr/bin/env python3
"""Export the models of the list (zoo.py), compile them, run them, and compare with torch's own results.

    run_list.py [--out build/exports/list] [--build build] [--backend ref,htp,cpu] [--table FILE] [--refused FILE] [NAME ...]

A model is exported with qnnrt.export to OUT/NAME, with four samples that torch computes in float64 where it can. It is
compiled for libQnnRef.so with the host, for libQnnHtp.so 2.51 with libQnnCpu.so 2.47 and the host, and for libQnnCpu.so
2.47 alone. Every sample runs, in order, so that states go on. An output is right if it differs by at most 1e-4 of its largest value; on HTP 2e-2, or 3
times the error of torch's own float16; NaN and infinities are at torch's places. Integers are equal, or differ where
torch's own float32 or float16 differs too, which is said.

Each step of a model is a process with a limit of time and memory. Results are kept in OUT/results.json and used again
while exporter, row, program and libraries are the same (--keep: always; --again: never). A name may be a part of names.
The exit status is 1 if something is wrong, crashes, or is slower than its limit; with --short if anything is not right."""
import argparse
import collections
import glob
import hashlib
import json
import logging
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
import traceback
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
GIB = 1 << 30
BARS = {"ref": 1e-4, "htp": 2e-2, "cpu": 1e-4}
NAMES = {"ref": "libQnnRef.so and host", "htp": "libQnnHtp.so 2.51, libQnnCpu.so 2.47 and host", "cpu": "libQnnCpu.so 2.47 alone"}
ALONE = ("cpu",)                                     # without the host
BAD = ("wrong", "crash", "late", "failed")           # what makes the exit status 1; "refused" and "not exported" do not
# The short form: make test-exports
SHORT = ["timm.mobilenetv3_large_100", "timm.convnext_atto", "torchvision.squeezenet1_1", "transformers.bert",
         "transformers.llama_yarn", "transformers.t5_encoder", "diffusers.unet2d", "torchaudio.deepspeech", "own.counter", "own.padded"]


# ---- steps in processes of their own --------------------------------------------------------------

def limited(function, seconds, gib, *arguments):
    """Call the function in a fork; return what it returns, or {"verdict": ..., "text": ...}, and the seconds of the processor."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            resource.setrlimit(resource.RLIMIT_AS, (gib * GIB, gib * GIB))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            log = os.open(os.devnull, os.O_WRONLY)
            os.dup2(log, 1)
            os.dup2(log, 2)
            result = function(*arguments)
        except BaseException as error:  # pylint: disable=broad-except
            place = traceback.extract_tb(error.__traceback__)[-1]
            result = {"verdict": "failed", "kind": type(error).__name__, "text": str(error),
                      "at": "%s:%d" % (place.filename.split("site-packages/")[-1], place.lineno)}
            if getattr(error, "hint", None):
                result["hint"] = error.hint
        with os.fdopen(writer, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writer)
    late = []

    def stop(*_):
        late.append(True)
        os.kill(child, signal.SIGKILL)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status, usage = os.wait4(child, 0)
    signal.alarm(0)
    spent = round(usage.ru_utime + usage.ru_stime, 2)
    if late:
        return {"verdict": "late", "text": "stopped after %d s" % seconds}, spent
    if os.WIFSIGNALED(status) or not text:
        return {"verdict": "crash", "text": "ended by signal %d" % os.WTERMSIG(status)}, spent
    return json.loads(text), spent


def command(words, seconds, gib):
    """Run a program; return its status, the seconds of the processor, and the text of its error stream."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (gib * GIB, gib * GIB))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
                              preexec_fn=limit, check=False)
        status, text, out = done.returncode, done.stderr.decode("utf-8", "replace"), done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        status, text, out = "late", "stopped after %d s" % seconds, ""
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2), text.strip(), out


# ---- export ---------------------------------------------------------------------------------------

def flat_outputs(model, args, kwargs, dtype):
    """Return torch's own results in a type, flat, or None where it cannot compute them."""
    import copy
    import torch
    tree = torch.utils._pytree
    cast = lambda x: x.clone().to(dtype) if x.is_floating_point() else x.clone()  # noqa: E731
    try:
        with torch.no_grad():
            out = copy.deepcopy(model).to(dtype)(*tree.tree_map_only(torch.Tensor, cast, args), **tree.tree_map_only(torch.Tensor, cast, kwargs))
    except Exception:  # pylint: disable=broad-except
        return None
    return [x.detach() for x in tree.tree_flatten(out)[0] if isinstance(x, torch.Tensor)]


def warm_up(options):
    """Import here what every fork would import: that takes longer than most exports."""
    import tempfile
    import qnnrt
    import torch
    import zoo
    torch.set_num_threads(1)
    for library in ("numpy", "timm", "torchvision", "transformers.modeling_utils", "transformers.masking_utils"):
        __import__(library)
    with tempfile.TemporaryDirectory(dir=options.out) as folder:
        model, args, kwargs = zoo.build(next(r for r in zoo.ROWS if r.name == "own.mlp"))
        qnnrt.export(model, args, folder + "/mlp", kwargs=kwargs)


def export(entry, folder):
    """Export one row to the folder."""
    import qnnrt
    import torch
    import zoo
    torch.set_num_threads(1)
    model, args, kwargs = zoo.build(entry)
    with torch.no_grad():                        # a row that torch cannot run is a mistake of the list
        import copy
        copy.deepcopy(model)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    began = time.process_time()
    try:
        done = qnnrt.export(model, args, folder, kwargs=kwargs, samples=entry.samples, ranges=entry.ranges)
    except qnnrt.Error as error:
        return {"verdict": "not exported", "text": str(error), "hint": getattr(error, "hint", "") or ""}
    seconds = time.process_time() - began
    # Integers of the first sample in smaller types: where these differ too, a difference is a tie.
    others = {}
    want = flat_outputs(model, args, kwargs, torch.float64)
    if want is not None and any(not x.is_floating_point() for x in want):
        for name, dtype in (("float32", torch.float32), ("float16", torch.float16)):
            got = flat_outputs(model, args, kwargs, dtype)
            others[name] = got is None or any(not a.is_floating_point() and not a.is_complex() and not torch.equal(a, b) for a, b in zip(got, want))
    parameters = sum(p.numel() for p in model.parameters())
    return {"verdict": "exported", "nodes": done.nodes, "parameters": parameters, "samples": done.samples, "computed_in": done.computed_in,
            "float16_error": done.float16_error, "error": done.error, "states": done.states, "ties": others, "notes": done.notes, "seconds": round(seconds, 2)}


# ---- compile and compare --------------------------------------------------------------------------

def libraries(build):
    qnn = os.path.join(build, "qnn", "%s", "onnxruntime_qnn", "%s")
    return {"ref": {"cpu": os.path.join(build, "libQnnRef.so")},
            "htp": {"npu": qnn % ("2.51", "libQnnHtp.so"), "cpu": qnn % ("2.47", "libQnnCpu.so")},
            "cpu": {"cpu": qnn % ("2.47", "libQnnCpu.so")}}


def read_tensors(path):
    """Return the tensors of a .safetensors file as numpy arrays, and its metadata."""
    import numpy
    types = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?", "U64": "u8",
             "U32": "u4", "U16": "u2"}
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        head = json.loads(f.read(size))
        data = f.read()
    metadata = head.pop("__metadata__", {})
    tensors = {}
    for name, t in head.items():
        begin, end = t["data_offsets"]
        if t["dtype"] == "BF16":
            wide = numpy.frombuffer(data[begin:end], "<u2").astype("<u4") << 16
            tensors[name] = wide.view("<f4").reshape(t["shape"])
        elif t["dtype"] in types:
            tensors[name] = numpy.frombuffer(data[begin:end], types[t["dtype"]]).reshape(t["shape"])
        else:
            tensors[name] = None
    return tensors, metadata


def difference(got, want):
    """Return the largest difference relative to the largest finite value; infinity where NaN, infinities or shapes differ."""
    import numpy
    if got.size != want.size:
        return float("inf")
    got, want = got.reshape(-1).astype("f8"), want.reshape(-1).astype("f8")
    if want.size == 0:
        return 0.0
    finite = numpy.isfinite(want)
    with numpy.errstate(invalid="ignore"):
        same = (got == want) | (numpy.isnan(got) & numpy.isnan(want)) | (finite & numpy.isfinite(got))
    if not same.all():
        return float("inf")
    if not finite.any():
        return 0.0
    return float(numpy.abs(got - want)[finite].max() / max(numpy.abs(want[finite]).max(), 1e-30))


def base(name):
    """Return a name as files and graphs can have it."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def run_samples(options, folder, graph, work, library, count):
    """Run the compiled samples in their order, in one process; return a function that reads an output, and the seconds."""
    import numpy
    samples, _ = read_tensors(folder + "/samples.safetensors")
    states = {s[k] for s in graph.get("states", []) for k in ("input", "output")}
    text, data = "", b""
    for path in sorted(glob.glob(glob.escape(work) + "/*")):
        with open(path, "rb") as f:
            data += f.read() + b"\0"
    with open(work + "/qnnrt.json") as f:
        text = f.read()
    lines = []
    for number in range(count):
        words = []
        for i, t in enumerate(t for t in graph["graph_inputs"] if t["name"] not in states):
            path = "%s/in_%d_%d.npy" % (work, number, i)
            if not re.search(rb"(?<![\w.])%s(?![\w.])" % re.escape(t["name"].encode()), data):    # nothing reads it: the compiled graph lacks it
                continue
            numpy.save(path, samples["%d/input/%s" % (number, t["name"])])
            words.append("%s:=%s" % (t["name"], path))
        lines.append(" ".join(words))
    with open(work + "/inputs.txt", "w") as f:
        f.write("\n".join(lines) + "\n")
    words = [options.tool, "run", work, "--output_dir", work + "/out", "--num_inferences", str(count), "--output_data_type", "native"]
    words += ["--input_list", work + "/inputs.txt"] if lines[0] else []
    for role, path in library.items():
        words += ["--backend_so", "%s=%s" % (role, path)] if '"%s"' % role in text else []
    status, seconds, said, _ = command(words, options.seconds, options.gib)
    if status != 0:
        return None, seconds, status, said

    def read(number, name, dtype, size):
        place = work + "/out/Result_%d/" % number
        found = [p for called in (name, base(name)) for p in glob.glob("%s**/%s*.raw" % (glob.escape(place), glob.escape(called)), recursive=True)
                 if os.path.basename(p) in (called + ".raw", called + "_native.raw")]
        if not found:
            raise ValueError("the output \"%s\" is missing" % name)
        with open(found[0], "rb") as f:
            data = f.read()
        wide = len(data) // size if size else 0
        kind = {2: "<f2", 4: "<f4", 8: "<f8"} if dtype.startswith(("float", "bfloat")) else {1: "u1" if dtype != "int8" else "i1", 2: "<i2", 4: "<i4", 8: "<i8"}
        return numpy.frombuffer(data, kind.get(wide, "u1"))
    return read, seconds, 0, ""


def compare(options, folder, work, library, backend, exported):
    """Run every sample of the folder, and compare each output. Return the verdict."""
    with open(folder + "/graph.json") as f:
        graph = json.load(f)
    read, seconds, status, said = run_samples(options, folder, graph, work, library, exported["samples"])
    if read is None:
        kind = "late" if status == "late" else "crash" if status < 0 else "failed"
        return {"verdict": kind, "stage": "run", "text": said[-3000:] + "\nstatus %s" % status, "run_seconds": seconds}
    samples, _ = read_tensors(folder + "/samples.safetensors")
    states = {s["output"] for s in graph.get("states", [])}
    bar = max(BARS[backend], 3 * (exported.get("float16_error") or 0) if backend == "htp" else 0)
    worst, result = 0.0, {"verdict": "right", "outputs": {}, "run_seconds": seconds, "bar": bar}
    for number in range(exported["samples"]):
        for t in graph["graph_outputs"]:
            want = samples["%d/output/%s" % (number, t["name"])]
            if t["name"] in states or want is None or want.size == 0:
                continue
            try:
                got = read(number, t["name"], t["dtype"], want.size)
            except ValueError as error:
                return {"verdict": "failed", "stage": "run", "text": str(error), "run_seconds": seconds}
            if t["dtype"] in ("float32", "float64", "float16", "bfloat16"):
                error = difference(got, want)
                worst, ok, text = max(worst, error), error <= bar, "%.1e" % error
            else:
                apart = int((got.astype("i8") != want.reshape(-1).astype("i8")).sum()) if got.size == want.size else want.size
                tie = exported.get("ties", {}).get("float16" if backend == "htp" else "float32", False)
                ok, text = apart == 0 or tie, "%d of %d integers differ%s" % (apart, want.size, ", as in torch's own" if tie else "")
            if not ok or number == 0:
                result["outputs"]["%d/%s" % (number, t["name"])] = text
            if not ok:
                result["verdict"] = "wrong"
    result["error"] = worst
    return result


def shares(report):
    """Return how many multiply-adds the plan has, and the percentage of each backend: from what compiling prints."""
    found = re.search(r"^ +(\d+) multiply-adds;?(.*)$", report, re.M)
    return {"all": int(found[1]), **{role: float(part) for role, part in re.findall(r"(\w+) ([\d.]+) %", found[2])}} if found else {}


def plan_of(report):
    """Return the lines of the plan that tell of nodes and steps."""
    return [line.strip() for line in report.split("\n") if re.search(r"\b(nodes|steps)\b", line)][:4]


def check(options, entry, backend, exported, pins=()):
    """Compile and compare one model on one backend. If it is wrong, and compiling said which choice is made by numbers of
    float16, do it again as that note says."""
    folder, work = "%s/%s" % (options.out, entry.name), "%s/work/%s.%s" % (options.out, entry.name, backend)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(os.path.dirname(work), exist_ok=True)
    library = options.libraries[backend]
    words = [options.tool, "compile", folder, "--output_dir", work, "--backends", ",".join(list(library) + ["host"] * (backend not in ALONE))]
    for role, path in library.items():
        words += ["--backend_so", "%s=%s" % (role, path)]
    status, seconds, text, out = command(words + list(pins), options.seconds, options.gib)
    result = {"compile_seconds": seconds}
    if status != 0:
        kind = "late" if status == "late" else "crash" if status < 0 else "refused" if status == 1 else "failed"
        result.update(verdict=kind, stage="compile", text=(text or out)[-6000:] + ("" if status in (1, "late") else "\nstatus %s" % status))
    else:
        result.update(said=plan_of(out), macs=shares(out))
        result.update(compare(options, folder, work, library, backend, exported))
    if not options.keep_files:
        shutil.rmtree(work, ignore_errors=True)
    offered = re.findall(r"^ +(--pin_inputs) (\S+) computes them", out or "", re.M)
    if result["verdict"] == "wrong" and offered and not pins:
        pins = [word for pair in offered for word in pair]
        again = check(options, entry, backend, exported, pins)
        if again["verdict"] == "right":
            return dict(again, pins=" ".join(pins), unpinned=result["error"])
    return result


# ---- reports --------------------------------------------------------------------------------------

def clean(text, options):
    """Return a text without paths of this machine."""
    for path, name in ((os.path.abspath(options.out) + "/", ""), (options.out + "/", ""), (os.path.abspath(options.build), "build"), (TOP + "/", "")):
        text = text.replace(path, name)
    return re.sub(r"/\S*/site-packages/", "", text)


def reason(text):
    """Return why, in one line: of a refused graph its operators with what is wrong with them."""
    lines = [l.strip() for l in text.split("\n") if l.strip()]
    faults = sorted({"%s: %s" % (m[1], m[2].split(";")[0]) for m in (re.match(r"node \".*?\" \((\S+)\)(?: at \S+:\d+)?: (.*)", l) for l in lines) if m})
    unknown = [f for f in faults if "operator is unknown" in f] or faults
    return "; ".join(unknown[:2]) or (lines[0] if lines else "")


def cause(text):
    """Return a text without its names and numbers, to count the reasons."""
    return re.sub(r"\d+", "N", re.sub(r"\"[^\"]*\"", "\"..\"", text))[:140]


def counts(rows, results, backend):
    found = collections.Counter()
    for entry in rows:
        r = results[entry.name]
        found[r["export"]["verdict"] if r["export"]["verdict"] != "exported" else r.get(backend, {}).get("verdict", "not run")] += 1
    return found


def cell(r):
    if not r:
        return "-"
    text = r["verdict"]
    if "error" in r and r["verdict"] in ("right", "wrong"):
        text = "%s%s" % ("" if text == "right" else "**wrong** ", "%.1e" % r["error"])
        wrong = [v for v in r["outputs"].values() if "integers" in v and not v.startswith("0 of")]
        text += " (%s)" % wrong[0] if wrong else ""
        text += " (with %s, as compiling says; %.1e without)" % (r["pins"], r["unpinned"]) if "pins" in r else ""
    return text


def before():
    """Return the verdicts of before.txt, of models that were not right."""
    with open(HERE + "/before.txt") as f:
        return dict(line.split(None, 1) for line in f.read().split("\n") if line and line[0] != "#")


def share(r, backend):
    """Return the percentage of the multiply-adds that the first backend has; None without any."""
    macs = (r or {}).get("macs") or {}
    return macs.get("npu" if backend == "htp" else "cpu", 0.0) if macs.get("all") else None


def write_table(path, rows, results, options):
    old, backends = before(), options.backends
    commits = {e.name: sorted({r[step]["commit"] for r in [results[e.name]] for step in ["export"] + backends if r.get(step, {}).get("commit")}) for e in rows}
    every = sorted(set(sum(commits.values(), [])))
    lines = ["# The list of %d models" % len(rows), "",
             "Written by `make exports`: tests/exports/zoo.py exported with `qnnrt.export`, compiled, run with four samples, and compared with",
             "torch's own results in float64. A number is the largest difference divided by the largest value, over all outputs and",
             "samples. The bar is 1e-4; on HTP 2e-2 or 3 times the error of torch's own float16 (f16). Seconds are those of the processor.",
             "%: the share of multiply-adds of the library named first. Before: what a model was before issue 35.", ""]
    lines += ["Commit %s." % every[0], ""] if len(every) == 1 else []
    lines += ["| | before | " + " | ".join(NAMES[b] for b in backends) + " |", "|---" * (2 + len(backends)) + "|"]
    tables = [counts(rows, results, b) for b in backends]
    former = collections.Counter(old.get(e.name, "right") for e in rows)
    for verdict in ("right", "refused", "not exported", "wrong", "crash", "late", "failed", "not run"):
        if any(t[verdict] for t in tables + [former]):
            lines.append("| %s | %d | %s |" % (verdict, former[verdict], " | ".join(str(t[verdict]) for t in tables)))
    done = [[results[e.name][b] for e in rows if results[e.name].get(b, {}).get("verdict") in ("right", "wrong")] for b in backends]
    known = [[x for x in (share(r, b) for r in d) if x is not None] for b, d in zip(backends, done)]
    lines.append("| 95 % or more of the multiply-adds | | " + " | ".join("%d of %d" % (sum(x >= 95 for x in k), len(k)) if k else "-" for k in known) + " |")
    spent = [[r["compile_seconds"] for r in d] for d in done]
    lines.append("| compile, median and largest | | %s |" % " | ".join("%.2f s, %.1f s" % (statistics.median(s), max(s)) if s else "-" for s in spent))
    heads = ["model", "before", "M parameters", "nodes", "f16"] + [h for b in backends for h in (b, "%", "compile s")] + (["commit"] if len(every) > 1 else [])
    lines += ["", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for entry in rows:
        r, e = results[entry.name], results[entry.name]["export"]
        cells = [entry.name, old.get(entry.name, "right")]
        if e["verdict"] != "exported":
            cells += ["", "", ""] + [e["verdict"], "", ""] * len(backends)
        else:
            cells += ["%.1f" % (e["parameters"] / 1e6), str(e["nodes"]), "%.1e" % e["float16_error"] if e.get("float16_error") else "-"]
            for b in backends:
                part = share(r.get(b), b)
                cells += [cell(r.get(b)), "-" if part is None else "%.1f" % part, str(r.get(b, {}).get("compile_seconds", "-"))]
        cells += [", ".join(commits[entry.name])] if len(every) > 1 else []
        lines.append("| " + " | ".join(cells) + " |")
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def write_refused(path, rows, results, options):
    """Write a section for each model that is not right, and before them how often each reason occurs."""
    why, sections = collections.defaultdict(set), []
    for entry in rows:
        said, head = "", ["### " + entry.name, ""]
        for step, r in [("export", results[entry.name]["export"])] + [(b, results[entry.name].get(b)) for b in options.backends]:
            if not r or r["verdict"] in ("exported", "right"):
                continue
            text = clean(r.get("text") or json.dumps(r.get("outputs"), indent=1), options)
            text += "\nhint: " + r["hint"] if r.get("hint") else ""
            text += "\nat " + r["at"] if r.get("at") else ""
            why[(r["verdict"], step, cause(reason(text)) if r["verdict"] != "wrong" else "")].add(entry.name)
            sections += head + ["%s (%s)%s" % (r["verdict"], step, ": as before" if text == said else ""), ""]
            sections += ["```", text[:1800], "```", ""] if text != said else []
            said, head = text, []
    lines = ["# Models of the list that are not right", "", "Written by `make exports`, beside LIST.md.", "", "## Reasons, by number of models", ""]
    for (verdict, step, text), who in sorted(why.items(), key=lambda x: -len(x[1])):
        who = sorted(who)
        lines.append("- %d %s (%s): %s%s" % (len(who), verdict, step, "`%s` " % text if text else "", ", ".join(who[:5]) + (", .." if len(who) > 5 else "")))
    with open(path, "w") as f:
        f.write("\n".join(lines + ["", "## All of them", ""] + sections))


# ---- all of them ----------------------------------------------------------------------------------

def digest(*things):
    h = hashlib.sha256()
    for thing in things:
        if os.path.isfile(thing):
            with open(thing, "rb") as f:
                h.update(f.read())
        else:
            h.update(thing.encode())
    return h.hexdigest()[:16]


def keys(options, entry):
    """Return what the results of each step depend on."""
    package = os.path.join(TOP, "tools", "python", "qnnrt")
    files = [os.path.join(package, n) for n in sorted(os.listdir(package)) if n in ("_export.py", "_operators.py", "_safetensors.py") or n.startswith("_torch")]
    files += [HERE + "/own.py"] if entry.library == "own" else []
    found = {"export": digest(repr(entry), *files)}
    for b in options.backends:
        found[b] = digest(found["export"], options.base[b])
    return found


def commit():
    """Return the commit of the checkout, with a + where files differ from it; "" without git."""
    def git(*words):
        return subprocess.run(("git", "-C", TOP) + words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, universal_newlines=True).stdout.strip()
    try:
        name = git("rev-parse", "--short=8", "HEAD")
        return name and name + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except OSError:
        return ""


def save(store, results):
    with open(store + ".part", "w") as f:
        json.dump(results, f, indent=1)
    os.replace(store + ".part", store)


def row_of(options, entry, old):
    """Do what is missing of one model; return its results."""
    want, new = keys(options, entry), {}

    def fresh(step):
        r = old.get(step)
        return r if r and not options.again and (options.keep or r.get("key") == want[step]) and r["verdict"] not in options.redo else None
    new["export"] = fresh("export")
    if not new["export"]:
        if not options.warm:
            warm_up(options)
            options.warm = True
        shutil.rmtree("%s/%s" % (options.out, entry.name), ignore_errors=True)
        new["export"], new_seconds = limited(export, options.seconds, 12, entry, "%s/%s" % (options.out, entry.name))
        new["export"].update(key=want["export"], all_seconds=new_seconds, commit=commit())
        old = {}
    for b in options.backends:
        if new["export"]["verdict"] == "exported":
            new[b] = fresh(b) or dict(check(options, entry, b, new["export"]), key=want[b], commit=commit())
    return dict(old, **new)


def prepare(options):
    """Set up this process before torch is imported."""
    os.environ.setdefault("QNNRT_LIBRARY", os.path.abspath(options.build + "/libqnnrt.so"))
    sys.path[:0] = [HERE, os.path.join(TOP, "tools", "python")]
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    os.environ["OMP_NUM_THREADS"] = "1"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--out", help="default: BUILD/exports/list")
    parser.add_argument("--store", help="file of the results; default: OUT/results.json")
    parser.add_argument("--tool", help="default: BUILD/qnnrt-run")
    parser.add_argument("--backend", help="default: ref,htp,cpu")
    parser.add_argument("--seconds", type=int, default=300, help="for one step of a model")
    parser.add_argument("--gib", type=int, default=8, help="of memory for compiling or running")
    parser.add_argument("--short", action="store_true", help="ten models")
    parser.add_argument("--again", action="store_true", help="use no kept results")
    parser.add_argument("--keep", action="store_true", help="use kept results of other programs and exporters, too")
    parser.add_argument("--redo", default="", help="verdicts whose models are done again: wrong,refused")
    parser.add_argument("--keep_files", action="store_true", help="keep what was compiled, in OUT/work")
    parser.add_argument("--table", help="write the table of all kept results")
    parser.add_argument("--refused", help="write a section for each model that is not right")
    parser.add_argument("--more", action="store_true", help="the rows beside the 250, too")
    parser.add_argument("--report_only", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    options.out = options.out or options.build + "/exports/list"
    options.tool = options.tool or options.build + "/qnnrt-run"
    options.backends = (options.backend or "ref,htp,cpu").split(",")
    options.warm = False
    options.redo = set(options.redo.split(","))
    options.libraries = {b: l for b, l in libraries(options.build).items() if b in options.backends}
    options.base = {b: digest(options.tool, *options.libraries[b].values()) for b in options.backends}
    os.makedirs(options.out, exist_ok=True)
    prepare(options)
    import zoo
    rows = [r for r in zoo.ROWS if (not options.names or any(n in r.name for n in options.names)) and (not options.short or r.name in SHORT) and
            (options.more or r.name in options.names or r.name not in zoo.MORE)]
    rows.sort(key=lambda r: [n in r.name for n in options.names].index(True) if options.names else 0)
    if not rows:
        parser.error("no model is named so: " + ", ".join(options.names))
    store = options.store or options.out + "/results.json"
    results = {}
    if os.path.exists(store):
        with open(store) as f:
            results = json.load(f)
    began = time.time()
    for number, entry in enumerate(rows):
        if options.report_only:
            continue
        results[entry.name] = row_of(options, entry, results.get(entry.name, {}))
        save(store, results)
        r = results[entry.name]
        print("%3d/%d %-44s %s %s" % (number + 1, len(rows), entry.name, r["export"]["verdict"] if r["export"]["verdict"] != "exported" else "", "  ".join(
            "%s: %s" % (b, cell(r.get(b))) for b in options.backends if r.get(b))), flush=True)
    rows = [r for r in rows if r.name in results]
    for b in options.backends:
        found = counts(rows, results, b)
        print("%s: %s" % (NAMES[b], ", ".join("%d %s" % (n, v) for v, n in found.most_common())))
    print("%d models in %.0f s" % (len(rows), time.time() - began))
    if options.table:
        write_table(options.table, rows, results, options)
    if options.refused:
        write_refused(options.refused, rows, results, options)
    bad = sum(counts(rows, results, b)[v] for b in options.backends for v in BAD)
    if options.short:                                     # a test: ten models that were right
        done = [(entry.name, b, results[entry.name].get(b) or results[entry.name]["export"]) for entry in rows for b in options.backends]
        for name, b, r in done:
            if r["verdict"] != "right":
                print("FAIL exports/%s on %s: %s: %s" % (name, b, r["verdict"], " ".join(clean(r.get("text") or json.dumps(r.get("outputs")), options).split())[:300]))
        bad = sum(r["verdict"] != "right" for _, _, r in done)
        print("%d passed, %d failed" % (len(done) - bad, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
