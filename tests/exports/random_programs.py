#!/usr/bin/env python3
"""Random programs of the operators that qnnrt knows, compared with what torch computes.

    random_programs.py [--backend host,ref,cpu,htp] [--runs 2000] [--seed 1] [--out build/exports/random] [--report FILE]
    random_programs.py --backend ref --only NUMBER[,NUMBER] --keep_files     one program again

A program has one to five nodes (random_ops.py draws their arguments). Twenty programs are one graph: "host" evaluates it
in this process, the others compile it with qnnrt-run for the library and the host, and run it. An output must have
torch's dtype and shape; integers are equal; floats differ by at most 1e-4 of the largest (htp: 2e-2) plus what torch's own
results move when values of the program are rounded (so a tie or a step that rounding decides does not count); NaN
and infinities are at torch's places. Libraries compute float64 in float32, which the compiler notes: what float32 does not hold does not
count there; and they have no infinity as an operand of remainder, fmod or a division that is rounded. cpu and htp have programs without these, htp within the range of float16.

Programs that are wrong are shrunk: to the fewest nodes, then smaller tensors, and printed. Results of finished graphs are
kept in OUT, and used again with the same seed, program and libraries. The exit status is 1 if something is wrong."""
import argparse
import collections
import ctypes
import hashlib
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time
import warnings

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(TOP, "tools", "python")]
import random_ops  # noqa: E402  pylint: disable=wrong-import-position

BARS = {"host": 1e-4, "ref": 1e-4, "cpu": 1e-4, "htp": 2e-2}
NAMES = {"host": "the host's evaluation", "ref": "libQnnRef.so and host", "cpu": "libQnnCpu.so 2.47 and host", "htp": "libQnnHtp.so 2.51 and host"}
# Programs of these have finite values only, up to here: libQnnCpu.so has no infinity, and HTP computes in float16
LARGEST = {"cpu": 1e30, "htp": 2e4}
# Elements are moved or chosen, never rounded
MOVES = set("""alias detach clone contiguous lift_fresh lift_fresh_copy view reshape view_as reshape_as expand expand_as flatten unflatten unsqueeze squeeze
 permute transpose t numpy_T movedim slice narrow select cat stack split split_with_sizes chunk unbind repeat repeat_interleave pad roll flip index
 index_select gather scatter masked_scatter index_put slice_scatter index_copy embedding relu neg abs sign floor ceil round trunc maximum minimum max min amax amin
 where masked_fill tril triu dropout feature_dropout relu6 sort topk pixel_shuffle max_pool1d max_pool2d getitem broadcast_to swapaxes moveaxis
 tensor_split as_strided diagonal unfold take take_along_dim rot90 fliplr flipud""".split())
# The result is exact where its type has it
EXACT = set("""clamp clamp_min clamp_max hardtanh full ones zeros full_like ones_like zeros_like new_full new_ones new_zeros fill scalar_tensor arange constant_pad_nd
 to _to_copy type_as copy add sub rsub mul square sum diff""".split())
NEAR_ONE = {"logsumexp", "sin", "cos", "tan", "sinc"}          # the error is that of a number near 1, or of an angle
STEPS = {"remainder", "floor_divide", "div", "fmod"}          # on htp, or by a number that no type has exactly, rounding decides
TIES = {"topk", "sort", "argsort", "kthvalue", "median", "mode", "argmax", "argmin", "max", "min"}    # argmax and the like: on htp only


class Ref(str):
    """The name of a value, as an argument."""


class Program:
    """inputs: {name: tensor}; constants: names of those; nodes: [(op, args, kwargs, names of outputs)]."""

    def __init__(self, number):
        self.number, self.inputs, self.constants, self.spans, self.nodes = number, {}, set(), {}, []

    def copy(self):
        p = Program(self.number)
        p.inputs, p.constants, p.spans, p.nodes = dict(self.inputs), set(self.constants), dict(self.spans), list(self.nodes)
        return p

    def outputs(self):
        """The values that no node reads."""
        used = set()
        for _, args, kwargs, _ in self.nodes:
            each([args, list(kwargs.values())], lambda r: used.add(r))
        return [name for n in self.nodes for name in n[3] if name not in used]

    def text(self):
        """One line a node."""
        lines = ["%s = %s%s" % (n, shown(x), " constant" if n in self.constants else " in %s" % (self.spans[n],) if n in self.spans else "") for n, x in self.inputs.items()]
        for op, args, kwargs, names in self.nodes:
            lines.append("%s = %s(%s)" % (", ".join(names), op, ", ".join([plain_text(a) for a in args] + ["%s=%s" % (k, plain_text(v)) for k, v in kwargs.items()])))
        return "\n".join(lines)


def shown(x):
    """A tensor as text."""
    flat = x.reshape(-1).tolist()
    return "%s%s %s" % (str(x.dtype).replace("torch.", ""), list(x.shape), str(flat[:12])[:-1] + (", ..]" if len(flat) > 12 else "]"))


def plain_text(v):
    if isinstance(v, list):
        return "[" + ", ".join(map(plain_text, v)) + "]"
    return str(v) if isinstance(v, (Ref, torch.dtype)) else repr(v)


def each(v, function):
    """Call a function with each Ref, and put what it returns in its place."""
    if isinstance(v, Ref):
        return function(v)
    if isinstance(v, (list, tuple)):
        return [each(w, function) for w in v]
    return v


# ---- programs ----------------------------------------------------------------------------------------

def apply(op, args, kwargs):
    """Compute a node; return a list of tensors."""
    result = random_ops.op_of(op)(*args, **kwargs)
    result = list(result) if isinstance(result, (tuple, list)) else [result]
    return [x.detach().clone(memory_format=torch.contiguous_format) for x in result]     # not a view of another


def generate(seed, number, ops, largest):
    """Make a program; largest: of finite values, or None."""
    dice = random.Random("%d/%d/%s" % (seed, number, largest))
    p, env = Program(number), {}
    special = dice.random() < 0.12
    want = dice.choice((1, 1, 2, 2, 3, 4, 5))
    for _ in range(want * 20):
        if len(p.nodes) == want:
            break
        name = dice.choice(ops)
        g = random_ops.Draw(dice, list(env.values()), largest is not None)
        g.special = special
        try:
            args, kwargs = random_ops.arguments(g, name)
            results = apply(name, args, kwargs)
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, ZeroDivisionError, OverflowError, AttributeError):
            continue
        if not results or any(x.numel() > 4000 or x.is_complex() or x.dim() > (5 if largest else 8) or x.layout != torch.strided for x in results) or len(results) > 12:
            continue
        if undefined(name, args, results):
            continue
        if largest and any(x.dtype.is_floating_point and not (x.isfinite() & (x.abs() < largest)).all() for x in results):
            continue
        if largest and any(random_ops.kind(x) == "f" for x in results) and any(
                isinstance(x, torch.Tensor) and random_ops.kind(x) == "i" and x.numel() and int(x.abs().max()) > largest for x in args):
            continue                                         # they become floats
        if (not special or largest) and dice.random() < 0.9 and any(x.dtype.is_floating_point and not x.isfinite().all() for x in results):
            continue
        known = {id(v): k for k, v in env.items()}

        def keep(v):
            if isinstance(v, torch.Tensor):
                if id(v) not in known:
                    called = "i%d" % len(p.inputs)
                    p.inputs[called] = env[called] = v
                    known[id(v)] = called
                    if getattr(v, "spans", None):
                        p.spans[called] = v.spans
                    if (dice.random() < 0.25 or getattr(v, "constant", False)) and (not v.dtype.is_floating_point or v.isfinite().all()):
                        p.constants.add(called)
                return Ref(known[id(v)])
            return [keep(w) for w in v] if isinstance(v, (list, tuple)) else v
        names = ["n%d" % len(p.nodes)] if len(results) == 1 and not many(name) else ["n%d_%d" % (len(p.nodes), i) for i in range(len(results))]
        p.nodes.append((name, [keep(a) for a in args], {k: keep(v) for k, v in kwargs.items()}, names))
        env.update(zip(names, [x.clone() for x in results]))
    return p if p.nodes else generate(seed, number + 1000003, ops, largest)


def undefined(name, args, results):
    """True where floats become integers that do not hold them, which C does not define, and for places of NaN."""
    reals = [x for x in args if isinstance(x, torch.Tensor) and x.dtype.is_floating_point]
    if name.startswith(("arg", "max.dim", "min.dim")) and any(x.isnan().any() for x in reals):
        return True                                          # libraries do not choose NaN
    for x in results:
        if random_ops.kind(x) != "i" or not reals or name.startswith(("arg", "max", "min", "topk", "sort", "searchsorted", "bucketize")):
            continue
        info = torch.iinfo(x.dtype)
        if any(not ((y.double() >= info.min) & (y.double() <= min(info.max, 2**62))).all() for y in reals):
            return True
    return False


def many(name):
    """True where a node has several outputs, or a list of them."""
    returns = random_ops.op_of(name)._schema.returns
    return len(returns) != 1 or "List" in str(returns[0].type)


# ---- what torch computes ------------------------------------------------------------------------------

def wider(v):
    if isinstance(v, torch.Tensor):
        return v.double() if v.dtype.is_floating_point else v
    if isinstance(v, torch.dtype):
        return torch.float64 if v.is_floating_point else v
    return [wider(w) for w in v] if isinstance(v, (list, tuple)) else v


def evaluate(p, wide, noise=None):
    """Return all values of a program. noise(op, x, dtype) moves results; x is in float64."""
    env = {k: wider(v) if wide else v for k, v in p.inputs.items()}
    if noise:
        env = {k: noise("", v, p.inputs[k].dtype) if v.dtype.is_floating_point else v for k, v in env.items()}
    for op, args, kwargs, names in p.nodes:
        args = each(args, lambda r: env[r])
        kwargs = {k: each(v, lambda r: env[r]) for k, v in kwargs.items()}
        if wide:
            args, kwargs = [wider(a) for a in args], {k: wider(v) for k, v in kwargs.items()}
        if noise and op.split(".")[0] in TIES and isinstance(args[0], torch.Tensor) and args[0].dtype.is_floating_point:
            args[0] = noise("ties", args[0], None)
        if noise and op.split(".")[0] in STEPS and isinstance(args[0], torch.Tensor):
            broken = isinstance(args[1], float) and args[1] * 64 % 1
            if args[0].dtype.is_floating_point:
                args[0] = noise("steps" if broken else "exact", args[0], torch.float32)
            elif broken:
                args[1] = noise("steps", torch.tensor(args[1], dtype=torch.float64), torch.float32).item()
        results = apply(op, args, kwargs)
        if noise:
            results = [noise(op, x, p.native[n].dtype) if x.dtype.is_floating_point else x for x, n in zip(results, names)]
        env.update(zip(names, results))
    return env


def noise_of(backend, seed, sign):
    """Return a function that moves values as rounding of a backend would; with the other sign it moves them the other way, with 0 it rounds them."""
    maker = torch.Generator().manual_seed(seed)

    def signs(x):
        return torch.where(torch.rand(x.shape, generator=maker) < 0.5, -1.0, 1.0).double() * sign
    types = {"host": None, "ref": torch.float32, "cpu": torch.float32, "htp": torch.float16}
    steps = {torch.float64: 1e-14, torch.float32: 4e-7, torch.float16: 1.5e-3, torch.bfloat16: 1.2e-2}

    def noise(op, x, dtype):
        if op == "ties" or op == "exact":
            return x if backend != "htp" else x * (1 + 1e-3 * signs(x))
        if op.split(".")[0] in MOVES:
            return x
        to = max(types[backend] or torch.float32, dtype, key=lambda t: steps[t])     # in half, constants are rounded to their own type
        step = steps[to]
        if sign == 0:
            return x.to(to).double()
        moved = x * (1 + step * signs(x)) + (1e-6 * signs(x) if backend == "htp" else 0)
        if op == "" or op.split(".")[0] in EXACT:
            moved = torch.where(x.to(to).double() == x, x, moved)
        elif op.split(".")[0] in NEAR_ONE:
            moved = moved + step * signs(x)
        if types[backend]:                               # float64 is computed in float32, as the compiler says
            moved = torch.where(moved.abs() > 3.4028235e38, moved.sign() * math.inf, moved)
        return torch.where(x.isfinite(), moved, x)
    return noise


def expected(p, backend):
    """Return {output: (torch's own value, lowest, highest, counted)}: bounds in float64."""
    p.native = evaluate(p, False)
    runs = [evaluate(p, True)] + [evaluate(p, True, noise_of(backend, p.number * 2 + i // 2, 1 - i % 2 * 2)) for i in range(6)]
    runs.append(evaluate(p, True, noise_of(backend, 0, 0)))
    half = any(x.dtype in (torch.float16, torch.bfloat16) for x in p.native.values())
    found = {}
    for name in p.outputs():
        own = p.native[name]
        all_ = [r[name] for r in runs]
        if any(x.shape != own.shape for x in all_):
            continue
        all_ += [] if half and own.dtype.is_floating_point else [own]
        stack = torch.stack([x.double() for x in all_]) if all_[0].dtype.is_floating_point else torch.stack([x.to(torch.int64) for x in all_])
        if own.dtype.is_floating_point:
            kinds = torch.stack([sort_of(x) for x in list(stack) + ([own.double()] if half else [])])
            counted = (kinds == kinds[0]).all(0)
        else:
            counted = (stack == stack[0]).all(0)
        found[name] = (own, stack.amin(0), stack.amax(0), counted)
    return found


def sort_of(x):
    """0 finite, 1 NaN, 2 infinity, 3 its negative."""
    return torch.where(x.isnan(), 1, torch.where(x == math.inf, 2, torch.where(x == -math.inf, 3, 0)))


def judge(want, got, backend):
    """Compare an output; return "" or what is wrong, how many elements were compared, and how many did not count."""
    own, low, high, counted = want
    if own.numel() == 0:
        return "", 0, 0
    if got is None:
        return "the output is missing", 0, 0
    if got.numel() != own.numel():
        return "%d elements, expected %d" % (got.numel(), own.numel()), 0, 0
    got = got.reshape(own.shape)
    used, left = int(counted.sum()), int((~counted).sum())
    if own.dtype.is_floating_point:
        got = got.double()
        same = sort_of(got) == sort_of(low)
        finite = counted & low.isfinite() & high.isfinite()
        scale = float(low[finite].abs().max()) if finite.any() else 0.0
        room = BARS[backend] * max(scale, 5e-2 if backend == "htp" else 1e-3) + 4 * (high - low)
        room = room + {torch.float16: 1e-3, torch.bfloat16: 8e-3}.get(own.dtype, 0) * high.abs()
        near = (got >= low - room) & (got <= high + room)
        bad = counted & ~torch.where(low.isfinite(), same & near, same)
    else:
        bad = counted & (got.to(torch.int64) != low)
    if not bad.any():
        return "", used, left
    at = tuple(int(v) for v in bad.nonzero()[0])
    pick = lambda x: x[at].item()  # noqa: E731
    return "%d of %d elements, first at %s: %s, expected %s (%s)" % (int(bad.sum()), own.numel(), list(at), pick(got), pick(own), str(own.dtype)[6:]), used, left


# ---- graphs ------------------------------------------------------------------------------------------

def number_text(v):
    if isinstance(v, float) and not math.isfinite(v):
        return {"float": struct.pack("<d", v).hex()}
    if isinstance(v, (torch.dtype, torch.device)):
        return str(v)
    return [number_text(w) for w in v] if isinstance(v, (list, tuple)) else v


def graph_of(programs, empty):
    """Return a graph with the programs side by side; empty: outputs may have no elements."""
    graph = {"format": "qnnrt.graph", "version": 1, "model_name": "random", "graph_inputs": [], "graph_outputs": [], "weights": [], "weight_name_mapping": {}, "nodes": [],
             "constants": {}, "ranges": {}}

    def meta(name, x, producer=None):
        return {"name": name, "shape": list(x.shape), "dtype": str(x.dtype)[6:], **({"producer_node": producer[0], "producer_output_idx": producer[1]} if producer else {})}
    for p in programs:
        head, made = "p%d_" % p.number, {}
        for name, x in p.inputs.items():
            called = head + name
            if name in p.constants:
                graph["weight_name_mapping"]["c_" + called] = called
                graph["constants"][called] = {"data": x.to(torch.float64).tolist() if x.dtype.is_floating_point else x.tolist(), "dtype": str(x.dtype)[6:]}
                made[name] = meta("c_" + called, x)
            else:
                graph["graph_inputs"].append(meta(called, x, (called, 0)))
                if name in p.spans:
                    graph["ranges"][called] = list(p.spans[name])
                elif random_ops.kind(x) == "i" and x.numel():
                    graph["ranges"][called] = [int(x.min()), int(x.max())]
                made[name] = meta(called, x, (called, 0))
        for number, (op, args, kwargs, names) in enumerate(p.nodes):
            node = {"name": head + "node%d" % number, "op_type": op if op.startswith(("torchvision", "qnnrt")) else "aten." + op, "inputs": [], "outputs": [], "attrs": {}}
            there, sizes, masks = "", [], []
            schema = random_ops.op_of(op)._schema.arguments
            named = [(a, kwargs[a.name]) for a in schema[len(args):] if isinstance(kwargs.get(a.name), Ref)]
            for argument, value in list(zip(schema, args)) + named:
                if isinstance(value, Ref):
                    node["inputs"].append(made[value])
                    there += "x"
                elif isinstance(value, list) and any(isinstance(v, Ref) for v in value):
                    node["inputs"] += [made[v] for v in value if v is not None]
                    sizes.append(sum(v is not None for v in value))
                    there += "".join("-" if v is None else "x" for v in value)
                    if None in value:
                        masks.append([v is None for v in value])
                elif value is None and "Tensor" in str(argument.type):
                    there += "-"
                else:
                    node["attrs"][argument.name] = number_text(value)
            node["attrs"].update({k: number_text(v) for k, v in kwargs.items() if not isinstance(v, Ref)})
            if sizes:
                node["attrs"]["_tensor_list_sizes"] = sizes
            if masks:
                node["attrs"]["_tensor_list_none_masks"] = masks
            elif "-" in there.rstrip("-"):
                node["inputs_there"] = there
            for i, name in enumerate(names):
                made[name] = meta(head + name, p.native[name], (node["name"], i))
                node["outputs"].append(meta(head + name, p.native[name]))
            graph["nodes"].append(node)
        graph["graph_outputs"] += [made[name] for name in p.outputs() if empty or p.native[name].numel()]
    return graph


# ---- backends ----------------------------------------------------------------------------------------

class Failed(Exception):
    """A graph that does not compile or run."""


def evaluated(options, programs):
    """Evaluate a graph in this process with qnnrt_ir_run()."""
    import qnnrt._abi as abi
    library, err = options.library, abi.qnnrt_error()
    graph = graph_of(programs, True)
    text, ir = json.dumps(graph).encode(), ctypes.c_void_p()
    try:
        if library.qnnrt_ir_read(text, ctypes.c_size_t(len(text)), None, ctypes.byref(ir), ctypes.byref(err)) or \
                library.qnnrt_ir_check(ir, None, None, ctypes.byref(err)):
            raise Failed(err.text.decode("utf-8", "replace"))
        inputs = [p.inputs[n].contiguous() for p in programs for n in p.inputs if n not in p.constants]
        outputs = [(p, n, torch.zeros(p.native[n].shape, dtype=p.native[n].dtype)) for p in programs for n in p.outputs()]
        spare = ctypes.create_string_buffer(16)
        place = lambda x: x.data_ptr() if x.numel() else ctypes.addressof(spare)  # noqa: E731
        read = (ctypes.c_void_p * max(1, len(inputs)))(*[place(x) for x in inputs])
        write = (ctypes.c_void_p * max(1, len(outputs)))(*[place(x) for _, _, x in outputs])
        if library.qnnrt_ir_run(ir, None, read, write, ctypes.byref(err)):
            raise Failed(err.text.decode("utf-8", "replace"))
    finally:
        library.qnnrt_ir_free(ir)
    return {(p.number, n): x for p, n, x in outputs}


def command(words, seconds):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        raise Failed("late: no end after %d s" % seconds) from late
    if done.returncode:
        text = (done.stderr or done.stdout).decode("utf-8", "replace")
        raise Failed("status %d: %s" % (done.returncode, text.strip()))
    return done.stdout.decode("utf-8", "replace")


def compiled(options, programs, backend):
    """Compile a graph and run it."""
    import numpy
    work = "%s/work.%s" % (options.out, backend)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    graph, library = graph_of(programs, False), options.libraries[backend]
    if len(programs) == 1:                               # something for the library, and an input
        graph["graph_inputs"].append({"name": "beside", "shape": [2], "dtype": "float32"})
        graph["graph_outputs"].append({"name": "beside_out", "shape": [2], "dtype": "float32", "producer_node": "beside_out", "producer_output_idx": 0})
        graph["nodes"].append({"name": "beside_out", "op_type": "aten.relu.default", "inputs": [{"name": "beside", "shape": [2], "dtype": "float32", "producer_node": "beside",
                               "producer_output_idx": 0}], "outputs": [{"name": "beside_out", "shape": [2], "dtype": "float32"}], "attrs": {}})
    with open(work + "/graph.json", "w") as f:
        json.dump(graph, f)
    role = "npu" if backend == "htp" else "cpu"
    said = command([options.tool, "compile", work + "/graph.json", "--output_dir", work + "/bin", "--backends", role + ",host", "--backend_so", "%s=%s" % (role, library),
                    "--explain_plan", *options.more], options.seconds)
    beyond = [x for p in programs for n, x in p.native.items() if n not in p.inputs and x.dtype == torch.float64 and (x.isfinite() & (x.abs() > 3.4e38)).any()]
    if beyond and "float64 in PyTorch" not in said:
        raise Failed("a result beyond float32, without a note")
    data = b""
    for name in sorted(os.listdir(work + "/bin")):
        with open("%s/bin/%s" % (work, name), "rb") as f:
            data += f.read() + b"\0"
    words = []
    if len(programs) == 1:
        numpy.save(work + "/beside.npy", numpy.ones(2, "f4"))
        words.append("beside:=%s/beside.npy" % work)
    for p in programs:
        for name, x in p.inputs.items():
            called = "p%d_%s" % (p.number, name)
            if name in p.constants or not re.search(rb"(?<!\w)%s(?!\w)" % called.encode(), data):
                continue                             # nothing reads it: the compiled graph lacks it
            numpy.save("%s/%s.npy" % (work, called), (x.float() if x.dtype == torch.bfloat16 else x).numpy())
            words.append("%s:=%s/%s.npy" % (called, work, called))
    run = [options.tool, "run", work + "/bin", "--output_dir", work + "/out", "--num_inferences", "1", "--output_data_type", "native"]
    with open(work + "/bin/qnnrt.json") as f:
        run += ["--backend_so", "%s=%s" % (role, library)] if '"%s"' % role in f.read() else []
    while True:
        with open(work + "/inputs.txt", "w") as f:
            f.write(" ".join(words) + "\n")
        try:
            command(run + (["--input_list", work + "/inputs.txt"] if words else []), options.seconds)
            break
        except Failed as failed:                             # its name is there, but what reads it was folded
            called = re.search(r"\"(\w+):=\S+\" is no input", str(failed))
            if not called:
                raise
            words = [w for w in words if not w.startswith(called[1] + ":=")]
    files = {}
    for folder, _, names in os.walk(work + "/out"):
        for name in names:
            files[re.sub(r"(_native)?\.raw$", "", name)] = os.path.join(folder, name)
    outputs = {}
    for p in programs:
        for name in p.outputs():
            own, path = p.native[name], files.get("p%d_%s" % (p.number, name))
            if path is None:
                continue
            with open(path, "rb") as f:
                raw = f.read()
            width = len(raw) // own.numel() if own.numel() else 0
            real = own.dtype.is_floating_point
            kinds = {2: "<f2", 4: "<f4", 8: "<f8"} if real else {1: "i1" if own.dtype == torch.int8 else "u1", 2: "<i2", 4: "<i4", 8: "<i8"}
            if width and (width not in kinds or width * own.numel() != len(raw)):
                raise Failed("the output %s has %d bytes" % (name, len(raw)))
            outputs[p.number, name] = torch.from_numpy(numpy.frombuffer(raw, kinds.get(width, "u1")).copy())
    count_places(options.places[backend], said, role)
    if not options.keep_files:
        shutil.rmtree(work, ignore_errors=True)
    return outputs


def count_places(places, said, role):
    """Count for each operator which nodes the library computes, from the lines of --explain_plan."""
    for op, where in re.findall(r"^  \S+ +(\S+) +step \d+ +(\w+) +of ", said, re.M):
        places[op, where if where == role else "host"] += 1


def check(options, programs, backend):
    """Return {number: (verdict, text)} of programs; a graph that fails is divided."""
    try:
        outputs = evaluated(options, programs) if backend == "host" else compiled(options, programs, backend)
    except Failed as failed:
        if len(programs) == 1:
            text = re.sub(r"p\d+_", "", str(failed))
            crash = text.startswith(("status -", "late"))
            return {programs[0].number: ("crash" if crash else "refused", text)}
        half = len(programs) // 2
        return {**check(options, programs[:half], backend), **check(options, programs[half:], backend)}
    verdicts = {}
    for p in programs:
        why = []
        for name, want in p.want.items():
            text, used, left = judge(want, outputs.get((p.number, name)), backend)
            options.elements[backend] += torch.tensor([used, left])
            if text:
                why.append("%s: %s" % (name, text))
        verdicts[p.number] = ("wrong", "; ".join(why)) if why else ("right", "")
    return verdicts


# ---- shrinking ---------------------------------------------------------------------------------------

def again(options, p, backend):
    """Return the verdict of one program, or None if torch refuses it."""
    try:
        p.native = None
        p.want = expected(p, backend)
    except Exception:  # pylint: disable=broad-except
        return None
    return check(options, [p], backend)[p.number]


def without_node(p, i, native):
    """Return the program without node i: its results are inputs."""
    q = p.copy()
    for name in q.nodes[i][3]:
        q.inputs[name] = native[name].clone()
    del q.nodes[i]
    return tidy(q)


def tidy(q):
    """Leave out inputs that nothing reads."""
    used = set()
    for _, args, kwargs, _ in q.nodes:
        each([args, list(kwargs.values())], lambda r: used.add(r))
    q.inputs = {k: v for k, v in q.inputs.items() if k in used}
    q.constants &= set(q.inputs)
    return q


def smaller(p):
    """Yield programs that are a little simpler."""
    for i in reversed(range(len(p.nodes))):
        if len(p.nodes) > 1:
            yield without_node(p, i, p.native)
    for i in range(len(p.nodes) - 1, 0, -1):                     # the last nodes are not needed
        q = p.copy()
        q.nodes = q.nodes[:i]
        yield tidy(q)
    for i, (op, args, kwargs, names) in enumerate(p.nodes):
        for key in kwargs:
            q = p.copy()
            q.nodes[i] = (op, args, {k: v for k, v in kwargs.items() if k != key}, names)
            yield q
        defaults = random_ops.op_of(op)._schema.arguments
        if args and not isinstance(args[-1], Ref) and len(args) <= len(defaults) and defaults[len(args) - 1].has_default_value():
            q = p.copy()
            q.nodes[i] = (op, args[:-1], kwargs, names)
            yield tidy(q)
    for size in sorted({d for x in p.inputs.values() for d in x.shape if d > 1}, reverse=True):
        for to in (1, size - 1):
            q = p.copy()
            for name, x in q.inputs.items():
                for d, n in enumerate(x.shape):
                    x = x.narrow(d, 0, to) if n == size else x
                q.inputs[name] = x.contiguous()
            yield q
    for name, x in p.inputs.items():
        for d, n in enumerate(x.shape):
            if n > 1:
                q = p.copy()
                q.inputs[name] = x.narrow(d, 0, 1).contiguous()
                yield q
    if p.constants:
        q = p.copy()
        q.constants = set()
        yield q


def shrink(options, p, backend, verdict):
    """Return the smallest program found that fails in the same way, and its text."""
    best, text, tries = p, "", 0
    found = True
    while found and tries < options.tries:
        found = False
        for q in smaller(best):
            tries += 1
            now = again(options, q, backend)
            if now and now[0] == verdict and q.outputs():
                best, text, found = q, now[1], True
                break
            if tries >= options.tries:
                break
    if best is p:
        text = (again(options, p, backend) or ("", ""))[1]
    return best, text


# ---- all of them -------------------------------------------------------------------------------------

def signature(p):
    return " ".join(sorted({n[0] for n in p.nodes}))


def program(options, backend, number, ops):
    """Return a program with what is expected of it."""
    for again_ in range(10):
        p = generate(options.seed, number + again_ * 10000019, ops, LARGEST.get(backend))
        p.number = number
        try:
            p.want = expected(p, backend)
            if backend == "host" or not by_infinity(p):
                break
        except (RuntimeError, IndexError, ValueError, TypeError):    # in float64, or moved, it is no program
            continue
    return p


def by_infinity(p):
    """True where something is divided by infinity, and cut: libraries have products of the quotient in place of a remainder."""
    for op, args, _, _ in p.nodes:
        if op.split(".")[0] in STEPS and any(isinstance(a, Ref) and p.native[a].dtype.is_floating_point and not p.native[a].isfinite().all() for a in args):
            return True
    return False


def batch(options, backend, numbers, ops):
    """Check some programs; return what to keep."""
    programs = []
    for number in numbers:
        programs.append(program(options, backend, number, ops))
    verdicts = check(options, programs, backend)
    bad = []
    for p in programs:
        verdict, text = verdicts[p.number]
        if verdict == "right":
            continue
        small = p
        if verdict != "refused" and options.tries and options.seen[backend, signature(p)] < 2 and not options.only:
            alone = again(options, p, backend)
            if alone and alone[0] == verdict:
                small, text = shrink(options, p, backend, verdict)
        elif verdict == "refused" and options.tries and options.seen[backend, reason(text)] < 1:
            small, text = shrink(options, p, backend, verdict)
        options.seen[backend, signature(small)] += 1
        options.seen[backend, reason(text)] += 1
        bad.append({"number": p.number, "verdict": verdict, "text": text[:1500], "program": small.text(), "ops": signature(small)})
        if verdict != "refused" or options.verbose:
            print("%s %s %d: %s\n    %s" % (verdict, backend, p.number, text[:600], small.text().replace("\n", "\n    ")), flush=True)
    counts = collections.Counter(n[0] for p in programs for n in p.nodes)
    return {"count": len(programs), "nodes": sum(counts.values()), "ops": counts, "bad": bad}


def reason(text):
    """A text without names and numbers."""
    lines = [line for line in text.split("\n") if not re.search(r"graph.json has|cannot be lowered:$|Starting stage", line) and line.strip()] or [""]
    return re.sub(r"\d+", "N", re.sub(r"\"[^\"]*\"", "\"..\"", lines[0]))[:200]


def digest(*paths):
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:16]


def run(options, backend, ops):
    """Check all programs on a backend; return the results of all graphs."""
    parts = [HERE + "/random_ops.py", HERE + "/random_programs.py", os.environ["QNNRT_LIBRARY"]] + ([options.tool, options.libraries[backend]] if backend != "host" else [])
    key = "%s %d %d %s" % (digest(*parts), options.seed, options.group, options.ops)
    store, done = "%s/%s.jsonl" % (options.out, backend), {}
    if os.path.exists(store) and not options.only:
        with open(store) as f:
            kept = [json.loads(line) for line in f]
        done = {r["first"]: r for r in kept if r["key"] == key or options.keep}
        with open(store + ".part", "w") as f:
            f.write("".join(json.dumps(r) + "\n" for r in done.values()))
        os.replace(store + ".part", store)
    numbers = options.only or range(options.runs)
    began, results = time.time(), []
    for first in range(0, len(numbers), options.group):
        group = numbers[first:first + options.group]
        if first not in done or done[first]["count"] != len(group):
            elements, places = options.elements[backend].clone(), options.places[backend].copy()
            r = batch(options, backend, group, ops)
            r.update(key=key, first=first, elements=(options.elements[backend] - elements).tolist(),
                     places=[[op, place, n] for (op, place), n in (options.places[backend] - places).items()])
            done[first] = r
            if not options.only:
                with open(store, "a") as f:
                    f.write(json.dumps(r) + "\n")
        results.append(done[first])
        if (first // options.group) % 25 == 24:
            print("%s %d of %d, %.0f s" % (backend, first + len(group), len(numbers), time.time() - began), flush=True)
    return results, time.time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--out", help="default: BUILD/exports/random")
    parser.add_argument("--backend", default="host,ref")
    parser.add_argument("--runs", type=int, default=2000, help="programs for each backend")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--group", type=int, default=20, help="programs of a graph")
    parser.add_argument("--ops", default="", help="only operators whose name begins so, or with one of these, A,B")
    parser.add_argument("--only", type=lambda s: [int(n) for n in s.split(",")], help="numbers of programs")
    parser.add_argument("--tries", type=int, default=150, help="to make a failing program smaller; 0: none")
    parser.add_argument("--seconds", type=int, default=240, help="for a graph")
    parser.add_argument("--keep", action="store_true", help="use kept results of other programs and libraries, too")
    parser.add_argument("--keep_files", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print what is refused, too")
    parser.add_argument("--short", action="store_true", help="a test: print what passed and failed")
    parser.add_argument("--report", help="write the table")
    parser.add_argument("more", nargs="*", help="options of qnnrt-run compile, after --")
    options = parser.parse_args()
    options.out = options.out or options.build + "/exports/random"
    options.tool = options.build + "/qnnrt-run"
    qnn = os.path.join(options.build, "qnn", "%s", "onnxruntime_qnn", "%s")
    options.libraries = {"ref": options.build + "/libQnnRef.so", "cpu": qnn % ("2.47", "libQnnCpu.so"), "htp": qnn % ("2.51", "libQnnHtp.so")}
    os.makedirs(options.out, exist_ok=True)
    os.environ.setdefault("QNNRT_LIBRARY", os.path.abspath(options.build + "/libqnnrt.so"))
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    from qnnrt._operators import OPERATORS
    options.library = ctypes.CDLL(os.environ["QNNRT_LIBRARY"])
    options.seen, options.elements = collections.Counter(), collections.defaultdict(lambda: torch.zeros(2, dtype=torch.int64))
    options.places = collections.defaultdict(collections.Counter)
    ops = sorted(o for o in OPERATORS if o.startswith(tuple(options.ops.split(","))) and o not in random_ops.LEFT_OUT and there(o))
    bad, good, lines = 0, 0, []
    for backend in options.backend.split(","):
        results, seconds = run(options, backend, ops)
        found = [dict(b, backend=backend) for r in results for b in r["bad"]]
        verdicts, total = collections.Counter(b["verdict"] for b in found), sum(r["count"] for r in results)
        used, places = collections.Counter(), collections.Counter()
        for r in results:
            used.update(r["ops"])
            places.update({(op, place): n for op, place, n in r["places"]})
        elements = torch.tensor([r["elements"] for r in results]).sum(0).tolist()
        nodes, there_ = sum(places.values()), sum(n for (_, place), n in places.items() if place != "host")
        row = [NAMES[backend], total, sum(used.values()), "%.0f %%" % (100 * there_ / nodes) if nodes else "", total - len(found), verdicts["wrong"], verdicts["crash"],
               verdicts["refused"], "%.2f %%" % (100 * elements[1] / max(1, sum(elements)))]
        lines.append("| " + " | ".join(map(str, row)) + " |")
        print("%s: %d programs, %d nodes%s, %d right, %d wrong, %d crash, %d refused; %s of the elements did not count; %.0f s" % (
            *row[:3], ", %s of them on the library" % row[3] if row[3] else "", *row[4:], seconds))
        rare = [o for o in ops if used[o] == 0]
        if rare and not options.only:
            print("    never drawn: %s" % " ".join(rare[:40] + [".."] * (len(rare) > 40)))
        for why, n in collections.Counter(reason(b["text"]) for b in found if b["verdict"] == "refused").most_common(12):
            print("    %d refused: %s" % (n, why))
        for b in found:
            if options.short and b["verdict"] != "refused":
                print("FAIL exports/random %d on %s: %s: %s" % (b["number"], backend, b["verdict"], b["text"].split("\n")[0]))
        bad += verdicts["wrong"] + verdicts["crash"]
        good += total - len(found)
        write_report(options, backend, lines, found, used)
    if options.short:
        print("%d passed, %d failed" % (good, bad))
    return 1 if bad else 0


def write_report(options, backend, lines, found, used):
    """Write the table so far, and what is not right on this backend."""
    if not options.report:
        return
    head = ["# Random programs of known operators", "", "Written by `make ops-random` (SEED=%d): random_programs.py says what is right. An element does not count where rounding decides it." % options.seed, "",
            "| | programs | nodes | on the library | right | wrong | crash | refused | elements that do not count |", "|---|---|---|---|---|---|---|---|---|"]
    options.parts = getattr(options, "parts", [])
    kinds = collections.defaultdict(list)
    for b in found:
        kinds[b["verdict"], reason(b["text"]) if b["verdict"] == "refused" else b["ops"]].append(b)
    for (verdict, why), many_ in sorted(kinds.items(), key=lambda x: (x[0][0] == "refused", -len(x[1]))):
        least = min(many_, key=lambda b: len(b["program"]))
        options.parts += ["", "### %s: %d %s, `%s`" % (backend, len(many_), verdict, why), "", "```", least["program"][:1500], least["text"][:500], "```"]
    options.parts += ["", "%s: %d operators, each in %d to %d nodes." % (NAMES[backend], len(used), min(used.values()), max(used.values()))]
    with open(options.report, "w") as f:
        f.write("\n".join(head + lines + options.parts) + "\n")


def there(name):
    """True if torch has the operator."""
    try:
        random_ops.op_of(name)
        return True
    except (AttributeError, RuntimeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
