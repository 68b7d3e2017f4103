#!/bin/sh
# qnnrt-run without a backend: inspect, plan, --json_file, --diff, pictures.
#
#   sh tests/cli/test_inspect.sh [BUILD_DIR [RELEASE_DIR]]
#
# As in test_tool.sh; QNNRT_SAMPLES (a folder with json/*.json, genuine dumps) adds cases.
suite=test_inspect
. "$(dirname "$0")/../harness/tool.sh"
system=$release/libQnnSystem.so

same() { check "$1" "$2 and $3 differ" cmp -s "$2" "$3"; }

if [ ! -x "$tool" ]; then
    bad build "$tool is missing"
    echo "$passed passed, $failed failed"
    exit 1
fi
if ! command -v python3 >/dev/null 2>&1; then
    skip all "python3 is missing"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ]
    exit
fi

# python NAME PROGRAM ARGUMENT ...: it ends without an exception
python() {
    name=$1 program=$2
    shift 2
    if PYTHONIOENCODING=utf-8 python3 -c "$program" "$@" >"$tmp/python" 2>&1; then
        good
    else
        bad "$name" "$(tail -n 1 "$tmp/python")"
    fi
}

eight=$tmp/eight
check eight_shards "make_eight_shards.py failed" python3 "$tests/cli/make_eight_shards.py" "$eight"

# ---- wrong usage ------------------------------------------------------------------------------------

wrong inspect_nothing "inspect takes" inspect
wrong plan_nothing "plan takes" plan
wrong command_later 'unexpected argument "inspect"' --json inspect
hinted command_later_hint 'first word'
wrong inspect_input "inspect runs nothing: it does not take --input" inspect "$eight" --input x=y
wrong plan_output "plan runs nothing: it does not take --output_dir" plan "$eight" --output_dir x
wrong inspect_ctx_dir "--ctx_dir" inspect "$eight" --ctx_dir "$eight"
wrong metadata_word "--metadata takes all, system or json" inspect "$eight" --metadata both
wrong unified_alone "--unified needs --json_file" inspect "$eight" --unified
wrong plan_dot "--dot is not an option of plan" plan "$eight" --dot "$tmp/x"
hinted plan_dot_hint --svg
wrong two_documents "--json_file - and --svg -" inspect "$eight" --json_file - --svg -
wrong json_and_svg "--json and --svg -" inspect "$eight" --json --svg -
wrong diff_one "--diff takes two models" inspect --diff "$eight"
wrong diff_three "--diff takes two models" --diff "$eight" "$eight" "$eight"
wrong diff_svg "--diff prints differences" --diff "$eight" "$eight" --svg "$tmp/x"
wrong diff_plan "--diff is not an option of plan" plan --diff "$eight" "$eight"
hinted diff_plan_hint "inspect --diff"
for option in json_file dot svg metadata; do wrong "needs_$option" "--$option needs a value" inspect "$eight" "--$option"; done
for option in unified diff; do wrong "takes_none_$option" "--$option takes no value" inspect "$eight" "--$option=1"; done

run inspect --help
for word in 'inspect FILE|DIR' --json_file --unified --diff --dot --svg --metadata; do says help out "$word"; done
run plan --help
says help_plan out 'plan FILE|DIR'

# ---- JSON alone ------------------------------------------------------------------------------------

run inspect "$eight"
is inspect_json 0
silent inspect_json err
for text in 'context 7  forward_7_json.json, without its binary' 'metadata    forward_0_json.json' \
    'build id    v2.51.0.260929181845' 'backend     6 (HTP), core API 2.40.0, backend API 5.51.0' \
    'SoC model 69 (SM8750), NPU v79' 'VTCM 8.0 MiB' 'spill-fill 1.0 MiB' 'optimisation level 3' 'HVX threads 4' \
    'pipeline "prompt_ar128_cl2048", 8 steps' 'equal names' 'scale 0.001953125'; do
    says inspect_json_text out "$text"
done
run plan "$eight"
is plan_json 0
says plan_json out 'memory    peak 18.8 MiB, bound 18.8 MiB'
check plan_json "no row of the mask" grep -qE '^ +512 +512.0 KiB  0-7 +input +kept +attention_mask$' "$tmp/out"
run inspect "$eight/forward_3_json.json" "$eight/forward_4_json.json"
is inspect_files 0
says inspect_files out 'files given one by one, 2 contexts'
run inspect "$eight/forward_3_json.json" --json
is inspect_report 0
python inspect_report 'import json, sys
d = json.load(open(sys.argv[1]))
c = d["model"]["contexts"][0]
assert c["from_json"] is True and c["from_system"] is False and c["metadata"]["dsp_arch"] == 79, c
g = c["metadata"]["graphs"][0]
assert g["inputs"][0]["id"] == 3 and g["inputs"][0]["dims"] == [1, 128, 1024] and g["vtcm_bytes"] == 8 << 20
assert d["pipelines"][0]["plan"] is None and d["ok"] is True' "$tmp/out"
run --ctx_dir "$eight" --inspect
is inspect_old 0
says inspect_old out 'memory    peak 18.8 MiB'
printf '\357\273\277 \n\t' >"$tmp/bom.json"
cat "$eight/forward_0_json.json" >>"$tmp/bom.json"
run inspect "$tmp/bom.json"
is inspect_bom 0
printf '[1]' >"$tmp/list.json"
run inspect "$tmp/list.json"
is inspect_list 1
run inspect "$tmp/none.json"
is inspect_missing 1
says inspect_missing err none.json
run inspect "$eight" --metadata system --system_so "$tmp/none.so"
is metadata_system 1

# An input without an edge is a finding, not a failure; a plan of such a model fails.
mkdir "$tmp/gap"
cp "$eight/forward_0_json.json" "$tmp/gap/forward_0_json.json"
sed 's/_model_layers_1_Add_1_Add_output_0/other/; s/1024/1025/' "$eight/forward_1_json.json" >"$tmp/gap/forward_1_json.json"
run inspect "$tmp/gap" --svg "$tmp/gap.svg" --dot "$tmp/gap.dot"
is unwired 0
says unwired out 'not wired:'
says unwired gap.svg 'not wired:'
says unwired gap.dot 'not wired:'
run plan "$tmp/gap"
is unwired_plan 1

# ---- the text that is written -------------------------------------------------------------------------

# Two documents of the tool are equal except for names of files and times.
equal_reports='import json, sys
def facts(path):
    d = json.loads(open(path, encoding="utf-8").read().replace("_json.json", ".bin"))
    for c in d["model"]["contexts"]:
        for key in ("file", "bytes", "json_file", "from_system", "from_json", "metadata_ns", "create_ns"): c.pop(key)
    for p in d["pipelines"]:
        p.pop("prepare_ns")
        for s in p["steps"]: s.pop("file")
    for key in ("ctx_dir", "system"): d["model"].pop(key)
    return d
assert facts(sys.argv[1]) == facts(sys.argv[2]), "the reports differ"'

# round NAME MODEL [OPTION ...]: a model stays the same when it is written, nested and flat, and read back
round() {
    what=$1 model=$2
    shift 2
    run inspect "$model" "$@" --json
    mv "$tmp/out" "$tmp/first"
    for form in '' --unified; do
        rm -rf "$tmp/dump"
        run inspect "$model" "$@" --json_file "$tmp/dump/" $form
        is "round_$what$form" 0
        run inspect "$tmp/dump" --json --metadata json
        is "round_again_$what$form" 0
        python "round_equal_$what$form" "$equal_reports" "$tmp/first" "$tmp/out"
        run inspect --diff "$model" "$tmp/dump" "$@"
        is "round_diff_$what$form" 0
        says "round_diff_bytes_$what$form" out 'not compared: weights of '
        lacks "round_diff_$what$form" out 'context 0'
    done
}

round eight "$eight"
run inspect "$eight/forward_2_json.json" --json_file "$tmp/one.json"
is json_file_one 0
same json_file_genuine_layout "$tmp/one.json" "$eight/forward_2_json.json"
run inspect "$eight/forward_2_json.json" --json_file -
is json_file_stdout 0
same json_file_stdout "$tmp/out" "$tmp/one.json"
run inspect "$eight" --json_file "$tmp/many.json"
is json_file_many 1
says json_file_many err '8 contexts'
hinted json_file_many_hint "$tmp/many.json/"
check json_file_many "a file was made" test ! -e "$tmp/many.json"
run inspect "$eight" "$eight"
is two_folders 1
says two_folders err 'is a folder among 2 arguments'
run plan "$eight" --metadata system
is left_out 1
says left_out err 'no *.bin in the folder'
run plan "$eight"
says no_binary out 'forward_0_json.json  without its binary, made by'
cp "$tool" "$tmp/x.bin"
run inspect "$tmp/x.bin" --system_so /none.so
is no_system 1
says no_system err /none.so
hinted no_system --system_so
: >"$tmp/empty.json"
run inspect "$tmp/empty.json"
is empty_json 1
says empty_json err 'byte 0: the text ends where a value was expected'
mkdir "$tmp/a" "$tmp/b"
cp "$eight/forward_0_json.json" "$tmp/a/same.json"
cp "$eight/forward_1_json.json" "$tmp/b/same.json"
run inspect "$tmp/a/same.json" "$tmp/b/same.json" --json_file "$tmp/clash/"
is json_file_clash 1
says json_file_clash err 'would both be written to same_json.json'
# Links and pipes in a folder are replaced, and their targets stay.
mkdir "$tmp/links"
echo mine > "$tmp/victim"
ln -s "$tmp/victim" "$tmp/links/forward_2_json.json"
run inspect "$eight/forward_2_json.json" --json_file "$tmp/links/"
is json_file_link 0
check json_file_link "the file behind a link was written to" test "$(cat "$tmp/victim")" = mine
check json_file_link "the link is still there" test ! -L "$tmp/links/forward_2_json.json"
rm "$tmp/links/forward_2_json.json"
mkfifo "$tmp/links/forward_2_json.json"
run inspect "$eight/forward_2_json.json" --json_file "$tmp/links/"
is json_file_pipe 0
check json_file_pipe "the pipe is still there" test -f "$tmp/links/forward_2_json.json"
run inspect "$eight/forward_0_json.json" --json_file "$tmp/none/x.json"
is json_file_nowhere 1
says json_file_nowhere err "$tmp/none/x.json"
run inspect "$eight/forward_0_json.json" --svg /dev/full
is svg_full 1
says svg_full err 'cannot write /dev/full'
check svg_full "/dev/full was replaced" test -c /dev/full
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$tmp/locked"
    chmod a-w "$tmp/locked"
    run inspect "$eight" --svg "$tmp/locked/x.svg"
    is svg_locked 1
fi
check no_leftovers "files were left: $(ls "$tmp")" sh -c 'test -z "$(find "$1" -name "*.tmp")"' - "$tmp"

# Cases that the sample files do not have: encodings per axis and of few bits, dynamic dimensions, unknown numbers.
python odd_document 'import json, sys
d = json.load(open(sys.argv[1]))
g = d["info"]["graphs"][0]["info"]
def quant(i, which, key, value):
    g["graphInputs"][i]["info"]["quantizeParams"] = {"definition": "QNN_DEFINITION_DEFINED",
        "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_" + which, key: value}
quant(4, "AXIS_SCALE_OFFSET", "axisScaleOffset", {"axis": 0, "numScaleOffsets": 4,
      "scaleOffsets": [{"scale": 0.1 * k, "offset": -k} for k in range(1, 5)]})
quant(5, "BW_SCALE_OFFSET", "bwScaleOffset", {"bitwidth": 4, "scale": 3.5e-9, "offset": 0})
quant(6, "BW_AXIS_SCALE_OFFSET", "bwAxisScaleOffset", {"bitwidth": 4, "axis": 0, "numElements": 4,
      "scales": [1, 2, 1e30, 4], "offsets": None})
quant(7, "BW_AXIS_SCALE_OFFSET", "bwAxisScaleOffset", {"bitwidth": 4, "axis": 0, "numElements": 4,
      "scales": [1, 2, 3, 4], "offsets": [1, 2, 3, -4]})
g["graphInputs"][1]["info"]["quantizeParams"] = {"definition": "QNN_DEFINITION_DEFINED",
      "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_BLOCK"}
g["graphInputs"][0]["info"]["isDynamicDimensions"] = [0, 1]
g["graphInputs"][0]["info"]["id"] = 4294967295
g["graphInputs"][2]["info"]["type"] = "QNN_TENSOR_TYPE_UPDATEABLE_APP_WRITE"
d["info"]["contextBlobSize"] = 18446744073709551615
json.dump(d, open(sys.argv[2], "w"))' "$eight/forward_0_json.json" "$tmp/odd.json"
round odd "$tmp/odd.json"
run inspect "$tmp/odd.json"
says odd out 'cannot run:'
says odd out 'axis 0, 4 scales, 4 bits'

# ---- differences -------------------------------------------------------------------------------------

python diff_document 'import json, sys
d = json.load(open(sys.argv[1]))
d["info"]["socModel"] = 57
g = d["info"]["graphs"][0]["info"]
i = g["graphInputs"]
i[0]["info"]["id"] = 999
i[1]["info"]["dimensions"][3] = 4096
i[2]["info"]["dataType"] = "QNN_DATATYPE_UFIXED_POINT_8"
i[3]["info"]["quantizeParams"]["scaleOffset"]["scale"] = 0.25
i[4]["info"]["name"] = "renamed"
json.dump(d, open(sys.argv[2], "w"))' "$eight/forward_0_json.json" "$tmp/changed.json"
run inspect --diff "$eight/forward_0_json.json" "$tmp/changed.json"
is diff_changed 1
silent diff_changed err
for text in 'context 0: SoC model 69 -> 57' 'input "input_ids": id 3 -> 999' \
    'input "attention_mask": dims 1x1x128x2048 -> 1x1x128x4096' \
    'input "position_ids_cos": dtype UFIXED_POINT_16 -> UFIXED_POINT_8' 'scale 0.25' \
    'input "past_key_0_in": only in the first model' 'input "renamed": only in the second model'; do
    says diff_changed out "$text"
done
says diff_not_compared out 'not compared: weights of 1 context, because one side has no binary'
check diff_lines "$(wc -l <"$tmp/out") lines, not 8" test "$(wc -l <"$tmp/out")" -eq 8
run --diff "$eight" "$eight/forward_0_json.json"
is diff_contexts 1
says diff_contexts out 'context 7: forward_7_json.json, only in the first model'
run --diff "$eight" "$eight"
is diff_equal 0
check diff_equal_said "$(cat "$tmp/out")" test "$(cat "$tmp/out")" = 'not compared: weights of 8 contexts, because one side has no binary'
# A graph that is alone in its context is paired, whatever it is called.
sed 's/"prompt_ar128_cl2048_1_of_8"/"other"/; s/"socModel": 69/"socModel": 57/' "$eight/forward_0_json.json" >"$tmp/called.json"
run inspect --diff "$eight/forward_0_json.json" "$tmp/called.json"
is diff_lone 1
says diff_lone out 'context 0, graph "prompt_ar128_cl2048_1_of_8": is called "other" in the second model'
check diff_lone_lines "$(cat "$tmp/out")" test "$(wc -l <"$tmp/out")" -eq 3
run --diff "$eight" "$tmp/none"
is diff_unreadable 2
python axis_document 'import json, sys
d = json.load(open(sys.argv[1]))
d["info"]["graphs"][0]["info"]["graphInputs"][4]["info"]["quantizeParams"]["axisScaleOffset"]["scaleOffsets"][2]["offset"] = 7
json.dump(d, open(sys.argv[2], "w"))' "$tmp/odd.json" "$tmp/odd2.json"
run --diff "$tmp/odd.json" "$tmp/odd2.json"
is diff_axis 1
says diff_axis out 'encoding at index 2: '

# ---- hostile names ---------------------------------------------------------------------------------

python hostile_document 'import json, sys
d = json.load(open(sys.argv[1]))
g = d["info"]["graphs"][0]["info"]
names = ["</text><script>alert(1)</script>", "a\"b\\\\N\\n&lt;&amp;", "\x1b[31mred\x1b[0m\x07", "\u202egnp.exe", "../../etc/passwd",
         "\ufffe\uffff]]>", "\u4e2d" * 90, "-->"]
g["graphName"] = "\"];\x1b]0;title\x07<!--"
for tensor, name in zip(g["graphInputs"], names): tensor["info"]["name"] = name
json.dump(d, open(sys.argv[2], "w"))' "$eight/forward_0_json.json" "$tmp/hostile.json"
controls='import re, sys
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8", newline="").read()
    found = re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufffe\uffff]", text)
    assert not found, "%s: %r" % (path, found)'
run inspect "$tmp/hostile.json" --json
is hostile_json 0
cp "$tmp/out" "$tmp/h.json"
run inspect "$tmp/hostile.json" --json_file "$tmp/h_file.json"
is hostile_json_file 0
# U+FFFE and U+FFFF are not characters, but they do not control a terminal.
python hostile_json "$(printf '%s' "$controls" | sed 's/.ufffe.uffff]/]/')" "$tmp/h.json" "$tmp/h_file.json"
python hostile_json_names 'import json, sys
graph = lambda d: d["model"]["contexts"][0]["metadata"]["graphs"][0]
names = [t["name"] for t in graph(json.load(open(sys.argv[1], encoding="utf-8")))["inputs"]]
assert "\u202egnp.exe" in names and "\x1b[31mred\x1b[0m\x07" in names, names' "$tmp/h.json"
run inspect "$tmp/hostile.json" --svg "$tmp/h.svg" --dot "$tmp/h.dot"
is hostile 0
python hostile "$controls" "$tmp/out" "$tmp/h.dot" "$tmp/h.svg"
run plan "$tmp/hostile.json" --svg "$tmp/hp.svg"
is hostile_plan 0
python hostile_plan "$controls" "$tmp/hp.svg"
python hostile_xml 'import sys, xml.dom.minidom
for path in sys.argv[1:]:
    tree = xml.dom.minidom.parse(path)
    kinds = {node.tagName for node in tree.getElementsByTagName("*")}
    assert kinds <= {"svg", "style", "rect", "g", "title", "text", "path"}, kinds' "$tmp/h.svg" "$tmp/hp.svg" "$tmp/gap.svg"
python hostile_dot 'import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
rest = re.sub(r"\"(\\.|[^\"\\])*\"", "", text, flags=re.S)
assert "\"" not in rest and "script" not in rest, rest
assert rest.count("{") == rest.count("}") == 2 and rest.count("[") == rest.count("]")' "$tmp/h.dot"
round hostile "$tmp/hostile.json"
if command -v dot >/dev/null 2>&1; then check dot "Graphviz refuses it" dot -Tsvg -o "$tmp/dot.svg" "$tmp/h.dot"; fi

# ---- genuine files -----------------------------------------------------------------------------------

if [ -e "$system" ]; then
    chain=$data/ctx/qairt2.51/chain_of_three
    for folder in "$data"/ctx/*/*/ "$data"/llm/*/; do
        ls "$folder"*.bin >/dev/null 2>&1 || continue
        round "$(basename "$folder")" "$folder" --system_so "$system"
    done
    run inspect "$chain" --system_so "$system"
    is chain 0
    says chain out 'metadata    libQnnSystem.so'
    says chain out 'step 0 "output_add_tensor_3" -> step 1 "input_0_fallback_0": the only pair that fits'
    cp -r "$chain" "$tmp/chain"
    run inspect "$chain" --system_so "$system" --json_file "$tmp/chain"
    run inspect "$tmp/chain" --system_so "$system"
    is pair 0
    says pair out 'metadata    libQnnSystem.so and forward_0_json.json agree'
    run inspect "$tmp/chain/forward_0.bin" --system_so "$system"
    says pair_sibling out 'forward_0_json.json agree'
    run inspect "$tmp/chain/forward_0_json.json" "$tmp/chain/forward_0.bin" --system_so "$system" --json
    python pair_given 'import json, sys
d = json.load(open(sys.argv[1]))["model"]["contexts"]
assert len(d) == 1 and d[0]["from_json"] and d[0]["from_system"], d' "$tmp/out"
    run inspect "$tmp/chain" --metadata json --system_so "$tmp/none.so"
    is metadata_json 0
    sed 's/"id": 1,/"id": 5,/' "$tmp/chain/forward_0_json.json" >"$tmp/x" && mv "$tmp/x" "$tmp/chain/forward_0_json.json"
    run inspect "$tmp/chain" --system_so "$system"
    is pair_differs 1
    run inspect "$tmp/chain" --system_so "$system" --metadata system
    is metadata_system_only 0
    run --diff "$chain" "$tmp/chain" --metadata all --system_so "$system"
    is diff_pair 2
else
    skip genuine_binaries "$system is missing: make qnn-libs"
fi

if [ -d "${QNNRT_SAMPLES:-/nowhere}/json" ]; then
    for file in "$QNNRT_SAMPLES"/json/ctx_*.json; do
        dump=$(basename "$file" .json)
        round "$dump" "$file"
        run inspect "$file" --json_file "$tmp/again.json"
        python "left_out_$dump" 'import json, sys
def without(x):
    if isinstance(x, dict): return {k: without(v) for k, v in x.items() if k not in ("startOpIndex", "endOpIndex", "platformInfo")}
    return [without(v) for v in x] if isinstance(x, list) else x
a, b = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
assert json.dumps(without(json.loads(a))) == json.dumps(json.loads(b)), "the text differs, or its order"' "$file" "$tmp/again.json"
        for command in inspect plan; do
            run $command "$file" --svg "$tmp/$command.svg"
            is "svg_$command" 0
        done
    done
    for file in "$QNNRT_SAMPLES"/json/wrongkind_*.json; do
        run inspect "$file"
        is "$(basename "$file" .json)" 1
    done
else
    skip genuine_dumps "QNNRT_SAMPLES names no folder with json/"
fi

# ---- --manifest -------------------------------------------------------------------------------------

wrong manifest_of_plan "--manifest" plan "$eight" --manifest
wrong manifest_and_json "--json and --manifest" inspect "$eight" --json --manifest
wrong manifest_and_diff "--diff prints differences" --diff "$eight" "$eight" --manifest

# What --json says, without times, roles, and the reasons of edges, which become "given".
plain='import json, sys
def walk(x):
    if isinstance(x, list): return [walk(y) for y in x]
    if not isinstance(x, dict): return x
    return {k: walk(v) for k, v in x.items() if k not in ("metadata_ns", "create_ns", "reason") and v not in ("", "npu", "cpu")}
json.dump(walk(json.load(open(sys.argv[1], encoding="utf-8"))), sys.stdout, indent=1, sort_keys=True)'

# again NAME FOLDER OPTION ...: the program of the folder, as its qnnrt.json, opens as the same pipelines and is
# printed again as it is
again() {
    what=$1 folder=$2
    shift 2
    run inspect "$folder" --json --no_manifest "$@"
    is "${what}_without" 0
    cp "$tmp/out" "$tmp/before"
    run inspect "$folder" --manifest "$@"
    is "$what" 0
    silent "${what}_quiet" err
    cp "$tmp/out" "$tmp/program"
    cp "$tmp/out" "$folder/qnnrt.json"
    run inspect "$folder" --json "$@"
    is "${what}_opens" 0
    cp "$tmp/out" "$tmp/after"
    python3 -c "$plain" "$tmp/before" >"$tmp/before.json"
    python3 -c "$plain" "$tmp/after" >"$tmp/after.json"
    same "${what}_same_pipelines" "$tmp/before.json" "$tmp/after.json"
    run inspect "$folder" --manifest "$@"
    same "${what}_same_text" "$tmp/out" "$tmp/program"
}

cp -r "$eight" "$tmp/manifest_eight"
again manifest_eight "$tmp/manifest_eight"
says manifest_binary out '{"file": "forward_7.bin", "backend": "npu"}'

mkdir "$tmp/manifest_fake"
pad='# a context binary has at least 64 bytes, and so has this one by this line'
printf 'FAKEQNN 1\n%s\ngraph decode\nin x 1 0232 2 1 4 -\nin mask 3 0232 1 4 -\nout h 2 0416 2 1 8 s 0.25 -7\n' "$pad" >"$tmp/manifest_fake/a.bin"
printf 'FAKEQNN 1\nbackend 3\n%s\ngraph decode\nin h 1 0416 2 1 8 s 0.25 -7\nin mask 3 0232 1 4 -\nout y 2 0232 2 1 3 -\n' "$pad" >"$tmp/manifest_fake/b.bin"
run inspect "$tmp/manifest_fake" --manifest --system_so "$fake"
is manifest_fake 0
says manifest_roles out '"backends": ["npu", "cpu"]'
says manifest_edge out '{"from": [0, "h"], "to": [1, "h"]}'
lacks manifest_hash out '"hash": "'
check manifest_fingerprints "$(cat "$tmp/out")" test "$(grep -cE '"fingerprint": "[0-9a-f]{16}"' "$tmp/out")" -eq 2
again manifest_roundtrip "$tmp/manifest_fake" --system_so "$fake"
hashed manifest_sha256 2 "$tmp/manifest_fake/qnnrt.json"
sed 's/"fingerprint": "./"fingerprint": "g/' "$tmp/program" >"$tmp/manifest_fake/qnnrt.json"
run inspect "$tmp/manifest_fake" --system_so "$fake"
is manifest_damaged 1
says manifest_damaged_place err 'qnnrt.json: context 0: "fingerprint"'
sed 's/"fingerprint": "/"hash": "/' "$tmp/program" >"$tmp/manifest_fake/qnnrt.json"
run inspect "$tmp/manifest_fake" --system_so "$fake"
is manifest_old_key 1
says manifest_old_key_named err 'qnnrt.json: context 0: unknown key "hash"'
sed 's/"fingerprint": "[0-9a-f]*"/"fingerprint": "0123456789abcdef"/' "$tmp/program" >"$tmp/manifest_fake/qnnrt.json"
run inspect "$tmp/manifest_fake" --system_so "$fake"
is manifest_hash_wrong 1
says manifest_hash_named err 'a.bin'
says manifest_hash_expected err '0123456789abcdef'
run inspect "$tmp/manifest_fake" --system_so "$fake" --no_manifest
is manifest_ignored 0

# ---- weights that differ in graphs that are equal ------------------------------------------------------

# The comments of the fake are the weights of a real file. The fingerprint has none of the changed bytes.
mkdir "$tmp/weights"
for i in 1 2 3 4 5 6 7 8 9 10; do printf '%s\n' "$pad" "$pad" "$pad" "$pad" "$pad" "$pad" "$pad" "$pad" "$pad" "$pad"; done >"$tmp/ten"
for i in 1 2 3 4 5 6 7 8 9 10; do cat "$tmp/ten"; done >"$tmp/thousand"
cat "$tmp/manifest_fake/a.bin" "$tmp/thousand" >"$tmp/weights/a.bin"
run inspect "$tmp/weights" --manifest --system_so "$fake"
cp "$tmp/out" "$tmp/weights/qnnrt.json"
cp -r "$tmp/weights" "$tmp/changed"
python change_weights 'import sys
data = bytearray(open(sys.argv[1], "rb").read())
assert len(data) > 70000 and 40000 % ((len(data) - 256) // 63) > 256
data[40000:40100] = b"%" * 100
open(sys.argv[1], "wb").write(data)' "$tmp/changed/a.bin"
run inspect --diff "$tmp/weights" "$tmp/changed" --system_so "$fake"
is diff_weights 1
says diff_weights out "context 0: 100 of $(wc -c <"$tmp/weights/a.bin") bytes of the binary differ, the first at 40000"
says diff_program out 'not compared: pipelines and constants of qnnrt.json'
run inspect --diff "$tmp/weights/a.bin" "$tmp/changed/a.bin" --system_so "$fake"
is diff_files 1
cp "$tmp/weights/a.bin" "$tmp/longer.bin" && echo '# more' >>"$tmp/longer.bin"
run inspect --diff "$tmp/weights/a.bin" "$tmp/longer.bin" --system_so "$fake"
says diff_longer out "context 0: bytes of the binary $(wc -c <"$tmp/weights/a.bin") -> $(wc -c <"$tmp/longer.bin")"
run inspect --diff "$tmp/weights/a.bin" "$tmp/weights/a.bin" --system_so "$fake"
is diff_same_bytes 0
silent diff_same_bytes out
# Without --system_so each model is tried again with the library of a clone.
run inspect --diff "$data/ctx/qairt2.51/mlp_u8" "$data/ctx/qairt2.51/mlp_u8"
check diff_again "status $status: $(cat "$tmp/err")" test "$status" -le 2
printf 'FAKEQNN 1\nbackend 4\n%s\ngraph g\nin x 1 0232 1 4 -\nout y 2 0232 1 4 -\n' "$pad" >"$tmp/gpu.bin"
run inspect "$tmp/gpu.bin" --manifest --system_so "$fake"
is manifest_without_role 1
says manifest_without_role_named err 'gpu.bin'

# ---- what a picture shows together ------------------------------------------------------------------

# Eight shards: six repeat, three inputs are shared, 32 caches are in and out.
run inspect "$eight" --svg "$tmp/eight.svg" --dot "$tmp/eight.dot"
is together 0
for text in 'steps' '1–6' 'prompt_ar128_cl2048_[2..7]_of_8' '× 6' '3 shared inputs' 'read by steps 0-7' '24 caches' '⇄ past_key_[2..13]_out'; do
    says together eight.svg "$text"
done
for text in 'steps 1-6' 'dir=both' 'p0_shared2 -> p0_s2;'; do says together_dot eight.dot "$text"; done
check together_dot_stages "$(cat "$tmp/eight.dot")" test "$(grep -c 'p0_s[0-9]* \[fillcolor="#24344d"' "$tmp/eight.dot")" -eq 3
run inspect "$eight" --svg_layout right --svg "$tmp/right.svg"
is right 0
check right_wide "$(head -n 1 "$tmp/right.svg")" sh -c 'test "$(sed -n "1s/.* width=\"\([0-9]*\)\".*/\1/p" "$1")" -gt 830' - "$tmp/right.svg"

# A cut that does not fit: the tensors at both ends, and the edge between them.
mkdir "$tmp/cut"
printf 'FAKEQNN 1\n# a context binary is not shorter than this\ngraph main\nin x 1 0232 1 4 -\nout h 2 0232 1 4 -\n' >"$tmp/cut/forward_0.bin"
printf 'FAKEQNN 1\n# a context binary is not shorter than this\ngraph main\nin h 1 0232 1 8 -\nout y 2 0232 1 8 -\n' >"$tmp/cut/forward_1.bin"
run inspect "$tmp/cut" --system_so "$fake" --svg "$tmp/cut.svg" --dot "$tmp/cut.dot"
is cut 0
for text in '1 broken edge' 'class="bold t-bad">h<' 'class="broken"' 'but 8 float32'; do says cut cut.svg "$text"; done
check cut_entries "$(grep t-bad "$tmp/cut.svg")" test "$(grep -c 'class="bold t-bad">h<' "$tmp/cut.svg")" -eq 3
says cut_dot cut.dot 'color=red, fontcolor=red, style=dashed'

# ---- the pictures of the documents -----------------------------------------------------------------

# Every command of tools/run/README.md that makes a picture makes the committed one.
document=$tests/../tools/run/README.md
ctx=$(sed -n 's/^    ctx=\([^;]*\);.*/\1/p' "$document" | head -n 1)
grep -oE '^    build/qnnrt-run (inspect|plan) .*--svg [^ ]+$' "$document" | sed "s|\$ctx|$ctx|" >"$tmp/lines"
check readme_lines "$(wc -l <"$tmp/lines") lines in tools/run/README.md, not 4" test "$(wc -l <"$tmp/lines")" -eq 4
while read -r _ command model rest; do
    case $rest in *system_so*) if [ ! -e "$system" ]; then skip readme_picture "$system is missing"; continue; fi ;; esac
    picture=${rest##* }
    case $model in build/*) model=$eight ;; *) model=$tests/../$model ;; esac
    # shellcheck disable=SC2086
    set -- ${rest%--svg *}
    if [ "$#" -eq 2 ]; then set -- --system_so "$system"; fi
    run "$command" "$model" "$@" --svg "$tmp/picture.svg"
    is "readme_$(basename "$picture")" 0
    same "readme_picture_of_today" "$tmp/picture.svg" "$tests/../$picture"
done <"$tmp/lines"

# ---- a mixed pipeline --------------------------------------------------------------------------------

# Two backends, a host step, a conversion, a constant, names and a buffer.
mkdir "$tmp/mixed"
printf 'FAKEQNN 1\ngraph encode\nin x 1 0216 3 1 8 512 -\nin state_in 2 0232 1 256 -\nout hidden 3 0216 2 128 512 -\nout state_out 4 0232 1 256 -\n' \
    >"$tmp/mixed/npu.bin"
printf 'FAKEQNN 1\nbackend 3\ngraph rank\nin hidden 1 0232 2 128 512 -\nin weights 2 0232 1 512 -\nout scores 3 0232 1 128 -\n' \
    >"$tmp/mixed/cpu.bin"
dd if=/dev/zero of="$tmp/mixed/weights.raw" bs=2048 count=1 2>/dev/null
cat >"$tmp/mixed/qnnrt.json" <<'end'
{"program": {"version": 1, "backends": ["npu", "cpu"],
  "contexts": [{"file": "npu.bin", "backend": "npu"}, {"file": "cpu.bin", "backend": "cpu"}],
  "constants": [{"name": "weights", "file": "weights.raw", "dtype": "float32", "dims": [512]}],
  "pipelines": [{"name": "forward",
    "steps": [{"host": "embedding", "inputs": [{"name": "ids", "dtype": "int32", "dims": [1, 8]}],
               "outputs": [{"name": "x", "dtype": "float16", "dims": [1, 8, 512]}]},
              {"context": 0, "graph": "encode"}, {"context": 1, "graph": "rank"}],
    "edges": [{"from": [1, "hidden"], "to": [2, "hidden"], "convert": "values"}],
    "constants": [{"step": 2, "input": "weights", "constant": "weights"}],
    "names": {"tokens": {"step": 0, "input": "ids"}, "probabilities": {"step": 2, "output": "scores"}},
    "buffers": [{"name": "state", "bytes": 1024, "slots": [{"step": 1, "input": "state_in", "offset": 0},
                                                           {"step": 1, "output": "state_out", "offset": 0}]}]}]}}
end
mixed() { run "$1" "$tmp/mixed" --system_so "$fake" --backend_so npu="$fake" --backend_so cpu="$fake" --svg "$tmp/picture.svg"; }
mixed inspect
is mixed_inspect 0
for text in 'backend     3 (CPU), core API 2.40.0, backend API 5.51.0, role cpu' 'step 0  host "embedding"' \
    'step 1  npu.bin  "encode"  on npu (HTP)' 'step 2  convert hidden: float16 → float32, 262,144 bytes' \
    'step 3  cpu.bin  "rank"  on cpu (CPU)' '"probabilities" is output "scores" of step 3'; do
    says mixed_inspect out "$text"
done
same mixed_picture_of_today "$tmp/picture.svg" "$data/pictures/mixed.svg"
for text in 'npu (HTP)' 'cpu (CPU)' 'host &quot;embedding&quot;' 'convert hidden: float16 → float32, 262,144 bytes' 'called tokens' constant 'in state+0'; do
    says mixed_picture picture.svg "$text"
done
mixed plan
is mixed_plan 0
says mixed_plan out 'buffer  kept  state'
same mixed_plan_of_today "$tmp/picture.svg" "$data/pictures/mixed_plan.svg"
run inspect "$tmp/mixed" --system_so "$fake" --backend_so npu="$fake" --backend_so cpu="$fake" --dot "$tmp/mixed.dot"
is mixed_dot 0
for text in 'shape=hexagon' 'peripheries=2' 'npu (HTP)' 'cpu (CPU)'; do says mixed_dot mixed.dot "$text"; done

finish
