#!/usr/bin/env python3
"""Print seven kinds of models that were different from torch without a word, what they were then, and what they are now.

    silent.py [--build build] [--out build/exports/silent]

Rows of the list (zoo.py) are done as run_list.py does them. A number is the largest difference divided by the largest value.
The exit status is 1 if one is neither right nor refused by name."""
import argparse
import os
import shutil
import subprocess
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tools", "python")]

import run_list                                             # noqa: E402

# What it is; the rows of the list with what they were then, by backend.
KINDS = [
    ("blocks of torch.no_grad(), guessed to be plain rotary embeddings",
     {"transformers.cohere": "0.37", "transformers.cohere2": "0.51", "transformers.llama_yarn": "0.18", "transformers.qwen3_yarn": "0.27"}, ("ref", "htp")),
    ("buffers that the model changes, compiled as constants",
     {"own.counter": "constant", "own.stream": "constant", "own.ring": "constant"}, ("ref", "htp")),
    ("HTP's int32 multiplication with broadcasting on both sides", {"transformers.deberta": "0.44"}, ("ref", "htp")),
    ("rows whose mask is -infinity everywhere",
     {"transformers.modernbert": "0.37", "transformers.mistral_padded": "0.60", "own.padded": "-"}, ("ref", "htp")),
    ("int64 beyond int32", {"own.integers": "wrapped"}, ("ref", "htp", "cpu")),
]


def command(*words):
    """Run a program; return its status and its lines."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=600)
    return done.returncode, done.stdout.decode("utf-8", "replace").split("\n")


def found(lines, *words):
    return next((" ".join(x.split()) for x in lines if any(w in x for w in words)), " ".join(" ".join(lines[-3:]).split()))[:230]


class Table:
    def __init__(self):
        self.bad = 0

    def line(self, good, what, then, now):
        self.bad += not good
        print("  %-34s %-10s %s%s" % (what, then, "" if good else "WRONG: ", now), flush=True)


def listed(options, table, names, backends):
    """Do rows of the list."""
    import zoo
    for name, then in names.items():
        entry = next(r for r in zoo.ROWS if r.name == name)
        result = run_list.row_of(options, entry, {})
        if result["export"]["verdict"] != "exported":
            table.line(result["export"]["verdict"] == "not exported", name, then, found(result["export"].get("text", "").split("\n"), ""))
            continue
        for backend in backends:
            r = result[backend]
            text = run_list.cell(r) if r["verdict"] != "refused" else "refused: " + found(r["text"].split("\n"), "node ")
            table.line(r["verdict"] in ("right", "refused"), name if backend == backends[0] else "", then if backend == backends[0] else "", backend + ": " + text)


def no_body(options, table):
    """A file of pytorch-ir, whose block has no body."""
    status, lines = command(options.tool, "compile", TOP + "/tests/data/exported/blocks_pytorch_ir.json", "--weights",
                            TOP + "/tests/data/exported/blocks/weights.safetensors", "--backend_so", options.build + "/libQnnRef.so",
                            "--output_dir", options.out + "/blocks")
    table.line(status == 1, "a file of pytorch-ir", "0.57", "refused: " + found(lines, "wrap_with_set_grad_enabled"))


def changed(options, table):
    status, lines = command(options.tool, "compile", TOP + "/tests/data/exported/states_pytorch_ir.json", "--weights",
                            TOP + "/tests/data/exported/states/weights.safetensors", "--backend_so", options.build + "/libQnnRef.so",
                            "--output_dir", options.out + "/states")
    table.line(status == 1, "a file of pytorch-ir", "constant", "refused: " + found(lines, "node ", "buffer", "weight"))


def beyond_float16(options, table):
    """(100000 x)^2 / 10^10: infinity in float16."""
    import qnnrt
    import torch

    class Square(torch.nn.Module):
        def forward(self, x):
            return (x * 1e5).square() * 1e-10
    folder = options.out + "/square"
    shutil.rmtree(folder, ignore_errors=True)
    qnnrt.export(Square(), torch.randn(2, 8), folder)
    libraries = options.libraries["htp"]
    words = [options.tool, "compile", folder, "--verify", "4", "--output_dir"]
    status, lines = command(*words, options.out + "/square.npu", "--backend_so", libraries["npu"])
    table.line(any("values beyond 65504" in x for x in lines), "(100000 x)^2 on HTP alone", "silent", "named by --verify: " + found(lines, "  float16 "))
    pins = [w for x in lines for w in x.split() if w.endswith("=cpu")]
    status, lines = command(*words, options.out + "/square.pins", "--backends", "npu,cpu,host", "--backend_so", "npu=" + libraries["npu"], "--backend_so", "cpu=" + libraries["cpu"],
                            *[w for pin in sorted(set(pins)) for w in ("--pin", pin)])
    table.line(status == 0, "with npu,cpu,host", "", found(lines, "largest value"))


def config(options, table):
    status, lines = command(sys.executable, HERE + "/config_keys.py", options.out + "/config_keys", "--tools", options.build,
                            "--backend", options.build + "/libQnnRef.so", "--random", "0", "--only", "partial_rotary_factor 0.5")
    for line in lines:
        words = line.split(None, 2)
        if len(words) == 3 and words[0] in ("right", "refused", "wrong", "both", "taken", "theirs"):
            table.line(words[0] in ("right", "refused", "both", "theirs"), "%s: 0.5" % words[1], "ignored" if words[1] == "Llama" else "",
                       "%s %s" % (words[0], words[2].split("  ")[-1][:150]))
    if status not in (0, 1):
        table.line(False, "config_keys.py", "", found(lines, "Error"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--out", help="default: BUILD/exports/silent")
    given = parser.parse_args()
    backends = ["ref", "htp", "cpu"]
    libraries = run_list.libraries(given.build)
    tool = given.build + "/qnnrt-run"
    options = types.SimpleNamespace(
        build=given.build, out=given.out or given.build + "/exports/silent", tool=tool, backends=backends, warm=False, again=True, keep=False, redo=set(),
        seconds=300, gib=8, keep_files=False, libraries=libraries, base={b: run_list.digest(tool, *libraries[b].values()) for b in backends})
    os.makedirs(options.out, exist_ok=True)
    run_list.prepare(options)
    table = Table()
    for number, (what, names, on) in enumerate(KINDS):
        print("%d. %s" % (number + 1, what))
        options.backends = list(on)
        listed(options, table, names, on)
        if number == 0:
            no_body(options, table)
        if number == 1:
            changed(options, table)
    print("6. values beyond float16")
    beyond_float16(options, table)
    print("7. partial_rotary_factor of a config.json")
    config(options, table)
    return 1 if table.bad else 0


if __name__ == "__main__":
    sys.exit(main())
