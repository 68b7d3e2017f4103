#!/usr/bin/env python3
"""The headers above qnnrt.h, the tool and the examples use only public names, and these headers call only them and libc."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CC = os.environ.get("CC", "cc")
NM = os.environ.get("NM", "nm")
LLM = "tools/qnnrt_llm.h"
# The functions of libc that it may call. POSIX beyond C99 is not in the list.
LIBC = set("malloc free memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strrchr strstr snprintf vsnprintf "
           "fopen fclose fread ferror __errno_location _GLOBAL_OFFSET_TABLE_".split())
# Files that are mapped need POSIX.
POSIX = set("open read close lseek stat fstat mmap munmap madvise sysconf opendir readdir closedir memchr strpbrk strcpy".split())
# Path, prefix, what it may call, a function that it calls, how many functions it declares at least and has altogether.
WEIGHTS, IR, LOWER = "tools/qnnrt_weights.h", "tools/qnnrt_ir.h", "tools/qnnrt_lower.h"
DECODER = "tools/qnnrt_llm_graph.h"
PARTITION = "tools/qnnrt_partition.h"
CACHE = "tools/qnnrt_cache.h"
CONVERT = "tools/qnnrt_convert.h"
HOST = "tools/qnnrt_cpu_fallback.h"
PROGRAM = "tools/qnnrt_compile.h"
SESSION = "tools/qnnrt_session.h"
ENGINE_ONNXRT = "tools/engines/qnnrt_onnxruntime.h"
ENGINE_OPENVINO = "tools/engines/qnnrt_openvino.h"
ENGINE_QNN, ENGINES = "tools/engines/qnnrt_qnn.h", "tools/engines/qnnrt_engines.h"
# It writes files.
SESSION_POSIX = POSIX - {"mmap", "munmap", "madvise"} | set("dlopen dlsym dlclose flock getpid mkdir qsort rmdir strstr unlink".split())
CACHE_POSIX = POSIX | set("calloc write mkdir rename unlink unlinkat openat fdopendir flock geteuid strspn utime getpid qsort time".split())
COMPOSE, KNOWN = "tools/qnnrt_builder.h", "tools/qnnrt_quirks.h"
MEMORY = LIBC - set("fopen fclose fread ferror".split())
LIBM = set("ceil cos erf exp expm1 floor fmod log log1p log2 pow rint sin sincos sqrt tanh trunc".split())
LAYERS = ((LLM, "QNNRT_LLM", LIBC, "qnnrt_exec", 21, 100),
          (WEIGHTS, "QNNRT_WEIGHTS", MEMORY | POSIX, "qnnrt_json_more", 7, 7),
          (IR, "QNNRT_IR", MEMORY | LIBM | {"memchr", "strcpy", "strstr"}, "qnnrt_json_more", 30, 200),
          (CONVERT, "QNNRT_CONVERT", set("memcmp memcpy memset strlen _GLOBAL_OFFSET_TABLE_".split()), "qnnrt_hooks_alloc", 5, 5),
          (CACHE, "QNNRT_CACHE", MEMORY | CACHE_POSIX, "qnnrt_error_set", 13, 13),
          (ENGINE_ONNXRT, "QNNRT_ONNXRUNTIME", MEMORY | {"dlopen", "dlsym", "dlclose", "dlerror", "getenv", "stat", "opendir", "readdir", "closedir", "sysconf", "getcwd", "fopen", "fread", "fclose", "strstr",
                                                         "strspn", "strtol", "atoi", "strcpy"}, "qnnrt_session_bytes", 2, 60),
          (ENGINE_OPENVINO, "QNNRT_OPENVINO", MEMORY | {"dlopen", "dlsym", "dlclose", "dlerror", "fopen", "fread", "fclose", "stat", "opendir",
           "readdir", "closedir", "getenv", "strspn", "strcspn", "strstr", "strcpy"}, "qnnrt_error_set", 1, 40),
          (ENGINE_QNN, "QNNRT_QNN", MEMORY | {"dlopen", "dlsym", "dlclose", "fopen", "fwrite", "fclose", "strtod", "strpbrk"}, "qnnrt_compile_build", 1, 60),
          (SESSION, "QNNRT_SESSION", MEMORY | SESSION_POSIX, "qnnrt_cache_put", 16, 60),
          (DECODER, "QNNRT_LLM_GRAPH", MEMORY | {"strcspn", "strstr", "sqrt", "pow", "floor", "fabs"}, "qnnrt_json_more", 7, 40),
          (LOWER, "QNNRT_LOWER", MEMORY | LIBM | {"strcspn", "strspn", "strstr"}, "qnnrt_builder_supports", 10, 100),
          (PROGRAM, "QNNRT_COMPILE", MEMORY | {"qsort"}, "qnnrt_lower_emit", 7, 7),
          (HOST, "QNNRT_CPU_FALLBACK", MEMORY, "qnnrt_ir_run", 6, 20),
          (PARTITION, "QNNRT_PARTITION", MEMORY, "qnnrt_error_set", 3, 30))
passed = failed = 0


def check(good, message):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("llm_public: " + message)


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

users = [(LLM, ["qnnrt", "qnnrt_json"]), ("tools/qnnrt_manifest.h", ["qnnrt", "qnnrt_json"]), (CONVERT, ["qnnrt", "qnnrt_json"]), (CACHE, ["qnnrt", "qnnrt_json"]), (SESSION, ["qnnrt", "qnnrt_json", "qnnrt_cache"]),
         (ENGINE_QNN, ["qnnrt", "qnnrt_json", "qnnrt_cache", "qnnrt_session", "qnnrt_weights", "qnnrt_ir", "qnnrt_lower", "qnnrt_partition", "qnnrt_cpu_fallback", "qnnrt_compile",
                       "qnnrt_manifest"]), (ENGINE_ONNXRT, ["qnnrt", "qnnrt_cache", "qnnrt_session"]), (ENGINE_OPENVINO, ["qnnrt", "qnnrt_session"]), (ENGINES, ["qnnrt", "qnnrt_session", "qnnrt_qnn", "qnnrt_onnxruntime", "qnnrt_openvino"]),
         (IR, ["qnnrt", "qnnrt_json", "qnnrt_weights"]), (WEIGHTS, ["qnnrt", "qnnrt_json"]),
         (LOWER, ["qnnrt", "qnnrt_json", "qnnrt_weights", "qnnrt_ir", "qnnrt_quirk"]), (KNOWN, ["qnnrt", "qnnrt_json"]), (HOST, ["qnnrt", "qnnrt_json", "qnnrt_ir"]),
         (PROGRAM, ["qnnrt", "qnnrt_json", "qnnrt_weights", "qnnrt_ir", "qnnrt_lower", "qnnrt_partition", "qnnrt_cpu_fallback"]), (PARTITION, ["qnnrt", "qnnrt_json"]),
         (DECODER, ["qnnrt", "qnnrt_json", "qnnrt_ir", "qnnrt_lower", "qnnrt_weights"]),
         ("tools/qnnrt-llm.c", ["qnnrt", "qnnrt_json", "qnnrt_llm"])]
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
declared = set(re.findall(r"\b(qnnrt_\w+)\s*\(", read("qnnrt.h").split("#ifdef QNNRT_IMPLEMENTATION")[0] +
                          read("qnnrt_json.h").split("#ifdef QNNRT_JSON_IMPLEMENTATION")[0] +
                          read(COMPOSE).split("#endif /* QNNRT_BUILDER_H")[0] +
                          "".join(read(path).split("#ifdef %s_IMPLEMENTATION" % prefix)[0] for path, prefix in
                                  ((WEIGHTS, "QNNRT_WEIGHTS"), (IR, "QNNRT_IR"), (LOWER, "QNNRT_LOWER"), (PARTITION, "QNNRT_PARTITION"), (HOST, "QNNRT_CPU_FALLBACK"), (CONVERT, "QNNRT_CONVERT"), (CACHE, "QNNRT_CACHE"), (PROGRAM, "QNNRT_COMPILE"), (SESSION, "QNNRT_SESSION"),
                                   ("tools/qnnrt_manifest.h", "QNNRT_MANIFEST")))))


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
                                                "-I" + TOP, "-I" + TOP + "/tools", "-DQNNRT_BUILDER", "-D%s_IMPLEMENTATION" % self.prefix, "-x", "c", "-c",
                                                os.path.join(TOP, self.path), "-o", path] + flags, capture_output=True, text=True)
            check(made.returncode == 0, "%s alone does not compile %s: %s" % (self.path, what, made.stderr[:2000]))
            self.made = flags
        listed = subprocess.run(NM.split() + option + [path], capture_output=True, text=True)
        return {line.split()[-1] for line in listed.stdout.splitlines() if line.strip()}, listed.stdout


if not shutil.which(CC.split()[0]) or not shutil.which(NM.split()[0]):
    check(os.environ.get("QNNRT_REQUIRE_ALL") != "1", "no %s or no %s (QNNRT_REQUIRE_ALL=1)" % (CC, NM))
else:
    for header, prefix, libc, uses, fewest, most in LAYERS:
        with tempfile.TemporaryDirectory() as folder:
            layer = Layer(folder, header, prefix)
            calls, _ = layer.symbols(["-O0"], ["-u"], "")
            others = sorted(name for name in calls - libc if name not in declared)
            check(uses in calls and calls & libc, "the symbols of its object are not read: %s" % sorted(calls))
            check(not others, "%s calls %s, which are neither public functions of the headers below it nor of its libc list" % (header, others))
            defined, _ = layer.symbols(["-O0"], ["-g", "--defined-only"], "")
            check(defined == layer.own and len(defined) >= fewest, "exported and not declared, or the other way round: %s" % sorted(defined ^ layer.own))
            all_of_it, kinds = layer.symbols(["-O0"], ["--defined-only"], "")
            check(len(all_of_it) > most and not re.search(r" [bBcCdDgGsS] .*", kinds), "%s keeps variables: %s" %
                  (header, re.findall(r" [bBcCdDgGsS] (.*)", kinds)))
            hidden, _ = layer.symbols(["-O0", "-D%s_API=static __attribute__((unused))" % prefix], ["-g", "--defined-only"], "with a static %s_API" % prefix)
            check(not hidden, "with a static %s_API it exports %s" % (prefix, sorted(hidden)))

print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
