"""Values that tensors have while torch.export traces them without values: of constants, and in the ranges of inputs. It imports torch."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

Tensor = torch.Tensor
# No tensors with more elements are followed, no inputs with more values, and no graphs with more cases.
_LARGEST, _CASES = 1 << 20, 16
# What makes numbers of tensors.
_NUMBERS = {"item", "__bool__", "__int__", "__float__", "__index__", "tolist", "is_nonzero", "equal", "allclose", "__contains__"}
# What makes tensors whose sizes depend on values.
_SIZED = {"nonzero", "argwhere", "masked_select", "unique", "_unique2", "unique_consecutive", "bincount", "repeat_interleave", "where", "__getitem__"}
# What takes lists of tensors that are no sizes.
_LISTS = set("""cat concat concatenate stack hstack vstack dstack column_stack meshgrid broadcast_tensors einsum block_diag cartesian_prod
    tensor as_tensor index_put index_put_ chain_matmul""".split())
# Each element of the result depends on the elements at the same place, or on one element.
_ELEMENTS = set("""add __add__ __radd__ sub subtract __sub__ __rsub__ rsub mul multiply __mul__ __rmul__ div divide true_divide __truediv__
    __rtruediv__ floor_divide __floordiv__ remainder __mod__ neg __neg__ abs eq __eq__ ne __ne__ lt __lt__ le __le__ gt __gt__ ge __ge__ to type type_as
    float long int bool half double logical_not logical_and logical_or __and__ __or__ __invert__ bitwise_not bitwise_and bitwise_or masked_fill
    where clamp clamp_min clamp_max maximum minimum clone contiguous detach""".split())
_MOVES = set("""__getitem__ view reshape expand expand_as permute transpose t flatten unflatten squeeze unsqueeze flip narrow select chunk split
    unbind repeat movedim index_select pad constant_pad_nd gather""".split())
# These grow with each element.
_RISING = {"any", "all", "max", "min", "amax", "amin", "sum"}


@dataclass
class Fact:
    """What is known of a tensor.

    cases   its values: one, or one for each value that all elements of an input can have
    source  of several cases: which element of the input each element depends on; -1: on none"""
    cases: List[Tensor]
    source: Optional[Tensor] = None


def _tensors(value: Any) -> List[Tensor]:
    return [x for x in torch.utils._pytree.tree_leaves(value) if isinstance(x, Tensor)]


def _mapped(value: Any, function: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, slice):
        return slice(*(_mapped(x, function) for x in (value.start, value.stop, value.step)))
    if isinstance(value, Tensor):
        return function(value)
    if type(value) in (list, tuple):
        return type(value)(_mapped(x, function) for x in value)
    if type(value) is dict:
        return {k: _mapped(x, function) for k, x in value.items()}
    return value


def _compute(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What torch computes outside of the trace; random numbers are no result."""
    state = torch.get_rng_state()
    made = function(*args, **kwargs)
    if not torch.equal(state, torch.get_rng_state()):
        torch.set_rng_state(state)
        raise ValueError("random numbers")
    return list(made) if hasattr(made, "__next__") else made


class Known(TorchFunctionMode):
    """Within it, conditions and sizes that depend on known tensors alone are Python's numbers.

    buffers  the values of those that no call changes
    ranges   lowest and highest value of inputs"""

    def __init__(self, buffers: Mapping[str, Tensor], ranges: Mapping[str, Sequence[int]]) -> None:
        super().__init__()
        with _disable_current_modes():
            self.buffers = {name: x.detach().clone() for name, x in buffers.items() if x.numel() <= _LARGEST}
        self.ranges = ranges
        self.facts: Dict[int, Tuple[Tensor, Fact]] = {}

    # what is known

    def learn(self, tensor: Tensor, fact: Fact) -> None:
        """Keep the values of a tensor."""
        if tensor.numel() <= _LARGEST:
            self.facts[id(tensor)] = (tensor, fact)

    def begin(self, model: torch.nn.Module, inputs: Sequence[Tuple[str, Tensor]]) -> None:
        """Know the buffers of a model, and the inputs of a call."""
        for name, tensor in model.named_buffers():
            if name in self.buffers and self.buffers[name].device.type == "cpu":
                self.learn(tensor, Fact([self.buffers[name]]))
        for place, (name, tensor) in enumerate(inputs):
            low, high = self.ranges.get(name, (0, 1) if tensor.dtype == torch.bool else (0, _CASES))
            if tensor.dtype in (torch.bool, torch.int64, torch.int32, torch.uint8) and high - low < _CASES and 0 < tensor.numel() <= _LARGEST // _CASES:
                with _disable_current_modes():
                    shape, source = list(tensor.shape), None
                    if high > low:
                        source = torch.arange(place << 32, (place << 32) + tensor.numel()).reshape(shape)
                    self.learn(tensor, Fact([torch.full(shape, v, dtype=tensor.dtype) for v in range(int(low), int(high) + 1)], source))

    def of(self, tensor: Tensor) -> Optional[Fact]:
        """What is known of a tensor."""
        if id(tensor) in self.facts:
            return self.facts[id(tensor)][1]
        if type(tensor) is Tensor and not torch._is_functional_tensor(tensor) and tensor.device.type == "cpu" and tensor.is_leaf:
            with _disable_current_modes():
                self.learn(tensor, Fact([tensor.detach().clone()]))
            return self.facts[id(tensor)][1] if id(tensor) in self.facts else None
        return None

    def exact(self, tensor: Tensor) -> bool:
        """Whether all values of a tensor are known."""
        fact = self.of(tensor)
        return fact is not None and len(fact.cases) == 1

    def _is_false(self, mask: Tensor) -> bool:
        fact = self.of(mask)
        with _disable_current_modes():
            return fact is not None and not any(bool(x.any()) for x in fact.cases)

    def forget(self, tensor: Tensor) -> None:
        """A tensor, and others with its memory, got values that are not known."""
        gone = self.of(tensor)
        places = {x.untyped_storage().data_ptr() for x in gone.cases} if gone is not None else set()
        self.facts = {key: row for key, row in self.facts.items()
                      if row[0] is not tensor and not any(x.untyped_storage().data_ptr() in places for x in row[1].cases)}

    # calls

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        kwargs = kwargs or {}
        if name not in _LISTS and name != "__setitem__":
            args, kwargs = self._with_sizes(args, kwargs)
        if name == "__iter__":
            return iter(self.__torch_function__(torch.Tensor.unbind, types, args, {}))
        given = _tensors((args, kwargs))
        if (name in _NUMBERS or name in _SIZED) and given and all(self.exact(x) for x in given):
            with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
                made = _compute(func, *_mapped((args, kwargs), lambda x: self.of(x).cases[0]))  # type: ignore[union-attr]
                rows = torch.utils._pytree.tree_map_only(Tensor, lambda x: (x.tolist(), x.dtype, x), made)
            if name in _NUMBERS:
                return made
            if name not in ("where", "__getitem__") or len(given) == 1 and name == "where" or any(x.dtype == torch.bool for x in _tensors(args[1:])):
                return torch.utils._pytree.tree_map(self._constant, rows, is_leaf=lambda x: isinstance(x, tuple) and len(x) == 3 and isinstance(x[2], Tensor))
        if name == "__getitem__":
            args = (args[0], self._places(args[1]))
        if name == "__setitem__" and isinstance(args[1], Tensor) and args[1].dtype == torch.bool and self._is_false(args[1]):
            return None
        made = func(*args, **kwargs)
        self._follow(name, func, args, kwargs, given, made)
        return made

    def _constant(self, row: Any) -> Any:
        """A tensor of the trace with known values."""
        if not isinstance(row, tuple):
            return row
        made = torch.tensor(row[0], dtype=row[1]).reshape(row[2].shape)
        self.learn(made, Fact([row[2]]))
        return made

    def _number(self, x: Tensor) -> Any:
        """The value of a tensor that is one known integer, or the tensor."""
        if x.ndim > 0 or x.dtype not in (torch.int64, torch.int32) or not self.exact(x):
            return x
        with _disable_current_modes():
            return int(self.of(x).cases[0])  # type: ignore[union-attr]

    def _with_sizes(self, args: Any, kwargs: Any) -> Any:
        """Known numbers in lists, and in slices, are Python's."""
        def number(x: Any) -> Any:
            return self._number(x) if isinstance(x, Tensor) else inside(x)

        def inside(x: Any) -> Any:
            if isinstance(x, slice):
                return slice(number(x.start), number(x.stop), number(x.step))
            return type(x)(number(y) for y in x) if type(x) in (list, tuple) else x
        return tuple(inside(x) for x in args), {k: inside(x) for k, x in kwargs.items()}

    def _places(self, index: Any) -> Any:
        """Known masks and numbers of an index as numbers of elements."""
        found: List[Any] = []
        for part in index if isinstance(index, tuple) else (index,):
            if isinstance(part, Tensor) and part.dtype == torch.bool and part.ndim > 0 and self.exact(part):
                with _disable_current_modes():
                    rows = [x.tolist() for x in self.of(part).cases[0].nonzero(as_tuple=True)]  # type: ignore[union-attr]
                found += [torch.tensor(row, dtype=torch.int64) for row in rows]
            else:
                found.append(self._number(part) if isinstance(part, Tensor) else part)
        return tuple(found) if isinstance(index, tuple) or len(found) != 1 else found[0]

    def _follow(self, name: str, func: Any, args: Any, kwargs: Any, given: Sequence[Tensor], made: Any) -> None:
        """Compute what a call computes, where all that it reads is known."""
        results = _tensors(list(made) if isinstance(made, (list, tuple)) else made)
        changed = [x for x in given[:1] if (name.endswith("_") and not name.endswith("__")) or name == "__setitem__" or
                   (name.startswith("__i") and name not in ("__invert__", "__iter__", "__index__", "__int__")) or kwargs.get("inplace")]
        if name not in _ELEMENTS | _MOVES:
            changed += [x for x in given if any(x is y for y in results)]
        changed += _tensors(kwargs.get("out"))
        facts = [self.of(x) for x in given]
        if not results and not changed or any(f is None for f in facts) or \
                not all(isinstance(x.numel(), int) and x.numel() <= _LARGEST for x in results):
            for x in changed:
                self.forget(x)
            return
        try:
            with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
                found = self._values(name, func, args, kwargs, facts, bool(changed))  # type: ignore[arg-type]
        except Exception:  # pylint: disable=broad-except
            found = None
        if found is None:
            for x in given if changed else ():
                self.forget(x)
            return
        for tensor, fact in zip(results, found):
            if not any(tensor is x for x in given):
                self.learn(tensor, fact)

    def _values(self, name: str, func: Any, args: Any, kwargs: Any, facts: Sequence[Fact], changes: bool) -> Optional[List[Fact]]:
        """What is known of the results of a call."""
        def call(rows: Sequence[Any], words: Mapping[str, Any] = kwargs) -> List[Tensor]:
            rest = iter(rows)
            return _tensors(_compute(func, *_mapped((args, dict(words)), lambda _: next(rest))))

        several = [f for f in facts if len(f.cases) > 1]
        if not several:
            return [Fact([x]) for x in call([f.cases[0] for f in facts])]
        count = max(len(f.cases) for f in several)
        if changes or any(len(f.cases) != count for f in several):
            return None
        if name in _RISING:
            cases = [torch.stack(f.cases) if name not in ("any", "all") else torch.stack(f.cases) != 0 for f in facts]
            wide = [(x.amin(0), x.amax(0)) for x in cases]
            low, high = (call([row[i] for row in wide]) for i in (0, 1))
            return [Fact([low[0]])] if torch.equal(low[0], high[0]) else None
        made = [call([f.cases[min(i, len(f.cases) - 1)] for f in facts]) for i in range(count)]
        if name in _MOVES and several == [facts[0]] and not any(isinstance(x, torch.dtype) for x in args):
            words = dict(kwargs, value=-1) if name in ("pad", "constant_pad_nd") else kwargs
            sources = call([facts[0].source] + [f.cases[0] for f in facts[1:]], words)
        elif name in _ELEMENTS:
            shape = made[0][0].shape
            sources = [several[0].source.expand(shape)]  # type: ignore[union-attr]
            if not all(torch.equal(f.source.expand(shape), sources[0]) for f in several):  # type: ignore[union-attr]
                return None
        else:
            return None
        return [Fact(list(cases), source) for cases, source in zip(zip(*made), sources)]


def possible(inputs: Sequence[Tuple[str, Tensor]]) -> Dict[str, Tuple[int, int]]:
    """Ranges of inputs of integers, if they had no values but those of the samples."""
    return {name: (int(x.min()), int(x.max())) for name, x in inputs
            if not x.is_floating_point() and not x.is_complex() and x.dtype != torch.bool and x.numel() > 0 and int(x.max()) - int(x.min()) < _CASES}
