"""Memory of arrays: numpy, DLPack, the buffer protocol, lists; and arrays over memory of the library."""
from __future__ import annotations

import array
import ctypes
import importlib
import struct
import sys
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_ssize_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _abi as abi
from . import _errors as errors

# number: name, format of struct, name in numpy, type in ONNX Runtime. Quantized types are integers.
_TYPES: Dict[int, Tuple[str, Any, str, str]] = {
    abi.QNNRT_DTYPE_F32: ("float32", "f", "float32", "tensor(float)"), abi.QNNRT_DTYPE_F64: ("float64", "d", "float64", "tensor(double)"),
    abi.QNNRT_DTYPE_F16: ("float16", "e", "float16", "tensor(float16)"), abi.QNNRT_DTYPE_BF16: ("bfloat16", "H", "uint16", "tensor(bfloat16)"),
    abi.QNNRT_DTYPE_I8: ("int8", "b", "int8", "tensor(int8)"), abi.QNNRT_DTYPE_U8: ("uint8", "B", "uint8", "tensor(uint8)"),
    abi.QNNRT_DTYPE_I16: ("int16", "h", "int16", "tensor(int16)"), abi.QNNRT_DTYPE_U16: ("uint16", "H", "uint16", "tensor(uint16)"),
    abi.QNNRT_DTYPE_I32: ("int32", "i", "int32", "tensor(int32)"), abi.QNNRT_DTYPE_U32: ("uint32", "I", "uint32", "tensor(uint32)"),
    abi.QNNRT_DTYPE_I64: ("int64", "q", "int64", "tensor(int64)"), abi.QNNRT_DTYPE_U64: ("uint64", "Q", "uint64", "tensor(uint64)"),
    abi.QNNRT_DTYPE_BOOL8: ("bool", "?", "bool", "tensor(bool)"), abi.QNNRT_DTYPE_STRING: ("string", "P", "object", "tensor(string)"),
    abi.QNNRT_DTYPE_S8Q: ("sfixed8", "b", "int8", "tensor(int8)"), abi.QNNRT_DTYPE_U8Q: ("ufixed8", "B", "uint8", "tensor(uint8)"),
    abi.QNNRT_DTYPE_S16Q: ("sfixed16", "h", "int16", "tensor(int16)"), abi.QNNRT_DTYPE_U16Q: ("ufixed16", "H", "uint16", "tensor(uint16)"),
    abi.QNNRT_DTYPE_S32Q: ("sfixed32", "i", "int32", "tensor(int32)"), abi.QNNRT_DTYPE_U32Q: ("ufixed32", "I", "uint32", "tensor(uint32)"),
}
_OTHERS = {0x0002: "int2", 0x0004: "int4", 0x0102: "uint2", 0x0104: "uint4", 0x0204: "float4", 0x0208: "float8", 0x0302: "sfixed2",
           0x0304: "sfixed4", 0x0402: "ufixed2", 0x0404: "ufixed4"}
_BY_NAME = {names[0]: number for number, names in _TYPES.items()}
_BY_FORMAT = {"f": abi.QNNRT_DTYPE_F32, "d": abi.QNNRT_DTYPE_F64, "e": abi.QNNRT_DTYPE_F16, "b": abi.QNNRT_DTYPE_I8, "B": abi.QNNRT_DTYPE_U8,
              "c": abi.QNNRT_DTYPE_U8, "h": abi.QNNRT_DTYPE_I16, "H": abi.QNNRT_DTYPE_U16, "i": abi.QNNRT_DTYPE_I32, "I": abi.QNNRT_DTYPE_U32,
              "q": abi.QNNRT_DTYPE_I64, "Q": abi.QNNRT_DTYPE_U64, "?": abi.QNNRT_DTYPE_BOOL8}
_BY_FORMAT["l"], _BY_FORMAT["L"] = (abi.QNNRT_DTYPE_I64, abi.QNNRT_DTYPE_U64) if struct.calcsize("l") == 8 else (abi.QNNRT_DTYPE_I32, abi.QNNRT_DTYPE_U32)
# What a tensor also takes: its stored integers, or the bits of its numbers.
_ALSO = {number: _BY_NAME[names[2]] for number, names in _TYPES.items() if names[0] != names[2] and names[2] in _BY_NAME}


def dtype_name(number: int) -> str:
    """The name of an element type, such as "float32"."""
    return _TYPES[number][0] if number in _TYPES else _OTHERS.get(number, "0x%04x" % (number & 0xFFFFFFFF))


def ort_type(number: int) -> str:
    """The name of a tensor's type in ONNX Runtime, such as "tensor(float)"."""
    return _TYPES[number][3] if number in _TYPES else "tensor(%s)" % dtype_name(number)


def dtype_number(name: Any) -> int:
    """The number of an element type, by its name or its numpy dtype."""
    text = name if isinstance(name, str) else getattr(name, "name", None) or getattr(name, "__name__", str(name))
    if text not in _BY_NAME:
        raise errors.MismatchError("there is no element type %r" % (name,), "Use one of %s." % ", ".join(sorted(_BY_NAME)))
    return _BY_NAME[text]


_BY_NUMPY: Dict[Any, int] = {}                        # dtypes of numpy that were seen


def known(number: int) -> bool:
    """Whether arrays can have this element type: at least 8 bits, and numbers."""
    return number in _TYPES and number != abi.QNNRT_DTYPE_STRING


def itemsize(number: int) -> int:
    """The bytes of an element."""
    return struct.calcsize(_TYPES[number][1])


_numpy: Any = None


def numpy() -> Any:
    """The module, or False where it is not installed."""
    global _numpy
    if _numpy is None:
        try:
            _numpy = importlib.import_module("numpy")
        except ImportError:
            _numpy = False
    return _numpy


def product(shape: Sequence[int]) -> int:
    """The number of elements of a shape."""
    count = 1
    for n in shape:
        count *= n
    return count


def nested(values: List[Any], shape: Sequence[int]) -> Any:
    """A flat list as nested lists; its only element for a scalar."""
    for n in reversed(shape[1:]):
        values = [values[i:i + n] for i in range(0, len(values), n)] if n else []
    return values if shape else values[0]


class Tensor:
    """Memory with an element type and a shape, where numpy is not installed or lacks the type.

    data is a flat memoryview. numpy.asarray(t), from_dlpack(t) of numpy, torch and others, and memoryview(t.data) share the
    memory; t.tolist() copies it."""

    def __init__(self, data: memoryview, dtype: str, shape: Sequence[int]) -> None:
        self.data, self.dtype, self.shape = data, dtype, tuple(shape)

    @classmethod
    def empty(cls, dtype: str, shape: Sequence[int]) -> "Tensor":
        """New memory, all bytes zero."""
        number = dtype_number(dtype)
        form = _TYPES[number][1]
        memory = memoryview(bytearray(product(shape) * struct.calcsize(form)))
        return cls(memory if form == "e" else memory.cast(form), dtype, shape)

    def flat(self) -> List[Any]:
        """All elements in a list, row-major."""
        form = _TYPES[_BY_NAME[self.dtype]][1] if self.dtype in _BY_NAME else "B"
        if form != "e":
            return self.data.tolist()
        return list(struct.unpack("%de" % (self.data.nbytes // 2), self.data))

    def tolist(self) -> Any:
        """The elements in nested lists; a number for a scalar."""
        return nested(self.flat(), self.shape)

    @property
    def nbytes(self) -> int:
        """The size of all elements."""
        return self.data.nbytes

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        module = numpy()
        if not module:
            raise AttributeError("numpy is not installed")
        form = _TYPES[_BY_NAME[self.dtype]][2] if self.dtype in _BY_NAME else "uint8"
        shape = self.shape if self.dtype in _BY_NAME else (self.data.nbytes,)
        return {"version": 3, "shape": shape, "typestr": module.dtype(form).str, "data": self.data}

    def __dlpack_device__(self) -> Tuple[int, int]:
        """The device of the memory: the cpu."""
        return _DL_CPU, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None, dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        """A DLPack capsule over the memory, which stays as long as its consumer needs it; copy=True: over a copy.

        Memory that is read-only needs a consumer with max_version=(1, 0) or later, else BufferError."""
        return _to_dlpack(self, stream, max_version, dl_device, copy)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]

    def __repr__(self) -> str:
        return "<Tensor %s%s>" % (self.dtype, list(self.shape))


def view(address: int, nbytes: int, dtype: int, shape: Sequence[int], keep: Any, writable: bool = True) -> Any:
    """An array over memory of the library; it holds what must stay."""
    memory: Any = (ctypes.c_char * nbytes).from_address(address) if nbytes else (ctypes.c_char * 0)()
    memory._keep = keep
    module = numpy()
    names = _TYPES.get(dtype)
    if module:
        made = module.frombuffer(memory, dtype=names[2] if names else "uint8")
        if names:
            made = made.reshape(tuple(shape))
        if not writable:
            made.flags.writeable = False
        return made
    data = memoryview(memory).cast("B")
    if names and names[1] != "e":
        data = data.cast(names[1])
    return Tensor(data if writable else data.toreadonly(), dtype_name(dtype), shape)


_one_byte, _address_of = ctypes.c_char.from_buffer, ctypes.addressof


def address(value: Any) -> int:
    """Where the elements of an array of numpy begin; it has some. Of all ways, this one takes the least time."""
    if value.flags.writeable:
        return _address_of(_one_byte(value))
    return int(value.__array_interface__["data"][0])


def empty(dtype: int, shape: Sequence[int]) -> Tuple[Any, int, int]:
    """New memory for a result: the array, its address and its size."""
    module = numpy()
    if module:
        made = module.empty(tuple(shape), _TYPES[dtype][2])
        return made, made.__array_interface__["data"][0], made.nbytes
    made = Tensor.empty(dtype_name(dtype), shape)
    memory: Any = made.data.obj
    return made, ctypes.addressof((ctypes.c_char * len(memory)).from_buffer(memory)), len(memory)


# ---- the buffer protocol -----------------------------------------------------------------------------------


class _Buffer(Structure):
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int), ("ndim", c_int),
                ("format", c_char_p), ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)), ("suboffsets", POINTER(c_ssize_t)),
                ("internal", c_void_p)]


_FULL_RO = 0x011C
_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, POINTER(_Buffer), c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [POINTER(_Buffer)]
_release_buffer.restype = None


class _Export:
    """Memory that its owner may not move or free meanwhile."""

    def __init__(self, value: Any) -> None:
        self.buffer = _Buffer()
        self.held = False
        _get_buffer(value, self.buffer, _FULL_RO)
        self.held = True

    def __del__(self) -> None:
        if self.held:
            self.held = False
            _release_buffer(self.buffer)


# ---- DLPack ---------------------------------------------------------------------------------------------------


class _DlTensor(Structure):
    _fields_ = [("data", c_void_p), ("device", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8),
                ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class _DlManaged(Structure):                    # capsule "dltensor"
    _fields_ = [("tensor", _DlTensor), ("context", c_void_p), ("deleter", ctypes.CFUNCTYPE(None, c_void_p))]


class _DlVersioned(Structure):                  # capsule "dltensor_versioned", from 1.0 on
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", ctypes.CFUNCTYPE(None, c_void_p)),
                ("flags", c_uint64), ("tensor", _DlTensor)]


_capsule_is = ctypes.pythonapi.PyCapsule_IsValid
_capsule_is.argtypes = [ctypes.py_object, c_char_p]
_capsule_get = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_get.argtypes, _capsule_get.restype = [ctypes.py_object, c_char_p], c_void_p
_capsule_rename = ctypes.pythonapi.PyCapsule_SetName
_capsule_rename.argtypes = [ctypes.py_object, c_char_p]
# A capsule keeps the address of its name, and not a copy of it.
_USED, _USED_VERSIONED, _NEW, _NEW_VERSIONED = b"used_dltensor", b"used_dltensor_versioned", b"dltensor", b"dltensor_versioned"
_DL_CPU, _DL_READ_ONLY = 1, 1
_DL_TYPES = {(2, 32): "float32", (2, 64): "float64", (2, 16): "float16", (4, 16): "bfloat16", (6, 8): "bool", **{(0, b): "int%d" % b for b in (8, 16, 32, 64)},
             **{(1, b): "uint%d" % b for b in (8, 16, 32, 64)}}
_DL_DEVICES = {1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 13: "cuda_managed", 14: "oneapi"}


class _Managed:
    """What a capsule held: its deleter is called at the end."""

    def __init__(self, managed: Any) -> None:
        self.managed = managed

    def __del__(self) -> None:
        managed, self.managed = self.managed, None
        if managed is not None and managed.deleter:
            managed.deleter(ctypes.addressof(managed))


_DL_CODES = {name: key for key, name in _DL_TYPES.items()}
_DL_COPIED = 2
_exported: Dict[int, Any] = {}                  # what consumers hold, by the address of its struct
_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.argtypes, _capsule_new.restype = [c_void_p, c_char_p, c_void_p], ctypes.py_object
# A destructor gets an object that is ending: it must not be counted again, so it stays a bare address.
_ending_is = ctypes.pythonapi["PyCapsule_IsValid"]
_ending_is.argtypes = [c_void_p, c_char_p]
_ending_get = ctypes.pythonapi["PyCapsule_GetPointer"]
_ending_get.argtypes, _ending_get.restype = [c_void_p, c_char_p], c_void_p


# Consumers call these at the end of the process, too, when globals are gone: what they need is bound here.
def _delete(address: int, kept: Any = _exported) -> None:
    kept.pop(address, None)


def _unused(capsule: int, kept: Any = _exported, valid: Any = _ending_is, get: Any = _ending_get) -> None:
    for name in (b"dltensor", b"dltensor_versioned"):
        if valid(capsule, name):
            kept.pop(get(capsule, name), None)


_dl_delete, _dl_unused = ctypes.CFUNCTYPE(None, c_void_p)(_delete), ctypes.PYFUNCTYPE(None, c_void_p)(_unused)
for _function in (_dl_delete, _dl_unused):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_function))


def _to_dlpack(tensor: Tensor, stream: Any, max_version: Any, device: Any, copy: Optional[bool]) -> Any:
    if stream is not None:
        raise errors.ArgumentError("__dlpack__: stream is %r, and memory of the cpu has no stream" % (stream,), "Pass stream=None.")
    if device is not None and tuple(device) != (_DL_CPU, 0):
        raise BufferError("__dlpack__: the memory is on the cpu, and not on device %s" % (tuple(device),))
    names = _TYPES.get(_BY_NAME.get(tensor.dtype, 0))
    code = _DL_CODES.get(names[0]) or _DL_CODES.get(names[2]) if names else None
    if code is None:
        raise BufferError("__dlpack__: DLPack has no element type %s" % tensor.dtype)
    versioned = max_version is not None and tuple(max_version) >= (1, 0)
    held = _from_buffer(memoryview(bytearray(tensor.data.tobytes())) if copy else tensor.data, "__dlpack__")
    if held.read_only and not versioned:
        raise BufferError("__dlpack__: the memory is read-only, which only DLPack 1.0 can say; pass max_version=(1, 0) or copy=True")
    managed = _DlVersioned() if versioned else _DlManaged()
    rank = len(tensor.shape)
    shape, strides, step = (c_int64 * max(1, rank))(*tensor.shape), (c_int64 * max(1, rank))(), 1
    for i in reversed(range(rank)):
        strides[i] = step
        step *= tensor.shape[i]
    it = managed.tensor
    it.data, it.device, it.ndim, it.code, it.bits, it.lanes = held.address, _DL_CPU, rank, code[0], code[1], 1
    it.shape, it.strides = ctypes.cast(shape, POINTER(c_int64)), ctypes.cast(strides, POINTER(c_int64))
    managed.deleter = ctypes.cast(_dl_delete, type(managed.deleter))
    if versioned:
        managed.major, managed.minor, managed.flags = 1, 0, (_DL_READ_ONLY if held.read_only else 0) | (_DL_COPIED if copy else 0)
    address = ctypes.addressof(managed)
    _exported[address] = managed, shape, strides, held
    try:
        return _capsule_new(address, _NEW_VERSIONED if versioned else _NEW, ctypes.cast(_dl_unused, c_void_p))
    except BaseException:
        del _exported[address]
        raise


class Source:
    """Memory of the caller: address, size, element type and shape; keep holds it."""

    __slots__ = ("address", "nbytes", "dtype", "shape", "keep", "read_only", "contiguous")

    def __init__(self, address: int, nbytes: int, dtype: int, shape: Tuple[int, ...], keep: Any, read_only: bool = False, contiguous: bool = True) -> None:
        self.address, self.nbytes, self.dtype, self.shape = address, nbytes, dtype, shape
        self.keep, self.read_only, self.contiguous = keep, read_only, contiguous


def _dense(shape: Sequence[int], strides: Optional[Sequence[int]], size: int) -> bool:
    """Whether elements lie row-major without gaps. Strides are in units of size."""
    if strides is None or 0 in shape:
        return True
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n != 1 and stride != size:
            return False
        size *= n
    return True


def _from_dlpack(value: Any, what: str) -> Source:
    device = value.__dlpack_device__()
    if device[0] != _DL_CPU:
        raise errors.MismatchError("%s: its memory is on device %s:%d, and not on the cpu" % (what, _DL_DEVICES.get(int(device[0]), int(device[0])), device[1]),
                                   "Copy it to the cpu first.")
    try:
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
        except TypeError:
            capsule = value.__dlpack__()
    except Exception as error:  # what a library raises here is its own choice
        raise errors.ArgumentError("%s: __dlpack__() of %s failed: %s" % (what, type(value).__name__, error)) from error
    if _capsule_is(capsule, b"dltensor_versioned"):
        managed: Any = _DlVersioned.from_address(_capsule_get(capsule, b"dltensor_versioned"))
        _capsule_rename(capsule, _USED_VERSIONED)
        keep = _Managed(managed)
        if managed.major != 1:
            raise errors.VersionError("%s: DLPack %d.%d, and this package reads 1.x" % (what, managed.major, managed.minor))
        read_only = bool(managed.flags & _DL_READ_ONLY)
    elif _capsule_is(capsule, b"dltensor"):
        managed = _DlManaged.from_address(_capsule_get(capsule, b"dltensor"))
        _capsule_rename(capsule, _USED)
        keep, read_only = _Managed(managed), False
    else:
        raise errors.ArgumentError("%s: __dlpack__() of %s gave no DLPack capsule, or one that was used already" % (what, type(value).__name__))
    tensor = managed.tensor
    if tensor.device != _DL_CPU:
        raise errors.MismatchError("%s: its memory is on device %s, and not on the cpu" % (what, _DL_DEVICES.get(tensor.device, tensor.device)), "Copy it to the cpu first.")
    name = _DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if name is None:
        raise errors.MismatchError("%s: DLPack type %d with %d bits and %d lanes is no element type here" % (what, tensor.code, tensor.bits, tensor.lanes))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    return Source((tensor.data or 0) + tensor.byte_offset, product(shape) * (tensor.bits // 8), _BY_NAME[name], shape, keep, read_only, _dense(shape, strides, 1))


def _from_buffer(value: Any, what: str) -> Source:
    try:
        keep = _Export(value)
    except (ValueError, BufferError) as error:
        raise errors.StateError("%s: its memory cannot be used: %s" % (what, error), "Give memory that was not released.") from error
    buffer = keep.buffer
    form = (buffer.format or b"B").decode("ascii", "replace")
    plain = form[1:] if form[:1] in ("@", "=", "<" if sys.byteorder == "little" else ">") else form
    if plain not in _BY_FORMAT or (form[:1] in "=<" and plain in "lL"):
        raise errors.MismatchError("%s: elements of format %r are no element type here" % (what, form))
    shape = tuple(buffer.shape[i] for i in range(buffer.ndim)) if buffer.ndim else ()
    strides = tuple(buffer.strides[i] for i in range(buffer.ndim)) if buffer.ndim and buffer.strides else None
    dense = not buffer.suboffsets and _dense(shape, strides, buffer.itemsize)
    return Source(buffer.buf or 0, buffer.len, _BY_FORMAT[plain], shape, keep, bool(buffer.readonly), dense)


def _shape_of(value: Any) -> Tuple[int, ...]:
    shape = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        value = value[0] if value else None
    return tuple(shape)


def _flatten(value: Any, shape: Tuple[int, ...], out: List[Any], what: str) -> None:
    if not shape:
        out.append(value)
        return
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise errors.MismatchError("%s: lists of different lengths: %d elements were expected" % (what, shape[0]))
    for item in value:
        _flatten(item, shape[1:], out, what)


def _from_values(value: Any, dtype: int, what: str) -> Source:
    """Numbers in lists, copied as the type that is expected."""
    if dtype not in _TYPES or dtype == abi.QNNRT_DTYPE_BF16:
        raise errors.MismatchError("%s: lists cannot become %s" % (what, dtype_name(dtype)))
    shape = _shape_of(value)
    flat: List[Any] = []
    _flatten(value, shape, flat, what)
    if dtype == abi.QNNRT_DTYPE_STRING:
        return _strings(flat, shape, what)
    form = _TYPES[dtype][1]
    try:
        data = bytearray(struct.pack("%d%s" % (len(flat), form), *flat))
    except (struct.error, TypeError, OverflowError) as error:
        raise errors.MismatchError("%s: the list does not fit %s: %s" % (what, dtype_name(dtype), error)) from None
    memory = (ctypes.c_char * len(data)).from_buffer(data)
    return Source(ctypes.addressof(memory), len(data), dtype, shape, (data, memory))


def _strings(flat: List[Any], shape: Tuple[int, ...], what: str) -> Source:
    pointers = (c_char_p * max(1, len(flat)))()
    for i, item in enumerate(flat):
        if isinstance(item, str):
            item = item.encode("utf-8", "surrogateescape")
        if not isinstance(item, bytes) or b"\0" in item:
            raise errors.MismatchError("%s: element %d is no text: %r" % (what, i, item))
        pointers[i] = item
    return Source(ctypes.addressof(pointers), len(flat) * ctypes.sizeof(c_char_p), abi.QNNRT_DTYPE_STRING, shape, pointers)


def source(value: Any, dtype: int, what: str, copy: bool) -> Source:
    """The memory of an array for a tensor of this element type.

    copy: lists, and arrays with gaps or another order, are copied; else they are refused."""
    module = sys.modules.get("numpy")
    if module is not None and isinstance(value, module.ndarray):
        if not value.flags.c_contiguous:
            if not copy:
                raise errors.MismatchError("%s: its elements do not lie row-major without gaps" % what, "Pass numpy.ascontiguousarray(it).")
            value = module.ascontiguousarray(value)
        kind = value.dtype
        number = _BY_NUMPY.get(kind)
        if number is not None:
            made = Source(value.__array_interface__["data"][0], value.nbytes, number, value.shape, value, not value.flags.writeable)
        elif kind.kind in "OUST":
            made = _strings(value.reshape(-1).tolist(), value.shape, what)
        else:
            if kind.name not in _BY_NAME or not kind.isnative:
                raise errors.MismatchError("%s: elements of numpy's %s are no element type here" % (what, kind.str if not kind.isnative else kind.name))
            _BY_NUMPY[kind] = _BY_NAME[kind.name]
            return source(value, dtype, what, copy)
    elif isinstance(value, Tensor):
        made = _from_buffer(value.data, what)
        made.dtype, made.shape = dtype_number(value.dtype), value.shape
    elif hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        made = _from_dlpack(value, what)
    elif isinstance(value, (list, tuple, int, float, bool, str)):
        if not copy:
            raise errors.ArgumentError("%s: a %s has no memory to bind" % (what, type(value).__name__), "Pass an array.")
        made = _from_values(value, dtype, what)
    else:
        try:
            memoryview(value).release()
        except TypeError:
            raise errors.ArgumentError("%s: a %s is no array: it has neither __dlpack__ nor the buffer protocol" % (what, type(value).__name__)) from None
        except ValueError:
            pass
        made = _from_buffer(value, what)
    if not made.contiguous:
        if not copy:
            raise errors.MismatchError("%s: its elements do not lie row-major without gaps" % what, "Pass a contiguous copy of it.")
        if not isinstance(value, memoryview) and hasattr(value, "contiguous"):
            return source(value.contiguous(), dtype, what, False)
        data = bytearray(memoryview(value).tobytes())
        memory = (ctypes.c_char * len(data)).from_buffer(data)
        made = Source(ctypes.addressof(memory), len(data), made.dtype, made.shape, (data, memory))
    if made.dtype != dtype and _ALSO.get(dtype) == made.dtype:
        made.dtype = dtype
    return made


def numbers(value: Any, kind: str, what: str) -> Any:
    """Copy numbers into an array of C: kind "f" or "i"."""
    module = sys.modules.get("numpy")
    if module is not None and isinstance(value, module.ndarray):
        if kind == "i" and value.size and value.dtype.kind in "iuf" and not (-2**31 <= value.min() and value.max() < 2**31):
            raise errors.MismatchError("%s: %s to %s do not fit int32" % (what, value.min(), value.max()))
        return module.ascontiguousarray(value, "float32" if kind == "f" else "int32")
    if isinstance(value, Tensor):
        return array.array(kind, value.flat())
    if isinstance(value, (list, tuple, int, float)):
        flat: List[Any] = []
        _flatten(value, _shape_of(value), flat, what)
        try:
            return array.array(kind, flat)
        except (TypeError, OverflowError) as error:
            raise errors.MismatchError("%s: %s" % (what, error)) from None
    made = source(value, abi.QNNRT_DTYPE_F32 if kind == "f" else abi.QNNRT_DTYPE_I32, what, True)
    if made.dtype not in _TYPES:
        raise errors.MismatchError("%s: elements of %s are no numbers here" % (what, dtype_name(made.dtype)))
    form = _TYPES[made.dtype][1]
    return array.array(kind, struct.unpack("%d%s" % (product(made.shape), form), ctypes.string_at(made.address, made.nbytes)))
