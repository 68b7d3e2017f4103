#!/usr/bin/env python3
"""Find the ranges that the activations of a Llama take, for its quantization.

    python3 tests/llm/make_ranges.py [MODEL_DIR [EXPECTED.json]] > MODEL_DIR/ranges.json

Runs the model of config.json and model.safetensors (default: tests/data/llm/model) in float32 (needs numpy) over the
texts of EXPECTED.json, if given, and over texts that it generates from a fixed seed, and prints the
smallest and the largest value of every activation, widened by a tenth. The same every time, on one release of numpy.
examples/05_make_model.c and examples/llm/export.c read it.
"""
import json
import os
import sys

import numpy as np

import reference_llm

MADE_UP, LENGTH, BEGIN, SEED, MARGIN = 16, 120, 20, 7, 1.1

# Names of the activations that reference_llm.py reports, in the order of the file.
LAYER = ["NORM_1", "Q", "K", "V", "Q_ROTATED", "K_ROTATED", "SCORES", "CONTEXT", "ATTENTION", "MIDDLE", "NORM_2", "GATE", "UP", "SILU",
         "PRODUCT", "MLP", "OUT"]
MODEL = ["EMBEDDING", "NORM", "LOGITS"]


class Watched(reference_llm.Model):
    def __init__(self, folder):
        super().__init__(folder, np.float32)
        self.seen = {}

    def see(self, layer, name, values):
        low, high = self.seen.get((layer, name), (0.0, 0.0))
        self.seen[layer, name] = (min(low, float(values.min())), max(high, float(values.max())))
        return values

    def rows(self, layer, names):
        rows = ['"%s": [%.4f, %.4f]' % (name, self.seen[layer, name][0] * MARGIN, self.seen[layer, name][1] * MARGIN)
                for name in names]
        return ",\n".join(rows)


def main():
    data = os.path.join(reference_llm.TOP, "tests/data/llm")
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(data, "model")
    expected = sys.argv[2] if len(sys.argv) > 2 else os.path.join(data, "expected.json") if len(sys.argv) < 2 else None
    model = Watched(folder)
    vocabulary = model.config["vocab_size"]
    length = min(LENGTH, model.config["max_position_embeddings"])
    random = np.random.default_rng(SEED)
    texts = []
    if expected is not None:                                        # tokens are bytes
        with open(expected) as file:
            texts = [list((case["prompt"] + case["text"]).encode()) for case in json.load(file)["cases"]]
    begins = texts or [random.integers(0, vocabulary, BEGIN).tolist() for _ in range(MADE_UP)]
    for number in range(MADE_UP):                                   # sampled, so that rare words occur too
        tokens = begins[number % len(begins)][:BEGIN]
        while len(tokens) < length:
            logits = model.forward(np.array(tokens))[-1].astype(np.float64)
            weight = np.exp(logits - logits.max())
            tokens.append(int(random.choice(len(weight), p=weight / weight.sum())))
    for tokens in texts:
        model.forward(np.array(tokens[:length]))

    layers = ["{\n%s\n}" % model.rows(layer, LAYER) for layer in range(model.config["num_hidden_layers"])]
    print('{\n"layers": [%s],\n%s\n}' % (", ".join(layers), model.rows(None, MODEL)))


if __name__ == "__main__":
    main()
