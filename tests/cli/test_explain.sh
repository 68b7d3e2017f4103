#!/bin/sh
# qnnrt-run explain: every code by each of its names, pasted lines, and unknown input.
#
#   sh tests/cli/test_explain.sh [BUILD_DIR]
#
# BUILD_DIR (default build) holds qnnrt-run. A check that passes prints nothing.
suite=test_explain
. "$(dirname "$0")/../harness/tool.sh"

# explain WORD ...: status, and $tmp/out and $tmp/err
explain() {
    "$tool" explain "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}

# entry NAME FIRST_LINE: the last run printed only an entry with this first line
entry() {
    read -r first <"$tmp/out" || first=
    if [ $status -ne 0 ]; then
        bad "$1" "status $status: $(head -n 1 "$tmp/err")"
    elif [ -s "$tmp/err" ]; then
        bad "$1" "it says $(head -n 1 "$tmp/err")"
    elif [ "$first" != "$2" ]; then
        bad "$1" "'$first', not '$2'"
    elif ! grep -q '^  .*\.$' "$tmp/out" || ! grep -q '^  hint: .' "$tmp/out"; then
        bad "$1" "no meaning, or no remedy: $(cat "$tmp/out")"
    else
        good
    fi
}

# says NAME TEXT: the last run printed it
says() { if grep -qF -- "$2" "$tmp/out"; then good; else bad "$1" "no '$2' in: $(cat "$tmp/out")"; fi; }

# unknown NAME TEXT HINT WORD ...: refused with a line on standard error that has the text, and a hint
unknown() {
    name=$1 text=$2 hint=$3
    shift 3
    explain "$@"
    if [ $status -ne 1 ] || [ -s "$tmp/out" ]; then
        bad "$name" "status $status: $(head -n 1 "$tmp/out")"
    elif [ "$(wc -l <"$tmp/err")" -ne 2 ] || ! head -n 1 "$tmp/err" | grep -qF -- "$text"; then
        bad "$name" "no '$text' in: $(cat "$tmp/err")"
    elif ! tail -n 1 "$tmp/err" | grep '^hint: ' | grep -qF -- "$hint"; then
        bad "$name" "no hint with '$hint' in: $(cat "$tmp/err")"
    else
        good
    fi
}

# ---- the list ---------------------------------------------------------------------------------------

explain
if [ $status -eq 0 ] && [ ! -s "$tmp/err" ]; then good; else bad list "status $status"; fi
cp "$tmp/out" "$tmp/list"
grep '^0x' "$tmp/list" >"$tmp/codes"
grep '^line ' "$tmp/list" >"$tmp/lines"
count=$(wc -l <"$tmp/codes")
if [ "$count" -gt 120 ]; then good; else bad list "$count codes"; fi
if [ "$(wc -l <"$tmp/lines")" -gt 50 ]; then good; else bad list "$(wc -l <"$tmp/lines") lines"; fi
odd=$(grep -vE '^(0x[0-9a-f]{4,8} +[0-9]+  (QNN_[A-Z_]+|\(FastRPC\))  [A-Za-z].*\.|line  ".*")$' "$tmp/list")
if [ -z "$odd" ]; then good; else bad list "an odd line: $odd"; fi

# title DECIMAL: the first line of an entry, from the list
title() { sed -n "s/^\(0x[0-9a-f]*  *$1  [^ ]*\)  .*/\1/p" "$tmp/codes"; }

explain --help
says help "qnnrt-run explain [CODE"

# ---- every code of the list: hexadecimal, decimal, symbol; and every line -----------------------------

while read -r hex decimal symbol meaning; do
    explain "$hex"
    wanted=$(title "$decimal")
    entry "$hex" "$wanted"
    says "$hex" "  $meaning"
    explain "$decimal"
    entry "$decimal" "$wanted"
    case $symbol in
    QNN_*)
        explain "$symbol"
        entry "$symbol" "$wanted"
        ;;
    esac
done <"$tmp/codes"

while read -r line; do
    words=${line#line  \"}
    explain "${words%\"}"
    entry "$words" "$line"
done <"$tmp/lines"

# ---- every name of the vendor's headers, from the list of tests/core/test_codes.c ---------------------------

sed -n 's/^    { *\([0-9][0-9]*\), "\(QNN_[A-Z_]*\)" },$/\1 \2/p' "$(dirname "$0")/../core/test_codes.c" >"$tmp/names"
if [ "$(wc -l <"$tmp/names")" -gt 180 ]; then good; else bad names "$(wc -l <"$tmp/names") names"; fi
while read -r decimal symbol; do
    explain "$symbol"
    entry "$symbol" "$(title "$decimal")"
done <"$tmp/names"

# ---- pasted text ---------------------------------------------------------------------------------------

explain '11-21 14:05:07.123  5000  6004 E QnnHtp  : <E> Using newer context binary on old SDK'
entry newer 'line  "Using newer context binary"'
says newer 'it comes with: 0x1388   5000  QNN_CONTEXT_ERROR_INVALID_ARGUMENT'
says newer 'hint: Ship the libraries'
explain Expected Tensor ID: 17 not found in user-provided tensors
entry words 'line  "Expected Tensor ID ... not found"'
explain Failed to create context from binary with err 0x138d
entry code_in_line '0x138d   5005  QNN_CONTEXT_ERROR_CREATE_FROM_BINARY'
explain 'status=0x80000406 uri=file:///libQnnHtpV75Skel.so'
entry fastrpc '0x80000406  2147484678  (FastRPC)'
says fastrpc ADSP_LIBRARY_PATH
explain 'first
 <E> Tensor ID 24 clientBuf is null
 <E> Using newer context binary on old SDK'
entry first_of_several 'line  "clientBuf is null"'

# ---- unknown input --------------------------------------------------------------------------------------

unknown number '"64999"' explain 64999
unknown without_0x '"1388"' 0x1388 1388
unknown text '"no such thing"' explain no such thing
unknown empty '""' explain ''
unknown control '\x1B[2J' explain "$(printf '\033[2J')"

"$tool" --help >"$tmp/out" 2>&1
says help 'qnnrt-run explain'

finish
