#!/usr/bin/env python3
"""Export three models twice, as a graph for the compiler of qnnrt and as ONNX, and what torch computes for them.

    export_session.py [--out build/exports/session] [mlp] [cnn] [minilm]

The models: an MLP and a CNN with random weights, and the sentence encoder all-MiniLM-L6-v2 with its real ones. Each
folder <out>/<model> gets model.json and model.safetensors, model.onnx (opset 18, weights inside), inputs in_<i>.npy and
out_0.npy, which torch computed in float64. Needs torch, pytorch-ir, onnx and onnxscript, as `make exports` installs
them. A model whose out_0.npy exists is skipped."""
import argparse
import json
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from export_minilm import load_encoder                    # noqa: E402
from pytorch_ir import extract, run                       # noqa: E402

import numpy as np                                       # noqa: E402
import torch                                             # noqa: E402
from safetensors.torch import save_file                  # noqa: E402
from torch import nn                                     # noqa: E402


def mlp():
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10),
                          nn.Softmax(dim=-1))
    return model, (torch.randn(1, 64),), ["x"], ["y"]


def cnn():
    model = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                          nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Conv2d(32, 64, 1), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    for layer in model:
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.running_mean, -0.2, 0.2)
            nn.init.uniform_(layer.running_var, 0.5, 1.5)
    return model, (torch.randn(1, 3, 64, 64),), ["x"], ["y"]


def minilm():
    model, sets = load_encoder()
    return model, sets[0], ["input_ids", "attention_mask"], ["sentence"]


MODELS = {"mlp": mlp, "cnn": cnn, "minilm": minilm}


def export(name, folder):
    torch.manual_seed(17)
    model, inputs, input_names, output_names = MODELS[name]()
    model.eval()
    os.makedirs(folder, exist_ok=True)
    graph, _ = extract(model, inputs, name)
    with open(folder + "/model.json", "w") as f:
        json.dump(graph, f, default=str)
    weights = {**dict(model.named_buffers()), **model.state_dict()}
    save_file({k: v.detach().clone().contiguous() for k, v in weights.items()}, folder + "/model.safetensors")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, inputs, folder + "/model.onnx", dynamo=True, external_data=False, verbose=False,
                          opset_version=18, input_names=input_names, output_names=output_names)
    for i, x in enumerate(inputs):
        np.save("%s/in_%d.npy" % (folder, i), x.numpy())
    want = run(model, inputs, torch.float64)[0]
    np.save(folder + "/out_0.npy", want.astype(np.float32))
    print("%-7s %3d nodes, %d bytes of ONNX" % (name, len(graph["nodes"]), os.path.getsize(folder + "/model.onnx")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="build/exports/session")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_args()
    for name in options.models or MODELS:
        folder = options.out + "/" + name
        if not os.path.exists(folder + "/out_0.npy"):
            export(name, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
