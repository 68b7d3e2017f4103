#!/usr/bin/env python3
"""The programs of the documents and of the headers' first screens compile; those of documents print what is below them. Every loop of a header's manual runs. What else holds for all documents is in docs.py."""
import glob
import itertools
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", name) for name in ("harness", "python")]
import checks                    # noqa: E402
from checks import close, holds  # noqa: E402

import docs
import headers
import onnx_file

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

CC = os.environ.get("CC", "cc")


def check(name, source):
    """Compile a text that uses declarations: calls of functions that do not exist are errors."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snippet.c")
        with open(path, "w") as out:
            out.write(source)
        run = subprocess.run(CC.split() + ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-I" + TOP, "-I" + os.path.join(TOP, "tools"), "-I" + os.path.join(TOP, "tools", "engines"),
                                           "-fsyntax-only", path], capture_output=True, text=True)
    holds(run.returncode == 0, "%s: does not compile:\n%s" % (name, run.stderr[:2000]))


def prints(name, source, model, make, wanted, file="build/snippet.c", command="cc -std=c99 -I. -Itools build/snippet.c -o build/snippet -ldl && build/snippet"):
    """Follow a document in a copy of a clone: make the folder that a program opens, save the program, type its command.
    It prints the wanted output, and no file lies outside of build/."""
    with tempfile.TemporaryDirectory() as folder:
        for entry in os.listdir(TOP):
            if entry not in ("build", ".git"):
                os.symlink(os.path.join(TOP, entry), os.path.join(folder, entry))
        clone = set(os.listdir(folder))
        os.makedirs(os.path.join(folder, model))
        os.symlink(os.path.join(TOP, "build/libQnnRef.so"), os.path.join(folder, "build/libQnnRef.so"))
        with open(os.path.join(folder, file), "w") as out:
            out.write(source)
        try:
            subprocess.run([os.path.join(folder, model) if word == "MODEL" else word for word in make], cwd=TOP, check=True, capture_output=True, text=True)
            found = subprocess.run(re.sub("^cc ", lambda _: CC + " ", command), shell=True, cwd=folder, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            found = "%s\n%s" % (error, getattr(error, "stderr", ""))
        found += "".join("leaves %s\n" % left for left in sorted(set(os.listdir(folder)) - clone - {"build"}))
    holds(found.strip() == wanted.strip(), "%s prints\n%s\n  instead of\n%s" % (name, found, wanted))


# Every document: budgets of words, sentences, links, options, targets, paths, and where commands write.
count, wrong = docs.problems()
checks.passed += count
for line in wrong:
    holds(False, line)

# These checks can fail.
FAULTS = {
    "Two words.\n\n" * 201: "402 words, more than 400",
    "A sentence of %s" % ("many words " * 16): None,
    "A sentence of %s" % ("many words " * 17): "37 words in one sentence",
    "* A point, and\n  then %s." % ("many `long words` " * 18): "words in one sentence",
    "| %s |\n\n    %s\n" % ("cells " * 40, "code " * 40): None,
    "[a](none.md)": "the link to none.md leads nowhere",
    "[a](llm/README.md#a-small-server) [b](../README.md#limits) [c](https://example.org/#x)": None,
    "[a](../README.md#none)": "no such heading",
    '<img src="none.svg">': "the link to none.svg leads nowhere",
    "    make check T=none && make none": "no target none",
    "    build/qnnrt-run inspect build/x --none": "no option --none",
    "Say `tests/none.py`.": "no tests/none.py",
    "    build/qnnrt-run run build/x --output_dir out": "not below build/: out",
    "Call `qnnrt_open()`, not `qnnrt_recover()`.": "no code has the name qnnrt_recover",
    "    cc -std=c99 examples/01_hello.c -ldl": "writes to the current folder",
}
for text, wanted in FAULTS.items():
    _, wrong = docs.problems_of("examples/README.md", text)
    holds(len(wrong) == (wanted is not None) and all(wanted in line for line in wrong),
          "docs.py finds %s instead of %s in: %.100s" % (wrong, wanted, text))

snippets = docs.fenced("c")
for path, snippet in snippets:
    check("the program of %s" % path, snippet)

# The lines that open a session, in a function.
session = re.search(r"^    #include \"qnnrt_engines.h\"\n\n((?:    .*\n)+)", docs.TEXTS["tools/engines/README.md"], re.M)
check("tools/engines/README.md, the lines of a session", '#include "qnnrt_engines.h"\n#include <stdio.h>\nvoid f(void);\nvoid f(void)\n{\n%s}\n' %
      (session.group(1) if session else "    no such lines\n"))

# The size on the first screen is about right.
stated = re.search(r"have ([\d,]+) lines", docs.TEXTS["README.md"])
lines = sum(open(os.path.join(TOP, header)).read().count("\n") for header in ("qnnrt.h", "qnnrt_json.h"))
holds(stated and abs(int(stated.group(1).replace(",", "")) - lines) < lines // 20,
      "the two headers have %d lines, README.md says %s" % (lines, stated and stated.group(1)))

# The line that each program prints is below it.
TYPED = r"Save it as `([^`]+)`. After `make \w+`, `(cc [^`]+)`\sprints\n\n    ([^\n]+)\n"
MODELS = {
    "README.md": ("build/run/ref/model", ["build/examples/05_make_model", "tests/data/llm/model", "MODEL"]),
    "examples/llm/README.md": ("build/llm-run/ref/model", ["build/examples/llm/export", "tests/data/llm/model", "MODEL", "--type", "w8a16", "--shards", "4",
                                                           "--backend_so", "build/libQnnRef.so"]),
}
if sorted(path for path, _ in snippets) != sorted(MODELS):
    holds(False, "programs in C are in %s" % [path for path, _ in snippets])
for path, snippet in snippets:
    typed = re.findall(TYPED, docs.TEXTS[path])
    if len(typed) == 1 and path in MODELS:
        prints("the program of " + path, snippet, *MODELS[path], typed[0][2], *typed[0][:2])
    else:
        holds(False, "%s has %d outputs of programs, not 1" % (path, len(typed)))

# Sessions in Python (tests/python/test_python.sh runs it) and the export from PyTorch have ten lines each.
programs = docs.fenced("python")
short = all(sum(1 for line in text.splitlines() if line) <= 10 and compile(text, path, "exec") for path, text in programs)
holds([path for path, _ in programs] == ["tools/python/README.md", "tools/run/compile/README.md"] and short,
      "programs in Python are in %s, or one has more than ten lines" % [path for path, _ in programs])


def first_screen(path, last, first="qnnrt *model;"):
    """Return the program on a header's first screen."""
    lines = open(os.path.join(TOP, path)).read().split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("       " + first))
    end = next(i for i, line in enumerate(lines) if last in line)
    return "\n".join(line[7:].split("//")[0] for line in lines[begin:end + 1]) + "\n"


check("the first screen of qnnrt.h", """#include "qnnrt.h"
#include <stdio.h>
int main(void) { int tokens[1] = {0};
%s
return logits == NULL || bytes == 0; }
""" % first_screen("qnnrt.h", "qnnrt_close(model);"))


# What stands before the code of a header's first screen: functions, and declarations in main().
SCREENS = {
    "qnnrt_convert": ("", "qnnrt_pipeline_desc desc = {0}; qnnrt_pipeline *pipeline; qnnrt_error err;"),
    "qnnrt_manifest": ("""static int to_file(void *user, const char *text, size_t bytes) { return fwrite(text, 1, bytes, (FILE *)user) == bytes; }
static qnnrt_result look_up(void *user, const qnnrt_graph_info *step, const void *const *in, void *const *out, qnnrt_error *err)
{ (void)user; (void)step; (void)in; (void)out; (void)err; return QNNRT_OK; }
""", "float pixels[4] = {0}; qnnrt_manifest_context contexts[2] = {{0}}; qnnrt_manifest_pipeline pipelines[1]; FILE *file = stdout; qnnrt_error err;"
     " memset(pipelines, 0, sizeof pipelines);"),
    "qnnrt_device": ("", "qnnrt_prepare_desc prepare = {0}; qnnrt_desc desc = {0}; qnnrt_power_desc power = {0}; qnnrt_power_report report; qnnrt *model;"
                     " qnnrt_device_facts facts; qnnrt_run *run = NULL; qnnrt_error err; qnnrt_result result; uint64_t code, budget = 1; const qnnrt_slot *x = NULL, *y = NULL, *bias = NULL;"
                     " const uint32_t *now = NULL; uint32_t dims[2] = {1, 1}, rank; float data[4] = {0}; size_t bytes = sizeof data;"),
    "qnnrt_builder": ("", "qnnrt_backend_desc backend_desc = {0}; qnnrt_graph_desc graph = {0}; qnnrt_tensor_desc t = {0}; qnnrt_node_desc node = {0};"
                      " qnnrt_tensor x, y; qnnrt_backend *backend; qnnrt_builder *b; qnnrt *model; qnnrt_run *run; qnnrt_error err;"),
    "qnnrt_explain": ("", "qnnrt *model; qnnrt_error err;"),
}
for screen_of, (before, declared) in sorted(SCREENS.items()):
    head = open(os.path.join(TOP, headers.BY_NAME[screen_of].path)).read().partition("*/")[0]
    head = re.split(r"\n   (?:Uses |ROOMS|Whatever is)", head)[0]
    code = [line for line in head.split("\n") if re.match(r"       +\S", line) and not re.match(r"       +(#|\.\.\.|qnnrt-run)", line)]
    check("the first screen of %s.h" % screen_of, "#include <stdio.h>\n#include <string.h>\n#include \"qnnrt.h\"\n#include \"%s.h\"\n%sint main(void) {\n%s\n%s\n%sreturn 0; }\n"
          % (screen_of, before, declared, "\n".join(line.split("//")[0] for line in code), "(void)now; " if "*now" in declared else ""))


def vendored(name, files, defines):
    """Compile the implementation in a folder that holds only copies of these files."""
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            shutil.copy(os.path.join(TOP, file), folder)
        with open(os.path.join(folder, "impl.c"), "w") as out:
            out.write("%s#define QNNRT_IMPLEMENTATION\n%s" % ("".join("#define %s\n" % word for word in defines),
                                                             "".join("#include \"%s\"\n" % os.path.basename(file) for file in files)))
        run = subprocess.run(CC.split() + ["-std=c99", "-fsyntax-only", "impl.c"], cwd=folder, capture_output=True, text=True)
    holds(run.returncode == 0, "copied: %s: does not compile:\n%s" % (name, run.stderr[:2000]))


def implemented(row, before=""):
    """Link a program that implements a header as its first screen says, and nothing else, if it stands on others."""
    head = open(os.path.join(TOP, row.path)).read().partition("*/")[0]
    screen = re.search(r"   In one C or C\+\+ file.*?\n((?:       .*\n)+)", head)
    if screen is None or not set(row.needs) - {"qnnrt", "qnnrt_json"}:
        return 0
    lines = re.findall(r"^       (#define \w+|#include \S+)", screen.group(1), re.M)
    text = "".join("%s\n" % line for line in lines if "#define QNNRT_IMPLEMENTATION" != line)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "impl.c"), "w") as out:
            out.write(before + "#define QNNRT_IMPLEMENTATION\n#include \"qnnrt.h\"\n%sint main(void) { return 0; }\n" % text)
        run = subprocess.run(CC.split() + ["-std=c99", "-I", TOP, "-I", os.path.join(TOP, "tools"), "-I", os.path.join(TOP, "tools/engines"),
                                           "impl.c", "-o", "impl", "-ldl", "-lm"], cwd=folder, capture_output=True, text=True)
    holds(run.returncode == 0, "%s, implemented as its first screen says: %s" % (row.path, run.stderr[:2000]))
    return 1


if sum(implemented(row) for row in headers.ROWS) + sum(implemented(headers.BY_NAME[name], "#define QNNRT_NO_JSON\n") for name in ("qnnrt_manifest", "qnnrt_session")) < 8:
    holds(False, "fewer than 8 headers say how they are implemented")
vendored("qnnrt.h alone", ["qnnrt.h"], ["QNNRT_NO_JSON"])
vendored("qnnrt.h with qnnrt_json.h", ["qnnrt.h", "qnnrt_json.h"], [])
for friend in headers.FRIENDS:
    vendored("with " + friend.path, ["qnnrt.h", "qnnrt_json.h", friend.path], [friend.prefix + "_IMPLEMENTATION"])

LLM = """#include "tools/qnnrt_llm.h"
#include <stdio.h>
#include <stdlib.h>
"""
screen = first_screen("tools/qnnrt_llm.h", "qnnrt_close(model);")
check("the first screen of qnnrt_llm.h", LLM + """static void use(int32_t token) { printf("%%d\\n", (int)token); }
int main(void) { int32_t prompt[1] = {0}; size_t prompt_count = 1;
%s
return 0; }
""" % screen)
check("the first screen of qnnrt_llm.h, with QNNRT_NO_JSON", "#define QNNRT_NO_JSON\n" + LLM + """static void use(int32_t token) { (void)token; }
int main(void) { int32_t prompt[1] = {0}; size_t prompt_count = 1;
%s
return 0; }
""" % screen)

def blocks_of(path):
    """Return the title and the snippets, in C and without comments, of each section of a manual that has any."""
    manual = open(os.path.join(TOP, path)).read()
    manual = manual[manual.index("   MANUAL\n"):manual.index("   ROOMS (search")]
    sections = []
    for title, body in re.findall(r"^   (\S[^\n]*)\n((?:(?:       [^\n]*)?\n)+)", manual, re.M):
        blocks = re.findall(r"(?:^           [^\n]*\n)+", body, re.M)
        blocks = [re.sub(r"//[^\n]*", "", block) for block in blocks if not block.lstrip().startswith('"')]
        if blocks:
            sections.append((title, blocks))
    return sections


def manual_of(path, fewest):
    """Return the functions and the calls of a manual: a title, text, and snippets with more indent.

    A snippet that begins with a quote is JSON. All are in one program, each in a function."""
    snippets = []
    for title, blocks in blocks_of(path):
        snippets.append("static void section_%d(void)    /* %s */\n{\n%s}\n" % (len(snippets), title, "".join(blocks)))
    if len(snippets) < fewest:
        holds(False, "the manual of %s has %d sections with snippets" % (path, len(snippets)))
    return "".join(snippets), " ".join("section_%d();" % n for n in range(len(snippets)))


check("the manual of qnnrt_llm.h", LLM + """#include "tools/qnnrt_manifest.h"
static qnnrt *model, *draft_model;
static qnnrt_llm *llm, *draft_llm;
static qnnrt_llm_session *session;
static qnnrt_llm_cache *cache, *draft_cache;
static qnnrt_llm_batch batch;
static qnnrt_llm_sampler *sampler;
static qnnrt_error err;
static qnnrt_manifest *program;
static qnnrt_llm_desc desc;
static const qnnrt_llm_info *info;
static int32_t prompt[8], draft[8], next, first, second;
static size_t prompt_count, draft_count, kept, i, row, bytes;
static int stop_asked;
static unsigned char wanted[8];
static float *logits;
static void *data;
static void print(void *user, const char *text) { fprintf((FILE *)user, "%%s\\n", text); }
static uint64_t now_ns(void *user) { (void)user; return 1; }
%s
int main(void) { %s return 0; }
""" % manual_of("tools/qnnrt_llm.h", 7))

def loops_of(path):
    """Return the snippets of a manual that have a loop, by the section's title; that of the first screen is ""."""
    with open(path, encoding="utf-8") as file:
        head = file.read().partition("*/")[0]
    screen, _, manual = head.partition("\n   MANUAL\n") if head.startswith("/*") else ("", "", "")
    sections = [("", screen, 7)] + [(title, body, 11) for title, body in re.findall(r"^   (\S[^\n]*)\n((?:(?:       [^\n]*)?\n)+)", manual, re.M)]
    return {title: block for title, body, indent in sections
            for block in re.findall(r"(?:^ {%d}[^\n]*\n)+" % indent, body, re.M) if re.search(LOOP, block)}, len(re.findall(LOOP, screen + manual))


# The loops of the manual run until the context is full: no row that they read may lack logits. What they read in one
# step for two texts is what each text gives alone.
LOOP = r"\b(?:for|while) \(|\bdo \{"
loops, _ = loops_of(os.path.join(TOP, "tools/qnnrt_llm.h"))
prints("the loops of qnnrt_llm.h", """#define QNNRT_IMPLEMENTATION
#define QNNRT_SAMPLE_IMPLEMENTATION
#define QNNRT_LLM_IMPLEMENTATION
#include "qnnrt_llm.h"
static int32_t tokens[1024], next, first = 't', second = 'h', draft[4] = { 0, 'e', ' ', 't' };
static int32_t prompt[4] = { 'A', 'n', 'd', ' ' };
static size_t prompt_count = 4, draft_count, kept, i, reads;
static qnnrt_llm_cache *cache;
static qnnrt_llm_batch batch;
static int32_t seen(int32_t token)
{
    if (token < 0) { puts("no logits"); exit(0); }
    return tokens[reads++] = token;
}
static void use(int32_t token) { (void)token; }
#define qnnrt_llm_argmax(cache, row) seen(qnnrt_llm_argmax(cache, row))
#define qnnrt_llm_is_eos(llm, token) 0
#define qnnrt_open(path, desc, model, err) qnnrt_open("build/loops", &opening, model, err)
static qnnrt_desc opening;
static int first_screen(void)
{
%s
return 0;
}
static void several(void)
{
%s}
static void drafts(void)
{
%s}
static void begin(void)
{
    qnnrt_llm_clear(cache);
    memset(&batch, 0, sizeof batch);
    batch.tokens = prompt;
    batch.count = 4;
    reads = 0;
}
static void full(const char *what)
{
    const qnnrt_llm_cache_info now = qnnrt_llm_cache_get_info(cache);
    printf("%%s: %%u of %%u cells\\n", what, (unsigned)now.used, (unsigned)now.cells);
}
int main(void)
{
    qnnrt *model; qnnrt_llm *llm; qnnrt_llm_session *session; qnnrt_error err;
    int32_t together[1024];
    size_t k, n, before, same = 0;
    opening.backend_desc.path = "build/libQnnRef.so";
    first_screen();
    if (qnnrt_open("build/loops", &opening, &model, &err) != QNNRT_OK || qnnrt_llm_open(model, NULL, &llm, &err) != QNNRT_OK ||
        qnnrt_llm_session_create(&llm, 1, NULL, &session, &err) != QNNRT_OK) { puts(err.text); return 1; }
    cache = qnnrt_llm_cache_get(session, 0, 0);
    begin();
    several();
    full("several sequences");
    n = reads / 2;
    memcpy(together, tokens, sizeof together);
    for (k = 0; k < 2; ++k) {
        begin();
        qnnrt_llm_decode(cache, &batch);
        next = k == 0 ? first : second;
        batch.tokens = &next; batch.count = 1;
        for (i = 0; i < n && qnnrt_llm_decode(cache, &batch) == QNNRT_OK; ++i) {
            next = qnnrt_llm_argmax(cache, 0);
            same += next == together[2 * i + k];
        }
    }
    printf("%%u tokens, %%u as alone\\n", (unsigned)(2 * n), (unsigned)same);
    begin();
    qnnrt_llm_decode(cache, &batch);
    next = qnnrt_llm_argmax(cache, 3);
    do {
        before = qnnrt_llm_cache_get_info(cache).used;
        draft[0] = next;
        draft_count = 4;
        drafts();
    } while (qnnrt_llm_cache_get_info(cache).used > before);
    full("drafts");
    qnnrt_llm_session_destroy(session); qnnrt_llm_close(llm); qnnrt_close(model);
    return 0;
}
""" % (screen, loops.get("Several sequences", ""), loops.get("Drafts", "")), "build/loops",
       ["build/examples/llm/export", "tests/data/llm/model", "MODEL", "--type", "w8a16", "--shards", "1", "--backend_so", "build/libQnnRef.so"],
       """the context is full: 127 of 127 cells are in use, the batch has 1 tokens
several sequences: 126 of 127 cells
122 tokens, 122 as alone
drafts: 127 of 127 cells""")

WEIGHTS = """#include "tools/qnnrt_weights.h"
#include <stdio.h>
#include <stdlib.h>
"""
check("the first screen of qnnrt_weights.h", WEIGHTS + """int main(void) {
%s
return 0; }
""" % first_screen("tools/qnnrt_weights.h", "qnnrt_weights_close(weights);", "qnnrt_weights *weights;"))
check("the manual of qnnrt_weights.h", WEIGHTS + """
static qnnrt_weights *weights;
static const qnnrt_weight *weight;
static qnnrt_error err;
static size_t i, bytes, row_bytes;
static uint64_t row, rows;
static void *data;
static qnnrt_weights_loss loss;
#define use(...) (void)data
%s
int main(void) { %s return 0; }
""" % manual_of("tools/qnnrt_weights.h", 3))

# Every other loop of a manual runs to its end in a program of its own, with what the manual says around it. What it
# prints is compared with what Python finds in the same data, line by line; a wanted line is a regular expression.
folder = tempfile.mkdtemp()
for name in ("model_dir", "libs", "shards"):
    os.makedirs(os.path.join(folder, name))
os.symlink(os.path.join(TOP, "build/libQnnRef.so"), os.path.join(folder, "libs/libQnnHtp.so"))
subprocess.run([os.path.join(TOP, "build/examples/03_compose"), os.path.join(TOP, "build/libQnnRef.so"), os.path.join(folder, "model_dir/model.bin")], capture_output=True)
chance = random.Random(30)


def save(name, data):
    with open(os.path.join(folder, name), "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())


# Four shards that Qualcomm's tools made and described: the first graphs of each are the first pipeline.
slots, made, types = {}, set(), {"INT_32": "int32", "UFIXED_POINT_16": "ufixed16", "UFIXED_POINT_8": "ufixed8"}
for shard in range(4):
    for data, name in (("w8a16_four/forward_%d.bin", "forward_%d.bin"), ("json/w8a16_four_%d.json", "forward_%d_json.json")):
        os.symlink(os.path.join(TOP, "build/data/llm", data % shard), os.path.join(folder, "shards", name % shard))
    with open(os.path.join(folder, "shards/forward_%d_json.json" % shard)) as file:
        graph = json.load(file)["info"]["graphs"][0]["info"]
    for role, tensors in (("input", "graphInputs"), ("output", "graphOutputs")):
        for tensor in [tensor["info"] for tensor in graph[tensors]]:
            slots[tensor["name"]] = "edge" if tensor["name"] in made else role, types[tensor["dataType"].replace("QNN_DATATYPE_", "")]
    made.update(tensor["info"]["name"] for tensor in graph["graphOutputs"])
with open(os.path.join(TOP, "examples/03_compose.c")) as file:
    layer = re.findall(r'add_node\(b, "(\w+)"', file.read())

scales = [chance.uniform(-1e4, 1e4) for _ in range(3000)]
members = '{"name": "a", "more": {"scales": [1, {}]}, "scales": %s' % json.dumps(scales)
save("good.json", members + ', "rest": [[]]}')
save("bad.json", members + '; "rest": [[]]}')

nodes = [("n%d" % i, "frobnicate_%d" % i if i % 13 == 12 else "relu") for i in range(40)]
edges = [{"name": name, "shape": [2, 3], "dtype": "float32"} for name in ["x"] + [name for name, _ in nodes]]
save("model.onnx", onnx_file.layer())
save("graph.json", json.dumps({"model_name": "m", "graph_inputs": edges[:1], "graph_outputs": edges[-1:], "weights": [], "weight_name_mapping": {}, "nodes": [
    {"name": name, "op_type": "aten.%s.default" % op, "inputs": [dict(edges[i], producer_node=edges[i]["name"], producer_output_idx=0)],
     "outputs": [edges[i + 1]], "attrs": {}} for i, (name, op) in enumerate(nodes)]}))
findings = [r'.*node "?%s"? \(%s\.default\).*' % node for node in nodes if node[1] != "relu"]

homes = [chance.randrange(2) for _ in range(100)]

table = [struct.unpack("<f", struct.pack("<f", chance.gauss(0, 100)))[0] for _ in range(3 * 2500)]
weights = {"t%d" % i: ("U8", [i], bytes(i)) for i in range(1, 50)}
weights["table"] = "F32", [2500, 3], struct.pack("<7500f", *table)
head, at = {}, 0
for name, (dtype, shape, data) in weights.items():
    head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
    at += len(data)
save("w.safetensors", struct.pack("<Q", len(json.dumps(head))) + json.dumps(head).encode() + b"".join(data for _, _, data in weights.values()))
texts = ["", "größe", "x" * 300] + ["%x" % 7 ** i for i in range(500)]
coded = [struct.pack("<Q", len(text.encode())) + text.encode() for text in ["llama.block_count", "t"] + texts]
save("w.gguf", (b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + coded[0] + struct.pack("<IIQ", 9, 8, len(texts)) + b"".join(coded[2:]) +
                coded[1] + struct.pack("<IQIQ", 1, 8, 0, 0)) + bytes(64))

OPEN = """    qnnrt *model; qnnrt_error err; qnnrt_desc desc = { 0 }; size_t i;
    desc.%s;
    if (qnnrt_open("%s", &desc, &model, &err) != QNNRT_OK) { puts(err.text); return 1; }
"""
LOAD = """static char text[1 << 17]; static size_t bytes;
static void load(const char *name) { FILE *file = fopen(name, "rb"); bytes = file ? fread(text, 1, sizeof text, file) : 0; if (file) fclose(file); }
"""
WEIGHT = 'qnnrt_weights *weights; qnnrt_error err; if (qnnrt_weights_open("w.%s", NULL, &weights, &err) != QNNRT_OK) { puts(err.text); return 1; }\n'
RUN = {
    ("qnnrt.h", "Looking inside"): ("int main(void) {\n" + OPEN % ("inspect = 1, desc.metadata = QNNRT_METADATA_JSON", "shards") + "%s qnnrt_close(model); return 0; }",
        ["%s %s %s" % (role, name, dtype) for name, (role, dtype) in slots.items()]),
    ("tools/qnnrt_profile.h", ""): ("int main(void) {\n" + OPEN % ('backend_desc.path = "libs/libQnnHtp.so"', "model_dir") +
        "qnnrt_run *run; size_t count; const qnnrt_profile_event *events; if (qnnrt_prepare(model, NULL, &run, &err) != QNNRT_OK) return 1;\n%s qnnrt_run_destroy(run); qnnrt_close(model); return 0; }",
        [r"\d\S* us " + re.escape(name) + ".*" for name in ["Accelerator"] + ["%s_%d:OpId_%d" % (op, i, i) for i, op in enumerate(layer)] + ["QNN"]]),
    ("qnnrt_json.h", ""): (LOAD + """static void use(float scale) { union { float f; uint32_t u; } bits; bits.f = scale; printf("%%08x\\n", (unsigned)bits.u); }
static int screen(void) {\n%s return 1; }
int main(void) { load("good.json"); screen(); load("bad.json"); return !screen(); }""",
        2 * ["%08x" % struct.unpack("<I", struct.pack("<f", scale)) for scale in scales] + ["byte %d: .*" % len(members)]),
    ("tools/qnnrt.hpp", ""): ("#include <vector>\nint main() {\n%s return 0; }", ["30.5", "0"]),
    ("tools/qnnrt_ir.h", ""): (LOAD + 'int main(void) { load("graph.json");\n%s return 0; }', findings + ["%s = %s.default" % node for node in nodes]),
    ("tools/qnnrt_lower.h", "Findings"): (LOAD + """int main(void) {
    qnnrt_ir *ir; qnnrt_lower *lower; const qnnrt_lower_info *info; qnnrt_error err; size_t i; qnnrt_lower_desc desc = { 0 };
    load("graph.json");
    if (qnnrt_ir_read(text, bytes, NULL, &ir, &err) != QNNRT_OK || qnnrt_lower_create(&desc, &lower, &err) != QNNRT_OK) return 1;
    if (qnnrt_lower_graph(lower, ir, "model", &err) == QNNRT_OK) return 1;
%s    qnnrt_lower_free(lower); qnnrt_ir_free(ir); return 0; }""", findings),
    ("tools/qnnrt_onnx.h", ""): ("int main(void) {\n%s return 0; }", ["MatMul ", "Add ", "Relu "]),
    ("tools/qnnrt_partition.h", ""): ("""enum { NODES = %d };
static const char homes[] = "%s";
static int32_t ids[NODES + 1]; static qnnrt_partition_value values[NODES + 1]; static qnnrt_partition_node nodes[NODES]; static const qnnrt_partition_backend backends[2];
static int supports(void *user, int32_t node, int32_t backend, const char **why) { (void)user; *why = "no"; return homes[node] - '0' == backend; }
static void fill(qnnrt_partition_desc *desc) {
    for (int32_t i = 0; i <= NODES; ++i) { ids[i] = i; values[i].bytes = 4; values[i].view_of = values[i].state = -1; }
    values[0].is_input = values[NODES].is_output = 1;
    for (int32_t i = 0; i < NODES; ++i) nodes[i] = (qnnrt_partition_node){ .inputs = &ids[i], .outputs = &ids[i + 1], .input_count = 1, .output_count = 1, .writes = -1, .pin = -1 };
    desc->nodes = nodes; desc->node_count = NODES; desc->values = values; desc->value_count = NODES + 1;
    desc->backends = backends; desc->backend_count = 2; desc->supports = supports; }
#define qnnrt_partition_create(desc, plan, err) (fill(desc), qnnrt_partition_create(desc, plan, err))
int main(void) {\n""" % (len(homes), "".join(map(str, homes))) + "%s return 0; }",
        ["step on backend %d: %d nodes" % (home, len(list(run))) for home, run in itertools.groupby(homes)]),
    ("tools/qnnrt_weights.h", "Opening"): ("int main(void) { size_t i;\n" + WEIGHT % "safetensors" + "%s qnnrt_weights_close(weights); return 0; }",
        ["%s %s %d bytes" % (name, dtype, len(data)) for name, (dtype, _, data) in weights.items()]),
    ("tools/qnnrt_weights.h", "Converting"): ("""static uint64_t row, rows;
static void use(const uint16_t *data) { for (uint64_t i = 0; i < rows * 3; ++i) printf("%%04x\\n", data[i]); }
int main(void) { const qnnrt_weight *weight; qnnrt_weights_loss loss = { 0, 0, 0 }; const size_t row_bytes = 6; static uint16_t data[1024 * 3];\n""" +
        WEIGHT % "safetensors" + 'weight = qnnrt_weights_find(weights, "table");\n%s qnnrt_weights_close(weights); return 0; }',
        ["%04x" % code for code in struct.unpack("<7500H", struct.pack("<7500e", *table))]),
    ("tools/qnnrt_weights.h", "GGUF"): ("static void use(const char *text, size_t bytes) { fwrite(text, 1, bytes, stdout); putchar('\\n'); }\nint main(void) {\n" + WEIGHT % "gguf" +
        'const qnnrt_weights_value *value = qnnrt_weights_get_value(weights, "llama.block_count");\n%s qnnrt_weights_close(weights); return 0; }', [re.escape(text) for text in texts]),
}


def runs(path, title, snippet):
    """Compile the program around a snippet and run it to its end. Return what is wrong, or None."""
    program, wanted = RUN[path, title]
    cpp = path.endswith(".hpp")
    save("loop.cpp" if cpp else "loop.c", '#include "%s"\n#include <%s>\n' % (os.path.basename(path), "cstdio" if cpp else "stdio.h") + program % snippet + "\n")
    command = (os.environ.get("CXX", "c++") + " -std=c++17 loop.cpp" if cpp else CC + " -std=c99 loop.c").split() + ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command += ["-I" + TOP, "-I" + os.path.join(TOP, "tools"), os.path.join(TOP, "build/libqnnrt.so"), "-Wl,-rpath," + os.path.join(TOP, "build"), "-o", "loop"]
    for words in (command, ["./loop"]):
        run = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace")
        if run.returncode != 0:
            return "%s returns %d:\n%s" % (words[0], run.returncode, (run.stdout + run.stderr)[-2000:])
    lines = run.stdout.splitlines()
    wrong = [(found, want) for found, want in itertools.zip_longest(lines, wanted) if found is None or want is None or not re.fullmatch(want, found)]
    return "%d of %d lines are wrong, first %r instead of %r" % (len(wrong), len(lines), *wrong[0]) if wrong or not wanted else None


# A loop that the table does not have is a failure; the programs above run those of qnnrt_llm.h.
for path in sorted(glob.glob(TOP + "/*.h") + [path for part in ("tools", "examples") for kind in ("c", "h", "cpp", "hpp")
                                              for path in glob.glob("%s/%s/**/*.%s" % (TOP, part, kind), recursive=True)]):
    snippets, count = loops_of(path)
    path = os.path.relpath(path, TOP)
    known = {"", "Several sequences", "Drafts"} if path == "tools/qnnrt_llm.h" else {title for header, title in RUN if header == path}
    if set(snippets) != known or count != sum(len(re.findall(LOOP, snippet)) for snippet in snippets.values()):
        holds(False, "the manual of %s has %d loops, in the sections %s; the test runs one snippet in each of %s" % (path, count, sorted(snippets), sorted(known)))
    for title in sorted(known & set(snippets) if path != "tools/qnnrt_llm.h" else ()):
        problem = runs(path, title, snippets[title])
        holds(problem is None, "the loop of %s, \"%s\": %s" % (path, title, problem))
shutil.rmtree(folder)

sys.exit(close())
