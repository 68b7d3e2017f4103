#!/usr/bin/env python3
"""Write tools/python/qnnrt/_abi.py: the structs, numbers and functions of the headers, for ctypes.

    tools/python/make_abi.py [--check]      CC: the C compiler, which expands the macros

--check compares instead of writing. tests/python/test_abi.py compares the structs with what the compiler makes of
them."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(HERE, "qnnrt", "_abi.py")
sys.path.insert(0, os.path.join(TOP, "tests", "project"))
import headers  # noqa: E402

HEADERS = [row.name + ".h" for row in headers.ROWS if "python" in row.how]
# Engines are tables of functions that users write in C; entries of a cache are made and read by sessions; services for
# code that stands on qnnrt.h have no use here.
LEFT_OUT = re.compile(r"^(qnnrt_engine_(load|model|open|library|find|path)|qnnrt_engine|qnnrt_cache_(hash|key|get|put)\w*|qnnrt_arena\w*|"
                      r"qnnrt_error_\w+|qnnrt_text_clean|qnnrt_hooks_\w+|qnnrt_sort|qnnrt_file_open|qnnrt_values_convert)$")
PLAIN = {"int": "c_int", "size_t": "c_size_t", "float": "c_float", "double": "c_double", "uint8_t": "c_uint8", "int8_t": "c_int8",
         "int16_t": "c_int16", "uint16_t": "c_uint16", "int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
         "uint64_t": "c_uint64", "char": "c_char", "unsigned char": "c_ubyte", "unsigned": "c_uint"}


def source():
    """The declarations of the headers as the compiler sees them, without those of libc."""
    text = "".join('#include "%s"\n' % name for name in HEADERS)
    text += "QNNRT_PYTHON_VERSION QNNRT_VERSION_MAJOR QNNRT_VERSION_MINOR QNNRT_VERSION_PATCH;\n"
    command = os.environ.get("CC", "cc").split() + ["-std=c99", "-E", "-I", TOP, "-I", os.path.join(TOP, "tools"), "-I",
                                                    os.path.join(TOP, "tools", "engines"), "-"]
    lines = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    kept, ours = [], False
    for line in lines:
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
            elif line:
                sys.exit("make_abi: cannot read: " + line)

    def text(self):
        yield '"""The C interface of libqnnrt.so. Written by tools/python/make_abi.py: do not change it here."""'
        yield "# pylint: skip-file"
        yield "# ruff: noqa"
        yield "from ctypes import *"
        yield ""
        yield "VERSION = %r" % (self.version,)
        yield ""
        for name, value in self.numbers.items():
            yield "%s = %d" % (name, value)
        for name in self.structs:
            yield ""
            yield ""
            yield "class %s(Structure):" % name
            yield "    pass"
        yield ""
        yield ""
        for name, fields in self.structs.items():
            yield "%s._fields_ = [" % name
            for field, kind in fields:
                yield "    (%r, %s)," % (field, kind)
            yield "]"
        yield ""
        yield "FUNCTIONS = {"
        for name, (result, parameters) in sorted(self.functions.items()):
            yield "    %r: (%s, [%s])," % (name, result, ", ".join(parameters))
        yield "}"


def main():
    abi = Abi()
    abi.read(source())
    text = "\n".join(abi.text()) + "\n"
    if "--check" in sys.argv[1:]:
        with open(OUT) as file:
            if file.read() != text:
                sys.exit("make_abi: %s is not what the headers say: run tools/python/make_abi.py" % os.path.relpath(OUT))
        return
    with open(OUT, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
