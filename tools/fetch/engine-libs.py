#!/usr/bin/env python3
"""Fetch the inference engines that tests use, and unpack them below build/engines.

    python3 tools/fetch/engine-libs.py [--dir DIR] [NAME ...]

NAME is a row of PACKAGES below, such as onnxruntime-1.31.1, or all (every row); default: the newest
onnxruntime and openvino that were tested. The packages come from PyPI by pip, one from npm by `npm pack`, all
by pinned version and sha256. Only the libraries are unpacked, into DIR/<name>/, without their folders.
Python's standard library and pip are enough; any Python from 3.8 on does.
"""
import os
import re
import tarfile
import zipfile

import packages
from packages import Failure, say

# Members to unpack; a full match. The last component alone becomes the file's name, but for onnx, whose folders stay.
ORT = (r"onnxruntime/capi/libonnxruntime(_providers_shared)?\.so[\w.]*"
       r"|onnxruntime/(LICENSE|ThirdPartyNotices\.txt)")
ORT_NPM = r"package/bin/napi-v\d/linux/x64/libonnxruntime(_providers_shared)?\.so[\w.]*|package/README\.md"
OPENVINO = (r"openvino/libs/libopenvino(_c|_intel_cpu_plugin|_onnx_frontend|_ir_frontend|_auto_plugin|_hetero_plugin)?"
            r"\.so[\w.]*|openvino/libs/lib(tbb|tbbmalloc|tbbbind_2_5|hwloc)\.so[\w.]*"
            r"|openvino-[\w.-]+\.dist-info/(licenses/)?LICENSE")
ONNX = (r"onnx/backend/test/data/(simple|pytorch-operator|pytorch-converted)/\w+/(model\.onnx|test_data_set_0/\w+\.pb)"
        r"|onnx-[\w.-]+\.dist-info/(licenses/)?LICENSE")

# name: (where from, package, version, sha256, members, a file that must be there, megabytes)
PACKAGES = {
    "onnxruntime-1.17.3": ("npm", "onnxruntime-node", "1.17.3",
                           "fd586d4ab53d89fdade19ffcc75b208fd66ab417b247cb6ae299be1bb40d76be",
                           ORT_NPM, "libonnxruntime.so.1.17.3", 52),
    "onnxruntime-1.20.1": ("pip", "onnxruntime", "1.20.1",
                           "5eec64c0269dcdb8d9a9a53dc4d64f87b9e0c19801d9321246a53b7eb5a7d1bc",
                           ORT, "libonnxruntime.so.1.20.1", 13),
    "onnxruntime-1.24.4": ("pip", "onnxruntime", "1.24.4",
                           "e54ad52e61d2d4618dcff8fa1480ac66b24ee2eab73331322db1049f11ccf330",
                           ORT, "libonnxruntime.so.1.24.4", 17),
    "onnxruntime-1.31.1": ("pip", "onnxruntime", "1.31.1",
                           "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",
                           ORT, "libonnxruntime.so.1.31.1", 24),
    "onnxruntime-1.32.0": ("pip", "onnxruntime", "1.32.0",
                           "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d",
                           ORT, "libonnxruntime.so.1.32.0", 28),
    "openvino-2024.6.0": ("pip", "openvino", "2024.6.0",
                          "444a6d3a746dd728654877993c30582faefcad2868c80ec261839a144b8925bc",
                          OPENVINO, "libopenvino_c.so.2460", 45),
    "openvino-2026.4.1": ("pip", "openvino", "2026.4.1",
                          "2d22b1da03f7caf74df30e9f6417d0ab2f637e4a38e08e1dcd294d2c37407aaf",
                          OPENVINO, "libopenvino_c.so.2641", 59),
    "onnx-1.23.2": ("pip", "onnx", "1.23.2",
                    "c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348",
                    ONNX, "onnx", 9),
}
DEFAULT = ["onnxruntime-1.31.1", "openvino-2026.4.1"]
PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64"]


def stamp(row):
    # The pattern belongs to the stamp: if it changes, the package is unpacked again.
    return row[3] + "\n" + row[4] + "\n"


def members(path):
    """Yield the name and an open file of each regular member."""
    if path.endswith(".tgz"):
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, archive.extractfile(member)
    else:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not name.endswith("/"):
                    with archive.open(name) as source:
                        yield name, source


def unpack(package, folder, row):
    wanted, count = re.compile(row[4]), 0
    for name, source in members(package):
        if not wanted.fullmatch(name):
            continue
        parts = name.split("/") if row[1] == "onnx" else name.split("/")[-1:]
        path = os.path.join(folder, *parts)
        packages.write(source, path, name)
        count += 1
    if not os.path.exists(os.path.join(folder, row[5])):
        raise Failure("the package holds no " + row[5])
    return count


def fetch(name, base):
    row = PACKAGES[name]
    folder = os.path.join(base, name)
    if packages.is_there(folder, stamp(row)):
        say("%s is there already" % folder)
        return
    say("fetching %s %s (%d MB)" % (row[1], row[2], row[6]))
    count = packages.install(folder, stamp(row), lambda work: packages.download(*row[:4], PLATFORMS, work),
                             lambda package, fresh: unpack(package, fresh, row))
    say("%s: %d files, sha256 as pinned" % (folder, count))


def main(arguments):
    base = os.path.join("build", "engines")
    if arguments[:1] == ["--dir"] and len(arguments) > 1:
        base, arguments = arguments[1], arguments[2:]
    names = packages.chosen(arguments, DEFAULT, PACKAGES, PACKAGES, "package")
    return 2 if names is None else packages.each(names, lambda name: fetch(name, base))


if __name__ == "__main__":
    packages.start(main)
