#!/bin/sh
# qnnrt-run report: the page is well-formed, has everything, and no name in it becomes markup. Python's parsers are the oracle.
#
#   sh tests/cli/test_report.sh [BUILD_DIR]
suite=test_report
. "$(dirname "$0")/../harness/tool.sh"

if ! command -v python3 >/dev/null 2>&1; then skip all "python3 is missing"; finish; exit; fi

# page NAME FILE EXPRESSION ...: each expression is true of the page. all: its text; tags: its elements; tables: rows of cells
page() {
    name=$1 file=$2
    shift 2
    found=$(python3 - "$file" "$@" 2>&1 <<'EOF'
import html.parser, sys, xml.etree.ElementTree as tree
source = open(sys.argv[1], encoding="utf-8").read()
root = tree.fromstring(source)                     # well-formed
class Reader(html.parser.HTMLParser):              # and read as a browser reads it
    def __init__(self):
        super().__init__()
        self.tags, self.words, self.attributes = [], [], []
    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, k, v) for k, v in attributes]
    def handle_data(self, data):
        self.words.append(data)
reader = Reader()
reader.feed(source)
tags, all = [e.tag.split("}")[-1] for e in root.iter()], "".join(root.itertext())
KNOWN = set("html head meta title style body header h1 h2 h3 p a nav div main section b span table thead tbody tr th td details summary "
            "svg g rect text path footer".split())
def cells(row): return ["".join(c.itertext()).strip() for c in row if c.tag in ("td", "th")]
tables = [[cells(row) for row in table.iter("tr")] for table in root.iter("table")]
wrong = []
if [t for t in reader.tags] != tags: wrong.append("the two parsers do not see the same elements")
if not set(tags) <= KNOWN: wrong.append("elements: %s" % (set(tags) - KNOWN))
for tag, key, value in reader.attributes:
    if key.startswith("on") or key in ("src", "style") and tag != "path": wrong.append("attribute %s of %s" % (key, tag))
    if key == "href" and not value.startswith("#"): wrong.append("a link to %s" % value)
ids = [v for t, k, v in reader.attributes if k == "id"]
if len(ids) != len(set(ids)): wrong.append("an id is there twice")
for tag, key, value in reader.attributes:
    if key == "href" and value[1:] not in ids: wrong.append("a link to %s, which is missing" % value)
if any(ord(c) < 32 and c != "\n" for c in source): wrong.append("a control character")
if "default-src 'none'" not in source or "url(" in source or "@import" in source: wrong.append("it may load something")
for text in sys.argv[2:]:
    try:
        if not eval(text): wrong.append("not true: " + text)
    except Exception as error:
        wrong.append("%s: %s" % (text, error))
print("; ".join(wrong[:5]) or "good")
EOF
    )
    check "$name" "$found" test "$found" = good
}

# ---- from metadata alone ------------------------------------------------------------------------------

four="$data/llm/json/w8a16_four_0.json $data/llm/json/w8a16_four_1.json $data/llm/json/w8a16_four_2.json $data/llm/json/w8a16_four_3.json"
# shellcheck disable=SC2086
run report $four --output "$tmp/four.html"
is four 0
silent four_quiet err
says four_wrote out "wrote     $tmp/four.html"
page four "$tmp/four.html" "'token_ar1_cl128' in all" "tags.count('svg') == 4" "'At a glance' in all" \
    "source.count('>read by steps 1, 2</text>') == 6" "'peak = lower bound' in all" "'No fault and no warning.' in all" \
    "[r[1] for t in tables for r in t if t[0][1] == 'file'][1:] == ['w8a16_four_%d.json' % i for i in range(4)]"
# All tensors of the dumps, with their dims, as Python reads them.
cat >"$tmp/names.py" <<'EOF'
import json, sys
names = {}
for path in sys.argv[1:]:
    info = json.load(open(path))
    info = info.get("info", info)
    for g in info["graphs"]:
        g = g.get("info", g)
        for t in g["graphInputs"] + g["graphOutputs"]:
            t = t.get("info", t)
            names.setdefault(t["name"], set()).add("x".join(map(str, t["dimensions"])))
print(json.dumps([[n, d] for n in names for d in sorted(names[n])]))
EOF
# shellcheck disable=SC2086
python3 "$tmp/names.py" $four >"$tmp/names"
page four_tensors "$tmp/four.html" "(lambda want, have: len(want) > 40 and not [w for w in want if (w[0], w[1]) not in have])(
    __import__('json').load(open('$tmp/names')), {(r[0], r[2]) for t in tables for r in t if t[0][0] == 'tensor'})"
# shellcheck disable=SC2086
run report $four --output -
is stdout 0
check stdout_same "the page on standard output differs" cmp -s "$tmp/out" "$tmp/four.html"

# ---- a pipeline that is not wired ---------------------------------------------------------------------

run report "$data/llm/json/w8a16_four_0.json" "$data/llm/json/bad_mixed_0.json" "$data/llm/json/w8a16_four_2.json" --output "$tmp/bad.html"
is unwired 0
page unwired "$tmp/bad.html" "[e for e in root.iter('span') if e.get('class') == 'level fault']" "'broken edge' in all"

# ---- folders that are broken ----------------------------------------------------------------------------

faults="[e for e in root.iter('span') if e.get('class') == 'level fault']"
mkdir "$tmp/cut"
printf 'FAKEQNN 1\n# a context binary is not shorter than this\ngraph main\nin x 1 0108 1 4 -\nout hidden 2 0108 1 4 -\n' >"$tmp/cut/forward_0.bin"
: >"$tmp/cut/forward_1.bin"
run report "$tmp/cut" --system_so "$fake" --output "$tmp/cut.html"
is cut 1
says cut_wrote out "wrote     $tmp/cut.html"
page cut "$tmp/cut.html" "len($faults) == 1" "'forward_1.bin' in all and 'empty' in all" "'forward_0.bin' in all" "'Copy the file again' in all"
run report "$tmp/cut" --backend_so "$fake" --system_so "$fake" --output "$tmp/cut_run.html" --run
is cut_run 1
page cut_run "$tmp/cut_run.html" "len($faults) == 1" "'forward_1.bin' in all and 'empty' in all"
run report "$tmp/cut/forward_1.bin" --system_so "$fake" --output "$tmp/cut_file.html"
is cut_file 1
page cut_file "$tmp/cut_file.html" "len($faults) == 1" "'which could not be opened' in all" "'forward_1.bin' in all"
mkdir "$tmp/nothing"
run report "$tmp/nothing" --output "$tmp/nothing.html"
is nothing 1
page nothing "$tmp/nothing.html" "len($faults) == 1" "'no *.bin in the folder' in all" "'Give the folder' in all"
run report "$tmp/none" --output "$tmp/none.html"
is none 1
check none_wrote "a page about no folder" test ! -e "$tmp/none.html"
mkdir "$tmp/lone"
cp "$data/llm/json/w8a16_four_0.json" "$tmp/lone/forward_0_json.json"
run report "$tmp/lone" --output "$tmp/lone.html"
page lone "$tmp/lone.html" "len($faults) == 1" "'forward_0.bin' in all" "'missing: there is only forward_0_json.json' in all"

# ---- on a backend --------------------------------------------------------------------------------------

mkdir "$tmp/m"
printf 'FAKEQNN 1\n# a context binary is not shorter than this\ngraph main\nin x 1 0108 1 4 -\nout hidden 2 0108 1 4 -\n' >"$tmp/m/forward_0.bin"
printf 'FAKEQNN 1\n# a context binary is not shorter than this\ngraph main\nin hidden 5 0108 1 4 -\nout y 6 0108 1 4 -\n' >"$tmp/m/forward_1.bin"
run report "$tmp/m" --backend_so "$fake" --system_so "$fake" --output "$tmp/run.html" --run --num_inferences 3
is run 0
page run "$tmp/run.html" "'longest inference' in all" "'3 inferences after a first one' in all" "tags.count('svg') == 3" \
    "'libQnnFake.so' in all" "any(r[0] != '-' and r[3] == 'forward_0.bin' for t in tables for r in t if t[0][:2] == ['share', 'time'])"

# ---- names that are markup ------------------------------------------------------------------------------

hostile='<script>alert(1)</script>'
cat >"$tmp/hostile.py" <<'EOF'
import json, sys
info = json.load(open(sys.argv[1]))
graph = info.get("info", info)["graphs"][0]
graph = graph.get("info", graph)
names = ["<script>alert(1)</script>", "\" onload=\"alert(2)", "</style></svg><img src=x onerror=alert(3)>", "\x1b[31m\x00".replace("\x00", "\x07"), "]]>&amp;&#60;", "' onclick='",
         "\u202egnp.exe", "{{x}}${y}`z`", "a\nb\r\tc", "\U0001f600" * 30]
graph["graphName"] = names[2]
for at, tensor in enumerate(graph["graphInputs"] + graph["graphOutputs"]):
    (tensor.get("info", tensor))["name"] = names[at % len(names)] + (str(at) if at >= len(names) else "")
json.dump(info, open(sys.argv[2], "w"))
costs = {"format": "qnnrt-run.profile", "version": 1, "model": names[0], "backend": names[1], "build_id": names[2], "level": names[3], "inferences": 4,
         "loading": [{"name": n, "kind": n, "us": 5} for n in names],
         "pipelines": [{"name": n, "us": 100, "first_us": 1, "steps": [{"name": n, "file": n, "us": 90, "nodes": [{"name": m, "operator": m, "us": 9} for m in names]}]}
                       for n in names]}
json.dump(costs, open(sys.argv[3], "w"))
EOF
python3 "$tmp/hostile.py" "$data/llm/json/w8a16_four_1.json" "$tmp/<b>&\"_json.json" "$tmp/costs.json"
run report "$tmp/<b>&\"_json.json" --costs "$tmp/costs.json" --output "$tmp/hostile.html"
is hostile 0
page hostile "$tmp/hostile.html" "all.count('$hostile') > 5" "'script' not in tags and 'img' not in tags" "'onerror=alert(3)' in all" \
    "'\\\\x1B[31m\\\\x07' in all" "']]>&amp;&#60;' in all" "'<b>&\"_json.json' in all" "'\\\\x0A' in all" "tags.count('svg') == 5"
check hostile_bidi "a character that turns the text is in the page" sh -c '! grep -q "$(printf "\\342\\200\\256")" "$1"' - "$tmp/hostile.html"

# ---- bad input ------------------------------------------------------------------------------------------

wrong no_output '--output FILE is missing' report "$tmp/m"
wrong no_model 'the model is missing' report --output "$tmp/x.html"
wrong without_run '--num_inferences needs --run' report "$tmp/m" --output "$tmp/x.html" --num_inferences 3
wrong input_without_run '--input needs --run' report "$tmp/m" --output "$tmp/x.html" --input x=y
wrong run_and_costs '--run excludes --costs' report "$tmp/m" --output "$tmp/x.html" --run --costs "$tmp/costs.json"
wrong svg 'not an option of report' report "$tmp/m" --output "$tmp/x.html" --svg "$tmp/x.svg"
run report "$tmp/missing" --output "$tmp/x.html"
is missing 1
run report "$data/llm/json/w8a16_four_0.json" --output "$tmp/m/forward_0.bin/x"
is impossible 1
says impossible err 'cannot write'
run report "$data/llm/json/w8a16_four_0.json" --output "$tmp/x.html" --costs "$data/llm/json/w8a16_four_0.json"
is foreign_costs 1
says foreign_costs err 'is not a saved profile'
check foreign_costs_no_page "a page was written" test ! -e "$tmp/x.html"
: >"$tmp/empty.bin"
run report "$tmp/empty.bin" --system_so "$fake" --output "$tmp/x.html"
is empty 1
if [ -e /dev/full ]; then
    $tool report "$data/llm/json/w8a16_four_0.json" --output - >/dev/full 2>"$tmp/err"
    status=$?
    is full 1
fi

finish
