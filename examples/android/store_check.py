#!/usr/bin/env python3
"""Check a package of Android as far as a desk can do what a store does.

    python3 examples/android/store_check.py FILE.apk|FILE.aab|FILE.aar|FOLDER [...]

A FOLDER is one of native libraries, such as jniLibs or jni: its folders have names of ABIs. The checks:

  abi         libraries are for arm64-v8a or x86_64: there is no library of 32 bits, and each file is of its folder's ABI
  pages       each LOAD segment is aligned to 16 KB, and its address and offset agree
  skel        no file for the Hexagon DSP is among them: it has pages of 4 KB, and stores refuse it
  relocation  no text relocations
  own         libcdsprpc.so belongs to the phone, libc++_shared.so to nobody here
  stored      an APK that runs its libraries in place has them uncompressed at 16 KB; one that unpacks them, compressed
  target      an APK's targetSdkVersion is 35 or higher, its minSdkVersion 24 or higher

What it cannot see without the store: signatures, policies, what a device does. Prints a line for each fault and one for
each package; the status is 1 if there is a fault, 2 if a file is no package.
"""
import io
import os
import struct
import sys
import zipfile
import xml.etree.ElementTree

PAGE = 0x4000
TARGET, LOWEST = 35, 24
MACHINES = {"arm64-v8a": 183, "x86_64": 62}
HEXAGON = 164
FOREIGN = {"libcdsprpc.so": "belongs to the phone", "libc++_shared.so": "is not needed: Qualcomm's libraries have their own"}
ANDROID = "{http://schemas.android.com/apk/res/android}"
# Numbers of attributes in a compiled manifest, of android.R.attr.
ATTRIBUTES = {0x0101020C: "minSdkVersion", 0x01010270: "targetSdkVersion", 0x010104EA: "extractNativeLibs"}


class Wrong(Exception):
    """The bytes are not what their name says."""


def elf_faults(data, abi):
    """Yield (check, fault) for the bytes of a library in a folder of this ABI."""
    if data[:4] != b"\x7fELF" or len(data) < 52:
        yield "abi", "it is not an ELF file"
        return
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine == HEXAGON:
        yield "skel", ("it is a file for the Hexagon DSP: stores refuse its pages of 4 KB. Put it into assets, and give the "
                       "DSP a folder of the app")
        return
    if data[4] != 2 or data[5] != 1:
        yield "abi", "it is a library of 32 bits"
        return
    if machine != MACHINES[abi]:
        yield "abi", f"it is for machine {machine}, expected {MACHINES[abi]} of {abi}"
    try:
        headers = segments(data)
    except struct.error:
        yield "pages", "its program headers are beyond its end"
        return
    loads = [h for h in headers if h[0] == 1]
    if not loads:
        yield "pages", "it has no LOAD segment"
    for _, offset, address, size, align in loads:
        if align < PAGE or align & (align - 1):
            yield "pages", f"a LOAD segment is aligned to {align:#x}, expected {PAGE:#x} or more"
        elif (address - offset) % align:
            yield "pages", f"a LOAD segment at {address:#x} does not agree with its offset {offset:#x}"
    for kind, offset, _, size, _ in headers:
        if kind != 2:
            continue
        for at in range(offset, min(offset + size, len(data)) - 15, 16):
            tag, value = struct.unpack_from("<QQ", data, at)
            if tag == 0:
                break
            if tag == 22 or (tag == 30 and value & 4):
                yield "relocation", "it has text relocations"
                break


def segments(data):
    """Return (type, offset, address, bytes in the file, alignment) of each segment of a 64-bit ELF file."""
    start = struct.unpack_from("<Q", data, 32)[0]
    size, count = struct.unpack_from("<HH", data, 54)
    found = []
    for i in range(count):
        kind, _, offset, address, _, stored, _, align = struct.unpack_from("<IIQQQQQQ", data, start + i * size)
        found.append((kind, offset, address, stored, align))
    return found


def compiled_manifest(data):
    """Return the attributes of ATTRIBUTES in a compiled AndroidManifest.xml, as numbers."""
    found, names = {}, []
    try:
        kind, header, _ = struct.unpack_from("<HHI", data, 0)
        if kind != 3:
            raise Wrong("AndroidManifest.xml is not compiled")
        at = header
        while at + 8 <= len(data):
            kind, header, size = struct.unpack_from("<HHI", data, at)
            if size < 8:
                raise Wrong("AndroidManifest.xml has a chunk without bytes")
            if kind == 0x0180:
                names = struct.unpack_from(f"<{(size - header) // 4}I", data, at + header)
            elif kind == 0x0102:
                first, step, count = struct.unpack_from("<HHH", data, at + header + 8)
                for i in range(count):
                    _, name, _, _, _, _, value = struct.unpack_from("<IIIHBBI", data, at + header + first + i * step)
                    if name < len(names) and names[name] in ATTRIBUTES:
                        found[ATTRIBUTES[names[name]]] = value
            at += size
    except struct.error as short:
        raise Wrong("AndroidManifest.xml is cut short") from short
    return found


def text_manifest(data):
    """Return the same of a manifest that is text, as in an AAR."""
    try:
        tree = xml.etree.ElementTree.fromstring(data)
    except xml.etree.ElementTree.ParseError as wrong:
        raise Wrong(f"AndroidManifest.xml: {wrong}") from wrong
    found = {}
    for node in tree.iter():
        for name in ATTRIBUTES.values():
            value = node.get(ANDROID + name)
            if value is not None:
                found[name] = {"true": 1, "false": 0}.get(value, int(value) if value.isdigit() else -1)
    return found


def manifest_faults(facts, kind):
    """Yield faults of the levels in a manifest; an AAR has no target of its own."""
    lowest, target = facts.get("minSdkVersion", 1), facts.get("targetSdkVersion", 0)
    if lowest < LOWEST:
        yield "AndroidManifest.xml", "target", f"minSdkVersion is {lowest}, expected {LOWEST} or more"
    if kind == "apk" and target < TARGET:
        yield "AndroidManifest.xml", "target", f"targetSdkVersion is {target or 'missing'}, expected {TARGET} or more"


def folder_libraries(root):
    """Yield (path in the package, ABI, bytes) of a folder with folders of ABIs."""
    for folder, _, files in sorted(os.walk(root)):
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                yield os.path.relpath(path, root), os.path.basename(folder), file.read()


def zip_libraries(package, prefix):
    """Yield the same of a package; prefix is the folder of its libraries."""
    for entry in package.infolist():
        parts = entry.filename.split("/")
        if not entry.is_dir() and prefix in parts[:-1]:
            yield entry.filename, parts[parts.index(prefix) + 1] if len(parts) > 2 else "", package.read(entry)


def stored_faults(package, raw, unpacks):
    """Yield faults of how an APK stores its libraries."""
    for entry in package.infolist():
        if not entry.filename.startswith("lib/") or not entry.filename.endswith(".so"):
            continue
        if unpacks:
            if entry.compress_type == zipfile.ZIP_STORED:
                yield entry.filename, "stored", "it is unpacked at install and not compressed: the package is larger than needed"
            continue
        if entry.compress_type != zipfile.ZIP_STORED:
            yield entry.filename, "stored", "it is compressed, and extractNativeLibs is false: it cannot be loaded in place"
            continue
        name, extra = struct.unpack_from("<HH", raw, entry.header_offset + 26)
        begin = entry.header_offset + 30 + name + extra
        if begin % PAGE:
            yield entry.filename, "stored", f"it begins at byte {begin} of the package, expected a multiple of {PAGE}"


def library_faults(libraries, count):
    """Yield the faults of libraries; count[0] becomes their number."""
    for path, abi, data in libraries:
        name = path.split("/")[-1]
        if data[:4] != b"\x7fELF" and not name.endswith(".so"):
            continue
        count[0] += 1
        if abi not in MACHINES:
            yield path, "abi", f"its folder is \"{abi}\", expected " + " or ".join(MACHINES)
            continue
        if name in FOREIGN:
            yield path, "own", "it " + FOREIGN[name]
        for check, fault in elf_faults(data, abi):
            yield path, check, fault


def check(path):
    """Return (number of libraries, faults) of a package or folder; raise Wrong, OSError."""
    count = [0]
    if os.path.isdir(path):
        return count, list(library_faults(folder_libraries(path), count))
    kind = path.rsplit(".", 1)[-1].lower()
    if kind not in ("apk", "aab", "aar"):
        raise Wrong("its name ends in none of .apk, .aab and .aar")
    with open(path, "rb") as file:
        raw = file.read()
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as package:
            faults = list(library_faults(zip_libraries(package, "jni" if kind == "aar" else "lib"), count))
            if kind == "aab":                 # its manifest is a message of its own format: bundletool reads that
                return count, faults
            facts = (text_manifest if kind == "aar" else compiled_manifest)(package.read("AndroidManifest.xml"))
            faults += manifest_faults(facts, kind)
            if kind == "apk":
                faults += stored_faults(package, raw, facts.get("extractNativeLibs", 0) != 0)
            return count, faults
    except KeyError as missing:
        raise Wrong("it has no AndroidManifest.xml") from missing
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as wrong:
        raise Wrong(f"it is no package: {wrong}") from wrong


def main(paths):
    if not paths or paths[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if paths else 2
    status = 0
    for path in paths:
        try:
            count, faults = check(path)
        except (Wrong, OSError) as wrong:
            print(f"{path}: {wrong}", file=sys.stderr)
            status = 2
            continue
        for where, what, fault in faults:
            print(f"{path}: {where}: {what}: {fault}")
        print(f"{path}: {count[0]} libraries, {len(faults)} faults")
        if faults and status == 0:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
