"""cache_dir of sessions, and what its folder holds."""
import array
import os
import tempfile
import unittest

import qnnrt
from common import LAYER, MODELS, REF, TOP

GRAPH, WEIGHTS = os.path.join(TOP, "tests/data/ir/torch_cnn.json"), os.path.join(MODELS, "cnn.safetensors")


class Cache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "caché")

    def make(self, **config):
        return qnnrt.InferenceSession(GRAPH, engine="qnn", device="cpu", options={"qnn": {"library_path": REF, "weights": WEIGHTS}}, **config)

    def results(self, session):
        x, = session.get_inputs()
        count = 1
        for n in x.shape:
            count *= n
        data = memoryview(array.array("f", [i % 7 - 3 for i in range(count)])).cast("B").cast("f", x.shape)
        return [y.tolist() for y in session.run(None, {x.name: data})]

    def test_stored_then_hit(self):
        with self.make() as session:
            self.assertEqual((session.cache, session.cache_key), ("off", ""))
            expected = self.results(session)
        with self.make(cache_dir=self.folder) as session:
            self.assertEqual(session.cache, "stored")
            key = session.cache_key
            self.assertEqual(self.results(session), expected)
        entry, = qnnrt.cache_list(self.folder)
        self.assertRegex(key, "^[0-9a-f]{64}$")
        self.assertEqual((entry.key, entry.damage), (key, None))
        path = os.path.join(self.folder, key + ".qnnrt")
        self.assertEqual((entry.bytes, entry.used), (os.path.getsize(path), int(os.path.getmtime(path))))
        self.assertTrue(any(name.endswith(".bin") for name, _ in entry.files))
        self.assertTrue(0 < sum(size for _, size in entry.files) < entry.bytes)
        with self.make(cache_dir=self.folder) as session:
            self.assertEqual((session.cache, session.cache_key), ("hit", key))
            self.assertEqual(self.results(session), expected)
        with self.make(cache_dir=self.folder, precision="fp32") as session:
            self.assertNotEqual(session.cache_key, "")
        self.assertEqual(session.config["cache_dir"], self.folder)

    def test_damage_is_listed_and_made_again(self):
        with self.make(cache_dir=self.folder) as session:
            key, expected = session.cache_key, self.results(session)
        with open(os.path.join(self.folder, key + ".qnnrt"), "r+b") as file:
            file.truncate(100)
        entry, = qnnrt.cache_list(self.folder)
        self.assertEqual((entry.key, entry.bytes, entry.files), (key, 100, ()))
        self.assertTrue(entry.damage)
        with self.make(cache_dir=self.folder) as session:
            self.assertEqual((session.cache, self.results(session)), ("stored", expected))
            self.assertTrue(session.warnings)
        self.assertIsNone(qnnrt.cache_list(self.folder)[0].damage)

    def test_clear(self):
        self.make(cache_dir=self.folder).close()
        other = os.path.join(self.folder, "other.txt")
        with open(other, "w") as file:
            file.write("stays")
        size = qnnrt.cache_list(self.folder)[0].bytes
        self.assertEqual(qnnrt.cache_clear(os.fsencode(self.folder)), (1, size))
        self.assertEqual((qnnrt.cache_list(self.folder), qnnrt.cache_clear(self.folder)), ([], (0, 0)))
        self.assertTrue(os.path.exists(other))

    def test_no_folder(self):
        for function in (qnnrt.cache_list, qnnrt.cache_clear):
            with self.assertRaises(qnnrt.NotFoundError) as caught:
                function(self.folder)
            self.assertIn(self.folder, str(caught.exception))
            self.assertTrue(caught.exception.hint)
            self.assertFalse(os.path.exists(self.folder))
            with self.assertRaises(qnnrt.FileError):
                function(GRAPH)
            for wrong in ("a\0b", ""):
                with self.assertRaises(qnnrt.Error):
                    function(wrong)
            with self.assertRaises(TypeError):
                function(None)

    def test_policies(self):
        for policy in ({"target": "cpu", "precision": "fp32", "cache_compiled": True, "cache_dir": self.folder},
                       '{"target": "cpu", "precision": "fp32", "cache_compiled": true, "cache_dir": "%s"}' % self.folder):
            made = dict(engine="qnn", options={"library_path": REF, "weights": WEIGHTS}, execution_policy=policy)
            with self.assertRaises(qnnrt.ArgumentError) as caught:
                qnnrt.InferenceSession(GRAPH, **made)
            self.assertIn("policies are not allowed to choose the folder", str(caught.exception))
            with qnnrt.InferenceSession(GRAPH, policy_cache_dir=True, **made) as session:
                self.assertEqual((session.device, session.warnings), ("cpu", []))
                self.assertEqual(session.cache, "stored" if isinstance(policy, dict) else "hit")
        for policy in ({"auto_strategy": 1}, '{"auto_strategy": 1}'):
            with qnnrt.InferenceSession(LAYER, engine="qnn", device="cpu", kernel_policy=policy) as session:
                self.assertEqual(session.run(None, {"x": [[1, 2, 3, 4]]})[0].tolist(), [[30.5, 0.0]])
        for policy in ({"auto_strategy": 2}, '{"auto_strategy": 2}'):
            with self.assertRaises(qnnrt.Error) as caught:
                qnnrt.InferenceSession(LAYER, kernel_policy=policy)
            self.assertIn("auto_strategy", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
