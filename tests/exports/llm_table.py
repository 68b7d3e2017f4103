#!/usr/bin/env python3
"""Compile the sample language model in several types, and print a table of sizes, errors and texts beside torch.

    llm_table.py FOLDER [--tools build] [--htp DIR] [--only NAME]

Each row is made by `qnnrt-run compile tests/data/llm/model` in a folder of its own in FOLDER. What torch computes in
float32 is in tests/data/llm/torch.json, recorded by export_llama.py: this needs neither torch nor numpy.

bytes       all files that were written
SNR         of the weights that became small, lowest and highest, as compile prints it
perplexity  of tests/data/llm/passage.txt in windows of 64 bytes
top-1       tokens of that text after which the most probable byte is torch's
seconds     to compile, libQnnHtp.so for SoC 57; the other columns do not depend on the machine
texts       of 48 bytes, written greedily, that are torch's to the last byte"""
import argparse
import array
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.relpath(os.path.join(HERE, "..", "data", "llm"))
ROWS = (("Ref f32", "ref", ()), ("HTP f16", "htp", ()), ("HTP W8", "htp", ("--weight_bits", "8")),
        ("HTP W4", "htp", ("--weight_bits", "4")))


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))
    return done.stdout


def compiled(o, name, library, options):
    """Compile the model. Return its folder, the SNR of weights, and the seconds."""
    out = os.path.join(o.folder, name.replace(" ", "_").lower())
    shutil.rmtree(out, ignore_errors=True)
    begin = time.monotonic()
    said = run(os.path.join(o.tools, "qnnrt-run"), "compile", os.path.join(DATA, "model"), "--output_dir", out, "--backend_so", library,
               *options)
    seconds = time.monotonic() - begin
    small = re.search(r"^small .*, SNR ([0-9.]+) to ([0-9.]+) dB$", said, re.M)
    if ("--weight_bits" in options) != (small is not None):
        raise SystemExit("%s: not the line on small weights: %s" % (name, said))
    return out, "%s..%s" % small.groups() if small else "-", seconds


def writes(llm, prompt, text):
    """Return whether the model writes this text; stop it at the first byte that differs."""
    with subprocess.Popen([*llm, "--prompt", prompt, "--max_gen", str(len(text))], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        for byte in text:
            if p.stdout.read(1) != bytes([byte]):
                p.kill()
                return False
        p.stdout.read()
    return p.returncode == 0


def measured(o, torch, out, library):
    """Return the perplexity, how many most probable bytes are torch's, and how many texts."""
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
    alike = sum(a == b for a, b in zip(top, torch["top"], strict=True))
    texts = sum(writes(llm, case["prompt"], case["text"].encode("latin-1")) for case in torch["cases"])
    return float(re.search(r"^perplexity +([0-9.]+)$", said, re.M).group(1)), alike, texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--tools", default="build")
    parser.add_argument("--htp", default="build/qnn/2.51/onnxruntime_qnn")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    o = parser.parse_args()
    with open(os.path.join(DATA, "torch.json")) as file:
        torch = json.load(file)
    libraries = {"ref": os.path.join(o.tools, "libQnnRef.so"), "htp": os.path.join(o.htp, "libQnnHtp.so")}
    os.makedirs(o.folder, exist_ok=True)
    rows = [row for row in ROWS if o.only in row[0]]
    made = [compiled(o, name, libraries[kind], options) for name, kind, options in rows]
    sizes = [sum(entry.stat().st_size for entry in os.scandir(out)) for out, _, _ in made]
    line = "%-8s %10s  %-10s  %10s  %10s  %7s  %6s"
    print(line % ("", "bytes", "SNR dB", "perplexity", "top-1", "seconds", "texts"), flush=True)
    print(line % ("torch", "-", "-", "%.6f" % torch["perplexity"], "%d" % len(torch["top"]), "-", len(torch["cases"])), flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(measured, o, torch, out, libraries[kind]) for (_, kind, _), (out, _, _) in zip(rows, made)]
        for (name, _, _), (_, snr, seconds), size, job in zip(rows, made, sizes, jobs):
            perplexity, alike, texts = job.result()
            print(line % (name, format(size, ","), snr, "%.6f" % perplexity, "%d / %d" % (alike, len(torch["top"])), "%.2f" % seconds,
                          "%d/%d" % (texts, len(torch["cases"]))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
