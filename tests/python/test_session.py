"""Sessions over engines: our own, and ONNX Runtime where `make engine-libs` fetched it."""
import array
import gc
import glob
import os
import sys
import tempfile
import threading
import unittest

import onnx_file
import qnnrt
from common import BUILD, LAYER, needs_numpy, numpy
from qnnrt import _core

ORT = (sorted(glob.glob(os.path.join(BUILD, "engines/onnxruntime-1.31.1/libonnxruntime.so.*"))) or [None])[0]


def floats(*values):
    return memoryview(array.array("f", values)).cast("B").cast("f", (1, len(values)))


class Cases:
    """What holds for each engine, with y = relu(x * w + b)."""

    def fails(self, kind, call, *arguments, says=""):
        with self.assertRaises(kind) as caught:
            call(*arguments)
        self.assertIn(says, str(caught.exception))
        return caught.exception

    def test_forms_of_a_run(self):
        x, expected = [[1, 2, 3, 4]], [[30.5, 0.0]]
        self.assertEqual(self.session.run(None, {"x": x})[0].tolist(), expected)
        self.assertEqual([y.tolist() for y in self.session.run(["y"], {"x": floats(1, 2, 3, 4)})], [expected])
        self.assertEqual({k: v.tolist() for k, v in self.session.run({"x": x}).items()}, {"y": expected})
        self.assertEqual([y.tolist() for y in self.session.run([x])], [expected])
        self.assertEqual([y.tolist() for y in self.session.run(None, [x])], [expected])

    def test_results_are_arrays_of_their_own(self):
        first = self.session.run(None, {"x": [[1, 0, 0, 0]]})[0]
        self.session.run(None, {"x": [[0, 0, 0, 1]]})
        self.assertEqual(first.tolist(), [[1.5, 0.0]])

    def test_facts(self):
        x, = self.session.get_inputs()
        y, = self.session.get_outputs()
        self.assertEqual((x.name, x.shape, x.dtype, x.type), ("x", [1, 4], "float32", "tensor(float)"))
        self.assertEqual((y.name, y.shape), ("y", [1, 2]))
        self.assertEqual((self.session.engine_name, self.session.device), (self.engine, "cpu"))
        self.assertEqual([(c.engine, c.device) for c in self.session.candidates if c.taken], [(self.engine, "cpu")])
        self.assertTrue(all(c.reason for c in self.session.candidates))
        self.assertIn("engine=%s device=cpu" % self.engine, repr(self.session))
        self.assertEqual((self.session.cache, self.session.fallback, self.session.config["engine"]), ("off", None, self.engine))

    def test_a_binding_uses_the_callers_memory(self):
        binding = self.session.io_binding()
        x, y = array.array("f", [1, 2, 3, 4]), bytearray(8)
        binding.bind_input("x", memoryview(x).cast("B").cast("f", (1, 4)))
        binding.bind_output("y", memoryview(y).cast("f", (1, 2)))
        for _ in range(3):
            self.session.run_with_iobinding(binding)
        self.assertEqual(memoryview(y).cast("f").tolist(), [30.5, 0.0])
        x[3] = 0
        binding.run()
        self.assertEqual(memoryview(y).cast("f").tolist(), [14.5, 0.0])
        other = self.session.io_binding()
        self.fails(qnnrt.StateError, other.run, says="x")
        other.bind_cpu_input("x", floats(0, 0, 0, 1))
        other.bind_output("y")
        other.run()
        copied = other.get_outputs()[0]
        binding.run()
        self.assertEqual(copied.tolist(), [[4.5, 0.0]])
        binding.bind_input("x", None)
        self.fails(qnnrt.StateError, binding.run, says="x")
        address = x.buffer_info()[0]
        binding.bind_input("x", "cpu", 0, "float32", (1, 4), address)
        binding.run()
        self.assertEqual(memoryview(y).cast("f")[0], 14.5)

    def test_inputs_that_do_not_fit(self):
        run = self.session.run
        self.fails(qnnrt.StateError, run, None, {}, says="x")
        self.fails(qnnrt.NotFoundError, run, None, {"x": floats(1, 2, 3, 4), "z": [1]}, says="z")
        self.fails(qnnrt.NotFoundError, run, None, [[1], [2]], says="2 inputs")
        self.fails(qnnrt.NotFoundError, run, ["none"], {"x": floats(1, 2, 3, 4)}, says="none")
        self.fails(qnnrt.MismatchError, run, None, {"x": floats(1, 2, 3)}, says="[1,3]")
        self.fails(qnnrt.MismatchError, run, None, {"x": array.array("d", [1, 2, 3, 4])}, says="float64")
        self.fails(qnnrt.MismatchError, run, None, {"x": [[1, 2, 3], [1]]})
        self.fails(qnnrt.MismatchError, run, None, {"x": [["a"] * 4]})
        self.fails(qnnrt.ArgumentError, run, None, {"x": object()})
        self.fails(qnnrt.ArgumentError, run, None, 7)
        released = floats(1, 2, 3, 4)
        released.release()
        self.fails(qnnrt.StateError, run, None, {"x": released})
        binding = self.session.io_binding()
        wide = memoryview(array.array("f", [0] * 8))[::2]
        self.fails(qnnrt.MismatchError, binding.bind_input, "x", wide, says="row-major")
        self.fails(qnnrt.ArgumentError, binding.bind_input, "x", [[1, 2, 3, 4]], says="list")
        self.fails(qnnrt.ArgumentError, binding.bind_output, "y", memoryview(bytes(8)).cast("f", (1, 2)), says="read-only")
        self.fails(qnnrt.MismatchError, binding.bind_output, "y", floats(1, 2, 3))
        self.fails(qnnrt.NotFoundError, binding.bind_input, "none", floats(1, 2, 3, 4))
        self.assertEqual(run(None, {"x": floats(1, 2, 3, 4)})[0].tolist(), [[30.5, 0.0]])

    def test_after_close(self):
        session = self.make()
        binding = session.io_binding()
        session.close()
        session.close()
        for call in (binding.run, lambda: session.run(None, {}), session.io_binding, session.get_inputs, session.cancel, lambda: session.device,
                     binding.get_outputs, lambda: session.run_with_iobinding(binding)):
            self.fails(qnnrt.ClosedError, call)
        self.assertIn("closed", repr(session))
        with self.make() as session:
            session.run(None, {"x": floats(1, 2, 3, 4)})
        self.assertTrue(session.closed)

    def test_order_of_ending_does_not_matter(self):
        for _ in range(5):
            session = self.make()
            ring = [session, session.io_binding()]
            ring.append(ring)
            del session, ring
        gc.collect()

    def test_fork(self):
        read, write = os.pipe()
        binding = self.session.io_binding()
        child = os.fork()
        if child == 0:
            said = b""
            for call in (binding.run, lambda: self.session.run(None, {"x": [[0] * 4]}), lambda: self.session.device):
                try:
                    call()
                except qnnrt.ForkError:
                    said += b"F"
                except BaseException as error:
                    said += repr(error).encode()
            os.write(write, said)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            self.assertEqual(file.read(), b"FFF")
        os.waitpid(child, 0)
        self.session.run(None, {"x": floats(1, 2, 3, 4)})

    def test_threads(self):
        # Each call gives its own result, or says that another thread is using the session; nothing else.
        wrong, busy, right = [], [], []

        def work(value):
            for _ in range(100):
                try:
                    y = self.session.run(None, {"x": floats(value, 0, 0, 0)})[0].tolist()
                except qnnrt.BusyError:
                    busy.append(value)
                    continue
                (right if y == [[value + 0.5, 0.5 if value == 0 else 0.0]] else wrong).append(value)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len(wrong), 0)
        self.assertEqual(len(right) + len(busy), 300)
        with self.session._guard:
            self.fails(qnnrt.BusyError, self.session.run, None, {"x": floats(1, 2, 3, 4)})

    def test_another_sessions_binding(self):
        other = self.make()
        self.fails(qnnrt.ArgumentError, self.session.run_with_iobinding, other.io_binding())

    def test_dispatch(self):
        rows = []
        with self.make(dispatch=rows.append) as session:
            session.run(None, {"x": floats(1, 2, 3, 4)})
        self.assertTrue(rows)
        self.assertEqual((rows[0].step, rows[0].engine, rows[0].device), (0, self.engine, "cpu"))

    def test_what_dispatch_raises_the_run_raises(self):
        rows, armed = [], []

        def dispatch(row):
            rows.append(row)
            if armed:
                raise KeyError(armed[0], len(rows))

        x = {"x": floats(1, 2, 3, 4)}
        with self.make(dispatch=dispatch) as session:
            binding = session.io_binding()
            binding.bind_input("x", x["x"])
            for call in (lambda: session.run(None, x), binding.run, lambda: session.run_with_iobinding(binding)):
                del rows[:], armed[:]
                call()
                armed.append(call)
                with self.assertRaises(KeyError) as caught:
                    call()
                # The first one is raised, once; the next run is a new one.
                self.assertEqual(caught.exception.args, (call, len(rows)))
                self.assertIsNone(caught.exception.__context__)
                armed.clear()
                call()
            self.assertEqual(session.run(None, x)[0].tolist(), [[30.5, 0.0]])

    @needs_numpy
    def test_what_dispatch_raises_a_run_that_repeats_raises(self):
        def dispatch(row):
            if armed:
                raise KeyboardInterrupt()

        armed, x = [], {"x": numpy.array([[1, 2, 3, 4]], "float32")}
        with self.make(dispatch=dispatch) as session:
            for _ in range(3):
                self.assertEqual(session.run(None, x)[0].tolist(), [[30.5, 0.0]])
                armed.append(1)
                self.fails(KeyboardInterrupt, session.run, None, x)
                armed.clear()

    def test_what_log_raises_the_session_raises(self):
        lines = []

        def log(level, part, text):
            lines.append(text)
            raise KeyError(len(lines))

        self.assertEqual(self.fails(KeyError, lambda: self.make(log=log)).args, (1,))
        self.assertEqual(len(lines), 1)

    @needs_numpy
    def test_numpy(self):
        x = numpy.array([[1, 2, 3, 4]], "float32")
        y, = self.session.run(None, {"x": x})
        self.assertIsInstance(y, numpy.ndarray)
        self.assertEqual((y.dtype.name, y.tolist()), ("float32", [[30.5, 0.0]]))
        # Arrays with gaps are copied by run, as ONNX Runtime does, and refused by a binding.
        wide = numpy.array([[1, 9, 2, 9, 3, 9, 4, 9]], "float32")[:, ::2]
        self.assertEqual(self.session.run(None, {"x": wide})[0].tolist(), [[30.5, 0.0]])
        binding = self.session.io_binding()
        self.fails(qnnrt.MismatchError, binding.bind_input, "x", wide)
        self.fails(qnnrt.MismatchError, self.session.run, None, {"x": x.astype("float64")})

    @needs_numpy
    def test_runs_that_repeat(self):
        def run(*values, feed=None, names=None):
            x = numpy.array([values], "float32") if feed is None else feed
            return self.session.run(names, {"x": x})[0]

        results = [run(i, 0, 0, 0) for i in range(40)]
        self.assertEqual([r.tolist() for r in results], [[[i + 0.5, 0.5 if i == 0 else 0.0]] for i in range(40)])
        self.assertTrue(all(r.flags.owndata for r in results))
        fixed = numpy.array([[1, 2, 3, 4]], "float32")
        fixed.flags.writeable = False
        self.assertEqual(run(feed=fixed).tolist(), [[30.5, 0.0]])
        for wrong in ("float64", "int32", ">f4"):
            self.fails(qnnrt.MismatchError, self.session.run, None, {"x": fixed.astype(wrong)})
        self.fails(qnnrt.MismatchError, self.session.run, None, {"x": fixed.reshape(4)})
        self.fails(qnnrt.NotFoundError, self.session.run, None, {"x": fixed, "z": fixed})
        self.fails(qnnrt.NotFoundError, self.session.run, ["none"], {"x": fixed})
        self.fails(qnnrt.StateError, self.session.run, None, {})
        self.fails(qnnrt.Error, self.session.run, [None], {"x": fixed})
        self.assertEqual(run(feed=fixed[::-1, :]).tolist(), [[30.5, 0.0]])
        self.assertEqual(run(feed=numpy.asfortranarray(numpy.tile(fixed, (1, 2)))[:, :4]).tolist(), [[30.5, 0.0]])
        for form in (lambda: self.session.run({"x": fixed})["y"], lambda: self.session.run([fixed])[0], lambda: self.session.run("y", {"x": fixed})[0],
                     lambda: self.session.run(["y"], [fixed])[0]):
            for _ in range(3):
                self.assertEqual(form().tolist(), [[30.5, 0.0]])
        with self.session._guard:
            self.fails(qnnrt.BusyError, run, 1, 2, 3, 4)
        self.assertEqual(run(1, 2, 3, 4).tolist(), [[30.5, 0.0]])


class OursTest(Cases, unittest.TestCase):
    engine = "qnn"

    def make(self, **config):
        return qnnrt.InferenceSession(LAYER, device="cpu", engine=self.engine, **config)

    def setUp(self):
        self.session = self.make()

    def test_a_call_that_fails_is_the_context(self):
        def log(level, part, text):
            raise KeyError("log")

        caught = self.fails(KeyError, lambda: qnnrt.InferenceSession(LAYER, device="cpu", execution_policy={"target": "cpu", "execution_timeout_ms": 1}, threads=2,
                                                                     shapes={"none": [1]}, log=log))
        self.assertIsInstance(caught.__context__, qnnrt.Error)
        with self.assertRaises(KeyError) as caught:
            qnnrt.open(LAYER, backend="libQnnRef.so", log=log, log_level="debug")
        self.assertIsNone(caught.exception.__context__)

    def test_what_nobody_can_raise_is_reported(self):
        seen, before = [], sys.unraisablehook
        sys.unraisablehook = lambda said: seen.append(said.exc_type)
        try:
            kept = _core.Caught()
            kept.guard(lambda: {}["none"])()
            kept.guard(seen.append)(1)
            del kept
            gc.collect()
        finally:
            sys.unraisablehook = before
        self.assertEqual(seen, [KeyError])


@unittest.skipIf(ORT is None, "engines are not fetched")
class OnnxRuntimeTest(Cases, unittest.TestCase):
    engine = "onnxrt"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for name, data in (("layer", onnx_file.layer()), ("free", onnx_file.layer("batch"))):
            with open(os.path.join(cls.folder.name, name + ".onnx"), "wb") as file:
                file.write(data)

    def make(self, name="layer", **config):
        return qnnrt.InferenceSession(os.path.join(self.folder.name, name + ".onnx"), engine="onnxrt", device="cpu", options={"onnxrt": {"library_path": ORT}}, **config)

    def setUp(self):
        self.session = self.make()

    def test_free_dimensions(self):
        with self.make("free") as session:
            self.assertEqual((session.get_inputs()[0].shape, session.get_inputs()[0].dim_names), ([-1, 4], ("batch", "")))
            for n in (1, 3):
                self.assertEqual(session.run(None, {"x": [[1, 2, 3, 4]] * n})[0].tolist(), [[30.5, 0.0]] * n)
    @needs_numpy
    def test_free_dimensions_that_change(self):
        with self.make("free") as session:
            kept = [(n, session.run(None, {"x": numpy.full((n, 4), n, "float32")})[0]) for n in [1, 2, 3] * 3 + list(range(1, 20))]
            for n, y in kept:
                self.assertEqual(y.tolist(), [[10.0 * n + 0.5, 0.0]] * n)

    def test_free_dimensions_that_are_set(self):
        with self.make("free", shapes={"batch": 2}) as session:
            self.assertEqual(session.get_inputs()[0].shape, [2, 4])


class ErrorsTest(unittest.TestCase):
    def fails(self, kind, *arguments, says="", **config):
        with self.assertRaises(kind) as caught:
            qnnrt.InferenceSession(*arguments, **config)
        self.assertIn(says, str(caught.exception))

    def test_wrong_paths_and_words(self):
        self.fails(qnnrt.NotFoundError, "/no/such/net.onnx", says="/no/such/net.onnx")
        self.fails(qnnrt.NotFoundError, LAYER, engine="none", says="qnn")
        self.fails(qnnrt.Error, LAYER, engine="qnn", device="nowhere", says="nowhere")
        self.fails(qnnrt.ArgumentError, LAYER, precision="fp8", says="fp8")
        self.fails(qnnrt.ArgumentError, LAYER, fp16=True, int8=True)
        self.fails(qnnrt.ArgumentError, LAYER, threads=-1)
        self.fails(qnnrt.ArgumentError, "a\0b")
        self.fails(qnnrt.FormatError, LAYER, kernel_policy="{", says="policy")
        self.fails(qnnrt.Error, LAYER, engine="qnn", device="cpu", options={"qnn.none": 1}, says="none")
        self.fails(TypeError, LAYER, devise="cpu")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.onnx")
            with open(path, "wb") as file:
                file.write(b"not a model")
            self.fails(qnnrt.Error, path, engine="onnxrt", device="cpu", options={"onnxrt.library_path": ORT or "/no/such/library"})


if __name__ == "__main__":
    unittest.main()
