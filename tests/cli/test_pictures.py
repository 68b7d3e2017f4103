#!/usr/bin/env python3
"""The pictures of qnnrt-run in a browser: no element overlaps or is cut off, texts are within their boxes.

    python3 tests/cli/test_pictures.py [BUILD_DIR]

Headless Chromium lays out the pictures in one page, and a script there measures every element. Without it the
test is skipped. QNNRT_SAMPLES (a folder with json/*.json, genuine dumps) adds pictures.
"""
import glob
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build")
TOOL = os.path.join(BUILD, "qnnrt-run")
passed = failed = 0

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


def check(good, message):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("pictures: " + message)


def finish(skipped=0):
    print("%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else ""))
    sys.exit(failed != 0)


def give_up(reason):
    if os.environ.get("QNNRT_REQUIRE_ALL") == "1":
        check(False, reason + ", but QNNRT_REQUIRE_ALL=1")
        finish()
    print("pictures: all: skipped: " + reason)
    finish(1)


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


def hostile(folder, source):
    """Write a dump with long, wide and strange names."""
    document = json.load(open(source))
    graph = document["info"]["graphs"][0]["info"]
    graph["graphName"] = "<b>&amp;\"]]>" + "W" * 300
    names = ["\u4e2d" * 300, "m" * 1000, "</text>", "\x1b[31m" * 40, "\u202e\u0627\u0644", "a b  c", "\U0001f600" * 50]
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
    models["program"] = program(os.path.join(tmp, "program"))
    samples = sorted(glob.glob(os.path.join(os.environ.get("QNNRT_SAMPLES", "/nowhere"), "json/ctx_*.json")))
    if samples:
        models["genuine"] = samples
    for name, model in models.items():
        pictures[name] = draw(tmp, "inspect", model, name)
        pictures[name + "_plan"] = draw(tmp, "plan", model, name + "_plan")
        if name != "genuine":
            pictures[name + "_right"] = draw(tmp, "inspect", ["--svg_layout", "right"] + model, name + "_right")
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

    # Check that mistakes are found.
    broken = {
        "block on another": re.sub(r'(<rect class="block[^"]*" x="[\d.]+" y=")[\d.]+', r"\g<1>200", pictures["chain_of_three_plan"]),
        "text out of its box": pictures["chain_of_three"].replace(">logits<", ">" + "logits" * 12 + "<"),
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
        if name != "unwired_plan":
            check(answer["blocks" if plan else "cards"] >= 3, "%s: %s" % (name, answer))
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
    on += [(text, ".paper") for text in ("text", ".meta", ".tiny", ".t-input", ".t-edge", ".t-output", ".t-buffer", ".t-bad")]
    on += [(text, kind) for kind in (".step", ".place0", ".place1", ".place2", ".place3") for text in (".on", ".dim")]
    on += [(".n-op%d" % i, ".op%d" % i) for i in range(8)] + [(".t-edge", ".input"), (".t-edge", ".output"), (".t-bad", ".input"), (".t-bad", ".output")]
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
finish()
