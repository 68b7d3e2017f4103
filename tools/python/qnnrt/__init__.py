"""Run models wherever they can run, and see why: sessions over engines, and folders of QNN context binaries.

    session = qnnrt.InferenceSession("net.onnx", device="auto")      as ONNX Runtime's: run(None, {"x": x})
    with qnnrt.open("model_dir", backend="libQnnHtp.so") as model:    a folder of context binaries
    qnnrt.LLM("llm_dir").generate("Once upon a time")                 a language model
    qnnrt.export(model, args, "exported")                             a model of PyTorch to a folder for compile
    qnnrt.compile("graph.json", "model_dir", weights="w.safetensors") graphs to context binaries

Errors are exceptions below qnnrt.Error, one class for each result of the C functions, with a hint.
Arrays are numpy's where it is installed; anything with __dlpack__ or the buffer protocol is taken without a copy."""
from ._arrays import Tensor
from ._cache import CacheEntry, cache_clear, cache_list
from ._core import HERE as _HERE
from ._core import lib as _lib
from ._errors import (ArgumentError, BackendError, BusyError, CancelledError, ClosedError, CrashError, Error, FileError, ForkError, FormatError, LibraryError,
                      LimitError, MismatchError, NotFoundError, OutOfMemoryError, StateError, ToolError, UnsupportedError, VersionError)
from ._export import Exported, export
from ._llm import LLM, ByteTokenizer, LlmInfo
from ._model import Block, Context, Model, Pipeline, Plan, ProfileEvent, Quant, Run, Slot, Step, TensorInfo, open
from ._session import Candidate, Dispatch, InferenceSession, IOBinding, NodeArg
from ._tools import Explanation, compile, explain, inspect

__version__: str = _lib.qnnrt_version().decode()

__all__ = ["ArgumentError", "BackendError", "Block", "BusyError", "ByteTokenizer", "CacheEntry", "CancelledError", "Candidate", "ClosedError", "Context", "CrashError", "Dispatch", "Error",
           "Explanation", "Exported", "FileError", "ForkError", "FormatError", "IOBinding", "InferenceSession", "LLM", "LibraryError", "LimitError", "LlmInfo", "MismatchError", "Model", "NodeArg", "NotFoundError",
           "OutOfMemoryError", "Pipeline", "Plan", "ProfileEvent", "Quant", "Run", "Slot", "StateError", "Step", "Tensor", "TensorInfo", "ToolError",
           "UnsupportedError", "VersionError", "cache_clear", "cache_list", "compile", "explain", "export", "inspect", "open"]
