"""qnnrt.export(): a model of PyTorch as a folder that qnnrt-run compile takes, with torch's own results."""
from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from . import _errors as errors
from . import _safetensors as safetensors

# Largest difference between torch's results and the graph's, relative to the largest value, in float32 as in float64.
_CLOSE = 1e-4
# Tested are this version of PyTorch and 2.15.
_OLDEST = (2, 7)
_FILES = ("graph.json", "weights.safetensors", "samples.safetensors")


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


class _Export:
    """One export: of a model, or of a program that torch.export made of one."""

    def __init__(self, model: Any, program: Any, call: Any, ranges: Mapping[str, Sequence[int]], name: Optional[str],
                 encodings: bool) -> None:
        from . import _torch_graph, _torch_samples, _torch_trace, _torch_values
        self.work, self.done = _torch_samples, Exported("")
        self.changed: Set[str] = set()
        self.model, self.call = model, call
        self.meta = any(x.device.type == "meta" for x in list(model.parameters()) + list(model.buffers()))
        inputs = [n for n, _ in self.call.tensors]
        if program is None:
            program, results = _torch_trace.trace(model, call, ranges, encodings)
            self.graph = _torch_graph.Graph(program, name or type(model).__name__, inputs, results,
                                            _torch_values.Flat.PREFIX)
        else:
            self.graph = _torch_graph.Graph(_torch_trace.functional(program, encodings), name or "model", inputs, _torch_graph.result_names(program))

    def rows(self, samples: Any, ranges: Mapping[str, Sequence[int]]) -> List[List[Any]]:
        """The inputs of the samples."""
        from ._torch_values import Call
        if isinstance(samples, int):
            return self.work.draw(self.call, samples, ranges)
        rows = []
        for number, sample in enumerate(samples):
            kwargs = sample if isinstance(sample, Mapping) else self.call.kwargs
            args = () if isinstance(sample, Mapping) else (sample,) if not isinstance(sample, (list, tuple)) else tuple(sample)
            found = Call(self.model, args, kwargs).tensors
            kinds = [[(n, tuple(x.shape), x.dtype) for n, x in tensors] for tensors in (found, self.call.tensors)]
            if kinds[0] != kinds[1]:
                raise errors.MismatchError("sample %d is not like args: %s, expected %s" % (number, kinds[0], kinds[1]))
            rows.append([x.detach().cpu().clone() for _, x in found])
        return rows

    def compute(self, rows: Sequence[Sequence[Any]]) -> List[Dict[str, Any]]:
        """Torch's results, in float64 where the model can, else in float32."""
        import torch
        why = ""
        for dtype in (torch.float64, None):
            try:
                samples = self.work.compute(self.model, self.call, self.graph, rows, dtype, self.changed)
                if dtype is not None and self.lost(rows, samples):
                    continue
            except Exception as error:  # pylint: disable=broad-except
                why = self.work.first_line(error)
                continue
            self.done.computed_in = "float64" if dtype is not None else "float32"
            if dtype is None:
                self.done.notes.append("The samples are in float32: torch cannot compute this model in float64.")
            return samples
        raise errors.UnsupportedError("torch cannot compute the model for its sample inputs: %s" % why,
                                      "Give inputs that the model takes: samples=[args, ..].")

    def lost(self, rows: Sequence[Sequence[Any]], samples: Sequence[Dict[str, Any]]) -> bool:
        """Whether float64 has no numbers where float32 has them: 0 times the smallest float64, in a mask that stays float32."""
        outputs = [(number, key, x) for number, sample in enumerate(samples) for key, x in sample.items()
                   if key.startswith("output/") and x.is_floating_point() and not bool(x.isfinite().all())]
        if not outputs:
            return False
        plain = self.work.compute(self.model, self.call, self.graph, rows, None, self.changed)
        return any(bool((plain[number][key].isfinite() & ~x.isfinite()).any()) for number, key, x in outputs)

    def check(self, rows: Sequence[Sequence[Any]], samples: Sequence[Dict[str, Any]], inner: bool) -> None:
        """Compare the graph, as torch computes it, with the model; add the values of nodes."""
        import torch
        dtype = torch.float64 if self.done.computed_in == "float64" else None
        worst = self.compare(samples, dtype, inner)
        if worst[0] > _CLOSE and dtype is not None:
            # Casts to a dtype that the model names do not follow it into float64: compare in its own dtypes.
            worst = self.compare(self.work.compute(self.model, self.call, self.graph, rows, None), None, False)
        self.done.error = worst[0]
        if worst[0] > _CLOSE:
            self.changed -= {key for key, _, _ in self.graph.states}
            raise errors.UnsupportedError(
                "the exported graph is not the model: output \"%s\" of sample %d differs by %.2g of its largest value%s"
                % (worst[1], worst[2], worst[0], "; a call changes " + ", ".join(sorted(self.changed)) if self.changed else ""),
                "Make what a call changes a buffer." if self.changed else "Look for conditions on the values of inputs.")

    def compare(self, samples: Sequence[Dict[str, Any]], dtype: Any, inner: bool) -> Tuple[float, str, int]:
        """The largest difference between the graph and the samples, and where it is."""
        run, worst = self.work.Interpreter(self.graph, dtype, inner), (0.0, "", 0)
        for number, sample in enumerate(samples):
            for name, value in run.compute(sample).items():
                apart = self.work.difference(value, sample["output/" + name])
                worst = (apart, name, number) if apart > worst[0] else worst
            sample.update({"node/" + name: value for name, value in run.values.items()})
        return worst

    def float16(self, rows: Sequence[Sequence[Any]], samples: Sequence[Dict[str, Any]]) -> Optional[float]:
        """The error of torch's own float16: the largest of all samples."""
        import torch
        try:
            others = self.work.compute(self.model, self.call, self.graph, rows, torch.float16)
            return max([self.work.difference(other[k], sample[k]) for other, sample in zip(others, samples) for k in other
                        if k.startswith("output/")] or [0.0])
        except Exception:  # pylint: disable=broad-except
            return None

    def write(self, folder: str, samples: Sequence[Dict[str, Any]], ranges: Mapping[str, Sequence[int]]) -> None:
        """Write the files of the folder."""
        from . import __version__
        document = self.graph.document
        document["exporter"] = "qnnrt " + __version__
        if ranges:
            document["ranges"] = {name: [int(low), int(high)] for name, (low, high) in ranges.items()}
        _write_graph(os.path.join(folder, _FILES[0]), document)
        stored = self.graph.read_weights()
        weights = {key: tensor for key, tensor in stored.items() if tensor.device.type != "meta"}
        if self.graph.complex:
            self.done.notes.append("Complex inputs and outputs are real, with a last dimension of 2: %s." % ", ".join(self.graph.complex))
        if len(weights) < len(stored):
            self.done.notes.append("%d weights have no data: the model is on meta." % (len(stored) - len(weights)))
        safetensors.write(os.path.join(folder, _FILES[1]), weights, {"format": "pt"})
        if samples:
            metadata = {"computed_in": self.done.computed_in}
            if self.done.float16_error is not None:
                metadata["float16_error"] = "%.3e" % self.done.float16_error
            tensors = {"%d/%s" % (i, key): value for i, sample in enumerate(samples) for key, value in sample.items()}
            safetensors.write(os.path.join(folder, _FILES[2]), tensors, metadata)


def _write_graph(path: str, document: Dict[str, Any]) -> None:
    """One node a line, so that an error can name the line."""
    text = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            rows = ",\n  ".join(json.dumps(row, separators=(",", ":"), allow_nan=False) for row in value)
            text.append("%s: [\n  %s]" % (json.dumps(key), rows))
        else:
            text.append("%s: %s" % (json.dumps(key), json.dumps(value)))
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(text) + "\n}\n")
    except OSError as error:
        raise errors.FileError("cannot write %s: %s" % (path, error.strerror or error)) from None


def _place(export_: _Export, path: str, samples: Sequence[Dict[str, Any]], ranges: Mapping[str, Sequence[int]]) -> None:
    """Write to a folder beside the path, then put the files in place."""
    parent = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(parent, exist_ok=True)
        work = tempfile.mkdtemp(prefix=".qnnrt-export-", dir=parent)
    except OSError as error:
        raise errors.FileError("cannot make a folder in %s: %s" % (parent, error.strerror or error)) from None
    try:
        export_.write(work, samples, ranges)
        os.makedirs(path, exist_ok=True)
        for file in _FILES:
            if os.path.exists(os.path.join(work, file)):
                os.replace(os.path.join(work, file), os.path.join(path, file))
            elif os.path.exists(os.path.join(path, file)):
                os.unlink(os.path.join(path, file))
    except OSError as error:
        raise errors.FileError("cannot write %s: %s" % (path, error.strerror or error)) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _check_ranges(ranges: Mapping[str, Sequence[int]], tensors: Mapping[str, Any]) -> None:
    for name, bounds in ranges.items():
        if name not in tensors:
            raise errors.ArgumentError("ranges names no input: \"%s\"; the inputs are %s" % (name, ", ".join(tensors)))
        x = tensors[name]
        if x.is_floating_point() or x.is_complex() or len(bounds) != 2 or bounds[0] > bounds[1]:
            raise errors.ArgumentError("the range of input \"%s\" is %s, expected (lowest, highest) of an integer input" % (name, bounds))
        if x.numel() > 0 and x.device.type != "meta" and not bounds[0] <= int(x.min()) <= int(x.max()) <= bounds[1]:
            raise errors.MismatchError("input \"%s\" has values from %d to %d, outside of its range %s" % (name, x.min(), x.max(), tuple(bounds)))


def export(model: Any, args: Any = (), path: Any = None, *, kwargs: Optional[Mapping[str, Any]] = None, samples: Any = 4,
           ranges: Optional[Mapping[str, Sequence[int]]] = None, inner: bool = False, name: Optional[str] = None,
           encodings: bool = False) -> Exported:
    """Export a model of PyTorch to a folder: graph.json, weights.safetensors and samples.safetensors.

    model    an nn.Module, exported as in eval mode, or what torch.export.export() returned
    args     a tensor or a tuple, as the model is called with
    path     the folder; files that an earlier export wrote are replaced
    kwargs   more arguments, by name
    samples  how many sample inputs torch computes: args, and others like it; or a list of args, or of kwargs
    ranges   lowest and highest value of integer inputs, such as {"input_ids": (0, 31999)}
    inner    also store the value of each node, so that verify can compare layer by layer
    name     of the model (default: its class)
    encodings  of a model that PT2E has quantized: graph.json has scales and offsets in place of nodes that round,
             for qnnrt-run compile FOLDER --encodings FOLDER/graph.json --weight_bits 8

    What torch.export cannot trace, and what no graph can say, is an UnsupportedError that names the line of the model."""
    try:
        import torch
    except ImportError as error:
        raise errors.NotFoundError("qnnrt.export needs PyTorch, which cannot be imported: %s" % error, "Install torch.") from None
    if tuple(int(n) for n in torch.__version__.split(".")[:2]) < _OLDEST:
        raise errors.NotFoundError("qnnrt.export needs PyTorch %d.%d or later, this is %s" % (_OLDEST + (torch.__version__,)), "Install a later torch.")
    program = model if isinstance(model, torch.export.ExportedProgram) else None
    if path is None:
        raise errors.ArgumentError("qnnrt.export needs a path", "Say qnnrt.export(model, args, \"folder\").")
    if isinstance(model, torch.jit.ScriptModule):
        raise errors.UnsupportedError("the model is a torch.jit.ScriptModule, which torch.export does not take",
                                      "Export the torch.nn.Module that it was made of.")
    if program is None and not isinstance(model, torch.nn.Module):
        raise errors.ArgumentError("the model is a %s, expected a torch.nn.Module or an ExportedProgram" % type(model).__name__)
    args = tuple(args) if isinstance(args, (list, tuple)) else (args,)
    given, ranges = dict(kwargs or {}), dict(ranges or {})
    if program is not None:
        if not args and not given and program.example_inputs is not None:
            args, given = program.example_inputs
        model = program.module()
    modes = {m: m.training for m in model.modules()}
    try:
        if program is None:
            try:
                model.eval()
            except NotImplementedError:              # an exported model, as PT2E makes it, has no other mode
                pass
        from ._torch_values import Call
        call = Call(model, args, given)
        _check_ranges(ranges, dict(call.tensors))
        made = _Export(model, program, call, ranges, name, encodings)
        if not made.graph.outputs:
            raise errors.ArgumentError("the model returns no tensor")
        done, rows, results = made.done, [] if made.meta else made.rows(samples, ranges), []
        if rows:
            results = made.compute(rows)
            made.check(rows, results, inner)
            done.float16_error = made.float16(rows, results)
    finally:
        for module, training in modes.items():
            module.training = training
    graph = made.graph
    done.path, done.nodes, done.weights, done.samples = os.fspath(path), len(graph.document["nodes"]), len(graph.read_weights()), len(results)
    done.inputs, done.outputs = [n for n, _ in graph.inputs], [n for n, _ in graph.outputs]
    done.states = [key for key, _, _ in graph.states]
    _place(made, done.path, results, ranges)
    return done
