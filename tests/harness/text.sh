# Shared by tests that compile the model of tests/data/llm/model from a source and let it write. They read tool.sh first.
out=$tmp/o
length=64
prompt='And the LORD said unto '
expected=$(sed -n 's/.*"prompt": "And the LORD said unto ", "text": "\([^"]*\)".*/\1/p' "$data/llm/expected.json")

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
