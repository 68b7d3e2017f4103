#!/usr/bin/env python3
"""Write a folder with config.json and model.safetensors of a Llama as a GGUF file; Python's standard library is enough.

    python3 tests/cli/gguf_model.py MODEL_FOLDER OUT.gguf TYPE [WORDS]

TYPE, f32, f16, q8_0 or q4_0, is that of the matrices. WORDS is the tokenizer: bpe (default; tokens are the bytes), spm,
spm-long and spm-nan with a token or a score that is refused, or another word as the name of a pre-tokenizer. tests/ggml/make_gguf.py does this with the package gguf; the two share no
code."""
import array
import json
import struct
import sys

U32, F32, BOOL, TEXT, LIST = 4, 6, 7, 8, 9
TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q8_0": (8, 32, 34)}
LAYER = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
         "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
NAMES = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
         "lm_head.weight": "output.weight"}


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def value_of(kind, value):
    if kind == TEXT:
        return text(value)
    return struct.pack({U32: "<I", F32: "<f", BOOL: "<?"}[kind], value)


def pair(key, kind, value):
    if isinstance(value, list):
        return text(key) + struct.pack("<IIQ", LIST, kind, len(value)) + b"".join(value_of(kind, one) for one in value)
    return text(key) + struct.pack("<I", kind) + value_of(kind, value)


def half(value):
    """The value as float16 has it."""
    return struct.unpack("<e", struct.pack("<e", value))[0]


def encode(values, kind):
    """Turn floats into bytes of a type: codes of blocks are rounded to the nearest one."""
    if kind == "f32":
        return struct.pack("<%df" % len(values), *values)
    if kind == "f16":
        return struct.pack("<%de" % len(values), *values)
    out = []
    for at in range(0, len(values), 32):
        block = values[at:at + 32]
        largest = max(block, key=abs)
        scale = half(abs(largest) / 127 if kind == "q8_0" else -largest / 8)
        codes = [0 if scale == 0 else round(value / scale) for value in block]
        if kind == "q8_0":
            out.append(struct.pack("<e32b", scale, *(max(-128, min(127, code)) for code in codes)))
        else:
            codes = [max(-8, min(7, code)) + 8 for code in codes]
            out.append(struct.pack("<e16B", scale, *(codes[i] | codes[i + 16] << 4 for i in range(16))))
    return b"".join(out)


def alphabet():
    """The characters that byte-level BPE writes for the bytes 0 to 255."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in range(256)]


def tokenizer(words, config):
    pairs = []
    if words in ("spm", "spm-long", "spm-nan"):
        tokens = ["<unk>", "<s>", "</s>"] + [chr(33 + i) for i in range(config["vocab_size"] - 3)]
        scores = [-float(i) for i in range(len(tokens))]
        if words == "spm-long":
            tokens[3:5] = ["a" * 256, "a" * 257]
        if words == "spm-nan":
            scores[7] = float("nan")
        pairs += [("tokenizer.ggml.model", TEXT, "llama"), ("tokenizer.ggml.tokens", TEXT, tokens),
                  ("tokenizer.ggml.scores", F32, scores),
                  ("tokenizer.ggml.token_type", U32, [2, 3, 3] + [1] * (len(tokens) - 3))]
        return pairs + [("tokenizer.ggml.bos_token_id", U32, 1), ("tokenizer.ggml.eos_token_id", U32, 2)]
    return [("tokenizer.ggml.model", TEXT, "gpt2"), ("tokenizer.ggml.pre", TEXT, "gpt-2" if words == "bpe" else words),
            ("tokenizer.ggml.tokens", TEXT, alphabet()), ("tokenizer.ggml.merges", TEXT, ["a b"]),
            ("tokenizer.ggml.bos_token_id", U32, config["bos_token_id"]),
            ("tokenizer.ggml.eos_token_id", U32, config["eos_token_id"]),
            ("tokenizer.ggml.add_bos_token", BOOL, False), ("tokenizer.chat_template", TEXT, "{{ messages }}\n")]


def main(folder, out, kind, words="bpe"):
    with open(folder + "/config.json", encoding="utf-8") as file:
        config = json.load(file)
    with open(folder + "/model.safetensors", "rb") as file:
        data = file.read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    heads = {"self_attn.q_proj": config["num_attention_heads"], "self_attn.k_proj": config["num_key_value_heads"]}
    pairs = [("general.architecture", TEXT, "llama"), ("llama.block_count", U32, config["num_hidden_layers"]),
             ("llama.embedding_length", U32, config["hidden_size"]), ("llama.context_length", U32, config["max_position_embeddings"]),
             ("llama.feed_forward_length", U32, config["intermediate_size"]),
             ("llama.attention.head_count", U32, config["num_attention_heads"]),
             ("llama.attention.head_count_kv", U32, config["num_key_value_heads"]),
             ("llama.attention.layer_norm_rms_epsilon", F32, config["rms_norm_eps"]),
             ("llama.rope.freq_base", F32, config["rope_theta"])] + tokenizer(words, config)
    infos, body = [], bytearray()
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        values = array.array("f" if entry["dtype"] == "F32" else "H")
        values.frombytes(data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]])
        shape, short = entry["shape"], name.split(".", 3)[-1].rsplit(".", 1)[0] if ".layers." in name else ""
        rows = [values[i * shape[-1]:(i + 1) * shape[-1]] for i in range(len(values) // shape[-1])]
        if short in heads:                       # llama's files have the pairs that are rotated side by side
            size = len(rows) // heads[short]
            rows = [rows[head * size + i % 2 * (size // 2) + i // 2] for head in range(heads[short]) for i in range(size)]
        new = NAMES.get(name) or "blk.%s.%s.%s" % (name.split(".")[2], LAYER[short], name.rsplit(".", 1)[1])
        body += bytes(-len(body) % 32)
        used = "f32" if len(shape) == 1 else kind
        infos.append(text(new) + struct.pack("<I%dQIQ" % len(shape), len(shape), *reversed(shape), TYPES[used][0], len(body)))
        for row in rows:
            body += encode(row, used)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join(pair(*one) for one in pairs) + b"".join(infos)
    with open(out, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + body)


if len(sys.argv) not in (4, 5) or sys.argv[3] not in TYPES:
    print(__doc__.split("\n\n")[1], file=sys.stderr)
    sys.exit(2)
main(*sys.argv[1:])
