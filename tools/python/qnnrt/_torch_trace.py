"""torch.export, and what has to be arranged around it. It imports torch."""
from __future__ import annotations

import contextlib
import os
import sys
import traceback
import types
from typing import Any, Iterator, List, Mapping, Sequence, Tuple

import torch

from . import _errors as errors
from ._torch_complex import real_form
from ._torch_graph import ITEM_HINT, TORCH, check_nodes, inline_bodies, refuse, source_of_error
from ._torch_known import Known, possible
from ._torch_quantized import join_pairs, rules
from ._torch_rules import decompositions
from ._torch_samples import copied, first_line
from ._torch_values import Call, Flat, plain_layers

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_DATA_HINT = "Make the size or the condition fixed: pad, use a mask or torch.where, or pass a number that is no tensor."


@contextlib.contextmanager
def _all_lines() -> Iterator[None]:
    """Nodes keep all the lines that led to them, not those of forward() alone."""
    from torch.fx.proxy import TracerBase
    before = getattr(TracerBase, "_filter_traceback_frames", None)
    if before is None:
        yield
        return
    TracerBase._filter_traceback_frames = lambda self, frames: traceback.StackSummary.from_list(  # type: ignore[method-assign]
        [f for f in frames if not f.filename.startswith(_HERE) and (f.name == "forward" or not f.filename.startswith(TORCH))])
    try:
        yield
    finally:
        TracerBase._filter_traceback_frames = before  # type: ignore[method-assign]


@contextlib.contextmanager
def _transformers_patches() -> Iterator[None]:
    """What transformers changes in its own models so that torch.export can trace them."""
    if "transformers" not in sys.modules:
        raise ImportError("transformers is not in use")
    import transformers.exporters.exporter_dynamo  # pylint: disable=import-error,unused-import
    from transformers.exporters.utils import apply_patches  # pylint: disable=import-error
    with apply_patches("dynamo"):
        yield


@contextlib.contextmanager
def _same_dtypes() -> Iterator[None]:
    """A layer that a model converts to the dtype that it has stays as it is: a trace cannot replace its parameters."""
    before = torch.nn.Module.to

    def to(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        dtype = torch._C._nn._parse_to(*args, **kwargs)[1]
        if dtype is None or all(x.dtype == dtype for x in list(self.parameters()) + list(self.buffers()) if x.is_floating_point()):
            return self
        return before(self, *args, **kwargs)
    torch.nn.Module.to = to  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.nn.Module.to = before  # type: ignore[method-assign]


def _all_experts(self: Any, hidden_states: torch.Tensor, selected: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """What a loop over the experts that tokens chose computes, with a loop over all of them."""
    results = torch.zeros_like(hidden_states)
    for expert, mask in zip(self.values(), selected.permute(2, 1, 0).bool()):
        share = torch.where(mask.transpose(0, 1), weights, torch.zeros_like(weights)).sum(1, keepdim=True)
        results = results + torch.where(share != 0, expert(hidden_states) * share, torch.zeros_like(hidden_states))
    return results


def _without_loops(model: torch.nn.Module) -> torch.nn.Module:
    """Let the experts of transformers compute in one product, or all of them: which are needed depends on data."""
    for module in model.modules():
        if type(module).__name__ == "SwitchTransformersExperts":
            module.forward = types.MethodType(_all_experts, module)
        config = getattr(module, "config", None)
        if getattr(config, "_experts_implementation", None) is not None:
            config._experts_implementation = "batched_mm"
    return model


def _refused(what: str, error: BaseException) -> errors.UnsupportedError:
    place, text = source_of_error(error), first_line(error).replace(Flat.PREFIX, "")
    data = "DataDependent" in text or "data-dependent" in str(error)
    return errors.UnsupportedError("%s: %s%s" % (what, text, "\n  at " + place if place else ""), _DATA_HINT if data else "")


class _Tries:
    """Attempts at a trace, each with more around it than the one before."""

    def __init__(self, model: torch.nn.Module, call: Call, encodings: bool) -> None:
        self.model, self.call, self.encodings = model, call, encodings

    def plain(self, around: Any = contextlib.nullcontext, within: Any = None) -> Any:
        """One attempt. A trace leaves tensors without data in what a model keeps of its calls: it gets a copy."""
        flat = Flat(_without_loops(copied(self.model)), self.call, within).requires_grad_(False)
        with around(), plain_layers(), _all_lines(), _same_dtypes():
            return functional(torch.export.export(flat, tuple(x.detach() for _, x in self.call.tensors), strict=False), self.encodings)

    def known(self, ranges: Mapping[str, Sequence[int]], around: Any = contextlib.nullcontext) -> Any:
        """An attempt in which conditions on known values are decided. The values of buffers that the program changes are not known."""
        buffers = {name: x for name, x in self.model.named_buffers() if x.device.type == "cpu"}
        for _ in range(2):
            def within(model: torch.nn.Module, tensors: Sequence[torch.Tensor]) -> Known:
                mode = Known(buffers, ranges)
                mode.begin(model, [(name, x) for (name, _), x in zip(self.call.tensors, tensors)])
                return mode
            program = self.plain(around, within)
            changed = {str(s.target).replace(Flat.PREFIX, "", 1) for s in program.graph_signature.output_specs if s.target is not None}
            if not changed & set(buffers):
                break
            buffers = {name: x for name, x in buffers.items() if name not in changed}
        return program

    def hint(self, ranges: Mapping[str, Sequence[int]]) -> str:
        """Ranges of inputs with which the trace would come to its end."""
        more = {name: bounds for name, bounds in possible(self.call.tensors).items() if name not in ranges}
        for some in [{name: bounds} for name, bounds in more.items()] + ([more] if len(more) > 1 else []):
            try:
                self.known({**some, **ranges})
                return "If %s no other values, say so: ranges=%s." % (" and ".join(some) + (" has" if len(some) == 1 else " have"), some)
            except Exception:  # pylint: disable=broad-except
                continue
        return ""


def trace(model: torch.nn.Module, call: Call, ranges: Mapping[str, Sequence[int]], encodings: bool) -> Tuple[Any, List[str]]:
    """The program of torch.export for a call, as functional() gives it, and the names of its results."""
    tries, failed = _Tries(model, call, encodings), []
    for attempt in (tries.plain, lambda: tries.known(ranges), lambda: tries.known(ranges, _transformers_patches)):
        try:
            return attempt(), list(call.results)
        except Exception as error:  # pylint: disable=broad-except
            failed.append(error)
    # What a node is refused for says more than where torch stopped.
    first = next((error for error in failed[1::-1] if isinstance(error, errors.UnsupportedError)), failed[0])
    refused = first if isinstance(first, errors.UnsupportedError) else _refused("torch.export cannot trace the model", first)
    hint = tries.hint(ranges) if refused.hint in (_DATA_HINT, ITEM_HINT) else ""
    raise errors.UnsupportedError(refused.text, hint or refused.hint) from first


def functional(program: Any, encodings: bool = False) -> Any:
    """The program with bodies inlined, without changes in place, of operators that qnnrt knows, where torch can say it in them.

    encodings  what rounds quantized tensors stays as it is"""
    inline_bodies(program.graph_module)
    check_nodes(program.graph_module, first=True)
    join_pairs(program.graph_module)
    try:
        program = program.run_decompositions({**decompositions(), **rules(encodings)})
    except Exception as error:
        raise _refused("torch cannot write the model without changes in place", error) from error
    real_form(program, refuse)
    return program
