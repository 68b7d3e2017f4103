"""Quantized models of PT2E and torchao: rounding as nodes of the graph, or as encodings of its tensors. It imports torch."""
from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import torch

Node = torch.fx.Node
Tensor = torch.Tensor
_ROUND = torch.ops.aten.fake_quantize_per_tensor_affine.default
# What torch makes of it: the rounded tensor, and where it is not cut off.
ROUNDED = torch.ops.aten.fake_quantize_per_tensor_affine_cachemask.default
_PAIR = ("quantized_decomposed.quantize_per_tensor.default", "quantized_decomposed.dequantize_per_tensor.default")


def join_pairs(module: torch.fx.GraphModule) -> None:
    """Make one operator of ATen of each pair that quantizes a tensor and makes numbers of it again."""
    graph = module.graph
    for node in list(graph.nodes):
        source = node.args[0] if node.args else None
        if str(node.target) != _PAIR[1] or not isinstance(source, Node) or str(source.target) != _PAIR[0] or node.args[1:] != source.args[1:]:
            continue
        if source.args[0].meta["val"].dtype != torch.float32 or node.meta["val"].dtype != torch.float32:  # type: ignore[union-attr]
            continue
        with graph.inserting_before(node):
            made = graph.call_function(_ROUND, (source.args[0],) + tuple(source.args[1:5]))
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
        if not source.users:
            graph.erase_node(source)
    module.recompile()


# ---- as nodes --------------------------------------------------------------------------------------


def _rounded(x: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tuple[Tensor, Tensor]:
    row = torch.round(x * (1.0 / scale)) + zero_point
    return (torch.clamp(row, quant_min, quant_max) - zero_point) * scale, (row >= quant_min) & (row <= quant_max)


def _quantized(x: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: torch.dtype) -> Tensor:
    return torch.clamp(torch.round(x * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype)


def _numbers(x: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: torch.dtype, *, out_dtype: Any = None) -> Tensor:
    return ((x.to(torch.float32) - zero_point) * scale).to(out_dtype or torch.float32)


def rules(encodings: bool) -> Dict[Any, Callable[..., Any]]:
    """What the operators are made of; encodings: those that become encodings stay."""
    found: Dict[Any, Callable[..., Any]] = {} if encodings else {ROUNDED: _rounded}
    for name, function in (("quantize_per_tensor", _quantized), ("dequantize_per_tensor", _numbers)):
        packet = getattr(torch.ops.quantized_decomposed, name, None)
        for overload in packet.overloads() if packet is not None else ():
            found[getattr(packet, overload)] = function
    return found


# ---- as encodings ----------------------------------------------------------------------------------


def encoding(name: str, node: Node) -> Dict[str, Any]:
    """The encoding of a tensor, as AIMET 1.0.0 writes it."""
    scale, zero_point, low, high = node.args[1:5]
    bits = int(high - low + 1).bit_length() - (int(high - low + 1) & int(high - low) == 0)  # type: ignore[operator]
    return {"name": name, "enc_type": "PER_TENSOR", "dtype": "INT", "bw": bits, "is_sym": False, "scale": [scale],
            "offset": [int(low - zero_point)]}  # type: ignore[operator]
