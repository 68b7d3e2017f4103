#!/usr/bin/env python3
"""Compare what room >>abi of qnnrt.h declares, and the numbers in tools/vendor/vendor.txt, with the headers of an SDK.

    python3 tests/project/abi_check.py FOLDER     FOLDER holds QnnInterface.h, or QNN/QnnInterface.h; or make abi-check

The declarations are read from qnnrt.h; tests/project/abi.txt has the vendor's name of each. A C++ program that includes the
headers prints size, offset and kind of both sides: of structs, of fields, of the slots of the function tables with their
arguments, and the values of constants. What a release does not have yet, or does not have any more, is counted.
"""
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = """QnnInterface.h System/QnnSystemInterface.h System/QnnSystemProfile.h System/QnnSystemDlc.h QnnMem.h
    HTP/QnnHtpCommon.h HTP/QnnHtpDevice.h HTP/QnnHtpPerfInfrastructure.h HTP/QnnHtpContext.h HTP/QnnHtpGraph.h
    HTP/QnnHtpMem.h HTPQEMU/QnnHtpQemuCommon.h CPU/QnnCpuCommon.h Saver/QnnSaverCommon.h Saver/QnnSaver.h""".split()
OLDEST = (2, 23)

# Prints a line for each item: what it is, its name, then size, offset and kind on each side. A kind is a letter and a
# size: s and u integers, e an enumerator's type, f floating, p pointer, a anything of several parts; a function's is
# made of those of its result and arguments.
PROBE = """
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
template <class T> struct Kind {
    static std::string text()
    {
        const char letter = std::is_pointer<T>::value ? 'p' : std::is_enum<T>::value ? 'e' :
            std::is_floating_point<T>::value ? 'f' : !std::is_integral<T>::value ? 'a' :
            std::is_signed<T>::value ? 's' : 'u';
        return letter + std::to_string(sizeof(T));
    }
};
template <> struct Kind<void> { static std::string text() { return "v"; } };
template <class... T> struct Kinds { static std::string text() { return ")"; } };
template <class T, class... Rest> struct Kinds<T, Rest...> {
    static std::string text()
    {
        return Kind<typename std::remove_cv<T>::type>::text() + (sizeof...(Rest) ? "," : "") + Kinds<Rest...>::text();
    }
};
template <class R, class... A> struct Kind<R (*)(A...)> {
    static std::string text() { return Kind<R>::text() + "(" + Kinds<A...>::text(); }
};
template <class T> static std::string kind() { return Kind<typename std::remove_cv<T>::type>::text(); }
#define SIZE(T) std::printf(" %zu 0 a", sizeof(T))
#define FIELD(T, path) std::printf(" %zu %zu %s", sizeof(((T *)0)->path), offsetof(T, path), kind<decltype(((T *)0)->path)>().c_str())
#define VALUE(x) std::printf(" %llu 0 -", (unsigned long long)(unsigned)(x))
"""


def room():
    """Return the declarations of room >>abi, and of those like it in headers above."""
    rooms = (("qnnrt.h", "abi"), ("tools/qnnrt_profile.h", "event_abi"), ("tools/qnnrt_builder.h", "op_abi"))
    pattern = r"\n/\* =+\n   [^\n]*>>%s\n.*?\*/\n(.*?)\n#if QNNRT__CAN_CALL\n"
    return "\n".join(re.search(pattern % name, open(os.path.join(TOP, path)).read(), re.S).group(1) for path, name in rooms)


def names_of(declaration):
    """Return the names that one declaration, without its semicolon, gives to fields."""
    call = re.match(r"[\w\s*]*\(\s*\*\s*(\w+)\s*\)\s*\(", declaration)
    if call:
        return [call.group(1)]
    return [re.search(r"(\w+)\s*(\[[^\]]*\])?\s*$", part).group(1) for part in declaration.split(",")]


def members(text):
    """Yield (path, is a leaf) for what is between the braces of a struct or a union."""
    at = 0
    while at < len(text):
        opened = re.match(r"\s*(?:struct|union)\s*\w*\s*\{", text[at:])
        if opened:
            depth, end = 1, at + opened.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            stop = text.index(";", end)
            name = text[end:stop].strip()
            yield name, False
            for path, leaf in members(text[at + opened.end():end - 1]):
                yield name + "." + path, leaf
            at = stop + 1
            continue
        stop = text.find(";", at)
        if stop < 0:
            return
        for name in names_of(text[at:stop]):
            yield name, True
        at = stop + 1


def declared():
    """Return {struct: {path: is a leaf}}, the constants, and {struct: the vendor's names in its comment}."""
    text = room()
    comments = {}
    for name, comment in re.findall(r"struct qnnrt__abi_(\w+) \{ */\* vendor: (.*?)\*/", text, re.S):
        comments[name] = re.findall(r"\w*_\w+", comment.replace("...", ""))
    constants = re.findall(r"\bQNNRT__ABI_(\w+)(?= = |  *0x)", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    structs = {}
    for found in re.finditer(r"^(?:typedef )?struct qnnrt__abi_(\w+)\s*\{", text, re.M):
        depth, end = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        structs[found.group(1)] = dict(members(text[found.end():end - 1]))
    return structs, constants, comments


class Item:
    def __init__(self, what, name, ours, vendors, exact=True):
        self.what, self.name, self.ours, self.vendors, self.exact = what, name, ours, vendors, exact


def listed():
    """Read tests/project/abi.txt: [(struct, prefix, vendor, [(ours, sign, vendors)])], {constant: vendor's name}."""
    structs, constants, fields, types = [], {}, [], []
    for line in open(os.path.join(TOP, "tests", "project", "abi.txt")):
        line = line.split("#")[0].rstrip()
        if line.startswith("struct "):
            head, _, vendors = line.partition(":")
            words = head.split()
            fields = []
            for vendor in vendors.split():
                structs.append((words[1], "prefix" in words, vendor, fields))
        elif line.startswith("const "):
            constants.update(word.split("=") for word in line.split()[1:])
        elif line:
            for word in line.split():
                ours, sign, vendors = re.match(r"([\w.\[\]]+)(?:([=~])(\S+))?$", word).groups()
                fields.append((ours, sign or "=", vendors or ours))
    return structs, constants


def numbers():
    """Yield (vendor's name, number) for the codes and enumerators of vendor.txt."""
    prefixes = {"dtype": "QNN_DATATYPE_", "type": "QNN_TENSOR_TYPE_", "format": "QNN_TENSOR_DATA_FORMAT_",
                "encoding": "QNN_QUANTIZATION_ENCODING_", "definition": "QNN_DEFINITION_"}
    for line in open(os.path.join(TOP, "tools", "vendor", "vendor.txt")):
        words = [word.strip() for word in line.split(" | ")]
        if words[0] in prefixes:
            yield prefixes[words[0]] + words[2], int(words[1], 0)
        elif words[0] == "code":
            for symbol in words[2].split():
                if symbol.startswith("QNN_"):
                    yield symbol, int(words[1], 0)


def items():
    """Return all comparisons."""
    structs, constants = listed()
    result = []
    for name, prefix, vendor, fields in structs:
        ours = "qnnrt__abi_" + name
        if not prefix:
            result.append(Item("struct", "%s = %s" % (name, vendor), "SIZE(%s)" % ours, "SIZE(%s)" % vendor))
        for mine, sign, theirs in fields:
            if theirs != "-":
                slot = name in ("calls", "system_calls", "infrastructure") and mine != "type"
                result.append(Item("slot" if slot else "field", "%s.%s = %s.%s" % (name, mine, vendor, theirs),
                                   "FIELD(%s, %s)" % (ours, mine), "FIELD(%s, %s)" % (vendor, theirs), sign == "="))
    for name, vendor in constants.items():
        if vendor != "-":
            result.append(Item("constant", "%s = %s" % (name, vendor), "VALUE(QNNRT__ABI_%s)" % name, "VALUE(%s)" % vendor))
    for vendor, number in numbers():
        result.append(Item("name", vendor, "VALUE(%d)" % number, "VALUE(%s)" % vendor))
    return result


def faults_of_list():
    """Return what is wrong with tests/project/abi.txt: a declaration without an entry, an entry without a declaration."""
    structs, constants, comments = declared()
    entries, values = listed()
    faults = []
    for name, paths in structs.items():
        mine = [entry for entry in entries if entry[0] == name]
        if not mine:
            faults.append("struct %s has no entry" % name)
            continue
        known = {ours: theirs for entry in mine for ours, _, theirs in entry[3]}
        closed = {ours for ours, theirs in known.items() if theirs == "-"}
        for path, leaf in paths.items():
            above = {path[:at.start()] for at in re.finditer(r"\.", path)}
            if leaf and path not in known and not above & closed and not path.startswith("unused_"):
                faults.append("%s.%s has no entry" % (name, path))
        for word in comments.get(name, []):
            if word.startswith("Qnn") and word not in ("QnnInterface_t",) and not any(entry[2] == word for entry in mine):
                if not any(entry[2].startswith(word) for entry in mine):
                    faults.append("%s: its comment names %s, and its entry does not" % (name, word))
    faults += ["struct %s is not declared" % entry[0] for entry in entries if entry[0] not in structs]
    faults += ["constant %s has no entry" % name for name in constants if name not in values]
    faults += ["constant %s is not declared" % name for name in values if name not in constants]
    return faults


def compile_(folder, text, flags, program=None):
    """Compile a C++ text; return the lines of it that have errors, and the messages."""
    path = os.path.join(folder, "probe.cpp")
    with open(path, "w") as file:
        file.write(text)
    command = os.environ.get("CXX", "g++").split() + ["-std=c++11", "-w", "-Wno-invalid-offsetof", "-fmax-errors=0"] + flags
    command += ["-o", program, path] if program else ["-fsyntax-only", path]
    run = subprocess.run(command, capture_output=True, text=True)
    lines = {int(number) for number in re.findall(r"^[^\n]*probe\.cpp:(\d+):\d+: (?:fatal )?error:", run.stderr, re.M)}
    return lines, run.stderr if run.returncode else ""


def probe(all_items, include, side, vendors):
    """Return the text of the program, and the line of each item."""
    text = PROBE + "".join('#include "%s"\n' % header for header in include)
    text += "#include <cstdarg>\n" + room() + "\n"
    line = text.count("\n") + 1
    at = {}
    for number, item in enumerate(all_items):
        calls = (item.ours if side else "") + "; " + (item.vendors if vendors else "")
        text += 'static void item_%d() { std::printf("%d"); %s; std::puts(""); }\n' % (number, number, calls)
        at[line + number] = item
    text += "int main() {\n" + "".join("item_%d();\n" % number for number in range(len(all_items))) + "}\n"
    return text, at


def same(mine, theirs):
    """True if two kinds are one. Where one has an enumerator, signs do not count."""
    if mine == "v()":       # a slot that we never call
        return True
    if "e" in mine + theirs:
        mine, theirs = (re.sub(r"\b[sue](?=\d)", "e", kind) for kind in (mine, theirs))
    return mine == theirs


def check(folder):
    for base in (folder, os.path.join(folder, "QNN")):
        if os.path.exists(os.path.join(base, "QnnInterface.h")):
            break
    else:
        print("abi-check: no QnnInterface.h and no QNN/QnnInterface.h in %s" % folder)
        return 2
    include = [header for header in HEADERS if os.path.exists(os.path.join(base, header))]
    flags = ["-I" + base, "-I" + os.path.join(base, "System"), "-I" + os.path.join(base, "HTP")]

    def constant(name, files):
        for file in files:
            path = os.path.join(base, file)
            found = os.path.exists(path) and re.search(r"#define\s+%s\s+(\S+)" % name, open(path, errors="replace").read())
            if found:
                return found.group(1).strip('"')
        return "?"
    core = [constant("QNN_API_VERSION_" + part, ["QnnCommon.h"]) for part in ("MAJOR", "MINOR")]
    print("headers: %s, core API %s, system API %s.%s, %d of %d files" % (
        constant("QNN_SDK_BUILD_ID", ["QnnSdkBuildId.h"]), ".".join(core),
        constant("QNN_SYSTEM_API_VERSION_MAJOR", ["System/QnnSystemCommon.h"]),
        constant("QNN_SYSTEM_API_VERSION_MINOR", ["System/QnnSystemCommon.h"]), len(include), len(HEADERS)))
    if all(part.isdigit() for part in core) and tuple(map(int, core)) < OLDEST:
        print("qnnrt needs core %d.%d: it refuses these libraries, and differences are to be expected" % OLDEST)

    with tempfile.TemporaryDirectory() as work:
        everything = items()
        text, at = probe(everything, include, False, True)
        lines, messages = compile_(work, text, flags)
        if messages and not lines & set(at):
            print("abi-check: the headers do not compile:\n%s" % messages[:2000])
            return 2
        absent = [at[line] for line in sorted(lines & set(at))]
        there = [item for item in everything if item not in absent]
        text, at = probe(there, include, True, True)
        program = os.path.join(work, "probe")
        lines, messages = compile_(work, text, flags, program)
        if messages:
            print("abi-check: the probe does not compile:\n%s" % messages[:3000])
            return 2
        output = subprocess.run([program], capture_output=True, text=True, check=True).stdout

    kinds = ("struct", "field", "slot", "constant", "name")
    compared, faults = dict.fromkeys(kinds, 0), []
    for line in output.splitlines():
        words = line.split()
        item, mine, theirs = there[int(words[0])], words[1:4], words[4:7]
        compared[item.what] += 1
        if not item.exact:       # only where it begins
            good = mine[1] == theirs[1]
        elif item.what == "slot":
            good = mine[1] == theirs[1] and same(mine[2], theirs[2])
        else:
            good = mine[:2] == theirs[:2] and same(mine[2], theirs[2])
        if not good:
            if item.what in ("constant", "name"):
                faults.append("%s: ours is %s, the vendor's %s" % (item.name, mine[0], theirs[0]))
            else:
                faults.append("%s: ours has %s bytes at %s (%s), the vendor's %s at %s (%s)" % (item.name, *mine, *theirs))
    for fault in faults:
        print("differs: " + fault)
    print("compared: %d sizes of structs, %d fields, %d slots of function tables with their arguments, %d constants, "
          "%d names of codes and enumerators" % tuple(compared[kind] for kind in kinds))
    if absent:
        names = [item.name.split(" = ")[-1] for item in absent]
        print("not in these headers: %d, such as %s" % (len(absent), ", ".join(names[:12])))
    few = compared["slot"] < 10
    if few:
        print("abi-check: these are no headers of QNN: %d slots found" % compared["slot"])
    print("%d passed, %d failed" % (sum(compared.values()) - len(faults), len(faults) + few))
    return 1 if faults or few else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wrong = faults_of_list()
    for fault in wrong:
        print("tests/project/abi.txt: " + fault)
    sys.exit(1 if wrong else check(sys.argv[1]))
