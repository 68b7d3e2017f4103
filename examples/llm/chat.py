#!/usr/bin/env python3
"""A tokenizer for both ends of qnnrt-llm, for models whose tokens are not bytes.

    pip install tokenizers
    python3 chat.py -- qnnrt-llm --ctx_dir DIR --backend_so libQnnHtp.so

DIR/tokenizer.json, which qnnrt-run compile writes for a GGUF file, or the file of --tokenizer has the form of Hugging
Face. The program after -- runs with --numbers added; each line that is
typed here becomes a line of numbers for it. /reset forgets the conversation, /quit ends the program."""
import argparse
import contextlib
import os
import signal
import subprocess
import sys

try:
    from tokenizers import Tokenizer
except ImportError as error:
    sys.exit(f"chat.py: {error}; say pip install tokenizers")

parser = argparse.ArgumentParser(usage="chat.py [--tokenizer FILE] -- qnnrt-llm --ctx_dir DIR [options]")
parser.add_argument("--tokenizer", help="(default: tokenizer.json in the folder of the model)")
parser.add_argument("command", nargs="+")
options = parser.parse_args()
if options.tokenizer is None:
    folders = [after for word, after in zip(options.command, options.command[1:]) if word == "--ctx_dir"]
    folders += [word[len("--ctx_dir="):] for word in options.command if word.startswith("--ctx_dir=")]
    if not folders:
        parser.error("name the tokenizer with --tokenizer FILE, or the folder of the model with --ctx_dir DIR")
    options.tokenizer = os.path.join(folders[-1], "tokenizer.json")
try:
    tokenizer = Tokenizer.from_file(options.tokenizer)
except Exception as error:                       # the package throws this class and no other
    parser.error(f"cannot read the tokenizer {options.tokenizer}: {error}")
signal.signal(signal.SIGINT, signal.SIG_DFL)     # Ctrl-C ends both, without a traceback
sys.stdin.reconfigure(errors="replace")
try:
    model = subprocess.Popen(options.command + ["--numbers"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
except OSError as error:
    parser.error(f"cannot run {options.command[0]}: {error.strerror}")
fresh = True                                     # the special tokens are added once, at the beginning


def visible(text):
    """On a terminal, characters that it would obey are shown as escapes."""
    if not sys.stdout.isatty():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


try:
    for line in sys.stdin:
        line = line.rstrip("\n")
        command = line in ("/reset", "/quit")
        tokens = [] if command else tokenizer.encode(line, add_special_tokens=fresh).ids
        model.stdin.write((line if command else " ".join(map(str, tokens))).encode() + b"\n")
        model.stdin.flush()
        fresh = line == "/reset"
        answer, shown, word = [], "", b""
        while not command:                           # numbers, separated by blanks, to the end of the line
            byte = model.stdout.read(1)
            if byte.isdigit():
                word += byte
                continue
            if word:
                answer, word = answer + [int(word)], b""
                text = tokenizer.decode(answer)
                if byte in b"\n" or not text.endswith("\N{REPLACEMENT CHARACTER}"):   # a character may have several
                    print(visible(text[len(shown):]), end="", flush=True)
                    shown = text
            if byte in b"\n":                        # true for b"" too: the program has ended
                print(flush=True)
                break
        if model.poll() is not None or line == "/quit":
            break
    model.stdin.close()
except BrokenPipeError:                          # the model has ended, or who reads the answers
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    model.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        model.stdin.close()
    sys.exit(max(1, model.wait()))
sys.exit(model.wait())
