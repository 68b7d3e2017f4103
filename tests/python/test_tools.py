"""compile, inspect, explain, and language models."""
import os
import tempfile
import unittest

import qnnrt
from common import LAYER, LLM, MODELS, REF, TOP


class Tools(unittest.TestCase):
    def test_explain(self):
        found = qnnrt.explain(5000)
        self.assertEqual(found.symbol, "QNN_CONTEXT_ERROR_INVALID_ARGUMENT")
        self.assertTrue(found.fix and found.causes and found.meaning)
        self.assertEqual(qnnrt.explain("0x1388"), found)
        self.assertEqual(qnnrt.explain(qnnrt.BackendError("x", "", 5000)), found)
        self.assertIsNone(qnnrt.explain("nothing is known about this"))
        with self.assertRaises(qnnrt.ArgumentError):
            qnnrt.explain(None)

    def test_inspect(self):
        with qnnrt.open(LAYER, backend=REF) as model:
            facts = qnnrt.inspect(LAYER, system_so=model.library)
        self.assertIn("layer", str(facts))
        with self.assertRaises(qnnrt.ToolError) as caught:
            qnnrt.inspect("/no/such/folder")
        self.assertIn("/no/such/folder", str(caught.exception))
        self.assertTrue(caught.exception.hint)
        self.assertEqual(caught.exception.status, 1)

    def test_compile(self):
        graph = os.path.join(TOP, "tests/data/ir/torch_cnn.json")
        weights = os.path.join(MODELS, "cnn.safetensors")
        with qnnrt.open(LAYER, backend=REF) as model:
            library = model.library
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "a model")
            said = qnnrt.compile(graph, out, weights=weights, backend_so=library, fp32=True)
            self.assertIn("torch_cnn", said)
            with qnnrt.open(out, backend=REF) as model:
                self.assertIn("torch_cnn", model.pipelines)
            with self.assertRaises(qnnrt.ToolError) as caught:
                qnnrt.compile(graph, out, weights="/no/such/file", backend_so=library)
            self.assertIn("/no/such/file", str(caught.exception))
            with self.assertRaises(qnnrt.ArgumentError) as caught:
                qnnrt.compile(graph, out, no_such_option=1)
            self.assertIn("no_such_option", str(caught.exception))
            with self.assertRaises(qnnrt.ArgumentError):
                qnnrt.compile("a\0b", out)

    def test_a_crash_ends_the_child_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "qnnrt-run")
            with open(path, "w") as file:
                file.write("#!/bin/sh\necho 'hint: look here' >&2\nkill -SEGV $$\n")
            os.chmod(path, 0o755)
            os.environ["QNNRT_PROGRAMS"] = folder
            try:
                with self.assertRaises(qnnrt.CrashError) as caught:
                    qnnrt.compile("a.json", folder)
            finally:
                del os.environ["QNNRT_PROGRAMS"]
        self.assertIn("SIGSEGV", str(caught.exception))
        self.assertEqual(caught.exception.vendor_code, 11)


class Language(unittest.TestCase):
    def setUp(self):
        self.llm = qnnrt.LLM(LLM, backend=REF)
        self.addCleanup(self.llm.close)

    def test_text_streams(self):
        pieces = list(self.llm.generate("And the LORD said unto ", 16))
        self.assertGreater(len(pieces), 8)
        text = "".join(pieces)
        self.assertEqual("".join(self.llm.generate("And the LORD said unto ", 16)), text)
        tokens = list(self.llm.generate_tokens(b"And the LORD said unto ", 16))
        self.assertEqual(bytes(tokens).decode(), text)
        self.assertIn("device=cpu", repr(self.llm))
        self.assertEqual(self.llm.info.vocabulary, 256)

    def test_a_text_continues(self):
        whole = list(self.llm.generate_tokens("In the beginning", 12))
        self.llm.clear()
        self.llm.decode(list(b"In the "))
        self.assertEqual(list(self.llm.generate_tokens("beginning", 12, keep=True)), whole)
        logits = self.llm.logits().tolist()
        self.assertEqual(len(logits), 256)

    def test_seeds_decide(self):
        draw = lambda seed: list(self.llm.generate_tokens("And ", 12, temperature=1.0, seed=seed))
        self.assertEqual(draw(3), draw(3))
        self.assertNotEqual(draw(3), draw(4))

    def test_the_context_ends_the_text(self):
        self.assertLess(len(list(self.llm.generate_tokens("And", 1000))), self.llm.info.context)

    def test_a_tokenizer_of_the_caller(self):
        class Pairs:
            """Gives objects with .ids, and characters of several tokens."""
            def encode(self, text):
                return type("Encoding", (), {"ids": list(text.encode())})()

            def decode(self, tokens):
                return bytes(tokens).decode("utf-8", "replace")
        with qnnrt.LLM(LLM, backend=REF, tokenizer=Pairs()) as llm:
            self.assertEqual("".join(llm._pieces(iter("aé€\U0001F600b".encode()))), "aé€\U0001F600b")
            self.assertTrue(all("\ufffd" not in piece for piece in llm._pieces(iter("é€\U0001F600".encode()))))
            self.assertEqual("".join(llm._pieces(iter(b"a\xc3"))), "a\ufffd")
            self.assertEqual("".join(llm.generate("And ", 8)), "".join(self.llm.generate("And ", 8)))

    def test_misuse(self):
        for call in (lambda: list(self.llm.generate("")), lambda: self.llm.decode([]), lambda: self.llm.decode([256]), lambda: self.llm.decode([-1]),
                     lambda: self.llm.decode(["a"]), lambda: list(self.llm.generate("a", temperature=-1.0))):
            with self.assertRaises(qnnrt.ArgumentError):
                call()
        with self.assertRaises(qnnrt.LimitError):
            self.llm.decode([65] * 1000)
        generator = self.llm.generate("a", 5)
        next(generator)
        self.llm.close()
        for call in (lambda: next(generator), self.llm.clear, lambda: self.llm.used, self.llm.logits, lambda: self.llm.decode([65])):
            with self.assertRaises(qnnrt.ClosedError):
                call()
        with self.assertRaises(qnnrt.Error):
            qnnrt.LLM(LAYER, backend=REF)


if __name__ == "__main__":
    unittest.main()
