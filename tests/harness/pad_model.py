#!/usr/bin/env python3
"""Copy a Llama of safetensors with more tokens: the new ones have logits of 0, which never win.

    python3 tests/harness/pad_model.py MODEL_DIR OUT_DIR TOKENS"""
import json
import os
import struct
import sys

source, target, tokens = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = open(os.path.join(source, "model.safetensors"), "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header, body = json.loads(data[8:8 + length]), data[8 + length:]
pieces, at = [], 0
for name, about in header.items():
    if name == "__metadata__":
        continue
    begin, end = about["data_offsets"]
    piece = body[begin:end]
    if name in ("model.embed_tokens.weight", "lm_head.weight"):
        rows = about["shape"][0]
        piece += bytes(len(piece) // rows * (tokens - rows))
        about["shape"][0] = tokens
    about["data_offsets"] = [at, at + len(piece)]
    at += len(piece)
    pieces.append(piece)
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(os.path.join(target, "model.safetensors"), "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + b"".join(pieces))
config = json.load(open(os.path.join(source, "config.json")))
config["vocab_size"] = tokens
json.dump(config, open(os.path.join(target, "config.json"), "w"))
