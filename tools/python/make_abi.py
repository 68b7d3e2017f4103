#!/usr/bin/env python3
"""Write what the Python package takes from the headers: _abi.py, the structs, numbers and functions for ctypes; and
_operators.py, the operators of ATen that the graphs of qnnrt_ir.h can have.

    tools/python/make_abi.py [--check]      CC: the C compiler, which expands the macros

--check compares instead of writing.
tests/python/test_abi.py compares the structs with what the compiler makes of them."""
import os
import re
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(HERE, "qnnrt", "_abi.py")
OPERATORS = os.path.join(HERE, "qnnrt", "_operators.py")
sys.path.insert(0, os.path.join(TOP, "tests", "project"))
import headers  # noqa: E402

HEADERS = [row.name + ".h" for row in headers.ROWS if "python" in row.how]
# Tables of functions that users write in C, and graphs.
LEFT_OUT = re.compile(r"qnnrt_(engine|ir)(_\w+)?$")
PLAIN = {"int": "c_int", "size_t": "c_size_t", "float": "c_float", "double": "c_double", "uint8_t": "c_uint8", "int8_t": "c_int8",
         "int16_t": "c_int16", "uint16_t": "c_uint16", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
         "uint64_t": "c_uint64", "char": "c_char", "unsigned char": "c_ubyte", "unsigned": "c_uint"}


def expand(text):
    """What the preprocessor makes of a text."""
    command = os.environ.get("CC", "cc").split() + ["-std=c99", "-E", "-I", TOP, "-I", os.path.join(TOP, "tools"), "-I",
                                                    os.path.join(TOP, "tools", "engines"), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def source():
    """The declarations of the headers as the compiler sees them, without those of libc."""
    text = "".join('#include "%s"\n' % name for name in HEADERS)
    text += "QNNRT_PYTHON_VERSION QNNRT_VERSION_MAJOR QNNRT_VERSION_MINOR QNNRT_VERSION_PATCH;\n"
    kept, ours = [], False
    for line in expand(text).splitlines():
        mark = re.match(r'# \d+ "([^"]*)"', line)
        if mark:
            ours = os.path.basename(mark.group(1)).startswith("qnnrt") or mark.group(1) == "<stdin>"
        elif ours:
            kept.append(line)
    return " ".join(kept)


def statements(text):
    """Split at semicolons outside of braces."""
    depth, begin = 0, 0
    for i, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            yield " ".join(text[begin:i].split())
            begin = i + 1


class Abi:
    def __init__(self):
        self.numbers, self.enums, self.structs, self.opaque, self.aliases, self.functions = {}, set(), {}, set(), {}, {}
        self.version = None

    def number(self, text):
        text = re.sub(r"\(\s*[a-z_]+\s*\)|(?<=\d)[uU]?[lL]*\b", "", text)
        return eval(text, {"__builtins__": {}}, self.numbers)

    def enum(self, body):
        value = -1
        for item in body.split(","):
            if item.strip():
                name, _, given = item.strip().partition("=")
                value = self.number(given) if given else value + 1
                self.numbers[name.strip()] = value

    def kind(self, text, stars=0):
        """A type of ctypes for a type of C."""
        text = re.sub(r"\b(const|struct|enum)\b", " ", text)
        stars += text.count("*")
        name = " ".join(text.replace("*", " ").split())
        if name in self.aliases:
            base, more = self.aliases[name]
            name, stars = base, stars + more
        if stars == 0:
            if name == "void":
                return "None"
            return "c_int" if name in self.enums else PLAIN.get(name) or name
        if name == "char":
            inner, stars = "c_char_p", stars - 1
        elif name == "void" or name in self.opaque or LEFT_OUT.match(name):
            inner, stars = "c_void_p", stars - 1
        else:
            inner = "c_int" if name in self.enums else PLAIN.get(name) or name
        return "POINTER(" * stars + inner + ")" * stars

    def parameter(self, text):
        call = re.match(r"(.*?)\(\s*\*\s*\w*\s*\)\s*\((.*)\)$", text)
        return self.callback(*call.groups()) if call else self.kind(self.unnamed(text))

    def callback(self, result, parameters):
        return "CFUNCTYPE(%s)" % ", ".join([self.kind(result)] + [self.parameter(p) for p in self.split(parameters)])

    @staticmethod
    def split(text):
        """Split parameters at commas outside of parentheses."""
        parts, depth, begin = [], 0, 0
        for i, c in enumerate(text + ","):
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                if text[begin:i].strip() not in ("", "void"):
                    parts.append(text[begin:i].strip())
                begin = i + 1
        return parts

    @staticmethod
    def unnamed(text):
        """A parameter without its name."""
        stars = text.count("[")
        text = re.sub(r"\[[^]]*\]", "", text)
        return re.sub(r"(?<=[*\s])\w+$", "", text) + "*" * stars

    def fields(self, body):
        for item in body.split(";"):
            item = item.strip()
            if not item:
                continue
            call = re.match(r"(.*?)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)$", item)
            if call:
                yield call.group(2), self.callback(call.group(1), call.group(3))
                continue
            first, *others = item.split(",")
            base, name = re.match(r"(.*?[\s*])(\w+(?:\s*\[[^]]*\])?)$", first).groups()
            root = re.match(r"[^*]*", base).group(0)
            for number, declared in enumerate([base + name] + [root + " " + other for other in others]):
                base, name, size = re.match(r"(.*?[\s*])(\w+)(?:\s*\[([^]]*)\])?$", declared).groups()
                kind = self.kind(base)
                yield name, "%s * %d" % (kind, self.number(size)) if size else kind

    def read(self, text):
        for line in statements(text):
            line = re.sub(r"^extern\s+(\"C\"\s*\{)?", "", line)
            version = re.match(r"QNNRT_PYTHON_VERSION (\d+) (\d+) (\d+)", line)
            enum = re.match(r"(?:typedef )?enum(?: \w+)? \{(.*)\}\s*(\w*)$", line)
            struct = re.match(r"typedef struct \w+ \{(.*)\} (\w+)$", line)
            opaque = re.match(r"typedef struct (\w+) (\w+)$", line)
            alias = re.match(r"typedef (const )?(\w+) (\*+)(\w+)$", line)
            function = re.match(r"(.*?[\s*])(qnnrt_\w+)\s*\((.*)\)$", line)
            if version:
                self.version = tuple(int(v) for v in version.groups())
            elif enum:
                self.enum(enum.group(1))
                if enum.group(2):
                    self.enums.add(enum.group(2))
            elif struct:
                if not LEFT_OUT.match(struct.group(2)):
                    self.structs[struct.group(2)] = list(self.fields(struct.group(1)))
            elif opaque:
                self.opaque.add(opaque.group(2))
            elif alias:
                self.aliases[alias.group(4)] = (alias.group(2), len(alias.group(3)))
            elif function and not line.startswith("typedef"):
                if not LEFT_OUT.match(function.group(2)):
                    self.functions[function.group(2)] = (self.kind(function.group(1)),
                                                         [self.parameter(p) for p in self.split(function.group(3))])
            elif line and not re.match(r"struct \w+$", line):
                sys.exit("make_abi: cannot read: " + line)

    def shorten(self):
        """Keep what the package names, what their declarations need, and all results."""
        package, words = os.path.dirname(OUT), set()
        for name in os.listdir(package):
            if name.endswith(".py") and name != os.path.basename(OUT):
                with open(os.path.join(package, name), encoding="utf-8") as file:
                    words.update(re.findall(r"\w+", file.read()))
        waiting = words = words | {"QNNRT_OK"} | {name for name in self.numbers if name.startswith("QNNRT_E_")}
        while waiting:
            declared = "".join(str(table.get(name, "")) for name in waiting for table in (self.structs, self.functions))
            waiting = set(re.findall(r"\bqnnrt_\w+", declared)) - words
            words = words | waiting
        for table in (self.numbers, self.structs, self.functions):
            for name in set(table) - words:
                del table[name]

    def struct(self, name, written):
        """Write a struct after those that it has or points to. To one of its own kind it has a c_void_p."""
        if name in written:
            return
        written.append(name)
        for other in re.findall(r"\bqnnrt_\w+", str(self.structs[name])):
            if other in self.structs:
                yield from self.struct(other, written)
        yield ""
        yield ""
        yield "class %s(Structure):" % name
        yield "    _fields_ = ["
        for field, kind in self.structs[name]:
            yield "        (%r, %s)," % (field, kind.replace("POINTER(%s)" % name, "c_void_p"))
        yield "    ]"

    def text(self):
        yield '"""The C interface of libqnnrt.so. Written by tools/python/make_abi.py: do not change it here."""'
        yield "# pylint: skip-file"
        yield "# ruff: noqa"
        yield "from ctypes import *"
        yield ""
        yield "VERSION = %r" % (self.version,)
        yield ""
        yield from ("%s = %d" % pair for pair in self.numbers.items())
        written = []
        for name in self.structs:
            yield from self.struct(name, written)
        yield ""
        yield ""
        yield "FUNCTIONS = {"
        for name, (result, parameters) in sorted(self.functions.items()):
            yield "    %r: (%s, [%s])," % (name, result, ", ".join(parameters))
        yield "}"


def operators():
    """The text of _operators.py: the rows of the table of operators, expanded."""
    table = expand('#define QNNRT_IR_IMPLEMENTATION\n#include "qnnrt_ir.h"\n#define QNNRT_IR_X(name, ...) @name@\n@@QNNRT_IR__OPS(QNNRT_IR_X)\n')
    names = ["".join(re.findall(r'"([^"]*)"', row)) for row in re.findall("@([^@]*)@", table.split("@@", 1)[1])]
    names = [name for name in names if "." in name and not name.startswith("q.")]
    return '"""The operators of ATen that graphs can have, from qnnrt_ir.h. Written by tools/python/make_abi.py."""\nOPERATORS = frozenset("""\n' + \
        "\n".join(textwrap.wrap(" ".join(sorted(names)), 138)) + '\n""".split())\n'


def main():
    abi = Abi()
    abi.read(source())
    abi.shorten()
    for path, text in ((OUT, "\n".join(abi.text()) + "\n"), (OPERATORS, operators())):
        if "--check" in sys.argv[1:]:
            with open(path) as file:
                if file.read() != text:
                    sys.exit("make_abi: %s is not what the headers say: run tools/python/make_abi.py" % os.path.relpath(path))
        else:
            with open(path, "w") as file:
                file.write(text)


if __name__ == "__main__":
    main()
