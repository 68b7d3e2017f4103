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


def main():
    graph = {"model_name": "rows", "pytorch_version": "2.10.0", "weights": [], **globals()[sys.argv[2]]()}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(graph, file)


main()
