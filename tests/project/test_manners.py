#!/usr/bin/env python3
"""Manners of qnnrt-run: every verb with bad files, hostile names, full disks, closed pipes and narrow terminals.

    python3 tests/project/test_manners.py [BUILD_DIR [RELEASE_DIR]]

The verbs are those of `qnnrt-run --help`; each needs a row in VERBS and an example in its help. tools/run/JSON.md
has the shapes of all documents for programs; the real ones are compared with it. BUILD_DIR (default build)
holds qnnrt-run, qnnrt-llm and libQnnRef.so. A check that passes prints nothing."""
import csv
import errno
import fcntl
import html.parser
import json
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import xml.etree.ElementTree
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import check, close  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
TOOL, LLM, REF = (os.path.join(BUILD, name) for name in ("qnnrt-run", "qnnrt-llm", "libQnnRef.so"))
BACKEND = ["--backend_so", REF]
HOSTILE = "a\"\n\x1b[31m</text><script>alert(1)</script>../'&;,=\u202e%s|{}\\"
SECONDS = 60
os.environ.pop("COLUMNS", None)
os.environ.pop("NO_COLOR", None)
os.environ["TERM"] = "xterm"
os.environ["LC_ALL"] = "C"



# ---- running --------------------------------------------------------------------------------------

class Done:
    """What a program has done: its status, and what it printed."""

    def __init__(self, status, out=b"", err=b""):
        self.status, self.out, self.err = status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def __str__(self):
        return "status %d, out %r, err %r" % (self.status, self.out[:300], self.err[:300])


def anew(words):
    """Remove the capture of before: no capture is replaced."""
    if words[:1] == ("capture",):
        shutil.rmtree(os.path.join(tmp, "capture"), ignore_errors=True)


def run(*words, program=TOOL, stdout=subprocess.PIPE, before=None, signals=True):
    anew(words)
    try:
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                              timeout=SECONDS, preexec_fn=before, restore_signals=signals, cwd=tmp)
    except subprocess.TimeoutExpired:
        return Done(-signal.SIGALRM, b"", b"it does not end")
    return Done(done.returncode, done.stdout or b"", done.stderr)


def on_terminal(columns, *words, program=TOOL, **environment):
    """Run a program on a terminal of this width; out has what it printed to both."""
    anew(words)
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=child, stderr=child, cwd=tmp,
                               env=dict(os.environ, **environment), start_new_session=True)
    os.close(child)
    out = b""
    while True:
        try:
            data = os.read(parent, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            data = b""
        if not data:
            break
        out += data
    os.close(parent)
    return Done(process.wait(), out.replace(b"\r\n", b"\n"))


def ended(name, done, *statuses):
    """It ended by itself, with one of these statuses."""
    return check(name, done.status in statuses, "not %s: %s" % (statuses, done))


def messages(name, done):
    """Standard error has a message of the program, and its last line is a hint or a message."""
    return check(name, re.search(r"^(\S*/)?qnnrt-run: .", done.err, re.M), "no message: %s" % done)


# ---- the help -------------------------------------------------------------------------------------

def verbs_of(text):
    return list(dict.fromkeys(re.findall(r"^  qnnrt-run ([a-z_]+)\b(?! *$)|^  qnnrt-run ([a-z_]+)$", text, re.M)))


def options_of(text):
    """Return {option: its value, or None} of a help."""
    return {name: value or None for line in re.findall(r"^  (--.*)$", text, re.M)
            for name, value in re.findall(r"--(\w+)(?: ([^,\s][^\s]*?))?(?:, |$)", line)}


def fits(name, text, columns):
    """No line is wider than the terminal, except a word that is wider itself."""
    text = re.sub(r"\x1b\[[0-9;]*[mK]", "", text)
    for line in text.split("\n"):
        line = line.split("\r")[-1].rstrip()
        words = line.removesuffix(" \\").split()
        if len(line) > columns and len(words) > 1:
            return check(name, False, "%d columns: %r" % (len(line), line))
    return check(name, True)


def looks_safe(name, text, more=""):
    """A text for people: UTF-8 without control characters, except line feeds and those in `more`."""
    bad = [c for c in text if (ord(c) < 32 and c not in "\n" + more) or 127 <= ord(c) < 160 or c in "\u202e\u2028\u2029\ufffd"]
    return check(name, not bad, "%r in %r" % (bad[:3], text[max(0, text.find(bad[0]) - 60):][:160] if bad else ""))


# ---- what verbs are given -------------------------------------------------------------------------

# A verb's row: `words` of a run that succeeds (its options --json and those of WRITES are added), `bad`: words
# with which a bad file must fail ({bad}); `more`: words that options of WRITES replace; `statuses` of the good run; a verb without files has no `bad`.
VERBS = {
    "run": {"words": ["{model}", *BACKEND, "--input", "{input}={values}"], "bad": ["{bad}", *BACKEND]},
    "inspect": {"words": ["{model}", "--system_so", REF], "bad": ["{bad}", "--system_so", REF]},
    "plan": {"words": ["{model}", "--system_so", REF], "bad": ["{bad}", "--system_so", REF]},
    "compile": {"words": ["{graph}", *BACKEND, "--output_dir", "{out}"], "bad": ["{bad}", *BACKEND, "--output_dir", "{out}"]},
    "compare": {"words": ["{model}", "{model}", *BACKEND, "--input", "{input}={values}"], "bad": ["{bad}", *BACKEND]},
    "profile": {"words": ["{model}", *BACKEND], "bad": ["{bad}", *BACKEND]},
    "capture": {"words": ["{model}", *BACKEND, "--output_dir", "{capture}"], "bad": ["{bad}", *BACKEND, "--output_dir", "{out}"]},
    "replay": {"words": ["{captured}", "{model}", *BACKEND], "bad": ["{bad}", "{model}", *BACKEND]},
    "doctor": {"words": ["{model}", *BACKEND], "statuses": (0, 1, 3), "bad": ["{bad}", *BACKEND], "finds": True},
    "extract": {"words": ["{zip}"], "bad": ["{bad}"]},
    "bench": {"words": ["{model}", *BACKEND, "--num_inferences", "5"], "bad": ["{bad}", *BACKEND]},
    "explain": {"words": ["0x1388"]},
    "ops": {"words": ["Conv2d", "Relu"]},
    "report": {"words": ["{model}", *BACKEND, "--run"], "more": ["--output", "{page}"], "bad": ["{bad}", *BACKEND, "--run", "--output", "{page}"]},
}
# Options that write files: what they write, and options that they need.
WRITES = {
    "svg": ("svg", []), "dot": ("dot", []), "json_file": ("json", []), "bind_plan_out": ("json", []),
    "profile_out": ("json", ["--profiling_level", "detailed"]), "report": ("text", []), "save": ("json", []),
    "output_dir": ("folder", []), "csv": ("csv", []), "output": ("html", []), "html": ("html", []),
    "write_encodings": (None, []), "state_out": (None, []), "trace": ("json", []),
}
# Options that contradict each other, or lack another one: words, and what the message names.
CONTRADICTIONS = [
    (["run", "{model}", "--ctx_dir", "{model}", *BACKEND], "excludes"),
    (["run", "{model}", "--inspect", "--output_dir", "{out}"], "--output_dir"),
    (["run", "{model}", "--profile_out", "x.json"], "--profiling_level"),
    (["run", "{model}", "--json", "--svg", "-"], "standard output"),
    (["run", "{model}", "--unified"], "--json_file"),
    (["run", "{model}", "--guard", "--guard=1"], "--guard"),
    (["inspect", "--diff", "{model}", "{model}", "--json"], "--diff"),
    (["inspect", "--diff", "{model}"], "--diff"),
    (["inspect", "{model}", "--manifest", "--json"], "standard output"),
    (["inspect", "{model}", "--input", "x=x"], "--input"),
    (["plan", "{model}", "--dot", "x.dot"], "--dot"),
    (["compile", "{graph}", "--output_dir", "{out}", "--fp16", "--fp32", *BACKEND], "--fp"),
    (["compile", "{graph}", *BACKEND], "--output_dir"),
    (["inspect", "{model}", "--svg_layout", "down"], "--svg"),
    (["run", "{model}", "--duration", "1", "--num_inferences", "2"], "--duration"),
    (["run", "{model}", "--output_data_type", "float"], "--output_dir"),
    (["compile", "{graph}", "--output_dir", "{out}", "--json", "--report", "-"], "standard output"),
    (["compare", "{model}", *BACKEND], "second model"),
    (["compare", "{model}", "{model}", "--dtype", "f32", *BACKEND], "--dtype"),
    (["profile", "{saved}", "{saved}", "{saved}"], "two saved profiles"),
    (["profile", "{saved}", "--against", "{saved}", *BACKEND], "--backend_so"),
    (["profile", "{model}", *BACKEND, "--json", "--profile_out", "-"], "standard output"),
    (["capture", "{model}", *BACKEND], "--output_dir"),
    (["replay", "{missing}", "{model}", "{model}", *BACKEND], "a capture and a model"),
    (["doctor", "{model}", "--json", "--report", "-"], "standard output"),
    (["doctor", "{model}", "--no_load", "--run"], "--no_load"),
    (["extract"], "extract takes files"),
    (["report", "{model}"], "--output"),
    (["report", "{model}", "--output", "x.html", "--run", "--costs", "{saved}"], "--costs"),
    (["explain", "--json=1"], "--json"),
    (["bench", "{model}", *BACKEND, "--rounds", "2"], "--rounds"),
]
# More documents, with members that the good runs do not have, and of runs that fail.
MORE = [
    ("json_no_model", ["run", "{missing}", *BACKEND, "--json"], "qnnrt-run.run"),
    ("json_profile", ["run", "{model}", *BACKEND, "--json", "--profiling_level", "detailed", "--memory", "shared", "--num_inferences", "2",
                      "--output_dir", "{out}", "--resident", "one"], "qnnrt-run.run"),
    ("json_left_out", ["run", "{mixed}", *BACKEND, "--json", "--keep_going"], "qnnrt-run.run"),
    ("json_inspect", ["inspect", "{missing}", "--json"], "qnnrt-run.inspect"),
    ("json_bind_plan", ["plan", "{model}", "--system_so", REF, "--bind_plan_out", "-"], "qnnrt-run.bind_plan"),
    ("json_not_compiled", ["compile", "{missing}", *BACKEND, "--output_dir", "{out}", "--json"], "qnnrt-run.compile"),
    ("json_profiles", ["profile", "{saved}", "{saved}", "--json"], "qnnrt-run.profile-change"),
    ("json_doctor", ["doctor", "{missing}", "--json"], "qnnrt-run.doctor"),
    ("json_replay", ["replay", "{missing}", "{model}", *BACKEND, "--json"], "qnnrt-run.replay"),
    ("json_compare", ["compare", "{missing}", "{missing}", *BACKEND, "--json"], "qnnrt-run.compare"),
    ("json_race", ["bench", "{model}", "{model}", *BACKEND, "--rounds", "3", "--starts", "1", "--json"], "qnnrt-run.bench-pair"),
    ("json_no_race", ["bench", "{model}", "{missing}", *BACKEND, "--json"], "qnnrt-run.bench-pair"),
    ("json_samples", ["bench", "--samples", "{missing}", "--json"], "qnnrt-run.bench-samples"),
    ("json_extract", ["extract", "{missing}", "--json"], "qnnrt-run.extract"),
    ("json_dlc", ["extract", os.path.join(BUILD, "data/llm/dlc/w8a16_ar1.dlc"), "--json"], "qnnrt-run.extract"),
    ("json_ops", ["ops", "--json"], "qnnrt-run.ops"),
    ("json_no_op", ["ops", HOSTILE, "--json"], "qnnrt-run.ops"),
    ("json_explain", ["explain", "--json"], "qnnrt-run.explain"),
    ("json_unknown", ["explain", "--json", "nonsense"], "qnnrt-run.explain"),
]


class Page(html.parser.HTMLParser):
    """What in an HTML file a browser would run or fetch."""

    def __init__(self, text):
        super().__init__()
        self.inside, self.found = None, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        if tag in ("script", "iframe", "object", "embed", "link", "base", "form"):
            self.found.append((tag,))
        for key, value in attributes:
            if key.startswith("on") or re.match(r"\s*(javascript|https?):", value or "") and key in ("src", "href", "xlink:href"):
                self.found.append((tag, key, value))

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script" and "alert(1)" in data:
            self.found.append(("script", data[:80]))


def check_svg(name, text):
    try:
        root = xml.etree.ElementTree.fromstring(text)
    except xml.etree.ElementTree.ParseError as error:
        return check(name, False, "not XML: %s" % error)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    return check(name, not tags & {"script", "foreignObject"}, tags) and looks_safe(name, text)


def check_dot(name, text):
    rest = re.sub(r'"(?:\\.|[^"\\])*"', "", text, flags=re.S)
    return check(name, '"' not in rest and "script" not in rest, rest) and looks_safe(name, text)


def check_json(name, text):
    try:
        return json.loads(text)
    except ValueError as error:
        check(name, False, "%s: %r" % (error, text[:200]))
        return None


def check_csv(name, text):
    rows = list(csv.reader(text.splitlines(True), strict=True))
    return check(name, rows and len({len(row) for row in rows}) == 1, rows[:3]) and looks_safe(name, text, "\r")


def check_html(name, text):
    found = Page(text).found
    return check(name, not found, found) and looks_safe(name, text)


CHECKS = {"svg": check_svg, "dot": check_dot, "json": check_json, "csv": check_csv, "html": check_html, "text": looks_safe}


def relu(graph, x, middle, y):
    """Return a graph in ATen operators: y = -relu(x)."""
    def value(name):
        return {"name": name, "shape": [1, 4], "dtype": "float32"}

    def node(name, op, source):
        return {"name": name, "op_type": op, "inputs": [dict(value(source), producer_node=source, producer_output_idx=0)],
                "outputs": [value(name)], "attrs": {}}
    return {"model_name": graph, "pytorch_version": "2.10.0", "graph_inputs": [value(x)], "graph_outputs": [value(y)], "weights": [],
            "weight_name_mapping": {}, "nodes": [node(middle, "aten.relu.default", x), node(y, "aten.neg.default", middle)]}


def make_model(name, graph, *names):
    """Compile a graph for the reference backend; return the words that stand for it in rows."""
    source, model = os.path.join(tmp, name + ".json"), os.path.join(tmp, graph)
    with open(source, "w") as out:
        json.dump(relu(graph, *names), out)
    done = run("compile", source, *BACKEND, "--graph_name", graph.replace(",", ""), "--binary_file", "model", "--output_dir", model)
    ended("made_" + name, done, 0)
    looks_safe("made_" + name, done.out + done.err)
    archive = os.path.join(tmp, name + ".zip")
    with zipfile.ZipFile(archive, "w") as out:
        out.write(os.path.join(model, "model.bin"), "../" + names[0] + ".bin")
    return {"model": model, "graph": source, "zip": archive, "input": names[0], "values": os.path.join(tmp, "values.raw")}


def filled(words, values):
    return [re.sub(r"\{(\w+)\}", lambda m: values[m.group(1)], word) for word in words]


def make_bad_files(good):
    """Return {what is wrong: path} of files that are no models, as a binary or in a folder."""
    with open(good, "rb") as file:
        data = file.read()
    contents = {"empty": b"", "cut": data[:len(data) * 2 // 3], "short": data[:7], "png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
                "text": b"{\"info\": [1, 2", "elf": b"\x7fELF\x02\x01\x01" + b"\0" * 300, "zip": b"PK\x03\x04" + b"\xff" * 200}
    bad = {"missing": os.path.join(tmp, "bad", "missing.bin")}
    for ending in ("bin", "json", "dlc"):
        os.makedirs(os.path.join(tmp, "bad", ending))
        for what, content in contents.items():
            folder = os.path.join(tmp, "bad", ending, what)
            os.makedirs(folder)
            path = bad["%s_%s" % (what, ending)] = os.path.join(folder, "model." + ending)
            with open(path, "wb") as out:
                out.write(content)
            if ending == "bin":
                bad[what + "_folder"] = folder
        huge = bad["huge_" + ending] = os.path.join(tmp, "bad", ending, "huge." + ending)
        with open(huge, "wb") as out:
            out.write(data[:64])
            out.truncate(1 << 40)
        # Reading it fails, also for root.
        bad["unreadable_" + ending] = os.path.join(tmp, "bad", ending, "unreadable." + ending)
        os.symlink("/proc/self/mem", bad["unreadable_" + ending])
        folder = bad["folder_" + ending] = os.path.join(tmp, "bad", ending, "folder." + ending)
        os.makedirs(folder)
        pipe = bad["pipe_" + ending] = os.path.join(tmp, "bad", ending, "pipe." + ending)
        os.mkfifo(pipe)
    return bad


# ---- shapes of documents --------------------------------------------------------------------------

SIMPLE = {"text": str, "number": (int, float), "count": int, "int": int, "bool": bool, "object": dict}


class Shapes:
    """The shapes of tools/run/JSON.md: lines "member type  meaning" below "name:"."""

    def __init__(self, path):
        self.shapes, self.seen, shape = {}, set(), None
        with open(path) as file:
            blocks = re.findall(r"^```shapes\n(.*?)^```", file.read(), re.S | re.M)
        for line in "".join(blocks).split("\n"):
            if line.endswith(":"):
                shape = self.shapes[line[:-1]] = {}
            elif line.strip():
                member, kind = line.split()[:2]
                shape[member.rstrip("?")] = (kind, member.endswith("?"))

    def problem(self, value, kind, where):
        """Return what is wrong with a value, or None. A kind: its name, a '?' for null, '[]' for a list."""
        if kind.endswith("?"):
            return None if value is None else self.problem(value, kind[:-1], where)
        if kind.endswith("[]"):
            if not isinstance(value, list):
                return "%s is no list" % where
            return next(filter(None, (self.problem(item, kind[:-2], "%s[%d]" % (where, i)) for i, item in enumerate(value))), None)
        if kind in SIMPLE:
            good = isinstance(value, SIMPLE[kind]) and (kind == "bool") == isinstance(value, bool) and (kind != "count" or value >= 0)
            return None if good else "%s is %r, no %s" % (where, value, kind)
        if kind not in self.shapes:
            return "%s: the shape %s is not described" % (where, kind)
        if not isinstance(value, dict):
            return "%s is no object" % where
        shape = self.shapes[kind]
        for member in value:
            if member not in shape:
                return "%s has the member \"%s\", which %s does not have" % (where, member, kind)
            self.seen.add((kind, member))
            wrong = self.problem(value[member], shape[member][0], "%s.%s" % (where, member))
            if wrong:
                return wrong
        missing = [member for member in shape if member not in value and not shape[member][1]]
        return "%s lacks \"%s\" of %s" % (where, missing[0], kind) if missing else None

    def check(self, name, document, kind):
        if document is None:
            return
        members = list(document)
        check(name, members[:2] == ["format", "version"] and document["format"] == kind and document["version"] == 1, members[:4])
        wrong = self.problem(document, kind, "document")
        check(name, wrong is None, wrong)


# ---- the checks of a verb -------------------------------------------------------------------------

def check_help(verb, text, values):
    """Its help: an example, whose options exist; lines that fit; a section of the man page."""
    fits(verb + "_help", text, 80) if not re.search("^      qnnrt-run", text, re.M) else \
        fits(verb + "_help", re.sub("^      qnnrt-run.*$", "", text, flags=re.M), 80)
    examples = re.findall(r"^      qnnrt-run (.*)$", text, re.M)
    check(verb + "_has_an_example", examples)
    options = set(options_of(text)) | {alias for line in re.findall("^  (--.*)$", text, re.M) for alias in re.findall(r"--(\w+)", line)}
    for example in examples:
        wrong = set(re.findall(r"--(\w+)", example)) - options
        check(verb + "_example", not wrong, "%s: %s" % (example, wrong))
        check(verb + "_example", example.split()[0] in (verb, "--ctx_dir"), example)
    for columns in (20, 40, 133):
        done = on_terminal(columns, verb, "--help")
        if ended("%s_help_%d" % (verb, columns), done, 0):
            fits("%s_help_%d" % (verb, columns), done.out, columns)


def check_usage(verb, row, values):
    done = run(verb, "--no_such_option")
    if not VERBS_RAW.get(verb):
        ended(verb + "_unknown_option", done, 2)
        messages(verb + "_unknown_option", done)
        check(verb + "_unknown_option", done.out == "", done)


def check_bad_files(verb, row, values, bad):
    for what, path in bad.items():
        name = "%s_%s" % (verb, what)
        done = run(*filled(row["bad"], dict(values, bad=path, out=os.path.join(tmp, "bad_out"))))
        if row.get("finds"):
            ended(name, done, 1)
            check(name, "  fault " in done.out and "hint: " in done.out, done)
        elif ended(name, done, 1, 2):
            messages(name, done)
        looks_safe(name, done.out + done.err)


def check_values(values, bad):
    """A file that an input is read from: every verb that fills inputs refuses what does not fit."""
    empty = os.path.join(tmp, "empty.raw")
    open(empty, "w").close()
    files = {"empty": empty, **{what: path for what, path in bad.items() if not what.endswith("_folder")}}
    for verb in [verb for verb in VERBS if "--input" in VERBS[verb]["words"]]:
        for what, path in files.items():
            name = "%s_input_%s" % (verb, what)
            done = run(*filled([verb, *VERBS[verb]["words"]], dict(values, values=path)))
            if ended(name, done, 1, 2):
                messages(name, done)
                check(name, os.path.basename(path) in done.err, done)


def check_writes(verb, row, values, options):
    """Files that the verb writes, of a model with hostile names; then disks that are full."""
    for option, (kind, more) in WRITES.items():
        if option not in options or kind is None:
            continue
        if option == "json_file" and verb == "run":
            more = more + ["--inspect"]
        at = row["words"].index("--" + option) if "--" + option in row["words"] else len(row["words"])
        words = filled([verb, *row["words"][:at], *row["words"][at + 2:]], values)
        if "--inspect" in more:
            words = filled([verb, "{model}", "--system_so", REF], values)
        name = "%s_%s" % (verb, option)
        path = os.path.join(tmp, "written." + {"folder": "d", "text": "txt"}.get(kind, kind))
        done = run(*words, *more, "--" + option, path)
        ended(name, done, *row.get("statuses", (0,)))
        looks_safe(name, done.out + done.err)
        if kind == "folder":
            files = [os.path.join(folder, file) for folder, _, names in os.walk(path) for file in names]
            check(name, files and all(re.fullmatch(r"[\w./-]+", os.path.relpath(file, path)) for file in files), files)
            shutil.rmtree(path, ignore_errors=True)
        elif check(name, os.path.isfile(path), "it is not written: %s" % done):
            with open(path, encoding="utf-8", newline="") as file:
                CHECKS[kind](name, file.read())
            os.unlink(path)
        if kind != "folder":
            done = run(*words, *more, "--" + option, "/dev/full")
            ended(name + "_full", done, 1)
            check(name + "_full", "/dev/full" in done.err, done)
            done = run(*words, *more, "--" + option, os.path.join(tmp, "no", "such", "x." + kind))
            ended(name + "_no_folder", done, 1, 2)
            messages(name + "_no_folder", done)
        before = sorted(os.listdir(tmp))
        # The limit stands for a disk without room.
        done = run(*words, *more, "--" + option, path, signals=False,
                   before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8)))
        ended(name + "_no_room", done, 1)
        messages(name + "_no_room", done)
        left = [file for folder, _, names in os.walk(path) for file in names] if kind == "folder" else \
            [file for file in sorted(os.listdir(tmp)) if file not in before]
        check(name + "_no_room", not left, "left behind: %s" % left)
        check(name + "_no_room", verb not in ("capture", "compile") or not os.path.exists(path), "the folder is left behind")
        shutil.rmtree(path, ignore_errors=True)
    # An option that writes a file stands in WRITES.
    for option, value, help_text in re.findall(r"^  --(\w+) ([^\n]*)\n((?: {8}.*\n)+)", options_text[verb], re.M):
        if re.search("FILE|DIR|PATH", value) and re.match(r"(write|draw|save)\b", help_text.strip()):
            check("%s_%s" % (verb, option), option in WRITES, "it writes a file: add it to WRITES")


def check_output(verb, row, values, options):
    """Standard output: text, JSON, a full disk, a closed pipe, terminals."""
    good = row.get("statuses", (0,))
    words = filled([verb, *row["words"], *row.get("more", [])], values)
    done = run(*words)
    ended(verb, done, *good)
    looks_safe(verb, done.out + done.err)
    # A row of a table has cells two blanks apart.
    wide = [line for line in done.out.split("\n") if len(re.split("  +", line.strip())) > 3 and len(line) > 100]
    check(verb + "_tables", not wide, wide[:2])
    check(verb + "_prints", done.out != "", done)
    check(verb + "_no_colour", "\x1b" not in done.out + done.err, done)
    forms = [words]
    if "json" in options and options["json"] is None:
        forms.append([verb, "--json", *words[1:]])
        done = run(*forms[1])
        ended(verb + "_json", done, *good)
        looks_safe(verb + "_json", done.out + done.err)
        shapes.check(verb + "_json", check_json(verb + "_json", done.out), "qnnrt-run." + verb)
    else:
        if check(verb + "_json", verb in WITHOUT_JSON, "it has no --json") and WITHOUT_JSON[verb]:
            with open(os.path.join(values[verb], WITHOUT_JSON[verb]), encoding="utf-8") as file:
                shapes.check(verb + "_json", json.load(file), "qnnrt-run." + verb)
    for form in forms:
        name = verb + ("_json" if form is not words else "")
        with open("/dev/full", "wb") as full:
            done = run(*form, stdout=full)
        ended(name + "_full", done, 1)
        check(name + "_full", "cannot write to standard output" in done.err, done)
        for signals in (True, False):
            read_end, write_end = os.pipe()
            os.close(read_end)
            done = run(*form, stdout=write_end, signals=signals)
            os.close(write_end)
            ended(name + "_closed_pipe", done, 1, *([-signal.SIGPIPE] if signals else []))
        done = run(*form, before=lambda: os.close(1), stdout=None)
        ended(name + "_no_stdout", done, *good, 1)
    for columns in (20, 53):
        done = on_terminal(columns, *words)
        ended("%s_%d" % (verb, columns), done, *good)
        fits("%s_%d" % (verb, columns), done.out, columns)
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        done = on_terminal(60, *words, **environment)
        shown = done.out + on_terminal(60, verb, "--help", **environment).out
        escapes = re.findall("\x1b(?:\\[[0-9;]*[A-Za-z])?", shown)
        check(verb + "_no_colour", not escapes or "NO_COLOR" in environment and set(escapes) == {"\x1b[K"}, escapes)


# ---- the man page and the completions ----------------------------------------------------------------

def check_manual(program, helps):
    """The page: the verbs and options of the helps, and nothing that roff complains about."""
    name = os.path.basename(program)
    page = os.path.join(tmp, name + ".1")
    done = run("--man", program=program)
    ended(name + "_man", done, 0)
    looks_safe(name + "_man", done.out)
    with open(page, "w") as out:
        out.write(done.out)
    check(name + "_man", "/" not in re.findall(r"^\.TH.*$", done.out, re.M)[0] and not re.search("20[0-9][0-9]", done.out.split("\n")[1]), "a date")
    text = re.sub(r"\\-", "-", done.out)
    for verb, shown in helps.items():
        part = re.split(r"^\.S[SH] ", text, flags=re.M)
        part = next((p for p in part if p.split("\n")[0] == verb), "") if verb else text
        check("%s_man_%s" % (name, verb), part, "it has no section")
        missing = [o for o in options_of(shown) if o not in COMMON and "--%s" % o not in part]
        check("%s_man_%s" % (name, verb), not missing, missing)
    for words in (["groff", "-man", "-ww", "-Tutf8", "-z", page], ["mandoc", "-T", "lint", "-W", "warning", page]):
        if shutil.which(words[0]):
            done = run(*words[1:], program=words[0])
            wrong = [line for line in (done.out + done.err).splitlines() if "missing date" not in line]
            check("%s_%s" % (name, words[0]), not wrong, wrong)


def bash_completes(script, *words):
    done = run("-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _%s; printf "%%s\n" "${COMPREPLY[@]}"'
               % words[0].replace("-", "_"), "bash", script, *words, program="bash")
    return done.out.split()


def check_completions(program, helps):
    """What the shells offer: the verbs, the options of each verb, the words of an option."""
    name = os.path.basename(program)
    scripts = {}
    for shell in ("bash", "zsh", "fish"):
        done = run("--completion", shell, program=program)
        ended(name + "_" + shell, done, 0)
        scripts[shell] = os.path.join(tmp, name + "." + shell)
        with open(scripts[shell], "w") as out:
            out.write(done.out)
        if shutil.which(shell):
            done = run("-n", scripts[shell], program=shell)
            check(name + "_" + shell, done.status == 0 and not done.out + done.err, done)
    ended(name + "_csh", run("--completion", "csh", program=program), 2)
    if not shutil.which("bash"):
        return
    for verb, shown in helps.items():
        before = [name] + ([verb] if verb else [])
        if verb:
            check("bash_" + verb, verb in bash_completes(scripts["bash"], name, verb[:-1]), verb)
        found = {option[2:] for option in bash_completes(scripts["bash"], *before, "--")}
        firsts, both = set(re.findall(r"^  --(\w+)", shown, re.M)), set(options_of(shown))
        check("bash_%s_options" % verb, firsts <= found <= both, found ^ both)
    for words, answer in ((["--log_level", "ver"], ["verbose"]), (["--log_level", "=", "de"], ["debug"]), (["--completion", ""], ["bash", "zsh", "fish"]),
                          (["--perf_profile", "bu"], ["burst"]), (["--ctx_dir", ""], [])):
        before = [name] + (["run"] if "run" in helps else [])
        found = bash_completes(scripts["bash"], *before, *words)
        check("bash_" + words[0], found == answer, found)
    if shutil.which("fish"):
        line = name + (" run" if "run" in helps else "") + " --memory sh"
        done = run("-c", 'source $argv[1]; complete -C "%s"' % line, scripts["fish"], program="fish")
        check("fish", done.out.startswith("shared"), done)


COMMON = ("version", "man", "completion", "help")
# Verbs that take a pasted line, and those whose document is a file in the folder that they write.
VERBS_RAW = {"explain": True}
WITHOUT_JSON = {"capture": "capture.json", "report": None}    # the facts of a report are those of inspect, doctor and profile

tmp = tempfile.mkdtemp(prefix="test_manners.")
try:
    with open(os.path.join(tmp, "values.raw"), "wb") as raw:
        raw.write(struct.pack("4f", 1, -2, 3, 4))
    shapes = Shapes(os.path.join(TOP, "tools", "run", "JSON.md"))
    plain = make_model("plain", "plain", "x", "m", "y")
    hostile = make_model("hostile", "g\"\n\x1b[31m<script>alert(1)<", "x" + HOSTILE.replace("=", ""), "m" + HOSTILE, "y" + HOSTILE)
    for values in (plain, hostile):
        values["out"] = os.path.join(tmp, "out")
        values["capture"] = os.path.join(tmp, "capture")
        values["page"] = os.path.join(tmp, "page.html")
        values["captured"] = values["model"] + "_captured"
        ended("captured", run("capture", values["model"], *BACKEND, "--output_dir", values["captured"]), 0)
    bad = make_bad_files(os.path.join(plain["model"], "model.bin"))
    plain.update(missing=bad["missing"], saved=os.path.join(tmp, "saved.json"),
                 mixed=os.path.join(tmp, "mixed"))
    ended("saved", run("profile", plain["model"], *BACKEND, "--save", plain["saved"]), 0)
    os.mkdir(plain["mixed"])
    shutil.copy(os.path.join(plain["model"], "model.bin"), plain["mixed"])
    shutil.copy(bad["cut_bin"], os.path.join(plain["mixed"], "z.bin"))

    whole = run("--help")
    ended("help", whole, 0)
    verbs = list(dict.fromkeys(re.findall(r"^  qnnrt-run ([a-z_]+)", whole.out, re.M)))
    check("verbs", len(verbs) > 5, verbs)
    options_text = {verb: run(verb, "--help").out for verb in verbs}
    for verb in verbs:
        row = VERBS.get(verb)
        options = options_of(options_text[verb])
        check_help(verb, options_text[verb], plain)
        if not check(verb, row is not None, "it has no row in VERBS of tests/project/test_manners.py"):
            row = {"words": ["{model}", *(BACKEND if "backend_so" in options else [])], "bad": ["{bad}"]}
        check_usage(verb, row, plain)
        if "bad" in row:
            row["bad"].insert(0, verb)
            check_bad_files(verb, row, plain, bad)
        check_output(verb, row, hostile, options)
        check_writes(verb, row, hostile, options)
    check_values(plain, bad)
    helps = {verb: options_text[verb] for verb in verbs}
    check_manual(TOOL, helps)
    check_completions(TOOL, helps)
    llm = run("--help", program=LLM)
    fits("llm_help", re.sub("^      qnnrt-llm.*$", "", llm.out, flags=re.M), 80)
    check_manual(LLM, {"": llm.out})
    check_completions(LLM, {"": llm.out})
    for name, words, kind in MORE:
        done = run(*filled(words, plain))
        looks_safe(name, done.out + done.err)
        shapes.check(name, check_json(name, done.out), kind)
    # --log_level holds for the lines of qnnrt, too: it tells which library it loaded as info.
    done = run("run", plain["model"], *BACKEND, "--log_level", "info")
    check("log_info", "log info backend: loaded" in done.err, done)
    done = run("run", plain["model"], *BACKEND, "--log_level", "warn")
    check("log_warn", "log info" not in done.err, done)
    for words, text in CONTRADICTIONS:
        done = run(*filled(words, plain))
        if words[0] != "explain":
            ended(" ".join(words), done, 2)
            check(" ".join(words), text in done.err and "hint: " in done.err, done)
finally:
    shutil.rmtree(tmp)
sys.exit(close())
