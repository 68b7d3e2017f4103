"""The Python of tools/python/README.md and the example run, and print what they say."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from common import LAYER, TOP


class Readme(unittest.TestCase):
    def test_the_lines_of_the_readme(self):
        with open(os.path.join(TOP, "tools/python/README.md"), encoding="utf-8") as file:
            blocks = [b for b in re.findall(r"```python\n(.*?)```", file.read(), re.S) if "import qnnrt" in b]
        self.assertEqual(len(blocks), 1)
        expected = re.findall(r"print\(.*\)\s+# (.*)", blocks[0])
        self.assertEqual(len(expected), 3)
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "build"))
            os.symlink(os.path.abspath(LAYER), os.path.join(folder, "build", "model"))
            done = subprocess.run([sys.executable, "-c", blocks[0]], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout.splitlines(), done.stderr), (expected, ""))

    def test_the_example(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.png")
            done = subprocess.run([sys.executable, os.path.join(TOP, "examples/python/plan_and_profile.py"), LAYER, "libQnnRef.so", out], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("layer: 128 bytes", done.stdout)
            self.assertIn("MatMul_0", done.stdout)
            if "skipped: matplotlib is not installed" not in done.stdout:
                with open(out, "rb") as file:
                    self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")


if __name__ == "__main__":
    unittest.main()
