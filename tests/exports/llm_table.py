#!/usr/bin/env python3
"""Compile the sample language model in several types, and print a table of sizes, errors and texts beside torch.

    llm_table.py FOLDER [--tools build] [--htp DIR] [--genie PROGRAM] [--only NAME]

Each row is made by `qnnrt-run compile tests/data/llm/model` in a folder of its own in FOLDER; rows named "export" by
`compile --kv_rows` of tests/data/ir/trained_*.json, which transformers' LlamaForCausalLM was exported to. What torch computes in
float32 is in tests/data/llm/torch.json, recorded by export_llama.py: this needs neither torch nor numpy.

bytes       all files that were written
SNR         of the weights that became small, lowest and highest, as compile prints it
perplexity  of tests/data/llm/passage.txt in windows of 64 bytes
top-1       tokens of that text after which the most probable byte is torch's
texts       of 48 bytes, written greedily, that are torch's to the last byte
seconds     to compile, libQnnHtp.so for SoC 57; the other columns do not depend on the machine

Rows of torch with weights of 8 and 4 bits say what rounding costs, whoever computes. "same weights" compares a row
with torch that computes with the same rounded weights: what the compiler and the library change.

With --genie (tests/bench/llm_genie.c) Qualcomm's own runtime for language models, libGenie.so, talks to each folder for
HTP as well, and its texts are compared with ours."""
import argparse
import array
import concurrent.futures
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.relpath(os.path.join(HERE, "..", "data", "llm"))
MODEL = (os.path.join(DATA, "model"),)
EXPORT = (*(os.path.relpath(os.path.join(HERE, "..", "data", "ir", "trained_%s.json" % name)) for name in ("prefill", "decode")),
          "--kv_rows", "--rope_base", "10000", "--rope_plain", "--weights", os.path.join(DATA, "model"))
ROWS = (("Ref f32", "ref", 0, MODEL), ("HTP f16", "htp", 0, MODEL), ("HTP W8", "htp", 8, MODEL), ("HTP W4", "htp", 4, MODEL),
        ("export f16", "htp", 0, EXPORT), ("export W8", "htp", 8, EXPORT))


def run(*words):
    done = subprocess.run(words, capture_output=True, encoding="latin-1")
    if done.returncode != 0:
        raise SystemExit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))
    return done.stdout


def compiled(o, name, library, bits, model):
    """Compile the model. Return its folder, the SNR of weights, and the seconds."""
    out = os.path.join(o.folder, name.replace(" ", "_").lower())
    shutil.rmtree(out, ignore_errors=True)
    begin = time.monotonic()
    said = run(os.path.join(o.tools, "qnnrt-run"), "compile", *model, "--output_dir", out, "--backend_so", library,
               *(("--weight_bits", str(bits)) if bits else ()))
    seconds = time.monotonic() - begin
    small = re.search(r"^small .*, SNR ([0-9.]+) to ([0-9.]+) dB$", said, re.M)
    if bool(bits) != (small is not None):
        raise SystemExit("%s: not the line on quantized weights: %s" % (name, said))
    return out, "%s..%s" % small.groups() if small else "-", seconds


def measured(o, torch, out, library):
    """Return what torch.json has of torch, of a folder: perplexity, most probable bytes and texts."""
    llm = [os.path.join(o.tools, "qnnrt-llm"), "--ctx_dir", out, "--backend_so", library]
    passage, logits = os.path.join(DATA, "passage.txt"), os.path.join(out, "logits.raw")
    said = run(*llm, "--perplexity", passage, "--seq_len", str(torch["window"]), "--dump_logits", logits)
    values, count, top = array.array("f"), os.path.getsize(passage), []
    with open(logits, "rb") as file:
        values.frombytes(file.read())
    os.remove(logits)
    if len(values) != count * 256:
        raise SystemExit("%s: %d logits, expected %d" % (out, len(values), count * 256))
    for i in range(count):
        if (i + 1) % torch["window"] != 0 and i + 1 < count:      # the last token of a window predicts nothing
            row = values[i * 256:(i + 1) * 256]
            top.append(row.index(max(row)))
    return {"perplexity": float(re.search(r"^perplexity +([0-9.]+)$", said, re.M).group(1)), "top": top,
            "cases": [{"text": run(*llm, "--prompt", case["prompt"], "--max_gen", str(len(case["text"])))[:len(case["text"])]}
                      for case in torch["cases"]]}


def genie(o, out, torch):
    """Return the texts that libGenie.so writes with the context binary of a folder."""
    spec = importlib.util.spec_from_file_location("bench_llm", os.path.join(HERE, "..", "bench-llm.py"))
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    path, texts = os.path.abspath(os.path.join(out, "genie.json")), []
    with open(path, "w") as file:
        json.dump(bench.genie_config(os.path.abspath(os.path.join(DATA, "model")), os.path.abspath(os.path.join(out, "model.bin"))), file)
    for case in torch["cases"]:
        said = run(os.path.abspath(o.genie), os.path.abspath(os.path.join(o.htp, "libGenie.so")), path, case["prompt"],
                   str(len(case["text"])))
        texts.append(bytes.fromhex(re.search(r"^text ([0-9a-f]+)$", said, re.M).group(1)).decode("latin-1"))
    os.remove(path)
    return texts


def alike(got, torch):
    """Return how many most probable bytes and how many texts are the same, as words."""
    pairs = [(a["text"], b["text"]) for a, b in zip(got["cases"], torch["cases"], strict=True)]
    return ("%d/%d" % (sum(a == b for a, b in zip(got["top"], torch["top"], strict=True)), len(torch["top"])),
            "%d/%d" % (sum(a == b for a, b in pairs), len(pairs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--tools", default="build")
    parser.add_argument("--htp", default="build/qnn/2.51/onnxruntime_qnn")
    parser.add_argument("--genie", help="the program that asks libGenie.so")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    o = parser.parse_args()
    with open(os.path.join(DATA, "torch.json")) as file:
        torch = json.load(file)
    libraries = {"ref": os.path.join(o.tools, "libQnnRef.so"), "htp": os.path.join(o.htp, "libQnnHtp.so")}
    os.makedirs(o.folder, exist_ok=True)
    rows = [row for row in ROWS if o.only in row[0]]
    made = [compiled(o, name, libraries[kind], bits, model) for name, kind, bits, model in rows]
    sizes = [sum(entry.stat().st_size for entry in os.scandir(out)) for out, _, _ in made]
    line = "%-10s %10s  %-10s  %10s  %8s  %6s  %8s  %6s  %7s"
    print(line % ("", "", "", "", "as torch", "", "same weights", "", ""))
    print(line % ("", "bytes", "SNR dB", "perplexity", "top-1", "texts", "top-1", "texts", "seconds"), flush=True)
    for name, bits in (("torch", 0), ("torch W8", 8), ("torch W4", 4)):
        of = torch["weights of %d bits" % bits] if bits else torch
        print(line % (name, "-", "-", "%.6f" % of["perplexity"], *alike(of, torch), "-", "-", "-"), flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(measured, o, torch, out, libraries[kind]) for (_, kind, _, _), (out, _, _) in zip(rows, made)]
        asked = [pool.submit(genie, o, out, torch) if o.genie and kind == "htp" and model is MODEL else None
                 for (_, kind, _, model), (out, _, _) in zip(rows, made)]
        written = []
        for (name, _, bits, _), (_, snr, seconds), size, job, other in zip(rows, made, sizes, jobs, asked):
            got = job.result()
            same = torch["weights of %d bits" % bits] if bits else torch
            print(line % (name, format(size, ","), snr, "%.6f" % got["perplexity"], *alike(got, torch), *alike(got, same),
                          "%.2f" % seconds), flush=True)
            if other is not None:
                written.append((name, sum(a == b["text"] for a, b in zip(other.result(), got["cases"], strict=True))))
    for name, texts in written:
        print("Genie, %s: %d of %d texts are ours" % (name, texts, len(torch["cases"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
