# Shared by shell tests of the tools. A test sets suite and reads this file; it gets
#     build release    its arguments, BUILD_DIR (default build) and RELEASE_DIR (default: 2.51 below it)
#     tool fake        paths of qnnrt-run, or of what the test sets it to, and of the fake library
#     tests data tmp   folders: tests, BUILD_DIR/data (tests/data unpacked), and one that is removed at the end
# and the checks below, which print nothing when they pass. A test ends with finish.
set -u
LC_ALL=C
export LC_ALL
unset QNNFAKE COLUMNS QNNRT_BACKEND QNNRT_SYSTEM

build=${1:-build}
release=${2:-$build/qnn/2.51/onnxruntime_qnn}
tests=$(dirname "$0")/..
data=$build/data
tool=$build/qnnrt-run
fake=$build/fake/libQnnFake.so

tmp=$(mktemp -d "${TMPDIR:-/tmp}/$suite.XXXXXX") || exit 1
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

passed=0 failed=0 skipped=0 status=0

good() { passed=$((passed + 1)); }

# bad NAME REASON
bad() {
    failed=$((failed + 1))
    echo "$suite: $1: $2"
}

skip() {
    if [ "${QNNRT_REQUIRE_ALL-}" = 1 ]; then
        bad "$1" "$2, but QNNRT_REQUIRE_ALL=1"
    else
        skipped=$((skipped + 1))
        echo "$suite: $1: skipped: $2"
    fi
}

# check NAME REASON COMMAND ...: the command succeeds
check() {
    name=$1 reason=$2
    shift 2
    if "$@" >/dev/null 2>&1; then good; else bad "$name" "$reason"; fi
}

# step NAME COMMAND ...: the command succeeds; its output is in $tmp/log. logged NAME TEXT: that output holds the text
step() {
    name=$1
    shift
    if (unset MAKEFLAGS MAKELEVEL; "$@") >"$tmp/log" 2>&1; then good; else bad "$name" "$(tail -n 30 "$tmp/log")"; fi
}
logged() { if grep -qF -- "$2" "$tmp/log"; then good; else bad "$1" "no '$2' in: $(tail -n 5 "$tmp/log")"; fi; }

# made FOLDER MODEL OPTION ...: $tmp/FOLDER is what examples/llm/export makes of a model, for $ref
made() {
    folder=$1 from=$2
    shift 2
    mkdir "$tmp/$folder"
    check "made_$folder" "it is not exported" "$export" "$from" "$tmp/$folder" --backend_so "$ref" "$@"
}

# run ARGUMENT ...: status, and $tmp/out and $tmp/err
run() {
    "$tool" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}

# is NAME STATUS: of the last run
is() {
    if [ "$status" -eq "$2" ]; then good; else bad "$1" "status $status, not $2: $(head -n 3 "$tmp/err")"; fi
}

# says NAME FILE TEXT: $tmp/FILE holds the text; lacks: it does not; silent: it is empty
says() { check "$1" "no '$3' in $2: $(head -n 3 "$tmp/$2")" grep -qF -- "$3" "$tmp/$2"; }
lacks() { check "$1" "'$3' in $2" sh -c '! grep -qF -- "$1" "$2"' - "$3" "$tmp/$2"; }
silent() { check "$1" "$2 holds $(head -n 1 "$tmp/$2")" test ! -s "$tmp/$2"; }

# compiled NAME STATUS TEXT ARGUMENT ...: of qnnrt-run compile into $out, which is empty; TEXT is in what it prints
compiled() {
    name=$1 wanted=$2 text=$3
    shift 3
    rm -rf "$out"
    run compile --output_dir "$out" "$@"
    is "$name" "$wanted"
    check "$name" "no '$text' in $(cat "$tmp/out" "$tmp/err")" sh -c 'cat "$1" "$2" | grep -qF -- "$3"' - "$tmp/out" "$tmp/err" "$text"
}

# wrong NAME TEXT ARGUMENT ...: a usage error in one line that has the text, and a hint in another
wrong() {
    name=$1 text=$2
    shift 2
    run "$@"
    if [ $status -ne 2 ]; then
        bad "$name" "status $status, not 2"
    elif [ -s "$tmp/out" ]; then
        bad "$name" "printed to standard output"
    elif [ "$(wc -l <"$tmp/err")" -ne 2 ] || ! sed -n 2p "$tmp/err" | grep -q '^hint: [A-Z].*\.$'; then
        bad "$name" "not a line and a hint: $(cat "$tmp/err")"
    elif ! head -n 1 "$tmp/err" | grep "^${tool##*/}: " | grep -qF -- "$text"; then
        bad "$name" "no '$text' in: $(cat "$tmp/err")"
    else
        good
    fi
}

# hinted NAME TEXT: the last line of standard error is a hint that has the text
hinted() { check "$1" "no hint with '$2': $(tail -n 2 "$tmp/err")" sh -c 'tail -n 1 "$1" | grep "^hint: " | grep -qF -- "$2"' - "$tmp/err" "$2"; }

# equal NAME FILE FILE MOST: two files of floats differ by at most MOST of the largest value
equal() {
    check "$1" "$2 and $3 differ" python3 -c 'import array, sys
a, b = (array.array("f", open(path, "rb").read()) for path in sys.argv[1:3])
sys.exit(not a or len(a) != len(b) or
         not max(abs(x - y) for x, y in zip(a, b)) <= float(sys.argv[3]) * max(map(abs, b)))' "$2" "$3" "$4"
}

# hashed NAME COUNT FILE: a qnnrt.json has the SHA-256 of each of the COUNT contexts beside it
hashed() {
    check "$1" "wrong hashes in $3: $(cat "$3")" python3 -c 'import hashlib, json, os, sys
contexts = json.load(open(sys.argv[2]))["program"]["contexts"]
hash_of = lambda name: hashlib.sha256(open(os.path.join(os.path.dirname(sys.argv[2]), name), "rb").read()).hexdigest()
sys.exit(len(contexts) != int(sys.argv[1]) or any(c["sha256"] != hash_of(c["file"]) for c in contexts))' "$2" "$3"
}

# arrays NPZ NAME FILE ...: write arrays of a .npz file as raw bytes, int64 as int32
arrays() {
    python3 -c 'import array, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
for name, path in zip(sys.argv[2::2], sys.argv[3::2]):
    data = archive.read(name + ".npy")
    size = 10 + data[8] + 256 * data[9]
    body = data[size:]
    if b"<i8" in data[:size]: body = array.array("i", array.array("q", body)).tobytes()
    open(path, "wb").write(body)' "$@"
}

# human BYTES: as tables and messages show a number of bytes of 10,000 to a GiB
human() { awk -v n="$1" 'BEGIN { n /= 1024; unit = "KiB"; if (n >= 1023.95) { n /= 1024; unit = "MiB" }; printf "%.1f %s", n, unit }'; }

# texts: before makes_text, which lets the model of tests/data/llm/model, compiled from a source, write
texts() {
    out=$tmp/o
    length=64
    prompt='And the LORD said unto '
    expected=$(sed -n 's/.*"prompt": "And the LORD said unto ", "text": "\([^"]*\)".*/\1/p' "$data/llm/expected.json")
}

# makes_text NAME SOURCE LIBRARY OPTION ...: compile the source to $out ($tmp/said has what was printed), and let it write
# $length bytes: those of the model as torch runs it
makes_text() {
    name=$1 source=$2 library=$3
    shift 3
    rm -rf "$out"
    run compile "$source" --output_dir "$out" --backend_so "$library" "$@"
    is "$name" 0
    mv "$tmp/out" "$tmp/said"
    "$build/qnnrt-llm" --ctx_dir "$out" --backend_so "$library" --prompt "$prompt" --max_gen $length >"$tmp/text" 2>"$tmp/err"
    check "$name" "wrote '$(cat "$tmp/text")': $(head -n 3 "$tmp/err")" \
        test "$(cat "$tmp/text")" = "$(printf %.${length}s "$expected")"
}
# holds NAME FILE TEXT
holds() { check "$1" "no '$3' in $2" grep -qF -- "$3" "$2"; }

# finish: print the sum; fail if a check failed
finish() {
    if [ "$skipped" -gt 0 ]; then
        echo "$passed passed, $failed failed, $skipped skipped"
    else
        echo "$passed passed, $failed failed"
    fi
    [ "$failed" -eq 0 ]
}
