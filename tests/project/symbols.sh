#!/bin/sh
# Check which symbols an object with the implementation exports, keeps and calls.
#
#   tests/project/symbols.sh HEADER OBJECT STATIC_OBJECT HIDDEN_OBJECT [PROGRAM]
#
# OBJECT holds the implementation, STATIC_OBJECT the same with all functions static, HIDDEN_OBJECT
# with a QNNRT_API that hides them; PROGRAM links it. Each statement checked is one test. Needs nm, objdump and a C compiler
# ($NM, $OBJDUMP, $CC).
set -u
LC_ALL=C
export LC_ALL

header=${1:?usage: tests/project/symbols.sh HEADER OBJECT STATIC_OBJECT HIDDEN_OBJECT [PROGRAM]}
object=${2:?} static=${3:?} hidden=${4:?} program=${5-}
nm=${NM:-nm} objdump=${OBJDUMP:-objdump}
allow=$(dirname "$0")/symbols.allow
allowed_data=qnnrt__log_slots
passed=0 failed=0 skipped=0

# empty STATEMENT LIST: the list of contradictions of the statement is empty
empty() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        echo "ok: $1"
    else
        failed=$((failed + 1))
        echo "FAIL: $1; but:"
        printf '%s\n' "$2" | sed 's/^/    /'
    fi
}

skip() {
    if [ "${QNNRT_REQUIRE_ALL-}" = 1 ]; then
        empty "QNNRT_REQUIRE_ALL=1: everything can be checked" "$1"
    else
        skipped=$((skipped + 1))
        echo "symbols: skipped: $1"
    fi
}

closing() {
    if [ $skipped -gt 0 ]; then
        echo "$passed passed, $failed failed, $skipped skipped"
    else
        echo "$passed passed, $failed failed"
    fi
    [ $failed -eq 0 ]
}

for tool in "$nm" "$objdump"; do
    if ! command -v "$tool" >/dev/null 2>&1; then
        skip "$tool is not installed (binutils)"
        closing
        exit
    fi
done

exported=$("$nm" -g --defined-only "$object" | awk 'NF > 1 { print $NF }' | sort)
undefined=$("$nm" -u "$object" | awk '{ print $NF }' | sort -u)
echo "exported: $(echo "$exported" | wc -l) symbols"
echo "calls:    $(echo "$undefined" | tr '\n' ' ')"

missing=
if [ -z "$exported" ]; then missing="$object exports nothing"; fi
empty "the implementation is in the object" "$missing"
empty "every exported symbol starts with qnnrt" "$(echo "$exported" | grep -v '^qnnrt')"
empty "with static functions nothing is exported" \
    "$("$nm" -g --defined-only "$static" | awk 'NF > 1 { print $NF }')"
empty "with a hidden QNNRT_API every symbol is hidden, those of qnnrt_json.h too" \
    "$("$objdump" -t "$hidden" | awk '$2 == "g" && !/\.hidden/ { print $NF }')"
empty "every macro that the header defines starts with QNNRT" \
    "$(sed -n 's/^[[:space:]]*#[[:space:]]*define[[:space:]][[:space:]]*\([A-Za-z_0-9]*\).*/\1/p' "$header" $(awk -v top="$(dirname "$header")" '!/^#/ && $7 ~ /friend/ { print top "/" $1 }' "$(dirname "$header")/tools/headers") | sort -u | grep -v '^QNNRT')"

# Variables. .data.rel.ro and .rodata are constant once loaded.
empty "no writable variable but $allowed_data" "$(for file in "$object" "$static"; do
    "$objdump" -t "$file" | awk -v file="$file" -v allowed="$allowed_data" '
        match($0, /\.(data|bss|tdata|tbss)[^[:space:]]*[[:space:]]+|\*COM\*[[:space:]]+/) {
            section = substr($0, RSTART, RLENGTH); gsub(/[[:space:]]/, "", section)
            size = substr($0, RSTART + RLENGTH); sub(/[[:space:]].*/, "", size)
            if (section ~ /^\.data\.rel\.ro/ || $NF ~ /^\./ || size ~ /^0+$/ || $NF == allowed) next
            print file ": " $NF " in " section ", 0x" size " bytes"
        }'
done)"
# Again by section, in case data has no symbol: only .bss may hold anything.
empty "sections .data, .tdata and .tbss are empty, .bss holds $allowed_data at most" \
    "$(size=$("$nm" -S "$object" | awk -v name="$allowed_data" '$NF == name && NF == 4 { print $2 }')
    "$objdump" -h "$object" | awk -v slots="${size:-0}" '
        function hex(text,    i, value) {
            value = 0
            for (i = 1; i <= length(text); ++i)
                value = value * 16 + index("0123456789abcdef", tolower(substr(text, i, 1))) - 1
            return value
        }
        $2 ~ /^\.(data|bss|tdata|tbss)/ && $2 !~ /^\.data\.rel\.ro/ && hex($3) > ($2 ~ /^\.bss/ ? hex(slots) : 0) {
            print $2 ": 0x" $3 " bytes, " name " has 0x" slots
        }' name="$allowed_data")"
empty ".bss has at most 2048 bytes" \
    "$("$objdump" -h "$object" | awk '$2 ~ /^\.bss/ && (length($3) != 8 || $3 > "00000800") { print $2 ": 0x" $3 " bytes" }')"
empty "no constructor, no destructor" \
    "$("$objdump" -h "$object" | awk '$2 ~ /^\.(init_array|fini_array|ctors|dtors|preinit)/ { print $2 }')"

# Calls: the first list would find those of the second too, but less clearly.
empty "only functions named in $allow are called" \
    "$(echo "$undefined" | while read -r name; do
        if [ -n "$name" ] && ! grep -qxF "$name" "$allow"; then echo "$name"; fi
    done)"
empty "nothing prints, ends the process or changes its environment" \
    "$(echo "$undefined" | grep -xE '_*(printf|vprintf|fprintf|vfprintf|dprintf|puts|fputs|putchar|fputc|putc|perror|fwrite|write|syslog)(_chk)?|stdout|stderr|abort|exit|_exit|_Exit|quick_exit|atexit|__assert_fail|raise|kill|signal|sigaction|setenv|unsetenv|putenv|setlocale|chdir|fork|system|popen')"

# Nothing of the compiler's own library, which a program may leave out.
cat >"$object.main.c" <<'END'
int qnnrt_open(const char *, const void *, void **, void *);
int main(int argc, char **argv) { return argc > 1 ? qnnrt_open(argv[1], 0, 0, 0) : 0; }
END
empty "a program links with -nodefaultlibs -lc -ldl" \
    "$(${CC:-cc} -nodefaultlibs -o "$object.main" "$object.main.c" "$object" -lc -ldl 2>&1 || echo "no program")"

if [ -z "$program" ]; then
    :
elif ! command -v ldd >/dev/null 2>&1; then
    skip "ldd is not installed"
elif [ ! -e "$program" ]; then
    skip "$program is not built"
else
    libraries=$(ldd "$program" 2>&1)
    echo "$libraries" | sed 's/^[[:space:]]*/libraries: /'
    empty "$program needs libc, libdl and libm only" \
        "$(echo "$libraries" | grep -vE '^[[:space:]]*(libc\.so|libdl\.so|libm\.so|linux-vdso\.so|linux-gate\.so|[^ ]*/ld-linux)')"
fi
closing
