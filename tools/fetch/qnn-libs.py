#!/usr/bin/env python3
"""Fetch Qualcomm's QNN libraries for Linux and unpack them below build/qnn.

    python3 tools/fetch/qnn-libs.py [--dir DIR] [RELEASE ...]

RELEASE is 2.47, 2.48, 2.49, 2.50, 2.51 (x86-64), aarch64 (2.51 for aarch64 Linux) or all (the five
for x86-64); default 2.47 and 2.51. They come from the Python package onnxruntime-qnn, by pinned
version and sha256, and are written to DIR/<release>/onnxruntime_qnn/libQnnHtp.so and so on, with the C++
runtime they need in DIR/<release>/onnxruntime_qnn.libs (both folders must stay side by side).
Python's standard library and pip are enough; any Python from 3.8 on does.
"""
import os

import packages

X86_64, AARCH64 = "manylinux_2_35_x86_64", "manylinux_2_34_aarch64"
# name: (package version, platform, sha256 of the wheel, folder)
RELEASES = {
    "2.47": ("2.3.0", X86_64, "087bb672ca0cabd3c7fed07084478fe78658cfa09fae1cb013099d7b2289dc72", "2.47"),
    "2.48": ("2.4.0", X86_64, "4c0061ac12d0936f98fe252a24099e6db6fffa62c14fa9c725e001a4147471ee", "2.48"),
    "2.49": ("2.5.0", X86_64, "6a6a8db1e36584b4ac2e5ba356f4943b1916303b7f1fd44e27f4ca056f145dfe", "2.49"),
    "2.50": ("2.6.0", X86_64, "33d8f910031b22b08792d706121caee5b4094b3262c0b31e1c2dab8124268897", "2.50"),
    "2.51": ("2.7.0", X86_64, "c56c01562b8534fe8980cfea4601408d950c065f8251fb862ce82101c52c9849", "2.51"),
    "aarch64": ("2.7.0", AARCH64, "ad08bbfebd7c07ffe83995418303215f46cb25a89e12676f47ee20c32002eaad",
                "2.51-aarch64"),
}
DEFAULT = ["2.47", "2.51"]
ALL = ["2.47", "2.48", "2.49", "2.50", "2.51"]

# Members to unpack.
WANTED = (r"onnxruntime_qnn/(libQnn\w*\.so|libGenie\.so|libonnxruntime_providers_qnn\.so|LICENSE|\w*LICENSE\.pdf)"
          r"|onnxruntime_qnn\.libs/[\w+-][\w.+-]*")
NOTICE = ("The libraries are Qualcomm's, under the licence inside the package (Qualcomm_LICENSE.pdf): "
          "you fetch them for yourself, qnnrt never redistributes them.")


def fetch(name, base):
    version, platform, wheel_hash, folder = RELEASES[name]
    row = packages.Package("pip", "onnxruntime-qnn", version, wheel_hash, WANTED, "onnxruntime_qnn/libQnnHtp.so", 100, True)
    packages.fetch(row, os.path.join(base, folder), [platform])


def main(arguments):
    base, names = packages.base_of(arguments, os.path.join("build", "qnn"))
    names = packages.chosen(names, DEFAULT, sorted(RELEASES), ALL, "release")
    if names is not None:
        packages.say(NOTICE)
    return packages.each(names, lambda name: fetch(name, base))


if __name__ == "__main__":
    packages.start(main)
