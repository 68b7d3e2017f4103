#!/usr/bin/env python3
"""Write graphs of a Qwen2 decoder in ATen operators: prefill and decode, with random weights and expected results.

    make_llama_ir.py tiny FOLDER                 2 layers of width 64
    make_llama_ir.py real FOLDER [--cut FILE]    2 layers of the widths of Qwen2.5-1.5B; --cut takes the prefill graph from
                                                 an exported file of the whole model instead of writing it
    make_llama_ir.py check FILE                  compare the generator, at full size, with an exported prefill file

The node pattern is the one that pytorch-ir writes for transformers' Qwen2ForCausalLM in bfloat16. FOLDER gets prefill/
and decode/, each with model.json, in_<i>.npy, out_<i>.npy and info.json, and one model.safetensors, in bfloat16, for
both. It has the names of a published checkpoint: "model." is missing once, lm_head.weight is tied to the embedding,
inv_freq is missing. The expected results are computed in float64 without rounding to bfloat16, by this script. The
decode step continues the prefill: its caches hold the rows that the prefill computed.

--vocabulary and --cells change the sizes. This needs numpy."""
import argparse
import collections
import json
import math
import os
import sys

import numpy as np

BF16, F32, I64, END = "bfloat16", "float32", "int64", 2**63 - 1
Sizes = collections.namedtuple("Sizes", "layers width heads groups d hidden vocabulary tokens cells base eps")
TINY = Sizes(2, 64, 4, 2, 16, 96, 128, 8, 32, 10000.0, 1e-6)
REAL = Sizes(2, 1536, 12, 2, 128, 8960, 151936, 128, 256, 1e6, 1e-6)


class Graph:
    def __init__(self, name):
        self.data = {"model_name": name, "pytorch_version": "2.10.0", "graph_inputs": [], "graph_outputs": [], "weights": [],
                     "weight_name_mapping": {}, "nodes": []}
        self.values, self.count = {}, collections.Counter()

    def input(self, name, shape, dtype):
        self.data["graph_inputs"].append({"name": name, "shape": shape, "dtype": dtype})
        self.values[name] = {"name": name, "shape": shape, "dtype": dtype, "producer_node": name, "producer_output_idx": 0}
        return name

    def weight(self, key, shape, dtype=BF16, kind="p"):
        name = kind + "_" + key.replace(".", "_")
        self.data["weights"].append({"name": key, "shape": shape, "dtype": dtype})
        self.data["weight_name_mapping"][name] = key
        self.values[name] = {"name": name, "shape": shape, "dtype": dtype}
        return name

    def shape(self, name):
        return self.values[name]["shape"]

    def node(self, op, inputs, outputs, /, **attrs):
        """Append a node; outputs are pairs (shape, dtype). Return the name of its output, or a list of names."""
        base = {"<built-in function getitem>": "getitem"}.get(op, op.split(".")[0])
        if op == "_assert_tensor_metadata.default":
            base = "_assert_tensor_metadata_default"
        name = base if not self.count[base] else "%s_%d" % (base, self.count[base])
        self.count[base] += 1
        names = [name] if len(outputs) == 1 else ["%s_%d" % (name, i) for i in range(len(outputs))]
        self.data["nodes"].append({
            "name": name, "op_type": op if base in ("getitem", "wrap_with_set_grad_enabled") else "aten." + op,
            "inputs": [dict(self.values[i]) for i in inputs],
            "outputs": [{"name": n, "shape": list(s), "dtype": t} for n, (s, t) in zip(names, outputs)], "attrs": attrs})
        for i, (n, (s, t)) in enumerate(zip(names, outputs)):
            self.values[n] = {"name": n, "shape": list(s), "dtype": t, "producer_node": name, "producer_output_idx": i}
        return names[0] if len(outputs) == 1 else names

    def unary(self, op, x, shape=None, dtype=None, /, **attrs):
        return self.node(op, [x], [(shape or self.shape(x), dtype or self.values[x]["dtype"])], **attrs)

    def binary(self, op, a, b, shape=None, dtype=BF16):
        return self.node(op, [a, b], [(shape or self.shape(a), dtype)])

    def cast(self, x, dtype):
        return self.unary("to.dtype", x, None, dtype, dtype="torch." + dtype)

    def known(self, x):
        self.node("_assert_tensor_metadata.default", [x], [], dtype="torch." + self.values[x]["dtype"], device="meta",
                  layout="torch.strided")

    def linear(self, x, weight, bias=None):
        return self.node("linear.default", [x, weight] + ([bias] if bias else []),
                         [(self.shape(x)[:-1] + self.shape(weight)[:1], BF16)])

    def norm(self, x, weight, eps):
        self.known(x)
        x = self.cast(x, F32)
        square = self.unary("pow.Tensor_Scalar", x, exponent=2)
        root = self.unary("mean.dim", square, self.shape(x)[:-1] + [1], dim=[-1], keepdim=True)
        root = self.unary("rsqrt.default", self.unary("add.Tensor", root, other=eps))
        y = self.binary("mul.Tensor", x, root, None, F32)
        self.known(y)
        return self.binary("mul.Tensor", weight, self.cast(y, BF16), self.shape(x))

    def output(self, name):
        self.data["graph_outputs"].append({k: self.values[name][k] for k in ("name", "shape", "dtype")})


def decoder(z, decode):
    """Return the graph of z.tokens tokens without caches, or of one token with z.cells cells."""
    g = Graph("decode" if decode else "prefill")
    n, cells = (1, z.cells) if decode else (z.tokens, z.tokens)
    ids = g.input("input_ids", [1, n], I64)
    mask = g.input("attention_mask", [1, 1, n, cells], F32)
    positions = g.input("position_ids", [1, n], I64)
    cell = g.input("cache_position", [n], I64)
    past = [g.input("past_kv_flat_%d" % i, [1, z.groups, cells, z.d], F32) for i in range(2 * z.layers if decode else 0)]
    g.weight("model.model.embed_tokens.weight", [z.vocabulary, z.width])
    layers = []
    for i in range(z.layers):
        key, w = "model.model.layers.%d." % i, {}
        for k, rows in (("q", z.heads * z.d), ("k", z.groups * z.d), ("v", z.groups * z.d)):
            w[k] = (g.weight(key + "self_attn.%s_proj.weight" % k, [rows, z.width]),
                    g.weight(key + "self_attn.%s_proj.bias" % k, [rows]))
        w["o"] = g.weight(key + "self_attn.o_proj.weight", [z.width, z.heads * z.d])
        for k, rows, columns in (("gate", z.hidden, z.width), ("up", z.hidden, z.width), ("down", z.width, z.hidden)):
            w[k] = g.weight(key + "mlp.%s_proj.weight" % k, [rows, columns])
        w["before"] = g.weight(key + "input_layernorm.weight", [z.width])
        w["after"] = g.weight(key + "post_attention_layernorm.weight", [z.width])
        layers.append(w)
    last = g.weight("model.model.norm.weight", [z.width])
    head = g.weight("model.lm_head.weight", [z.vocabulary, z.width])
    frequencies = g.weight("model.model.rotary_emb.inv_freq", [z.d // 2], F32, "b")
    g.weight("model.model.rotary_emb.original_inv_freq", [z.d // 2], F32, "b")
    for i, w in enumerate(layers):
        if not decode:
            key = "model.model.layers.%d.self_attn.lifted_tensor_%d"
            w["empty"] = [g.weight(key % (i, 2 * i + j), [0], BF16, "c") for j in (0, 1)]

    x = g.node("embedding.default", [head, ids], [([1, n, z.width], BF16)])
    both = g.node("wrap_with_set_grad_enabled", [frequencies, positions], [([1, n, z.d], BF16)] * 2)
    cos, sin = (g.node("<built-in function getitem>", both, [([1, n, z.d], BF16)], index=i) for i in (0, 1))
    caches = []
    for i, w in enumerate(layers):
        h, rows = g.norm(x, w["before"], z.eps), {}
        for k, heads in (("q", z.heads), ("k", z.groups), ("v", z.groups)):
            y = g.unary("view.default", g.linear(h, *w[k]), [1, n, heads, z.d], size=[1, n, -1, z.d])
            rows[k] = g.unary("transpose.int", y, [1, heads, n, z.d], dim0=1, dim1=2)
        c, s = (g.unary("unsqueeze.default", t, [1, 1, n, z.d], dim=1) for t in (cos, sin))
        for k in "qk":
            y = rows[k]
            whole = g.shape(y)
            half = whole[:3] + [z.d // 2]
            straight = g.binary("mul.Tensor", y, c)
            low = g.unary("slice.Tensor", y, half, dim=3, start=0, end=z.d // 2)
            high = g.unary("neg.default", g.unary("slice.Tensor", y, half, dim=3, start=z.d // 2, end=END))
            turned = g.node("cat.default", [high, low], [(whole, BF16)], _tensor_list_sizes=[2], dim=-1)
            rows[k] = g.binary("add.Tensor", straight, g.binary("mul.Tensor", turned, s))
        if decode:
            own = [g.node("index_copy.default", [past[2 * i + j], cell, rows[k]], [(g.shape(past[0]), F32)], dim=2)
                   for j, k in enumerate("kv")]
        else:
            empty = [g.unary("detach_.default", e) for e in w["empty"]]
            own = [g.node("cat.default", [e, rows[k]], [(g.shape(rows[k]), BF16)], _tensor_list_sizes=[2], dim=-2)
                   for e, k in zip(empty, "kv")]
        caches += own
        wide = []
        for y in own:
            y = g.unary("unsqueeze.default", y, [1, z.groups, 1, cells, z.d], dim=2)
            shape = [1, z.groups, z.heads // z.groups, cells, z.d]
            y = g.unary("expand.default", y, shape, size=shape)
            wide.append(g.unary("reshape.default", y, [1, z.heads, cells, z.d], shape=[1, z.heads, cells, z.d]))
        keys = g.unary("transpose.int", wide[0], [1, z.heads, z.d, cells], dim0=2, dim1=3)
        y = g.binary("matmul.default", rows["q"], keys, [1, z.heads, n, cells])
        y = g.unary("mul.Tensor", y, other=z.d ** -0.5)
        y = g.binary("add.Tensor", y, g.unary("alias.default", mask), None, F32)
        y = g.unary("softmax.int", y, dim=-1, dtype="torch.float32")
        g.known(y)
        y = g.unary("dropout.default", g.cast(y, BF16), p=0.0, train=False)
        y = g.binary("matmul.default", y, wide[1], [1, z.heads, n, z.d])
        y = g.unary("transpose.int", y, [1, n, z.heads, z.d], dim0=1, dim1=2)
        y = y if decode else g.unary("contiguous.default", y)
        y = g.unary("reshape.default", y, [1, n, z.heads * z.d], shape=[1, n, -1])
        x = g.binary("add.Tensor", x, g.linear(y, w["o"]))
        h = g.norm(x, w["after"], z.eps)
        y = g.unary("silu.default", g.linear(h, w["gate"]))
        y = g.binary("mul.Tensor", y, g.linear(h, w["up"]))
        x = g.binary("add.Tensor", x, g.linear(y, w["down"]))
    g.output(g.linear(g.unary("alias.default", g.norm(x, last, z.eps)), head))
    for y in caches:
        g.output(y)
    return g.data


# ---- exported files -------------------------------------------------------------------------------

def cut(data, layers):
    """Return the graph of the first layers, with the final norm and the head, of the exported prefill file."""
    made = {o["name"]: n for n in data["nodes"] for o in n["outputs"]}

    def residual(weight):
        """The value that enters the norm of this weight: mul(weight, to(mul(to(value), root)))."""
        node = next(n for n in data["nodes"] if n["op_type"] == "aten.mul.Tensor" and n["inputs"][0]["name"].endswith(weight))
        for place in (1, 0, 0):
            node = made[node["inputs"][place]["name"]]
        return node["inputs"][0]

    new, old = residual("layers_%d_input_layernorm_weight" % layers), residual("model_norm_weight")
    outputs = data["graph_outputs"][:1 + 2 * layers]
    need = {o["name"] for o in outputs}
    nodes = []
    for node in reversed(data["nodes"]):
        if not node["outputs"] or not need & {o["name"] for o in node["outputs"]}:
            continue
        node = dict(node, inputs=[dict(new) if i["name"] == old["name"] else i for i in node["inputs"]])
        need |= {i["name"] for i in node["inputs"]}
        nodes.append(node)
    kept = {n["name"]: n for n in nodes}
    ordered = []
    for node in data["nodes"]:
        if node["name"] in kept:
            ordered.append(kept[node["name"]])
        elif not node["outputs"]:
            inputs = [dict(new) if i["name"] == old["name"] else i for i in node["inputs"]]
            twice = ordered and ordered[-1]["inputs"] == inputs and not ordered[-1]["outputs"]
            if any(i["name"] in need for i in inputs) and not twice:
                ordered.append(dict(node, inputs=inputs))
    number = lambda key: int(key.split(".layers.")[1].split(".")[0]) if ".layers." in key else -1
    mapping = {k: v for k, v in data["weight_name_mapping"].items() if number(v) < layers}
    return dict(data, graph_outputs=outputs, nodes=ordered, weight_name_mapping=mapping,
                weights=[w for w in data["weights"] if number(w["name"]) < layers])


def pattern(data):
    """Return a list that is equal for equal graphs, whatever the names of their values are."""
    place = {i["name"]: ("input", k) for k, i in enumerate(data["graph_inputs"])}
    place.update({k: ("weight", v) for k, v in data["weight_name_mapping"].items()})
    result = []
    for number, node in enumerate(data["nodes"]):
        result.append((node["op_type"], [(place[i["name"]], i["shape"], i["dtype"]) for i in node["inputs"]],
                       [(o["shape"], o["dtype"]) for o in node["outputs"]], node["attrs"]))
        place.update({o["name"]: (number, k) for k, o in enumerate(node["outputs"])})
    result.append([(place[o["name"]], o["shape"], o["dtype"]) for o in data["graph_outputs"]])
    result.append([(i["name"], i["shape"], i["dtype"]) for i in data["graph_inputs"]])
    result.append(sorted((w["name"], w["shape"], w["dtype"]) for w in data["weights"]))
    return result


def differences(ours, theirs):
    a, b = pattern(ours), pattern(theirs)
    return ["%d and %d nodes" % (len(ours["nodes"]), len(theirs["nodes"]))] * (len(a) != len(b)) + \
        ["node %d:\n    %s\n    %s" % (i, x, y) for i, (x, y) in enumerate(zip(a, b)) if x != y]


# ---- weights and results --------------------------------------------------------------------------

def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(x):
    return (x.astype(np.uint32) << 16).view(np.float32)


def published(key):
    """Return the name that a published checkpoint has for the key of the graph."""
    key = key[len("model."):]
    return "model.embed_tokens.weight" if key == "lm_head.weight" else key


def random_weights(data, seed):
    """Return published name -> bfloat16 bits."""
    random, table = np.random.default_rng(seed), {}
    for w in data["weights"]:
        name, shape = published(w["name"]), w["shape"]
        if name in table or 0 in shape or name.endswith("inv_freq"):
            continue
        if "norm" in name:
            x = random.uniform(0.5, 1.5, shape)
        elif name.endswith("bias"):
            x = random.normal(0, 0.1, shape)
        else:
            x = random.standard_normal(shape, np.float32) * (0.5 if "embed" in name else shape[1] ** -0.5)
        table[name] = to_bf16(x)
    return table


def write_safetensors(path, table):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, x in table.items():
        header[name] = {"dtype": "BF16", "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for x in table.values():
            f.write(x.tobytes())


def linear(x, bits, bias=None):
    """Multiply by a weight in parts: the largest one has 1.9 GB in float64."""
    step = 8192
    y = np.concatenate([x @ from_bf16(bits[i:i + step]).astype(np.float64).T for i in range(0, len(bits), step)], -1)
    return y if bias is None else y + from_bf16(bias)


def compute(data, table, inputs, base):
    """Return the outputs of the graph in float64."""
    values = {i["name"]: x for i, x in zip(data["graph_inputs"], inputs)}
    weights = {k: table.get(published(v)) for k, v in data["weight_name_mapping"].items()}

    def get(ref):
        if ref["name"] not in weights:
            return values[ref["name"]]
        if 0 in ref["shape"]:
            return np.zeros(ref["shape"])
        return from_bf16(weights[ref["name"]]).astype(np.float64)

    for node in data["nodes"]:
        op, a, refs = node["op_type"].replace("aten.", ""), node["attrs"], node["inputs"]
        if not node["outputs"]:
            continue
        shape = node["outputs"][0]["shape"]
        if op == "embedding.default":
            y = from_bf16(weights[refs[0]["name"]][get(refs[1])]).astype(np.float64)
        elif op == "linear.default":
            y = linear(get(refs[0]), weights[refs[1]["name"]], weights[refs[2]["name"]] if len(refs) > 2 else None)
        elif op == "wrap_with_set_grad_enabled":
            angles = get(refs[1])[..., None] * base ** (-np.arange(0, shape[-1], 2) / shape[-1])
            angles = np.concatenate([angles, angles], -1)
            for o, y in zip(node["outputs"], (np.cos(angles), np.sin(angles))):
                values[o["name"]] = y
            continue
        else:
            x = [get(r) for r in refs] + ([a["other"]] if "other" in a else [])
            if op == "add.Tensor":
                y = x[0] + x[1]
            elif op == "mul.Tensor":
                y = x[0] * x[1]
            elif op == "matmul.default":
                y = x[0] @ x[1]
            elif op == "pow.Tensor_Scalar":
                y = x[0] ** a["exponent"]
            elif op == "mean.dim":
                y = x[0].mean(tuple(a["dim"]), keepdims=a["keepdim"])
            elif op == "rsqrt.default":
                y = 1 / np.sqrt(x[0])
            elif op == "neg.default":
                y = -x[0]
            elif op == "silu.default":
                y = x[0] / (1 + np.exp(-x[0]))
            elif op == "softmax.int":
                y = np.exp(x[0] - x[0].max(a["dim"], keepdims=True))
                y = y / y.sum(a["dim"], keepdims=True)
            elif op == "transpose.int":
                y = np.swapaxes(x[0], a["dim0"], a["dim1"])
            elif op == "slice.Tensor":
                y = np.take(x[0], range(a["start"], min(a["end"], x[0].shape[a["dim"]])), a["dim"])
            elif op == "cat.default":
                y = np.concatenate([t for t in x if t.shape != (0,)], a["dim"])
            elif op == "index_copy.default":
                y = np.array(x[0], np.float64)
                y[:, :, x[1]] = x[2]
            elif op == "expand.default":
                y = np.broadcast_to(x[0], shape)
            elif op in ("view.default", "reshape.default", "unsqueeze.default"):
                y = x[0].reshape(shape)
            elif op == "<built-in function getitem>":
                y = x[a["index"]]
            elif op in ("to.dtype", "alias.default", "detach_.default", "dropout.default", "contiguous.default"):
                y = x[0]
            else:
                raise ValueError("node \"%s\": operator \"%s\" is unknown here" % (node["name"], op))
        assert list(y.shape) == shape, (node["name"], y.shape, shape)
        values[node["outputs"][0]["name"]] = y
    return [values[o["name"]] for o in data["graph_outputs"]]


def save(folder, name, data, inputs, outputs, z):
    folder = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/model.json", "w") as f:
        json.dump(data, f)
    for kind, list_ in (("in", inputs), ("out", outputs)):
        for i, x in enumerate(list_):
            np.save("%s/%s_%d.npy" % (folder, kind, i), x if x.dtype == np.int64 else x.astype(np.float32))
    with open(folder + "/info.json", "w") as f:
        json.dump({"name": name, "nodes": len(data["nodes"]), "rope_base": z.base, "weights": "../model.safetensors",
                   "largest": [float(np.abs(x).max()) for x in outputs]}, f, indent=1)
    print("%s: %d nodes, largest outputs %s"
          % (folder, len(data["nodes"]), " ".join("%.3g" % np.abs(x).max() for x in outputs)))


def make(z, folder, source):
    prefill, decode = decoder(z, False), decoder(z, True)
    if source:
        with open(source) as f:
            prefill = cut(json.load(f), z.layers)
        wrong = differences(decoder(z, False), prefill)
        if wrong:
            raise SystemExit("make_llama_ir: the generator and the cut of %s differ:\n%s" % (source, "\n".join(wrong[:4])))
    table = random_weights(prefill, 1)
    os.makedirs(folder, exist_ok=True)
    write_safetensors(folder + "/model.safetensors", table)
    random = np.random.default_rng(2)
    n, low = z.tokens, -10000.0
    ids = random.integers(0, z.vocabulary, (1, n))
    mask = np.triu(np.full((n, n), low, np.float32), 1)[None, None]
    inputs = [ids, mask, np.arange(n)[None], np.arange(n)]
    outputs = compute(prefill, table, inputs, z.base)
    save(folder, "prefill", prefill, inputs, outputs, z)
    caches = []
    for rows in outputs[1:]:
        cache = np.zeros((1, z.groups, z.cells, z.d), np.float32)
        cache[:, :, :n] = rows
        caches.append(cache)
    mask = np.where(np.arange(z.cells) <= n, 0, low).astype(np.float32)[None, None, None]
    inputs = [np.array([[int(outputs[0][0, -1].argmax())]]), mask, np.array([[n]]), np.array([n])] + caches
    save(folder, "decode", decode, inputs, compute(decode, table, inputs, z.base), z)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=("tiny", "real", "check"))
    parser.add_argument("path", metavar="FOLDER|FILE")
    parser.add_argument("--cut", metavar="FILE")
    parser.add_argument("--vocabulary", type=int)
    parser.add_argument("--cells", type=int)
    options = parser.parse_args()
    if options.kind == "check":
        with open(options.path) as f:
            theirs = json.load(f)
        wrong = differences(decoder(REAL._replace(layers=28), False), theirs)
        print("%d nodes, %d differences" % (len(theirs["nodes"]), len(wrong)), *wrong[:4], sep="\n")
        return 1 if wrong else 0
    z = TINY if options.kind == "tiny" else REAL
    z = z._replace(**{k: v for k, v in vars(options).items() if k in ("vocabulary", "cells") and v})
    make(z, options.path, options.cut)
    return 0


if __name__ == "__main__":
    sys.exit(main())
