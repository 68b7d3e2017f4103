"""Sample inputs of a model, what torch computes for them, and what torch computes of the exported graph. It imports torch."""
from __future__ import annotations

import copy
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import torch

from ._torch_graph import Graph
from ._torch_values import Call, as_real, plain_layers, tensors_of

Sample = Dict[str, torch.Tensor]
SEED = 20260101
_FLOATS = {torch.float32, torch.float16, torch.bfloat16, torch.float64}
_COMPLEX = {torch.float64: torch.complex128}


def cast(x: torch.Tensor, dtype: Optional[torch.dtype]) -> torch.Tensor:
    """A tensor of numbers with fractions in another dtype; None: as it is."""
    if dtype is None or not (x.is_floating_point() or x.is_complex()):
        return x
    return x.to(_COMPLEX.get(dtype, x.dtype)) if x.is_complex() else x.to(dtype)


# ---- inputs ----------------------------------------------------------------------------------------


def vary(x: torch.Tensor, generator: torch.Generator, bounds: Optional[Sequence[int]]) -> torch.Tensor:
    """Another tensor of the same kind: masks, positions and constants stay, ids are drawn anew, numbers get other values."""
    if x.is_complex():
        return torch.view_as_complex(vary(as_real(x), generator, bounds))
    if x.numel() < 2 or x.dtype == torch.bool:
        return x.clone()
    if not x.is_floating_point():
        low, high = (int(x.min()), int(x.max())) if bounds is None else (int(bounds[0]), int(bounds[1]))
        steps = x.flatten().diff().unique()
        ordered = steps.numel() <= 2 and bool((steps >= 0).all())
        if bounds is None and ((low >= 0 and high <= 1) or ordered):
            return x.clone()
        return torch.randint(low, high + 1, x.shape, generator=generator, dtype=torch.int64).to(x.dtype)
    wide = x.double()
    if not bool(wide.isfinite().all()) or wide.unique().numel() <= 2:
        return x.clone()
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    return (0.5 * wide.roll(1, -1) + 0.5 * (wide.mean() + wide.std() * noise)).to(x.dtype)


def draw(call: Call, count: int, ranges: Mapping[str, Sequence[int]]) -> List[List[torch.Tensor]]:
    """The inputs of the caller, then count - 1 others like them."""
    generator = torch.Generator().manual_seed(SEED)
    first = [(name, x.detach().cpu().clone()) for name, x in call.tensors]
    rows = [[x for _, x in first]] + [[vary(x, generator, ranges.get(name)) for name, x in first] for _ in range(count - 1)]
    return rows[:count]


# ---- the model -------------------------------------------------------------------------------------


def copied(model: torch.nn.Module) -> torch.nn.Module:
    """A copy of a model. Results that it keeps as attributes are copied as plain tensors, which copy.deepcopy() refuses."""
    found = [(m, name, value) for m in model.modules() for name, value in vars(m).items()
             if isinstance(value, torch.Tensor) and not value.is_leaf]
    try:
        for module, name, value in found:
            vars(module)[name] = value.detach()
        return copy.deepcopy(model)
    finally:
        for module, name, value in found:
            vars(module)[name] = value


class Runner:
    """A copy of the model on the CPU, in one dtype (None: its own), which keeps its state from call to call."""

    def __init__(self, model: torch.nn.Module, call: Call, dtype: Optional[torch.dtype]) -> None:
        self.model, self.call, self.dtype = copied(model).cpu(), call, dtype
        for module in self.model.modules() if dtype is not None else ():
            for tensor in list(module.parameters(recurse=False)) + list(module.buffers(recurse=False)):
                tensor.data = cast(tensor.data, dtype)
            for name, value in list(vars(module).items()):
                if isinstance(value, torch.Tensor):
                    setattr(module, name, cast(value, dtype))

    def attributes(self) -> Dict[str, Any]:
        """Tensors, and places for them, that are no parameters and buffers."""
        return {"%s%s" % (path + "." if path else "", name): value for path, module in self.model.named_modules()
                for name, value in vars(module).items() if value is None or isinstance(value, torch.Tensor)}

    def state(self, key: str) -> torch.Tensor:
        """The value of a buffer or parameter."""
        holder, _, name = key.rpartition(".")
        return as_real(getattr(self.model.get_submodule(holder), name).detach().clone())

    def __call__(self, inputs: Sequence[torch.Tensor]) -> Tuple[List[torch.Tensor], List[torch.Tensor]]:
        """The results, and the inputs after the call."""
        given = [cast(x.clone(), self.dtype) for x in inputs]
        default = torch.get_default_dtype()
        torch.manual_seed(SEED)
        try:
            if self.dtype == torch.float64:
                torch.set_default_dtype(torch.float64)
            with plain_layers():
                results = self.call(self.model, given)
        finally:
            torch.set_default_dtype(default)
        return [x.detach().clone() for _, x in tensors_of(results, "output")], [x.detach().clone() for x in given]


def compute(model: torch.nn.Module, call: Call, graph: Graph, inputs: Sequence[Sequence[torch.Tensor]],
            dtype: Optional[torch.dtype], changed: Optional[Set[str]] = None) -> List[Sample]:
    """input/NAME and output/NAME of each sample, as the model computes them. A sample begins with the states that the one before left.

    changed  receives names of attributes that a call changes"""
    runner, samples = Runner(model, call, dtype), []
    places = dict(graph.inputs)
    for row in inputs:
        sample = {"input/" + name: as_real(row[place]) for name, place in graph.inputs}
        sample.update({"input/" + name: runner.state(key) for key, name, _ in graph.states})
        before = runner.attributes()
        results, after = runner(row)
        if changed is not None:
            changed.update(name for name, value in runner.attributes().items() if value is not before.get(name))
        sample.update({"output/" + name: as_real(results[place]) for name, place in graph.outputs})
        sample.update({"output/" + changed: as_real(after[places[name]]) for name, changed in graph.mutated})
        sample.update({"output/" + name: runner.state(key) for key, _, name in graph.states})
        samples.append(sample)
    return samples


# ---- the graph -------------------------------------------------------------------------------------


class Interpreter(torch.fx.Interpreter):
    """Computes the exported graph with torch, in float64 or as it is written. values: of its nodes, by name, where asked for."""

    def __init__(self, graph: Graph, dtype: Optional[torch.dtype], inner: bool) -> None:
        super().__init__(graph.module)
        self.graph_of, self.dtype, self.inner = graph, dtype, inner
        self.values: Sample = {}
        self.sample: Sample = {}

    def compute(self, sample: Sample) -> Sample:
        """The outputs of the graph for the inputs of a sample, by name."""
        self.values, self.sample = {}, sample
        with torch.no_grad():
            results = self.run()
        return {name: results[place] for name, place in self.graph_of.result_places}

    def _own(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return cast(x, self.dtype)
        if self.dtype is not None and isinstance(x, torch.dtype):
            return self.dtype if x in _FLOATS else _COMPLEX[self.dtype] if x.is_complex else x
        return x

    def run_node(self, n: torch.fx.Node) -> Any:
        if n.op == "placeholder":
            graph = self.graph_of
            name = (graph.names.get(n) or [""])[0] or ""
            if name in graph.mapping:
                return self._own(graph.weights[graph.mapping[name]].detach().cpu())
            return self._own(self.sample.get("input/" + name))
        made = super().run_node(n)
        if self.inner and n in self.graph_of.names:
            for name, value in zip(self.graph_of.names[n], made if isinstance(made, (list, tuple)) else [made]):
                if name is not None and isinstance(value, torch.Tensor):
                    self.values[name] = value.detach().clone()
        return made

    def fetch_args_kwargs_from_env(self, n: torch.fx.Node) -> Any:
        args, kwargs = super().fetch_args_kwargs_from_env(n)
        own = torch.fx.node.map_aggregate
        return own(args, self._own), own(kwargs, self._own)


# ---- comparison ------------------------------------------------------------------------------------


def difference(got: torch.Tensor, want: torch.Tensor) -> float:
    """The largest difference relative to the largest value; 2 where only one of them is no number, or where shapes differ."""
    if tuple(got.shape) != tuple(want.shape):
        return 2.0
    if got.numel() == 0:
        return 0.0
    got, want = got.double(), want.double()
    same = (got == want) | (got.isnan() & want.isnan())
    if not bool((same | (got.isfinite() & want.isfinite())).all()):
        return 2.0
    apart = float(torch.where(same, torch.zeros_like(got), got - want).abs().max())
    largest = float(torch.where(want.isfinite(), want, torch.zeros_like(want)).abs().max())
    return apart / max(largest, 1e-30) if apart > 0 else 0.0


def first_line(error: BaseException) -> str:
    """The class of an exception, and the first line of its text."""
    lines = [line.strip() for line in str(error).splitlines() if re.search(r"\w", line)]
    return "%s: %s" % (type(error).__name__, lines[0] if lines else "")
