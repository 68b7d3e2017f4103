#!/usr/bin/env python3
"""qnnrt-run run, seen from outside: files of inputs and outputs, lists of inputs, libraries, and what it says about bad ones.

    python3 tests/test_run_verb.py [BUILD_DIR [RELEASE_DIR]]

tests/values.py reads and writes the files, and makes the random numbers again. The fake backend's output byte k is the
sum of all input bytes, plus the number of the output, plus k.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import values

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(TOP, "build")
RELEASE = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else os.path.join(BUILD, "qnn/2.51/onnxruntime_qnn")
TOOL, FAKE = os.path.join(BUILD, "qnnrt-run"), os.path.join(BUILD, "fake/libQnnFake.so")
tmp = tempfile.mkdtemp(prefix="test_run_verb.")
passed = failed = skipped = 0


def check(name, good, why=""):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("test_run_verb: %s: %s" % (name, why))


def run(*words, env=None, tool=TOOL, cwd=None):
    """Run the tool. Return status, standard output and standard error."""
    done = subprocess.run([tool] + [str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, **(env or {})), cwd=cwd)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def fake(*words, **more):
    return run("run", *words, "--backend_so", FAKE, "--system_so", FAKE, **more)


def says(name, answer, status, *texts):
    """The run ended with this status; its output, or its errors for another status than 0, has the texts."""
    heard = answer[2] if status else answer[1]
    check(name, answer[0] == status, "status %d, not %d: %s" % (answer[0], status, answer[2][:300]))
    for text in texts:
        check(name, text in heard, "no '%s' in %s" % (text, heard[:600]))
    if status:
        check(name, "hint: " in answer[2] or "already" in answer[2], "no hint: %s" % answer[2][:300])


def data(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, content):
    path = os.path.join(tmp, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb" if isinstance(content, bytes) else "w") as f:
        f.write(content)
    return path


def summed(content, count, output=0):
    """What the fake makes of all bytes of the inputs."""
    return bytes((sum(content) + output + k) & 255 for k in range(count))


model = os.path.dirname(write("m/forward_0.bin", """FAKEQNN 1
graph first
in a 1 0408 1 4 s 0.5 -3
in c 2 0332 1 1 s 1 0
out y 3 0408 1 4 s 0.5 -3
graph second
in a 1 0408 1 4 s 0.5 -3
in only 2 0108 1 4 -
in odd:na=me 3 0108 1 4 -
out z 4 0132 1 2 -
"""))
types = os.path.dirname(write("t/forward_0.bin", """FAKEQNN 1
graph types
in f 1 0232 2 1 3 -
in h 2 0216 1 3 -
in l 3 0064 1 2 -
in i 4 0032 1 2 -
in b 5 0508 1 5 -
in q 6 0416 1 4 s 0.25 -8
in s 7 0308 1 4 s 1 0
out o 8 0232 1 2 -
out p 9 0416 1 2 s 0.25 -8
"""))
first = ("--ctx_dir", model, "--graph", "first")
zero_c = [0, 0, 0, 0]                            # what the input c holds without a file
zero_q = bytes([8, 0] * 4)                       # what q holds: the code of 0

# ---- files of values -------------------------------------------------------------------------------

out = os.path.join(tmp, "out")
values.write_npy(os.path.join(tmp, "codes.npy"), "|u1", [4], [1, 2, 3, 4])
values.write_npy(os.path.join(tmp, "wide.npy"), "<i8", [1, 4], [1, 2, 3, 4])
values.write_npy(os.path.join(tmp, "real.npy"), "<f8", [4], [0, 0, 0, 1])
values.write_npy(os.path.join(tmp, "half.npy"), "<f2", [2, 1, 2], [0, 0, 0, 1])
values.write_safetensors(os.path.join(tmp, "two.safetensors"), [("a", "U8", [4], [1, 2, 3, 4]), ("c", "I32", [1], [5])])
values.write_safetensors(os.path.join(tmp, "one.safetensors"), [("other", "F32", [4], [0, 0, 0, 1])])
for name, content in (("codes.npy", [1, 2, 3, 4]), ("wide.npy", [1, 2, 3, 4]), ("real.npy", [3, 3, 3, 5]), ("two.safetensors", [1, 2, 3, 4]),
                      ("one.safetensors", [3, 3, 3, 5])):
    answer = fake(*first, "--input", "a=" + os.path.join(tmp, name), "--output_dir", out)
    says(name, answer, 0)
    check(name, data(out + "/first/y.raw") == summed(content + zero_c, 4), list(data(out + "/first/y.raw")))
answer = fake(*first, "--input", "a=" + tmp + "/two.safetensors", "--input", "c=" + tmp + "/two.safetensors", "--output_dir", out)
check("both_of_one_file", data(out + "/first/y.raw") == summed([1, 2, 3, 4, 5], 4), answer[2])
says("shape", fake(*first, "--input", "a=" + tmp + "/half.npy"), 1, "its shape is [2,1,2], 4 values")
answer = fake(*first, "--input", "a=" + tmp + "/codes.npy", "--input_data_type", "float", "--output_dir", out)
check("integers_as_real_numbers", data(out + "/first/y.raw") == summed([5, 7, 9, 11] + zero_c, 4), answer[2])

bad = {"not_npy.npy": (b"what", "it is no .npy file"), "big_endian.npy": None, "order.npy": None, "cut.npy": (data(tmp + "/codes.npy")[:-1], "size"),
       "head.npy": (b"\x93NUMPY\x01\x00\xff\xff" + bytes(20), "cut short"), "empty.npy": (b"", "no .npy file"),
       "deep.npy": (b"\x93NUMPY\x01\x00\xd0\x00" + (b"{'descr': '|u1', 'fortran_order': False, 'shape': (" + b"1," * 40 + b"), }").ljust(207) + b"\n", "damaged"),
       "huge.npy": (b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296), }".ljust(117) + b"\n", "too large"),
       "cut.safetensors": (data(tmp + "/two.safetensors")[:20], ""), "empty.safetensors": (b"", ""), "none.raw": (b"", "0 bytes"),
       "long.raw": (bytes(17), "17 bytes")}
values.write_npy(os.path.join(tmp, "big_endian.npy"), ">f4", [4], [0, 0, 0, 1])
values.write_npy(os.path.join(tmp, "order.npy"), "|u1", [4], [1, 2, 3, 4], order=True)
for name in sorted(bad):
    if bad[name] is not None:
        write(name, bad[name][0])
    text = bad[name][1] if bad[name] is not None else "its type is none of" if "endian" in name else "Fortran"
    says("bad_" + name, fake(*first, "--input", "a=" + os.path.join(tmp, name)), 1, os.path.join(tmp, name), text)
values.write_npy(os.path.join(tmp, "over.npy"), "<i2", [4], [0, 1, 256, -1])
says("do_not_fit", fake(*first, "--input", "a=" + tmp + "/over.npy"), 1, "2 of 4 values do not fit")
values.write_npy(os.path.join(tmp, "float2.npy"), "<f4", [2], [1, 2])
says("float_for_integer", fake("--ctx_dir", types, "--input", "i=" + tmp + "/float2.npy"), 1, "it holds float32 values")
values.write_safetensors(os.path.join(tmp, "names.safetensors"), [("x", "U8", [4], [1, 2, 3, 4]), ("y", "U8", [4], [1, 2, 3, 4])])
says("name_missing", fake(*first, "--input", "a=" + tmp + "/names.safetensors"), 1, 'it has no tensor "a" among its 2')

# ---- random inputs ---------------------------------------------------------------------------------

kinds = (("f", "f", 3), ("h", "e", 3), ("l", "q", 2), ("i", "i", 2), ("b", "?", 5), ("q", "codes16", 4), ("s", "codes8", 4))
for seed in (0, 7, 2 ** 64 - 1):
    for name, kind, count in kinds:
        answer = fake("--ctx_dir", types, "--input", "%s=random:%d" % (name, seed), "--output_dir", out)
        content = values.random_bytes(name, kind, seed, count) + (b"" if name == "q" else zero_q)
        check("random_%s_%d" % (name, seed), data(out + "/types/o.raw") == summed(content, 8), answer[2])
for text in ("random:", "random:x", "random:-1", "random:1.5", "random:18446744073709551616"):
    says("seed_" + text, fake(*first, "--input", "a=" + text), 2, "the seed is not a whole number")

# ---- files of outputs ------------------------------------------------------------------------------

wanted = values.unpack("H", summed(zero_q, 4, 1)), values.unpack("f", summed(zero_q, 8))
answer = fake("--ctx_dir", types, "--output_dir", out, "--output_file_type", "npy")
says("npy", answer, 0, "p.npy")
check("npy_codes", values.npy(out + "/types/p.npy") == ("<u2", (2,), wanted[0]), values.npy(out + "/types/p.npy"))
check("npy_floats", values.npy(out + "/types/o.npy") == ("<f4", (2,), wanted[1]), values.npy(out + "/types/o.npy"))
fake("--ctx_dir", types, "--output_dir", out, "--output_file_type", "npy", "--output_data_type", "both")
check("npy_native", values.npy(out + "/types/p_native.npy")[2] == wanted[0], "p_native.npy")
check("npy_real", values.npy(out + "/types/p.npy") == ("<f4", (2,), [(q - 8) * 0.25 for q in wanted[0]]), values.npy(out + "/types/p.npy"))
answer = fake("--ctx_dir", types, "--output_dir", out, "--output_file_type", "safetensors", "--json")
check("safetensors", values.safetensors(out + "/types/outputs.safetensors") == {"o": ("F32", (2,), wanted[1]), "p": ("U16", (2,), wanted[0])}, answer[2])
check("safetensors_json", "outputs.safetensors" in answer[1] and json.loads(answer[1])["ok"], answer[1])

shutil.rmtree(tmp)
print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else ""))
sys.exit(failed != 0)
