"""What operators that qnnrt does not know are made of: torch's own rules, and some that torch lacks. It imports torch."""
from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from ._operators import OPERATORS

Tensor = torch.Tensor
aten = torch.ops.aten
_RULES: Dict[str, Callable[..., Any]] = {}
# Composite operators that stay as they are: what they are made of checks its own results, or is no easier.
_WHOLE = re.compile(r"aten\.(linalg_(?!norm|matrix_norm|vecdot|multi_dot|matmul|cross|diagonal)|_linalg_|stft|istft|det|slogdet|logdet|inverse|pinverse|matrix_)")

# Known operators that are taken apart all the same: libraries compute the parts, and the host the whole.
_PARTS = ("index_put.default kthvalue.default median.default median.dim searchsorted.Tensor bucketize.Tensor as_strided.default unfold.default diagonal.default "
          "select_scatter.default take_along_dim.default one_hot.default rot90.default eye.default eye.m "
          "einsum.default").split()


def known(op: Any) -> bool:
    """True for an operator that a graph of qnnrt can have."""
    return str(op).replace("aten.", "", 1) in OPERATORS


def _rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _RULES.update({name: function for name in names})
        return function
    return keep


# ---- reductions ------------------------------------------------------------------------------------


@_rule("kthvalue.default")
def _kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Tuple[Tensor, Tensor]:
    values, places = torch.sort(x, dim)
    values, places = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


@_rule("median.dim")
def _median(x: Tensor, dim: int = -1, keepdim: bool = False) -> Tuple[Tensor, Tensor]:
    return _kthvalue(x, (x.shape[dim] + 1) // 2, dim, keepdim)


@_rule("median.default")
def _median_all(x: Tensor) -> Tensor:
    return _median(x.reshape(-1), 0)[0]


@_rule("_cdist_forward.default")
def _cdist(a: Tensor, b: Tensor, p: float, compute_mode: Optional[int] = None) -> Tensor:
    return torch.linalg.vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, -1)


@_rule("_euclidean_dist.default")
def _distance(a: Tensor, b: Tensor) -> Any:
    """Differences first: |a|^2 - 2ab + |b|^2 loses all digits of small distances in float16."""
    if a.numel() * b.shape[-2] > 1 << 24:
        return NotImplemented
    return _cdist(a, b, 2.0)


@_rule("searchsorted.Tensor")
def _searchsorted(row: Tensor, x: Tensor, *, out_int32: bool = False, right: bool = False, side: Optional[str] = None,
                  sorter: Optional[Tensor] = None) -> Tensor:
    row = row if sorter is None else torch.gather(row, -1, sorter)
    row = row.unsqueeze(-2) if row.ndim > 1 else row
    below = row <= x.unsqueeze(-1) if right or side == "right" else row < x.unsqueeze(-1)
    return below.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


@_rule("bucketize.Tensor")
def _bucketize(x: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    return _searchsorted(boundaries, x, out_int32=out_int32, right=right)


@_rule("_embedding_bag.default", "_embedding_bag_forward_only.default")
def _embedding_bag(table: Tensor, ids: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
                   per_sample_weights: Optional[Tensor] = None, include_last_offset: bool = False,
                   padding_idx: int = -1) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    """A product with a matrix of which index is in which bag; only its first result is used."""
    places = torch.arange(ids.shape[0], device=ids.device)
    begins = offsets[:-1] if include_last_offset else offsets
    ends = torch.cat([begins[1:], torch.full([1], ids.shape[0], dtype=offsets.dtype, device=ids.device)])
    inside = (places >= begins.unsqueeze(1)) & (places < ends.unsqueeze(1))
    inside = inside if padding_idx < 0 else inside & (ids != padding_idx)
    rows, count = torch.index_select(table, 0, ids), inside.sum(1)
    if mode == 2:
        out = torch.where(inside.unsqueeze(2), rows.unsqueeze(0), float("-inf")).amax(1)
        out = torch.where(count.unsqueeze(1) > 0, out, 0.0)
    else:
        rows = rows if per_sample_weights is None else rows * per_sample_weights.unsqueeze(1)
        out = torch.matmul(inside.to(table.dtype), rows)
        out = out if mode == 0 else out / count.clamp(min=1).unsqueeze(1)
    return out, torch.empty_like(ids), count, torch.empty_like(count)


@_rule("index_put.default")
def _index_put(x: Tensor, indices: Sequence[Optional[Tensor]], values: Tensor, accumulate: bool = False) -> Any:
    """Where a mask is true the values, if these do not depend on how often it is."""
    given = [(i, m) for i, m in enumerate(indices) if m is not None]
    if accumulate or len(given) != 1 or given[0][1].dtype != torch.bool:
        return NotImplemented
    first, mask = given[0]
    rest = x.ndim - first - mask.ndim
    if values.numel() != 1 and values.ndim > rest:
        return NotImplemented
    mask = mask.reshape([1] * first + list(mask.shape) + [1] * rest)
    return torch.where(mask, values.reshape([]) if values.numel() == 1 else values, x)


# ---- places ----------------------------------------------------------------------------------------


def _places(sizes: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    """Where the elements of a tensor with strides are."""
    at = torch.full((), offset, dtype=torch.int64)
    for i, (size, stride) in enumerate(zip(sizes, strides)):
        at = at + (torch.arange(size) * stride).view([-1] + [1] * (len(sizes) - 1 - i))
    return at.expand(list(sizes)).reshape(-1)


@_rule("as_strided.default", "as_strided_copy.default")
def _as_strided(x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: Optional[int] = None) -> Tensor:
    # Strides are those of the memory: its order is that of the largest strides first.
    order = sorted(range(x.ndim), key=lambda d: (-x.stride(d), d))
    memory = x.permute(order)
    if not memory.is_contiguous():
        raise NotImplementedError("as_strided of a tensor whose elements do not follow each other in memory: strides %s" % (tuple(x.stride()),))
    offset = x.storage_offset() if storage_offset is None else storage_offset
    return torch.index_select(memory.reshape(-1), 0, _places(size, stride, offset - x.storage_offset())).view(list(size))


@_rule("unfold.default", "unfold_copy.default")
def _unfold(x: Tensor, dimension: int, size: int, step: int) -> Tensor:
    axis = dimension % max(x.ndim, 1)
    count = (x.shape[axis] - size) // step + 1
    rows = torch.index_select(x, axis, _places([count, size], [step, 1], 0))
    rows = rows.view(list(x.shape[:axis]) + [count, size] + list(x.shape[axis + 1:]))
    order = [d for d in range(rows.ndim) if d != axis + 1] + [axis + 1]
    return rows.permute(order)


@_rule("diagonal.default", "diagonal_copy.default")
def _diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    first, second = dim1 % x.ndim, dim2 % x.ndim
    rest = [d for d in range(x.ndim) if d not in (first, second)]
    rows, columns = x.shape[first], x.shape[second]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    flat = x.permute(rest + [first, second]).reshape([x.shape[d] for d in rest] + [rows * columns])
    return torch.index_select(flat, -1, _places([count], [columns + 1], max(offset, 0) + max(-offset, 0) * columns))


# ---- the table -------------------------------------------------------------------------------------


def _own(op: Any) -> Optional[Callable[..., Any]]:
    return _RULES.get(str(op).replace("aten.", "", 1))


def decompositions() -> Dict[Any, Callable[..., Any]]:
    """What each operator that qnnrt does not know is made of, as torch's run_decompositions() takes it."""
    from torch._decomp import _core_aten_decompositions_post_autograd, decomposition_table
    from torch._export.utils import _collect_all_valid_cia_ops_for_aten_namespace, _get_decomp_for_cia
    table: Dict[Any, Callable[..., Any]] = {}
    for op, function in decomposition_table.items():
        # The references of torch are written in primitives, which are no operators of ATen.
        if isinstance(op, torch._ops.OpOverload) and not getattr(function, "__module__", "").startswith("torch._refs"):
            table[op] = function
    table.update(_core_aten_decompositions_post_autograd())
    for op in _collect_all_valid_cia_ops_for_aten_namespace():
        if not _WHOLE.match(str(op)):
            table.setdefault(op, _get_decomp_for_cia(op))
    for name in _RULES:
        packet, overload = name.split(".")
        if hasattr(aten, packet) and overload in getattr(aten, packet).overloads():
            op = getattr(getattr(aten, packet), overload)
            table[op] = _RULES[name]
    parts = {"aten." + name for name in _PARTS}
    return {op: function for op, function in table.items() if (not known(op) or str(op) in parts) and "backward" not in str(op)}


def folded(nodes: Sequence[Any], constants: Dict[Any, Any]) -> Dict[Any, Any]:
    """Values of the nodes that depend on constants alone, and that an operator which qnnrt does not know makes or takes part in.

    nodes      of the graph, in their order
    constants  values of placeholders"""
    values: Dict[Any, Any] = dict(constants)
    fixed, unknown = set(constants), set()
    found: List[Any] = []

    def value(node: Any) -> Any:
        if node not in values:
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), value)
            with torch.no_grad():
                values[node] = node.target(*args, **kwargs)
        return values[node]

    for node in nodes:
        if node.op != "call_function" or torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            continue
        if isinstance(node.target, torch._ops.HigherOrderOperator) or not all(n in fixed for n in node.all_input_nodes):
            continue
        fixed.add(node)
        is_op = isinstance(node.target, torch._ops.OpOverload)
        if (is_op and not known(node.target)) or any(n in unknown for n in node.all_input_nodes):
            unknown.add(node)
            found.append(node)
    return {node: value(node) for node in found}
