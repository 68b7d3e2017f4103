#!/usr/bin/env python3
"""Find the ranges that the activations of the language model in tests/data/llm/model take, for its quantization.

    python3 tests/make_ranges.py [MODEL_DIR [EXPECTED.json]] > examples/05_make_model_ranges.h

Runs the model in float32 (needs numpy) over the texts of expected.json and over texts that it makes up itself, from
a fixed seed, and prints the smallest and the largest value of every activation as a table in C, widened by a tenth.
The same table every time, on one release of numpy; examples/05_make_model.c includes it.
"""
import json
import os
import struct
import sys

import numpy as np

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MADE_UP, LENGTH, SEED, MARGIN = 16, 120, 7, 1.1

# Name of the activation -> what it is; in this order in the table.
LAYER = {
    "NORM_1": "the input, normalized", "Q": "queries, already divided by the root of their length", "K": "keys",
    "V": "values", "Q_ROTATED": "queries with their positions", "K_ROTATED": "keys with theirs",
    "SCORES": "query times key", "CONTEXT": "values, weighed by the attention", "ATTENTION": "what attention adds",
    "MIDDLE": "the input and that", "NORM_2": "their sum, normalized", "GATE": "", "UP": "", "SILU": "gate * sigmoid(gate)",
    "PRODUCT": "silu * up", "MLP": "what the perceptron adds", "OUT": "the output",
}
MODEL = {"EMBEDDING": "rows of the table of embeddings", "NORM": "the last hidden state, normalized", "LOGITS": ""}


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    body = data[8 + size:]
    return {name: np.frombuffer(body[at["data_offsets"][0]:at["data_offsets"][1]], np.float32).reshape(at["shape"])
            for name, at in header.items() if name != "__metadata__"}


class Model:
    def __init__(self, folder):
        with open(os.path.join(folder, "config.json")) as file:
            self.config = json.load(file)
        self.weights = read_safetensors(os.path.join(folder, "model.safetensors"))
        self.seen = {}

    def see(self, name, values):
        low, high = self.seen.get(name, (0.0, 0.0))
        self.seen[name] = (min(low, float(values.min())), max(high, float(values.max())))
        return values

    def norm(self, x, name):
        root = np.sqrt(np.mean(x * x, -1, keepdims=True) + np.float32(self.config["rms_norm_eps"]))
        return x / root * self.weights[name]

    def forward(self, tokens):
        """Logits [tokens, vocabulary] of a whole text at once."""
        c, w = self.config, self.weights
        heads, kv, dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        n = len(tokens)
        angle = np.arange(n)[:, None] * c["rope_theta"] ** (-np.arange(dim // 2) / (dim // 2))
        cosine, sine = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
        later = np.triu(np.ones((n, n), bool), 1)

        def rotate(x):                                              # [heads, n, dim]
            u, v = x[..., :dim // 2], x[..., dim // 2:]
            return np.concatenate([u * cosine - v * sine, v * cosine + u * sine], -1)

        x = self.see("EMBEDDING", w["model.embed_tokens.weight"])[tokens]
        for layer in range(c["num_hidden_layers"]):
            def see(name, values, layer=layer):
                return self.see((layer, name), values)

            p = "model.layers.%d." % layer
            h = see("NORM_1", self.norm(x, p + "input_layernorm.weight"))
            q = see("Q", h @ w[p + "self_attn.q_proj.weight"].T * np.float32(dim ** -0.5))
            k = see("K", h @ w[p + "self_attn.k_proj.weight"].T)
            v = see("V", h @ w[p + "self_attn.v_proj.weight"].T)
            q = see("Q_ROTATED", rotate(q.reshape(n, heads, dim).transpose(1, 0, 2)))
            k = see("K_ROTATED", rotate(k.reshape(n, kv, dim).transpose(1, 0, 2)))
            v = v.reshape(n, kv, dim).transpose(1, 0, 2)
            k, v = (np.repeat(t, heads // kv, 0) for t in (k, v))
            scores = q @ k.transpose(0, 2, 1)
            see("SCORES", scores[:, ~later])
            scores[:, later] = -np.inf
            weight = np.exp(scores - scores.max(-1, keepdims=True))
            context = see("CONTEXT", weight / weight.sum(-1, keepdims=True) @ v)
            o = context.transpose(1, 0, 2).reshape(n, heads * dim) @ w[p + "self_attn.o_proj.weight"].T
            x = see("MIDDLE", x + see("ATTENTION", o))
            h = see("NORM_2", self.norm(x, p + "post_attention_layernorm.weight"))
            gate = see("GATE", h @ w[p + "mlp.gate_proj.weight"].T)
            up = see("UP", h @ w[p + "mlp.up_proj.weight"].T)
            silu = see("SILU", gate / (1 + np.exp(-gate)))
            product = see("PRODUCT", silu * up)
            x = see("OUT", x + see("MLP", product @ w[p + "mlp.down_proj.weight"].T))
        return self.see("LOGITS", self.see("NORM", self.norm(x, "model.norm.weight")) @ w["lm_head.weight"].T)


def row(name, comment, low, high):
    values = "{ %sf, %sf }" % tuple(("%.4f" % v) for v in (low * MARGIN, high * MARGIN))
    return "        %-27s /* %s */" % (values + ",", (name + " " + comment).strip())


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "tests/data/llm/model")
    expected = sys.argv[2] if len(sys.argv) > 2 else os.path.join(TOP, "tests/data/llm/expected.json")
    model = Model(folder)
    with open(expected) as file:
        texts = [case["prompt"] + case["text"] for case in json.load(file)["cases"]]
    random = np.random.default_rng(SEED)
    for number in range(MADE_UP):                                   # sampled, so that rare words occur too
        tokens = list(texts[number % len(texts)][:20].encode())
        while len(tokens) < LENGTH:
            logits = model.forward(np.array(tokens))[-1].astype(np.float64)
            weight = np.exp(logits - logits.max())
            tokens.append(int(random.choice(len(weight), p=weight / weight.sum())))
    for text in texts:
        model.forward(np.array(list(text.encode())))

    layers = model.config["num_hidden_layers"]
    print("/* 05_make_model_ranges.h - the ranges of the sample model's activations")
    print("   Made by tests/make_ranges.py, which says how: do not edit. { lowest, highest }, real numbers. */")
    print("enum {\n    %s,\n    LAYER_RANGES" % ",\n    ".join(
        ", ".join("RANGE_" + name for name in list(LAYER)[i:i + 5]) for i in range(0, len(LAYER), 5)))
    print("};")
    print("static const float layer_ranges[%d][LAYER_RANGES][2] = {" % layers)
    for layer in range(layers):
        print("    {                                   /* layer %d */" % layer)
        for name, comment in LAYER.items():
            print(row(name, comment if layer == 0 else "", *model.seen[layer, name]))
        print("    },")
    print("};")
    print("enum { %s, MODEL_RANGES };" % ", ".join("RANGE_" + name for name in MODEL))
    print("static const float model_ranges[MODEL_RANGES][2] = {")
    for name, comment in MODEL.items():
        print(row(name, comment, *model.seen[name])[4:])
    print("};")


main()
