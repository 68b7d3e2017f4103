"""Tensors inside of the arguments and results of a model: found by a path, and replaced. It imports torch."""
from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence, Set, Tuple

import torch

# Parts of paths that say nothing: a cache has layers, a list of them has data.
_SILENT = {"layers", "data"}
_DEEPEST = 32


def _children(value: Any) -> List[Tuple[str, Any]]:
    """The parts of a container, or of an object that has tensors as attributes."""
    if isinstance(value, Mapping):
        return [(str(k), v) for k, v in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value))
    if isinstance(value, (list, tuple)):
        return [(str(i), v) for i, v in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    module = type(value).__module__
    if isinstance(value, (torch.nn.Module, type)) or callable(value) or inspect.ismodule(value) or module == "torch" or \
            (module.startswith("torch.") and not module.startswith("torch.distributions")):
        return []
    return list(vars(value).items()) if hasattr(value, "__dict__") else []


def _walk(value: Any, path: Tuple[str, ...], seen: Set[int]) -> Iterator[Tuple[Tuple[str, ...], torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path, value
        return
    parts = _children(value) if len(path) < _DEEPEST and id(value) not in seen else []
    inside = seen | {id(value)}
    for name, part in parts:
        yield from _walk(part, path + (name,), inside)


def path_name(path: Sequence[str], otherwise: str) -> str:
    """past_key_values_0_keys for ("past_key_values", "layers", "0", "keys")."""
    name = "_".join(w for w in (re.sub(r"\W+", "_", p).strip("_") for p in path if p not in _SILENT) if w)
    return otherwise if not name else otherwise + "_" + name if name[0].isdigit() else name


def tensors_of(value: Any, otherwise: str) -> List[Tuple[str, torch.Tensor]]:
    """The tensors of a value in their order, with names that are different."""
    found, taken = [], set()
    for path, tensor in _walk(value, (), set()):
        name, count = path_name(path, otherwise), 1
        while name in taken:
            count += 1
            name = "%s_v%d" % (path_name(path, otherwise), count)
        taken.add(name)
        found.append((name, tensor))
    return found


def as_real(x: torch.Tensor) -> torch.Tensor:
    """A complex tensor as graphs have it: real, with a last dimension of 2."""
    return torch.view_as_real(x.detach().resolve_conj()).contiguous() if x.is_complex() else x


def replaced(value: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    """A copy of a value, with other tensors. Its tensors are met in the order of tensors_of()."""
    return _replaced(value, function, 0, {})


def _replaced(value: Any, function: Callable[[torch.Tensor], Any], depth: int, parents: Dict[int, Any]) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    parts = _children(value) if depth < _DEEPEST and id(value) not in parents else []
    if not parts:
        return parents.get(id(value), value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)([_replaced(v, function, depth + 1, {**parents, id(value): value}) for _, v in parts])
    if isinstance(value, tuple):
        return type(value)(*[_replaced(v, function, depth + 1, {**parents, id(value): value}) for _, v in parts])
    made = copy.copy(value)
    inside = {**parents, id(value): made}
    keys = list(value) if isinstance(value, Mapping) else range(len(parts)) if isinstance(value, list) else [n for n, _ in parts]
    for key, (_, part) in zip(keys, parts):
        new = _replaced(part, function, depth + 1, inside)
        if new is part:
            continue
        if isinstance(value, (Mapping, list)):
            made[key] = new
        else:
            object.__setattr__(made, str(key), new)
    return made


def arguments_by_name(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Dict[str, Any]:
    """The arguments of a call, by the names that forward() gives them."""
    try:
        kinds = list(inspect.signature(model.forward).parameters.values())
    except (TypeError, ValueError):
        kinds = []
    names = [p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in kinds if p.kind == p.VAR_POSITIONAL), "input")
    given: Dict[str, Any] = {}
    for i, value in enumerate(args):
        given[names[i] if i < len(names) else "%s_%d" % (rest, i - len(names))] = value
    given.update({name: value for name, value in kwargs.items()})
    return given


@contextlib.contextmanager
def plain_layers() -> Iterator[None]:
    """Without the fused layers of torch.nn, which are operators of their own."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


class Call:
    """A call of a model: what it is given, as a list of named tensors, and how to call it with others.

    tensors  (name, tensor) of the arguments
    results  names of the results of Flat's last call"""

    def __init__(self, model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.args, self.kwargs = tuple(args), dict(kwargs)
        self.tensors = tensors_of(arguments_by_name(model, args, kwargs), "input")
        self.results: List[str] = []

    def __call__(self, model: Callable[..., Any], tensors: Sequence[torch.Tensor]) -> Any:
        """Call the model with these tensors in place of the arguments' own."""
        rest = iter(tensors)
        args, kwargs = replaced((self.args, self.kwargs), lambda _: next(rest))
        return model(*args, **kwargs)


class Flat(torch.nn.Module):
    """A model that takes and returns tensors alone, whatever its own arguments and results are."""

    PREFIX = "_qnnrt_model."

    def __init__(self, model: torch.nn.Module, call: Call, around: Any = None) -> None:
        """around: of the call of the model, made of the model and the tensors."""
        super().__init__()
        self._qnnrt_model, self.call = model, call
        self.around = around or (lambda model, tensors: contextlib.nullcontext())
        self.training = model.training

    def forward(self, *tensors: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        kept = [(module, dict(module._buffers)) for module in self._qnnrt_model.modules()]
        with self.around(self._qnnrt_model, tensors):
            found = tensors_of(self.call(self._qnnrt_model, tensors), "output")
        for module, buffers in kept:
            for name, before in buffers.items():
                after = module._buffers.get(name)
                # A buffer that the model replaced is one that it changed.
                if after is not before and before is not None and after is not None and after.shape == before.shape:
                    before.copy_(after)
                    module._buffers[name] = before
        self.call.results = [name for name, _ in found]
        return tuple(tensor for _, tensor in found)
