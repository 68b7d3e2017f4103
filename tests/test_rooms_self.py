#!/usr/bin/env python3
"""tests/rooms.py finds faults of rooms: each fault is put into the headers' text, and must be named."""
import re
import sys

import rooms
import test_rooms

passed = failed = 0


def check(good, message):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("rooms_self: " + message)


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

# The list of rooms in qnnrt-run.c: a part that it does not name, one that is not there, a tag with two owners.
program, texts = test_rooms.load_parts()
tag = "                >>zip\n"
for name, text, change, others in (
        ("unlisted_part", r"lists None for run_zip\.h", lambda: program.replace("run_zip.h: >>span >>inflate >>zip", ""), {}),
        ("lost_part", r"lists run_lost\.h, which is no part", lambda: program.replace("   ROOMS ", "   ROOMS run_lost.h: >>lost "), {}),
        ("tag_twice", r">>elf is a room of run_elf\.h and of run_zip\.h", lambda: program,
         {"run_zip.h": texts["run_zip.h"].replace(tag, "                >>elf\n")})):
    found = test_rooms.parts(change(), {**texts, **others})
    check(any(re.search(text, line) for line in found), "%s: not found in %s" % (name, found))

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
