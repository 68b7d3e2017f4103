"""Packages by pinned version and hash: what qnn-libs.py, engine-libs.py and ggml-libs.py share.

Python's standard library and pip are enough; any Python from 3.8 on does. A folder of unpacked files has a .stamp, whose
text says what was unpacked; it is written last, and the folder appears by a rename: it is whole, or it is not there."""
import collections
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile


class Failure(Exception):
    pass


# source, package, version, sha256: see download(). members: a pattern of what is unpacked. needed: a file that must be
# there. size: in megabytes. folders: True: members keep theirs; else the last component of a name is the file's name.
Package = collections.namedtuple("Package", "source package version sha256 members needed size folders", defaults=(False,))


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
    open(os.path.join(os.path.dirname(path), "__init__.py"), "w").close()      # else an installed package comes first
    with open(path, "w", encoding="utf-8") as file:
        file.write(NAME_ONLY % (package, version))
    return os.path.join(folder, "backend")


def download(source, package, version, wanted, platforms, folder, backend="setuptools.build_meta"):
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
        if "No module named pip" in text:
            raise Failure("pip is missing: '%s -m pip' does not work; on Debian install python3-pip" % sys.executable)
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


def members(path):
    """Yield the name and an open file of each regular member."""
    if path.endswith(".gz") or path.endswith(".tgz"):
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


def unpack(path, folder, row):
    """Unpack the members of a row: the pattern is of whole names, so that none leaves the folder. Return how many."""
    wanted, count = re.compile(row.members), 0
    for name, source in members(path):
        if wanted.fullmatch(name):
            write(source, os.path.join(folder, *name.split("/")[0 if row.folders else -1:]), name)
            count += 1
    if not os.path.exists(os.path.join(folder, row.needed)):
        raise Failure("the package holds no " + os.path.basename(row.needed))
    return count


def install(folder, stamp, title, get, make):
    """Make folder, unless it is there: get(work) returns the package's path, make(package, fresh) counts its files."""
    if is_there(folder, stamp):
        say("%s is there already" % folder)
        return
    say("fetching " + title)
    base = os.path.dirname(folder)
    os.makedirs(base, exist_ok=True)
    work = os.path.abspath(tempfile.mkdtemp(prefix=".part-", dir=base))
    try:
        package = get(work)
        fresh = os.path.join(work, "unpacked")
        count = make(package, fresh)
        with open(os.path.join(fresh, ".stamp"), "w", encoding="utf-8") as file:
            file.write(stamp)
        try:
            if os.path.lexists(folder) and not is_there(folder, stamp):
                os.rename(folder, os.path.join(work, "old"))
            os.rename(fresh, folder)
        except OSError:
            if not is_there(folder, stamp):   # else another run was faster
                raise
        say("%s: %d files, sha256 as pinned" % (folder, count))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def fetch(row, folder, platforms):
    """Make a folder of a row. The pattern belongs to the stamp: if it changes, the package is unpacked again."""
    install(folder, row.sha256 + "\n" + row.members + "\n", "%s %s (%d MB)" % (row.package, row.version, row.size),
            lambda work: download(*row[:4], platforms, work), lambda path, fresh: unpack(path, fresh, row))


def base_of(arguments, base):
    """Take --dir from the arguments. Return the folder, and the other arguments."""
    return (arguments[1], arguments[2:]) if arguments[:1] == ["--dir"] and len(arguments) > 1 else (base, arguments)


def chosen(words, default, known, every, noun):
    """The known names that words ask for, "all" for every, or None after saying which is unknown."""
    names = [name for word in words or default for name in (every if word == "all" else [word])]
    unknown = [name for name in names if name not in known]
    if unknown:
        say("no such %s: %s; there are %s and all" % (noun, " ".join(unknown), " ".join(known)))
    return None if unknown else names


def each(names, fetch):
    """Call fetch for each name of chosen(), also after a failure of another one. Return the exit status."""
    if names is None:
        return 2
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
