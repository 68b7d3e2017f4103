#!/usr/bin/env python3
"""qnnrt-llm --embedding and --lora on libQnnRef.so, and --embedding on libQnnHtp.so,
which is refused for adapters.

    python3 tests/cli/test_llm_embed.py [BUILD_DIR [RELEASE_DIR]]

The model is that of tests/data/llm/model. Expected vectors and texts are those of a plain float64 Llama in numpy:
tests/golden/llm_hidden.txt, written by tests/llm/reference_llm.py --hidden.
"""
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close, skip  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(TOP, "build")
RELEASE = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else os.path.join(BUILD, "qnn/2.51/onnxruntime_qnn")
RUN, LLM, REF = (os.path.join(BUILD, name) for name in ("qnnrt-run", "qnnrt-llm", "libQnnRef.so"))
MODEL = os.path.join(TOP, "tests/data/llm/model")
tmp = tempfile.mkdtemp(prefix="test_llm_embed.")


def call(*words, text=""):
    done = subprocess.run(words, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def compiled(name, *options, library=REF):
    """Compile the model, and return its folder."""
    folder = os.path.join(tmp, name)
    status, _, said = call(RUN, "compile", MODEL, "--output_dir", folder, "--backend_so", library, *options)
    check("compile_" + name, status == 0, said)
    return folder


def llm(folder, *options, text="", library=REF):
    return call(LLM, "--ctx_dir", folder, "--backend_so", library, *options, text=text)


def refused(name, answer, status, text, hint=None):
    check(name, answer[0] == status and text in answer[2], "%d, %s" % (answer[0], answer[2]))
    check(name, hint is None or hint in answer[2], "no '%s' in %s" % (hint, answer[2]))


def golden():
    """Return the cases of the golden file."""
    cases = []
    with open(os.path.join(TOP, "tests/golden/llm_hidden.txt")) as file:
        for line in file:
            words = line.split()
            if not words or words[0] == "#":
                continue
            if words[0] in ("last", "mean"):
                cases[-1][words[0]] = [float(w) for w in words[1:]]
            elif words[0] == "tokens":
                cases[-1]["answer"] = bytes(int(w) for w in words[1:]).decode()
            else:
                cases.append({"kind": words[0], "text": "".join(chr(int(w)) for w in words[1:])})
    return cases


def near(name, got, expected, scale=1.0, tolerance=1e-5):
    most = max(abs(v) for v in expected)
    worst = max(abs(a - b * scale) for a, b in zip(got, expected)) if len(got) == len(expected) else math.inf
    check(name, worst <= tolerance * most, "off by %g of %g, %d values" % (worst, most, len(got)))


def matrix(target, layer, which, side, rank, rows, columns, size):
    """One matrix of tests/llm/reference_llm.py's adapters."""
    if side == "A":
        return [((i * 37 + j * 101 + layer * 17 + which * 5) % 61 - 30) / size for i in range(rank) for j in range(columns)]
    return [((o * 29 + i * 53 + layer * 13 + which * 7) % 59 - 29) / size for o in range(rows) for i in range(rank)]


def adapter(name, config, dtype="F32", drop=None):
    """Write the adapter "two" as PEFT does, and return its folder."""
    folder = os.path.join(tmp, name)
    os.makedirs(folder)
    header, body = {}, b""
    for layer in range(4):
        for which, (target, rows) in enumerate((("self_attn.q_proj", 128), ("self_attn.v_proj", 64))):
            for side in "AB":
                key = "base_model.model.model.layers.%d.%s.lora_%s.weight" % (layer, target, side)
                if drop is not None and drop in key:
                    continue
                values = matrix(target, layer, which, side, 4, rows, 128, 100.0)
                data = struct.pack("<%d%s" % (len(values), "f" if dtype == "F32" else "e"), *values)
                header[key] = {"dtype": dtype, "shape": [4, 128] if side == "A" else [rows, 4],
                               "data_offsets": [len(body), len(body) + len(data)]}
                body += data
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "adapter_model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
    if config is not None:
        with open(os.path.join(folder, "adapter_config.json"), "w") as file:
            file.write(config if isinstance(config, str) else json.dumps(config))
    return folder


cases = golden()
plain = [c for c in cases if c["kind"] == "plain"]
peft = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "use_rslora": False, "use_dora": False, "bias": "none",
        "alpha_pattern": {}, "rank_pattern": {}, "modules_to_save": None, "fan_in_fan_out": False,
        "target_modules": ["q_proj", "v_proj"], "inference_mode": True}

# ---- vectors ----
both = compiled("both", "--outputs", "both", "--shards", "2")
hidden = compiled("hidden", "--outputs", "hidden", "--embedding", "host", "--context_lengths", "64,128")
for folder in both, hidden:
    name = os.path.basename(folder)
    status, out, said = llm(folder, "--embedding", "-", "--prompt", plain[1]["text"])
    if check(name, status == 0, said):
        answer = json.loads(out)
        check(name, (answer["width"], answer["pooling"], answer["normalized"]) == (128, "mean", False), out[:200])
        near(name, answer["embeddings"][0], plain[1]["mean"])
    path = os.path.join(tmp, name + ".npy")
    status, out, said = llm(folder, "--embedding", path, "--pooling", "last", "--normalize",
                            text="".join(c["text"] + "\n" for c in plain[:3]))
    if check(name + "_npy", status == 0 and out == "", said):
        data = open(path, "rb").read()
        check(name + "_npy", data[:10] == b"\x93NUMPY\x01\x00\x76\x00" and len(data) == 128 + 3 * 128 * 4 and
              b"'shape': (3, 128)" in data and data[127:128] == b"\n", data[:128])
        values = struct.unpack("<384f", data[128:])
        for i, c in enumerate(plain[:3]):
            near("%s_npy_%d" % (name, i), values[128 * i:128 * i + 128], c["last"], 1 / math.sqrt(sum(v * v for v in c["last"])))
    path = os.path.join(tmp, name + ".json")
    status, out, said = llm(folder, "--embedding", path, "--prompt", plain[3]["text"])
    check(name + "_json", status == 0, said)
    near(name + "_long", json.load(open(path))["embeddings"][0], plain[3]["mean"])
status, out, said = llm(both, "--prompt", plain[1]["text"], "--max_gen", "10")
check("text", status == 0 and out.rstrip("\n") == plain[1]["answer"], out + said)
refused("no_logits", llm(hidden, "--prompt", "a"), 1, "the model has no logits", "--embedding FILE")
refused("no_text", llm(both, "--embedding", "-"), 1, "there is no text")
refused("empty", llm(both, "--embedding", "-", text="\n"), 1, "text 1 has no tokens")
refused("long", llm(both, "--embedding", "-", text="x" * 200), 1, "and the context has ")
refused("nowhere", llm(both, "--embedding", os.path.join(tmp, "no/x.npy"), "--prompt", "a"), 1, "cannot write")
refused("options", llm(both, "--pooling", "last"), 2, "--pooling is for embeddings")
refused("options", llm(both, "--normalize"), 2, "--normalize is for embeddings")
refused("options", llm(both, "--embedding", "-", "--stats", "x"), 2, "does not take --stats")

# ---- adapters ----
room = compiled("room", "--outputs", "both", "--lora", "4:q_proj,v_proj", "--context_lengths", "64,128")
two = [c for c in cases if c["kind"] == "adapter-two"]
rooted = dict(peft, use_rslora=True, lora_alpha=4)                  # 4 / sqrt(4)
for name, options in (("folder", [adapter("folder", peft)]), ("rooted", [adapter("rooted", rooted)]),
                      ("half", [adapter("half", peft, "F16")]),
                      ("scale", [os.path.join(adapter("scale", None), "adapter_model.safetensors"), "--lora_scale", "2"])):
    for c in two:
        status, out, said = llm(room, "--lora", *options, "--embedding", "-", "--prompt", c["text"])
        if check(name, status == 0, said) and name != "half":
            near(name, json.loads(out)["embeddings"][0], c["mean"])
        status, out, said = llm(room, "--lora", *options, "--prompt", c["text"], "--max_gen", "10")
        check(name, status == 0 and out.rstrip("\n") == c["answer"], "'%s', not '%s': %s" % (out, c["answer"], said))
status, out, said = llm(room, "--prompt", two[0]["text"], "--max_gen", "10")
check("none", out.rstrip("\n") == plain[1]["answer"] != two[0]["answer"], out)
status, out, said = llm(room, "--describe", "--system_so", REF)
check("describe", "room for adapters of rank 4 at most, 16 tensors" in out and "last hidden state of 128 values" in out, out[:600])

refused("no_room", llm(both, "--lora", os.path.join(tmp, "folder"), "--prompt", "a"), 1, "no room for adapters", "--lora RANK")
refused("no_config", llm(room, "--lora", os.path.join(tmp, "scale"), "--prompt", "a"), 1, "adapter_config.json", "--lora_scale")
refused("absent", llm(room, "--lora", os.path.join(tmp, "absent"), "--prompt", "a"), 1, "absent")
for key, value in (("use_dora", True), ("bias", "all"), ("alpha_pattern", {"q_proj": 3}), ("modules_to_save", ["lm_head"])):
    path = adapter("wrong_" + key, dict(peft, **{key: value}))
    refused(key, llm(room, "--lora", path, "--prompt", "a"), 1, '"%s" is set' % key, "Merge")
refused("damaged", llm(room, "--lora", adapter("damaged", '{"r": 4,'), "--prompt", "a"), 1, "is not the configuration")
refused("lacks", llm(room, "--lora", adapter("lacks", {"r": 4}), "--prompt", "a"), 1, "lacks r or lora_alpha")
refused("no_scale", llm(room, "--lora", adapter("no_scale", dict(peft, r=1e308, lora_alpha=1e-300)), "--prompt", "a"), 1, "is no scale", "--lora_scale")
with open(os.path.join(adapter("empty", peft), "adapter_model.safetensors"), "wb") as empty:
    empty.write(struct.pack("<Q", 2) + b"{}")
refused("empty", llm(room, "--lora", os.path.join(tmp, "empty"), "--prompt", "a"), 1, "has no weights")
refused("pair", llm(room, "--lora", adapter("pair", peft, drop="layers.2.self_attn.v_proj.lora_B"), "--prompt", "a"), 1,
        'layers.2.self_attn.v_proj.lora_A.weight", but no')
refused("options", llm(room, "--lora_scale", "2"), 2, "--lora_scale needs an adapter")
small = compiled("small", "--lora", "2:q_proj,v_proj", "--prefill", "0")
refused("rank", llm(small, "--lora", os.path.join(tmp, "folder"), "--prompt", "a"), 1, "[4, 128], and the graphs have room for [2, 128]", "higher")

htp = os.path.join(RELEASE, "libQnnHtp.so")
if os.path.exists(htp):
    folder = compiled("half", "--outputs", "both", "--context_lengths", "48,64", "--prefill", "8", library=htp)
    status, out, said = llm(folder, "--embedding", "-", "--prompt", plain[1]["text"], library=htp)
    if check("htp_embedding", status == 0, said):
        near("htp_embedding", json.loads(out)["embeddings"][0], plain[1]["mean"], tolerance=5e-3)
    answer = call(RUN, "compile", MODEL, "--output_dir", os.path.join(tmp, "htp"), "--backend_so", htp, "--lora", "4")
    refused("htp", answer, 1, "--lora needs tensors that can be updated, and " + htp + " takes none", "merge the adapter")
else:
    skip("htp", "no libQnnHtp.so in %s: make qnn-libs" % RELEASE)
shutil.rmtree(tmp)
sys.exit(close())
