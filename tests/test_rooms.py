#!/usr/bin/env python3
"""Each room of the headers uses only rooms that its banner names, all of them above it, and is not too large.

    python3 tests/test_rooms.py [-v]        -v: prints the used names of each room

Prints the rooms, their lines and the names they use; tests/rooms.py finds them. No line of a header or tool
has more than 100 characters."""
import glob
import os
import re
import sys

import rooms

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Lines of a room; rooms that are tables alone may have more.
MOST = 600
DATA = {"vendor_codes", "vendor_lines"}
FLOOR = {"config"}
# Characters of a line.
WIDEST = 100

# Headers whose declarations these include.
DECLARED = {"tools/qnnrt_llm.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION")),
            "tools/qnnrt_ir.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION")),
            "tools/qnnrt_lower.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION"),
                                    ("tools/qnnrt_builder.h", "#endif /* QNNRT_BUILDER_H"),
                                    ("tools/qnnrt_weights.h", "#ifdef QNNRT_WEIGHTS_IMPLEMENTATION"),
                                    ("tools/qnnrt_ir.h", "#ifdef QNNRT_IR_IMPLEMENTATION")),
            "tools/qnnrt_partition.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"),),
            "tools/qnnrt_llm_graph.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION"),
                                      ("tools/qnnrt_ir.h", "#ifdef QNNRT_IR_IMPLEMENTATION")),
            "tools/qnnrt_cpu_fallback.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION"),
                                   ("tools/qnnrt_ir.h", "#ifdef QNNRT_IR_IMPLEMENTATION")),
            "tools/qnnrt_compile.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION"),
                                      ("tools/qnnrt_builder.h", "#endif /* QNNRT_BUILDER_H"),
                                      ("tools/qnnrt_weights.h", "#ifdef QNNRT_WEIGHTS_IMPLEMENTATION"),
                                      ("tools/qnnrt_ir.h", "#ifdef QNNRT_IR_IMPLEMENTATION"),
                                      ("tools/qnnrt_lower.h", "#ifdef QNNRT_LOWER_IMPLEMENTATION"),
                                      ("tools/qnnrt_partition.h", "#ifdef QNNRT_PARTITION_IMPLEMENTATION"),
                                      ("tools/qnnrt_cpu_fallback.h", "#ifdef QNNRT_CPU_FALLBACK_IMPLEMENTATION")),
            "tools/qnnrt_weights.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION")),
            "tools/qnnrt_convert.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"),),
            "tools/qnnrt_cache.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"),),
            "tools/qnnrt_manifest.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION")),
            "tools/qnnrt_session.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION"),
                                      ("tools/qnnrt_cache.h", "#ifdef QNNRT_CACHE_IMPLEMENTATION")),
            "tools/engines/qnnrt_onnxruntime.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("tools/qnnrt_cache.h", "#ifdef QNNRT_CACHE_IMPLEMENTATION"), ("tools/qnnrt_session.h", "#ifdef QNNRT_SESSION_IMPLEMENTATION")),
            "tools/engines/qnnrt_openvino.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("tools/qnnrt_session.h", "#ifdef QNNRT_SESSION_IMPLEMENTATION")),
            "tools/engines/qnnrt_qnn.h": (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION"), ("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION"),
                                          ("tools/qnnrt_session.h", "#ifdef QNNRT_SESSION_IMPLEMENTATION"), ("tools/qnnrt_builder.h", "#endif /* QNNRT_BUILDER_H"),
                                          ("tools/qnnrt_weights.h", "#ifdef QNNRT_WEIGHTS_IMPLEMENTATION"), ("tools/qnnrt_ir.h", "#ifdef QNNRT_IR_IMPLEMENTATION"),
                                          ("tools/qnnrt_lower.h", "#ifdef QNNRT_LOWER_IMPLEMENTATION"), ("tools/qnnrt_partition.h", "#ifdef QNNRT_PARTITION_IMPLEMENTATION"),
                                          ("tools/qnnrt_cpu_fallback.h", "#ifdef QNNRT_CPU_FALLBACK_IMPLEMENTATION"), ("tools/qnnrt_compile.h", "#ifdef QNNRT_COMPILE_IMPLEMENTATION"),
                                          ("tools/qnnrt_manifest.h", "#ifdef QNNRT_MANIFEST_IMPLEMENTATION")),
            "qnnrt.h": (("qnnrt_json.h", "#ifdef QNNRT_JSON_IMPLEMENTATION"),)}

# Files of one translation unit: path, where the implementation begins, the guard, where it ends.
QNNRT = (("qnnrt.h", "#ifdef QNNRT_IMPLEMENTATION", "#ifndef QNNRT_H", "#endif /* QNNRT__IMPL_ONCE */"),
         ("tools/qnnrt_builder.h", "#define QNNRT__BUILDER_ONCE", "#ifndef QNNRT_BUILDER_H", "#endif /* QNNRT__BUILDER_ONCE */"),
         ("tools/qnnrt_profile_log.h", "#define QNNRT__PROFILE_LOG_ONCE", "#ifndef QNNRT_PROFILE_LOG_H",
          "#endif /* QNNRT__PROFILE_LOG_ONCE */"))
LLM = (("tools/qnnrt_llm.h", "#ifdef QNNRT_LLM_IMPLEMENTATION", "#ifndef QNNRT_LLM_H", "#endif /* QNNRT_LLM__IMPL_ONCE */"),)
WEIGHTS = (("tools/qnnrt_weights.h", "#ifdef QNNRT_WEIGHTS_IMPLEMENTATION", "#ifndef QNNRT_WEIGHTS_H", "#endif /* QNNRT_WEIGHTS__IMPL_ONCE */"),)
LOWER = (("tools/qnnrt_lower.h", "#ifdef QNNRT_LOWER_IMPLEMENTATION", "#ifndef QNNRT_LOWER_H", "#endif /* QNNRT_LOWER__IMPL_ONCE */"),)
PARTITION = (("tools/qnnrt_partition.h", "#ifdef QNNRT_PARTITION_IMPLEMENTATION", "#ifndef QNNRT_PARTITION_H", "#endif /* QNNRT_PARTITION__IMPL_ONCE */"),)
CONVERT = (("tools/qnnrt_convert.h", "#ifdef QNNRT_CONVERT_IMPLEMENTATION", "#ifndef QNNRT_CONVERT_H", "#endif /* QNNRT_CONVERT__IMPL_ONCE */"),)
CACHE = (("tools/qnnrt_cache.h", "#ifdef QNNRT_CACHE_IMPLEMENTATION", "#ifndef QNNRT_CACHE_H", "#endif /* QNNRT_CACHE__IMPL_ONCE */"),)
MANIFEST = (("tools/qnnrt_manifest.h", "#ifdef QNNRT_MANIFEST_IMPLEMENTATION", "#ifndef QNNRT_MANIFEST_H", "#endif /* QNNRT_MANIFEST__IMPL_ONCE */"),)
SESSION = (("tools/qnnrt_session.h", "#ifdef QNNRT_SESSION_IMPLEMENTATION", "#ifndef QNNRT_SESSION_H", "#endif /* QNNRT_SESSION__IMPL_ONCE */"),)
ENGINE_ONNXRT = (("tools/engines/qnnrt_onnxruntime.h", "#ifdef QNNRT_ONNXRUNTIME_IMPLEMENTATION", "#ifndef QNNRT_ONNXRUNTIME_H",
                   "#endif /* QNNRT_ONNXRUNTIME__IMPL_ONCE */"),)
ENGINE_OPENVINO = (("tools/engines/qnnrt_openvino.h", "#ifdef QNNRT_OPENVINO_IMPLEMENTATION", "#ifndef QNNRT_OPENVINO_H",
                    "#endif /* QNNRT_OPENVINO__IMPL_ONCE */"),)
ENGINE_QNN = (("tools/engines/qnnrt_qnn.h", "#ifdef QNNRT_QNN_IMPLEMENTATION", "#ifndef QNNRT_QNN_H", "#endif /* QNNRT_QNN__IMPL_ONCE */"),)
HOST = (("tools/qnnrt_cpu_fallback.h", "#ifdef QNNRT_CPU_FALLBACK_IMPLEMENTATION", "#ifndef QNNRT_CPU_FALLBACK_H", "#endif /* QNNRT_CPU_FALLBACK__IMPL_ONCE */"),)
PROGRAM = (("tools/qnnrt_compile.h", "#ifdef QNNRT_COMPILE_IMPLEMENTATION", "#ifndef QNNRT_COMPILE_H", "#endif /* QNNRT_COMPILE__IMPL_ONCE */"),)
IR = (("tools/qnnrt_ir.h", "#ifdef QNNRT_IR_IMPLEMENTATION", "#ifndef QNNRT_IR_H", "#endif /* QNNRT_IR__IMPL_ONCE */"),)

DECODER = (("tools/qnnrt_llm_graph.h", "#ifdef QNNRT_LLM_GRAPH_IMPLEMENTATION", "#ifndef QNNRT_LLM_GRAPH_H",
            "#endif /* QNNRT_LLM_GRAPH__IMPL_ONCE */"),)


def load(files, change=lambda path, text: text):
    """Return the headers, each after a change of its text."""
    headers = []
    for path, begin, guard, end in files:
        with open(os.path.join(TOP, path)) as file:
            headers.append(rooms.Header(path, change(path, file.read()), begin, guard, end))
    declared = []
    for path, end in DECLARED[files[0][0]]:
        with open(os.path.join(TOP, path)) as file:
            declared.append(file.read().split(end)[0])
    rooms.read(headers, declared, DATA)
    return headers


def wide(paths):
    """Return the lines that are too long."""
    found = []
    for path in paths:
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if len(line.rstrip("\n")) > WIDEST:
                    found.append("%s:%d: %d characters, at most %d" % (path, number, len(line.rstrip("\n")), WIDEST))
    return found


def parts(program, texts):
    """Return where the list of rooms at the head of qnnrt-run.c differs from its parts, a dict of texts by names of files."""
    head = program[program.index("   ROOMS "):program.index("*/")]
    listed = {name: re.findall(r">>(\w+)", tags) for name, tags in re.findall(r"(run_\w+\.h):((?: >>\w+)+)", head)}
    found, where = [], {}
    for name, text in sorted(texts.items()):
        own = re.findall(r">>(\w+)", text[:text.index("*/")].partition("   ROOMS ")[2])
        tags = re.findall(r"^/\* =+\n   [A-Z][^\n]*>>(\w+)$", text, re.M)
        if listed.get(name) != tags:
            found.append("qnnrt-run.c lists %s for %s, which has %s" % (listed.get(name), name, tags))
        if own and own != tags:
            found.append("%s lists %s and has %s" % (name, own, tags))
        for tag in tags:
            if tag in where:
                found.append(">>%s is a room of %s and of %s" % (tag, where[tag], name))
            where[tag] = name
    return found + ["qnnrt-run.c lists %s, which is no part" % name for name in sorted(set(listed) - set(texts))]


def load_parts():
    """Return qnnrt-run.c and its parts, for parts()."""
    texts = {}
    for path in glob.glob(os.path.join(TOP, "tools", "run_*.h")) + [os.path.join(TOP, "tools", "qnnrt-run.c")]:
        with open(path, encoding="utf-8") as file:
            texts[os.path.basename(path)] = file.read()
    return texts.pop("qnnrt-run.c"), texts


def main():
    failed = passed = 0
    verbose = "-v" in sys.argv[1:]
    paths = ["qnnrt.h", "qnnrt_json.h"]
    paths += sorted(os.path.relpath(path, TOP) for kind in "hc" for path in glob.glob(os.path.join(TOP, "tools", "*." + kind)) +
                    glob.glob(os.path.join(TOP, "tools", "engines", "*." + kind)))
    wrong = wide(paths)
    for text in wrong:
        print("rooms: " + text)
    failed += len(wrong)
    passed += len(paths) - len({text.split(":")[0] for text in wrong})
    program, texts = load_parts()
    wrong = parts(program, texts)
    for text in wrong:
        print("rooms: " + text)
    failed += len(wrong)
    passed += len(texts)
    for files, fewest in ((QNNRT, 30), (LLM, 15), (WEIGHTS, 10), (IR, 15), (LOWER, 15), (HOST, 7), (PROGRAM, 10), (DECODER, 9), (PARTITION, 14), (CONVERT, 8), (CACHE, 6), (MANIFEST, 7), (SESSION, 7), (ENGINE_QNN, 13), (ENGINE_ONNXRT, 15), (ENGINE_OPENVINO, 17)):
        headers = load(files)
        wrong = rooms.faults(headers, FLOOR, MOST, DATA)
        for text in wrong:
            print("rooms: " + text)
        every = [room for header in headers for room in header.rooms]
        if len(every) < fewest:
            wrong.append("banners are missing")
        for room in every:
            print("  >>%-10s %5d lines   %s" % (room.name, room.lines, " ".join(">>" + r.name for r in every if r.name in room.uses)))
            if verbose:
                for owner in sorted(room.uses):
                    print("        >>%s: %s" % (owner, " ".join(sorted(room.uses[owner]))))
        failed += len(wrong)
        passed += len(every)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
