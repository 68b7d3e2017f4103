#!/usr/bin/env python3
"""Fetch stock llama.cpp, and build it below build/ggml: what `make test-ggml` loads tools/ggml into.

    python3 tools/fetch/ggml-libs.py [--dir DIR] [--jobs N] [VERSION ...]

VERSION is a ggml version of VERSIONS below, or all; default: 0.25.3. The sources come from the Python source package
llama-cpp-python, by pinned version and sha256, and nothing in them is changed. Each version becomes DIR/<version>/:
bin/ with the shared libraries, test-backend-ops and (0.25.3) llama-bench and llama-perplexity, and the headers in
include/, ggml/include/ and ggml/src/. ggml's backends are libraries that are loaded at run time. The build needs CMake
and a C++ compiler, takes 8 minutes of one core for 0.25.3, and needs 500 MB while it runs, 60 MB afterwards.
"""
import os
import re
import shutil
import subprocess
import sys
import tarfile

import packages
from packages import Failure

PACKAGE, BACKEND = "llama-cpp-python", "scikit_build_core.build"
LIBRARIES = ["ggml-base", "ggml", "ggml-cpu", "llama"]
# ggml's version: version and sha256 of the package, targets of CMake
VERSIONS = {
    "0.25.3": ("0.3.36", "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
               LIBRARIES + ["llama-bench", "llama-perplexity"]),
    # The same api_version as 0.25.3, and other layouts of a buffer's, a backend's and a graph's struct.
    "0.9.11": ("0.3.20", "70f01b7d915d31c617dc66610a332cb2d51cde84c8b152d09a352206323616f5", LIBRARIES),
}
DEFAULT = ["0.25.3"]

# No code for the machine it is built on, and no OpenMP: the same results everywhere. Libraries are found beside.
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
           "-DCMAKE_INSTALL_RPATH=$ORIGIN", "-DGGML_BACKEND_DL=ON", "-DGGML_NATIVE=OFF", "-DGGML_AVX2=ON", "-DGGML_FMA=ON",
           "-DGGML_F16C=ON", "-DGGML_BMI2=ON", "-DGGML_OPENMP=OFF", "-DGGML_CCACHE=OFF", "-DLLAMA_CURL=OFF",
           "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF",
           "-DLLAMA_BUILD_APP=OFF", "-DLLAMA_BUILD_UI=OFF"]
KEPT = re.compile(r"(ggml/)?include/[\w-]+\.h|ggml/src/[\w-]+\.h|ggml/CMakeLists\.txt|LICENSE")


def stamp(version):
    return "\n".join((VERSIONS[version][1], " ".join(VERSIONS[version][2]), " ".join(OPTIONS), KEPT.pattern)) + "\n"


def run(command, log):
    """Run a program with its output in a file; fail with the end of it."""
    with open(log, "ab") as file:
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT).returncode
        except FileNotFoundError:
            raise Failure("%s is missing; on Debian install %s" % (command[0], command[0]))
    if status != 0:
        with open(log, encoding="utf-8", errors="replace") as file:
            raise Failure("%s ended with status %d; it said:\n%s" % (" ".join(command[:3]), status, file.read()[-3000:]))


def sources(package, folder):
    """Unpack llama.cpp from the package; the files there have its folders' names."""
    with tarfile.open(package, "r:gz") as archive:
        for member in archive:
            parts = member.name.split("/")
            if parts[1:3] != ["vendor", "llama.cpp"] or not member.isfile() or ".." in parts:
                continue
            path = os.path.join(folder, *parts[3:])
            packages.write(archive.extractfile(member), path, parts[-1])
            os.chmod(path, 0o755 if member.mode & 0o100 else 0o644)


def build(package, fresh, version, jobs):
    """Build the targets, and keep programs, libraries and headers in the folder fresh. Return how many files."""
    work = os.path.dirname(package)
    source, objects, log = (os.path.join(work, name) for name in ("source", "objects", "log"))
    sources(package, source)
    targets = VERSIONS[version][2]
    tools = [] if "llama-bench" in targets else ["-DLLAMA_BUILD_TOOLS=OFF", "-DLLAMA_BUILD_COMMON=OFF"]
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run(["cmake", "-S", source, "-B", objects] + generator + OPTIONS + tools, log)
    run(["cmake", "--build", objects, "--parallel", str(jobs), "--target"] + targets, log)
    # Its target would need all of the tests' common code; the file needs ggml alone.
    run([os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-I", source + "/ggml/include", source + "/tests/test-backend-ops.cpp",
         "-o", objects + "/bin/test-backend-ops", "-L", objects + "/bin", "-lggml", "-lggml-base", "-pthread",
         "-Wl,-rpath,$ORIGIN"], log)
    count = 0
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            if KEPT.fullmatch(os.path.relpath(path, source)):
                target = os.path.join(fresh, os.path.relpath(path, source))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(path, target)
                count += 1
    shutil.copytree(objects + "/bin", fresh + "/bin", symlinks=True)
    return count + len(os.listdir(fresh + "/bin"))


def make(version, base, jobs):
    number, digest, _ = VERSIONS[version]
    packages.install(os.path.join(base, version), stamp(version), "%s %s (75 MB), to build ggml %s" % (PACKAGE, number, version),
                     lambda work: packages.download("sdist", PACKAGE, number, digest, [], work, BACKEND),
                     lambda package, fresh: build(package, fresh, version, jobs))


def main(arguments):
    base, jobs = os.path.join("build", "ggml"), os.cpu_count() or 1
    while len(arguments) > 1 and arguments[0] in ("--dir", "--jobs"):
        if arguments[0] == "--dir":
            base = arguments[1]
        else:
            jobs = int(arguments[1])
        arguments = arguments[2:]
    names = packages.chosen(arguments, DEFAULT, VERSIONS, VERSIONS, "version")
    return packages.each(names, lambda name: make(name, base, jobs))


if __name__ == "__main__":
    packages.start(main)
