#!/bin/sh
# Compile each header alone in every combination that must be silent, each counted as one test.
#
#   tests/project/silent.sh [--all]
#
# The headers and their build options are those of the table tools/headers.
# The combinations are: every language standard with the declarations and with the implementation, at -O0 (clang: the
# oldest ones; the implementation alone, after <stdio.h>, or between repetitions); and every build option (below) that
# needs no other one, with C99 or C++11 by gcc, at -O0. The headers of tools/ are compiled as C99 by clang, as C++11 and
# for 32 bits by gcc, without build options; make test builds all headers as C99 by gcc at -O2 without a warning for
# libqnnrt.so. With --all (make silent, and .ci/run, whose make test says SILENT=all): all headers at -O0 to -O3 and
# -Os, as C++11 too, and by clang; at -O2 with LTO; and every build option in both languages, by both compilers.
# Compilers: $GCC $GXX $CLANG $CLANGXX $AARCH64_CC $AARCH64_CXX (default: their usual names).
# One that is absent counts as one skipped test of a header (a failure with QNNRT_REQUIRE_ALL=1).
# Works in build/silent; as many compilers at a time as there are cores.
set -u
LC_ALL=C
export LC_ALL

# What the headers that are checked now cannot do without.
needs=

if [ "${1-}" = --one ]; then
    # Internal: tests/project/silent.sh --one "NUMBER|LABEL|COMMAND"
    number=${2%%|*} rest=${2#*|}
    label=${rest%%|*} command=${rest#*|}
    out=build/silent/$number
    if sh -c "$command -o $out.o" >"$out.txt" 2>&1 </dev/null && [ ! -s "$out.txt" ]; then
        echo "ok $label" >"$out.result"
    else
        echo "FAIL $label" >"$out.result"
    fi
    rm -f "$out.o"
    exit 0
fi

# For 32 bits and for aarch64.
all= cross=-O0
if [ "${1-}" = --all ]; then all=1 cross=-O1; fi
warn='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Werror'
gcc=${GCC:-gcc} gxx=${GXX:-g++} clang=${CLANG:-clang} clangxx=${CLANGXX:-clang++}
arm=${AARCH64_CC:-aarch64-linux-gnu-gcc} armxx=${AARCH64_CXX:-aarch64-linux-gnu-g++}

dir=build/silent
rm -rf "$dir"
mkdir -p "$dir"
passed=0 failed=0 skipped=0 count=0
jobs=$dir/jobs
: >"$jobs"

skip() {
    if [ "${QNNRT_REQUIRE_ALL-}" = 1 ]; then
        failed=$((failed + 1))
        echo "silent: failed: $1 (QNNRT_REQUIRE_ALL=1)"
    else
        skipped=$((skipped + 1))
        echo "silent: $header: skipped: $1"
    fi
}

has() { command -v "$1" >/dev/null 2>&1; }

# job COMPILER STANDARD SOURCE FLAGS [link]
job() {
    count=$((count + 1))
    end=-c
    if [ -n "${5-}" ]; then end='-fPIC -shared'; fi
    # All that clang warns of it says without making code; gcc says some of it later.
    case $1 in *clang*) end=-fsyntax-only ;; esac
    case $2 in *++*) language='-x c++' ;; *) language='-x c -Wdeclaration-after-statement' ;; esac
    echo "$count|$1 $2 $3 $4|$1 -std=$2 $warn -I. -Itools $needs $4 $language $end $dir/$3.c" >>"$jobs"
}

# check HEADER.h MACRO ...: write its sources and put its jobs on the list
check() {
    header=$1
    shift
    macros=$*
    case $header in */*) ;; *) header=./$header ;; esac
    name=$(basename "$header" .h)
    light=
    case $header in tools/*) if [ -z "$all" ]; then light=1; fi ;; esac
    prefix=$(echo "$name" | tr '[:lower:]' '[:upper:]')
    include="#include \"../../${header#./}\""
    printf '%s\n' "$include" >"$dir/$name.decl.c"
    printf '#define %s_IMPLEMENTATION\n%s\n' "$prefix" "$include" >"$dir/$name.impl.c"
    printf '#include <stdio.h>\n#define %s_IMPLEMENTATION\n%s\n' "$prefix" "$include" >"$dir/$name.stdio.c"
    printf '%s\n%s\n#define %s_IMPLEMENTATION\n%s\n%s\n' \
        "$include" "$include" "$prefix" "$include" "$include" >"$dir/$name.again.c"

    for pair in "$gcc $gxx" "$clang $clangxx"; do
        cc=${pair% *} cxx=${pair#* }
        if ! has "$cc" || ! has "$cxx"; then
            skip "$cc or $cxx is not installed"
            continue
        fi
        # Each standard with the declarations; the implementation in one form for each: alone, after <stdio.h>,
        # between repetitions. C99 alone is what the build options and -O3 compile. With --all: all forms.
        if [ -n "$all" ]; then
            forms='c99:impl c11:impl gnu17:impl c++11:impl c++17:impl c99:stdio c++11:stdio c99:again c++11:again
                gnu17:again c++17:again'
        elif [ "$cc" = "$clang" ] && [ -n "$light" ]; then
            forms='c99:stdio'
        elif [ -n "$light" ]; then
            forms='c++11:again'
        elif [ "$cc" = "$clang" ]; then
            forms='c99:stdio c++11:again'
        else
            forms='c99:stdio c++11:impl gnu17:again c++17:again'
        fi
        for form in $forms; do
            std=${form%:*}
            case $std in *++*) compiler=$cxx ;; *) compiler=$cc ;; esac
            job "$compiler" "$std" "$name.${form#*:}" -O0
            case $form in *:stdio | *:again) if [ -n "$all" ]; then continue; fi ;; esac
            job "$compiler" "$std" "$name.decl" -O0
        done
        for macro in $macros; do
            languages='c99 c++11'
            if [ -n "$light" ]; then continue; fi
            if [ -z "$all" ]; then
                case $cc:$macro in
                "$clang":* | *+*) continue ;;
                *_STATIC*) languages=c++11 ;;
                *) languages=c99 ;;
                esac
            fi
            flags=-D$(echo "$macro" | sed 's/+/ -D/g')
            for std in $languages; do
                case $std in *++*) compiler=$cxx ;; *) compiler=$cc ;; esac
                job "$compiler" "$std" "$name.impl" "-O0 $flags"
            done
        done
        # make test builds all of them at -O2 for libqnnrt.so.
        levels=
        if [ -n "$all" ]; then levels='-O0 -O1 -O2 -O3 -Os'; fi
        for level in $levels; do
            job "$cc" c99 $name.impl "$level"
            job "$cxx" c++11 $name.impl "$level"
        done
        # With LTO the linker prints the warnings. clang needs a plug-in for it.
        if [ "$cc" = "$gcc" ] && [ -n "$all" ]; then
            job "$cc" c99 $name.impl "-O2 -flto=auto" link
            job "$cxx" c++11 $name.impl "-O2 -flto=auto" link
        fi
    done

    # An unknown name would test nothing.
    for macro in $macros; do
        macro=${macro%%[=+]*}
        if grep -qw "$macro" "$header"; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "silent: failed: $header does not know $macro"
        fi
    done

    # gcc-12-multilib alone brings no 32-bit asm/; the native one serves for compiling.
    after="-idirafter /usr/include/$($gcc -print-multiarch 2>/dev/null)"
    for pair in "$gcc c99" "$gxx c++11"; do
        cc=${pair% *} std=${pair#* }
        case $std in *++*) try='#include <cstdio>' language='c++' ;; *) try='#include <stdio.h>' language='c' ;; esac
        if ! has "$cc"; then
            continue   # reported above
        elif [ -n "$light" ] && { [ "$std" = c++11 ] || [ "$name" = qnnrt_engines ]; }; then
            continue   # qnnrt_engines.h is the others together
        elif echo "$try" | $cc -m32 -x $language -c - -o "$dir/probe.o" 2>/dev/null; then
            job "$cc" "$std" $name.impl "$cross -m32 $after"
        else
            skip "$cc -m32 does not work (on Debian: gcc-12-multilib, g++-12-multilib)"
        fi
    done
    for pair in "$arm c99" "$armxx c++11"; do
        cc=${pair% *} std=${pair#* }
        if [ -n "$light" ]; then
            continue
        elif has "$cc"; then
            if [ -n "$all" ] || [ "$cc" = "$arm" ]; then job "$cc" "$std" $name.impl $cross; fi
            if [ -n "$all" ] || [ "$cc" = "$armxx" ]; then job "$cc" "$std" $name.decl $cross; fi
        else
            skip "$cc is not installed"
        fi
    done
}

# shellcheck disable=SC2086  # several words
{
    rows=$(sed '/^#/d; /^$/d' tools/headers)
    while read -r path _ _ _ _ _ how _ options; do
        needs=
        case ,$how, in *,friend,*) needs=-DQNNRT_IMPLEMENTATION ;; esac
        if [ "$options" = - ]; then options=; fi
        check "$path" $(echo "$options" | tr , ' ')
    done <<EOF
$rows
EOF
}

# Line by line through xargs; -0 keeps it from reading quotes in the commands.
tr '\n' '\0' <"$jobs" | xargs -0 -P "$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)" -n 1 sh "$0" --one

number=1
while [ $number -le $count ]; do
    read -r result label <"$dir/$number.result" || result=FAIL label="job $number"
    if [ "$result" = ok ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "silent: failed: $label"
        head -n 12 "$dir/$number.txt" | sed 's/^/    /'
    fi
    number=$((number + 1))
done

if [ $skipped -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
else
    echo "$passed passed, $failed failed"
fi
[ $failed -eq 0 ]
