#!/usr/bin/env python3
"""Fetch the JSON library that `make bench-json` compares with: yyjson's C source.

    python3 tests/bench-peers.py [--dir DIR]

It comes out of the source package of the Python package yyjson, by pinned version and sha256, and lands
in DIR/yyjson/ (default build/peers). Python's standard library and pip are enough; pip asks the package's
own build for its name, so a network is needed the first time. simdjson and cJSON are Debian packages,
libsimdjson-dev and libcjson-dev: install them to have their columns.
"""
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

PACKAGE, VERSION = "yyjson", "4.0.6"         # holds yyjson 0.10.0
SHA256 = "fcd4dc15c1e39a30bf9fa85d56903029111506860fc3080ab0d81c6c6dacaa8c"
WANTED = {"yyjson/yyjson.c": "yyjson.c", "yyjson/yyjson.h": "yyjson.h", "LICENSE": "LICENSE"}


def say(text):
    print("bench-peers: " + text, flush=True)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def is_there(folder):
    try:
        with open(os.path.join(folder, ".stamp"), encoding="utf-8") as file:
            return file.read() == SHA256 + "\n"
    except OSError:
        return False


def download(work):
    """Let pip fetch the package into work; returns its path, with the hash checked here as well."""
    requirements = os.path.join(work, "requirements.txt")
    with open(requirements, "w", encoding="utf-8") as file:
        file.write("%s==%s --hash=sha256:%s\n" % (PACKAGE, VERSION, SHA256))
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                           "--no-input", "--no-deps", "--no-binary=:all:", "--require-hashes",
                           "-r", requirements, "-d", work],
                          env=dict(os.environ, TMPDIR=work), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = [name for name in os.listdir(work) if name.endswith(".tar.gz")]
    if done.returncode != 0 or len(found) != 1:
        raise OSError("pip could not download %s %s; it said:\n%s"
                      % (PACKAGE, VERSION, done.stdout.decode("utf-8", "replace").strip()[-1500:]))
    path = os.path.join(work, found[0])
    if sha256(path) != SHA256:
        raise OSError("REFUSED: %s has another sha256 than the pinned one" % found[0])
    return path


def unpack(package, folder):
    os.makedirs(folder)
    with tarfile.open(package) as archive:
        for member, name in WANTED.items():
            source = archive.extractfile("%s-%s/%s" % (PACKAGE, VERSION, member))
            with open(os.path.join(folder, name), "wb") as target:
                shutil.copyfileobj(source, target)
    with open(os.path.join(folder, ".stamp"), "w", encoding="utf-8") as file:
        file.write(SHA256 + "\n")


def main(arguments):
    base = arguments[1] if arguments[:1] == ["--dir"] and len(arguments) > 1 else os.path.join("build", "peers")
    folder = os.path.join(base, "yyjson")
    if is_there(folder):
        return 0
    os.makedirs(base, exist_ok=True)
    work = os.path.abspath(tempfile.mkdtemp(prefix=".part-", dir=base))
    try:
        unpack(download(work), os.path.join(work, "fresh"))
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(os.path.join(work, "fresh"), folder)
        say("%s %s is in %s, sha256 as pinned" % (PACKAGE, VERSION, folder))
        return 0
    except (OSError, KeyError, tarfile.TarError) as failure:
        say(str(failure))
        return 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
