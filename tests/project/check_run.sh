#!/bin/sh
# The end of `make run`: check the text, and that backends agree.
#
#   sh tests/project/check_run.sh RUN_DIR BACKEND
#
# RUN_DIR/BACKEND has text (what 06_generate printed) and logits.raw (float32). The text must be one
# of tests/data/llm/expected.json, which Qualcomm's language-model runtime wrote. The logits are
# compared with those of every other folder in RUN_DIR, as long as both made the same bytes.
set -u
LC_ALL=C
export LC_ALL
run=$1 backend=$2
here=$run/$backend
prompt='And the LORD said unto '
tolerance=0.5                           # 8-bit weights and caches alone move logits by 0.3

# line FOLDER: the text, without the output of vendor libraries
line() { grep "^$prompt|" "$1/text"; }

line "$here"
text=$(line "$here" | sed "s/^$prompt|//")
if [ -z "$text" ] || ! grep -qF "\"prompt\": \"$prompt\", \"text\": \"$text\"" tests/data/llm/expected.json; then
    echo "FAILED: '$text' is not what tests/data/llm/expected.json has after '$prompt'"
    exit 1
fi
echo "logits.raw of $here: cksum $(cksum <"$here/logits.raw" | sed 's/ .*//')"
for other in "$run"/*/; do
    other=${other%/}
    if [ "$other" = "$here" ] || [ ! -f "$other/logits.raw" ] || [ "$(line "$other")" != "$(line "$here")" ]; then continue; fi
    if cmp -s "$here/logits.raw" "$other/logits.raw"; then
        echo "logits.raw of $other: the same bytes"
        continue
    fi
    od -An -v -w4 -tf4 "$other/logits.raw" >"$here/other.txt"
    od -An -v -w4 -tf4 "$here/logits.raw" | paste - "$here/other.txt" | awk -v other="$other" -v most=$tolerance '
        { d = $1 - $2; if (d < 0) d = -d; if (d > worst) worst = d; if ($1 < low) low = $1; if ($1 > high) high = $1 }
        END {
            printf "logits.raw of %s: differs by %.3f at most, of values from %.1f to %.1f\n", other, worst, low, high
            exit NR == 0 || worst > most
        }' || { echo "FAILED: the backends differ by more than $tolerance"; exit 1; }
    rm -f "$here/other.txt"
done
echo "OK: the text is the one that Qualcomm's language-model runtime writes with this model"
