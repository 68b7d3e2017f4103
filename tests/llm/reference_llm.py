#!/usr/bin/env python3
"""The greedy tokens of a Llama, computed slowly and plainly: the reference for all tests that run exported models.

    python3 tests/llm/reference_llm.py MODEL_DIR TEXT COUNT         # one prompt of bytes, as a sentence
    python3 tests/llm/reference_llm.py --perplexity MODEL_DIR TEXT
    python3 tests/llm/reference_llm.py --golden TRAINED_DIR DEEP_DIR TIED_DIR > tests/golden/llm_tokens.txt
    python3 tests/llm/reference_llm.py --argmax TRAINED_DIR > tests/golden/llm_argmax.txt
    python3 tests/llm/reference_llm.py --hidden TRAINED_DIR > tests/golden/llm_hidden.txt

It uses neither cache nor chunks nor batches: each token is computed from the whole text before it, in float64 (needs
numpy). The golden file has 10 tokens for each of 20 prompts, of 1 to 3 * 32 + 5 tokens, for three models. Prompts are
chosen so that at every step the best logit is ahead of the second one by MARGIN: backends that add in another order
must find the same tokens; and so that the text is not one repeated token. `make golden-llm` writes it.
"""
import json
import os
import struct
import sys

import numpy as np

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LENGTHS = [1, 2, 3, 7, 16, 30, 31, 32, 33, 34, 47, 62, 63, 64, 65, 66, 80, 95, 96, 101]
COUNT, MARGIN, DISTINCT = 10, 0.02, 5


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    body = data[8 + size:]
    return {name: np.frombuffer(body[at["data_offsets"][0]:at["data_offsets"][1]], np.float32).reshape(at["shape"])
            for name, at in header.items() if name != "__metadata__"}


class Model:
    def __init__(self, folder, dtype=np.float64):
        with open(os.path.join(folder, "config.json")) as file:
            self.config = json.load(file)
        weights = read_safetensors(os.path.join(folder, "model.safetensors"))
        self.weights = {name: values.astype(dtype) for name, values in weights.items()}
        self.dtype = dtype

    def see(self, layer, name, values):
        """Called with each intermediate value and its name; layer is None for the model's own values."""
        return values

    def norm(self, x, name):
        root = np.sqrt(np.mean(x * x, -1, keepdims=True) + self.dtype(self.config["rms_norm_eps"]))
        return x / root * self.weights[name]

    def forward(self, tokens):
        """Return logits [tokens, vocabulary] of a whole text at once."""
        c, w, see = self.config, self.weights, self.see
        heads, kv, dim = c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        n = len(tokens)
        angle = np.arange(n)[:, None] * float(c.get("rope_theta", 10000)) ** (-np.arange(dim // 2) / (dim // 2))
        cosine, sine = np.cos(angle).astype(self.dtype), np.sin(angle).astype(self.dtype)
        later = np.triu(np.ones((n, n), bool), 1)

        def rotate(x):                                              # [heads, n, dim]
            u, v = x[..., :dim // 2], x[..., dim // 2:]
            return np.concatenate([u * cosine - v * sine, v * cosine + u * sine], -1)

        x = see(None, "EMBEDDING", w["model.embed_tokens.weight"])[tokens]
        for layer in range(c["num_hidden_layers"]):
            p = "model.layers.%d." % layer
            h = see(layer, "NORM_1", self.norm(x, p + "input_layernorm.weight"))
            q = see(layer, "Q", h @ w[p + "self_attn.q_proj.weight"].T * self.dtype(dim ** -0.5))
            k = see(layer, "K", h @ w[p + "self_attn.k_proj.weight"].T)
            v = see(layer, "V", h @ w[p + "self_attn.v_proj.weight"].T)
            q = see(layer, "Q_ROTATED", rotate(q.reshape(n, heads, dim).transpose(1, 0, 2)))
            k = see(layer, "K_ROTATED", rotate(k.reshape(n, kv, dim).transpose(1, 0, 2)))
            v = v.reshape(n, kv, dim).transpose(1, 0, 2)
            k, v = (np.repeat(t, heads // kv, 0) for t in (k, v))
            scores = q @ k.transpose(0, 2, 1)
            see(layer, "SCORES", scores[:, ~later])
            scores[:, later] = -np.inf
            weight = np.exp(scores - scores.max(-1, keepdims=True))
            context = see(layer, "CONTEXT", weight / weight.sum(-1, keepdims=True) @ v)
            o = context.transpose(1, 0, 2).reshape(n, heads * dim) @ w[p + "self_attn.o_proj.weight"].T
            x = see(layer, "MIDDLE", x + see(layer, "ATTENTION", o))
            h = see(layer, "NORM_2", self.norm(x, p + "post_attention_layernorm.weight"))
            gate = see(layer, "GATE", h @ w[p + "mlp.gate_proj.weight"].T)
            up = see(layer, "UP", h @ w[p + "mlp.up_proj.weight"].T)
            silu = see(layer, "SILU", gate / (1 + np.exp(-gate)))
            product = see(layer, "PRODUCT", silu * up)
            x = see(layer, "OUT", x + see(layer, "MLP", product @ w[p + "mlp.down_proj.weight"].T))
        table = "model.embed_tokens.weight" if c.get("tie_word_embeddings") else "lm_head.weight"
        return see(None, "LOGITS", see(None, "NORM", self.norm(x, "model.norm.weight")) @ w[table].T)

    def greedy(self, prompt, count, margin=0.0):
        """Return the next tokens with their logits and margins, or None if a margin is too small."""
        tokens, steps = list(prompt), []
        for _ in range(count):
            logits = self.forward(np.array(tokens))[-1]
            second, best = np.argsort(logits)[-2:]
            if logits[best] - logits[second] < margin:
                return None
            steps.append((int(best), float(logits[best]), float(logits[best] - logits[second])))
            tokens.append(int(best))
        return steps


def prompts_of(text, length):
    """Return pieces of a text, in order."""
    for begin in range(min(len(text) - length, 200)):
        yield text[begin:begin + length]


def golden(folders):
    with open(os.path.join(TOP, "tests/data/llm/expected.json")) as file:
        known = " ".join(case["prompt"] + case["text"] for case in json.load(file)["cases"]).encode()
    print("# Made by `make golden-llm` (tests/llm/reference_llm.py): do not edit. Greedy tokens of a plain float64 Llama in")
    print("# numpy, with the logit of each and how far it is ahead of the second best.")
    for name, folder in folders.items():
        model, least = Model(folder), np.inf
        text = list(known)
        if name != "trained":                   # random weights have no language: any tokens serve
            state, text = 1, []
            for _ in range(2000):
                state = state * 1103515245 + 12345 & 0x7fffffff
                text.append((state >> 16) % model.config["vocab_size"])
        print("\nmodel %s" % name)
        for length in LENGTHS:
            # Every length starts at another place, so that prompts begin differently.
            start = 7 * length % len(text)
            for prompt in prompts_of((text[start:] + text[:start]) * 2, length):
                steps = model.greedy(prompt, COUNT, MARGIN)
                if steps is not None and len({step[0] for step in steps}) >= DISTINCT:
                    break
            else:
                sys.exit("%s: no prompt of %d tokens is clear enough" % (name, length))
            least = min(least, min(step[2] for step in steps))
            print("prompt %s" % " ".join(map(str, prompt)))
            print("tokens %s" % " ".join(str(step[0]) for step in steps))
            print("logits %s" % " ".join("%.4f" % step[1] for step in steps))
            print("ahead  %s" % " ".join("%.4f" % step[2] for step in steps))
        print("# least margin of %s: %.4f" % (name, least))


def argmax(folder):
    """Print the most probable byte after each byte of the texts in expected.json, one line per text."""
    model = Model(folder)
    with open(os.path.join(TOP, "tests/data/llm/expected.json")) as file:
        for case in json.load(file)["cases"]:
            logits = model.forward(np.array(list((case["prompt"] + case["text"]).encode())))
            print(" ".join(map(str, np.argmax(logits, -1))))


class Shown(Model):
    """A model that keeps its last hidden states, takes rows of embeddings as tokens from 256 on, and adapters."""
    rows = None

    def see(self, layer, name, values):
        if name == "NORM" and layer is None:
            self.hidden = values
        if name == "EMBEDDING" and self.rows is not None:
            return np.concatenate([values, self.rows])
        return values

    def adapt(self, adapter):
        """Add B A alpha / rank to the weights of projections: the test writes the same numbers into a file."""
        rank, alpha, targets, size = adapter
        for layer in range(self.config["num_hidden_layers"]):
            for which, target in enumerate(targets):
                name = "model.layers.%d.%s.weight" % (layer, target)
                rows, columns = self.weights[name].shape
                i, j, o = np.arange(rank)[:, None], np.arange(columns)[None], np.arange(rows)[:, None]
                a = ((i * 37 + j * 101 + layer * 17 + which * 5) % 61 - 30).astype(np.float32) / np.float32(size)
                b = ((o * 29 + i.T * 53 + layer * 13 + which * 7) % 59 - 29).astype(np.float32) / np.float32(size)
                self.weights[name] = self.weights[name] + b.astype(self.dtype) @ a.astype(self.dtype) * (alpha / rank)


ADAPTERS = {"two": (4, 8.0, ["self_attn.q_proj", "self_attn.v_proj"], 100.0),
            "all": (3, 3.0, ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
                             "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"], 160.0)}


def hidden(folder):
    """Print last hidden states of texts, their means, logits of the last token; then the same with rows of embeddings
    in place of tokens 2 to 4, and with adapters."""
    with open(os.path.join(TOP, "tests/data/llm/expected.json")) as file:
        text = " ".join(case["prompt"] + case["text"] for case in json.load(file)["cases"]).encode()
    print("# Made by `make golden-llm` (tests/llm/reference_llm.py --hidden): do not edit. Last hidden states of a plain float64")
    print("# Llama in numpy: of the last token and the mean of all, then the tokens that follow.")

    def show(kind, model, tokens):
        logits = model.forward(np.array(tokens))
        print("%s %s" % (kind, " ".join(map(str, tokens))))
        for name, values in ("last", model.hidden[-1]), ("mean", model.hidden.mean(0)):
            print("%s %s" % (name, " ".join("%.6f" % v for v in values)))
        steps = [(int(np.argmax(logits[-1])), np.diff(np.sort(logits[-1])[-2:])[0])]
        if model.rows is None:
            steps = [(step[0], step[2]) for step in model.greedy(bytes(tokens), 10)]
        print("tokens %s" % " ".join(str(step[0]) for step in steps))
        print("# least margin %.4f" % min(step[1] for step in steps))

    for length in 1, 7, 40, 97:
        show("plain", Shown(folder), list(text[length:2 * length]))
    mixed = Shown(folder)
    table = mixed.weights["model.embed_tokens.weight"]
    mixed.rows = np.array([(table[60 + i] + table[110 - i]) / 2 for i in range(3)])
    tokens = list(text[40:80])
    tokens[2:5] = 256, 257, 258
    show("mixed", mixed, tokens)
    for name, adapter in ADAPTERS.items():
        for length in 7, 40:
            model = Shown(folder)
            model.adapt(adapter)
            show("adapter-" + name, model, list(text[length:2 * length]))


def perplexity(folder, text):
    """Return exp of the mean of -log p(byte | those before it), from the second byte on."""
    logits = Model(folder).forward(np.array(list(text)))[:-1]
    chosen = logits[np.arange(len(text) - 1), list(text[1:])]
    most = logits.max(-1)
    return np.exp(np.mean(most + np.log(np.exp(logits - most[:, None]).sum(-1)) - chosen))


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--golden":
        golden(dict(zip(["trained", "deep", "tied"], sys.argv[2:])))
    elif len(sys.argv) == 4 and sys.argv[1] == "--perplexity":
        print("%.6f" % perplexity(sys.argv[2], sys.argv[3].encode()))
    elif len(sys.argv) == 3 and sys.argv[1] == "--argmax":
        argmax(sys.argv[2])
    elif len(sys.argv) == 3 and sys.argv[1] == "--hidden":
        hidden(sys.argv[2])
    elif len(sys.argv) == 4:
        steps = Model(sys.argv[1]).greedy(sys.argv[2].encode(), int(sys.argv[3]))
        print(sys.argv[2] + "|" + bytes(step[0] for step in steps).decode(errors="replace"))
        print("smallest margin %.4f" % min(step[2] for step in steps), file=sys.stderr)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
