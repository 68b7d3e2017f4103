#!/usr/bin/env python3
"""Write the jumps of tests/android/shim.c: one for each function that the given files call and the shim has not.

    nm -D --undefined-only FILE ... | python3 tests/android/shim.py OUT
"""
import os
import re
import sys

text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim.c")).read()
own = set(re.findall(r"^LIBC\([^,]*, (\w+),", text, re.M)) | set(re.findall(r"^DATA\((\w+)\)", text, re.M))
called = set(re.findall(r"^ +[Uw] (\w+)", sys.stdin.read(), re.M))
# Weak symbols of the compiler; no library has them.
called -= {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__"}
names = sorted(called - own)
with open(os.path.join(sys.argv[1], "shim_names.inc"), "w") as file:
    file.write("".join('    "%s",\n' % name for name in names))
with open(os.path.join(sys.argv[1], "shim_jumps.inc"), "w") as file:
    for number, name in enumerate(names):
        file.write('"jump_%s: .symver jump_%s, %s@LIBC\\n"\n' % (name, name, name))
        file.write('"    .globl jump_%s\\n    .type jump_%s, %%function\\n"\n' % (name, name))
        file.write('"    adrp x16, shim_targets + %d\\n    ldr x16, [x16, :lo12:shim_targets + %d]\\n"\n' % (8 * number, 8 * number))
        file.write('"    cbz x16, 1f\\n    br x16\\n1:  mov x0, #%d\\n    b shim_missing\\n"\n' % number)
