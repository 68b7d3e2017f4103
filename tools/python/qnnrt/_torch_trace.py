"""torch.export, and what has to be arranged around it. It imports torch."""
from __future__ import annotations

import contextlib
import sys
from typing import Any, Iterator, List, Tuple

import torch

from . import _errors as errors
from ._torch_graph import decompositions, inline_bodies, source_of_error
from ._torch_samples import first_line
from ._torch_values import Call, Flat

_DATA_HINT = "Make the size or the condition fixed: pad, use a mask or torch.where, or pass a number that is no tensor."


@contextlib.contextmanager
def _plain_layers() -> Iterator[None]:
    """Without the fused layers of torch.nn, which are operators of their own."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


@contextlib.contextmanager
def _transformers_patches() -> Iterator[None]:
    """What transformers changes in its own models so that torch.export can trace them."""
    if "transformers" not in sys.modules:
        raise ImportError("transformers is not in use")
    import transformers.exporters.exporter_dynamo  # pylint: disable=import-error,unused-import
    from transformers.exporters.utils import apply_patches  # pylint: disable=import-error
    with apply_patches("dynamo"):
        yield


def _refused(what: str, error: BaseException) -> errors.UnsupportedError:
    place, text = source_of_error(error), first_line(error)
    data = "DataDependent" in text or "data-dependent" in str(error)
    return errors.UnsupportedError("%s: %s%s" % (what, text, "\n  at " + place if place else ""), _DATA_HINT if data else "")


def trace(model: torch.nn.Module, call: Call) -> Tuple[Any, List[str]]:
    """The program of torch.export for a call, and the names of its results."""
    first = None
    for around in (contextlib.nullcontext, _transformers_patches):
        flat = Flat(model, call)
        try:
            with around(), _plain_layers():
                program = torch.export.export(flat, tuple(x.detach() for _, x in call.tensors), strict=False)
            return program, list(call.results)
        except Exception as error:  # pylint: disable=broad-except
            first = first or error
    assert first is not None
    raise _refused("torch.export cannot trace the model", first) from first


def functional(program: Any) -> Any:
    """The program with bodies inlined, without changes in place, of operators that qnnrt knows, where torch can say it in them."""
    inline_bodies(program.graph_module)
    try:
        return program.run_decompositions(decompositions())
    except Exception as error:
        raise _refused("torch cannot write the model without changes in place", error) from error
