"""Sessions: any model, with whichever engine can run it."""
from __future__ import annotations

import ctypes
import json
import os
import platform
import site
from ctypes import byref, c_void_p
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _abi as abi
from . import _arrays as arrays
from . import _errors as errors
from ._core import Caught, Guard, Object, Owner, call, failure, lib, name_of, path_of, text_of
from ._model import Quant, _hooks, choice, quant_of

_PRECISIONS = {"default": abi.QNNRT_PRECISION_DEFAULT, "fp32": abi.QNNRT_PRECISION_FP32, "fp16": abi.QNNRT_PRECISION_FP16, "int8": abi.QNNRT_PRECISION_INT8}
# Without argtypes, a call costs less: the argument is always an Owner.
_binding_run = lib["qnnrt_binding_run"]
_session_run = lib["qnnrt_session_run"]
_BUSY = abi.QNNRT_E_BUSY
_WORD = ctypes.sizeof(ctypes.c_size_t)
_WORDS: Any = "N"                          # how memoryviews call them
_PREPARED = 8                              # layouts that a session remembers
_TYPES: Dict[int, Any] = {}


def _values(count: int) -> Any:
    """Values of C. Making the type of an array takes longer than a run, so types are kept."""
    kind = _TYPES.get(count)
    if kind is None:
        kind = _TYPES[count] = abi.qnnrt_value * max(1, count)
    return kind()


_nothing = ctypes.c_uint64()
_EMPTY = ctypes.addressof(_nothing)


class _Prepared:
    """A run that was described before: values of C for inputs of these shapes and types, which only need addresses.

    Only runs with contiguous arrays of numpy are remembered. Results are new arrays in each run."""

    __slots__ = ("inputs", "outputs", "words", "out_words", "pristine", "wanted", "results", "names", "counts", "memory")

    def __init__(self, inputs: Any, count: int, outputs: Any, names: List[str], results: List[Any]) -> None:
        size, at = ctypes.sizeof(abi.qnnrt_value), abi.qnnrt_value.data.offset
        # The first values hold the names.
        self.memory = (inputs, outputs)
        ins, outs = bytearray(inputs), bytearray(outputs)
        self.inputs, self.outputs = type(inputs).from_buffer(ins), type(outputs).from_buffer(outs)
        self.words, self.out_words = memoryview(ins).cast(_WORDS), memoryview(outs).cast(_WORDS)
        self.wanted = [(i * size + at) // _WORD for i in range(count)]
        self.results = [None if r is None else (r[0], r[1], (i * size + at) // _WORD) for i, r in enumerate(results)]
        for i in range(len(names)):
            self.outputs[i].data = None
        self.pristine = memoryview(bytes(outs)).cast(_WORDS)
        self.names, self.counts = names, (ctypes.c_size_t(count), ctypes.c_size_t(len(names)))


@dataclass(frozen=True)
class NodeArg:
    """The facts about an input or output. shape has -1 where any size fits; None: the model does not say the rank."""
    name: str
    shape: Optional[List[int]]
    dtype: str
    type: str
    dim_names: Tuple[str, ...] = ()
    optional: bool = False
    quant: Optional[Quant] = None


@dataclass(frozen=True)
class Candidate:
    """An engine and a device that were looked at, and why they were taken or not."""
    engine: str
    device: str
    taken: bool
    reason: str


@dataclass(frozen=True)
class Dispatch:
    """A row of the dispatch log: one step of a run. us is None where it was not measured."""
    step: int
    name: str
    engine: str
    device: str
    dtype: str
    shape: Tuple[int, ...]
    us: Optional[float]


def _arg(t: abi.qnnrt_session_tensor) -> NodeArg:
    names = tuple(text_of(t.dim_names[i]) for i in range(t.rank)) if t.dim_names else ()
    return NodeArg(text_of(t.name), None if t.any_rank else list(t.dims[:t.rank]), arrays.dtype_name(t.dtype), arrays.ort_type(t.dtype), names, bool(t.optional),
                   quant_of(t.quant.contents) if t.quant else None)


def _json(policy: Any, what: str) -> Optional[bytes]:
    if policy is None:
        return None
    return name_of(policy if isinstance(policy, str) else json.dumps(policy), what)


def _pairs(options: Mapping[str, Any]) -> List[Tuple[Optional[str], str, str]]:
    """{"qnn": {"soc_model": 57}}, {"qnn.soc_model": 57} and {"library_path": "x.so"} as engine, key, value."""
    rows: List[Tuple[Optional[str], str, str]] = []
    for key, value in options.items():
        if isinstance(value, Mapping):
            rows += [(key, inner, v) for inner, v in value.items()]
        else:
            engine, dot, rest = key.partition(".")
            rows.append((engine, rest, value) if dot else (None, key, value))
    return [(engine, key, v if isinstance(v, str) else "1" if v is True else "0" if v is False else str(v)) for engine, key, v in rows]


# Engine, option, package, its folder with the library, and the library: what wheels of engines have.
_WHEELS = (("onnxrt", "library_path", "onnxruntime", "capi", "libonnxruntime.so"), ("onnxrt+trt", "library_path", "onnxruntime", "capi", "libonnxruntime.so"),
           ("openvino", "library_path", "openvino", "libs", "libopenvino_c.so"))
_WHEELS_NPU = (("qnn", "npu_path", "onnxruntime_qnn", "", "libQnnHtp.so"),)


def _installed(npu: bool) -> List[Tuple[str, str, str]]:
    """Engines' libraries in packages that pip installed, as engine, key and path. Packages are not imported.

    Only where pip installs, not in all of sys.path: that begins with the current folder or the script's, which may be a model's."""
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))] + site.getsitepackages() + ([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])
    rows = []
    for engine, key, package, inner, library in _WHEELS + (_WHEELS_NPU if npu else ()):
        spec = PathFinder.find_spec(package, folders)
        for place in (spec.submodule_search_locations or []) if spec is not None else []:
            folder = os.path.join(place, inner) if inner else place
            if os.path.isdir(folder) and any(name.startswith(library) for name in os.listdir(folder)):
                rows.append((engine, key, folder if inner else os.path.join(folder, library)))
                break
    return rows


class IOBinding(Object):
    """Inputs and outputs that stay placed in memory of the caller, from run to run, without a copy."""

    _kind = "binding"

    def __init__(self, session: "InferenceSession") -> None:
        made = c_void_p()
        parent = session._handle()
        call(lib.qnnrt_binding_create, parent, byref(made))
        self._session, self._caught = session, session._caught
        self._owner = Owner(made.value, lib.qnnrt_binding_destroy, parent)
        self._inputs: Dict[str, Any] = {}
        self._outputs: Dict[str, Any] = {}
        session._child(self)

    def _place(self, output: bool, name: str, source: Optional[arrays.Source], array: Any) -> None:
        owner, session = self._handle(), self._session
        value = abi.qnnrt_value(name=name_of(name))
        if source is not None:
            session._fill(value, source)
        function = lib.qnnrt_binding_output if output else lib.qnnrt_binding_input
        session._check(function(owner, byref(value)))
        kept = self._outputs if output else self._inputs
        kept[name] = (array, source)
        owner.keep = (tuple(self._inputs.values()), tuple(self._outputs.values()))

    def _raw(self, name: str, device: str, index: Any, dtype: Any, shape: Any, pointer: Any) -> arrays.Source:
        if device != "cpu" or dtype is None or shape is None or not pointer:
            raise errors.ArgumentError('"%s": memory by its address needs device "cpu", a type, a shape and the address' % name)
        number = arrays.dtype_number(dtype)
        return arrays.Source(pointer, arrays.product(shape) * arrays.itemsize(number), number, tuple(shape), index)

    def bind_input(self, name: str, array: Any, device_id: int = 0, element_type: Any = None, shape: Any = None, buffer_ptr: Any = None) -> None:
        """Read an input from this array at each run; None takes it back.

        As in ONNX Runtime, bind_input(name, "cpu", 0, element_type, shape, address) takes an address."""
        if array is None:
            self._place(False, name, None, None)
            self._inputs.pop(name, None)
        elif isinstance(array, str):
            self._place(False, name, self._raw(name, array, device_id, element_type, shape, buffer_ptr), None)
        else:
            self._place(False, name, arrays.source(array, self._session._dtype(0, name), 'input "%s"' % name, False), array)

    bind_cpu_input = bind_input

    def bind_output(self, name: str, array: Any = None, device_id: int = 0, element_type: Any = None, shape: Any = None, buffer_ptr: Any = None) -> None:
        """Write an output into this array at each run; without one, the engine finds memory. An address as in bind_input()."""
        if array is None or (isinstance(array, str) and buffer_ptr is None):
            if array not in (None, "cpu"):
                raise errors.ArgumentError('output "%s": device %r; the memory of results is on the cpu' % (name, array))
            self._place(True, name, None, None)
        elif isinstance(array, str):
            self._place(True, name, self._raw(name, array, device_id, element_type, shape, buffer_ptr), None)
        else:
            source = arrays.source(array, self._session._dtype(1, name), 'output "%s"' % name, False)
            if source.read_only:
                raise errors.ArgumentError('output "%s": the memory is read-only' % name, "Bind an array that can be written.")
            self._place(True, name, source, array)

    def run(self) -> None:
        """Run once with what is placed. Python's lock is released meanwhile."""
        code = _binding_run(self._owner)
        if code or self._caught:
            self._check(code)

    def _check(self, code: int) -> None:
        self._handle()
        self._session._check(code)

    def get_outputs(self) -> List[Any]:
        """What the last run wrote, output by output: the arrays that are bound, and copies of the others."""
        owner, session = self._handle(), self._session
        found = []
        for arg in session._output_args:
            array = self._outputs.get(arg.name, (None,))[0]
            if array is None:
                value = abi.qnnrt_value()
                session._check(lib.qnnrt_binding_get(owner, name_of(arg.name), byref(value)))
                array = _copy(value)
            found.append(array)
        return found

    copy_outputs_to_cpu = get_outputs

    def close(self) -> None:
        """Free it."""
        super().close()
        self._inputs, self._outputs = {}, {}

    def __repr__(self) -> str:
        return "<IOBinding of %r%s>" % (self._session, " closed" if self.closed else "")


def _copy(value: abi.qnnrt_value) -> Any:
    """An array of its own with what an engine wrote into its memory."""
    shape = tuple(value.dims[:value.rank])
    if value.dtype == abi.QNNRT_DTYPE_STRING:
        count = arrays.product(shape)
        texts = [text_of(t) for t in ctypes.cast(value.data, ctypes.POINTER(ctypes.c_char_p))[:count]] if count else []
        module = arrays.numpy()
        if module:
            made = module.empty(count, object)
            made[:] = texts
            return made.reshape(shape)
        return arrays.nested(texts, shape)
    made, address, nbytes = arrays.empty(value.dtype, shape)
    if nbytes:
        if nbytes != value.bytes:
            raise errors.MismatchError("the engine wrote %d bytes, and %s%s has %d" % (value.bytes, arrays.dtype_name(value.dtype), list(shape), nbytes))
        ctypes.memmove(address, value.data, nbytes)
    return made


class InferenceSession(Object):
    """A model that an engine has loaded.

        session = qnnrt.InferenceSession("net.onnx", device="auto", cache_dir="/var/tmp/models")
        print(session, session.candidates)
        logits, = session.run(None, {"x": x})               as ONNX Runtime's: a list
        session.run({"x": x})["logits"]                     a dict of inputs gives a dict of outputs
        session.run([x])[0]                                 a list of inputs gives a list of outputs

    path              a folder of context binaries or a .bin, a graph (.json), .onnx, .xml, .engine, .plan
    device            "npu", "gpu", "cpu", "cuda:0", "auto"; None: the target of execution_policy, else "auto"
    engine            "qnn", "onnxrt", "onnxrt+trt", "openvino", "auto"
    precision         "fp32", "fp16", "int8"; fp16=True and int8=True mean the same
    cache_dir         keeps what engines compile; cache_bytes limits it
    max_batch_size    most rows of a run; a model with a fixed batch then runs as often as needed
    workspace_size    bytes of scratch memory for an engine
    threads           of one operator (default 1)
    allow_fallback    True: what the device cannot run may run on the CPU; fallback says what does
    native_io         True: quantized inputs and outputs are integers, else float32
    options           {"onnxrt": {"key": value}}, {"onnxrt.key": value}, or {"library_path": path} for every engine; without
                      library_path, the packages onnxruntime, openvino and onnxruntime-qnn are used where pip installed them
    shapes            {"x": [1, 3, 224, 224]} for an input, {"batch": 1} for a dimension
    kernel_policy, execution_policy      JSON text, or a dict
    policy_cache_dir  True: the cache_dir of execution_policy is used; else it is an error, because a policy may be hostile
    log               a function (level, part, text)
    dispatch          a function that gets a Dispatch for each step of each run
                      What log or dispatch raise, the call raises that called them.

    A session belongs to one thread at a time; calls of another one raise BusyError. cancel() may come from any."""

    _kind = "session"

    def __init__(self, path: Any, *, device: Optional[str] = None, engine: str = "auto", precision: str = "default", fp16: bool = False, int8: bool = False,
                 cache_dir: Any = None, cache_bytes: int = 0, max_batch_size: int = 0, workspace_size: int = 0, threads: int = 0, allow_fallback: bool = False,
                 native_io: bool = False, options: Optional[Mapping[str, Any]] = None, shapes: Optional[Mapping[str, Any]] = None, kernel_policy: Any = None,
                 execution_policy: Any = None, policy_cache_dir: bool = False, log: Optional[Callable[[int, str, str], None]] = None,
                 dispatch: Optional[Callable[[Dispatch], None]] = None) -> None:
        if fp16 and int8:
            raise errors.ArgumentError("fp16 and int8 are both set", "Set one of them.")
        precision = "fp16" if fp16 else "int8" if int8 else precision
        self.config: Dict[str, Any] = {"device": device, "engine": engine, "precision": precision, "cache_dir": cache_dir, "cache_bytes": cache_bytes,
                                       "max_batch_size": max_batch_size, "workspace_size": workspace_size, "threads": threads, "allow_fallback": allow_fallback,
                                       "native_io": native_io, "options": dict(options or {}), "shapes": dict(shapes or {}), "kernel_policy": kernel_policy,
                                       "execution_policy": execution_policy, "policy_cache_dir": policy_cache_dir}
        keep: List[Any] = []
        engines = (c_void_p * abi.QNNRT_ENGINES)()
        desc = abi.qnnrt_session_desc(engines=lib.qnnrt_engines_default(engines), engine=name_of(engine, "engine"), device=None if device is None else name_of(device, "device"),
                                      precision=choice(precision, _PRECISIONS, "precision"), allow_fallback=allow_fallback, native_io=native_io,
                                      policy_cache_dir=policy_cache_dir)
        for field, value in (("cache_bytes", cache_bytes), ("max_batch_size", max_batch_size), ("workspace_bytes", workspace_size), ("threads", threads)):
            if not isinstance(value, int) or value < 0 or value >> (64 if field.endswith("bytes") else 32):
                raise errors.ArgumentError("%s is %r, and not a number from 0 on" % (field, value))
            setattr(desc, field, value)
        if cache_dir is not None:
            desc.cache_dir = path_of(cache_dir)
        # What the caller names replaces what is installed. On a PC the npu is an emulator: not for graphs, which the CPU can run.
        emulated = platform.machine() not in ("aarch64", "arm64") and os.fsdecode(path_of(path)).endswith(".json")
        npu = device == "npu" or (device in (None, "auto") and not emulated)
        given = _pairs(options or {})
        named = {(e, k) for e, k, _ in given}
        rows = [(name_of(e), name_of(k), path_of(v)) for e, k, v in _installed(npu)
                if not named & {(e, k), (None, k), (e, "library_path"), (None, "library_path")}]
        rows += [(None if e is None else name_of(e), name_of(k), name_of(v)) for e, k, v in given]
        desc.options = (abi.qnnrt_session_option * max(1, len(rows)))(*[abi.qnnrt_session_option(*row) for row in rows])
        desc.option_count = len(rows)
        if shapes:
            desc.shapes, desc.shape_count = self._shapes(shapes), len(shapes)
        desc.kernel_policy, desc.execution_policy = _json(kernel_policy, "kernel_policy"), _json(execution_policy, "execution_policy")
        self._caught = Caught()
        _hooks(desc.hooks, log, self._caught, keep)
        if dispatch is not None:
            def row(_user: Any, pointer: Any) -> None:
                r = pointer.contents
                dispatch(Dispatch(r.step, text_of(r.name), text_of(r.engine), text_of(r.device), arrays.dtype_name(r.dtype), tuple(r.dims[:r.rank]),
                                  None if r.us < 0 else r.us))
            desc.dispatch = type(desc.dispatch)(self._caught.guard(row))
            keep.append(desc.dispatch)
        made = c_void_p()
        call(lib.qnnrt_session_create, path_of(path), byref(desc), byref(made), caught=self._caught)
        self._owner = Owner(made.value, lib.qnnrt_session_destroy, None, keep)
        if self._caught:
            self.close()
            self._caught.check()
        self._guard = Guard("session")
        info = lib.qnnrt_session_get_info(self._owner).contents
        self._input_args = [_arg(info.inputs[i]) for i in range(info.input_count)]
        self._output_args = [_arg(info.outputs[i]) for i in range(info.output_count)]
        self._dtypes = ({text_of(info.inputs[i].name): info.inputs[i].dtype for i in range(info.input_count)},
                        {text_of(info.outputs[i].name): info.outputs[i].dtype for i in range(info.output_count)})
        # Results of these shapes are written where Python wants them, if all inputs have their usual shapes.
        self._fixed = {a.name: tuple(a.shape) for a in self._input_args if a.shape is not None}
        self._results = {a.name: (self._dtypes[1][a.name], tuple(a.shape)) for a in self._output_args
                         if a.shape is not None and -1 not in a.shape and arrays.known(self._dtypes[1][a.name])}
        self._text = text_of(info.text)
        self._prepared: Dict[Any, _Prepared] = {}
        self._input_names = [a.name for a in self._input_args]
        self._output_names = [a.name for a in self._output_args]

    @staticmethod
    def _shapes(shapes: Mapping[str, Any]) -> Any:
        rows = (abi.qnnrt_session_shape * len(shapes))()
        for made, (name, dims) in zip(rows, shapes.items()):
            made.name = name_of(name)
            if isinstance(dims, int):
                dims = [dims]
            else:
                made.rank = len(dims)
            if len(dims) > len(made.dims):
                raise errors.ArgumentError('shape of "%s": %d dimensions, and %d are the most' % (name, len(dims), len(made.dims)))
            for i, n in enumerate(dims):
                made.dims[i] = n
        return rows

    # ---- facts ----

    @property
    def _info(self) -> abi.qnnrt_session_info:
        info: abi.qnnrt_session_info = lib.qnnrt_session_get_info(self._handle()).contents
        return info

    @property
    def engine_name(self) -> str:
        """The engine that was taken."""
        return text_of(self._info.engine)

    @property
    def engine_version(self) -> str:
        """The version of its library; of "qnn", the version of this package."""
        return text_of(self._info.engine_version)

    @property
    def library(self) -> str:
        """The path of its library."""
        return text_of(self._info.library)

    @property
    def device(self) -> str:
        """The device that it runs on."""
        return text_of(self._info.device)

    @property
    def candidates(self) -> List[Candidate]:
        """Which engines and devices were looked at, in order, and why they were taken or not."""
        info = self._info
        return [Candidate(text_of(c.engine), text_of(c.device), bool(c.taken), text_of(c.reason)) for c in (info.candidates[i] for i in range(info.candidate_count))]

    @property
    def warnings(self) -> List[str]:
        """What policies and the cache had to say."""
        info = self._info
        return [text_of(info.warnings[i]) for i in range(info.warning_count)]

    @property
    def fallback(self) -> Optional[str]:
        """Which part runs on another device than asked for; None: nothing."""
        text = self._info.fallback
        return None if text is None else text_of(text)

    @property
    def cache(self) -> str:
        """"off", "hit", "stored", or "not cached: " and the reason."""
        return text_of(self._info.cache)

    @property
    def cache_key(self) -> str:
        """The name of its entry in the cache, or ""."""
        return text_of(self._info.cache_key)

    def get_inputs(self) -> List[NodeArg]:
        """The inputs, in the order of the model."""
        self._handle()
        return list(self._input_args)

    def get_outputs(self) -> List[NodeArg]:
        """The outputs, in the order of the model."""
        self._handle()
        return list(self._output_args)

    # ---- runs ----

    def _failed(self, code: int) -> errors.Error:
        if code == _BUSY:
            return errors.BusyError("another thread uses this session", "Give each thread its own session, or take turns with a lock.")
        return failure(lib.qnnrt_session_error(self._handle()).contents, code)

    def _check(self, code: int) -> None:
        """Raise how a call failed, or what a function of the caller raised meanwhile."""
        if code == _BUSY:
            raise self._failed(code)       # another thread is calling, and what was kept is for that one
        if code or self._caught:
            self._caught.check(self._failed(code) if code else None)

    def _dtype(self, output: int, name: str) -> int:
        number: int = self._dtypes[output].get(name, abi.QNNRT_DTYPE_F32)
        return number

    @staticmethod
    def _fill(value: abi.qnnrt_value, source: arrays.Source) -> None:
        shape = source.shape
        if len(shape) > len(value.dims):
            raise errors.MismatchError("%d dimensions, and %d are the most" % (len(shape), len(value.dims)))
        value.dtype, value.rank, value.bytes = source.dtype, len(shape), source.nbytes
        value.dims[:len(shape)] = shape
        # Memory of no bytes has an address, too: NULL would mean that there is none.
        value.data = source.address or _EMPTY

    def run(self, output_names: Any = None, feeds: Any = None) -> Any:
        """Run once.

        run(None, {"x": x})      all outputs in a list; run(["y"], ...) those that are named
        run({"x": x})            a dict of outputs
        run([x])                 a list of outputs

        Arrays are numpy's, have __dlpack__ or the buffer protocol, or are (nested) lists of numbers. Arrays with gaps are
        copied. The results are arrays of their own."""
        # Most runs are as one before: dicts, and lists with arrays, need no further look.
        by_name = type(output_names) is dict and feeds is None
        if by_name:
            feeds, output_names = output_names, None
        elif feeds is None and output_names is not None and not (isinstance(output_names, (list, tuple)) and output_names
                                                                 and all(isinstance(n, str) for n in output_names) and not self._takes_text()):
            feeds, output_names = output_names, None
            by_name = isinstance(feeds, Mapping)
        owner = self._handle()
        names = self._output_names if not output_names else [output_names] if isinstance(output_names, str) else list(output_names)
        feeds = {} if feeds is None else feeds
        if isinstance(feeds, (list, tuple)):
            if len(feeds) > len(self._input_args):
                raise errors.NotFoundError("%d inputs were given, and the model has %d: %s" % (len(feeds), len(self._input_args), ", ".join(self._input_names)))
            feeds = dict(zip(self._input_names, feeds))
        elif type(feeds) is not dict:
            if not isinstance(feeds, Mapping):
                raise errors.ArgumentError("the inputs are a dict or a list, and not %s" % type(feeds).__name__)
            feeds = dict(feeds)
        lock = self._guard.lock
        if not lock.acquire(False):
            raise errors.BusyError("another thread uses this session", "Give each thread its own session, or take turns with a lock.")
        try:
            results = self._run_as_before(owner, names, feeds)
            if results is None:
                results = self._run_anew(owner, names, feeds)
        finally:
            lock.release()
        return dict(zip(names, results)) if by_name else results

    def _run_as_before(self, owner: Owner, names: List[str], feeds: Dict[str, Any]) -> Optional[List[Any]]:
        """Run with what was prepared for arrays of these shapes; None: nothing was."""
        module = arrays.numpy()
        held, facts = [], []
        for array in feeds.values():
            # A subclass may mean something else with the same attributes.
            if not module or type(array) is not module.ndarray:
                return None
            if not array.flags.c_contiguous:
                return None
            facts.append((array.shape, array.dtype))
            held.append(array)
        try:
            prepared = self._prepared.get((*names, None, *feeds, *facts))
        except TypeError:
            return None
        if prepared is None:
            return None
        words = prepared.words
        for at, array in zip(prepared.wanted, held):
            words[at] = arrays.address(array)
        words = prepared.out_words
        words[:] = prepared.pristine
        made: List[Any] = []
        for result in prepared.results:
            if result is None:
                made.append(None)
            else:
                array = module.empty(result[0], result[1])
                words[result[2]] = arrays.address(array)
                made.append(array)
        counts = prepared.counts
        code = _session_run(owner, prepared.inputs, counts[0], prepared.outputs, counts[1])
        if code or self._caught:
            self._check(code)
        for i, array in enumerate(made):
            if array is None:
                made[i] = _copy(prepared.outputs[i])
        return made

    def _run_anew(self, owner: Owner, names: List[str], feeds: Dict[str, Any]) -> List[Any]:
        """Run, and remember how if the inputs are contiguous arrays of numpy."""
        inputs = _values(len(feeds))
        keep, usual = [], True
        for value, (name, array) in zip(inputs, feeds.items()):
            source = arrays.source(array, self._dtype(0, name), 'input "%s"' % name, True)
            value.name = name_of(name, "the name of an input")
            self._fill(value, source)
            keep.append(source)
            usual = usual and self._fixed.get(name) == source.shape
        outputs = _values(len(names))
        made: List[Any] = [None] * len(names)
        results: List[Any] = [None] * len(names)
        for i, name in enumerate(names):
            outputs[i].name = name_of(name, "the name of an output")
            result = self._results.get(name) if usual else None
            if result is not None:
                made[i], address, nbytes = arrays.empty(result[0], result[1])
                self._fill(outputs[i], arrays.Source(address, nbytes, result[0], result[1], None))
                results[i] = (result[1], made[i].dtype)
        prepared = self._prepare(inputs, feeds, outputs, names, results)
        self._check(lib.qnnrt_session_run(owner, inputs, len(feeds), outputs, len(names)))
        if prepared is not None:
            if len(self._prepared) >= _PREPARED:
                self._prepared.clear()
            self._prepared[prepared[0]] = prepared[1]
        return [m if m is not None else _copy(outputs[i]) for i, m in enumerate(made)]

    @staticmethod
    def _prepare(inputs: Any, feeds: Dict[str, Any], outputs: Any, names: List[str], results: List[Any]) -> Any:
        module = arrays.numpy()
        facts = []
        for array in feeds.values():
            if not module or type(array) is not module.ndarray or array.dtype.kind not in "fiub" or 0 in array.shape or not array.flags.c_contiguous:
                return None
            facts.append((array.shape, array.dtype))
        if any(r is not None and 0 in r[0] for r in results):
            return None
        key = (*names, None, *feeds, *facts)
        return key, _Prepared(inputs, len(feeds), outputs, list(names), results)

    def _takes_text(self) -> bool:
        return any(a.dtype == "string" for a in self._input_args)

    def io_binding(self) -> IOBinding:
        """Make a binding: inputs and outputs that stay placed."""
        return IOBinding(self)

    def run_with_iobinding(self, binding: IOBinding) -> None:
        """Run once with what a binding of this session has placed. Python's lock is released meanwhile."""
        if binding._session is not self:
            raise errors.ArgumentError("the binding belongs to another session")
        code = _binding_run(binding._owner)
        if code or self._caught:
            binding._check(code)

    def cancel(self) -> None:
        """End a run that is going on in another thread: it raises CancelledError."""
        code = lib.qnnrt_session_cancel(self._handle())
        if code:
            raise self._failed(code)

    def __repr__(self) -> str:
        return self._text[:-1] + " closed>" if self.closed else self._text
