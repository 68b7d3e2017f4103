#!/usr/bin/env python3
"""qnnrt-run run, seen from outside: files of inputs and outputs, lists of inputs, libraries, and what it says about bad ones.

    python3 tests/cli/test_run_verb.py [BUILD_DIR [RELEASE_DIR]]

tests/cli/values.py reads and writes the files, and makes the random numbers again. The fake backend's output byte k is the
sum of all input bytes, plus the number of the output, plus k.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import values
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close, skip  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(TOP, "build")
RELEASE = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else os.path.join(BUILD, "qnn/2.51/onnxruntime_qnn")
TOOL, FAKE = os.path.join(BUILD, "qnnrt-run"), os.path.join(BUILD, "fake/libQnnFake.so")
tmp = tempfile.mkdtemp(prefix="test_run_verb.")



def run(*words, env=None, tool=TOOL, cwd=None):
    """Run the tool. Return status, standard output and standard error."""
    outer = {key: value for key, value in os.environ.items() if key not in ("QNNRT_BACKEND", "QNNRT_SYSTEM", "QNNFAKE")}
    done = subprocess.run([tool] + [str(w) for w in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(outer, **(env or {})), cwd=cwd)
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
        check(name, "hint: " in answer[2] or "  it has: " in answer[2], "no hint: %s" % answer[2][:300])


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
answer = fake(*first, "--input", "a=" + tmp + "/half.npy")
says("shape", answer, 1, "its shape is [2,1,2], 4 values", "[4]")
check("shape_before_loading", answer[1] == "", answer[1])
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

# Whole numbers: a file of int32 that is read as float32 is no list of zeros.
write("ints.raw", struct.pack("<2i", 84, 151643))
for name, content, words in (("ints.raw", (84, 151643), ("value 0 is 1.17709e-43", "whole numbers", "hint: Give this file as native")),
                             ("negative.raw", (-1, 2), ('nan; "i" (int32) takes whole numbers', "hint: Give this file as native")),
                             ("half.raw", (1.0, 2.5), ("value 1 is 2.5", "hint: Write whole numbers")),
                             ("wide.raw", (1.0, 3e9), ("1 of 2 values do not fit into int32",)), ("good.raw", (-3.0, 7.0), None)):
    write(name, struct.pack("<2i" if isinstance(content[0], int) else "<2f", *content))
    write("whole.txt", ("i:=" + os.path.join(tmp, name) + "\n").encode())
    for way in (("--input", "i=" + os.path.join(tmp, name), "--input_data_type", "float"), ("--input_list", tmp + "/whole.txt", "--input", "random:1")):
        answer = fake("--ctx_dir", types, *way)
        says("whole_" + name, answer, 0 if words is None else 1, *(words or ()))
        check("whole_before_loading_" + name, words is None or answer[1] == "", answer[1])
values.write_npy(os.path.join(tmp, "half2.npy"), "<f4", [2], [1, 2.5])
says("whole_npy", fake("--ctx_dir", types, "--input", "i=" + tmp + "/half2.npy", "--input_data_type", "float"), 1, "value 1 is 2.5")
answer = fake("--ctx_dir", types, "--input", "i=" + tmp + "/long.raw")
says("one_size", answer, 1, '"i" (int32[2]) takes 8 bytes')
check("one_size", "native" not in answer[2], answer[2])

# The name nearest to a misspelt one.
for name, words, near in (("input", ("--input", "q_=random:1"), "q"), ("input_of", ("--input", "types:bb=random:1"), "b"), ("omit", ("--omit", "oo"), "o"), ("dims", ("--dims", "ss=1"), "s"),
                          ("written", ("--set_output_tensors", "pp", "--output_dir", out), "p"), ("native", ("--native_input_tensor_names", "ii", "--input", "random:1"), "i")):
    says("near_" + name, fake("--ctx_dir", types, *words), 1, 'hint: Use "%s".' % near)
says("near_graph", fake("--ctx_dir", types, "--graph", "type"), 1, 'hint: Use "types".')
answer = fake("--ctx_dir", types, "--input", "unlike_all=random:1")
check("near_none", answer[0] == 1 and "hint" not in answer[2], answer[2])
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

# ---- lists of inputs, as qnn-net-run takes them -----------------------------------------------------

lone = os.path.dirname(write("s/forward_0.bin", """FAKEQNN 1
graph lone
in a 1 0408 1 4 s 0.5 -3
in c 2 0332 1 1 s 1 0
out y 3 0408 1 4 s 0.5 -3
out two/words 4 0232 1 1 -
"""))
rows = os.path.dirname(write("r/forward_0.bin", """FAKEQNN 1
graph rows
in x 1 0408 2 4 3 s 1 0
out y 2 0408 2 4 2 s 1 0
"""))


def floats(*numbers):
    return struct.pack("<%df" % len(numbers), *numbers)


def tree(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def fresh(name):
    shutil.rmtree(os.path.join(tmp, name), ignore_errors=True)
    return os.path.join(tmp, name)


samples = [([1.0, 2.0, 3.0, 4.0], 5), ([0.0, 0.5, 1.0, 1.5], 0), ([-1.5, 10.0, 124.0, 126.0], -1)]
codes = [[int(v * 2) + 3 for v in a] + list(struct.pack("<i", c)) for a, c in samples]
for i, (a, c) in enumerate(samples):
    write("a%d.raw" % i, floats(*a))
    write("c%d.raw" % i, floats(c))
    write("an%d.raw" % i, bytes(codes[i][:4]))
    write("cn%d.raw" % i, bytes(codes[i][4:]))
path = lambda name: os.path.join(tmp, name)
write("list.txt", "# two outputs\n%% y\n\n%s %s\r\n \tc:=%s   a:=%s\n%s\tc:=%s" % tuple(path(n) for n in ("a0.raw", "c0.raw", "c1.raw", "a1.raw", "a2.raw", "c2.raw")))
write("native.txt", "".join("%s %s\n" % (path("an%d.raw" % i), path("cn%d.raw" % i)) for i in range(3)))
write("mixed.txt", "".join("%s %s\n" % (path("an%d.raw" % i), path("c%d.raw" % i)) for i in range(3)))
natives = [summed(c, 4) for c in codes]
reals = [floats(*((q - 3) * 0.5 for q in n)) for n in natives]
others = [summed(c, 4, 1) for c in codes]

out = fresh("net")
answer = fake("--ctx_dir", lone, "--input_list", path("list.txt"), "--output_dir", out)
says("list", answer, 0, "list.txt, 3 lines")
check("list_files", tree(out) == sorted("Result_%d/%s.raw" % (i, n) for i in range(3) for n in ("y", "two_words")), tree(out))
for i in range(3):
    check("list_y_%d" % i, data(out + "/Result_%d/y.raw" % i) == reals[i], answer[2])
    check("list_two_%d" % i, data(out + "/Result_%d/two_words.raw" % i) == others[i], "")
for option, second in ((("--use_native_output_files",), None), (("--output_data_type", "native_only"), None), (("--output_data_type", "float_and_native"), reals)):
    out = fresh("net")
    answer = fake("--ctx_dir", lone, "--input_list", path("native.txt"), "--use_native_input_files", "--output_dir", out, *option)
    names = ["y_native"] + (["y"] if second else [])
    for i in range(3):
        check("native_%s_%d" % (option[-1], i), data(out + "/Result_%d/y_native.raw" % i) == natives[i] and
              (second is None or data(out + "/Result_%d/y.raw" % i) == second[i]), answer[2])
    check("native_files_" + option[-1], len(tree(out)) == 3 * 2 * len(names), tree(out))
out = fresh("net")
for text in ("a", "lone:a"):
    answer = fake("--ctx_dir", lone, "--input_list", path("mixed.txt"), "--native_input_tensor_names", text, "--output_dir", out)
    check("native_names_" + text, answer[0] == 0 and [data(out + "/Result_%d/y.raw" % i) for i in range(3)] == reals, answer[2])
says("native_names_unknown", fake("--ctx_dir", lone, "--input_list", path("mixed.txt"), "--native_input_tensor_names", "lone:z"), 1, "--native_input_tensor_names")

write("part.txt", "c:=%s\nc:=%s a:=%s\n" % (path("c0.raw"), path("c1.raw"), path("a1.raw")))
out = fresh("net")
says("others_are_random", fake("--ctx_dir", lone, "--input_list", path("part.txt"), "--input", "random:3", "--output_dir", out), 0)
check("others_are_random", data(out + "/Result_0/two_words.raw") == summed(values.random_bytes("a", "codes8", 3, 4) + bytes(codes[0][4:]), 4, 1) and
      data(out + "/Result_1/y.raw") == reals[1], "y differs")
says("fixed_input", fake("--ctx_dir", lone, "--input_list", path("part.txt"), "--input", "a=" + path("a1.raw")), 1, 'line 2: input "a" has a file of --input, too')
out = fresh("net")
answer = fake("--ctx_dir", lone, "--input_list", path("list.txt"), "--output_dir", out, "--num_inferences", 5)
check("loops", [data(out + "/Result_%d/y.raw" % i) for i in range(5)] == [reals[i % 3] for i in range(5)] and not os.path.exists(out + "/Result_5"), tree(out))
out = fresh("net")
answer = fake("--ctx_dir", lone, "--input_list", path("list.txt"), "--output_dir", out, "--num_inferences", 5, "--keep_num_outputs", 2)
check("keep", sorted(os.listdir(out)) == ["Result_0", "Result_1"], os.listdir(out))
out = fresh("net")
answer = fake("--ctx_dir", lone, "--input_list", path("list.txt"), "--output_dir", out, "--duration", "0.5", "--keep_num_outputs", 1, "--json")
document = json.loads(answer[1])
check("duration", sum(document["pipelines"][0]["exec_ns"]) <= 0.5e9 + max(document["pipelines"][0]["exec_ns"]) and len(document["pipelines"][0]["exec_ns"]) > 1, answer[1][:300])
out = fresh("net")
answer = fake(*first, "--duration", "1e-9", "--output_dir", out)
check("duration_once", tree(out) == ["Result_0/first/y.raw"], tree(out))

# two graphs: a list for each, or none
write("second.txt", "a:=%s\n" % path("a1.raw"))
write("only.raw", bytes(16))
write("second2.txt", "%s %s %s\n" % (path("a1.raw"), path("only.raw"), path("only.raw")))
out = fresh("net")
answer = fake("--ctx_dir", model, "--input_list", "%s,%s" % (path("list.txt"), path("second2.txt")), "--output_dir", out)
says("two_lists", answer, 0)
check("two_lists", tree(out) == sorted(["first/Result_%d/y.raw" % i for i in range(3)] + ["second/Result_0/z.raw"]), tree(out))
check("two_lists_first", [data(out + "/first/Result_%d/y.raw" % i) for i in range(3)] == reals, "")
out = fresh("net")
answer = fake("--ctx_dir", model, "--input_list", "__," + path("second2.txt"), "--output_dir", out)
says("skip", answer, 0, "skipped by --input_list")
check("skip", tree(out) == ["second/Result_0/z.raw"], tree(out))

# lines that fill a batch together, and files with several batches
for i in range(6):
    write("row%d.raw" % i, floats(i, 2 * i, 3))
write("rows.txt", "".join(path("row%d.raw" % i) + "\n" for i in range(6)))
out = fresh("net")
answer = fake("--ctx_dir", rows, "--input_list", path("rows.txt"), "--output_dir", out)
says("rows", answer, 0, "over 2 inferences")
for group in range(2):
    content = [v for i in range(4 * group, min(4 * group + 4, 6)) for v in (i, 2 * i, 3)]
    for i in range(4 * group, min(4 * group + 4, 6)):
        part = summed(content, 8)[2 * (i % 4):2 * (i % 4) + 2]
        check("row_%d" % i, data(out + "/Result_%d/y.raw" % i) == floats(*part), answer[2])
check("rows_files", len(tree(out)) == 6, tree(out))
out = fresh("net")
write("batch.raw", bytes(range(36)))
values.write_npy(path("batch.npy"), "|u1", [12, 3], list(range(36)))
for name in ("batch.raw", "batch.npy"):
    answer = fake("--ctx_dir", rows, "--input", "x=" + path(name), "--batch_multiplier", 3, "--output_dir", out, "--output_file_type", "npy")
    says("batch_" + name, answer, 0)
    check("batch_" + name, values.npy(out + "/rows/y.npy") == ("|u1", (12, 2), list(b"".join(summed(range(12 * i, 12 * i + 12), 8) for i in range(3)))), answer[2])
answer = fake("--ctx_dir", rows, "--input", "x=" + path("batch.raw"), "--batch_multiplier", 3, "--output_dir", out, "--output_data_type", "float")
check("batch_float", data(out + "/rows/y.raw") == floats(*(v for i in range(3) for v in summed(range(12 * i, 12 * i + 12), 8))), answer[2])
says("batch_wrong", fake("--ctx_dir", rows, "--input", "x=" + path("batch.raw"), "--batch_multiplier", 5), 1, "batch.raw", "36 bytes")

# tensors between steps
write("p/forward_0.bin", "FAKEQNN 1\ngraph one\nin x 1 0408 1 4 s 1 0\nout h 2 0408 1 4 s 1 0\n")
write("p/forward_1.bin", "FAKEQNN 1\ngraph two\nin h 1 0408 1 4 s 1 0\nout y 2 0408 1 4 s 1 0\n")
out = fresh("net")
answer = fake("--ctx_dir", path("p"), "--set_output_tensors", "h", "--output_dir", out, "--input", "x=" + path("an0.raw"))
says("between", answer, 0)
check("between", sorted(os.path.basename(f) for f in tree(out)) == ["h.raw", "y.raw"], tree(out))
check("between_h", [data(os.path.join(out, f)) for f in tree(out) if f.endswith("h.raw")] == [summed(codes[0][:4], 4)], "h differs")
says("between_unknown", fake("--ctx_dir", path("p"), "--set_output_tensors", "q", "--output_dir", out), 1, "--set_output_tensors", "within a graph")

answer = fake("--ctx_dir", lone, "--validate_binary", "--num_inferences", 0)
says("validate", answer, 0, "valid     forward_0.bin:", "has its 1 graph")
check("validate", "\nrun " not in answer[1], answer[1])
says("synchronous", fake(*first, "--synchronous"), 0)
answer = fake(*first, "--quiet", "--output_dir", fresh("net"))
check("quiet", answer == (0, "", "") and tree(path("net")) == ["first/y.raw"], answer)

# what is wrong with lists is said before any library is loaded
write("bad.txt", "%s %s\nc:=%s\n" % (path("a0.raw"), path("c0.raw"), path("c0.raw")))
write("none.txt", "%s %s\n%s %s\n" % (path("a0.raw"), path("c0.raw"), path("nowhere.raw"), path("c0.raw")))
write("more.txt", "%s %s %s\n" % ((path("a0.raw"),) * 3))
write("name.txt", "%s q:=%s\n" % ((path("a0.raw"),) * 2))
write("twice.txt", "%s a:=%s\n" % ((path("a0.raw"),) * 2))
write("size.txt", "%s %s\n" % (path("five.raw"), path("c0.raw")))
write("five.raw", bytes(5))
write("void.txt", "")
write("comment.txt", "# nothing\n%\n  \n")
write("zero.txt", b"a\0b")
write("mode.txt", "x")
os.chmod(path("mode.txt"), 0)
wrong = (("bad.txt", 'line 2: input "a" has no file'), ("none.txt", "line 2: %s: No such file" % path("nowhere.raw")),
         ("more.txt", "is one file more than"), ("name.txt", 'is no input of graph "lone"'), ("twice.txt", 'input "a" has two files'),
         ("size.txt", "it has 5 bytes"), ("void.txt", "has no samples"), ("comment.txt", "has no samples"), ("zero.txt", "binary data"),
         ("nothing.txt", "cannot read"), (".", "cannot read"))
for name, text in wrong + ((("mode.txt", "cannot read"),) if os.getuid() else ()):
    answer = fake("--ctx_dir", lone, "--input_list", path(name))
    says("wrong_" + name, answer, 1, text)
    check("wrong_early_" + name, "backend" not in answer[1], answer[1])
says("lists_for_graphs", fake("--ctx_dir", model, "--input_list", path("list.txt")), 1, "1 list for 2 pipelines")
with open(path("huge.txt"), "wb") as f:
    f.truncate(1 << 30)
says("huge_list", fake("--ctx_dir", lone, "--input_list", path("huge.txt")), 1, "too long")
answer = fake(*first, "--input", "a=" + path("five.raw"))
says("size_early", answer, 1, "it has 5 bytes")
check("size_early", "backend" not in answer[1], answer[1])
for words, text in ((("--duration", "1", "--num_inferences", "2"), "exclude each other"), (("--use_native_input_files", "--input_data_type", "float"), "exclude each other"),
                    (("--use_native_input_files", "--native_input_tensor_names", "a"), "exclude each other"), (("--keep_num_outputs", "1"), "no effect without --output_dir"),
                    (("--set_output_tensors", "y"), "no effect without --output_dir"), (("--output_file_type", "npy"), "no effect without"),
                    (("--duration", "0"), "--duration"), (("--duration", "x"), "--duration"), (("--batch_multiplier", "0"), "--batch_multiplier"),
                    (("--inspect", "--input_list", "x"), "runs nothing")):
    says("words_" + "_".join(words), fake("--ctx_dir", lone, *words), 2, text)

# ---- libraries that no option names -----------------------------------------------------------------

REF = os.path.join(BUILD, "libQnnRef.so")
home = os.path.join(tmp, "home")
os.makedirs(os.path.join(home, "bin"))
for name in ("qnnrt-run", "qnnrt-llm"):
    shutil.copy(os.path.join(BUILD, name), os.path.join(home, "bin", name))
mine = os.path.join(home, "bin", "qnnrt-run")
ref_model = os.path.join(tmp, "ref_model")
weights = os.path.join(tmp, "weights.safetensors")
subprocess.run([sys.executable, os.path.join(TOP, "tests/harness/make_weights.py"), weights, os.path.join(TOP, "tests/data/ir/torch_cnn.npz")], stdout=subprocess.DEVNULL)
made = run("compile", os.path.join(TOP, "tests/data/ir/torch_cnn.json"), "--weights", weights, "--backend_so", REF, "--output_dir", ref_model)
check("ref_model", made[0] == 0, made[2][:300])
here = os.path.join(tmp, "here")                 # the current folder is not searched
os.makedirs(here)
for name in ("libQnnRef.so", "libQnnHtp.so", "libQnnSystem.so"):
    shutil.copy(FAKE, os.path.join(here, name))
answer = run("run", ref_model, "--num_inferences", 0, tool=mine, cwd=here)
says("not_the_current_folder", answer, 1, "cannot find the library libQnnRef.so")
answer = run("run", ref_model, tool=mine, env={"QNNRT_BACKEND": REF}, cwd=here)
says("by_environment", answer, 0, REF, "named by QNNRT_BACKEND")
answer = run("run", ref_model, tool=mine, env={"QNNRT_BACKEND": "libQnnRef.so"}, cwd=here)
says("environment_not_the_current_folder", answer, 1, "cannot find the library libQnnRef.so")
answer = run("run", ref_model, tool=mine, env={"QNNRT_BACKEND": ""}, cwd=here)
says("empty_environment", answer, 1, "cannot find the library libQnnRef.so")
answer = run("run", ref_model, tool=mine, env={"QNNRT_BACKEND": "/nowhere.so"})
says("wrong_environment", answer, 1, "/nowhere.so", "hint: Correct QNNRT_BACKEND")
answer = run("run", ref_model, "--backend_so", REF, tool=mine, env={"QNNRT_BACKEND": "/nowhere.so"})
says("option_before_environment", answer, 0, "named by --backend_so")
answer = run("run", "--ctx_dir", model, "--backend_so", FAKE, tool=mine, env={"QNNRT_SYSTEM": FAKE})
says("system_by_environment", answer, 0, "system    " + FAKE)
answer = run("inspect", model, tool=mine, env={"QNNRT_SYSTEM": FAKE})
says("inspect_by_environment", answer, 0, "forward_0.bin")
os.makedirs(os.path.join(home, "lib"))
shutil.copy(REF, os.path.join(home, "lib", "libQnnRef.so"))
for folder in (here, home):
    answer = run("run", ref_model, tool=mine, cwd=folder)
    says("lib_beside_bin", answer, 0, os.path.join(home, "bin/../lib/libQnnRef.so"), "in the lib folder beside this program's; the binaries are for Ref")
answer = run("inspect", ref_model, tool=mine, cwd=here)
says("inspect_ref", answer, 0)
shutil.copy(REF, os.path.join(home, "bin", "libQnnRef.so"))
says("beside_program", run("run", ref_model, tool=mine, cwd=here), 0, os.path.join(home, "bin/libQnnRef.so"), "beside this program; the binaries are for Ref")
os.symlink(mine, os.path.join(here, "qnnrt-run"))
says("by_link", run("run", ref_model, tool=os.path.join(here, "qnnrt-run"), cwd=here), 0, os.path.join(home, "bin/libQnnRef.so"))
htp_model = os.path.join(TOP, "tests/data/ctx/qairt2.51/mlp_u8")
if os.path.exists(os.path.join(RELEASE, "libQnnHtp.so")):
    for release in ("2.9", "2.47", "2.51", "2.60x", "3", "2.99-other", "9.9"):
        os.makedirs(os.path.join(home, "bin/qnn", release))
        if release != "9.9":
            os.symlink(RELEASE, os.path.join(home, "bin/qnn", release, "onnxruntime_qnn"))
    answer = run("run", htp_model, "--input", "x=" + htp_model + "/x.raw", "--output_dir", os.path.join(tmp, "chosen"), tool=mine, cwd=here)
    says("newest_release", answer, 0, os.path.join(home, "bin/qnn/2.51/onnxruntime_qnn/libQnnHtp.so"), "the binaries are for HTP")
    check("newest_release", [data(os.path.join(tmp, "chosen", f)) for f in tree(os.path.join(tmp, "chosen"))] == [data(htp_model + "/y.expected.raw")], "y differs")
    says("wrong_ref", run("run", htp_model, "--backend_so", REF, tool=mine), 1, "mlp_u8 was made for HTP, and the library %s is for Ref" % REF)
    says("wrong_htp", run("run", ref_model, "--backend_so", os.path.join(RELEASE, "libQnnHtp.so"), tool=mine), 1, "was made for Ref, and the library", "is for HTP")
    says("inspect_in_clone", run("inspect", htp_model, tool=mine, cwd=here), 0, "forward_0.bin")
    cpu = os.path.join(BUILD, "qnn/2.47/onnxruntime_qnn/libQnnCpu.so")
    if os.path.exists(cpu):
        says("wrong_cpu", run("run", htp_model, "--backend_so", cpu, tool=mine), 1, "was made for HTP, and the library", "is for CPU")
else:
    skip("releases", "no libQnnHtp.so in " + RELEASE)
answer = run("--ctx_dir", ref_model, "--prompt", "x", tool=os.path.join(home, "bin/qnnrt-llm"), cwd=here)
check("llm_chooses", "qnnrt-llm: backend %s: beside this program; the binaries are for Ref" % os.path.join(home, "bin/libQnnRef.so") in answer[2], answer[2][:300])

# ---- chips by name ----------------------------------------------------------------------------------

answer = run("compile", "--soc_model", "help")
says("chips", answer, 0, "    57  SM8650     8 Gen 3        v75", "    87  SM8850     8 Elite Gen 5  v81  660\n", "     -  QCM8550    -              v73  604\n", "    85  SM8735     8s Gen 4       ?    -\n")
check("chips", len(answer[1].splitlines()) > 25 and run("run", "--soc_model=help")[1] == answer[1], answer[1][:200])
for text in ("57", "SM8650", "sm8650", "8 Gen 3", "8gen3", "Snapdragon 8 Gen 3", "snapdragon-8-gen-3"):
    says("chip_" + text, fake(*first, "--num_inferences", 0, "--soc_model", text), 0)
for text in ("SM9999", "QCM8550", "-", "8 Gen", "0", "65536", "-1", "v75", "Snapdragon", "57x"):
    says("no_chip_" + text, fake(*first, "--soc_model", text), 2, "--soc_model takes a chip")

# the genuine library: the file of qnn-net-run's documentation, native and by name
if os.path.exists(os.path.join(RELEASE, "libQnnHtp.so")):
    for name, files in (("mlp_u8", ("x", "y")), ("cnn_per_axis", None), ("chain_of_three", ("input_ids", "logits"))):
        at = os.path.join(TOP, "tests/data/ctx/qairt2.51", name)
        ins = sorted(f for f in os.listdir(at) if f.endswith(".raw") and "expected" not in f)
        outs = sorted(f for f in os.listdir(at) if f.endswith(".expected.raw"))
        write("genuine.txt", " ".join("%s:=%s" % (f[:-4], os.path.join(at, f)) for f in ins) + "\n")
        out = fresh("net")
        answer = run("run", at, "--backend", os.path.join(RELEASE, "libQnnHtp.so"), "--input_list", path("genuine.txt"), "--output_dir", out, "--use_native_input_files",
                     "--output_data_type", "native_only", "--num_inferences", 2)
        check("genuine_" + name, tree(out) == sorted("Result_%d/%s" % (i, f.replace(".expected.raw", "_native.raw")) for i in range(2) for f in outs), (tree(out), answer[2][-300:]))
        for f in outs:
            for i in range(2):
                check("genuine_%s_%s" % (name, f), data(out + "/Result_%d/%s" % (i, f.replace(".expected.raw", "_native.raw"))) == data(os.path.join(at, f)), "differs")
answer = fake(*first, "--input", "a=/dev/zero")
says("endless", answer, 1, "it is too long")

# damaged files of every kind: refused or read, but no crash
state = 1
for kind, name, words in (("npy", "codes.npy", ("--input", "a=%s")), ("safetensors", "two.safetensors", ("--input", "a=%s")), ("list", "list.txt", ("--input_list", "%s"))):
    whole = data(path(name))
    for k in range(40):
        state = state * 6364136223846793005 + 1442695040888963407 & 2 ** 64 - 1
        broken = bytearray(whole)
        if k % 4 == 3:
            broken = broken[:(state >> 33) % len(whole)]
        else:
            broken[(state >> 33) % min(len(whole), 150)] = state >> 20 & 255
        write("broken." + kind, bytes(broken))
        answer = fake(*(first if kind != "list" else ("--ctx_dir", lone)), words[0], words[1] % path("broken." + kind))
        check("broken_%s_%d" % (kind, k), answer[0] in (0, 1, 2) and "Traceback" not in answer[2], (answer[0], bytes(broken)))

# ---- what the outputs hold --------------------------------------------------------------------------

wide = os.path.dirname(write("w/forward_0.bin", """FAKEQNN 1
graph wide
in a 1 0408 1 4 -
out y 2 0232 1 9 -
out q 3 0416 1 12 s 0.25 -8
out i 4 0064 1 3 -
"""))
for content in ([0, 0, 0, 0], [0xFC, 0, 0, 0], [0x3D, 0, 0, 0], [0x78, 1, 2, 3]):
    write("some.raw", bytes(content))
    answer = fake("--ctx_dir", wide, "--input", "a=" + path("some.raw"), "--json")
    found = json.loads(answer[1])["pipelines"][0]["values"]
    expected = [values.unpack("f", summed(content, 36)), [(c - 8) * 0.25 for c in values.unpack("H", summed(content, 24, 1))], [float(v) for v in values.unpack("q", summed(content, 24, 2))]]
    check("digest_outputs", len(found) == 3, found)
    for one, numbers in zip(found, expected):
        finite = [v for v in numbers if v == v and abs(v) != float("inf")]
        order = sorted((i for i, v in enumerate(numbers) if v in finite), key=lambda i: (-numbers[i], i))[:5]
        near = lambda a, b: a == b or abs(a - b) <= 1e-12 * abs(b)
        check("digest_%d" % content[0], (one["count"], one["nan"], one["infinite"]) == (len(numbers), sum(v != v for v in numbers), len(numbers) - len(finite) - sum(v != v for v in numbers)) and
              (not finite or (one["min"], one["max"]) == (min(finite), max(finite)) and near(one["mean"], sum(finite) / len(finite))), (one, numbers))
        check("digest_largest_%d" % content[0], list(zip(one["largest_at"], one["largest"])) == [(i, numbers[i]) for i in order], (one, numbers))
        check("digest_first_%d" % content[0], one["first"] == [v if v in finite else None for v in numbers[:5]], (one, numbers))
    text = fake("--ctx_dir", wide, "--input", "a=" + path("some.raw"))[1]
    check("digest_text", 'values    "y" 9 values: min ' in text and "\n            largest [" in text and (content[0] != 0xFC or ", 1 NaN" in text), text)
answer = fake(*first, "--watch", "--num_inferences", 3)
check("watch", answer[0] == 0 and "qnnrt-run: 3 inferences, the last " in answer[2], answer[2])
says("watch_looks", fake(*first, "--inspect", "--watch"), 2, "runs nothing: it does not take --watch")

# ---- the SDK's configuration files ------------------------------------------------------------------

inner = {"graphs": [{"graph_names": ["first", "second"], "vtcm_mb": 8, "O": 3.0, "hvx_threads": 4, "fp16_relaxed_precision": 1, "dlbc": 0}],
         "devices": [{"device_id": 0, "soc_model": 57, "dsp_arch": "v75", "pd_session": "unsigned",
                      "cores": [{"core_id": 0, "perf_profile": "burst", "rpc_control_latency": 100, "rpc_polling_time": 9999}]}],
         "context": {"weight_sharing_enabled": True, "file_read_memory_budget_in_mb": 100, "group_id": 0, "max_spill_fill_buffer_for_group": 0},
         "memory": {"mem_type": "shared_buffer"}, "groupContext": {"share_resources": True}}
write("conf/htp.json", json.dumps(inner))
write("conf/outer.json", json.dumps({"backend_extensions": {"shared_library_path": "/elsewhere/libQnnHtpNetRunExtensions.so", "config_file_path": "/elsewhere/htp.json"}}))
for name in ("htp.json", "outer.json"):
    answer = fake(*first, "--config_file", path("conf/" + name))
    says("config_" + name, answer, 0, "devices.soc_model 57: taken", "graphs.vtcm_mb 8: decided when a model is compiled", "power     burst:", "rpc_polling_time applied",
         "devices.cores.perf_profile burst: taken", "memory.mem_type shared_buffer: taken", "  memory    ", "groupContext.share_resources true: taken",
         "context.file_read_memory_budget_in_mb 100: files are mapped")
answer = fake(*first, "--config_file", path("conf/rpc.json"), "--num_inferences", 0) if write("conf/rpc.json", '{"devices":[{"cores":[{"rpc_control_latency":100}]}]}') else None
says("config_rpc", answer, 0, "power     custom:", "rpc_control_latency applied")
os.remove(path("conf/htp.json"))
says("config_not_followed", fake(*first, "--config_file", path("conf/outer.json")), 1, "cannot read %s" % path("conf/htp.json"))
every = [("graphs", "vtcm_mb"), ("graphs", "unheard_of"), ("unheard_of", "x"), ("devices", "cpu")]
for name, text, words in (
        ("unknown", '{"graphs": [{"vtcm_md": 8}]}', ('"graphs.vtcm_md" is a key that qnnrt-run does not know',)), ("section", '{"graf": {"vtcm_mb": 8}}', ('"graf.vtcm_mb"',)),
        ("default", '{"devices": {"pd_session": "signed"}}', ('"devices.pd_session" is signed, and only unsigned is possible here',)),
        ("device", '{"devices": [{"device_id": 1}]}', ('"devices.device_id" is 1',)), ("perf", '{"devices": [{"cores": [{"perf_profile": "fast"}]}]}', ('is "fast", and there is burst',)),
        ("hmx", '{"devices": [{"cores": [{"hmx_timeout_us": 300000}]}]}', ("hmx_timeout_us",)), ("memory", '{"memory": {"mem_type": "ion"}}', ("only shared_buffer",)),
        ("twice", '{"devices": [{"soc_model": 57}, {"soc_model": 43}]}', ("devices.soc_model", "57", "43")), ("fraction", '{"devices": {"soc_model": 1.5}}', ("whole number",)),
        ("negative", '{"devices": {"soc_model": -1}}', ("whole number",)), ("text", '{"devices": {"soc_model": "x"}}', ("whole number",)),
        ("cut", '{"devices": {"soc_model": 57', ("byte 28",)), ("empty", "", ("byte 0",)), ("not_json", "soc_model = 57", ("byte 0",)),
        ("deep", '{"a":' * 20 + "1" + "}" * 20, ("byte",)), ("long", '{"%s": 1}' % ("k" * 5000), ("too long",)), ("second", '{"backend_extensions": {"config_file_path": "loop.json"}}', ("second",))):
    write("conf/%s.json" % name, text)
    shutil.copy(path("conf/second.json"), path("conf/loop.json")) if name == "second" else None
    answer = fake(*first, "--config_file", path("conf/%s.json" % name))
    says("config_" + name, answer, 1, path("conf/"), *words)
    check("config_early_" + name, "backend" not in answer[1], answer[1])
says("config_missing", fake(*first, "--config_file", path("conf/none.json")), 1, "cannot read")
says("config_folder", fake(*first, "--config_file", path("conf")), 1, "cannot read")
write("conf/chip.json", '{"devices": {"soc_model": 57}}')
says("config_and_option", fake(*first, "--config_file", path("conf/chip.json"), "--soc_model", "SM8550"), 1, "is 57, and --soc_model or another place of the file says 43")
says("config_and_equal_option", fake(*first, "--config_file", path("conf/chip.json"), "--soc_model", "SM8650"), 0)
write("conf/compile.json", '{"graphs": [{"vtcm_mb": 4, "O": 3, "hvx_threads": 2}], "devices": [{"soc_model": 69, "dsp_arch": "v79", "cores": [{"perf_profile": "burst"}]}]}')
answer = run("compile", os.path.join(TOP, "tests/data/ir/torch_cnn.json"), "--weights", weights, "--backend_so", REF, "--output_dir", path("compiled"), "--config_file", path("conf/compile.json"))
says("config_compile", answer, 0, "graphs.vtcm_mb 4: taken", "devices.cores.perf_profile burst: for running alone")
write("conf/htp.json", json.dumps(inner))
says("config_and_cache", run("compile", os.path.join(TOP, "tests/data/ir/torch_cnn.json"), "--weights", weights, "--backend_so", REF, "--output_dir", path("compiled"),
     "--config_file", path("conf/outer.json"), "--cache", path("cache")), 1, "cannot be used with --cache")
if os.path.exists(os.path.join(RELEASE, "libQnnHtp.so")):
    answer = run("compile", os.path.join(TOP, "tests/data/ir/torch_cnn.json"), "--weights", weights, "--backend_so", os.path.join(RELEASE, "libQnnHtp.so"), "--output_dir",
                 path("compiled_htp"), "--config_file", path("conf/compile.json"))
    says("config_compile_htp", answer, 0)
    look = json.loads(run("inspect", path("compiled_htp"), "--json")[1])["model"]["contexts"][0]
    check("config_compile_htp", (look["soc_model"], look["dsp_arch"], *(look["metadata"]["graphs"][0][key] for key in ("vtcm_bytes", "optimization_level", "hvx_threads"))) ==
          (69, 79, 4 << 20, 3, 2), str(look)[:400])

# ---- the table of tools/run/NETRUN.md -------------------------------------------------------------------

helps, options, rows_seen = {}, set(), 0
for line in open(os.path.join(TOP, "tools/run/NETRUN.md")):
    cells = [cell.strip() for cell in re.split(r" *\| *", line.strip())[1:-1]] if line.startswith("|") else []
    if len(cells) != 4 or cells[1] in ("", "---"):
        continue
    rows_seen += 1
    check("netrun_" + cells[0], cells[1] in ("done", "no") and (cells[1] == "no" or "--" in cells[2]), line)
    options |= set(re.findall(r"`--(\w+)", cells[0]))
    for verb, option in re.findall(r"(\w+) `(--\w+)`", cells[2]):
        if verb not in helps:
            helps[verb] = run(verb, "--help")[1]
        check("netrun_%s_%s" % (verb, option), re.search(r"^  (.*, )?%s( |,|$)" % option, helps[verb], re.M), "%s --help has no %s" % (verb, option))
check("netrun_rows", rows_seen > 40, rows_seen)
documented = """model backend input_list retrieve_context model_prefix debug output_dir use_native_output_files use_native_input_files native_input_tensor_names op_packages
    profiling_level perf_profile config_file log_level shared_buffer synchronous num_inferences duration keep_num_outputs batch_multiplier timeout
    max_input_cache_tensor_sets max_input_cache_size_mb set_output_tensors use_mmap validate_binary platform_options dlc_path binary_updates
    io_tensor_mem_handle_type device_options output_data_type input_data_type profiling_option system_library asynchronous version help config output""".split()
check("netrun_options", set(documented) <= options, set(documented) - options)

shutil.rmtree(tmp)
sys.exit(close())
