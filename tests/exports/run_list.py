#!/usr/bin/env python3
"""Export the models of the list (zoo.py), compile them, run them, and compare with torch's own results.

    run_list.py [--out build/exports/list] [--build build] [--backend ref,htp] [--table FILE] [--refused FILE] [NAME ...]

A model is exported with qnnrt.export to OUT/NAME, with four samples that torch computes in float64 where it can. It is
compiled for libQnnRef.so with the host, and for libQnnHtp.so 2.51 with libQnnCpu.so 2.47 and the host. Every sample runs,
in order, so that states go on. An output is right if it differs by at most 1e-4 of its largest value; on HTP 2e-2, or 3
times the error of torch's own float16; NaN and infinities are at torch's places. Integers are equal, or differ where
torch's own float32 or float16 differs too, which is said.

Each step of a model is a process with a limit of time and memory. Results are kept in OUT/results.json and used again
while exporter, row, program and libraries are the same (--keep: always; --again: never). A name may be a part of names.
The exit status is 1 if something is wrong, crashes, or is slower than its limit."""
import argparse
import collections
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
BARS = {"ref": 1e-4, "htp": 2e-2}
NAMES = {"ref": "libQnnRef.so and host", "htp": "libQnnHtp.so 2.51, libQnnCpu.so 2.47 and host"}
BAD = ("wrong", "crash", "late", "failed")           # what makes the exit status 1; "refused" and "not exported" do not
# The short form: make test-exports
SHORT = ["timm.mobilenetv3_large_100", "timm.convnext_atto", "torchvision.squeezenet1_1", "transformers.bert",
         "transformers.llama_yarn", "transformers.t5_encoder", "diffusers.unet2d", "torchaudio.deepspeech", "own.lstm", "own.sorting"]


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
        done = qnnrt.export(model, args, folder, kwargs=kwargs, ranges=entry.ranges)
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
            "htp": {"npu": qnn % ("2.51", "libQnnHtp.so"), "cpu": qnn % ("2.47", "libQnnCpu.so")}}


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


def compare(folder, compiled, library, backend, exported):
    """Run every sample of the folder, and compare each output. Return the verdict."""
    import numpy
    import qnnrt
    with open(folder + "/graph.json") as f:
        graph = json.load(f)
    samples, _ = read_tensors(folder + "/samples.safetensors")
    states = {s["input"] for s in graph.get("states", [])} | {s["output"] for s in graph.get("states", [])}
    bar, how = BARS[backend], {}
    if backend == "htp" and exported.get("float16_error"):
        bar = max(bar, 3 * exported["float16_error"])
    worst, result = 0.0, {"verdict": "right", "outputs": {}}
    system = os.path.join(os.path.dirname(library["npu"]), "libQnnSystem.so") if "npu" in library else library["cpu"]
    with qnnrt.open(compiled, inspect=True, system=system) as model:
        roles = {c.role for c in model.contexts}
    used = {role: path for role, path in library.items() if role in roles}
    with qnnrt.open(compiled, system=system, **({"backends": used} if used else {"backend": list(library.values())[0]})) as model:
        run = model.prepare()
        known = {base(s.name): s.name for s in run.inputs}
        gives = {base(s.name): s.name for s in run.outputs}
        for number in range(exported["samples"]):
            for t in graph["graph_inputs"]:
                if t["name"] in states or base(t["name"]) not in known:    # nothing reads it: the compiled graph lacks it
                    continue
                x = samples["%d/input/%s" % (number, t["name"])]
                run[known[base(t["name"])]] = x
            run.exec()
            for t in graph["graph_outputs"]:
                if t["name"] in states:
                    continue
                want = samples["%d/output/%s" % (number, t["name"])]
                if base(t["name"]) not in gives:
                    raise ValueError("the output \"%s\" is missing; there is: %s" % (t["name"], ", ".join(gives.values())))
                if want is None or want.size == 0:
                    continue
                got = numpy.asarray(run[gives[base(t["name"])]])
                if t["dtype"] in ("float32", "float64", "float16", "bfloat16"):
                    error = difference(got, want)
                    worst, ok, text = max(worst, error), error <= bar, "%.1e" % error
                else:
                    apart = int((got.reshape(-1).astype("i8") != want.reshape(-1).astype("i8")).sum()) if got.size == want.size else want.size
                    tie = exported.get("ties", {}).get("float16" if backend == "htp" else "float32", False)
                    ok, text = apart == 0 or tie, "%d of %d integers differ%s" % (apart, want.size, ", as in torch's own" if tie else "")
                    if apart and tie:
                        how["ties"] = True
                if not ok or number == 0:
                    result["outputs"]["%d/%s" % (number, t["name"])] = text
                if not ok:
                    result["verdict"] = "wrong"
    result.update(how, error=worst, bar=bar)
    return result


def shape_of(report):
    """Return how many nodes each backend has, from the plan that compiling prints."""
    return [line.strip() for line in report.split("\n") if re.search(r"\b(nodes|steps)\b", line)][:4]


def check(options, entry, backend, exported):
    """Compile and compare one model on one backend."""
    folder, work = "%s/%s" % (options.out, entry.name), "%s/work/%s.%s" % (options.out, entry.name, backend)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(os.path.dirname(work), exist_ok=True)
    library = options.libraries[backend]
    words = [options.tool, "compile", folder, "--output_dir", work, "--backends", ",".join(list(library) + ["host"])]
    for role, path in library.items():
        words += ["--backend_so", "%s=%s" % (role, path)]
    status, seconds, text, out = command(words, options.seconds, options.gib)
    result = {"compile_seconds": seconds}
    if status != 0:
        kind = "late" if status == "late" else "crash" if status < 0 else "refused" if status == 1 else "failed"
        result.update(verdict=kind, stage="compile", text=(text or out)[-6000:] + ("" if status in (1, "late") else "\nstatus %s" % status))
    else:
        result["said"] = shape_of(out)
        found, result["run_seconds"] = limited(compare, options.seconds, options.gib, folder, work, library, backend, exported)
        result.update(found)
        if found["verdict"] not in ("right", "wrong"):
            result["stage"] = "run"
    if not options.keep_files:
        shutil.rmtree(work, ignore_errors=True)
    return result


# ---- reports --------------------------------------------------------------------------------------

def clean(text, options):
    """Return a text without paths of this machine."""
    for path, name in ((os.path.abspath(options.out) + "/", ""), (options.out + "/", ""), (os.path.abspath(options.build), "build"), (TOP + "/", "")):
        text = text.replace(path, name)
    return re.sub(r"/\S*/site-packages/", "", text)


def reason(text):
    """Return the line of an error that says why, without what is in front of it."""
    lines = [l.strip() for l in text.split("\n") if l.strip()]
    return lines[0] if lines else ""


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
    return text


def write_table(path, rows, results, options):
    lines = ["# The list of %d models" % len(rows), "",
             "Written by `make exports`: tests/exports/zoo.py exported with `qnnrt.export`, compiled, run with four samples, and compared with",
             "torch's own results in float64. A number is the largest difference divided by the largest value, over all outputs and",
             "samples. The bar is 1e-4; on HTP 2e-2 or 3 times the error of torch's own float16 (f16). Seconds are those of the processor.", ""]
    lines += ["| | " + " | ".join(NAMES[b] for b in options.backends) + " |", "|---" * (1 + len(options.backends)) + "|"]
    tables = [counts(rows, results, b) for b in options.backends]
    for verdict in ("right", "refused", "not exported", "wrong", "crash", "late", "failed", "not run"):
        if any(t[verdict] for t in tables):
            lines.append("| %s | %s |" % (verdict, " | ".join(str(t[verdict]) for t in tables)))
    spent = [[results[e.name].get(b, {}).get("compile_seconds") for e in rows if results[e.name].get(b, {}).get("verdict") in ("right", "wrong")] for b in options.backends]
    lines.append("| compile, median and largest | %s |" % " | ".join("%.2f s, %.1f s" % (statistics.median(s), max(s)) if s else "-" for s in spent))
    lines += ["", "| model | M parameters | nodes | f16 | " + " | ".join("%s | compile s" % b for b in options.backends) + " |",
              "|---" * (4 + 2 * len(options.backends)) + "|"]
    for entry in rows:
        r, e = results[entry.name], results[entry.name]["export"]
        if e["verdict"] != "exported":
            lines.append("| %s | | | | %s |" % (entry.name, " | | ".join(["not exported" if e["verdict"] == "not exported" else e["verdict"]] * len(options.backends)) + " |"))
            continue
        f16 = "%.1e" % e["float16_error"] if e.get("float16_error") else "-"
        cells = ["%s | %s" % (cell(r.get(b)), r.get(b, {}).get("compile_seconds", "-")) for b in options.backends]
        lines.append("| %s | %.1f | %d | %s | %s |" % (entry.name, e["parameters"] / 1e6, e["nodes"], f16, " | ".join(cells)))
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def write_refused(path, rows, results, options):
    """Write a section for each model that is not right, and before them how often each reason occurs."""
    why, sections = collections.defaultdict(set), []
    for entry in rows:
        parts = [("export", results[entry.name]["export"])] + [(b, results[entry.name].get(b)) for b in options.backends]
        said = ""
        for step, r in parts:
            if not r or r["verdict"] in ("exported", "right"):
                continue
            text = clean(r.get("text") or json.dumps(r.get("outputs"), indent=1), options)
            text += "\nhint: " + r["hint"] if r.get("hint") else ""
            text += "\nat " + r["at"] if r.get("at") else ""
            why[(r["verdict"], step, cause(reason(text)) if r["verdict"] != "wrong" else "")].add(entry.name)
            if text != said:
                sections += ["### %s: %s (%s)" % (entry.name, r["verdict"], step), "", "```", text[:1800], "```", ""]
            said = text
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
    files = [os.path.join(package, n) for n in sorted(os.listdir(package)) if n in ("_export.py", "_torch_graph.py", "_operators.py", "_safetensors.py")]
    files += [HERE + "/own.py"] if entry.library == "own" else []
    found = {"export": digest(repr(entry), *files)}
    for b in options.backends:
        found[b] = digest(found["export"], options.base[b])
    return found


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
        new["export"].update(key=want["export"], all_seconds=new_seconds)
        old = {}
    for b in options.backends:
        if new["export"]["verdict"] == "exported":
            new[b] = fresh(b) or dict(check(options, entry, b, new["export"]), key=want[b])
    return dict(old, **new)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--out", help="default: BUILD/exports/list")
    parser.add_argument("--tool", help="default: BUILD/qnnrt-run")
    parser.add_argument("--backend", default="ref,htp")
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
    options.backends = options.backend.split(",")
    options.warm = False
    options.redo = set(options.redo.split(","))
    options.libraries = {b: l for b, l in libraries(options.build).items() if b in options.backends}
    options.base = {b: digest(options.tool, *options.libraries[b].values()) for b in options.backends}
    os.makedirs(options.out, exist_ok=True)
    os.environ.setdefault("QNNRT_LIBRARY", os.path.abspath(options.build + "/libqnnrt.so"))
    sys.path[:0] = [HERE, os.path.join(TOP, "tools", "python")]
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    os.environ["OMP_NUM_THREADS"] = "1"
    import zoo
    rows = [r for r in zoo.ROWS if (not options.names or any(n in r.name for n in options.names)) and (not options.short or r.name in SHORT) and
            (options.more or r.name in options.names or r.name not in zoo.MORE)]
    rows.sort(key=lambda r: [n in r.name for n in options.names].index(True) if options.names else 0)
    if not rows:
        parser.error("no model is named so: " + ", ".join(options.names))
    store = options.out + "/results.json"
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
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
