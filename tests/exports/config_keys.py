#!/usr/bin/env python3
"""Compare how config.json is read with transformers: unusual keys, missing keys, nulls and keys that contradict each other.

    config_keys.py FOLDER [--tools build] [--backend LIB] [--random 20] [--seed 1] [--only TEXT]

For each case a small random model gets an edited config.json. What transformers loads is right: logits of all tokens of a
prompt are compared. A line says right, wrong, refused (by qnnrt-run compile, with its reason), or refused by both. A case
that transformers refuses and qnnrt takes is counted as taken. The exit status is 1 if a case is wrong.

This needs torch and transformers; `make exports` installs them."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys

import torch
import transformers

from decoders import LLAMA3, SIZES, randomize

GONE = object()
KINDS = ["Llama", "Mistral", "Qwen2", "Qwen3", "Phi3", "Gemma", "Gemma2"]
HEAD = {"Qwen3": 16, "Gemma": 16, "Gemma2": 16}
LINEAR = {"rope_type": "linear", "factor": 3.0}

# Edits that each architecture gets, one at a time, and in random pairs and triples.
EDITS = [
    {"partial_rotary_factor": 0.5}, {"rope_parameters": {"rope_type": "default", "rope_theta": 9000.0, "partial_rotary_factor": 0.5}},
    {"partial_rotary_factor": 0.5, "rope_parameters": GONE, "rope_scaling": LINEAR},
    {"rope_theta": 300.0}, {"rope_theta": 300.0, "rope_parameters": {"rope_theta": 7000.0, "rope_type": "default"}},
    {"rope_parameters": GONE, "rope_theta": 300.0}, {"rope_parameters": GONE, "rope_scaling": LINEAR, "rope_theta": 300.0},
    {"rope_scaling": LINEAR, "rope_parameters": {"rope_type": "default", "rope_theta": 7000.0}},
    {"rope_scaling": {}, "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 7000.0}},
    {"rope_parameters": {"rope_type": "default", "type": "linear", "factor": 2.0, "rope_theta": 7000.0}},
    {"rope_parameters": {"type": "linear", "factor": 2.0, "rope_theta": 7000.0}},
    {"rope_parameters": {"factor": 2.0, "rope_theta": 7000.0}}, {"rope_parameters": LLAMA3},
    {"rope_parameters": {k: v for k, v in LLAMA3.items() if k[0] != "o"}},
    {"rope_parameters": LLAMA3, "original_max_position_embeddings": 64},
    {"rope_parameters": {**LLAMA3, "rope_type": "yarn"}}, {"rope_parameters": {**LLAMA3, "rope_type": "dynamic"}},
    {"hidden_act": "gelu"}, {"hidden_act": "gelu_new"}, {"hidden_act": "swish"}, {"hidden_act": "relu"}, {"hidden_act": GONE},
    {"hidden_activation": "gelu"}, {"hidden_activation": "silu"}, {"hidden_activation": None}, {"hidden_activation": GONE},
    {"hidden_act": "silu", "hidden_activation": GONE}, {"hidden_act": "gelu", "hidden_activation": None},
    {"sliding_window": GONE}, {"sliding_window": None}, {"sliding_window": 12}, {"sliding_window": 12, "use_sliding_window": True},
    {"sliding_window": 12, "use_sliding_window": True, "max_window_layers": 1, "layer_types": GONE},
    {"sliding_window": 12, "use_sliding_window": False, "layer_types": ["full_attention", "sliding_attention", "full_attention"]},
    {"sliding_window": 12, "use_sliding_window": True, "layer_types": ["full_attention", "sliding_attention", "full_attention"]},
    {"layer_types": GONE, "sliding_window": 12}, {"max_window_layers": 0}, {"rms_norm_eps": GONE}, {"rms_norm_eps": 0.01},
    {"attention_bias": True}, {"mlp_bias": True}, {"attention_bias": True, "mlp_bias": True},
    {"tie_word_embeddings": True}, {"tie_word_embeddings": False}, {"tie_word_embeddings": GONE}, {"tie_word_embeddings": None},
    {"head_dim": 8}, {"head_dim": GONE}, {"head_dim": None}, {"num_key_value_heads": GONE}, {"num_key_value_heads": None},
    {"query_pre_attn_scalar": 7}, {"query_pre_attn_scalar": GONE}, {"attn_logit_softcapping": 1.0}, {"attn_logit_softcapping": None},
    {"attn_logit_softcapping": GONE}, {"final_logit_softcapping": 1.0}, {"final_logit_softcapping": None},
    {"final_logit_softcapping": GONE}, {"attention_multiplier": 0.3, "logits_scaling": 4.0, "embedding_multiplier": 3.0},
    {"residual_multiplier": 0.2}, {"pretraining_tp": 2}, {"attention_dropout": 0.3, "resid_pdrop": 0.2}, {"scale_attn": 2.0},
    {"architectures": GONE}, {"model_type": "mistral"}, {"model_type": "llama"}, {"use_bidirectional_attention": False},
    {"is_decoder": False}, {"no_rope_layers": [1, 0, 1]}, {"original_max_position_embeddings": 16}, {"use_qk_norm": True},
]


def apply(config, edit):
    for key, value in edit.items():
        if value is GONE:
            config.pop(key, None)
        else:
            config[key] = value


def make(kind, edit, folder, seed):
    """Write config.json and weights. Return the model that transformers makes of them, or its error."""
    options = dict(SIZES, sliding_window=200) if kind in ("Mistral", "Phi3") else dict(SIZES)
    if kind in HEAD:
        options["head_dim"] = HEAD[kind]
    config = getattr(transformers, kind + "Config")(**options)
    config.architectures = [kind + "ForCausalLM"]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    data = config.to_dict()
    data.pop("dtype", None)
    apply(data, edit)
    path = os.path.join(folder, "config.json")
    text = json.dumps(data, indent=1, sort_keys=True)
    open(path, "w").write(text)
    try:
        torch.manual_seed(seed)
        config = transformers.AutoConfig.from_pretrained(folder)
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
        randomize(model)
        model.save_pretrained(folder)
        open(path, "w").write(text)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        prompt = torch.randint(3, SIZES["vocab_size"], (1, 37))
        with torch.no_grad():
            return prompt[0].tolist(), model(prompt).logits[0], ""
    except Exception as error:                 # pylint: disable=broad-except
        return None, None, "%s: %s" % (type(error).__name__, str(error).strip().split("\n")[0])


def tool(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    return done.returncode, (done.stdout + done.stderr).strip().split("\n")


def compare(kind, edit, o, seed):
    folder, out = os.path.join(o.folder, "model"), os.path.join(o.folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    prompt, expected, why = make(kind, edit, folder, seed)
    if expected is None and not any(name.endswith(".safetensors") for name in os.listdir(folder)):
        return "theirs", why
    code, lines = tool(os.path.join(o.tools, "qnnrt-run"), "compile", folder, "--output_dir", out, "--backend_so", o.backend,
                       "--prefill", "16", "--context_lengths", "96")
    if code != 0:
        return "refused" if expected is not None else "both", next((x for x in lines if "error" in x or "config.json" in x), lines[-1])
    if expected is None:
        return "taken", why
    words, logits = os.path.join(out, "prompt.txt"), os.path.join(out, "logits.raw")
    open(words, "w").write(" ".join(map(str, prompt)))
    code, lines = tool(os.path.join(o.tools, "qnnrt-llm"), "--ctx_dir", out, "--backend_so", o.backend, "--tokens", words, "--max_gen", "0",
                       "--dump_logits", logits)
    if code != 0:
        return "wrong", lines[-1]
    rows = torch.frombuffer(bytearray(open(logits, "rb").read()), dtype=torch.float32).reshape(-1, SIZES["vocab_size"])
    if rows.shape != expected.shape:
        return "wrong", "%s rows" % len(rows)
    error = ((rows - expected).abs().max() / expected.abs().max()).item()
    return "right" if error <= 1e-4 else "wrong", "%.1e" % error


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--tools", default="build")
    parser.add_argument("--backend", default="build/libQnnRef.so")
    parser.add_argument("--random", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    o = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    os.makedirs(o.folder, exist_ok=True)
    dice = random.Random(o.seed)
    cases = [(kind, edit) for kind in KINDS for edit in EDITS]
    for _ in range(o.random):
        edit = {}
        for part in dice.sample(EDITS, dice.randint(2, 3)):
            edit.update(part)
        cases.append((dice.choice(KINDS), edit))
    counts = {}
    for number, (kind, edit) in enumerate(cases):
        name = "%-8s %s" % (kind, ", ".join("%s %s" % (key, "absent" if value is GONE else json.dumps(value)) for key, value in edit.items()))
        if o.only not in name:
            continue
        verdict, why = compare(kind, edit, o, number)
        counts[verdict] = counts.get(verdict, 0) + 1
        print("%-8s %s  %s" % (verdict, name, why), flush=True)
    print(", ".join("%d %s" % (counts[key], key) for key in sorted(counts)))
    return counts.get("wrong", 0) != 0


if __name__ == "__main__":
    sys.exit(main())
