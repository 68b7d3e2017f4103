#!/usr/bin/env python3
"""Fetch the inference engines that tests and benches use, and yyjson for bench-json, into build/engines.

    python3 tools/fetch/engine-libs.py [--dir DIR] [NAME ...]

NAME is a row of PACKAGES below, such as onnxruntime-1.31.1, or all (every row); default: the newest
onnxruntime and openvino that were tested. The packages come from PyPI by pip, one from npm by `npm pack`, all
by pinned version and sha256. Only the libraries are unpacked, into DIR/<name>/, without their folders.
Python's standard library and pip are enough; any Python from 3.8 on does.
"""
import os

import packages
from packages import Package

ORT = (r"onnxruntime/capi/libonnxruntime(_providers_shared)?\.so[\w.]*"
       r"|onnxruntime/(LICENSE|ThirdPartyNotices\.txt)")
ORT_NPM = r"package/bin/napi-v\d/linux/x64/libonnxruntime(_providers_shared)?\.so[\w.]*|package/README\.md"
OPENVINO = (r"openvino/libs/libopenvino(_c|_intel_cpu_plugin|_onnx_frontend|_ir_frontend|_auto_plugin|_hetero_plugin)?"
            r"\.so[\w.]*|openvino/libs/lib(tbb|tbbmalloc|tbbbind_2_5|hwloc)\.so[\w.]*"
            r"|openvino-[\w.-]+\.dist-info/(licenses/)?LICENSE")
YYJSON = r"yyjson-[\d.]+/(yyjson/yyjson\.[ch]|LICENSE)"
ONNX = (r"onnx/backend/test/data/(simple|pytorch-operator|pytorch-converted)/\w+/(model\.onnx|test_data_set_0/\w+\.pb)"
        r"|onnx-[\w.-]+\.dist-info/(licenses/)?LICENSE")

PACKAGES = {
    "onnxruntime-1.17.3": Package("npm", "onnxruntime-node", "1.17.3",
        "fd586d4ab53d89fdade19ffcc75b208fd66ab417b247cb6ae299be1bb40d76be", ORT_NPM, "libonnxruntime.so.1.17.3", 52),
    "onnxruntime-1.20.1": Package("pip", "onnxruntime", "1.20.1",
        "5eec64c0269dcdb8d9a9a53dc4d64f87b9e0c19801d9321246a53b7eb5a7d1bc", ORT, "libonnxruntime.so.1.20.1", 13),
    "onnxruntime-1.24.4": Package("pip", "onnxruntime", "1.24.4",
        "e54ad52e61d2d4618dcff8fa1480ac66b24ee2eab73331322db1049f11ccf330", ORT, "libonnxruntime.so.1.24.4", 17),
    "onnxruntime-1.31.1": Package("pip", "onnxruntime", "1.31.1",
        "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f", ORT, "libonnxruntime.so.1.31.1", 24),
    "onnxruntime-1.32.0": Package("pip", "onnxruntime", "1.32.0",
        "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d", ORT, "libonnxruntime.so.1.32.0", 28),
    "openvino-2024.6.0": Package("pip", "openvino", "2024.6.0",
        "444a6d3a746dd728654877993c30582faefcad2868c80ec261839a144b8925bc", OPENVINO, "libopenvino_c.so.2460", 45),
    "openvino-2026.4.1": Package("pip", "openvino", "2026.4.1",
        "2d22b1da03f7caf74df30e9f6417d0ab2f637e4a38e08e1dcd294d2c37407aaf", OPENVINO, "libopenvino_c.so.2641", 59),
    "onnx-1.23.2": Package("pip", "onnx", "1.23.2",
        "c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348", ONNX, "onnx", 9, True),
    "yyjson-0.10.0": Package("sdist", "yyjson", "4.0.6",
        "fcd4dc15c1e39a30bf9fa85d56903029111506860fc3080ab0d81c6c6dacaa8c", YYJSON, "yyjson.c", 1),
}
DEFAULT = ["onnxruntime-1.31.1", "openvino-2026.4.1"]
PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64"]


def main(arguments):
    base, names = packages.base_of(arguments, os.path.join("build", "engines"))
    names = packages.chosen(names, DEFAULT, PACKAGES, PACKAGES, "package")
    return packages.each(names, lambda name: packages.fetch(PACKAGES[name], os.path.join(base, name), PLATFORMS))


if __name__ == "__main__":
    packages.start(main)
