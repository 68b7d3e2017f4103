#!/bin/sh
# Run one fuzzer on a work corpus of its own.
#
#   tests/fuzz/fuzz.sh FOLDER NAME SECONDS LENGTH
#
# FOLDER has fuzz_<NAME>, and gets the work corpus <NAME>/ and inputs that fail.
set -u
folder=$1 name=$2 seconds=$3 length=$4
mkdir -p "$folder/$name" || exit 1
set -- -max_len="$length" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$folder/$name-"
if [ -f "tests/fuzz/$name.dict" ]; then set -- -dict="tests/fuzz/$name.dict" "$@"; fi
exec "$folder/fuzz_$name" "$@" "$folder/$name" "tests/fuzz/corpus/$name"
