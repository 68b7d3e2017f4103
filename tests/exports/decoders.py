#!/usr/bin/env python3
"""Compare what `qnnrt-run compile MODEL_DIR` makes with torch: small random models of each architecture that it knows.

    decoders.py FOLDER [--tools build] [--backend LIB] [--only NAME] [--tolerance T] [--option=WORD ...]

FOLDER gets a folder for each model, with config.json and model.safetensors as transformers saves them, and the compiled
model. qnnrt-llm reads a prompt in chunks and writes greedily; torch reads the same tokens at once, without a cache. A
line for each model says how far the logits of all tokens are apart, as a part of the largest one, and how many of the
most probable tokens are the same.

With --model DIR this is done with a model of bytes, such as tests/data/llm/model, and ten prompts: how many of the 64
bytes after each are those of torch, and the perplexity of prompts and torch's texts in both.

This needs torch and transformers; `make exports` installs them."""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys

import torch
import transformers

SIZES = dict(vocab_size=300, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)
PROMPTS = ("And the LORD said unto ", "In the beginning ", "Blessed are the ", "Jesus answered and said ", "And it came to pass ",
           "The children of Israel ", "Thou shalt not ", "Behold, I will ", "For the kingdom of ", "Now these are the names of ")
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
          "rope_theta": 10000.0}
CASES = {
    "llama": ("Llama", dict(head_dim=16)),
    "llama_biased": ("Llama", dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True, num_key_value_heads=4)),
    "llama3": ("Llama", dict(rope_parameters=LLAMA3)),
    "llama_linear": ("Llama", dict(rope_parameters={"rope_type": "linear", "factor": 3.0, "rope_theta": 5000.0})),
    "mistral": ("Mistral", dict(sliding_window=None, head_dim=24)),
    "mistral_window": ("Mistral", dict(sliding_window=20)),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True)),
    "qwen2_window": ("Qwen2", dict(use_sliding_window=True, sliding_window=20, max_window_layers=1)),
    "qwen3": ("Qwen3", dict(head_dim=32, tie_word_embeddings=True)),
    "phi3": ("Phi3", dict(sliding_window=None)),
    "phi3_partial": ("Phi3", dict(rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.75},
                                  sliding_window=200)),
    "gemma": ("Gemma", dict(head_dim=32, num_key_value_heads=1)),
    "gemma_bf16": ("Gemma", dict(head_dim=32, num_key_value_heads=1)),
    "gemma2": ("Gemma2", dict(head_dim=32, query_pre_attn_scalar=24, sliding_window=20)),
    "gemma2_bf16": ("Gemma2", dict(head_dim=32, sliding_window=4096)),
}


def randomize(model):
    """Give a model random weights, biases and norms, large enough that each of them shows in its logits."""
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if "norm" in key:
                weight.add_(torch.randn_like(weight) * 0.3)
            elif weight.dim() == 1:
                weight.copy_(torch.randn_like(weight) * 0.3)
            else:
                weight.copy_(torch.randn_like(weight) * weight.shape[-1] ** -0.5 * (4 if "embed" in key else 1.5))


def make(name, folder):
    """Save a model whose weights, biases and norms are random. Return it in float32."""
    kind, options = CASES[name]
    torch.manual_seed(sorted(CASES).index(name))
    config = getattr(transformers, kind + "Config")(**{**SIZES, **options}, attn_implementation="eager")
    model = getattr(transformers, kind + "ForCausalLM")(config).eval()
    randomize(model)
    if name.endswith("bf16"):
        model = model.to(torch.bfloat16)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    # Read again: .to(bfloat16) has rounded the frequencies of positions, which are not saved.
    return getattr(transformers, kind + "ForCausalLM").from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit("%s\n%s%s" % (" ".join(words), done.stdout, done.stderr))
    return done.stdout


def llm(out, prompt, count, o):
    """Return the tokens that qnnrt-llm writes after a prompt, and the logits of all tokens that it read."""
    path, logits = os.path.join(out, "prompt.txt"), os.path.join(out, "logits.raw")
    with open(path, "w") as file:
        file.write(" ".join(map(str, prompt)))
    text = run(os.path.join(o.tools, "qnnrt-llm"), "--ctx_dir", out, "--backend_so", o.backend, "--tokens", path, "--max_gen", str(count),
               "--dump_logits", logits)
    rows = torch.frombuffer(bytearray(open(logits, "rb").read()), dtype=torch.float32)
    return list(map(int, text.split())), rows


def trained(o):
    """Compare a model of bytes. Return the number of texts that differ."""
    out = os.path.join(o.folder, "trained.qnn")
    shutil.rmtree(out, ignore_errors=True)
    run(os.path.join(o.tools, "qnnrt-run"), "compile", o.model, "--output_dir", out, "--backend_so", o.backend, *o.option)
    model = transformers.LlamaForCausalLM.from_pretrained(o.model, dtype=torch.float32, attn_implementation="eager").eval()
    wrong, worst, sums, count = 0, 0.0, [0.0, 0.0], 0
    for prompt in PROMPTS:
        tokens = list(prompt.encode())
        with torch.no_grad():
            whole = model.generate(torch.tensor([tokens]), max_new_tokens=64, do_sample=False, eos_token_id=-1, pad_token_id=0)[0].tolist()
            expected = model(torch.tensor([whole])).logits[0]
        written, _ = llm(out, tokens, 64, o)
        _, rows = llm(out, whole, 0, o)
        rows = rows.reshape(-1, 256)
        alike = next((i for i, (a, b) in enumerate(zip(written, whole[len(tokens):])) if a != b), len(written))
        wrong += alike != 64
        worst = max(worst, (rows - expected).abs().max().item())
        for i, logits in enumerate((expected, rows)):
            sums[i] += torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(whole[1:]), reduction="sum").item()
        count += len(whole) - 1
        print("%2d of %d  %s%s" % (alike, len(written), prompt, bytes(written).decode(errors="replace")), flush=True)
    sizes = sum(os.path.getsize(os.path.join(out, name)) for name in os.listdir(out) if name.endswith(".bin"))
    print("%d of %d texts are torch's; logits differ by at most %.3g; perplexity %.4f, torch's %.4f; %d bytes" %
          (len(PROMPTS) - wrong, len(PROMPTS), worst, math.exp(sums[1] / count), math.exp(sums[0] / count), sizes))
    return wrong


def compare(name, o):
    folder, out = os.path.join(o.folder, name), os.path.join(o.folder, name + ".qnn")
    model = make(name, folder)
    shutil.rmtree(out, ignore_errors=True)
    run(os.path.join(o.tools, "qnnrt-run"), "compile", folder, "--output_dir", out, "--backend_so", o.backend, "--prefill", "16", "--context_lengths", "96",
        *o.option)
    prompt = torch.randint(3, SIZES["vocab_size"], (37,)).tolist()
    written, rows = llm(out, prompt, 24, o)
    tokens, rows = prompt + written, rows.reshape(-1, SIZES["vocab_size"])
    with torch.no_grad():
        expected = model(torch.tensor([tokens])).logits[0][:len(rows)]
        greedy = model.generate(torch.tensor([prompt]), max_new_tokens=len(tokens) - len(prompt), do_sample=False, eos_token_id=-1)[0].tolist()
    error = ((rows - expected).abs().max() / expected.abs().max()).item()
    same = (rows.argmax(-1) == expected.argmax(-1)).float().mean().item()
    alike = next((i for i, (a, b) in enumerate(zip(tokens, greedy)) if a != b), len(tokens)) - len(prompt)
    settings = json.load(open(os.path.join(out, "qnnrt.json")))["llm"]
    print("%-16s %3d rows, largest logit %6.2f, difference %.2g, same token %5.1f %%, greedy text %d of %d  %s" %
          (name, len(rows), expected.abs().max(), error, 100 * same, alike, len(written), json.dumps(settings)), flush=True)
    return error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--tools", default="build")
    parser.add_argument("--backend", default="build/libQnnRef.so")
    parser.add_argument("--only")
    parser.add_argument("--model")
    parser.add_argument("--tolerance", type=float, default=2e-5)
    parser.add_argument("--option", action="append", default=[])
    o = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    os.makedirs(o.folder, exist_ok=True)
    if o.model:
        return trained(o) != 0
    wrong = [name for name in CASES if o.only in (None, name) and compare(name, o) > o.tolerance]
    print("FAILED: %s" % " ".join(wrong) if wrong else "all within %g" % o.tolerance)
    return len(wrong) != 0


if __name__ == "__main__":
    sys.exit(main())
