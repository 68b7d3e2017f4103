"""The programs of the package: compile, inspect, explain, and the console commands."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from . import _errors as errors
from ._core import HERE, lib, name_of, text_of


@dataclass(frozen=True)
class Explanation:
    """What is known about a code of the vendor's libraries, or a line that they log."""
    code: int
    symbol: str
    text: Optional[str]
    meaning: str
    causes: Tuple[str, ...]
    fix: str


def explain(what: Any) -> Optional[Explanation]:
    """Explain a vendor code (a number), a symbol, or pasted lines of a log; None if nothing is known.

    An Error of this package may be given too: its vendor_code is explained."""
    if isinstance(what, errors.Error):
        what = what.vendor_code
    found = lib.qnnrt_explain_code(what & 0xFFFFFFFFFFFFFFFF) if isinstance(what, int) else lib.qnnrt_explain(name_of(what, "what to explain"))
    if not found:
        return None
    e = found.contents
    return Explanation(e.code, text_of(e.symbol), None if e.text is None else text_of(e.text), text_of(e.meaning),
                       tuple(text_of(c) for c in e.causes if c), text_of(e.fix))


def program(name: str) -> str:
    """The path of a program of the package."""
    path = os.path.join(os.environ.get("QNNRT_PROGRAMS") or HERE, name)
    if not os.access(path, os.X_OK):
        raise errors.NotFoundError("the program %s is missing" % path, "Install the wheel again.")
    return path


def _options(options: Dict[str, Any]) -> List[str]:
    """Keyword arguments as options: weight_bits=4 is --weight_bits 4, fp32=True is --fp32, a list repeats the option."""
    words: List[str] = []
    for key, value in options.items():
        if value is None or value is False:
            continue
        for item in value if isinstance(value, (list, tuple)) else [value]:
            words.append("--" + key)
            if item is not True:
                words.append(os.fspath(item) if isinstance(item, (str, os.PathLike)) else repr(item))
    return words


def _run(arguments: List[Any], options: Dict[str, Any]) -> str:
    words = [program("qnnrt-run")] + [os.fspath(a) for a in arguments] + _options(options)
    if any("\0" in word for word in words):
        raise errors.ArgumentError("an argument has a zero byte in it")
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    hint, lines = "", []
    for line in said.splitlines():
        if line.startswith("hint: "):
            hint = line[6:]
        else:
            lines.append(line[len("qnnrt-run: "):] if line.startswith("qnnrt-run: ") else line)
    text = "\n".join(lines)
    if done.returncode < 0:
        try:
            name = signal.Signals(-done.returncode).name
        except ValueError:
            name = "signal %d" % -done.returncode
        raise errors.CrashError("qnnrt-run %s was ended by %s%s" % (arguments[0], name, ":\n" + text if text else ""),
                                "The library of the backend crashed: compile for another one, or a smaller part of the model.", -done.returncode)
    if done.returncode == 2:
        raise errors.ArgumentError(text or "wrong usage of qnnrt-run %s" % arguments[0], hint)
    made = errors.ToolError(text or "qnnrt-run %s ended with status %d" % (arguments[0], done.returncode), hint)
    made.status = done.returncode
    raise made


def compile(model: Any, output_dir: Any, **options: Any) -> str:  # noqa: A001 the name of the verb
    """Compile graphs (.json, .dlc) or the folder of a language model into context binaries; return what was printed.

    model       a path or a list of paths
    output_dir  the folder for the files
    options     those of `qnnrt-run compile --help` without the dashes: weights="m.safetensors", weight_bits=4, fp32=True,
                backend_so="libQnnHtp.so", pin=["a=cpu", "b=cpu"]

    It runs in a process of its own: a library that crashes does not take this one with it."""
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    return _run(["compile"] + models, dict(options, output_dir=output_dir))


def inspect(model: Any, **options: Any) -> Dict[str, Any]:
    """The facts about a folder or files of context binaries, as `qnnrt-run inspect --json` prints them."""
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    facts: Dict[str, Any] = json.loads(_run(["inspect"] + models, dict(options, json=True)))
    return facts


def _main(name: str) -> None:
    path = program(name)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the program would inherit that
    os.execv(path, [path] + sys.argv[1:])


def main_run() -> None:
    """The console command qnnrt-run."""
    _main("qnnrt-run")


def main_llm() -> None:
    """The console command qnnrt-llm."""
    _main("qnnrt-llm")
