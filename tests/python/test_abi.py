"""The structs of _abi.py are those of the C compiler, and functions of the package say their types."""
import ast
import ctypes
import glob
import os
import subprocess
import sys
import tempfile
import unittest

from common import TOP
from qnnrt import _abi as abi

sys.path.append(os.path.join(TOP, "tests", "project"))
import headers  # noqa: E402


class Abi(unittest.TestCase):
    def structs(self):
        return {name: kind for name, kind in vars(abi).items() if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and name.startswith("qnnrt_")}

    def test_offsets_are_the_compilers(self):
        lines, expected = [], []
        for name, kind in self.structs().items():
            lines.append('printf("%s %%zu\\n", sizeof(%s));' % (name, name))
            expected.append("%s %d" % (name, ctypes.sizeof(kind)))
            for field, _ in kind._fields_:
                lines.append('printf("%s.%s %%zu %%zu\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));' % (name, field, name, field, name, field))
                place = getattr(kind, field)
                expected.append("%s.%s %d %d" % (name, field, place.offset, place.size))
        self.assertGreater(len(expected), 300)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "offsets.c")
            with open(path, "w") as file:
                file.write("#include <stdio.h>\n%sint main(void)\n{\n%s\nreturn 0;\n}\n"
                           % ("".join('#include "%s.h"\n' % row.name for row in headers.ROWS if "python" in row.how), "\n".join(lines)))
            program = os.path.join(folder, "offsets")
            subprocess.run(os.environ.get("CC", "cc").split() + ["-std=c99", "-I", TOP, "-I", os.path.join(TOP, "tools"), "-I",
                                                                 os.path.join(TOP, "tools", "engines"), path, "-o", program], check=True)
            found = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
        self.assertEqual(found, expected)

    def test_declarations_are_those_of_the_headers(self):
        done = subprocess.run([sys.executable, os.path.join(TOP, "tools/python/make_abi.py"), "--check"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_function_is_in_the_library(self):
        from qnnrt._core import lib
        self.assertGreater(len(abi.FUNCTIONS), 60)
        for name in abi.FUNCTIONS:
            self.assertTrue(hasattr(lib, name), name)

    def test_every_result_has_a_class(self):
        from qnnrt import _errors
        for name, number in vars(abi).items():
            if name.startswith("QNNRT_E_"):
                self.assertEqual(_errors._CLASSES[number].code, number, name)
                self.assertEqual(_errors._CLASSES[number]("x").name, name)

    def test_every_function_says_its_types(self):
        # make test-python has no mypy; mypy --strict finds nothing in the package.
        count, bare = 0, []
        for path in glob.glob(os.path.join(TOP, "tools/python/qnnrt/*.py")):
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    count += 1
                    a = node.args
                    given = [x for x in a.posonlyargs + a.args + a.kwonlyargs + [a.vararg, a.kwarg] if x is not None and x.arg not in ("self", "cls")]
                    if node.returns is None or any(x.annotation is None for x in given):
                        bare.append("%s:%d %s" % (os.path.basename(path), node.lineno, node.name))
        self.assertGreater(count, 150)
        self.assertEqual(bare, [])


if __name__ == "__main__":
    unittest.main()
