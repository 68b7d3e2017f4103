#!/usr/bin/env python3
"""Write mlp.onnx, the model of tools/engines/README.md. Needs onnx and numpy.

    make.py FILE

x, float32 [batch, 16] -> MatMul, Add, Relu, MatMul, Add, Softmax -> y, float32 [batch, 4], with random weights."""
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

random = np.random.default_rng(17)
weights = {"w1": (16, 32), "b1": (32,), "w2": (32, 4), "b2": (4,)}
nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"]), helper.make_node("Add", ["a", "b1"], ["b"]),
         helper.make_node("Relu", ["b"], ["c"]), helper.make_node("MatMul", ["c", "w2"], ["d"]),
         helper.make_node("Add", ["d", "b2"], ["e"]), helper.make_node("Softmax", ["e"], ["y"], axis=-1)]
graph = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
                          [numpy_helper.from_array(random.normal(0, 0.4, shape).astype(np.float32), name) for name, shape in weights.items()])
model = helper.make_model(graph, producer_name="qnnrt", ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
checker.check_model(model, full_check=True)
save(model, sys.argv[1])
