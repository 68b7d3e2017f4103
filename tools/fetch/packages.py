"""Packages by pinned version and hash: what qnn-libs.py, engine-libs.py and ggml-libs.py share.

Python's standard library and pip are enough; any Python from 3.8 on does. A folder of unpacked files has a .stamp, whose
text says what was unpacked; it is written last, and the folder appears by a rename: it is whole, or it is not there."""
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile


class Failure(Exception):
    pass


def program():
    return os.path.splitext(os.path.basename(sys.argv[0]))[0]


def say(text):
    print(program() + ": " + text, flush=True)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def is_there(folder, stamp):
    try:
        with open(os.path.join(folder, ".stamp"), encoding="utf-8") as file:
            return file.read() == stamp
    except OSError:
        return False


# pip asks a source package's build backend for its name and version, and would install CMake to get it. This is all
# the answer it needs; the folder of the module is the first in PYTHONPATH.
NAME_ONLY = """import os
NAME, VERSION = %r, %r
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(folder, config_settings=None):
    made = NAME.replace("-", "_") + "-" + VERSION + ".dist-info"
    os.mkdir(os.path.join(folder, made))
    with open(os.path.join(folder, made, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: " + NAME + "\\nVersion: " + VERSION + "\\n")
    return made
"""


def name_only(backend, package, version, folder):
    """Write a build backend that knows the package's name and version; return the folder for PYTHONPATH."""
    path = os.path.join(folder, "backend", *backend.split(".")) + ".py"
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(NAME_ONLY % (package, version))
    return os.path.join(folder, "backend")


def download(source, package, version, wanted, platforms, folder, backend=None):
    """Let pip or npm fetch a package into folder; return its path after a check of the hash.

    source is pip (a wheel), sdist (a source package whose build backend is the module .backend) or npm."""
    environment = dict(os.environ, TMPDIR=folder)   # temporary files stay in build/
    if source in ("pip", "sdist"):
        requirements = os.path.join(folder, "requirements.txt")
        with open(requirements, "w", encoding="utf-8") as file:
            file.write("%s==%s --hash=sha256:%s\n" % (package, version, wanted))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                   "--no-input", "--no-deps", "--require-hashes", "-r", requirements, "-d", folder]
        if source == "sdist":
            command += ["--no-binary=:all:", "--no-build-isolation"]
            environment["PYTHONPATH"] = name_only(backend, package, version, folder)
        else:
            command += ["--only-binary=:all:", "--python-version", "311"]
            for platform in platforms:
                command += ["--platform", platform]
    else:
        command = ["npm", "pack", "--silent", "%s@%s" % (package, version)]
    try:
        done = subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except FileNotFoundError:
        raise Failure("%s is missing; on Debian install %s" % (command[0], command[0]))
    if done.returncode != 0:
        text = done.stdout.decode("utf-8", "replace").strip()
        if "DO NOT MATCH THE HASHES" in text.upper():
            raise Failure("REFUSED: the package that came has another sha256 than the pinned one\n" + text)
        raise Failure("%s could not download %s %s (no network?); it said:\n%s"
                      % (source, package, version, text[-1500:]))
    found = [name for name in os.listdir(folder) if name.endswith((".whl", ".tgz", ".tar.gz"))]
    if len(found) != 1:
        raise Failure("%s left %d packages instead of one" % (source, len(found)))
    path = os.path.join(folder, found[0])
    digest = sha256(path)
    if digest != wanted:
        raise Failure("REFUSED: %s has sha256\n    %s, pinned is\n    %s" % (found[0], digest, wanted))
    return path


def write(source, path, name):
    """Write an open member of a package; libraries are executable."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    if ".so" in name:
        os.chmod(path, 0o755)


def install(folder, stamp, get, unpack):
    """Make folder: get(work) returns the package's path, unpack(package, fresh) what it counts."""
    base = os.path.dirname(folder)
    os.makedirs(base, exist_ok=True)
    work = os.path.abspath(tempfile.mkdtemp(prefix=".part-", dir=base))
    try:
        package = get(work)
        fresh = os.path.join(work, "unpacked")
        count = unpack(package, fresh)
        with open(os.path.join(fresh, ".stamp"), "w", encoding="utf-8") as file:
            file.write(stamp)
        try:
            if os.path.lexists(folder) and not is_there(folder, stamp):
                os.rename(folder, os.path.join(work, "old"))
            os.rename(fresh, folder)
        except OSError:
            if not is_there(folder, stamp):   # else another run was faster
                raise
        return count
    finally:
        shutil.rmtree(work, ignore_errors=True)


def chosen(words, default, known, every, noun):
    """The known names that words ask for, "all" for every, or None after saying which is unknown."""
    names = [name for word in words or default for name in (every if word == "all" else [word])]
    unknown = [name for name in names if name not in known]
    if unknown:
        say("no such %s: %s; there are %s and all" % (noun, " ".join(unknown), " ".join(known)))
    return None if unknown else names


def each(names, fetch):
    """Call fetch for each name, also after a failure of another one. Return the exit status."""
    status = 0
    for name in names:
        try:
            fetch(name)
        except (Failure, OSError, zipfile.BadZipFile, tarfile.TarError) as failure:
            say("%s failed: %s" % (name, failure))
            status = 1
    return status


def start(main):
    """Run main with the arguments, on a Python that is new enough."""
    if sys.version_info < (3, 8):
        sys.exit("%s: Python 3.8 or newer is needed, this is %s" % (program(), sys.version.split()[0]))
    sys.exit(main(sys.argv[1:]))
