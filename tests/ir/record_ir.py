#!/usr/bin/env python3
"""Record what PyTorch computes for each operator of tools/qnnrt_ir.h, as a graph with expected results.

    python3 tests/ir/record_ir.py ops >tests/data/ir/ops.json

The cases of an area are in tests/ir/cases/AREA.py, and tests/harness/ir_recorded.h names the files. Needs torch; the
tests need only its output. Each node is written as the exporter pytorch-ir writes it: tensors among the positional
arguments are inputs, the others are attrs. Inputs are constants of the graph, and the constant expected/<output> has
what torch computes."""
import json
import math
import os
import sys

import torch

aten = torch.ops.aten
torch.manual_seed(1)
graph = {"model_name": "ops", "pytorch_version": torch.__version__, "graph_inputs": [], "graph_outputs": [], "weights": [],
         "weight_name_mapping": {}, "nodes": [], "constants": {}}


def short(x):
    """The elements as nested lists, with few digits."""
    if x.dtype in (torch.float16, torch.bfloat16, torch.float32):
        def cut(v):
            if isinstance(v, list):
                return [cut(w) for w in v]
            return v if not math.isfinite(v) else float("%.9g" % v)
        return cut(x.to(torch.float32).tolist())
    return x.tolist()


def meta(name, x):
    return {"name": name, "shape": list(x.shape), "dtype": str(x.dtype).replace("torch.", "")}


def plain(v):
    if isinstance(v, (torch.dtype, torch.layout, torch.device, torch.memory_format)):
        return str(v)
    return [plain(w) for w in v] if isinstance(v, (list, tuple)) else v


names = {}


def value(x):
    """The tensor as an input: a constant, stored once."""
    key = (id(x))
    if key not in names:
        name = "k%d" % len(names)
        names[key] = (name, x)
        graph["weight_name_mapping"]["c_" + name] = name
        graph["constants"][name] = {"data": short(x), "dtype": str(x.dtype).replace("torch.", "")}
    return meta("c_" + names[key][0], x)


def run(op, *args, **kwargs):
    number = len(graph["nodes"])
    schema = op._schema.arguments
    inputs, sizes, masks = [], [], []
    attrs = {k: plain(v) for k, v in kwargs.items() if not isinstance(v, torch.Tensor)}
    given = []
    for argument, arg in zip(schema, args):
        many = "List[Tensor]" in str(argument.type) or "List[Optional[Tensor]]" in str(argument.type)
        if isinstance(arg, torch.Tensor):
            if argument.alias_info is not None and argument.alias_info.is_write:
                arg = arg.clone()                  # a constant of its own: no other node reads what this one overwrites
            inputs.append(value(arg))
            arg = arg.clone()
        elif many:
            there = [a for a in arg if a is not None]
            inputs += [value(a) for a in there]
            sizes.append(len(there))
            if len(there) < len(arg):
                masks.append([a is None for a in arg])
        elif not (arg is None and "Tensor" in str(argument.type)):
            attrs[argument.name] = plain(arg)
        given.append(arg)
    inputs += [value(v) for v in kwargs.values() if isinstance(v, torch.Tensor)]
    if sizes:
        attrs["_tensor_list_sizes"] = sizes
    if masks:
        attrs["_tensor_list_none_masks"] = masks
    result = op(*given, **kwargs)
    results = list(result) if isinstance(result, (tuple, list)) else [result] if result is not None else []
    name = "n%d" % number
    outputs = []
    for i, x in enumerate(results):
        out = name if isinstance(result, torch.Tensor) else "%s_%d" % (name, i)
        outputs.append(meta(out, x))
        graph["constants"]["expected/" + out] = {"data": short(x), "dtype": str(x.dtype).replace("torch.", "")}
    graph["graph_outputs"] += outputs
    graph["nodes"].append({"name": name, "op_type": str(op), "inputs": inputs, "outputs": outputs, "attrs": attrs})
    if op is aten.clamp.Tensor and None in args:    # pytorch-ir does not say which bound is there, qnnrt.export() does
        graph["nodes"][-1]["inputs_there"] = "".join("-" if a is None else "x" for a in args)


def f(*shape, dtype=torch.float32, scale=16):
    """Small multiples of 1/16, exact in every float type."""
    return (torch.randint(-3 * scale, 3 * scale + 1, shape).to(torch.float32) / scale).to(dtype)


def n(*shape, low=-5, high=6, dtype=torch.int64):
    return torch.randint(low, high, shape).to(dtype)


def b(*shape):
    return torch.randint(0, 2, shape).bool()


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases", sys.argv[1] + ".py"), encoding="utf-8") as file:
    exec(compile(file.read(), file.name, "exec"))  # pylint: disable=exec-used


def compact(value):
    return json.dumps(value, separators=(",", ":"))


# One case a line: each node, tensor and constant.
parts = []
for key, value in graph.items():
    if isinstance(value, list) and value:
        text = "[\n%s\n]" % ",\n".join(map(compact, value))
    elif isinstance(value, dict) and value:
        text = "{\n%s\n}" % ",\n".join("%s:%s" % (compact(name), compact(item)) for name, item in value.items())
    else:
        text = compact(value)
    parts.append("%s:%s" % (compact(key), text))
sys.stdout.write("{\n%s\n}" % ",\n".join(parts))
sys.stdout.write("\n")
