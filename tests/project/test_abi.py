#!/usr/bin/env python3
"""tests/project/abi.txt has an entry for all that room >>abi declares, and tests/project/abi_check.py finds differences: it gets headers
that are made from the room itself under the vendor's names, then the same with four faults."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import close, holds as check  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import abi_check  # noqa: E402

structs, constants, _ = abi_check.declared()
check(len(structs) > 30 and len(constants) > 40, "%d structs, %d constants are found" % (len(structs), len(constants)))
check(structs["version"] == {"major": True, "minor": True, "patch": True}, "fields of version: %s" % structs["version"])
check(structs["quantize"].get("u.bw_axis") is False and structs["quantize"].get("u.bw_axis.offsets"), "nested fields are not found")
check(structs["calls"].get("graph_execute") and structs["calls"].get("unused_16"), "slots are not found")
for fault in abi_check.faults_of_list():
    check(False, "tests/project/abi.txt: " + fault)

# The room as headers of an SDK: other names of types and constants, the vendor's names of fields in four structs.
text = re.sub(r"/\*.*?\*/", "", abi_check.room(), flags=re.S).replace("qnnrt__abi_", "sdk_").replace("QNNRT__ABI_", "SDK_")
types = {"calls": "QNN_INTERFACE_VER_TYPE", "version": "Qnn_Version_t", "client_buffer": "Qnn_ClientBuffer_t",
         "scale_offset": "Qnn_ScaleOffset_t"}
entries, values = abi_check.listed()
for name in types:
    begin = re.search(r"struct sdk_%s \{" % name, text).end()
    end = text.index("} sdk_%s;" % name, begin)
    body = text[begin:end]
    for ours, _, theirs in next(entry[3] for entry in entries if entry[0] == name):
        if theirs != "-":
            body = re.sub(r"\b%s\b(?=\)\(|,|;)" % ours, theirs, body)
    text = text[:begin] + body + text[end:]
text = "#include <stdint.h>\n#include <stdarg.h>\n#include <stddef.h>\n" + text
text += "".join("typedef sdk_%s %s;\n" % pair for pair in types.items())
text += "".join("enum { %s = (int)SDK_%s };\n" % (theirs, ours) for ours, theirs in values.items() if theirs != "-")


def run(header):
    """Return the status and the output of tests/project/abi_check.py with one header."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "QnnInterface.h"), "w") as file:
            file.write(header)
        done = subprocess.run([sys.executable, os.path.join(abi_check.TOP, "tests", "project", "abi_check.py"), folder],
                              capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def replaced(where, old, new):
    """Return a text in which one place is another; it must be there."""
    check(where.count(old) == 1, "%d places of %r" % (where.count(old), old))
    return where.replace(old, new, 1)


status, output = run(text)
check(status == 0, "the room itself differs: " + output)
found = re.search(r"compared: 3 sizes of structs, (\d+) fields, (\d+) slots .*, (\d+) constants", output)
check(found and int(found.group(1)) == 7 and int(found.group(2)) > 30 and int(found.group(3)) > 40, "compared is: " + output)

wrong = replaced(text, "struct sdk_scale_offset { float scale; int32_t offset; }",
                 "struct sdk_scale_offset { double scale; uint32_t offset; }")
wrong = replaced(wrong, "(*backendFree)(sdk_handle backend);", "(*backendFree)(uint32_t backend);")
wrong = replaced(wrong, "    sdk_slot logSetLogLevel;", "    sdk_slot more; sdk_slot logSetLogLevel;")
wrong = replaced(wrong, "enum { QNN_TENSOR_TYPE_STATIC = (int)SDK_STATIC };", "enum { QNN_TENSOR_TYPE_STATIC = 7 };")
status, output = run(wrong)
check(status == 1, "status %d with five faults: %s" % (status, output))
for text in ("scale_offset = Qnn_ScaleOffset_t: ours has 8 bytes", "scale_offset.scale = ", "scale_offset.offset = ",
             "calls.backend_free = QNN_INTERFACE_VER_TYPE.backendFree: ours has 8 bytes at 64 (u8(p8)), the vendor's 8 at 64 (u8(u4))",
             "calls.log_free = ", "calls.device_free = ", "STATIC = QNN_TENSOR_TYPE_STATIC: ours is 4, the vendor's 7"):
    check("differs: " + text in output, "not reported: %s: %s" % (text, output[:1500]))
check("calls.graph_execute" not in output, "a slot before the fault is reported")

done = subprocess.run([sys.executable, os.path.join(abi_check.TOP, "tests", "project", "abi_check.py"), "/no/such/folder"], capture_output=True, text=True)
check(done.returncode == 2 and "/no/such/folder" in done.stdout, "a folder without headers: " + done.stdout + done.stderr)
sys.exit(close())
