"""Files of tensors in the safetensors format, written without a copy of the data."""
from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, Mapping, Optional

from . import _errors as errors

_TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
          "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64", "bool": "BOOL", "complex64": "C64",
          "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}


def dtype_name(tensor: Any) -> str:
    """float32 for torch.float32."""
    return str(tensor.dtype).replace("torch.", "")


def write(path: str, tensors: Mapping[str, Any], metadata: Optional[Dict[str, str]] = None) -> int:
    """Write torch's tensors to a file; return the bytes of their data."""
    header: Dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.numel() * tensor.element_size()
        if dtype_name(tensor) not in _TYPES:
            raise errors.UnsupportedError("tensor \"%s\" is %s, which a file of weights cannot hold" % (name, dtype_name(tensor)))
        header[name] = {"dtype": _TYPES[dtype_name(tensor)], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    try:
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor in tensors.values():
                dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
                if dense.numel() > 0:
                    file.write(memoryview((ctypes.c_char * (dense.numel() * dense.element_size())).from_address(dense.data_ptr())))
    except OSError as error:
        raise errors.FileError("cannot write %s: %s" % (path, error.strerror or error)) from None
    return end
