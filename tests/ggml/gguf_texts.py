#!/usr/bin/env python3
"""qnnrt-run compile MODEL.gguf against stock libllama: tokens of texts, and the tokens that models write.

    build/ggml/venv/bin/python tests/ggml/gguf_texts.py [--build DIR] [WORD ...]      (make test-gguf)

Random models of each architecture, tokenizer and type of blocks are written with the package gguf; with WORDs, those
whose names contain one. For each, on libQnnRef.so in float32: tokenizer.json, read by the package tokenizers, gives
libllama's tokens, and qnnrt-llm writes what libllama writes from a file that holds the dequantized values as f32 (ggml
rounds activations beside quantized and f16 weights, so the file itself is no oracle for near ties). The sample model as
f16 and q4_0 writes the text of its own greedy run in libllama; on HTP 2.51, too, where q4_0 keeps its blocks."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import gguf
import numpy
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "harness"))
import checks                                    # noqa: E402
from checks import check, close                  # noqa: E402

T = gguf.GGMLQuantizationType
SAMPLE = ("In the beginning God created the heaven and the earth. And the earth was without form, and void; it's don't "
          "I'LL we've 1234567 12 3.14 foo_bar  two  spaces\n\nnew\tline caf\u00e9 \u00fcber \u4e2d\u6587 \U0001f600 end ")
TEXTS = ("In the beginning God", "it's 12345  caf\u00e9 \u00fcber", "  two\n\nnew\tline \U0001f600 \u4e2d\u6587 don't I'LL",
         "the earth<|im_end|>x <user>y", "a")
TOKENS = 24
PROMPT = "And the LORD said unto "


# ---- models -----------------------------------------------------------------------------------------


def alphabet():
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in range(256)]


def bpe(pre):
    """Train byte-level BPE; two control tokens and one of the user follow."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator([SAMPLE] * 3, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet(), show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [one if isinstance(one, str) else " ".join(one) for one in model["merges"]]
    return {"model": "gpt2", "pre": pre, "tokens": tokens + ["<|begin|>", "<|im_end|>", "<user>"], "merges": merges,
            "types": [1] * len(tokens) + [3, 3, 4], "bos": len(tokens), "eos": len(tokens) + 1}


def sentencepiece():
    tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)]
    types = [2, 3, 3] + [6] * 256
    words = ("_t he _the in _a nd _and ea rt _ea _eart rth _earth re at _c ed _crea crea creat ted __ _In gin ning beg _beg "
             "_begin inn ing").replace("_", "\u2581").split()
    letters = sorted(set(SAMPLE.replace(" ", "\u2581")) - set("\n\t\U0001f600\u4e2d"))
    scores = [0.0] * len(tokens) + [-float(i) for i in range(len(words) + len(letters))] + [0.0]
    tokens, types = tokens + words + letters + ["<user>"], types + [1] * (len(words) + len(letters)) + [4]
    return {"model": "llama", "tokens": tokens, "scores": scores, "types": types, "bos": 1, "eos": 2}


def llama3_factors(size, theta=500000.0, factor=8.0, low=1.0, high=4.0, original=8192):
    out = []
    for frequency in 1.0 / theta ** (numpy.arange(0, size, 2) / size):
        length = 2 * numpy.pi / frequency
        smooth = (original / length - low) / (high - low)
        out.append(1.0 if length < original / high else factor if length > original / low
                   else 1 / ((1 - smooth) / factor + smooth))
    return numpy.float32(out)


def blocks(rng, shape, kind, scale):
    """Random blocks with small scales, of types that the package cannot quantize to."""
    size, count = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (shape[0], shape[1] // size * count), dtype=numpy.uint8)
    rows = data.reshape(-1, count)

    def half(value):
        return numpy.full(len(rows), value, numpy.float16).view(numpy.uint8).reshape(-1, 2)
    if kind == T.Q6_K:
        rows[:, 208:210] = half(scale / 2048)
    else:
        rows[:, 0:2], rows[:, 2:4] = half(scale / 31 / (15 if kind == T.Q4_K else 31) * 3), half(scale / 31 * 1.5)
    return data


def write(path, back, architecture, kind_of, words, tied=False, biased=False, factors=None, head=32, seed=0):
    rng = numpy.random.default_rng(seed)
    width, heads, kv, inner, layers = 256, 8, 2, 512, 2
    writer = gguf.GGUFWriter(path, architecture)
    for add, value in ((writer.add_context_length, 256), (writer.add_embedding_length, width), (writer.add_block_count, layers),
                       (writer.add_feed_forward_length, inner), (writer.add_head_count, heads), (writer.add_head_count_kv, kv),
                       (writer.add_key_length, head), (writer.add_value_length, head), (writer.add_layer_norm_rms_eps, 1e-5),
                       (writer.add_rope_freq_base, 10000.0 if factors is None else 500000.0),
                       (writer.add_rope_dimension_count, head), (writer.add_tokenizer_model, words["model"]),
                       (writer.add_token_list, words["tokens"]), (writer.add_token_types, words["types"]),
                       (writer.add_bos_token_id, words["bos"]), (writer.add_eos_token_id, words["eos"])):
        add(value)
    if "pre" in words:
        writer.add_tokenizer_pre(words["pre"])
        writer.add_token_merges(words["merges"])
    else:
        writer.add_token_scores(words["scores"])

    def add(name, shape, scale):
        values = (rng.standard_normal(shape) * scale).astype(numpy.float32)
        kind = kind_of(name) if values.ndim > 1 else T.F32
        data = blocks(rng, shape, kind, scale) if kind in (T.Q4_K, T.Q5_K, T.Q6_K) else gguf.quants.quantize(values, kind)
        if back:
            data, kind = gguf.quants.dequantize(data, kind).astype(numpy.float32), T.F32
        writer.add_tensor(name, data, raw_dtype=kind)
    add("token_embd.weight", (len(words["tokens"]), width), 1.0)
    add("output_norm.weight", (width,), 1.0)
    if not tied:
        add("output.weight", (len(words["tokens"]), width), 0.2)
    if factors is not None:
        writer.add_tensor("rope_freqs.weight", factors)
    for layer in range(layers):
        for name, shape, scale in (("attn_norm", (width,), 1.0), ("ffn_norm", (width,), 1.0), ("attn_q", (heads * head, width), 0.15),
                                   ("attn_k", (kv * head, width), 0.15), ("attn_v", (kv * head, width), 0.1),
                                   ("attn_output", (width, heads * head), 0.1), ("ffn_gate", (inner, width), 0.1),
                                   ("ffn_up", (inner, width), 0.1), ("ffn_down", (width, inner), 0.1)):
            add("blk.%d.%s.weight" % (layer, name), shape, scale)
        for name, rows in (("attn_q", heads * head), ("attn_k", kv * head), ("attn_v", kv * head)):
            if biased:
                add("blk.%d.%s.bias" % (layer, name), (rows,), 0.5)
        for name in ("attn_q_norm", "attn_k_norm") if architecture == "qwen3" else ():
            add("blk.%d.%s.weight" % (layer, name), (head,), 1.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def mixed(name):
    """As Q4_K_M: some matrices have more bits."""
    return T.Q6_K if "down" in name or name == "output.weight" or "embd" in name else T.Q5_K if "attn_v" in name else T.Q4_K


MODELS = (("llama_spm_f16", dict(architecture="llama", kind_of=lambda name: T.F16, words=sentencepiece, seed=1)),
          ("llama_bpe_rope", dict(architecture="llama", kind_of=lambda name: T.F32, words=lambda: bpe("llama-bpe"),
                                  factors=llama3_factors(32), seed=2)),
          ("llama_q4_k", dict(architecture="llama", kind_of=mixed, words=lambda: bpe("llama-bpe"), seed=3)),
          ("qwen2_bf16", dict(architecture="qwen2", kind_of=lambda name: T.BF16, words=lambda: bpe("qwen2"), tied=True,
                              biased=True, seed=4)),
          ("qwen3_q8_0", dict(architecture="qwen3", kind_of=lambda name: T.Q8_0, words=lambda: bpe("qwen2"), head=64, seed=5)),
          ("llama_q4_0", dict(architecture="llama", kind_of=lambda name: T.Q4_0, words=lambda: bpe("smollm"), seed=6)),
          ("llama_biased_q5_1", dict(architecture="llama", kind_of=lambda name: T.Q5_1, words=lambda: bpe("gpt-2"), biased=True,
                                     seed=7)))


# ---- checks -----------------------------------------------------------------------------------------


def path(*parts):
    return os.path.join(options["build"], *parts)


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def oracle(model, count, *texts):
    """Return libllama's tokens of each text, and the tokens that follow."""
    status, out, err = run(path("ggml-test", "0.25.3", "text"), path("ggml", "0.25.3", "bin"), model, str(count), *texts)
    lines = [[int(word) for word in line.split()[1:]] for line in out.splitlines()]
    check("libllama runs " + os.path.basename(model), status == 0 and len(lines) == 2 * len(texts), (status, err))
    return list(zip(lines[0::2], lines[1::2]))


def compiled(model, folder, library, *words):
    shutil.rmtree(folder, ignore_errors=True)
    status, out, err = run(path("qnnrt-run"), "compile", model, "--output_dir", folder, "--backend_so", library, *words)
    check("compile " + os.path.basename(model), status == 0, err)
    return out


def said(folder, library, *words):
    return run(path("qnnrt-llm"), "--ctx_dir", folder, "--backend_so", library, *words)[1]


def random_model(folder, name, facts):
    facts = dict(facts, words=facts["words"]())
    model, plain, out = (os.path.join(folder, name + end) for end in (".gguf", "_f32.gguf", ""))
    write(model, False, **facts)
    write(plain, True, **facts)
    ref = path("libQnnRef.so")
    compiled(model, out, ref, "--context_lengths", "128", "--fp32")
    tokenizer = Tokenizer.from_file(os.path.join(out, "tokenizer.json"))
    ends = {facts["words"]["eos"]}
    for text, (prompt, follows) in zip(TEXTS, oracle(plain, TOKENS, *TEXTS)):
        got = tokenizer.encode(text).ids
        check("%s: tokens of %r" % (name, text), got == prompt, (got, prompt))
        back = tokenizer.decode(got)
        if "<user>" not in text:                 # SentencePiece puts a blank after such a token, as libllama does
            check("%s: %r and back" % (name, text), back == text, back)
        numbers = os.path.join(folder, "numbers")
        with open(numbers, "w", encoding="ascii") as file:
            file.write(" ".join(map(str, prompt)))
        end = next((i for i, token in enumerate(follows) if token in ends), len(follows))
        wrote = [int(word) for word in said(out, ref, "--tokens", numbers, "--max_gen", str(TOKENS)).split()]
        check("%s: what follows %r" % (name, text), wrote[:end] == follows[:end] and len(wrote) >= end, (wrote, follows))


def sample_model(folder, kind, library, *words):
    model, out = path("ggml", "models", kind + ".gguf"), os.path.join(folder, kind)
    (prompt, follows), = oracle(model, 64, PROMPT)
    compiled(model, out, library, *words)
    got = said(out, library, "--prompt", PROMPT, "--max_gen", "64")
    check("%s on %s: the text of its own run" % (kind, os.path.basename(library)), got == bytes(follows).decode() + "\n", got)


def main(words):
    if words[:1] == ["--build"]:
        options["build"], words = words[1], words[2:]
    with tempfile.TemporaryDirectory(prefix="gguf.") as folder:
        for name, facts in MODELS:
            if not words or any(word in name for word in words):
                random_model(folder, name, facts)
        htp = path("qnn", "2.51", "onnxruntime_qnn", "libQnnHtp.so")
        for kind, more in (("f16", ()), ("q4_0", ("--weight_bits", "4", "--weight_block", "32"))):
            if not words or any(word in "sample" for word in words):
                sample_model(folder, kind, path("libQnnRef.so"))
                sample_model(folder, kind, htp, "--soc_model", "57", *more)
    return close()


options = {"build": "build"}
sys.exit(main(sys.argv[1:]))
