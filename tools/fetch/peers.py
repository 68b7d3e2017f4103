#!/usr/bin/env python3
"""Fetch the peers of the benches: yyjson's C source for bench-json, ONNX Runtime's library for bench-ops.

    python3 tools/fetch/peers.py [--dir DIR] [yyjson] [onnxruntime]

Both come from Python packages with pinned version and sha256, and are written to DIR/<name>/ (default build/peers).
Without a name, both are fetched. This needs Python's standard library and pip, and a network the first time.
simdjson and cJSON are Debian packages, libsimdjson-dev and libcjson-dev: install them to have their columns.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# name: package, version, sha256, kind of package for pip, files and their new names
PEERS = {
    "yyjson": ("yyjson", "4.0.6",                         # holds yyjson 0.10.0
               "fcd4dc15c1e39a30bf9fa85d56903029111506860fc3080ab0d81c6c6dacaa8c",
               ["--no-binary=:all:"],
               {"yyjson-4.0.6/yyjson/yyjson.c": "yyjson.c", "yyjson-4.0.6/yyjson/yyjson.h": "yyjson.h",
                "yyjson-4.0.6/LICENSE": "LICENSE"}),
    # One wheel for every Python: only its shared library is used, from C.
    "onnxruntime": ("onnxruntime", "1.31.1",
                    "1f3dea47f2f0e5117c2404cea7d21fd253ae7836a3bf167a501cdfbb2600d536",
                    ["--only-binary=:all:", "--python-version=3.12", "--implementation=cp", "--abi=cp312",
                     "--platform=manylinux_2_28_x86_64"],
                    {"onnxruntime/capi/libonnxruntime.so.1.31.1": "libonnxruntime.so",
                     "onnxruntime/LICENSE": "LICENSE"}),
}


def say(text):
    print("bench-peers: " + text, flush=True)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def is_there(folder, digest):
    try:
        with open(os.path.join(folder, ".stamp"), encoding="utf-8") as file:
            return file.read() == digest + "\n"
    except OSError:
        return False


def download(work, package, version, digest, options):
    """Fetch the package with pip into work, check its hash and return its path."""
    requirements = os.path.join(work, "requirements.txt")
    with open(requirements, "w", encoding="utf-8") as file:
        file.write("%s==%s --hash=sha256:%s\n" % (package, version, digest))
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                           "--no-input", "--no-deps", "--require-hashes", "-r", requirements, "-d", work] + options,
                          env=dict(os.environ, TMPDIR=work), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = [name for name in os.listdir(work) if name.endswith((".tar.gz", ".whl"))]
    if done.returncode != 0 or len(found) != 1:
        raise OSError("pip could not download %s %s; it said:\n%s"
                      % (package, version, done.stdout.decode("utf-8", "replace").strip()[-1500:]))
    path = os.path.join(work, found[0])
    if sha256(path) != digest:
        raise OSError("REFUSED: %s has another sha256 than the pinned one" % found[0])
    return path


def unpack(package, folder, wanted, digest):
    os.makedirs(folder)
    with (zipfile.ZipFile if package.endswith(".whl") else tarfile.open)(package) as archive:
        for member, name in wanted.items():
            source = archive.open(member) if package.endswith(".whl") else archive.extractfile(member)
            with open(os.path.join(folder, name), "wb") as target:
                shutil.copyfileobj(source, target)
    with open(os.path.join(folder, ".stamp"), "w", encoding="utf-8") as file:
        file.write(digest + "\n")


def fetch(base, peer):
    package, version, digest, options, wanted = PEERS[peer]
    folder = os.path.join(base, peer)
    if is_there(folder, digest):
        return 0
    os.makedirs(base, exist_ok=True)
    work = os.path.abspath(tempfile.mkdtemp(prefix=".part-", dir=base))
    try:
        unpack(download(work, package, version, digest, options), os.path.join(work, "fresh"), wanted, digest)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(os.path.join(work, "fresh"), folder)
        say("%s %s is in %s, sha256 as pinned" % (package, version, folder))
        return 0
    except (OSError, KeyError, tarfile.TarError, zipfile.BadZipFile) as failure:
        say(str(failure))
        return 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main(arguments):
    base = os.path.join("build", "peers")
    if arguments[:1] == ["--dir"] and len(arguments) > 1:
        base, arguments = arguments[1], arguments[2:]
    unknown = [name for name in arguments if name not in PEERS]
    if unknown:
        say("%s is not one of %s" % (unknown[0], ", ".join(PEERS)))
        return 2
    return max(fetch(base, peer) for peer in arguments or PEERS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
