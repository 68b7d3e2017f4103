#!/usr/bin/env python3
"""Random requests to the engine of examples/server: whatever joins, drafts, is stored, cancelled or asked wrongly, each
text is the one that is written alone. And files of texts that are right, but hold other cells than their tokens need.

    python3 tests/llm/test_llm_host_random.py [BUILD_DIR [HOST [SEED ...]]]

HOST is another program than BUILD_DIR's, for example one with AddressSanitizer; a SEED repeats one life of a server."""
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build")
HOST = sys.argv[2] if len(sys.argv) > 2 else os.path.join(BUILD, "examples/server/server")
SEEDS = [int(seed) for seed in sys.argv[3:]] or range(1, 13)
MODEL = os.path.join(TOP, "tests/data/llm/model")
REF = os.path.join(BUILD, "libQnnRef.so")

PROMPTS = [begin + end for begin in ("And the LORD said unto ", "And the LORD ", "In the beginning ", "The king of ", "And it came to pass ",
                                     "x", "And the king said unto him, ", "In the days of ") for end in ("", "Moses ", "the son ")]
SAMPLERS = ["", "temperature=0.8 seed=1", "temperature=0.8 top_k=40 seed=2"]
LONGEST = 20                                     # tokens of an answer
ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}


def export(folder, *options):
    os.mkdir(folder)
    done = subprocess.run([os.path.join(BUILD, "examples/llm/export"), MODEL, folder, "--backend_so", REF] + list(options), capture_output=True, text=True)
    check("export", done.returncode == 0, done.stderr)
    return folder


def serve(name, words, lines):
    """Return the answers of a server: {request: text}, {request: its last line}."""
    done = subprocess.run([HOST] + words, input="".join(line + "\n" for line in lines).encode("latin-1"), capture_output=True)
    check(name, done.returncode == 0 and not done.stderr, "status %d: %s" % (done.returncode, done.stderr.decode("latin-1")))
    texts, ends = {}, {}
    for line in done.stdout.decode("latin-1").split("\n"):
        said = re.match(r"(r\d+) (\d+|-) (begin|text|end|error) ?(.*)$", line)
        if said is None:
            continue
        request, _, kind, rest = said.groups()
        check(name, request not in ends, "after its end: %s" % line)
        if kind == "text":
            piece = re.sub(r"\\(n|t|\\|x..)", lambda found: ESCAPES.get(found[0]) or chr(int(found[0][2:], 16)), rest)
            texts[request] = texts.get(request, "") + piece
        elif kind != "begin":
            ends[request] = kind + " " + rest
    return texts, ends


def life(name, rnd, words, alone, folder):
    """One server: random lines, and what is wrong with its answers."""
    lines, asked, cancelled = [], {}, set()
    for _ in range(rnd.randint(20, 60)):
        dice = rnd.random()
        if dice < 0.6:
            request, key = "r%d" % len(asked), (rnd.choice(PROMPTS), rnd.choice(SAMPLERS))
            write = rnd.choice((1, 2, 5, 12, LONGEST))
            stop = rnd.choice(("", "", "", "the", "e", "LORD", "zz"))
            options = ["write=%d" % write, key[1], "stop=" + stop if stop else ""]
            if rnd.random() < 0.4:
                options.append("drafts=%d" % rnd.randint(0, 8))
            if rnd.random() < 0.3:
                options.append("save=1")
            rnd.shuffle(options)
            lines.append("ask %s %s : %s" % (request, " ".join(options), key[0]))
            asked[request] = key, write, stop
        elif dice < 0.75:
            lines.append("step %d" % rnd.randint(0, 9))
        elif dice < 0.8:
            lines.append("wait")
        elif dice < 0.9 and asked:
            cancelled.add("r%d" % rnd.randrange(len(asked)))
            lines.append("cancel " + sorted(cancelled)[-1])
        else:
            lines.append("".join(chr(rnd.choice([*range(1, 10), *range(11, 256)])) for _ in range(rnd.randint(0, 40))))
    words = words + ["--slots", str(rnd.choice((1, 2, 3, 4, 16)))]
    if rnd.random() < 0.5:
        words += ["--chunk", str(rnd.choice((1, 3, 40)))]
    if rnd.random() < 0.5:
        words += ["--by_cost"]
    store = os.path.join(folder, "store")
    os.mkdir(store)
    texts, ends = serve(name, ["--store", store] + words, lines)
    check(name, set(ends) == set(asked), "no end, or an end too many: %s" % sorted(set(ends) ^ set(asked)))
    for request, (key, write, stop) in asked.items():
        text, end = texts.get(request, ""), ends.get(request, "")
        expected = alone[key][:write]
        if stop and stop in expected:
            expected = expected[:expected.index(stop)]
        if end.startswith("end cancelled"):
            check(name, request in cancelled and expected.startswith(text), "%s %s: '%s'" % (request, end, text))
        else:
            check(name, text == expected, "%s %s: '%s', not '%s' (%s)" % (request, end, text, expected, words))
            check(name, end.startswith("end stop" if expected != alone[key][:write] else "end length"), "%s %s" % (request, end))
    check(name, not [file for file in os.listdir(store) if not re.fullmatch(r"[0-9a-f]{16}\.text", file)], os.listdir(store))
    shutil.rmtree(store)


# ---- files that whoever can write into the folder could make ---------------------------------------


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def state_sum(data):
    """The checksum of a state, which qnnrt_llm.h describes in >>state."""
    def mix(value, word):
        value = (value ^ word) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        return value ^ value >> 32
    sums = [0xCBF29CE484222325 + k for k in range(4)]
    padded = data + bytes(32 - len(data) % 32)
    for at in range(0, len(padded), 8):
        sums[at // 8 % 4] = mix(sums[at // 8 % 4], struct.unpack_from("<Q", padded, at)[0])
    value = mix(sums[0], len(data))
    for one in sums[1:]:
        value = mix(value, one)
    return value


def forged(stored, positions):
    """A stored text with zeros as keys and values, in cells of these positions."""
    count, = struct.unpack_from("<Q", stored, 24)
    state = stored[32 + 4 * count + 8:]
    tensors, = struct.unpack_from("<I", state, 36)
    shapes = [struct.unpack_from("<III", state, 40 + 12 * i) for i in range(tensors)]
    body = state[40:40 + 12 * tensors] + struct.pack("<%dI" % len(positions), *positions) + struct.pack("<Q", 1) * len(positions)
    body += b"".join(bytes(outer * inner * element * len(positions)) for outer, inner, element in shapes)
    state = state[:12] + struct.pack("<I", len(positions)) + state[16:24] + struct.pack("<Q", 40 + len(body) + 8) + state[32:40] + body
    state += struct.pack("<Q", state_sum(state))
    head = stored[:16] + struct.pack("<Q", len(state)) + stored[24:32 + 4 * count]
    return head + struct.pack("<Q", fnv(head)) + state


def forgeries(folder, model):
    """Cells without end at position 0 would leave none for other texts."""
    store, lines = os.path.join(folder, "forged"), ["ask r0 write=12 save=1 : And the LORD said unto "]
    os.mkdir(store)
    serve("forge", ["--store", store, model, REF], lines)
    path = os.path.join(store, os.listdir(store)[0])
    with open(path, "rb") as file:
        stored = file.read()
    count, = struct.unpack_from("<Q", stored, 24)
    each = list(range(count))
    lines = ["ask r0 write=20 : In the beginning ", "ask r1 write=12 : And the LORD said unto ", "ask r2 write=20 : Zzzzzz"]
    for name, positions in (("whole", each), ("many", [0] * 90 + each), ("same", [0] * (count - 1) + each[-1:]), ("twice", each[:-2] + each[-3:-2] + each[-1:]),
                            ("less", each[1:] + each[-1:]), ("hole", each[:4] + each[5:])):
        with open(path, "wb") as file:
            file.write(forged(stored, positions))
        done = subprocess.run([HOST, "--store", store, model, REF], input="\n".join(lines).encode(), capture_output=True)
        said, complained = done.stdout.decode("latin-1"), done.stderr.decode("latin-1")
        check("forged_" + name, done.returncode == 0 and " error " not in said and said.count(" end length") == 3, said[-300:] + complained)
        taken = "r1 1 begin memory=0 disk=%d" % (0 if positions != each else len("And the LORD said unto ") - 1)
        check("forged_" + name, taken in said, said)
        check("forged_" + name, ("its state is not that of its tokens" in complained) == (positions != each), complained)
    head = stored[:16] + struct.pack("<Q", 1 << 40) + stored[24:32 + 4 * count]
    with open(path, "wb") as file:                      # a file with a hole of a TiB
        file.write(head + struct.pack("<Q", fnv(head)))
        file.truncate(len(head) + 8 + (1 << 40))
    done = subprocess.run([HOST, "--store", store, model, REF], input=lines[1].encode(), capture_output=True)
    check("forged_sparse", done.returncode == 0 and b" end length" in done.stdout, done.stdout)
    check("forged_sparse", b"a state of 1099511627776 bytes for" in done.stderr, done.stderr)
    shutil.rmtree(store)


with tempfile.TemporaryDirectory() as folder:
    models = [export(os.path.join(folder, "f32"), "--type", "f32"), export(os.path.join(folder, "w8a16"), "--type", "w8a16", "--shards", "4"),
              export(os.path.join(folder, "decode"), "--type", "f32", "--prefill", "0")]
    draft = export(os.path.join(folder, "draft"), "--type", "w8a16")
    known = {}
    forgeries(folder, models[0])
    for seed in SEEDS:
        model = models[seed % len(models)]
        if model not in known:
            keys = [(prompt, sampler) for prompt in PROMPTS for sampler in SAMPLERS]
            texts, _ = serve("alone", ["--slots", "1", model, REF], ["ask r%d write=%d %s : %s" % (i, LONGEST, sampler, prompt)
                                                                    for i, (prompt, sampler) in enumerate(keys)])
            known[model] = {key: texts.get("r%d" % i, "") for i, key in enumerate(keys)}
            check("alone", all(len(text) == LONGEST for text in known[model].values()), known[model])
        rnd = random.Random(seed)
        life("life_%d" % seed, rnd, [model, REF] + ([draft] if seed % 2 else []), known[model], folder)
sys.exit(close())
