"""Random arguments for operators of ATen: by the types and names of torch's own schema, and by a rule where that is not enough.

A rule returns the positional arguments. Weights, and pictures that are averaged or interpolated, are finite: where a product with a
matrix replaces a loop, NaN and infinities reach elements whose weight for them is 0. What torch refuses is drawn again, so rules only have to be right often enough."""
import math
import re

import torch

aten = torch.ops.aten
FLOATS = (torch.float32, torch.float32, torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.float64)
INTS = (torch.int64, torch.int64, torch.int64, torch.int32, torch.int32, torch.int16, torch.int8, torch.uint8)
KINDS = {"f": FLOATS, "i": INTS, "b": (torch.bool,)}
RULES = {}
# Operators without a defined result, those of random numbers, and those that graphs have for other reasons
LEFT_OUT = {"empty.memory_format", "empty_like.default", "_assert_tensor_metadata.default", "native_batch_norm.default"}
POSITIVE = ("log", "log2", "log10", "sqrt", "rsqrt", "acosh", "log1p", "logit", "xlogy", "pow")


def op_of(name):
    """Return torch's operator of a name without "aten."."""
    base, _, overload = name.rpartition(".")
    if name.startswith("torchvision"):
        import torchvision  # noqa: F401
    elif name.startswith("qnnrt"):
        import qnnrt._torch_complex  # noqa: F401
    if base.count("."):
        return getattr(getattr(getattr(torch.ops, base.split(".")[0]), base.split(".")[1]), overload)
    return getattr(getattr(aten, base), overload)


def kind(x):
    return "b" if x.dtype == torch.bool else "f" if x.dtype.is_floating_point else "i"


class Draw:
    """Random numbers, shapes and tensors. values: what the program has so far."""

    def __init__(self, dice, values, hardware=False):
        self.dice, self.values, self.made, self.special, self.hardware = dice, values, [], False, hardware
        self.names = {}

    def chance(self, p):
        return self.dice.random() < p

    def pick(self, *things):
        return self.dice.choice(things)

    def size(self, empty=True):
        if empty and self.special and self.chance(0.3):
            return 0
        return self.dice.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 16, 17) if self.chance(0.2) else (1, 2, 3, 4, 5))

    def shape(self, low=0, high=5):
        rank = self.dice.choice([r for r in (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5) if low <= r <= high] or [low])
        shape = [self.size() for _ in range(rank)]
        while math.prod(shape) > 600:
            shape[self.dice.randrange(rank)] = self.pick(1, 2)
        return shape

    def new(self, shape, what="f", low=None, high=None, positive=False, distinct=False):
        """Return a new input of a shape; integers from low to high."""
        dtype = self.dice.choice(KINDS[self.dice.choice(what)])
        count, dice = math.prod(shape), self.dice
        if dtype == torch.bool:
            flat = [dice.random() < 0.5 for _ in range(count)]
        elif dtype.is_floating_point:
            if distinct:
                flat = [v / 8 for v in dice.sample(range(-count, count + 1), count)]
            elif self.chance(0.1):
                flat = [dice.choice((0.0, 1.0, -1.0, 0.5, -0.5, 100.0, -200.0, 0.001)) for _ in range(count)]
            else:
                wide = dice.choice((1, 1, 1, 4))
                flat = [dice.randint(-48 * wide, 48 * wide) / 16 for _ in range(count)]
            if positive:
                flat = [abs(v) + 0.0625 for v in flat]
            if self.special and not self.hardware:
                flat = [dice.choice((math.nan, math.inf, -math.inf, -0.0)) if dice.random() < 0.15 else v for v in flat]
        else:
            info = torch.iinfo(dtype)
            a, b = (-7, 8) if low is None else (low, high)
            if low is None and self.chance(0.06):
                a, b = (-(1 << 29), 1 << 29)
            flat = [dice.randint(max(a, info.min), max(a, min(b, info.max))) for _ in range(count)]
            if distinct and b - a + 1 >= count:
                flat = dice.sample(range(a, b + 1), count)
        x = torch.tensor(flat, dtype=dtype).reshape(shape)
        if distinct and (x.unique().numel() < count or x.isnan().sum() > 1):
            raise ValueError("they are not distinct in their type")
        x.spans = (low, high) if low is not None and kind(x) == "i" else None
        self.made.append(x)
        return x

    def tensor(self, low=0, high=5, what="f", shape=None, **more):
        """Return a value of the program, or a new input."""
        if not more and self.chance(0.65):
            found = [v for v in self.values if kind(v) in what and low <= v.dim() <= high and v.numel() <= 2000 and
                     (shape is None or list(v.shape) == list(shape))]
            if found:
                return found[-1] if self.chance(0.6) else self.dice.choice(found)
        return self.new(self.shape(low, high) if shape is None else shape, what, **more)

    def any(self, low=0, high=5):
        return self.tensor(low, high, self.pick("f", "f", "f", "f", "i", "b"))

    def dim(self, rank):
        return self.dice.randint(-rank, rank - 1) if rank else self.pick(0, -1)

    def dims(self, rank, least=0):
        found = [d - rank if self.chance(0.4) else d for d in range(rank) if self.chance(0.5)]
        if len(found) < least and rank:
            found = [self.dim(rank)]
        self.dice.shuffle(found)
        return found

    def number(self, what="if"):
        """A Scalar."""
        if self.chance(0.04):
            return self.chance(0.5)
        return self.pick(-3, -2, -1, 0, 1, 2, 3, 7) if "i" in what and self.chance(0.5) else self.pick(-2.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 0.1)

    def broadcast(self, shape):
        """A shape that repeats to a shape."""
        out = [1 if self.chance(0.25) else d for d in shape]
        if self.chance(0.3):
            out = out[self.dice.randint(0, len(out)):]
        return out

    def factors(self, count):
        if count == 0:
            return [self.pick(0, 1, 2), 0]
        out = []
        while count > 1 and len(out) < 4:
            fits = [d for d in range(1, count + 1) if count % d == 0]
            out.append(self.dice.choice(fits))
            count //= out[-1]
        if count > 1 or self.chance(0.2):
            out.append(count)
        self.dice.shuffle(out)
        return out


def rule(*names):
    def keep(function):
        for name in names:
            RULES[name] = function
        return function
    return keep


# ---- by schema ---------------------------------------------------------------------------------------

AXES = {"dim", "dim0", "dim1", "start_dim", "end_dim", "source", "destination"}
NUMBERS = {"diagonal": (-3, 3), "k": (1, 4), "n": (1, 2), "repeats": (1, 3), "chunks": (1, 4), "split_size": (1, 4), "correction": (0, 2),
           "index": (-3, 3), "step": (1, 3), "start": (-4, 4), "end": (-4, 9), "length": (0, 3), "num_classes": (8, 9), "offset": (-2, 2)}
TEXTS = {"rounding_mode": (None, "floor", "trunc"), "approximate": ("none", "tanh"), "reduce": ("sum", "prod", "mean", "amax", "amin"),
         "side": ("left", "right", None)}
SKIPPED = {"layout", "device", "pin_memory", "generator", "memory_format", "non_blocking", "copy", "requires_grad", "implicit", "sparse_grad",
           "cudnn_enabled", "cudnn_enable", "output_size", "sparse", "scale_grad_by_freq"}


def draw_argument(g, name, argument, first, common):
    """Draw one argument; first: the first tensor, common: the shape of all of them."""
    text, rank = str(argument.type), first.dim() if first is not None else 0
    called = argument.name
    optional = text.startswith("Optional")
    if called in SKIPPED or (optional and "Tensor" not in text and called != "correction" and g.chance(0.3)):
        return None
    if "Tensor" in text:
        if optional and g.chance(0.4):
            return None
        what = "b" if called in ("condition", "mask") else "f"
        if name.startswith(("bitwise", "__")):
            what = g.pick("i", "b")
        elif what == "f":
            what = g.pick("f", "f", "f", "f", "f", "i", "b") if first is None else g.pick("f", "i", "b") if g.chance(0.2) else kind(first)
        positive = name.split(".")[0] in POSITIVE and g.chance(0.85)
        if first is not None and called in ("other", "exponent", "value") and g.chance(0.12) and len([a for a in op_of(name)._schema.arguments if "Tensor" in str(a.type)]) == 2:
            return g.number()
        if common is None or g.chance(0.5) and not positive:
            return g.tensor(0, 5, what, **({"positive": True} if positive else {}))
        return g.tensor(0, 5, what, shape=g.broadcast(common), **({"positive": True} if positive else {}))
    if "Scalar" in text or "number" in text:
        return g.pick(0, 1, 2, 1.0, 0.5) if called == "correction" else g.number()
    if "bool" in text:
        return False if called in ("train",) else g.chance(0.5)
    if "dtype" in text or called == "dtype":
        return None if g.chance(0.75) else g.dice.choice(FLOATS + INTS + (torch.bool,))
    if "List[int]" in text or "SymInt" in text and "List" in text:
        if called in ("dim", "dims", "dim_"):
            return g.dims(rank) if not optional or g.chance(0.8) else None
        return [g.pick(1, 2, 3) for _ in range(g.pick(1, 2))]
    if "int" in text or "SymInt" in text:
        if called in AXES:
            return g.dim(rank)
        return g.dice.randint(*NUMBERS.get(called, (0, 3)))
    if "float" in text:
        return g.pick(0.0, 0.1, 0.5, 1e-5, 1.0)
    if "str" in text:
        return g.dice.choice(TEXTS.get(called, ("none",)))
    return None


def by_schema(g, name):
    """Draw all arguments by the schema; return positional ones and those by name."""
    args, kwargs, first = [], {}, None
    common = g.shape(0, 5) if g.chance(0.8) else None
    for argument in op_of(name)._schema.arguments:
        defaulted = argument.has_default_value() and (argument.kwarg_only or not argument.name.startswith(("self", "other")))
        if defaulted and g.chance(0.35):
            if not argument.kwarg_only:
                args.append(argument.default_value)
            continue
        value = draw_argument(g, name, argument, first, common)
        if value is None and argument.has_default_value():
            value = argument.default_value
        if first is None and isinstance(value, torch.Tensor):
            first, common = value, list(value.shape) if common is None else common
        if argument.kwarg_only:
            if not (argument.has_default_value() and value == argument.default_value):
                kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


def arguments(g, name):
    """Draw arguments of an operator."""
    base = name.rpartition(".")[0]
    if name in RULES or base in RULES:
        made = (RULES.get(name) or RULES[base])(g, name)
        return made if isinstance(made, tuple) else (made, {})
    return by_schema(g, name)


# ---- elements ----------------------------------------------------------------------------------------

@rule("dropout", "feature_dropout")
def _(g, name):
    return [g.tensor(), 0.5, False]


@rule("pow.Tensor_Scalar")
def _(g, name):
    return [g.tensor(what=g.pick("f", "f", "i"), positive=g.chance(0.6)), g.pick(0, 1, 2, 3, 4, 0.5, -0.5, -1, -2, 1.5, 2.0, 3.0)]


@rule("pow.Scalar")
def _(g, name):
    return [g.pick(2, 3, 0.5, 1.5, 10.0, 1), g.tensor(what=g.pick("f", "f", "i"))]


@rule("to.dtype", "type_as_dtype")
def _(g, name):
    return [g.any(), g.dice.choice(FLOATS + INTS + (torch.bool,))]


@rule("to.device")
def _(g, name):
    return [g.any(), torch.device("cpu"), g.dice.choice(FLOATS + INTS + (torch.bool,))]


@rule("_to_copy", "to.dtype_layout")
def _(g, name):
    return [g.any()], {"dtype": g.dice.choice(FLOATS + INTS + (torch.bool,))}


@rule("to.other", "type_as")
def _(g, name):
    return [g.any(), g.any()]


@rule("clamp")
def _(g, name):
    low, high = g.number(), g.number()
    return [g.tensor(what=g.pick("f", "i")), None if g.chance(0.2) else low, None if g.chance(0.2) else high]


@rule("softplus")
def _(g, name):
    return [g.tensor(), g.pick(1, 2, 0.5), g.pick(20, 1, 5)]


@rule("alias", "detach", "clone", "contiguous", "lift_fresh", "lift_fresh_copy", "isnan", "isinf", "logical_not", "neg", "abs", "sign", "relu", "square",
      "floor", "ceil", "round", "trunc")
def _(g, name):
    return [g.any()]


@rule("round.decimals")
def _(g, name):
    return [g.tensor()], {"decimals": g.pick(0, 1, 2, -1)}


@rule("logit")
def _(g, name):
    return [g.tensor(positive=g.chance(0.85)), g.pick(None, 0.01, 0.1, 0.25, 0.5)]


@rule("clamp.Tensor")
def _(g, name):
    shape, what = g.shape(), g.pick("f", "i")
    low, high = g.tensor(shape=g.broadcast(shape), what=what), g.tensor(shape=g.broadcast(shape), what=what)
    return [g.tensor(shape=shape, what=what), *g.pick([low, high], [low, None], [None, high])]


@rule("prelu", "_prelu_kernel")
def _(g, name):
    x = g.tensor(1)
    channels = x.shape[1] if x.dim() > 1 else 1
    if name.startswith("_"):
        return [x, same(g, [channels if i == 1 else 1 for i in range(x.dim())] if g.chance(0.5) else [1] * x.dim(), x)]
    return [x, same(g, [g.pick(1, channels)], x)]


@rule("lerp.Tensor")
def _(g, name):
    shape, x = g.shape(), g.tensor()
    if g.chance(0.7):
        shape = list(x.shape)
    made = [x, same(g, g.broadcast(shape), x), same(g, g.broadcast(shape), x)]
    if not all(y.isfinite().all() for y in made):
        raise ValueError("infinity less infinity")
    return made


@rule("masked_fill.Tensor", "fill.Tensor")
def _(g, name):
    x = g.any()
    return [x] + ([g.new(g.broadcast(list(x.shape)), "b")] if name.startswith("masked") else []) + [g.tensor(0, 0, g.pick(kind(x), "f", "i", "b"))]


@rule("tril", "triu")
def _(g, name):
    return [g.any(2, 5), g.dice.randint(-4, 4)]


# ---- over dimensions ---------------------------------------------------------------------------------

@rule("topk")
def _(g, name):
    x = g.new(g.shape(1, 4), g.pick("f", "f", "i"), distinct=True, low=-300, high=300)
    d = g.dim(x.dim())
    return [x, g.dice.randint(0 if g.special else 1, max(1, x.shape[d])), d, g.chance(0.6), True]


@rule("sort", "argsort", "msort", "kthvalue", "mode", "median")
def _(g, name):
    x = g.new(g.shape(1, 4), g.pick("f", "f", "i"), distinct=True, low=-300, high=300)
    d = g.dim(x.dim())
    if name.endswith("stable"):
        return [x], {"stable": True, "dim": d, "descending": g.chance(0.5)}
    return {"sort.default": [x, d, g.chance(0.5)], "argsort.default": [x, d, g.chance(0.5)], "msort.default": [x], "median.default": [x], "median.dim": [x, d, g.chance(0.5)],
            "kthvalue.default": [x, g.dice.randint(1, max(1, x.shape[d])), d, g.chance(0.5)], "mode.default": [x, d, g.chance(0.5)]}[name]


@rule("var_mean", "std_mean")
def _(g, name):
    args, more = by_schema(g, name)
    if not args[0].isfinite().all():
        raise ValueError("the mean is another one than that of mean()")
    return args, more


@rule("linalg_vector_norm")
def _(g, name):
    x = g.tensor()
    return [x, g.pick(2, 1, 2, 1, 3, 0.5, math.inf, -math.inf, 0, 2.5), g.dims(x.dim()) if g.chance(0.7) else None, g.chance(0.5)]


# ---- views and moves ---------------------------------------------------------------------------------

@rule("view", "reshape", "_unsafe_view")
def _(g, name):
    x = g.any()
    shape = g.factors(x.numel())
    if shape and g.chance(0.3) and 0 not in shape:
        shape[g.dice.randrange(len(shape))] = -1
    return [x, shape]


@rule("view_as", "reshape_as")
def _(g, name):
    x = g.any()
    return [x, g.new(g.factors(x.numel()), "fi")]


@rule("expand", "broadcast_to")
def _(g, name):
    x = g.any(0, 4)
    size = [g.size() if d == 1 and g.chance(0.6) else -1 if g.chance(0.3) else d for d in x.shape]
    return [x, [g.size() for _ in range(g.pick(0, 0, 1, 2))] + size]


@rule("expand_as")
def _(g, name):
    shape = g.shape()
    return [g.tensor(shape=g.broadcast(shape)), g.new(shape, "fi")]


@rule("copy")
def _(g, name):
    shape = g.shape()
    return [g.tensor(shape=shape, what=g.pick("f", "i")), g.tensor(shape=g.broadcast(shape), what=g.pick("f", "i", "b"))]


@rule("unflatten")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    sizes = g.factors(x.shape[d]) or [1]
    if g.chance(0.3) and 0 not in sizes:
        sizes[g.dice.randrange(len(sizes))] = -1
    return [x, d, sizes]


@rule("unsqueeze")
def _(g, name):
    x = g.any(0, 4)
    return [x, g.dice.randint(-x.dim() - 1, x.dim())]


@rule("squeeze")
def _(g, name):
    x = g.any()
    if name.endswith("default"):
        return [x]
    return [x, g.dim(x.dim()) if name.endswith(".dim") else g.dims(x.dim())]


@rule("permute")
def _(g, name):
    x = g.any()
    order = list(range(x.dim()))
    g.dice.shuffle(order)
    return [x, [d - x.dim() if g.chance(0.3) else d for d in order]]


@rule("movedim.intlist", "moveaxis.intlist")
def _(g, name):
    x = g.any(1)
    count = g.dice.randint(0, x.dim())
    return [x] + [[d - x.dim() if g.chance(0.3) else d for d in g.dice.sample(range(x.dim()), count)] for _ in range(2)]


@rule("t", "numpy_T", "mT")
def _(g, name):
    return [g.any(2) if name.startswith("mT") else g.any(0, 2)]


@rule("slice")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    n = x.shape[d]
    return [x, d, g.pick(None, 0, g.dice.randint(-n - 1, n + 1)), g.pick(None, 2**63 - 1, g.dice.randint(-n - 1, n + 2)), g.pick(1, 1, 1, 2, 3)]


@rule("narrow")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    start = g.dice.randint(0, x.shape[d])
    return [x, d, start - x.shape[d] if start < x.shape[d] and g.chance(0.3) else start, g.dice.randint(0, x.shape[d] - start)]


@rule("select")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    return [x, d, g.dice.randint(-x.shape[d], max(0, x.shape[d] - 1))]


@rule("cat", "stack", "concat", "hstack", "vstack")
def _(g, name):
    shape, what = g.shape(0 if name.startswith("stack") else 1, 4), g.pick("f", "f", "f", "i", "b")
    d, many = g.dim(len(shape) + name.startswith("stack")), []
    for _ in range(g.pick(1, 2, 2, 3, 4)):
        own = list(shape)
        if not name.startswith("stack"):
            own[d] = g.size()
        many.append(g.tensor(shape=own, what=what if g.chance(0.9) else g.pick("f", "i", "b")))
    if name.startswith("cat") and g.chance(0.05):
        many.insert(0, g.new([0], what))
    return [many, d]


@rule("split", "split_with_sizes", "unbind", "chunk", "tensor_split")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    n = x.shape[d]
    if name == "unbind.int":
        return [x, d] if n <= 8 else [x, 0]
    if name in ("split.Tensor", "chunk.default", "tensor_split.sections"):
        return [x, g.dice.randint(1, max(1, min(n, 8))), d]
    sizes = []
    while n > sum(sizes) and len(sizes) < 4:
        sizes.append(g.dice.randint(0 if g.special else 1, n - sum(sizes)))
    if n > sum(sizes) or not sizes:
        sizes.append(n - sum(sizes))
    return [x, sizes if "indices" not in name else sorted(g.dice.randint(0, n) for _ in sizes), d]


@rule("repeat", "tile")
def _(g, name):
    x = g.any(0, 3)
    return [x, [g.pick(1, 1, 2, 3) if not g.special else g.pick(0, 1, 2) for _ in range(x.dim() + g.pick(0, 0, 1))]]


@rule("repeat_interleave.self_int")
def _(g, name):
    x = g.any()
    return [x, g.pick(1, 2, 3), g.dim(x.dim()) if x.dim() and g.chance(0.8) else None]


@rule("pad", "constant_pad_nd")
def _(g, name):
    mode = g.pick("constant", "constant", "reflect", "replicate", "circular") if name.startswith("pad.") else "constant"
    x = g.any(1) if mode == "constant" else g.tensor(2, 5)
    axes = g.dice.randint(1, x.dim()) if mode == "constant" else g.dice.randint(1, min(3, x.dim() - 1))
    pad = [g.pick(0, 0, 1, 1, 2, -1 if mode == "constant" else 0) for _ in range(2 * axes)]
    if mode == "constant":
        value = g.pick(0, 1.0, -2.5, 3) if kind(x) == "f" else g.pick(0, 1)
        return [x, pad, value] if name.startswith("constant") else [x, pad, mode, g.pick(None, float(value))]
    return [x, pad, mode, None]


@rule("diff")
def _(g, name):
    x = g.any(1, 4)
    d = g.dim(x.dim())
    extra = list(x.shape)
    extra[d] = g.pick(1, 2)
    return [x, g.pick(1, 1, 2) if x.shape[d] > 2 else 1, d, g.tensor(shape=extra, what=kind(x)) if g.chance(0.3) else None, g.tensor(shape=extra, what=kind(x)) if g.chance(0.3) else None]


@rule("roll")
def _(g, name):
    x = g.any(0)
    if g.chance(0.2):
        return [x, [g.dice.randint(-9, 9)], []]
    dims = g.dims(x.dim(), 1)
    return [x, [g.dice.randint(-9, 9) for _ in dims], dims]


# ---- by index ----------------------------------------------------------------------------------------

def indices(g, shape, limit, negative=False, dtype="i"):
    low = -limit if negative and g.chance(0.4) else 0
    x = g.new(shape, dtype, low=low, high=max(low, limit - 1))
    if x.dtype not in (torch.int64, torch.int32) or limit < 1 and x.numel():
        raise ValueError("an index is int64 or int32")
    return x


def long_indices(g, shape, limit, **more):
    x = indices(g, shape, limit, **more)
    if x.dtype != torch.int64:
        raise ValueError("int64")
    return x


@rule("index_select")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    return [x, d, indices(g, [g.size()], x.shape[d])]


@rule("embedding")
def _(g, name):
    x = g.tensor(2, 2)
    return [x, indices(g, g.shape(0, 3), x.shape[0]), g.pick(-1, -1, 0)]


@rule("gather", "take_along_dim")
def _(g, name):
    x = g.any(0)
    d = g.dim(x.dim())
    shape = [g.dice.randint(1, n) if n else 0 for n in x.shape]
    if shape:
        shape[d] = g.size()
    index = long_indices(g, shape, x.shape[d] if shape else 1)
    return [x, index, d] if name.startswith("take") else [x, d, index]


@rule("scatter", "scatter_add", "scatter_reduce")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    shape = [g.dice.randint(1, n) if n else 0 for n in x.shape]
    n = x.shape[d] if shape else 1
    rows = [list(torch.randperm(n, generator=torch.Generator().manual_seed(g.dice.randrange(1 << 30)))[:shape[d]]) for _ in range(1)] if shape else [[0]]
    order = torch.tensor([int(v) for v in rows[0]], dtype=torch.int64)
    index = order.reshape([-1 if i == d % len(shape) else 1 for i in range(len(shape))]).expand(shape).contiguous() if shape else order.reshape([])
    if "add" in name or "reduce" in name:
        index = long_indices(g, shape, n)
    else:
        index.spans = (0, max(0, n - 1))
        g.made.append(index)
    source = g.tensor(shape=[k + g.pick(0, 0, 1) for k in shape], what=kind(x))
    if source.dtype != x.dtype:
        source = g.new(shape, kind(x))
    more = {"include_self": g.chance(0.7)} if name == "scatter_reduce.two" else {}
    args = [x, d, index, g.number() if "value" in name else source]
    if name in ("scatter.reduce", "scatter.value_reduce"):
        return args, {"reduce": g.pick("add", "multiply")}
    return (args + [g.pick("sum", "prod", "mean", "amax", "amin")], more) if name == "scatter_reduce.two" else (args, {})


@rule("take", "put")
def _(g, name):
    x = g.any()
    if name.startswith("take"):
        return [x, long_indices(g, g.shape(), x.numel(), negative=True)]
    shape, accumulate = g.shape(0, 2), g.chance(0.4)
    if accumulate:
        index = long_indices(g, shape, x.numel(), negative=True)
    else:
        index = torch.tensor(g.dice.sample(range(-x.numel(), 0), math.prod(shape))).reshape(shape)
        index.spans = (-x.numel(), -1)
        g.made.append(index)
    return [x, index, same(g, g.dice.choice([shape, [math.prod(shape)]]), x), accumulate]


@rule("bincount")
def _(g, name):
    n = g.pick(1, 3, 8)
    x = g.new([g.size()], "i", low=0, high=n - 1)
    return [x, g.pick(None, g.tensor(shape=list(x.shape), what=g.pick("f", "i"))), n]


@rule("one_hot")
def _(g, name):
    n = g.pick(1, 3, 8)
    return [long_indices(g, g.shape(0, 4), n), n]


@rule("searchsorted", "bucketize")
def _(g, name):
    right, what = g.chance(0.5), g.pick("f", "f", "i")
    rows = g.shape(0, 3)
    row = same_dtype = g.new([g.size()] if name.startswith("bucketize") or g.chance(0.5) else rows + [g.size()], what, low=-20, high=20)
    row = row.sort().values
    row.spans = (-20, 20) if what == "i" else None
    g.made.append(row)
    x = g.new(g.shape() if row.dim() == 1 else rows + [g.size()], what, low=-25, high=25)
    if x.dtype != same_dtype.dtype:
        raise ValueError("of the same type")
    out = {"out_int32": g.chance(0.3)}
    if name.startswith("bucketize"):
        return [x, row], {**out, "right": right}
    return [row, x], g.pick({**out, "right": right}, {**out, "side": "right" if right else "left"})


@rule("select_scatter", "diagonal_scatter", "as_strided_scatter")
def _(g, name):
    x = g.any(2)
    d, e = g.dice.sample(range(x.dim()), 2)
    offset, more = g.dice.randint(-2, 2), []
    if name.startswith("select"):
        more = [g.dim(x.dim()), 0]
        more[1] = g.dice.randint(-x.shape[more[0]], x.shape[more[0]] - 1)
        shape = x.select(*more).shape
    elif name.startswith("diagonal"):
        more = [offset, d, e - x.dim()]
        shape = x.diagonal(*more).shape
    else:
        size = x.shape[d:d + 2]
        more = [list(size), list(x.stride()[d:d + 2]), g.dice.randint(0, 2)]
        shape = x.as_strided(*more).shape
    return [x, same(g, list(shape), x), *more]


@rule("index_copy", "index_add", "index_fill", "index_reduce")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    count = g.dice.randint(1, max(1, x.shape[d]))
    index = torch.tensor(g.dice.sample(range(x.shape[d]), min(count, x.shape[d])), dtype=torch.int64)
    index.spans = (0, max(0, x.shape[d] - 1))
    g.made.append(index)
    if name.startswith("index_add") or name.startswith("index_reduce"):
        index = indices(g, [count], x.shape[d])
    shape = list(x.shape)
    shape[d] = index.numel()
    source = g.tensor(shape=shape, what=kind(x))
    if name.startswith("index_fill"):
        return [x, d, index, g.number() if name.endswith("Scalar") else g.tensor(0, 0, kind(x))]
    if source.dtype != x.dtype:
        source = g.new(shape, kind(x))
    if name.startswith("index_reduce"):
        return [x, d, index, source, g.pick("prod", "mean", "amax", "amin")], {"include_self": g.chance(0.7)}
    return [x, d, index, source], ({"alpha": g.number("i" if kind(x) == "i" else "if")} if name.startswith("index_add") and g.chance(0.4) else {})


def many_indices(g, x, bools):
    out, shape = [], g.shape(0, 2)
    for n in x.shape:
        if len(out) < x.dim() and g.chance(0.5):
            out.append(indices(g, g.broadcast(shape), n, negative=True))
        else:
            out.append(None)
    while out and out[-1] is None:
        out.pop()
    if not out:
        raise ValueError("no index")
    return out


@rule("index.Tensor")
def _(g, name):
    x = g.any(1)
    return [x, many_indices(g, x, True)]


@rule("index_put")
def _(g, name):
    x = g.any(1)
    if g.chance(0.3):
        mask = g.new(list(x.shape[:g.dice.randint(1, x.dim())]), "b")
        return [x, [mask], g.new([], kind(x))]
    found = many_indices(g, x, False)
    accumulate = g.chance(0.4)
    if not accumulate and sum(v is not None for v in found) == 1:
        i = next(k for k, v in enumerate(found) if v is not None)
        if x.shape[i] > 0:
            found[i] = torch.tensor(g.dice.sample(range(x.shape[i]), g.dice.randint(1, x.shape[i])))
            found[i].spans = (0, x.shape[i] - 1)
            g.made.append(found[i])
    elif not accumulate:
        found = [None if v is None else g.new([], "i", low=0, high=max(0, x.shape[i] - 1)) for i, v in enumerate(found)]
    shape = list(x[[slice(None) if v is None else v.long() for v in found]].shape)
    values = g.tensor(shape=g.broadcast(shape), what=kind(x))
    if values.dtype != x.dtype:
        raise ValueError("values have another type")
    return [x, found, values, accumulate]


@rule("masked_scatter")
def _(g, name):
    x = g.any(1)
    mask = g.new(g.broadcast(list(x.shape)), "b")
    source = g.new([x.numel()], kind(x))
    return [x, mask, source]


@rule("slice_scatter")
def _(g, name):
    x = g.any(1)
    d = g.dim(x.dim())
    n = x.shape[d]
    start, end, step = g.pick(None, 0, g.dice.randint(-n, n)), g.pick(None, n, g.dice.randint(-n, n)), g.pick(1, 1, 2)
    shape = list(aten.slice(x, d, start, end, step).shape)
    source = g.tensor(shape=shape, what=kind(x))
    return [x, source, d, start, end, step]


# ---- layers ------------------------------------------------------------------------------------------

@rule("linear")
def _(g, name):
    x = g.tensor(1, 4)
    n = g.size()
    if x.dtype == torch.float32 or g.chance(0.1):
        return [x, g.new([n, x.shape[-1]]).to(x.dtype) if False else same(g, [n, x.shape[-1]], x), same(g, [n], x) if g.chance(0.6) else None]
    raise ValueError("float32 mostly")


def same(g, shape, x):
    """A value of the dtype of x."""
    for _ in range(30):
        y = g.tensor(shape=shape, what=kind(x))
        if y.dtype == x.dtype:
            return y
    raise ValueError("no such dtype")


def floats(g, *shape, finite=False):
    """A float32 tensor of a shape."""
    for _ in range(30):
        y = g.tensor(shape=list(shape), what="f")
        if y.dtype == torch.float32 and not (finite and not y.isfinite().all()):
            return y
    raise ValueError("no float32")


def parameters(g, *shape):
    """A float32 tensor of a shape, as weights are: finite."""
    return floats(g, *shape, finite=True)


@rule("matmul", "mm", "bmm", "mv", "dot", "outer", "vdot", "inner")
def _(g, name):
    n, k, m = g.size(), g.size(), g.size()
    base = name.split(".")[0]
    if base == "mm":
        return [floats(g, n, k), floats(g, k, m)]
    if base == "bmm":
        b = g.size()
        return [floats(g, b, n, k), floats(g, b, k, m)]
    if base == "mv":
        return [floats(g, n, k), floats(g, k)]
    if base in ("dot", "vdot"):
        return [floats(g, k), floats(g, k)]
    if base == "outer":
        return [floats(g, n), floats(g, m)]
    batch = g.shape(0, 3)
    x = [k] if g.chance(0.15) else g.broadcast(batch) + [n, k]
    y = [k] if g.chance(0.15) else g.broadcast(batch) + [k, m]
    return [floats(g, *x), floats(g, *y)]


@rule("addmm", "baddbmm", "addmv", "addbmm")
def _(g, name):
    n, k, m, b = g.size(), g.size(), g.size(), g.size()
    batch = [b] if name.startswith("badd") else []
    more = {}
    if g.chance(0.5):
        more = {"beta": g.number(), "alpha": g.number()}
    return [floats(g, *g.broadcast(batch + [n, m])), floats(g, *batch, n, k), floats(g, *batch, k, m)], more


def spatial(g, dims, kernel=True):
    size = [g.pick(1, 2, 3, 4, 5, 6, 7, 8, 9) for _ in range(dims)]
    return size, [g.pick(1, 2, 3, 3, 4, 5) for _ in range(dims)]


def per_axis(g, dims, *choices):
    return [g.pick(*choices)] * dims if g.chance(0.5) else [g.pick(*choices) for _ in range(dims)]


@rule("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution")
def _(g, name):
    base = name.split(".")[0]
    dims = g.pick(1, 2, 2) if base == "convolution" else int(base[-2])
    transposed = "transpose" in base or base == "convolution" and g.chance(0.3)
    size, kernel = spatial(g, dims)
    if dims == 3:
        size, kernel = [g.pick(1, 2, 3, 4) for _ in range(3)], [g.pick(1, 2, 3) for _ in range(3)]
    groups, a, b = g.pick(1, 1, 1, 2, 3), g.pick(1, 2, 3), g.pick(1, 2, 3)
    x = floats(g, *([g.pick(1, 1, 2)] if g.chance(0.85) or base == "convolution" else []), groups * a, *size, finite=transposed)
    w = parameters(g, *([groups * a, b] if transposed else [groups * b, a]), *kernel)
    bias = parameters(g, groups * b) if g.chance(0.6) else None
    stride, padding, dilation = per_axis(g, dims, 1, 1, 2, 3), per_axis(g, dims, 0, 0, 1, 2), per_axis(g, dims, 1, 1, 1, 2)
    extra = [g.dice.randint(0, max(s, d) - 1) if g.chance(0.3) else 0 for s, d in zip(stride, dilation)] if transposed else [0] * dims
    if name.endswith(".padding"):
        mode = g.pick("same", "valid")
        return [x, w, bias, stride if mode == "valid" else [1] * dims, mode, dilation, groups]
    if base == "convolution":
        return [x, w, bias, stride, padding, dilation, transposed, extra, groups]
    return [x, w, bias, stride, padding, extra, groups, dilation] if transposed else [x, w, bias, stride, padding, dilation, groups]


@rule("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def _(g, name):
    dims = int(name.split("pool")[1][0])
    size, kernel = spatial(g, dims)
    x = floats(g, *([g.pick(1, 2)] if g.chance(0.85) else []), g.pick(1, 2, 3), *size, finite=name.startswith("avg"))
    stride = [] if g.chance(0.3) else per_axis(g, dims, 1, 2, 3)
    padding = [g.dice.randint(0, k // 2) if g.chance(0.4) else 0 for k in kernel]
    if name.startswith("max"):
        return [x, kernel, stride, padding, per_axis(g, dims, 1, 1, 1, 2), g.chance(0.3)]
    args = [x, kernel, stride, padding, g.chance(0.3), g.chance(0.5)]
    return args + ([g.pick(None, None, 3, 5)] if dims > 1 else [])


@rule("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
      "adaptive_max_pool3d")
def _(g, name):
    dims = int(name.split("pool")[1][0])
    return [floats(g, *([g.pick(1, 2)] if g.chance(0.85) else []), g.pick(1, 2, 3), *spatial(g, dims)[0], finite="avg" in name), [g.pick(1, 2, 3, 4, 7) for _ in range(dims)]]


@rule("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d",
      "upsample_linear1d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d")
def _(g, name):
    base, overload = name.split(".")
    dims = int(re.search(r"(\d)d", base)[1])
    least = 2 if base.endswith("aa") else 1              # torch errs in pictures of one column
    x = floats(g, g.pick(1, 2), g.pick(1, 2, 3), *[g.dice.randint(least, 6) for _ in range(dims)], finite=True)
    corners = [] if "nearest" in base else [g.chance(0.5)]
    size, factors = [g.dice.randint(least, 9) for _ in range(dims)], per_axis(g, dims, 1.0, 2.0, 2.0, 3.0, 0.5 * least, 1.5)
    if overload == "vec":
        sized = g.chance(0.5)
        return [x, size if sized else None] + corners + [None if sized else factors]
    if g.chance(0.5):
        size = [int(n * f) for n, f in zip(x.shape[2:], factors)]
        return [x, size] + corners + [factors[i] for i in range(dims)]
    return [x, size] + corners


@rule("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
def _(g, name):
    return RULES["upsample_bilinear2d"](g, name)


@rule("im2col", "col2im")
def _(g, name):
    kernel, dilation = per_axis(g, 2, 1, 2, 3), per_axis(g, 2, 1, 1, 2)
    padding, stride, size = per_axis(g, 2, 0, 0, 1, 2), per_axis(g, 2, 1, 2, 3), [g.dice.randint(1, 9) for _ in range(2)]
    batch, c = g.pick([], [1], [2]), g.pick(1, 2)
    if name.startswith("im2col"):
        return [floats(g, *batch, c, *size), kernel, dilation, padding, stride]
    places = math.prod((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(size, padding, dilation, kernel, stride))
    return [floats(g, *batch, c * math.prod(kernel), places), size, kernel, dilation, padding, stride]


@rule("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _(g, name):
    dims = g.pick(2, 2, 3) if name.startswith("grid_sampler.") else int(name[13])
    n = g.pick(1, 2)
    grid = g.new([n] + [g.pick(1, 2, 3, 4) for _ in range(dims)] + [dims])
    if g.chance(0.7):
        grid = (grid / 3).to(grid.dtype)
        g.made.append(grid)
    if grid.dtype != torch.float32 or not grid.isfinite().all():
        raise ValueError("no float32")
    return [parameters(g, n, g.pick(1, 2, 3), *[g.pick(1, 2, 3, 5) for _ in range(dims)]), grid, g.pick(0, 1, 2) if dims == 2 else g.pick(0, 1), g.pick(0, 1, 2), g.chance(0.5)]


@rule("torchvision.roi_align", "torchvision.roi_pool")
def _(g, name):
    x = parameters(g, g.pick(1, 2), g.pick(1, 2, 3), g.dice.randint(1, 9), g.dice.randint(1, 9))
    rows, scale = [], g.pick(1.0, 0.5, 0.25, 2.0)
    for _ in range(g.pick(1, 2, 4)):
        corners = [g.dice.randint(-8, 80) / 8 for _ in range(4)]
        rows.append([g.dice.randrange(x.shape[0])] + (corners if g.chance(0.2) else [min(corners[::2]), min(corners[1::2]), max(corners[::2]), max(corners[1::2])]))
    rois = torch.tensor(rows, dtype=torch.float32)
    g.made.append(rois)
    args = [x, rois, scale, g.pick(1, 2, 3, 7), g.pick(1, 2, 3)]
    return args + ([g.pick(-1, 0, 1, 2, 3), g.chance(0.5)] if "align" in name else [])


@rule("torchvision.deform_conv2d")
def _(g, name):
    n, groups, parts, c, out = g.pick(1, 2), g.pick(1, 1, 2), g.pick(1, 1, 2), g.pick(1, 2), g.pick(1, 2, 3)
    kernel, size = per_axis(g, 2, 1, 2, 3), [g.dice.randint(1, 6) for _ in range(2)]
    stride, padding, dilation = per_axis(g, 2, 1, 2), per_axis(g, 2, 0, 1, 2), per_axis(g, 2, 1, 1, 2)
    made = [(m + 2 * p - d * (k - 1) - 1) // s + 1 for m, p, d, k, s in zip(size, padding, dilation, kernel, stride)]
    area, masked, channels = parts * math.prod(kernel), g.chance(0.5), groups * parts * c
    return [parameters(g, n, channels, *size), parameters(g, groups * out, channels // groups, *kernel), parameters(g, n, 2 * area, *made),
            parameters(g, n, area, *made) if masked else parameters(g, n, 1), parameters(g, groups * out), *stride, *padding, *dilation, groups, parts, masked]


@rule("_grouped_mm")
def _(g, name):
    groups, k, m = g.pick(1, 2, 3), g.pick(4, 8), g.pick(4, 8)
    ends = sorted(g.dice.randint(0, 6) for _ in range(groups))
    ends = torch.tensor(ends, dtype=torch.int32)
    ends.spans = (0, int(ends[-1]))
    g.made.append(ends)
    return [parameters(g, int(ends[-1]), k), parameters(g, groups, k, m)], {"offs": ends}


@rule("qnnrt.fft")
def _(g, name):
    shape = [g.pick(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13) for _ in range(g.pick(1, 1, 2, 3))]
    while math.prod(shape) > 300:
        shape[g.dice.randrange(len(shape))] = 1
    dims = g.dice.sample(range(len(shape)), g.dice.randint(1, min(len(shape), 2)))
    half, inverse = g.chance(0.4), g.chance(0.5)
    length = [shape[d] if g.chance(0.6) else g.dice.randint(1, 10) for d in dims]
    if half and inverse:
        shape[dims[-1]] = length[-1] // 2 + 1
    parts = 1 if half and not inverse else 2 if half else g.pick(1, 2)
    return [parameters(g, *shape, parts), dims, length, inverse, half, g.pick(1.0, 1.0, 0.5, 1 / math.prod(length))]


@rule("lstm", "gru", "rnn_tanh", "rnn_relu")
def _(g, name):
    base = name.split(".")[0]
    gates, layers, ways, width, size = {"lstm": 4, "gru": 3}.get(base, 1), g.pick(1, 1, 2), g.pick(1, 1, 2), g.pick(1, 2, 3, 5), g.pick(1, 2, 4)
    steps, batch, biases, swapped = g.pick(1, 2, 3, 6), g.pick(1, 2, 3), g.chance(0.7), g.chance(0.5)
    out = g.dice.randint(1, width - 1) if base == "lstm" and width > 1 and g.chance(0.3) else width
    x = parameters(g, *([batch, steps] if swapped else [steps, batch]), size)
    states = [parameters(g, layers * ways, batch, out)] + ([parameters(g, layers * ways, batch, width)] if base == "lstm" else [])
    weights, constant = [], g.chance(0.8)
    for layer in range(layers):
        for _ in range(ways):
            shapes = [[gates * width, size if layer == 0 else ways * out], [gates * width, out]] + [[gates * width]] * (2 * biases) + [[out, width]] * (out != width)
            weights += [(torch.tensor([g.dice.randint(-16, 16) / 16 for _ in range(math.prod(shape))])).reshape(shape) for shape in shapes]
    for w in weights:
        w.constant = constant
        g.made.append(w)
    return [x, states if base == "lstm" else states[0], weights, biases, layers, 0.0, False, ways == 2, swapped]


@rule("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle")
def _(g, name):
    r, c = g.pick(1, 2, 3), g.pick(1, 2)
    if "unshuffle" in name:
        return [floats(g, *g.shape(0, 2), c, r * g.pick(1, 2), r * g.pick(1, 2)), r]
    if "channel" in name:
        return [floats(g, g.pick(1, 2), c * r, *[g.pick(1, 2) for _ in range(g.pick(1, 2, 2, 3))]), r]
    return [floats(g, *g.shape(0, 2), c * r * r, g.pick(1, 2, 3), g.pick(1, 2, 3)), r]


def positives(g, n):
    for _ in range(30):
        x = g.new([n], "f", positive=True)
        if x.dtype == torch.float32 and x.isfinite().all():
            return x
    raise ValueError("no float32")


@rule("batch_norm", "_native_batch_norm_legit_no_training", "instance_norm")
def _(g, name):
    c = g.pick(1, 2, 3, 4)
    x = floats(g, g.pick(1, 2), c, *[g.pick(1, 2, 3, 4) for _ in range(g.pick(0, 1, 2, 2, 3) if not name.startswith("inst") else g.pick(1, 2, 2, 3))])
    w, b = (parameters(g, c), parameters(g, c)) if g.chance(0.7) else (None, None)
    eps = g.pick(1e-5, 1e-3)
    if name.startswith("inst"):
        return [x, w, b, None, None, True, 0.1, eps, False]
    mean, var = parameters(g, c), positives(g, c)
    return [x, w, b, mean, var] + ([False, 0.1, eps, False] if name.startswith("batch") else [0.1, eps])


@rule("layer_norm", "native_layer_norm", "rms_norm")
def _(g, name):
    x = floats(g, *g.shape(1, 4), finite=name.startswith("native"))
    shape = list(x.shape[-g.dice.randint(1, x.dim()):])
    w, b = parameters(g, *shape) if g.chance(0.6) else None, parameters(g, *shape) if g.chance(0.6) else None
    eps = g.pick(1e-5, 1e-3, 0.1)
    return [x, shape, w, eps if g.chance(0.7) else None] if name.startswith("rms") else [x, shape, w, b, eps]


@rule("group_norm", "native_group_norm")
def _(g, name):
    groups, c = g.pick(1, 2, 3), g.pick(1, 2)
    x = floats(g, g.pick(1, 2), groups * c, *[g.pick(1, 2, 3, 4) for _ in range(g.pick(0, 1, 2, 2, 3))], finite=name.startswith("native"))
    w, b = parameters(g, groups * c) if g.chance(0.6) else None, parameters(g, groups * c) if g.chance(0.6) else None
    if name.startswith("native"):
        return [x, w, b, x.shape[0], groups * c, math.prod(x.shape[2:]), groups, 1e-5]
    return [x, groups, w, b, g.pick(1e-5, 1e-3)]


@rule("_weight_norm")
def _(g, name):
    v = floats(g, *[max(1, n) for n in g.shape(1, 4)])
    d = g.dice.randrange(-1, v.dim())
    return [v, floats(g, *[n if i == d else 1 for i, n in enumerate(v.shape)]) if d >= 0 else floats(g), d]


@rule("scaled_dot_product_attention")
def _(g, name):
    b, h, n, m, e, v = g.pick(1, 2), g.pick(1, 2, 4), g.pick(1, 2, 5), g.pick(1, 3, 5), g.pick(1, 2, 4, 8), g.pick(1, 3, 4)
    four = g.chance(0.8)
    gqa = four and g.chance(0.2)
    head = [b, h] if four else [b]
    keys = [b, h // g.dice.choice([k for k in (1, 2, 4) if h % k == 0])] if gqa else head
    mask, causal = None, g.chance(0.25)
    if not causal and g.chance(0.6):
        shape = g.broadcast(head + [n, m]) if g.chance(0.5) else [n, m]
        mask = g.new(shape, "b") if g.chance(0.5) else parameters(g, *shape)
        if mask.dtype == torch.float32 and g.chance(0.5):
            mask = g.new(shape, "b")
            mask = torch.where(mask, 0.0, g.pick(-math.inf, -10000.0, -3e4, torch.finfo(torch.float32).min))
            g.made[-1] = mask
            mask.spans = None
    more = {}
    if g.chance(0.3):
        more["scale"] = g.pick(0.5, 1.0, 0.25)
    if gqa:
        more["enable_gqa"] = True
    return [parameters(g, *head, n, e), parameters(g, *keys, m, e), parameters(g, *keys, m, v), mask, 0.0, causal], more


# ---- new values --------------------------------------------------------------------------------------

def dtype_of(g, p=0.5):
    return {"dtype": g.dice.choice(FLOATS + INTS + (torch.bool,))} if g.chance(p) else {}


@rule("full", "ones", "zeros", "new_full", "new_ones", "new_zeros")
def _(g, name):
    args = ([g.any()] if name.startswith("new") else []) + [g.shape()]
    return args + ([g.number()] if "full" in name else []), dtype_of(g)


@rule("full_like", "ones_like", "zeros_like")
def _(g, name):
    return [g.any()] + ([g.number()] if "full" in name else []), dtype_of(g)


@rule("scalar_tensor")
def _(g, name):
    return [g.number()], dtype_of(g)


@rule("arange")
def _(g, name):
    floating = g.chance(0.3)
    start, step = g.dice.randint(-5, 5), g.pick(1, 1, 2, 3)
    if floating:
        start, step = start + 0.5, g.pick(0.5, 0.25, 1.5)
    end = start + step * g.dice.randint(0 if g.special else 1, 9)
    if name.endswith("default"):
        return [abs(end) + 1], dtype_of(g, 0.3)
    if name.endswith("start"):
        return [start, start + g.dice.randint(1, 9)], dtype_of(g, 0.3)
    return ([end, start, -step] if g.chance(0.3) else [start, end, step]), dtype_of(g, 0.3)
