#!/usr/bin/env python3
"""tests/project/rooms.py finds faults of rooms: each fault is put into the headers' text, and must be named."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import close, holds as check  # noqa: E402

import rooms
import test_layers
import test_rooms
import units


def banner(text, room):
    return re.search(r"/\* =+\n   [^\n]*?>>%s\n.*?=+ \*/\n" % room, text, re.S)


def has(text, room):
    return banner(text, room) is not None


def put(text, room, code):
    """Insert code as the first lines of a room."""
    at = banner(text, room).end()
    return text[:at] + code + text[at:]


def without(text, room, *needs):
    """Remove these from the needs of a room."""
    m = banner(text, room)
    about = m.group(0)
    for need in needs:
        about = re.sub(r">>%s\b" % need, "", about)
    return text[:m.start()] + about + text[m.end():]


def finds(name, change, *sentences):
    """Check that after this change each of these is part of a sentence that names a fault."""
    wrong = rooms.faults(test_rooms.load("qnnrt", change), test_rooms.FLOOR, test_rooms.MOST, test_rooms.DATA)
    for sentence in sentences:
        check(any(re.search(sentence, line) for line in wrong), "%s: nothing says '%s', but:\n    %s"
              % (name, sentence, "\n    ".join(wrong) or "nothing at all"))


def in_room(room, edit):
    return lambda path, text: edit(text) if has(text[text.index("ROOMS (search"):], room) else text


plain = test_rooms.load("qnnrt")
wrong = rooms.faults(plain, test_rooms.FLOOR, test_rooms.MOST, test_rooms.DATA)
check(not wrong, "the headers as they are have faults")

# A public function of a room below.
finds("friends_calls_version", in_room("friends", lambda text: put(text, "friends",
      "static const char *qnnrt__friends_self(void) { return qnnrt_version(); }\n")),
      r">>friends uses qnnrt_version of >>\w+, which is not above it")

# A public function of a room above that is not named.
finds("table_calls_dtype_name", in_room("table", lambda text: put(without(text, "table", "dtype"), "table",
      "static const char *qnnrt__table_self(qnnrt_dtype d) { return qnnrt_dtype_name(d); }\n")),
      r">>table uses qnnrt_dtype_name of >>\w+, which is not above it|>>table uses qnnrt_\w+ of >>dtype and does not say so")

# Public calls of rooms far above: prepare, exec and destroy.
for call, argument in (("qnnrt_prepare", "model, NULL, &run, NULL"), ("qnnrt_exec", "run"), ("qnnrt_run_destroy", "run")):
    finds("save_calls_" + call, in_room("save", lambda text: put(without(text, "save", "run", "public", "place", "model"), "save",
          "static void qnnrt__save_self(qnnrt *model, qnnrt_run *run) { (void)%s(%s); }\n" % (call, argument))),
          r">>save uses \w+ of >>(run|public|place|model) and does not say so")


# The model's struct in the room that wires, read by rooms that do not need that one.


def move_model(path, text):
    m = re.search(r"^struct qnnrt \{.*?^\};\n", text, re.S | re.M)
    if m is None:
        return text
    text = text[:m.start()] + text[m.end():]
    return put(text, "power", m.group(0))


finds("model_struct_elsewhere", move_model, r">>\w+ uses qnnrt\.\w+ of >>power and does not say so")

# Members of a struct that is private to another room.
finds("run_reads_log_slots", in_room("run", lambda text: put(without(text, "run", "log"), "run",
      "static uint32_t qnnrt__run_self(qnnrt__log_slot *slot) { return qnnrt__os_load(&slot->count.begin); }\n")),
      r">>run uses (qnnrt__log_slot|QNNRT__LOG\w*|qnnrt__log\w*)(\.\w+)? of >>log and does not say so")
slot = next(re.search(r"typedef struct qnnrt__log_slot \{\s*\w+\s+(\w+);", room.text).group(1)
            for header in plain for room in header.rooms if "typedef struct qnnrt__log_slot {" in room.text)
member = test_rooms.load("qnnrt", in_room("names", lambda text: put(text, "names",
         "static int qnnrt__names_self(void *slot) { return ((qnnrt__log_slot *)slot)->%s; }\n" % slot)))
check(any("qnnrt__log_slot.%s" % slot in room.uses.get("log", {})
          for header in member for room in header.rooms if room.name == "names"), "a member behind a cast is not found")

# A room that is too long, one that names an unused room, one that needs a room below.
finds("too_long", in_room("sort", lambda text: put(text, "sort", "\n" * (test_rooms.MOST + 1))), r">>sort has \d+ lines")
finds("needs_nothing_of_it", in_room("sort", lambda text: text.replace(banner(text, "sort").group(0),
      banner(text, "sort").group(0).replace("Needs: ", "Needs: >>size "))), r">>sort says that it needs >>size and does not use it")
finds("needs_below", in_room("sort", lambda text: text.replace(banner(text, "sort").group(0),
      banner(text, "sort").group(0).replace("Needs: ", "Needs: >>run "))), r">>sort needs >>run, which is not above it")

# The units of the programs: each fault alone in a text.
programs = units.load()
check(not units.faults(programs), "the units as they are have faults")
ZIP, STEP, IO = "tools/run/io/zip.c", "tools/run/model/step.c", "tools/run/io/io.h"


def finds_unit(name, sentence, path, change):
    text = change(programs[path])
    check(text != programs[path], "%s: %s is not changed" % (name, path))
    found = units.faults({**programs, path: text})
    check(any(re.search(sentence, line) for line in found), "%s: not found in %s" % (name, found))


finds_unit("unlisted_unit", r"zip\.c has \['zip'\], and its header lists None", IO, lambda text: text.replace("zip.c: >>zip", ""))
finds_unit("lost_unit", r"io/lost\.c is listed, and is no unit", IO, lambda text: text.replace("zip.c: >>zip", "zip.c: >>zip   lost.c: >>lost"))
finds_unit("tag_twice", r">>span is a room of \S+span\.c and of \S+zip\.c", ZIP, lambda text: text.replace(">>zip", ">>span"))
finds_unit("rooms_at_the_head", r"zip\.c lists \[\] and has \['zip'\]", ZIP, lambda text: text.replace("   ROOM     >>zip", ""))
finds_unit("calls_upwards", r"step\.c uses span_cut of io, and its folder does not need that", STEP,
           lambda text: text + "\nint step_self(void *s) { return span_cut(s); }\n")
finds_unit("type_from_above", r"step\.c uses span of io", STEP, lambda text: text + "\nint step_self(span part) { return part.bytes > 0; }\n")
finds_unit("constant_from_above", r"step\.c uses VALUE_RANK of io", STEP, lambda text: text + "\nenum { STEP_SELF = VALUE_RANK };\n")
finds_unit("needs_too_much", r"io needs draw and does not use it", IO, lambda text: text.replace("Needs:   base", "Needs:   draw base"))
finds_unit("circle", r"need each other: io model$", "tools/run/model/model.h", lambda text: text.replace("Needs:   base", "Needs:   io base"))
finds_unit("too_many_lines", r"step\.c has \d+ lines, at most 500", STEP, lambda text: text + "\n" * 500)
finds_unit("no_stages", r"run\.c calls a library and does not include cli/stages\.h last", "tools/run/io/run.c",
           lambda text: text.replace('#include "cli/stages.h"\n', ""))

# Calls and includes that run upwards or in a circle, between units, folders and headers; all at once.
files = test_layers.load()
layers = (("tools/refbackend/slots.c", "int self(void) { return ref_fail(0, 0, 0) != 0; }", r"slots\.c uses log\.c, which is not below it"),
          ("tools/refbackend/log.c", "int self(void) { return ref_ledger_at(0, 0) != 0; }", r"a circle: .*log\.c -> "),
          ("tools/cli/text.c", "int self(void) { return bench_table.count; }", r"the house: a circle: .*cli -> tools/run"),
          ("tools/qnnrt_partition.h", '#include "qnnrt_lower.h"', r"partition\.h uses tools/qnnrt_lower\.h, and tools/headers"))
for path, code, _ in layers:
    files[path] += code + "\n"
found = [text for _, faults in test_layers.look(files) for text in faults]
for path, _, sentence in layers:
    check(any(re.search(sentence, text) for text in found), "%s: not found in %s" % (sentence, found))

sys.exit(close())
