#!/usr/bin/env python3
"""A tokenizer before and behind qnnrt-llm, for models whose tokens are no bytes.

    pip install tokenizers
    python3 chat.py --tokenizer tokenizer.json -- qnnrt-llm --ctx_dir DIR --backend_so libQnnHtp.so

tokenizer.json is Hugging Face's. What stands behind -- is run with --numbers added, and each line typed here
becomes a line of numbers there. /reset forgets what was said, /quit ends."""
import argparse
import signal
import subprocess
import sys

from tokenizers import Tokenizer

parser = argparse.ArgumentParser(usage="chat.py --tokenizer FILE -- qnnrt-llm --ctx_dir DIR [options]")
parser.add_argument("--tokenizer", required=True)
parser.add_argument("command", nargs="+")
options = parser.parse_args()
try:
    tokenizer = Tokenizer.from_file(options.tokenizer)
except Exception as error:                       # the package throws this class and no other
    parser.error(f"cannot read the tokenizer {options.tokenizer}: {error}")
signal.signal(signal.SIGINT, signal.SIG_DFL)     # Ctrl-C ends both, without a traceback
model = subprocess.Popen(options.command + ["--numbers"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
fresh = True                                     # what begins a text is added once

for line in sys.stdin:
    line = line.rstrip("\n")
    command = line in ("/reset", "/quit")
    tokens = [] if command else tokenizer.encode(line, add_special_tokens=fresh).ids
    model.stdin.write((line if command else " ".join(map(str, tokens))).encode() + b"\n")
    model.stdin.flush()
    fresh = line == "/reset"
    answer, shown, word = [], "", b""
    while not command:                           # numbers with blanks between them, to the end of the line
        byte = model.stdout.read(1)
        if byte.isdigit():
            word += byte
            continue
        if word:
            answer, word = answer + [int(word)], b""
            text = tokenizer.decode(answer)
            if byte in b"\n" or not text.endswith("\N{REPLACEMENT CHARACTER}"):   # a character may need several
                print(text[len(shown):], end="", flush=True)
                shown = text
        if byte in b"\n":                        # also of b"", when the program has ended
            print(flush=True)
            break
    if model.poll() is not None or line == "/quit":
        break
model.stdin.close()
sys.exit(model.wait())
