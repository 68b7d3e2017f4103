#!/usr/bin/env python3
"""Count the lines of code of what is shipped: qnnrt*.h, tools and examples, without comments and blank lines.

    python3 tests/project/lines.py [REVISION ...]       default: 15deafa, before the core became small, and HEAD

Files are those of git at each revision. In C, C++ and Java a line counts if it has code; in Python and shell if it is
not a comment alone. Data (JSON, tables, SVG) and documents are left out."""
import collections
import os
import re
import subprocess
import sys

import rooms

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHIPPED = re.compile(r"qnnrt[^/]*\.h$|tools/|examples/")
BRACES = (".h", ".c", ".hpp", ".cpp", ".java", ".kt", ".aidl")
HASHES = (".py", ".sh", ".mk", ".cmake", ".gradle")


def git(*words):
    return subprocess.run(("git",) + words, cwd=TOP, check=True, capture_output=True).stdout.decode("utf-8", "replace")


def code(path, text):
    """Return the number of lines with code."""
    if path.endswith(BRACES):
        text = rooms.strip(text)
    return sum(bool(line.strip()) and not (path.endswith(HASHES) and line.lstrip().startswith("#")) for line in text.split("\n"))


def place(path):
    """Return the row of the table that a file belongs to."""
    parts = path.split("/")
    if len(parts) == 1:
        return path
    if parts[0] == "tools" and (len(parts) == 2 and parts[1].startswith("qnnrt_")):
        return "tools/qnnrt_*.h"
    if parts[0] == "tools" and len(parts) == 2:
        return "tools/cli, run, llm, fetch"
    if parts[0] == "tools" and parts[1] in ("cli", "run", "llm", "fetch"):
        return "tools/cli, run, llm, fetch"
    return "/".join(parts[:2]) if parts[0] == "tools" else parts[0]


def count(revision):
    """Return lines of code by row."""
    rows = collections.Counter()
    for path in git("ls-tree", "-r", "--name-only", revision).split("\n"):
        if SHIPPED.match(path) and path.endswith(BRACES + HASHES):
            rows[place(path)] += code(path, git("show", "%s:%s" % (revision, path)))
    return rows


def main():
    revisions = sys.argv[1:] or ["15deafa", "HEAD"]
    counts = [count(revision) for revision in revisions]
    print("%-28s" % "lines of code" + "".join("%12s" % revision for revision in revisions))
    for row in sorted(set().union(*counts)):
        print("%-28s" % row + "".join("%12s" % format(rows[row], ",") for rows in counts))
    print("%-28s" % "together" + "".join("%12s" % format(sum(rows.values()), ",") for rows in counts))
    if len(counts) > 1:
        print("%s fewer" % format(sum(counts[0].values()) - sum(counts[-1].values()), ","))


main()
