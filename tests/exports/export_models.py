#!/usr/bin/env python3
"""Export public architectures with random weights: ATen IR, weights, inputs, and what torch computes.

    export_models.py [--size small|full] [--out build/exports] [--list] [NAME ...]

Each model becomes a folder <out>/<size>/<name> with these files:
    model.json          the graph, as the exporter pytorch-ir writes it
    model.safetensors   the weights, named by their state_dict keys, with the buffers that the graph reads
    in_<i>.npy          the inputs: float32 or int64
    out_<i>.npy         the outputs: computed in float64, stored in float32
    info.json           sizes, the errors of torch's own float32 and float16, and the base of the rope
A folder that has info.json is kept. --size small makes images of 64 or 96 pixels where the model accepts them.

Nothing is downloaded. This needs torch, timm, transformers, pytorch-ir, safetensors and numpy: see "make exports"."""
import argparse
import copy
import json
import logging
import math
import os
import shutil
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from torch_ir import extract_ir

torch.cuda.is_current_stream_capturing = lambda: False      # with stubs of the CUDA libraries the original crashes

# ---- models ---------------------------------------------------------------------------------------

# Vision models of timm: name, pixels of the small and of the full kind, options of the small kind.
VISION = [
    ("resnet18", 64, 224, {}), ("resnet50", 64, 224, {}), ("mobilenetv2_100", 64, 224, {}),
    ("mobilenetv3_large_100", 64, 224, {}), ("efficientnet_b0", 64, 224, {}), ("regnetx_002", 64, 224, {}),
    ("repvgg_a0", 64, 224, {}), ("ghostnet_100", 64, 224, {}), ("inception_v3", 96, 299, {}),
    ("vgg11", 64, 224, {"mlp_ratio": 0.125}), ("convnext_tiny", 64, 224, {}),
    ("vit_tiny_patch16_224", 64, 224, {"img_size": 64}), ("deit_tiny_patch16_224", 64, 224, {"img_size": 64}),
    ("swin_tiny_patch4_window7_224", 96, 224, {"img_size": 96}), ("poolformer_s12", 64, 224, {}),
    ("mixer_s16_224", 64, 224, {"img_size": 64}), ("mobileone_s0", 64, 224, {}), ("dla34", 64, 224, {}),
    ("hrnet_w18_small", 64, 224, {}), ("xcit_nano_12_p16_224", 64, 224, {}),
    ("efficientformer_l1", 224, 224, {}), ("mnasnet_100", 64, 224, {}),
]


class Wrap(nn.Module):
    """A model whose inputs and outputs are tensors in a fixed order."""

    def __init__(self, model, names, **options):
        super().__init__()
        self.m, self.names, self.options = model, names, options

    def forward(self, *tensors):
        out = self.m(**dict(zip(self.names, tensors)), **self.options)
        return out.logits if getattr(out, "logits", None) is not None else out.last_hidden_state


class LlamaStep(nn.Module):
    """One step of a decoder that reads caches and returns the new rows of each."""

    def __init__(self, config):
        import transformers
        super().__init__()
        self.layers, self.m = config.num_hidden_layers, transformers.LlamaForCausalLM(config)

    def forward(self, ids, mask, positions, *caches):
        import transformers
        cache, rows = transformers.DynamicCache(), ids.shape[1]
        for i in range(self.layers):
            cache.update(caches[2 * i], caches[2 * i + 1], i)
        out = self.m(input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True)
        results = [out.logits]
        for layer in cache.layers:
            results += [layer.keys[:, :, -rows:], layer.values[:, :, -rows:]]
        return tuple(results)


class SmallCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.c2, self.b2 = nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32)
        self.dw, self.fc = nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.relu(self.b2(self.c2(x)))
        x = F.relu_(x + self.dw(x))
        return F.softmax(self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 2), 1)), dim=-1)


class SmallMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.scale = nn.Linear(32, 64), nn.Linear(64, 16, bias=False), nn.Parameter(torch.rand(64))

    def forward(self, x):
        x = torch.tanh(self.a(x)) * self.scale - 0.25
        return F.log_softmax(self.b(x.clamp(-0.9, 0.9)), dim=-1), x.sum(dim=-1)


class SmallUnet(nn.Module):
    """Both ways up, and the way back in."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.n1, self.n2 = nn.GroupNorm(4, 16), nn.GroupNorm(4, 32)
        self.up, self.mid = nn.ConvTranspose2d(32, 16, 2, stride=2), nn.Conv2d(32, 16, 3, padding=1)
        self.last = nn.Conv2d(16, 3, 1)

    def forward(self, x):
        a = F.leaky_relu(self.n1(self.down1(x)), 0.1)
        b = F.silu(self.n2(self.down2(a)))
        c = F.relu(self.mid(torch.cat([self.up(b), a], dim=1)))
        return torch.sigmoid(self.last(F.interpolate(c, scale_factor=2, mode="bilinear", align_corners=False)))


class SmallAudio(nn.Module):
    """Convolutions in one dimension, gates, and a mean over time."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv1d(8, 32, 5, stride=2, padding=2), nn.Conv1d(16, 32, 3, padding=1)
        self.n, self.c = nn.BatchNorm1d(32), nn.Conv1d(32, 32, 3, padding=1, groups=32)
        self.out = nn.Linear(32, 12)

    def forward(self, x):
        x, gate = self.a(x).chunk(2, dim=1)
        x = x * torch.sigmoid(gate)
        x = F.elu(self.n(self.b(x)))
        x = x + F.gelu(self.c(x), approximate="tanh")
        return self.out(x.transpose(1, 2)).mean(dim=1)


class Block(nn.Module):
    """A decoder layer as one writes it by hand: RMSNorm, rope, grouped heads, a mask, SiLU."""

    def __init__(self, width=64, heads=4, groups=2, tokens=8, vocabulary=128):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, width // heads
        self.embed = nn.Embedding(vocabulary, width)
        self.norm1, self.norm2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = nn.Linear(width, groups * self.d, bias=False), nn.Linear(width, groups * self.d, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down, self.head = nn.Linear(2 * width, width, bias=False), nn.Linear(width, vocabulary, bias=False)
        angles = torch.outer(torch.arange(tokens).float(), 10000.0 ** (-torch.arange(0, self.d, 2).float() / self.d))
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1), persistent=False)
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1), persistent=False)

    def norm(self, x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight

    def turn(self, x):
        a, b = x[..., :self.d // 2], x[..., self.d // 2:]
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, ids, mask):
        x = self.embed(ids)
        n, s, w = x.shape
        h = self.norm(x, self.norm1)
        q = self.turn(self.q(h).view(n, s, self.heads, self.d).transpose(1, 2))
        k = self.turn(self.k(h).view(n, s, self.groups, self.d).transpose(1, 2))
        v = self.v(h).view(n, s, self.groups, self.d).transpose(1, 2)
        k, v = (t.repeat_interleave(self.heads // self.groups, dim=1) for t in (k, v))
        scores = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(self.d) + mask, dim=-1)
        x = x + self.o((scores @ v).transpose(1, 2).reshape(n, s, w))
        h = self.norm(x, self.norm2)
        return self.head(x + self.down(F.silu(self.gate(h)) * self.up(h)))


def image(pixels, channels=3):
    """A picture of large spots and some noise. Of noise alone, models that average see nothing."""
    spots = F.interpolate(torch.randn(1, channels, 4, 4), (pixels, pixels), mode="bilinear")
    return (1.5 * spots + 0.5 * torch.randn(1, channels, pixels, pixels),)


def tokens(count=32, vocabulary=100):
    return torch.randint(0, vocabulary, (1, count))


def causal(rows, columns):
    """An additive mask: row i reads the columns up to columns - rows + i. -10000 has a float16."""
    mask = torch.zeros(1, 1, rows, columns)
    return mask.masked_fill(torch.ones(rows, columns).triu(columns - rows + 1).bool(), -10000.0)


def models(size):
    """name -> (function that makes the model, function that makes its inputs, keep the model's own initial values)"""
    small, table = size == "small", {}
    for name, few, many, options in VISION:
        def make(name=name, options=options):
            import timm
            return timm.create_model(name, **(options if small else {}))
        table[name] = (make, lambda p=few if small else many: image(p), False)

    def language(kind, config, names, inputs, keep=False, **options):
        def make(implementation):
            import transformers
            settings = getattr(transformers, config[0])(**config[1], attn_implementation=implementation)
            return Wrap(getattr(transformers, kind[1])(settings), names, **options)
        for implementation in ("eager", "sdpa"):
            table[kind[0] + "_" + implementation] = (lambda i=implementation: make(i), inputs, keep)

    decoder = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8,
                   num_key_value_heads=2, vocab_size=1000)
    picture = dict(num_hidden_layers=2, **({"image_size": 64} if small else {}))
    pixels = 64 if small else 224
    padded = lambda: (tokens(), (torch.arange(32) < 27).long()[None])
    language(("bert", "BertModel"), ("BertConfig", dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
             intermediate_size=1536, **({"vocab_size": 1000} if small else {}))), ("input_ids", "attention_mask"), padded)
    language(("llama", "LlamaForCausalLM"), ("LlamaConfig", decoder), ("input_ids",), lambda: (tokens(),), use_cache=False)
    language(("qwen2", "Qwen2ForCausalLM"), ("Qwen2Config", decoder), ("input_ids",), lambda: (tokens(),), use_cache=False)
    language(("phi3", "Phi3ForCausalLM"), ("Phi3Config", dict(decoder, pad_token_id=0)), ("input_ids",), lambda: (tokens(),),
             use_cache=False)
    language(("clip_vision", "CLIPVisionModel"), ("CLIPVisionConfig", picture), ("pixel_values",), lambda: image(pixels))
    language(("vit", "ViTModel"), ("ViTConfig", picture), ("pixel_values",), lambda: image(pixels))
    language(("t5_encoder", "T5EncoderModel"), ("T5Config", dict(num_layers=2, **({"vocab_size": 1000} if small else {}))),
             ("input_ids",), lambda: (tokens(),), True)

    def step():
        import transformers
        return LlamaStep(transformers.LlamaConfig(
            hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            vocab_size=256, attn_implementation="eager"))
    for rows in (8, 1):
        table["llama_step_%d" % rows] = (step, lambda r=rows: (tokens(r, 256), causal(r, 32), torch.arange(32 - r, 32)[None],
                                                               *[torch.randn(1, 2, 32 - r, 16) for _ in range(4)]), False)
    table["small_cnn"] = (SmallCnn, lambda: image(16), False)
    table["small_mlp"] = (SmallMlp, lambda: (torch.randn(4, 32),), False)
    table["small_unet"] = (SmallUnet, lambda: image(32), False)
    table["small_audio"] = (SmallAudio, lambda: (torch.randn(1, 8, 64),), False)
    table["small_block"] = (Block, lambda: (tokens(8, 128), causal(8, 8)), False)
    return table


# ---- weights --------------------------------------------------------------------------------------

NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)


@torch.no_grad()
def randomize(model, inputs):
    """Give every parameter values that matter, and the batch norms statistics that fit."""
    for module in model.modules():
        norm = isinstance(module, NORMS) or type(module).__name__.endswith("Norm")
        for name, p in module.named_parameters(recurse=False):
            if norm or any(word in name for word in ("gamma", "scale", "norm")) or name in ("ls1", "ls2"):
                if "bias" in name:
                    p.normal_(0, 0.1)
                else:
                    p.uniform_(*((0.5, 1.5) if norm or "norm" in name else (0.2, 0.6)))
            elif "bias" in name:
                p.normal_(0, 0.1)
            elif isinstance(module, nn.Linear):
                p.normal_(0, p.shape[1] ** -0.5)
            elif isinstance(module, nn.Embedding):
                p.normal_(0, 0.5)
            elif p.ndim >= 2 and float(p.abs().max()) == 0:      # class tokens and positions begin as zeros
                p.normal_(0, 0.5)
    hooks = [m.register_forward_pre_hook(measure) for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    if hooks:
        factors = torch.tensor([1, -1, 0.5, 2])
        model(*[torch.cat([x * f for f in factors]) for x in inputs])
        for hook in hooks:
            hook.remove()


def measure(norm, arguments):
    """Set the statistics of a batch norm, before it runs, from the mean square of its input.

    Statistics of each channel, as training with random weights leaves them, make deep networks amplify every rounding:
    torch's own float16 then differs from float64 by 0.1 (inception_v3) and 0.2 (mobileone_s0), here by 0.002."""
    power = float(arguments[0].square().mean())
    norm.running_mean.normal_(0, 0.1 * power ** 0.5)
    norm.running_var.uniform_(0.7 * power, 1.4 * power)


def run(model, inputs, dtype):
    """Return the outputs of a copy of the model in dtype, as float64 arrays."""
    with torch.no_grad():
        out = copy.deepcopy(model).to(dtype)(*[x.to(dtype) if x.is_floating_point() else x for x in inputs])
    return [x.double().numpy() for x in (out if isinstance(out, (tuple, list)) else [out])]


def difference(got, want):
    """Return the largest difference relative to the largest value, over all outputs."""
    return max(float(np.abs(g - w).max() / max(np.abs(w).max(), 1e-30)) for g, w in zip(got, want))


# ---- export ---------------------------------------------------------------------------------------

def extract(model, inputs, name):
    """Return the graph as a dict, and the device of its export: meta, or cpu if it has constants of its own."""
    arguments = tuple(x.to("meta") for x in inputs)
    meta = extract_ir(copy.deepcopy(model).to("meta"), arguments, model_name=name, strict=False).to_dict()
    have = set(model.state_dict()) | {k for k, _ in model.named_buffers()} | set(meta.get("constants", {}))
    if any(w["name"] not in have and 0 not in w["shape"] for w in meta["weights"]):
        return extract_ir(model, inputs, model_name=name, strict=False).to_dict(), "cpu"
    return meta, "meta"


def different(x):
    """Return another input of the same kind."""
    if x.ndim == 4 and x.shape[1] == 3:
        return image(x.shape[2], x.shape[1])[0]
    return torch.randn_like(x) if x.is_floating_point() else x.roll(1, -1)


def rope_base(model):
    config = getattr(getattr(model, "m", None), "config", None)
    parameters = getattr(config, "rope_parameters", None) or {}
    return parameters.get("rope_theta", getattr(config, "rope_theta", None))


def export(name, make, arguments, keep, folder):
    began = time.time()
    torch.manual_seed(sum(map(ord, name)))
    model = make().eval()
    inputs = arguments()
    if not keep:
        randomize(model, inputs)
    graph, device = extract(model, inputs, name)
    base = rope_base(model)
    weights = {k: v for k, v in {**dict(model.named_buffers()), **model.state_dict()}.items()
               if not (base and k.endswith("inv_freq"))}
    want = run(model, inputs, torch.float64)
    other = [different(x) for x in inputs]
    info = {"name": name, "nodes": len(graph["nodes"]), "device": device, "rope_base": base,
            "weights": len(weights), "weight_bytes": sum(v.numel() * v.element_size() for v in weights.values()),
            "inputs": [[list(x.shape), str(x.dtype)[6:]] for x in inputs], "outputs": [list(x.shape) for x in want],
            "largest": [float(np.abs(x).max()) for x in want], "torch": torch.__version__,
            "other_input": difference(run(model, other, torch.float32), want),
            "float32_error": difference(run(model, inputs, torch.float32), want)}
    try:
        info["float16_error"] = difference(run(model, inputs, torch.float16), want)
    except RuntimeError as e:
        info["float16_error"] = str(e)
    if not all(np.isfinite(x).all() and np.abs(x).max() > 1e-3 for x in want):
        raise ValueError("the outputs are not finite, or all 0: %s" % info["largest"])
    work = folder + ".part"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    with open(work + "/model.json", "w") as f:
        json.dump(graph, f, default=str)
    save_file({k: v.detach().clone().contiguous() for k, v in weights.items()}, work + "/model.safetensors")
    for i, x in enumerate(inputs):
        np.save(work + "/in_%d.npy" % i, x.numpy())
    for i, x in enumerate(want):
        np.save(work + "/out_%d.npy" % i, x.astype(np.float32))
    info["seconds"] = round(time.time() - began, 2)
    with open(work + "/info.json", "w") as f:
        json.dump(info, f, indent=1)
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(work, folder)
    return info


def number(x):
    return "%.1e" % x if isinstance(x, float) else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--out", default="build/exports")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    table = models(options.size)
    if options.list:
        print("\n".join(table))
        return 0
    unknown = [n for n in options.names if n not in table and n not in ("minilm", "tinyllama", "qwen2l_8k", "qwen2l")]
    names = [n for n in options.names or table if n in table]
    if unknown:
        parser.error("unknown models: " + ", ".join(unknown))
    failed, bytes_, began = [], 0, time.time()
    print("%-30s %6s %10s %9s %9s %9s %8s" % ("model", "nodes", "weights MB", "float32", "float16", "other in", "seconds"))
    for name in names:
        folder = os.path.join(options.out, options.size, name)
        try:
            if os.path.exists(folder + "/info.json"):
                with open(folder + "/info.json") as f:
                    info = json.load(f)
            else:
                info = export(name, *table[name], folder)
        except Exception as e:      # the other models are still made; the script fails at its end
            failed.append(name)
            print("%-30s failed: %s: %s" % (name, type(e).__name__, " ".join(str(e).split())[:300]), flush=True)
            continue
        bytes_ += info["weight_bytes"]
        print("%-30s %6d %10.1f %9s %9s %9s %8.1f" % (
            name, info["nodes"], info["weight_bytes"] / 1e6, number(info["float32_error"]), number(info["float16_error"]),
            number(info["other_input"]), info["seconds"]), flush=True)
    print("%d models, %.0f MB of weights, %.0f s%s" % (
        len(names) - len(failed), bytes_ / 1e6, time.time() - began,
        "; failed: " + ", ".join(failed) if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
