#!/usr/bin/env python3
"""Print a random sample of the comments, error texts and hints, with their places.

    python3 tests/project/sample_words.py [SEED] [COUNT] [FILE ...]        default: seed 1, 300 samples

Reads these C files; by default qnnrt.h, qnnrt_json.h, and those of tools/ and tools/refbackend/. A comment is one
sample; so are adjacent strings, if they have at least three words together."""
import glob
import os
import random
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = ("qnnrt.h", "qnnrt_json.h", "tools/*.h", "tools/cli/*.[ch]", "tools/run/*.[ch]", "tools/run/*/*.[ch]", "tools/llm/*.[ch]", "tools/refbackend/*.h", "tools/refbackend/*.c")
STRING = r'"(?:[^"\\\n]|\\.)*"'
# A comment; a character, which may be a quote; strings with only white space and PRI macros between them.
TOKEN = re.compile(r"/\*.*?\*/|'(?:[^'\\]|\\.)+'|%s(?:(?:\s|PRI\w+)*%s)*" % (STRING, STRING), re.S)


def samples(path):
    """Yield (path, line, text) for each comment and each text of a file."""
    with open(os.path.join(TOP, path)) as file:
        source = file.read()
    for found in TOKEN.finditer(source):
        text = found.group()
        if text.startswith('"'):
            text = "".join(piece[1:-1] for piece in re.findall(STRING, text)).replace('\\"', '"')
            text = '"%s"' % text
        if not text.startswith("'") and len(re.findall(r"[a-z]{2,}\b", text)) >= 3 and len(text.split()) >= 3:
            yield path, source.count("\n", 0, found.start()) + 1, text


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    found = []
    for pattern in sys.argv[3:] or FILES:
        for path in sorted(glob.glob(os.path.join(TOP, pattern))):
            found += samples(os.path.relpath(path, TOP))
    for path, line, text in sorted(random.Random(seed).sample(found, min(count, len(found)))):
        print("%s:%d: %s" % (path, line, text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
