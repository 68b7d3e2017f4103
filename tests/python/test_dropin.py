"""The same calls on onnxruntime.InferenceSession and on ours, with the same release of its library: the same outputs."""
import os
import unittest

import qnnrt
from common import TOP, numpy
from test_session import ORT

try:
    import onnxruntime
except ImportError:
    onnxruntime = None
MLP = os.path.join(TOP, "tests", "data", "onnx", "mlp.onnx")


@unittest.skipIf(numpy is None or onnxruntime is None, "onnxruntime's Python is not installed")
@unittest.skipIf(ORT is None, "engines are not fetched")
class DropInTest(unittest.TestCase):
    def setUp(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.theirs = onnxruntime.InferenceSession(MLP, options, providers=["CPUExecutionProvider"])
        self.ours = qnnrt.InferenceSession(MLP, engine="onnxrt", device="cpu", options={"onnxrt.library_path": ORT})
        self.assertEqual(self.ours.engine_version, onnxruntime.__version__)
        random = numpy.random.default_rng(1)
        self.cases = []
        for rows in (1, 1, 3, 8, 3):
            self.cases.append({a.name: random.standard_normal([n if isinstance(n, int) else rows for n in a.shape]).astype("float32")
                               for a in self.theirs.get_inputs()})

    def same(self, ours, theirs):
        self.assertEqual(len(ours), len(theirs))
        for a, b in zip(ours, theirs):
            self.assertEqual((a.dtype, a.shape, a.tobytes()), (b.dtype, b.shape, b.tobytes()))

    def test_the_installed_package_is_found(self):
        with qnnrt.InferenceSession(MLP, device="cpu") as session:
            self.assertEqual((session.engine_name, session.engine_version), ("onnxrt", onnxruntime.__version__))
            self.assertEqual(os.path.dirname(os.path.realpath(session.library)), os.path.join(os.path.dirname(os.path.realpath(onnxruntime.__file__)), "capi"))

    def test_facts(self):
        for ours, theirs in ((self.ours.get_inputs(), self.theirs.get_inputs()), (self.ours.get_outputs(), self.theirs.get_outputs())):
            self.assertEqual([(a.name, a.type, a.shape) for a in ours],
                             [(a.name, a.type, [n if isinstance(n, int) else -1 for n in a.shape]) for a in theirs])

    def test_dict_and_list(self):
        names = [a.name for a in self.theirs.get_outputs()]
        for feeds in self.cases:
            expected = self.theirs.run(None, feeds)
            self.assertTrue(any(e.any() for e in expected))
            self.same(self.ours.run(None, feeds), expected)
            self.same(self.ours.run(names, feeds), expected)
            self.same(self.ours.run(list(feeds.values())), expected)
            found = self.ours.run(feeds)
            self.assertEqual(list(found), names)
            self.same(list(found.values()), expected)

    def test_binding(self):
        for feeds in self.cases:
            expected = self.theirs.run(None, feeds)
            for bound in (False, True):
                results = []
                for session in (self.theirs, self.ours):
                    binding = session.io_binding()
                    outs = [numpy.zeros_like(e) for e in expected]
                    for name, value in feeds.items():
                        binding.bind_cpu_input(name, value)
                    for arg, out in zip(session.get_outputs(), outs):
                        if bound:
                            binding.bind_output(arg.name, "cpu", 0, out.dtype, out.shape, out.ctypes.data)
                        else:
                            binding.bind_output(arg.name)
                    session.run_with_iobinding(binding)
                    results.append(outs if bound else binding.copy_outputs_to_cpu())
                self.same(results[0], expected)
                self.same(results[1], expected)


if __name__ == "__main__":
    unittest.main()
