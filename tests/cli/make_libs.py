#!/usr/bin/env python3
"""Write small files that look like Qualcomm's libraries, for tests of the checker: nothing in them can run.

    python3 tests/cli/make_libs.py < LINES

A line is: PATH KEY=VALUE ... ; # begins a comment. Keys:
    for       android, linux, x86_64, hexagon, arm32 or hexagon64 (default android)
    release   text v<VALUE> in the file, such as 2.51.0.260929181845
    aisw      text AISW_VERSION: <VALUE>
    stamp     text of 12 digits alone
    symbol    name of the skel's function
    arch      the NPU generation in e_flags, in hexadecimal: 75
    id        GNU build id, in hexadecimal
    align     of the segments (default 16384)
    bytes     length; the file is filled with zeros
    cut       leave only that many bytes
    sections  where the section headers begin (default: there are none)
    text      these bytes instead of an ELF file
    pad       so many bytes before the text
    dynamics  so many dynamic sections of 4096 entries, each for the table of names
    each      cut or flip: a folder PATH of files, each cut at one place, or with one byte changed
PATH may hold %20 for a blank.
"""
import os
import struct
import sys

MACHINES = {"android": (183, 64), "linux": (183, 64), "x86_64": (62, 64), "hexagon": (164, 32), "hexagon64": (164, 64), "arm32": (40, 32)}
NEEDED = {"android": ["libm.so", "libc.so"], "linux": ["libm.so.6", "libc.so.6"], "x86_64": ["libc.so.6"]}


def elf(keys):
    """Return the bytes of a shared object: a header, one segment with everything in it, and its dynamic section."""
    platform = keys.get("for", "android")
    machine, bits = MACHINES[platform]
    wide = bits == 64
    head, entry = (64, 56) if wide else (52, 32)
    names = b"\0" + b"".join(name.encode() + b"\0" for name in NEEDED.get(platform, []))
    texts = [keys[key].join((begin, "\0")) for key, begin in
             (("release", "v"), ("aisw", "AISW_VERSION: "), ("stamp", ""), ("symbol", "")) if key in keys]
    note = bytes.fromhex(keys.get("id", ""))
    count = 3 if note else 2
    names_at = head + count * entry
    data = names + b"\0" + "\0".join(texts).encode() + b"\0"
    data += b"\0" * (-(names_at + len(data)) % 8)
    dynamic_at = names_at + len(data)
    pairs = [(1, names.index(b"\0" + name.encode()) + 1) for name in NEEDED.get(platform, [])]
    pairs += [(5, names_at), (10, len(names)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ" if wide else "<II", *pair) for pair in pairs)
    note_at = dynamic_at + len(dynamic)
    if note:
        note = struct.pack("<III", 4, len(note), 3) + b"GNU\0" + note
    total = note_at + len(note)
    align, flags = int(keys.get("align", "16384"), 0), int(keys.get("arch", "0"), 16)
    sections = int(keys.get("sections", "0"))
    ident = b"\177ELF" + bytes([2 if wide else 1, 1, 1]) + b"\0" * 9
    out = ident + struct.pack("<HHI" + ("QQQ" if wide else "III") + "IHHHHHH", 3, machine, 1, 0, head, sections, flags,
                              head, entry, count, 64 if wide else 40, 3 if sections else 0, 0)
    for kind, at, length in ((1, 0, total), (2, dynamic_at, len(dynamic)), (4, note_at, len(note)))[:count]:
        if wide:
            out += struct.pack("<IIQQQQQQ", kind, 5, at, at, at, length, length, align)
        else:
            out += struct.pack("<IIIIIIII", kind, at, at, at, length, length, 5, align)
    return out + data + dynamic + note


def crowd(data, count):
    """Give a 64-bit file another table of segments: its own two, and count dynamic ones that share their bytes."""
    at = len(data)
    entries = struct.pack("<QQ", 5, 64) * 4096
    extra = struct.pack("<IIQQQQQQ", 2, 4, at, at, at, len(entries), len(entries), 8) * count
    header = bytearray(data[:64])
    struct.pack_into("<Q", header, 32, at + len(entries))
    struct.pack_into("<H", header, 56, 2 + count)
    return bytes(header) + data[64:] + entries + data[64:64 + 2 * 56] + extra


def write(path, data, length=None):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as out:
        out.write(data)
        if length is not None:
            out.truncate(length)


for line in sys.stdin:
    words = line.split("#")[0].split()
    if not words:
        continue
    path, keys = words[0].replace("%20", " "), dict(word.split("=", 1) for word in words[1:])
    text = keys.get("text", "").replace("%20", " ").encode()
    whole = b"." * int(keys.get("pad", "0")) + text if "text" in keys else elf(keys)
    if "dynamics" in keys:
        whole = crowd(whole, int(keys["dynamics"]))
    if keys.get("each") == "cut":
        for n in range(len(whole)):
            write("%s/libQnnCut%04d.so" % (path, n), whole[:n])
    elif keys.get("each") == "flip":
        for n in range(len(whole)):
            write("%s/libQnnFlip%04d.so" % (path, n), whole[:n] + bytes([whole[n] ^ 0xff]) + whole[n + 1:])
    else:
        write(path, whole[:int(keys["cut"])] if "cut" in keys else whole, int(keys["bytes"]) if "bytes" in keys else None)
