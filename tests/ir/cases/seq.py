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
