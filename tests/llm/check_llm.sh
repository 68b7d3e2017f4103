#!/bin/sh
# The end of `make llm`: check that the text equals that of Qualcomm's language-model runtime.
#
#   sh tests/llm/check_llm.sh TEXT_FILE PROMPT
set -u
text=$(sed -n "s/.*\"prompt\": \"$2\", \"text\": \"\([^\"]*\)\".*/\1/p" tests/data/llm/expected.json)
if [ -n "$text" ] && grep -qF "$text" "$1"; then
    echo "OK: the text is the one that Qualcomm's language-model runtime writes with this model"
else
    echo "FAILED: that is not '$text'"
    exit 1
fi
