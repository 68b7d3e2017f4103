#!/bin/sh
# Run one fuzzer on a work corpus of its own.
#
#   tests/fuzz/fuzz.sh FOLDER NAME SECONDS LENGTH
#
# FOLDER has fuzz_<NAME>, and gets the work corpus <NAME>/, the committed one in <NAME>-begin/, and inputs that fail:
# tests/fuzz/corpus.py adds them to tests/fuzz/corpus/<NAME>.pack, which make test replays.
set -u
folder=$1 name=$2 seconds=$3 length=$4
mkdir -p "$folder/$name" || exit 1
rm -rf "$folder/$name-begin"
"${PYTHON:-python3}" tests/fuzz/corpus.py unpack "tests/fuzz/corpus/$name.pack" "$folder/$name-begin" || exit 1
set -- -max_len="$length" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$folder/$name-"
sed -n "/^\[$name\]$/,/^\[/p" tests/fuzz/words | grep -v '^\[' >"$folder/$name.dict"
if [ -s "$folder/$name.dict" ]; then set -- -dict="$folder/$name.dict" "$@"; fi
exec "$folder/fuzz_$name" "$@" "$folder/$name" "$folder/$name-begin"
