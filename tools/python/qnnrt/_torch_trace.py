"""torch.export, and what has to be arranged around it. It imports torch."""
from __future__ import annotations

import contextlib
import os
import sys
import traceback
from typing import Any, Iterator, List, Tuple

import torch

from . import _errors as errors
from ._torch_complex import real_form
from ._torch_graph import TORCH, check_nodes, inline_bodies, refuse, source_of_error
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


def _without_loops(model: torch.nn.Module) -> torch.nn.Module:
    """Let the experts of transformers compute in one product: which of them are needed depends on data."""
    for module in model.modules():
        config = getattr(module, "config", None)
        if getattr(config, "_experts_implementation", None) is not None:
            config._experts_implementation = "batched_mm"
    return model


def _refused(what: str, error: BaseException) -> errors.UnsupportedError:
    place, text = source_of_error(error), first_line(error).replace(Flat.PREFIX, "")
    data = "DataDependent" in text or "data-dependent" in str(error)
    return errors.UnsupportedError("%s: %s%s" % (what, text, "\n  at " + place if place else ""), _DATA_HINT if data else "")


def trace(model: torch.nn.Module, call: Call) -> Tuple[Any, List[str]]:
    """The program of torch.export for a call, and the names of its results."""
    first = None
    for around in (contextlib.nullcontext, _transformers_patches):
        # A trace leaves tensors without data in what a model keeps of its calls: it gets a copy.
        flat = Flat(_without_loops(copied(model)), call)
        try:
            with around(), plain_layers(), _all_lines():
                program = torch.export.export(flat, tuple(x.detach() for _, x in call.tensors), strict=False)
            return program, list(call.results)
        except Exception as error:  # pylint: disable=broad-except
            first = first or error
    assert first is not None
    raise _refused("torch.export cannot trace the model", first) from first


def functional(program: Any) -> Any:
    """The program with bodies inlined, without changes in place, of operators that qnnrt knows, where torch can say it in them."""
    inline_bodies(program.graph_module)
    check_nodes(program.graph_module, first=True)
    try:
        program = program.run_decompositions(decompositions())
    except Exception as error:
        raise _refused("torch cannot write the model without changes in place", error) from error
    real_form(program, refuse)
    return program
