#!/usr/bin/env python3
"""Fetch Qualcomm's QNN libraries for Linux and unpack them below build/qnn.

    python3 tests/qnn-libs.py [--dir DIR] [RELEASE ...]

RELEASE is 2.47, 2.48, 2.49, 2.50, 2.51 (x86-64), aarch64 (2.51 for aarch64 Linux) or all (the five
for x86-64); default 2.47 and 2.51. They come from the Python package onnxruntime-qnn, by pinned
version and sha256, and are written to DIR/<release>/onnxruntime_qnn/libQnnHtp.so and so on, with the C++
runtime they need in DIR/<release>/onnxruntime_qnn.libs (both folders must stay side by side).
Python's standard library and pip are enough; any Python from 3.8 on does.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "onnxruntime-qnn"
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

# Members to unpack; a full match, so that a member cannot leave the folder.
WANTED = re.compile(r"onnxruntime_qnn/(libQnn\w*\.so|libGenie\.so|libonnxruntime_providers_qnn\.so|LICENSE|\w*LICENSE\.pdf)"
                    r"|onnxruntime_qnn\.libs/[\w+-][\w.+-]*")
NOTICE = ("The libraries are Qualcomm's, under the licence inside the package (Qualcomm_LICENSE.pdf): "
          "you fetch them for yourself, qnnrt never redistributes them.")


class Failure(Exception):
    pass


def say(text):
    print("qnn-libs: " + text, flush=True)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def stamp_text(wheel_hash):
    # The pattern belongs to the stamp: if it changes, the wheel is unpacked again.
    return wheel_hash + "\n" + WANTED.pattern + "\n"


def is_there(folder, wheel_hash):
    try:
        with open(os.path.join(folder, ".stamp"), encoding="utf-8") as file:
            return file.read() == stamp_text(wheel_hash)
    except OSError:
        return False


def download(version, platform, wheel_hash, folder):
    """Let pip fetch the wheel into folder; return its path after a check of the hash."""
    requirements = os.path.join(folder, "requirements.txt")
    with open(requirements, "w", encoding="utf-8") as file:
        file.write("%s==%s --hash=sha256:%s\n" % (PACKAGE, version, wheel_hash))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
               "--no-input", "--no-deps", "--only-binary=:all:", "--platform", platform,
               "--python-version", "311", "--require-hashes", "-r", requirements, "-d", folder]
    environment = dict(os.environ, TMPDIR=folder)   # pip's own temporary files stay in build/
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        text = done.stdout.decode("utf-8", "replace").strip()
        if "DO NOT MATCH THE HASHES" in text.upper():
            raise Failure("REFUSED: the package that came has another sha256 than the pinned one\n" + text)
        raise Failure("pip could not download %s %s (no network?); it said:\n%s"
                      % (PACKAGE, version, text[-1500:]))
    wheels = [name for name in os.listdir(folder) if name.endswith(".whl")]
    if len(wheels) != 1:
        raise Failure("pip left %d wheels instead of one" % len(wheels))
    path = os.path.join(folder, wheels[0])
    found = sha256(path)
    if found != wheel_hash:
        raise Failure("REFUSED: %s has sha256\n    %s, pinned is\n    %s" % (wheels[0], found, wheel_hash))
    return path


def unpack(wheel, folder):
    libraries = 0
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if not WANTED.fullmatch(member):
                continue
            path = os.path.join(folder, *member.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with archive.open(member) as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            if ".so" in member:
                os.chmod(path, 0o755)
                libraries += 1
    if not os.path.exists(os.path.join(folder, "onnxruntime_qnn", "libQnnHtp.so")):
        raise Failure("the package holds no libQnnHtp.so")
    return libraries


def fetch(name, base):
    version, platform, wheel_hash, folder_name = RELEASES[name]
    folder = os.path.join(base, folder_name)
    if is_there(folder, wheel_hash):
        say("%s is there already" % folder)
        return
    say("fetching %s %s (about 100 MB)" % (PACKAGE, version))
    os.makedirs(base, exist_ok=True)
    work = os.path.abspath(tempfile.mkdtemp(prefix=".part-", dir=base))
    try:
        wheel = download(version, platform, wheel_hash, work)
        fresh = os.path.join(work, "unpacked")
        libraries = unpack(wheel, fresh)
        with open(os.path.join(fresh, ".stamp"), "w", encoding="utf-8") as file:
            file.write(stamp_text(wheel_hash))
        try:
            if os.path.lexists(folder) and not is_there(folder, wheel_hash):
                os.rename(folder, os.path.join(work, "old"))
            os.rename(fresh, folder)
        except OSError:
            if not is_there(folder, wheel_hash):   # else another run was faster
                raise
        say("%s: %d libraries, sha256 as pinned" % (folder, libraries))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main(arguments):
    base = os.path.join("build", "qnn")
    if arguments[:1] == ["--dir"] and len(arguments) > 1:
        base, arguments = arguments[1], arguments[2:]
    names = []
    for name in arguments or DEFAULT:
        names += ALL if name == "all" else [name]
    unknown = [name for name in names if name not in RELEASES]
    if unknown:
        say("no such release: %s; there are %s and all" % (" ".join(unknown), " ".join(sorted(RELEASES))))
        return 2
    say(NOTICE)
    missing = [name for name in names
               if not is_there(os.path.join(base, RELEASES[name][3]), RELEASES[name][2])]
    if missing:
        probe = subprocess.run([sys.executable, "-m", "pip", "--version"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if probe.returncode != 0:
            say("pip is missing: '%s -m pip' does not work; on Debian install python3-pip" % sys.executable)
            return 1
    status = 0
    for name in names:
        try:
            fetch(name, base)
        except (Failure, OSError, zipfile.BadZipFile) as failure:
            say("%s failed: %s" % (name, failure))
            status = 1
    return status


if __name__ == "__main__":
    if sys.version_info < (3, 8):
        sys.exit("qnn-libs: Python 3.8 or newer is needed, this is " + sys.version.split()[0])
    sys.exit(main(sys.argv[1:]))
