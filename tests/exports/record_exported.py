"""Writes tests/data/exported: a model with blocks under torch.no_grad() and one with states, by qnnrt.export() and pytorch-ir.

    LD_LIBRARY_PATH=build/exports/stubs build/exports/venv/bin/python tests/exports/record_exported.py tests/data/exported

QNNRT_LIBRARY names libqnnrt.so. The rotary embedding is none that a reader could guess: pairs lie side by side, the
angles are scaled and the sine is negated. blocks/ has torch's results, blocks_pytorch_ir.json has no body of the block.
states_pytorch_ir.json changes buffers in place, states/ has them as states.
"""
import copy
import json
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))


class Rotary(torch.nn.Module):
    """Angles that are scaled by 1.7, of pairs side by side, with a negated sine."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 100.0 ** -(torch.arange(0, width, 2) / width), persistent=False)

    @torch.no_grad()
    def forward(self, x: torch.Tensor, positions: torch.Tensor):  # type: ignore[no-untyped-def]
        """Return cosine and sine of each position."""
        angles = (positions[:, :, None].float() * self.inv_freq[None, None, :] * 1.7).repeat_interleave(2, dim=-1)
        return angles.cos().to(x.dtype), -angles.sin().to(x.dtype)


class Blocks(torch.nn.Module):
    """A layer of attention over eight tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.rotary, self.norm = torch.nn.Embedding(24, 8), Rotary(8), torch.nn.LayerNorm(8)
        self.query, self.key, self.head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 24)

    def forward(self, ids: torch.Tensor, positions: torch.Tensor):  # type: ignore[no-untyped-def]
        """Return scores of the next token, and the best one."""
        x = self.norm(self.embed(ids))
        cos, sin = self.rotary(x, positions)

        def turned(y: torch.Tensor) -> torch.Tensor:
            return y * cos + torch.stack((-y[..., 1::2], y[..., ::2]), dim=-1).flatten(-2) * sin

        weights = (turned(self.query(x)) @ turned(self.key(x)).transpose(1, 2) / 8**0.5).softmax(-1)
        scores = self.head(weights @ x)
        return {"scores": scores, "best": scores.argmax(-1)}


class States(torch.nn.Module):
    """A counter, a cache, an integer, and the last input, which nothing reads."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("cache", torch.arange(12.0).reshape(4, 3))
        self.register_buffer("steps", torch.tensor([5]))
        self.register_buffer("last", torch.ones(2, 3))

    def forward(self, x: torch.Tensor):  # type: ignore[no-untyped-def]
        """Return a sum over the cache, and the counter."""
        self.count.add_(1)
        self.steps.add_(2)
        y = self.linear(x)
        self.cache[:2] = y
        self.last.copy_(x)
        return {"sum": y + self.count + self.cache.sum() + self.steps, "calls": self.count + 0}


def main() -> None:
    """Write all."""
    import qnnrt
    from torch_ir import extract_ir
    torch.manual_seed(34)
    folder, model = sys.argv[1], Blocks().eval()
    args = (torch.randint(0, 24, (1, 8)), torch.arange(8)[None])
    qnnrt.export(model, args, os.path.join(folder, "blocks"), samples=2, inner=True, ranges={"ids": (0, 23)})
    old = extract_ir(copy.deepcopy(model).to("meta"), tuple(x.to("meta") for x in args), model_name="blocks", strict=False)
    with open(os.path.join(folder, "blocks_pytorch_ir.json"), "w", encoding="utf-8") as file:
        json.dump(old.to_dict(), file, default=str)
    keeps, x = States().eval(), torch.randn(2, 3)
    qnnrt.export(keeps, (x,), os.path.join(folder, "states"), samples=3)
    old = extract_ir(copy.deepcopy(keeps).to("meta"), (x.to("meta"),), model_name="states", strict=False)
    with open(os.path.join(folder, "states_pytorch_ir.json"), "w", encoding="utf-8") as file:
        json.dump(old.to_dict(), file, default=str)


main()
