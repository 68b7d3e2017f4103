#!/bin/sh
# Folders that another user prepared: what writes there as a user follows no link, and changes nothing outside. The cache
# of sessions is tested in tests/session/test_session_files.c, the files of tools/ggml in tests/ggml/test.py.
#     sh tests/cli/test_folders.sh [BUILD_DIR]
# Only root can act as two other users: without that it is skipped, or failed with QNNRT_REQUIRE_ALL=1.
suite=test_folders
. "$(dirname "$0")/../harness/tool.sh"
ref=$build/libQnnRef.so
model=$data/llm/model
victim=65534 attacker=65533
there=$tmp/there precious=$tmp/precious

if [ "$(id -u)" -ne 0 ] || ! setpriv --reuid=$victim --regid=$victim --clear-groups true; then
    skip users "only root can act as two other users, with setpriv (on Debian: util-linux)"
    finish
    exit
fi
chmod 711 "$tmp"
mkdir -m 755 "$tmp/bin" "$tmp/model" "$tmp/llm"
mkdir -m 777 "$tmp/own"
cp "$tool" "$ref" "$build/examples/server/server" "$tmp/bin/"
cp "$model"/* "$tmp/model/"
check compiled "the model is not compiled" "$tool" compile "$model" --output_dir "$tmp/made" --backend_so "$ref"
check exported "the model is not exported" "$build/examples/llm/export" "$model" "$tmp/llm" --backend_so "$ref" --type f32
echo 'ask a write=4 save=1 : And the LORD said unto ' >"$tmp/lines"
chmod -R go+rX "$tmp/lines" "$tmp/llm" "$tmp/bin" "$tmp/model" "$tmp/made"

# user COMMAND ...: as the victim; status, and $tmp/out and $tmp/err
user() {
    setpriv --reuid=$victim --regid=$victim --clear-groups "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}

# What the victim does not want to lose.
keep() {
    rm -rf "$precious"
    mkdir -m 700 "$precious"
    echo dear >"$precious/file"
    touch -d 2001-02-03T04:05:06Z "$precious/file"
    chown -R $victim:$victim "$precious"
}
kept() {
    check "$1" "the file was changed: $(ls -lA --full-time "$precious")" \
        test "$(cat "$precious/file") $(stat -c %Y "$precious/file")$(ls -A "$precious")" = "dear 981173106file"
}

# links TARGET NAMES COMMAND ...: fill $there with links of the attacker to TARGET, and run the command as the victim. A
# link has the name of a file that the command writes, or that of a temporary one, also with the number of the process.
links() {
    # shellcheck disable=SC2016  # $$ is the number of the command
    sh -c 'there=$1 attacker=$2 victim=$3 target=$4
        for file in $5 .qnnrt.0.tmp .qnnrt.1.tmp .qnnrt.2.tmp.d; do
            for end in "" .$$.tmp .$$.0.tmp .$$.part .$$; do ln -s "../$target" "$there/$file$end"; done
        done
        chown -hR "$attacker:$attacker" "$there"
        shift 5
        exec setpriv --reuid="$victim" --regid="$victim" --clear-groups "$@"' - \
        "$there" $attacker $victim "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}

# writes NAME COMMAND ...: into a folder of the victim in which a killed writer left a file, which is removed, and into such of
# an attacker that is full of links. Where they can be replaced, they are.
writes() {
    writer=$1
    shift
    rm -rf "$there"
    mkdir "$there"
    echo cut >"$there/.qnnrt.0.tmp"
    chown -R $victim:$victim "$there"
    user "$@"
    is "$writer" 0
    check "$writer" "a killed writer's file stays: $(ls -A "$there" | head)" test -z "$(find "$there" -name '*.tmp')"
    names=$(cd "$there" && ls -A | grep -vx qnnrt.json)  # which compile reads before
    check "$writer" "nothing is written" test -n "$names"
    for mode in 0555 1777 0777; do
        for target in precious/file precious; do
            keep
            rm -rf "$there"
            mkdir "$there"
            chmod $mode "$there"
            links "$target" "$names" "$@"
            what="$writer, mode $mode, links to $target"
            check "$what" "status $status: $(head -n 3 "$tmp/err")" test $status -le 1
            kept "$what"
            [ $mode = 0777 ] || continue
            is "$what" 0
            for file in $names; do [ -h "$there/$file" ] && bad "$what" "$file is a link"; done
        done
    done
}

run="$tmp/bin/qnnrt-run" ref=$tmp/bin/libQnnRef.so
# A folder that the user may write and not list cannot be locked, and is written nevertheless.
mkdir -m 300 "$tmp/secret"
chown $victim:$victim "$tmp/secret"
user "$run" compile "$tmp/model" --backend_so "$ref" --output_dir "$tmp/secret"
is unread 0
says unread out 'cannot be locked: Permission denied'
check unread "files are missing" test -s "$tmp/secret/qnnrt.json"
writes 'compile --cache' "$run" compile "$tmp/model" --backend_so "$ref" --output_dir "$tmp/own" --cache "$there"
writes compile "$run" compile "$tmp/model" --backend_so "$ref" --output_dir "$there"
writes capture "$run" capture "$tmp/made" --backend_so "$ref" --output_dir "$there"
# shellcheck disable=SC2016
writes texts sh -c 'exec "$@" <"$0"' "$tmp/lines" "$tmp/bin/server" --store "$there" "$tmp/llm" "$ref"
finish
