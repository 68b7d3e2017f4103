"""Complex tensors as real ones with a last dimension of 2, and transforms as one operator on these. It imports torch."""
from __future__ import annotations

import math
import operator
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from ._torch_rules import decompositions

Tensor = torch.Tensor
Node = torch.fx.Node
aten = torch.ops.aten
_RULES: Dict[str, Callable[..., Any]] = {}


# ---- the operator ----------------------------------------------------------------------------------

_LIBRARY = torch.library.Library("qnnrt", "FRAGMENT")
_LIBRARY.define("fft(Tensor x, int[] dim, int[] length, bool inverse=False, bool onesided=False, float scale=1) -> Tensor")


def _fft(x: Tensor, dim: Sequence[int], length: Sequence[int], inverse: bool = False, onesided: bool = False, scale: float = 1.0) -> Tensor:
    """A Fourier transform of x[.., 1] (real) or x[.., 2] to y[.., 2], or y[.., 1] if inverse and onesided.

    dim, length  the dimensions, and their sizes before the transform; for inverse and onesided the last one's size after it
    onesided     the half of the last dimension's values that says the other half, after the transform or (inverse) before it"""
    z = torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x.squeeze(-1)
    if onesided:
        y = torch.fft.irfftn(z, length, dim, "forward").unsqueeze(-1) if inverse else torch.view_as_real(torch.fft.rfftn(z, length, dim))
    else:
        y = torch.view_as_real(torch.fft.ifftn(z, length, dim, "forward") if inverse else torch.fft.fftn(z, length, dim))
    return y.contiguous() * scale


def _fft_fake(x: Tensor, dim: Sequence[int], length: Sequence[int], inverse: bool = False, onesided: bool = False, scale: float = 1.0) -> Tensor:
    shape = list(x.shape[:-1]) + [1 if inverse and onesided else 2]
    for axis, size in zip(dim, length):
        shape[axis] = size
    if onesided and not inverse:
        shape[dim[-1]] = length[-1] // 2 + 1
    return x.new_empty(shape)


_LIBRARY.impl("fft", _fft, "CompositeExplicitAutograd")
torch.library.register_fake("qnnrt::fft", _fft_fake, lib=_LIBRARY)


def _transform(x: Tensor, dim: Sequence[int], length: Sequence[int], normalization: int, inverse: bool, onesided: bool) -> Tensor:
    count = math.prod(length)
    scale = {0: 1.0, 1: 1 / math.sqrt(max(count, 1)), 2: 1 / max(count, 1)}[normalization]
    rank = x.ndim - 1
    return torch.ops.qnnrt.fft(x, [d % rank for d in dim], list(length), inverse, onesided, scale)  # type: ignore[no-any-return]


# ---- numbers ---------------------------------------------------------------------------------------


class Pair:
    """A complex tensor: x[.., 0] is its real part, x[.., 1] its imaginary one."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    @property
    def ndim(self) -> int:
        """Dimensions of the complex tensor."""
        return self.x.ndim - 1

    def parts(self) -> Tuple[Tensor, Tensor]:
        """The real and the imaginary part."""
        return self.x.select(-1, 0), self.x.select(-1, 1)


def _of(real: Tensor, imaginary: Tensor) -> Pair:
    return Pair(torch.stack(torch.broadcast_tensors(real, imaginary), -1))


def _pair(x: Any, like: Pair) -> Pair:
    """Anything as a complex tensor."""
    if isinstance(x, Pair):
        return x
    if isinstance(x, Tensor):
        x = x.to(like.x.dtype)
        return _of(x, torch.zeros_like(x))
    number, dtype = complex(x), like.x.dtype
    return _of(torch.full((), number.real, dtype=dtype), torch.full((), number.imag, dtype=dtype))


def _is_real(x: Any) -> bool:
    return not isinstance(x, (Pair, complex))


def _wide(x: Any, like: Pair) -> Any:
    """A real tensor with a dimension more, or a number."""
    return x.to(like.x.dtype).unsqueeze(-1) if isinstance(x, Tensor) else x


def _first(*values: Any) -> Pair:
    return next(v for v in values if isinstance(v, Pair))


# ---- rules -----------------------------------------------------------------------------------------


def _rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _RULES.update({name: function for name in names})
        return function
    return keep


@_rule("add.Tensor", "add.Scalar")
def _add(a: Any, b: Any, alpha: Any = 1) -> Pair:
    like = _first(a, b)
    b = _multiply(_pair(b, like), alpha) if alpha != 1 else _pair(b, like)
    return Pair(_pair(a, like).x + b.x)


@_rule("sub.Tensor", "sub.Scalar")
def _sub(a: Any, b: Any, alpha: Any = 1) -> Pair:
    return _add(a, b, -alpha)


@_rule("rsub.Tensor", "rsub.Scalar")
def _rsub(a: Any, b: Any, alpha: Any = 1) -> Pair:
    return _add(b, a, -alpha)


@_rule("mul.Tensor", "mul.Scalar")
def _multiply(a: Any, b: Any) -> Pair:
    like = _first(a, b)
    if _is_real(a) or _is_real(b):
        return Pair((a.x if isinstance(a, Pair) else _wide(a, like)) * (b.x if isinstance(b, Pair) else _wide(b, like)))
    (ar, ai), (br, bi) = _pair(a, like).parts(), _pair(b, like).parts()
    return _of(ar * br - ai * bi, ar * bi + ai * br)


@_rule("reciprocal.default")
def _reciprocal(a: Pair) -> Pair:
    real, imaginary = a.parts()
    size = real * real + imaginary * imaginary
    return _of(real / size, -imaginary / size)


@_rule("div.Tensor", "div.Scalar")
def _divide(a: Any, b: Any) -> Pair:
    like = _first(a, b)
    return Pair(a.x / _wide(b, like)) if _is_real(b) else _multiply(a, _reciprocal(_pair(b, like)))


@_rule("neg.default", "_neg_view.default")
def _neg(a: Pair) -> Pair:
    return Pair(-a.x)


@_rule("_conj.default", "conj_physical.default", "_conj_physical.default")
def _conj(a: Pair) -> Pair:
    real, imaginary = a.parts()
    return _of(real, -imaginary)


@_rule("abs.default")
def _abs(a: Pair) -> Tensor:
    return torch.hypot(*a.parts())


@_rule("angle.default")
def _angle(a: Pair) -> Tensor:
    real, imaginary = a.parts()
    return torch.atan2(imaginary, real)


@_rule("polar.default")
def _polar(size: Tensor, angle: Tensor) -> Pair:
    return _of(size * torch.cos(angle), size * torch.sin(angle))


@_rule("exp.default")
def _exp(a: Pair) -> Pair:
    real, imaginary = a.parts()
    return _polar(torch.exp(real), imaginary)


@_rule("log.default")
def _log(a: Pair) -> Pair:
    return _of(torch.log(_abs(a)), _angle(a))


@_rule("sqrt.default")
def _sqrt(a: Pair) -> Pair:
    return _polar(torch.sqrt(_abs(a)), _angle(a) * 0.5)


@_rule("square.default")
def _square(a: Pair) -> Pair:
    return _multiply(a, a)


@_rule("pow.Tensor_Scalar")
def _power(a: Pair, exponent: Any) -> Pair:
    if isinstance(exponent, int) and 0 < exponent <= 8:
        made = a
        for _ in range(exponent - 1):
            made = _multiply(made, a)
        return made
    if isinstance(exponent, complex):
        raise NotImplementedError("a complex exponent")
    return _polar(torch.pow(_abs(a), exponent), _angle(a) * exponent)


@_rule("sgn.default")
def _sgn(a: Pair) -> Pair:
    size = _abs(a)
    return Pair(a.x / torch.where(size == 0, torch.ones_like(size), size).unsqueeze(-1))


@_rule("eq.Tensor", "eq.Scalar")
def _equal(a: Any, b: Any) -> Tensor:
    like = _first(a, b)
    return (_pair(a, like).x == _pair(b, like).x).all(-1)


@_rule("ne.Tensor", "ne.Scalar")
def _differs(a: Any, b: Any) -> Tensor:
    return torch.logical_not(_equal(a, b))


_RULES.update({name + ".default": (lambda f: lambda a: f(a.x).any(-1))(function)
               for name, function in {"isnan": torch.isnan, "isinf": torch.isinf}.items()})
_RULES["isfinite.default"] = lambda a: torch.isfinite(a.x).all(-1)


@_rule("view_as_complex.default")
def _view_as_complex(x: Tensor) -> Pair:
    return Pair(x)


@_rule("view_as_real.default")
def _view_as_real(a: Pair) -> Tensor:
    return a.x


@_rule("complex.default")
def _complex(real: Tensor, imaginary: Tensor) -> Pair:
    return _of(real, imaginary)


_RULES["real.default"] = lambda a: a.parts()[0]
_RULES["imag.default"] = lambda a: a.parts()[1]


@_rule("to.dtype", "_to_copy.default", "to.dtype_layout")
def _cast(a: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    if isinstance(a, Pair):
        return a if dtype is None else Pair(a.x.to(dtype.to_real())) if dtype.is_complex else a.parts()[0].to(dtype)
    a = a.to(dtype.to_real())
    return _of(a, torch.zeros_like(a))


# ---- products --------------------------------------------------------------------------------------


def _product(function: Callable[[Tensor, Tensor], Tensor], a: Any, b: Any) -> Pair:
    """A function that is linear in both."""
    if not isinstance(a, Pair):
        return _of(*(function(a, y) for y in b.parts()))
    if not isinstance(b, Pair):
        return _of(*(function(x, b) for x in a.parts()))
    (ar, ai), (br, bi) = a.parts(), b.parts()
    return _of(function(ar, br) - function(ai, bi), function(ar, bi) + function(ai, br))


for _name, _function in {"mm": torch.mm, "bmm": torch.bmm, "matmul": torch.matmul, "mv": torch.mv, "dot": torch.dot}.items():
    _RULES[_name + ".default"] = (lambda f: lambda a, b: _product(f, a, b))(_function)


@_rule("addmm.default", "baddbmm.default")
def _addmm(bias: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Pair:
    product = _product(torch.matmul, a, b)
    return _add(product if alpha == 1 else _multiply(product, alpha), _multiply(bias, beta) if isinstance(bias, Pair) else bias * beta)


@_rule("linear.default")
def _linear(x: Any, weight: Any, bias: Any = None) -> Pair:
    product = _product(torch.nn.functional.linear, x, weight)
    return product if bias is None else _add(product, bias)


# ---- transforms ------------------------------------------------------------------------------------


@_rule("_fft_c2c.default")
def _c2c(a: Pair, dim: Sequence[int], normalization: int, forward: bool) -> Pair:
    return Pair(_transform(a.x, dim, [a.x.shape[:-1][d] for d in dim], normalization, not forward, False)) if dim else a


@_rule("_fft_r2c.default")
def _r2c(x: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Pair:
    return Pair(_transform(x.unsqueeze(-1), dim, [x.shape[d] for d in dim], normalization, False, onesided))


@_rule("_fft_c2r.default")
def _c2r(a: Pair, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    length = [a.x.shape[:-1][d] for d in dim[:-1]] + [last_dim_size]
    return _transform(a.x, dim, length, normalization, True, True).squeeze(-1)


def _window(window: Optional[Tensor], size: int, like: Tensor, length: int) -> Tensor:
    window = torch.ones(length, dtype=like.dtype) if window is None else window
    left = (size - length) // 2
    return torch.nn.functional.pad(window, (left, size - length - left)) if size > length else window


@_rule("stft.default")
def _stft(x: Any, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Tensor] = None,
          normalized: bool = False, onesided: Optional[bool] = None, return_complex: Optional[bool] = None,
          align_to_window: Optional[bool] = None) -> Any:
    if isinstance(x, Pair) or isinstance(window, Pair):
        raise NotImplementedError("a complex signal")
    hop, rows = hop_length or n_fft // 4, x if x.ndim == 2 else x.unsqueeze(0)
    length = win_length or n_fft
    if align_to_window and length < n_fft:
        raise NotImplementedError("align_to_window")
    count = 1 + (rows.shape[1] - n_fft) // hop
    frames = _frames(rows, n_fft, hop, count) * _window(window, n_fft, rows, length)
    y = _transform(frames.unsqueeze(-1), [2], [n_fft], 1 if normalized else 0, False, onesided is not False)
    y = y.transpose(1, 2)
    y = y if x.ndim == 2 else y.squeeze(0)
    return Pair(y) if return_complex else y


def _frames(rows: Tensor, size: int, hop: int, count: int) -> Tensor:
    """[batch, count, size]: windows of the rows, each `hop` after the one before, put together from pieces of `hop`."""
    pieces = -(-size // hop)
    if pieces > 64:
        at = (torch.arange(count) * hop).unsqueeze(1) + torch.arange(size)
        return torch.index_select(rows, 1, at.reshape(-1)).view(-1, count, size)
    long = (count - 1 + pieces) * hop
    rows = torch.nn.functional.pad(rows, (0, long - rows.shape[1])) if long > rows.shape[1] else rows[:, :long]
    cut = rows.reshape(rows.shape[0], -1, hop)
    return torch.cat([cut[:, k:k + count] for k in range(pieces)], -1)[:, :, :size]


def _overlap(frames: Tensor, hop: int) -> Tensor:
    """[batch, count, size] -> [batch, (count - 1) * hop + size]: the sum of windows, each `hop` after the one before."""
    batch, count, size = frames.shape
    pieces = -(-size // hop)
    frames = torch.nn.functional.pad(frames, (0, pieces * hop - size))
    made = None
    for k in range(pieces):
        part = torch.nn.functional.pad(frames[:, :, k * hop:(k + 1) * hop].reshape(batch, -1), (k * hop, (pieces - 1 - k) * hop))
        made = part if made is None else made + part
    assert made is not None
    return made[:, :(count - 1) * hop + size]


@_rule("istft.default")
def _istft(a: Pair, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Tensor] = None,
           center: bool = True, normalized: bool = False, onesided: Optional[bool] = None, length: Optional[int] = None,
           return_complex: bool = False) -> Tensor:
    hop = hop_length or n_fft // 4
    if return_complex or isinstance(window, Pair) or -(-n_fft // hop) > 64:
        raise NotImplementedError("a complex result, a complex window, or a hop below 1/64 of the window")
    x = (a.x if a.ndim == 3 else a.x.unsqueeze(0)).transpose(1, 2)
    half = onesided if onesided is not None else x.shape[2] != n_fft
    # norm: each inverse transform divides by its size, or by the root of it.
    made = _transform(x, [2], [n_fft], 1 if normalized else 2, True, half)
    rows = made.squeeze(-1) if half else made.select(-1, 0)
    shape = _window(window, n_fft, rows, win_length or n_fft).to(rows.dtype)
    total = _overlap((shape * shape).expand(1, rows.shape[1], n_fft), hop)
    y, first = _overlap(rows * shape, hop), n_fft // 2 if center else 0
    end = y.shape[1] - first if length is None and center else y.shape[1] if length is None else min(first + length, y.shape[1])
    y = y[:, first:end] / total[:, first:end]
    if length is not None and y.shape[1] < length:
        y = torch.nn.functional.pad(y, (0, length - y.shape[1]))
    return y if a.ndim == 3 else y.squeeze(0)


# ---- places ----------------------------------------------------------------------------------------

# Operators that move elements, or add them up: the same on the real tensor, whose last dimension stays.
_SAME = {name: None for name in """
alias clone contiguous detach lift_fresh_copy lift_fresh view reshape _unsafe_view _reshape_copy expand permute transpose unsqueeze squeeze slice
select narrow cat stack split split_with_sizes chunk unbind repeat flip roll sum mean cumsum index_select index index_put slice_scatter
select_scatter constant_pad_nd pad movedim flatten unflatten resolve_conj resolve_neg diff copy""".split()}
_DIMS = ("dim", "dims", "dim0", "dim1", "start_dim", "end_dim", "source", "destination")
_ALL = {"sum.default": "sum.dim_IntList", "mean.default": "mean.dim", "squeeze.default": "squeeze.dims", "roll.default": "roll.default"}


def _moved(target: Any, values: List[Tuple[str, Any]]) -> Any:
    """Call an operator that moves elements."""
    name = str(target).replace("aten.", "", 1)
    a = _first(*[x for _, v in values for x in (v if isinstance(v, (list, tuple)) else [v])])
    rank = a.ndim + (1 if name.startswith(("unsqueeze", "stack")) else 0)
    given: Dict[str, Any] = {}
    for key, value in values:
        if key in _DIMS and value is not None:
            value = [d % max(rank, 1) for d in value] if isinstance(value, (list, tuple)) else value % max(rank, 1)
        if key in ("size", "shape"):
            value = list(value) + [2]
        elif key == "repeats":
            value = list(value) + [1]
        elif key == "pad":
            value = [0, 0] + list(value)
        elif key in ("memory_format", "implicit", "device", "layout"):
            continue
        elif key == "value" and value not in (None, 0):
            raise NotImplementedError("padding with a number")
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Pair) for v in value):
            value = [_pair(v, a).x for v in value]
        given[key] = _pair(value, a).x if isinstance(value, Pair) or key in ("values", "src") else value
    if name in _ALL and not given.get("dims"):
        axes = [d for d in range(a.ndim) if name != "squeeze.default" or a.x.shape[d] == 1]
        if name == "roll.default":
            return Pair(torch.roll(a.x.flatten(0, -2), given["shifts"][0], 0).reshape(a.x.shape))
        packet, overload = _ALL[name].split(".")
        return Pair(getattr(getattr(aten, packet), overload)(a.x, axes, **{k: v for k, v in given.items() if k == "dtype"})) if axes else a
    if name == "permute.default":
        given["dims"] = given["dims"] + [a.ndim]
    if name in ("sum.dim_IntList", "mean.dim") and not given.get("dim"):
        given["dim"] = list(range(a.ndim))
    if given.get("dtype") is not None:
        given["dtype"] = given["dtype"].to_real()
    if name in ("resolve_conj.default", "resolve_neg.default"):
        return a
    made = a.x.reshape(given["size"]) if name == "view.default" else target(**given)
    return [Pair(x) for x in made] if isinstance(made, (list, tuple)) else Pair(made)


@_rule("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def _where(condition: Tensor, a: Any, b: Any) -> Pair:
    like = _first(a, b)
    return Pair(torch.where(condition.unsqueeze(-1), _pair(a, like).x, _pair(b, like).x))


@_rule("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(a: Pair, mask: Tensor, value: Any) -> Pair:
    return _where(mask, value, a)


@_rule("gather.default")
def _gather(a: Pair, dim: int, index: Tensor, sparse_grad: bool = False) -> Pair:
    return _of(*(torch.gather(x, dim, index) for x in a.parts()))


@_rule("tril.default")
def _tril(a: Pair, diagonal: int = 0) -> Pair:
    return _of(*(torch.tril(x, diagonal) for x in a.parts()))


@_rule("triu.default")
def _triu(a: Pair, diagonal: int = 0) -> Pair:
    return _of(*(torch.triu(x, diagonal) for x in a.parts()))


def _filled(number: Any) -> Callable[..., Pair]:
    """A rule for new tensors of one number; None: their second argument."""
    def rule(like: Any, value: Any = None, dtype: Any = None, **_: Any) -> Pair:
        shape = like.x.shape[:-1] if isinstance(like, Pair) else like.shape if isinstance(like, Tensor) else like
        kind = dtype.to_real() if dtype is not None else like.x.dtype if isinstance(like, Pair) else torch.get_default_dtype()
        n = complex(value if number is None else number)
        return _of(torch.full(shape, n.real, dtype=kind), torch.full(shape, n.imag, dtype=kind))
    return rule


for _name, _number in {"full": None, "zeros": 0, "ones": 1, "empty": 0}.items():
    _RULES[_name + ("_like.default")] = _filled(_number)
    _RULES[_name + (".memory_format" if _name == "empty" else ".default")] = _filled(_number)


# ---- the pass --------------------------------------------------------------------------------------


_TRANSFORMS = ("aten.stft.default", "aten.istft.default")


def _is_complex(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return any(isinstance(v, Tensor) and v.is_complex() for v in (value if isinstance(value, (list, tuple)) else [value]))


class _Rewrite:
    """One graph, in which nodes of complex tensors become nodes of real ones. made: complex node -> its real form."""

    def __init__(self, graph: Any, refuse: Callable[..., Exception]) -> None:
        self.graph, self.refuse = graph, refuse
        self.table: Dict[Any, Callable[..., Any]] = {}
        self.made: Dict[Node, Any] = {}
        self.complex = {n for n in graph.nodes if _is_complex(n)}

    def call(self, node: Node, tensors: Sequence[Node]) -> Any:
        """The rule of a node, as a function of the tensors that it reads."""
        name, schema = str(node.target).replace("aten.", "", 1), node.target._schema.arguments  # type: ignore[union-attr]

        def compute(*values: Tensor) -> List[Tensor]:
            given = {n: Pair(v) if n in self.complex else v for n, v in zip(tensors, values)}
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: given[n])
            if name in _RULES:
                result = _RULES[name](*args, **kwargs)
            else:
                result = _moved(node.target, [(a.name, v) for a, v in zip(schema, args)] + list(kwargs.items()))
            return [r.x if isinstance(r, Pair) else r for r in (result if isinstance(result, (list, tuple)) else [result])]
        if name not in _RULES and name.split(".")[0] not in _SAME:
            raise self.refuse("%s of complex tensors is not known" % node.target, node, "Write it with the parts of the numbers, x.real and x.imag.")
        return compute

    def value(self, node: Node) -> Any:
        """The real node of a node that is no list."""
        return self.made.get(node, node)

    def node(self, node: Node) -> None:
        """Put the nodes of a rule before a node."""
        from torch.fx.experimental.proxy_tensor import make_fx
        if node.target is operator.getitem:
            self.made[node] = self.made[node.args[0]][node.args[1]]  # type: ignore[index]
            return
        self.table = self.table or decompositions()
        tensors = list(node.all_input_nodes)
        fakes = [self.value(n).meta["val"] for n in tensors]
        mode = next((x.fake_mode for x in fakes if hasattr(x, "fake_mode")), None) or node.meta["val"].fake_mode
        try:
            with mode, torch.no_grad():
                part = make_fx(self.call(node, tensors), decomposition_table=self.table)(*fakes)
        except NotImplementedError as error:
            raise self.refuse("%s with %s is not known" % (node.target, error), node) from None
        values: Dict[Node, Any] = dict(zip([n for n in part.graph.nodes if n.op == "placeholder"], [self.value(n) for n in tensors]))
        with self.graph.inserting_before(node):
            for inner in part.graph.nodes:
                if inner.op == "output":
                    results = [values[n] for n in inner.args[0]]
                elif inner.op == "get_attr":
                    raise self.refuse("%s needs a constant of its own" % node.target, node)
                elif inner.op != "placeholder":
                    values[inner] = self.graph.node_copy(inner, lambda n: values[n])
                    values[inner].meta = {"val": inner.meta["val"], "stack_trace": node.meta.get("stack_trace")}
        self.made[node] = results if isinstance(node.meta["val"], (list, tuple)) else results[0]


def real_form(program: Any, refuse: Callable[..., Exception]) -> None:
    """Let the graph of a program of torch.export have real tensors alone. Complex inputs, weights and outputs are real with
    a last dimension of 2; which inputs and outputs are such is in the meta of their nodes.

    refuse  makes an error of a text, a node and a hint"""
    graph = program.graph_module.graph
    work, places = _Rewrite(graph, refuse), {n.name: n for n in graph.nodes}
    for node in list(graph.nodes):
        if node.op == "placeholder" and node in work.complex:
            value = node.meta["val"]
            with value.fake_mode:
                node.meta.update(val=torch.empty(list(value.shape) + [2], dtype=value.dtype.to_real()), complex=True)
        elif node.op == "call_function" and node.users and (node in work.complex or str(node.target) in _TRANSFORMS or
                                                            any(n in work.complex for n in node.all_input_nodes)):
            work.node(node)
        elif node.op == "output":
            was = [places.get(getattr(spec.arg, "name", None)) for spec in program.graph_signature.output_specs]
            node.meta["complex"] = [n in work.complex for n in was]
            for spec, n in zip(program.graph_signature.output_specs, was):
                if n in work.made:
                    spec.arg.name = work.made[n].name
            node.args = torch.fx.map_arg(node.args, work.value)
    for node in reversed(list(graph.nodes)):
        if node in work.made:
            for user in list(node.users):
                user.replace_input_with(node, work.made[node])
            graph.erase_node(node)
    graph.eliminate_dead_code()
    program.graph_module.recompile()
