#!/usr/bin/env python3
"""The C programs of README.md and of the headers' first screens compile; those of README.md print the documented output."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CC = os.environ.get("CC", "cc")
passed = failed = 0


def check(name, source):
    """Compile a text that uses declarations: calls of functions that do not exist are errors."""
    global passed, failed
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snippet.c")
        with open(path, "w") as out:
            out.write(source)
        run = subprocess.run(CC.split() + ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-I" + TOP, "-I" + os.path.join(TOP, "tools"), "-I" + os.path.join(TOP, "tools", "engines"),
                                           "-fsyntax-only", path], capture_output=True, text=True)
    if run.returncode == 0:
        passed += 1
    else:
        failed += 1
        print("readme: %s: does not compile:\n%s" % (name, run.stderr[:2000]))


def prints(name, source, model, make, wanted, file="build/snippet.c", command="cc -std=c99 -I. -Itools build/snippet.c -o build/snippet -ldl && build/snippet"):
    """Follow the README in a copy of a clone: make the folder that a program opens, save the program, type its command.
    It prints the wanted output, and no file lies outside of build/."""
    global passed, failed
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
    if found.strip() == wanted.strip():
        passed += 1
    else:
        failed += 1
        print("readme: %s prints\n%s\n  instead of\n%s" % (name, found, wanted))


readme = open(os.path.join(TOP, "README.md")).read()
snippets = re.findall(r"```c\n(.*?)```", readme, re.S)
for number, snippet in enumerate(snippets):
    check("README.md snippet %d" % number, snippet)

# The lines that open a session, in a function.
session = re.search(r"^    #include \"qnnrt_engines.h\"\n\n((?:    .*\n)+)", readme, re.M)
check("README.md, the lines of a session", '#include "qnnrt_engines.h"\n#include <stdio.h>\nvoid f(void);\nvoid f(void)\n{\n%s}\n' %
      (session.group(1) if session else "    no such lines\n"))

# The size on the first screen is about right.
stated = re.search(r"with ([\d,]+) lines", readme)
lines = sum(open(os.path.join(TOP, header)).read().count("\n") for header in ("qnnrt.h", "qnnrt_json.h"))
if stated and abs(int(stated.group(1).replace(",", "")) - lines) < lines // 20:
    passed += 1
else:
    failed += 1
    print("readme: the two headers have %d lines, README.md says %s" % (lines, stated and stated.group(1)))

# The line that each program prints is below it.
typed = re.findall(r"Save it as `([^`]+)`. After `make \w+`, `(cc [^`]+)`\sprints\n\n    ([^\n]+)\n", readme)
outputs = [output for _, _, output in typed]
if len(snippets) != 2 or len(outputs) != 2:
    failed += 1
    print("readme: README.md has %d programs and %d outputs of them, not 2 and 2" % (len(snippets), len(outputs)))
else:
    prints("the first program", snippets[0], "build/run/ref/model",
           ["build/examples/05_make_model", "tests/data/llm/model", "MODEL"], outputs[0], *typed[0][:2])
    prints("the second program", snippets[1], "build/llm-run/ref/model",
           ["build/examples/llm/export", "tests/data/llm/model", "MODEL", "--type", "w8a16", "--shards", "4",
            "--backend_so", "build/libQnnRef.so"], outputs[1], *typed[1][:2])

# Whoever follows the README has a clean clone after it: what its commands and programs write lies below build/, or is
# a picture that is committed. A word in capitals stands for a name of the reader's.
blocks = re.findall(r"^    ((?:.*\\\n)*.*)", readme, re.M) + re.findall(r"^```python\n(.*?)```", readme, re.M | re.S) + re.findall(r"`([^`\n]+)`", readme)
OUTPUTS = (r"--(?:output_dir|output|report|svg|dot|save|profile_out|json_file|bind_plan_out|transcript|store|stats|dump_logits|csv)\s+([^\s`]+)", r"\s-[oB]\s+(\S+)",
           r"mkdir -p (\S+)", r"03_compose build/\S+ (\S+)", r"\\\n.*\s>\s+(\S+)", r"""open\("([^"]+)", "w""", r"""save_model\(\w+, "([^"]+)""", r"""tofile\("([^"]+)""")
outside = [path for block in blocks for form in OUTPUTS for path in re.findall(form, block)] + re.findall(r"[Ss]ave it as `([^`]+)`", readme)
wrote = len(outside)
outside = [path for path in outside if not re.match(r"build/|tests/data/pictures/\w+\.svg$|-$|[A-Z]\w*$", path)]
outside += [block for block in blocks if re.match(r"cc .*\.c\b", block) and " -o " not in block or "tools/phone.sh build/" in block and "--transcript" not in block]
if outside or wrote < 40:
    failed += 1
    print("readme: %d outputs; not below build/: %s" % (wrote, ", ".join(outside)))
else:
    passed += 1

# Sessions in Python (tests/test_python.sh runs it) and the export from PyTorch have ten lines each; the commands after
# the export have only options that the tool has.
programs = re.findall(r"```python\n(.*?)```", readme, re.S)
if len(programs) == 2 and all(sum(1 for line in text.splitlines() if line) <= 10 and compile(text, "README.md", "exec") for text in programs):
    passed += 1
else:
    failed += 1
    print("readme: README.md has %d programs in Python, or one has more than ten lines" % len(programs))
part = re.search(r"^## From PyTorch\n(.*?)^## ", readme, re.S | re.M)
options = {option for path in ("tools/run_options.h", "tools/cli_options.h", "tools/qnnrt-llm.c")
           for option in re.findall(r'\.name = "(\w+)"|\.alias = "(\w+)"', open(os.path.join(TOP, path)).read()) for option in option}
unknown = sorted(set(re.findall(r"--(\w+)", part.group(1) if part else "--none")) - options)
if unknown:
    failed += 1
    print("readme: From PyTorch has options that the tools do not have: %s" % ", ".join(unknown))
else:
    passed += 1

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


def vendored(name, files, defines):
    """Compile the implementation in a folder that holds only copies of these files."""
    global passed, failed
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            shutil.copy(os.path.join(TOP, file), folder)
        with open(os.path.join(folder, "impl.c"), "w") as out:
            out.write("%s#define QNNRT_IMPLEMENTATION\n#include \"qnnrt.h\"\n" % "".join("#define %s\n" % word for word in defines))
        run = subprocess.run(CC.split() + ["-std=c99", "-fsyntax-only", "impl.c"], cwd=folder, capture_output=True, text=True)
    if run.returncode == 0:
        passed += 1
    else:
        failed += 1
        print("readme: copied: %s: does not compile:\n%s" % (name, run.stderr[:2000]))


vendored("qnnrt.h alone", ["qnnrt.h"], ["QNNRT_NO_JSON"])
vendored("qnnrt.h with qnnrt_json.h", ["qnnrt.h", "qnnrt_json.h"], [])
vendored("with qnnrt_compose.h", ["qnnrt.h", "qnnrt_json.h", "tools/qnnrt_compose.h"], ["QNNRT_COMPOSE"])
vendored("with qnnrt_profile_log.h", ["qnnrt.h", "qnnrt_json.h", "tools/qnnrt_profile_log.h"], ["QNNRT_PROFILE_LOG"])

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
    global failed
    snippets = []
    for title, blocks in blocks_of(path):
        snippets.append("static void section_%d(void)    /* %s */\n{\n%s}\n" % (len(snippets), title, "".join(blocks)))
    if len(snippets) < fewest:
        failed += 1
        print("readme: the manual of %s has %d sections with snippets" % (path, len(snippets)))
    return "".join(snippets), " ".join("section_%d();" % n for n in range(len(snippets)))


check("the manual of qnnrt_llm.h", LLM + """
static qnnrt *model, *draft_model;
static qnnrt_llm *llm, *draft_llm;
static qnnrt_llm_session *session;
static qnnrt_llm_cache *cache, *draft_cache;
static qnnrt_llm_batch batch;
static qnnrt_llm_sampler *sampler;
static qnnrt_error err;
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

# The loops of the manual run until the context is full: no row that they read may lack logits. What they read in one
# step for two texts is what each text gives alone.
LOOPS = [title for title, blocks in blocks_of("tools/qnnrt_llm.h") if any(re.search(r"\b(for|while) \(", b) for b in blocks)]
check("the loops of the manual of qnnrt_llm.h have names", "#if %d\n#error %s\n#endif\nint main(void) { return 0; }\n" %
      (LOOPS != ["Several sequences", "Drafts"], LOOPS))
loops = dict((title, "".join(next(blocks[i:] for i in range(len(blocks)) if "while (" in blocks[i] or "for (" in blocks[i])[:1]))
             for title, blocks in blocks_of("tools/qnnrt_llm.h") if title in LOOPS)
prints("the loops of qnnrt_llm.h", """#define QNNRT_IMPLEMENTATION
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
static void use(const void *what) { (void)what; }
%s
int main(void) { %s return 0; }
""" % manual_of("tools/qnnrt_weights.h", 3))

for link in re.findall(r"\]\(([^)#:]+)\)", readme):
    if os.path.exists(os.path.join(TOP, link)):
        passed += 1
    else:
        failed += 1
        print("readme: the link to %s leads nowhere" % link)

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
