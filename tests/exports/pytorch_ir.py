"""What several exports of pytorch-ir share: the graph of a model, and what torch computes for it."""
import copy
import logging
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import numpy as np                                       # noqa: E402
import torch                                             # noqa: E402
from torch_ir import extract_ir                          # noqa: E402

torch.cuda.is_current_stream_capturing = lambda: False      # with stubs of the CUDA libraries the original crashes


def run(model, inputs, dtype):
    """Return the outputs of a copy of the model in dtype, as float64 arrays."""
    with torch.no_grad():
        out = copy.deepcopy(model).to(dtype)(*[x.to(dtype) if x.is_floating_point() else x for x in inputs])
    return [x.double().numpy() for x in (out if isinstance(out, (tuple, list)) else [out])]


def difference(got, want):
    """Return the largest difference relative to the largest value, over all outputs."""
    return max(float(np.abs(g - w).max() / max(np.abs(w).max(), 1e-30)) for g, w in zip(got, want))


def extract(model, inputs, name):
    """Return the graph as a dict, and the device of its export: meta, or cpu if it has constants of its own."""
    arguments = tuple(x.to("meta") for x in inputs)
    meta = extract_ir(copy.deepcopy(model).to("meta"), arguments, model_name=name, strict=False).to_dict()
    have = set(model.state_dict()) | {k for k, _ in model.named_buffers()} | set(meta.get("constants", {}))
    if any(w["name"] not in have and 0 not in w["shape"] for w in meta["weights"]):
        return extract_ir(model, inputs, model_name=name, strict=False).to_dict(), "cpu"
    return meta, "meta"
