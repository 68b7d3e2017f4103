"""The documents of the project: which there are, how long they may be, and what is wrong with them."""
import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Words that each document may have (wc -w); None: any number.
BUDGETS = {
    "README.md": 1500,
    "examples/README.md": 400,
    "examples/android/README.md": 1200,
    "examples/llm/README.md": 1000,
    "tests/README.md": 950,
    "tools/README.md": 900,
    "tools/engines/README.md": 600,
    "tools/ggml/README.md": None,
    "tools/python/README.md": 450,
    "tools/refbackend/README.md": None,
    "tools/run/README.md": 1000,
    "tools/run/compile/README.md": 1670,
}
LISTS = ("examples/MOBILE.md", "tools/run/JSON.md", "tools/run/NETRUN.md", "tools/vendor/TRAPS.md")    # to look things up
TOGETHER, APART = 10000, {"README.md", "tools/ggml/README.md", "tools/refbackend/README.md"} | set(LISTS[1:])
LONGEST = 35                                              # words of a sentence

# Whoever follows the documents has a clean clone after it: what commands and programs write lies below build/, or is a
# picture that is committed. A word in capitals stands for a name of the reader's.
OUTPUTS = (r"--(?:output_dir|output|report|svg|dot|save|profile_out|json_file|bind_plan_out|transcript|store|stats|dump_logits|csv)\s+([^\s`]+)", r"\s-[oB]\s+(\S+)",
           r"mkdir -p (\S+)", r"03_compose build/\S+ (\S+)", r"\\\n.*\s>\s+(\S+)", r"""open\("([^"]+)", "w""", r"""save_model\(\w+, "([^"]+)""", r"""tofile\("([^"]+)""")
MAY_WRITE = r"build/|tests/data/pictures/\w+\.svg$|-$|[A-Z]\w*(/|$)"
MADE = {"examples/android/app/src/main/jniLibs/arm64-v8a", "examples/android/app/src/main/assets/skels"}     # paths of the repository that the reader makes


def files(*patterns):
    """Return the files of the checkout that fit patterns, as sorted paths below it."""
    return sorted(os.path.relpath(path, TOP) for pattern in patterns for path in glob.glob(os.path.join(TOP, pattern), recursive=True)
                  if "__pycache__" not in path)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


DOCS = files("README.md", "examples/**/README.md", "tests/**/README.md", "tools/**/README.md")
TEXTS = {path: read(path) for path in DOCS}
EVERY = {**TEXTS, **{path: read(path) for path in LISTS}}


def blocks(text):
    """Return the code of a document: indented lines with those that continue them, programs in Python, and words in `."""
    return re.findall(r"^    ((?:.*\\\n)*.*)", text, re.M) + re.findall(r"^```python\n(.*?)```", text, re.M | re.S) + re.findall(r"`([^`\n]+)`", text)


def fenced(language):
    """Return the programs in a language of all documents, as (path, text)."""
    return [(path, program) for path, text in TEXTS.items() for program in re.findall(r"^```%s\n(.*?)^```" % language, text, re.S | re.M)]


def sentences(text):
    """Return the sentences of a document, without code and tables. Code in a line is one word."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->|<[^<>\n]+(?:\n[^<>\n]*)?>", " ", text)
    parts, code = [""], False
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        code = bool(line.strip()) and indent >= 4 and (code or not parts[-1])
        if not line.strip() or code or line.lstrip().startswith("|"):
            parts.append("")
            continue
        if re.match(r"\s*(#+|[-*]|\d+\.) ", line):
            parts.append("")
        parts[-1] += " " + re.sub(r"^\s*(#+|[-*]|\d+\.) ", "", line).strip()
    for part in parts:
        part = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "Code", part)).replace("*", "")
        yield from re.split(r"(?<=[.!?:])\s+(?=[A-Z0-9\"(])", part)


def anchors(text):
    """Return the anchors of a document, as a web page makes them of its headings."""
    heads = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head)).lower().replace(" ", "-") for head in heads}


def links(path, text):
    """Return what is wrong with the links and pictures of a document."""
    count, wrong = 0, []
    for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text):
        if re.match(r"https?:", link):
            continue
        count += 1
        file, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(TOP, target)):
            wrong.append("the link to %s leads nowhere" % link)
        elif anchor and (not target.endswith(".md") or anchor not in anchors(read(target))):
            wrong.append("the link to %s: no such heading" % link)
    return count, wrong


def names(pattern, *paths):
    """Return all names that a pattern finds in files of the checkout."""
    return {name for path in paths for hit in re.findall(pattern, read(path), re.M) for name in ([hit] if isinstance(hit, str) else hit) if name}


def commands(path, text):
    """Return what is wrong with the commands of a document: targets, options, paths, and where they write."""
    count, wrong = 0, []
    options = names(r'\.name = "(\w+)"|\.alias = "(\w+)"', *files("tools/run/**/*.[ch]", "tools/cli/*.[ch]", "tools/llm/*.[ch]"))
    targets = names(r"^## ([\w-]+):", "Makefile", *files("tests/make/*.mk"))
    for block in blocks(text):
        for words in re.findall(r"(?:^|[;&(] ?)make((?: [a-z][\w-]*(?![\w/=.]))+)", block):
            wrong += ["no target %s" % word for word in words.split() if word not in targets]
            count += 1
        if re.search(r"\bbuild/qnnrt-(run|llm) ", block) or path.startswith("tools/run/"):
            wrong += ["the tools have no option --%s" % word for word in re.findall(r"--(\w+)", block) if word not in options]
            count += 1
        for file in re.findall(r"(?<![\w./-])(?:examples|tests|tools)/[\w./-]*\w", block):
            if not os.path.exists(os.path.join(TOP, file)) and file not in MADE:
                wrong.append("no %s" % file)
            count += 1
        if re.match(r"cc .*\.c\b", block) and " -o " not in block or "tools/phone.sh build/" in block and "--transcript" not in block:
            wrong.append("writes to the current folder: %s" % block)
    return count, wrong


def sources():
    """Return the words of the code that documents may name; HISTORY has names that went."""
    text = "".join(read(path).partition("\n   HISTORY\n")[0] for path in files("*.h", "Makefile", "tests/*/*.sh", "tools/**/*.[ch]", "tools/**/*.hpp", "tools/**/*.[cp][py]*",
                                                                               "examples/**/*.[ch]", "examples/android/app/*.kts"))
    return set(re.findall(r"\w+", text)) | {os.path.basename(path).partition(".")[0] for path in files("tools/**/*", "examples/**/*")}


SOURCES = sources()


def outputs(text):
    """Return the files that commands and programs of a document write, and those of them that may not be there."""
    wrote = [file for block in blocks(text) for form in OUTPUTS for file in re.findall(form, block)] + re.findall(r"[Ss]ave it as `([^`]+)`", text)
    return wrote, [file for file in wrote if not re.match(MAY_WRITE, file)]


def problems_of(path, text):
    """Return the number of things that were looked at in a document, and a line for each that is wrong."""
    count, wrong = links(path, text)
    words = len(text.split())
    if BUDGETS.get(path) is not None and words > BUDGETS[path]:
        wrong.append("%d words, more than %d" % (words, BUDGETS[path]))
    for sentence in sentences(text):
        count += 1
        if len(sentence.split()) > LONGEST:
            wrong.append("%d words in one sentence: %s" % (len(sentence.split()), sentence.strip()))
    named = set(re.findall(r"\b(?:qnnrt|QNNRT)_\w+", text))
    wrong += ["no code has the name %s" % name for name in sorted(named - SOURCES)]
    wrote, where = outputs(text)
    wrong += ["not below build/: %s" % file for file in where]
    if path not in LISTS:
        number, lines = commands(path, text)
        count, wrong = count + number, wrong + lines
    return count + len(named) + len(wrote), ["%s: %s" % (path, line) for line in wrong]


def problems():
    """Return the number of things that were looked at in all documents, and a line for each that is wrong."""
    count, wrong = 0, []
    if set(DOCS) != set(BUDGETS):
        wrong.append("tests/project/docs.py has other documents: %s" % sorted(set(DOCS) ^ set(BUDGETS)))
    together = sum(len(text.split()) for path, text in EVERY.items() if path not in APART)
    if together > TOGETHER:
        wrong.append("the documents have %d words, more than %d" % (together, TOGETHER))
    if sum(len(outputs(text)[0]) for text in EVERY.values()) < 40:
        wrong.append("fewer than 40 outputs of commands were found")
    for path, text in EVERY.items():
        number, lines = problems_of(path, text)
        count, wrong = count + number, wrong + lines
    return count, wrong


if __name__ == "__main__":
    looked_at, faults = problems()
    print("\n".join(faults + ["%d looked at, %d wrong" % (looked_at, len(faults))]))
    raise SystemExit(bool(faults))
