"""Folders of context binaries: models, pipelines, plans, runs."""
from __future__ import annotations

import ctypes
import io
from ctypes import byref, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import _abi as abi
from . import _arrays as arrays
from . import _errors as errors
from ._core import Caught, Guard, Object, Owner, call, failure, lib, name_of, path_of, text_of

_DEVICES = {6: "npu", 4: "gpu", 3: "cpu", 5391686: "cpu"}
_LEVELS = {"off": 0, "error": 1, "warn": 2, "info": 3, "verbose": 4, "debug": 5}
_PROFILES = {"off": 0, "basic": 1, "detailed": 2, "optrace": 3}
_RESIDENCY = {"all": 0, "one": 1, "budget": 2}
_MEMORY = ("heap", "shared", "rpcmem", "dmabuf", "memfd")
_METADATA = {"all": 0, "system": 1, "json": 2}
_ROLES = {abi.QNNRT_ROLE_INPUT: "input", abi.QNNRT_ROLE_OUTPUT: "output", abi.QNNRT_ROLE_EDGE: "edge", abi.QNNRT_ROLE_CONSTANT: "constant"}
_STEPS = {abi.QNNRT_STEP_GRAPH: "graph", abi.QNNRT_STEP_HOST: "host", abi.QNNRT_STEP_DERIVED: "convert"}


def choice(value: str, choices: Mapping[str, int], what: str) -> int:
    """The number of a word."""
    if value not in choices:
        raise errors.ArgumentError("%s is %r" % (what, value), "Use one of %s." % ", ".join(choices))
    return choices[value]


@dataclass(frozen=True)
class Quant:
    """How stored integers q become numbers: (q + offset) * scale."""
    scales: Tuple[float, ...]
    offsets: Tuple[int, ...]
    axis: Optional[int] = None


@dataclass(frozen=True)
class TensorInfo:
    """The facts about a tensor."""
    name: str
    dtype: str
    shape: Tuple[int, ...]
    nbytes: int
    quant: Optional[Quant] = None
    dynamic: Tuple[bool, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class Slot:
    """One place in memory that a pipeline reads or writes."""
    name: str
    role: str
    tensor: TensorInfo
    first: int
    last: int


@dataclass(frozen=True)
class Step:
    """One step of a pipeline: a graph, a host function or a conversion."""
    name: str
    kind: str
    device: str
    text: str


@dataclass(frozen=True)
class Block:
    """One rectangle of a plan: bytes by steps. kept: its content stays between execs."""
    name: str
    role: str
    offset: int
    nbytes: int
    first: int
    last: int
    kept: bool


@dataclass(frozen=True)
class Plan:
    """Where the tensors of a pipeline lie. peak is what they need, naive without sharing, bound what every plan needs."""
    pipeline: str
    peak: int
    bound: int
    naive: int
    blocks: Tuple[Block, ...] = field(repr=False)


@dataclass(frozen=True)
class ProfileEvent:
    """One measurement of the backend's library. unit: "us", "cycles", "bytes", "count" or ""."""
    name: str
    node: str
    value: float
    unit: str
    depth: int
    step: int
    type: int
    time: int


@dataclass(frozen=True)
class Context:
    """One context binary of a model."""
    file: str
    role: str
    build_id: str
    backend_id: int
    graphs: Tuple[str, ...]
    file_bytes: int
    failure: Optional[str]


def quant_of(quant: abi.qnnrt_quant) -> Optional[Quant]:
    """The facts about an encoding; None: there is none."""
    if quant.encoding == abi.QNNRT_ENCODING_PER_TENSOR:
        return Quant((quant.scale,), (quant.offset,))
    if quant.encoding == abi.QNNRT_ENCODING_PER_AXIS:
        n = quant.count
        return Quant(tuple(quant.scales[:n]), tuple(quant.offsets[:n]) if quant.offsets else (0,) * n, quant.axis)
    return None


def _tensor(info: abi.qnnrt_tensor_info) -> TensorInfo:
    rank = info.rank
    dynamic = tuple(bool(info.dynamic_dims[i]) for i in range(rank)) if info.dynamic_dims else ()
    return TensorInfo(text_of(info.name), arrays.dtype_name(info.dtype), tuple(info.dims[:rank]) if rank else (), info.bytes, quant_of(info.quant), dynamic,
                      bool(info.optional))


def _device(backend: Optional[int]) -> str:
    if not backend:
        return "cpu"
    info = lib.qnnrt_backend_get_info(backend)
    return _DEVICES.get(info.contents.id, "backend %d" % info.contents.id) if info else "cpu"


class Pipeline:
    """Graphs in order, wired: the facts. prepare() makes a Run of it."""

    def __init__(self, model: "Model", pointer: int) -> None:
        self._model, self._pointer = model, pointer
        info = lib.qnnrt_pipeline_get_info(pointer).contents
        self.name = text_of(info.name)
        self.failure = text_of(info.failure.contents.text) if info.failure else None
        slots = [info.slots[i] for i in range(info.slot_count)]
        self.slots = tuple(Slot(text_of(s.address), _ROLES.get(s.role, "tensor"), _tensor(s.tensor.contents), s.first, s.last) for s in slots)
        self.names = {text_of(info.names[i].name): ctypes.addressof(info.names[i].slot.contents) for i in range(info.name_count)}
        room = ctypes.create_string_buffer(1024)
        self.steps = tuple(Step(text_of(s.graph.contents.name), _STEPS.get(s.kind, "step"), _device(s.backend),
                                text_of(lib.qnnrt_step_text(byref(s), room, 1024))) for s in (info.steps[i] for i in range(info.step_count)))

    def _of(self, role: str) -> Tuple[Slot, ...]:
        return tuple(s for s in self.slots if s.role == role)

    @property
    def inputs(self) -> Tuple[Slot, ...]:
        """The slots that the caller writes."""
        return self._of("input")

    @property
    def outputs(self) -> Tuple[Slot, ...]:
        """The slots that the last steps write."""
        return self._of("output")

    def plan(self) -> Plan:
        """Where its tensors would lie; no memory is touched."""
        self._model._handle()
        entry = abi.qnnrt_entry_desc(pipeline=self._pointer)
        desc = abi.qnnrt_plan_desc(entries=ctypes.pointer(entry), entry_count=1)
        info = lib.qnnrt_pipeline_get_info(self._pointer).contents
        desc.buffers, desc.buffer_count = info.buffers, info.buffer_count
        desc.places, desc.place_count = info.places, info.place_count
        made = c_void_p()
        call(lib.qnnrt_plan_create, byref(desc), byref(made))
        try:
            plan = lib.qnnrt_plan_get_info(made).contents
            blocks = []
            for i in range(plan.block_count):
                b = plan.blocks[i]
                if b.slot:
                    name, role = text_of(b.slot.contents.address), _ROLES.get(b.slot.contents.role, "tensor")
                else:
                    name, role = text_of(info.buffers[i].name), "buffer"
                blocks.append(Block(name, role, b.offset, b.bytes, b.first, b.last, bool(b.kept)))
            return Plan(self.name, plan.peak, plan.bound, plan.naive, tuple(blocks))
        finally:
            lib.qnnrt_plan_destroy(made)

    def __repr__(self) -> str:
        return "<Pipeline %s: %d step%s, %s -> %s>" % (self.name, len(self.steps), "" if len(self.steps) == 1 else "s", ", ".join(s.name for s in self.inputs),
                                                       ", ".join(s.name for s in self.outputs))


def _host_step(function: Callable[..., Any], caught: Caught) -> Callable[..., int]:
    """exec of a qnnrt_host_step: a function of numpy arrays, whose results are copied."""
    def step(_user: Any, info: Any, inputs: Any, outputs: Any, _err: Any) -> int:
        try:
            graph = info.contents
            rows = [graph.inputs[i] for i in range(graph.input_count)]
            given = {text_of(t.name): _elements(t, inputs[i], False) for i, t in enumerate(rows)}
            attrs = {name[5:]: value for name, value in given.items() if name.startswith("attr.")}
            made = function(*(value for name, value in given.items() if not name.startswith("attr.")), **{k: _argument(v) for k, v in attrs.items()})
            if graph.output_count == 1 and not isinstance(made, (list, tuple)):
                made = (made,)
            if len(made) != graph.output_count:
                raise errors.MismatchError("the function of %r returns %d results, expected %d" % (text_of(graph.name), len(made), graph.output_count))
            for i, values in enumerate(made):
                to = _elements(graph.outputs[i], outputs[i], True)
                if tuple(getattr(values, "shape", to.shape)) != to.shape:
                    raise errors.MismatchError("result %d of the function of %r is %s, expected %s" % (i, text_of(graph.name), list(values.shape), list(to.shape)))
                to[...] = values
            return 0
        except BaseException as error:  # pylint: disable=broad-except
            if not caught:
                caught.append(error)
            return abi.QNNRT_E_STATE
    return step


def _elements(tensor: abi.qnnrt_tensor_info, address: int, writable: bool) -> Any:
    return arrays.view(address, tensor.bytes, tensor.dtype, tuple(tensor.dims[:tensor.rank]) if tensor.rank else (), None, writable)


def _argument(array: Any) -> Any:
    """An argument that is no tensor, as it was in the model: a number, a bool, a text or a list."""
    if array.dtype.name == "uint8":
        return bytes(array).decode("utf-8", "replace")
    return array.tolist() if array.size > 1 else array.tolist()[0]


def _functions(opening: abi.qnnrt_manifest_open_desc, folder: bytes, own: Mapping[str, Callable[..., Any]], caught: Caught, keep: List[Any]) -> Owner:
    """Give a program the host steps of its folder, which the result frees, and functions of the caller."""
    if own and not arrays.numpy():
        raise errors.ArgumentError("host_functions are functions of numpy arrays", "Install numpy.")
    host, count = c_void_p(), c_size_t()
    call(lib.qnnrt_cpu_fallback_open, folder, None, byref(host))
    owner = Owner(host.value, lib.qnnrt_cpu_fallback_close)
    found = lib.qnnrt_cpu_fallback_functions(host, byref(count))
    steps = (abi.qnnrt_host_step * (count.value + len(own)))()
    for i in range(count.value):
        steps[i] = found[i]
    for row, (name, function) in zip(list(steps)[count.value:], own.items()):
        row.name, row.exec = name_of(name), type(row.exec)(_host_step(function, caught))
    keep.append(steps)
    opening.host_functions, opening.host_function_count = steps, len(steps)
    return owner


def _hooks(hooks: abi.qnnrt_hooks, log: Optional[Callable[[int, str, str], None]], caught: Caught, keep: List[Any]) -> None:
    if log is None:
        return

    def line(_user: Any, level: int, part: Optional[bytes], _code: int, text: Optional[bytes]) -> None:
        log(level, text_of(part), text_of(text))

    hooks.log = type(hooks.log)(caught.guard(line))
    keep.append(hooks.log)


class Model(Object):
    """An opened folder: contexts, their graphs, and pipelines. It never changes; any thread may read it.

    qnnrt.open() makes it. close() closes its runs, too; the memory of a run stays as long as an array shows it, and the
    model is freed when the last such array is gone."""

    _kind = "model"

    def __init__(self, path: Any, *, backend: Any = None, system: Any = None, backends: Optional[Mapping[str, Any]] = None, inspect: bool = False,
                 read: bool = False, guard: bool = False, keep_going: bool = False, metadata: str = "all", residency: str = "all", resident_bytes: int = 0,
                 memory: str = "heap", soc_model: int = 0, profile: str = "off", no_manifest: bool = False, check_hashes: bool = False,
                 host_functions: Optional[Mapping[str, Callable[..., Any]]] = None,
                 log: Optional[Callable[[int, str, str], None]] = None, log_level: str = "warn") -> None:
        keep: List[Any] = []
        opening = abi.qnnrt_manifest_open_desc()
        desc = opening.model
        if system is not None:
            desc.system_path = path_of(system)
        if backend is not None:
            desc.backend_desc.path = path_of(backend)
        desc.backend_desc.log_level = choice(log_level, _LEVELS, "log_level")
        desc.backend_desc.soc_model = soc_model
        self._caught = Caught()
        _hooks(desc.backend_desc.hooks, log, self._caught, keep)
        if backends:
            roles = (abi.qnnrt_manifest_role * len(backends))()
            for row, (role, library) in zip(roles, backends.items()):
                row.role, row.desc.path = name_of(role, "a role"), path_of(library)
            opening.backends, opening.backend_count = roles, len(backends)
        desc.inspect, desc.read, desc.keep_going, desc.no_manifest = inspect, read, keep_going, no_manifest
        if check_hashes:
            opening.sha256 = ctypes.cast(lib.qnnrt_sha256_text, type(opening.sha256))
        desc.metadata = choice(metadata, _METADATA, "metadata")
        swaps = choice(residency, _RESIDENCY, "residency")
        if (residency == "budget") != (resident_bytes > 0):
            raise ValueError('resident_bytes is %d; residency "budget" needs a number of bytes, and nothing else takes one' % resident_bytes)
        if swaps and not inspect:
            desc.residency = abi.QNNRT_RESIDENT_CALLER
        self._prepare_desc = abi.qnnrt_prepare_desc()
        self._prepare_desc.guard = guard
        choice(memory, {word: i for i, word in enumerate(_MEMORY)}, "memory")
        lib.qnnrt_device_memory(memory.encode(), byref(self._prepare_desc.mem))
        level = choice(profile, _PROFILES, "profile")
        files = None
        folder: Optional[bytes] = path_of(path)
        if folder is not None and folder.endswith(b".bin"):
            files = (abi.qnnrt_file * 1)()
            files[0].path = folder
            desc.files, desc.file_count, folder = files, 1, None
        parent: Optional[Owner] = None
        if folder is not None and not no_manifest:
            parent = _functions(opening, folder, host_functions or {}, self._caught, keep)
        made = c_void_p()
        self.path = str(path) if isinstance(path, (str, bytes)) else str(path)
        self._loading: Optional[Owner] = None
        if level:
            profile_made = c_void_p()
            call(lib.qnnrt_profile_create, level, None, byref(profile_made))
            parent = self._loading = Owner(profile_made.value, lib.qnnrt_profile_destroy, parent)
            desc.context_hooks = lib.qnnrt_profile_hook(self._loading)
        call(lib.qnnrt_manifest_open, folder, byref(opening), byref(made), caught=self._caught)
        self._owner = Owner(made.value, lib.qnnrt_manifest_close, parent, keep)
        if self._caught:
            self.close()
            self._caught.check()
        info = self._info
        for i in range(info.model_count if swaps and not inspect else 0):
            try:
                call(lib.qnnrt_model_swap, info.models[i], resident_bytes)
            except Exception:
                self.close()
                raise
        self._pipelines = [Pipeline(self, info.pipelines[i]) for i in range(info.pipeline_count)]

    @property
    def _info(self) -> abi.qnnrt_manifest_info:
        info: abi.qnnrt_manifest_info = lib.qnnrt_manifest_get_info(self._handle()).contents
        return info

    @property
    def pipelines(self) -> Dict[str, Pipeline]:
        """The pipelines by name: joined graphs first, then single graphs."""
        self._handle()
        return {p.name: p for p in self._pipelines}

    def pipeline(self, name: Optional[str] = None) -> Pipeline:
        """Find a pipeline; without a name the only one."""
        found = c_void_p()
        call(lib.qnnrt_manifest_find, self._handle(), None if name is None else name_of(name), byref(found))
        for pipeline in self._pipelines:
            if pipeline._pointer == found.value:
                return pipeline
        return Pipeline(self, found.value or 0)

    @property
    def contexts(self) -> Tuple[Context, ...]:
        """The context binaries, in shard order."""
        info = self._info
        rows = ((info.contexts[i], info.contexts[i].info.contents) for i in range(info.context_count))
        return tuple(Context(text_of(row.file), text_of(row.role), text_of(c.build_id), c.backend_id, tuple(text_of(c.graphs[i].name) for i in range(c.graph_count)),
                             c.file_bytes, text_of(row.failure.contents.text) if row.failure else None) for row, c in rows)

    @property
    def device(self) -> str:
        """"npu", "gpu" or "cpu", of several backends the first; "none" for a model that is only inspected."""
        info = self._info
        return _device(info.backend) if info.backend or not info.context_count else "none"

    @property
    def library(self) -> str:
        """The path of the backend's library; "" for a model that is only inspected."""
        backend = self._info.backend
        return text_of(lib.qnnrt_backend_get_info(backend).contents.path) if backend else ""

    @property
    def events(self) -> Tuple[ProfileEvent, ...]:
        """With profile: what the library measured while it loaded the contexts."""
        self._handle()
        found, count = ctypes.POINTER(abi.qnnrt_profile_event)(), c_size_t()
        lib.qnnrt_profile_events(self._loading, byref(found), byref(count))
        return tuple(_event(found[i]) for i in range(count.value))

    def plan(self, name: Optional[str] = None) -> Plan:
        """The plan of a pipeline alone, as prepare() makes it."""
        return self.pipeline(name).plan()

    def prepare(self, name: Optional[str] = None) -> "Run":
        """Give a pipeline memory, and make it executable."""
        return Run(self, self.pipeline(name))

    def recover(self) -> None:
        """After a restart of the DSP (vendor codes 1007 and 1011): load again what was loaded."""
        for i in range(self._info.model_count):
            call(lib.qnnrt_model_recover, self._info.models[i], caught=self._caught)
        self._caught.check()

    def __repr__(self) -> str:
        if self.closed:
            return "<Model %s closed>" % self.path
        return "<Model %s engine=qnn device=%s: %s>" % (self.path, self.device, ", ".join(p.name for p in self._pipelines))


def _event(event: abi.qnnrt_profile_event) -> ProfileEvent:
    return ProfileEvent(text_of(event.name), text_of(event.node), event.value, text_of(event.unit_name), event.depth, event.step, event.type, event.time)


_exec = lib.qnnrt_exec
# Bytes, not a text that ends at a NUL.
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p, c_size_t)


class Run(Object):
    """An executable pipeline, for one thread at a time.

    run["x"] is an array over the memory of a slot, run["x"] = values writes values into it (converted where the
    tensor has another type), exec() computes. With numpy these arrays are numpy's, else Tensors."""

    _kind = "run"

    def __init__(self, model: Model, pipeline: Pipeline) -> None:
        made = c_void_p()
        parent = model._handle()
        self._caught = model._caught
        call(lib.qnnrt_pipeline_prepare, pipeline._pointer, byref(model._prepare_desc), byref(made), caught=self._caught)
        self.pipeline = pipeline
        self._model_text = repr(model)
        self._owner = Owner(made.value, lib.qnnrt_run_destroy, parent)
        lib.qnnrt_run_dynamic(made)             # out of memory: exec says so
        if self._caught:
            self._owner = None
            self._caught.check()
        self._guard = Guard("run")
        self._bound: Dict[int, Any] = {}
        self._slots: Dict[str, Any] = {}
        model._child(self)

    @property
    def inputs(self) -> Tuple[Slot, ...]:
        """The slots that the caller writes."""
        return self.pipeline.inputs

    @property
    def outputs(self) -> Tuple[Slot, ...]:
        """The slots that the last steps write."""
        return self.pipeline.outputs

    def _failed(self, code: int) -> errors.Error:
        return failure(lib.qnnrt_run_error(self._handle()).contents, code)

    def _check(self, code: int) -> None:
        if code or self._caught:
            self._caught.check(self._failed(code) if code else None)

    def _slot(self, name: str) -> Any:
        slot = self._slots.get(name)
        if slot is None:
            owner = self._handle()
            slot = lib.qnnrt_run_slot(owner, name_of(name))
            if not slot:
                raise failure(lib.qnnrt_run_error(owner).contents)
            self._slots[name] = slot
        return slot

    def exec(self) -> None:
        """Execute every step. Python's lock is released meanwhile."""
        owner = self._owner
        with self._guard:
            if owner is None or owner.value is None:
                self._handle()
            code = _exec(owner)
            if code or self._caught:
                self._check(code)

    def dims(self, name: str) -> Tuple[int, ...]:
        """The dims of a tensor now: of an input those that were set, of an output those of the last exec."""
        owner, rank = self._handle(), c_uint32()
        found = lib.qnnrt_get_dims(owner, self._slot(name), byref(rank))
        return tuple(found[:rank.value]) if rank.value else ()

    def set_dims(self, name: str, dims: Optional[Sequence[int]]) -> None:
        """Set the dims of a dynamic tensor, from now on."""
        owner, slot = self._handle(), self._slot(name)
        with self._guard:
            if dims is None:
                self._check(lib.qnnrt_set_dims(owner, slot, None, 0))
            else:
                self._check(lib.qnnrt_set_dims(owner, slot, (c_uint32 * max(1, len(dims)))(*dims), len(dims)))

    def __getitem__(self, name: str) -> Any:
        """An array over the stored elements of a slot, where they lie. Quantized types are integers."""
        owner, slot, size = self._handle(), self._slot(name), c_size_t()
        address = lib.qnnrt_data_slot(owner, slot, byref(size))
        if not address:
            raise failure(lib.qnnrt_run_error(owner).contents)
        info = slot.contents
        key = ctypes.addressof(info)
        return arrays.view(address, size.value, info.tensor.contents.dtype, self.dims(name), (owner, self._bound.get(key)))

    def __setitem__(self, name: str, values: Any) -> None:
        self.write(name, values)

    def __iter__(self) -> Iterator[str]:
        return iter([s.name for s in self.pipeline.slots])

    def write(self, name: str, values: Any, begin: int = 0) -> None:
        """Write numbers into an input, converted to its type and encoding.

        An array of the stored type is copied as it is; other numbers are converted through float32, integers through
        int32."""
        owner, slot = self._handle(), self._slot(name)
        tensor = slot.contents.tensor.contents
        what = 'input "%s"' % name
        if not isinstance(values, (list, tuple, int, float)) and not begin:
            made = arrays.source(values, tensor.dtype, what, True)
            if made.dtype == tensor.dtype and not slot.contents.has_range:
                size = c_size_t()
                address = lib.qnnrt_data_slot(owner, slot, byref(size))
                if not address:
                    raise failure(lib.qnnrt_run_error(owner).contents)
                if made.nbytes != size.value:
                    raise errors.MismatchError("%s has %d bytes, and the array has %d (%s%s)" % (
                        what, size.value, made.nbytes, arrays.dtype_name(made.dtype), list(made.shape)), "Give it the shape %s." % list(self.dims(name)))
                with self._guard:
                    ctypes.memmove(address, made.address, made.nbytes)
                return
        integers = tensor.dtype in (abi.QNNRT_DTYPE_I8, abi.QNNRT_DTYPE_I16, abi.QNNRT_DTYPE_I32, abi.QNNRT_DTYPE_I64, abi.QNNRT_DTYPE_U8, abi.QNNRT_DTYPE_U16,
                                    abi.QNNRT_DTYPE_U32, abi.QNNRT_DTYPE_U64)
        copied = arrays.numbers(values, "i" if integers else "f", what)
        made = arrays._from_buffer(copied, what)
        kind, function = (ctypes.c_int32, lib.qnnrt_write_i32) if integers else (ctypes.c_float, lib.qnnrt_write_f32)
        with self._guard:
            self._check(function(owner, slot, begin, ctypes.cast(made.address, ctypes.POINTER(kind)), made.nbytes // 4))

    def read(self, name: str, begin: int = 0, count: Optional[int] = None) -> Any:
        """Copy numbers out of a slot as float32: a whole tensor in its shape, or `count` of them."""
        owner, slot = self._handle(), self._slot(name)
        shape: Tuple[int, ...] = self.dims(name)
        if begin or count is not None:
            shape = (max(0, arrays.product(shape) - begin) if count is None else count,)
        made, address, nbytes = arrays.empty(abi.QNNRT_DTYPE_F32, shape)
        with self._guard:
            self._check(lib.qnnrt_read_f32(owner, slot, begin, ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), nbytes // 4))
        return made

    def bind(self, name: str, array: Any) -> None:
        """Read an input from this memory, or write an output into it, without a copy; None: the run's own again.

        The array must have the type and the size of the tensor, and lie row-major without gaps. It is held until the
        slot is bound again."""
        owner, slot = self._handle(), self._slot(name)
        info = slot.contents
        key = ctypes.addressof(info)
        bind = lib.qnnrt_bind_input if info.role == abi.QNNRT_ROLE_INPUT else lib.qnnrt_bind_output
        with self._guard:
            if array is None:
                self._check(bind(owner, slot, None, 0))
                self._bound.pop(key, None)
                owner.keep = tuple(self._bound.values())
                return
            tensor = info.tensor.contents
            what = '%s "%s"' % (_ROLES.get(info.role, "tensor"), name)
            made = arrays.source(array, tensor.dtype, what, False)
            if made.read_only and info.role != abi.QNNRT_ROLE_INPUT:
                raise errors.ArgumentError("%s: the memory is read-only" % what, "Bind an array that can be written.")
            if made.dtype != tensor.dtype:
                raise errors.MismatchError("%s is %s, and the array is %s" % (what, arrays.dtype_name(tensor.dtype), arrays.dtype_name(made.dtype)),
                                           "Convert the array first.")
            if made.nbytes < tensor.bytes:
                raise errors.MismatchError("%s has %d bytes, and the array has %d (%s%s)" % (what, tensor.bytes, made.nbytes, arrays.dtype_name(made.dtype),
                                                                                           list(made.shape)), "Give it the shape %s." % list(tensor.dims[:tensor.rank]))
            self._check(bind(owner, slot, made.address, made.nbytes))
            self._bound[key] = made.keep
            owner.keep = tuple(self._bound.values())

    @property
    def states(self) -> Dict[str, Any]:
        """What the model keeps between calls: arrays over the values, as the next exec() finds them."""
        owner, count, made = self._handle(), c_size_t(), {}
        list_of = lib.qnnrt_manifest_states(self.pipeline._pointer, byref(count))
        for i in range(count.value):
            info = list_of[i].tensor.contents
            address = lib.qnnrt_manifest_state_data(owner, list_of[i].name)
            made[text_of(list_of[i].name)] = arrays.view(address, info.bytes, info.dtype, tuple(info.dims[:info.rank]) if info.rank else (), (owner, None))
        return made

    def reset(self) -> None:
        """Give all states their first values, those of the checkpoint."""
        with self._guard:
            call(lib.qnnrt_manifest_reset, self._handle())

    def save_states(self, path: Any = None) -> bytes:
        """The values of all states as a .safetensors file, which is also written to a path."""
        pieces: List[bytes] = []

        def piece(_user: Any, data: int, size: int) -> int:
            pieces.append(ctypes.string_at(data, size))
            return 1

        write = _WRITE(piece)
        with self._guard:
            call(lib.qnnrt_manifest_save, self._handle(), ctypes.cast(write, lib.qnnrt_manifest_save.argtypes[1]), None)
        made = b"".join(pieces)
        if path is not None:
            with io.open(path, "wb") as file:
                file.write(made)
        return made

    def restore_states(self, saved: Any) -> None:
        """Set all states to what save_states() returned or wrote: bytes, or a path."""
        if not isinstance(saved, (bytes, bytearray, memoryview)):
            with io.open(saved, "rb") as file:
                saved = file.read()
        data = bytes(saved)
        with self._guard:
            call(lib.qnnrt_manifest_restore, self._handle(), data, len(data))

    def profile(self, level: str = "detailed") -> None:
        """Profile every exec from now on: "basic", "detailed", "optrace"; "off" stops."""
        with self._guard:
            self._check(lib.qnnrt_run_profile(self._handle(), choice(level, _PROFILES, "the level of a profile")))

    def events(self) -> Tuple[ProfileEvent, ...]:
        """The measurements of the last exec, in the order of its steps."""
        owner = self._handle()
        found, count = ctypes.POINTER(abi.qnnrt_profile_event)(), c_size_t()
        with self._guard:
            self._check(lib.qnnrt_run_events(owner, byref(found), byref(count)))
            return tuple(_event(found[i]) for i in range(count.value))

    def plan(self) -> Plan:
        """Where its tensors lie."""
        self._handle()
        return self.pipeline.plan()

    def __call__(self, **inputs: Any) -> Dict[str, Any]:
        """Write inputs, execute, and return all outputs as float32 arrays (quantized values are converted)."""
        for name, values in inputs.items():
            self.write(name, values)
        self.exec()
        return {s.name: self.read(s.name) for s in self.outputs}

    def close(self) -> None:
        """Free it, as soon as no array of its memory is in use."""
        self._slots = {}
        super().close()

    def __repr__(self) -> str:
        return "<Run %s of %s%s>" % (self.pipeline.name, self._model_text, " closed" if self.closed else "")


def open(path: Any, **options: Any) -> Model:  # noqa: A001 the name of the C function
    """Open a folder of context binaries, or one binary, on a backend.

    path            the folder, or a .bin
    backend         the library: "libQnnHtp.so" by default; "libQnnRef.so" runs on any CPU and is in the package
    system          libQnnSystem.so (default: searched beside the backend)
    backends        {role: library} for a model with several backends
    inspect         True: read the facts only
    read, guard, keep_going, no_manifest, check_hashes, metadata, residency, resident_bytes, memory, soc_model, profile
                    as in qnnrt.h; words for numbers: "one", "shared", "json", "detailed"
    host_functions  {operator: function} for operators that qnnrt-run compile --host_op left: a function takes the tensors as
                    numpy arrays and the other arguments by name, and returns an array, or a tuple of them
    log             a function (level, part, text) for lines of the log, from any thread; what it raises, the next call raises
    """
    return Model(path, **options)
