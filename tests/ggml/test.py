#!/usr/bin/env python3
"""tools/ggml in stock llama.cpp: the scheduler's crash and its cures, whole models, stock programs, bad input.

    python3 tests/ggml/test.py [--build DIR] [PART ...]      (make test-ggml)

PART is one of sched, cache, models, backends, threads, files, folders, programs, graphs, random, operators, other, bad,
installed, android, memory (default: all of them), and bench. DIR (default build) holds libQnnRef.so, ggml/<version>/bin of make ggml-libs,
ggml/models of make ggml-models, and ggml-test/<version>/ with libggml-qnnrt.so and the programs of this folder. What is
expected comes from ggml's CPU backend in a run of its own, or from the numbers in the tables below. Everything runs on one
thread: the CPU backend's threads spin while they wait."""
import array
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "harness"))
import checks                                    # noqa: E402
from checks import check, close                  # noqa: E402

NEW, OLD = "0.25.3", "0.9.11"
SECONDS = 900
BUILD = "build"


def path(*parts):
    return os.path.join(BUILD, *parts)


def qnn(release, name):
    return path("qnn", release, "onnxruntime_qnn", name)


# ---- running --------------------------------------------------------------------------------------


class Done:
    """What a program has done: its status, and what it printed."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def words(self, name):
        """Return the values of the lines that begin with a word."""
        return [line.split()[1:] for line in self.out.splitlines() if line.split()[:1] == [name]]

    def number(self, name, at=0):
        """Return a number of a line, or nan, which no comparison accepts."""
        found = self.words(name)
        return float(found[0][at]) if found and len(found[0]) > at else float("nan")

    def counted(self, pattern):
        """Return the sum of a number in the statistics, or None without any."""
        found = re.findall(pattern, self.err)
        return sum(int(one) for one in found) if found else None

    def __str__(self):
        return "status %d, out %r, err %r" % (self.status, self.out[-200:], self.err[-1500:])


def run(program, *words, version=NEW, library=None, backend=None, environment=None, user=None):
    """Run a program of tests/ggml, or a stock one, with the backend of a version on a library of QNN."""
    own = dict(os.environ, GGML_NO_BACKTRACE="1", LC_ALL="C")
    for name in list(own):
        if name.startswith("GGML_QNNRT_") or name == "GGML_BACKEND_PATH":
            del own[name]
    if backend != "":
        own["GGML_BACKEND_PATH"] = os.path.abspath(backend or path("ggml-test", version, "libggml-qnnrt.so"))
        own["GGML_QNNRT_LIB"] = os.path.abspath(library or path("libQnnRef.so"))
    own.update(environment or {})
    bin_folder = os.path.abspath(path("ggml", version, "bin"))
    if os.path.exists(os.path.join(bin_folder, program)):
        command = [os.path.join(bin_folder, program), *words]
    else:
        command = [os.path.abspath(path("ggml-test", version, program)), bin_folder, *words]
    if user is not None:
        command = ["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups", *command]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own,
                              timeout=SECONDS)
    except OSError as failure:
        return Done(127, "", str(failure))
    except subprocess.TimeoutExpired:
        return Done(-signal.SIGALRM, "", "it does not end")
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def gguf(kind):
    return path("ggml", "models", kind + ".gguf")


known = {}


def cpu(kind, *words, version=NEW):
    """Return what ggml's CPU backend makes of a model; each run is made once."""
    key = (kind, words, version)
    if key not in known:
        known[key] = run("model", gguf(kind), "device=none", *words, version=version, backend="")
        check("model %s on the CPU backend" % kind, known[key].status == 0, known[key])
    return known[key]


def near(got, expected, relative):
    return abs(got - expected) <= relative * abs(expected)


# ---- the scheduler's crash ------------------------------------------------------------------------

# The buffers are the host's, where the cache is, SET_ROWS in the backend: splits; 0: stock ggml aborts. The prefix of
# the names is one that the check of caches does not know, so that the abort is reached.
ROWS = (("0", "device", "0", 0),
        ("1", "device", "0", 5),
        ("0", "device", "1", 1),
        ("1", "device", "1", 1),
        ("0", "cpu", "0", 5),
        ("0", "copy", "0", 5))


def sched():
    for host, where, rows, splits in ROWS:
        name = "sched host=%s cache=%s set_rows=%s" % (host, where, rows)
        done = run("sched", where, "f32", "keep_",
                   environment={"GGML_QNNRT_HOST": host, "GGML_QNNRT_SET_ROWS": rows})
        if splits == 0:
            check(name, done.status == -signal.SIGABRT and
                  "pre-allocated tensor (keep_k_l0 (view)) in a buffer (QNNRT) that cannot run the operation (SET_ROWS)"
                  in done.err, done)
            continue
        check(name, done.status == 0 and done.number("splits") == splits, done)
        check(name + ": values", done.number("nmse") <= 1e-12 and done.number("cache") <= 1e-12, done)
    # The CPU backend rounds queries to blocks, too, beside keys of q8_0.
    for kind, limit in (("f16", 1e-8), ("q8_0", 1e-5)):
        done = run("sched", "device", kind)
        check("sched with a cache of " + kind, done.status == 0 and done.number("nmse") <= limit and
              done.number("cache") <= 1e-8, done)


# Words of the message: tensor, op, types, other backends, ways out.
WAYS_OUT = ("SET_ROWS", "CPU", "offload_kqv", "GGML_QNNRT_HOST", "GGML_QNNRT_SET_ROWS")


def cache():
    """The check before the abort: the allocation of the cache fails, with a message."""
    no = {"GGML_QNNRT_HOST": "0", "GGML_QNNRT_SET_ROWS": "0"}
    done = run("sched", "device", "f16", environment=no)
    check("the cache is refused", done.status == 3, done)
    for word in WAYS_OUT + ("cache_k_l0", "f16"):
        check("the refusal names " + word, word in done.err, done)
    done = run("model", gguf("f32"), environment=no)
    check("libllama gets no context", done.status == 3 and "refused context" in done.out, done)
    for word in WAYS_OUT + ("cache_k_l0", "f32"):
        check("the refusal in libllama names " + word, word in done.err, done)
    # The ways out.
    expected = cpu("f32").words("tokens")
    for name, words, environment in (("offload_kqv", ["offload=0"], no), ("host buffers", [], {"GGML_QNNRT_SET_ROWS": "0"}),
                                     ("SET_ROWS in the backend", [], {"GGML_QNNRT_HOST": "0"})):
        done = run("model", gguf("f32"), *words, environment=environment)
        check("way out: " + name, done.status == 0 and done.words("tokens") == expected, done)


# ---- whole models ---------------------------------------------------------------------------------

# Kind of the GGUF, that of the CPU's run, options. Expected: the same tokens, perplexity within 1e-4.
MODELS = (("f32", "f32", []), ("f16", "f16", []), ("bf16", "bf16-f32", []),
          ("q8_0", "q8_0-f32", []), ("q4_0", "q4_0-f32", []),
          ("f32", "f32", ["cache=f16"]), ("f32", "f32", ["flash=1", "cache=q8_0"]),
          ("f32", "f32", ["flash=1"]), ("f32", "f32", ["flash=1", "cache=f16"]), ("f32", "f32", ["offload=0"]),
          ("f32", "f32", ["ubatch=8"]), ("f32", "f32", ["ubatch=32"]), ("f32", "f32", ["sequences=2"]),
          ("f32", "f32", ["sequences=2", "unified=0"]),
          ("q4_0", "q4_0-f32", ["sequences=2", "ubatch=8", "flash=1"]))
STATISTICS = {"GGML_QNNRT_STATS": "1"}
COMPILED = r"(\d+) QNN graphs of"
STORED, RESTORED = r"(\d+) graphs stored as files", r"stored as files, (\d+) read from files"


def models():
    for kind, other, words in MODELS:
        name = " ".join(["model", kind] + words)
        expected = cpu(other, *words)
        done = run("model", gguf(kind), *words, environment=STATISTICS)
        check(name, done.status == 0, done)
        check(name + ": the same tokens", done.words("tokens") == expected.words("tokens") and
              all(len(line) >= 80 for line in done.words("tokens")), done)
        check(name + ": perplexity %s" % done.words("perplexity"), near(done.number("perplexity"), expected.number("perplexity"), 1e-4),
              expected.words("perplexity"))
        few = run("model", gguf(kind), *words, "tokens=1", environment=STATISTICS)
        check(name + ": after the first token nothing is compiled",
              few.counted(COMPILED) and few.counted(COMPILED) == done.counted(COMPILED),
              "%s graphs after one token, %s at the end" % (few.counted(COMPILED), done.counted(COMPILED)))
    # Two sequences in a batch write what each writes alone.
    both = run("model", gguf("f32"), "sequences=2")
    check("two sequences: the first", both.words("tokens")[:1] == cpu("f32").words("tokens")[:1], both)
    logits()


def logits():
    """The logits beside the CPU's, value by value."""
    with tempfile.TemporaryDirectory(prefix="ggml.") as folder:
        values = []
        for words, backend in ((["device=none"], ""), ([], None)):
            name = os.path.join(folder, "logits")
            done = run("model", gguf("f32"), "logits=" + name, *words, backend=backend)
            check("logits", done.status == 0, done)
            values.append(array.array("f"))
            with open(name, "rb") as file:
                values[-1].frombytes(file.read())
        error = sum((a - b) ** 2 for a, b in zip(*values)) / sum(a * a for a in values[0])
        check("logits: NMSE %.3g" % error, len(values[0]) == len(values[1]) and len(values[0]) >= 80 * 256 and error <= 1e-9)


# Library, release, model, the CPU's model, tokens, perplexity within. Few tokens: the emulator takes half a second for one.
BACKENDS = (("libQnnHtp.so", "2.51", "f32", "f32", 12, 1e-3), ("libQnnHtp.so", "2.51", "f16", "f16", 2, 1e-3),
            ("libQnnHtp.so", "2.51", "q8_0", "q8_0-f32", 2, 1e-3), ("libQnnHtp.so", "2.51", "q4_0", "q4_0-f32", 2, 1e-3),
            ("libQnnCpu.so", "2.47", "f32", "f32", 12, 1e-4))


def backends():
    for library, release, kind, other, tokens, relative in BACKENDS:
        name = "%s %s, %s" % (library, release, kind)
        if not os.path.exists(qnn(release, library)):
            checks.skip(name, "say 'make qnn-libs'")
            continue
        expected = cpu(other, "tokens=%d" % tokens)
        done = run("model", gguf(kind), "tokens=%d" % tokens, library=qnn(release, library), environment=STATISTICS)
        check(name, done.status == 0 and done.words("tokens") == expected.words("tokens"), done)
        check(name + ": perplexity %s" % done.words("perplexity"), near(done.number("perplexity"), expected.number("perplexity"), relative),
              expected.words("perplexity"))
        check(name + ": computed there", (done.counted(r"(\d+) executions") or 0) > 0, done)
    if os.path.exists(qnn("2.51", "libQnnHtp.so")):
        moved()


def moved():
    """HTP is known by its answers, not by its path, and its graphs go to files and come back."""
    with tempfile.TemporaryDirectory(prefix="ggml.") as folder:
        link, graphs = os.path.join(folder, "libQnnRef"), os.path.join(folder, "graphs")
        os.symlink(os.path.abspath(os.path.dirname(qnn("2.51", "libQnnHtp.so"))), link)
        os.mkdir(graphs)
        environment = dict(STATISTICS, GGML_QNNRT_CACHE_DIR=graphs)
        first, second = (run("model", gguf("q4_0"), "tokens=1", library=os.path.join(link, "libQnnHtp.so"),
                             environment=environment) for _ in range(2))
        count = len(os.listdir(graphs))
        check("HTP in a folder libQnnRef: weights are static", first.status == 0 and
              (first.counted(r"(\d+) weights became float16") or 0) > 0, first)
        check("graphs of HTP in files", count > 7 and first.counted(COMPILED) == count == first.counted(STORED), first)
        check("graphs of HTP from files", second.counted(COMPILED) == 0 and second.counted(RESTORED) == count and
              second.words("tokens") == first.words("tokens") and second.words("perplexity") == first.words("perplexity"), second)


# ---- several contexts, and graphs in files --------------------------------------------------------


def threads():
    """Contexts of several threads write what one writes, also where graphs are evicted all the time."""
    for kind, environment in (("f32", {}), ("q8_0", {"GGML_QNNRT_STATIC": "1", "GGML_QNNRT_CACHE_GRAPHS": "3"})):
        alone = run("threads", gguf(kind), "1", "1").words("tokens")
        check("one thread, " + kind, len(alone) == 1 and len(alone[0]) == 40, alone)
        done = run("threads", gguf(kind), "4", "3", environment=environment)
        check("four threads with three contexts each, " + kind, done.status == 0 and done.words("tokens") == alone * 12, done)


def damage(folder):
    """Damage files of a folder, each in another way. Return what each refusal says."""
    names = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    whole = [open(name, "rb").read() for name in names[:9]]
    changed = bytearray(whole[1])
    changed[len(changed) // 2] ^= 1
    for name, content in zip(names, (whole[0][:-1], bytes(changed), whole[1], b"", whole[4] + b"x", b"GGUF" + whole[5][4:])):
        with open(name, "wb") as file:
            file.write(content)
    os.chmod(names[6], 0o666)
    os.unlink(names[7])
    os.mkfifo(names[7])
    other = max(whole, key=lambda one: abs(len(one) - len(whole[8])))
    with open(names[8], "wb") as file:           # another graph, in a file that is right
        file.write(whole[8][:24] + other[24:])
    return ("cut short", "damaged", "of another graph", "not a file of this cache", "too long", "not a file of this cache",
            "others could have written it", "not a regular file", "the library lists other inputs or outputs")


def files():
    """GGML_QNNRT_CACHE_DIR: the second run compiles nothing; files that are not whole are refused, and written again."""
    with tempfile.TemporaryDirectory(prefix="ggml.") as folder:
        environment = dict(STATISTICS, GGML_QNNRT_STATIC="1", GGML_QNNRT_CACHE_DIR=folder)
        done = run("model", gguf("f32"), "tokens=4", environment=environment)
        expected, count = done.words("tokens"), len(os.listdir(folder))
        check("graphs in files", done.status == 0 and count > 9 and done.counted(COMPILED) == count == done.counted(STORED), done)
        done = run("model", gguf("f32"), "tokens=4", environment=environment)
        check("graphs of files: nothing is compiled", done.status == 0 and done.counted(COMPILED) == 0 and
              done.counted(RESTORED) == count and done.words("tokens") == expected, done)
        words = damage(folder)
        done = run("model", gguf("f32"), "tokens=4", environment=environment)
        check("damaged files are compiled again", done.status == 0 and done.counted(STORED) == 9 and
              done.counted(RESTORED) == count - 9 and done.words("tokens") == expected, done)
        for word in words:
            check("damaged files: the log says " + word, word in done.err, done)
        done = run("model", gguf("q8_0"), "tokens=4", environment=environment)
        check("another model takes no file with weights of this one", done.status == 0 and done.counted(RESTORED) < count // 2 and
              done.words("tokens") == cpu("q8_0-f32", "tokens=4").words("tokens"), done)
        environment["GGML_QNNRT_CACHE_DIR"] = "/proc"
        done = run("model", gguf("f32"), "tokens=4", environment=environment)
        check("a folder that takes no file", done.status == 0 and "is not written" in done.err and done.words("tokens") == expected, done)


VICTIM, ATTACKER = 65534, 65533


def folders():
    """GGML_QNNRT_CACHE_DIR that another user prepared: no link is followed. What a killed writer left is removed."""
    global BUILD
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        why = "only root can act as two other users, with setpriv (on Debian: util-linux)"
        return check("folders", False, why) if os.environ.get("QNNRT_REQUIRE_ALL") == "1" else checks.skip("folders", why)
    kept = BUILD
    with tempfile.TemporaryDirectory(prefix="ggml.") as top:
        os.chmod(top, 0o711)
        # What other users run lies where they can read it.
        BUILD = os.path.join(top, "build")
        shutil.copytree(os.path.join(kept, "ggml", NEW, "bin"), path("ggml", NEW, "bin"), symlinks=True)
        os.makedirs(path("ggml-test", NEW))
        for name in ("libQnnRef.so", os.path.join("ggml-test", NEW, "graphs"), os.path.join("ggml-test", NEW, "libggml-qnnrt.so")):
            shutil.copy(os.path.join(kept, name), path(name))
        subprocess.run(["chmod", "-R", "go+rX", BUILD], check=True)
        folder, dear = os.path.join(top, "there"), os.path.join(top, "dear")
        environment = dict(STATISTICS, GGML_QNNRT_CACHE_DIR=folder)
        names = [".qnnrt.0.tmp", ".qnnrt.1.tmp", ".qnnrt.2.tmp.d"]
        for mode in (None, 0o555, 0o1777, 0o777):
            for target in (dear + "/file", dear):
                shutil.rmtree(folder, ignore_errors=True)
                shutil.rmtree(dear, ignore_errors=True)
                os.mkdir(folder)
                os.mkdir(dear, 0o700)
                with open(dear + "/file", "w") as file:
                    file.write("dear")
                for one in (dear, dear + "/file"):
                    os.chown(one, VICTIM, VICTIM)
                for name in names if mode is not None else ():
                    os.symlink(target, os.path.join(folder, name))
                    os.chown(os.path.join(folder, name), ATTACKER, ATTACKER, follow_symlinks=False)
                if mode is None:
                    with open(os.path.join(folder, names[0]), "w") as file:
                        file.write("cut")
                    os.chown(os.path.join(folder, names[0]), VICTIM, VICTIM)
                os.chown(folder, *(2 * [VICTIM if mode is None else ATTACKER]))
                os.chmod(folder, mode or 0o700)
                done = run("graphs", "shapes", "4", environment=environment, user=VICTIM)
                what = "a folder of mode %o, links to %s" % (mode or 0o700, os.path.basename(target))
                check(what, done.status == 0 and done.number("nmse") <= 1e-12, done)
                with open(dear + "/file") as file:
                    check(what + ": nothing outside changes", file.read() == "dear" and os.listdir(dear) == ["file"])
                files = [name for name in os.listdir(folder) if not os.path.islink(os.path.join(folder, name))]
                check(what + ": graphs are stored where they can be", len(files) == {None: 4, 0o777: 4}.get(mode, 0) and
                      not any(name.endswith(".tmp") for name in files), files)
                names += [name for name in files if name not in names]
    BUILD = kept


# ---- stock programs -------------------------------------------------------------------------------


def estimate(*words, **others):
    """Return the estimate of llama-perplexity, and its run. Its log is written by a thread that may lose the last lines."""
    for _ in range(20):
        done = run("llama-perplexity", *words, **others)
        found = re.search(r"Final estimate: PPL = ([\d.]+)", done.out + done.err)
        if found or done.status != 0:
            break
    return float(found[1]) if found else float("nan"), done


def programs():
    for flash in ("0", "1"):
        done = run("llama-bench", "-m", gguf("f32"), "-ngl", "99", "-t", "1", "-p", "16", "-n", "8", "-r", "1", "-fa", flash, "-o",
                   "json", environment=STATISTICS)
        try:
            rows = json.loads(done.out)
        except ValueError:
            rows = []
        check("llama-bench -fa " + flash, done.status == 0 and len(rows) == 2, done)
        for row in rows:
            check("llama-bench: backends and speed", "QNNRT" in row["backends"] and row["avg_ts"] > 0, row)
        check("llama-bench: computed there", (done.counted(r"(\d+) executions") or 0) > 0, done)
    with tempfile.TemporaryDirectory(prefix="ggml.") as folder:
        text = os.path.join(folder, "text")
        with open(text, "w", encoding="ascii") as file:
            file.write("In the beginning God created the heaven and the earth. And the LORD said unto Moses. " * 8)
        for flash in ("off", "on"):
            words = ["-m", gguf("f32"), "-f", text, "-c", "128", "-b", "128", "-t", "1", "-ctk", "f32", "-ctv", "f32", "-fa", flash]
            expected, _ = estimate(*words, "-ngl", "0", backend="")
            got, done = estimate(*words, "-ngl", "99", environment=STATISTICS)
            check("llama-perplexity -fa %s: %s, the CPU backend %s" % (flash, got, expected), near(got, expected, 1e-4), done)
            check("llama-perplexity: computed there", (done.counted(r"(\d+) executions") or 0) > 0, done)


# ---- graphs ---------------------------------------------------------------------------------------


def graphs():
    for words, limit, splits in ((["mixed"], 1e-4, 3), (["wide"], 1e-12, 1), (["long"], 1e-12, 1), (["shapes"], 1e-12, 1)):
        done = run("graphs", *words)
        name = "graphs " + words[0]
        check(name, done.status == 0 and done.number("splits") >= splits, done)
        check(name + ": values", done.number("nmse") <= limit, done)
    # A graph of 3 segments is ended before each one, and computed afterwards.
    done = run("graphs", "abort")
    check("a graph is ended before any step", done.status == 0 and done.number("aborted") == 3 and done.number("nmse") <= 1e-12, done)
    # More shapes than graphs that are kept.
    done = run("graphs", "shapes", environment={"GGML_QNNRT_STATS": "1", "GGML_QNNRT_CACHE_GRAPHS": "8"})
    check("graphs are evicted", done.status == 0 and done.number("nmse") <= 1e-12, done)
    check("graphs are evicted: the count", (done.counted(r"(\d+) evicted") or 0) > 0, done)


# Operators alone, then on views, in place and in caches. HTP computes in half precision. 30 seconds on an idle machine.
def seeds():
    for library, count, nodes, most in ((path("libQnnRef.so"), 1000, 18000, "1e-6"),
                                        (qnn("2.47", "libQnnCpu.so"), 200, 3500, "1e-6"),
                                        (qnn("2.51", "libQnnHtp.so"), 100, 1700, "1e-4")):
        name = os.path.basename(library)
        done = run("nmse", "1e-5", library=library)
        check("single operators on " + name, done.status == 0 and "all right 197 wrong 0 refused 0" in done.out, done)
        done = run("random", "1", str(count), most, library=library)
        found = re.search(r"seeds %d nodes (\d+) refused 0 failures 0" % count, done.out)
        check("random graphs on " + name, done.status == 0 and found and int(found[1]) >= nodes, done)


# ---- stock test-backend-ops -----------------------------------------------------------------------


def stock(library, *words):
    """Run cases of test-backend-ops. Return what was done, and which cases of each operator are right, failed and refused."""
    done = run("test-backend-ops", "test", "-b", "QNNRT0", *words, library=library,
               environment={"LD_PRELOAD": os.path.abspath(path("ggml-test", NEW, "librepeatable.so"))})
    plain = re.sub("\x1b\\[[0-9;]*m", "", done.out)
    cases = {}
    for case in re.findall(r"^(.*?)\b(([A-Z_0-9]+)\(.*\)): (OK|FAIL|not supported \[.*QNNRT.*\])", plain, re.M):
        cases.setdefault(case[2], ([], [], []))["OFn".index(case[3][0])].append((case[0], case[1]))
    return done, cases


def lines(name):
    with open(os.path.join(TOP, "tests", "ggml", name), encoding="ascii") as file:
        return [line for line in file.read().splitlines() if line[:1] not in ("#", "")]


# Operators on HTP whose cases are run there: least number.
ON_HTP = (("GELU_ERF", 12), ("SILU", 12), ("SOFTPLUS", 12), ("RMS_NORM", 51))


def operators():
    """Stock cases on libQnnRef.so: none fails, and at least as many are right as in ops_floor.txt."""
    (_, pattern), *floor = (line.split(None, 1) for line in lines("ops_floor.txt"))
    done, cases = stock(path("libQnnRef.so"), "-p", pattern)
    check("stock operators: the run ends", done.status == 0, done)
    wrong = [case for _, failed, _ in cases.values() for case in failed]
    check("stock operators: %d right, none failed" % sum(len(right) for right, _, _ in cases.values()), not wrong, wrong)
    for operator, least in floor:
        right, _, refused = cases.get(operator, ([], [], []))
        text = "%s: right %d of at least %s, refused %d" % (operator, len(right), least, len(refused))
        print("  " + text, flush=True)
        check(text, len(right) >= int(least))
    # On HTP the suite's bound is below half precision: cases may fail, by little. The line of an operator alone stands for
    # each of its cases: their errors are all near the bound, so that others fail in each run.
    known = {case: float(error) for error, case in (line.split(None, 1) for line in lines("ops_htp.txt"))}
    for operator, least in ON_HTP:
        done, cases = stock(qnn("2.51", "libQnnHtp.so"), "-o", operator)
        right, failed, _ = cases.get(operator, ([], [], []))
        errors = [(case, float(error)) for text, case in failed for error in re.findall(r"ERR = ([0-9.]+) >", text)]
        check("%s on HTP: %d right, NMSE of others %s" % (operator, len(right), errors), len(right) + len(errors) >= least and
              len(errors) == len(failed) and all(error <= 1e-5 for _, error in errors), failed or done)
        unknown = [(case, error) for case, error in errors if error > 2 * known.get(case, known.get(operator, 0))]
        check("%s on HTP: those that fail are listed" % operator, not unknown, unknown)


# ---- another version of ggml ----------------------------------------------------------------------


def other():
    done = run("model", gguf("f32"), version=OLD, environment=STATISTICS)
    expected = cpu("f32", version=OLD)
    check("ggml %s" % OLD, done.status == 0 and done.words("tokens") == expected.words("tokens"), done)
    check("ggml %s: perplexity" % OLD, near(done.number("perplexity"), expected.number("perplexity"), 1e-4), done)
    check("ggml %s: computed there" % OLD, (done.counted(r"(\d+) executions") or 0) > 0, done)
    for where, splits in (("device", 1), ("cpu", None)):
        done = run("sched", where, version=OLD)
        check("ggml %s: sched %s" % (OLD, where), done.status == 0 and done.number("nmse") <= 1e-12 and
              (splits is None or done.number("splits") == splits), done)
    for operator, least in (("ADD", 90), ("RMS_NORM", 20)):
        done = run("test-backend-ops", "test", "-b", "QNNRT0", "-o", operator, version=OLD)
        found = re.search(r"(\d+)/\1 tests passed", done.out)
        check("ggml %s: test-backend-ops %s" % (OLD, operator), done.status == 0 and found and int(found[1]) >= least, done)
    # A library that was built for the other version: both versions have the same api_version.
    for program, library in ((NEW, OLD), (OLD, NEW)):
        done = run("model", gguf("f32"), "device=any", version=program,
                   backend=path("ggml-test", library, "libggml-qnnrt.so"))
        name = "a library for ggml %s in ggml %s" % (library, program)
        check(name + " is refused", "QNNRT0" not in done.out and library in done.err and program in done.err, done)
        check(name + ": the CPU goes on", done.status == 0 and
              done.words("tokens") == cpu("f32", version=program).words("tokens"), done)


# ---- bad input ------------------------------------------------------------------------------------


def refused(name, words, library=None, environment=None):
    """The device is not there, the message has these words, and the CPU backend computes the model."""
    done = run("model", gguf("f32"), "device=any", "tokens=4", library=library, environment=environment)
    for word in words:
        check("%s: the message names %s" % (name, word), word in done.err, done)
    check(name + ": the CPU goes on", done.status == 0 and
          done.words("tokens") == cpu("f32", "tokens=4").words("tokens"), done)


def bad():
    with tempfile.TemporaryDirectory(prefix="ggml.") as folder:
        text, empty = os.path.join(folder, "text.so"), os.path.join(folder, "empty.so")
        with open(text, "w", encoding="ascii") as file:
            file.write("not a library\n")
        with open(empty, "wb"):
            pass
        missing = os.path.join(folder, "missing.so")
        wrong = path("ggml", NEW, "bin", "libggml-base.so")
        for name, library in (("a missing library", missing), ("a file of text", text), ("an empty file", empty),
                              ("a folder", folder), ("a library of another kind", wrong)):
            refused(name, ["ggml-qnnrt", os.path.basename(library)], library=library)
    for name, value in (("GGML_QNNRT_HALF", "2"), ("GGML_QNNRT_HOST", "yes"), ("GGML_QNNRT_SOC", "-1"),
                        ("GGML_QNNRT_CACHE_GRAPHS", "1e9"), ("GGML_QNNRT_TYPE", "npu"), ("GGML_QNNRT_STATIC", "99999999999999999999"),
                        ("GGML_QNNRT_OPS", "MUL_MAT,FOO"), ("GGML_QNNRT_OPS", "mul_mat"), ("GGML_QNNRT_BLOCKS", "1"),
                        ("GGML_QNNRT_CACHE_DIR", "/nowhere"), ("GGML_QNNRT_CACHE_DIR", "/dev/null")):
        refused("%s=%s" % (name, value), [name, value], environment={name: value})
    refused("a name that nothing reads", ["GGML_QNNRT_CACHES_DIR"], environment={"GGML_QNNRT_CACHES_DIR": "1"})
    full = run("model", gguf("f32"), "tokens=300")
    check("a full context", full.status == 4 and "decode 1" in full.out, full)
    allocations()


def allocations():
    """Every allocation of the library fails in turn: a refusal or the right values, and never a signal."""
    preload = os.path.abspath(path("ggml-test", NEW, "libfail_alloc.so"))
    for words in (["sched", "device"], ["graphs", "mixed"]):
        done = run(*words, environment={"LD_PRELOAD": preload, "FAIL_ALLOC": "0"})
        total = int((re.findall(r"allocations (\d+)", done.err) or ["0"])[-1])
        check("%s: allocations are counted" % " ".join(words), done.status == 0 and total > 100, done)
        broken = computed = 0
        for at in list(range(1, min(total, 100))) + list(range(100, total, 11)):
            for all_after in ("", "1"):
                environment = {"LD_PRELOAD": preload, "FAIL_ALLOC": str(at)}
                if all_after:
                    environment["FAIL_ALLOC_ALL"] = "1"
                done = run(*words, environment=environment)
                good = done.status == 1 or done.status == 3 or done.status == 0 and done.number("nmse") <= 1e-4
                computed += done.status == 0
                if not good and not broken:
                    check("%s: allocation %d fails%s" % (" ".join(words), at, all_after and ", and all after it"), False, done)
                broken += not good
        check("%s: each allocation fails, %d runs computed all the same" % (" ".join(words), computed), broken == 0, broken)


def installed():
    """An installed ggml: its libggml-base.so is linked, whatever its package sets, and another version is refused."""
    for version, words in ((NEW, None), (OLD, ["has ggml " + OLD, "take the sources of the"])):
        with tempfile.TemporaryDirectory(prefix="ggml.") as folder:
            package = os.path.join(folder, "lib", "cmake", "ggml")
            os.makedirs(package)
            for name in ("libggml.so", "libggml-base.so"):
                shutil.copy(path("ggml", NEW, "bin", name), os.path.join(folder, "lib"))
            with open(os.path.join(package, "ggml-config.cmake"), "w", encoding="ascii") as file:
                file.write("unset(GGML_LIBRARY CACHE)\nfind_library(GGML_LIBRARY ggml PATHS %s/lib NO_DEFAULT_PATH)\n" % folder)
            with open(os.path.join(package, "ggml-config-version.cmake"), "w", encoding="ascii") as file:
                file.write("set(PACKAGE_VERSION %s)\n" % version)
            made = os.path.join(folder, "made")
            command = ["cmake", "-S", os.path.join(TOP, "tools", "ggml"), "-B", made, "-G", "Unix Makefiles", "-DGGML_PREFIX=" + folder,
                       "-DGGML_SOURCE=" + os.path.abspath(path("ggml", NEW, "ggml"))]
            for again in range(2 if words is None else 1):
                one = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
                done = Done(one.returncode, one.stdout, one.stderr)
            if words is not None:
                for word in words:
                    check("ggml %s is installed: the message says '%s'" % (version, word),
                          done.status != 0 and word in " ".join(done.err.split()), done)
                continue
            with open(os.path.join(made, "CMakeFiles", "ggml-qnnrt.dir", "link.txt"), encoding="utf-8") as file:
                link = file.read()
            check("ggml %s is installed: its libggml-base.so is linked" % version,
                  done.status == 0 and "/lib/libggml-base.so" in link and "/lib/libggml.so" not in link, done)


def android():
    """Android has what the plug-in calls: it is built for aarch64 as tests/android/test_android.sh builds the rest."""
    flags = "--target=aarch64-linux-gnu -O1 -w -D__ANDROID__ -D__NO_CTYPE -fno-builtin-bcmp -mno-outline-atomics -fPIC -shared"
    source = os.path.join(TOP, "tools", "ggml")
    for version in (NEW, OLD):
        with tempfile.TemporaryDirectory(prefix="ggml.") as folder:
            library = os.path.join(folder, "libggml-qnnrt.so")
            command = ["clang++", "-std=c++17", *flags.split(), '-DQG_GGML_VERSION="%s"' % version, "-I" + TOP, "-isystem",
                       path("ggml", version, "ggml", "include"), "-isystem", path("ggml", version, "ggml", "src"), "-o", library,
                       *sorted(os.path.join(source, name) for name in os.listdir(source) if name.endswith(".cpp")), "-ldl", "-pthread"]
            for words in (command, ["sh", os.path.join(TOP, "tests", "android", "functions.sh"), "24", library]):
                one = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=SECONDS)
                if not check("ggml %s for Android: %s" % (version, words[0]), one.returncode == 0, one.stdout + one.stderr):
                    break


# ---- memory ---------------------------------------------------------------------------------------


def memory():
    """Weights are in memory once: what a run adds to a small model's is about the size of the weights."""
    size = os.path.getsize(gguf("big-f32")) // 1024
    small = run("model", gguf("f32"), "tokens=1")
    big = run("model", gguf("big-f32"), "tokens=1")
    added = big.number("anonymous") - small.number("anonymous")
    check("weights of %d KiB take %.0f KiB" % (size, added), big.status == 0 and added <= 1.25 * size, big)
    expected = cpu("big-f32", "tokens=1")
    check("weights of %d KiB: perplexity" % size, near(big.number("perplexity"), expected.number("perplexity"), 1e-4), big)


# ---- bench ----------------------------------------------------------------------------------------


def bench():
    """Print times of both backends, taken in turn in one process, and those of llama-bench; nothing is checked."""
    print("model     decode, libQnnRef.so / CPU backend    median ms, each    tokens/s, each")
    for kind in ("f32", "f16", "q8_0", "q4_0", "big-f32"):
        done = run("model", gguf(kind), "tokens=8", "rounds=64")
        ours, theirs = done.number("milliseconds"), done.number("milliseconds", 1)
        print("%-9s least %6.3f, median %6.3f            %8.3f %8.3f    %7.0f %7.0f" %
              (kind, done.number("ratio"), done.number("ratio", 1), ours, theirs, 1000 / ours, 1000 / theirs), flush=True)
    print("llama-bench big-f32      libQnnRef.so    CPU backend    tokens/s")
    speeds = []
    for backend in (None, ""):
        done = run("llama-bench", "-m", gguf("big-f32"), "-ngl", "99", "-t", "1", "-p", "64", "-n", "32", "-r", "3", "-o", "json",
                   backend=backend)
        speeds.append([row["avg_ts"] for row in json.loads(done.out)])
    for name, ours, theirs in zip(("prompt of 64", "decode of 32"), *speeds):
        print("%-24s %12.1f %14.1f" % (name, ours, theirs))


PARTS = {"sched": sched, "cache": cache, "models": models, "backends": backends, "programs": programs, "graphs": graphs,
         "random": seeds, "operators": operators,
         "threads": threads, "files": files, "folders": folders, "other": other, "bad": bad, "installed": installed,
         "android": android, "memory": memory}


def main(arguments):
    global BUILD
    if arguments[:1] == ["--build"] and len(arguments) > 1:
        BUILD, arguments = arguments[1], arguments[2:]
    unknown = [name for name in arguments if name not in PARTS and arguments != ["bench"]]
    if unknown:
        print("test.py: %s is not one of %s" % (unknown[0], " ".join(PARTS)), file=sys.stderr)
        return 2
    if arguments == ["bench"]:
        return bench()
    for name in arguments or PARTS:
        before = checks.passed, checks.failed
        PARTS[name]()
        print("%-10s %d passed, %d failed" % (name, checks.passed - before[0], checks.failed - before[1]), flush=True)
    return close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
