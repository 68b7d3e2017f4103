#!/usr/bin/env python3
"""Compare the names of tests in a revision with those of the working tree: those removed and those added.

    python3 tests/project/names.py REVISION

Names are those of TEST(...) in C, and the first argument of each call of a function in scripts (check, is, says, ...),
in any file: a test that moved to another file still counts. Exit status 1 when one is missing."""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Files whose functions other scripts use.
SHARED = ("harness/tool.sh", "jni/jdk.sh")
# A call of a function whose first argument is a name.
CALL = r"(?:^|[;&|({]|\bthen|\bdo|\belse)\s*(?:%s)\s+([a-z][a-z0-9_]{2,})\b"


def names(path, text, tool):
    if path.endswith((".c", ".h")):
        return set(re.findall(r"^\s*TEST\((\w+)\)", text, re.M))
    if path.endswith(".sh"):
        functions = set(re.findall(r"^(\w+)\(\)", text + tool, re.M)) - {"run", "llm", "now"}
        return set(re.findall(CALL % "|".join(sorted(functions)), text, re.M)) if functions else set()
    return set()


def git(*words):
    return subprocess.run(["git", "-C", TOP] + list(words), capture_output=True, text=True, errors="replace", check=True).stdout


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    revision = sys.argv[1]
    before, after = {}, {}
    tool = "tests/harness/tool.sh" if git("ls-tree", revision, "tests/harness") else "tests/tool.sh"
    old = git("show", "%s:%s" % (revision, tool))
    new = ""
    for path in SHARED:
        with open(os.path.join(TOP, "tests", path)) as file:
            new += file.read()
    for path in git("ls-tree", "-r", "--name-only", revision, "tests").split("\n"):
        if path.endswith((".c", ".h", ".sh")):
            for name in names(path, git("show", "%s:%s" % (revision, path)), old):
                before.setdefault(name, path)
    for folder, _, files in os.walk(os.path.join(TOP, "tests")):
        for file in files:
            path = os.path.join(folder, file)
            if path.endswith((".c", ".h", ".sh")):
                with open(path, errors="replace") as source:
                    for name in names(path, source.read(), new):
                        after.setdefault(name, os.path.relpath(path, TOP))
    went = sorted(set(before) - set(after))
    came = sorted(set(after) - set(before))
    for name in went:
        print("went: %s (%s)" % (name, before[name]))
    for name in came:
        print("came: %s (%s)" % (name, after[name]))
    moved = sum(1 for name in before if name in after and before[name] != after[name])
    print("%d names at %s, %d now: %d went, %d came, %d moved" % (len(before), revision, len(after), len(went), len(came), moved))
    return len(went) != 0


if __name__ == "__main__":
    sys.exit(main())
