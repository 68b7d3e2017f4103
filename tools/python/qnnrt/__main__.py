"""python -m qnnrt export PACKAGE.MODULE:FACTORY FOLDER: what qnnrt.export() does, for a function that returns a model and its inputs."""
from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import Any, List, Optional, Tuple

from . import _errors as errors
from ._export import export

_ABOUT = """Export a model of PyTorch to a folder, for qnnrt-run compile.

MODULE:FACTORY is a function without arguments that returns (model, args) or (model, args, kwargs)."""


def _range(text: str) -> Tuple[str, Tuple[int, int]]:
    name, _, bounds = text.rpartition("=")
    low, _, high = bounds.partition(":")
    try:
        return name, (int(low), int(high))
    except ValueError:
        raise argparse.ArgumentTypeError("\"%s\" is not NAME=LOWEST:HIGHEST" % text) from None


def _made(what: str) -> Tuple[Any, ...]:
    """Call the factory."""
    module, _, name = what.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise errors.NotFoundError("cannot find %s: %s" % (what, error), "Name a function as package.module:function.") from None
    made = function()
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise errors.ArgumentError("%s returns %s, expected (model, args) or (model, args, kwargs)" % (what, type(made).__name__))
    return made


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m qnnrt", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    command = parser.add_subparsers(dest="command", required=True).add_parser("export", description=_ABOUT,
                                                                              formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("factory", metavar="MODULE:FACTORY")
    command.add_argument("folder", metavar="FOLDER")
    command.add_argument("--samples", type=int, default=4, help="how many sample inputs torch computes (default 4)")
    command.add_argument("--range", type=_range, action="append", default=[], metavar="NAME=LOW:HIGH", help="of an integer input")
    command.add_argument("--inner", action="store_true", help="store the value of each node, to verify layer by layer")
    command.add_argument("--encodings", action="store_true", help="scales and offsets of a quantized model in place of nodes that round")
    command.add_argument("--name", help="of the model (default: its class)")
    options = parser.parse_args(arguments)
    try:
        made = _made(options.factory)
        done = export(made[0], made[1], options.folder, kwargs=made[2] if len(made) == 3 else None, samples=options.samples,
                      ranges=dict(options.range), inner=options.inner, name=options.name, encodings=options.encodings)
    except errors.Error as error:
        print("qnnrt: " + error.text + ("\nhint: " + error.hint if error.hint else ""), file=sys.stderr)
        return 2 if isinstance(error, errors.ArgumentError) else 1
    print("%s: %d nodes, %d weights, %d samples%s" % (done.path, done.nodes, done.weights, done.samples,
                                                      " in " + done.computed_in if done.samples else ""))
    print("inputs   %s\noutputs  %s" % (", ".join(done.inputs), ", ".join(done.outputs)))
    if done.states:
        print("states   " + ", ".join(done.states))
    for note in done.notes:
        print("note: " + note)
    return 0


if __name__ == "__main__":
    sys.exit(main())
