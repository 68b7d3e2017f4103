#!/usr/bin/env python3
"""The pictures of qnnrt-run in a browser: no element overlaps or is cut off, texts are within their boxes, marks of an
axis differ, and only names are shortened.

    python3 tests/cli/test_pictures.py [BUILD_DIR]

Headless Chromium lays out the pictures in one page, and a script there measures every element. Without it the
test is skipped. QNNRT_SAMPLES (a folder with json/*.json, genuine dumps) adds pictures.
"""
import glob
import html
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import checks                                    # noqa: E402
from checks import close, holds as check         # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build")
TOOL = os.path.join(BUILD, "qnnrt-run")

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"]

# Find the faults of each picture of the page; half a pixel is rounding.
MEASURE = r"""
const inside = (a, b, by) => a.left >= b.left - by && a.right <= b.right + by && a.top >= b.top - by && a.bottom <= b.bottom + by;
const overlap = (a, b, by) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by &&
                              Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
const verdict = {};
for (const svg of document.querySelectorAll("svg")) {
    const wrong = [], paper = svg.getBoundingClientRect();
    const all = [...svg.querySelectorAll("rect, text, path")].map(e => [e, e.getBoundingClientRect()]);
    const name = e => e.tagName + " " + (e.getAttribute("class") || "") + " " + JSON.stringify(e.textContent.slice(0, 60));
    for (const [e, box] of all) if (!inside(box, paper, 0.5)) wrong.push("outside the picture: " + name(e));
    const blocks = all.filter(([e]) => e.classList.contains("block") || e.classList.contains("rest")), texts = all.filter(([e]) => e.tagName == "text");
    for (let i = 0; i < blocks.length; ++i)
        for (let k = 0; k < i; ++k)
            if (overlap(blocks[i][1], blocks[k][1], 0.03)) wrong.push("blocks overlap: " + i + " and " + k);
    for (let i = 0; i < texts.length; ++i) {
        if (texts[i][1].width <= 0) wrong.push("an empty text: " + name(texts[i][0]));
        for (let k = 0; k < i; ++k)
            if (overlap(texts[i][1], texts[k][1], 0.5)) wrong.push("texts overlap: " + name(texts[i][0]) + ", " + name(texts[k][0]));
    }
    for (const [e, box] of texts) {
        const card = e.closest("g.card");
        if (card && !inside(box, card.querySelector("rect").getBoundingClientRect(), 0.5)) wrong.push("outside its box: " + name(e));
    }
    const solid = all.filter(([e]) => e.tagName == "rect" && !e.matches(".paper, .window, .rest"));
    for (const [e, box] of texts)
        for (const [r, other] of solid)
            if ((r.closest("g.card") == null || r.closest("g.card") != e.closest("g.card")) && overlap(box, other, 0.5)) wrong.push("a text on a box: " + name(e));
    for (const axis of svg.querySelectorAll("g.ticks")) {
        const marks = [...axis.querySelectorAll("text")].map(e => e.textContent);
        if (new Set(marks).size != marks.length) wrong.push("equal marks: " + marks);
        if (marks.length == 0) wrong.push("an axis without marks");
    }
    const cards = [...svg.querySelectorAll("g.card > rect:not(.block)")].map(e => e.getBoundingClientRect());
    for (let i = 0; i < cards.length; ++i)
        for (let k = 0; k < i; ++k) if (overlap(cards[i], cards[k], 0.03)) wrong.push("boxes overlap: " + i + " and " + k);
    verdict[svg.parentNode.id] = {wrong: wrong.slice(0, 5), texts: texts.length, blocks: blocks.length, cards: cards.length};
}
document.getElementById("verdict").textContent = JSON.stringify(verdict);
"""


# Find the faults of a report in frames of several widths: the page itself must not be wider than its frame, no text may be cut off
# where it cannot be scrolled, and nothing may cover another text.
MEASURE_REPORT = r"""
const verdict = {};
for (const frame of document.querySelectorAll("iframe")) {
    const d = frame.contentDocument, wrong = [], width = d.documentElement.clientWidth;
    if (d.documentElement.scrollWidth > width) wrong.push("the page is " + d.documentElement.scrollWidth + " px wide");
    for (const e of d.querySelectorAll("h1, h2, h3, p, nav a, summary, .tile, .finding, .picture, .scroll, footer")) {
        const box = e.getBoundingClientRect();
        if (box.right > width + 0.5 || box.left < -0.5) wrong.push("beyond the page: " + e.tagName + " " + e.textContent.slice(0, 40));
        if (e.matches(".tile, .finding, p, h1, h2") && e.scrollWidth > e.clientWidth + 1) wrong.push("cut off: " + e.textContent.slice(0, 40));
    }
    const boxes = [...d.querySelectorAll("main > section, footer")].map(e => e.getBoundingClientRect());
    for (let i = 1; i < boxes.length; ++i) if (boxes[i].top < boxes[i - 1].bottom - 0.5) wrong.push("sections overlap: " + i);
    verdict[frame.id] = {wrong: wrong.slice(0, 5), sections: boxes.length, pictures: d.querySelectorAll("svg").length};
}
document.getElementById("verdict").textContent = JSON.stringify(verdict);
"""


def give_up(reason):
    if os.environ.get("QNNRT_REQUIRE_ALL") == "1":
        check(False, reason + ", but QNNRT_REQUIRE_ALL=1")
    else:
        print("pictures: all: skipped: " + reason)
        checks.skipped += 1
    sys.exit(close())


def browse(browser, folder, page, *flags):
    with tempfile.TemporaryDirectory(dir=folder) as profile:
        run = subprocess.run([browser] + FLAGS + ["--user-data-dir=" + profile] + list(flags) + ["file://" + page],
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
    return run.stdout.decode("utf-8", "replace"), run.stderr.decode("utf-8", "replace")


def measure(browser, folder, parts, script):
    page = os.path.join(folder, "page.html")
    with open(page, "w", encoding="utf-8") as out:
        out.write("<!doctype html><meta charset=utf-8><body>" + "".join(parts))
        out.write('<pre id="verdict"></pre><script>addEventListener("load", () => {%s})</script>' % script)
    dom, errors = browse(browser, folder, page, "--dump-dom")
    found = re.search(r'<pre id="verdict">(.+?)</pre>', dom, re.S)
    check(found is not None, "the browser gave no verdict: %s" % errors[-500:])
    return json.loads(html.unescape(found.group(1))) if found else {}


def colours(path):
    """Count the different bytes in the picture data of a PNG; return them and its size."""
    data = open(path, "rb").read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    return len(set(zlib.decompress(packed))), struct.unpack(">II", data[16:24])


def draw(folder, command, model, name):
    path = os.path.join(folder, name + ".svg")
    run = subprocess.run([TOOL, command, "--svg", path] + model, stdin=subprocess.DEVNULL, capture_output=True)
    check(os.path.exists(path), "%s: no picture: %s" % (name, run.stderr.decode("utf-8", "replace")[:300]))
    return open(path, encoding="utf-8").read() if os.path.exists(path) else "<svg/>"


UNIT = r"(us|ms|s|bytes?|[KMGTPE]iB|%)"
NUMBER = r"\d %s\b|\d\u00d7\d|\u00d7 \d|\d (nodes|steps|blocks)" % UNIT


def shortened_wrong(picture):
    """Return what is wrong with the shortened texts of a picture: the whole text must be in a title, and a number and its unit,
    dims and counts must not be in the part that is left out, and no number may be cut."""
    wrong = []

    def visit(element, titles):
        tag = element.tag.rpartition("}")[2]
        titles = titles + ["".join(c.itertext()) for c in element if c.tag.endswith("}title")]
        text = "".join(element.itertext()) if tag == "text" else ""
        if "\u2026" in text:
            head, _, tail = text.partition("\u2026")
            whole = [m.group(1) for t in titles for m in re.finditer("(?=" + re.escape(head) + "(.*?)" + re.escape(tail) + ")", t, re.S)]
            if not whole:
                wrong.append("%r is in no title" % text)
            elif all(re.search(NUMBER, w) or re.search(NUMBER + "$", head) or re.match(r"[\d.,]+ ?%s\b" % UNIT, tail)
                     or (head[-1:].isdigit() and w[:1].isdigit()) or (tail[:1].isdigit() and w[-1:].isdigit()) for w in whole):
                wrong.append("a number is cut: %r" % text)
        for child in element:
            visit(child, titles)
    visit(xml.etree.ElementTree.fromstring(picture), [])
    return wrong


def save(folder, name, document):
    path = os.path.join(folder, name)
    json.dump(document, open(path, "w"))
    return path


def tensor_of(at, name, kind, dims, dtype):
    return {"id": at, "name": name, "type": "QNN_TENSOR_TYPE_" + kind, "dataType": "QNN_DATATYPE_" + dtype, "dimensions": dims}


def dump(folder, name, inputs, outputs):
    """Write a dump of one graph. inputs, outputs: (name, dims, type)"""
    graph = {"graphName": name, "graphInputs": [tensor_of(i + 1, n, "APP_WRITE", d, t) for i, (n, d, t) in enumerate(inputs)],
             "graphOutputs": [tensor_of(i + 10001, n, "APP_READ", d, t) for i, (n, d, t) in enumerate(outputs)]}
    return [save(folder, name + ".json", {"backendId": 6, "graphs": [graph]})]


def chain(folder, count):
    """Write a model of many shards."""
    os.makedirs(folder)
    for s in range(count):
        graph = {"graphName": "g_%d_of_%d" % (s + 1, count), "graphInputs": [tensor_of(1, "t%d" % s, "APP_WRITE", [1, 64 + s % 7], "UINT_8")],
                 "graphOutputs": [tensor_of(2, "t%d" % (s + 1), "APP_READ", [1, 64 + (s + 1) % 7], "UINT_8")]}
        save(folder, "forward_%d_json.json" % s, {"backendId": 6, "graphs": [graph]})
    return [folder]


def sizes(folder):
    """Write models with numbers that are hard to fit: dims, sizes, offsets, many tensors."""
    long = "logits_of_the_last_hidden_state_before_softmax"
    dims = [("deep", [1000000] + [1] * 7, "FLOAT_32"), (long, [12, 345, 678, 9, 1, 1, 1, 1], "UFIXED_POINT_16")]
    return {
        "dims": dump(folder, "dims", dims, [("out_%d" % i, [123456 + i, 1, 1, 1, 1, 1, 89], "UFIXED_POINT_16") for i in range(2)]),
        "tiny": dump(folder, "tiny", [("x", [1], "UINT_8")], [("y", [1], "UINT_8")]),
        # What moves is a small part at a large offset, so that its marks differ in their last digits.
        "far": dump(folder, "far", [("state", [1 << 21, 1021], "UINT_8")], [("y%d" % i, [33 + i], "UINT_8") for i in range(9)]),
        "too_large": dump(folder, "too_large", [("x", [4294967295, 1], "UINT_8")], [("y", [65536, 65521], "UINT_8")]),
        "wide": dump(folder, "wide", [("in%d_%s" % (i, chr(97 + i % 26) * (i % 30)), [1 + i * 1000], "UINT_8") for i in range(300)],
                     [("out%s%d" % (chr(97 + i % 26) * (i % 30), i), [1 + i], "UINT_8") for i in range(300)]),
        "chain": chain(os.path.join(folder, "chain"), 60),
    }


def profiles(folder):
    """Write saved profiles whose times are 0, equal, large, small and far apart."""
    def saved(name, us, times):
        nodes = [{"name": "node_%d_of_the_layer" % i, "operator": "FullyConnected_with_a_name_%d" % (i % 20), "us": t, "cycles": 1} for i, t in enumerate(times)]
        step = {"name": "s", "file": "f.bin", "us": us, "device_us": us, "nodes": nodes}
        return [save(folder, "profile_%s.json" % name, {"format": "qnnrt-run.profile", "version": 1, "model": "m", "inferences": 3, "loading": [],
                                                        "pipelines": [{"name": "p", "us": us, "first_us": us * 2, "steps": [step]}]})]
    return {
        "zero": saved("zero", 0, [0] * 3), "equal": saved("equal", 100, [10] * 10), "small": saved("small", 1e-12, [1e-13] * 10),
        "large": saved("large", 9e13, [9e12] * 10), "apart": saved("apart", 1e9, [10 ** (9 - i * 0.7) for i in range(20)]),
        "many": saved("many", 2000, [1] * 2000), "no_nodes": saved("no_nodes", 5, []),
    }


def graph_ir(folder, name, nodes, inputs, outputs):
    """Write a graph of ATen operators. nodes: (name, operator, what it reads), all of one shape"""
    shape = {"shape": [1, 2, 3, 100000], "dtype": "float32"}

    def value(text, made):
        return dict(shape, name=text, **({"producer_node": text, "producer_output_idx": 0} if made else {}))
    return save(folder, name + ".json", {
        "model_name": name, "pytorch_version": "2.10.0", "graph_inputs": [value(n, 0) for n in inputs],
        "graph_outputs": [value(n, 0) for n in outputs], "weights": [], "weight_name_mapping": {},
        "nodes": [{"name": n, "op_type": "aten.%s" % op, "inputs": [value(r, 1) for r in reads], "outputs": [value(n, 0)], "attrs": {}}
                  for n, op, reads in nodes]})


def charts(folder):
    """Write graphs for compile: strange names, 2,000 nodes of which none repeats, a wide layer, a model of 32 layers."""
    strange = ["<b>&amp;\"]]>" + "W" * 300, "\u4e2d" * 200, "</text>", "\u202e\u0627\u0644", "a b  c", "\U0001f600" * 50]
    nodes = [(n + str(i), "relu.default" if i % 2 else "sigmoid.default", [strange[i - 1] + str(i - 1) if i else "x" * 300])
             for i, n in enumerate(strange)]
    ops = random.Random(32).choices(["relu", "sigmoid", "tanh", "neg", "abs"], k=2000)
    long = [("n%d" % i, "%s.default" % op, ["n%d" % (i - 1) if i else "x"]) for i, op in enumerate(ops)]
    wide = [("n%d" % i, "relu.default" if i % 2 else "tanh.default", ["x"]) for i in range(40)]
    model = os.path.join(folder, "deep")
    os.makedirs(model)
    subprocess.run([os.path.join(BUILD, "examples/llm/random_model"), model, "32", "1"], check=True)
    return {"strange": graph_ir(folder, "strange", nodes, ["x" * 300], [nodes[-1][0]]), "long": graph_ir(folder, "long", long, ["x"], ["n1999"]),
            "broad": graph_ir(folder, "broad", wide, ["x"], [n[0] for n in wide]), "deep": model}


def chart(folder, name, source):
    """Return the pictures of a graph before and after the passes."""
    path, out = os.path.join(folder, "chart_%s.svg" % name), os.path.join(folder, "chart_" + name)
    os.makedirs(out)
    run = subprocess.run([TOOL, "compile", source, "--backend_so", os.path.join(BUILD, "libQnnRef.so"), "--output_dir", out, "--svg", path],
                         stdin=subprocess.DEVNULL, capture_output=True)
    check(run.returncode == 0, "compile %s: %s" % (name, run.stderr.decode("utf-8", "replace")[:600]))
    paths = {"chart_" + name: path, "before_" + name: path[:-4] + ".before.svg"}
    return {n: open(p, encoding="utf-8").read() for n, p in paths.items() if os.path.exists(p)}


def hostile(folder, source):
    """Write a dump with long, wide and strange names."""
    document = json.load(open(source))
    graph = document["info"]["graphs"][0]["info"]
    graph["graphName"] = "<b>&amp;\"]]>" + "W" * 300
    names = ["\u4e2d" * 300, "m" * 1000, "</text>", "\x1b[31m" * 40, "\u202e\u0627\u0644", "a b  c", "\U0001f600" * 50 + "\u27ff" * 200]
    for tensor, text in zip(graph["graphInputs"], names):
        tensor["info"]["name"] = text
    path = os.path.join(folder, "hostile.json")
    json.dump(document, open(path, "w"))
    return path


def program(folder):
    """Write a program of many host steps with strange names, each edge converted, and one graph."""
    names = ["<b>&amp;\"]]>" + "W" * 300, "\u4e2d" * 200, "m" * 900, "</text> -> x", "\u202e\u0627", "a  b", "\x1b[31m" * 30]

    def tensor(name, at, kind):
        return {"name": "%s%d %s" % (name, at, names[at % len(names)]), "dtype": kind, "dims": [4]}
    os.makedirs(folder)
    with open(os.path.join(folder, "npu.bin"), "w") as out:
        out.write("FAKEQNN 1\n# a context binary has at least 64 bytes\ngraph g\nin x 1 0232 1 4 -\nout y 2 0216 1 4 -\n")
    steps = [{"host": names[i % len(names)] + str(i), "inputs": [tensor("in", i, "float32")], "outputs": [tensor("out", i + 1, "float16")]}
             for i in range(14)] + [{"context": 0, "graph": "g"}]
    edges = [{"from": [i, steps[i]["outputs"][0]["name"]], "convert": "values",
              "to": [i + 1, "x" if i == 13 else steps[i + 1]["inputs"][0]["name"]]} for i in range(14)]
    document = {"version": 1, "backends": ["npu"], "contexts": [{"file": "npu.bin", "backend": "npu"}],
                "pipelines": [{"name": "</svg>" + "\u4e2d" * 100, "steps": steps, "edges": edges, "edges_only": True}]}
    json.dump({"program": document}, open(os.path.join(folder, "qnnrt.json"), "w"))
    return [folder, "--system_so", os.path.join(BUILD, "fake/libQnnFake.so")]


def roles(folder):
    """Write a program of four backends with long roles: its legend needs several rows."""
    names = ["role_of_a_backend_with_a_long_name_%d" % i + "x" * 60 * i for i in range(4)]
    os.makedirs(folder)
    for i in range(4):
        with open(os.path.join(folder, "b%d.bin" % i), "w") as out:
            out.write("FAKEQNN 1\n# a context binary has at least 64 bytes\ngraph g%d\nin t%d 1 0232 1 4 -\nout t%d 2 0232 1 4 -\n" % (i, i, i + 1))
    document = {"version": 1, "backends": names, "contexts": [{"file": "b%d.bin" % i, "backend": n} for i, n in enumerate(names)],
                "pipelines": [{"name": "all", "steps": [{"context": i, "graph": "g%d" % i} for i in range(4)]}]}
    json.dump({"program": document}, open(os.path.join(folder, "qnnrt.json"), "w"))
    return [folder, "--system_so", os.path.join(BUILD, "fake/libQnnFake.so")]


def costs(folder, factor):
    """Write a saved profile: strange names, many thin nodes, steps that take longer than their pipeline says."""
    names = ["<b>&amp;\"]]>" + "W" * 300, "\u4e2d" * 200, "m" * 900, "</text>", "\u202e\u0627", "\x1b[31m" * 30, ""]
    steps = [{"name": names[s], "file": names[-s], "us": 40000 / (s + 1) * factor, "device_us": 1,
              "nodes": [{"name": names[n % 7] + str(n), "operator": names[n % 7] if n % 3 else "MatMul", "us": 20000 * factor / (n + 1) ** 1.5, "cycles": 1}
                        for n in range(500)]} for s in range(7)]
    document = {"format": "qnnrt-run.profile", "version": 1, "model": names[0], "inferences": 3,
                "loading": [{"name": names[n], "kind": "library" if n == 0 else "context", "us": 1000 * 4 ** n, "metadata_us": 1} for n in range(7)],
                "pipelines": [{"name": names[n], "us": 60000 * factor, "first_us": 1e9, "steps": steps[:n * 7]} for n in range(2)]}
    path = os.path.join(folder, "costs_%d.json" % factor)
    json.dump(document, open(path, "w"))
    return path


# For each step but the last its outputs: 64-byte units, and the steps that read it. A plan cannot reach the lower bound.
PUZZLE = [
    [(3, (1,)), (17, (6,)), (1, (2, 4)), (5, (6,))],
    [(17, (2,)), (3, (3,)), (13, (2,)), (2, (3,)), (1, (4,)), (7, (5,)), (13, (5,))],
    [(17, (3,)), (3, (4, 5)), (17, (4, 6)), (7, (6,)), (13, (5,)), (13, (4,)), (1, (5,))],
    [(11, (4,)), (2, (6,)), (7, (5,)), (17, (4,))],
    [(13, (5,)), (1, (6,)), (13, (5,))],
    [(11, (6,)), (7, (6,)), (7, (6,)), (5, (6,)), (3, (6,)), (11, (6,))],
]


def puzzle(folder):
    """Write a model whose edges go over several steps."""
    def tensor(at, name, kind, width):
        return {"id": at, "name": name, "type": "QNN_TENSOR_TYPE_" + kind, "dataType": "QNN_DATATYPE_UINT_8", "dimensions": [width]}
    steps = len(PUZZLE) + 1
    outs, ins = [[] for _ in range(steps)], [[] for _ in range(steps)]
    ins[0].append(("x", 64))
    outs[-1].append(("y", 64))
    for step, made in enumerate(PUZZLE):
        for k, (units, readers) in enumerate(made):
            outs[step].append(("t%d_%d" % (step, k), 64 * units))
            for reader in readers:
                ins[reader].append(outs[step][-1])
    os.makedirs(folder)
    for step in range(steps):
        graph = {"graphName": "g_%d_of_%d" % (step + 1, steps),
                 "graphInputs": [tensor(i + 1, n, "APP_WRITE", w) for i, (n, w) in enumerate(ins[step])],
                 "graphOutputs": [tensor(i + 101, n, "APP_READ", w) for i, (n, w) in enumerate(outs[step])]}
        json.dump({"backendId": 6, "graphs": [graph]}, open(os.path.join(folder, "forward_%d_json.json" % step), "w"))
    return folder


browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if browser is None:
    give_up("chromium is missing")

with tempfile.TemporaryDirectory() as tmp:
    pictures = {}
    for path in sorted(glob.glob(os.path.join(TOP, "tests/data/pictures/*.svg"))):
        pictures[os.path.basename(path)[:-4]] = open(path, encoding="utf-8").read()
    check(len(pictures) == 6, "tests/data/pictures holds %s" % sorted(pictures))

    eight = os.path.join(tmp, "eight")
    subprocess.run([sys.executable, os.path.join(TOP, "tests/cli/make_eight_shards.py"), eight], check=True)
    dumps = sorted(glob.glob(os.path.join(eight, "*.json")))
    models = {"unwired": [dumps[0], dumps[2]], "one": [dumps[3]], "puzzle": [puzzle(os.path.join(tmp, "puzzle"))], "hostile": [hostile(tmp, dumps[0])]}
    models["roles"] = roles(os.path.join(tmp, "roles"))
    models["program"] = program(os.path.join(tmp, "program"))
    samples = sorted(glob.glob(os.path.join(os.environ.get("QNNRT_SAMPLES", "/nowhere"), "json/ctx_*.json")))
    if samples:
        models["genuine"] = samples
    for name, model in models.items():
        pictures[name] = draw(tmp, "inspect", model, name)
        pictures[name + "_plan"] = draw(tmp, "plan", model, name + "_plan")
        if name != "genuine":
            pictures[name + "_right"] = draw(tmp, "inspect", ["--svg_layout", "right"] + model, name + "_right")
    for name, model in sizes(tmp).items():
        pictures[name] = draw(tmp, "inspect", model, name)
        pictures[name + "_plan"] = draw(tmp, "plan", model, name + "_plan")
        pictures[name + "_right"] = draw(tmp, "inspect", ["--svg_layout", "right"] + model, name + "_right")
    for name, saved in profiles(tmp).items():
        pictures["costs_" + name] = draw(tmp, "profile", saved, "costs_" + name)
    drawn = {}
    for name, source in charts(tmp).items():
        drawn.update(chart(tmp, name, source))
    pictures.update(drawn)
    models["eight"] = [eight]
    pictures["eight_right"] = draw(tmp, "inspect", ["--svg_layout", "right", eight], "eight_right")

    pictures["costs"] = draw(tmp, "profile", [costs(tmp, 1)], "costs")
    pictures["costs_change"] = draw(tmp, "profile", [costs(tmp, 1), costs(tmp, 3)], "costs_change")
    for name in pictures:                        # every picture is XML, with names as they are
        try:
            xml.etree.ElementTree.fromstring(pictures[name])
            check(True, "")
        except xml.etree.ElementTree.ParseError as error:
            check(False, "%s: %s" % (name, error))

    # A model of 32 layers is drawn as one of them; boxes are named by operator; no picture is an endless line.
    deep = drawn.get("chart_deep", "")
    check(deep.count(">layer \u00d7 32: 46 nodes each</text>") == 2, "chart_deep: layers are not folded: %s" % re.findall(">layer [^<]*<", deep))
    check(60 < deep.count('class="card"') < 140, "chart_deep: %d boxes" % deep.count('class="card"'))
    check("past_key_#_in \u00d7 32<" in deep and ">RmsNorm<" in deep, "chart_deep: no cache of all layers, or no operator")
    for name in drawn:
        width, height = map(int, re.search(r'width="(\d+)" height="(\d+)"', drawn[name]).groups())
        check(max(width, height) < 7000 and width < 4 * height + 830 and height < 4 * width, "%s: %d x %d" % (name, width, height))
    check(drawn.get("before_long", "").count('class="card"') == 2002, "before_long: not all of 2,000 nodes are drawn: %s" % re.findall(">layer [^<]*</text>", drawn.get("before_long", "")))

    for name, picture in pictures.items():
        for problem in shortened_wrong(picture)[:3]:
            check(False, "%s: %s" % (name, problem))

    # Check that mistakes are found.
    for old, new in ((">0.5 GiB<", ">1\u2026iB<"), (">state<", ">st\u2026te, 2.0<")):
        check(old in pictures["far_plan"] and shortened_wrong(pictures["far_plan"].replace(old, new)), "a cut number passes: " + new)
    broken = {
        "block on another": re.sub(r'(<rect class="block[^"]*" x="[\d.]+" y=")[\d.]+', r"\g<1>200", pictures["chain_of_three_plan"]),
        "text out of its box": pictures["chain_of_three"].replace(">logits<", ">" + "logits" * 12 + "<"),
        "equal marks": re.sub(r'(<g class="ticks">.*?>)0<(.*?>)[^<>]+GiB<', r"\g<1>0<\g<2>0<", pictures["far_plan"], count=1, flags=re.S),
        "text on a box": pictures["costs_apart"].replace('class="tiny end"', 'dx="-60" class="tiny end"'),
        "text on another": pictures["chain_of_three"].replace('class="head t-input"', 'dy="22" class="head t-input"'),
        "cut off": re.sub(r'width="\d+" height="(\d+)" viewBox="0 0 \d+', r'width="500" height="\1" viewBox="0 0 500',
                          pictures["chain_of_three"], count=1),
    }
    verdict = measure(browser, tmp, ['<div id="%s">%s</div>' % one for one in dict(pictures, **broken).items()], MEASURE)
    for name in pictures:
        answer = verdict.get(name, {"wrong": ["not measured"], "texts": 0, "blocks": 0, "cards": 0})
        check(not answer["wrong"], "%s: %s" % (name, "; ".join(answer["wrong"])))
        check(answer["texts"] >= 2, "%s: only %d texts" % (name, answer["texts"]))
        plan = name.endswith("_plan")
        if name not in ("unwired_plan", "too_large_plan"):
            check(answer["blocks" if plan else "cards"] >= 2, "%s: %s" % (name, answer))
    for name in broken:
        check(verdict.get(name, {"wrong": []})["wrong"], "a picture with the mistake \"%s\" passes" % name)

    # Reports at three widths, of models with long names and of one that is not wired.
    frames = {}
    for name, model in (("hostile", models["hostile"] + ["--costs", costs(tmp, 1)]), ("unwired", models["unwired"]), ("eight", [eight])):
        path = os.path.join(tmp, name + ".html")
        subprocess.run([TOOL, "report", "--output", path] + model, stdin=subprocess.DEVNULL, capture_output=True)
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        if name == "eight":
            text = text.replace("<details>", '<details open="open">')
        for width in (390, 830, 1400):
            frames["%s_%d" % (name, width)] = (text, width)
    frames["fault"] = (text.replace("</h1>", '</h1><p style="width: 600px">wide</p>'), 390)
    verdict = measure(browser, tmp, ['<iframe id="%s" width="%d" height="4000" srcdoc="%s"></iframe>' % (name, width, html.escape(text))
                                     for name, (text, width) in frames.items()], MEASURE_REPORT)
    for name in frames:
        answer = verdict.get(name, {"wrong": ["not measured"], "sections": 0, "pictures": 0})
        if name == "fault":
            check(answer["wrong"], "a report that is too wide passes")
            continue
        check(not answer["wrong"], "report %s: %s" % (name, "; ".join(answer["wrong"])))
        check(answer["sections"] >= 5 and answer["pictures"] >= 1, "report %s: %s" % (name, answer))

    # Texts can be read on what they stand on, in both schemes: 4.5 is the ratio that WCAG asks for.
    style = re.search(r"<style>(.*?)</style>", pictures["chain_of_three"], re.S).group(1)
    schemes = style.split("@media (prefers-color-scheme: dark)")
    light, dark = (dict(re.findall(r"svg (\S+) \{[^}]*fill: (#\w{6})", part)) for part in schemes)

    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    on = [(text, "." + kind) for kind in ("input", "edge", "output", "buffer", "cache", "bad", "gone", "rest", "host", "convert")
          for text in ("text", ".meta", ".tiny", ".t-" + kind)]
    on += [("text", ".none"), (".tiny", ".none")]
    on += [(text, ".paper") for text in ("text", ".meta", ".tiny", ".t-input", ".t-edge", ".t-output", ".t-buffer", ".t-bad")]
    on += [(text, kind) for kind in (".step", ".place0", ".place1", ".place2", ".place3") for text in (".on", ".dim")]
    on += [(".ink", ".op%d" % i) for i in range(8)] + [(".t-edge", ".input"), (".t-edge", ".output"), (".t-bad", ".input"), (".t-bad", ".output")]
    for name, scheme in (("light", light), ("dark", dict(light, **dark))):
        check(len(scheme) > 40, "the style has %d colours" % len(scheme))
        for text, ground in on:
            if text in scheme and ground in scheme:
                a, b = sorted((luminance(scheme[text]), luminance(scheme[ground])))
                check((b + 0.05) / (a + 0.05) >= 4.5, "%s: %s on %s has a contrast of %.2f" % (name, text, ground, (b + 0.05) / (a + 0.05)))

    # Check that it is drawn, on its own and as an image: a screenshot of each README picture has many colours.
    for name in ("chain_of_three", "eight_shards_plan"):
        source, shot = os.path.join(TOP, "tests/data/pictures", name + ".svg"), os.path.join(tmp, name + ".png")
        size = [int(v) for v in re.search(r'width="(\d+)" height="(\d+)"', pictures.get(name, 'width="1" height="1"')).groups()]
        browse(browser, tmp, source, "--screenshot=" + shot, "--window-size=%d,%d" % tuple(size))
        check(os.path.exists(shot), "%s: no screenshot" % name)
        if os.path.exists(shot):
            count, seen = colours(shot)
            check(count > 40 and seen == tuple(size), "%s: a screenshot of %s with %d values" % (name, seen, count))
sys.exit(close())
