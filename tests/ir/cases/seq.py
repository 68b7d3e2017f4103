"""The cases of tests/data/ir/seq.json, sequences: see tests/ir/record_ir.py, which has f(), n(), b() and run()."""
# pylint: disable=undefined-variable
import os

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/python"))
import qnnrt._torch_complex  # pylint: disable=wrong-import-position,unused-import

# Transforms: real and complex ones, to and from half of the values, of each dimension, shorter and longer than the input, of
# lengths with small factors, a large prime (37) and a square of one (11), of one line and many, scaled.
fft = torch.ops.qnnrt.fft.default
for number in (1, 2, 3, 4, 6, 8, 11, 15, 25, 37):
    run(fft, f(2, number, 2), [1], [number])
    run(fft, f(number, 1), [0], [number], False, True)
    run(fft, f(3, number // 2 + 1, 2), [1], [number], True, True, 1 / number)
run(fft, f(9, 16, 1), [1], [16])
run(fft, f(3, 4, 5, 2), [0, 2], [3, 5], True, False, 0.25)
run(fft, f(3, 4, 5, 1), [0, 1], [3, 4], False, True)
run(fft, f(3, 4, 4, 2), [2, 0, 1], [4, 3, 6], True, True)
run(fft, f(2, 5, 2), [1], [9])
run(fft, f(2, 5, 2), [1], [3], True)
run(fft, f(2, 5, 1), [1], [3], False, True)
run(fft, f(2, 5, 2), [1], [12], True, True)
run(fft, f(2, 5, 2), [1], [5], True, True)
run(fft, f(2, 5, 1), [1], [8], True)
run(fft, f(2, 4, 1, dtype=torch.float64), [1], [4])

# Recurrent layers: layers, both ways, with and without biases and batch, the batch first, projections.


def recurrent(op, x, width, layers=1, biases=True, both=False, first=False, out=0):
    kind = str(op).split(".")[1]
    gates, ways, size = {"lstm": 4, "gru": 3}.get(kind, 1), 2 if both else 1, out or width
    batch = x.shape[0 if first else 1]
    states = [f(layers * ways, batch, size)] + ([f(layers * ways, batch, width)] if kind == "lstm" else [])
    weights = []
    for layer in range(layers):
        for _ in range(ways):
            inner = x.shape[-1] if layer == 0 else ways * size
            weights += [f(gates * width, inner) / 4, f(gates * width, size) / 4] + ([f(gates * width), f(gates * width)] if biases else [])
            weights += [f(size, width)] if out else []
    run(op, x, states if kind == "lstm" else states[0], weights, biases, layers, 0.0, False, both, first)


for op in (aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input):
    recurrent(op, f(3, 2, 4), 3)
    recurrent(op, f(4, 1, 3), 2, 2, both=True)
    recurrent(op, f(2, 3, 3), 2, biases=False, first=True, both=True)
recurrent(aten.lstm.input, f(3, 2, 3), 4, 2, both=True, out=2)
recurrent(aten.lstm.input, f(1, 1, 9), 9, 1, biases=False, out=3, first=True)
recurrent(aten.gru.input, f(2, 1, 2, dtype=torch.float32), 10, 3)
