#!/usr/bin/env python3
"""Export a decoder block of the operators that QNN backends of mobile frameworks know, and what torch computes for it.

    export_mobile.py [FOLDER]

Such a backend runs the operators Embedding and X2X ("op tasks") on the CPU, and whole modules ("module tasks") as QNN
graphs; rotary positions and attention stay on the CPU between the two modules of a block. FOLDER (default tests/data/ir) gets
torch_mobile.json and torch_mobile.npz: sd/<key> weights, in/<i> inputs (ids, keep, pos), out/0 the logits. In the same way it
gets torch_weight_norm: layers whose weights are normalized, as those of models of speech are.
Needs torch and pytorch-ir, as `make exports` installs them."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pytorch_ir import extract                           # noqa: E402

import numpy as np                                       # noqa: E402
import torch                                             # noqa: E402
from torch import nn                                     # noqa: E402
from torch.nn.utils.parametrizations import weight_norm  # noqa: E402

WORDS, TOKENS, WIDTH, HEADS, SIZE, HIDDEN = 64, 8, 32, 2, 16, 48


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=i < 3) for i in range(4))
        self.gate, self.up = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down, self.head = nn.Linear(HIDDEN, WIDTH, bias=False), nn.Linear(WIDTH, WORDS, bias=False)
        self.register_buffer("inv", 1 / 10000 ** (torch.arange(0, SIZE, 2) / SIZE))

    def forward(self, ids, keep, pos):
        h = self.embed(ids)                                                    # op task
        x = self.norm1(h)                                                      # module task 1
        q, k, v = (f(x).view(1, TOKENS, HEADS, SIZE).transpose(1, 2) for f in (self.q, self.k, self.v))
        v = v * keep.to(torch.float32)
        angle = pos.to(torch.float32).unsqueeze(-1) * self.inv                 # on the CPU: positions, attention
        cos, sin = torch.cat((angle, angle), -1).cos(), torch.cat((angle, angle), -1).sin()

        def turn(y):
            return y * cos + torch.cat((-y[..., SIZE // 2:], y[..., :SIZE // 2]), -1) * sin
        scores = turn(q) @ turn(k).transpose(2, 3) * SIZE ** -0.5
        a = torch.softmax(scores, -1) @ v
        h = h + self.o(a.transpose(1, 2).reshape(1, TOKENS, WIDTH))            # module task 2
        x = self.norm2(h)
        h = h + self.down(nn.functional.silu(self.gate(x)) * self.up(x))
        return self.head(h)


class WeightNorm(nn.Module):
    """The positions of wav2vec2 (dim 2), a convolution of a vocoder (dim 0), a layer whose weight has one length."""
    def __init__(self):
        super().__init__()
        self.positions = weight_norm(nn.Conv1d(8, 8, 5, padding=2, groups=2), dim=2)
        self.voice = weight_norm(nn.Conv1d(8, 6, 3, padding=1))
        self.out = weight_norm(nn.Linear(16, 5), dim=None)

    def forward(self, x):
        x = x + nn.functional.gelu(self.positions(x))
        return self.out(nn.functional.leaky_relu(self.voice(x), 0.1))


def save(folder, name, model, inputs):
    graph, _ = extract(model, inputs, name)
    with open("%s/torch_%s.json" % (folder, name), "w") as file:
        json.dump(graph, file, default=str)
        file.write("\n")
    with torch.no_grad():
        out = model(*inputs)
    arrays = {"sd/" + key: value.numpy() for key, value in model.state_dict().items()}
    arrays.update({"in/%d" % i: x.numpy() for i, x in enumerate(inputs)})
    np.savez("%s/torch_%s.npz" % (folder, name), **arrays, **{"out/0": out.numpy()})


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/data/ir"
    torch.manual_seed(16)
    model = Block().eval()
    inputs = (torch.randint(WORDS, (1, TOKENS)), torch.ones(1, 1, TOKENS, 1, dtype=torch.int32),
              torch.arange(3, 3 + TOKENS).reshape(1, TOKENS))
    inputs[1][0, 0, 2] = 0
    save(folder, "mobile", model, inputs)
    model = WeightNorm().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))      # lengths that are not the weights' own
    save(folder, "weight_norm", model, (torch.randn(1, 8, 16),))
    return 0


if __name__ == "__main__":
    sys.exit(main())
