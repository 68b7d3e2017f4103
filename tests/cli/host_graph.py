"""A graph of a few nodes, with constants of any size: tests/cli/host_graph.py FILE KIND"""
import json
import sys

ROWS, COLUMNS = 8, 300


def tensor(name, shape, node=None, dtype="float32"):
    made = {"name": name, "shape": shape, "dtype": dtype}
    return made if node is None else dict(made, producer_node=node, producer_output_idx=0)


def node(name, op, inputs, shape, dtype="float32", **attrs):
    return {"name": name, "op_type": op, "inputs": inputs, "outputs": [tensor(name, shape, name, dtype)], "attrs": attrs,
            "source": "model.py:7 in forward"}


def rows():
    """y = relu(x) + table, odd = x + places: both are larger than host.json should have."""
    shape = [ROWS, COLUMNS]
    table = [[i * COLUMNS + k for k in range(COLUMNS)] for i in range(ROWS)]
    return {
        "graph_inputs": [tensor("x", shape)], "graph_outputs": [tensor("y", shape), tensor("odd", shape)],
        "constants": {"table": {"dtype": "float32", "data": table},
                      "places": {"dtype": "int64", "data": [[v * 3 for v in row] for row in table]},
                      "one": {"dtype": "float32", "data": [1.0]}},
        "weight_name_mapping": {"c_table": "table", "c_places": "places", "c_one": "one"},
        "nodes": [
            node("relu", "aten.relu.default", [tensor("x", shape)], shape),
            node("add", "aten.add.Tensor", [tensor("relu", shape, "relu"), tensor("c_table", shape)], shape),
            node("y", "aten.mul.Tensor", [tensor("add", shape, "add"), tensor("c_one", [1])], shape),
            node("odd", "aten.add.Tensor", [tensor("x", shape), tensor("c_places", shape, dtype="int64")], shape)],
    }


def functions():
    """Two nodes of an unknown operator, the second of which is an output that is read, too; then one on a known operator."""
    shape = [2, 3]
    line = "mylib.line.default"
    return {
        "graph_inputs": [tensor("x", shape), tensor("z", [3])], "graph_outputs": [tensor("b", shape), tensor("y", shape)],
        "constants": {"shift": {"dtype": "float32", "data": [10.0, 20.0, 30.0]}}, "weight_name_mapping": {"c_shift": "shift"},
        "nodes": [
            node("relu", "aten.relu.default", [tensor("x", shape)], shape),
            node("a", line, [tensor("relu", shape, "relu"), tensor("z", [3])], shape, slope=2.0, places=[1, 0, 2], mode="first", wide=True, none=None),
            node("b", line, [tensor("c_shift", [3]), tensor("a", shape, "a")], shape, slope=0.5),
            node("y", "aten.neg.default", [tensor("b", shape, "b")], shape)],
    }


def empty():
    """An output without elements beside one with some."""
    shape = [2, 3]
    return {
        "graph_inputs": [tensor("x", shape)], "graph_outputs": [tensor("none", [2, 0]), tensor("y", shape)],
        "nodes": [
            node("relu", "aten.relu.default", [tensor("x", shape)], shape),
            node("none", "aten.slice.Tensor", [tensor("relu", shape, "relu")], [2, 0], dim=1, start=0, end=0),
            node("y", "aten.neg.default", [tensor("relu", shape, "relu")], shape)],
    }


def choice():
    """y are rows of a table, where -relu(x) is least; apart = |x| is not on the way there."""
    shape = [2, 3]
    return {
        "graph_inputs": [tensor("x", shape)], "graph_outputs": [tensor("y", [2, 4]), tensor("apart", shape)],
        "constants": {"table": {"dtype": "float32", "data": [[i * 4.0 + k for k in range(4)] for i in range(3)]}},
        "weight_name_mapping": {"c_table": "table"},
        "nodes": [
            node("relu", "aten.relu.default", [tensor("x", shape)], shape),
            node("neg", "aten.neg.default", [tensor("relu", shape, "relu")], shape),
            node("best", "aten.argmin.default", [tensor("neg", shape, "neg")], [2], "int64", dim=1),
            node("apart", "aten.abs.default", [tensor("x", shape)], shape),
            node("y", "aten.embedding.default", [tensor("c_table", [3, 4]), tensor("best", [2], "best", "int64")], [2, 4])],
    }


def ties():
    """Places of the largest of values that float16 does not tell apart, along each dimension and of all."""
    shape = [2, 3]
    values = {"dtype": "float32", "data": [[1.0, 1.0001, 0.5], [0.25, 0.25, 0.25]]}
    return {
        "graph_inputs": [tensor("x", shape)],
        "graph_outputs": [tensor("rows", [2], dtype="int64"), tensor("columns", [1, 3], dtype="int64"), tensor("best", [], dtype="int64")],
        "constants": {"values": values, "zero": {"dtype": "float32", "data": [0.0]}}, "weight_name_mapping": {"c_values": "values", "c_zero": "zero"},
        "nodes": [
            node("mul", "aten.mul.Tensor", [tensor("x", shape), tensor("c_zero", [1])], shape),
            node("add", "aten.add.Tensor", [tensor("mul", shape, "mul"), tensor("c_values", shape)], shape),
            node("rows", "aten.argmax.default", [tensor("add", shape, "add")], [2], "int64", dim=1),
            node("columns", "aten.argmax.default", [tensor("add", shape, "add")], [1, 3], "int64", dim=-2, keepdim=True),
            node("best", "aten.argmax.default", [tensor("add", shape, "add")], [], "int64")],
    }


def wide():
    """A float64 between two float32."""
    shape = [2, 3]
    return {
        "graph_inputs": [tensor("x", shape)], "graph_outputs": [tensor("y", shape)],
        "nodes": [
            dict(node("to", "aten.to.dtype", [tensor("x", shape)], shape, "float64"), attrs={"dtype": "torch.float64"}),
            node("exp", "aten.exp.default", [tensor("to", shape, "to", "float64")], shape, "float64"),
            dict(node("y", "aten.to.dtype", [tensor("exp", shape, "exp", "float64")], shape), attrs={"dtype": "torch.float32"})],
    }


def main():
    graph = {"model_name": "rows", "pytorch_version": "2.10.0", "weights": [], **globals()[sys.argv[2]]()}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(graph, file)


main()
