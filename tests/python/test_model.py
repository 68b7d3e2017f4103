"""Folders: models, runs, arrays of their memory, and what goes wrong."""
import array
import gc
import hashlib
import json
import os
import tempfile
import threading
import unittest

import qnnrt
from common import LAYER, MODELS, REF, needs_numpy, numpy


class ModelTest(unittest.TestCase):
    def setUp(self):
        self.model = qnnrt.open(LAYER, backend=REF)
        self.addCleanup(self.model.close)
        self.run_ = self.model.prepare()

    def fails(self, kind, call, *arguments, says=""):
        with self.assertRaises(kind) as caught:
            call(*arguments)
        self.assertIn(says, str(caught.exception))
        return caught.exception

    def test_facts(self):
        self.assertIn("layer engine=qnn device=cpu", repr(self.model))
        self.assertEqual(list(self.model.pipelines), ["layer"])
        pipeline = self.model.pipeline()
        self.assertEqual([(s.name, s.tensor.dtype, s.tensor.shape) for s in pipeline.slots], [("x", "float32", (1, 4)), ("y", "float32", (1, 2))])
        self.assertEqual((pipeline.steps[0].kind, pipeline.steps[0].device, pipeline.failure), ("graph", "cpu", None))
        self.assertEqual(self.model.contexts[0].graphs, ("layer",))
        self.assertTrue(self.model.library.endswith("libQnnRef.so"))
        plan = self.run_.plan()
        self.assertEqual((plan.pipeline, plan.peak, len(plan.blocks), plan.blocks[0].nbytes), ("layer", 128, 2, 16))

    @needs_numpy
    def test_host_steps(self):
        """A step of host.json, then one that a function of the caller computes, twice; no library is opened."""
        def tensor(name, dtype, *dims):
            return {"name": name, "dtype": dtype, "dims": dims}

        def value(name, node=None):
            made = {"name": name, "shape": [2, 3], "dtype": "float32"}
            return dict(made, producer_node=node, producer_output_idx=0) if node else made

        def step(a, b, y, more=()):
            return {"host": "mylib.line.default", "inputs": [tensor(a, "float32", 2, 3), tensor(b, "float32", 3), *more], "outputs": [tensor(y, "float32", 2, 3)]}

        relu = {"model_name": "r", "graph_inputs": [value("x")], "graph_outputs": [value("r", "r")], "weights": [], "nodes": [
            {"name": "r", "op_type": "aten.relu.default", "inputs": [value("x")], "outputs": [value("r", "r")], "attrs": {}}]}
        steps = [{"host": "r", "inputs": [tensor("x", "float32", 2, 3)], "outputs": [tensor("r", "float32", 2, 3)]},
                 step("r", "z", "a", [tensor("attr.slope", "float64", 1), tensor("attr.places", "int64", 3), tensor("attr.mode", "uint8", 5)]), step("a", "z", "b")]
        constants = [dict(tensor(name, dtype, count), file="values.raw", offset=offset)
                     for name, dtype, count, offset in (("slope", "float64", 1, 0), ("places", "int64", 3, 8), ("mode", "uint8", 5, 32))]
        pipeline = {"name": "p", "steps": steps, "edges": [{"from": [0, "r"], "to": [1, "r"]}, {"from": [1, "a"], "to": [2, "a"]}], "edges_only": True,
                    "constants": [{"step": 1, "input": "attr." + c["name"], "constant": c["name"]} for c in constants]}
        seen = []

        def line(a, b, slope=1, **more):
            seen.append((slope, more))
            return a * numpy.float32(slope) + b

        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "values.raw"), "wb") as file:
                file.write(array.array("d", [2]).tobytes() + array.array("q", [1, 0, 2]).tobytes() + b"first")
            with open(os.path.join(folder, "host.json"), "w") as file:
                json.dump({"version": 1, "steps": {"r": relu}}, file)
            with open(os.path.join(folder, "qnnrt.json"), "w") as file:
                json.dump({"program": {"version": 1, "backends": [], "contexts": [], "constants": constants, "pipelines": [pipeline]}}, file)
            self.fails(qnnrt.NotFoundError, lambda: qnnrt.open(folder), says='"mylib.line.default"')
            x, z = numpy.array([[1, -2, 3], [4, 5, 6]], "float32"), numpy.array([1, 2, 3], "float32")
            with qnnrt.open(folder, host_functions={"mylib.line.default": line}) as model:
                self.assertEqual((model.device, model.library, model.contexts), ("cpu", "", ()))
                made = model.prepare()(x=x, z=z)
            self.assertTrue((made["b"] == numpy.maximum(x, 0) * 2 + z + z).all(), made)
            self.assertEqual(seen, [(2.0, {"places": [1, 0, 2], "mode": "first"}), (1, {})])
            for function, kind, says in ((lambda *a, **k: 1 // 0, ZeroDivisionError, "zero"), (lambda *a, **k: a, qnnrt.MismatchError, "returns 2 results, expected 1"),
                                         (lambda *a, **k: a[1], qnnrt.MismatchError, "is [3], expected [2, 3]"), (3, TypeError, "callable")):
                with qnnrt.open(folder, host_functions={"mylib.line.default": function}) as model:
                    run = model.prepare()
                    self.fails(kind, lambda: run(x=x, z=z), says=says)
            with open(os.path.join(folder, "host.json"), "w") as file:
                file.write("{")
            self.fails(qnnrt.FormatError, lambda: qnnrt.open(folder), says="host.json")

    def test_hashes_are_checked_on_request(self):
        with open(os.path.join(LAYER, "layer.bin"), "rb") as file:
            data = file.read()
        right, wrong = hashlib.sha256(data).hexdigest(), "0" * 64
        for expected in (right, wrong):
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "layer.bin"), "wb") as file:
                    file.write(data)
                context = {"file": "layer.bin", "backend": "cpu", "sha256": expected}
                with open(os.path.join(folder, "qnnrt.json"), "w") as file:
                    json.dump({"program": {"version": 1, "backends": ["cpu"], "contexts": [context],
                                           "pipelines": [{"name": "layer", "steps": [{"context": 0, "graph": "layer"}]}]}}, file)
                qnnrt.open(folder, backend=REF).close()
                if expected == right:
                    qnnrt.open(folder, backend=REF, check_hashes=True).close()
                else:
                    self.fails(qnnrt.MismatchError, lambda: qnnrt.open(folder, backend=REF, check_hashes=True), says="SHA-256 %s, but" % right)

    def test_states_are_kept_saved_and_restored(self):
        context = {"file": "layer.bin", "backend": "cpu"}
        pipeline = {"name": "layer", "steps": [{"context": 0, "graph": "layer"}], "edges_only": True, "states": [{"name": "last", "to": [], "from": [0, "y"]}]}
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(LAYER, "layer.bin"), "rb") as file, open(os.path.join(folder, "layer.bin"), "wb") as copy:
                copy.write(file.read())
            with open(os.path.join(folder, "qnnrt.json"), "w") as file:
                json.dump({"program": {"version": 2, "backends": ["cpu"], "contexts": [context], "pipelines": [pipeline]}}, file)
            with qnnrt.open(folder, backend=REF) as model:
                run, path = model.prepare(), os.path.join(folder, "saved")
                self.assertEqual((run.states["last"].tolist(), [s.name for s in run.outputs]), ([[0.0, 0.0]], []))
                run(x=[1, 2, 3, 4])
                self.assertEqual(run.states["last"].tolist(), [[30.5, 0.0]])
                saved = run.save_states(path)
                run.reset()
                self.assertEqual(run.states["last"].tolist(), [[0.0, 0.0]])
                for what in (path, saved, memoryview(saved)):
                    run.reset()
                    run.restore_states(what)
                    self.assertEqual(run.states["last"].tolist(), [[30.5, 0.0]])
                self.fails(qnnrt.FormatError, run.restore_states, saved[:7], says="not a file of states")
                self.fails(qnnrt.MismatchError, run.restore_states, saved.replace(b"last", b"lost"), says='"lost", which is not a state')
                self.assertEqual(run.states["last"].tolist(), [[30.5, 0.0]])
        self.assertEqual(self.run_.states, {})
        self.run_.reset()
        self.fails(qnnrt.NotFoundError, self.run_.save_states, says="has no states")

    def test_values_go_in_and_out(self):
        self.run_["x"] = [1, 2, 3, 4]
        self.run_.exec()
        self.assertEqual(self.run_["y"].tolist(), [[30.5, 0.0]])
        self.assertEqual(self.run_.read("y").tolist(), [[30.5, 0.0]])
        self.assertEqual(self.run_.read("y", 1, 1).tolist(), [0.0])
        self.run_.write("x", [0], 3)
        self.assertEqual(self.run_(x=array.array("d", [0, 0, 0, 1]))["y"].tolist(), [[4.5, 0.0]])
        self.fails(qnnrt.MismatchError, self.run_.write, "x", [1] * 5)
        self.fails(qnnrt.MismatchError, self.run_.write, "x", array.array("f", [1]), says="16 bytes")
        self.fails(qnnrt.MismatchError, self.run_.write, "x", [[1], [1, 2]])
        self.fails(qnnrt.MismatchError, self.run_.write, "x", ["text"])
        self.fails(qnnrt.ArgumentError, self.run_.write, "x", object())
        self.assertIn("x", str(self.fails(qnnrt.NotFoundError, self.run_.read, "z")))

    def test_memory_is_shown_and_bound_without_a_copy(self):
        x, y = self.run_["x"], self.run_["y"]
        (x if numpy else x.data)[0 if not numpy else (0, 0)] = 1
        self.run_.exec()
        self.assertEqual(y.tolist(), [[1.5, 0.0]])
        source, target = array.array("f", [0, 1, 0, 0]), bytearray(8)
        self.run_.bind("x", source)
        self.run_.bind("y", memoryview(target).cast("f"))
        self.run_.exec()
        self.assertEqual(memoryview(target).cast("f").tolist(), [2.5, 0.0])
        source[3] = 1
        self.run_.exec()
        self.assertEqual(memoryview(target).cast("f")[0], 6.5)
        with self.assertRaises(BufferError):
            source.append(0)
        self.run_.bind("x", None)
        gc.collect()
        source.append(0)

    def test_arrays_that_cannot_be_bound(self):
        bind = self.run_.bind
        self.fails(qnnrt.MismatchError, bind, "x", array.array("d", [0] * 4), says="float64")
        self.fails(qnnrt.MismatchError, bind, "x", array.array("f", [0] * 3), says="16 bytes")
        self.fails(qnnrt.MismatchError, bind, "x", memoryview(array.array("f", [0] * 8))[::2], says="row-major")
        self.fails(qnnrt.ArgumentError, bind, "y", memoryview(bytes(8)).cast("f"), says="read-only")
        bind("x", memoryview(bytes(16)).cast("f"))
        self.fails(qnnrt.ArgumentError, bind, "x", [0.0] * 4, says="list")
        released = memoryview(bytearray(16)).cast("f")
        released.release()
        self.fails(qnnrt.StateError, bind, "x", released, says="released")
        self.fails(qnnrt.NotFoundError, bind, "z", array.array("f"))

    def test_closed(self):
        view = self.run_["y"]
        self.run_["x"] = [1, 0, 0, 0]
        self.run_.exec()
        other = self.model.prepare()
        other.close()
        other.close()
        self.model.close()
        self.assertTrue(self.run_.closed and self.model.closed)
        for call in (self.run_.exec, self.run_.events, self.run_.plan, lambda: self.run_["y"], lambda: self.run_.write("x", [0]), self.model.prepare,
                     lambda: self.model.pipelines, self.model.recover, lambda: self.model.device):
            self.fails(qnnrt.ClosedError, call, says="closed")
        self.assertEqual(view.tolist(), [[1.5, 0.0]])
        self.assertIn("closed", repr(self.model) + repr(self.run_))
        with self.assertRaises(qnnrt.ClosedError), self.model:
            pass

    def test_order_of_ending_does_not_matter(self):
        for _ in range(20):
            model = qnnrt.open(LAYER, backend=REF)
            run = model.prepare()
            view = run["y"]
            ring = [model, run, view]
            ring.append(ring)
            del model, run, view, ring
        gc.collect()

    def test_errors_are_typed(self):
        e = self.fails(qnnrt.NotFoundError, lambda: qnnrt.open("/no/such/folder", backend=REF), says="/no/such/folder")
        self.assertEqual((e.code, e.name, e.vendor_code), (-7, "QNNRT_E_NOT_FOUND", 0))
        self.assertTrue(e.hint)
        self.assertIsInstance(e, qnnrt.Error)
        self.fails(qnnrt.LibraryError, lambda: qnnrt.open(LAYER, backend="/no/such/libQnnHtp.so"))
        self.fails(qnnrt.NotFoundError, self.model.prepare, "none", says="layer")
        self.fails(qnnrt.ArgumentError, lambda: qnnrt.open(LAYER, backend=REF, memory="none"))
        self.fails(qnnrt.ArgumentError, lambda: qnnrt.open("a\0b"))
        self.fails(qnnrt.StateError, self.run_.events)
        damaged = os.path.join(MODELS, "damaged.bin")
        with open(os.path.join(LAYER, "layer.bin"), "rb") as file, open(damaged, "wb") as out:
            out.write(file.read()[:200])
        self.fails(qnnrt.FormatError, lambda: qnnrt.open(damaged, backend=REF))
        with self.assertRaises(TypeError):
            qnnrt.open(LAYER, bakend=REF)

    def test_inspect_only(self):
        with qnnrt.open(LAYER, inspect=True, system=self.model.library) as model:
            self.assertEqual((model.device, list(model.pipelines), model.library), ("none", ["layer"], ""))
            self.fails(qnnrt.StateError, model.prepare)

    def test_profile(self):
        self.run_.profile("detailed")
        self.run_.exec()
        events = self.run_.events()
        self.assertTrue(any(e.node for e in events) and all(e.step == 0 for e in events))
        self.fails(qnnrt.ArgumentError, self.run_.profile, "much")

    def test_log(self):
        lines = []
        with qnnrt.open(LAYER, backend=REF, log=lambda level, part, text: lines.append((level, part, text)), log_level="debug"):
            pass
        self.assertTrue(lines and all(isinstance(text, str) and 1 <= level <= 5 for level, _, text in lines))

    def test_two_threads(self):
        # The second thread comes while the first one holds the run.
        with self.run_._guard:
            caught = []

            def second():
                try:
                    self.run_.exec()
                except qnnrt.Error as error:
                    caught.append(error)
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
            self.assertIsInstance(caught[0], qnnrt.BusyError)
        self.run_.exec()
        runs = [self.model.prepare() for _ in range(4)]
        done = []

        def work(run, value):
            for _ in range(50):
                run["x"] = [value, 0, 0, 0]
                run.exec()
                if run["y"].tolist()[0][0] != value + 0.5:
                    return
            done.append(value)

        threads = [threading.Thread(target=work, args=(run, i)) for i, run in enumerate(runs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(done), [0, 1, 2, 3])

    def test_fork(self):
        view = self.run_["y"]
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            said = b""
            for call in (self.run_.exec, self.model.prepare, lambda: self.run_["y"]):
                try:
                    call()
                except qnnrt.ForkError as error:
                    said += b"F" if "fork" in str(error) else b"?"
                except BaseException as error:
                    said += repr(error).encode()
            with qnnrt.open(LAYER, backend=REF) as other:
                made = other.prepare()
                said += b"%g" % made(x=[1, 0, 0, 0])["y"].tolist()[0][0]
            os.write(write, said)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            self.assertEqual(file.read(), b"FFF1.5")
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.run_.exec()
        self.assertEqual(view.tolist(), [[0.5, 0.5]])

    @needs_numpy
    def test_numpy(self):
        x = numpy.array([[1, 2, 3, 4]], "float32")
        self.run_["x"] = x
        self.run_.exec()
        self.assertIsInstance(self.run_["y"], numpy.ndarray)
        self.run_.bind("x", x)
        x[0, 3] = 0
        self.run_.exec()
        self.assertEqual(self.run_["y"][0, 0], 14.5)
        self.run_["x"] = numpy.arange(4)[::-1]
        for wrong in (numpy.zeros((1, 4)), numpy.zeros((4, 2), "float32").T[1:], numpy.zeros((1, 3), "float32"), numpy.zeros((1, 4), ">f4")):
            self.fails(qnnrt.MismatchError, self.run_.bind, "x", wrong)
        fixed = numpy.zeros((1, 2), "float32")
        fixed.flags.writeable = False
        self.fails(qnnrt.ArgumentError, self.run_.bind, "y", fixed)


class DlpackTest(unittest.TestCase):
    """Capsules of every kind, made here with ctypes."""

    class Maker:
        def __init__(self, versioned=True, device=(1, 0), code=2, bits=32, lanes=1, shape=(1, 4), strides=None, flags=0, major=1, refuses=False):
            self.__dict__.update(locals())
            self.deleted = 0

        def __dlpack_device__(self):
            return self.device

        def __dlpack__(self, **options):
            import ctypes
            from qnnrt import _arrays as a
            if self.refuses:
                raise BufferError("requires grad")
            if options and not self.versioned:
                raise TypeError("max_version")
            self.values = (ctypes.c_float * 16)(*range(16))
            self.dims = (ctypes.c_int64 * len(self.shape))(*self.shape)
            kind = a._DlVersioned if self.versioned else a._DlManaged
            m = self.managed = kind()
            t = m.tensor
            t.data, t.device, t.device_id, t.ndim, t.code, t.bits, t.lanes = ctypes.addressof(self.values), self.device[0], 0, len(self.shape), self.code, self.bits, self.lanes
            t.shape, t.byte_offset = self.dims, 4
            if self.strides:
                self.steps = (ctypes.c_int64 * len(self.strides))(*self.strides)
                t.strides = self.steps
            if self.versioned:
                m.major, m.minor, m.flags = self.major, 0, self.flags

            def delete(_pointer):
                self.deleted += 1

            m.deleter = type(m.deleter)(delete)
            new = ctypes.pythonapi.PyCapsule_New
            new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            self.name = b"dltensor_versioned" if self.versioned else b"dltensor"
            return new(ctypes.addressof(m), self.name, None)

    def setUp(self):
        self.run_ = qnnrt.open(LAYER, backend=REF).prepare()

    def test_both_versions_are_bound_and_deleted_once(self):
        for versioned in (False, True):
            for strides in (None, (4, 1), (99, 1)):
                maker = self.Maker(versioned, strides=strides)
                self.run_.bind("x", maker)
                self.run_.exec()
                self.assertEqual((self.run_.read("y").tolist(), maker.deleted), ([[30.5, 0.0]], 0))
                maker.values[1] = 0
                self.run_.exec()
                self.assertEqual(self.run_.read("y").tolist()[0][0], 29.5)
                self.run_.bind("x", None)
                gc.collect()
                self.assertEqual(maker.deleted, 1)

    def test_what_does_not_fit(self):
        for kind, maker in ((qnnrt.MismatchError, self.Maker(device=(2, 0))), (qnnrt.MismatchError, self.Maker(code=5, bits=64)), (qnnrt.MismatchError, self.Maker(lanes=4)),
                            (qnnrt.MismatchError, self.Maker(code=0)), (qnnrt.MismatchError, self.Maker(strides=(1, 2))), (qnnrt.MismatchError, self.Maker(shape=(1, 3))),
                            (qnnrt.VersionError, self.Maker(major=2)), (qnnrt.ArgumentError, self.Maker(refuses=True))):
            with self.assertRaises(kind):
                self.run_.bind("x", maker)
            gc.collect()
            self.assertIn(maker.deleted, (0, 1))
        fixed = self.Maker(shape=(1, 2), flags=1)
        with self.assertRaises(qnnrt.ArgumentError):
            self.run_.bind("y", fixed)
        self.run_.bind("x", self.Maker(flags=1))

    def test_a_capsule_is_used_once(self):
        maker = self.Maker()
        capsule = maker.__dlpack__()

        class Again:
            def __dlpack__(self, **_):
                return capsule

            def __dlpack_device__(self):
                return (1, 0)
        self.run_.bind("x", Again())
        with self.assertRaises(qnnrt.ArgumentError):
            self.run_.bind("x", Again())

    @needs_numpy
    def test_numpy_integers_do_not_wrap(self):
        self.assertEqual(qnnrt._arrays.numbers(numpy.array([-2**31, 2**31 - 1]), "i", "x").tolist(), [-2**31, 2**31 - 1])
        for wrong in ([3000000000], [-3000000000], [1e12]):
            with self.assertRaisesRegex(qnnrt.MismatchError, "do not fit int32"):
                qnnrt._arrays.numbers(numpy.array(wrong), "i", "x")

    @needs_numpy
    def test_numpy_gives_capsules(self):
        class Other:
            def __init__(self, data):
                self.data = data

            def __dlpack__(self, **options):
                return self.data.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.data.__dlpack_device__()
        self.run_.bind("x", Other(numpy.array([[1, 2, 3, 4]], "float32")))
        self.run_.exec()
        self.assertEqual(self.run_["y"][0, 0], 30.5)


if __name__ == "__main__":
    unittest.main()
