#!/usr/bin/env python3
"""Build the wheel of the Python package, with the standard library alone.

    tools/python/build_wheel.py BUILD_DIR OUT_DIR        print the path of the wheel

BUILD_DIR has libqnnrt.so, libQnnRef.so, qnnrt-run and qnnrt-llm. Equal files make equal wheels, byte by byte."""
import base64
import hashlib
import os
import re
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
TAG = "py3-none-linux_x86_64"
BUILT = (("libqnnrt.so", 0o755), ("libQnnRef.so", 0o755), ("qnnrt-run", 0o755), ("qnnrt-llm", 0o755))
METADATA = """Metadata-Version: 2.1
Name: qnnrt
Version: %s
Summary: Run QNN, ONNX and OpenVINO models over engines, with the choice and its reasons visible
License-File: LICENSE
Requires-Python: >=3.8
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/plain

%s
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: qnnrt build_wheel.py\nRoot-Is-Purelib: false\nTag: %s\n" % TAG
ENTRY_POINTS = "[console_scripts]\nqnnrt-run = qnnrt._tools:main_run\nqnnrt-llm = qnnrt._tools:main_llm\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, out = sys.argv[1:]
    version = re.match(r".* v([0-9.]+) ", read(os.path.join(TOP, "qnnrt.h")).decode().split("\n")[0]).group(1)
    package = os.path.join(HERE, "qnnrt")
    about = re.search(r'"""(.*?)"""', read(os.path.join(package, "__init__.py")).decode(), re.S).group(1)
    info = "qnnrt-%s.dist-info/" % version
    files = [("qnnrt/" + name, 0o644, read(os.path.join(package, name))) for name in os.listdir(package)
             if name.endswith((".py", ".pyi", ".typed"))]
    for name, mode in BUILT:
        path = os.path.join(build, name)
        if not os.path.exists(path):
            sys.exit("build_wheel: %s is missing: say 'make wheel'" % path)
        data = read(path)
        if data[:4] != b"\x7fELF" or data[4] != 2 or data[18:20] != b"\x3e\x00":
            sys.exit("build_wheel: %s is not built for x86-64" % path)
        files.append(("qnnrt/" + name, mode, data))
    files += [(info + "METADATA", 0o644, (METADATA % (version, about)).encode()), (info + "WHEEL", 0o644, WHEEL.encode()),
              (info + "entry_points.txt", 0o644, ENTRY_POINTS.encode()), (info + "LICENSE", 0o644, read(os.path.join(TOP, "LICENSE")))]
    files.sort()
    record = "".join("%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
                     for name, _, data in files)
    files.append((info + "RECORD", 0o644, (record + info + "RECORD,,\n").encode()))
    os.makedirs(out, exist_ok=True)
    wheel = os.path.join(out, "qnnrt-%s-%s.whl" % (version, TAG))
    with zipfile.ZipFile(wheel + ".new", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, mode, data in files:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            archive.writestr(entry, data)
    os.replace(wheel + ".new", wheel)
    print(wheel)


main()
