#!/usr/bin/env python3
"""Our decode loop beside Qualcomm's libGenie.so and a bare loop on the raw interface, on the same context binary.

    python3 tests/bench/bench-llm.py [--rounds N] [--cpu N|any] [--only NAME,...] [BUILD_FOLDER [RELEASES [DATA_FOLDER]]]

BUILD_FOLDER is build/bench with the programs of tests/bench/llm_*.c; RELEASES is build/qnn, where 2.51 is used; DATA_FOLDER
is build/data/llm. Each runtime is a process of its own that gets its libQnnHtp.so from llm_proxy.c, which forwards to the
genuine library and records when each execute begins and ends. It measures the time between two executes of the decode
graph, which a runtime adds: once with the first two executes made and the others skipped, where code and data stay
in the caches, and once with all of them made, 40 ms of emulation in between. Runtimes alternate, in another order each
round, each on one processor (--cpu, default 0: the emulator and Genie's threads wait for each other there; on two
processors, its times were the same within noise).

Times are printed and never judged: they depend on the machine. The exit status is 1 when a text is not that of expected.json.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys

COUNT = 64
SKIP_AFTER = 2                   # the prompt in one prefill, and one decode
WARM = 4                         # gaps before this execute are not counted
COPIES = ["libGenie.so", "libQnnSystem.so", "libQnnHtpNetRunExtensions.so"]


def genie_config(model, context_binary):
    """Write Genie's description of the model; `poll` and more threads are not faster here."""
    with open(os.path.join(model, "config.json"), encoding="utf-8") as file:
        shape = json.load(file)
    htp = {"version": 1, "use-mmap": False, "spill-fill-bufsize": 0, "mmap-budget": 0, "poll": False, "cpu-mask": "0x3",
           "kv-dim": shape["head_dim"], "allow-async-init": False, "enable-graph-switching": False}
    return {"dialog": {
        "version": 1, "type": "basic",
        "context": {"version": 1, "size": shape["max_position_embeddings"], "n-vocab": shape["vocab_size"],
                    "bos-token": -1, "eos-token": shape["eos_token_id"]},
        "sampler": {"version": 1, "seed": 1, "temp": 1.0, "top-k": 1, "top-p": 1.0},
        "tokenizer": {"version": 1, "path": os.path.join(model, "tokenizer.json")},
        "engine": {"version": 1, "n-threads": 1,
                   "backend": {"version": 1, "type": "QnnHtp", "QnnHtp": htp},
                   "model": {"version": 1, "type": "binary",
                             "binary": {"version": 1, "ctx-bins": [context_binary]},
                             "positional-encoding": {"type": "rope", "rope-dim": shape["head_dim"] // 2,
                                                     "rope-theta": int(shape["rope_theta"])}}}}}


class Bench:
    def __init__(self, build, releases, data, cpu):
        self.folder = os.path.abspath(os.path.join(build, "llm"))
        libraries = os.path.abspath(os.path.join(releases, "2.51", "onnxruntime_qnn"))
        data = os.path.abspath(data)
        self.cpu = cpu
        self.genuine = os.path.join(libraries, "libQnnHtp.so")
        self.proxied = os.path.join(self.folder, "genie")
        os.makedirs(self.proxied, exist_ok=True)
        # Genie searches libraries only in its own folder and in ../onnxruntime_qnn.libs.
        for name in COPIES:
            shutil.copy2(os.path.join(libraries, name), os.path.join(self.proxied, name))
        shutil.copy2(os.path.join(build, "libllm_proxy.so"), os.path.join(self.proxied, "libQnnHtp.so"))
        more = os.path.join(self.folder, "onnxruntime_qnn.libs")
        if not os.path.lexists(more):
            os.symlink(os.path.join(os.path.dirname(libraries), "onnxruntime_qnn.libs"), more)
        with open(os.path.join(data, "expected.json"), encoding="utf-8") as file:
            case = json.load(file)["cases"][0]
        self.prompt, self.text = case["prompt"], case["text"]
        model = os.path.join(data, "w8a16_one")
        context_binary = os.path.join(model, "forward_0.bin")
        config = os.path.join(self.folder, "genie.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(genie_config(os.path.join(data, "model"), context_binary), file)
        proxy, system = (os.path.join(self.proxied, name) for name in ("libQnnHtp.so", "libQnnSystem.so"))
        build = os.path.abspath(build)
        self.peers = {
            "Genie": [os.path.join(build, "llm_genie"), os.path.join(self.proxied, "libGenie.so"), config],
            "raw": [os.path.join(build, "llm_raw"), proxy, system, context_binary],
            "ours": [os.path.join(build, "llm_ours"), proxy, system, model],
        }

    def run(self, name, skip=False, hashes=False):
        """Run one process; return its report, its gaps in us and the hashes of its logits."""
        log = os.path.join(self.folder, "executes.txt")
        env = dict(os.environ, LLM_PROXY_LIBRARY=self.genuine, LLM_PROXY_LOG=log)
        for variable in ("LLM_PROXY_SKIP", "LLM_PROXY_HASH"):
            env.pop(variable, None)
        if skip:
            env["LLM_PROXY_SKIP"] = str(SKIP_AFTER)
        if hashes:
            env["LLM_PROXY_HASH"] = "1"
        if os.path.exists(log):
            os.remove(log)
        pin = None if self.cpu is None else lambda: os.sched_setaffinity(0, [self.cpu])
        done = subprocess.run(self.peers[name] + [self.prompt, str(COUNT)], env=env, cwd=self.folder, preexec_fn=pin,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        said = dict(line.split(" ", 1) for line in done.stdout.decode("utf-8", "replace").splitlines() if " " in line)
        if done.returncode != 0 or "text" not in said:
            sys.exit("bench-llm: %s ended with %d and said:\n%s%s" % (name, done.returncode,
                     done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")))
        with open(log, encoding="ascii") as file:
            calls = [line.split() for line in file]
        if len(calls) != COUNT or len({call[0] for call in calls[1:]}) != 1:
            sys.exit("bench-llm: %s made %d executes, not 1 prefill and %d decodes" % (name, len(calls), COUNT - 1))
        begin, end = [int(call[1]) for call in calls], [int(call[2]) for call in calls]
        said["gaps"] = [(begin[i + 1] - end[i]) / 1e3 for i in range(WARM, COUNT - 1)]
        said["executes"] = [(end[i] - begin[i]) / 1e3 for i in range(1, COUNT)]
        said["hashes"] = [call[3] for call in calls]
        said["bytes"] = bytes.fromhex(said["text"].strip())
        return said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu", default="0")
    parser.add_argument("--only", default="", help="such as Genie,raw")
    parser.add_argument("folders", nargs="*", default=[])
    options = parser.parse_args()
    folders = options.folders + ["build/bench", "build/qnn", "build/data/llm"][len(options.folders):]
    bench = Bench(*folders, cpu=None if options.cpu == "any" else int(options.cpu))
    names = [name for name in bench.peers if not options.only or name in options.only.split(",")]
    failed = []

    hashes = {}
    for name in names:
        said = bench.run(name, hashes=True)
        hashes[name] = said["hashes"]
        if said["bytes"] != bench.text.encode("ascii"):
            failed.append("%s generated another text: %r" % (name, said["bytes"]))
    print("%d tokens of expected.json: %s" % (COUNT, "a text differs, see below" if failed else
                                              "the same from " + ", ".join(names)))
    for name in names:
        if name != "Genie" and "Genie" in names:
            print("  logits of %s that are Genie's bit by bit: %d of %d" % (
                name, sum(a == b for a, b in zip(hashes[name], hashes["Genie"])), COUNT))

    runs = {name: {"skip": [], "real": []} for name in names}
    for turn in range(options.rounds):
        for kind in ("skip", "real"):
            for k in range(len(names)):
                name = names[(k + turn) % len(names)]
                runs[name][kind].append(bench.run(name, skip=kind == "skip"))

    def gaps(name, kind):
        return [gap for said in runs[name][kind] for gap in said["gaps"]]

    def all_of(name, key, kinds=("skip", "real")):
        return [float(said[key]) for kind in kinds for said in runs[name][kind]]

    print("\n%d rounds, %s; us between two executes of the decode graph, %d gaps in each process"
          % (options.rounds, "processor %s" % options.cpu if bench.cpu is not None else "any processor", COUNT - 1 - WARM))
    print("%-8s %29s   %29s" % ("", "execute skipped", "execute made"))
    print("%-8s %9s %9s %9s   %9s %9s %9s   %s" % ("", "min", "median", "of Genie", "min", "median", "of Genie",
                                                 "medians of the rounds"))
    for name in names:
        line = "%-8s" % name
        for kind in ("skip", "real"):
            middle = statistics.median(gaps(name, kind))
            genie = statistics.median(gaps("Genie", kind)) if "Genie" in names else float("nan")
            line += " %9.2f %9.2f %9.3f  " % (min(gaps(name, kind)), middle, middle / genie)
        print(line + " " + " ".join("%.2f" % statistics.median(said["gaps"]) for said in runs[name]["skip"]) + " | "
              + " ".join("%.1f" % statistics.median(said["gaps"]) for said in runs[name]["real"]))

    print("\n%-8s %10s %10s %10s   %12s %12s %12s" % ("", "load ms", "median", "of Genie", "peak KiB", "of Genie", "anonymous"))
    for name in names:
        load = [us / 1e3 for us in all_of(name, "load_us")]
        peak = statistics.median(all_of(name, "hwm_kb", ("real",)))
        anonymous = statistics.median(all_of(name, "anon_kb", ("real",)))
        genie_load = statistics.median(all_of("Genie", "load_us")) / 1e3 if "Genie" in names else float("nan")
        genie_peak = statistics.median(all_of("Genie", "hwm_kb", ("real",))) if "Genie" in names else float("nan")
        print("%-8s %10.1f %10.1f %10.3f   %12d %12.3f %12d" % (name, min(load), statistics.median(load),
              statistics.median(load) / genie_load, peak, peak / genie_peak, anonymous))
    print("\none decode execute: " + ", ".join("%s %.2f ms (min %.2f)" % (
        name, statistics.median([e for said in runs[name]["real"] for e in said["executes"]]) / 1e3,
        min(e for said in runs[name]["real"] for e in said["executes"]) / 1e3) for name in names))
    for text in failed:
        print("  FAILED: " + text)
    if failed:
        print("bench-llm: FAILED")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
