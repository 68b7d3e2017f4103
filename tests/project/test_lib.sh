#!/bin/sh
# libqnnrt.so: what it exports and needs; installed below a prefix; used from C, C++ and CMake.
#     sh tests/project/test_lib.sh [BUILD_DIR]
# Without cmake, pkg-config or a second compiler its checks are skipped, or failed with QNNRT_REQUIRE_ALL=1.
suite=test_lib
. "$(dirname "$0")/../harness/tool.sh"

# empty NAME LIST: a list of contradictions is empty
empty() { if [ -z "$2" ]; then good; else bad "$1" "$2"; fi; }

lib=$build/libqnnrt.so
version=$(sed -n '1s/.* v\([0-9.]*\) .*/\1/p' qnnrt.h)
so=${version%%.*}

# ---- what it exports and needs -------------------------------------------------------------------------

nm -D --defined-only "$lib" | awk '{ print $NF }' | sort >"$tmp/exports"
# tests/project/test_api.py compares this list with the headers.
awk '$2 == "kept" || $2 == "changed" || $2 == "new" { print $1 }' tests/golden/api_0.1.txt | sort >"$tmp/public"
if [ "$(wc -l <"$tmp/public")" -gt 200 ]; then good; else bad public "tests/golden/api_0.1.txt has few functions"; fi
empty every_public_function_is_exported "$(comm -13 "$tmp/exports" "$tmp/public")"
empty nothing_else_is_exported "$(comm -23 "$tmp/exports" "$tmp/public")"
empty only_functions_are_exported "$(nm -D --defined-only "$lib" | awk '$2 != "T"')"
empty needs_libc_alone "$(readelf -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vxE 'libc\.so\.6|libm\.so\.6|libdl\.so\.2|ld-linux[^ ]*')"
if [ "$(readelf -d "$lib" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" = "libqnnrt.so.$so" ]; then good
else bad soname "$(readelf -d "$lib" | grep SONAME)"; fi
empty no_writable_code "$(readelf -lW "$lib" | grep -E 'RWE|TEXTREL')"
# Calls from one function of the library to another do not go through a table that a program can change.
empty calls_stay_inside "$(readelf -rW "$lib" | grep -E 'JUMP_SLO.* qnnrt_')"

# ---- install -------------------------------------------------------------------------------------------

cc=${CC:-cc}
prefix="$tmp/a prefix"
# What is built is up to date: make only copies.
install_to() { step "$1" "${MAKE:-make}" -o "$build/.flags" "$2" B="$build" PREFIX="$3" DESTDIR="$4"; }
install_to install install "$prefix" ''
(cd "$prefix" && find . -type f -o -type l | sort) >"$tmp/files"
for file in include/qnnrt.h include/qnnrt_llm.h include/qnnrt.hpp lib/libqnnrt.so "lib/libqnnrt.so.$so" "lib/libqnnrt.so.$version" bin/qnnrt-run \
    lib/pkgconfig/qnnrt.pc lib/pkgconfig/libqnnrt.pc lib/cmake/qnnrt/qnnrtConfig.cmake lib/libQnnRef.so \
    share/man/man1/qnnrt-run.1 share/man/man1/qnnrt-llm.1 share/bash-completion/completions/qnnrt-run \
    share/zsh/site-functions/_qnnrt-run share/fish/vendor_completions.d/qnnrt-run.fish \
    share/qnnrt/examples/01_hello.c share/qnnrt/examples/llm/chat.py share/doc/qnnrt/LICENSE; do
    if [ -e "$prefix/$file" ]; then good; else bad install "$file is missing"; fi
done
step license cmp LICENSE "$prefix/share/doc/qnnrt/LICENSE"
empty headers_are_installed "$(grep -ho '^#include "qnnrt[a-z_]*\.h"' "$prefix"/include/* | sort -u | cut -d'"' -f2 | while read -r header; do
    [ -f "$prefix/include/$header" ] || echo "$header"
done)"
empty examples_have_their_headers "$(cd "$prefix/share/qnnrt/examples" && grep -o '^#include "[^"]*"' -r . | sed 's/:#include / /; s/"//g' | while read -r file header; do
    [ -f "$prefix/include/$header" ] || [ -f "$(dirname "$file")/$header" ] || echo "$file: $header"
done)"
empty links_are_relative "$(find "$prefix" -type l -lname '/*')"
empty no_marks_are_left "$(grep -l '@[A-Z]*@' "$prefix"/lib/cmake/qnnrt/* "$prefix"/lib/pkgconfig/*)"
install_to destdir install /usr "$tmp/staged"
(cd "$tmp/staged/usr" && find . -type f -o -type l | sort) | step destdir diff "$tmp/files" -
empty destdir_is_not_in_files "$(grep -l "$tmp" "$tmp"/staged/usr/lib/cmake/qnnrt/* "$tmp"/staged/usr/lib/pkgconfig/*)"
install_to uninstall uninstall /usr "$tmp/staged"
empty uninstall_removes_all "$(find "$tmp/staged" -type f -o -type l -o -name qnnrt)"

# ---- models, and what the headers alone make of them ----------------------------------------------------

mkdir "$tmp/model" "$tmp/llm"
"$build/examples/03_compose" "$build/libQnnRef.so" "$tmp/model/layer.bin" >"$tmp/log" 2>&1 || bad model "$(cat "$tmp/log")"
"$build/examples/llm/export" tests/data/llm/model "$tmp/llm" --type w8a16 --backend_so "$build/libQnnRef.so" >"$tmp/log" 2>&1 ||
    bad llm "$(cat "$tmp/log")"
expected=$("$build/examples/01_hello" "$tmp/model" "$build/libQnnRef.so" | sed 's/ (.*)//')
if [ "$expected" = 'y: 0.5 ...' ]; then good; else bad expected "$expected"; fi

# ---- consumers with pkg-config --------------------------------------------------------------------------

warn='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Wsign-conversion -Werror'
warn_cpp="$warn -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wzero-as-null-pointer-constant"
LD_LIBRARY_PATH=$prefix/lib
export LD_LIBRARY_PATH
if command -v pkg-config >/dev/null 2>&1; then
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    export PKG_CONFIG_PATH
    step pc_valid pkg-config --validate qnnrt libqnnrt
    step pc_version pkg-config --exact-version="$version" libqnnrt
    # The prefix has a blank, which pkg-config escapes for a shell.
    step pc_shared sh -c "$cc -std=c99 $warn -o '$tmp/shared_c' examples/cmake/app/shared.c $(pkg-config --cflags --libs libqnnrt)"
    step pc_shared_runs "$tmp/shared_c" "$tmp/model" "$build/libQnnRef.so"
    logged pc_shared_runs "$expected"
    logged pc_shared_runs "libqnnrt.so $version"
    step pc_header sh -c "$cc -std=c99 -O0 -o '$tmp/header_c' examples/01_hello.c $(pkg-config --cflags --libs qnnrt)"
    step pc_header_runs "$tmp/header_c" "$tmp/model" "$build/libQnnRef.so"
    empty pc_header_is_alone "$(readelf -d "$tmp/header_c" | grep libqnnrt)"
else
    skip pkg_config "pkg-config is not installed"
fi

# ---- qnnrt.hpp -------------------------------------------------------------------------------------------

for cxx in "${CXX:-c++}" clang++; do
    if ! command -v "$cxx" >/dev/null 2>&1; then skip "cpp_$cxx" "$cxx is not installed"; continue; fi
    # Each standard with one compiler; with both in test-all.
    case ${QNNRT_TEST_ALL-}$cxx in 1*) stds='c++17 c++20' ;; clang++) stds=c++20 ;; *) stds=c++17 ;; esac
    for std in $stds; do
        # shellcheck disable=SC2086
        step "cpp_$cxx" "$cxx" -std=$std $warn_cpp -I "$prefix/include" -o "$tmp/cpp" tests/project/cpp.cpp -L "$prefix/lib" -lqnnrt
        step "cpp_$cxx" "$tmp/cpp" "$tmp/model" "$build/libQnnRef.so" "$tmp/llm"
    done
    # shellcheck disable=SC2086
    step "cpp_${cxx}_plain" "$cxx" -std=c++17 -fno-exceptions -fno-rtti $warn_cpp -I "$prefix/include" -o "$tmp/cpp" tests/project/cpp.cpp -L "$prefix/lib" -lqnnrt
    step "cpp_${cxx}_plain" "$tmp/cpp" "$tmp/model" "$build/libQnnRef.so"
done

# Without the library: the macros that its first screen names are all that it needs, in one file.
sed -n '1,/^#ifndef QNNRT_HPP/s/.*\(QNNRT_[A-Z_]*IMPLEMENTATION\).*/#define \1/p' tools/qnnrt.hpp >"$tmp/impl.cpp"
cat >>"$tmp/impl.cpp" <<'end'
#include "qnnrt.hpp"
#include <cstdio>
#include <vector>
int main(int, char **argv)
{
    qnnrt_desc desc = {};
    desc.backend_desc.path = argv[2];
    qnnrt_cpp::model model(argv[1], desc);
    qnnrt_cpp::run run = model.prepare();
    run.write("x", std::vector<float>{ 1, 2, 3, 4 });
    run.exec();
    for (float y : run.read<float, 2>("y"))
        std::printf("%g ", static_cast<double>(y));
}
end
step hpp_alone "${CXX:-c++}" -std=c++17 -O0 -I "$prefix/include" -o "$tmp/alone" "$tmp/impl.cpp" -ldl
step hpp_alone_runs "$tmp/alone" "$tmp/model" "$build/libQnnRef.so"
logged hpp_alone_runs '30.5 0'

# ---- CMake, with the prefix moved: the files hold no path ------------------------------------------------

unset LD_LIBRARY_PATH
moved="$tmp/moved prefix"
mv "$prefix" "$moved"
if command -v cmake >/dev/null 2>&1; then
    step cmake_configures cmake -S examples/cmake/app -B "$tmp/app/build" -DCMAKE_PREFIX_PATH="$moved" -DCMAKE_BUILD_TYPE=Debug
    step cmake_builds cmake --build "$tmp/app/build"
    for program in header_c shared_c shared_cpp; do
        step "cmake_$program" "$tmp/app/build/$program" "$tmp/model" "$build/libQnnRef.so"
        if [ "$(sed 's/ (.*)//' "$tmp/log" | grep '^y')" = "$expected" ]; then good; else bad "cmake_$program" "$(cat "$tmp/log")"; fi
    done
    empty cmake_header_is_alone "$(readelf -d "$tmp/app/build/header_c" | grep libqnnrt)"
    if readelf -d "$tmp/app/build/shared_c" | grep -q "libqnnrt\.so\.$so\]"; then good; else bad cmake_soname "no libqnnrt.so.$so"; fi
    # wanted VERSION RESULT: whether find_package() takes this version
    wanted() {
        mkdir -p "$tmp/version"
        printf 'cmake_minimum_required(VERSION 3.18)\nproject(v LANGUAGES C)\nfind_package(qnnrt %s)\nmessage("found: ${qnnrt_FOUND}")\n' "$1" \
            >"$tmp/version/CMakeLists.txt"
        cmake -S "$tmp/version" -B "$tmp/version/build" -DCMAKE_PREFIX_PATH="$moved" >"$tmp/log" 2>&1
        if grep -qx "found: $2" "$tmp/log"; then good; else bad "cmake_version_$1" "$(tail -n 5 "$tmp/log")"; fi
    }
    minor=$(echo "$version" | cut -d. -f2)
    wanted "$version EXACT" 1
    wanted "0.$minor" 1
    wanted "0.$((minor - 1))" 0
    wanted "0.$((minor + 1))" 0
    wanted "$version.1" 0
    wanted 0 1
    wanted 1 0
    rm "$moved/lib/libqnnrt.so"
    wanted "0.$minor" 0
    logged cmake_names_what_is_missing "libqnnrt.so is missing"
else
    skip cmake "cmake is not installed"
fi
finish
