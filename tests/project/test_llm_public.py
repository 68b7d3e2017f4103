#!/usr/bin/env python3
"""The headers above qnnrt.h, the tool and the examples use only public names, and these headers call only them and libc."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from checks import close, holds as check  # noqa: E402

import headers

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CC = os.environ.get("CC", "cc")
NM = os.environ.get("NM", "nm")
# The functions of libc that it may call. POSIX beyond C99 is not in the list.
LIBC = set("malloc free memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strrchr strstr snprintf vsnprintf "
           "fopen fclose fread ferror __errno_location _GLOBAL_OFFSET_TABLE_".split())
# Files that are mapped need POSIX.
POSIX = set("open read close lseek stat fstat mmap munmap madvise sysconf opendir readdir closedir memchr strpbrk strcpy".split())
# It writes files.
SESSION_POSIX = POSIX - {"mmap", "munmap", "madvise"} | set("dlopen dlsym dlclose dlerror flock getenv getpid mkdir qsort rmdir strcspn "
                                                           "strspn strstr unlink".split())
CACHE_POSIX = POSIX | set("calloc write mkdir rename unlink unlinkat openat fdopendir flock geteuid strspn utime getpid qsort time".split())
MEMORY = LIBC - set("fopen fclose fread ferror".split())
LIBM = set("acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fmod hypot lgamma log log10 log1p "
           "log2 modf pow rint sin sincos sinh sqrt tan tanh trunc".split())
# What a header may call beside the public functions of those that it needs, a function that it calls, how many functions
# it declares at least and has altogether. A header of tools/headers that is not listed may call what needs no files.
LIMITS = {"qnnrt_llm": (LIBC, "qnnrt_exec", 21, 100),
          "qnnrt_weights": (MEMORY | POSIX, "qnnrt_json_more", 7, 7),
          "qnnrt_onnx": (MEMORY | POSIX | {"openat", "strcspn"}, "qnnrt_error_set", 9, 9),
          # __cpu_model: libgcc's, which __builtin_cpu_supports() reads.
          "qnnrt_ir": (MEMORY | LIBM | set("memchr strcpy strcspn strpbrk strstr __cpu_model".split()), "qnnrt_json_more", 30, 200),
          "qnnrt_ir_passes": (MEMORY | {"sqrt", "log", "floor", "fabs", "cos", "sin", "strcspn", "strspn", "strstr", "ceil", "ldexp", "pow"}, "qnnrt_ir_become", 16, 150),
          "qnnrt_cache": (MEMORY | CACHE_POSIX, "qnnrt_error_set", 13, 13),
          "qnnrt_onnxruntime": (MEMORY | set("atoi closedir dlclose dlopen dlsym getcwd opendir readdir strspn strstr".split()), "qnnrt_session_bytes", 2, 60),
          "qnnrt_openvino": (MEMORY | set("dlclose dlsym stat strcspn strspn strstr".split()), "qnnrt_error_set", 1, 40),
          "qnnrt_qnn": (MEMORY | {"dlopen", "dlsym", "dlclose", "fopen", "fwrite", "fclose", "strtod", "strpbrk"}, "qnnrt_compile_build", 1, 60),
          "qnnrt_manifest": (MEMORY | POSIX | {"bsearch", "strtoull"}, "qnnrt_pipeline_make", 5, 30),
          "qnnrt_convert": (set("memcmp memcpy memset strcmp strlen _GLOBAL_OFFSET_TABLE_".split()), "qnnrt_hooks_alloc", 5, 5),
          "qnnrt_session": (MEMORY | SESSION_POSIX, "qnnrt_cache_put", 16, 60),
          "qnnrt_llm_graph": (MEMORY | {"strcspn", "strstr", "sqrt", "pow", "floor", "fabs"}, "qnnrt_json_more", 7, 40),
          "qnnrt_onnx_graph": (MEMORY | LIBM | {"strcspn", "strspn", "strtod", "strtol", "memchr"}, "qnnrt_ir_add_node", 1, 40),
          "qnnrt_lower": (MEMORY | LIBM | {"strcspn", "strspn", "strstr"}, "qnnrt_builder_supports", 10, 100),
          "qnnrt_compile": (MEMORY | {"qsort"}, "qnnrt_lower_emit", 7, 7),
          "qnnrt_cpu_fallback": (MEMORY, "qnnrt_ir_run", 6, 20),
          "qnnrt_partition": (MEMORY, "qnnrt_error_set", 3, 30)}
DEFAULT = (MEMORY, None, 1, 1)


def read(path):
    with open(os.path.join(TOP, path), errors="replace") as file:
        return file.read()


def private(text, prefixes):
    """Return the private names in a text: these prefixes followed by two underscores, in either case."""
    words = re.compile(r"\b(?:%s)__\w+" % "|".join(prefixes), re.I)
    return sorted(set(words.findall(text)))


# Check the pattern itself.
check(private("a = qnnrt__fail(QNNRT__STATIC) + qnnrt_json__peek();", ["qnnrt", "qnnrt_json"]) ==
      ["QNNRT__STATIC", "qnnrt__fail", "qnnrt_json__peek"], "private names are not found")
check(private("qnnrt_llm__fail(qnnrt_fail)", ["qnnrt", "qnnrt_json"]) == [], "qnnrt_llm__fail is not a private name of qnnrt.h")

# A header of its own may use the private names of no other.
NAMES = [row.name for row in headers.ROWS] + ["qnnrt_quirk", "qnnrt_pass"]
OWN = {"qnnrt_quirks": "qnnrt_quirk", "qnnrt_ir_passes": "qnnrt_pass"}
users = [(row.path, [name for name in NAMES if name not in (row.name, OWN.get(row.name))]) for row in headers.ROWS if row.home != "impl"]
check(len(users) > 13, "the table has %d headers above qnnrt.h" % len(users))
users += [(path, NAMES) for path in sorted(glob.glob("tools/cli/*.[ch]", root_dir=TOP) + glob.glob("tools/run/**/*.[ch]", root_dir=TOP, recursive=True) +
                                           glob.glob("tools/llm/*.[ch]", root_dir=TOP))]
for folder, _, files in os.walk(os.path.join(TOP, "examples")):
    for file in sorted(files):
        if file.endswith((".c", ".h", ".cpp", ".py")):
            users.append((os.path.relpath(os.path.join(folder, file), TOP), ["qnnrt", "qnnrt_json", "qnnrt_llm", "qnnrt_weights"]))
check(len(users) > 5, "there are no examples")
for path, prefixes in users:
    if os.path.exists(os.path.join(TOP, path)):
        found = private(read(path), prefixes)
        check(not found, "%s uses private names: %s" % (path, " ".join(found)))

# Declared before the implementation begins, and so public.


def below(row):
    """Return the public functions of the headers that a header needs, and of those that they need."""
    found = set()
    for name in row.needs:
        found |= below(headers.BY_NAME[name]) | set(re.findall(r"\b(qnnrt_\w+)\s*\(", headers.BY_NAME[name].declared()))
    return found


class Layer:
    """A header above qnnrt.h, compiled alone: the symbols of its object."""

    def __init__(self, folder, path, prefix):
        self.folder, self.path, self.prefix, self.made = folder, path, prefix, None
        text = read(path).split("#ifdef %s_IMPLEMENTATION" % prefix)[0]
        self.own = set(re.findall(r"^%s_API\b[^;{]*?\b(qnnrt_\w+)\s*\(" % prefix, text, re.M | re.S))

    def symbols(self, flags, option, what):
        path = os.path.join(self.folder, "layer.o")
        if self.made != flags:
            # Without position-independent code tables of pointers are constants, too.
            made = subprocess.run(CC.split() + ["-std=c99", "-fno-pic", "-fno-pie", "-U_FORTIFY_SOURCE", "-fno-stack-protector",
                                                "-I" + TOP, "-I" + TOP + "/tools", "-D%s_IMPLEMENTATION" % self.prefix, "-x", "c", "-c",
                                                os.path.join(TOP, self.path), "-o", path] + flags, capture_output=True, text=True)
            check(made.returncode == 0, "%s alone does not compile %s: %s" % (self.path, what, made.stderr[:2000]))
            self.made = flags
        listed = subprocess.run(NM.split() + option + [path], capture_output=True, text=True)
        return {line.split()[-1] for line in listed.stdout.splitlines() if line.strip()}, listed.stdout


if not shutil.which(CC.split()[0]) or not shutil.which(NM.split()[0]):
    check(os.environ.get("QNNRT_REQUIRE_ALL") != "1", "no %s or no %s (QNNRT_REQUIRE_ALL=1)" % (CC, NM))
else:
    for row in headers.ROWS:
        if row.home in ("impl", "-") or row.key == "-":
            continue
        header, prefix, declared = row.path, row.prefix, below(row)
        libc, uses, fewest, most = LIMITS.get(row.name, DEFAULT)
        with tempfile.TemporaryDirectory() as folder:
            layer = Layer(folder, header, prefix)
            calls, _ = layer.symbols(["-O0"], ["-u"], "")
            others = sorted(name for name in calls - libc if name not in declared)
            check((uses in calls if uses else calls & declared) and calls & libc, "the symbols of its object are not read: %s" % sorted(calls))
            check(not others, "%s calls %s, which are neither public functions of the headers below it nor of its libc list" % (header, others))
            defined, _ = layer.symbols(["-O0"], ["-g", "--defined-only"], "")
            check(defined == layer.own and len(defined) >= fewest, "exported and not declared, or the other way round: %s" % sorted(defined ^ layer.own))
            all_of_it, kinds = layer.symbols(["-O0"], ["--defined-only"], "")
            check(len(all_of_it) > most and not re.search(r" [bBcCdDgGsS] .*", kinds), "%s keeps variables: %s" %
                  (header, re.findall(r" [bBcCdDgGsS] (.*)", kinds)))
            hidden, _ = layer.symbols(["-O0", "-D%s_API=static __attribute__((unused))" % prefix], ["-g", "--defined-only"], "with a static %s_API" % prefix)
            check(not hidden, "with a static %s_API it exports %s" % (prefix, sorted(hidden)))

sys.exit(close())
