"""qnnrt.export(): a model of PyTorch as a folder that qnnrt-run compile takes, with torch's own results."""
from __future__ import annotations

import copy
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _errors as errors
from . import _safetensors as safetensors

_SEED = 20260101
# Largest difference between torch's results and the graph's, relative to the largest value, in float32 as in float64.
_CLOSE = 1e-4


@dataclass
class Exported:
    """What qnnrt.export() wrote.

    path                the folder
    nodes, weights      how many
    samples             sample inputs with torch's results; computed_in says in what they were computed
    inputs, outputs     names
    states              keys of the tensors of the model that a call changes
    error               largest difference between the graph and the model, relative to the largest value
    float16_error       the same of the model in float16; None where torch cannot compute it
    notes               what was left out, one sentence each"""
    path: str
    nodes: int = 0
    weights: int = 0
    samples: int = 0
    computed_in: str = ""
    inputs: List[str] = field(default_factory=list)
    outputs: List[str] = field(default_factory=list)
    states: List[str] = field(default_factory=list)
    error: Optional[float] = None
    float16_error: Optional[float] = None
    notes: List[str] = field(default_factory=list)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise errors.NotFoundError("qnnrt.export needs PyTorch, which cannot be imported: %s" % error, "Install torch 2.6 or newer.") from None
    return torch


# ---- torch.export ----------------------------------------------------------------------------------


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "%s: %s" % (type(error).__name__, lines[0] if lines else "")


def _trace(model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    torch = _torch()
    from ._torch_graph import source_of_error
    try:
        return torch.export.export(model, args, kwargs, strict=False)
    except Exception as error:
        place = source_of_error(error)
        data = "DataDependent" in type(error).__name__ or "data-dependent" in str(error)
        hint = "Make the size or the condition fixed: pad, use a mask or torch.where, or pass a number that is no tensor." if data else ""
        raise errors.UnsupportedError("torch.export cannot trace the model: %s%s" % (_first_line(error), "\n  at " + place if place else ""),
                                      hint) from error


def _functional(program: Any) -> Any:
    """Bodies inlined, without changes in place, of operators that qnnrt knows where torch can say it in them."""
    from . import _torch_graph as graphs
    graphs.inline_bodies(program.graph_module)
    table = graphs.decompositions()
    try:
        return program.run_decompositions(table)
    except Exception as error:
        place = graphs.source_of_error(error)
        raise errors.UnsupportedError("torch cannot write the model without changes in place: %s%s" %
                                      (_first_line(error), "\n  at " + place if place else "")) from error


# ---- samples ---------------------------------------------------------------------------------------


def _map(function: Any, tree: Any) -> Any:
    torch = _torch()
    return torch.utils._pytree.tree_map_only(torch.Tensor, function, tree)


def _vary(x: Any, generator: Any, bounds: Optional[Sequence[int]]) -> Any:
    """Another tensor of the same kind: masks, positions and constants stay, ids are drawn anew, numbers get other values."""
    torch = _torch()
    if x.numel() < 2 or x.dtype == torch.bool or x.is_complex():
        return x.clone()
    if not x.is_floating_point():
        low, high = (int(x.min()), int(x.max())) if bounds is None else (int(bounds[0]), int(bounds[1]))
        steps = x.flatten().diff().unique()
        if (low >= 0 and high <= 1 and bounds is None) or (bounds is None and steps.numel() <= 2 and bool((steps >= 0).all())):
            return x.clone()
        return torch.randint(low, high + 1, x.shape, generator=generator, dtype=torch.int64).to(x.dtype)
    wide = x.double()
    if not bool(wide.isfinite().all()) or wide.unique().numel() <= 2:
        return x.clone()
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    return (wide.roll(1, -1) * 0.5 + (wide.mean() + wide.std() * noise) * 0.5).to(x.dtype)


def _inputs(args: Any, kwargs: Any, count: int, ranges: Mapping[str, Sequence[int]], names: Sequence[Tuple[str, int]]) -> List[Tuple[Any, Any]]:
    """The inputs of the caller, then count - 1 others like them."""
    torch = _torch()
    pytree = torch.utils._pytree
    bounds = {place: ranges[name] for name, place in names if name in ranges}
    generator, made = torch.Generator().manual_seed(_SEED), [(args, kwargs)]
    for _ in range(count - 1):
        flat, spec = pytree.tree_flatten((args, kwargs))
        flat = [_vary(x.detach().cpu(), generator, bounds.get(i)) if isinstance(x, torch.Tensor) else x for i, x in enumerate(flat)]
        made.append(pytree.tree_unflatten(flat, spec))
    return made[:count]


class _Runner:
    """A copy of the model in one dtype, which computes the samples one after the other."""

    def __init__(self, model: Any, dtype: Any) -> None:
        torch = _torch()
        self.dtype, self.model = dtype, copy.deepcopy(model)
        if dtype is not None:
            for tensor in list(self.model.parameters()) + list(self.model.buffers()):
                if tensor.is_floating_point():
                    tensor.data = tensor.data.to(dtype)
        self.model = self.model.cpu()
        self.default = torch.get_default_dtype()

    def cast(self, x: Any) -> Any:
        x = x.detach().cpu().clone()
        return x.to(self.dtype) if self.dtype is not None and x.is_floating_point() else x

    def states(self, keys: Sequence[str]) -> Dict[str, Any]:
        there = dict(self.model.named_buffers())
        there.update(self.model.named_parameters())
        return {key: there[key].detach().clone() for key in keys}

    def __call__(self, args: Any, kwargs: Any) -> Tuple[List[Any], List[Any]]:
        """The results as a flat list, and the flat arguments after the call."""
        torch = _torch()
        args, kwargs = _map(self.cast, (args, kwargs))
        before = torch.utils._pytree.tree_flatten((args, kwargs))[0]
        torch.manual_seed(_SEED)
        try:
            if self.dtype == torch.float64:
                torch.set_default_dtype(torch.float64)
            with torch.no_grad():
                results = self.model(*args, **kwargs)
        finally:
            torch.set_default_dtype(self.default)
        results = _map(lambda x: x.detach().clone(), results)
        return torch.utils._pytree.tree_flatten(results)[0], before


def _compute(model: Any, graph: Any, inputs: Sequence[Tuple[Any, Any]], dtype: Any) -> List[Dict[str, Any]]:
    """N/input/NAME and N/output/NAME of each sample. The states of one go on in the next."""
    torch = _torch()
    runner, samples = _Runner(model, dtype), []
    keys = [key for key, _, _ in graph.states]
    for args, kwargs in inputs:
        flat = torch.utils._pytree.tree_flatten((args, kwargs))[0]
        sample = {"input/" + name: flat[place].detach().cpu().clone() for name, place in graph.inputs}
        sample.update({"input/" + i: runner.states([k])[k] for k, i, _ in graph.states})
        results, after = runner(args, kwargs)
        sample.update({"output/" + name: results[place] for name, place in graph.outputs})
        places = dict(graph.inputs)
        sample.update({"output/" + out: after[places[name]].detach().clone() for name, out in graph.mutated})
        sample.update({"output/" + o: runner.states([k])[k] for k, _, o in graph.states})
        samples.append(sample)
    del keys
    return samples


def _difference(got: Any, want: Any) -> float:
    """The largest difference relative to the largest value; 2 where one of them alone is no number, or shapes differ."""
    torch = _torch()
    if tuple(got.shape) != tuple(want.shape):
        return 2.0
    if got.numel() == 0:
        return 0.0
    if got.is_complex() or want.is_complex():
        got, want = (torch.view_as_real(x.resolve_conj().to(torch.complex128)) for x in (got, want))
    got, want = got.double(), want.double()
    same = (got == want) | (got.isnan() & want.isnan())
    if not bool((same | (got.isfinite() & want.isfinite())).all()):
        return 2.0
    apart = torch.where(same, torch.zeros_like(got), got - want).abs().max()
    largest = torch.where(want.isfinite(), want, torch.zeros_like(want)).abs().max()
    return float(apart / largest.clamp_min(1e-30)) if float(apart) > 0 else 0.0


# ---- the graph, computed by torch ------------------------------------------------------------------


def _interpret(graph: Any, sample: Mapping[str, Any], dtype: Any, inner: bool) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Compute the exported graph; return its outputs and the values of its nodes, by name."""
    torch = _torch()
    wide = {torch.float32, torch.float16, torch.bfloat16}

    def cast(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return x.to(dtype) if dtype is not None and x.is_floating_point() else x
        return dtype if dtype is not None and isinstance(x, torch.dtype) and x in wide else x

    values: Dict[str, Any] = {}
    results: Dict[str, Any] = {}

    class Run(torch.fx.Interpreter):  # type: ignore[misc,name-defined]
        """Keeps what nodes make."""

        def run_node(self, n: Any) -> Any:
            if n.op == "placeholder":
                return places[n]
            if n.op == "output":
                return list(torch.utils._pytree.tree_map_only(torch.fx.Node, lambda m: self.env[m], list(n.args[0])))
            made = super().run_node(n)
            if inner and n in graph.names:
                for name, value in zip(graph.names[n], made if isinstance(made, (list, tuple)) else [made]):
                    if name is not None and isinstance(value, torch.Tensor):
                        values[name] = value.detach().clone()
            return made

        def fetch_args_kwargs_from_env(self, n: Any) -> Any:
            args, kwargs = super().fetch_args_kwargs_from_env(n)
            return tuple(torch.utils._pytree.tree_map(cast, list(args))), torch.utils._pytree.tree_map(cast, dict(kwargs))

    places: Dict[Any, Any] = {}
    for node in graph.module.graph.nodes:
        if node.op == "placeholder":
            name = graph.names[node][0] if node in graph.names else None
            if name is not None and name in graph.mapping:
                places[node] = cast(graph.weights[graph.mapping[name]].detach().cpu())
            elif name is not None and "input/" + name in sample:
                places[node] = cast(sample["input/" + name])
            else:
                places[node] = None
    with torch.no_grad():
        flat = Run(graph.module).run()
    for name, place in graph.result_places:
        results[name] = flat[place]
    return results, values


# ---- the folder ------------------------------------------------------------------------------------


def _write_graph(path: str, document: Dict[str, Any]) -> None:
    """One node a line, so that an error can name the line."""
    text = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            rows = ",\n  ".join(json.dumps(row, separators=(",", ":"), allow_nan=False) for row in value)
            text.append("%s: [\n  %s]" % (json.dumps(key), rows))
        else:
            text.append("%s: %s" % (json.dumps(key), json.dumps(value)))
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(text) + "\n}\n")


def _samples_of(model: Any, graph: Any, inputs: Sequence[Tuple[Any, Any]], done: Exported) -> List[Dict[str, Any]]:
    """Torch's results in float64 where the model can, else in float32; and how far the graph is from them."""
    torch = _torch()
    why = ""
    for dtype in (torch.float64, None):
        try:
            samples = _compute(model, graph, inputs, dtype)
        except Exception as error:  # pylint: disable=broad-except
            why = _first_line(error)
            continue
        done.computed_in = "float64" if dtype is not None else "float32"
        if dtype is None:
            done.notes.append("The samples are in float32: torch cannot compute this model in float64 (%s)." % why)
        return samples
    raise errors.UnsupportedError("torch cannot compute the model for its sample inputs: %s" % why, "Call the model with these inputs first.")


def _check(graph: Any, samples: Sequence[Dict[str, Any]], done: Exported, inner: bool) -> None:
    """Compare the graph, as torch computes it, with the model; add the values of nodes."""
    torch = _torch()
    dtype = torch.float64 if done.computed_in == "float64" else None
    done.error = 0.0
    for number, sample in enumerate(samples):
        results, values = _interpret(graph, sample, dtype, inner)
        for name, value in results.items():
            apart = _difference(value, sample["output/" + name])
            done.error = max(done.error, apart)
            if apart > _CLOSE:
                raise errors.UnsupportedError(
                    "the exported graph computes something else than the model: output \"%s\" of sample %d differs by %.2g of its largest value"
                    % (name, number, apart), "The model decides by the values of its inputs, or by state that is no buffer.")
        sample.update({"node/" + name: value for name, value in values.items()})


def _float16(model: Any, graph: Any, inputs: Sequence[Tuple[Any, Any]], samples: Sequence[Dict[str, Any]]) -> Optional[float]:
    torch = _torch()
    try:
        other = _compute(model, graph, inputs[:1], torch.float16)[0]
        return max([_difference(other[k], samples[0][k]) for k in other if k.startswith("output/")] or [0.0])
    except Exception:  # pylint: disable=broad-except
        return None


def _fill(folder: str, graph: Any, samples: Sequence[Dict[str, Any]], done: Exported, ranges: Mapping[str, Sequence[int]]) -> None:
    from . import __version__
    document = graph.document
    document["exporter"] = "qnnrt " + __version__
    if ranges:
        document["ranges"] = {name: [int(low), int(high)] for name, (low, high) in ranges.items()}
    _write_graph(os.path.join(folder, "graph.json"), document)
    weights = {key: tensor for key, tensor in graph.weights.items() if tensor.device.type != "meta"}
    if len(weights) < len(graph.weights):
        done.notes.append("%d weights have no data: the model is on meta." % (len(graph.weights) - len(weights)))
    safetensors.write(os.path.join(folder, "weights.safetensors"), weights, {"format": "pt"})
    if samples:
        metadata = {"computed_in": done.computed_in}
        if done.float16_error is not None:
            metadata["float16_error"] = "%.3e" % done.float16_error
        tensors = {"%d/%s" % (i, key): value for i, sample in enumerate(samples) for key, value in sample.items()}
        safetensors.write(os.path.join(folder, "samples.safetensors"), tensors, metadata)


def export(model: Any, args: Any = (), path: Any = None, *, kwargs: Optional[Mapping[str, Any]] = None, samples: Any = 4,
           ranges: Optional[Mapping[str, Sequence[int]]] = None, inner: bool = False, name: Optional[str] = None) -> Exported:
    """Export a model of PyTorch to a folder: graph.json, weights.safetensors and samples.safetensors.

    model    an nn.Module, exported as in eval mode, or what torch.export.export() returned
    args     a tensor or a tuple, as the model is called with
    path     the folder; files that an earlier export wrote are replaced
    kwargs   more arguments, by name
    samples  how many sample inputs torch computes: args, and others like it; or a list of tuples of arguments
    ranges   lowest and highest value of integer inputs, such as {"input_ids": (0, 31999)}
    inner    also store the value of each node, so that verify can compare layer by layer
    name     of the model (default: its class)

    What torch.export cannot trace, and what no graph can say, is an UnsupportedError that names the line of the model."""
    torch = _torch()
    program = model if isinstance(model, torch.export.ExportedProgram) else None
    if path is None:
        raise errors.ArgumentError("qnnrt.export needs a path", "Say qnnrt.export(model, args, \"folder\").")
    if program is None and not isinstance(model, torch.nn.Module):
        raise errors.ArgumentError("the model is a %s, expected torch.nn.Module or ExportedProgram" % type(model).__name__)
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    given = dict(kwargs or {})
    if program is not None:
        if not args and not given and program.example_inputs is not None:
            args, given = program.example_inputs
        model = program.module()
    modes = {m: m.training for m in model.modules()}
    try:
        if program is None:
            model.eval()
        return _export(model, program, args, given, os.fspath(path), samples, dict(ranges or {}), inner, name)
    finally:
        for module, training in modes.items():
            module.training = training


def _export(model: Any, program: Any, args: Any, kwargs: Dict[str, Any], path: str, samples: Any, ranges: Dict[str, Sequence[int]],
            inner: bool, name: Optional[str]) -> Exported:
    from . import _torch_graph as graphs
    torch = _torch()
    done = Exported(path)
    meta = any(p.device.type == "meta" for p in list(model.parameters()) + list(model.buffers()))
    spare = model if meta or program is not None else copy.deepcopy(model)
    graph = graphs.Graph(_functional(program or _trace(spare, args, kwargs)), name or type(model).__name__)
    unknown = set(ranges) - {n for n, _ in graph.inputs}
    if unknown:
        raise errors.ArgumentError("ranges names no input: %s; the inputs are %s" % (", ".join(sorted(unknown)), ", ".join(n for n, _ in graph.inputs)))
    if isinstance(samples, int):
        inputs = _inputs(args, kwargs, samples, ranges, graph.inputs)
    else:
        inputs = [((s,) if isinstance(s, torch.Tensor) else tuple(s), kwargs) for s in samples]
    made: List[Dict[str, Any]] = []
    if inputs and not meta:
        made = _samples_of(model, graph, inputs, done)
        _check(graph, made, done, inner)
        done.float16_error = _float16(model, graph, inputs, made)
    done.nodes, done.weights, done.samples = len(graph.document["nodes"]), len(graph.weights), len(made)
    done.inputs, done.outputs = [n for n, _ in graph.inputs], [n for n, _ in graph.outputs]
    done.states = [key for key, _, _ in graph.states]
    parent = os.path.dirname(os.path.abspath(path))
    os.makedirs(parent, exist_ok=True)
    work = tempfile.mkdtemp(prefix=".qnnrt-export-", dir=parent)
    try:
        _fill(work, graph, made, done, ranges)
        os.makedirs(path, exist_ok=True)
        for file in ("graph.json", "weights.safetensors", "samples.safetensors"):
            if os.path.exists(os.path.join(work, file)):
                os.replace(os.path.join(work, file), os.path.join(path, file))
            elif os.path.exists(os.path.join(path, file)):
                os.unlink(os.path.join(path, file))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return done
