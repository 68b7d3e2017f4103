"""Graphs of torch.export as the graphs that qnnrt-run compiles: names, arguments, states, source lines. It imports torch."""
from __future__ import annotations

import math
import operator
import os
import re
import struct
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch
from torch.export.graph_signature import InputKind, OutputKind

from . import _errors as errors
from ._safetensors import dtype_name
from ._torch_quantized import ROUNDED, encoding
from ._torch_rules import folded
from ._torch_values import as_real

Node = torch.fx.Node
TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Operators that only check what the export has found out already, or what a run of torch would check.
_CHECKS = re.compile(r"aten\.(_assert_\w+|_functional_assert_\w+|sym_constrain_range\w*|_print)\.")
ITEM_HINT = "Keep it a tensor, or pass a number that is no tensor."
# Arguments that change no value.
_PLACES = {"device", "layout", "pin_memory", "non_blocking", "memory_format", "copy"}


# ---- source lines ----------------------------------------------------------------------------------


def _relative(path: str) -> str:
    """The path of a file below the folder of its package."""
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return os.path.relpath(path, folder) if folder else path


def _line(frames: List[Tuple[str, int, str]]) -> str:
    """The innermost line that is not torch's own, or else the innermost one."""
    frames = [f for f in frames if not f[0].startswith((_HERE, "<")) and f[2]]
    theirs = [f for f in frames if not f[0].startswith(TORCH)] or frames
    return "%s:%d: %s" % (_relative(theirs[-1][0]), theirs[-1][1], theirs[-1][2]) if theirs else ""


def source_of(node: Node) -> str:
    """The line of the model that made a node: "file.py:12: its text"."""
    trace = node.meta.get("stack_trace") or ""
    return _line([(m[1], int(m[2]), m[3].strip()) for m in re.finditer(r'File "([^"]*)", line (\d+)[^\n]*\n(?:    ([^\n]*))?', trace)
                  if m[3] is not None])


def source_of_error(error: BaseException) -> str:
    """The line of the model in which torch.export failed, or ""."""
    import traceback
    frames = [(f.filename, f.lineno or 0, (f.line or "").strip()) for f in traceback.extract_tb(error.__traceback__)]
    frames = [f for f in frames if not f[0].startswith((TORCH, _HERE, "<")) and os.path.isfile(f[0])]
    return _line(frames)


def refuse(what: str, node: Optional[Node] = None, hint: str = "") -> errors.UnsupportedError:
    """The error for a node that cannot be exported."""
    place = source_of(node) if node is not None else ""
    return errors.UnsupportedError(what + ("\n  at " + place if place else ""), hint)


# ---- bodies of higher order ------------------------------------------------------------------------


def _opened(node: Node) -> Optional[Tuple[Any, List[Any]]]:
    """The body of a node, and its arguments, if it is run once as it is."""
    name, args = getattr(node.target, "__name__", str(node.target)), list(node.args)
    if name == "wrap_with_set_grad_enabled":
        return args[1], args[2:]
    if name == "wrap_with_autocast" and not args[2]:
        return args[4], args[5:]
    if name in ("hints_wrapper", "strict_mode"):
        return args[0], list(args[1])
    if name in ("invoke_subgraph",):
        return args[0], args[2:]
    if name in ("tag_activation_checkpoint", "wrap_activation_checkpoint", "wrap"):
        return args[0], args[1:]
    return None


def inline_bodies(module: torch.fx.GraphModule) -> None:
    """Put the bodies of blocks such as torch.no_grad() where they are called, with their source lines."""
    graph = module.graph
    for node in list(graph.nodes):
        found = _opened(node) if node.op == "call_function" and isinstance(node.target, torch._ops.HigherOrderOperator) else None
        if found is None or not isinstance(found[0], Node) or found[0].op != "get_attr":
            continue
        body = module.get_submodule(str(found[0].target))
        inline_bodies(body)  # type: ignore[arg-type]
        values: Dict[Node, Any] = dict(zip([n for n in body.graph.nodes if n.op == "placeholder"], found[1]))  # type: ignore[union-attr]
        results: Any = ()
        with graph.inserting_before(node):
            for inner in body.graph.nodes:  # type: ignore[union-attr]
                if inner.op == "placeholder":
                    continue
                if inner.op == "output":
                    results = torch.fx.map_arg(inner.args[0], lambda n: values[n])
                elif inner.op == "get_attr":
                    name = "%s_%s" % (found[0].target, str(inner.target).replace(".", "_"))
                    setattr(module, name, operator.attrgetter(str(inner.target))(body))
                    values[inner] = graph.get_attr(name)
                else:
                    values[inner] = graph.node_copy(inner, lambda n: values[n])
        if isinstance(results, (list, tuple)):
            for user in list(node.users):
                if user.target is operator.getitem:
                    user.replace_all_uses_with(results[user.args[1]])
                    graph.erase_node(user)
        else:
            node.replace_all_uses_with(results)
        if node.users:
            raise refuse("the results of a block of %s are used in an unknown way" % node.target, node)
        graph.erase_node(node)
        if not found[0].users:
            graph.erase_node(found[0])
    module.recompile()


# ---- what no graph says ----------------------------------------------------------------------------


def _live(graph: torch.fx.Graph) -> Set[Node]:
    """The nodes that a result, or a change in place, depends on."""
    live: Set[Node] = set()
    for node in reversed(list(graph.nodes)):
        schema = getattr(node.target, "_schema", None)
        changes = (schema is not None and schema.is_mutable) or isinstance(node.target, torch._ops.HigherOrderOperator)
        if node.op == "output" or changes or any(user in live for user in node.users):
            if not _CHECKS.match(str(node.target)):
                live.add(node)
    return live


def _is_random(node: Node) -> bool:
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    values = _arguments(node)
    if "train" in values or "training" in values:
        return bool(values.get("train", values.get("training"))) and values.get("p", 1) != 0 and "rrelu" not in str(node.target)
    return values.get("dropout_p", 1) != 0 and values.get("dropout", 1) != 0


def check_nodes(module: torch.fx.GraphModule, first: bool = False) -> None:
    """Refuse by name what no graph of qnnrt says. first: torch has still to write the graph without changes in place."""
    live = _live(module.graph)
    for node in module.graph.nodes:
        if node.op != "call_function" or node not in live:
            continue
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            if not (first and node.target.__name__ in ("wrap_with_autocast", "with_effects")):
                raise refuse("torch.%s is control flow that no graph of qnnrt has" % node.target.__name__, node,
                             "Rewrite it with torch.where, or export each branch as a model of its own.")
            continue
        if str(node.target) in ("aten.item.default", "aten._local_scalar_dense.default"):
            raise refuse("a number of the graph is taken out of a tensor (.item(), int(), float() or a condition)", node,
                         ITEM_HINT)
        for value in _values(node):
            sizes = value.shape if isinstance(value, torch.Tensor) else [value]
            if any(isinstance(s, (torch.SymInt, torch.SymFloat, torch.SymBool)) for s in sizes):
                raise refuse("the result of %s has a size that depends on data: %s" % (node.target, tuple(sizes)), node,
                             "Make the size fixed: pad the tensor, use a mask, or export without dynamic_shapes.")
        if _is_random(node):
            raise refuse("%s makes random numbers" % node.target, node, "Pass them to the model as an input.")


# ---- the graph -------------------------------------------------------------------------------------


def _values(node: Node) -> List[Any]:
    value = node.meta.get("val")
    return list(value) if isinstance(value, (list, tuple)) else [value]


class Graph:
    """A functional program of torch.export, and its form in graph.json.

    inputs, outputs  (name, place among the tensors that the model is given, and returns)
    states           (key, input, output): tensors of the model that a call changes
    weights          key -> tensor, of what the graph reads and of the states
    complex          names of the inputs and outputs that are complex in the model, and real here with a last dimension of 2
    names            node of torch -> names of its values in the file"""

    def __init__(self, program: Any, name: str, given: Sequence[str], results: Sequence[str], prefix: str = "") -> None:
        """given, results: names for the tensors of the arguments and results; prefix: of the keys of the model."""
        self.program, self.module = program, program.graph_module
        self.given, self.results, self.prefix = given, results, prefix
        self.signature, self.name = program.graph_signature, name
        self.weights: Dict[str, torch.Tensor] = {}
        self.states: List[Tuple[str, str, str]] = []
        self.inputs: List[Tuple[str, int]] = []
        self.outputs: List[Tuple[str, int]] = []
        self.mutated: List[Tuple[str, str]] = []
        self.complex: List[str] = []
        self.names: Dict[Node, List[Optional[str]]] = {}
        self.computed: Set[Node] = set()
        self.unread: Set[Optional[str]] = set()
        self.taken: Set[str] = set()
        self.stored: Dict[Any, str] = {}
        self._clean()
        check_nodes(self.module)
        self._read_signature()
        self._fold()
        self.document = self._document()

    # what torch made

    def _clean(self) -> None:
        graph = self.module.graph
        for node in reversed(list(graph.nodes)):
            if node.op == "call_function" and _CHECKS.match(str(node.target)) and not node.users:
                graph.erase_node(node)
        graph.eliminate_dead_code()
        for node in list(graph.nodes):
            if node.op == "call_function" and str(node.target) == "aten._to_copy.default" and \
                    set(node.kwargs) - _PLACES == {"dtype"}:
                node.target, node.args = torch.ops.aten.to.dtype, (node.args[0], node.kwargs["dtype"])
                node.kwargs = {}
        self.module.recompile()

    def _unique(self, name: str) -> str:
        unique, count = name, 1
        while unique in self.taken:
            count += 1
            unique = "%s_v%d" % (name, count)
        self.taken.add(unique)
        return unique

    def _keep(self, key: str, tensor: torch.Tensor) -> str:
        """Store a tensor once, whatever names it has; return its key."""
        same = (tensor.data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype) \
            if tensor.device.type != "meta" and tensor.numel() > 0 else key
        kept = self.stored.setdefault(same, key)
        self.weights[kept] = tensor
        return kept

    def _prefix_of(self, key: str) -> str:
        return self.prefix if key.startswith(self.prefix) else ""

    def _tensor_of(self, spec: Any) -> torch.Tensor:
        program = self.program
        where = program.state_dict if spec.target in program.state_dict else program.constants
        return as_real(where[spec.target])

    def _read_signature(self) -> None:
        nodes = {n.name: n for n in self.module.graph.nodes}
        changed = {s.target: s.arg.name for s in self.signature.output_specs
                   if s.kind in (OutputKind.BUFFER_MUTATION, getattr(OutputKind, "PARAMETER_MUTATION", None))}
        self.mapping: Dict[str, str] = {}
        self.state_nodes: List[Tuple[str, str, Node]] = []
        place = 0
        for spec in self.signature.input_specs:
            if spec.kind == InputKind.USER_INPUT:
                if type(spec.arg).__name__ == "TensorArgument":
                    self.inputs.append((self._unique(self.given[place]), place))
                    self.names[nodes[spec.arg.name]] = [self.inputs[-1][0]]
                    self.complex += [self.inputs[-1][0]] if nodes[spec.arg.name].meta.get("complex") else []
                    place += 1
                elif type(spec.arg).__name__ != "ConstantArgument":
                    raise refuse("input \"%s\" is a number that the graph computes with: %s" % (spec.arg.name, type(spec.arg).__name__),
                                 None, "Export without dynamic_shapes.")
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                node, tensor, key = nodes[spec.arg.name], self._tensor_of(spec), spec.target[len(self._prefix_of(spec.target)):]
                kind = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_"}.get(spec.kind, "c_")
                name = self._unique(kind + re.sub(r"\W", "_", key))
                self.names[node] = [name]
                if spec.target in changed:
                    self.weights[key] = tensor
                    self.state_nodes.append((key, name, nodes[changed[spec.target]]))
                elif node.users:
                    self.mapping[name] = self._keep(key, tensor)
            else:
                raise refuse("the model has a %s, %s, which no graph of qnnrt has" %
                             ("custom object" if spec.kind == InputKind.CUSTOM_OBJ else "token", spec.target or spec.arg.name))

    def _fold(self) -> None:
        """Make weights of what torch can compute now and qnnrt could not."""
        constants = {n: self.weights[self.mapping[name or ""]] for n, (name, *_) in self.names.items() if name in self.mapping}
        if any(x.device.type == "meta" for x in constants.values()):
            return
        values = folded(list(self.module.graph.nodes), constants)
        for node, value in values.items():
            if node.target is operator.getitem or all(u in values and u.target is not operator.getitem for u in node.users):
                continue
            many = isinstance(value, (list, tuple))
            names: List[Optional[str]] = []
            for i, tensor in enumerate(value if many else [value]):
                name = self._unique("c_%s_%d" % (node.name, i) if many else "c_" + node.name)
                self.mapping[name] = self._keep("constant." + name[2:], tensor)
                names.append(name)
            self.names[node] = names
        self.computed = set(values)
        self.unread = {self.names[n][0] for n in constants if n.users and all(user in self.computed for user in n.users)}

    # what the file says

    def _tensor(self, name: str, value: torch.Tensor, producer: Optional[str] = None, index: int = 0) -> Dict[str, Any]:
        tensor: Dict[str, Any] = {"name": name, "shape": list(value.shape), "dtype": dtype_name(value)}
        if producer is not None:
            tensor.update(producer_node=producer, producer_output_idx=index)
        return tensor

    def _claim_outputs(self) -> List[Tuple[str, Node]]:
        """Name the results of the graph: those of the model, changed inputs, states."""
        nodes = {n.name: n for n in self.module.graph.nodes}
        wanted: List[Tuple[str, Node]] = []
        place, inputs = 0, {self.names[n][0] for n in self.names}
        is_complex = next(n for n in self.module.graph.nodes if n.op == "output").meta.get("complex", [])
        for at, spec in enumerate(self.signature.output_specs):
            if spec.kind == OutputKind.USER_OUTPUT:
                if type(spec.arg).__name__ == "TensorArgument":
                    name = self.results[place]
                    self.outputs.append((self._unique(name if name not in inputs else name + "_out"), place))
                    wanted.append((self.outputs[-1][0], nodes[spec.arg.name]))
                    self.complex += [self.outputs[-1][0]] if any(is_complex[at:at + 1]) else []
                    place += 1
                elif type(spec.arg).__name__ != "ConstantArgument":
                    raise refuse("result %d of the model is a number that the graph computes" % place, nodes.get(spec.arg.name),
                                 "Return a tensor.")
        for spec in self.signature.output_specs:
            if spec.kind == OutputKind.USER_INPUT_MUTATION:
                self.mutated.append((self.names[nodes[spec.target]][0] or "", self._unique((self.names[nodes[spec.target]][0] or "") + "_out")))
                wanted.append((self.mutated[-1][1], nodes[spec.arg.name]))
        for key, name, node in self.state_nodes:
            self.states.append((key, name, self._unique(name + "_out")))
            wanted.append((self.states[-1][2], node))
        return wanted

    def _document(self) -> Dict[str, Any]:
        wanted = self._claim_outputs()
        order = [s.arg.name if hasattr(s.arg, "name") else "" for s in self.signature.output_specs]
        #: (name of an output, its place among the results of torch's graph)
        self.result_places = [(name, order.index(node.name)) for name, node in wanted]
        claimed: Dict[Tuple[Node, int], str] = {}
        copies: List[Tuple[str, Node, int]] = []
        for name, node in wanted:
            maker, index = self._maker(node)
            if maker in self.names or (maker, index) in claimed or maker.op != "call_function":
                copies.append((name, maker, index))
            else:
                claimed[(maker, index)] = name
        listed = [self._node(n, claimed) for n in self.module.graph.nodes
                  if n.op == "call_function" and n.target not in (operator.getitem, ROUNDED) and n not in self.computed]
        for name, maker, index in copies:
            value, whose = _values(maker)[index], self.names[maker][index] or ""
            source = self._tensor(whose, value, *self._producer(maker, index))
            listed.append({"name": "copy_" + name, "op_type": "aten.alias.default", "inputs": [source],
                           "outputs": [self._tensor(name, value, "copy_" + name)], "attrs": {}})
        values = {n.name: v for n in self.module.graph.nodes for v in _values(n)[:1]}
        by_name = {self.names[n][0]: values[n.name] for n in self.names if n.op == "placeholder"}
        made = {o["name"]: o for n in listed for o in n["outputs"]}
        keys: Dict[str, torch.Tensor] = {}
        mapping = {name: key for name, key in self.mapping.items() if name not in self.unread}
        for key in mapping.values():
            keys[key] = self.weights[key]
        return {
            "format": "qnnrt.graph", "version": 1, "model_name": self.name, "exporter": "", "pytorch_version": torch.__version__,
            "graph_inputs": [self._tensor(n, by_name[n], n) for n in [i[0] for i in self.inputs] + [s[1] for s in self.states]],
            "graph_outputs": [made[name] for name, _ in wanted],
            "states": [{"name": k, "input": i, "output": o} for k, i, o in self.states],
            "weights": [self._tensor(key, t) for key, t in keys.items()],
            "weight_name_mapping": mapping,
            "nodes": listed,
            **({"complex": self.complex} if self.complex else {}),
            **self._encodings(),
        }

    def read_weights(self) -> Dict[str, torch.Tensor]:
        """The tensors of the file of weights: what the graph reads, and the states."""
        keys = {row["name"] for row in self.document["weights"]} | {key for key, _, _ in self.states}
        return {key: tensor for key, tensor in self.weights.items() if key in keys}

    def _encodings(self) -> Dict[str, Any]:
        """The encodings of tensors, as AIMET writes them. Where one is rounded again, the first counts."""
        found: Dict[str, Any] = {}
        for node in self.module.graph.nodes:
            if node.target is ROUNDED:
                maker, index = self._maker(node)
                name = self.names[maker][index] or ""
                found.setdefault(name, encoding(name, node))
        return {"activation_encodings": list(found.values())} if found else {}

    def _maker(self, node: Node) -> Tuple[Node, int]:
        """The node that makes the value of a node, and which of its values that is. Rounding is in the encodings."""
        index = 0
        while node.op == "call_function" and node.target in (operator.getitem, ROUNDED):
            node, index = node.args[0], node.args[1] if node.target is operator.getitem else 0  # type: ignore[assignment]
        return node, index

    def _node(self, node: Node, claimed: Dict[Tuple[Node, int], str]) -> Dict[str, Any]:
        values = _values(node)
        many = isinstance(node.meta.get("val"), (list, tuple))
        names: List[Optional[str]] = []
        for i, value in enumerate(values):
            name = claimed.get((node, i))
            if name is None and isinstance(value, torch.Tensor):
                name = self._unique("%s_%d" % (node.name, i) if many else node.name)
            names.append(name)
        self.names[node] = names
        inputs, attrs, there = self._inputs(node)
        made: Dict[str, Any] = {"name": node.name, "op_type": str(node.target), "inputs": inputs,
                                "outputs": [self._tensor(n, v, node.name, i) for i, (n, v) in enumerate(zip(names, values)) if n],
                                "attrs": attrs}
        if "-" in there.rstrip("-") and "_tensor_list_none_masks" not in attrs:
            made["inputs_there"] = there
        source = source_of(node)
        if source:
            made["source"] = source
        return made

    def _read(self, node: Node) -> Dict[str, Any]:
        maker, index = self._maker(node)
        if maker not in self.names:
            raise refuse("%s reads a value that the graph does not have: %s" % (node, maker.op), node)
        name = self.names[maker][index] or ""
        value = _values(maker)[index]
        return self._tensor(name, value, *self._producer(maker, index))

    def _producer(self, maker: Node, index: int) -> Tuple[Optional[str], int]:
        """The node that makes a value: none for a weight, itself for an input."""
        name = self.names[maker][index] or ""
        return (None, 0) if name in self.mapping else (name, 0) if maker.op == "placeholder" else (maker.name, index)

    def _number(self, value: Any, node: Node) -> Dict[str, Any]:
        """A number as a weight of its own, of the dtype in which torch computes with it."""
        other = node.all_input_nodes[0].meta["val"]
        name = self._unique("c_%s_number" % node.name)
        tensor = torch.full((), value, dtype=torch.result_type(torch.empty(other.shape, dtype=other.dtype, device="meta"), value))
        self.mapping[name] = "constant." + name[2:]
        self.weights[self.mapping[name]] = tensor
        return self._tensor(name, tensor)

    def _inputs(self, node: Node) -> Tuple[List[Dict[str, Any]], Dict[str, Any], str]:
        """The tensors that a node reads, its other arguments, and which tensors are there."""
        inputs: List[Dict[str, Any]] = []
        attrs: Dict[str, Any] = {}
        there, sizes, masks = "", [], []
        for name, kind, value in _schema(node):
            if isinstance(value, Node):
                inputs.append(self._read(value))
                there += "x"
            elif isinstance(value, (list, tuple)) and any(isinstance(v, Node) for v in value):
                if not all(v is None or isinstance(v, Node) for v in value):
                    raise refuse("argument \"%s\" of %s mixes tensors and numbers" % (name, node.target), node)
                inputs += [self._read(v) for v in value if v is not None]
                there += "".join("-" if v is None else "x" for v in value)
                sizes.append(sum(v is not None for v in value))
                if None in value:
                    masks.append([v is None for v in value])
            elif value is None:
                there += "-" if "Tensor" in kind else ""
            elif kind == "Tensor" and not inputs and len(node.all_input_nodes) == 1:
                inputs.append(self._number(value, node))             # 1 - x: the number stands before the tensor
            elif name not in _PLACES:
                attrs[name] = _plain(value, node)
        if sizes:
            attrs["_tensor_list_sizes"] = sizes
        if masks:
            attrs["_tensor_list_none_masks"] = masks
        return inputs, attrs, there


def _schema(node: Node) -> List[Tuple[str, str, Any]]:
    """(name, type, value) of the arguments of a node that were given, in the order of its schema."""
    if not hasattr(node.target, "_schema"):
        raise refuse("%s is no operator of torch" % node.target, node)
    rows = []
    for i, argument in enumerate(node.target._schema.arguments):
        if i < len(node.args):
            rows.append((argument.name, str(argument.type), node.args[i]))
        elif argument.name in node.kwargs:
            rows.append((argument.name, str(argument.type), node.kwargs[argument.name]))
        elif "Tensor" in str(argument.type):
            rows.append((argument.name, str(argument.type), None))
    return rows


def _arguments(node: Node) -> Dict[str, Any]:
    if not hasattr(node.target, "_schema"):
        return {}
    given = {a.name: a.default_value for a in node.target._schema.arguments if a.has_default_value()}
    given.update({name: value for name, _, value in _schema(node)})
    return given


def _plain(value: Any, node: Node) -> Any:
    """An argument as JSON has it."""
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": struct.pack("<d", value).hex()}
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(v, node) for v in value]
    raise refuse("an argument of %s is a %s: %s" % (node.target, type(value).__name__, value), node)


def result_names(program: Any) -> List[str]:
    """Names for the tensors that a program returns."""
    from ._torch_values import tensors_of
    spec = program.call_spec.out_spec
    kinds = [s.arg for s in program.graph_signature.output_specs if s.kind == OutputKind.USER_OUTPUT]
    leaves = [torch.empty(0) if type(a).__name__ == "TensorArgument" else None for a in kinds]
    names = [name for name, _ in tensors_of(torch.utils._pytree.tree_unflatten(leaves, spec), "output")]
    return names if len(names) == sum(x is not None for x in leaves) else ["output_%d" % i for i in range(len(leaves))]
