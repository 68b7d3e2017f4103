#!/usr/bin/env python3
"""Export transformers' LlamaForCausalLM with trained weights, for prompts and for one token, in two forms.

    export_llama.py MODEL_DIR OUT [--tokens 32] [--context 128] [--mask inside]
    export_llama.py MODEL_DIR --record FILE --text TEXT

OUT/static/ has graphs that write the new keys and values into a StaticCache, which they return whole;
OUT/rows/ has graphs that read caches of context - tokens rows and return the new rows alone. Both have prefill.json
(--tokens at a time), decode.json (one at a time) and config.json, a copy of the model's. The weights are those of
MODEL_DIR/model.safetensors. --mask inside: the static form computes its mask and positions from the first position.

--record writes what torch computes in float32: the greedy text after ten prompts, and the perplexity of a text in
windows of 64 bytes, each of which begins anew; the first byte of a window is not counted. Once more it does so with
the weights of linear layers rounded to 8 and to 4 bits per output channel: what a model with quantized weights has to
give. Tests compare with this file, so that they need no torch.

This needs torch, transformers, pytorch-ir and safetensors: see "make exports"."""
import argparse
import json
import logging
import math
import os
import shutil
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import torch
import transformers
from safetensors.torch import load_file
from torch import nn
from torch_ir import extract_ir

torch.cuda.is_current_stream_capturing = lambda: False      # with stubs of the CUDA libraries the original crashes

PROMPTS = ["And the LORD said unto ", "In the beginning ", "And it came to pass ", "The king of Israel ", "Blessed are ",
           "And Moses ", "Thou shalt not ", "For the ", "Behold, ", "And Jesus answered "]
WRITTEN = 48                     # bytes after each prompt
WINDOW = 64                      # bytes of a text at a time


class Static(nn.Module):
    """One step that writes into caches of `context` rows, from `cells` on, and returns them whole."""

    def __init__(self, model, context):
        super().__init__()
        self.model, self.context = model, context

    def forward(self, input_ids, attention_mask, position_ids, cache_position, *caches):
        cache = transformers.StaticCache(self.model.config, max_cache_len=self.context)
        for i, layer in enumerate(cache.layers):
            k, v = caches[2 * i], caches[2 * i + 1]
            layer.lazy_initialization(k, v)
            layer.keys, layer.values = k.clone(), v.clone()
        # A layer counts its tokens itself; here the caller says where they go.
        for layer in cache.layers:
            layer.update = lambda key, value, *a, layer=layer, **o: written(layer, cache_position, key, value)
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                         past_key_values=cache, use_cache=True)
        return (out.logits, *[x for layer in cache.layers for x in (layer.keys, layer.values)])


def written(layer, cells, key, value):
    layer.keys.index_copy_(2, cells, key)
    layer.values.index_copy_(2, cells, value)
    return layer.keys, layer.values


class Inside(nn.Module):
    """The same, as transformers exports it: positions, places and mask follow from the first position."""

    def __init__(self, model, context):
        super().__init__()
        self.model, self.context = model, context

    def forward(self, input_ids, first, *caches):
        cache = transformers.StaticCache(self.model.config, max_cache_len=self.context)
        for i, layer in enumerate(cache.layers):
            k, v = caches[2 * i], caches[2 * i + 1]
            layer.lazy_initialization(k, v)
            layer.keys, layer.values = k.clone(), v.clone()
            layer.cumulative_length = first + 0
        out = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
        return (out.logits, *[x for layer in cache.layers for x in (layer.keys, layer.values)])


class Rows(nn.Module):
    """One step that reads caches and returns the new rows of each."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *caches):
        cache, rows = transformers.DynamicCache(), input_ids.shape[1]
        for i in range(self.model.config.num_hidden_layers):
            cache.update(caches[2 * i], caches[2 * i + 1], i)
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids,
                         past_key_values=cache, use_cache=True)
        return (out.logits, *[x[:, :, -rows:] for layer in cache.layers for x in (layer.keys, layer.values)])


def load(folder, device):
    with open(os.path.join(folder, "config.json")) as f:
        config = transformers.LlamaConfig(**json.load(f), attn_implementation="eager")
    with torch.device(device):
        model = transformers.LlamaForCausalLM(config).eval()
    if device == "cpu":
        model.load_state_dict(load_file(os.path.join(folder, "model.safetensors")))
    return model


def inputs(config, form, tokens, context):
    heads, width = config.num_key_value_heads, config.hidden_size // config.num_attention_heads
    ids = torch.zeros(1, tokens, dtype=torch.long, device="meta")
    mask = torch.zeros(1, 1, tokens, context, device="meta")
    cells = context - tokens if form == "rows" else context
    caches = [torch.zeros(1, heads, cells, width, device="meta") for _ in range(2 * config.num_hidden_layers)]
    places, cells = [torch.zeros(*n, tokens, dtype=torch.long, device="meta") for n in ((1,), ())]
    if form == "inside":
        return (ids, torch.zeros((), dtype=torch.long, device="meta"), *caches)
    return (ids, mask, places, *([cells] if form == "static" else []), *caches)


def export(model, folder, form, tokens, context, path):
    module = Rows(model) if form == "rows" else (Inside if form == "inside" else Static)(model, context)
    ir = extract_ir(module, inputs(model.config, form, tokens, context), model_name="llama_%s_%d" % (form, tokens))
    with open(path, "w") as f:
        json.dump(ir.to_dict(), f, default=str)
    print("%s: %d nodes" % (path, len(ir.nodes)))


def rounded(weight, bits):
    """Return a weight as codes times scales, a scale for each output channel: 8 bits reach the largest value; 4 bits
    clip it to one of eight parts of it, with the scale that is best for the codes, whichever leaves the least error."""
    w, most = weight.double(), 127 if bits == 8 else 7
    largest = w.abs().amax(1, keepdim=True)
    scale = largest / most
    gain = torch.zeros_like(scale)
    for clip in range(8 if bits == 4 else 0):
        codes = torch.floor(w / (largest * (1 - 0.1 * clip) / most) + 0.5).clamp(-most, most)
        product, square = (codes * w).sum(1, keepdim=True), (codes * codes).sum(1, keepdim=True)
        better = product * product / square > gain
        gain = torch.where(better, product * product / square, gain)
        scale = torch.where(better, product / square, scale)
    scale = scale.float().double()
    ratio = w / scale
    return (torch.sign(ratio) * torch.floor(ratio.abs() + 0.5).clamp(0, most) * scale).float()


@torch.no_grad()
def measured(model, data):
    """Return the texts after all prompts, and nats and most probable bytes of a text."""
    cases, nats, top = [], [], []
    for prompt in PROMPTS:
        ids = list(prompt.encode())
        for _ in range(WRITTEN):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        cases.append({"prompt": prompt, "text": bytes(ids[-WRITTEN:]).decode("latin-1")})
    for begin in range(0, len(data), WINDOW):
        ids = torch.tensor(data[begin:begin + WINDOW])
        logits = model(ids[None]).logits[0].double()
        nats += (-torch.log_softmax(logits[:-1], -1)[range(len(ids) - 1), ids[1:]]).tolist()
        top += logits[:-1].argmax(-1).tolist()
    return {"perplexity": math.exp(sum(nats) / len(nats)), "cases": cases, "nats": [round(x, 6) for x in nats], "top": top}


def record(folder, path, text):
    with open(text, "rb") as f:
        data = list(f.read())
    out = {"made_by": "tests/exports/export_llama.py with torch %s, transformers %s, float32"
           % (torch.__version__.split("+")[0], transformers.__version__), "window": WINDOW}
    out.update(measured(load(folder, "cpu"), data))
    out["counted"] = len(out["nats"])
    for bits in (8, 4):
        model = load(folder, "cpu")
        for module in model.modules():
            if isinstance(module, nn.Linear):
                module.weight.data = rounded(module.weight.data, bits)
        out["weights of %d bits" % bits] = measured(model, data)
    with open(path, "w") as f:
        json.dump(out, f, indent=1)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--context", type=int, default=128)
    parser.add_argument("--mask", choices=("input", "inside"), default="input")
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--text", metavar="FILE")
    o = parser.parse_args()
    if o.record:
        return record(o.model, o.record, o.text)
    model = load(o.model, "meta")
    for form in ("static" if o.mask == "input" else "inside", "rows"):
        folder = os.path.join(o.out, form)
        os.makedirs(folder, exist_ok=True)
        for name, tokens in (("prefill", o.tokens), ("decode", 1)):
            export(model, o.model, form, tokens, o.context, "%s/%s.json" % (folder, name))
        shutil.copy(os.path.join(o.model, "config.json"), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
