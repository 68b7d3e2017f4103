#!/usr/bin/env python3
"""The C snippets of README.md and of the header's first screen compile and link."""
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CC = os.environ.get("CC", "cc")
passed = failed = 0


def check(name, source, flags):
    global passed, failed
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snippet.c")
        with open(path, "w") as out:
            out.write(source)
        run = subprocess.run(CC.split() + ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-I" + TOP, "-I" + os.path.join(TOP, "tools"), path, "-o",
                              os.path.join(folder, "snippet"), "-ldl"] + flags, capture_output=True, text=True)
    if run.returncode == 0:
        passed += 1
    else:
        failed += 1
        print("readme: %s: does not compile:\n%s" % (name, run.stderr[:2000]))


readme = open(os.path.join(TOP, "README.md")).read()
for number, snippet in enumerate(re.findall(r"```c\n(.*?)```", readme, re.S)):
    check("README.md snippet %d" % number, snippet, [])

header = open(os.path.join(TOP, "qnnrt.h")).read()
lines = header[header.index("Link with -ldl"):header.index("Trust    Files")].split("\n")[2:]
program = "\n".join(line[7:].split("//")[0] for line in lines)
check("the first screen of qnnrt.h", """#define QNNRT_IMPLEMENTATION
#include "qnnrt.h"
#include <stdio.h>
int main(void) { int tokens[1] = {0};
%s
return logits == NULL || bytes == 0; }
""" % program, [])

for link in re.findall(r"\]\(([^)#:]+)\)", readme):
    if os.path.exists(os.path.join(TOP, link)):
        passed += 1
    else:
        failed += 1
        print("readme: the link to %s leads nowhere" % link)

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
